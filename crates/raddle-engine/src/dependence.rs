//! Which steps depend on each other: the one home of that relation.
//!
//! Two steps are independent if, wherever both are next, doing them in either order is possible
//! and leads to the same state. Everything a reduction leaves out rests on this table, so every
//! pair that is declared independent has its argument beside it; all others are dependent.
//!
//! # Why: Reduction: what an op waits for is in its access
//! A race is two dependent steps of which the later could have come first. Whether it could is a matter of what it
//! waits for: a lock that is held, a place in a queue, a token, one certain step of another task (`Woken`). So each of
//! these is an access of its own in `op.rs`, with its independent pairs and their arguments in `dependence.rs`. A
//! failed attempt (`FailedUpdate`, `Refused`) is told from a look (`Read`), because where it comes earlier it may do
//! something else.

use crate::op::{Access, NOTHING, ObjectId, TaskId};
use crate::strategy::{Decided, Step, Tasks, Watch};

/// Whether two accesses to one object depend on each other.
#[must_use]
#[inline]
pub fn conflict(a: Access, b: Access) -> bool {
    CONFLICTS[a.index()] >> b.index() & 1 != 0
}

/// What [`rule`] says of each two accesses: by one of them, the others as bits. Reductions ask for it many times in a
/// step, and the rule takes many comparisons.
static CONFLICTS: [u32; Access::EACH.len()] = {
    let mut table = [0; Access::EACH.len()];
    let mut a = 0;
    while a < table.len() {
        let mut b = 0;
        while b < table.len() {
            if rule(Access::EACH[a], Access::EACH[b]) {
                table[Access::EACH[a].index()] |= 1 << Access::EACH[b].index();
            }
            b += 1;
        }
        a += 1;
    }
    table
};

