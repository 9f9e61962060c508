//! Each state once, and every step from each: breadth-first on any number of threads, depth-first on one.

use std::cell::RefCell;

use raddle_engine::states::{SavedEntry, SavedStates};

use super::frontier::{Entry, Frontier};
use super::report::Stopped;
use super::saved::{Wish, restore, save_step, step_of, strayed};
use super::team::{GoOn, Walk};
use super::walker::{Halt, Walker, Wrong};
use super::way::Step;
use crate::snapshot::{Move, Snapshot};

/// Breadth-first: a round has the states that can be reached in the same number of steps.
pub(super) struct BreadthFirst;

thread_local! {
    /// The moves and the values of the state that a thread goes on from, for their allocations.
    static SCRATCH: RefCell<(Vec<Move>, Vec<u32>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

impl Walk for BreadthFirst {
    type Extra = ();
    type Sent = ();
    const LAST_FIRST: bool = false;

    fn expand<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        entry: Entry<()>,
        frontier: &mut Frontier<()>,
    ) -> Result<(), Halt> {
        let Entry { state, depth, way, extra: () } = entry;
        let way = way.as_ref();
        let (mut moves, mut values) = SCRATCH.take();
        walker.space.stepper.moves(&state, &mut moves);
        if moves.is_empty() {
            walker.end(&state, way)?;
        } else if walker.shared.limits.depth.is_some_and(|most| depth >= most) {
            walker.tally.cut = true;
            return Ok(());
        }
        for &step in &moves {
            values.clear();
            loop {
                let (next, more) = walker.step(&state, step, &mut values, depth + 1, way)?;
                if let Some((state, way)) = next {
                    frontier.push_later(0, Entry { state, depth: depth + 1, way, extra: () });
                }
                if !more {
                    break;
                }
            }
        }
        SCRATCH.set((moves, values));
        Ok(())
    }

    fn send(&self, (): ()) {}

    fn receive(&self, (): ()) {}

    fn save(&self, (): &(), _: &mut SavedEntry) {}

    fn save_sent(&self, (): &(), _: &mut SavedEntry) {}

    fn follow<S: Send + Sync + 'static>(
        &self,
        _: &Walker<'_, S>,
        _: &mut Entry<()>,
        _: Move,
        _: &Snapshot,
    ) -> Result<(), Halt> {
        Ok(())
    }

    fn restore(&self, (): &mut (), _: &SavedEntry) {}
}

/// A state on the path of a depth-first search, and what is yet to be tried from it.
struct Node {
    state: Snapshot,
    /// The step that led to it; none of the first.
    by: Option<Step>,
    moves: Vec<Move>,
    values: Vec<u32>,
}

/// Where a depth-first search is.
#[derive(Default)]
struct Path {
    nodes: Vec<Node>,
    /// The step that is tried from the last of them, or was taken to a state that is looked at.
    tried: Option<Step>,
}

impl Path {
    /// What is wrong, with the steps that lead there.
    fn to(&self, wrong: Wrong) -> Wrong {
        let steps = self.nodes.iter().filter_map(|node| node.by.clone());
        let tried = self.tried.clone().filter(|_| wrong.step.is_none());
        Wrong { way: Some(steps.chain(tried).collect()), ..wrong }
    }
}

