//! Data races: two accesses to one cell, by different tasks, at least one of them a write, that no
//! *synchronises-with* puts in order.
//!
//! Vector clocks in the manner of `FastTrack` (Flanagan & Freund, PLDI 2009): each task has a clock,
//! each object the clocks that were released to it, each cell its last write and the last read of
//! each task. This order is not that of [`happens`](crate::happens), which has every pair of steps
//! that do not commute: a relaxed store and a relaxed load of one atomic depend on each other, and
//! still nothing is seen through them.
//!
//! *Why a cell's access is no scheduling point.* Every edge is from a step to a later step that
//! depends on it (a release and the acquire that sees it never commute), so equivalent executions
//! have the same edges. An access belongs to the step before it. Whether two accesses are in order
//! is therefore the same in all executions of one class, and it does not matter in which order they
//! ran: whichever comes second finds the first. What the program would do after reading the one
//! value or the other does not matter either, since the execution ends at the race.
//!
//! *What it costs.* Nothing until a cell is used: then the clocks are kept from the next execution
//! on, and the execution in which that was noticed is run once more.
//!
//! Misses: races that need a value which sequentially consistent memory does not show. Races hidden
//! by an edge that the model has and the implementation does not promise: from a notification to the task that
//! it wakes. Accesses not made through a tracked cell.
//! Overreports: accesses ordered only by what raddle does not see: a lock of std, or the count of
//! `std::sync::Arc`, unless the later one is in the destructor that the last owner runs, or of a cell that was moved
//! out ([`cell`](crate::cell) has what that misses). `sync::counted` is seen.

use std::panic::Location;
use std::sync::atomic::Ordering;

use crate::op::{Access, Held, TaskId};
use crate::vector_clock::{VectorClock, knows};

/// Hints kept for each task: reads of atomics that gave no edge, the latest last.
const HINTS: usize = 8;

/// What an access does to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Makes it: its first write.
    Make,
    /// Reads it.
    Read,
    /// Writes it, or could.
    Write,
}

impl Touch {
    fn writes(self) -> bool {
        self != Self::Read
    }
}

/// A read of an atomic that saw what another task wrote, and acquired nothing by it.
#[derive(Clone, Debug)]
pub(crate) struct Hint {
    pub(crate) slot: u32,
    pub(crate) written: &'static Location<'static>,
    pub(crate) releases: bool,
    pub(crate) read: &'static Location<'static>,
    pub(crate) acquires: bool,
    /// What it would have acquired.
    clock: VectorClock,
}

#[derive(Debug, Default)]
struct Lane {
    clock: VectorClock,
    /// The clock at its last release fence; empty if there was none.
    fenced: VectorClock,
    /// What an acquire fence would acquire: all that its relaxed loads have seen.
    seen: VectorClock,
    hints: Vec<Hint>,
}

impl Lane {
    fn clear(&mut self) {
        self.clock.clear();
        self.fenced.clear();
        self.seen.clear();
        self.hints.clear();
    }
}

/// What has been released to an object.
#[derive(Debug, Default)]
struct Passed {
    /// By the model's keys.
    clocks: Vec<(u32, VectorClock)>,
    /// Of an atomic: what its last write and the updates since would release if all did.
    whole: VectorClock,
    /// Of an atomic: the last write. Where, and whether it released.
    written: Option<(TaskId, &'static Location<'static>, bool)>,
}

