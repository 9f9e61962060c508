//! Two hand items over one at a time under a lock: through a queue, and through a ring for a log.
//!
//! The one who takes compares each item with what it expects. With the mistake it counts a round in
//! which nothing was there as one in which it took something.

use std::collections::VecDeque;

use raddle::sync::Mutex;
use raddle::thread;

use super::super::program;
use crate::libraries::Test;
use crate::program::{Expected, Parameter, Program, parameter};

/// `queue`: what was put in is noted, and what comes out is compared with that.
pub(super) const QUEUE: Test = Test {
    correct: of("queue", "one puts n items in a queue, one takes and compares", |n| {
        queue(Flaw::None, n);
    }),
    bugs: &[of("queue-round", "the round counts, not the item", |n| queue(Flaw::Rounds, n))
        .bug(Expected::Panic, "check without a wait")],
};

/// `ring-log`: `SCTBench`'s `circular_buffer`; that name is one of the counts.
pub(super) const RING: Test = Test {
    correct: of("ring-log", "one logs n numbers in a ring, one reads them back", |n| {
        ring(Flaw::None, n);
    }),
    bugs: &[of("ring-log-round", "the round counts, not the number", |n| ring(Flaw::Rounds, n))
        .bug(Expected::Panic, "check without a wait")],
};

const PARAMETERS: [Parameter; 1] = [parameter("n", 3, 1, 100)];

const fn of(name: &'static str, line: &'static str, body: fn(usize)) -> Program {
    program(name, line).source("SCTBench").one(body, &PARAMETERS).large(&[20])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A round in which nothing was there is counted.
    Rounds,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<usize>,
    /// All that was put in, in order.
    stored: Vec<usize>,
    /// Whose turn it is.
    filled: bool,
}

fn queue(flaw: Flaw, n: usize) {
    let queue = Mutex::new(Queue::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            for nth in 0..n {
                let mut queue = queue.lock().unwrap();
                if !queue.filled {
                    queue.items.push_back(100 + nth);
                    queue.stored.push(100 + nth);
                    queue.filled = true;
                }
            }
        });
        scope.spawn(|| {
            let mut taken = 0;
            for round in 0..n {
                let mut queue = queue.lock().unwrap();
                if queue.filled {
                    let expected = if flaw == Flaw::Rounds { round } else { taken };
                    let item = queue.items.pop_front();
                    assert_eq!(item, queue.stored.get(expected).copied(), "the wrong item");
                    queue.filled = false;
                    taken += 1;
                }
            }
        });
    });
}

#[derive(Default)]
struct Ring {
    slots: [usize; 4],
    first: usize,
    next: usize,
    filled: bool,
    logged: usize,
}

fn ring(flaw: Flaw, n: usize) {
    let ring = Mutex::new(Ring::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            for nth in 0..n {
                let mut ring = ring.lock().unwrap();
                if !ring.filled {
                    let number = if flaw == Flaw::Rounds { nth } else { ring.logged };
                    let next = ring.next;
                    ring.slots[next] = number;
                    ring.next = (next + 1) % ring.slots.len();
                    ring.logged += 1;
                    ring.filled = true;
                }
            }
        });
        scope.spawn(|| {
            let mut read = 0;
            for round in 0..n {
                let mut ring = ring.lock().unwrap();
                if ring.filled {
                    let expected = if flaw == Flaw::Rounds { round } else { read };
                    let number = ring.slots[ring.first];
                    ring.first = (ring.first + 1) % ring.slots.len();
                    assert_eq!(number, expected, "the wrong number");
                    ring.filled = false;
                    read += 1;
                }
            }
        });
    });
}
