//! Executions that are run twice: what is noticed by that, and what is not disturbed.

use std::sync::atomic::{AtomicUsize, Ordering};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Config, Note, Report, Verdict, explore, thread};

const STRATEGIES: [&str; 9] = [
    "auto",
    "dfs",
    "dfs cache",
    "dpor",
    "dpor(classic) best-first(pb)",
    "random",
    "pct(3)",
    "surw",
    "portfolio",
];

fn named(strategy: &str, test: impl Fn() + Send + Sync + 'static) -> Report {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    config.executions = Some(50);
    explore(config, test).expect("a search can run here")
}

/// The step that differed: its number, what it was, and what it is now.
fn difference(report: &Report) -> Option<(u64, &str, &str)> {
    report.notes.iter().find_map(|note| match note {
        Note::Diverged(d) => Some((d.step, d.expected.as_str(), d.found.as_str())),
        _ => None,
    })
}

/// One more load in each execution than in the one before, and nothing to decide.
fn counts_in_a_static(executions: &AtomicUsize) {
    let n = AtomicU32::new(0);
    for _ in 0..=executions.fetch_add(1, Ordering::Relaxed) {
        n.load(SeqCst);
    }
}

#[test]
fn state_in_a_static_is_noticed_where_nothing_is_to_be_decided() {
    for strategy in STRATEGIES {
        static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);
        EXECUTIONS.store(0, Ordering::Relaxed);
        let report = named(strategy, || counts_in_a_static(&EXECUTIONS));
        assert_eq!(report.verdict, Verdict::Inconclusive, "{strategy}");
        let (step, expected, found) = difference(&report).expect("a difference");
        assert_eq!((step, expected), (1, "the end of the execution"), "{strategy}");
        assert!(found.starts_with("main: load -> 0 at "), "{found}");
        assert!(found.contains("twice.rs:"), "{found}");
    }
}

/// In the first execution alone a value is stored, as if it were computed once for the process.
#[test]
fn what_only_the_first_execution_does_is_noticed() {
    for strategy in STRATEGIES {
        static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);
        EXECUTIONS.store(0, Ordering::Relaxed);
        let report = named(strategy, || {
            let n = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| n.load(SeqCst));
                if EXECUTIONS.fetch_add(1, Ordering::Relaxed) == 0 {
                    n.store(1, SeqCst);
                }
                n.load(SeqCst);
            });
        });
        assert_eq!(report.verdict, Verdict::Inconclusive, "{strategy}");
        assert!(difference(&report).is_some(), "{strategy}: {:?}", report.notes);
    }
}

/// Three threads that store: 90 interleavings, of which each sampler shows 50.
fn three() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| n.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(n.load(SeqCst), 3);
}

/// The second time is counted neither in the report nor by observers; the body runs once more than there are
/// executions, for each member of a portfolio.
#[test]
fn the_first_execution_is_run_twice_and_counted_once() {
    for strategy in STRATEGIES {
        static BODIES: AtomicUsize = AtomicUsize::new(0);
        BODIES.store(0, Ordering::Relaxed);
        let mut config = Config::default();
        strategy.clone_into(&mut config.strategy);
        config.executions = Some(50);
        config.traces = true;
        let report = explore(config, || {
            BODIES.fetch_add(1, Ordering::Relaxed);
            three();
        })
        .expect("a search can run here");
        assert_ne!(report.verdict, Verdict::Inconclusive, "{strategy}: {:?}", report.notes);
        // The first member of `auto` goes on with another search.
        let stages = report.members.iter().map(|member| member.strategy.split(", then ").count());
        let searches = stages.sum::<usize>().max(1);
        let bodies = BODIES.load(Ordering::Relaxed) as u64;
        assert_eq!(bodies, report.counts.executions + searches as u64, "{strategy}");
    }
}

/// And those whose number is a power of two, from 1024 on: 1, 1024, 2048 and 4096 of 5000.
#[test]
fn of_a_long_search_a_few_executions_are_run_twice() {
    static BODIES: AtomicUsize = AtomicUsize::new(0);
    let mut config = Config::default();
    config.strategy = "random".into();
    config.executions = Some(5000);
    let report = explore(config, || {
        BODIES.fetch_add(1, Ordering::Relaxed);
        three();
    });
    assert_eq!(report.expect("a search can run here").counts.executions, 5000);
    assert_eq!(BODIES.load(Ordering::Relaxed), 5004);
}

