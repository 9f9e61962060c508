//! Bounds: which options are out of budget.
//!
//! A bound puts a price on every option of a point, charges the decisions of an execution from its
//! first point on, the planned ones too, and leaves out what costs more than it has. The default
//! option is free at every point, so that every execution can be run to its end.
//!
//! Preemptions: Musuvathi and Qadeer, PLDI 2007. A preemption leaves a task that could go on and
//! did not just yield. Values are free.
//! Misses: what needs more preemptions than the bound. [`Covered`] says so.

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
}

impl Price {
    #[inline]
    pub(crate) fn cost(self, rank: u32) -> u32 {
        u32::from(self == Self::One && rank > 0)
    }

    /// How many of the options are within what is left to spend: at least one.
    #[inline]
    pub(crate) fn within(self, spare: u32, of: u32) -> u32 {
        if self == Self::Free || spare > 0 { of } else { 1 }
    }
}

impl Bound {
    /// The most that an execution may cost.
    #[inline]
    pub(crate) fn limit(self) -> u32 {
        match self {
            Self::None => u32::MAX,
            Self::Preemptions(k) => k,
        }
    }

    /// Whether the default options of this order are free.
    pub(crate) fn allows(self, order: &dyn Order) -> bool {
        match self {
            Self::None => true,
            Self::Preemptions(_) => !order.preempts(),
        }
    }

    /// What the options cost if `default` is the default one.
    #[inline]
    pub(crate) fn price(self, point: &Point<'_>, default: u32) -> Price {
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
        }
    }

    /// The bound in the words of [`Covered::Part`].
    pub(crate) fn preemptions(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Preemptions(k) => Some(k),
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
