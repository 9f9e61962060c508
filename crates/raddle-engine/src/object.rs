//! An object that tasks act on: a model, and the memory of where it was last used.
//!
//! Inside an execution every op of an object is announced, decided and applied by the engine.
//! Outside, the same model is driven by one monitor for all objects of the process: a thread of
//! the operating system waits there until its op is enabled. So a primitive is written once.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::announce::{Announced, Double, Single};
use crate::execution::{Execution, How, erase};
use crate::locks::Lock;
use crate::model::Model;
use crate::op::{Held, ObjectId, TaskId};
use crate::pulse::Pulse;
use crate::task::NO_SLOT;

/// A model that tasks share.
///
/// Can be made in a `const` context, so that statics work. Begins anew at its first use in an
/// execution if it was last used in another one.
pub struct Object<M> {
    /// The execution that used it last, or [`NEW`], or [`OUTSIDE`].
    stamp: AtomicU64,
    /// Its number in that execution.
    slot: AtomicU32,
    created: &'static Location<'static>,
    name: Option<&'static str>,
    /// Invariant: touched only by the OS thread whose running execution has the stamp, or, if no
    /// such execution runs, under the monitor.
    model: UnsafeCell<M>,
}

// SAFETY: see the invariant of `model`: whoever touches it has exclusive use, so sending the
// model's access from thread to thread is all that happens.
unsafe impl<M: Send> Sync for Object<M> {}
impl<M> UnwindSafe for Object<M> {}
impl<M> RefUnwindSafe for Object<M> {}

impl<M> fmt::Debug for Object<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Object");
        text.field("created", &self.created).field("name", &self.name).finish_non_exhaustive()
    }
}

/// The stamp of an object that has never been used.
const NEW: u64 = 0;
/// The stamp of an object that was last used outside any execution. No execution has it.
const OUTSIDE: u64 = 1;

thread_local! {
    /// How often an object was refused to this OS thread because another search, or an execution seen from
    /// outside, used it.
    static CLASHES: Cell<u64> = const { Cell::new(0) };
}

/// How often an object was refused to this OS thread because an execution on another used it. Whoever runs
/// several searches of one test at once compares it before and after each: if it has grown, the test has
/// objects that outlive an execution, and one of the outcomes may come of that.
#[must_use]
pub fn clashes() -> u64 {
    CLASHES.get()
}

/// Where threads outside any execution wait for their ops.
struct Monitor {
    lock: Mutex<()>,
    moved: Condvar,
}

static MONITOR: Monitor = Monitor { lock: Mutex::new(()), moved: Condvar::new() };

fn enter_monitor() -> MutexGuard<'static, ()> {
    MONITOR.lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M> Object<M> {
    /// An object in the state of `model`.
    #[must_use]
    #[track_caller]
    pub const fn new(model: M) -> Self {
        Self {
            stamp: AtomicU64::new(0),
            slot: AtomicU32::new(0),
            created: Location::caller(),
            name: None,
            model: UnsafeCell::new(model),
        }
    }

    /// Where it was created: the place to name for a destructor, which does not know where it runs.
    #[must_use]
    pub const fn created(&self) -> &'static Location<'static> {
        self.created
    }

    /// The model, without a step: `&mut` shows that nobody else has it.
    pub const fn get_mut(&mut self) -> &mut M {
        self.model.get_mut()
    }

    /// The model.
    #[must_use]
    pub fn into_inner(self) -> M {
        self.model.into_inner()
    }

    pub(crate) fn id(&self) -> ObjectId {
        ObjectId(self.slot.load(Ordering::Relaxed))
    }
}

impl<M: Model> Object<M> {
    /// Gives it a name for reports and for strategies that go by names.
    ///
    /// Inside an execution this also numbers the object, before any task uses it. Then its number
    /// is the same whoever uses it first, which lets a reduction tell it from others.
    pub fn set_name(&mut self, name: &'static str) {
        self.name = Some(name);
        let execution = Execution::current();
        if !execution.is_null() {
            self.claim(execution);
        }
    }

