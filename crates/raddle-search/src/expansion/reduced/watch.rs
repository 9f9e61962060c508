//! Whether what a branch of a wakeup tree leads to has been run after another step of the same state.
//!
//! The head of `wakeup.rs` has the argument. What is looked for are the names of the branch's steps, among the
//! events that came after the other step in all executions that took it.
//!
//! What voids it: a value decided in the other step or after it, of which not every one need have been tried; and times,
//! which a task may know though no step says so.

use raddle_engine::dependence::{Footprint, widest};
use raddle_engine::happens::History;
use raddle_engine::op::{Access, TaskId};
use raddle_engine::strategy::Tasks;
use serde::{Deserialize, Serialize};

use crate::wakeup::{Branch, Key};

/// The steps that are looked for while everything after one step of a state is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Watch {
    /// Whose step that is.
    task: TaskId,
    /// The names of the steps, ascending, and which were seen.
    keys: Vec<(Key, bool)>,
    /// Nothing can be said.
    void: bool,
}

impl Watch {
    /// For a step of `task`, if some branch of its state may turn out not to be needed after it.
    pub(super) fn new(task: TaskId, branches: &[Branch]) -> Option<Self> {
        let mut keys = Vec::new();
        for branch in branches.iter().filter(|branch| branch.unless.contains(&task)) {
            branch.keys(&mut keys);
        }
        if keys.is_empty() {
            return None;
        }
        keys.sort_unstable();
        keys.dedup();
        Some(Self { task, keys: keys.into_iter().map(|key| (key, false)).collect(), void: false })
    }

    /// Looks at the events of an execution that are new, from `kept` on, and came after the step at `index`.
    /// `doubtful`: nothing follows from what was seen.
    pub(super) fn look(&mut self, history: &History, index: usize, kept: usize, doubtful: bool) {
        // An execution that ended before it took the step has run nothing below it.
        self.void |= doubtful || index >= history.len();
        if self.void {
            return;
        }
        let step = history.event(index).footprint;
        for at in kept.max(index + 1)..history.len() {
            let event = history.event(at);
            self.see(Key { event: event.fingerprint, announced: event.announced });
            // The last step of a sequence comes earlier there than it did here, so its fingerprint is another one. That it was
            // announced after the same past is enough if it is independent of the step, whatever it does to its object.
            if !could_depend(&event.footprint, &step) {
                self.see(Key { event: 0, announced: event.announced });
            }
        }
    }

    fn see(&mut self, key: Key) {
        if let Ok(at) = self.keys.binary_search_by_key(&key, |(key, _)| *key) {
            self.keys[at].1 = true;
        }
    }

    /// Whether all that a branch leads to has been run after the step.
    pub(super) fn has_seen(&self, branch: &Branch) -> bool {
        if self.void || !branch.unless.contains(&self.task) {
            return false;
        }
        let mut keys = Vec::new();
        branch.keys(&mut keys);
        let seen = |key: &Key| {
            let at = self.keys.binary_search_by_key(key, |(key, _)| *key);
            // An announcement that is not known matches nothing: every such op would look the same.
            key.announced != 0 && at.is_ok_and(|at| self.keys[at].1)
        };
        keys.iter().all(seen)
    }
}

/// Whether an op depends on a step, whatever it does to its object where it comes at another time.
fn could_depend(op: &Footprint, step: &Footprint) -> bool {
    let mut op = *op;
    op.touched[0].1 = widest(op.touched[0].1);
    if op.learned {
        op.shared_resources = u128::MAX;
    }
    if let Access::Observe(_) = op.touched[0].1 {
        // Which tasks its target would be waiting for at that time is not known: assume any.
        op.waited_for = Tasks::ALL;
    }
    op.dependent(step)
}
