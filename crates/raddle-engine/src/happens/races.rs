//! Races of one execution: two dependent steps, not ordered otherwise, of which the later could have
//! come first. Also of ops that did not run, and of timers that did not fire.

use super::{History, NONE, bits};
use crate::dependence::{Footprint, conflict, dominates, reversible};
use crate::op::{Access, ObjectId, TaskId};
use crate::strategy::{Stuck, Timer};
use crate::vector_clock;

fn shares_or_is_refused(access: Access) -> bool {
    matches!(access, Access::Refused | Access::Share | Access::TryShare)
}

impl History {
    /// The events with which an event races: dependent, not ordered otherwise, and such that the
    /// later one could have come first.
    pub fn races(&mut self, index: usize, races: &mut Vec<u32>) {
        races.clear();
        // Program order alone accounts for all that is before it; or it is a last resort, which the others had to end before.
        if !self.events[index].may_race {
            return;
        }
        let happened = self.events[index];
        if happened.immediate {
            self.races_of_immediate(index, races);
            return;
        }
        self.order_of(index, None);
        for (at, &(object, access)) in happened.footprint.touched.iter().enumerate() {
            if let Access::Observe(other) = access {
                for lane in self.seen_by(&happened.footprint, other) {
                    for event in self.follows(lane, index) {
                        self.add_race(event, races);
                    }
                }
            }
            if object != ObjectId::NONE {
                self.races_on(happened.before_on[at], object, access, happened.enabler, races);
                // What it could not come before on one object it may on the other.
                self.scratch.clone_from(&self.order);
            }
        }
        // A resource has no access kinds: all steps on it depend on each other. So the last one before is the only
        // candidate, those before that one are ordered by it.
        for bit in bits(happened.footprint.shared_resources) {
            let before =
                self.resource_events[bit].partition_point(|&event| (event as usize) < index);
            if let Some(before) = before.checked_sub(1) {
                self.add_race(self.resource_events[bit][before], races);
                self.scratch.clone_from(&self.order);
            }
        }
        self.races_with_changes(index, races);
        self.races_with_looks(happened.footprint.task, index, races);
        if let Some(partner) = happened.partner {
            self.races_with_looks(partner, index, races);
        }
    }

    /// What changed something that a step watches; and those that watch what it changes.
    fn races_with_changes(&mut self, index: usize, races: &mut Vec<u32>) {
        if self.watchers.is_empty() {
            // Its own watch would be among them.
            self.scratch.clone_from(&self.order);
            return;
        }
        let footprint = self.events[index].footprint;
        if footprint.watch.objects != 0 {
            for event in self.changes_of(&footprint, index) {
                // One that is on its own object is known.
                if !races.contains(&event) {
                    self.scratch.clone_from(&self.order);
                    self.add_race(event, races);
                }
            }
            self.scratch.clone_from(&self.order);
        }
        for at in (0..self.watchers.len()).rev() {
            let watcher = self.watchers[at];
            let earlier = (watcher as usize) < index && !races.contains(&watcher);
            if earlier && self.is_watched_by(&footprint, watcher) {
                self.add_race(watcher, races);
            }
        }
        self.scratch.clone_from(&self.order);
    }

    /// Those who looked whether a task is finished.
    fn races_with_looks(&mut self, task: TaskId, index: usize, races: &mut Vec<u32>) {
        for at in 0..self.lanes[task.index()].looks.len() {
            let look = self.lanes[task.index()].looks[at];
            if (look as usize) < index {
                self.add_race(look, races);
            }
        }
    }

    /// An event that was not chosen cannot come before what it waited for, but that could have come
    /// before another task looked whether this one is finished.
    fn races_of_immediate(&mut self, index: usize, races: &mut Vec<u32>) {
        self.order_of(index, None);
        let task = self.events[index].footprint.task;
        self.races_with_looks(task, index, races);
    }

    /// The events with which an op that did not run would have raced.
    pub fn races_of_stuck(&mut self, stuck: &Stuck, races: &mut Vec<u32>) {
        races.clear();
        self.widen(stuck.task.index() + 1);
        // An op that was woken, and then did not get the lock, could not have been where it was without that notification.
        let enabler = stuck.enabled_since.and_then(|since| self.rouser(since));
        self.begin_order(stuck.task, self.events.len(), None, enabler);
        for &(object, access) in &stuck.footprint {
            if object != ObjectId::NONE
                && let Some(chain) = self.chains.get(object.0 as usize)
            {
                self.races_on(chain.last, object, access, NONE, races);
                self.scratch.clone_from(&self.order);
            }
        }
    }

