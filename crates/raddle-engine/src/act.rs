//! Acting on objects: how a task announces an op, waits for its turn, and does it.
//!
//! One part for ops inside an execution; for those outside, [`outside`](crate::outside) is called.

use std::panic::Location;
use std::time::Duration;

use crate::announce::{Double, Single, queues};
use crate::execution::{Execution, How, erase, number_of};
use crate::model::Model;
use crate::object::Object;
use crate::op::{Access, Held, ObjectId};
use crate::outside::both_outside;
use crate::task::NO_SLOT;

impl<M: Model> Object<M> {
    /// Gives it a name for reports and for strategies that go by names.
    ///
    /// Inside an execution this also numbers the object, before any task uses it. Then its number
    /// is the same whichever task uses it first, which lets a reduction tell it from others.
    pub fn set_name(&mut self, name: &'static str) {
        self.rename(name);
        let execution = Execution::current();
        if !execution.is_null() {
            self.claim(execution);
        }
    }

    /// Waits for its turn, then does `op`.
    ///
    /// # Panics
    /// If another search, or a thread outside, uses the object at the same time.
    #[expect(clippy::inline_always, reason = "with the op known, what is done with it folds")]
    #[inline(always)]
    #[track_caller]
    pub fn step(&self, op: M::Op) -> M::Reply {
        self.step_at(op, Location::caller())
    }

    /// Like [`step`](Self::step), for an op whose caller is not where it comes from: a destructor.
    ///
    /// # Panics
    /// If another search, or a thread outside, uses the object at the same time.
    #[expect(clippy::inline_always, reason = "with the op known, what is done with it folds")]
    #[inline(always)]
    pub fn step_at(&self, op: M::Op, site: &'static Location<'static>) -> M::Reply {
        // All that is rare uses this copy, so that nothing but registers needs the other.
        let announced = op;
        let ex = Execution::current();
        if ex.is_null() {
            let reply = self.outside(announced, None);
            return reply.expect("an op without a timeout does not time out");
        }
        let slot = self.claim(ex);
        let single = Single { object: self, op: &announced };
        // SAFETY: `ex` is the current execution, on the stack of its current task, and `single`
        // outlives the wait.
        unsafe {
            if (*ex).slow_path == 0 && !std::thread::panicking() {
                let task = (*ex).me;
                Execution::check_room(task);
                (*task).op.announced = Some(erase(&single));
                (*task).op.site = site;
                (*ex).announce(site);
                if M::BLOCKS {
                    let me = (*ex).current;
                    let enabled = self.model().enabled(me, op);
                    Execution::turn(ex, enabled, slot, queues(self, op, me));
                } else {
                    // No other step can disable it, so there is no need to check again that it is enabled.
                    Execution::turn(ex, true, NO_SLOT, false);
                }
                (*task).op.announced = None;
            } else if Execution::is_first(ex) {
                let me = (*ex).current;
                let task = (*ex).me;
                (*task).op.announced = Some(erase(&single));
                (*task).op.site = site;
                (*ex).announce(site);
                let slot = if M::BLOCKS { slot } else { NO_SLOT };
                let queues = queues(self, op, me);
                Execution::first_turn(ex, self.model().enabled(me, op), slot, queues);
                (*task).op.announced = None;
            } else {
                Execution::arrive(ex, &single, [slot, NO_SLOT], site, How::Step);
            }
            self.apply(ex, slot, op, &announced, site, How::Step)
        }
    }

    /// Does `op` as soon as it is enabled. Not a scheduling point: for ops that commute with all
    /// others once they are enabled, such as a join.
    ///
    /// # Panics
    /// If another search, or a thread outside, uses the object at the same time.
    #[track_caller]
    pub fn wait(&self, op: M::Op) -> M::Reply {
        let ex = Execution::current();
        if ex.is_null() {
            let reply = self.outside(op, None);
            return reply.expect("an op without a timeout does not time out");
        }
        self.wait_in(ex, op, Location::caller())
    }

