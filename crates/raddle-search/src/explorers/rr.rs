//! `rr`: round-robin, as Desai, Qadeer and Seshia, FSE 2015, have it.
//!
//! A queue of processes in the order of creation. The first does the next step, and goes on until it cannot. A first one
//! that is blocked goes to the end of the queue at no cost, and so does one that is delayed; a finished one leaves
//! it. One that cannot move for a while and is not the first, as a thread that waits for a lock, keeps its place.

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};

/// The processes one after the other, each as long as it can go on.
#[derive(Debug, Default, Hash)]
pub struct QueueOfProcesses {
    queue: Vec<Process>,
}

impl Clone for QueueOfProcesses {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }

    /// Without a new allocation: searches copy very often.
    fn clone_from(&mut self, other: &Self) {
        self.queue.clone_from(&other.queue);
    }
}

impl QueueOfProcesses {
    /// Puts a new process at a place of the queue.
    pub(super) fn insert(&mut self, place: usize, process: Process) {
        self.queue.insert(place.min(self.queue.len()), process);
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Puts a process first.
    pub(super) fn first(&mut self, process: Process) {
        if let Some(place) = self.queue.iter().position(|&other| other == process) {
            self.queue[..=place].rotate_right(1);
        }
    }

    /// Puts those before a process last: they are blocked, and were passed.
    fn pass_to(&mut self, process: Process) {
        if let Some(place) = self.queue.iter().position(|&other| other == process) {
            self.queue.rotate_left(place);
        }
    }

    /// Puts a process last.
    pub(super) fn last(&mut self, process: Process) {
        if let Some(place) = self.queue.iter().position(|&other| other == process) {
            self.queue[place..].rotate_left(1);
        }
    }
}

impl DelayingExplorer for QueueOfProcesses {
    fn start(&mut self, process: Process, _: &About<'_>) {
        self.queue.push(process);
    }

    fn finish(&mut self, process: Process) {
        self.queue.retain(|&other| other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        if let ProcessEvent::Ran { process } = event {
            self.pass_to(*process);
        }
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let next = self.queue.iter().copied().find(|&process| runnable.contains(process));
        next.unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        self.pass_to(process);
        self.last(process);
    }

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        ranks.extend(self.queue.iter().copied().filter(|&process| runnable.contains(process)));
        true
    }
}
