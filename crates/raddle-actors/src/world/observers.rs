//! Steps that depend on each other because something outside of actors sees them all.
//!
//! Each observer is one of the things (`things.rs`) that steps touch.

use crate::address::{ActorId, AnyAddress};
use crate::faults::Faults;
use crate::things::{self, ALL, ActorThings, CENSUS, Things};
use crate::view::View;

/// Looks at the system after a step.
pub(crate) type Look = Box<dyn FnMut(&View<'_>) + Send>;

/// All observers of a system.
pub(crate) struct Observers {
    /// Called after each step, with the actors that they look at; all, if there are none.
    looks: Vec<(Vec<ActorId>, Look)>,
    /// The bits of those actors.
    observed: Vec<(ActorId, Things)>,
    /// The bits of the looks at all actors.
    seen_by: Things,
    /// The bit of a test that counts steps, until all are handled.
    pub(crate) counted: Things,
    /// Whether actors may crash.
    crashes: bool,
}

impl Observers {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            looks: Vec::new(),
            observed: Vec::new(),
            seen_by: 0,
            counted: 0,
            crashes: faults.crashes > 0,
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
        let bit = things::look(self.looks.len() as u32 - 1);
        if of.is_empty() {
            self.seen_by |= ALL;
        }
        self.observed.extend(of.iter().map(|address| (address.0, bit)));
    }

    /// The bits that every step has.
    pub(crate) fn of_all_steps(&self) -> Things {
        self.seen_by | self.counted
    }

    /// The bits of an actor's steps.
    pub(crate) fn of_actor(&self, actor: ActorId, things: ActorThings) -> Things {
        // A crash that might have another victim touches everything, and so depends on the steps of every actor.
        let own = if self.crashes { things.own } else { 0 };
        let seen = self.observed.iter().filter(|(observed, _)| *observed == actor);
        seen.fold(own, |bits, (_, bit)| bits | bit)
    }

    /// The bits of steps that create actors: victims of crashes are chosen by their numbers, which are in the order of
    /// creation.
    pub(crate) fn of_census(&self) -> Things {
        if self.crashes { CENSUS } else { 0 }
    }

    /// Whether nothing is to be called after a step.
    pub(crate) fn is_empty(&self) -> bool {
        self.looks.is_empty()
    }

    /// What to call after a step; to be [put back](Self::put_looks).
    pub(crate) fn take_looks(&mut self) -> Vec<(Vec<ActorId>, Look)> {
        std::mem::take(&mut self.looks)
    }

    pub(crate) fn put_looks(&mut self, looks: Vec<(Vec<ActorId>, Look)>) {
        self.looks = looks;
    }
}
