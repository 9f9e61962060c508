//! Locks that the current task takes and gives back.

use super::Execution;
use crate::op::{Access, Held};

impl Execution {
    /// The current task has taken a lock or given one back.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    pub(crate) fn hold(&mut self, mut lock: Held, access: Access, keeps_share: bool) {
        if self.is_tearing() {
            return;
        }
        lock.shared = matches!(access, Access::Share | Access::TryShare);
        // SAFETY: the current task, boxed, and no other reference to it is used at this moment.
        let held = unsafe { &mut (*self.me).held };
        match access {
            Access::Acquire | Access::Share | Access::TryAcquire | Access::TryShare => {
                if held.is_empty() {
                    held.push(lock);
                } else {
                    // Who only tries cannot be made to wait.
                    let waits = matches!(access, Access::Acquire | Access::Share);
                    self.took_nested(lock, waits);
                }
            }
            Access::Release | Access::Unshare => match held.as_slice() {
                [one] if one.slot == lock.slot && !keeps_share => held.clear(),
                _ => self.gave_nested(lock.slot, keeps_share),
            },
            _ => {}
        }
    }

    /// The current task takes a lock while it holds others. `waits`: it would have waited for it.
    #[cold]
    fn took_nested(&mut self, taken: Held, waits: bool) {
        let task = self.current;
        if waits {
            self.detectors.locks.took(task, self.n_steps, taken, &self.tasks);
        }
        self.task_mut(task).held.push(taken);
    }

    /// The current task gives a lock back that is not the only one it holds, or not wholly.
    #[cold]
    fn gave_nested(&mut self, slot: u32, keeps_share: bool) {
        let held = &mut self.task_mut(self.current).held;
        let Some(at) = held.iter().rposition(|held| held.slot == slot) else { return };
        if keeps_share {
            held[at].shared = true;
        } else {
            held.remove(at);
        }
    }
}
