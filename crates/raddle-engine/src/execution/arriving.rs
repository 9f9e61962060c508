//! A task comes to an op: it announces it, asks who moves, and waits for its turn.

use std::panic::{Location, resume_unwind};

use super::{Cancelled, Ending, Execution, How, MAX_SWALLOWED, Next, erase, slow_path};
use crate::announce::Announced;
use crate::context;
use crate::fiber::Fiber;
use crate::op::{Access, TaskId};
use crate::task::{NO_SLOT, Task};

impl Execution {
    /// The short way, for an op that just waits for its turn: nothing unusual is going on, and
    /// the caller has announced it. `slot`: its object, if it can be disabled; `queues` as in
    /// [`Announced::queues`].
    ///
    /// # Safety
    /// `ex` is the current execution with no flag of [`slow_path`] set, called on the stack of its current
    /// task.
    #[inline]
    pub(crate) unsafe fn turn(ex: *mut Self, enabled: bool, slot: u32, queues: bool) {
        // SAFETY: by contract.
        unsafe {
            if enabled {
                if (*ex).enabled.count == 1 {
                    (*ex).decisions.point = None;
                    return;
                }
                // As `choose` does. That a task goes on which was chosen itself is half of all steps or more, so it is
                // found out in functions that save few registers.
                let chosen = if (*ex).listeners.draws {
                    Some(Self::draw_next(ex))
                } else {
                    Self::ask_next(ex)
                };
                if chosen != Some((*ex).current) {
                    Self::hand_over(ex, chosen, slot, queues);
                }
                return;
            }
            Self::be_blocked(ex, slot, queues);
        }
    }

    /// The part of [`turn`](Self::turn) for an op that is not enabled.
    #[inline(never)]
    unsafe fn be_blocked(ex: *mut Self, slot: u32, queues: bool) {
        // SAFETY: as in `turn`.
        unsafe {
            (*ex).set_enabled((*ex).current, false);
            let chosen = Self::choose::<true>(ex);
            if chosen != Some((*ex).current) {
                Self::hand_over(ex, chosen, slot, queues);
            }
        }
    }

    /// Another task has been chosen, or none: comes back when it is the caller's turn.
    #[inline(never)]
    unsafe fn hand_over(ex: *mut Self, chosen: Option<TaskId>, slot: u32, queues: bool) {
        // SAFETY: as in `turn`; no borrow is held over the switch.
        unsafe {
            let me = (*ex).current;
            // What is chosen may change the object before this task is suspended, if it is no task with a stack.
            if slot != NO_SLOT {
                (*ex).watch(me, [slot, NO_SLOT], queues);
            }
            Self::let_run(ex, chosen);
            if slot != NO_SLOT {
                (*ex).unwatch(me);
            }
        }
    }

