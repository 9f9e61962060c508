//! How executions begin, end and are told apart: limits, teardown, divergence, misuse.

#![expect(clippy::disallowed_methods, reason = "real threads are what some of these are about")]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize as RealAtomic, Ordering};
use std::sync::{Arc, Mutex as RealMutex};

use raddle_engine::{
    Ended, EngineError, Explored, Limits, Setup, Stop, Teardown, explore, replay, rt,
};
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::{Assumption, Note, Outcome, Schedule, Settings};

use crate::{explore_all, failure, outcomes, shared};

fn run(strategy: &str, setup: &Setup, program: &dyn Fn()) -> Explored {
    let mut strategy = raddle_search::build(strategy, 1).expect("a known strategy").strategy;
    explore(&mut *strategy, setup, &mut |_| Stop::No, &mut |_| {}, program)
        .expect("a search can run here")
}

fn spin_until_set(flag: &AtomicUsize) {
    while flag.load(SeqCst) == 0 {
        thread::yield_now();
    }
}

#[test]
fn a_value_that_is_chosen_takes_every_value() {
    let (found, executions) = outcomes(|| (rt::choose(3), rt::choose(1), rt::choose(2)));
    assert_eq!(found.len(), 6);
    assert_eq!(executions, 6);
}

#[test]
fn a_program_without_choices_is_one_execution_that_says_so() {
    let explored = explore_all(Settings::default(), &|| {
        let children: Vec<_> = (0..6).map(|_| thread::spawn(|| ())).collect();
        for child in children {
            child.join().expect("no panic");
        }
    });
    assert_eq!(explored.counts.executions, 1);
    assert_eq!(explored.notes, [Note::NothingConcurrent]);
}

#[test]
fn an_overflow_of_the_stack_is_a_failure_with_a_schedule() {
    #[expect(unconditional_recursion, reason = "it is meant to overflow")]
    fn deeper(n: u64) -> u64 {
        std::hint::black_box(deeper(std::hint::black_box(n + 1))) + 1
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return;
    }
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || {
            if a.load(SeqCst) == 1 {
                deeper(0);
            }
        });
        b.store(1, SeqCst);
        let _ = other.join();
    });
    assert!(matches!(outcome, Outcome::StackOverflow { task: 1, .. }), "{outcome:?}");
}

#[test]
fn an_overflow_of_the_stack_at_an_op_is_not_lost() {
    #[expect(unconditional_recursion, reason = "it is meant to overflow")]
    fn deeper<const FRAME: usize>(word: &AtomicUsize) -> usize {
        let frame = std::hint::black_box([0_u8; FRAME]);
        word.fetch_add(1, SeqCst);
        deeper::<FRAME>(word) + usize::from(std::hint::black_box(frame)[0])
    }
    fn overflow<const FRAME: usize>(strategy: &str) {
        let (a, b) = shared(AtomicUsize::new(0));
        let mut strategy = raddle_search::build(strategy, 1).expect("it is known").strategy;
        let explored =
            explore(&mut *strategy, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, &|| {
                let (a, b) = (Arc::clone(&a), Arc::clone(&b));
                let other = thread::spawn(move || deeper::<FRAME>(&a));
                for _ in 0..20_000 {
                    b.fetch_add(1, SeqCst);
                }
                let _ = other.join();
            });
        let outcome = explored.expect("a search can run here").failure.map(|found| found.outcome);
        let is_it = matches!(outcome, Some(Outcome::StackOverflow { task: 1, .. }));
        assert!(is_it, "{outcome:?}");
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return;
    }
    // Frames of different sizes, so that stacks would end at different places of the engine and of a strategy.
    for strategy in ["random", "pct(3)", "pos", "dfs", "dpor"] {
        overflow::<16>(strategy);
        overflow::<32>(strategy);
        overflow::<48>(strategy);
        overflow::<80>(strategy);
    }
}

#[test]
fn a_spin_loop_that_yields_is_covered() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || spin_until_set(&a));
        b.store(1, SeqCst);
        other.join().expect("no panic");
    });
    assert_eq!(found.len(), 1);
    // The waiter's steps before the store: none; load; load, yield; load, yield, load; and load,
    // yield, load, yield, after which it has yielded twice and the store must come: 5.
    assert_eq!(executions, 5);
}

