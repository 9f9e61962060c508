//! Actors: the numbers of executions that Eta was published with, and verdicts at other sizes.

use raddle::Verdict;
use raddle_corpus::Ask;
use raddle_corpus::run::is_as_expected;

use crate::counts::dfs_runs;
use crate::{check, long, program};

#[test]
fn dfs_runs_each_interleaving_of_the_store_once_as_published() {
    dfs_runs("store", &[1, 1, 1, 3], 1_946);
    if long() {
        dfs_runs("store", &[1, 1, 2, 3], 10_933);
        dfs_runs("store", &[1, 2, 2, 3], 18_275);
        dfs_runs("store", &[2, 2, 2, 3], 82_719);
        dfs_runs("store", &[2, 2, 3, 3], 239_466);
    }
}

#[test]
fn dfs_runs_each_interleaving_of_phils_once_as_published() {
    dfs_runs("phils", &[2], 150);
    if long() {
        dfs_runs("phils", &[3], 3_159_870);
    }
}

// n + 1 rounds of two ways: 2^(n + 1).
#[test]
fn dfs_runs_each_interleaving_of_pingpong_once_as_published() {
    for n in 1..=5 {
        dfs_runs("pingpong", &[n], 1 << (n + 1));
    }
    dfs_runs("pingpong", &[10], 2_048);
    if long() {
        dfs_runs("pingpong", &[15], 65_536);
    }
}

// (2n)! for votes, (2n)! / 2^n for senders.
#[test]
fn dfs_runs_each_interleaving_of_small_protocols_once() {
    for (n, votes, senders) in [(1, 2, 1), (2, 24, 6), (3, 720, 90)] {
        dfs_runs("two-phase-commit", &[n], votes);
        dfs_runs("actor-senders", &[n], senders);
        dfs_runs("tagged", &[n], senders);
    }
    for (kind, known) in [(0, 3), (1, 2), (2, 3)] {
        dfs_runs("three-actors", &[kind], known);
    }
}

#[track_caller]
fn dpor_runs(name: &str, arguments: &[usize], known: u64) {
    for strategy in ["dpor", "dpor(source)", "dpor(classic)"] {
        let report = check(program(name), arguments, &Ask::new(strategy));
        assert_eq!(report.verdict, Verdict::Covered, "{name}{arguments:?} under {strategy}");
        let run = report.counts.executions - report.counts.blocked;
        assert_eq!(run, known, "{name}{arguments:?} under {strategy}");
    }
}

#[test]
fn reductions_run_each_trace_of_small_protocols_once() {
    // 2^n * n!, n!, 1.
    for (n, votes, senders) in [(1, 2, 1), (2, 8, 2), (3, 48, 6)] {
        dpor_runs("two-phase-commit", &[n], votes);
        dpor_runs("actor-senders", &[n], senders);
        dpor_runs("tagged", &[n], 1);
    }
    for (kind, known) in [(0, 2), (1, 1), (2, 2)] {
        dpor_runs("three-actors", &[kind], known);
    }
    // Two actors that do not write to themselves: no two steps send to one mailbox.
    for n in [1, 10, 60] {
        dpor_runs("pingpong", &[n], 1);
    }
}

#[test]
fn wrong_versions_fail_and_right_ones_pass_at_other_sizes() {
    for (name, arguments) in [
        ("store-lost-update", [2, 2, 2, 2].as_slice()),
        ("store-lost-update", &[2, 1, 3, 3]),
        ("phils-starve", &[3]),
        ("phils-starve", &[5]),
        ("phils-fixed", &[3]),
        ("scheduler-lost-task", &[1, 1, 1]),
        ("scheduler-lost-task", &[3, 2, 1]),
        ("scheduler", &[1, 1, 1]),
        ("scheduler", &[2, 2, 1]),
        ("scheduler", &[2, 1, 2]),
        ("scheduler", &[3, 3, 0]),
    ] {
        let program = program(name);
        let report = check(program, arguments, &Ask::new("dpor"));
        assert!(is_as_expected(program, &report), "{name}{arguments:?}: {}", report.verdict);
    }
}