    /// Lets the chosen task run, or the host if there is none. Comes back when it is the current task's turn, which may be
    /// at once if what was chosen has no stack.
    ///
    /// # Safety
    /// As for [`turn`](Self::turn): the host has resumed the current task, or one that has handed over to it.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    unsafe fn let_run(ex: *mut Self, chosen: Option<TaskId>) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            let next = match chosen {
                Some(chosen) => {
                    let entry: *mut Task = (*ex).task_mut(chosen);
                    if Fiber::IS_DIRECT && !(*entry).fiber.is_null() && chosen != me {
                        // As `run_targets` does, but for the way by the host. No task unwinds, or this were not the
                        // short way, so there is no flag to change.
                        debug_assert_eq!((*ex).slow_path & slow_path::OWN, 0);
                        debug_assert!((*ex).ending.is_none());
                        ((*ex).current, (*ex).me) = (chosen, entry);
                        Fiber::hand_over((*task).fiber, (*entry).fiber);
                        return Self::resumed(me, task);
                    }
                    if (*entry).fiber.is_null() {
                        Self::step_for(ex, chosen)
                    } else {
                        Next::Run(chosen)
                    }
                }
                None => Next::Host,
            };
            if next != Next::Run(me) {
                (*ex).target = if let Next::Run(next) = next { Some(next) } else { None };
                Self::suspend(me, task);
            }
        }
    }

    /// Whether the current task runs on to its next op, and nothing else is unusual.
    ///
    /// # Safety
    /// `ex` is the current execution.
    #[inline]
    pub(crate) unsafe fn is_first(ex: *mut Self) -> bool {
        // SAFETY: by contract.
        unsafe { (*ex).slow_path == slow_path::STARTING && !std::thread::panicking() }
    }

    /// The short way for the op at which a task stops that has run on, as a new one does: the code that resumed it goes on.
    ///
    /// # Safety
    /// As for [`turn`](Self::turn), but for the flag, and [`is_first`](Self::is_first).
    #[inline(never)]
    pub(crate) unsafe fn first_turn(ex: *mut Self, enabled: bool, slot: u32, queues: bool) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            (*task).op.immediate = false;
            (*task).op.first_since = None;
            (*ex).set_enabled(me, enabled);
            if slot != NO_SLOT {
                (*ex).watch(me, [slot, NO_SLOT], queues);
            }
            (*ex).slow_path = 0;
            Self::suspend(me, task);
            if slot != NO_SLOT {
                (*ex).unwatch(me);
            }
        }
    }

    /// Whether an op that is no scheduling point can take the short way: nothing unusual is going on, but that the
    /// current task may run on to its next op only.
    ///
    /// # Safety
    /// `ex` is the current execution.
    #[inline]
    pub(crate) unsafe fn is_ordinary_or_first(ex: *mut Self) -> bool {
        // SAFETY: by contract.
        unsafe { (*ex).slow_path & !slow_path::STARTING == 0 && !std::thread::panicking() }
    }

    /// The short way for an op that runs as soon as it is enabled, and is not enabled now. The caller has announced it.
    ///
    /// # Safety
    /// As for [`turn`](Self::turn), but for the flag, and [`is_ordinary_or_first`](Self::is_ordinary_or_first).
    #[inline(never)]
    pub(crate) unsafe fn wait_to_run_on(ex: *mut Self, slot: u32) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            (*task).op.immediate = true;
            (*task).op.first_since = None;
            (*ex).set_enabled(me, false);
            (*ex).watch(me, [slot, NO_SLOT], false);
            if (*ex).slow_path == 0 {
                let chosen = Self::choose::<true>(ex);
                Self::let_run(ex, chosen);
            } else {
                (*ex).slow_path = 0;
                Self::suspend(me, task);
            }
            if (*ex).slow_path & slow_path::STARTING == 0 {
                // As in `arrive`.
                (*ex).set_enabled(me, true);
            }
            (*task).op.immediate = false;
            (*ex).unwatch(me);
        }
    }

    /// Waits to be resumed. Unwinds if that is because the execution is over.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    unsafe fn suspend(me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`; `task` is the current one, `me`.
        unsafe {
            Fiber::suspend((*task).fiber);
            Self::resumed(me, task);
        }
    }

    /// The task has been resumed. Unwinds if that is because the execution is over.
    #[inline]
    unsafe fn resumed(me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`; `task` is the current one, `me`.
        unsafe {
            if (*task).unwinding.read().cancelled {
                Self::cancel(me, task);
            }
        }
    }

    /// The execution is over. A task that was about to give a lock back still does, or others could
    /// not be unwound; all other tasks are unwound from here.
    #[cold]
    unsafe fn cancel(me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`; the op is the caller's own and still waits.
        let access = unsafe { (*task).op.announced.map(|what| (*what).footprint(me)[0].1) };
        if !matches!(access, Some(Access::Release | Access::Unshare)) {
            Self::raise();
        }
    }

    /// Asks who moves, and comes back when it is the caller's turn.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    unsafe fn pass(ex: *mut Self, me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`.
        unsafe {
            if (*ex).slow_path & slow_path::ASK_ON_HOST != 0 {
                (*ex).target = None;
                return Self::suspend(me, task);
            }
            match Self::ask(ex) {
                Next::Run(next) if next == me => return,
                Next::Run(next) => (*ex).target = Some(next),
                Next::Host => (*ex).target = None,
            }
            Self::suspend(me, task);
        }
    }

    #[cold]
    pub(crate) fn refuse_at_work(site: &'static Location<'static>) -> ! {
        panic!(
            "raddle: {site}: a handler is one step, so it can neither wait nor use locks, atomics, \
             channels or threads of raddle. Send messages instead, or keep what only the test looks \
             at in types of std"
        );
    }

    /// Announces an op and comes back when it is to run: `true`; or when it timed out: `false`.
    ///
    /// # Safety
    /// `ex` is the current execution, called on the stack of its current task; `what` stays valid
    /// until this returns.
    pub(crate) unsafe fn arrive(
        ex: *mut Self,
        what: &dyn Announced,
        slots: [u32; 2],
        site: &'static Location<'static>,
        how: How,
    ) -> bool {
        // SAFETY: by contract; each borrow ends before the next switch, and `what` is only kept
        // while this frame waits.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            Self::check_room(task);
            if (*ex).is_tearing() {
                return Self::arrive_torn(ex, what, me);
            }
            if (*ex).slow_path & slow_path::IN_PASSIVE_STEP != 0 {
                if std::thread::panicking() {
                    return Self::arrive_torn(ex, what, me);
                }
                Self::refuse_at_work(site);
            }
            if (*ex).slow_path & slow_path::CAPTURE_CONTEXT != 0 {
                let stack = Fiber::stack((*task).fiber);
                let depth = (*ex).listeners.needs.contexts;
                (*task).op.context = context::capture(site, depth, &stack, &(*task).scopes);
            }
            if how == How::Wait && what.enabled(me) {
                return true;
            }
            (*task).op.site = site;
            (*ex).announce(site);
            let starting = (*ex).slow_path & slow_path::STARTING != 0;
            if (*ex).unwinds(me) {
                return Self::arrive_unwinding(ex, what, slots, me, how);
            }
            (*task).op.announced = Some(erase(what));
            (*task).op.immediate = how == How::Wait;
            let first = slots[1] != NO_SLOT && what.first_enabled(me);
            (*task).op.first_since = first.then_some((*ex).n_steps);
            let waits = (*ex).must_wait(me, what, slots, how);
            (*ex).set_enabled(me, what.enabled(me) && how != How::Wait && !waits);
            let queues = how == How::Step && !waits && what.queues(me);
            (*ex).watch(me, slots, queues);
            if let How::Timed(timeout) = how {
                // The timer's step acts on the clock, so the clock is announced with it.
                Self::clock_slot(ex);
                (*ex).arm(me, what, timeout);
            }
            if starting {
                (*ex).slow_path &= !slow_path::STARTING;
                Self::suspend(me, task);
            } else if !(*ex).enabled.run_on.is_empty() && Self::drain(ex, Some(me)) {
                // This very op has become enabled: run on.
            } else {
                Self::pass(ex, me, task);
            }
            if (*ex).slow_path & slow_path::STARTING == 0 {
                // Invariant: a task that runs is among the options until it announces an op that
                // is not enabled. One that ran on by itself is not yet.
                (*ex).set_enabled(me, true);
            }
            (*task).op.announced = None;
            (*task).op.immediate = false;
            (*ex).unwatch(me);
            if let How::Timed(_) = how {
                (*ex).disarm(me);
                if (*task).timing.read().timed_out {
                    (*task).timing.change().timed_out = false;
                    return false;
                }
            }
            true
        }
    }

    /// An op of a task that unwinds: runs without a question, so that no switch happens. If it
    /// must wait, the others run on in turn, without decisions, until it can.
    ///
    /// A destructor that spins would do so for ever: no other task moves. That ends the execution, with the panic.
    ///
    /// Misses: interleavings with the ops of destructors that run during a panic.
    #[cold]
    unsafe fn arrive_unwinding(
        ex: *mut Self,
        what: &dyn Announced,
        slots: [u32; 2],
        me: TaskId,
        how: How,
    ) -> bool {
        // SAFETY: as in `arrive`.
        unsafe {
            (*ex).lasting.seen.unwound = true;
            let task: *mut Task = &raw mut *(&mut (*ex).tasks.list)[me.index()];
            let fruitless = (*ex).n_steps - (*ex).pace.last_change;
            if fruitless > (*ex).lasting.limits.fruitless {
                (*task).unwinding.change().held_up = true;
                (*ex).end(Ending::Livelock { steps: fruitless });
                (*ex).target = None;
                Fiber::suspend((*task).fiber);
                Self::leak(ex, me);
            }
            if what.enabled(me) {
                return true;
            }
            if let How::Timed(timeout) = how
                && (*ex).can_time_out(what, timeout)
            {
                // No task moves while it unwinds, so its time is up first.
                what.expire(me);
                return false;
            }
            (*task).unwinding.change().held_up = true;
            (*task).op.announced = Some(erase(what));
            (*task).op.immediate = false;
            (*ex).set_enabled(me, false);
            (*ex).watch(me, slots, false);
            (*ex).enabled.forced = Some(me);
            (*ex).slow_path |= slow_path::FORCED;
            (*ex).target = None;
            Fiber::suspend((*task).fiber);
            if (*task).unwinding.read().cancelled {
                // It unwinds already; a second panic would abort. Nothing can be done but leave
                // the task where it is.
                Self::leak(ex, me);
            }
            (*task).unwinding.change().held_up = false;
            (*ex).enabled.forced = None;
            (*ex).slow_path &= !(slow_path::FORCED | slow_path::FOREIGN_UNWIND);
            (*task).op.announced = None;
            (*ex).unwatch(me);
            true
        }
    }

    /// An op of a task that is being cancelled: releases happen, nothing waits.
    #[cold]
    unsafe fn arrive_torn(ex: *mut Self, what: &dyn Announced, me: TaskId) -> bool {
        // SAFETY: as in `arrive`.
        unsafe {
            let task: *mut Task = &raw mut *(&mut (*ex).tasks.list)[me.index()];
            if !std::thread::panicking() && !(*task).unwinding.read().finishing {
                // User code caught the unwinding and goes on. It must not.
                (*task).unwinding.change().swallowed += 1;
                if (*task).unwinding.read().swallowed < MAX_SWALLOWED {
                    Self::raise();
                }
                Self::leak(ex, me);
            }
            if !what.enabled(me) {
                Self::leak(ex, me);
            }
            true
        }
    }

    /// Whether it is this task, and not another one of this OS thread, that unwinds.
    pub(crate) fn unwinds(&self, me: TaskId) -> bool {
        std::thread::panicking()
            && self.slow_path & slow_path::FOREIGN_UNWIND == 0
            && self.enabled.forced.is_none_or(|forced| forced == me)
    }

    pub(super) fn raise() -> ! {
        // Does not call the panic hook.
        resume_unwind(Box::new(Cancelled))
    }

    /// Leaves a task where it is, for good.
    pub(crate) unsafe fn leak(ex: *mut Self, me: TaskId) -> ! {
        // SAFETY: as in `arrive`; the fiber is never resumed.
        unsafe {
            (*ex).target = None;
            let fiber = (*ex).task(me).fiber;
            Fiber::suspend(fiber);
        }
        unreachable!("engine bug: a leaked task was resumed")
    }
}
