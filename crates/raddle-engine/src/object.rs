//! An object that tasks act on: a model, and the memory of where it was last used.
//!
//! Inside an execution every op of an object is announced, decided and applied by the engine (`act.rs`).
//! Outside, the same model is driven by one monitor for all objects of the process: a thread of
//! the operating system waits there until its op is enabled (`outside.rs`). So a primitive is written once.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::at_fork;
use crate::model::Model;
use crate::op::ObjectId;
use crate::pulse::Pulse;

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

// SAFETY: see the invariant of `model`: what touches it has exclusive use, so sending the
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

/// How often an object was refused to this OS thread because an execution on another used it. The portfolio,
/// which runs several searches of one test at once, compares it before and after each: if it has grown, the test has
/// objects that outlive an execution, and one of the outcomes may come of that.
#[must_use]
pub fn clashes() -> u64 {
    CLASHES.get()
}

/// Adds what another OS thread has counted that ran an execution of this one's search.
pub(crate) fn count_clashes(more: u64) {
    CLASHES.set(CLASHES.get() + more);
}

/// Where threads outside any execution wait for their ops.
pub(crate) struct Monitor {
    lock: Mutex<()>,
    pub(crate) moved: Condvar,
}

pub(crate) static MONITOR: Monitor = Monitor { lock: Mutex::new(()), moved: Condvar::new() };

fn enter_monitor() -> MutexGuard<'static, ()> {
    MONITOR.lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `fork`, which forks the process, while no other OS thread has a lock of the engine: see
/// [`at_fork`].
pub fn fork_alone<R>(fork: impl FnOnce() -> R) -> R {
    // Before the gate: those that have the monitor may enter.
    let _monitor = enter_monitor();
    at_fork::alone(fork)
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

    /// The name that the program gave it.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Where it was created: the place to name for a destructor, which does not know where it runs.
    #[must_use]
    pub const fn created(&self) -> &'static Location<'static> {
        self.created
    }

    /// The model, without a step: `&mut` shows that there is no other reference.
    pub const fn get_mut(&mut self) -> &mut M {
        self.model.get_mut()
    }

    /// The model.
    #[must_use]
    pub fn into_inner(self) -> M {
        self.model.into_inner()
    }

    /// Where the model is. What is done through the pointer is not seen by any execution.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut M {
        self.model.get()
    }

    pub(crate) fn rename(&mut self, name: &'static str) {
        self.name = Some(name);
    }

    pub(crate) fn set_slot(&self, slot: u32) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    pub(crate) fn id(&self) -> ObjectId {
        ObjectId(self.slot.load(Ordering::Relaxed))
    }
}

impl<M: Model> Object<M> {
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

    /// Its number in the execution with this stamp, if it has been used there.
    #[inline]
    pub(crate) fn claimed(&self, stamp: u64) -> Option<u32> {
        let claimed = self.stamp.load(Ordering::Relaxed) == stamp;
        claimed.then(|| self.slot.load(Ordering::Relaxed))
    }

    /// Makes it an object of the execution with this stamp, which then numbers it.
    ///
    /// # Panics
    /// If another execution uses it.
    #[inline]
    pub(crate) fn take_over(&self, stamp: u64) {
        // Nearly always the object is new: then no other execution can have a claim.
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
    }

    /// Begins anew without being asked: for objects that belong to the engine.
    pub(crate) fn renew(&mut self, created: &'static Location<'static>) {
        self.created = created;
        *self.stamp.get_mut() = NEW;
        self.model.get_mut().reset();
    }

    /// Enters the monitor and makes the object one that is used outside.
    pub(crate) fn enter(&self) -> MutexGuard<'static, ()> {
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
}

impl<M> Object<M> {
    pub(crate) fn is_outside(&self) -> bool {
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
pub(crate) fn refuse(created: &Location<'_>, why: &str) -> ! {
    panic!(
        "raddle: the object created at {created} cannot be used here: {why}. Create what a test \
         uses inside the closure that raddle runs, start threads with raddle::thread, and if tests \
         share a static, run them one at a time (cargo nextest, or --test-threads=1)"
    );
}