    /// The events with which the timer of an event's op would have raced, had it fired before: those
    /// that made the op possible, or the op itself if both were.
    pub fn races_of_timer(&mut self, index: usize, timer: &Timer, races: &mut Vec<u32>) {
        races.clear();
        let happened = self.events[index];
        self.order_of(index, Some(timer.task));
        let (object, access) = happened.footprint.touched[0];
        match access {
            // It could go on by itself all the time; another step may have ended the timeout before it did.
            Access::Write => {
                let disabler = timer.disabled_since.and_then(|since| self.rouser(since));
                races.push(disabler.unwrap_or(index as u32));
            }
            Access::Acquire => {
                // A token that was given, or senders that went: of those, whichever is last.
                let mut next = happened.before_on[0];
                while next != NONE {
                    let (theirs, before) = self.on(next, object);
                    if matches!(theirs, Access::Release | Access::Unshare) && !self.is_ordered(next)
                    {
                        races.push(next);
                    }
                    if theirs == Access::Release {
                        return;
                    }
                    next = before;
                }
            }
            // No event made the op possible, or one that is before the timer in any case: there is nothing to put after the timer.
            _ if happened.enabler == NONE || self.is_ordered(happened.enabler) => {}
            _ => races.push(happened.enabler),
        }
    }

    /// The same for an op that could have gone on, but did not yet.
    pub fn races_of_stuck_timer(&mut self, stuck: &Stuck, timer: &Timer, races: &mut Vec<u32>) {
        races.clear();
        self.widen(timer.task.index() + 1);
        self.begin_order(timer.task, self.events.len(), Some(stuck.task), None);
        races.extend(timer.disabled_since.and_then(|since| self.rouser(since)));
    }

    /// The events with which an op of `task` would have raced that the event at `index`, its timer's, ended: that
    /// one, instead of which it could have come, and those that had the lock which it waited for.
    pub fn races_of_ended(
        &mut self,
        index: usize,
        (task, footprint): (TaskId, &[(ObjectId, Access); 2]),
        races: &mut Vec<u32>,
    ) {
        races.clear();
        self.order_of(index, Some(task));
        races.push(index as u32);
        let (object, access) = footprint[1];
        let Some(chain) = self.chains.get(object.0 as usize) else { return };
        let mut newest = chain.last;
        // The chain is that of the whole execution; what came after the timeout the op could not have met.
        while newest != NONE && newest as usize > index {
            newest = self.on(newest, object).1;
        }
        self.races_on(newest, object, access, NONE, races);
    }

    /// The same where the timer fired because nothing could move: the op could not have come in its place, and races as
    /// [one that did not run](Self::races_of_stuck) would if the execution had ended there.
    pub fn races_of_waiting(
        &mut self,
        index: usize,
        (task, footprint): (TaskId, &[(ObjectId, Access); 2]),
        races: &mut Vec<u32>,
    ) {
        races.clear();
        self.order_of(index, Some(task));
        for &(object, access) in footprint {
            if object == ObjectId::NONE {
                continue;
            }
            let Some(chain) = self.chains.get(object.0 as usize) else { continue };
            let mut newest = chain.last;
            while newest != NONE && newest as usize >= index {
                newest = self.on(newest, object).1;
            }
            self.races_on(newest, object, access, NONE, races);
            self.scratch.clone_from(&self.order);
        }
    }

    fn races_on(
        &mut self,
        newest: u32,
        object: ObjectId,
        access: Access,
        enabler: u32,
        races: &mut Vec<u32>,
    ) {
        let waits = matches!(access, Access::Acquire | Access::Share | Access::PassGate);
        // Between where it was taken and where it was given back no other task could have had it, nor gone
        // on where the last place of a queue was taken until the receiver was dropped.
        let mut held = waits && self.is_held(newest, object);
        let mut next = newest;
        while next != NONE {
            let (theirs, before) = self.on(next, object);
            held &= !matches!(
                theirs,
                Access::Acquire
                    | Access::TryAcquire
                    | Access::BoundedPush(_)
                    | Access::TryBoundedPush(_)
            );
            if !held && conflict(theirs, access) {
                held = waits && theirs == Access::Release;
                // The take that made room for this push, or the push that put in what this take got: not reversible, since
                // the op would have waited for it.
                let waited =
                    next == enabler && matches!(access, Access::BoundedPush(_) | Access::Take);
                // Nor could it have come before a step that came because nothing could move; what it races with is further back.
                let possible = reversible(theirs, access)
                    && !waited
                    && !self.events[next as usize].footprint.last_resort;
                // Ordered by another path. If it dominates, everything further back is ordered through it as well.
                if self.is_ordered(next) {
                    if dominates(theirs) {
                        return;
                    }
                } else if possible && shares_or_is_refused(theirs) {
                    // What came before may be what the op really races with: the lock was held
                    // when this was refused, and may have been shared before this shared it.
                    races.push(next);
                } else if possible {
                    self.add_race(next, races);
                    if dominates(theirs) {
                        return;
                    }
                }
            }
            next = before;
        }
    }

    /// The event that keeps an op from coming before the event at `first` and after those in `then`, if
    /// one is known to: another task has the lock that the op wants for itself.
    #[must_use]
    pub fn in_the_way(&self, op: &Footprint, first: usize, then: &[usize]) -> Option<usize> {
        op.touched.iter().filter(|(_, access)| *access == Access::Acquire).find_map(
            |&(object, _)| {
                let theirs =
                    self.events[first].footprint.touched.iter().find(|(o, _)| *o == object);
                let takes =
                    |(_, a): &(_, Access)| matches!(a, Access::Acquire | Access::TryAcquire);
                // If a task takes it there, it is free.
                if theirs.is_some_and(takes) { None } else { self.holder(object, first, then) }
            },
        )
    }