/// The rule that [`conflict`] follows. The arguments of accesses do not matter to it.
#[expect(clippy::unnested_or_patterns, reason = "each pair has its argument beside it")]
const fn rule(a: Access, b: Access) -> bool {
    use Access::{
        Adjust, Append, BoundedPush, Cancelled, DoWork, FailedUpdate, Lower, Observe, PassGate,
        Read, Refused, Share, Take, TryBoundedPush, TryRaise, TryShare, TryTake, Unshare, Woken,
        Yield,
    };
    !matches!(
        (a, b),
        // Neither changes what the other sees.
        (Read | FailedUpdate | Refused | PassGate, Read | FailedUpdate | Refused | PassGate)
        // A task that may share a lock may do so whether or not another takes or gives back its
        // share, and how many shares are left is the same in either order.
        | (Share | TryShare | Unshare, Share | TryShare | Unshare)
        // Both are next, so the queue is neither empty nor full: one takes from the front what
        // the other cannot touch, the other adds at the end.
        | (Append | BoundedPush(_), Take) | (Take, Append | BoundedPush(_))
        // Who adds or finds something is not the sender that goes, nor does it wait for it.
        | (Append | BoundedPush(_) | TryBoundedPush(_) | Take | TryTake, Unshare)
        | (Unshare, Append | BoundedPush(_) | TryBoundedPush(_) | Take | TryTake)
        // What let it go on has happened, cannot be undone, and is an order of its own.
        | (Woken, _) | (_, Woken)
        // Neither takes the other's work, and what is left is the same in either order.
        | (DoWork, DoWork | Read) | (Read, DoWork)
        // The counts are the same in either order. A task that clones a strong handle keeps its own, so the other
        // task's is not the last in either order; changes of weak handles do not bear on which strong one is
        // the last, nor on whether an upgrade succeeds.
        | (Adjust, Adjust | Lower | TryRaise) | (Lower | TryRaise, Adjust)
        // Both find the count above zero, and neither takes one off.
        | (TryRaise, TryRaise)
        // What it would have done has been taken back for good, which is an order of its own.
        | (Cancelled, _) | (_, Cancelled)
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
    // The lock is held before it is given back, and while an attempt at it is refused, so a task
    // that waits for it is still waiting. So is a queue full to which an attempt to add is refused. And as
    // long as there is work, no task sees that there is none.
    !matches!(
        (first, second),
        (Access::Release | Access::Unshare | Access::Refused, Access::Acquire)
            | (Access::Refused, Access::BoundedPush(_))
            | (Access::Release, Access::Share | Access::PassGate)
            | (Access::DoWork, Access::AwaitQuiescence)
    )
}

/// Whether an access leaves the object in a state on which all earlier accesses bear: everything
/// earlier conflicts with it. The search for conflicts stops there, so `true` needs the argument.
#[must_use]
pub(crate) fn dominates(access: Access) -> bool {
    match access {
        // They conflict with every access but those that conflict with nothing, or only with one task.
        Access::Write
        | Access::Acquire
        | Access::TryAcquire
        | Access::Release
        | Access::AwaitQuiescence => true,
        // Each commutes with some other access, which may be before it and not be ordered by it.
        Access::Read
        | Access::FailedUpdate
        | Access::Refused
        | Access::Share
        | Access::TryShare
        | Access::PassGate
        | Access::Unshare
        | Access::Append
        | Access::BoundedPush(_)
        | Access::TryBoundedPush(_)
        | Access::Take
        | Access::TryTake
        | Access::Woken
        | Access::DoWork
        | Access::Cancelled
        | Access::Yield
        | Access::Adjust
        | Access::Lower
        | Access::TryRaise
        | Access::Observe(_) => false,
    }
}

/// The access that conflicts with all that an op could conflict with, of which only this access is
/// known: in another state it may have another.
#[must_use]
pub fn widest(access: Access) -> Access {
    match access {
        Access::FailedUpdate | Access::TryTake | Access::Cancelled | Access::TryRaise => {
            Access::Write
        }
        Access::Refused | Access::TryShare | Access::TryBoundedPush(_) => Access::TryAcquire,
        Access::PassGate => Access::Acquire,
        // Whatever such an op would be in another state, what conflicts with that conflicts with this.
        Access::Read
        | Access::Write
        | Access::Acquire
        | Access::TryAcquire
        | Access::Release
        | Access::Share
        | Access::Unshare
        | Access::Append
        | Access::BoundedPush(_)
        | Access::Take
        | Access::Woken
        | Access::DoWork
        | Access::AwaitQuiescence
        | Access::Adjust
        | Access::Lower
        | Access::Observe(_)
        | Access::Yield => access,
    }
}

/// Whether a step has changed what a look at its object sees.
#[must_use]
pub fn disturbs(access: Access) -> bool {
    access.changes() && conflict(access, Access::Read)
}

/// What a step touched, and whose it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Footprint {
    /// Whose step.
    pub task: TaskId,
    /// What it touched; unused entries name no object.
    pub touched: [(ObjectId, Access); 2],
    /// Besides: a set of things by their bits, of which any two steps that touch one depend on each
    /// other.
    pub shared_resources: u128,
    /// See [`Step::learned`].
    pub learned: bool,
    /// See [`Step::decided`].
    pub decided: Decided,
    /// See [`Step::last_resort`].
    pub last_resort: bool,
    /// See [`Step::watch`].
    pub watch: Watch,
    /// If it was a timer's: whose timer it is.
    pub partner: Option<TaskId>,
    /// Its number among the steps of its task, from 1; 0 if it is not known.
    pub nth: u32,
    /// The step that let it go on.
    enabler: Option<(TaskId, u32)>,
    /// If it looked whether a task is finished: the tasks which that one waited for.
    pub waited_for: Tasks,
    /// Those who ran on with it.
    pub ran_on: Tasks,
}

impl Footprint {
    /// Of a step.
    #[must_use]
    pub fn new(task: TaskId, touched: &[(ObjectId, Access)], partner: Option<TaskId>) -> Self {
        let entry = |index: usize| touched.get(index).copied().unwrap_or(NOTHING);
        let touched = [entry(0), entry(1)];
        let none = Tasks::default();
        let (waited_for, ran_on) = (none, none);
        Self {
            task,
            touched,
            shared_resources: 0,
            learned: false,
            decided: Decided::default(),
            last_resort: false,
            watch: Watch::default(),
            partner,
            nth: 0,
            enabler: None,
            waited_for,
            ran_on,
        }
    }

