//! What is learned of orders of statements: counted, kept from one run to the next, and shown.

use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle::{Config, Pairs, Verdict, check_with, explore};

use crate::programs::{kept_update, lost_update};

fn config(strategy: &str, pairs: Pairs) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.into();
    config.pairs = pairs;
    config
}

// The two `fetch_add`s of `kept_update`, each directly after the other, and the load after the thread's.
#[test]
fn pairs_are_counted_under_every_strategy() {
    for strategy in ["dfs", "auto", "random", "pos", "surw", "dpor", "rff", "hapset(dpor)"] {
        let mut config = config(strategy, Pairs::Count);
        config.executions = Some(200);
        config.traces = strategy == "pos";
        let report = explore(config, kept_update).unwrap();
        let coverage = report.coverage.unwrap();
        assert_eq!((coverage.count.known, coverage.pairs.len()), (3, 3), "{strategy}");
        // Of members in turns the series is the first one's.
        let first = report.members.first().map(|member| member.counts.executions);
        let executions = first.unwrap_or(report.counts.executions);
        assert_eq!(coverage.series.last(), Some(&(executions, 3)), "{strategy}");
        assert!(coverage.new.is_empty(), "nothing was known before");
    }
    let report = explore(config("dfs", Pairs::Off), kept_update).unwrap();
    assert_eq!(report.coverage, None);
}

#[test]
fn a_guided_search_never_says_that_it_covered_everything() {
    let report = explore(config("hapset(all)", Pairs::Off), kept_update).unwrap();
    assert_eq!(report.verdict, Verdict::Passed);
    let said = report.guarantee.to_string();
    assert!(said.contains("may miss failures"), "{said}");
    let report = explore(config("hapset(dpor)", Pairs::Off), lost_update).unwrap();
    assert_eq!(report.verdict, Verdict::Failed);
}

/// Where a test of this name keeps its pairs.
fn file(test: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let target = exe.ancestors().find(|above| above.join("CACHEDIR.TAG").is_file());
    target.unwrap().join("raddle").join(format!("{test}.pairs.json"))
}

#[test]
fn a_guided_search_goes_on_where_the_last_one_stopped() {
    static RUN: AtomicU64 = AtomicU64::new(0);
    let test = format!("kept-pairs-{}", std::process::id());
    let run = |strategy| {
        let mut config = config(strategy, Pairs::Keep);
        config.test = Some(test.clone());
        RUN.store(0, Ordering::Relaxed);
        check_with(config, || {
            RUN.fetch_add(1, Ordering::Relaxed);
            kept_update();
        });
        RUN.load(Ordering::Relaxed)
    };
    // Two executions, then one; the first of a search is run twice.
    assert_eq!((run("hapset(dpor, calls(0))"), run("hapset(dpor, calls(0))")), (2 + 1, 1 + 1));
    let kept = fs::read_to_string(file(&test)).unwrap();
    let pairs = raddle_report::pairs_from_json(&kept).unwrap();
    assert_eq!(pairs.len(), 3);
    // A line whose text was another one: what is known of it goes.
    let hash = kept.split("\"hash\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    fs::write(file(&test), kept.replace(&hash, "0000000000000000")).unwrap();
    assert_eq!(run("hapset(dpor, calls(0))"), 2 + 1);
    fs::write(file(&test), "{}").unwrap();
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| run("dfs")));
    let said = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("remove the file to begin anew"), "{said}");
    fs::remove_file(file(&test)).unwrap();
}

#[test]
fn a_failing_search_leaves_nothing() {
    let test = format!("failing-pairs-{}", std::process::id());
    let mut config = config("dfs", Pairs::Keep);
    config.test = Some(test.clone());
    let check = AssertUnwindSafe(move || check_with(config, lost_update));
    let failed = std::panic::catch_unwind(check);
    assert!(failed.is_err());
    assert!(!file(&test).exists());
}
