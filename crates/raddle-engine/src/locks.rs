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

use crate::op::{Held, TaskId, site_of};
use crate::tasks::TaskTable;

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
type ShownEdge =
    [(&'static Location<'static>, Option<&'static str>, &'static Location<'static>); 2];

/// The orders in which locks were taken in one execution, and the cycles of the whole search.
#[derive(Debug, Default)]
pub(crate) struct LockOrder {
    edges: Vec<Edge>,
    /// The locks of the execution, in order of first use.
    pub(crate) known: Vec<Lock>,
    told: Vec<Vec<ShownEdge>>,
    /// What is to be said of the search: such cycles, and what [`tell_difference`](crate::rt::tell_difference) was given.
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

    fn tellable(&self, edge: &Edge) -> ShownEdge {
        [edge.held, edge.taken].map(|held| {
            let lock = self.lock(held.slot);
            (lock.created, lock.name, held.site)
        })
    }

    fn is_told(&self, cycle: &[ShownEdge]) -> bool {
        let n = cycle.len();
        let alike = |told: &Vec<ShownEdge>, from: usize| {
            told.len() == n && told.iter().eq(cycle.iter().cycle().skip(from).take(n))
        };
        self.told.iter().any(|told| (0..n).any(|from| alike(told, from)))
    }
}

impl LockOrder {
    /// A task takes a lock, for which it would have waited, in this step and while it holds others.
    pub(crate) fn took(&mut self, task: TaskId, step: u64, taken: Held, tasks: &TaskTable) {
        let held = &tasks.get(task).held;
        for (index, outer) in held.iter().enumerate() {
            if outer.slot == taken.slot || self.edges.len() >= MOST_EDGES {
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
            if self.edges.iter().any(known) {
                continue;
            }
            self.edges.push(Edge { task, step, held: *outer, taken, gates });
            self.look_for_cycle(tasks);
        }
    }

    /// Looks for a cycle through the last edge.
    fn look_for_cycle(&mut self, tasks: &TaskTable) {
        let last = self.edges.len() - 1;
        let mut path = vec![last];
        let mut looks = 0;
        self.extend_cycle(tasks, &mut path, &mut looks);
    }

    fn extend_cycle(&mut self, tasks: &TaskTable, path: &mut Vec<usize>, looks: &mut u32) {
        let end = *path.last().expect("a path begins with an edge");
        for next in 0..self.edges.len() {
            *looks += 1;
            if *looks > MOST_LOOKS {
                return;
            }
            if next == path[0] {
                continue;
            }
            let edges = &self.edges;
            let fits = edges[end].waits_for(&edges[next])
                && path.iter().all(|&other| {
                    edges[other].task != edges[next].task && !edges[other].is_gated(&edges[next])
                });
            if !fits {
                continue;
            }
            path.push(next);
            if self.edges[next].waits_for(&self.edges[path[0]]) {
                self.tell_cycle(tasks, path);
            } else if path.len() < LONGEST {
                self.extend_cycle(tasks, path, looks);
            }
            path.pop();
        }
    }

    fn tell_cycle(&mut self, tasks: &TaskTable, path: &[usize]) {
        let mut cycle: Vec<Edge> = path.iter().map(|&index| self.edges[index].clone()).collect();
        // It begins at the same place whichever of its edges came last, so that two searches tell it
        // alike.
        let begin = (0..cycle.len()).min_by_key(|&at| self.tellable(&cycle[at]));
        cycle.rotate_left(begin.unwrap_or(0));
        let mut pairs = cycle.iter().flat_map(|a| cycle.iter().map(move |b| (a, b)));
        let ordered = |(a, b): (&Edge, &Edge)| {
            a.task != b.task && tasks.is_before((a.task, a.step), (b.task, b.step))
        };
        let tellable = cycle.iter().map(|edge| self.tellable(edge)).collect::<Vec<_>>();
        if pairs.any(ordered) || self.is_told(&tellable) {
            return;
        }
        // Locks of one kind and place are numbered in the order in which the cycle names them.
        let mut known: Vec<(u32, ObjectName)> = Vec::new();
        let mut name = |held: &Held| {
            let lock = self.lock(held.slot);
            if let Some((_, name)) = known.iter().find(|(slot, _)| *slot == lock.slot) {
                return name.clone();
            }
            let (kind, created) = (lock.kind.to_owned(), site_of(lock.created));
            let alike =
                |other: &&(u32, ObjectName)| other.1.kind == kind && other.1.created == created;
            let nth = known.iter().filter(alike).count() as u32;
            let name = lock.name.map(str::to_owned);
            let name = ObjectName { kind, created, name, nth, variable: None };
            known.push((lock.slot, name.clone()));
            name
        };
        let nested = |edge: &Edge| Nested {
            task: tasks.label(edge.task),
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
        if !self.notes.iter().any(told) {
            self.notes.push(Note::LockOrder { cycle });
        }
        self.told.push(tellable);
    }
}
