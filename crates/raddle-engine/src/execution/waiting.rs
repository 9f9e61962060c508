//! Pending ops that are looked at again when their objects have changed.
//!
//! Only the op of a task that is suspended is among them: one that is chosen at once needs none of this. Ops that take a
//! lock which one task has at a time are in its queue, because they are enabled and disabled together; every other op
//! is asked by itself.

use super::{Enabled, Execution, slow_path};
use crate::op::TaskId;
use crate::task::{NO_SLOT, Task};

impl Enabled {
    /// The pending op of a task that is in no queue is no longer looked at.
    #[inline]
    fn stop_watching(&mut self, task: &mut Task) {
        let (place, [first, second]) = (task.lineage.seq, task.op.slots);
        if first == NO_SLOT {
            return;
        }
        task.op.slots = [NO_SLOT; 2];
        self.n_queued -= 1;
        self.queues[first as usize].watchers.remove(place);
        if second != NO_SLOT {
            self.queues[second as usize].watchers.remove(place);
        }
    }
}

impl Execution {
    /// From now on the pending op of a task is looked at again when one of these objects changes. `queues`: it takes
    /// the first, as all others in its queue do ([`Announced::queues`](crate::announce::Announced::queues)).
    #[inline]
    pub(super) fn watch(&mut self, task: TaskId, slots: [u32; 2], queues: bool) {
        if slots[0] == NO_SLOT {
            return;
        }
        let Self { enabled, tasks, .. } = self;
        let entry = tasks.get_mut(task);
        let place = entry.lineage.seq;
        enabled.n_queued += 1;
        if !queues {
            entry.op.slots = slots;
            enabled.queue(slots[0]).watchers.insert(place);
            if slots[1] != NO_SLOT {
                enabled.queue(slots[1]).watchers.insert(place);
            }
            return;
        }
        let can_move = enabled.places.contains(place);
        let queue = enabled.queue(slots[0]);
        if queue.count == 0 {
            queue.is_free = can_move;
        }
        debug_assert_eq!(queue.is_free, can_move, "a lock is free for all or for none");
        queue.members.insert(place);
        queue.count += 1;
        entry.op.queue = (slots[0], queue.flips);
    }

    /// The op of a task is no longer pending.
    #[inline]
    pub(super) fn unwatch(&mut self, task: TaskId) {
        let Self { enabled, tasks, .. } = self;
        let entry = tasks.get_mut(task);
        if entry.op.queue.0 == NO_SLOT {
            enabled.stop_watching(entry);
        } else {
            self.leave_queue(task);
        }
    }

    fn leave_queue(&mut self, task: TaskId) {
        let (since, disabled) = (self.enabled_since(task), self.disabled(task));
        let entry = self.tasks.get_mut(task);
        let queue = &mut self.enabled.queues[entry.op.queue.0 as usize];
        queue.members.remove(entry.lineage.seq);
        queue.count -= 1;
        self.enabled.n_queued -= 1;
        entry.op.queue.0 = NO_SLOT;
        (entry.fair.enabled_since, entry.fair.disabled) = (since, disabled);
    }

    /// The step after which a task that can move could do so without a break since.
    pub(super) fn enabled_since(&self, task: TaskId) -> u64 {
        let entry = self.task(task);
        let (slot, flips) = entry.op.queue;
        let own = entry.fair.enabled_since;
        if slot == NO_SLOT {
            return own;
        }
        let (since, flip) = self.enabled.queues[slot as usize].enabled;
        if flip > flips { since } else { own }
    }

    /// By which task and when a task was last disabled.
    pub(super) fn disabled(&self, task: TaskId) -> (TaskId, u64) {
        let entry = self.task(task);
        let (slot, flips) = entry.op.queue;
        let own = entry.fair.disabled;
        if slot == NO_SLOT {
            return own;
        }
        let (step, by, flip) = self.enabled.queues[slot as usize].disabled;
        if flip > flips { (by, step) } else { own }
    }

    /// Looks again at the ops that are pending on an object whose state may have changed.
    ///
    /// # Safety
    /// `ex` is the current execution.
    #[inline]
    pub(crate) unsafe fn wake(ex: *mut Self, slot: u32) {
        // SAFETY: by contract; nothing here switches.
        unsafe {
            let this = &mut *ex;
            if this.is_tearing() {
                return;
            }
            let Some(queue) = this.enabled.queues.get(slot as usize) else { return };
            let has_watchers = !queue.watchers.is_surely_empty();
            if queue.count > 0 {
                this.wake_queue(slot as usize);
            }
            if has_watchers {
                this.wake_each(slot as usize);
            }
        }
    }

    /// Enables or disables those who wait for a lock.
    fn wake_queue(&mut self, slot: usize) {
        let (n_steps, current) = (self.n_steps, self.current);
        let first = self.enabled.queues[slot].members.next(0).expect("it has members");
        let is_free = self.could_run(first);
        debug_assert!(
            self.enabled.queues[slot].members.iter().all(|place| self.could_run(place) == is_free),
            "a lock is free for all or for none"
        );
        let enabled = &mut self.enabled;
        let queue = &mut enabled.queues[slot];
        if queue.is_free == is_free {
            return;
        }
        queue.is_free = is_free;
        queue.flips += 1;
        if is_free {
            queue.enabled = (n_steps, queue.flips);
            enabled.count += enabled.places.add(&queue.members);
        } else {
            queue.disabled = (n_steps, current, queue.flips);
            enabled.count -= enabled.places.take_out(&queue.members);
        }
        enabled.change();
    }

    /// Whether the pending op of the task with this place could run.
    fn could_run(&self, place: u32) -> bool {
        let task = self.tasks.created[place as usize];
        // SAFETY: announced ops of suspended tasks are valid, and touch models only.
        self.task(task).op.announced.is_some_and(|what| unsafe { (*what).enabled(task) })
    }

    /// Asks the ops one by one that are pending on an object.
    fn wake_each(&mut self, slot: usize) {
        let mut from = 0;
        while let Some(place) = self.enabled.queues[slot].watchers.next(from) {
            from = place + 1;
            let task = self.tasks.created[place as usize];
            let entry = self.tasks.get_mut(task);
            let Some(what) = entry.op.announced else { continue };
            if entry.rounds.waits {
                // What it waits for is a change, of which it has heard when the step was counted.
                continue;
            }
            // SAFETY: announced ops of suspended tasks are valid, and touch models only.
            let what = unsafe { &*what };
            let enabled = what.enabled(task);
            let is_double = entry.op.slots[1] != NO_SLOT;
            if is_double && entry.op.first_since.is_none() && what.first_enabled(task) {
                entry.op.first_since = Some(self.n_steps);
            }
            if !entry.op.immediate {
                let has_timer = entry.timing.timer.is_some();
                // Mostly nothing has changed for it.
                if enabled != self.enabled.places.contains(place) {
                    self.set_enabled(task, enabled);
                }
                if has_timer {
                    self.rearm(task);
                }
            } else if enabled {
                (entry.op.first_since, entry.op.announced) = (Some(self.n_steps), None);
                self.enabled.stop_watching(entry);
                self.enabled.run_on.push(task);
                self.slow_path |= slow_path::RUN_ON;
            }
        }
    }
}
