//! Searches along explorers, on threads: at every number of delays they show the traces of all executions that need no
//! more, as a second implementation of explorers and prices runs them ([`WithinDelays`]), and all there are at
//! their end.

use std::collections::BTreeSet;

use raddle_engine::strategy::Strategy;
use raddle_engine::{Ended, Limits, Setup};
use raddle_search::build;
use raddle_search::traces::TraceCounter;
use raddle_testing::{Rule, Sample, WithinDelays, figures};

use crate::observed;
use crate::random::{execute, program};

/// The explorers that are compared, with the rule by which a second implementation has them.
const EXPLORERS: [(&str, Rule); 5] = [
    ("rr", Rule::RoundRobin),
    ("rtc", Rule::RunToCompletion),
    ("prr(7)", Rule::Random(7)),
    ("rtc-latest", Rule::LatestFirst),
    ("ordered", Rule::Creation),
];

/// The traces that a search shows; none if it does not end within so many executions.
fn traces(text: &str, most: u64, body: &dyn Fn()) -> Option<BTreeSet<u64>> {
    let mut strategy = build(text, 1).expect("a known strategy").strategy;
    shown(&mut strategy, text, most, body)
}

fn shown<S: Strategy>(
    strategy: &mut S,
    text: &str,
    most: u64,
    body: &dyn Fn(),
) -> Option<BTreeSet<u64>> {
    let mut traces = TraceCounter::new(usize::MAX);
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let explored = observed(strategy, &mut [&mut traces], &setup, body);
    if explored.ended == Ended::Executions {
        return None;
    }
    assert_eq!(explored.ended, Ended::Covered, "{text}");
    Some(traces.seen().clone())
}

/// Whether the program is small enough.
#[track_caller]
fn compare(seed: u64, most: u64) -> bool {
    let program = program(seed);
    let body = || {
        execute(&program);
    };
    let Some(all) = traces("dfs", most, &body) else { return false };
    let (explorer, rule) = EXPLORERS[seed as usize % 5];
    let whole = |text: &str| traces(text, u64::MAX, &body).expect("it ends");
    for delays in 0..3 {
        let plain = whole(&format!("dfs delays({delays}) {explorer}"));
        assert!(plain.is_subset(&all), "seed {seed}: {delays} delays of {explorer}");
        let mut reference = WithinDelays::new(rule, delays);
        let expected = shown(&mut reference, explorer, u64::MAX, &body).expect("it ends");
        assert_eq!(plain, expected, "seed {seed}: {delays} delays of {explorer}");
        for cached in [
            format!("dfs delays({delays}) {explorer} cache"),
            format!("strata({explorer}, exact) delays({delays})"),
            format!("strata({explorer}, exact, increment(2)) delays({delays})"),
        ] {
            assert_eq!(whole(&cached), plain, "seed {seed}: {cached}");
        }
    }
    for text in [format!("strata({explorer})"), format!("strata({explorer}, exact)")] {
        assert_eq!(whole(&text), all, "seed {seed}: {text}");
    }
    true
}

#[test]
fn strata_show_the_traces_within_each_number_of_delays() {
    let sample = Sample::new((200, 200), (3_000, 5_000));
    let (mut compared, mut skipped) = (0, 0);
    for seed in sample.from.. {
        if compare(seed, sample.most) {
            compared += 1;
        } else {
            skipped += 1;
        }
        if compared == sample.programs {
            break;
        }
    }
    figures("explorers-threads", &[("compared", compared), ("skipped", skipped)]);
    assert!(skipped <= 3 * compared, "{skipped} skipped beside {compared}");
}
