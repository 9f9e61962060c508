//! The states of a model, to walk in.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Delivery, Refused};
use crate::address::ActorId;
use crate::snapshot::{ANYBODY, Happened, Move, Snapshot};
use crate::stepper::Stepper;
use crate::view::View;

/// A link along which a state can be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled {
    /// Who sent the message: none if it came from outside the system, or if senders do not matter to the order.
    pub from: Option<ActorId>,
    /// The actor that would move. None for a fault, which may strike any.
    pub to: Option<ActorId>,
    way: Move,
}

/// The state after a step.
#[derive(Clone, Debug)]
pub struct Next {
    /// The state.
    pub snapshot: Snapshot,
    /// How many options each value had that the step asked for. Those that were not given were 0.
    pub asked: Vec<u32>,
    /// The actors to which it has sent something, in order.
    pub sent_to: Vec<ActorId>,
    /// The actors that it has spawned.
    pub spawned: Vec<ActorId>,
}

/// The states of a model, to walk in: for searches of one's own.
///
/// ```
/// use raddle_actors::{Actor, Context, Model};
///
/// #[derive(Clone, Hash)]
/// struct Last(u32);
/// impl Actor for Last {
///     type Message = u32;
///     raddle_actors::snapshots!();
///     fn handle(&mut self, value: u32, _cx: &mut Context<'_, u32>) {
///         self.0 = value;
///     }
/// }
///
/// let model = Model::new(|system| {
///     let last = system.spawn(Last(0));
///     system.send(&last, 1);
///     last
/// })
/// .panics_only();
/// let mut space = model.space().unwrap();
/// let first = space.first();
/// let enabled = space.enabled(&first);
/// assert_eq!(enabled.len(), 1);
/// let next = space.step(&first, enabled[0], &[]).unwrap().snapshot;
/// assert_ne!(next.fingerprint(), first.fingerprint());
/// assert!(space.enabled(&next).is_empty());
/// let value = space.look(&next, |last, view| view.actor::<Last>(last).0);
/// assert_eq!(value, 1);
/// ```
pub struct Space<S> {
    pub(super) stepper: Stepper,
    pub(super) first: Snapshot,
    pub(super) own: S,
    pub(super) moves: Vec<Move>,
}

impl<S> fmt::Debug for Space<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("first", &self.first).finish_non_exhaustive()
    }
}

impl<S> Space<S> {
    /// The first state.
    #[must_use]
    pub fn first(&self) -> Snapshot {
        self.first.clone()
    }

    /// The links along which a state can be left, in a fixed order; none if nothing is left to be
    /// handled.
    #[must_use]
    pub fn enabled(&mut self, state: &Snapshot) -> Vec<Enabled> {
        self.stepper.moves(state, &mut self.moves);
        let actor = |index| Some(ActorId(index));
        let enabled = |&way: &Move| {
            let (from, to) = match way {
                Move::Lane(at) => {
                    let lane = &state.lanes[at as usize];
                    (actor(lane.from).filter(|from| from.0 < ANYBODY), actor(lane.to))
                }
                Move::Timer(of, _) | Move::Restart(of) => (None, actor(of)),
                Move::Crash => (None, None),
            };
            Enabled { from, to, way }
        };
        self.moves.iter().map(enabled).collect()
    }

    /// The state after the step along a link, with these values; the first of each where there are
    /// too few.
    ///
    /// # Errors
    /// The panic's message, if the program panics; or why the state cannot be kept.
    pub fn step(
        &mut self,
        state: &Snapshot,
        link: Enabled,
        values: &[u32],
    ) -> Result<Next, Refused> {
        self.stepper.plan(values);
        let snapshot = attempt(&mut self.stepper, state, link.way).map_err(Refused::new)?;
        if let Some(why) = &self.stepper.refused {
            return Err(Refused::new(why.clone()));
        }
        let sent = |did: &Happened| match did {
            Happened::Sent(to) => Some(ActorId(*to)),
            Happened::Spawned(_) | Happened::Became | Happened::Ordered(_) => None,
        };
        let sent_to = self.stepper.did.iter().filter_map(sent).collect();
        let (known, now) = (state.actors.len() as u32, snapshot.actors.len() as u32);
        let spawned = (known..now).map(ActorId).collect();
        Ok(Next { snapshot, asked: self.stepper.asked().to_vec(), sent_to, spawned })
    }

    /// What a person calls the step along a link.
    #[must_use]
    pub fn delivery(&self, state: &Snapshot, link: Enabled, values: &[u32]) -> Delivery {
        state.describe(link.way, values).into()
    }

    /// Looks at a state.
    pub fn look<T>(&self, state: &Snapshot, look: impl FnOnce(&S, &View<'_>) -> T) -> T {
        look(&self.own, &View::from(state))
    }
}

/// A step, or the message of the panic in it.
pub(super) fn attempt(
    stepper: &mut Stepper,
    state: &Snapshot,
    way: Move,
) -> Result<Snapshot, String> {
    catch_unwind(AssertUnwindSafe(|| stepper.step(state, way))).map_err(|panic| {
        stepper.recover();
        text(&*panic)
    })
}

pub(super) fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or("a panic".to_owned())
}
