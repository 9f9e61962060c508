//! `prr`: probabilistic round-robin of Desai, Qadeer and Seshia, FSE 2015.
//!
//! As `rr`, but a new process is put at a random place of the queue. One seed is one explorer, and a sound one;
//! different seeds are samples of a distribution of explorers.

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};
use raddle_trace::hash::mix;

use super::rr::QueueOfProcesses;

/// Round-robin whose new processes begin at random places.
#[derive(Clone, Debug, Hash)]
pub struct RandomRoundRobin {
    queue: QueueOfProcesses,
    seed: u64,
}

impl RandomRoundRobin {
    /// The explorer of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { queue: QueueOfProcesses::default(), seed }
    }
}

impl DelayingExplorer for RandomRoundRobin {
    fn start(&mut self, process: Process, _: &About<'_>) {
        // By its number, so that it is the same place whatever was asked before.
        let places = self.queue.len() as u64 + 1;
        let drawn = mix(self.seed ^ mix(u64::from(process.0))) % places;
        self.queue.insert(drawn as usize, process);
    }

    fn finish(&mut self, process: Process) {
        self.queue.finish(process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        self.queue.step(event);
    }

    fn hears_blocked(&self) -> bool {
        false
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        self.queue.next(runnable)
    }

    fn delay(&mut self, process: Process) {
        self.queue.delay(process);
    }

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        self.queue.rank(runnable, ranks)
    }
}
