//! Best first by preemptions in as little memory as there is: `all compact`.
//!
//! GAMBIT's execution tree (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 3.2) as the paper has it: a node is where an
//! execution departs from its parent, (point, option), and nothing is kept of the decisions after that. They are those of
//! the default order, which is asked again whenever a node is passed. The executions, and the order in which they are run,
//! are those of `all best-first(pb)`.
//!
//! What is paid for it: an execution asks the order at every point and not from its own decision on, and what it repeats is not
//! compared with what happened before, beyond that its own points are there. So only an order that is a pure function
//! of the point will do, and priorities that look at more than preemptions go with `tree.rs`.
//!
//! # Memory
//! Nine bytes for a node. Candidates lie in the bin of their preemptions as *groups*, those of one node: six bytes, and one for
//! each candidate, which is a step on from the one before it and an option (`Bin`).
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the engine counts.
//! Overreports: nothing.

use std::collections::BTreeMap;

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Estimating, Finished, Options, Plan, Point, Resumable, Strategy,
    Unsupported,
};
use raddle_trace::{Covered, Progress};
use serde::{Deserialize, Serialize};

use super::TreeMemory;
use crate::bound::Bound;
use crate::order::{NonPreemptive, Order as _};
use crate::state::{self, FOREIGN, RUNNING};

const NAME: &str = "compact";
/// No node: above the root.
const NONE: u32 = u32::MAX;
/// The most candidates of a group.
const MOST: usize = 255;
/// A byte that says that larger numbers come before it.
const LARGE: u8 = 0xff;
/// Of a point that does not fit.
const FAR: u16 = u16::MAX;

/// Executions that were run and have something below them, by number.
#[derive(Debug, Default)]
struct Nodes {
    /// Of a number that is free: the next one that is.
    parent: Vec<u32>,
    /// The point after the one at which it departs from its parent; one that does not fit is in `far`.
    from: Vec<u16>,
    /// Candidates, and nodes below it; what is more is in `more`.
    open: Vec<u16>,
    /// The option that it took; one that does not fit is in `wide`.
    own: Vec<u8>,
    more: BTreeMap<u32, u32>,
    wide: BTreeMap<u32, u32>,
    far: BTreeMap<u32, u32>,
    free: Option<u32>,
    live: usize,
}

impl Nodes {
    fn insert(&mut self, parent: u32, from: u32, own: u32) -> u32 {
        self.live += 1;
        let at = self.free.unwrap_or(self.parent.len() as u32);
        let short = u8::try_from(own).unwrap_or(LARGE);
        if short == LARGE {
            self.wide.insert(at, own);
        }
        let near = u16::try_from(from).unwrap_or(FAR);
        if near == FAR {
            self.far.insert(at, from);
        }
        if self.free.is_some() {
            let slot = at as usize;
            self.free = Some(self.parent[slot]).filter(|next| *next != NONE);
            (self.parent[slot], self.from[slot]) = (parent, near);
            (self.open[slot], self.own[slot]) = (0, short);
            return at;
        }
        if self.parent.len() == self.parent.capacity() {
            // Spare room counts.
            let more = self.parent.len() / 16 + 16;
            self.parent.reserve_exact(more);
            self.from.reserve_exact(more);
            self.open.reserve_exact(more);
            self.own.reserve_exact(more);
        }
        self.parent.push(parent);
        self.from.push(near);
        self.open.push(0);
        self.own.push(short);
        at
    }

    fn own(&self, at: u32) -> u32 {
        match self.own[at as usize] {
            LARGE => self.wide[&at],
            own => own.into(),
        }
    }

    /// Its first point.
    fn from(&self, at: u32) -> u32 {
        match self.from[at as usize] {
            FAR => self.far[&at],
            from => from.into(),
        }
    }