#[test]
fn one_yield_holds_no_task_back() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || (a.load(SeqCst), a.load(SeqCst)));
        thread::yield_now();
        b.store(1, SeqCst);
        other.join().expect("no panic")
    });
    assert_eq!(found, [(0, 0), (0, 1), (1, 1)].into());
}

#[test]
fn two_spinners_and_a_setter_are_covered() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let c = Arc::clone(&b);
        let spinners =
            [thread::spawn(move || spin_until_set(&a)), thread::spawn(move || spin_until_set(&c))];
        b.store(1, SeqCst);
        for spinner in spinners {
            spinner.join().expect("no panic");
        }
    });
    assert_eq!(found.len(), 1);
}

#[test]
fn spinning_for_what_never_comes_is_a_livelock() {
    let outcome = failure(Settings::default(), &|| {
        let flag = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || spin_until_set(&flag)).join().expect("no panic");
    });
    assert!(matches!(outcome, Outcome::Livelock { spinning, .. } if spinning == [1]));
}

/// One spins without a yield until the other has set a flag.
fn spin_without_a_yield() {
    let (a, b) = shared(AtomicUsize::new(0));
    let other = thread::spawn(move || while a.load(SeqCst) == 0 {});
    b.store(1, SeqCst);
    other.join().expect("no panic");
}

// The flag is set after 0 to 51 looks. Each look after the 50th counts as a yield, and the second of them is
// the last before the other has to move.
#[test]
fn spinning_without_a_yield_ends_and_the_guarantee_says_why() {
    let explored = run("dfs", &Setup::default(), &spin_without_a_yield);
    assert_eq!(explored.ended, Ended::Covered);
    assert_eq!((explored.counts.executions, explored.counts.rejected), (53, 0));
    let fair = [Assumption::FairYields, Assumption::FairSpins];
    assert!(fair.iter().all(|fair| explored.assumptions.contains(fair)));
}

#[test]
fn spinning_is_cut_off_and_counted_where_it_may_go_on() {
    let limits = Limits { steps: 1000, executions: 3, idle: u64::MAX, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let explored = run("dfs", &setup, &spin_without_a_yield);
    // The setter could have moved, so this is no livelock: neither pass nor failure.
    assert_eq!(explored.failure.map(|failure| failure.outcome), None);
    assert!(explored.counts.rejected > 0);
}

#[test]
fn too_many_tasks_reject_the_execution() {
    let limits = Limits { tasks: 3, executions: 1, ..Limits::default() };
    let explored = run("dfs", &Setup { limits, ..Setup::default() }, &|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let spawn = || {
            let flag = Arc::clone(&flag);
            thread::spawn(move || flag.load(SeqCst))
        };
        let _children: Vec<_> = (0..5).map(|_| spawn()).collect();
    });
    assert_eq!((explored.counts.executions, explored.counts.rejected), (1, 1));
    assert!(explored.failure.is_none());
}

#[test]
fn the_caller_stops_a_search_by_its_own_clock() {
    let mut strategy = raddle_search::build("random", 1).expect("known").strategy;
    let mut asked = 0;
    let mut lap = |_| {
        asked += 1;
        if asked > 10 { Stop::Search } else { Stop::No }
    };
    let explored =
        explore(&mut *strategy, &Setup::default(), &mut lap, &mut |_| {}, &|| ()).expect("runs");
    assert_eq!((explored.ended, explored.counts.executions), (Ended::Stopped, 10));
}

/// Destructors of unfinished tasks run, after failures too.
fn unwinding() -> Setup {
    Setup { teardown: Teardown::Unwind, ..Setup::default() }
}

