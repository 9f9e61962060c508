//! Searches along explorers, on actors: at every number of delays they show the traces of all executions that need no
//! more, as a second implementation of explorers and prices runs them ([`WithinDelays`]), and all there are at
//! their end.

use std::panic::catch_unwind;
use std::sync::Arc;

use raddle_search::build;
use raddle_testing::{Rule, Sample, WithinDelays, figures};

use crate::random::{Program, shrink};
use crate::{Saw, exhaustive, search};

/// The explorers that are compared, with the rule by which a second implementation has them.
pub(crate) const EXPLORERS: [(&str, Rule); 5] = [
    ("rr", Rule::RoundRobin),
    ("rtc", Rule::RunToCompletion),
    ("prr(7)", Rule::Random(7)),
    ("rtc-latest", Rule::LatestFirst),
    ("ordered", Rule::Creation),
];

fn saw(text: &str, most: u64, program: &Arc<Program>) -> Option<Saw> {
    let strategy = build(text, 1).expect("a known strategy").strategy;
    search(strategy, most, &|| program.run())
}

/// Whether the program of this seed is small enough. One that differs is made small.
#[track_caller]
fn compare(seed: u64, most: u64) -> bool {
    let program = Arc::new(Program::random(seed));
    let compared = |program: &Arc<Program>| catch_unwind(|| compare_program(program, seed, most));
    compared(&program).unwrap_or_else(|_| {
        let shrunk = shrink(program, &|smaller| compared(smaller).is_err());
        panic!("seed {seed}, shrunk: {shrunk:#?}");
    })
}

/// Whether the program is small enough. The seed says along which explorer it is compared.
#[track_caller]
pub(crate) fn compare_program(program: &Arc<Program>, seed: u64, most: u64) -> bool {
    let Some(all) = exhaustive(most, &|| program.run()) else { return false };
    let (explorer, rule) = EXPLORERS[seed as usize % 5];
    for delays in 0..3 {
        let text = format!("dfs delays({delays}) {explorer}");
        let plain = saw(&text, u64::MAX, program).expect("it ends");
        assert!(plain.traces.is_subset(&all.traces), "seed {seed}: {text}");
        assert_eq!(plain.repeated + plain.traces.len() as u64, plain.executions);
        let reference = WithinDelays::new(rule, delays);
        let expected = search(reference, u64::MAX, &|| program.run()).expect("it ends");
        assert_eq!(plain.executions, expected.executions, "seed {seed}: {text}");
        assert_eq!(plain.traces, expected.traces, "seed {seed}: {text}");
        for cached in [
            format!("dfs delays({delays}) {explorer} cache"),
            format!("strata({explorer}, exact) delays({delays})"),
            format!("strata({explorer}, exact, increment(2)) delays({delays})"),
        ] {
            let found = saw(&cached, u64::MAX, program).expect("it ends");
            assert_eq!(found.traces, plain.traces, "seed {seed}: {cached}");
        }
    }
    for text in [format!("strata({explorer})"), format!("strata({explorer}, exact)")] {
        let found = saw(&text, u64::MAX, program).expect("it ends");
        assert_eq!(found.traces, all.traces, "seed {seed}: {text}");
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
    figures("explorers-actors", &[("compared", compared), ("skipped", skipped)]);
    assert!(skipped <= 2 * compared, "{skipped} skipped beside {compared}");
}
