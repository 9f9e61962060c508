//! Sections under one lock.

use raddle::sync::Mutex;
use raddle::thread;

use super::arithmetic::binomial;
use crate::program::{Group, Program, parameter};

/// `circular-buffer`.
///
/// Which thread has each of the 2n sections: C(2n, n). While one is inside, the other can only
/// wait, so this is the number of interleavings too.
pub const CIRCULAR_BUFFER: Program = Program::new(
    "circular-buffer",
    Group::Counts,
    "two threads with n sections each under one lock: one puts, one takes",
)
.source("Nidhugg, regression suite")
.one(circular_buffer, &[parameter("n", 4, 1, 12)])
.interleavings(|n| binomial(2 * n[0], n[0]))
.traces(|n| binomial(2 * n[0], n[0]));

#[derive(Default)]
struct Ring {
    slots: [usize; 3],
    first: usize,
    length: usize,
}

/// A ring of three slots. One thread puts n times if there is room, one takes n times if it can.
pub fn circular_buffer(n: usize) {
    let ring = Mutex::new(Ring::default());
    let lock = || ring.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for value in 1..=n {
                let mut ring = lock();
                if ring.length < ring.slots.len() {
                    let end = (ring.first + ring.length) % ring.slots.len();
                    ring.slots[end] = value;
                    ring.length += 1;
                }
            }
        });
        scope.spawn(|| {
            let mut last = 0;
            for _ in 0..n {
                let mut ring = lock();
                if ring.length > 0 {
                    let value = ring.slots[ring.first];
                    ring.first = (ring.first + 1) % ring.slots.len();
                    ring.length -= 1;
                    assert!(value > last, "values come in order");
                    last = value;
                }
            }
        });
    });
}
