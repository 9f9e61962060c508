//! Best-first search on the corpus: the executions of depth first, bugs with the fewest preemptions first.

use raddle::{Covered, Verdict};
use raddle_corpus::run::is_as_expected;
use raddle_corpus::{Ask, Expected};

use crate::{all, check, program};

/// Every priority that is here.
const PRIORITIES: [&str; 7] = ["pb", "departures", "dpor", "mdpor", "ss", "rand", "ss, mdpor"];

#[test]
fn every_priority_runs_as_many_executions_as_depth_first() {
    for (program, arguments) in all() {
        if program.expected != Expected::Pass || program.steps.is_some() {
            continue;
        }
        let interleavings = program.interleavings.and_then(|count| count(&arguments));
        let bound = if interleavings.is_some_and(|n| n <= 500) { "" } else { " preemptions(1)" };
        let run = |strategy: String| check(program, &arguments, &Ask::new(&strategy));
        let depth_first = run(format!("dfs{bound}"));
        for priority in PRIORITIES {
            let best_first = run(format!("all best-first({priority}){bound}"));
            let name = program.name;
            assert_eq!(
                (best_first.counts, best_first.guarantee),
                (depth_first.counts, depth_first.guarantee.clone()),
                "{name} under {priority}{bound}"
            );
        }
    }
}

#[test]
fn fewest_preemptions_first_shows_each_bug_with_as_few_as_is_known() {
    for (program, arguments) in all() {
        let Some(count) = program.preemptions else { continue };
        let report = check(program, &arguments, &Ask::new("all best-first(pb)"));
        let name = program.name;
        assert!(is_as_expected(program, &report), "{name}");
        let trace = report.failure.map(|failure| failure.trace).expect("it has a bug");
        let preemptions = trace.events.iter().filter(|event| event.preempts).count();
        assert_eq!(preemptions as u32, count(&arguments), "{name}");
    }
}

#[test]
fn a_search_that_did_not_end_says_how_many_preemptions_it_covers() {
    // 3 load and store one word: 6 executions without a preemption, 60 with at most 2, 90 in all.
    let program = program("inc");
    let arguments = program.defaults();
    let run = |strategy: &str, executions| {
        check(program, &arguments, &Ask { executions, ..Ask::new(strategy) })
    };
    let within = |k| run(&format!("dfs preemptions({k})"), None).counts.executions;
    assert_eq!((within(0), within(2)), (6, 60));
    for k in 0..3 {
        let report = run("all best-first(pb)", Some(within(k)));
        assert_eq!(report.guarantee.covered, Covered::Preemptions(k));
        assert_eq!(report.verdict, Verdict::Passed, "it did not end");
    }
}
