//! Which locks a task holds, and whether locks are taken in orders that could deadlock.
//!
//! An acquisition that would have to wait, made while another lock is held, is an edge from the
//! held lock to the one taken. A cycle of edges is a deadlock that did not happen in this execution
//! (Havelund's Goodlock, SPIN 2000), if it could: the edges are of different tasks; no lock that
//! both hold besides keeps two of them apart; at each lock of the cycle at least one of the two who
//! meet wants it for itself; and no two are in order by spawn and join.
//!
//! Cycles are looked for within one execution, because only there it is known which lock is which:
//! two locks made by one line are told apart by who uses them first, and that is another one in
//! another execution. Each cycle of sites is told once in a search.
//!
//! Misses: orders that no single execution shows. Overreports: sections that something else than a
//! lock, a spawn or a join keeps apart, such as a channel.

use std::panic::Location;

use raddle_trace::{Nested, Note, ObjectName};

use crate::execution::Execution;
use crate::op::{Held, TaskId, site_of};

/// More edges than this are not looked at.
const MOST_EDGES: usize = 256;
/// A longer cycle is not looked for.
const LONGEST: usize = 5;
/// How many edges one search for cycles looks at.
const MOST_LOOKS: u32 = 20_000;

/// A lock of this execution, as a person knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) slot: u32,
    pub(crate) kind: &'static str,
    pub(crate) created: &'static Location<'static>,
    pub(crate) name: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Edge {
    task: TaskId,
    /// The step that took the second lock.
    step: u64,
    held: Held,
    taken: Held,
    /// What else was held.
    gates: Vec<(u32, bool)>,
}

impl Edge {
    /// Whether a lock that both hold keeps the two apart.
    fn is_gated(&self, other: &Self) -> bool {
        let apart = |&(mine, shared): &(u32, bool)| {
            other.gates.iter().any(|&(theirs, also)| mine == theirs && !(shared && also))
        };
        self.gates.iter().any(apart)
    }

    /// Whether this one can wait for what `next` holds.
    fn waits_for(&self, next: &Self) -> bool {
        self.taken.slot == next.held.slot && !(self.taken.shared && next.held.shared)
    }
}

