//! What was written outside finds bugs, covers what it says, and is in reports as if it were raddle's.

use std::sync::{Arc, Mutex as StdMutex};

use outside::{Bursts, Contended, HotSpots, NewestFirst, Semaphore};
use raddle::extend::{Bound, DepthFirst, Frontier, TreeExpansion, TreeSearch};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Config, Covered, Outcome, Verdict, explore, explore_observed, explore_with, thread};

/// Wrong: two steps where it should be one.
fn lost_update() {
    let n = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || theirs.store(theirs.load(SeqCst) + 1, SeqCst));
    n.store(n.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(n.load(SeqCst), 2);
}

/// Right: the semaphore lets one in at a time.
fn guarded_update() {
    let shared = Arc::new((Semaphore::new(1), AtomicU32::new(0)));
    let add = |shared: Arc<(Semaphore, AtomicU32)>| {
        shared.0.acquire();
        shared.1.store(shared.1.load(SeqCst) + 1, SeqCst);
        shared.0.release();
    };
    let theirs = Arc::clone(&shared);
    let thread = thread::spawn(move || add(theirs));
    add(Arc::clone(&shared));
    thread.join().unwrap();
    assert_eq!(shared.1.load(SeqCst), 2);
}

// ANCHOR: sampler
#[test]
fn the_sampler_finds_the_lost_update_and_its_failure_replays() {
    let report = explore_with(Config::default(), Bursts::new(0, 3), lost_update).unwrap();
    assert_eq!((report.strategy.as_str(), report.verdict), ("Bursts", Verdict::Failed));
    let failure = report.failure.expect("it failed");
    let again = raddle::replay(&failure.schedule, lost_update).unwrap();
    assert_eq!(again.verdict, Verdict::Failed);
}
// ANCHOR_END: sampler

#[test]
fn the_sampler_stops_after_as_many_executions_as_any_sampler() {
    let report = explore_with(Config::default(), Bursts::new(0, 3), guarded_update).unwrap();
    assert_eq!((report.verdict, report.counts.executions), (Verdict::Passed, 10_000));
    assert_eq!(report.guarantee.covered, Covered::Sample { executions: 10_000, bound: None });
}

// ANCHOR: priority
#[test]
fn the_priority_changes_the_order_of_executions_and_not_their_number() {
    let frontier = || Frontier::BestFirst(vec![Box::new(Contended)]);
    let search = |test: fn()| {
        explore_with(Config::default(), TreeSearch::new(TreeExpansion::All, frontier()), test)
    };
    let report = search(guarded_update).unwrap();
    let dfs = explore(Config::default().strategy("dfs"), guarded_update).unwrap();
    assert_eq!(report.guarantee.covered, Covered::Everything);
    assert_eq!(report.counts.executions, dfs.counts.executions);
    assert_eq!(search(lost_update).unwrap().verdict, Verdict::Failed);
}
// ANCHOR_END: priority

// ANCHOR: order
#[test]
fn the_order_covers_the_same_executions_and_can_be_bounded() {
    let report = explore_with(Config::default(), DepthFirst::new(NewestFirst), guarded_update);
    let dfs = explore(Config::default().strategy("dfs"), guarded_update).unwrap();
    let report = report.unwrap();
    assert_eq!(report.strategy, "PathSearch<All<NewestFirst>>");
    assert_eq!(report.guarantee.covered, Covered::Everything);
    assert_eq!(report.counts.executions, dfs.counts.executions);
    let bounded =
        DepthFirst::within(NewestFirst, Bound::Preemptions(1)).expect("it never preempts");
    let report = explore_with(Config::default(), bounded, lost_update).unwrap();
    assert_eq!(report.verdict, Verdict::Failed);
}
// ANCHOR_END: order

// ANCHOR: observer
#[test]
fn the_observer_sees_where_tasks_wait() {
    let spots = Arc::new(StdMutex::new(HotSpots::default()));
    let config = Config::default().strategy("dfs");
    let report = explore_observed(config, &spots, guarded_update).unwrap();
    assert_eq!(report.verdict, Verdict::Covered);
    let spots = &spots.lock().unwrap().0;
    assert_eq!(spots.len(), 1, "only `acquire` waits: {spots:?}");
    assert!(spots.keys().all(|(file, _)| file.ends_with("outside.rs")));
}
// ANCHOR_END: observer

// ANCHOR: semaphore
#[test]
fn the_semaphore_is_covered_by_every_kind_of_search() {
    for strategy in ["dfs", "dpor", "dfs cache"] {
        let report = explore(Config::default().strategy(strategy), guarded_update).unwrap();
        assert_eq!(report.verdict, Verdict::Covered, "{strategy}: {report:?}");
    }
}
// ANCHOR_END: semaphore

#[test]
fn a_permit_that_is_never_given_back_is_a_deadlock_in_the_words_of_the_primitive() {
    let report = explore(Config::default(), || {
        let semaphore = Arc::new(Semaphore::new(1));
        let theirs = Arc::clone(&semaphore);
        let thread = thread::spawn(move || theirs.acquire());
        semaphore.acquire();
        thread.join().unwrap();
    });
    let report = report.unwrap();
    let failure = report.failure.as_ref().expect("it failed");
    assert!(matches!(failure.outcome, Outcome::Deadlock { .. }));
    let text = raddle::render(&report);
    assert!(text.contains("Semaphore") && text.contains("acquire"), "{text}");
}

#[test]
fn outside_of_a_search_the_semaphore_really_waits() {
    let shared = Arc::new((Semaphore::new(0), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        theirs.0.acquire();
        theirs.1.load(SeqCst)
    });
    assert!(!shared.0.try_acquire());
    shared.1.store(7, SeqCst);
    shared.0.release();
    assert_eq!(thread.join().unwrap(), 7);
}

#[test]
fn a_strategy_that_is_given_twice_is_refused() {
    let config = Config::default().strategy("dfs");
    let refused = explore_with(config, Bursts::new(0, 3), lost_update).unwrap_err().to_string();
    assert!(
        refused.contains("`strategy`") && refused.contains("leave it at its default"),
        "{refused}"
    );
}
