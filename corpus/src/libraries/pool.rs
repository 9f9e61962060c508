//! A thread pool: jobs in a queue, workers that wait for them, and an orderly end.
//!
//! The shape is that of Java's `ThreadPoolExecutor`: after shutdown no job is accepted, and those
//! that were are run.

use std::collections::VecDeque;

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "thread pool",
    line: "jobs in a queue, workers that wait for them, shutdown, idleness",
    tests: &[
        Test {
            correct: of("pool", "t submit up to n jobs each; it is shut down halfway", |n, t| {
                shutdown(Flaw::None, n, t);
            }),
            bugs: &[
                of("pool-shutdown", "shutdown is announced without the lock", |n, t| {
                    shutdown(Flaw::Unlocked, n, t);
                })
                .bug(Expected::Deadlock, "shutdown race, lost wake-up"),
                of("pool-late-job", "submit looks for shutdown before it locks", |n, t| {
                    shutdown(Flaw::LateJob, n, t);
                })
                .bug(Expected::Panic, "shutdown race, check-then-act"),
                of(
                    "pool-left-over",
                    "workers look for shutdown before they look for jobs",
                    |n, t| {
                        shutdown(Flaw::LeavesJobs, n, t);
                    },
                )
                .bug(Expected::Panic, "wrong order of looks"),
            ],
        },
        Test {
            correct: of(
                "pool-idle",
                "n jobs for t workers, one waits until all are done",
                |n, t| {
                    idle(Flaw::None, n, t);
                },
            ),
            bugs: &[of("pool-early-idle", "a job counts as done when it is taken", |n, t| {
                idle(Flaw::EarlyDone, n, t);
            })
            .bug(Expected::Panic, "wrong order of flag and data")],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A worker sees no job and no shutdown; both are announced while no thread waits; then it waits.
    Unlocked,
    /// Between the look for shutdown and the lock all workers leave. The job is accepted and never
    /// run.
    LateJob,
    /// A worker that sees the shutdown leaves, and jobs that were accepted with it.
    LeavesJobs,
    /// Who waits until nothing is to be done goes on while the last job runs.
    EarlyDone,
}

struct Pool {
    jobs: Mutex<VecDeque<usize>>,
    submitted: Condvar,
    ended: AtomicBool,
    /// Jobs that are not done. Changed under the lock of `jobs`.
    pending: AtomicUsize,
    done: Condvar,
    flaw: Flaw,
}

impl Pool {
    fn new(flaw: Flaw) -> Self {
        Self {
            jobs: Mutex::default(),
            submitted: Condvar::new(),
            ended: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
            done: Condvar::new(),
            flaw,
        }
    }

    /// `false` if it was shut down.
    fn submit(&self, job: usize) -> bool {
        let early = self.flaw == Flaw::LateJob && self.ended.load(SeqCst);
        let mut jobs = self.jobs.lock().unwrap();
        if early || self.flaw != Flaw::LateJob && self.ended.load(SeqCst) {
            return false;
        }
        jobs.push_back(job);
        self.pending.fetch_add(1, SeqCst);
        self.submitted.notify_one();
        true
    }

    /// `None` if it is time to go.
    fn next(&self) -> Option<usize> {
        let mut jobs = self.jobs.lock().unwrap();
        loop {
            if self.flaw == Flaw::LeavesJobs && self.ended.load(SeqCst) {
                return None;
            }
            if let Some(job) = jobs.pop_front() {
                if self.flaw == Flaw::EarlyDone {
                    self.finish();
                }
                return Some(job);
            }
            if self.ended.load(SeqCst) {
                return None;
            }
            jobs = self.submitted.wait(jobs).unwrap();
        }
    }

    /// With the lock.
    fn finish(&self) {
        if self.pending.fetch_sub(1, SeqCst) == 1 {
            self.done.notify_all();
        }
    }

    fn work(&self, run: impl Fn(usize)) {
        while let Some(job) = self.next() {
            run(job);
            if self.flaw != Flaw::EarlyDone {
                let jobs = self.jobs.lock().unwrap();
                self.finish();
                drop(jobs);
            }
        }
    }

    fn wait_until_idle(&self) {
        let mut jobs = self.jobs.lock().unwrap();
        while self.pending.load(SeqCst) > 0 {
            jobs = self.done.wait(jobs).unwrap();
        }
    }

    fn shut_down(&self) {
        let jobs = (self.flaw != Flaw::Unlocked).then(|| self.jobs.lock().unwrap());
        self.ended.store(true, SeqCst);
        self.submitted.notify_all();
        drop(jobs);
    }
}

/// The jobs that were accepted are those that ran. Shut down when everybody has submitted half.
fn shutdown(flaw: Flaw, n: usize, t: usize) {
    let (pool, ran, halfway) = (Pool::new(flaw), AtomicUsize::new(0), AtomicUsize::new(0));
    let (pool, ran, halfway) = (&pool, &ran, &halfway);
    let accepted: usize = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                pool.work(|_| {
                    ran.fetch_add(1, SeqCst);
                });
            });
        }
        let submit = |job: usize| {
            if job == n / 2 {
                halfway.fetch_add(1, SeqCst);
            }
            pool.submit(job)
        };
        let clients: Vec<_> = (0..t)
            .map(|_| scope.spawn(move || (0..n).filter(|&job| submit(job)).count()))
            .collect();
        while halfway.load(SeqCst) < t {
            thread::yield_now();
        }
        pool.shut_down();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(accepted, ran.load(SeqCst), "a job was accepted and not run");
}

/// When nothing is left to be done everything has been.
fn idle(flaw: Flaw, n: usize, t: usize) {
    let (pool, ran) = (Pool::new(flaw), AtomicUsize::new(0));
    let when_idle = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                pool.work(|_| {
                    ran.fetch_add(1, SeqCst);
                });
            });
        }
        (0..n).for_each(|job| assert!(pool.submit(job)));
        pool.wait_until_idle();
        let when_idle = ran.load(SeqCst);
        pool.shut_down();
        when_idle
    });
    assert_eq!(when_idle, n, "idle, and jobs still run");
}