    /// The part of [`wait`](Self::wait) for a task. `ex` is the current execution.
    #[expect(
        clippy::inline_always,
        reason = "a join is a part of the life of every task, and has one op"
    )]
    #[inline(always)]
    pub(crate) fn wait_in(
        &self,
        ex: *mut Execution,
        op: M::Op,
        site: &'static Location<'static>,
    ) -> M::Reply {
        let slot = self.claim(ex);
        let announced = op;
        let single = Single { object: self, op: &announced };
        // SAFETY: `ex` is the current execution, on the stack of its current task, and `single` outlives the wait.
        unsafe {
            let task = (*ex).me;
            Execution::check_room(task);
            if Execution::is_ordinary_or_first(ex) {
                if !self.model().enabled((*ex).current, op) {
                    (*task).op.announced = Some(erase(&single));
                    (*task).op.site = site;
                    (*ex).announce(site);
                    Execution::wait_to_run_on(ex, slot);
                    (*task).op.announced = None;
                }
            } else {
                Execution::arrive(ex, &single, [slot, NO_SLOT], site, How::Wait);
            }
            let reply = self.apply(ex, slot, op, &announced, site, How::Wait);
            (*task).op.first_since = None;
            reply
        }
    }

    /// Like [`step`](Self::step), or `None` if the timeout came first.
    #[track_caller]
    pub fn step_timeout(&self, op: M::Op, timeout: Duration) -> Option<M::Reply> {
        let site = Location::caller();
        let execution = Execution::current();
        if execution.is_null() {
            self.outside(op, Some(timeout))
        } else {
            self.inside(execution, op, site, How::Timed(timeout))
        }
    }

    /// Looks at the model without a step: for what is fixed or guarded by an earlier op.
    pub fn peek<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        let execution = Execution::current();
        if execution.is_null() {
            self.look_outside(look)
        } else {
            self.claim(execution);
            look(self.model())
        }
    }

    /// Its number in the running execution.
    ///
    /// # Panics
    /// Outside an execution.
    #[must_use]
    pub fn number(&self) -> ObjectId {
        let execution = Execution::current();
        assert!(!execution.is_null(), "engine bug: numbered an object outside an execution");
        ObjectId(self.claim(execution))
    }

    /// Changes the model without a step of its own: as a part of one that has been taken. Tasks
    /// that wait for the object look again.
    pub fn alter<T>(&self, change: impl FnOnce(&mut M) -> T) -> T {
        let execution = Execution::current();
        if execution.is_null() {
            return self.alter_outside(change);
        }
        let slot = self.claim(execution);
        let value = change(self.model_mut());
        // SAFETY: the current execution.
        unsafe { Execution::wake(execution, slot) };
        value
    }

    fn inside(
        &self,
        execution: *mut Execution,
        op: M::Op,
        site: &'static Location<'static>,
        how: How,
    ) -> Option<M::Reply> {
        let slot = self.claim(execution);
        let announced = op;
        let single = Single { object: self, op: &announced };
        // SAFETY: `execution` is the current one, and `single` outlives the wait.
        unsafe {
            if !Execution::arrive(execution, &single, [slot, NO_SLOT], site, how) {
                return None;
            }
            let reply = self.apply(execution, slot, op, &announced, site, how);
            let me = (*execution).current;
            (*execution).task_mut(me).op.first_since = None;
            Some(reply)
        }
    }

    /// Does `op`, whose turn it is. `announced` is a copy of it, for whatever is rare.
    ///
    /// # Safety
    /// `ex` is the current execution, on the stack of its current task, which has arrived.
    #[expect(clippy::inline_always, reason = "as for `step`")]
    #[inline(always)]
    unsafe fn apply(
        &self,
        ex: *mut Execution,
        slot: u32,
        op: M::Op,
        announced: &M::Op,
        site: &'static Location<'static>,
        how: How,
    ) -> M::Reply {
        // SAFETY: by contract.
        unsafe {
            let me = (*ex).current;
            let of = self.model().options(me, op, &(*ex).lasting.settings);
            let option = if of < 2 {
                0
            } else {
                Execution::option_of_step(ex, self.model(), *announced, of, site)
            };
            let access = self.model().access(me, op);
            if (*ex).detectors.track_races {
                (*ex).synchronise(self.model(), *announced, option, slot, site);
            }
            if M::CARRIES && (*ex).listeners.needs.messages {
                let carried = self.model().carried(me, *announced);
                (*ex).carry(me, carried);
            }
            if (*ex).waits.on {
                let number = number_of(access, || M::show(*announced, None));
                (*ex).task_mut(me).rounds.op = number;
            }
            let reply = self.model_mut().apply(me, op, option);
            let footprint = [(ObjectId(slot), access)];
            let task = (*ex).me;
            let show = || M::show(*announced, Some(&reply));
            Execution::commit(ex, (me, task), &footprint, site, how, show);
            if M::LOCKS {
                (*ex).hold(Held { slot, shared: false, site }, access, M::keeps_share(op));
            }
            // To see whether a task has finished changes nothing for others.
            if M::BLOCKS && !matches!(access, Access::Observe(_)) {
                Execution::wake(ex, slot);
            }
            reply
        }
    }

    /// This object's number in the running execution; a new one at its first use.
    #[inline]
    pub(crate) fn claim(&self, execution: *mut Execution) -> u32 {
        // SAFETY: the pointer is the current execution of this OS thread.
        unsafe { Execution::claim(execution, self) }
    }
}