    /// So many more are below it.
    fn open(&mut self, at: u32, n: u32) {
        let all = u32::from(self.open[at as usize]) + n;
        self.open[at as usize] = u16::try_from(all).unwrap_or(u16::MAX);
        let more = all.saturating_sub(u16::MAX.into());
        if more > 0 {
            *self.more.entry(at).or_insert(0) += more;
        }
    }

    /// Of one below it nothing is left: drops it if that was the last, and so on upwards. The root stays.
    fn end(&mut self, mut at: u32) {
        while at != NONE {
            match self.more.get_mut(&at) {
                Some(more) if *more > 1 => *more -= 1,
                Some(_) => {
                    self.more.remove(&at);
                }
                None => self.open[at as usize] -= 1,
            }
            let parent = self.parent[at as usize];
            if self.open[at as usize] > 0 || parent == NONE {
                return;
            }
            self.wide.remove(&at);
            self.far.remove(&at);
            self.parent[at as usize] = self.free.unwrap_or(NONE);
            // A free one departs nowhere.
            self.from[at as usize] = 0;
            self.free = Some(at);
            self.live -= 1;
            at = parent;
        }
    }

    /// Where the executions on the way to a node depart, the first departure first.
    fn departures(&self, mut at: u32, all: &mut Vec<Departure>) {
        all.clear();
        while self.parent[at as usize] != NONE {
            all.push(Departure { point: self.from(at) - 1, option: self.own(at) });
            at = self.parent[at as usize];
        }
        all.reverse();
    }

    /// All that there are, but the root.
    fn below_root(&self) -> impl Iterator<Item = u32> {
        (0..self.parent.len() as u32).filter(|at| self.from[*at as usize] > 0)
    }

    fn bytes(&self) -> usize {
        let maps = (self.more.len() + self.wide.len() + self.far.len()) * 16;
        self.parent.capacity() * 4
            + self.from.capacity() * 2
            + self.open.capacity() * 2
            + self.own.capacity()
            + maps
    }
}

/// Another option at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Departure {
    point: u32,
    option: u32,
}

/// A candidate: the node up to a point, and another option there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Candidate {
    node: u32,
    departure: Departure,
}

/// Candidates of equal cost, the newest at the end.
///
/// A stack of bytes that is read from its end. A group is its candidates and then its head: the node, in four bytes; how
/// far after the node's first point the last candidate is; how many there are. A candidate is how far it is from the one before
/// it, in the upper four bits, and its option. What does not fit is written in four bytes each, before a byte that says so.
#[derive(Debug, Default)]
struct Bin {
    bytes: Vec<u8>,
    waiting: u64,
}

impl Bin {
    /// Adds candidates of a node, in the order of their points. `from`: its first point.
    fn push(&mut self, node: u32, from: u32, all: &[Departure]) {
        for group in all.chunks(MOST) {
            let room = group.len() * 9 + 10;
            if self.bytes.capacity() - self.bytes.len() < room {
                self.bytes.reserve_exact(room + self.bytes.len() / 16);
            }
            let mut before = group[0].point;
            for departure in group {
                self.write(departure.point - before, departure.option);
                before = departure.point;
            }
            self.write_head(node, before - from, group.len() as u8);
        }
        self.waiting += all.len() as u64;
    }

    fn write(&mut self, step: u32, option: u32) {
        if step < 15 && option < 16 {
            self.bytes.push((step << 4 | option) as u8);
        } else {
            self.bytes.extend_from_slice(&step.to_le_bytes());
            self.bytes.extend_from_slice(&option.to_le_bytes());
            self.bytes.push(LARGE);
        }
    }

    fn write_head(&mut self, node: u32, place: u32, n: u8) {
        self.bytes.extend_from_slice(&node.to_le_bytes());
        match u8::try_from(place) {
            Ok(short) if short != LARGE => self.bytes.push(short),
            _ => {
                self.bytes.extend_from_slice(&place.to_le_bytes());
                self.bytes.push(LARGE);
            }
        }
        self.bytes.push(n);
    }

