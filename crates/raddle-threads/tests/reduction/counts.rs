//! The published numbers of traces, as equalities.

use raddle_search::Reduction;
use raddle_search::best_first::{BestFirst, ModifiedDpor, Priority, Rand};
use raddle_trace::Settings;

use crate::programs::*;
use crate::{reduced, search};

#[track_caller]
fn traces(expected: u64, program: &dyn Fn()) {
    let run = || {
        program();
        String::new()
    };
    let optimal =
        reduced(Reduction::Optimal, 1_000_000, Settings::default(), &run).expect("it ends");
    assert_eq!((optimal.executions, optimal.blocked, optimal.repeated), (expected, 0, 0));
    for reduction in [Reduction::Source, Reduction::Classic] {
        let saw = reduced(reduction, 1_000_000, Settings::default(), &run).expect("it ends");
        assert_eq!(saw.traces, optimal.traces, "{reduction:?}");
        assert_eq!(saw.repeated, 0, "{reduction:?}");
    }
    // In another order: the same traces, and still none twice.
    for parts in [vec![Box::new(ModifiedDpor) as Box<dyn Priority>], vec![Box::new(Rand::new(1))]] {
        let best = BestFirst::reduced(Reduction::Source, parts).expect("not the optimal one");
        let name = best.name();
        let saw = search(best, 1_000_000, Settings::default(), &run).expect("it ends");
        assert_eq!(saw.traces, optimal.traces, "{name}");
        assert_eq!(saw.repeated, 0, "{name}");
    }
}

/// Under the optimal reduction alone: larger than the others do in the time of a test.
#[track_caller]
fn optimal(expected: u64, program: &dyn Fn()) {
    let run = || {
        program();
        String::new()
    };
    let settings = Settings::default();
    let saw = reduced(Reduction::Optimal, 1_000_000, settings, &run).expect("it ends");
    assert_eq!((saw.executions, saw.blocked, saw.repeated), (expected, 0, 0));
}

#[test]
fn readers_and_a_writer() {
    (1..=7).for_each(|n| traces(1 << n, &|| readers(n)));
    (8..=13).for_each(|n| optimal(1 << n, &|| readers(n)));
}

#[test]
fn last_zero_in_an_array() {
    // (N + 3) * 2^(N - 2).
    (2..=7).for_each(|n| traces((n as u64 + 3) << n >> 2, &|| last_zero(n)));
    (8..=10).for_each(|n| optimal((n as u64 + 3) << n >> 2, &|| last_zero(n)));
}

#[test]
fn increments_by_load_and_store() {
    traces(4, &|| inc(2));
    traces(36, &|| inc(3));
    traces(576, &|| inc(4));
    // (5!)².
    optimal(14_400, &|| inc(5));
}

#[test]
fn atomic_increments() {
    traces(24, &|| cinc(4, 1));
    traces(36, &|| cinc(3, 2));
    traces(216, &|| cinc(3, 3));
    // (4!)³.
    optimal(13_824, &|| cinc(4, 3));
}

#[test]
fn compare_exchange_that_may_fail() {
    // N * 2^(N - 1) + 1.
    (2..=6).for_each(|n| traces(((n as u64) << (n - 1)) + 1, &|| wcas(n)));
    (7..=8).for_each(|n| optimal(((n as u64) << (n - 1)) + 1, &|| wcas(n)));
}

#[test]
fn sections_of_one_lock() {
    traces(20, &|| circular_buffer(2, 3));
    traces(252, &|| circular_buffer(2, 5));
    // C(14, 7).
    optimal(3_432, &|| circular_buffer(2, 7));
    // Three threads of two sections: 6! / 2!^3.
    traces(90, &|| circular_buffer(3, 2));
}

#[test]
fn tasks_that_share_nothing() {
    traces(1, &|| independent(3, 4));
}

#[test]
fn hash_table_inserts() {
    traces(1, &|| indexer(11));
    traces(8, &|| indexer(12));
    optimal(64, &|| indexer(13));
    optimal(512, &|| indexer(14));
}

#[test]
fn inodes_and_blocks() {
    traces(1, &|| file_system(13));
    traces(2, &|| file_system(14));
    traces(8, &|| file_system(16));
    optimal(16, &|| file_system(17));
    optimal(32, &|| file_system(18));
}
