//! A cell of plain data that tasks share: what a frontend's cells tell the engine of accesses.
//!
//! An access is neither a step nor a scheduling point: see [`race`](crate::race) for why. It is
//! checked against those before it, and if the two are a data race the execution ends there, as it
//! would at a panic of the body.

use std::fmt;
use std::panic::{Location, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_trace::{CellAccess, CellOp, DataRace, HeldLock, Lasted, Missing, ObjectName};

use crate::context;
use crate::execution::{Cancelled, Ending, Execution, slow_path};
use crate::fiber::Fiber;

use crate::op::{Held, TaskId, site_of};
use crate::race::{Raced, Touch};

/// What a report calls a cell.
#[derive(Clone, Copy, Debug)]
struct Label {
    kind: &'static str,
    created: &'static Location<'static>,
    name: Option<&'static str>,
}

/// What a cell is known by, beside its value.
pub struct Watch {
    /// The execution that used it last; 0 for none.
    stamp: AtomicU64,
    /// Its number in that execution, below a digest of the stamp. So, if two searches use a static at
    /// the same time, they take it from each other, and neither uses the number of the other.
    cell: AtomicU64,
    label: Label,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Label { created, name, .. } = &self.label;
        let mut text = f.debug_struct("Watch");
        text.field("created", created).field("name", name).finish_non_exhaustive()
    }
}

impl Watch {
    /// Of a cell of this kind, created by the caller. That it is made is not an access.
    #[must_use]
    #[track_caller]
    pub const fn new(kind: &'static str) -> Self {
        Self {
            stamp: AtomicU64::new(0),
            cell: AtomicU64::new(0),
            label: Label { kind, created: Location::caller(), name: None },
        }
    }

    /// Of a cell that the calling task makes, which is its first write.
    #[must_use]
    #[track_caller]
    pub fn made(kind: &'static str) -> Self {
        let watch = Self::new(kind);
        watch.touch(Touch::Make, watch.label.created);
        watch
    }

    /// Gives it a name for reports.
    pub const fn set_name(&mut self, name: &'static str) {
        self.label.name = Some(name);
    }

    /// The calling task accesses the cell, and has done so when this returns. Does nothing outside
    /// an execution, nor when it is over.
    ///
    /// Does not return if it is a race: the execution ends. A task that unwinds goes on doing so.
    #[inline]
    pub fn touch(&self, touch: Touch, site: &'static Location<'static>) {
        let ex = Execution::current();
        if !ex.is_null() {
            // SAFETY: the current execution, on the stack of its current task.
            unsafe { self.access(ex, touch, site) };
        }
    }

    /// The calling task has the cell to itself, as `&mut` shows: what other tasks did with it came before, by whatever
    /// means. Not an access.
    pub fn own(&mut self) {
        let ex = Execution::current();
        if ex.is_null() {
            return;
        }
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            if is_looked_at(&*ex) && (*ex).detectors.track_races {
                let cell = self.claim(&mut *ex);
                let task = (*ex).current;
                (*ex).detectors.race.own(cell, task);
            }
        }
    }

    /// Like [`touch`](Self::touch), of an access that goes on until the guard is dropped.
    #[inline]
    #[must_use]
    pub fn open(&self, touch: Touch, site: &'static Location<'static>) -> Open {
        self.point(touch, site).begin(site)
    }

    /// Like [`touch`](Self::touch). What is returned stands for the cell at later accesses of the same
    /// kind, also when the cell itself may be gone.
    #[inline]
    #[must_use]
    pub fn point(&self, touch: Touch, site: &'static Location<'static>) -> Pointed {
        let ex = Execution::current();
        let place = std::ptr::from_ref(self).addr();
        let mut pointed = Pointed { stamp: 0, cell: 0, place, touch, label: self.label };
        if !ex.is_null() {
            // SAFETY: as in `touch`.
            unsafe {
                if let Some(cell) = self.access(ex, touch, site) {
                    (pointed.stamp, pointed.cell) = ((*ex).stamp, cell);
                }
            }
        }
        pointed
    }

    /// The cell's number, if it is looked at.
    ///
    /// # Safety
    /// `ex` is the current execution, on the stack of its current task.
    unsafe fn access(
        &self,
        ex: *mut Execution,
        touch: Touch,
        site: &'static Location<'static>,
    ) -> Option<u32> {
        // SAFETY: by contract; no borrow is held over the switch in `check`.
        unsafe {
            if !is_looked_at(&*ex) {
                return None;
            }
            let cell = self.claim(&mut *ex);
            (*ex).detectors.race.set_place(std::ptr::from_ref(self).addr());
            check(ex, cell, &self.label, touch, site);
            Some(cell)
        }
    }

    fn claim(&self, ex: &mut Execution) -> u32 {
        let digest = u64::from((ex.stamp ^ ex.stamp >> 32) as u32);
        let cell = self.cell.load(Ordering::Relaxed);
        if self.stamp.load(Ordering::Relaxed) == ex.stamp && cell >> 32 == digest {
            return cell as u32;
        }
        let cell = ex.detectors.race.cell();
        self.cell.store(digest << 32 | u64::from(cell), Ordering::Relaxed);
        self.stamp.store(ex.stamp, Ordering::Relaxed);
        cell
    }
}

