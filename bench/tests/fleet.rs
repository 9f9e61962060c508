//! What `raddle-bench fleet` has workers run: programs whose executions take about 10 µs and about 1 ms, and programs of ten
//! thousand traces and more.

use std::hint::black_box;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

/// Work of the test's own, without a step: about 3.4 ns for each time round.
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
    add(4, 3, 2_350);
}

/// 14! / 7!^2 orders.
#[raddle::test]
fn long() {
    add(2, 7, 294_000);
}

/// 12! / 4!^3 = 34,650 orders: to see what cutting adds.
#[raddle::test]
fn cut() {
    add(3, 4, 0);
}

fn corpus(name: &str, arguments: &[usize]) {
    let (program, arguments) = raddle_corpus::find(name, arguments).expect("it is in the corpus");
    program.call(&arguments);
}

/// 8! = 40,320 orders in which one actor handles what eight send to it. Actors are what units of source sets are for.
#[raddle::test]
fn senders() {
    corpus("actor-senders", &[8]);
}

/// 6! · 2^6 = 46,080 orders and values of six votes.
#[raddle::test]
fn commit() {
    corpus("two-phase-commit", &[6]);
}

/// As `cut`, and each thread yields once: 12! / 4!^3 orders of what they add, and of the yields what a reduction makes of them.
#[raddle::test]
fn yields() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                n.fetch_add(1, SeqCst);
                n.fetch_add(1, SeqCst);
                thread::yield_now();
                n.fetch_add(1, SeqCst);
                n.fetch_add(1, SeqCst);
            });
        }
    });
    assert_eq!(n.load(SeqCst), 12);
}