    /// Takes the newest.
    fn pop(&mut self, nodes: &Nodes) -> Option<Candidate> {
        let mut back = Back(&self.bytes);
        let n = back.byte()?;
        let place = back.short();
        let node = back.word();
        let (step, option) = back.candidate();
        let left = back.0.len();
        self.bytes.truncate(left);
        if n > 1 {
            self.write_head(node, place - step, n - 1);
        }
        self.waiting -= 1;
        if self.bytes.len() < self.bytes.capacity() / 2 {
            self.bytes.shrink_to(self.bytes.len() + self.bytes.len() / 16 + 64);
        }
        let point = nodes.from(node) + place;
        Some(Candidate { node, departure: Departure { point, option } })
    }

    /// All of them, the newest first.
    fn all(&self, nodes: &Nodes) -> Vec<Candidate> {
        let mut back = Back(&self.bytes);
        let mut all = Vec::with_capacity(self.waiting as usize);
        while let Some(n) = back.byte() {
            let mut place = back.short();
            let node = back.word();
            for _ in 0..n {
                let (step, option) = back.candidate();
                let point = nodes.from(node) + place;
                all.push(Candidate { node, departure: Departure { point, option } });
                place -= step;
            }
        }
        all
    }
}

/// Bytes that are read from their end.
struct Back<'a>(&'a [u8]);

impl Back<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (last, rest) = self.0.split_last()?;
        self.0 = rest;
        Some(*last)
    }

    fn word(&mut self) -> u32 {
        let (rest, word) = self.0.split_last_chunk().expect("a word was written here");
        self.0 = rest;
        u32::from_le_bytes(*word)
    }

    fn short(&mut self) -> u32 {
        match self.byte() {
            Some(LARGE) => self.word(),
            short => u32::from(short.expect("a number was written here")),
        }
    }

    /// A step and an option.
    fn candidate(&mut self) -> (u32, u32) {
        match self.byte().expect("a candidate was written here") {
            LARGE => {
                let option = self.word();
                (self.word(), option)
            }
            both => (u32::from(both >> 4), u32::from(both & 15)),
        }
    }
}

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    First,
    Running(Candidate),
    Ended,
    Last,
}

/// A point that no execution has met before.
#[derive(Clone, Copy, Debug)]
struct NewPoint {
    of: u32,
    default: u32,
    /// Whether all other options are preemptions.
    preempts: bool,
}

/// Runs every execution within a bound on preemptions, those with the fewest first.
#[derive(Debug)]
pub struct CompactTree {
    bound: Bound,
    order: NonPreemptive,
    nodes: Nodes,
    /// By preemptions. None is empty.
    bins: BTreeMap<u32, Bin>,
    stage: Stage,
    /// Preemptions of the execution that runs.
    spent: u32,
    departures: Vec<Departure>,
    /// How many of them were met.
    met: usize,
    new: Vec<NewPoint>,
    diverged: bool,
    executions: u64,
}

/// What is saved: nodes before those below them, and candidates by what they cost, the oldest first.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    /// Parent, first point, option.
    nodes: Vec<(u32, u32, u32)>,
    bins: Vec<(u32, Vec<Candidate>)>,
    begun: bool,
    ended: bool,
    diverged: bool,
    executions: u64,
}

impl CompactTree {
    /// Searches within a bound: none, or one on preemptions.
    ///
    /// # Panics
    /// If the bound is another one.
    #[must_use]
    pub fn new(bound: Bound) -> Self {
        assert!(matches!(bound, Bound::None | Bound::Preemptions(_)), "it counts preemptions");
        Self {
            bound,
            order: NonPreemptive,
            nodes: Nodes::default(),
            bins: BTreeMap::new(),
            stage: Stage::First,
            spent: 0,
            departures: Vec::new(),
            met: 0,
            new: Vec::new(),
            diverged: false,
            executions: 0,
        }
    }

    /// Decisions up to and with the execution's own.
    fn planned(&self) -> usize {
        self.departures.last().map_or(0, |last| last.point as usize + 1)
    }

