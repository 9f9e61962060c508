//! The loop of figure 2 of the `HaPSet` paper: one polls a value under a lock, another sets it.
//!
//! There is no yield in the loop, so nothing says that the other must come to its turn: each number of
//! rounds before it does is an execution of its own, in no way equivalent to the others.

use raddle::sync::Mutex;
use raddle::thread;

use super::{Application, program};
use crate::libraries::Test;
use crate::program::{Program, parameter};

/// The application.
pub const APPLICATION: Application = Application {
    name: "busy wait",
    line: "one polls under a lock without a yield until n others have written",
    tests: &[Test { correct: BUSY_WAIT, bugs: &[] }],
};

/// `busy-wait`.
const BUSY_WAIT: Program = program("busy-wait", "one polls under a lock; n others write once")
    .one(busy_wait, &[parameter("n", 1, 1, 8)])
    .steps(400)
    .large(&[2]);

/// do { lock; tmp = x; unlock } while tmp < n ‖ n × (lock; x += 1; unlock).
fn busy_wait(n: usize) {
    let x = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                let tmp = *x.lock().unwrap();
                if tmp >= n {
                    break;
                }
            }
        });
        for _ in 0..n {
            scope.spawn(|| *x.lock().unwrap() += 1);
        }
    });
}