/// An access to a cell.
#[derive(Clone, Debug)]
pub(crate) struct Accessed {
    pub(crate) task: TaskId,
    epoch: u32,
    pub(crate) touch: Touch,
    pub(crate) site: &'static Location<'static>,
    pub(crate) held: Vec<Held>,
    /// Where the cell was.
    place: usize,
    /// How many steps there had been when it began, and when it was last known to go on.
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

#[derive(Debug, Default)]
struct CellState {
    /// Who made it, and when, if that was seen.
    made: Option<(TaskId, u32)>,
    write: Option<Accessed>,
    /// Since the last write; the last of each task.
    reads: Vec<Accessed>,
}

/// An access that has not ended.
#[derive(Debug)]
struct Unended {
    cell: u32,
    access: Accessed,
}

/// What the second access of a race found.
#[derive(Debug)]
pub(crate) struct Raced {
    pub(crate) first: Accessed,
    /// The first has not ended, although what came before it is known.
    pub(crate) unended: bool,
    pub(crate) hint: Option<Hint>,
}

/// The clocks and the cells of one execution.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    lanes: Vec<Lane>,
    /// By object.
    passed: Vec<Passed>,
    cells: Vec<CellState>,
    n_cells: u32,
    unended: Vec<Unended>,
    /// How many steps there have been, for reports.
    now: u64,
    /// Where the cell is that is accessed next.
    place: usize,
    /// Clocks to be used again.
    spare: Vec<VectorClock>,
}

impl Detector {
    /// Forgets the last execution.
    pub(crate) fn begin(&mut self) {
        for lane in &mut self.lanes {
            lane.clear();
        }
        for passed in &mut self.passed {
            self.spare.extend(passed.clocks.drain(..).map(|(_, clock)| clock));
            passed.whole.clear();
            passed.written = None;
        }
        for cell in &mut self.cells[..self.n_cells as usize] {
            cell.made = None;
            cell.write = None;
            cell.reads.clear();
        }
        self.n_cells = 0;
        self.unended.clear();
    }

    /// So many steps there have been when the next access begins or ends.
    pub(crate) fn set_now(&mut self, n_steps: u64) {
        self.now = n_steps;
    }

    /// The cell whose access is told next is at this address.
    pub(crate) fn set_place(&mut self, place: usize) {
        self.place = place;
    }

    /// Whether the cell that `task` accesses now is elsewhere than it was at an access of another task. To move a value
    /// one must own it, so the move came after all that others did with it: `Arc::try_unwrap` and its like have
    /// acquired that from the count.
    ///
    /// Not if the task does not know that the cell was made: then the value itself has come to it without order, as from
    /// a queue that publishes too little.
    pub(crate) fn was_moved_since(&self, cell: u32, first: &Accessed, task: TaskId) -> bool {
        let clock = &self.lanes[task.index()].clock;
        let is_known = |(maker, epoch): (TaskId, u32)| maker == task || knows(clock, maker, epoch);
        first.touch != Touch::Make
            && first.place != self.place
            && self.cells[cell as usize].made.is_none_or(is_known)
    }

    /// A number for a cell that is used for the first time.
    pub(crate) fn cell(&mut self) -> u32 {
        if self.cells.len() == self.n_cells as usize {
            self.cells.push(CellState::default());
        }
        self.n_cells += 1;
        self.n_cells - 1
    }

    fn lane(&mut self, task: TaskId) -> &mut Lane {
        while self.lanes.len() <= task.index() {
            self.lanes.push(Lane::default());
        }
        let lane = &mut self.lanes[task.index()];
        lane.clock.widen(task.index() + 1);
        // Counts from 1, so that an empty clock knows nothing of it.
        let own = &mut lane.clock[task.index()];
        *own = (*own).max(1);
        lane
    }

    /// What it does next is not known to those who acquired before.
    fn advance(&mut self, task: TaskId) {
        self.lane(task).clock[task.index()] += 1;
    }

    fn epoch(&mut self, task: TaskId) -> u32 {
        self.lane(task).clock[task.index()]
    }

    /// `parent` starts `child`.
    pub(crate) fn fork(&mut self, parent: TaskId, child: TaskId) {
        let known = std::mem::take(&mut self.lane(parent).clock);
        let lane = self.lane(child);
        lane.clear();
        lane.clock.join(&known);
        self.lane(child);
        self.lanes[parent.index()].clock = known;
        self.advance(parent);
    }