    fn pop(&mut self) -> Option<Candidate> {
        let mut first = self.bins.first_entry()?;
        self.spent = *first.key();
        let candidate = first.get_mut().pop(&self.nodes);
        if first.get().waiting == 0 {
            first.remove();
        }
        candidate
    }

    /// Puts the execution into the tree, and what it makes known into the bins.
    fn keep(&mut self) {
        let from = self.planned() as u32;
        let (mut free, mut paid) = (Vec::new(), Vec::new());
        let may_pay = self.spent < self.bound.limit();
        for (at, new) in self.new.iter().enumerate() {
            let others = (0..new.of).rev().filter(|option| *option != new.default);
            let departures = others.map(|option| Departure { point: from + at as u32, option });
            // The first option is pushed last: of equal cost the newest is next.
            if !new.preempts {
                free.extend(departures);
            } else if may_pay {
                paid.extend(departures);
            }
        }
        let parent = match self.stage {
            Stage::Running(candidate) => candidate.node,
            _ => NONE,
        };
        let n = (free.len() + paid.len()) as u32;
        if n == 0 && parent != NONE {
            return self.nodes.end(parent);
        }
        let own = self.departures.last().map_or(0, |own| own.option);
        let id = self.nodes.insert(parent, from, own);
        self.nodes.open(id, n);
        for (cost, all) in [(self.spent, &free), (self.spent + 1, &paid)] {
            if !all.is_empty() {
                self.bins.entry(cost).or_default().push(id, from, all);
            }
        }
    }

    fn waiting(&self) -> u64 {
        self.bins.values().map(|bin| bin.waiting).sum()
    }

    fn bytes(&self) -> usize {
        let bins = self.bins.values().map(|bin| bin.bytes.capacity() + size_of::<Bin>() + 8);
        self.nodes.bytes() + bins.sum::<usize>()
    }

    /// What it holds, and what it would hold otherwise. Takes time in proportion to that.
    #[must_use]
    pub fn memory(&self) -> TreeMemory {
        let waits: Vec<_> = self.bins.values().flat_map(|bin| bin.all(&self.nodes)).collect();
        let ends = waits.iter().map(|one| (one.node, one.departure.point));
        let below = self.nodes.below_root();
        let ends =
            ends.chain(below.map(|at| (self.nodes.parent[at as usize], self.nodes.from(at) - 1)));
        // Of each execution that was run, the last point at which something departs from it.
        let mut last: Vec<Option<u32>> = vec![None; self.nodes.parent.len()];
        for (node, point) in ends {
            let known = &mut last[node as usize];
            *known = (*known).max(Some(point));
        }
        let (mut decisions, mut partial) = (0, 0);
        for one in &waits {
            decisions += u64::from(one.departure.point) + 1;
            partial += 1;
        }
        for (at, last) in (0..).zip(last) {
            let Some(last) = last else { continue };
            let from = self.nodes.from(at);
            decisions += u64::from(last);
            // Its own decision, and those up to where the last one departs.
            partial += u64::from(last - from) + u64::from(from > 0);
        }
        TreeMemory {
            nodes: self.nodes.live as u64,
            pending: waits.len() as u64,
            bytes: self.bytes() as u64,
            candidates: (self.bytes() - self.nodes.bytes()) as u64,
            decisions,
            partial,
            ..TreeMemory::default()
        }
    }

