//! The states of an explorer that a thread has met, each of them once.
//!
//! An explorer has few states beside those of a program: `rr` with n actors has n + 1. So entries share them, and what an
//! explorer makes of a step and how it ranks processes is remembered, in tables of a fixed size in which what is
//! new takes the place of what was there. An explorer that has a new state after every step gains nothing by it.
//!
//! States of an explorer are told apart by their fingerprints.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use raddle_engine::explorer::{Explorer, Process};

use crate::hash::mix;
use crate::stepper::FingerprintHasher;

/// A state of an explorer.
pub(super) struct Known {
    pub(super) explorer: Explorer,
    pub(super) fingerprint: u64,
    pub(super) hears_blocked: bool,
}

/// How an explorer ranks the processes that can move.
pub(super) struct Ranking {
    of: Rc<Known>,
    /// Those that can move.
    runnable: u64,
    /// In the order of their ranks.
    pub(super) ranks: Vec<Process>,
    /// By process, if there are so few.
    rank_of: [u8; MAX_AS_BITS],
}

/// So many processes are kept as bits, or by number.
pub(super) const MAX_AS_BITS: usize = u64::BITS as usize;

/// What an explorer makes of a step.
struct Heard {
    by: Rc<Known>,
    what: u64,
    then: Rc<Known>,
}

/// How many rankings, and steps, are remembered. Powers of two.
const RANKINGS: usize = 1 << 10;
const STEPS: usize = 1 << 12;

/// From how many states on those that no entry has are looked for.
const LEAST_TO_SWEEP: usize = 1 << 13;

/// The states of an explorer that a thread has met.
#[derive(Default)]
pub(super) struct Explorers {
    known: HashMap<u64, Rc<Known>, BuildHasherDefault<FingerprintHasher>>,
    sweep_at: usize,
    rankings: Vec<Option<Rc<Ranking>>>,
    steps: Vec<Option<Heard>>,
}

/// Where something is remembered, among so many.
fn place(of: &Known, what: u64, among: usize) -> usize {
    mix(of.fingerprint ^ what) as usize & (among - 1)
}

impl Explorers {
    /// A state of the explorer, which others may have as well.
    pub(super) fn share(&mut self, explorer: Explorer) -> Rc<Known> {
        let fingerprint = explorer.fingerprint();
        if let Some(known) = self.known.get(&fingerprint) {
            return Rc::clone(known);
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, known| Rc::strong_count(known) > 1);
            self.sweep_at = LEAST_TO_SWEEP.max(2 * self.known.len());
        }
        let hears_blocked = explorer.hears_blocked();
        let known = Rc::new(Known { explorer, fingerprint, hears_blocked });
        self.known.insert(fingerprint, Rc::clone(&known));
        known
    }

    /// How an explorer ranks these processes: as was found before, or as `rank` finds. They are not remembered if they are
    /// too many to be bits.
    pub(super) fn ranking<E>(
        &mut self,
        of: &Rc<Known>,
        runnable: Option<u64>,
        rank: impl FnOnce() -> Result<Vec<Process>, E>,
    ) -> Result<Rc<Ranking>, E> {
        if self.rankings.is_empty() {
            self.rankings.resize_with(RANKINGS, || None);
        }
        let bits = runnable.unwrap_or(0);
        let at = place(of, bits, RANKINGS);
        if let Some(known) = &self.rankings[at]
            && known.runnable == bits
            && Rc::ptr_eq(&known.of, of)
        {
            return Ok(Rc::clone(known));
        }
        let (ranks, mut rank_of) = (rank()?, [u8::MAX; MAX_AS_BITS]);
        if runnable.is_some() {
            let ranks = ranks.iter().enumerate();
            ranks.for_each(|(rank, process)| rank_of[process.0 as usize] = rank as u8);
        }
        let ranking = Rc::new(Ranking { of: Rc::clone(of), runnable: bits, ranks, rank_of });
        if runnable.is_some() {
            self.rankings[at] = Some(Rc::clone(&ranking));
        }
        Ok(ranking)
    }

    /// What an explorer is after what it heard: as was found before, or as `then` says. Nothing is remembered of
    /// what has no number.
    pub(super) fn after<E>(
        &mut self,
        by: &Rc<Known>,
        what: Option<u64>,
        then: impl FnOnce() -> Result<Explorer, E>,
    ) -> Result<Rc<Known>, E> {
        let Some(what) = what else { return then().map(|explorer| self.share(explorer)) };
        if self.steps.is_empty() {
            self.steps.resize_with(STEPS, || None);
        }
        let at = place(by, what, STEPS);
        if let Some(heard) = &self.steps[at]
            && heard.what == what
            && Rc::ptr_eq(&heard.by, by)
        {
            return Ok(Rc::clone(&heard.then));
        }
        let then = self.share(then()?);
        self.steps[at] = Some(Heard { by: Rc::clone(by), what, then: Rc::clone(&then) });
        Ok(then)
    }
}

impl Ranking {
    /// How many delays lead to a process that can move.
    #[inline]
    pub(super) fn rank(&self, process: Process) -> u32 {
        const UNRANKED: &str = "the explorer has ranked all that can move";
        match self.rank_of.get(process.0 as usize) {
            Some(&rank) if rank != u8::MAX => rank.into(),
            _ => {
                let rank = self.ranks.iter().position(|&other| other == process);
                rank.expect(UNRANKED) as u32
            }
        }
    }
}
