//! Failures made small: as small as is known of each bug, and still the same failure.

use std::time::Duration;

use raddle::{Second, Verdict, explain, explore, minimise, replay};
use raddle_corpus::run::config;
use raddle_corpus::{Ask, everything};

use crate::program;

/// Found by chance with these seeds.
const SEEDS: u64 = 2;

#[test]
fn a_failure_made_small_has_as_many_preemptions_as_its_bug_needs_and_replays() {
    let bugs = everything().filter_map(|program| Some((program, program.preemptions?)));
    for (program, least) in bugs {
        let (name, arguments) = (program.name, program.defaults());
        for seed in 0..SEEDS {
            let mut config = config(program, &Ask { seed, ..Ask::new("random") });
            config.minimise = Some(Duration::from_secs(600));
            let given = arguments.clone();
            let test = move || program.call(&given);
            let report = explore(config.clone(), test.clone()).expect("it can be run");
            let found = report.failure.expect("random finds it");
            let small = minimise(&config, &found, test.clone()).expect("it can be run");
            let small = small.expect("it fails again");
            assert!(small.outcome.is_like(&found.outcome), "{name}: another failure");
            let said = small.minimised.expect("says how");
            assert!(said.to <= said.from, "{name}: larger");
            assert_eq!((said.to.preemptions, said.least), (least(&arguments), true), "{name}");
            let preempts = small.trace.events.iter().filter(|event| event.preempts).count();
            assert_eq!(preempts, said.to.preemptions as usize, "{name}: in the trace");
            let again = replay(&small, test).expect("it can be run");
            assert_eq!((again.verdict, again.notes), (Verdict::Failed, Vec::new()), "{name}");
        }
    }
}

// Each has taken one lock when both are lost; had either taken its second before that, neither would be.
#[test]
fn a_deadlock_is_explained_by_the_two_locks_and_lost_with_the_second() {
    let program = program("abba");
    let config = config(program, &Ask::new("dfs"));
    let test = || program.call(&[]);
    let failure = explore(config.clone(), test).expect("it can be run").failure.expect("known");
    let why = explain(&config, &failure, test).expect("it can be run").expect("it fails again");
    let pairs: Vec<_> = why.pivots.iter().map(|pivot| (pivot.first, pivot.second)).collect();
    let holders = [failure.trace.events[0].task, failure.trace.events[1].task];
    assert_eq!(pairs, [(1, Second::Waiting(holders[0])), (0, Second::Waiting(holders[1]))]);
    assert!(why.pivots.iter().all(|pivot| pivot.otherwise == "completed"));
    let lost = why.lost.expect("it is short");
    // There is one way to go on: the deadlock.
    assert_eq!((lost.step, lost.tried), (Some(1), 1));
}