    /// Puts back what was saved, if it is a tree.
    fn go_on(&mut self, saved: Saved) -> Result<(), Unsupported> {
        let mut new = Self::new(self.bound);
        for (at, &(parent, from, own)) in saved.nodes.iter().enumerate() {
            let is_root = at == 0 && (parent, from) == (NONE, 0);
            let is_below = (parent as usize) < at && from > new.nodes.from(parent);
            if !is_root && !is_below {
                return Err(FOREIGN);
            }
            new.nodes.insert(parent, from, own);
            if is_below {
                new.nodes.open(parent, 1);
            }
        }
        for (cost, all) in saved.bins {
            if all.is_empty() || cost > self.bound.limit() {
                return Err(FOREIGN);
            }
            for group in
                all.chunk_by(|a, b| a.node == b.node && a.departure.point <= b.departure.point)
            {
                let node = group[0].node;
                if node as usize >= new.nodes.from.len()
                    || group[0].departure.point < new.nodes.from(node)
                {
                    return Err(FOREIGN);
                }
                let from = new.nodes.from(node);
                let all: Vec<_> = group.iter().map(|one| one.departure).collect();
                new.nodes.open(node, all.len() as u32);
                new.bins.entry(cost).or_default().push(node, from, &all);
            }
        }
        let without = (1..new.nodes.open.len()).any(|at| new.nodes.open[at] == 0);
        if without || saved.begun == saved.nodes.is_empty() {
            return Err(FOREIGN);
        }
        new.stage = match (saved.begun, saved.ended) {
            (false, _) => Stage::First,
            (true, false) => Stage::Ended,
            (true, true) => Stage::Last,
        };
        (new.diverged, new.executions) = (saved.diverged, saved.executions);
        *self = new;
        Ok(())
    }
}

impl Strategy for CompactTree {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        match self.stage {
            Stage::Last => return false,
            // One that never ended: again, from the beginning.
            Stage::First | Stage::Running(_) => {}
            Stage::Ended => {
                let Some(candidate) = self.pop() else {
                    self.stage = Stage::Last;
                    return false;
                };
                self.nodes.departures(candidate.node, &mut self.departures);
                self.departures.push(candidate.departure);
                self.stage = Stage::Running(candidate);
            }
        }
        plan.prefix.clear();
        self.met = 0;
        self.new.clear();
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if let Some(departure) = self.departures.get(self.met)
            && departure.point == point.index
        {
            self.met += 1;
            if departure.option < point.arity() {
                return Answer::Take(departure.option);
            }
            self.diverged = true;
            return Answer::Cut(Cut::Redundant);
        }
        let (default, preempts) = match point.options {
            Options::Value { .. } => (0, false),
            Options::Schedule(_) => (self.order.next(point), point.running_option().is_some()),
        };
        if point.index as usize >= self.planned() {
            self.new.push(NewPoint { of: point.arity(), default, preempts });
        }
        Answer::Take(default)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        // A limit may end an execution before its own decision, or at a point that was asked about.
        self.diverged |= self.met < self.departures.len() && !execution.outcome.is_cut_off();
        self.new.truncate(execution.decisions.len().saturating_sub(self.planned()));
        self.keep();
        self.stage = Stage::Ended;
    }

    /// Before the end: every execution that costs less than all that wait.
    fn covered(&self) -> Covered {
        let part =
            Covered::Part { executions: self.executions, preemptions: self.bound.preemptions() };
        let runs = matches!(self.stage, Stage::Running(_)).then_some(self.spent);
        let least = self.bins.keys().next().copied().into_iter().chain(runs).min();
        match (self.stage, least) {
            _ if self.diverged => part,
            (Stage::First, _) | (Stage::Running(_) | Stage::Ended, Some(0)) => part,
            (Stage::Last, _) | (_, None) => self.bound.covered(),
            (_, Some(least)) => Covered::Preemptions(least - 1),
        }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Resumable for CompactTree {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if let Stage::Running(_) = self.stage {
            return Err(RUNNING);
        }
        // Parents before those below them: numbers are used again, so they may not be in that order.
        let mut order: Vec<u32> = self.nodes.below_root().collect();
        order.sort_by_key(|at| {
            let mut departures = Vec::new();
            self.nodes.departures(*at, &mut departures);
            departures.len()
        });
        let root = (!self.nodes.parent.is_empty()).then_some(0);
        let order: Vec<u32> = root.into_iter().chain(order).collect();
        let mut numbers = vec![NONE; self.nodes.parent.len()];
        for (number, at) in order.iter().enumerate() {
            numbers[*at as usize] = number as u32;
        }
        let number = |at: u32| numbers.get(at as usize).copied().unwrap_or(NONE);
        let node = |at: &u32| {
            (number(self.nodes.parent[*at as usize]), self.nodes.from(*at), self.nodes.own(*at))
        };
        let bin = |(cost, bin): (&u32, &Bin)| {
            let all = bin.all(&self.nodes).into_iter().rev();
            (*cost, all.map(|one| Candidate { node: number(one.node), ..one }).collect())
        };
        let saved = Saved {
            nodes: order.iter().map(node).collect(),
            bins: self.bins.iter().map(bin).collect(),
            begun: self.stage != Stage::First,
            ended: self.stage == Stage::Last,
            diverged: self.diverged,
            executions: self.executions,
        };
        Ok(state::write(NAME, &saved))
    }

    fn restore(&mut self, saved: &Checkpoint) -> Result<(), Unsupported> {
        self.go_on(state::read(NAME, saved)?)
    }
}