#[test]
fn unfinished_tasks_are_unwound_children_first() {
    struct Leaves(&'static str, Arc<RealMutex<Vec<&'static str>>>);
    impl Drop for Leaves {
        fn drop(&mut self) {
            self.1.lock().expect("not poisoned").push(self.0);
        }
    }
    let order = Arc::new(RealMutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let explored = run("dfs", &unwinding(), &move || {
        seen.lock().expect("not poisoned").clear();
        let _outer = Leaves("parent", Arc::clone(&seen));
        let inner = Leaves("child", Arc::clone(&seen));
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().expect("not poisoned");
        let (lock2, _keep) = (Arc::clone(&lock), inner);
        let child = Arc::clone(&seen);
        thread::spawn(move || {
            let _inner = Leaves("grandchild", child);
            drop(lock2.lock());
        })
        .join()
        .expect("never");
        drop(held);
    });
    assert_eq!(explored.failure.expect("a deadlock").outcome.kind(), "deadlock");
    assert_eq!(*order.lock().expect("not poisoned"), ["grandchild", "child", "parent"]);
    assert_eq!(explored.notes, []);
}

#[test]
fn a_destructor_that_waits_in_a_dead_execution_is_left_behind() {
    struct Joins(Option<thread::JoinHandle<()>>);
    impl Drop for Joins {
        fn drop(&mut self) {
            self.0.take().expect("once").join().expect("the child did not panic");
        }
    }
    let explored = run("dfs", &unwinding(), &|| {
        let (a, b) = shared(Mutex::new(()));
        let held = b.lock();
        let _joins = Joins(Some(thread::spawn(move || drop(a.lock()))));
        let again = b.lock();
        drop((held, again));
    });
    assert_eq!(explored.failure.expect("a deadlock").outcome.kind(), "deadlock");
    assert!(matches!(explored.notes[..], [Note::Leaked { tasks: 2 }]), "{:?}", explored.notes);
}

/// Counts how often it is dropped.
struct Counts(Arc<RealAtomic>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many values unfinished tasks drop after a deadlock, which is run twice: once to be found, once for its trace.
fn dropped_after_a_deadlock(teardown: Teardown) -> usize {
    let dropped = Arc::new(RealAtomic::new(0));
    let seen = Arc::clone(&dropped);
    let setup = Setup { teardown, ..Setup::default() };
    let explored = run("dfs", &setup, &move || {
        let _counts = Counts(Arc::clone(&seen));
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });
    assert_eq!(explored.failure.expect("a deadlock").outcome.kind(), "deadlock");
    dropped.load(Ordering::SeqCst)
}

#[test]
fn after_a_failure_no_destructors_run_unless_that_is_asked_for() {
    assert_eq!(dropped_after_a_deadlock(Teardown::Auto), 0);
    assert_eq!(dropped_after_a_deadlock(Teardown::Leak), 0);
    assert_eq!(dropped_after_a_deadlock(Teardown::Unwind), 2);
}

#[test]
fn tasks_of_an_execution_that_is_cut_off_are_unwound() {
    let (made, dropped) = (Arc::new(RealAtomic::new(0)), Arc::new(RealAtomic::new(0)));
    let (runs, seen) = (Arc::clone(&made), Arc::clone(&dropped));
    let limits = Limits { executions: 3, steps: 20, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let explored = run("random", &setup, &move || {
        runs.fetch_add(1, Ordering::SeqCst);
        let _counts = Counts(Arc::clone(&seen));
        let n = AtomicUsize::new(0);
        loop {
            n.fetch_add(1, SeqCst);
        }
    });
    assert_eq!((explored.counts.executions, explored.counts.rejected), (3, 3));
    // Some are run twice and counted once.
    assert!(made.load(Ordering::SeqCst) >= 3);
    assert_eq!(dropped.load(Ordering::SeqCst), made.load(Ordering::SeqCst));
}

#[test]
fn a_task_that_catches_its_own_end_does_not_live_on() {
    let explored = explore_all(Settings::default(), &|| {
        let lock = Mutex::new(());
        let _held = lock.lock();
        loop {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = lock.lock();
            }));
            let _ = caught;
        }
    });
    assert_eq!(explored.failure.expect("a deadlock").outcome.kind(), "deadlock");
}

#[test]
fn state_that_outlives_an_execution_is_noticed() {
    static LEAK: AtomicUsize = AtomicUsize::new(0);
    let explored = explore_all(Settings::default(), &|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || {
            // Each execution does something else, because the static remembers.
            if LEAK.fetch_add(1, SeqCst).is_multiple_of(2) {
                a.load(SeqCst);
            }
            a.load(SeqCst);
        });
        b.store(1, SeqCst);
        b.store(2, SeqCst);
        other.join().expect("no panic");
    });
    let Ended::Diverged(divergence) = explored.ended else {
        panic!("expected a divergence, found {:?}", explored.ended)
    };
    assert!(divergence.found.contains("executions.rs"), "{divergence}");
}

#[test]
fn a_failure_that_does_not_repeat_says_so() {
    let runs = RealAtomic::new(0);
    let explored = explore_all(Settings::default(), &|| {
        assert!(runs.fetch_add(1, Ordering::SeqCst) > 0, "only the first time");
    });
    let failure = explored.failure.expect("a panic");
    assert_eq!(failure.outcome.kind(), "panicked");
    let unstable = failure.unstable.expect("it did not repeat");
    assert_eq!((unstable.expected, unstable.found), ("panicked".into(), "completed".into()));
}

