//! Frontiers over the corpus: whatever the order, the executions are those of `dfs`.

use std::collections::BTreeSet;

use raddle_engine::{Ended, Limits, Setup};

use crate::all;
use crate::brute::{Options, Searched, search_with};

/// Runs a search on a program; failures do not end it.
fn searched(strategy: &str, seed: u64, most: u64, steps: Option<u64>, body: &dyn Fn()) -> Searched {
    let usual = Limits::default();
    let limits = Limits { executions: most, steps: steps.unwrap_or(usual.steps), ..usual };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let mut built = raddle_search::build(strategy, seed).expect("a known strategy");
    search_with(&mut *built.strategy, &setup, body)
}

fn set(searched: &Searched) -> BTreeSet<&Options> {
    let set: BTreeSet<_> = searched.executions.iter().collect();
    assert_eq!(set.len(), searched.executions.len(), "an execution was run twice");
    set
}

// Programs with more than 300 executions take too long without optimisation.
#[test]
fn every_frontier_runs_what_dfs_runs() {
    let mut programs = 0;
    for (program, arguments) in all() {
        let body = || program.call(&arguments);
        for (one, others) in [
            ("dfs", &["all breadth-first", "all random", "all random random", "dfs random"][..]),
            (
                "dfs preemptions(1)",
                &["all breadth-first preemptions(1)", "all random preemptions(1)"],
            ),
        ] {
            let expected = searched(one, 0, 300, program.steps, &body);
            if expected.ended != Ended::Covered {
                continue;
            }
            programs += 1;
            for other in others {
                let found = searched(other, 7, 301, program.steps, &body);
                let name = program.name;
                assert_eq!(found.ended, Ended::Covered, "{name} under {other}");
                assert_eq!(set(&found), set(&expected), "{name} under {other}");
                assert_eq!(found.covered, expected.covered, "{name} under {other}");
            }
        }
    }
    assert!(programs > 80, "{programs} searches were compared");
}

// After every third execution of the search a probe: those are left out of the comparison by number.
#[test]
fn probes_change_nothing_of_a_search() {
    for (program, arguments) in all() {
        let body = || program.call(&arguments);
        for strategy in ["dfs", "dpor", "all random"] {
            let alone = searched(strategy, 3, 200, program.steps, &body);
            if alone.ended != Ended::Covered {
                continue;
            }
            let beside = format!("{strategy} probes(3)");
            let beside = searched(&beside, 3, 300, program.steps, &body);
            assert_eq!(beside.ended, Ended::Covered, "{} under {strategy}", program.name);
            assert_eq!(beside.covered, alone.covered, "{} under {strategy}", program.name);
            let expected: Vec<_> = alone.executions.iter().collect();
            if alone.cut == 0 {
                let own = beside.executions.iter().enumerate().filter(|(at, _)| at % 4 != 3);
                let own: Vec<_> = own.map(|(_, execution)| execution).collect();
                assert_eq!(own, expected, "{} under {strategy}", program.name);
                continue;
            }
            // Executions that were cut are not written down, but count for when a probe is due.
            let probes = (expected.len() + alone.cut as usize) / 3;
            let n = beside.executions.len();
            assert_eq!(n, expected.len() + probes, "{} under {strategy}", program.name);
            let mut all = beside.executions.iter();
            let in_order = expected.iter().all(|wanted| all.any(|one| one == *wanted));
            assert!(in_order, "{} under {strategy}", program.name);
        }
    }
}
