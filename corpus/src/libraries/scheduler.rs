//! A task scheduler with cancellation, and n queens on a chessboard as its unit test.
//!
//! The shape is that of .NET's task library: tasks that start other tasks, workers that take them
//! from a queue, a promise that is completed once, and a token that stops what is not needed any
//! more.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "task scheduler",
    line: "tasks that start tasks, a promise, cancellation; n queens as the test",
    tests: &[
        Test {
            correct: of("queens", "all places for n queens, by t workers", |n, t| {
                count(Flaw::None, n, t);
            }),
            bugs: &[
                of("queens-late-count", "a task is counted after it is queued", |n, t| {
                    count(Flaw::LateCount, n, t);
                })
                .bug(Expected::Panic, "wrong order of announce and act"),
                of("queens-looks", "tasks started are counted before those finished", |n, t| {
                    count(Flaw::LookOrder, n, t);
                })
                .bug(Expected::Panic, "wrong order of looks"),
                of("queens-lost-end", "the end of a task is counted in two steps", |n, t| {
                    count(Flaw::LostFinish, n, t);
                })
                .bug(Expected::Livelock, "lost update"),
            ],
        },
        Test {
            correct: of(
                "queens-any",
                "any places for n queens, by t workers; then stop",
                |n, t| {
                    any(Flaw::None, n, t);
                },
            ),
            bugs: &[
                of("queens-any-twice", "two workers complete the promise", |n, t| {
                    any(Flaw::DoubleCompletion, n, t);
                })
                .bug(Expected::Panic, "double completion"),
                of("queens-any-early", "the promise is kept before the places are told", |n, t| {
                    any(Flaw::EarlyReady, n, t);
                })
                .bug(Expected::Panic, "wrong order of flag and data"),
                of("queens-any-cancel", "a task is started after the queue was emptied", |n, t| {
                    any(Flaw::LateStart, n, t);
                })
                .bug(Expected::Livelock, "non-atomic cancel"),
            ],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 4, 4, 9), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[7, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A task can be finished before it is counted as started. Then all that were started seem to
    /// be finished, while others run.
    LateCount,
    /// Who waits reads how many were started and then how many are finished. In between some that
    /// were started late make up for those that still run.
    LookOrder,
    /// Two tasks end at once and count as one. Everybody waits for the other.
    LostFinish,
    /// Two workers see that the promise is open, and both complete it.
    DoubleCompletion,
    /// The promise is kept, and then the answer written. Who waits reads half of it.
    EarlyReady,
    /// A task is started by one that has not seen the cancellation, after the queue was emptied.
    /// No thread runs it, and one waits for it.
    LateStart,
}

/// The columns of the queens in the first rows.
type Board = Vec<usize>;

struct Scheduler {
    queue: Mutex<Vec<Board>>,
    /// The length of `queue`, changed under its lock.
    queued: AtomicUsize,
    started: AtomicUsize,
    finished: AtomicUsize,
    cancelled: AtomicBool,
    flaw: Flaw,
}

impl Scheduler {
    fn new(flaw: Flaw) -> Self {
        Self {
            queue: Mutex::default(),
            queued: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            flaw,
        }
    }

    fn start(&self, board: Board) {
        if self.flaw == Flaw::LateStart && self.cancelled.load(SeqCst) {
            return;
        }
        let mut queue = self.queue.lock().unwrap();
        if self.flaw != Flaw::LateStart && self.cancelled.load(SeqCst) {
            return;
        }
        if self.flaw != Flaw::LateCount {
            self.started.fetch_add(1, SeqCst);
        }
        queue.push(board);
        self.queued.store(queue.len(), SeqCst);
        drop(queue);
        if self.flaw == Flaw::LateCount {
            self.started.fetch_add(1, SeqCst);
        }
    }

    fn finish(&self) {
        if self.flaw == Flaw::LostFinish {
            self.finished.store(self.finished.load(SeqCst) + 1, SeqCst);
        } else {
            self.finished.fetch_add(1, SeqCst);
        }
    }

    /// Whether all that were started are finished: then none can be started.
    fn is_idle(&self) -> bool {
        let early = (self.flaw == Flaw::LookOrder).then(|| self.started.load(SeqCst));
        let finished = self.finished.load(SeqCst);
        finished == early.unwrap_or_else(|| self.started.load(SeqCst))
    }

    fn wait(&self) {
        while !self.is_idle() {
            thread::yield_now();
        }
    }

    fn next(&self) -> Option<Board> {
        if self.queued.load(SeqCst) == 0 {
            return None;
        }
        let mut queue = self.queue.lock().unwrap();
        let board = queue.pop();
        self.queued.store(queue.len(), SeqCst);
        board
    }

    fn work(&self, run: impl Fn(Board)) {
        while !self.cancelled.load(SeqCst) && !self.is_idle() {
            match self.next() {
                Some(board) => {
                    run(board);
                    self.finish();
                }
                None => thread::yield_now(),
            }
        }
    }

    /// Tasks that run may go on; those in the queue are dropped.
    fn cancel(&self) {
        let mut queue = self.queue.lock().unwrap();
        self.cancelled.store(true, SeqCst);
        self.finished.fetch_add(queue.len(), SeqCst);
        queue.clear();
        self.queued.store(0, SeqCst);
    }

    /// Starts a task for each place of the next queen.
    fn branch(&self, board: &Board, n: usize) {
        let free = |column: usize| {
            let attacks = |(row, &other): (usize, &usize)| {
                other == column || other.abs_diff(column) == board.len() - row
            };
            !board.iter().enumerate().any(attacks)
        };
        for column in (0..n).filter(|&column| free(column)) {
            self.start([&board[..], &[column]].concat());
        }
    }
}

/// In how many ways n queens can be placed.
const WAYS: [usize; 10] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352];

