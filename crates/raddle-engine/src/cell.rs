//! A cell of plain data that tasks share: what a frontend's cells tell the engine of accesses.
//!
//! An access is neither a step nor a scheduling point: see [`race`](crate::race) for why. It is
//! checked against those before it, and if the two are a data race the execution ends there, as it
//! would at a panic of the body.

use std::fmt;
use std::panic::{Location, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_trace::{CellAccess, CellOp, DataRace, HeldLock, Missing, ObjectName};

use crate::execution::{Cancelled, Ending, Execution, slow_path};
use crate::fiber::Fiber;

use crate::op::{Held, TaskId, site_of};
use crate::race::{Raced, Touch};

/// What a cell is known by, beside its value.
pub struct Watch {
    /// The execution that used it last; 0 for none.
    stamp: AtomicU64,
    /// Its number in that execution, below a digest of the stamp. So, if two searches use a static at
    /// the same time, they take it from each other, and neither uses the number of the other.
    cell: AtomicU64,
    kind: &'static str,
    created: &'static Location<'static>,
    name: Option<&'static str>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Watch");
        text.field("created", &self.created).field("name", &self.name).finish_non_exhaustive()
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
            kind,
            created: Location::caller(),
            name: None,
        }
    }

    /// Of a cell that the calling task makes, which is its first write.
    #[must_use]
    #[track_caller]
    pub fn made(kind: &'static str) -> Self {
        let watch = Self::new(kind);
        watch.touch(Touch::Make, watch.created);
        watch
    }

    /// Gives it a name for reports.
    pub const fn set_name(&mut self, name: &'static str) {
        self.name = Some(name);
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
            unsafe { self.access(ex, touch, site, false) };
        }
    }

    /// Like [`touch`](Self::touch), of an access that goes on until the guard is dropped.
    #[inline]
    #[must_use]
    pub fn open(&self, touch: Touch, site: &'static Location<'static>) -> Open {
        let ex = Execution::current();
        if ex.is_null() {
            return Open { stamp: 0, cell: 0, task: TaskId::ROOT, touch };
        }
        // SAFETY: as in `touch`.
        unsafe {
            let task = (*ex).current;
            let cell = self.access(ex, touch, site, true);
            let stamp = if cell.is_some() { (*ex).stamp } else { 0 };
            Open { stamp, cell: cell.unwrap_or(0), task, touch }
        }
    }

    /// # Safety
    /// `ex` is the current execution, on the stack of its current task.
    unsafe fn access(
        &self,
        ex: *mut Execution,
        touch: Touch,
        site: &'static Location<'static>,
        goes_on: bool,
    ) -> Option<u32> {
        // SAFETY: by contract; no borrow is held over the switch in `end_here`.
        unsafe {
            let this = &mut *ex;
            // Handlers of actors share nothing; what they do all the same is not looked at.
            if this.is_tearing() || this.slow_path & slow_path::IN_PASSIVE_STEP != 0 {
                return None;
            }
            this.detectors.cell_used = true;
            let cell = self.claim(this);
            let access = (this.current, touch, site);
            let held = &this.tasks.list[this.current.index()].held;
            let told = this.detectors.race.touch(cell, access, held, this.detectors.track_races);
            if let Err(raced) = told {
                let race = self.describe(this, &raced, access);
                Self::end_here(ex, race);
            } else if goes_on {
                this.detectors.race.open(cell, access, held);
                return Some(cell);
            }
            None
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

    #[cold]
    fn describe(
        &self,
        ex: &Execution,
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
        DataRace {
            cell: ObjectName {
                kind: self.kind.to_owned(),
                created: site_of(self.created),
                name: self.name.map(str::to_owned),
                nth: 0,
                variable: None,
            },
            first: access(first.task, first.touch, first.site, &first.held),
            second: access(task, touch, site, &ex.task(task).held),
            missing,
        }
    }

    /// Ends the execution. The task stays here until it is unwound with the others; if it unwinds
    /// already it goes on, since it must not be interrupted.
    #[cold]
    unsafe fn end_here(ex: *mut Execution, race: DataRace) {
        // SAFETY: as in `access`.
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
                (*ex).detectors.race.close(self.cell, self.task, self.touch);
            }
        }
    }
}
