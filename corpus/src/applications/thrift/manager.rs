//! The manager: tasks in a bounded queue, and workers, of which there are as many as wanted.

use std::collections::VecDeque;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread::{self, JoinHandle};

use super::{Flaw, Task};

pub(super) struct Manager {
    state: Mutex<State>,
    /// There is a task, or too many workers.
    changed: Condvar,
    /// There is room for a task.
    room: Condvar,
    /// Workers that came and have not left. Changed under the lock of `state`.
    workers: AtomicUsize,
    /// The threads, and the lock under which one waits for `workers` to be as many as wanted.
    threads: Mutex<Vec<JoinHandle<()>>>,
    counted: Condvar,
    most_tasks: usize,
    flaw: Flaw,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    wanted: usize,
    idle: usize,
    /// No worker leaves before the tasks are done.
    joining: bool,
}

impl Manager {
    pub(super) fn new(flaw: Flaw, most_tasks: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            room: Condvar::new(),
            workers: AtomicUsize::new(0),
            threads: Mutex::default(),
            counted: Condvar::new(),
            most_tasks,
            flaw,
        }
    }

    /// Returns when they have begun to work.
    pub(super) fn add_workers(self: &Arc<Self>, n: usize) {
        self.state.lock().unwrap().wanted += n;
        let spawn = |_| {
            let manager = Arc::clone(self);
            thread::spawn(move || manager.work())
        };
        let threads: Vec<_> = (0..n).map(spawn).collect();
        self.threads.lock().unwrap().extend(threads);
        self.wait_until_counted();
    }

    /// Returns when they have left.
    pub(super) fn remove_workers(&self, n: usize) {
        let mut state = self.state.lock().unwrap();
        state.wanted -= n;
        self.changed.notify_all();
        drop(state);
        self.wait_until_counted();
    }

    /// Runs what is left and ends all workers.
    pub(super) fn join(&self) {
        let mut state = self.state.lock().unwrap();
        state.joining = true;
        let n = state.wanted;
        drop(state);
        self.remove_workers(n);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        for thread in threads {
            thread.join().unwrap();
        }
    }

    /// Waits for room if there is none.
    pub(super) fn add(&self, task: Task) {
        let mut state = self.state.lock().unwrap();
        while state.tasks.len() >= self.most_tasks {
            state = self.room().wait(state).unwrap();
        }
        state.tasks.push_back(task);
        if state.idle > 0 {
            self.changed.notify_one();
        }
    }

    /// What tells that there is room.
    fn room(&self) -> &Condvar {
        if self.flaw == Flaw::OneMonitor { &self.changed } else { &self.room }
    }

    fn wait_until_counted(&self) {
        let mut threads = self.threads.lock().unwrap();
        while !self.is_as_wanted() {
            threads = self.counted.wait(threads).unwrap();
        }
    }

    fn is_as_wanted(&self) -> bool {
        let state = self.state.lock().unwrap();
        self.workers.load(SeqCst) == state.wanted
    }

    /// With the lock of `state`.
    fn must_leave(&self, state: &State) -> bool {
        let many = self.workers.load(SeqCst) > state.wanted;
        many && (!state.joining || state.tasks.is_empty())
    }

    fn work(&self) {
        let state = self.state.lock().unwrap();
        let all_here = self.workers.fetch_add(1, SeqCst) + 1 == state.wanted;
        drop(state);
        if all_here {
            self.tell_counted();
        }
        while let Some(task) = self.next() {
            task();
        }
    }

    fn tell_counted(&self) {
        let _threads = self.threads.lock().unwrap();
        self.counted.notify_all();
    }

    /// `None` if this worker is to leave.
    fn next(&self) -> Option<Task> {
        let mut state = self.state.lock().unwrap();
        loop {
            if self.must_leave(&state) {
                break;
            }
            if let Some(task) = state.tasks.pop_front() {
                self.room().notify_one();
                return Some(task);
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap();
            state.idle -= 1;
        }
        if self.flaw == Flaw::LateCount {
            let wanted = state.wanted;
            drop(state);
            let _threads = self.threads.lock().unwrap();
            if self.workers.fetch_sub(1, SeqCst) - 1 == wanted {
                self.counted.notify_all();
            }
        } else {
            let all_gone = self.workers.fetch_sub(1, SeqCst) - 1 == state.wanted;
            drop(state);
            if all_gone {
                self.tell_counted();
            }
        }
        None
    }
}