/// Does one op on two objects at once, as soon as both are enabled.
///
/// # Panics
/// If another search, or a thread outside, uses one of the objects at the same time.
#[track_caller]
pub fn step_both<A: Model, B: Model>(
    (first, first_op): (&Object<A>, A::Op),
    (second, second_op): (&Object<B>, B::Op),
) -> (A::Reply, B::Reply) {
    let site = Location::caller();
    both(first, first_op, second, second_op, site, None)
        .expect("an op without a timeout does not time out")
}

/// Like [`step_both`], or `None` if the timeout of the first op came first.
#[track_caller]
pub fn step_both_timeout<A: Model, B: Model>(
    (first, first_op): (&Object<A>, A::Op),
    (second, second_op): (&Object<B>, B::Op),
    timeout: Duration,
) -> Option<(A::Reply, B::Reply)> {
    both(first, first_op, second, second_op, Location::caller(), Some(timeout))
}

fn both<A: Model, B: Model>(
    first: &Object<A>,
    first_op: A::Op,
    second: &Object<B>,
    second_op: B::Op,
    site: &'static Location<'static>,
    timeout: Option<Duration>,
) -> Option<(A::Reply, B::Reply)> {
    let execution = Execution::current();
    let (one, two) =
        (Single { object: first, op: &first_op }, Single { object: second, op: &second_op });
    if execution.is_null() {
        return both_outside(one, two, timeout);
    }
    let how = timeout.map_or(How::Step, How::Timed);
    let slots = [first.claim(execution), second.claim(execution)];
    let double = Double { first: one, second: two };
    // SAFETY: `execution` is the current one, and `double` outlives the wait.
    unsafe {
        let arrived = Execution::arrive(execution, &double, slots, site, how);
        let me = (*execution).current;
        if !arrived {
            (*execution).task_mut(me).op.first_since = None;
            return None;
        }
        let of = first.model().options(me, first_op, &(*execution).lasting.settings);
        let option = Execution::option_of_step(execution, first.model(), first_op, of, site);
        let footprint = [
            (ObjectId(slots[0]), first.model().access(me, first_op)),
            (ObjectId(slots[1]), second.model().access(me, second_op)),
        ];
        if (*execution).detectors.track_races {
            (*execution).synchronise(first.model(), first_op, option, slots[0], site);
            (*execution).synchronise(second.model(), second_op, 0, slots[1], site);
        }
        let replies = (
            first.model_mut().apply(me, first_op, option),
            second.model_mut().apply(me, second_op, 0),
        );
        let task = (*execution).me;
        Execution::commit(execution, (me, task), &footprint, site, how, || {
            A::show(first_op, Some(&replies.0))
        });
        (*execution).task_mut(me).op.first_since = None;
        if A::LOCKS {
            let lock = Held { slot: slots[0], shared: false, site };
            (*execution).hold(lock, footprint[0].1, A::keeps_share(first_op));
        }
        if B::LOCKS {
            let lock = Held { slot: slots[1], shared: false, site };
            (*execution).hold(lock, footprint[1].1, B::keeps_share(second_op));
        }
        for slot in slots {
            Execution::wake(execution, slot);
        }
        Some(replies)
    }
}