    /// `task` has waited for the end of `child`.
    pub(crate) fn join(&mut self, task: TaskId, child: TaskId) {
        let known = std::mem::take(&mut self.lane(child).clock);
        self.lane(task).clock.join(&known);
        self.lanes[child.index()].clock = known;
    }

    /// What `first` has done until now is before what `second` does next, by means that are not seen.
    pub(crate) fn order(&mut self, first: TaskId, second: TaskId) {
        self.join(second, first);
        self.advance(first);
    }

    /// `task` has a cell to itself: all that others did with it came before.
    pub(crate) fn own(&mut self, cell: u32, task: TaskId) {
        self.lane(task);
        loop {
            let CellState { write, reads, .. } = &self.cells[cell as usize];
            let clock = &self.lanes[task.index()].clock;
            let unknown =
                |first: &&Accessed| first.task != task && !knows(clock, first.task, first.epoch);
            let Some(first) = write.iter().chain(reads).find(unknown) else { return };
            self.order(first.task, task);
        }
    }

    /// A fence of `task`.
    pub(crate) fn fence(&mut self, task: TaskId, order: Ordering) {
        let lane = self.lane(task);
        if acquires(order) {
            lane.clock.join(&lane.seen);
        }
        if releases(order) {
            lane.fenced.clone_from(&lane.clock);
            self.advance(task);
        }
    }

    /// How a step of `task` on an object is told.
    pub(crate) fn edges(
        &mut self,
        task: TaskId,
        slot: u32,
        site: &'static Location<'static>,
    ) -> Edges<'_> {
        while self.passed.len() <= slot as usize {
            self.passed.push(Passed::default());
        }
        self.lane(task);
        Edges { detector: self, task, slot: slot as usize, site }
    }

    /// `task` accesses a cell. Without `clocks` only accesses that have not ended are looked at.
    pub(crate) fn touch(
        &mut self,
        cell: u32,
        access: (TaskId, Touch, &'static Location<'static>),
        held: &[Held],
        clocks: bool,
    ) -> Result<(), Box<Raced>> {
        let (task, touch, site) = access;
        if clocks {
            let epoch = self.epoch(task);
            let (now, place) = (self.now, self.place);
            let Self { lanes, cells, .. } = self;
            let CellState { made, write, reads } = &mut cells[cell as usize];
            let lane = &lanes[task.index()];
            let unknown = |first: &&Accessed| {
                first.task != task && !knows(&lane.clock, first.task, first.epoch)
            };
            let found = write.iter().find(unknown);
            let found = found.or_else(|| reads.iter().filter(|_| touch.writes()).find(unknown));
            if let Some(first) = found {
                let told = |hint: &&Hint| knows(&hint.clock, first.task, first.epoch);
                let hint = lane.hints.iter().rev().find(told).cloned();
                return Err(Box::new(Raced { first: first.clone(), unended: false, hint }));
            }
            let (held, began) = (held.to_vec(), now);
            let access = Accessed { task, epoch, touch, site, held, place, began, ended: began };
            if touch == Touch::Make {
                *made = Some((task, epoch));
            }
            if touch.writes() {
                reads.clear();
                *write = Some(access);
            } else if let Some(read) = reads.iter_mut().find(|read| read.task == task) {
                *read = access;
            } else {
                reads.push(access);
            }
        }
        let overlaps = |open: &&Unended| {
            open.cell == cell
                && open.access.task != task
                && (touch.writes() || open.access.touch.writes())
        };
        match self.unended.iter().find(overlaps) {
            Some(open) => {
                let first = open.access.clone();
                Err(Box::new(Raced { first, unended: true, hint: None }))
            }
            None => Ok(()),
        }
    }

    /// An access that has been told goes on until [`close`](Self::close).
    pub(crate) fn open(
        &mut self,
        cell: u32,
        (task, touch, site): (TaskId, Touch, &'static Location<'static>),
        held: &[Held],
    ) {
        let (held, began, place) = (held.to_vec(), self.now, self.place);
        let access = Accessed { task, epoch: 0, touch, site, held, place, began, ended: began };
        self.unended.push(Unended { cell, access });
    }

    /// The access has ended: others must know of all that its task has done until now.
    pub(crate) fn close(&mut self, cell: u32, task: TaskId, touch: Touch) {
        let is_it = |open: &Unended| {
            open.cell == cell && open.access.task == task && open.access.touch == touch
        };
        if let Some(at) = self.unended.iter().rposition(is_it) {
            self.unended.swap_remove(at);
        }
        let (epoch, now) = (self.epoch(task), self.now);
        let CellState { write, reads, .. } = &mut self.cells[cell as usize];
        let last = if touch.writes() {
            write.as_mut().filter(|access| access.task == task)
        } else {
            reads.iter_mut().find(|access| access.task == task)
        };
        if let Some(last) = last {
            last.epoch = epoch;
            last.ended = now;
        }
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

/// What a step takes over of what others have done, and what it passes on.
///
/// An object keeps what was released to it under keys that its model chooses: a lock needs one, a
/// channel one for each value. A model calls these in the order acquire, release.
#[derive(Debug)]
pub struct Edges<'a> {
    detector: &'a mut Detector,
    task: TaskId,
    slot: usize,
    site: &'static Location<'static>,
}

