//! A search through files in the shape of pfscan: the main thread walks over the files and puts them in
//! a queue, workers take them and look for a word, and the main thread waits until no worker is active.
//!
//! The files are in memory. The queue is bounded, so both sides may wait for each other.

use std::collections::VecDeque;

use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Application, program};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, Program, parameter};

/// The application.
pub const APPLICATION: Application = Application {
    name: "pfscan",
    line: "a queue of files, workers that scan them, a count of active workers",
    tests: &[Test {
        correct: of("pfscan", "n workers look for a word in f files", |n, f| {
            test(Flaw::None, n, f);
        }),
        bugs: &[
            of(
                "pfscan-late",
                "the number of active workers is set when they may be done",
                |n, f| {
                    test(Flaw::LateCount, n, f);
                },
            )
            .bug(Expected::Deadlock, "order violation, initialised too late"),
            of("pfscan-close", "the end of the queue wakes one worker", |n, f| {
                test(Flaw::CloseWakesOne, n, f);
            })
            .bug(Expected::Deadlock, "notify_one for notify_all"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 8), parameter("f", 2, 1, 100)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[4, 20])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A worker that is done before the number is set takes itself off the old one. The number never
    /// comes to nothing.
    LateCount,
    /// The others wait for files that do not come.
    CloseWakesOne,
}

/// A queue that can be closed.
struct Queue {
    files: Mutex<Files>,
    not_full: Condvar,
    not_empty: Condvar,
}

#[derive(Default)]
struct Files {
    waiting: VecDeque<String>,
    closed: bool,
}

impl Queue {
    /// As many files as this can wait.
    const MAX_WAITING: usize = 2;

    fn put(&self, file: String) {
        let files = self.files.lock().unwrap();
        let full = |files: &mut Files| files.waiting.len() >= Self::MAX_WAITING;
        self.not_full.wait_while(files, full).unwrap().waiting.push_back(file);
        self.not_empty.notify_one();
    }

    fn close(&self, flaw: Flaw) {
        self.files.lock().unwrap().closed = true;
        if flaw == Flaw::CloseWakesOne {
            self.not_empty.notify_one();
        } else {
            self.not_empty.notify_all();
        }
    }

    /// `None` if it is closed and empty.
    fn take(&self) -> Option<String> {
        let files = self.files.lock().unwrap();
        let nothing = |files: &mut Files| files.waiting.is_empty() && !files.closed;
        let file = self.not_empty.wait_while(files, nothing).unwrap().waiting.pop_front()?;
        self.not_full.notify_one();
        Some(file)
    }
}

const WORD: &str = "lock";

/// The text of a file: each third has the word, twice.
fn text(nth: usize) -> String {
    let words = if nth.is_multiple_of(3) { ["a lock", "lock b"] } else { ["a bolt", "bolt b"] };
    words.join(" and ")
}

/// Every occurrence is counted once, and the main thread hears that all are done.
fn test(flaw: Flaw, n: usize, f: usize) {
    let (not_full, not_empty) = (Condvar::new(), Condvar::new());
    let queue = Queue { files: Mutex::default(), not_full, not_empty };
    let active = Mutex::new(if flaw == Flaw::LateCount { 0 } else { n.cast_signed() });
    let (none_active, found) = (Condvar::new(), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                while let Some(text) = queue.take() {
                    let matches = text.matches(WORD).count();
                    if matches > 0 {
                        *found.lock().unwrap() += matches;
                    }
                }
                *active.lock().unwrap() -= 1;
                none_active.notify_all();
            });
        }
        (0..f).for_each(|nth| queue.put(text(nth)));
        queue.close(flaw);
        if flaw == Flaw::LateCount {
            *active.lock().unwrap() = n.cast_signed();
        }
        let left = active.lock().unwrap();
        drop(none_active.wait_while(left, |left| *left > 0).unwrap());
        assert_eq!(*found.lock().unwrap(), f.div_ceil(3) * 2, "matches");
    });
}