impl Path {
    /// What it needs to go on elsewhere, between two steps.
    fn save<S: Send + Sync + 'static>(&self, walker: &Walker<'_, S>) -> SavedStates {
        let steps = self.nodes.iter().filter_map(|node| node.by.clone()).enumerate();
        let steps = steps.map(|(nth, step)| save_step((nth as u32, step))).collect();
        let entry = |(nth, node): (usize, &Node)| SavedEntry {
            at: nth as u32,
            fingerprint: node.state.fingerprint(),
            later: false,
            spent: 0,
            tried: node.moves.len() as u32,
            values: vec![(0, node.values.clone())],
        };
        let entries = self.nodes.iter().enumerate().map(entry).collect();
        SavedStates { steps, entries, done: walker.tally().save(), ..walker.shared.save() }
    }

    /// As it was saved.
    fn restored<S: Send + Sync + 'static>(
        walker: &mut Walker<'_, S>,
        saved: &SavedStates,
    ) -> Result<Self, Halt> {
        let first = Entry { state: walker.space.first(), depth: 0, way: None, extra: () };
        let mut path = Self::default();
        for (entry, saved_entry) in restore(&BreadthFirst, walker, first, saved)? {
            let nth = path.nodes.len();
            let by = nth.checked_sub(1).map(|before| step_of(&saved.steps[before]));
            let by = by.map(|step| step.ok_or_else(strayed)).transpose()?;
            let mut moves = Vec::new();
            walker.space.stepper.moves(&entry.state, &mut moves);
            let left = saved_entry.tried as usize;
            if entry.depth as usize != nth || saved_entry.at as usize != nth || left > moves.len() {
                return Err(strayed());
            }
            moves.truncate(left);
            let values = saved_entry.values.first().map(|(_, values)| values.clone());
            walker.waiting_bytes += entry.state.bytes();
            let values = values.unwrap_or_default();
            path.nodes.push(Node { state: entry.state, by, moves, values });
        }
        Ok(path)
    }
}

/// Depth-first. The way to a violation is the path.
pub(super) fn depth_first<S: Send + Sync + 'static>(
    walker: &mut Walker<'_, S>,
    from: Option<&SavedStates>,
    go_on: GoOn<'_>,
) -> Result<(), Halt> {
    let mut path = match from {
        Some(saved) => Path::restored(walker, saved)?,
        None => Path::default(),
    };
    let first = from.is_none().then(|| walker.space.first());
    descend(walker, &mut path, first, go_on).map_err(|halt| match halt {
        Halt::Wrong(wrong) => Halt::Wrong(Box::new(path.to(*wrong))),
        other => other,
    })
}

/// Tells how far the search is.
fn ask<S: Send + Sync + 'static>(
    walker: &Walker<'_, S>,
    path: &Path,
    go_on: GoOn<'_>,
) -> Result<(), Halt> {
    let mut visited = walker.shared.visited();
    visited.transitions = walker.tally.transitions;
    visited.waiting = path.nodes.len() as u64;
    visited.bytes += walker.waiting_bytes;
    let mut wish = go_on.visited(visited);
    while wish == Wish::Save {
        wish = go_on.saved(Some(Box::new(path.save(walker))));
    }
    if wish == Wish::Stop { Err(Halt::Stopped(Stopped::Caller)) } else { Ok(()) }
}

fn descend<S: Send + Sync + 'static>(
    walker: &mut Walker<'_, S>,
    path: &mut Path,
    mut next: Option<Snapshot>,
    go_on: GoOn<'_>,
) -> Result<(), Halt> {
    let mut laps = 0u32;
    let mut spare: Vec<Vec<Move>> = Vec::new();
    loop {
        if let Some(state) = next.take() {
            let mut moves = spare.pop().unwrap_or_default();
            walker.space.stepper.moves(&state, &mut moves);
            if moves.is_empty() {
                walker.end(&state, None)?;
            }
            walker.waiting_bytes += state.bytes();
            path.nodes.push(Node { state, by: path.tried.take(), moves, values: Vec::new() });
            laps = laps.wrapping_add(1);
            if laps.is_multiple_of(walker.shared.limits.lap) {
                ask(walker, path, go_on)?;
            }
        }
        let depth = path.nodes.len() as u32;
        let Some(node) = path.nodes.last_mut() else { return Ok(()) };
        let Some(&way) = node.moves.last() else {
            let node = path.nodes.pop().expect("it is there");
            walker.waiting_bytes = walker.waiting_bytes.saturating_sub(node.state.bytes());
            spare.push(node.moves);
            continue;
        };
        path.tried = Some(Step { way, values: node.values.as_slice().into() });
        let (found, more) = walker.step(&node.state, way, &mut node.values, depth, None)?;
        if !more {
            node.moves.pop();
            node.values.clear();
        }
        next = found.map(|(state, _)| state);
    }
}
