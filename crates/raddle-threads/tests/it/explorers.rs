//! Searches along delaying explorers, on threads: known counts, and explorers that are wrong.

#![expect(
    clippy::unwrap_used,
    clippy::similar_names,
    reason = "programs are as their users write them"
)]

use std::collections::BTreeSet;

use raddle_engine::explorer::{About, DelayingExplorer, Explorer, Process, Runnable, change_order};
use raddle_engine::{Ended, Explored, Setup, Stop, explore, explore_observed};
use raddle_search::{Environment, TraceCounter, build};
use raddle_threads::sync::atomic::AtomicUsize;
use raddle_threads::sync::atomic::Ordering::SeqCst;
use raddle_threads::sync::{Arc, Mutex};
use raddle_threads::thread;
use raddle_trace::{Covered, Outcome};

/// W x beside n times (R y; R x).
fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let ys: Vec<_> = (0..n).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let mut threads = vec![{
        let x = Arc::clone(&x);
        thread::spawn(move || x.store(1, SeqCst))
    }];
    for y in ys {
        let x = Arc::clone(&x);
        threads.push(thread::spawn(move || {
            y.load(SeqCst);
            x.load(SeqCst);
        }));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Setters do `a = 1; b = 1`, and a checker that reads both must not see the first alone.
fn reorder(setters: usize) {
    let (a, b) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut threads = Vec::new();
    for _ in 0..setters {
        let (a, b) = (Arc::clone(&a), Arc::clone(&b));
        threads.push(thread::spawn(move || {
            a.store(1, SeqCst);
            b.store(1, SeqCst);
        }));
    }
    threads.push(thread::spawn(move || {
        let (a, b) = (a.load(SeqCst), b.load(SeqCst));
        assert!(a == b, "saw one of the two");
    }));
    for thread in threads {
        thread.join().unwrap();
    }
}

fn run(text: &str, explorer: Option<Explorer>, program: &dyn Fn()) -> (Explored, Covered, u64) {
    let environment = Environment { seed: 1, explorer, ..Environment::default() };
    let mut strategy = build(text, environment).expect("a known strategy").strategy;
    let mut traces = TraceCounter::new(10_000);
    let explored = explore_observed(
        &mut *strategy,
        &mut [&mut traces],
        &Setup::default(),
        &mut |_| Stop::No,
        &mut |_| {},
        program,
    );
    let explored = explored.expect("a search can run here");
    let traces = traces.count().distinct;
    (explored, strategy.covered(), traces)
}

fn fails(text: &str, program: &dyn Fn()) -> bool {
    let (explored, ..) = run(text, None, program);
    match &explored.failure {
        Some(failure) => {
            assert!(matches!(failure.outcome, Outcome::Panicked { .. }));
            true
        }
        None => false,
    }
}

// One trace without a delay, the one in which the writer is delayed, and those in which of n readers so many are
// delayed behind it.
#[test]
fn readers_by_delays_along_round_robin() {
    for (k, expected) in [1, 2, 8, 23, 43, 58, 64].into_iter().enumerate() {
        for text in [
            format!("dfs delays({k}) rr cache"),
            format!("strata(rr, exact) delays({k})"),
            format!("all best-first(delays) delays({k}) rr cache"),
        ] {
            let (explored, _, traces) = run(&text, None, &|| readers(6));
            assert_eq!(explored.ended, Ended::Covered, "{text}");
            assert_eq!(traces, expected, "{text}");
        }
    }
    let (_, covered, traces) = run("strata(rr)", None, &|| readers(6));
    assert_eq!(traces, 64);
    assert!(matches!(covered, Covered::Strata { delays: None, uncompared: false, .. }));
}

#[test]
fn reorder_needs_as_many_delays_as_setters_and_one_preemption() {
    for setters in 2..=4 {
        let program = || reorder(setters);
        assert!(fails("dfs preemptions(1)", &program));
        assert!(!fails("dfs preemptions(0)", &program));
        for k in 0..=setters {
            for text in [format!("dfs delays({k}) rr cache"), format!("strata(rr) delays({k})")] {
                assert_eq!(fails(&text, &program), k == setters, "{text} with {setters} setters");
            }
        }
    }
}

/// Two threads take two locks in opposite orders.
fn opposite_locks() {
    let locks = [Arc::new(Mutex::new(())), Arc::new(Mutex::new(()))];
    let theirs = locks.clone();
    let threads = [
        thread::spawn(move || {
            let _first = theirs[0].lock().unwrap();
            drop(theirs[1].lock().unwrap());
        }),
        thread::spawn(move || {
            let _first = locks[1].lock().unwrap();
            drop(locks[0].lock().unwrap());
        }),
    ];
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn opposite_orders_of_locks_deadlock_with_one_delay() {
    for explorer in ["rr", "rtc", "prr(3)"] {
        let found = |k: u32| {
            let (explored, ..) = run(&format!("dfs delays({k}) {explorer}"), None, &opposite_locks);
            explored.failure.is_some()
        };
        assert_eq!((found(0), found(1)), (false, true), "{explorer}");
    }
}

/// Never gives anything up.
#[derive(Clone, Debug, Default, Hash)]
struct Stubborn {
    panics: bool,
}

impl DelayingExplorer for Stubborn {
    fn start(&mut self, _: Process, _: &About<'_>) {}

    fn finish(&mut self, _: Process) {}

    fn next(&self, runnable: Runnable<'_>) -> Process {
        // Deep recursion is welcome: it has the host's stack.
        fn deep(n: u32) -> u32 {
            let room = std::hint::black_box([n; 1024]);
            if n == 0 { room[0] } else { deep(n - 1) + room[1] - n }
        }
        assert!(!self.panics, "a mistake in it");
        assert_eq!(deep(100), 0);
        runnable.first()
    }

    fn delay(&mut self, _: Process) {}
}

#[test]
fn an_explorer_that_is_wrong_ends_the_search_and_is_named() {
    for (panics, why) in [
        (false, "the explorer `custom` does not reach process 2, which can move: after 1 delays"),
        (true, "the explorer `custom` panicked at "),
    ] {
        for text in ["strata(custom)", "dfs delays(1) custom", "strata-sample(custom)"] {
            let explorer = Explorer::new("custom", Stubborn { panics });
            let (explored, ..) = run(text, Some(explorer), &|| readers(2));
            let Ended::Trouble(told) = &explored.ended else { panic!("{text}: {explored:?}") };
            assert!(told.starts_with(why), "{text}: {told}");
            assert!(explored.failure.is_none(), "{text}");
        }
    }
}

/// The program says that the second thread is to come first.
#[test]
fn the_program_changes_the_order() {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let theirs = Arc::clone(&seen);
    let program = move || {
        change_order(["late"]);
        let x = Arc::new(AtomicUsize::new(0));
        let spawn = |name: &str, value: usize| {
            let x = Arc::clone(&x);
            let body = move || x.store(value, SeqCst);
            thread::Builder::new().name(name.to_owned()).spawn(body).unwrap()
        };
        let threads = [spawn("early", 1), spawn("late", 2)];
        for thread in threads {
            thread.join().unwrap();
        }
        theirs.lock().unwrap().insert(x.load(SeqCst));
    };
    let last = |text: &str| {
        seen.lock().unwrap().clear();
        let mut strategy = build(text, 1).unwrap().strategy;
        explore(&mut *strategy, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, &program)
            .expect("a search can run here");
        std::mem::take(&mut *seen.lock().unwrap())
    };
    assert_eq!(last("dfs delays(0) ordered"), BTreeSet::from([1]));
    assert_eq!(last("dfs delays(0) rr"), BTreeSet::from([2]));
}

#[test]
fn stratified_samples_find_what_needs_two_delays() {
    let (explored, ..) = run("strata-sample(rr)", None, &|| reorder(2));
    assert!(explored.failure.is_some());
    assert!(explored.counts.executions < 200, "{:?}", explored.counts);
}
