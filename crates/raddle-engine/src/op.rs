//! Ids, accesses and ops: the vocabulary in which frontends announce and strategies look ahead.

use std::panic::Location;

use raddle_trace::{Site, TaskKind};
use serde::{Deserialize, Serialize};

/// A task: a lane of totally ordered steps. The same number in every execution of one search.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u32")]
pub struct TaskId(pub u32);

impl TryFrom<u32> for TaskId {
    type Error = &'static str;

    /// Of a number in a saved state. Tables by task are as long as its largest number, so one that no
    /// search reaches is refused.
    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number < 1 << 24 { Ok(Self(number)) } else { Err("no search has so many tasks") }
    }
}

impl TaskId {
    /// The test's own body.
    pub const ROOT: Self = Self(0);

    /// As an index into tables by task.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a task came about: the same in every execution and process.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    pub(crate) parent: TaskId,
    pub(crate) nth: u32,
    pub(crate) kind: TaskKind,
}

/// What ops act on. Equal in all executions that share the decisions up to its first announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Of an op that touches no object: a yield.
    pub const NONE: Self = Self(u32::MAX);
}

/// What an op does to its object: the closed set over which dependence is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Access {
    /// Sees the state and leaves it as it is: a load.
    Read,
    /// Sees the state and leaves it as it is, but would change another one: a compare-exchange that
    /// fails, a notification that wakes no task.
    FailedUpdate,
    /// May see and change the state.
    Write,
    /// Takes a lock, after waiting for it.
    Acquire,
    /// Takes a lock that it found free: had it come earlier, it would have been refused.
    TryAcquire,
    /// Sees that a lock is held and leaves it.
    Refused,
    /// Gives a lock back.
    Release,
    /// Takes a lock that others may share, after waiting for it.
    Share,
    /// Takes a lock that others may share and that it found so: had it come earlier, it might have
    /// been refused.
    TryShare,
    /// Goes through a gate that others may go through, after waiting for it to open.
    PassGate,
    /// Gives a shared lock back.
    Unshare,
    /// Adds to the end of a queue.
    Append,
    /// Adds to the end of a queue of so many places, after waiting for one to be free.
    BoundedPush(u32),
    /// Adds to the end of a queue of so many places in which it found one free: had it come earlier,
    /// it might have been refused.
    TryBoundedPush(u32),
    /// Takes from the front of a queue, after waiting for something to be there.
    Take,
    /// Takes from the front of a queue in which it found something: had it come earlier, there
    /// might have been nothing.
    TryTake,
    /// Goes on because another task's step has let it: nothing but that step bears on it.
    Woken,
    /// Finds that there is nothing to do any more: had it come earlier, it would have changed the state.
    Cancelled,
    /// Does a piece of work that is there to be done.
    DoWork,
    /// Sees that no work is left, after waiting for that.
    AwaitQuiescence,
    /// Sees whether this task is finished: depends on all that task does.
    Observe(TaskId),
    /// Touches nothing and asks the others to move.
    Yield,
    /// Changes a count of handles and sees nothing of it: a clone.
    Adjust,
    /// Takes one off a count of handles, and sees whether it was the last.
    Lower,
    /// Adds one to a count of handles that it found above zero: had it come later, it might have been zero.
    TryRaise,
}

