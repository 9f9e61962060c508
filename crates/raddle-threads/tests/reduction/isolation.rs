//! Executions in processes of their own: every strategy does there what it does without, and the search goes
//! on after those that end their process.

use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::Relaxed};

use raddle_engine::observer::Observers;
use raddle_engine::strategy::Strategy as _;
use raddle_engine::{Ended, Explored, Limits, Setup, Stop, Teardown, explore};
use raddle_search::traces::TraceCounter;
use raddle_search::{RecordedTree, TreeRecorder};
use raddle_testing::{Sample, figures};
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::{Covered, Death, Outcome, Settings};

use crate::random::{execute, program};
use crate::{Schedules, observed};

/// One of each kind: with and without steps, plans, contexts, labels, what is learned.
const STRATEGIES: [&str; 19] = [
    "dfs",
    "dfs preemptions(1)",
    "dfs cache(1000)",
    "dpor",
    "dpor(source)",
    "dpor(classic)",
    "random",
    "pct(3)",
    "pos",
    "urw",
    "surw",
    "rff",
    "hapset(dpor)",
    "all best-first(pb)",
    "all best-first(mdpor, pb)",
    "all best-first(new-pair)",
    "dfs delays(2) rr cache",
    "strata(rtc, exact)",
    "strata-sample(rr)",
];

#[derive(Debug, PartialEq)]
struct Did {
    schedules: Vec<Vec<u32>>,
    traces: std::collections::BTreeSet<u64>,
    tree: raddle_trace::DecisionTree,
    covered: Covered,
    ended: Ended,
    counts: raddle_trace::Counts,
    kinds: std::collections::BTreeMap<&'static str, u64>,
    assumptions: Vec<raddle_trace::Assumption>,
    notes: Vec<raddle_trace::Note>,
}

fn run(name: &str, executions: u64, settings: Settings, isolation: bool, body: &dyn Fn()) -> Did {
    let mut strategy = raddle_search::build(name, 7).expect("a strategy").strategy;
    let (mut schedules, mut traces) = (Schedules::default(), TraceCounter::new(usize::MAX));
    let limits = Limits { executions, ..Limits::default() };
    // Stacks that are kept after failures are mappings of this process, and every later fork copies them.
    let teardown = if isolation { Teardown::Auto } else { Teardown::Unwind };
    let isolation = isolation.then_some(raddle_isolate::FORK);
    let setup =
        Setup { limits, keep_going: true, settings, isolation, teardown, ..Setup::default() };
    let recorded = RecordedTree::first(100);
    let mut tree = TreeRecorder::new(recorded.clone());
    let observers: Observers<'_, '_> = &mut [&mut schedules, &mut traces, &mut tree];
    let explored = observed(&mut *strategy, observers, &setup, body);
    let Explored { ended, counts, kinds, assumptions, notes, .. } = explored;
    Did {
        schedules: schedules.0,
        traces: traces.seen().clone(),
        tree: recorded.tree(),
        covered: strategy.covered(),
        ended,
        counts,
        kinds,
        assumptions,
        notes,
    }
}

/// Five hundred programs if there is time, else two.
#[test]
fn every_strategy_does_in_processes_of_its_own_what_it_does_without() {
    let sample = Sample::new((2, 25), (500, 25));
    let mut executions = 0;
    for seed in (500_000 + sample.from..).take(sample.programs as usize) {
        let program = program(seed);
        let body = || drop(execute(&program));
        let settings = program.settings();
        for name in STRATEGIES {
            let here = run(name, sample.most, settings, false, &body);
            let apart = run(name, sample.most, settings, true, &body);
            assert_eq!(here, apart, "{name}, seed {seed}: {program:?}");
            executions += apart.counts.executions;
        }
    }
    figures("isolation", &[("compared", sample.programs), ("executions", executions)]);
}

/// A static that every execution finds as it was at the beginning.
static USED: StdAtomicUsize = StdAtomicUsize::new(0);

fn uses_a_static() {
    let before = USED.fetch_add(1, Relaxed);
    let n = std::sync::Arc::new(AtomicUsize::new(0));
    let theirs = std::sync::Arc::clone(&n);
    let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
    n.fetch_add(1, SeqCst);
    other.join().expect("no panic");
    assert_eq!(before, 0, "an execution before this one was here");
}

#[test]
fn statics_start_anew_in_each_execution() {
    let found = |isolation: bool| {
        let mut strategy = raddle_search::build("dfs", 0).expect("a strategy").strategy;
        let isolation = isolation.then_some(raddle_isolate::FORK);
        let setup = Setup { isolation, ..Setup::default() };
        explore(&mut strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &uses_a_static)
            .expect("a search can run here")
    };
    let apart = found(true);
    assert_eq!((apart.ended, apart.failure.is_none()), (Ended::Covered, true));
    assert_eq!(found(false).failure.map(|failure| failure.execution), Some(2));
}

/// The thread that comes last ends the process: the main thread by an exit, the other by an abort.
#[expect(clippy::disallowed_methods, reason = "a program under test may do worse")]
fn dies() {
    let n = std::sync::Arc::new(AtomicUsize::new(0));
    let theirs = std::sync::Arc::clone(&n);
    let other = thread::spawn(move || {
        if theirs.swap(2, SeqCst) == 1 {
            std::process::abort();
        }
    });
    if n.swap(1, SeqCst) == 2 {
        std::process::exit(3);
    }
    other.join().expect("no panic");
}

#[test]
fn the_search_goes_on_after_executions_that_end_their_process() {
    for name in ["dfs", "dpor", "random"] {
        let mut strategy = raddle_search::build(name, 1).expect("a strategy").strategy;
        let limits = Limits { executions: 20, ..Limits::default() };
        let setup = Setup { isolation: Some(raddle_isolate::FORK), limits, ..Setup::default() };
        let explored = explore(&mut strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &dies)
            .expect("a search can run here");
        let failures: Vec<_> = explored.failure.iter().chain(&explored.deaths).collect();
        let deaths: Vec<_> = failures.iter().map(|failure| &failure.outcome).collect();
        let by = |wanted: &Death| {
            deaths
                .iter()
                .any(|outcome| matches!(outcome, Outcome::Died { death, .. } if death == wanted))
        };
        assert!(by(&Death::signal(6)) && by(&Death::Exit { code: 3 }), "{name}: {deaths:?}");
        assert_eq!(deaths.len(), 2, "{name}: each way of dying once");
        for failure in failures {
            // Up to the swap that lets it die, in both orders: created, swapped, swapped.
            assert_eq!(failure.unstable, None);
            assert!(failure.trace.events.len() >= 2, "{name}: {:?}", failure.trace.events);
        }
    }
}
