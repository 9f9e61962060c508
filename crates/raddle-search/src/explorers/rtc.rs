//! `rtc`: run to completion, of Desai, Qadeer and Seshia, FSE 2015.
//!
//! Follows causality: the receiver of the most recent message has the highest priority, so that one chain of
//! messages is followed to its end before another begins. A process that is delayed has the lowest.
//!
//! A handler is one step, so several messages may be sent at once. Their receivers move in the order of
//! sending; with [`latest_first`](RunToCompletion::latest_first) the last one sent to moves first, which is what
//! the paper does, whose programs can be interrupted at each send. Of threads, one that a step lets go on counts
//! as the receiver of a message.

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};

use super::rr::QueueOfProcesses;

/// The receiver of the latest message first.
#[derive(Debug, Default, Hash)]
pub struct RunToCompletion {
    queue: QueueOfProcesses,
    latest_first: bool,
    /// Receivers of the step that was heard of last, in the order of sending.
    sent_to: Vec<Process>,
}

impl Clone for RunToCompletion {
    fn clone(&self) -> Self {
        let Self { queue, latest_first, sent_to } = self;
        Self { queue: queue.clone(), latest_first: *latest_first, sent_to: sent_to.clone() }
    }

    /// Without a new allocation: searches copy very often.
    fn clone_from(&mut self, other: &Self) {
        let Self { queue, latest_first, sent_to } = other;
        self.queue.clone_from(queue);
        self.latest_first = *latest_first;
        self.sent_to.clone_from(sent_to);
    }
}

impl RunToCompletion {
    /// Of several receivers of one step, the last one first.
    #[must_use]
    pub fn latest_first() -> Self {
        Self { latest_first: true, ..Self::default() }
    }

    fn wake(&mut self, process: Process) {
        if self.latest_first {
            self.queue.first(process);
            return;
        }
        self.sent_to.retain(|&other| other != process);
        self.sent_to.push(process);
        // The first one sent to ends in front.
        for &process in self.sent_to.iter().rev() {
            self.queue.first(process);
        }
    }
}

impl DelayingExplorer for RunToCompletion {
    fn start(&mut self, process: Process, about: &About<'_>) {
        self.queue.start(process, about);
    }

    fn finish(&mut self, process: Process) {
        self.queue.finish(process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        match *event {
            ProcessEvent::Ran { .. } => self.sent_to.clear(),
            ProcessEvent::Sent { to, .. } => self.wake(to),
            ProcessEvent::Woken { process } => self.wake(process),
            _ => {}
        }
    }

    fn hears_blocked(&self) -> bool {
        false
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        self.queue.next(runnable)
    }

    fn delay(&mut self, process: Process) {
        self.queue.last(process);
        self.sent_to.retain(|&other| other != process);
    }

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        self.queue.rank(runnable, ranks)
    }
}
