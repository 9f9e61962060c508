//! Bounds: which options are out of budget.
//!
//! A bound puts a price on every option of a point, charges the decisions of an execution from its
//! first point on, the planned ones too, and leaves out what costs more than it has. The default
//! option is free at every point, so that every execution can be run to its end.
//!
//! Preemptions: Musuvathi and Qadeer, PLDI 2007. A preemption leaves a task that could go on and
//! did not just yield. Values are free.
//!
//! Delays: Emmi, Qadeer and Rakamarić, POPL 2011; Desai, Qadeer and Seshia, FSE 2015. Only along an explorer
//! (`explorers.rs`), which says how many delays each option costs. Values are ordered too: the k-th costs k.
//!
//! Depth: alternatives only at the first few decisions.
//! Misses: what needs more preemptions, or delays, than the bound. [`Covered`] says so.

use raddle_engine::strategy::{Options, Point};
use raddle_trace::Covered;

use crate::order::Order;

/// What a search may spend on one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// Anything.
    #[default]
    None,
    /// At most this many preemptions.
    Preemptions(u32),
    /// At most this many delays of an explorer.
    Delays(u32),
    /// Any option, but only the default one after this many decisions.
    Depth(u32),
}

/// What the options of one point cost. By rank: the default option has rank 0 and is free.
///
/// Invariant: no rank costs less than the one before it, so the ranks within a budget are the
/// first few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Price {
    /// Every option is free.
    Free = 0,
    /// Every option but the default costs one.
    One = 1,
    /// Every option but the default is out of the bound.
    Only = 2,
}

impl Price {
    #[inline]
    pub(crate) fn cost(self, rank: u32) -> u32 {
        u32::from(self == Self::One && rank > 0)
    }

    /// How many of the options are within what is left to spend: at least one.
    #[inline]
    pub(crate) fn within(self, spare: u32, of: u32) -> u32 {
        match self {
            Self::Free => of,
            Self::One if spare > 0 => of,
            Self::One | Self::Only => 1,
        }
    }
}

impl Bound {
    /// The most that an execution may cost.
    #[inline]
    pub(crate) fn limit(self) -> u32 {
        match self {
            Self::None | Self::Depth(_) => u32::MAX,
            Self::Preemptions(k) | Self::Delays(k) => k,
        }
    }

    /// Whether the default options of this order are free.
    pub(crate) fn allows(self, order: &dyn Order) -> bool {
        match self {
            Self::None | Self::Depth(_) => true,
            Self::Preemptions(_) => !order.preempts(),
            Self::Delays(_) => order.explores(),
        }
    }

    /// What the options cost if `default` is the default one.
    #[inline]
    pub(crate) fn price(self, point: &Point<'_>, default: u32) -> Price {
        if let Self::Depth(most) = self {
            return if point.index < most { Price::Free } else { Price::Only };
        }
        let (Self::Preemptions(_), Options::Schedule(choices), Some(running)) =
            (self, point.options, point.running)
        else {
            return Price::Free;
        };
        if choices[default as usize].task == running {
            return Price::One;
        }
        // The other half of `allows`: what the order says of itself holds.
        let left = choices.iter().any(|choice| choice.task == running);
        assert!(!left, "an order that does not preempt stays with the running task");
        Price::Free
    }

    /// What a search that ended has covered.
    pub(crate) fn covered(self) -> Covered {
        match self {
            Self::None => Covered::Everything,
            Self::Preemptions(k) => Covered::Preemptions(k),
            Self::Delays(k) => Covered::Delays(k),
            Self::Depth(k) => Covered::Depth(k),
        }
    }

    /// The bound in the words of [`Covered::Part`].
    pub(crate) fn preemptions(self) -> Option<u32> {
        match self {
            Self::None | Self::Delays(_) | Self::Depth(_) => None,
            Self::Preemptions(k) => Some(k),
        }
    }

    /// As it stands in a composition, after a space; empty if there is none.
    pub(crate) fn suffix(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Preemptions(k) => format!(" preemptions({k})"),
            Self::Delays(k) => format!(" delays({k})"),
            Self::Depth(k) => format!(" depth({k})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{NonPreemptive, TakeTurns};

    #[test]
    fn only_options_within_the_budget_are_counted() {
        assert_eq!(Price::One.within(0, 4), 1);
        assert_eq!(Price::One.within(1, 4), 4);
        assert_eq!(Price::Free.within(0, 4), 4);
    }

    #[test]
    fn preemptions_are_not_counted_along_an_order_that_preempts() {
        assert!(Bound::Preemptions(2).allows(&NonPreemptive));
        assert!(!Bound::Preemptions(2).allows(&TakeTurns));
        assert!(Bound::None.allows(&TakeTurns));
    }
}
