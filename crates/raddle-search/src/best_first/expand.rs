//! What an execution makes known: which others are candidates now, and which of those that wait have a
//! better reason to run.
//!
//! With `all`: every option of its new points that is within the bound ([`BestFirst::open_all`]), and races
//! move candidates up ([`BestFirst::prefer`]). With a reduction: every value, and what its races ask for
//! ([`BestFirst::open`]). Whoever adds a reduction begins there.

use raddle_engine::context::Context;
use raddle_engine::op::TaskId;

use super::BestFirst;
use super::analysis::{Analysis, Opening};
use super::fringe::Pending;
use super::nodes::{Link, NONE};
use super::priority::{Candidate, Reversal, Window};
use super::road::Stop;
use super::siblings::{Sibling, Siblings};
use crate::expansion::reduced::Reduction;
use crate::order::Order;

/// What became of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nobody asked for it.
    Closed,
    Waits,
    /// It was run, or is being run.
    Started,
}

impl<O: Order> BestFirst<O> {
    /// The execution has ended: puts it into the tree, and what follows from it into the fringe. `spent`:
    /// preemptions up to its own decision. A `leaf` has nothing below it, and is not kept. Says where it is, if
    /// it is.
    pub(super) fn expand(&mut self, parent: u32, spent: u32, leaf: bool, limited: bool) -> u32 {
        let id = if leaf { NONE } else { self.keep(parent) };
        self.chain.push(Link { node: id, from: self.planned as u32 });
        self.compare(id, limited);
        if id != NONE {
            if self.reduction.is_some() {
                self.open_values(id);
            } else {
                self.open_all(id, spent);
            }
            self.nodes.trim(id);
        }
        id
    }

    /// Puts the execution into the tree; says where.
    fn keep(&mut self, parent: u32) -> u32 {
        let analysis = &mut self.analysis;
        let stops = |bytes: &mut Vec<u8>| {
            if let Some(analysis) = analysis {
                analysis.write(bytes);
            }
        };
        self.nodes.insert(parent, self.planned as u32, &self.path, stops)
    }

    /// A new candidate of the node at `parent`; says in which bin.
    fn push(&mut self, parent: u32, candidate: &Candidate) -> u32 {
        let key = self.priorities.cost(candidate);
        let &Candidate { point, option, preemptions, .. } = candidate;
        let bin = self.fringe.push(key, Pending { parent, point, option, preemptions });
        self.nodes.node_mut(parent).open += 1;
        self.count(preemptions);
        bin
    }

    /// All options of the new points that are within the bound, the deepest last, so that it is next
    /// among equals.
    fn open_all(&mut self, id: u32, spent: u32) {
        let limit = self.bound.limit();
        let delays = self.nodes.node(id).delays + 1;
        let mut siblings = std::mem::take(&mut self.siblings);
        siblings.clear();
        let mut before = spent;
        for at in 0..self.met.len() {
            let met = self.met[at];
            for option in (0..met.of).rev().filter(|option| *option != met.default) {
                let preemptions = before + met.preempts(option);
                if preemptions > limit {
                    continue;
                }
                let mut candidate = self.candidate(at, option, preemptions, delays);
                if let Some(analysis) = &self.analysis {
                    let stop = &analysis.road.stops()[self.planned + at];
                    let asleep = |task| analysis.sleeping(stop).iter().any(|s| s.task == task);
                    candidate.asleep = stop.redundant || candidate.task.is_some_and(asleep);
                    let reversal = self.reversals.get((met.tasks + option) as usize);
                    candidate.reversal = reversal.copied().unwrap_or_default();
                }
                let bin = self.push(id, &candidate);
                if self.analysis.is_some() {
                    let reversal = candidate.reversal;
                    siblings.push(Sibling::waiting(at as u32, option, bin, met.value, reversal));
                }
            }
            before += met.preempts(met.default);
        }
        if !siblings.is_empty() {
            self.nodes.change(id, |all| *all = Siblings::from(siblings.as_slice()));
        }
        self.siblings = siblings;
    }

