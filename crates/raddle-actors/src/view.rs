//! A system between two steps, as tests and properties look at it.

use crate::actor::Actor;
use crate::address::{ActorId, Address};
#[cfg(feature = "check")]
use crate::snapshot::Snapshot;
use crate::world::World;

/// What a test may look at between two steps.
pub struct View<'a> {
    pub(crate) of: Viewed<'a>,
    /// The actors that the observer has named; all, if it has named none.
    pub(crate) only: &'a [ActorId],
}

/// The store that is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Viewed<'a> {
    World(&'a World),
    #[cfg(feature = "check")]
    Snapshot(&'a Snapshot),
}

impl<'a> From<&'a World> for View<'a> {
    fn from(world: &'a World) -> Self {
        Self { of: Viewed::World(world), only: &[] }
    }
}

#[cfg(feature = "check")]
impl<'a> From<&'a Snapshot> for View<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        Self { of: Viewed::Snapshot(snapshot), only: &[] }
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("only", &self.only).finish_non_exhaustive()
    }
}

impl View<'_> {
    /// The state of an actor.
    ///
    /// # Panics
    /// If it is of another type now, or the observer has named others.
    #[must_use]
    #[track_caller]
    pub fn actor<A: Actor>(&self, address: &Address<A::Message>) -> &A {
        let actor = address.actor().expect("an address of the system that is looked at");
        assert!(
            self.only.is_empty() || self.only.contains(&actor),
            "raddle: an actor is looked at that the invariant does not name; name it too, so that no \
             order of its steps is left out"
        );
        match self.of {
            Viewed::World(world) => world.state(actor),
            #[cfg(feature = "check")]
            Viewed::Snapshot(snapshot) => snapshot.state(actor),
        }
    }

    #[cfg(all(test, feature = "check"))]
    pub(crate) fn budgets(&self) -> (u32, u32, Vec<u64>) {
        match self.of {
            Viewed::World(world) => world.budgets(),
            Viewed::Snapshot(snapshot) => snapshot.budgets(),
        }
    }

    /// How many messages wait to be handled.
    ///
    /// # Panics
    /// If the observer has named actors: every step changes this.
    #[must_use]
    #[track_caller]
    pub fn waiting(&self) -> usize {
        assert!(
            self.only.is_empty(),
            "raddle: what waits is changed by every step; an invariant that looks at it names no actors"
        );
        match self.of {
            Viewed::World(world) => world.links.iter().map(|link| link.queue.len()).sum(),
            #[cfg(feature = "check")]
            Viewed::Snapshot(snapshot) => snapshot.waiting(),
        }
    }
}
