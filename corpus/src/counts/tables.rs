//! Tables in which threads meet only by accident.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::arithmetic::interleavings;
use crate::program::{Group, Program, parameter};

const FLANAGAN: &str = "Flanagan and Godefroid, POPL 2005";
const SLOTS: usize = 128;
const INODES: usize = 32;
const BLOCKS: usize = 26;

/// `indexer`.
///
/// Traces: up to 11 threads no two messages meet. Each thread more meets another three times, in
/// either order: 8^(n - 11), as published for 11 to 15. Interleavings, while they do not meet: n
/// threads of 4 exchanges.
pub const INDEXER: Program =
    Program::new("indexer", Group::Counts, "n put 4 messages each into a hash table of 128 slots")
        .source(FLANAGAN)
        .one(indexer, &[parameter("n", 2, 1, 15)])
        .interleavings(|n| if n[0] <= 11 { interleavings(n[0], 4) } else { None })
        .traces(|n| Some(1 << (3 * n[0].saturating_sub(11))));

/// Thread t puts w = 11·m + t for m = 1 to 4 at 7·w mod 128, or in the next slot that is free.
pub fn indexer(n: usize) {
    let table: Vec<_> = (0..SLOTS).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for t in 0..n {
            let table = &table;
            scope.spawn(move || {
                for m in 1..=4 {
                    let w = m * 11 + t;
                    let mut h = w * 7 % SLOTS;
                    while table[h].compare_exchange(0, w, SeqCst, SeqCst).is_err() {
                        h = (h + 1) % SLOTS;
                    }
                }
            });
        }
    });
}

/// `filesystem`.
///
/// Traces: up to 13 threads no two want the same block. Each thread more meets one other, in either
/// order: 2^(n - 13). Interleavings, while they do not meet: n threads of 4 steps (two locks, two
/// unlocks).
pub const FILESYSTEM: Program = Program::new(
    "filesystem",
    Group::Counts,
    "n take a block of 26 for an inode of 32, under locks",
)
.source(FLANAGAN)
.one(filesystem, &[parameter("n", 2, 1, 26)])
.interleavings(|n| if n[0] <= 13 { interleavings(n[0], 4) } else { None })
.traces(|n| Some(1 << n[0].saturating_sub(13)));

/// Thread t: if inode t mod 32 has no block, gives it the first free one from 2·t mod 26 on.
pub fn filesystem(n: usize) {
    let inodes: Vec<_> = (0..INODES).map(|_| Mutex::new(0)).collect();
    let blocks: Vec<_> = (0..BLOCKS).map(|_| Mutex::new(false)).collect();
    thread::scope(|scope| {
        for t in 0..n {
            let (inodes, blocks) = (&inodes, &blocks);
            scope.spawn(move || {
                let i = t % INODES;
                let mut inode = inodes[i].lock().unwrap();
                let mut b = 2 * i % BLOCKS;
                while *inode == 0 {
                    let mut busy = blocks[b].lock().unwrap();
                    if !*busy {
                        *busy = true;
                        *inode = b + 1;
                    }
                    b = (b + 1) % BLOCKS;
                }
            });
        }
    });
}
