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

/// A step was taken: the sleepers that depend on it wake up.
///
/// A step that did different things with different values sleeps once with each of them. If one of these
/// wakes, all of its task do: which value it will be given is not known.
pub(crate) fn wake(sleepers: &mut Vec<Footprint>, step: &Footprint) {
    // With one sleeper there is no other of its task, which is by far the most frequent case.
    let several = sleepers.len() > 1;
    let mut woken = Tasks::default();
    sleepers.retain(|sleeper| {
        let wakes = sleeper.dependent(step);
        if wakes {
            woken.insert(sleeper.task);
        }
        !wakes
    });
    // Example: a delivery that a fault may lose slept once as handled and once as lost. A step that depends on the first
    // alone wakes both: it is one step, and which value it is given next time is not known.
    if several && !woken.is_empty() {
        sleepers.retain(|sleeper| !woken.contains(sleeper.task));
    }
}
