//! A semaphore as a [`Model`], used rightly and wrongly, inside executions and outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use raddle_engine::rt::{Object, Spawn, spawn};
use raddle_engine::{Access, Model, Setup, Stop, TaskId, replay};
use raddle_trace::Outcome;

use crate::{explored, kinds};

#[derive(Debug)]
struct Permits {
    free: u32,
    all: u32,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Take,
    TryTake,
    Give,
}

impl Model for Permits {
    type Op = Op;
    type Reply = bool;
    const KIND: &'static str = "Semaphore";

    fn enabled(&self, _: TaskId, op: Op) -> bool {
        !matches!(op, Op::Take) || self.free > 0
    }

    fn access(&self, _: TaskId, op: Op) -> Access {
        if matches!(op, Op::TryTake) && self.free == 0 {
            Access::FailedUpdate
        } else {
            Access::Write
        }
    }

    fn apply(&mut self, _: TaskId, op: Op, _: u32) -> bool {
        match op {
            Op::Give => self.free += 1,
            Op::Take | Op::TryTake if self.free > 0 => self.free -= 1,
            Op::Take => unreachable!("only called when enabled"),
            Op::TryTake => return false,
        }
        true
    }

    fn reset(&mut self) {
        self.free = self.all;
    }
}

pub(crate) struct Semaphore(Object<Permits>);

impl Semaphore {
    #[track_caller]
    pub(crate) const fn new(permits: u32) -> Self {
        Self(Object::new(Permits { free: permits, all: permits }))
    }

    #[track_caller]
    pub(crate) fn take(&self) {
        self.0.step(Op::Take);
    }

    #[track_caller]
    fn try_take(&self) -> bool {
        self.0.step(Op::TryTake)
    }

    #[track_caller]
    fn take_timeout(&self, timeout: Duration) -> bool {
        self.0.step_timeout(Op::Take, timeout).is_some()
    }

    #[track_caller]
    pub(crate) fn give(&self) {
        self.0.step(Op::Give);
    }
}

/// Two tasks that each do this.
fn both(body: fn(&Semaphore, &AtomicU32), permits: u32) {
    let shared = Arc::new((Semaphore::new(permits), AtomicU32::new(0)));
    let tasks = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        spawn(Spawn::default(), move || body(&shared.0, &shared.1))
    });
    for task in tasks {
        // A panic is taken by the join, and passed on.
        if let Err(payload) = task.join() {
            std::panic::resume_unwind(payload);
        }
    }
}

fn enter_and_leave(semaphore: &Semaphore, inside: &AtomicU32) {
    semaphore.take();
    assert_eq!(inside.fetch_add(1, Relaxed), 0, "two are inside");
    semaphore.give();
    inside.fetch_sub(1, Relaxed);
}

/// With one permit the only decision is who takes it first: 2. With two there are also the 2 in which both
/// take: the second panics then, and only the first is left.
#[test]
fn permits_bound_who_is_inside() {
    assert_eq!(kinds(&|| both(enter_and_leave, 1)), (2, vec![("completed", 2)]));
    let (executions, ends) = kinds(&|| both(enter_and_leave, 2));
    assert_eq!((executions, ends), (4, vec![("completed", 2), ("panicked", 2)]));
}

#[test]
fn a_failure_has_a_schedule_that_shows_it_again() {
    let body = || both(enter_and_leave, 2);
    let setup = Setup::default();
    let failure = explored(&setup, &body).failure.expect("two are inside");
    assert_eq!(failure.unstable, None);
    let run = |expected| {
        let replayed =
            replay(&failure.schedule, expected, &setup, &mut |_| Stop::No, &mut |_| {}, &body);
        replayed.expect("a replay can run here")
    };
    let again = run(Some(&failure.trace));
    assert_eq!((&again.outcome, again.divergence), (&failure.outcome, None));
    assert_eq!((again.schedule, again.trace), (failure.schedule.clone(), failure.trace.clone()));
    // Another program does something else with it.
    let other = || both(enter_and_leave, 1);
    let replayed = replay(&failure.schedule, None, &setup, &mut |_| Stop::No, &mut |_| {}, &other);
    let other = replayed.expect("a replay can run here");
    assert!(other.divergence.is_some() && other.outcome != failure.outcome, "{other:?}");
}

