//! What an execution makes known: which others are candidates now, and which of those that wait have a
//! better reason to run.
//!
//! With `all`: every option of its new points that is within the bound ([`Expander::open_all`]), and races
//! move candidates up ([`Expander::prefer`]). With a reduction: every value, and what its races ask for
//! ([`Expander::open`]). To add a reduction, begin there.
//!
//! # Why: Any frontier with a reduction
//! Siblings sleep in the order in which they were started, whatever has been run below them since; what was opened at a
//! point is kept with the node that owns the point. So the tree that is there at the end is one that depth-first search
//! could have run. Not with the optimal reduction: its wakeup trees belong to the path. `tree.rs`,
//! `tree/comparison.rs`.

use raddle_engine::context::Context;
use raddle_engine::op::TaskId;

use super::TreeExpansion;
use super::candidates::Pending;
use super::comparison::{Comparison, Site};
use super::current::Current;
use super::new_points::NewPoints;
use super::nodes::{Link, NONE};
use super::openings::Opening;
use super::path_points::PathPoint;
use super::priority::{Candidate, Reversal, Window};
use super::siblings::{Sibling, Siblings};
use super::store::Store;

/// What became of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No race asked for it.
    Closed,
    Waits,
    /// It was run, or is being run.
    Started,
}

/// The execution that has ended, and where what it makes known goes.
#[derive(Debug)]
pub(super) struct Expander<'a> {
    pub(super) expansion: TreeExpansion,
    /// The most preemptions that are within the bound.
    pub(super) limit: u32,
    pub(super) store: &'a mut Store,
    pub(super) current: &'a mut Current,
    pub(super) new: &'a mut NewPoints,
}