    pub(crate) fn model(&self) -> &M {
        // SAFETY: callers run in the execution that claimed the object, or under the monitor; the
        // reference does not outlive one call of a model's method.
        unsafe { &*self.model.get() }
    }

    #[expect(clippy::mut_from_ref, reason = "exclusive by the invariant of `model`")]
    pub(crate) fn model_mut(&self) -> &mut M {
        // SAFETY: as in `model`, and no model's method calls back.
        unsafe { &mut *self.model.get() }
    }

    /// Waits for its turn, then does `op`.
    ///
    /// # Panics
    /// If another search, or a thread outside, uses the object at the same time.
    #[inline]
    #[track_caller]
    pub fn step(&self, op: M::Op) -> M::Reply {
        self.step_at(op, Location::caller())
    }

    /// Like [`step`](Self::step), for an op whose caller is not where it comes from: a destructor.
    ///
    /// # Panics
    /// If another search, or a thread outside, uses the object at the same time.
    #[inline]
    pub fn step_at(&self, op: M::Op, site: &'static Location<'static>) -> M::Reply {
        let ex = Execution::current();
        if ex.is_null() {
            return self.outside(op, None).expect("an op without a timeout does not time out");
        }
        let slot = self.claim(ex);
        let single = Single { object: self, op: &op };
        // SAFETY: `ex` is the current execution, on the stack of its current task, and `single`
        // outlives the wait.
        unsafe {
            if (*ex).busy == 0 && !std::thread::panicking() {
                let task = (*ex).me;
                (*task).pending = Some(erase(&single));
                (*task).site = site;
                (*ex).announce(site);
                if M::BLOCKS {
                    let index = (*ex).current.index();
                    (&mut (*ex).slots)[index] = [slot, NO_SLOT];
                    Execution::turn(ex, self.model().enabled((*ex).current, op));
                    (&mut (*ex).slots)[index] = [NO_SLOT; 2];
                } else {
                    // Nobody can disable it, so nobody need look whether it is still enabled.
                    Execution::turn(ex, true);
                }
                (*task).pending = None;
            } else {
                Execution::arrive(ex, &single, [slot, NO_SLOT], site, How::Step);
            }
            self.apply(ex, slot, op, site, How::Step)
        }
    }

