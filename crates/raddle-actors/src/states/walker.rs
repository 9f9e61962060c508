//! One thread's part of a search over states: steps, and what must hold of the states they lead to.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::report::Refused;
use super::seen::Met;
use super::space::{Space, attempt, text};
use super::team::Shared;
use super::way::{Step, Way};
use super::{Stopped, following};
use crate::model::PropertyKind;
use crate::snapshot::{Exact, Move, Snapshot};
use crate::view::View;

/// What went wrong in a state, or in a step from it.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The steps to that state; none if ways are not kept.
    pub(super) way: Option<Vec<Step>>,
    pub(super) step: Option<Step>,
    pub(super) what: String,
    pub(super) property: Option<usize>,
}

/// Why a search does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    Wrong(Box<Wrong>),
    Stopped(Stopped),
    Refused(Refused),
    /// Fingerprints have to say more.
    Again(Exact),
}

/// What one thread has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) transitions: u64,
    /// States that were made by steps.
    pub(super) made: u64,
    /// States that were gone on from, where states are marked before that.
    pub(super) gone_on: u64,
    pub(super) finals: u64,
    pub(super) depth: u32,
    /// Whether a limit on the depth left something out.
    pub(super) cut: bool,
    /// By property: whether it is a goal that was reached.
    pub(super) reached: Vec<bool>,
    /// How many parts of states are told apart by their fingerprints alone.
    pub(super) parts: u64,
}

impl Tally {
    pub(super) fn add(&mut self, more: &Self) {
        self.transitions += more.transitions;
        self.made += more.made;
        self.gone_on += more.gone_on;
        self.finals += more.finals;
        self.depth = self.depth.max(more.depth);
        self.cut |= more.cut;
        self.reached.resize(more.reached.len(), false);
        self.reached.iter_mut().zip(&more.reached).for_each(|(all, one)| *all |= one);
        self.parts += more.parts;
    }
}

/// One thread's part of a search.
pub(super) struct Walker<'a, S> {
    pub(super) shared: &'a Shared<'a, S>,
    pub(super) space: Space<S>,
    pub(super) tally: Tally,
    /// About how many bytes it has for states that are yet to be gone on from.
    pub(super) waiting_bytes: usize,
}

/// A new state, with the way to it if ways are kept.
type Reached = (Snapshot, Option<Way>);

impl<S: Send + Sync + 'static> Walker<'_, S> {
    /// What it has done.
    pub(super) fn finish(self) -> Tally {
        self.tally()
    }

    /// What it has done so far, in this process and in those that it goes on from.
    pub(super) fn tally(&self) -> Tally {
        let parts = self.tally.parts + self.space.stepper.parts();
        Tally { parts, ..self.tally.clone() }
    }

    /// A new state. `way` leads to it.
    pub(super) fn visit(
        &mut self,
        state: &Snapshot,
        depth: u32,
        way: impl Fn() -> Option<Way>,
    ) -> Result<(), Halt> {
        self.tally.depth = self.tally.depth.max(depth);
        let wrong = |what, property| wrong(way(), None, what, property);
        let view = View::from(state);
        for (index, property) in self.shared.model.properties.iter().enumerate() {
            let skip = property.kind == PropertyKind::Final || self.tally.reached[index];
            if skip {
                continue;
            }
            let holds = catch_unwind(AssertUnwindSafe(|| property.holds(&self.space.own, &view)))
                .map_err(|panic| wrong(text(&*panic), Some(index)))?;
            match property.kind {
                PropertyKind::Goal => self.tally.reached[index] = holds,
                _ if !holds => return Err(wrong(property.violated(), Some(index))),
                _ => {}
            }
        }
        Ok(())
    }

    /// A state in which nothing is left to be handled.
    pub(super) fn end(&mut self, state: &Snapshot, way: Option<&Way>) -> Result<(), Halt> {
        self.tally.finals += 1;
        let wrong = |what, property| wrong(way.cloned(), None, what, property);
        for (index, property) in self.shared.model.properties.iter().enumerate() {
            if property.kind != PropertyKind::Final {
                continue;
            }
            let view = View::from(state);
            let holds = catch_unwind(AssertUnwindSafe(|| property.holds(&self.space.own, &view)))
                .map_err(|panic| wrong(text(&*panic), Some(index)))?;
            if !holds {
                return Err(wrong(property.violated(), Some(index)));
            }
        }
        match state.hot() {
            Some(name) => Err(wrong(format!("the test is over, and {name} is still hot"), None)),
            None => Ok(()),
        }
    }

    /// Takes a step. `way` leads to the state from which it is taken.
    #[inline]
    pub(super) fn take(
        &mut self,
        state: &Snapshot,
        step: Move,
        values: &[u32],
        way: Option<&Way>,
    ) -> Result<Snapshot, Halt> {
        let stepper = &mut self.space.stepper;
        stepper.plan(values);
        self.tally.transitions += 1;
        let next = attempt(stepper, state, step).map_err(|what| {
            let step = Step { way: step, values: values.into() };
            wrong(way.cloned(), Some(step), what, None)
        })?;
        if let Some(why) = stepper.refused.take() {
            return Err(Halt::Refused(Refused::new(why)));
        }
        if stepper.outdated() {
            return Err(Halt::Again(stepper.needed));
        }
        self.tally.made += 1;
        Ok(next)
    }

    /// Whether a state is to be gone on from, at a price (0 where states have none). `key` is what it is
    /// known by.
    #[inline]
    pub(super) fn meet(&mut self, key: u64, price: u8) -> Result<Met, Halt> {
        let met = self.shared.seen.meet(key, price);
        match met {
            Met::Full => Err(Halt::Stopped(Stopped::Bytes)),
            Met::New | Met::Cheaper | Met::Known => Ok(met),
        }
    }

    /// Takes a step. The state, if it is new; and whether there are other values to try, which are
    /// then in `values`.
    #[inline]
    pub(super) fn step(
        &mut self,
        state: &Snapshot,
        step: Move,
        values: &mut Vec<u32>,
        depth: u32,
        way: Option<&Way>,
    ) -> Result<(Option<Reached>, bool), Halt> {
        let next = self.take(state, step, values, way)?;
        let new = match self.meet(next.fingerprint(), 0)? {
            Met::New => {
                let then = || way.map(|way| way.then(step, values));
                self.visit(&next, depth, then)?;
                self.shared.count_new(self.waiting_bytes)?;
                Some((next, then()))
            }
            _ => None,
        };
        let more = following(values, self.space.stepper.asked());
        Ok((new, more))
    }
}

fn wrong(way: Option<Way>, step: Option<Step>, what: String, property: Option<usize>) -> Halt {
    let way = way.map(|way| way.steps());
    Halt::Wrong(Box::new(Wrong { way, step, what, property }))
}
