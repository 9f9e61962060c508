//! `rtc`: run to completion, of Desai, Qadeer and Seshia, FSE 2015.
//!
//! Follows causality: the receiver of the most recent message has the highest priority, so that one chain of
//! messages is followed to its end before another begins. A process that is delayed has the lowest.
//!
//! A handler is one step, so several messages may be sent at once. Their receivers move in the order of
//! sending; with [`latest_first`](RunToCompletion::latest_first) the last one sent to moves first, which is what
//! the paper does, whose programs can be interrupted at each send. Of threads, one that a step lets go on counts
//! as the receiver of a message.

use std::hash::{Hash, Hasher};

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};

use super::rr::QueueOfProcesses;

/// The receiver of the latest message first.
#[derive(Debug, Default)]
pub struct RunToCompletion {
    queue: QueueOfProcesses,
    latest_first: bool,
    /// So many at the front of the queue are receivers of the step that was heard of last, in the order of sending.
    receivers: usize,
}

impl Clone for RunToCompletion {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), ..*self }
    }

    /// Without a new allocation: searches copy very often.
    fn clone_from(&mut self, other: &Self) {
        self.queue.clone_from(&other.queue);
        (self.latest_first, self.receivers) = (other.latest_first, other.receivers);
    }
}

impl Hash for RunToCompletion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.queue.hash(state);
        self.latest_first.hash(state);
        self.queue.front(self.receivers).hash(state);
    }
}

impl RunToCompletion {
    /// Of several receivers of one step, the last one first.
    #[must_use]
    pub fn latest_first() -> Self {
        Self { latest_first: true, ..Self::default() }
    }

    fn wake(&mut self, process: Process) {
        let Some(place) = self.queue.place(process) else { return };
        if self.latest_first {
            self.queue.put(place, 0);
        } else if place < self.receivers {
            self.queue.put(place, self.receivers - 1);
        } else {
            self.queue.put(place, self.receivers);
            self.receivers += 1;
        }
    }
}

impl DelayingExplorer for RunToCompletion {
    fn start(&mut self, process: Process, about: &About<'_>) {
        self.queue.start(process, about);
    }

    fn finish(&mut self, process: Process) {
        let was = self.queue.place(process).is_some_and(|place| place < self.receivers);
        self.receivers -= usize::from(was);
        self.queue.finish(process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        match *event {
            ProcessEvent::Ran { .. } => self.receivers = 0,
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
        let was = self.queue.last(process).is_some_and(|place| place < self.receivers);
        self.receivers -= usize::from(was);
    }

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        self.queue.rank(runnable, ranks)
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::explorer::{Explorer, ProcessKind};

    use super::*;
    use crate::Rng;

    /// As the rule reads: all receivers of a step are put first anew at each of its sends, the first one last.
    #[derive(Clone, Debug, Default, Hash)]
    struct ByTheRule {
        queue: Vec<Process>,
        sent_to: Vec<Process>,
    }

    impl ByTheRule {
        fn first(&mut self, process: Process) {
            if self.queue.contains(&process) {
                self.queue.retain(|&other| other != process);
                self.queue.insert(0, process);
            }
        }

        fn sent(&mut self, process: Process) {
            self.sent_to.retain(|&other| other != process);
            self.sent_to.push(process);
            for process in self.sent_to.clone().into_iter().rev() {
                self.first(process);
            }
        }

        fn delay(&mut self, process: Process) {
            self.queue.retain(|&other| other != process);
            self.queue.push(process);
            self.sent_to.retain(|&other| other != process);
        }
    }

    #[test]
    fn receivers_that_are_counted_are_in_the_order_of_the_rule() {
        let about = About::new(ProcessKind::Actor, "", None);
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let (mut counted, mut by_the_rule) = (RunToCompletion::default(), ByTheRule::default());
            // More than a queue keeps in place.
            let processes = 2 + rng.below(20);
            for process in (0..processes).map(Process) {
                counted.start(process, &about);
                by_the_rule.queue.push(process);
            }
            for _ in 0..60 {
                let process = Process(rng.below(processes));
                match rng.below(8) {
                    0 => {
                        counted.step(&ProcessEvent::Ran { process });
                        by_the_rule.sent_to.clear();
                    }
                    1 if by_the_rule.queue.contains(&process) => {
                        counted.delay(process);
                        by_the_rule.delay(process);
                    }
                    2 if by_the_rule.queue.len() > 2 => {
                        counted.finish(process);
                        by_the_rule.queue.retain(|&other| other != process);
                        by_the_rule.sent_to.retain(|&other| other != process);
                    }
                    _ if by_the_rule.queue.contains(&process) => {
                        counted.step(&ProcessEvent::Sent { by: Process(0), to: process });
                        by_the_rule.sent(process);
                    }
                    _ => {}
                }
                let queue = counted.queue.front(by_the_rule.queue.len());
                assert_eq!(queue, by_the_rule.queue, "seed {seed}");
                assert_eq!(counted.queue.front(counted.receivers), by_the_rule.sent_to);
            }
            let copy = counted.clone();
            let fingerprint = |one| Explorer::new("rtc", one).fingerprint();
            assert_eq!(fingerprint(copy), fingerprint(counted), "seed {seed}");
        }
    }
}