    /// Does `op` as soon as it is enabled. Not a scheduling point: for ops that commute with all
    /// others once they are enabled, such as a join.
    ///
    /// # Panics
    /// If another search, or a thread outside, uses the object at the same time.
    #[track_caller]
    pub fn wait(&self, op: M::Op) -> M::Reply {
        let site = Location::caller();
        let execution = Execution::current();
        let reply = if execution.is_null() {
            self.outside(op, None)
        } else {
            self.inside(execution, op, site, How::Wait)
        };
        reply.expect("an op without a timeout does not time out")
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
            let _monitor = self.enter();
            look(self.model())
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

    /// Changes the model without a step of its own: as a part of one that has been taken. Whoever
    /// waits for the object looks again.
    pub fn alter<T>(&self, change: impl FnOnce(&mut M) -> T) -> T {
        let execution = Execution::current();
        if execution.is_null() {
            let _monitor = self.enter();
            let value = change(self.model_mut());
            MONITOR.moved.notify_all();
            return value;
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
        let single = Single { object: self, op: &op };
        // SAFETY: `execution` is the current one, and `single` outlives the wait.
        unsafe {
            if !Execution::arrive(execution, &single, [slot, NO_SLOT], site, how) {
                return None;
            }
            let reply = self.apply(execution, slot, op, site, how);
            let me = (*execution).current;
            (*execution).task_mut(me).first_since = None;
            Some(reply)
        }
    }

    /// Does `op`, whose turn it is.
    ///
    /// # Safety
    /// `ex` is the current execution, on the stack of its current task, which has arrived.
    #[inline]
    unsafe fn apply(
        &self,
        ex: *mut Execution,
        slot: u32,
        op: M::Op,
        site: &'static Location<'static>,
        how: How,
    ) -> M::Reply {
        // SAFETY: by contract.
        unsafe {
            let me = (*ex).current;
            let option = Execution::option_of_step(ex, self.model(), op, site);
            let access = self.model().access(me, op);
            if (*ex).watching {
                (*ex).synchronise(self.model(), op, option, slot, site);
            }
            let reply = self.model_mut().apply(me, op, option);
            let footprint = [(ObjectId(slot), access)];
            Execution::commit(ex, me, &footprint, site, how, || M::show(op, Some(&reply)));
            if M::LOCKS {
                (*ex).hold(Held { slot, shared: false, site }, access, M::keeps_share(op));
            }
            if M::BLOCKS {
                Execution::wake(ex, slot);
            }
            reply
        }
    }

    /// This object's number in the running execution; a new one at its first use.
    #[inline]
    pub(crate) fn claim(&self, execution: *mut Execution) -> u32 {
        // SAFETY: the pointer is the current execution of this OS thread.
        let stamp = unsafe { (*execution).stamp };
        if self.stamp.load(Ordering::Relaxed) == stamp {
            return self.slot.load(Ordering::Relaxed);
        }
        self.claim_anew(execution, stamp)
    }

    /// Its number in the running execution, if it has been used there.
    pub(crate) fn claimed(&self, execution: *mut Execution) -> Option<u32> {
        // SAFETY: as in `claim`.
        let stamp = unsafe { (*execution).stamp };
        let claimed = self.stamp.load(Ordering::Relaxed) == stamp;
        claimed.then(|| self.slot.load(Ordering::Relaxed))
    }

    /// Begins anew without being asked: for objects that belong to the engine.
    pub(crate) fn renew(&mut self, created: &'static Location<'static>) {
        self.created = created;
        *self.stamp.get_mut() = NEW;
        self.model.get_mut().reset();
    }

    #[cold]
    fn claim_anew(&self, execution: *mut Execution, stamp: u64) -> u32 {
        // Nearly always the object is new: then nobody else can have a claim.
        let new = self.stamp.compare_exchange(NEW, stamp, Ordering::Relaxed, Ordering::Relaxed);
        if new.is_err() {
            let monitor = enter_monitor();
            if let Some(other) = self.owner() {
                drop(monitor);
                self.refuse(other, "another search that runs at the same time uses it");
            }
            if self.stamp.load(Ordering::Relaxed) != OUTSIDE {
                self.model_mut().reset();
            }
            self.stamp.store(stamp, Ordering::Relaxed);
        }
        // SAFETY: the pointer is the current execution; the borrow ends here.
        let slot = unsafe { (*execution).register(M::KIND, self.created, self.name) };
        if M::LOCKS {
            let lock = Lock { slot, kind: M::KIND, created: self.created, name: self.name };
            // SAFETY: as above.
            unsafe { (*execution).locks.known.push(lock) };
        }
        self.slot.store(slot, Ordering::Relaxed);
        slot
    }

    /// Enters the monitor and makes the object one that is used outside.
    fn enter(&self) -> MutexGuard<'static, ()> {
        let monitor = enter_monitor();
        // A new object may be claimed by an execution at this very moment.
        let new = self.stamp.compare_exchange(NEW, OUTSIDE, Ordering::Relaxed, Ordering::Relaxed);
        if new.is_err() && self.stamp.load(Ordering::Relaxed) != OUTSIDE {
            if let Some(other) = self.owner() {
                drop(monitor);
                self.refuse(other, "an execution on another OS thread uses it");
            }
            self.model_mut().reset();
            self.stamp.store(OUTSIDE, Ordering::Relaxed);
        }
        monitor
    }

    fn outside(&self, op: M::Op, timeout: Option<Duration>) -> Option<M::Reply> {
        let me = outside_task();
        let single = Single { object: self, op: &op };
        let monitor = self.enter();
        let monitor = wait_outside(monitor, me, &single, &|| self.is_outside(), timeout)?;
        let reply = self.model_mut().apply(me, op, 0);
        drop(monitor);
        MONITOR.moved.notify_all();
        Some(reply)
    }
}

impl<M> Object<M> {
    fn is_outside(&self) -> bool {
        self.stamp.load(Ordering::Relaxed) == OUTSIDE
    }