    /// Where a lock was taken that is held before the event at `first` and after those in `then`.
    fn holder(&self, object: ObjectId, first: usize, then: &[usize]) -> Option<usize> {
        // Runs through the lock's events in the order in which they would come, because what is left out by `then`
        // may be either end of a critical section.
        let mut earlier = Vec::new();
        let mut next = self.chains.get(object.0 as usize).map_or(NONE, |chain| chain.last);
        while next != NONE {
            if (next as usize) < first || then.binary_search(&(next as usize)).is_ok() {
                earlier.push(next);
            }
            next = self.on(next, object).1;
        }
        let task = |event: u32| self.events[event as usize].footprint.task;
        let (mut alone, mut sharers) = (None, Vec::<u32>::new());
        for event in earlier.into_iter().rev() {
            match self.on(event, object).0 {
                Access::Acquire | Access::TryAcquire => alone = Some(event),
                Access::Release => alone = None,
                Access::Share | Access::TryShare => sharers.push(event),
                Access::Unshare => {
                    let own = |sharer: &u32| task(*sharer) == task(event);
                    if let Some(at) = sharers.iter().rposition(own) {
                        sharers.remove(at);
                    }
                }
                _ => {}
            }
        }
        alone.or(sharers.first().copied()).map(|event| event as usize)
    }

    /// Whether some task has a lock to itself after this event.
    fn is_held(&self, newest: u32, object: ObjectId) -> bool {
        let mut next = newest;
        while next != NONE {
            let (access, before) = self.on(next, object);
            match access {
                Access::Acquire | Access::TryAcquire => return true,
                Access::Release => return false,
                _ => next = before,
            }
        }
        false
    }

    /// Whether an event is before the op that was last asked about, in any order of independent
    /// steps.
    #[must_use]
    pub fn happens_before_op(&self, event: usize) -> bool {
        let happened = &self.events[event];
        self.order[happened.footprint.task.index()] >= happened.nth
    }

    fn is_ordered(&self, event: u32) -> bool {
        let happened = &self.events[event as usize];
        self.scratch[happened.footprint.task.index()] >= happened.nth
    }

    fn add_race(&mut self, event: u32, races: &mut Vec<u32>) {
        if event == NONE || self.is_ordered(event) {
            return;
        }
        let happened = self.events[event as usize];
        if happened.immediate {
            // It ran on because others had come before it: any of those might come later.
            let Footprint { task, touched, .. } = happened.footprint;
            let own = self.follows(task, event as usize);
            let joined = match touched[0].1 {
                Access::Observe(other) => self.follows(other, event as usize),
                _ => [happened.enabler, NONE],
            };
            let mut also = Vec::new();
            for earlier in own.into_iter().chain(joined) {
                // None is ordered before another on account of the event that both led to.
                let order = self.scratch.clone();
                self.add_race(earlier, &mut also);
                self.scratch = order;
            }
            also.retain(|event| !races.contains(event));
            races.extend(also);
        } else {
            races.push(event);
        }
        self.add_order(event);
    }

    /// Asks about an event, or what could have come `instead`, the timer of its op or the op of its timer: what is
    /// [before it in any case](Self::happens_before_op).
    pub fn order_of(&mut self, index: usize, instead: Option<TaskId>) {
        let happened = self.events[index];
        let task = happened.footprint.task;
        if let Some(instead) = instead {
            self.widen(instead.index() + 1);
            self.begin_order(instead, index, Some(task), None);
            return;
        }
        let (_, access) = happened.footprint.touched[0];
        // A waiter that was notified and a message that was sent cannot come before that notification or send. Any other
        // enabler only says what happened to come first this time: a lock may be given back by another task.
        let roused = access == Access::Woken || happened.sent;
        let enabler = roused.then_some(happened.enabler);
        self.begin_order(task, index, happened.partner, enabler);
        if let (true, Access::Observe(other)) = (happened.immediate, access) {
            for event in self.follows(other, index) {
                self.add_order(event);
            }
            self.order.clone_from(&self.scratch);
        }
    }

    /// Begins the clocks of what is before an op of `task` at `index`.
    fn begin_order(
        &mut self,
        task: TaskId,
        index: usize,
        partner: Option<TaskId>,
        enabler: Option<u32>,
    ) {
        let [last, fired] = self.follows(task, index);
        if last == NONE {
            self.scratch.reset(self.width);
        } else {
            let from = last as usize * self.width;
            self.scratch.copy(&self.clocks[from..from + self.width]);
        }
        self.add_order(fired);
        if let Some(partner) = partner {
            self.add_order(self.last_before(partner, index));
        }
        if let Some(enabler) = enabler {
            self.add_order(enabler);
        }
        self.order.clone_from(&self.scratch);
    }

    fn add_order(&mut self, event: u32) {
        if event == NONE {
            return;
        }
        let from = event as usize * self.width;
        vector_clock::join(&mut self.scratch, &self.clocks[from..from + self.width]);
    }
}
