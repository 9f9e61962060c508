//! `rr`: round-robin, as Desai, Qadeer and Seshia, FSE 2015, have it.
//!
//! A queue of processes in the order of creation. The first does the next step, and goes on until it cannot. A first one
//! that is blocked goes to the end of the queue at no cost, and so does one that is delayed; a finished one leaves
//! it. One that cannot move for a while and is not the first, as a thread that waits for a lock, keeps its place.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};

/// The processes one after the other, each as long as it can go on.
#[derive(Debug, Default, Hash)]
pub struct QueueOfProcesses {
    queue: Places,
}

impl Clone for QueueOfProcesses {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.queue.clone_from(&other.queue);
    }
}

/// How many processes a queue has without an allocation.
const MAX_IN_PLACE: usize = 14;

/// Processes in order. A search over states copies them for every state, so few are kept in place.
enum Places {
    Few(u8, [Process; MAX_IN_PLACE]),
    Many(Vec<Process>),
}

impl Clone for Places {
    fn clone(&self) -> Self {
        match self {
            Self::Few(len, all) => Self::Few(*len, *all),
            Self::Many(all) => Self::Many(all.clone()),
        }
    }

    /// Without a new allocation, and without a look at what was there.
    fn clone_from(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Few(len, all), Self::Few(of, others)) => (*len, *all) = (*of, *others),
            (Self::Many(all), Self::Many(others)) => all.clone_from(others),
            _ => *self = other.clone(),
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        Self::Few(0, [Process(0); MAX_IN_PLACE])
    }
}

impl Deref for Places {
    type Target = [Process];

    fn deref(&self) -> &[Process] {
        match self {
            Self::Few(len, all) => &all[..usize::from(*len)],
            Self::Many(all) => all,
        }
    }
}

impl DerefMut for Places {
    fn deref_mut(&mut self) -> &mut [Process] {
        match self {
            Self::Few(len, all) => &mut all[..usize::from(*len)],
            Self::Many(all) => all,
        }
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Hash for Places {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Places {
    /// Puts those before a place last. They are few, so that one by one is fastest.
    fn pass(&mut self, place: usize) {
        match self {
            Self::Few(len, all) => {
                let (len, old) = (usize::from(*len), *all);
                let (passed, rest) = old[..len].split_at(place);
                all[..rest.len()].copy_from_slice(rest);
                all[rest.len()..len].copy_from_slice(passed);
            }
            Self::Many(all) => all.rotate_left(place),
        }
    }

    /// Puts the one at a place last.
    fn give_up(&mut self, place: usize) {
        for at in place + 1..self.len() {
            self.swap(at - 1, at);
        }
    }

    fn insert(&mut self, place: usize, process: Process) {
        match self {
            Self::Few(len, all) if usize::from(*len) < MAX_IN_PLACE => {
                all[usize::from(*len)] = process;
                *len += 1;
                all[place..usize::from(*len)].rotate_right(1);
            }
            Self::Few(..) => {
                let mut all = self.to_vec();
                all.insert(place, process);
                *self = Self::Many(all);
            }
            Self::Many(all) => all.insert(place, process),
        }
    }

    fn remove(&mut self, process: Process) {
        let Some(place) = self.iter().position(|&other| other == process) else { return };
        self[place..].rotate_left(1);
        match self {
            Self::Few(len, _) => *len -= 1,
            Self::Many(all) => drop(all.pop()),
        }
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

    /// Puts those before a process last: they are blocked, and were passed.
    fn pass_to(&mut self, process: Process) {
        if let Some(place) = self.queue.iter().position(|&other| other == process)
            && place > 0
        {
            self.queue.pass(place);
        }
    }

    /// Puts a process last. Where it was, if it is there.
    pub(super) fn last(&mut self, process: Process) -> Option<usize> {
        let place = self.place(process)?;
        self.queue.give_up(place);
        Some(place)
    }

    /// Where a process is.
    pub(super) fn place(&self, process: Process) -> Option<usize> {
        self.queue.iter().position(|&other| other == process)
    }

    /// Puts the process at a place to another one.
    pub(super) fn put(&mut self, from: usize, to: usize) {
        let process = self.queue[from];
        if from < to {
            (from..to).for_each(|at| self.queue[at] = self.queue[at + 1]);
        } else {
            (to..from).rev().for_each(|at| self.queue[at + 1] = self.queue[at]);
        }
        self.queue[to] = process;
    }

    /// The first so many.
    pub(super) fn front(&self, places: usize) -> &[Process] {
        &self.queue[..places]
    }
}

impl DelayingExplorer for QueueOfProcesses {
    fn start(&mut self, process: Process, _: &About<'_>) {
        self.queue.insert(self.queue.len(), process);
    }

    fn finish(&mut self, process: Process) {
        self.queue.remove(process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        if let ProcessEvent::Ran { process } = event {
            self.pass_to(*process);
        }
    }

    fn hears_blocked(&self) -> bool {
        false
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let next = self.queue.iter().copied().find(|&process| runnable.contains(process));
        next.unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        if let Some(place) = self.queue.iter().position(|&other| other == process) {
            // Those before it are blocked, and were passed.
            self.queue.pass((place + 1) % self.queue.len());
        }
    }

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        ranks.extend(self.queue.iter().copied().filter(|&process| runnable.contains(process)));
        true
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::explorer::{Explorer, ProcessKind};

    use super::*;

    /// Few are kept in place and many are not, which is no difference to a queue.
    #[test]
    fn a_queue_is_the_same_however_long_it_was() {
        let about = About::new(ProcessKind::Thread, "", None);
        let (mut grown, mut vector) = (QueueOfProcesses::default(), Vec::new());
        for number in 0..2 * MAX_IN_PLACE as u32 {
            grown.insert((number / 2) as usize, Process(number));
            vector.insert((number / 2) as usize, Process(number));
            grown.pass_to(Process(number / 3));
            let place = vector.iter().position(|&other| other == Process(number / 3));
            vector.rotate_left(place.expect("it is there"));
            assert_eq!(*grown.queue, vector[..]);
        }
        for number in 3..2 * MAX_IN_PLACE as u32 {
            grown.finish(Process(number));
            vector.retain(|&other| other != Process(number));
            assert_eq!(*grown.queue, vector[..]);
        }
        let mut small = QueueOfProcesses::default();
        for &process in &vector {
            small.start(process, &about);
        }
        let fingerprint = |queue| Explorer::new("rr", queue).fingerprint();
        assert_eq!(fingerprint(grown), fingerprint(small));
    }
}
