//! The timer: a thread that hands a task to the manager when its time has come.
//!
//! Time is a number that the test moves on. Real time would be one more thing for a search to decide.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread::{self, JoinHandle};

use super::manager::Manager;
use super::{Flaw, Task};

pub(super) struct Timer {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// The thread does nothing any more. Set under the lock of `state`.
    ended: AtomicBool,
    flaw: Flaw,
}

#[derive(Default)]
struct State {
    now: usize,
    /// When, and what.
    tasks: Vec<(usize, Task)>,
    stopping: bool,
}

impl State {
    fn take_due(&mut self) -> Option<Task> {
        let due = self.tasks.iter().position(|(when, _)| *when <= self.now)?;
        Some(self.tasks.remove(due).1)
    }
}

impl Timer {
    pub(super) fn start(flaw: Flaw, manager: Arc<Manager>) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            ended: AtomicBool::new(false),
            flaw,
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || theirs.dispatch(&manager));
        Self { shared, thread }
    }

    pub(super) fn add(&self, task: Task, after: usize) {
        let mut state = self.shared.state.lock().unwrap();
        let when = state.now + after;
        state.tasks.push((when, task));
    }

    pub(super) fn tick(&self) {
        self.shared.state.lock().unwrap().now += 1;
        self.shared.changed.notify_all();
    }

    /// Returns when the thread has ended.
    pub(super) fn stop(self) {
        self.shared.state.lock().unwrap().stopping = true;
        self.shared.changed.notify_all();
        let mut state = self.shared.state.lock().unwrap();
        while !self.shared.ended.load(SeqCst) {
            state = self.shared.changed.wait(state).unwrap();
        }
        drop(state);
        self.thread.join().unwrap();
    }
}

impl Shared {
    fn dispatch(&self, manager: &Manager) {
        let mut state = self.state.lock().unwrap();
        while !state.stopping {
            if let Some(task) = state.take_due() {
                drop(state);
                manager.add(task);
                state = self.state.lock().unwrap();
            } else {
                state = self.changed.wait(state).unwrap();
            }
        }
        if self.flaw == Flaw::UnlockedEnd {
            drop(state);
            self.ended.store(true, SeqCst);
            self.changed.notify_all();
        } else {
            self.ended.store(true, SeqCst);
            self.changed.notify_all();
            drop(state);
        }
    }
}
