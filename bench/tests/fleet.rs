//! What `raddle-bench fleet` has workers run: programs whose executions take about 10 µs and about 1 ms.

use std::hint::black_box;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

/// Work of the test's own, without a step: about a nanosecond for each time round.
fn work(times: u64) {
    let mut hash = 1_u64;
    for round in 0..times {
        hash = black_box((hash ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

fn add(threads: u32, times: u32, rounds: u64) {
    let n = AtomicU32::new(0);
    work(rounds);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..times {
                    n.fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(n.load(SeqCst), threads * times);
}

/// 12! / 3!^4 orders.
#[raddle::test]
fn short() {
    add(4, 3, 7_000);
}

/// 14! / 7!^2 orders.
#[raddle::test]
fn long() {
    add(2, 7, 1_000_000);
}

/// 12! / 4!^3 orders: to see what cutting adds.
#[raddle::test]
fn cut() {
    add(3, 4, 0);
}