/// A cell that a pointer points to. To hold the pointer is no access; each use of it is one.
#[derive(Clone, Copy, Debug)]
pub struct Pointed {
    /// The execution in which it was taken; 0 for none.
    stamp: u64,
    cell: u32,
    /// Where it was.
    place: usize,
    touch: Touch,
    label: Label,
}

impl Pointed {
    /// The pointer is used, and has been when this returns.
    #[inline]
    pub fn touch(&self, site: &'static Location<'static>) {
        let ex = self.execution();
        if !ex.is_null() {
            // SAFETY: the current execution, on the stack of its current task.
            unsafe {
                (*ex).detectors.race.set_place(self.place);
                check(ex, self.cell, &self.label, self.touch, site);
            }
        }
    }

    /// The pointer is used, until the guard is dropped.
    #[inline]
    #[must_use]
    pub fn open(&self, site: &'static Location<'static>) -> Open {
        self.touch(site);
        self.begin(site)
    }

    /// An access that has been told goes on.
    #[inline]
    fn begin(&self, site: &'static Location<'static>) -> Open {
        let Self { cell, touch, .. } = *self;
        let ex = self.execution();
        if ex.is_null() {
            return Open { stamp: 0, cell, task: TaskId::ROOT, touch };
        }
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            let this = &mut *ex;
            let access = (this.current, touch, site);
            let held = &this.tasks.list[this.current.index()].held;
            this.detectors.race.open(cell, access, held);
            Open { stamp: this.stamp, cell, task: this.current, touch }
        }
    }

    /// The current execution if it is that of the pointer, or null.
    #[inline]
    fn execution(&self) -> *mut Execution {
        let ex = Execution::current();
        // SAFETY: the current execution, looked at for a moment.
        let same = !ex.is_null() && unsafe { (*ex).stamp == self.stamp && is_looked_at(&*ex) };
        if same { ex } else { std::ptr::null_mut() }
    }
}

/// Whether accesses matter now. Handlers of actors share nothing; what they do all the same is not looked
/// at.
fn is_looked_at(ex: &Execution) -> bool {
    !ex.is_tearing() && ex.slow_path & slow_path::IN_PASSIVE_STEP == 0
}

/// The current task accesses a cell: ends the execution if that is a race.
///
/// Not if it runs in the destructor of a value whose last `std::sync::Arc` has been dropped, and that was not inside of
/// a handle whose count is under control ([`CountedDrop`]): the count has put
/// that after all that the other owners did, and the count is not seen. Then what the other task has done until
/// now is known from now on, since nothing says how much of it came before its handle was dropped.
///
/// Nor if the cell was moved since the other access ([`was_moved_since`](crate::race::Detector::was_moved_since)), as one is
/// that `Arc::try_unwrap`, `unwrap_or_clone` or `into_inner` takes out: to move it takes all owners' consent.
///
/// Misses: races of such a destructor with a task that was no owner, or with what an owner did after it had
/// dropped its handle; also later races of the two tasks with what the other did before. A task that comes
/// *after* the destructor is found. Of a cell that unsafe code moves between tasks without order: those after its
/// first move, if the task that has it then knows that it was made.
/// Overreports: of values that are reached in place after `Arc::get_mut` or `make_mut` of std, unless by the `get_mut` of a
/// cell ([`Watch::own`]), or that stay in place when
/// what owns them is taken out of an `Arc` of std, as what is in a `Box` does; and of destructors where functions have no
/// names: in a binary that was stripped of its symbols, and with less than 128 KiB of the stack left.
///
/// # Safety
/// `ex` is the current execution, on the stack of its current task.
unsafe fn check(
    ex: *mut Execution,
    cell: u32,
    label: &Label,
    touch: Touch,
    site: &'static Location<'static>,
) {
    // SAFETY: by contract; no borrow is held over the switch in `end_here`.
    unsafe {
        let this = &mut *ex;
        this.detectors.cell_used = true;
        let access = (this.current, touch, site);
        let clocks = this.detectors.track_races;
        this.detectors.race.set_now(this.n_steps);
        loop {
            let held = &this.tasks.list[this.current.index()].held;
            let Err(raced) = this.detectors.race.touch(cell, access, held, clocks) else { return };
            let task = this.task(this.current);
            let (stack, seen) = (Fiber::stack(task.fiber), task.counted_drops as usize);
            let me = this.current;
            let moved = || this.detectors.race.was_moved_since(cell, &raced.first, me);
            // Nothing that goes on can be over by a count.
            if !raced.unended && (moved() || context::last_drops(&stack) > seen) {
                this.detectors.race.order(raced.first.task, this.current);
                continue;
            }
            let race = describe(this, label, &raced, access);
            end_here(ex, race);
            return;
        }
    }
}