impl Access {
    /// Whether the step may have changed something that another task can see.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::Read
            | Self::FailedUpdate
            | Self::Refused
            | Self::PassGate
            | Self::Woken
            | Self::AwaitQuiescence
            | Self::Cancelled
            | Self::Observe(_)
            | Self::Yield => false,
            Self::Write
            | Self::Acquire
            | Self::TryAcquire
            | Self::Release
            | Self::Share
            | Self::TryShare
            | Self::Unshare
            | Self::Append
            | Self::BoundedPush(_)
            | Self::TryBoundedPush(_)
            | Self::Take
            | Self::TryTake
            | Self::DoWork
            | Self::Adjust
            | Self::Lower
            | Self::TryRaise => true,
        }
    }

    /// The object that it is of, if that and nothing else decides what it depends on; else none.
    #[inline]
    #[must_use]
    pub fn object_alone(self, object: ObjectId) -> ObjectId {
        if matches!(self, Self::Observe(_)) { ObjectId::NONE } else { object }
    }

    /// One of each kind, in the order of their [numbers](Self::index).
    pub(crate) const EACH: [Self; 25] = [
        Self::Read,
        Self::FailedUpdate,
        Self::Write,
        Self::Acquire,
        Self::TryAcquire,
        Self::Refused,
        Self::Release,
        Self::Share,
        Self::TryShare,
        Self::PassGate,
        Self::Unshare,
        Self::Append,
        Self::BoundedPush(0),
        Self::TryBoundedPush(0),
        Self::Take,
        Self::TryTake,
        Self::Woken,
        Self::Cancelled,
        Self::DoWork,
        Self::AwaitQuiescence,
        Self::Observe(TaskId::ROOT),
        Self::Yield,
        Self::Adjust,
        Self::Lower,
        Self::TryRaise,
    ];

    /// Its place in [`EACH`](Self::EACH), without its argument. In the order of declaration, so that it is read and not
    /// looked up.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Read => 0,
            Self::FailedUpdate => 1,
            Self::Write => 2,
            Self::Acquire => 3,
            Self::TryAcquire => 4,
            Self::Refused => 5,
            Self::Release => 6,
            Self::Share => 7,
            Self::TryShare => 8,
            Self::PassGate => 9,
            Self::Unshare => 10,
            Self::Append => 11,
            Self::BoundedPush(_) => 12,
            Self::TryBoundedPush(_) => 13,
            Self::Take => 14,
            Self::TryTake => 15,
            Self::Woken => 16,
            Self::Cancelled => 17,
            Self::DoWork => 18,
            Self::AwaitQuiescence => 19,
            Self::Observe(_) => 20,
            Self::Yield => 21,
            Self::Adjust => 22,
            Self::Lower => 23,
            Self::TryRaise => 24,
        }
    }

    /// A number for the access without its argument: in fingerprints, and in what is saved.
    pub(crate) fn kind(self) -> u64 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
            Self::Acquire => 3,
            Self::Release => 4,
            Self::Append => 5,
            Self::Take => 6,
            Self::Observe(_) => 7,
            Self::Yield => 8,
            Self::TryAcquire => 9,
            Self::Refused => 10,
            Self::Share => 11,
            Self::Unshare => 12,
            Self::TryShare => 13,
            Self::TryTake => 14,
            Self::BoundedPush(_) => 15,
            Self::TryBoundedPush(_) => 16,
            Self::Woken => 17,
            Self::PassGate => 18,
            Self::FailedUpdate => 19,
            Self::DoWork => 20,
            Self::AwaitQuiescence => 21,
            Self::Cancelled => 22,
            Self::Adjust => 23,
            Self::Lower => 24,
            Self::TryRaise => 25,
        }
    }
}

/// What a task is about to do, or has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// On what.
    pub object: ObjectId,
    /// What it would do to it in this very state.
    pub access: Access,
    /// The other object of an op on two at once, and what it would do to that: the lock that waiting on a condition variable
    /// gives back, or takes again.
    pub second: Option<(ObjectId, Access)>,
    /// From where.
    pub site: &'static Location<'static>,
}

/// What an op touches that touches no object, or no second one.
pub(crate) const NOTHING: (ObjectId, Access) = (ObjectId::NONE, Access::Yield);

/// A lock that a task holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) slot: u32,
    /// Others may hold it too.
    pub(crate) shared: bool,
    /// Where it was taken.
    pub(crate) site: &'static Location<'static>,
}

/// A place in the source as data that leaves the process.
pub(crate) fn site_of(location: &Location<'_>) -> Site {
    Site { file: location.file().to_owned(), line: location.line(), column: location.column() }
}