impl Edges<'_> {
    /// The key of what is released by giving up a lock, or by a primitive that needs no more keys.
    pub const FIRST: u32 = 0;
    /// The key of what is released by giving up a share of a lock.
    pub const SHARED: u32 = 1;

    /// Takes over what has been released under `key`.
    pub fn acquire(&mut self, key: u32) {
        let Detector { lanes, passed, .. } = &mut *self.detector;
        if let Some((_, clock)) = passed[self.slot].clocks.iter().find(|(known, _)| *known == key) {
            lanes[self.task.index()].clock.join(clock);
        }
    }

    /// Adds what this task has done to what has been released under `key`.
    pub fn release(&mut self, key: u32) {
        self.pass_on(key, |lane, clock| clock.join(&lane.clock));
        self.detector.advance(self.task);
    }

    /// Puts what this task has done in the place of what has been released under `key`.
    pub fn publish(&mut self, key: u32) {
        self.pass_on(key, |lane, clock| clock.clone_from(&lane.clock));
        self.detector.advance(self.task);
    }

    /// As the access alone says. Locks and gates: as such. Others: as sequentially consistent
    /// atomics, so that a model which says nothing hides races rather than invents them.
    ///
    /// Of a queue, and of who is roused, the access does not say which step let it go on: it takes
    /// over from all before, also from those that it does not depend on. So that equivalent
    /// executions have the same edges, models with such accesses say themselves what they pass on.
    pub fn by_access(&mut self, access: Access) {
        match access {
            // A change of a count that sees nothing of it: it commutes with the others.
            Access::Refused
            | Access::Cancelled
            | Access::Observe(_)
            | Access::Yield
            | Access::Adjust => {}
            Access::Read
            | Access::FailedUpdate
            | Access::Share
            | Access::TryShare
            | Access::PassGate
            | Access::Woken
            | Access::TryRaise
            | Access::AwaitQuiescence => {
                self.acquire(Self::FIRST);
            }
            Access::Acquire | Access::TryAcquire => {
                self.acquire(Self::FIRST);
                self.acquire(Self::SHARED);
            }
            Access::Release => self.release(Self::FIRST),
            // Not to those who share later: shares commute.
            Access::Unshare => self.release(Self::SHARED),
            Access::Write
            | Access::Append
            | Access::BoundedPush(_)
            | Access::TryBoundedPush(_)
            | Access::Take
            | Access::TryTake
            | Access::Lower
            | Access::DoWork => {
                self.acquire(Self::FIRST);
                self.release(Self::FIRST);
            }
        }
    }

    /// A load of an atomic.
    pub fn load(&mut self, order: Ordering) {
        let Detector { lanes, passed, .. } = &mut *self.detector;
        let Passed { clocks, whole, written } = &passed[self.slot];
        let lane = &mut lanes[self.task.index()];
        let acquires = acquires(order);
        if let Some((_, clock)) = clocks.iter().find(|(key, _)| *key == Self::FIRST) {
            let known = if acquires { &mut lane.clock } else { &mut lane.seen };
            known.join(clock);
        }
        let Some((writer, site, releases)) = *written else { return };
        if writer == self.task || acquires && releases {
            return;
        }
        let slot = self.slot as u32;
        // A loop that looks again and again is one hint.
        let same = |hint: &Hint| hint.slot == slot && std::ptr::eq(hint.read, self.site);
        lane.hints.retain(|hint| !same(hint));
        if lane.hints.len() == HINTS {
            lane.hints.remove(0);
        }
        let (read, clock) = (self.site, whole.clone());
        lane.hints.push(Hint { slot, written: site, releases, read, acquires, clock });
    }

    /// A store of an atomic: a load that reads this does not see what earlier writes released.
    pub fn store(&mut self, order: Ordering) {
        let releases = releases(order);
        // What a release fence has passed on is released by the stores after it.
        let clock = |lane: &Lane, clock: &mut VectorClock| {
            clock.clone_from(if releases { &lane.clock } else { &lane.fenced });
        };
        self.pass_on(Self::FIRST, clock);
        self.wrote(releases, true);
    }

    /// An atomic read and write: it continues what the writes before have released.
    pub fn update(&mut self, order: Ordering) {
        self.load(order);
        let releases = releases(order);
        let clock = |lane: &Lane, clock: &mut VectorClock| {
            clock.join(if releases { &lane.clock } else { &lane.fenced });
        };
        self.pass_on(Self::FIRST, clock);
        self.wrote(releases, false);
    }

    fn wrote(&mut self, releases: bool, whole: bool) {
        let Detector { lanes, passed, .. } = &mut *self.detector;
        let entry = &mut passed[self.slot];
        if whole {
            entry.whole.clear();
        }
        entry.whole.join(&lanes[self.task.index()].clock);
        entry.written = Some((self.task, self.site, releases));
        // Also without a release, so that a hint tells what came before the write from what came
        // after.
        self.detector.advance(self.task);
    }

    fn pass_on(&mut self, key: u32, change: impl FnOnce(&Lane, &mut VectorClock)) {
        let Detector { lanes, passed, spare, .. } = &mut *self.detector;
        let clocks = &mut passed[self.slot].clocks;
        let at = clocks.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            let mut clock = spare.pop().unwrap_or_default();
            clock.clear();
            clocks.push((key, clock));
            clocks.len() - 1
        });
        change(&lanes[self.task.index()], &mut clocks[at].1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const C: TaskId = TaskId(2);
    const X: u32 = 0;
    const Y: u32 = 1;

    /// Two tasks beside the first, and one cell.
    fn started() -> (Detector, u32) {
        let mut detector = Detector::default();
        detector.fork(A, B);
        detector.fork(A, C);
        let cell = detector.cell();
        (detector, cell)
    }

    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    impl Detector {
        fn on(&mut self, task: TaskId, slot: u32) -> Edges<'_> {
            self.edges(task, slot, here())
        }

        fn races(&mut self, cell: u32, task: TaskId, touch: Touch) -> bool {
            self.touch(cell, (task, touch, here()), &[], true).is_err()
        }
    }

    #[test]
    fn what_nothing_orders_is_a_race_if_one_writes() {
        for (first, second, race) in [
            (Touch::Read, Touch::Read, false),
            (Touch::Read, Touch::Write, true),
            (Touch::Write, Touch::Read, true),
            (Touch::Write, Touch::Write, true),
            (Touch::Make, Touch::Read, true),
        ] {
            let (mut detector, cell) = started();
            assert!(!detector.races(cell, B, first));
            assert!(!detector.races(cell, B, second), "a task has an order of its own");
            let (mut detector, cell) = started();
            assert!(!detector.races(cell, B, first));
            assert_eq!(detector.races(cell, C, second), race, "{first:?} {second:?}");
        }
    }

    #[test]
    fn a_child_knows_what_its_parent_did_before_and_a_joiner_what_the_child_did() {
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, A, Touch::Write));
        detector.fork(A, TaskId(3));
        assert!(!detector.races(cell, TaskId(3), Touch::Write));
        detector.join(A, TaskId(3));
        assert!(!detector.races(cell, A, Touch::Write));
        assert!(detector.races(cell, TaskId(3), Touch::Read), "the parent went on");
    }

    #[test]
    fn a_store_that_releases_is_seen_by_a_load_that_acquires() {
        use Ordering::{Acquire, Relaxed, Release, SeqCst};
        for (store, load, race) in [
            (Release, Acquire, false),
            (SeqCst, SeqCst, false),
            (Relaxed, Acquire, true),
            (Release, Relaxed, true),
            (Relaxed, Relaxed, true),
        ] {
            let (mut detector, cell) = started();
            assert!(!detector.races(cell, B, Touch::Write));
            detector.on(B, X).store(store);
            detector.on(C, X).load(load);
            assert_eq!(detector.races(cell, C, Touch::Read), race, "{store:?} {load:?}");
        }
    }

    #[test]
    fn what_comes_after_a_release_is_not_released() {
        let (mut detector, cell) = started();
        detector.on(B, X).store(Ordering::Release);
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(C, X).load(Ordering::Acquire);
        assert!(detector.races(cell, C, Touch::Read));
    }

    #[test]
    fn an_update_continues_a_release_and_a_store_ends_it() {
        use Ordering::{Acquire, Relaxed, Release};
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(B, X).store(Release);
        detector.on(A, X).update(Relaxed);
        detector.on(C, X).load(Acquire);
        assert!(!detector.races(cell, C, Touch::Read));
        assert!(detector.races(cell, A, Touch::Read), "a relaxed update acquires nothing");

        // Even a store of the task that released.
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(B, X).store(Release);
        detector.on(B, X).store(Relaxed);
        detector.on(C, X).load(Acquire);
        assert!(detector.races(cell, C, Touch::Read));
    }

    #[test]
    fn fences_make_relaxed_accesses_as_good_as_others() {
        use Ordering::{Acquire, Relaxed, Release};
        for (released, acquired) in [(true, true), (true, false), (false, true)] {
            let (mut detector, cell) = started();
            assert!(!detector.races(cell, B, Touch::Write));
            if released {
                detector.fence(B, Release);
            }
            detector.on(B, X).store(Relaxed);
            detector.on(C, X).load(Relaxed);
            if acquired {
                detector.fence(C, Acquire);
            }
            assert_eq!(detector.races(cell, C, Touch::Read), !(released && acquired));
        }
    }

    #[test]
    fn a_share_sees_the_last_exclusive_holder_and_the_next_one_sees_all_shares() {
        let (mut detector, cell) = started();
        detector.on(B, X).by_access(Access::Share);
        assert!(!detector.races(cell, B, Touch::Read));
        detector.on(B, X).by_access(Access::Unshare);
        detector.on(C, X).by_access(Access::Share);
        assert!(!detector.races(cell, C, Touch::Read));
        detector.on(C, X).by_access(Access::Unshare);
        detector.on(A, X).by_access(Access::Acquire);
        assert!(!detector.races(cell, A, Touch::Write));
        detector.on(A, X).by_access(Access::Release);
        detector.on(B, X).by_access(Access::Share);
        assert!(!detector.races(cell, B, Touch::Read));
        detector.on(B, X).by_access(Access::Unshare);
        detector.on(C, X).by_access(Access::Share);
        assert!(!detector.races(cell, C, Touch::Read));
        assert!(detector.races(cell, C, Touch::Write), "the share of the other does not order");
    }

    #[test]
    fn who_passes_a_gate_knows_who_opened_it_and_not_who_passed_before() {
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, A, Touch::Write));
        detector.on(A, X).by_access(Access::Release);
        detector.on(B, X).by_access(Access::PassGate);
        assert!(!detector.races(cell, B, Touch::Read));
        detector.on(C, X).by_access(Access::PassGate);
        assert!(!detector.races(cell, C, Touch::Read));
        assert!(detector.races(cell, C, Touch::Write));
    }

    #[test]
    fn who_is_roused_or_finds_room_knows_who_came_before() {
        for (first, second) in [
            (Access::Write, Access::Woken),
            (Access::Take, Access::BoundedPush(1)),
            (Access::TryTake, Access::TryBoundedPush(1)),
            (Access::BoundedPush(1), Access::Take),
        ] {
            let (mut detector, cell) = started();
            assert!(!detector.races(cell, B, Touch::Write));
            detector.on(B, X).by_access(first);
            detector.on(C, X).by_access(second);
            assert!(!detector.races(cell, C, Touch::Read), "{first:?} {second:?}");
        }
    }

    #[test]
    fn keys_keep_apart_what_was_released() {
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(B, X).publish(7);
        detector.on(C, X).acquire(8);
        detector.on(C, Y).acquire(7);
        assert!(detector.races(cell, C, Touch::Read));
        detector.on(C, X).acquire(7);
        assert!(!detector.races(cell, C, Touch::Read));
        detector.on(A, X).publish(7);
        detector.on(A, X).acquire(7);
        assert!(detector.races(cell, A, Touch::Read), "what is replaced is gone");
    }

    #[test]
    fn a_race_names_the_ordering_that_was_too_weak() {
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(B, Y).store(Ordering::Release);
        detector.on(C, X).load(Ordering::Relaxed);
        detector.on(C, Y).load(Ordering::Relaxed);
        let race = detector.touch(cell, (C, Touch::Read, here()), &[], true).expect_err("a race");
        assert_eq!((race.first.task, race.first.touch), (B, Touch::Write));
        let hint = race.hint.expect("there was a load");
        assert_eq!((hint.slot, hint.releases, hint.acquires), (Y, true, false));

        // A write after the store is not what the load would have brought.
        let (mut detector, cell) = started();
        detector.on(B, Y).store(Ordering::Release);
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(C, Y).load(Ordering::Relaxed);
        let race = detector.touch(cell, (C, Touch::Read, here()), &[], true).expect_err("a race");
        assert!(race.hint.is_none());
    }

    #[test]
    fn an_access_that_has_not_ended_races_however_it_began() {
        for clocks in [true, false] {
            let (mut detector, cell) = started();
            let access = (B, Touch::Write, here());
            detector.touch(cell, access, &[], clocks).expect("the first");
            detector.open(cell, access, &[]);
            detector.on(B, X).publish(0);
            detector.on(C, X).acquire(0);
            let second = (C, Touch::Read, here());
            assert!(detector.touch(cell, second, &[], clocks).expect_err("a race").unended);
            detector.close(cell, B, Touch::Write);
            // With clocks: what was done after the release is not known.
            assert_eq!(detector.touch(cell, second, &[], clocks).is_err(), clocks);
            detector.on(B, X).publish(0);
            detector.on(C, X).acquire(0);
            detector.touch(cell, second, &[], clocks).expect("now it has ended");
        }
    }

    #[test]
    fn an_execution_begins_with_nothing_known() {
        let (mut detector, cell) = started();
        assert!(!detector.races(cell, B, Touch::Write));
        detector.on(B, X).publish(0);
        detector.begin();
        detector.fork(A, B);
        let cell = detector.cell();
        assert!(!detector.races(cell, A, Touch::Write));
        detector.on(B, X).acquire(0);
        assert!(detector.races(cell, B, Touch::Read));
    }
}