impl Expander<'_> {
    /// Puts the execution into the tree, and what follows from it among the candidates. `parent`: its parent,
    /// with the preemptions up to its own decision. A `leaf` has nothing below it, and is not kept. `limited`: a
    /// limit ended it, and its races are not looked for. Says where it is, if it is kept.
    pub(super) fn expand(
        &mut self,
        (parent, spent): (u32, u32),
        leaf: bool,
        limited: bool,
        mut comparison: Option<&mut Comparison>,
    ) -> u32 {
        // Kept before it is compared, so that openings at its own points find the node that owns them.
        let id = if leaf { NONE } else { self.keep(parent, comparison.as_deref_mut()) };
        self.current.chain.push(Link { node: id, from: self.current.planned as u32 });
        if let Some(comparison) = comparison.as_deref_mut() {
            self.compare(id, limited, comparison);
        }
        if id != NONE {
            match (self.expansion, comparison) {
                (TreeExpansion::All, comparison) => self.open_all(id, spent, comparison.as_deref()),
                (_, Some(comparison)) => self.open_values(id, comparison),
                (_, None) => unreachable!("a reduction compares"),
            }
            self.store.nodes.trim(id);
        }
        id
    }

    /// Puts the execution into the tree; says where.
    fn keep(&mut self, parent: u32, comparison: Option<&mut Comparison>) -> u32 {
        let points = |bytes: &mut Vec<u8>| {
            if let Some(comparison) = comparison {
                comparison.write(bytes);
            }
        };
        let Current { planned, path, .. } = &*self.current;
        self.store.nodes.insert(parent, *planned as u32, path, points)
    }

    /// A candidate at a new point.
    fn candidate(&self, at: usize, option: u32, costs: (u32, u32)) -> Candidate {
        self.new.candidate(at, (self.current.planned + at) as u32, option, costs)
    }

    /// All options of the new points that are within the bound. Where the newest candidate is next, the first
    /// option is pushed last.
    fn open_all(&mut self, id: u32, spent: u32, comparison: Option<&Comparison>) {
        let departures = self.store.nodes.node(id).departures + 1;
        // Of equal cost the newest is next: so options come in their order only if the first is pushed last.
        let reversed = self.store.candidates.is_best_first();
        let (mut siblings, mut options) = (Vec::new(), Vec::new());
        let mut before = spent;
        for at in 0..self.new.all.len() {
            let new = self.new.all[at];
            options.clear();
            options.extend(self.new.others(new, before, self.limit));
            if reversed {
                options.reverse();
            }
            for &option in &options {
                let cost = before + self.new.price(new, option);
                let mut candidate = self.candidate(at, option, (cost, departures));
                if let Some(comparison) = comparison {
                    let point = &comparison.path.points()[self.current.planned + at];
                    let asleep = |task| comparison.sleeping(point).iter().any(|s| s.task == task);
                    // Only dearer, not left out: with `all` every execution is run, and priorities may ask for sleepers last.
                    candidate.asleep = point.redundant || candidate.task.is_some_and(asleep);
                    let reversal = self.new.reversals.get((new.tasks + option) as usize);
                    candidate.reversal = reversal.copied().unwrap_or_default();
                }
                let bin = self.store.push(id, &candidate);
                if comparison.is_some() {
                    let reversal = candidate.reversal;
                    siblings.push(Sibling::waiting(at as u32, option, bin, new.value, reversal));
                }
            }
            // What the execution itself paid at the point, which later candidates repeat. An order that is not free costs here.
            before += self.new.price(new, new.default);
        }
        if !siblings.is_empty() {
            self.store.nodes.change(id, |all| *all = Siblings::from(siblings));
        }
    }

    /// All other values at the new points of a reduced search.
    fn open_values(&mut self, id: u32, comparison: &Comparison) {
        let departures = self.store.nodes.node(id).departures + 1;
        let reversed = self.store.candidates.is_best_first();
        let mut siblings = Vec::new();
        for at in 0..self.new.all.len() {
            let new = self.new.all[at];
            // Tasks are opened by races; values are not in races, so each is opened.
            if !new.value {
                continue;
            }
            let preemptions = comparison.path.points()[self.current.planned + at].preemptions;
            let mut options: Vec<_> = (0..new.of).filter(|option| *option != new.default).collect();
            if reversed {
                options.reverse();
            }
            for option in options {
                let candidate = self.candidate(at, option, (preemptions, departures));
                let bin = self.store.push(id, &candidate);
                let reversal = candidate.reversal;
                siblings.push(Sibling::waiting(at as u32, option, bin, true, reversal));
            }
        }
        if !siblings.is_empty() {
            self.store.nodes.change(id, |all| all.add_all(&siblings));
        }
    }

    /// Compares the execution, which is the node at `id` or none, with those it could have been.
    fn compare(&mut self, id: u32, limited: bool, comparison: &mut Comparison) {
        let planned = self.current.planned;
        // From now on its points are the node's.
        if id != NONE {
            comparison.path.settle(planned, id);
        }
        if let Some(own) = planned.checked_sub(1).filter(|_| comparison.compares.sleep) {
            self.learn(comparison, own);
        }
        self.new.reversals.clear();
        // A limit cuts off executions that are long, for which races would be many; the guarantee names the gap.
        if !comparison.compares.races || limited || id == NONE {
            return;
        }
        let reduces = self.expansion != TreeExpansion::All;
        comparison.find_openings(reduces);
        if !reduces {
            self.new.reversals.resize(self.new.tasks.len(), Reversal::None);
        }
        for at in 0..comparison.openings.all().len() {
            let opening = comparison.openings.all()[at];
            if reduces {
                self.open(comparison, &opening);
            } else {
                self.prefer(comparison, &opening);
            }
        }
    }

    /// What the execution did at its own decision sleeps for those that are started there later.
    fn learn(&mut self, comparison: &mut Comparison, own: usize) {
        let point = comparison.path.points()[own];
        // A value does not sleep: see the head of `comparison.rs`.
        if !point.value {
            let (option, footprint) = (self.current.path[own].option, comparison.done_at(own));
            self.store.nodes.node_mut(point.owner).learn(point.place, option, footprint);
        }
    }

    /// A race was found: what reverses it moves up.
    fn prefer(&mut self, comparison: &Comparison, opening: &Opening) {
        let at = opening.at as usize;
        let point = &comparison.path.points()[at];
        let racing = opening.racing.and_then(|task| comparison.path.option_of(point, task));
        let (options, reversal) = match racing {
            // Before the release the lock is held, and most ops would only wait there.
            Some(option) if opening.releases => (option..option + 1, Reversal::Conservative),
            Some(option) => (option..option + 1, Reversal::Race),
            // The racing task could not move there: Flanagan and Godefroid then try all that could.
            None => (0..self.current.path[at].of, Reversal::Conservative),
        };
        for option in options {
            match at.checked_sub(self.current.planned) {
                None => self.improve(point, option, reversal),
                Some(new) => {
                    let from = self.new.all[new].tasks;
                    let known = &mut self.new.reversals[(from + option) as usize];
                    *known = reversal.max(*known);
                }
            }
        }
    }

    /// There is a reason to run something, perhaps a better one than was known.
    fn improve(&mut self, at: &PathPoint, option: u32, reversal: Reversal) {
        let Store { nodes, candidates, priorities, .. } = &mut *self.store;
        let parent = at.owner;
        let node = nodes.node_mut(parent);
        let point = node.from + at.place;
        let Some(sibling) = node.sibling_mut(at.place, option) else { return };
        let Some(bin) = sibling.bin().filter(|_| sibling.reversal() < reversal) else { return };
        let before = candidates.key_of(bin);
        let key = priorities.improved(before, reversal);
        // A new entry in a cheaper bin; the old one is skipped when its turn comes.
        if key < before {
            let preemptions = at.preemptions_with(option);
            let bin = candidates.push(key, Pending { parent, point, option, cost: preemptions });
            sibling.wait(bin, reversal);
        } else {
            sibling.wait(bin, reversal);
        }
    }

    /// What became of an option at a point that is no value's, in a reduced search.
    fn fate(&self, at: usize, point: &PathPoint, option: u32) -> Fate {
        match self.store.nodes.node(point.owner).sibling(point.place, option) {
            Some(sibling) if sibling.is_started() => Fate::Started,
            Some(_) => Fate::Waits,
            // As long as there is nothing else, its owner's own way is not among them.
            None if option == self.current.path[at].option => Fate::Started,
            None => Fate::Closed,
        }
    }

    /// Opens what a race asks for, unless it is covered by what is open or sleeps.
    fn open(&mut self, comparison: &mut Comparison, opening: &Opening) {
        let at = opening.at as usize;
        let point = comparison.path.points()[at];
        let initials = comparison.openings.initials(opening);
        let asleep = |who: TaskId| comparison.sleeping(&point).iter().any(|s| s.task == who);
        if initials.iter().any(|who| asleep(*who)) {
            return;
        }
        let option_of = |who: TaskId| comparison.path.option_of(&point, who);
        let can = || initials.iter().filter_map(|who| Some((*who, option_of(*who)?)));
        let taken = self.current.path[at].option;
        let fate = |option: u32| self.fate(at, &point, option);
        // One that can begin the sequence was started at this point: all that begins with it is run in the end. The option that
        // this execution took is not asked about: it is where the race was found.
        if can().any(|(_, option)| option != taken && fate(option) == Fate::Started) {
            return;
        }
        let is_racing = |who: TaskId| opening.racing == Some(who);
        // An initial that waits will do; it only may deserve an earlier turn.
        let open = can().find(|(_, option)| fate(*option) != Fate::Closed);
        let mut wanted = [None; 2];
        if open.is_none() {
            wanted[0] = can().find(|(who, _)| is_racing(*who)).or_else(|| can().next());
        }
        if self.expansion == TreeExpansion::Classic
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
            self.open_option(comparison, at, (task, option), (reason(task), opening.sites));
        }
        if let Some((task, option)) = open {
            self.improve(&point, option, reason(task));
        }
    }

    /// Makes an option a candidate, unless it is one or was one.
    fn open_option(
        &mut self,
        comparison: &mut Comparison,
        at: usize,
        (task, option): (TaskId, u32),
        (reversal, sites): (Reversal, [Site; 2]),
    ) {
        let point = comparison.path.points()[at];
        match self.fate(at, &point, option) {
            Fate::Closed => {}
            Fate::Waits => return self.improve(&point, option, reversal),
            Fate::Started => return,
        }
        let preemptions = point.preemptions_with(option);
        let node = self.store.nodes.node(point.owner);
        let departures = node.departures + 1;
        let is_first = node.siblings().started(point.place).is_empty();
        let candidate = match at.checked_sub(self.current.planned) {
            Some(new) => self.candidate(new, option, (preemptions, departures)),
            None => Candidate {
                point: at as u32,
                option,
                of: self.current.path[at].of,
                // Of a point of the repeated part the ops were not noted: priorities that look at them see none.
                preemptions,
                departures,
                delays: 0,
                preempts: point.preempts(option),
                task: Some(task),
                op: None,
                instead: None,
                context: Context::NONE,
                instead_context: Context::NONE,
                label: None,
                instead_label: None,
                reversal,
                race: None,
                asleep: false,
                window: Window::None,
            },
        };
        // From now on there is more than one option to tell apart, and what the owner took must sleep for the others.
        if is_first {
            // What is taken there now is its owner's own way.
            let taken = self.current.path[at].option;
            let first = Sibling::started(point.place, taken, comparison.done_at(at));
            self.store.nodes.change(point.owner, |all| all.add(first));
        }
        let bin =
            self.store.push(point.owner, &Candidate { reversal, race: Some(sites), ..candidate });
        let sibling = Sibling::waiting(point.place, option, bin, false, reversal);
        self.store.nodes.change(point.owner, |all| all.add(sibling));
    }
}