#[test]
fn a_search_inside_an_execution_is_refused() {
    let refused = Cell::new(None);
    explore_all(Settings::default(), &|| {
        let mut strategy = raddle_search::build("dfs", 0).expect("known").strategy;
        let nested =
            explore(&mut *strategy, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, &|| ());
        refused.set(Some(nested.map(|_| ())));
    });
    assert_eq!(refused.take(), Some(Err(EngineError::Nested)));
}

#[test]
fn an_object_in_the_hands_of_another_os_thread_is_refused() {
    let mut strategy = raddle_search::build("dfs", 0).expect("known").strategy;
    let explored =
        explore(&mut *strategy, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, &|| {
            let (a, b) = shared(AtomicUsize::new(0));
            a.store(1, SeqCst);
            let stray = std::thread::spawn(move || b.load(SeqCst)).join();
            let message = *stray.expect_err("refused").downcast::<String>().expect("text");
            assert!(message.contains("an execution on another OS thread uses it"), "{message}");
            (0..10_000).for_each(|_| a.store(2, SeqCst));
        });
    assert_eq!(explored.err(), Some(EngineError::Foreign));
}

#[test]
fn a_schedule_of_another_program_diverges_where_it_differs() {
    let schedule = explore_all(Settings::default(), &|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || a.fetch_add(1, SeqCst));
        let seen = b.load(SeqCst);
        other.join().expect("no panic");
        assert_eq!(seen, 1);
    })
    .failure
    .expect("main may read first")
    .schedule;
    let again = |schedule: &Schedule, program: &dyn Fn()| {
        replay(schedule, None, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, program)
            .expect("runs")
            .divergence
            .expect("another program")
            .to_string()
    };
    let alone = again(&schedule, &|| ());
    assert_eq!(
        alone,
        "at step 0 (decision 0): expected 1 decisions, found the end of the execution after 0"
    );
    let more = again(&schedule, &|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || (a.fetch_add(1, SeqCst), a.fetch_add(1, SeqCst)));
        b.load(SeqCst);
        b.load(SeqCst);
        other.join().expect("no panic");
    });
    assert_eq!(
        more,
        "at step 1 (decision 1): expected the end of the schedule, found a choice between main, \
         thread 1"
    );
}

#[test]
fn several_threads_each_run_their_own_search() {
    let searches: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                let program = || {
                    let (a, b) = shared(AtomicUsize::new(0));
                    let other = thread::spawn(move || {
                        (0..4).for_each(|_| {
                            a.load(SeqCst);
                        });
                    });
                    (0..4).for_each(|_| b.store(1, SeqCst));
                    other.join().expect("no panic");
                };
                explore_all(Settings::default(), &program).counts.executions
            })
        })
        .collect();
    for search in searches {
        // Two tasks of four steps: C(8, 4).
        assert_eq!(search.join().expect("no panic"), 70);
    }
}

#[test]
fn switching_keeps_every_stack_intact() {
    // Deep frames full of data on many tasks, switched at random: any slip of the switch shows.
    fn fill(depth: u64, seed: u64, shared: &AtomicUsize) -> u64 {
        let frame = [seed.wrapping_mul(depth + 1); 16];
        shared.fetch_add(1, SeqCst);
        let below = if depth == 0 { 0 } else { fill(depth - 1, seed, shared) };
        assert!(frame.iter().all(|&word| word == seed.wrapping_mul(depth + 1)));
        frame.iter().fold(below, |sum, word| sum.wrapping_add(*word))
    }
    let limits = Limits { executions: 300, ..Limits::default() };
    let explored = run("random", &Setup { limits, ..Setup::default() }, &|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let children: Vec<_> = (1..=12)
            .map(|seed| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || fill(20, seed, &counter))
            })
            .collect();
        let sums: Vec<_> = children.into_iter().map(|c| c.join().expect("no panic")).collect();
        // 16 words of seed * (depth + 1) for depths 0..=20.
        let expected: Vec<_> = (1..=12).map(|seed| 16 * seed * (21 * 22 / 2)).collect();
        assert_eq!(sums, expected);
        assert_eq!(counter.load(SeqCst), 12 * 21);
    });
    assert_eq!(explored.counts.executions, 300);
    assert!(explored.failure.is_none());
}