/// The second time fails: that is the failure, and it says that the first time did not.
#[test]
fn a_failure_of_the_second_time_is_not_lost() {
    for strategy in STRATEGIES {
        static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);
        EXECUTIONS.store(0, Ordering::Relaxed);
        let report = named(strategy, || {
            AtomicU32::new(0).store(1, SeqCst);
            assert_eq!(EXECUTIONS.fetch_add(1, Ordering::Relaxed), 0, "the second time");
        });
        assert_eq!(report.verdict, Verdict::Failed, "{strategy}");
        let failure = report.failure.expect("a failure");
        assert_eq!(failure.outcome.kind(), "panicked");
        let unstable = failure.unstable.expect("the first time it passed");
        assert_eq!(
            (unstable.expected.as_str(), unstable.found.as_str()),
            ("completed", "panicked")
        );
    }
}

/// A cell makes raddle run the first execution once more for its data races: that is the second time too.
#[test]
fn with_a_cell_the_first_execution_is_run_twice_and_not_three_times() {
    static BODIES: AtomicUsize = AtomicUsize::new(0);
    let test = || {
        let before = BODIES.fetch_add(1, Ordering::Relaxed);
        let (cell, n) = (raddle::cell::Tracked::new(1), AtomicU32::new(0));
        n.store(cell.get(), SeqCst);
        before
    };
    let report = named("dfs", move || {
        test();
    });
    assert_eq!((report.counts.executions, BODIES.load(Ordering::Relaxed)), (1, 2));
    assert_eq!(difference(&report), None);
    BODIES.store(0, Ordering::Relaxed);
    let report = named("dfs", move || {
        let n = AtomicU32::new(0);
        (0..test()).for_each(|_| n.store(2, SeqCst));
    });
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert_eq!(difference(&report).expect("a store more").0, 1);
}

/// Three stores have 3! orders: four executions, then two; the first of each part is run twice.
#[test]
fn a_search_that_goes_on_later_runs_its_first_execution_twice() {
    static BODIES: AtomicUsize = AtomicUsize::new(0);
    let file = std::env::temp_dir().join(format!("raddle-twice-kept-{}", std::process::id()));
    let search = |executions: Option<u64>| {
        BODIES.store(0, Ordering::Relaxed);
        let mut config = Config::default();
        config.strategy = "dpor".into();
        config.executions = executions;
        config.checkpoint = Some(file.to_string_lossy().into_owned());
        let report = explore(config, || {
            BODIES.fetch_add(1, Ordering::Relaxed);
            let n = AtomicU32::new(0);
            thread::scope(|scope| {
                for k in 1..4 {
                    let n = &n;
                    scope.spawn(move || n.store(k, SeqCst));
                }
            });
        });
        let report = report.expect("a search can run here");
        (report.verdict, report.counts.executions, BODIES.load(Ordering::Relaxed))
    };
    assert_eq!(search(Some(4)), (Verdict::Passed, 4, 4 + 1));
    assert_eq!(search(None), (Verdict::Covered, 6, 2 + 1));
}

/// A process of its own has statics of its own, but files are those of all.
#[cfg(unix)]
#[test]
fn isolated_executions_are_run_twice_too() {
    let file = std::env::temp_dir().join(format!("raddle-twice-{}", std::process::id()));
    let path = file.clone();
    let mut config = Config::default();
    config.isolation = raddle::Isolation::Process;
    config.strategy = "dfs".into();
    let report = explore(config, move || {
        let before = std::fs::read(&path).unwrap_or_default().len();
        std::fs::write(&path, vec![b'.'; before + 1]).unwrap();
        let n = AtomicU32::new(0);
        for _ in 0..before {
            n.load(SeqCst);
        }
    })
    .expect("a search can run here");
    let executions = std::fs::read(&file).unwrap_or_default().len();
    std::fs::remove_file(&file).unwrap();
    assert_eq!((report.verdict, executions), (Verdict::Inconclusive, 2));
    let (step, expected, found) = difference(&report).expect("a difference");
    assert_eq!((step, expected), (0, "an execution of 0 steps"));
    assert!(found.starts_with("one of 1 steps, the last of them main: load -> 0 at "), "{found}");
}
