//! Steps that depend on each other because something outside of actors sees them all.
//!
//! Each observer is a bit of the mask that the engine calls `Step::also`: two steps with a common bit
//! depend on each other.

use crate::address::{ActorId, AnyAddress};
use crate::faults::Faults;
use crate::hash::mix;
use crate::turn::BITS;
use crate::view::View;

/// The bit of the common budgets of faults.
const BUDGET: u64 = 1 << BITS;
/// The bit of tests that count steps, or look at the whole system after each.
pub(crate) const ALL: u64 = 1 << (BITS + 1);

/// Looks at the system after a step.
pub(crate) type Look = Box<dyn FnMut(&View<'_>) + Send>;

/// All observers of a system.
pub(crate) struct Observers {
    /// Called after each step, with the actors that they look at; all, if there are none.
    looks: Vec<(Vec<ActorId>, Look)>,
    /// The bits of those actors.
    observed: Vec<(ActorId, u64)>,
    /// The bits of the looks at all actors.
    seen_by: u64,
    /// The bit of a test that counts steps, until all are handled.
    pub(crate) counted: u64,
    /// The bit of the budgets, if there are any.
    budget: u64,
}

impl Observers {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            looks: Vec::new(),
            observed: Vec::new(),
            seen_by: 0,
            counted: 0,
            budget: if faults.have_a_common_budget() { BUDGET } else { 0 },
        }
    }

    /// Every step changes what the others see: they depend on each other for good.
    pub(crate) fn depend_on_each_other(&mut self) {
        self.seen_by |= ALL;
    }

    /// Has these actors looked at after each of their steps; all, if there are none.
    pub(crate) fn add(&mut self, of: &[AnyAddress], look: Look) {
        self.looks.push((of.iter().map(|address| address.0).collect(), look));
        // Their steps depend on each other from now on.
        let bit = 1 << (mix(self.looks.len() as u64 ^ 19 << 40) % BITS);
        if of.is_empty() {
            self.seen_by |= ALL;
        }
        self.observed.extend(of.iter().map(|address| (address.0, bit)));
    }

    /// The bits that every step has.
    pub(crate) fn of_all_steps(&self) -> u64 {
        self.seen_by | self.counted | self.budget
    }

    /// The bits of an actor's steps.
    pub(crate) fn of_actor(&self, actor: ActorId) -> u64 {
        let seen = self.observed.iter().filter(|(observed, _)| *observed == actor);
        seen.fold(0, |bits, (_, bit)| bits | bit)
    }

    /// What to call after a step; to be [put back](Self::put_looks).
    pub(crate) fn take_looks(&mut self) -> Vec<(Vec<ActorId>, Look)> {
        std::mem::take(&mut self.looks)
    }

    pub(crate) fn put_looks(&mut self, looks: Vec<(Vec<ActorId>, Look)>) {
        self.looks = looks;
    }
}