/// What of an edge is the same in another execution: both locks, and where they were taken.
type Told = [(&'static Location<'static>, Option<&'static str>, &'static Location<'static>); 2];

/// The orders in which locks were taken in one execution, and the cycles of the whole search.
#[derive(Debug, Default)]
pub(crate) struct LockOrder {
    edges: Vec<Edge>,
    /// The locks of the execution, in order of first use.
    pub(crate) known: Vec<Lock>,
    told: Vec<Vec<Told>>,
    pub(crate) notes: Vec<Note>,
}

impl LockOrder {
    /// Forgets the last search.
    pub(crate) fn renew(&mut self) {
        *self = Self::default();
    }

    /// Begins with what another search has told: that is not told again.
    pub(crate) fn take_over(&mut self, notes: &[Note]) {
        self.notes.extend_from_slice(notes);
    }

    /// Forgets the last execution.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.edges.clear();
        self.known.clear();
    }

    fn lock(&self, slot: u32) -> Lock {
        let known = self.known.binary_search_by_key(&slot, |lock| lock.slot);
        self.known[known.expect("engine bug: a lock that is held has been used")]
    }

    fn tellable(&self, edge: &Edge) -> Told {
        [edge.held, edge.taken].map(|held| {
            let lock = self.lock(held.slot);
            (lock.created, lock.name, held.site)
        })
    }

    fn is_told(&self, cycle: &[Told]) -> bool {
        let n = cycle.len();
        let alike = |told: &Vec<Told>, from: usize| {
            told.len() == n && told.iter().eq(cycle.iter().cycle().skip(from).take(n))
        };
        self.told.iter().any(|told| (0..n).any(|from| alike(told, from)))
    }
}

impl Execution {
    /// The current task takes a lock while it holds others. `waits`: it would have waited for it.
    #[cold]
    pub(crate) fn took_nested(&mut self, taken: Held, waits: bool) {
        let task = self.current;
        let mut held = std::mem::take(&mut self.task_mut(task).held);
        for (index, outer) in held.iter().enumerate().filter(|_| waits) {
            if outer.slot == taken.slot || self.locks.edges.len() >= MOST_EDGES {
                continue;
            }
            let others = held.iter().enumerate().filter(|(other, _)| *other != index);
            let gates: Vec<_> = others.map(|(_, lock)| (lock.slot, lock.shared)).collect();
            let known = |edge: &Edge| {
                edge.task == task
                    && edge.taken.slot == taken.slot
                    && edge.held.slot == outer.slot
                    && edge.taken.shared == taken.shared
                    && edge.held.shared == outer.shared
                    && edge.gates == gates
            };
            if self.locks.edges.iter().any(known) {
                continue;
            }
            let edge = Edge { task, step: self.n_steps, held: *outer, taken, gates };
            self.locks.edges.push(edge);
            self.look_for_cycle();
        }
        held.push(taken);
        self.task_mut(task).held = held;
    }

    /// The current task gives a lock back that is not the only one it holds, or not wholly.
    #[cold]
    pub(crate) fn gave_nested(&mut self, slot: u32, keeps_share: bool) {
        let held = &mut self.task_mut(self.current).held;
        let Some(at) = held.iter().rposition(|held| held.slot == slot) else { return };
        if keeps_share {
            held[at].shared = true;
        } else {
            held.remove(at);
        }
    }

    /// Looks for a cycle through the last edge.
    fn look_for_cycle(&mut self) {
        let last = self.locks.edges.len() - 1;
        let mut path = vec![last];
        let mut looks = 0;
        self.extend_cycle(&mut path, &mut looks);
    }

    fn extend_cycle(&mut self, path: &mut Vec<usize>, looks: &mut u32) {
        let end = *path.last().expect("a path begins with an edge");
        for next in 0..self.locks.edges.len() {
            *looks += 1;
            if *looks > MOST_LOOKS {
                return;
            }
            if next == path[0] {
                continue;
            }
            let edges = &self.locks.edges;
            let fits = edges[end].waits_for(&edges[next])
                && path.iter().all(|&other| {
                    edges[other].task != edges[next].task && !edges[other].is_gated(&edges[next])
                });
            if !fits {
                continue;
            }
            path.push(next);
            if self.locks.edges[next].waits_for(&self.locks.edges[path[0]]) {
                self.tell_cycle(path);
            } else if path.len() < LONGEST {
                self.extend_cycle(path, looks);
            }
            path.pop();
        }
    }

    fn tell_cycle(&mut self, path: &[usize]) {
        let mut cycle: Vec<Edge> =
            path.iter().map(|&index| self.locks.edges[index].clone()).collect();
        // It begins at the same place whichever of its edges came last, so that two searches tell it
        // alike.
        let begin = (0..cycle.len()).min_by_key(|&at| self.locks.tellable(&cycle[at]));
        cycle.rotate_left(begin.unwrap_or(0));
        let mut pairs = cycle.iter().flat_map(|a| cycle.iter().map(move |b| (a, b)));
        let ordered = |(a, b): (&Edge, &Edge)| {
            a.task != b.task && self.is_before((a.task, a.step), (b.task, b.step))
        };
        let tellable = cycle.iter().map(|edge| self.locks.tellable(edge)).collect::<Vec<_>>();
        if pairs.any(ordered) || self.locks.is_told(&tellable) {
            return;
        }
        // Locks of one kind and place are numbered in the order in which the cycle names them.
        let mut known: Vec<(u32, ObjectName)> = Vec::new();
        let mut name = |held: &Held| {
            let lock = self.locks.lock(held.slot);
            if let Some((_, name)) = known.iter().find(|(slot, _)| *slot == lock.slot) {
                return name.clone();
            }
            let (kind, created) = (lock.kind.to_owned(), site_of(lock.created));
            let alike =
                |other: &&(u32, ObjectName)| other.1.kind == kind && other.1.created == created;
            let nth = known.iter().filter(alike).count() as u32;
            let name = ObjectName { kind, created, name: lock.name.map(str::to_owned), nth };
            known.push((lock.slot, name.clone()));
            name
        };
        let nested = |edge: &Edge| Nested {
            task: self.label(edge.task),
            held: name(&edge.held),
            held_at: site_of(edge.held.site),
            taken: name(&edge.taken),
            taken_at: site_of(edge.taken.site),
        };
        let cycle: Vec<_> = cycle.iter().map(nested).collect();
        // A search that this one goes on from may have told it, from another lock on.
        let alike = |told: &[Nested], from: usize| {
            told.len() == cycle.len()
                && told.iter().cycle().skip(from).zip(&cycle).all(|(a, b)| a == b)
        };
        let told = |note: &Note| matches!(note, Note::LockOrder { cycle: told } if (0..told.len()).any(|from| alike(told, from)));
        if !self.locks.notes.iter().any(told) {
            self.locks.notes.push(Note::LockOrder { cycle });
        }
        self.locks.told.push(tellable);
    }

    /// Whether spawns and joins alone put the step of one task before that of another.
    fn is_before(&self, first: (TaskId, u64), second: (TaskId, u64)) -> bool {
        // By task: from which step on it is known to be after the first.
        let mut after = vec![u64::MAX; self.tasks.len()];
        after[first.0.index()] = first.1;
        loop {
            let mut changed = false;
            for &task in &self.created {
                let (parent, born) = self.task(task).born;
                if task != TaskId::ROOT && after[parent.index()] <= born && after[task.index()] > 0
                {
                    after[task.index()] = 0;
                    changed = true;
                }
                if let Some((joiner, step)) = self.task(task).joined
                    && after[task.index()] != u64::MAX
                    && after[joiner.index()] > step
                {
                    after[joiner.index()] = step;
                    changed = true;
                }
            }
            if !changed {
                return after[second.0.index()] <= second.1;
            }
        }
    }
}
