//! Interleavings, as published: `dfs` runs each exactly once.

use raddle::{Covered, Verdict};
use raddle_corpus::Ask;

use crate::{all, check, long, program};

/// Runs every execution, and compares their number with what is known.
#[track_caller]
pub(crate) fn dfs_runs(name: &str, arguments: &[usize], known: u64) {
    let program = program(name);
    let formula = program.interleavings.and_then(|count| count(arguments));
    assert_eq!(formula, Some(known), "the formula of {name}{arguments:?}");
    let report = check(program, arguments, &Ask::new("dfs"));
    assert_eq!(report.verdict, Verdict::Covered, "{name}{arguments:?}");
    assert_eq!(report.guarantee.covered, Covered::Everything, "{name}{arguments:?}");
    assert_eq!(report.counts.executions, known, "{name}{arguments:?}");
}

#[test]
fn dfs_runs_each_interleaving_of_readers_once() {
    for (n, known) in [(2, 30), (3, 630), (4, 22_680)] {
        dfs_runs("readers", &[n], known);
    }
}

#[test]
fn dfs_runs_each_interleaving_of_lastzero_once() {
    for (n, known) in [(1, 3), (2, 35), (3, 920), (4, 44_300)] {
        dfs_runs("lastzero", &[n], known);
    }
    if long() {
        dfs_runs("lastzero", &[5], 3_487_880);
    }
}

#[test]
fn dfs_runs_each_interleaving_of_inc_once() {
    for (n, known) in [(2, 6), (3, 90), (4, 2_520)] {
        dfs_runs("inc", &[n], known);
    }
}

// C(a + b, a).
#[test]
fn dfs_runs_each_interleaving_of_two_threads_once() {
    for (a, b, known) in [
        (0, 0, 1),
        (0, 9, 1),
        (1, 1, 2),
        (1, 7, 8),
        (2, 3, 10),
        (4, 4, 70),
        (5, 3, 56),
        (6, 6, 924),
    ] {
        dfs_runs("steps", &[a, b], known);
    }
}

#[test]
fn dfs_runs_each_interleaving_of_other_programs_once() {
    dfs_runs("lastwrite", &[6], 720);
    dfs_runs("floating-read", &[5], 720);
    dfs_runs("wcas", &[5], 720);
    dfs_runs("binc", &[4], 2_520);
    dfs_runs("cinc", &[3], 1_680);
    dfs_runs("circular-buffer", &[5], 252);
    dfs_runs("circular-buffer", &[7], 3_432);
    dfs_runs("senders", &[4], 336);
    dfs_runs("independent", &[4, 2], 2_520);
    dfs_runs("indexer", &[3], 34_650);
    dfs_runs("filesystem", &[3], 34_650);
    dfs_runs("hammer", &[3, 2], 90);
}

#[test]
fn empty_threads_cost_one_execution() {
    for n in 1..=6 {
        dfs_runs("empty-threads", &[n], 1);
    }
    dfs_runs("empty-threads", &[500], 1);
}

#[test]
fn every_count_that_is_known_for_the_defaults_is_right() {
    for (program, arguments) in all() {
        if let Some(known) = program.interleavings.and_then(|count| count(&arguments)) {
            dfs_runs(program.name, &arguments, known);
        }
    }
}
