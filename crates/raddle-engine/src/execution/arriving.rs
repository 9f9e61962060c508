//! A task comes to an op: it announces it, asks who moves, and waits for its turn.

use std::panic::{Location, resume_unwind};

use super::view::View;
use super::{Cancelled, Execution, How, MAX_SWALLOWED, Mark, Next, busy, erase};
use crate::announce::Announced;
use crate::context;
use crate::fiber::Fiber;
use crate::op::{Access, TaskId};
use crate::strategy::{Answer, Choice, Cut, Options, Point, Taken};
use crate::task::{NO_SLOT, Task};

impl Execution {
    /// The short way, for an op that just waits for its turn: nothing unusual is going on, and
    /// the caller has announced it.
    ///
    /// # Safety
    /// `ex` is the current execution with nothing busy, called on the stack of its current task.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    pub(crate) unsafe fn turn(ex: *mut Self, enabled: bool) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            if enabled && (*ex).options.len() == 1 && (*ex).n_steps < (*ex).next_check {
                (*ex).point = None;
                (*ex).preempting = false;
            } else {
                Self::take_turns(ex, enabled);
            }
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    pub(super) unsafe fn take_turns(ex: *mut Self, enabled: bool) {
        // SAFETY: as in `turn`.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            if !enabled {
                (*ex).set_enabled(me, false);
            }
            let chosen = if (*ex).options.len() > 1 && (*ex).n_steps < (*ex).next_check {
                Self::decide_turn(ex)
            } else {
                None
            };
            match chosen {
                Some(chosen) if chosen == me => return,
                Some(chosen) => {
                    (*ex).target = Some(chosen);
                    Fiber::suspend((*task).fiber);
                }
                None => Self::pass(ex, me, task),
            }
            if (*task).cancelled {
                Self::cancel(me, task);
            }
        }
    }

    /// The execution is over. Whoever was about to give a lock back still does, or others could
    /// not be unwound; everybody else is unwound from here.
    #[cold]
    pub(super) unsafe fn cancel(me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`; the op is the caller's own and still waits.
        let access = unsafe { (*task).pending.map(|what| (*what).footprint(me)[0].1) };
        if !matches!(access, Some(Access::Release | Access::Unshare)) {
            Self::raise();
        }
    }

    /// Decides between tasks when nothing is busy. `None`: somebody must look more closely. What
    /// [`choose`](Self::choose) and [`decide`](Self::decide) do, without the exceptions.
    #[inline]
    pub(super) unsafe fn decide_turn(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `decide`.
        unsafe {
            let this = &mut *ex;
            let index = this.taken.len();
            let of = this.options.len() as u32;
            let option = if index < this.plan.prefix.len() {
                this.plan.prefix[index]
            } else {
                let choices: *const [Choice] = this.options.as_slice();
                let view = View(ex);
                let point = Point {
                    index: index as u32,
                    options: Options::Schedule(&*choices),
                    running: this.running(),
                    last: this.last,
                    objects: this.n_objects,
                    pending: &view,
                };
                match (*this.strategy).decide(&point) {
                    Answer::Take(option) => option,
                    Answer::Cut(cut) => return Self::cut_short(ex, cut),
                }
            };
            let this = &mut *ex;
            let Some(&Choice { task }) = this.options.get(option as usize) else {
                return Self::no_such_option(ex, index, option);
            };
            let entry: *const Task = &raw const *this.tasks[task.index()];
            if this.needs.plans {
                let mark = Mark { of, task, site: (*entry).site, trail: this.trail };
                if !this.remember(index, option, mark) {
                    return None;
                }
            }
            this.taken.push(Taken { option, of });
            if this.witnessed && !this.bear_witness(index, task) {
                return None;
            }
            this.point = Some(index as u32);
            if (*entry).fiber.is_null() { Self::fire_turn(ex, task) } else { Some(task) }
        }
    }

    #[cold]
    pub(super) unsafe fn cut_short(ex: *mut Self, cut: Cut) -> Option<TaskId> {
        // SAFETY: as in `decide`. The caller then asks again, and nobody answers but the engine.
        unsafe {
            (*ex).cut = Some(cut);
            (*ex).busy |= busy::UNASKED;
        }
        None
    }

    #[cold]
    pub(super) unsafe fn no_such_option(
        ex: *mut Self,
        index: usize,
        option: u32,
    ) -> Option<TaskId> {
        // SAFETY: as in `decide`.
        unsafe {
            let of = (*ex).options.len();
            let planned = index < (*ex).plan.prefix.len();
            assert!(planned, "engine bug: a strategy took option {option} of {of}");
            (*ex).diverge_unless_known(option, of as u32);
        }
        None
    }

    /// The chosen one has no stack: its step is taken here, and the question is put again.
    pub(super) unsafe fn fire_turn(ex: *mut Self, timer: TaskId) -> Option<TaskId> {
        // SAFETY: as in `ask`.
        unsafe {
            let me = (*ex).current;
            if (*ex).task(timer).passive.is_some() {
                Self::work(ex, timer);
            } else {
                Self::fire(ex, timer);
            }
            Self::drain(ex, Some(me)).then_some(me)
        }
    }

    /// Asks who moves, and comes back when it is the caller's turn.
    #[inline]
    pub(super) unsafe fn pass(ex: *mut Self, me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`.
        unsafe {
            match Self::ask(ex, Some(me)) {
                Next::Run(next) if next == me => return,
                Next::Run(next) => (*ex).target = Some(next),
                Next::Host => (*ex).target = None,
            }
            Fiber::suspend((*task).fiber);
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
            if (*ex).is_tearing() {
                return Self::arrive_torn(ex, what, me);
            }
            if (*ex).busy & busy::WORKING != 0 {
                if std::thread::panicking() {
                    return Self::arrive_torn(ex, what, me);
                }
                Self::refuse_at_work(site);
            }
            if (*ex).busy & busy::CALLED != 0 {
                (*task).context = context::capture(ex);
            }
            if how == How::Wait && what.enabled(me) {
                return true;
            }
            (*task).site = site;
            (*ex).announce(site);
            let starting = (*ex).busy & busy::STARTING != 0;
            if (*ex).unwinds(me) {
                return Self::arrive_unwinding(ex, what, slots, me, how);
            }
            (*task).pending = Some(erase(what));
            (&mut (*ex).slots)[me.index()] = slots;
            (*task).immediate = how == How::Wait;
            let first = slots[1] != NO_SLOT && what.first_enabled(me);
            (*task).first_since = first.then_some((*ex).n_steps);
            (*ex).set_enabled(me, what.enabled(me) && how != How::Wait);
            if let How::Timed(timeout) = how {
                // The timer's step acts on the clock, so the clock is announced with it.
                Self::clock_slot(ex);
                (*ex).arm(me, what, timeout);
            }
            if starting {
                (*ex).busy &= !busy::STARTING;
                Fiber::suspend((*task).fiber);
            } else if !(*ex).run_on.is_empty() && Self::drain(ex, Some(me)) {
                // This very op has become enabled: run on.
            } else {
                Self::pass(ex, me, task);
            }
            if (*task).cancelled {
                Self::cancel(me, task);
            }
            if (*ex).busy & busy::STARTING == 0 {
                // Invariant: a task that runs is among the options until it announces an op that
                // is not enabled. One that ran on by itself is not yet.
                (*ex).set_enabled(me, true);
            }
            (*task).pending = None;
            (*task).immediate = false;
            (&mut (*ex).slots)[me.index()] = [NO_SLOT; 2];
            if let How::Timed(_) = how {
                (*ex).disarm(me);
                if (*task).timed_out {
                    (*task).timed_out = false;
                    return false;
                }
            }
            true
        }
    }

    /// An op of a task that unwinds: runs without a question, so that no switch happens. If it
    /// must wait, the others run on in turn, without decisions, until it can.
    ///
    /// Misses: interleavings with the ops of destructors that run during a panic.
    #[cold]
    pub(super) unsafe fn arrive_unwinding(
        ex: *mut Self,
        what: &dyn Announced,
        slots: [u32; 2],
        me: TaskId,
        how: How,
    ) -> bool {
        // SAFETY: as in `arrive`.
        unsafe {
            (*ex).seen.unwound = true;
            if what.enabled(me) {
                return true;
            }
            if let How::Timed(_) = how {
                // Nobody moves while it unwinds, so its time is up first.
                what.expire(me);
                return false;
            }
            let task: *mut Task = &raw mut *(&mut (*ex).tasks)[me.index()];
            (*task).pending = Some(erase(what));
            (*task).immediate = false;
            (&mut (*ex).slots)[me.index()] = slots;
            (*ex).set_enabled(me, false);
            (*ex).forced = Some(me);
            (*ex).busy |= busy::FORCED;
            (*ex).target = None;
            Fiber::suspend((*task).fiber);
            if (*task).cancelled {
                // It unwinds already; a second panic would abort. Nothing can be done but leave
                // the task where it is.
                Self::leak(ex, me);
            }
            (*ex).forced = None;
            (*ex).busy &= !(busy::FORCED | busy::ALIEN);
            (*task).pending = None;
            (&mut (*ex).slots)[me.index()] = [NO_SLOT; 2];
            true
        }
    }

    /// An op of a task that is being cancelled: releases happen, nothing waits.
    #[cold]
    pub(super) unsafe fn arrive_torn(ex: *mut Self, what: &dyn Announced, me: TaskId) -> bool {
        // SAFETY: as in `arrive`.
        unsafe {
            let task: *mut Task = &raw mut *(&mut (*ex).tasks)[me.index()];
            if !std::thread::panicking() && !(*task).finishing {
                // User code caught the unwinding and goes on. It must not.
                (*task).swallowed += 1;
                if (*task).swallowed < MAX_SWALLOWED {
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
            && self.busy & busy::ALIEN == 0
            && self.forced.is_none_or(|forced| forced == me)
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
