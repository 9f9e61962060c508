//! Handing on: a pipeline over a bounded channel, and a gate whose opening can be missed.

use raddle::sync::mpsc;
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

/// The sum of the squares of `numbers`: one thread squares, another adds, with room for one number
/// between them.
///
/// # Panics
/// If the squaring thread panics.
#[must_use]
pub fn sum_of_squares(numbers: Vec<u64>) -> u64 {
    let (send, receive) = mpsc::sync_channel(1);
    let squares = thread::spawn(move || {
        for number in numbers {
            if send.send(number * number).is_err() {
                break;
            }
        }
    });
    let sum = receive.iter().sum();
    squares.join().expect("squaring does not panic");
    sum
}

/// A gate that is opened once.
#[derive(Debug, Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Opens the gate and wakes one who waits.
    ///
    /// # Panics
    /// If a thread panicked while it held the gate.
    pub fn open(&self) {
        *self.open.lock().expect("nobody panics here") = true;
        self.opened.notify_one();
    }

    /// Waits until the gate is open. Wrong: it may be opened after it was looked at, and before
    /// the wait; that wake-up is missed, and no other comes.
    ///
    /// # Panics
    /// If a thread panicked while it held the gate.
    pub fn pass(&self) {
        let open = *self.open.lock().expect("nobody panics here");
        if !open {
            let guard = self.open.lock().expect("nobody panics here");
            let _guard = self.opened.wait(guard).expect("nobody panics here");
        }
    }
}
