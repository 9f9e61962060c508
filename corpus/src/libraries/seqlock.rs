//! A sequence lock: readers take no lock, and read again if a writer came meanwhile.
//!
//! The shape is that of Linux's `seqlock_t`: a count that is odd while a thread writes.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "sequence lock",
    line: "a count that is odd while a thread writes; readers read again",
    tests: &[Test {
        correct: of("seqlock", "t increment two words n times, others read them", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("seqlock-torn", "a reader does not look again", |n, t| {
                test(Flaw::NoRecheck, n, t);
            })
            .bug(Expected::Panic, "torn snapshot, missing recheck"),
            of("seqlock-late-odd", "a writer changes the count only in the end", |n, t| {
                test(Flaw::NeverOdd, n, t);
            })
            .bug(Expected::Panic, "torn snapshot, missing announcement"),
            of("seqlock-left-odd", "a writer that gives up leaves the count odd", |n, t| {
                test(Flaw::LeftOdd, n, t);
            })
            .bug(Expected::Livelock, "missing unlock on a path"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 1, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// The count was even before both words were read, and may not be the same after.
    NoRecheck,
    /// While a writer writes the count is even and the same. Readers see half of it, and writers
    /// each other.
    NeverOdd,
    /// To write fails if the value is not the one that was expected. On that path the count is not
    /// made even again, and all wait for ever.
    LeftOdd,
}

struct Pair {
    count: AtomicUsize,
    words: [AtomicUsize; 2],
    flaw: Flaw,
}

impl Pair {
    fn new(flaw: Flaw) -> Self {
        let words = [AtomicUsize::new(0), AtomicUsize::new(0)];
        Self { count: AtomicUsize::new(0), words, flaw }
    }

    /// The count, when it is even.
    fn even(&self) -> usize {
        loop {
            let count = self.count.load(SeqCst);
            if count.is_multiple_of(2) {
                return count;
            }
            thread::yield_now();
        }
    }

    fn read(&self) -> [usize; 2] {
        loop {
            let count = self.even();
            let words = self.words.each_ref().map(|word| word.load(SeqCst));
            if self.flaw == Flaw::NoRecheck || self.count.load(SeqCst) == count {
                return words;
            }
        }
    }

    /// Begins to write: the count from before.
    fn begin(&self) -> usize {
        loop {
            let count = self.even();
            if self.flaw == Flaw::NeverOdd
                || self.count.compare_exchange(count, count + 1, SeqCst, SeqCst).is_ok()
            {
                return count;
            }
        }
    }

    /// Writes if the value is the expected one.
    fn compare_and_write(&self, expected: usize, new: usize) -> bool {
        let count = self.begin();
        let same = self.words[0].load(SeqCst) == expected;
        if same {
            self.words.iter().for_each(|word| word.store(new, SeqCst));
        } else if self.flaw == Flaw::LeftOdd {
            return false;
        }
        self.count.store(count + 2, SeqCst);
        same
    }
}

/// Both words are the same whenever they are read, and no increment is lost.
fn test(flaw: Flaw, n: usize, t: usize) {
    let pair = Pair::new(flaw);
    let pair = &pair;
    let torn: usize = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(move || {
                for _ in 0..n {
                    loop {
                        let seen = pair.read()[0];
                        if pair.compare_and_write(seen, seen + 1) {
                            break;
                        }
                    }
                }
            });
        }
        let torn = || {
            let [a, b] = pair.read();
            a != b
        };
        let readers: Vec<_> =
            (0..2).map(|_| scope.spawn(move || (0..n).filter(|_| torn()).count())).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert_eq!(torn, 0, "half of a write was read");
    assert_eq!(pair.read(), [n * t; 2], "an increment was lost");
}
