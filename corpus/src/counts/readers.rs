//! Many who read, few who write.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::arithmetic::{factorial, interleavings};
use crate::program::{Group, Program, parameter};

/// `readers`.
///
/// Traces: for each reader, whether its read of x comes before the write: 2^n. Interleavings: n
/// threads of two steps, and the write in any of the 2n + 1 places.
pub const READERS: Program =
    Program::new("readers", Group::Counts, "one writes x; n read a variable of their own, then x")
        .source("Abdulla et al., POPL 2014")
        .one(readers, &[parameter("n", 3, 1, 20)])
        .interleavings(|n| interleavings(n[0], 2)?.checked_mul(2 * n[0] as u64 + 1))
        .traces(|n| Some(1 << n[0]));

/// W x ‖ n × (R yᵢ; R x).
pub fn readers(n: usize) {
    let x = AtomicUsize::new(0);
    let own: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        scope.spawn(|| x.store(1, SeqCst));
        for y in &own {
            scope.spawn(|| (y.load(SeqCst), x.load(SeqCst)));
        }
    });
}

/// `lastzero`.
///
/// Traces: (n + 3) · 2^(n - 2), as published. Interleavings: enumerated, since how often the reader
/// reads depends on what it sees.
pub const LASTZERO: Program =
    Program::new("lastzero", Group::Counts, "n write a[i] = a[i-1] + 1; one looks for the last 0")
        .source("Abdulla et al., POPL 2014")
        .one(lastzero, &[parameter("n", 3, 1, 15)])
        .interleavings(|n| [3, 35, 920, 44_300, 3_487_880].get(n[0] - 1).copied())
        .traces(|n| Some((n[0] as u64 + 3) * (1 << n[0]) / 4));

/// An array of n + 1 zeros. Writer i: `a[i] = a[i-1] + 1`. A reader goes down from n to a zero.
pub fn lastzero(n: usize) {
    let array: Vec<_> = (0..=n).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = n;
            while array[i].load(SeqCst) != 0 {
                i -= 1;
            }
        });
        for pair in array.windows(2) {
            scope.spawn(|| pair[1].store(pair[0].load(SeqCst) + 1, SeqCst));
        }
    });
}

/// `lastwrite`.
///
/// Every order of the writes, and no two of them commute.
pub const LASTWRITE: Program =
    Program::new("lastwrite", Group::Counts, "n write x; when all have, x is read")
        .source("GenMC and Nidhugg, regression suites")
        .one(lastwrite, &[parameter("n", 4, 1, 12)])
        .interleavings(|n| factorial(n[0]))
        .traces(|n| factorial(n[0]));

/// n × W x, and R x after all of them.
pub fn lastwrite(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for i in 1..=n {
            let x = &x;
            scope.spawn(move || x.store(i, SeqCst));
        }
    });
    assert!((1..=n).contains(&x.load(SeqCst)));
}

/// `floating-read`.
///
/// Every order of the writes and the read, and no two of them commute.
pub const FLOATING_READ: Program =
    Program::new("floating-read", Group::Counts, "n write x, one reads it")
        .source("Abdulla et al., POPL 2014")
        .one(floating_read, &[parameter("n", 3, 1, 11)])
        .interleavings(|n| factorial(n[0] + 1))
        .traces(|n| factorial(n[0] + 1));

/// n × W x ‖ R x.
pub fn floating_read(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for i in 1..=n {
            let x = &x;
            scope.spawn(move || x.store(i, SeqCst));
        }
        scope.spawn(|| assert!((0..=n).contains(&x.load(SeqCst))));
    });
}