#[cold]
fn describe(
    ex: &Execution,
    label: &Label,
    raced: &Raced,
    (task, touch, site): (TaskId, Touch, &'static Location<'static>),
) -> DataRace {
    let access = |task: TaskId, touch: Touch, site: &Location<'_>, held: &[Held]| CellAccess {
        task: ex.task(task).lineage.seq,
        op: match touch {
            Touch::Make => CellOp::Make,
            Touch::Read => CellOp::Read,
            Touch::Write => CellOp::Write,
        },
        site: site_of(site),
        locks: held
            .iter()
            .map(|lock| HeldLock { object: lock.slot, taken: site_of(lock.site) })
            .collect(),
        lasted: None,
    };
    let missing = match &raced.hint {
        _ if raced.unended => Missing::End,
        None => Missing::Everything,
        Some(hint) => Missing::Ordering {
            object: hint.slot,
            written: site_of(hint.written),
            releases: hint.releases,
            read: site_of(hint.read),
            acquires: hint.acquires,
        },
    };
    let first = &raced.first;
    // Events of a trace count from 0: what comes after the first step is in event 0.
    let event = |steps: u64| steps.saturating_sub(1);
    let (from, to) = (event(first.began), event(first.ended));
    let to = if raced.unended { None } else { Some(to) };
    let lasted = (to != Some(from)).then_some(Lasted { from, to });
    DataRace {
        cell: ObjectName {
            kind: label.kind.to_owned(),
            created: site_of(label.created),
            name: label.name.map(str::to_owned),
            nth: 0,
            variable: None,
        },
        first: CellAccess { lasted, ..access(first.task, first.touch, first.site, &first.held) },
        second: access(task, touch, site, &ex.task(task).held),
        missing,
    }
}

/// Ends the execution. The task stays here until it is unwound with the others; if it unwinds
/// already it goes on, since it must not be interrupted.
///
/// # Safety
/// As of [`check`].
#[cold]
unsafe fn end_here(ex: *mut Execution, race: DataRace) {
    // SAFETY: by contract.
    unsafe {
        let me = (*ex).current;
        (*ex).end(Ending::DataRace(Box::new(race)));
        if (*ex).unwinds(me) {
            return;
        }
        (*ex).target = None;
        Fiber::suspend((*ex).task(me).fiber);
        resume_unwind(Box::new(Cancelled))
    }
}

/// While it lives, the calling task is in a destructor that the last owner of a value runs, and the count is under
/// control: handles that have a `std::sync::Arc` inside say so, since that one's count says nothing then.
#[derive(Debug)]
pub struct CountedDrop {
    /// The execution, and whose destructor it is; none outside.
    of: Option<(u64, TaskId)>,
}

impl CountedDrop {
    /// Of the calling task.
    #[must_use]
    pub fn begin() -> Self {
        let ex = Execution::current();
        if ex.is_null() {
            return Self { of: None };
        }
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            let task = (*ex).current;
            (*ex).task_mut(task).counted_drops += 1;
            Self { of: Some(((*ex).stamp, task)) }
        }
    }
}

impl Drop for CountedDrop {
    fn drop(&mut self) {
        let (Some((stamp, task)), ex) = (self.of, Execution::current()) else { return };
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            if !ex.is_null() && (*ex).stamp == stamp {
                (*ex).task_mut(task).counted_drops -= 1;
            }
        }
    }
}

/// An access that goes on until this is dropped.
#[derive(Debug)]
pub struct Open {
    /// The execution it belongs to; 0 for none.
    stamp: u64,
    cell: u32,
    task: TaskId,
    touch: Touch,
}

impl Drop for Open {
    #[inline]
    fn drop(&mut self) {
        let ex = Execution::current();
        if self.stamp == 0 || ex.is_null() {
            return;
        }
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            if (*ex).stamp == self.stamp && !(*ex).is_tearing() {
                (*ex).detectors.race.set_now((*ex).n_steps);
                (*ex).detectors.race.close(self.cell, self.task, self.touch);
            }
        }
    }
}