    /// The search that is using the object now, if any.
    fn owner(&self) -> Option<&'static Pulse> {
        Pulse::of_live(self.stamp.load(Ordering::Relaxed))
    }

    #[cold]
    fn refuse(&self, other: &Pulse, why: &str) -> ! {
        other.foreign.store(true, Ordering::Relaxed);
        CLASHES.set(CLASHES.get() + 1);
        refuse(self.created, why)
    }
}

#[cold]
fn refuse(created: &Location<'_>, why: &str) -> ! {
    panic!(
        "raddle: the object created at {created} cannot be used here: {why}. Create what a test \
         uses inside the closure that raddle runs, start threads with raddle::thread, and if tests \
         share a static, run them one at a time (cargo nextest, or --test-threads=1)"
    );
}

/// Waits until `op` can run, under the monitor. `None` if its timeout came first.
///
/// `ours` tells whether the objects are still used outside: if an execution has taken them over
/// while this thread waited, they must not be touched.
fn wait_outside(
    mut monitor: MutexGuard<'static, ()>,
    me: TaskId,
    op: &dyn Announced,
    ours: &dyn Fn() -> bool,
    timeout: Option<Duration>,
) -> Option<MutexGuard<'static, ()>> {
    if let Some(timeout) = timeout {
        let expirable = |(): &mut ()| ours() && op.may_expire(me);
        monitor = match MONITOR.moved.wait_timeout_while(monitor, timeout, expirable) {
            Ok((monitor, _)) => monitor,
            Err(poisoned) => poisoned.into_inner().0,
        };
        if ours() && op.may_expire(me) {
            op.expire(me);
            return None;
        }
    }
    let blocked = |(): &mut ()| ours() && !op.enabled(me);
    monitor = MONITOR.moved.wait_while(monitor, blocked).unwrap_or_else(PoisonError::into_inner);
    if !ours() {
        drop(monitor);
        refuse(Location::caller(), "an execution took it over while this thread waited for it");
    }
    Some(monitor)
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
            (*execution).task_mut(me).first_since = None;
            return None;
        }
        let option = Execution::option_of_step(execution, first.model(), first_op, site);
        let footprint = [
            (ObjectId(slots[0]), first.model().access(me, first_op)),
            (ObjectId(slots[1]), second.model().access(me, second_op)),
        ];
        if (*execution).watching {
            (*execution).synchronise(first.model(), first_op, option, slots[0], site);
            (*execution).synchronise(second.model(), second_op, 0, slots[1], site);
        }
        let replies = (
            first.model_mut().apply(me, first_op, option),
            second.model_mut().apply(me, second_op, 0),
        );
        Execution::commit(execution, me, &footprint, site, how, || {
            A::show(first_op, Some(&replies.0))
        });
        (*execution).task_mut(me).first_since = None;
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

fn both_outside<A: Model, B: Model>(
    first: Single<'_, A>,
    second: Single<'_, B>,
    timeout: Option<Duration>,
) -> Option<(A::Reply, B::Reply)> {
    let me = outside_task();
    let (one, two) = (first.object, second.object);
    let (first_op, second_op) = (*first.op, *second.op);
    let double = Double { first, second };
    drop(one.enter());
    let monitor = two.enter();
    let ours = || one.is_outside() && two.is_outside();
    let monitor = wait_outside(monitor, me, &double, &ours, timeout)?;
    let replies = (one.model_mut().apply(me, first_op, 0), two.model_mut().apply(me, second_op, 0));
    drop(monitor);
    MONITOR.moved.notify_all();
    Some(replies)
}

/// The number of the calling OS thread among threads outside any execution.
fn outside_task() -> TaskId {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static ME: TaskId = TaskId(u32::MAX - 1 - NEXT.fetch_add(1, Ordering::Relaxed));
    }
    ME.with(|me| *me)
}