impl Estimating for CompactTree {
    fn progress(&self) -> Progress {
        let bound = match self.covered() {
            Covered::Preemptions(k) if self.stage != Stage::Last => Some(k),
            _ => None,
        };
        Progress {
            covered: (self.stage == Stage::Last).then_some(1.0),
            bound,
            pending: self.waiting() + u64::from(self.stage == Stage::First),
            frontier_bytes: self.bytes() as u64,
            ..Progress::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_gives_back_what_was_put_in_the_newest_first() {
        let mut nodes = Nodes::default();
        nodes.insert(NONE, 0, 0);
        nodes.insert(0, 300, 1_000);
        let of = |point, option| Departure { point, option };
        let groups = [
            (0, vec![of(2, 1), of(2, 0), of(16, 15), of(17, 16), of(900, 3)]),
            (1, (300..900).map(|point| of(point, point % 17)).collect()),
        ];
        let mut bin = Bin::default();
        let mut expected = Vec::new();
        for (node, all) in &groups {
            bin.push(*node, nodes.from(*node), all);
            expected.extend(
                all.iter().map(|departure| Candidate { node: *node, departure: *departure }),
            );
        }
        expected.reverse();
        assert_eq!(bin.all(&nodes), expected);
        assert_eq!(bin.waiting, 605);
        let taken: Vec<_> = std::iter::from_fn(|| bin.pop(&nodes)).collect();
        assert_eq!(taken, expected);
        assert_eq!((bin.waiting, bin.bytes.len()), (0, 0));
    }

    #[test]
    fn a_node_is_dropped_with_the_last_below_it() {
        let mut nodes = Nodes::default();
        let root = nodes.insert(NONE, 0, 0);
        nodes.open(root, 70_000);
        let child = nodes.insert(root, 5, 300);
        nodes.open(child, 2);
        let mut departures = Vec::new();
        nodes.departures(child, &mut departures);
        assert_eq!(departures, [Departure { point: 4, option: 300 }]);
        nodes.end(child);
        assert_eq!(nodes.live, 2);
        let grandchild = nodes.insert(child, 70_000, 1);
        nodes.departures(grandchild, &mut departures);
        assert_eq!(departures[1], Departure { point: 69_999, option: 1 });
        assert_eq!((nodes.from(grandchild), nodes.far.len()), (70_000, 1));
        nodes.open(child, 1);
        nodes.open(grandchild, 1);
        nodes.end(grandchild);
        assert_eq!((nodes.live, nodes.far.len()), (2, 0));
        nodes.end(child);
        assert_eq!((nodes.live, nodes.insert(root, 1, 0)), (1, child), "its number is used again");
        (0..69_999).for_each(|_| nodes.end(root));
        assert_eq!((nodes.more.len(), nodes.open[0], nodes.wide.len()), (0, 0, 0));
    }
}
