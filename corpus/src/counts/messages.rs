//! Messages to one receiver.

use raddle::sync::mpsc;
use raddle::thread;

use super::arithmetic::{binomial, factorial};
use crate::program::{Group, Program, parameter};

/// `senders`.
///
/// Traces: the order of the sends, n!; a receive commutes with a send to a queue that is not empty,
/// and one that is empty blocks. Interleavings: n! · Catalan(n), since before each receive there
/// are more sends than receives.
pub const SENDERS: Program =
    Program::new("senders", Group::Counts, "n send one message each to one receiver")
        .one(senders, &[parameter("n", 3, 1, 8)])
        .interleavings(|n| {
            factorial(n[0])?.checked_mul(binomial(2 * n[0], n[0])? / (n[0] as u64 + 1))
        })
        .traces(|n| factorial(n[0]));

/// n × send ‖ n receives. The sender is shared, so that no copies of it are dropped.
pub fn senders(n: usize) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for i in 0..n {
            let sender = &sender;
            scope.spawn(move || sender.send(i).expect("the receiver waits"));
        }
        let mut all: Vec<_> = receiver.iter().take(n).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..n));
    });
}
