//! Searches over states that are saved and go on in another process.
//!
//! What has been seen is saved as it is. States that are yet to be gone on from are values of the program's own types,
//! and an explorer's state is one of the user's: so they are saved as the steps that lead there, and found again by taking
//! those steps, each once. That takes fewer steps than the search did, which has tried every step from every state.
//!
//! A search on one thread then goes on exactly as it would have. `Errs:` how many parts of states are told apart by their
//! fingerprints alone is counted for each process, so that the chance of two being taken for one is stated too large.

use raddle_engine::states::{SavedEntry, SavedStates, SavedStep, SavedTally};

use super::frontier::Entry;
use super::report::{Refused, Visited};
use super::space::attempt;
use super::team::Walk;
use super::walker::{Halt, Tally, Walker};
use super::way::Step;
use crate::snapshot::{Exact, Move};

/// What a listener wants of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    GoOn,
    Stop,
    /// What it needs to go on elsewhere, before anything else.
    Save,
}

/// Is told how far a search is, now and then.
pub(super) trait Listener {
    fn visited(&mut self, visited: Visited) -> Wish;

    /// What was wished for; none if the search is over, or keeps no ways.
    fn saved(&mut self, saved: Option<Box<SavedStates>>) -> Wish;
}

/// A listener that saves nothing.
pub(super) struct Telling<'a>(pub(super) &'a mut dyn FnMut(Visited) -> bool);

impl Listener for Telling<'_> {
    fn visited(&mut self, visited: Visited) -> Wish {
        if (self.0)(visited) { Wish::GoOn } else { Wish::Stop }
    }

    fn saved(&mut self, _: Option<Box<SavedStates>>) -> Wish {
        Wish::GoOn
    }
}

/// The refusal of a state that does not lead where it did.
pub(super) fn strayed() -> Halt {
    Halt::Refused(Refused::new(
        "what was saved does not lead to the states that it did, so the program is another one, handlers use something \
         besides their state, their message and their context, or the file is damaged; begin anew",
    ))
}

pub(super) fn exact_of(saved: &SavedStates) -> Exact {
    let (clock, timers) = saved.exact;
    Exact { clock, timers }
}

/// A step as it is saved.
pub(super) fn save_step((after, step): (u32, Step)) -> SavedStep {
    let delivered = match step.way {
        Move::Lane(at) => (0, at, 0),
        Move::Timer(of, at) => (1, of, at),
        Move::Crash => (2, 0, 0),
        Move::Restart(of) => (3, of, 0),
    };
    SavedStep { after, delivered, values: step.values.into() }
}

pub(super) fn step_of(saved: &SavedStep) -> Option<Step> {
    let way = match saved.delivered {
        (0, at, _) => Move::Lane(at),
        (1, of, at) => Move::Timer(of, at),
        (2, ..) => Move::Crash,
        (3, of, _) => Move::Restart(of),
        _ => return None,
    };
    Some(Step { way, values: saved.values.as_slice().into() })
}

impl Tally {
    pub(super) fn save(&self) -> SavedTally {
        let &Self { transitions, made, finals, depth, cut, parts, .. } = self;
        let reached = self.reached.clone();
        SavedTally { transitions, made, finals, depth, cut, parts, reached }
    }

    /// As it was saved, of a model with so many properties.
    pub(super) fn restored(saved: &SavedTally, properties: usize) -> Option<Self> {
        let &SavedTally { transitions, made, finals, depth, cut, parts, .. } = saved;
        let reached = saved.reached.clone();
        let fits = reached.len() == properties;
        // What was gone on from is known by what has been seen.
        let gone_on = 0;
        fits.then_some(Self { transitions, made, gone_on, finals, depth, cut, reached, parts })
    }
}

/// States to go on from, each with what was saved of it.
type Restored<'a, X> = Vec<(Entry<X>, &'a SavedEntry)>;

/// The states that a search is to go on from, in order, each with what was saved of it.
pub(super) fn restore<'a, S: Send + Sync + 'static, W: Walk>(
    walk: &W,
    walker: &mut Walker<'_, S>,
    first: Entry<W::Extra>,
    saved: &'a SavedStates,
) -> Result<Restored<'a, W::Extra>, Halt> {
    // How often each state is needed from here on: those that are no longer are dropped.
    let mut uses = vec![0u32; saved.steps.len() + 1];
    let ends = saved.entries.iter().map(|entry| entry.at);
    for at in saved.steps.iter().map(|step| step.after).chain(ends) {
        *uses.get_mut(at as usize).ok_or_else(strayed)? += 1;
    }
    let mut states = vec![Some(first)];
    for step in &saved.steps {
        let after = step.after as usize;
        let step = step_of(step).ok_or_else(strayed)?;
        let before = states.get_mut(after).and_then(Option::as_mut).ok_or_else(strayed)?;
        let next = follow(walk, walker, before, &step)?;
        uses[after] -= 1;
        if uses[after] == 0 {
            states[after] = None;
        }
        states.push(Some(next));
    }
    let mut entries = Vec::with_capacity(saved.entries.len());
    for one in &saved.entries {
        let at = one.at as usize;
        uses[at] -= 1;
        let entry = if uses[at] == 0 { states[at].take() } else { states[at].clone() };
        let mut entry = entry.ok_or_else(strayed)?;
        if entry.state.fingerprint() != one.fingerprint {
            return Err(strayed());
        }
        walk.restore(&mut entry.extra, one);
        entries.push((entry, one));
    }
    Ok(entries)
}

/// Takes a step that was taken before.
fn follow<S: Send + Sync + 'static, W: Walk>(
    walk: &W,
    walker: &mut Walker<'_, S>,
    before: &mut Entry<W::Extra>,
    step: &Step,
) -> Result<Entry<W::Extra>, Halt> {
    let stepper = &mut walker.space.stepper;
    stepper.plan(&step.values);
    let state = attempt(stepper, &before.state, step.way).map_err(|_| strayed())?;
    if stepper.refused.is_some() || stepper.outdated() {
        return Err(strayed());
    }
    let extra = walk.follow(walker, before, step.way, &state)?;
    let way = before.way.as_ref().map(|way| way.then(step.way, &step.values));
    Ok(Entry { state, depth: before.depth + 1, way, extra })
}