/// Each takes its own and then the other's. One has both before the other begins, and after it gave back its
/// second the other takes that before or after it gives back its first: 2, for each of the two. Or both have
/// one, in 2 orders: then neither moves.
#[test]
fn opposite_orders_deadlock_in_two_of_six_executions() {
    let body = || {
        let shared = Arc::new([Semaphore::new(1), Semaphore::new(1)]);
        let tasks = [(0, 1), (1, 0)].map(|(first, second)| {
            let shared = Arc::clone(&shared);
            spawn(Spawn::default(), move || {
                shared[first].take();
                shared[second].take();
                shared[second].give();
                shared[first].give();
            })
        });
        for task in tasks {
            task.join().expect("no panic");
        }
    };
    assert_eq!(kinds(&body), (6, vec![("completed", 4), ("deadlock", 2)]));
    let failure = explored(&Setup::default(), &body).failure.expect("a deadlock");
    let Outcome::Deadlock { waiting } = failure.outcome else { panic!("{:?}", failure.outcome) };
    // The two, and the body that joins them.
    assert_eq!(waiting.len(), 3, "{waiting:?}");
}

/// The one who tries comes before the taking, between it and the giving, or after: it is refused once of
/// three times.
#[test]
fn an_attempt_does_not_wait() {
    let refused = AtomicU32::new(0);
    let (executions, _) = kinds(&|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let theirs = Arc::clone(&semaphore);
        let other = spawn(Spawn::default(), move || {
            if theirs.try_take() {
                theirs.give();
                true
            } else {
                false
            }
        });
        semaphore.take();
        semaphore.give();
        refused.fetch_add(u32::from(!other.join().expect("no panic")), Relaxed);
    });
    // It tries first, and gives back before the other can take: 1; the other takes first and is tried
    // between: 1; or gives back first: 1.
    assert_eq!((executions, refused.into_inner()), (3, 1));
}

#[test]
fn a_timeout_is_one_more_way_to_go_on() {
    let timed_out = AtomicU32::new(0);
    let (executions, _) = kinds(&|| {
        let semaphore = Semaphore::new(0);
        if !semaphore.take_timeout(Duration::from_secs(3600)) {
            timed_out.fetch_add(1, Relaxed);
        }
    });
    assert_eq!((executions, timed_out.into_inner()), (1, 1), "nobody gives: it times out");
}

/// A static keeps what the last execution left in it, were it not for `reset`.
#[test]
fn an_object_begins_anew_in_each_execution() {
    static SEMAPHORE: Semaphore = Semaphore::new(1);
    let (executions, ends) = kinds(&|| {
        assert!(SEMAPHORE.try_take());
        let _ = raddle_engine::rt::choose(3);
    });
    assert_eq!((executions, ends), (3, vec![("completed", 3)]));
}

/// The same model outside: threads of the operating system wait there for their turn.
#[test]
fn outside_an_execution_threads_wait_for_each_other() {
    let shared = Arc::new((Semaphore::new(1), AtomicU32::new(0)));
    let threads = [(); 3].map(|()| {
        let shared = Arc::clone(&shared);
        #[expect(clippy::disallowed_methods, reason = "a thread of the operating system is meant")]
        std::thread::spawn(move || {
            for _ in 0..100 {
                shared.0.take();
                assert_eq!(shared.1.fetch_add(1, Relaxed), 0, "two are inside");
                shared.1.fetch_sub(1, Relaxed);
                shared.0.give();
            }
        })
    });
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert!(shared.0.try_take() && !shared.0.try_take());
    assert!(!shared.0.take_timeout(Duration::from_millis(1)));
}
