//! Which steps depend on each other: the one home of that relation.
//!
//! Two steps are independent if, wherever both are next, doing them in either order is possible
//! and leads to the same state. Everything a reduction leaves out rests on this table, so every
//! pair that is declared independent has its argument beside it; all others are dependent.

use crate::op::{Access, ObjectId, TaskId};

/// Whether two accesses to one object depend on each other.
#[must_use]
pub fn conflict(a: Access, b: Access) -> bool {
    use Access::{Append, Observe, Read, Refused, Share, Take, TryShare, Unshare, Yield};
    !matches!(
        (a, b),
        // Neither changes what the other sees.
        (Read | Refused, Read | Refused)
        // Whoever may share a lock may do so whether or not another takes or gives back its
        // share, and how many shares are left is the same in either order.
        | (Share | TryShare | Unshare, Share | TryShare | Unshare)
        // Both are next, so the queue is neither empty nor full: one takes from the front what
        // the other cannot touch, the other adds at the end.
        | (Append, Take) | (Take, Append)
        // A yield touches nothing.
        | (Yield, _) | (_, Yield)
        // Looking whether a task is finished changes nothing but whether that is known.
        | (Observe(_), Observe(_))
    )
}

/// Whether `second`, which came after a conflicting `first` on one object, could have come before.
///
/// `false` only where `second` is disabled, or another op, in every state in which `first` is
/// next.
#[must_use]
pub fn reversible(first: Access, second: Access) -> bool {
    // The lock is held before it is given back, and while an attempt at it is refused, so whoever
    // waits for it is still waiting.
    !matches!(
        (first, second),
        (Access::Release | Access::Unshare | Access::Refused, Access::Acquire)
            | (Access::Release, Access::Share)
    )
}

/// Whether an access leaves the object in a state on which all earlier accesses bear: everything
/// earlier conflicts with it.
#[must_use]
pub(crate) fn dominates(access: Access) -> bool {
    !matches!(
        access,
        Access::Read
            | Access::Refused
            | Access::Share
            | Access::TryShare
            | Access::Unshare
            | Access::Append
            | Access::Take
            | Access::Yield
            | Access::Observe(_)
    )
}

/// What a step touched, and whose it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Whose step.
    pub task: TaskId,
    /// What it touched; unused entries name no object.
    pub touched: [(ObjectId, Access); 2],
    /// If it was a timer's: whose timer it is.
    pub partner: Option<TaskId>,
    /// The values decided for it and in the local code before it, folded into a number; 0 if none.
    /// With other values it would have been another step.
    pub values: u64,
}

impl Footprint {
    /// Of a step.
    #[must_use]
    pub fn new(task: TaskId, touched: &[(ObjectId, Access)], partner: Option<TaskId>) -> Self {
        let entry = |index: usize| touched.get(index).copied().unwrap_or(crate::announce::NOTHING);
        Self { task, touched: [entry(0), entry(1)], partner, values: 0 }
    }

    /// Whether two steps depend on each other. Steps of one task always do, and a timer's steps
    /// with those of the task whose timer it is.
    #[must_use]
    pub fn dependent(&self, other: &Self) -> bool {
        if self.task == other.task
            || self.partner == Some(other.task)
            || other.partner == Some(self.task)
            || self.observes(other.task)
            || other.observes(self.task)
        {
            return true;
        }
        self.touched.iter().any(|&(object, access)| {
            object != ObjectId::NONE
                && other.touched.iter().any(|&(o, a)| o == object && conflict(access, a))
        })
    }

    fn observes(&self, task: TaskId) -> bool {
        self.touched[0].1 == Access::Observe(task)
    }
}
