//! `rr`: round-robin, as Desai, Qadeer and Seshia, FSE 2015, have it.
//!
//! A queue of processes in the order of creation. The first that can move does, and goes on until it cannot.
//! One that blocks or is delayed goes to the end of the queue; a finished one leaves it.

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};

/// The processes one after the other, each as long as it can go on.
#[derive(Clone, Debug, Default, Hash)]
pub struct QueueOfProcesses {
    queue: Vec<Process>,
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
        if let ProcessEvent::Blocked { process } = event {
            self.last(*process);
        }
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let next = self.queue.iter().copied().find(|&process| runnable.contains(process));
        next.unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        self.last(process);
    }
}
