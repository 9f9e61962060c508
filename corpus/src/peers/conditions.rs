//! Who is woken, and who gets a lock.

use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use crate::program::{Group, Program};

/// `notify-any`.
pub const NOTIFY_ANY: Program =
    Program::new("notify-any", Group::Peers, "of two who wait, notify_one wakes either")
        .source("loom: it always wakes the oldest")
        .sees(notify_any, &[&[0], &[1]]);

#[derive(Debug, Default)]
struct Waiting {
    /// Who waits, in the order in which they came.
    came: Vec<usize>,
    /// How many may leave.
    tickets: usize,
    /// Who left, in the order in which they did.
    left: Vec<usize>,
}

/// The place in the queue of the one that a notification wakes.
#[must_use]
pub fn notify_any() -> Vec<usize> {
    let (waiting, changed, all_there) =
        (Mutex::new(Waiting::default()), Condvar::new(), Condvar::new());
    thread::scope(|scope| {
        for me in 0..2 {
            let (waiting, changed, all_there) = (&waiting, &changed, &all_there);
            scope.spawn(move || {
                let mut state = waiting.lock().unwrap();
                state.came.push(me);
                if state.came.len() == 2 {
                    all_there.notify_one();
                }
                state = changed.wait_while(state, |state| state.tickets == 0).unwrap();
                state.left.push(me);
                // The next notification is the other one's.
                changed.notify_one();
            });
        }
        let state = waiting.lock().unwrap();
        let mut state = all_there.wait_while(state, |state| state.came.len() < 2).unwrap();
        state.tickets = 2;
        changed.notify_one();
    });
    let state = waiting.lock().unwrap();
    vec![state.came.iter().position(|&one| one == state.left[0]).unwrap()]
}

/// `try-lock`.
pub const TRY_LOCK: Program =
    Program::new("try-lock", Group::Peers, "one locks, one tries to, and nobody waits")
        .source("loom#376: a false deadlock")
        .sees(try_lock, &[&[0], &[1]]);

/// Whether the lock was free.
#[must_use]
pub fn try_lock() -> Vec<usize> {
    let lock = Mutex::new(());
    thread::scope(|scope| {
        scope.spawn(|| drop(lock.lock().unwrap()));
        let tried = scope.spawn(|| lock.try_lock().is_ok());
        vec![usize::from(tried.join().unwrap())]
    })
}
