//! A stratified search until its memory is nearly spent, then samples from what is left.
//!
//! Proposed by Desai, Qadeer and Seshia, FSE 2015: exhaustive search is better where memory suffices, and sampling
//! reaches what needs more delays. Once the search holds three quarters of what it may, each sample begins with any
//! candidate that waits, with the same chance, and puts further delays after it (`strata_sample.rs`). What waits stays as it
//! is, so what was claimed before is still all that is claimed.
//!
//! Misses: what the search had left, but for what is drawn.
//! Overreports: nothing.

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Estimating, Event, Finished, Needs, Plan, Point, Remarks, Resumable,
    Strategy, Unsupported,
};
use raddle_trace::{Covered, Note, Progress};
use serde::{Deserialize, Serialize};

use crate::order::StockOrder;
use crate::rng::Rng;
use crate::state::{self, FOREIGN};
use crate::strata_sample::StrataSample;
use crate::tree::TreeSearch;

const NAME: &str = "then-sample";

/// A stratified search that goes on as a sampler when there is no more room.
#[derive(Debug)]
pub struct ThenSample {
    search: TreeSearch<StockOrder>,
    sampler: StrataSample,
    rng: Rng,
    /// What the search may hold.
    most: u64,
    samples: bool,
    /// Executions that were sampled.
    sampled: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedSampling {
    search: Vec<u8>,
    sampler: Vec<u8>,
    rng: u64,
    samples: bool,
    sampled: u64,
}

impl ThenSample {
    /// Samples when the search holds three quarters of `most` bytes.
    #[must_use]
    pub fn new(
        search: TreeSearch<StockOrder>,
        sampler: StrataSample,
        seed: u64,
        most: u64,
    ) -> Self {
        let rng = Rng::new(seed.rotate_left(16));
        Self { search, sampler, rng, most, samples: false, sampled: 0 }
    }

    fn asked(&mut self) -> &mut dyn Strategy {
        if self.samples { &mut self.sampler } else { &mut self.search }
    }
}

impl Strategy for ThenSample {
    fn needs(&self) -> Needs {
        let Needs { steps, skip_decided, .. } = self.search.needs();
        Needs { steps, skip_decided, ..self.sampler.needs() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        let bytes = Estimating::progress(&self.search).frontier_bytes;
        self.samples |= self.search.is_between() && bytes / 3 > self.most / 4;
        if self.samples && self.sampler.wants_start() {
            match self.search.draw(&mut self.rng) {
                Some(start) => self.sampler.start_at(start),
                // Nothing is left to sample from.
                None => self.samples = false,
            }
        }
        self.asked().begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.asked().decide(point)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.asked().step(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.sampled += u64::from(self.samples);
        self.asked().end(execution);
    }

    fn covered(&self) -> Covered {
        self.search.covered()
    }

    fn remarks(&self) -> Remarks {
        let mut remarks = self.search.remarks();
        let sampler = self.sampler.remarks();
        remarks.mistaken |= sampler.mistaken;
        remarks.unfinished = remarks.unfinished.or(sampler.unfinished);
        if self.sampled > 0 {
            let text = format!(
                "there was no more room for what the search knew of, so {} executions were sampled from it; \
                 what is claimed is what was covered before",
                self.sampled
            );
            remarks.notes.push(Note::Text { text });
        }
        remarks
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Estimating for ThenSample {
    fn progress(&self) -> Progress {
        Estimating::progress(&self.search)
    }
}

impl Resumable for ThenSample {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let saved = SavedSampling {
            search: self.search.save()?.0,
            sampler: self.sampler.save()?.0,
            rng: self.rng.state(),
            samples: self.samples,
            sampled: self.sampled,
        };
        Ok(state::write(NAME, &saved))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let saved: SavedSampling = state::read(NAME, state)?;
        if saved.sampled > u64::MAX / 2 {
            return Err(FOREIGN);
        }
        self.search.restore(&Checkpoint(saved.search))?;
        self.sampler.restore(&Checkpoint(saved.sampler))?;
        self.rng = Rng::from_state(saved.rng);
        (self.samples, self.sampled) = (saved.samples, saved.sampled);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::registry::build;
    use crate::toy::{self, Toy};

    #[test]
    fn what_does_not_fit_is_sampled_and_not_claimed() {
        // 17,153,136 interleavings.
        let toy = Toy::independent(&[8, 8, 8]);
        let mut built = build("strata(rr, exact, then-sample(20000))", 1).unwrap();
        let executions: BTreeSet<_> =
            toy::first(&mut *built.strategy, &toy, 3_000).into_iter().collect();
        assert!(executions.len() > 100, "{}", executions.len());
        let claimed = built.strategy.covered();
        let text = format!("{:?}", built.strategy.remarks().notes);
        assert!(text.contains("executions were sampled from it"), "{text}");
        toy::first(&mut *built.strategy, &toy, 100);
        assert_eq!(built.strategy.covered(), claimed);
    }
}
