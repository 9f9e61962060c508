//! Samples in blocks, so that workers can share them: each block is drawn from a seed of its own.
//!
//! A sampler draws one execution after another from one generator, and some learn from their first executions, so a
//! sequence cannot be cut. A block is a sampler that begins anew, with a seed made of the search's and the block's number.
//! Which executions are drawn hangs on the seed and on how many are wanted, not on who draws them or in which order.
//!
//! Misses: what the sampler misses. One that learns (`pct`, `urw`, `surw`) does so anew in each block.
//! Overreports: nothing.

use std::fmt;

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Plan, Point, Remarks,
    Resumable, SearchPart, Strategy, Unsupported,
};
use raddle_trace::hash::mix;
use raddle_trace::{Covered, Progress};
use serde::{Deserialize, Serialize};

use crate::state::{self, FOREIGN, RUNNING};

/// Executions of a block.
pub const SIZE: u64 = 1024;

/// Makes the sampler of a seed.
pub(crate) type Make = Box<dyn Fn(u64) -> Box<dyn Strategy> + Send>;

/// Draws blocks of samples.
pub struct Blocks {
    name: String,
    seed: u64,
    make: Make,
    /// Executions that are wanted of all blocks together.
    total: u64,
    /// Blocks that were not begun.
    next: u64,
    end: u64,
    current: Option<Current>,
    /// What was drawn since it was made or restored.
    drawn: Covered,
    running: bool,
}

/// The block that is being drawn.
struct Current {
    block: u64,
    done: u64,
    sampler: Box<dyn Strategy>,
    /// What it had covered when it was restored.
    before: Covered,
}

#[derive(Serialize, Deserialize)]
struct SavedBlocks {
    seed: u64,
    total: u64,
    next: u64,
    end: u64,
    current: Option<(u64, u64, Vec<u8>)>,
}

const NOTHING: Covered = Covered::Sample { executions: 0, bound: None };

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, seed, total, next, end, .. } = self;
        write!(f, "Blocks({name}, seed {seed}, {total} executions, {next}..{end} to draw)")
    }
}

impl Blocks {
    /// So many executions of the samplers that `make` makes.
    pub(crate) fn new(name: String, seed: u64, total: u64, make: Make) -> Self {
        let end = total.div_ceil(SIZE);
        Self {
            name,
            seed,
            make,
            total,
            next: 0,
            end,
            current: None,
            drawn: NOTHING,
            running: false,
        }
    }

    fn sampler(&self, block: u64) -> Box<dyn Strategy> {
        (self.make)(mix(self.seed ^ mix(block)))
    }

    fn length(&self, block: u64) -> u64 {
        self.total.saturating_sub(block * SIZE).min(SIZE)
    }

    /// Makes the block that has something left the current one; `false` if there is none.
    fn advance(&mut self) -> bool {
        if let Some(current) = &self.current
            && current.done < self.length(current.block)
        {
            return true;
        }
        if let Some(done) = self.current.take() {
            self.drawn = self.drawn.and(done.sampler.covered().since(done.before));
        }
        if self.next >= self.end {
            return false;
        }
        let (block, sampler) = (self.next, self.sampler(self.next));
        self.next += 1;
        self.current = Some(Current { block, done: 0, sampler, before: NOTHING });
        true
    }

    fn write(&self, next: u64, end: u64, current: Option<(u64, u64, Vec<u8>)>) -> Checkpoint {
        let Self { seed, total, .. } = *self;
        state::write(&self.name, &SavedBlocks { seed, total, next, end, current })
    }
}

impl Strategy for Blocks {
    fn needs(&self) -> Needs {
        match &self.current {
            Some(current) => current.sampler.needs(),
            None => self.sampler(0).needs(),
        }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        while self.advance() {
            let Some(current) = &mut self.current else { return false };
            if current.sampler.begin(plan) {
                self.running = true;
                return true;
            }
            current.done = u64::MAX;
        }
        false
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.current.as_mut().map_or(Answer::Take(0), |current| current.sampler.decide(point))
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.current.as_mut()?.sampler.step(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.running = false;
        if let Some(current) = &mut self.current {
            current.done += 1;
            current.sampler.end(execution);
        }
    }

    fn covered(&self) -> Covered {
        let now = self
            .current
            .as_ref()
            .map_or(NOTHING, |current| current.sampler.covered().since(current.before));
        self.drawn.and(now)
    }

    fn remarks(&self) -> Remarks {
        self.current.as_ref().map_or_else(Remarks::default, |current| current.sampler.remarks())
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Estimating for Blocks {
    fn progress(&self) -> Progress {
        Progress { pending: self.parts() as u64, ..Progress::default() }
    }
}

impl Divisible for Blocks {
    /// Gives away runs of blocks that were not begun, of about the same length.
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        let mut works = Vec::new();
        for given in 0..n as u64 {
            let left = self.end - self.next;
            let length = left.div_ceil(n as u64 - given + 1);
            if left == 0 {
                break;
            }
            let from = self.end - length;
            let state = self.write(from, self.end, None);
            works.push(SearchPart { prefix: Vec::new(), state, spent: 0 });
            self.end = from;
        }
        works.reverse();
        Ok(works)
    }

    fn parts(&self) -> usize {
        let current = self.current.as_ref();
        let open = current.is_some_and(|current| current.done < self.length(current.block));
        usize::try_from(self.end - self.next).unwrap_or(usize::MAX).saturating_add(open.into())
    }

    fn claim(&self) -> Covered {
        self.covered()
    }
}

impl Resumable for Blocks {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if self.running {
            return Err(RUNNING);
        }
        let current = match &mut self.current {
            Some(Current { block, done, sampler, .. }) => Some((*block, *done, sampler.save()?.0)),
            None => None,
        };
        Ok(self.write(self.next, self.end, current))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let SavedBlocks { seed, total, next, end, current } = state::read(&self.name, state)?;
        if seed != self.seed || next > end || end > total.div_ceil(SIZE) {
            return Err(FOREIGN);
        }
        let current = match current {
            Some((block, done, state)) => {
                let mut sampler = self.sampler(block);
                sampler.restore(&Checkpoint(state))?;
                Some(Current { block, done, before: sampler.covered(), sampler })
            }
            None => None,
        };
        (self.total, self.next, self.end, self.current) = (total, next, end, current);
        (self.drawn, self.running) = (NOTHING, false);
        Ok(())
    }
}