    /// All other values at the new points of a reduced search.
    fn open_values(&mut self, id: u32) {
        let delays = self.nodes.node(id).delays + 1;
        let mut siblings = std::mem::take(&mut self.siblings);
        siblings.clear();
        for at in 0..self.met.len() {
            let met = self.met[at];
            let analysis = self.analysis.as_ref().expect("a reduction compares");
            let preemptions = analysis.road.stops()[self.planned + at].preemptions;
            if met.value {
                for option in (0..met.of).rev().filter(|option| *option != met.default) {
                    let candidate = self.candidate(at, option, preemptions, delays);
                    let bin = self.push(id, &candidate);
                    let reversal = candidate.reversal;
                    siblings.push(Sibling::waiting(at as u32, option, bin, true, reversal));
                }
            }
        }
        if !siblings.is_empty() {
            self.nodes.change(id, |all| all.add_all(&siblings));
        }
        self.siblings = siblings;
    }

    /// A candidate at a new point.
    fn candidate(&self, at: usize, option: u32, preemptions: u32, delays: u32) -> Candidate {
        let met = self.met[at];
        let seen = (met.tasks != u32::MAX && !met.value).then_some(met.tasks as usize);
        let of = |option: u32| seen.map(|from| from + option as usize);
        let op = |option: u32| of(option).and_then(|at| self.ops.get(at).copied().flatten());
        let context = |option: u32| of(option).and_then(|at| self.contexts.get(at).copied());
        let label = |option: u32| of(option).and_then(|at| self.labels.get(at).copied().flatten());
        let task = of(option).map(|at| self.tasks[at]);
        let window = self.windows.as_ref().zip(task);
        Candidate {
            point: (self.planned + at) as u32,
            option,
            of: met.of,
            preemptions,
            delays,
            preempts: met.preempts(option) > 0,
            task,
            op: op(option),
            instead: op(met.default),
            context: context(option).unwrap_or_default(),
            instead_context: context(met.default).unwrap_or_default(),
            label: label(option),
            instead_label: label(met.default),
            reversal: Reversal::None,
            asleep: false,
            window: window.map_or(Window::None, |(windows, task)| windows.broken(at, task)),
        }
    }

    /// Whether a new point has an option that is within the bound and was not taken.
    pub(super) fn opens(&self, spent: u32) -> bool {
        let limit = self.bound.limit();
        let mut before = spent;
        self.met.iter().any(|met| {
            let cheap = |option| option != met.default && before + met.preempts(option) <= limit;
            let opens = before < limit || (0..met.of).any(cheap);
            before += met.preempts(met.default);
            opens
        })
    }

    /// Compares the execution, which is the node at `id` or none, with those it could have been.
    fn compare(&mut self, id: u32, limited: bool) {
        let Some(mut analysis) = self.analysis.take() else { return };
        if id != NONE {
            analysis.road.settle(self.planned, id);
        }
        if let Some(own) = self.planned.checked_sub(1).filter(|_| analysis.sleeps) {
            self.learn(&mut analysis, own);
        }
        self.reversals.clear();
        if analysis.races && !limited && id != NONE {
            analysis.find_openings(self.reduction.is_some());
            if self.reduction.is_none() {
                self.reversals.resize(self.tasks.len(), Reversal::None);
            }
            for at in 0..analysis.openings.len() {
                let opening = analysis.openings[at];
                match self.reduction {
                    None => self.prefer(&analysis, &opening),
                    Some(reduction) => self.open(&mut analysis, &opening, reduction),
                }
            }
        }
        self.analysis = Some(analysis);
    }

    /// What the execution did at its own decision sleeps for those that are started there later.
    fn learn(&mut self, analysis: &mut Analysis, own: usize) {
        let stop = analysis.road.stops()[own];
        if !stop.value {
            let (option, footprint) = (self.path[own].option, analysis.done_at(own));
            let owner = self.nodes.node_mut(stop.owner);
            owner.learn(stop.place, option, footprint);
        }
    }

    /// A race was found: whoever reverses it moves up.
    fn prefer(&mut self, analysis: &Analysis, opening: &Opening) {
        let at = opening.stop as usize;
        let stop = &analysis.road.stops()[at];
        let racing = opening.racing.and_then(|task| analysis.road.option_of(stop, task));
        let (options, reversal) = match racing {
            Some(option) if opening.releases => (option..option + 1, Reversal::Conservative),
            Some(option) => (option..option + 1, Reversal::Race),
            None => (0..self.path[at].of, Reversal::Conservative),
        };
        for option in options {
            if at < self.planned {
                self.improve(stop, option, reversal);
            } else {
                let from = self.met[at - self.planned].tasks;
                let known = &mut self.reversals[(from + option) as usize];
                *known = reversal.max(*known);
            }
        }
    }

