//! Values that are decisions, and values that are drawn.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use raddle::{Config, Data, Verdict, any, explore, rng};

/// Every value that `program` gives, over every execution, and the number of executions.
fn values<T: Ord + Debug + Send + 'static>(
    data: Data,
    program: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeSet<T>, u64) {
    let mut config = Config::default();
    config.strategy = "dfs".into();
    config.data = data;
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let theirs = Arc::clone(&seen);
    let report = explore(config, move || {
        let value = program();
        theirs.lock().unwrap_or_else(PoisonError::into_inner).insert(value);
    });
    let report = report.expect("a search can run here");
    assert_eq!(report.verdict, Verdict::Covered);
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    (seen, report.counts.executions)
}

#[test]
fn every_value_of_a_type_is_tried_once() {
    let count = |(values, executions): (BTreeSet<_>, u64)| {
        assert_eq!(values.len() as u64, executions);
        executions
    };
    assert_eq!(count(values(Data::Decisions, any::<bool>)), 2);
    assert_eq!(values(Data::Decisions, any::<u8>).1, 256);
    assert_eq!(values(Data::Decisions, any::<i8>).0.first(), Some(&-128));
    // None, Some(false), Some(true).
    assert_eq!(values(Data::Decisions, any::<Option<bool>>).1, 3);
    assert_eq!(values(Data::Decisions, any::<[bool; 3]>).1, 8);
    assert_eq!(values(Data::Decisions, any::<(bool, Option<()>)>).1, 4);
    assert_eq!(values(Data::Decisions, any::<Result<bool, ()>>).1, 3);
}

#[test]
fn random_data_is_decided_by_default() {
    let orders = values(Data::Decisions, || {
        let mut order = [1, 2, 3];
        rng().shuffle(&mut order);
        order
    });
    assert_eq!((orders.0.len(), orders.1), (6, 6));
    let (range, _) = values(Data::Decisions, || rng().range(7..10));
    assert_eq!(range, BTreeSet::from([7, 8, 9]));
    let (picked, _) = values(Data::Decisions, || *rng().pick(&["a", "b"]));
    assert_eq!(picked, BTreeSet::from(["a", "b"]));
}

#[test]
fn wide_ranges_are_decided_digit_by_digit() {
    let mut config = Config::default();
    config.strategy = "random".into();
    config.executions = Some(100);
    let report = explore(config, || {
        let rng = rng();
        assert!(rng.range(5..=(1 << 40) + 5) >= 5);
        assert!(rng.range(..(1 << 33)) < 1 << 33);
        let _ = rng.next_u64();
    });
    let report = report.expect("a search can run here");
    assert_eq!(report.verdict, Verdict::Passed);
    // Digits with one option are no decisions: 3 of 4, 3 of 4, 4 of 4.
    assert_eq!(report.counts.max_depth, 10);
}

#[test]
fn random_data_is_drawn_if_configured() {
    let draw = || {
        let rng = rng();
        (rng.below(1000), rng.bool(), rng.next_u64(), rng.range(5..=6))
    };
    let (values, executions) = values(Data::Seeded, draw);
    assert_eq!((values.len(), executions), (1, 1));
    let (below, _, _, range) = values.first().expect("one");
    assert!(*below < 1000 && (5..=6).contains(range));
}

#[test]
fn an_empty_range_is_a_panic_of_the_test() {
    let report = explore(Config::default(), || {
        let _ = rng().range(5..5);
    });
    let failure = report.expect("a search can run here").failure.expect("a panic");
    let site = format!("{:?}", failure.outcome);
    assert!(site.contains("the range is empty") && site.contains("values.rs"), "{site}");
}