    /// Of an executed step.
    #[must_use]
    pub fn of(step: &Step<'_>) -> Self {
        let footprint = Self::new(step.task, step.footprint, step.partner);
        let Step { waited_for, shared_resources, learned, decided, last_resort, watch, .. } = *step;
        Self { shared_resources, learned, decided, last_resort, watch, waited_for, ..footprint }
    }

    /// The same with all that it might have touched with other values.
    #[must_use]
    pub fn with_any_values(self) -> Self {
        let shared_resources =
            if self.decided.touches_others { u128::MAX } else { self.shared_resources };
        Self { shared_resources, ..self }
    }

    /// Whether its op may depend on more where it comes earlier than it did here: what is independent of it here may come before it
    /// or after it there, and no race here shows that.
    ///
    /// Who finds something in a queue, or a place in it, is independent of a sender that goes, and who finds nothing is not.
    /// With another value, with another message, or by a timer that was cancelled here, an actor may do anything.
    #[must_use]
    #[inline]
    pub fn may_depend_on_more(&self) -> bool {
        let (_, access) = self.touched[0];
        self.learned
            || self.decided.touches_others
            || matches!(access, Access::TryTake | Access::TryBoundedPush(_) | Access::Cancelled)
    }

    /// Another step, without which it would not have been possible.
    pub fn enabled_by(&mut self, other: &Self) {
        self.enabler = Some((other.task, other.nth));
    }

    /// Whether two steps depend on each other. Steps of one task always do, and a timer's steps
    /// with those of the task whose timer it is.
    #[must_use]
    #[inline]
    pub fn dependent(&self, other: &Self) -> bool {
        self.task == other.task
            || self.shared_resources & other.shared_resources != 0
            || self.meets(other)
            || (self.watch.objects | other.watch.objects != 0)
                && (self.watches(other) || other.watches(self))
            || (self.is_special() || other.is_special()) && self.is_tied_to(other)
    }

    /// Whether the two touch an object in ways that conflict.
    #[inline]
    fn meets(&self, other: &Self) -> bool {
        let [(first, one), (second, two)] = self.touched;
        other.touched.iter().any(|&(object, access)| {
            object != ObjectId::NONE
                && (object == first && conflict(one, access)
                    || object == second && conflict(two, access))
        })
    }

    /// Whether the other changed something that this one watches.
    fn watches(&self, other: &Self) -> bool {
        other
            .touched
            .iter()
            .any(|&(object, access)| self.watch.contains(object) && disturbs(access))
    }

    /// Whether it may depend on steps that touch other objects.
    #[inline]
    fn is_special(&self) -> bool {
        self.partner.is_some()
            || self.last_resort
            || self.enabler.is_some()
            || matches!(self.touched[0].1, Access::Observe(_))
    }

    /// Whether one is a timer's of the other's task, saw whether that one is finished, or could not
    /// have been without the other.
    fn is_tied_to(&self, other: &Self) -> bool {
        self.last_resort
            || other.last_resort
            || self.partner == Some(other.task)
            || other.partner == Some(self.task)
            || self.observes(other)
            || other.observes(self)
            || self.enabler == Some((other.task, other.nth))
            || other.enabler == Some((self.task, self.nth))
    }

    fn observes(&self, other: &Self) -> bool {
        let Access::Observe(task) = self.touched[0].1 else { return false };
        let sees = |who: TaskId| task == who || self.waited_for.contains(who);
        sees(other.task) || other.partner.is_some_and(sees) || other.ran_on.contains(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_the_rule_does() {
        for (at, a) in Access::EACH.into_iter().enumerate() {
            assert_eq!(a.index(), at, "{a:?} is not in its place");
            for b in Access::EACH {
                assert_eq!(conflict(a, b), rule(a, b), "{a:?} and {b:?}");
            }
        }
    }
}
