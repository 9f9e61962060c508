//! Sleep sets: steps that need not be taken next, because what follows them is covered elsewhere.
//!
//! Godefroid 1996. A sibling that was explored before the current option sleeps in what follows, until a step
//! that depends on it is taken. A sleeper is the footprint with which its step ran.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::TaskId;
use raddle_engine::strategy::Tasks;

/// Whether a task is among these sleepers.
pub(crate) fn contains(sleepers: &[Footprint], task: TaskId) -> bool {
    sleepers.iter().any(|sleeper| sleeper.task == task)
}

/// A step was taken: the sleepers that depend on it wake up. How many of the first `first` sleep on: they are still the first ones.
///
/// A step that did different things with different values sleeps once with each of them. If one of these
/// wakes, all of its task do: which value it will be given is not known.
pub(crate) fn wake(sleepers: &mut Vec<Footprint>, first: usize, step: &Footprint) -> usize {
    // With one sleeper there is no other of its task, which is by far the most frequent case.
    let several = sleepers.len() > 1;
    let mut woken = Tasks::default();
    let first = keep(sleepers, first, |sleeper| {
        let wakes = sleeper.dependent(step);
        if wakes {
            woken.insert(sleeper.task);
        }
        !wakes
    });
    // Example: a delivery that a fault may lose slept once as handled and once as lost. A step that depends on the first
    // alone wakes both: it is one step, and which value it is given next time is not known.
    if several && !woken.is_empty() {
        return keep(sleepers, first, |sleeper| !woken.contains(sleeper.task));
    }
    first
}

/// Keeps the sleepers of which something holds, in order; how many of the first `first` are among them.
fn keep(
    sleepers: &mut Vec<Footprint>,
    first: usize,
    mut holds: impl FnMut(&Footprint) -> bool,
) -> usize {
    let (mut at, mut kept) = (0, 0);
    sleepers.retain(|sleeper| {
        let keeps = holds(sleeper);
        kept += usize::from(keeps && at < first);
        at += 1;
        keeps
    });
    kept
}