    /// There is a reason to run something, perhaps a better one than was known.
    fn improve(&mut self, stop: &Stop, option: u32, reversal: Reversal) {
        let parent = stop.owner;
        let node = self.nodes.node_mut(parent);
        let point = node.from + stop.place;
        let Some(sibling) = node.sibling_mut(stop.place, option) else { return };
        let Some(bin) = sibling.bin().filter(|_| sibling.reversal() < reversal) else { return };
        let before = self.fringe.key(bin);
        let key = self.priorities.improved(before, reversal);
        if key < before {
            let preemptions = stop.preemptions_with(option);
            let bin = self.fringe.push(key, Pending { parent, point, option, preemptions });
            sibling.wait(bin, reversal);
        } else {
            sibling.wait(bin, reversal);
        }
    }

    /// What became of an option at a stop that is no value's, in a reduced search.
    fn fate(&self, at: usize, stop: &Stop, option: u32) -> Fate {
        match self.nodes.node(stop.owner).sibling(stop.place, option) {
            Some(sibling) if sibling.is_started() => Fate::Started,
            Some(_) => Fate::Waits,
            // As long as there is nothing else its owner's own way is not among them.
            None if option == self.path[at].option => Fate::Started,
            None => Fate::Closed,
        }
    }

    /// Opens what a race asks for, unless it is covered by what is open or sleeps.
    fn open(&mut self, analysis: &mut Analysis, opening: &Opening, reduction: Reduction) {
        let at = opening.stop as usize;
        let stop = analysis.road.stops()[at];
        let begins = analysis.begins(opening);
        let asleep = |who: TaskId| analysis.sleeping(&stop).iter().any(|s| s.task == who);
        if begins.iter().any(|who| asleep(*who)) {
            return;
        }
        let option_of = |who: TaskId| analysis.road.option_of(&stop, who);
        let can = || begins.iter().filter_map(|who| Some((*who, option_of(*who)?)));
        let taken = self.path[at].option;
        let fate = |option: u32| self.fate(at, &stop, option);
        if can().any(|(_, option)| option != taken && fate(option) == Fate::Started) {
            return;
        }
        let is_racing = |who: TaskId| opening.racing == Some(who);
        let open = can().find(|(_, option)| fate(*option) != Fate::Closed);
        let mut wanted = [None; 2];
        if open.is_none() {
            wanted[0] = can().find(|(who, _)| is_racing(*who)).or_else(|| can().next());
        }
        if reduction == Reduction::Classic
            && let Some(racing) = opening.racing
            && !asleep(racing)
        {
            wanted[1] = option_of(racing).map(|option| (racing, option));
        }
        let reason = |task: TaskId| {
            let direct = is_racing(task) && !opening.releases;
            if direct { Reversal::Race } else { Reversal::Conservative }
        };
        for (task, option) in wanted.into_iter().flatten() {
            self.open_option(analysis, at, (task, option), reason(task));
        }
        if let Some((task, option)) = open {
            self.improve(&stop, option, reason(task));
        }
    }

    /// Makes an option a candidate, unless it is one or was one.
    fn open_option(
        &mut self,
        analysis: &mut Analysis,
        at: usize,
        (task, option): (TaskId, u32),
        reversal: Reversal,
    ) {
        let stop = analysis.road.stops()[at];
        match self.fate(at, &stop, option) {
            Fate::Closed => {}
            Fate::Waits => return self.improve(&stop, option, reversal),
            Fate::Started => return,
        }
        let preemptions = stop.preemptions_with(option);
        let node = self.nodes.node(stop.owner);
        let delays = node.delays + 1;
        let is_first = node.siblings().started(stop.place).is_empty();
        let candidate = if at >= self.planned {
            self.candidate(at - self.planned, option, preemptions, delays)
        } else {
            Candidate {
                point: at as u32,
                option,
                of: self.path[at].of,
                preemptions,
                delays,
                preempts: stop.preempts(option),
                task: Some(task),
                op: None,
                instead: None,
                context: Context::NONE,
                instead_context: Context::NONE,
                label: None,
                instead_label: None,
                reversal,
                asleep: false,
                window: Window::None,
            }
        };
        if is_first {
            // What is taken there now is its owner's own way.
            let first = Sibling::started(stop.place, self.path[at].option, analysis.done_at(at));
            self.nodes.change(stop.owner, |all| all.add(first));
        }
        let bin = self.push(stop.owner, &Candidate { reversal, ..candidate });
        let sibling = Sibling::waiting(stop.place, option, bin, false, reversal);
        self.nodes.change(stop.owner, |all| all.add(sibling));
    }
}