/// When all tasks are finished all places are found.
fn count(flaw: Flaw, n: usize, t: usize) {
    let (scheduler, found) = (Scheduler::new(flaw), AtomicUsize::new(0));
    let (scheduler, found) = (&scheduler, &found);
    scheduler.start(Vec::new());
    let ways = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(move || {
                scheduler.work(|board| {
                    if board.len() == n {
                        found.fetch_add(1, SeqCst);
                    }
                    scheduler.branch(&board, n);
                });
            });
        }
        scheduler.wait();
        found.load(SeqCst)
    });
    assert_eq!(ways, WAYS[n], "all tasks seemed to be finished");
}

/// A promise of an answer.
struct Promise {
    taken: AtomicBool,
    ready: AtomicBool,
    answer: Vec<AtomicUsize>,
    /// How often it was completed.
    completed: AtomicUsize,
    flaw: Flaw,
}

impl Promise {
    fn new(flaw: Flaw, n: usize) -> Self {
        Self {
            taken: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            answer: (0..n).map(|_| AtomicUsize::new(usize::MAX)).collect(),
            completed: AtomicUsize::new(0),
            flaw,
        }
    }

    fn complete(&self, board: &Board) {
        let lost = if self.flaw == Flaw::DoubleCompletion {
            let lost = self.taken.load(SeqCst);
            self.taken.store(true, SeqCst);
            lost
        } else {
            self.taken.swap(true, SeqCst)
        };
        if lost {
            return;
        }
        self.completed.fetch_add(1, SeqCst);
        if self.flaw == Flaw::EarlyReady {
            self.ready.store(true, SeqCst);
        }
        for (place, &column) in self.answer.iter().zip(board) {
            place.store(column, SeqCst);
        }
        self.ready.store(true, SeqCst);
    }

    fn wait(&self) -> Board {
        while !self.ready.load(SeqCst) {
            thread::yield_now();
        }
        self.answer.iter().map(|place| place.load(SeqCst)).collect()
    }
}

/// The first answer is one, and what is not needed any more is cancelled.
fn any(flaw: Flaw, n: usize, t: usize) {
    let (scheduler, promise) = (Scheduler::new(flaw), Promise::new(flaw, n));
    let (scheduler, promise) = (&scheduler, &promise);
    scheduler.start(Vec::new());
    let board = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(move || {
                scheduler.work(|board| {
                    if board.len() == n {
                        promise.complete(&board);
                    }
                    scheduler.branch(&board, n);
                });
            });
        }
        let board = promise.wait();
        scheduler.cancel();
        scheduler.wait();
        board
    });
    assert_eq!(promise.completed.load(SeqCst), 1, "a promise is completed once");
    let clash = |(row, &a): (usize, &usize)| {
        let apart = |(distance, &b): (usize, &usize)| a == b || a.abs_diff(b) == distance + 1;
        board[row + 1..].iter().enumerate().any(apart)
    };
    let places = board.iter().all(|&column| column < n);
    assert!(places && !board.iter().enumerate().any(clash), "no answer: {board:?}");
}
