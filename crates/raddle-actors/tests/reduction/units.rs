//! Actors searched in units by source sets, against the same search in one piece and against all executions.

use std::sync::Arc;

use raddle_search::rng::Rng;
use raddle_search::{Dpor, Reduction};
use raddle_testing::{Sample, figures};
use raddle_trace::Settings;

use crate::in_units::{InUnits, in_units};
use crate::random::{Program, shrink};
use crate::{exhaustive, is_too_large, search};

/// Executions in one piece, how many more in units, and units; none if there are too many.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    whole: u64,
    again: u64,
    blocked: u64,
    units: u64,
}

fn compare(program: &Arc<Program>, seed: u64, most: u64) -> Option<Result<Counted, String>> {
    let run = || program.run();
    if is_too_large(most, &run) {
        return None;
    }
    let all = exhaustive(most, &run)?;
    let whole = search(Dpor::new(Reduction::Source), 2 * most, &run)?;
    let mut rng = Rng::new(seed);
    let settings = Settings::default();
    let Some(split) = in_units("dpor(source)", 4 * most, settings, &mut rng, &run) else {
        return Some(Err("it does not end in units".to_owned()));
    };
    let InUnits { folded, units, results } = split;
    let traces = folded.traces.clone().unwrap_or_default().seen;
    let (own, theirs) = (traces.len(), all.traces.len());
    if traces != all.traces {
        return Some(Err(format!("{own} traces in units of {theirs}")));
    }
    if !results.is_subset(&all.results) {
        return Some(Err("in units it ends in another way".to_owned()));
    }
    Some(Ok(Counted {
        whole: whole.executions,
        again: folded.counts.executions.saturating_sub(whole.executions),
        blocked: folded.counts.blocked.saturating_sub(whole.blocked),
        units,
    }))
}

#[test]
fn actors_are_searched_in_units_as_in_one_piece() {
    let sample = Sample::new((60, 400), (3_000, 2_000));
    let (mut compared, mut skipped, mut sum) = (0, 0, Counted::default());
    let mut seed = 77_000 + sample.from;
    while compared < sample.programs {
        let drawn = Arc::new(Program::random(seed));
        match compare(&drawn, seed, sample.most) {
            None => skipped += 1,
            Some(Ok(counted)) => {
                compared += 1;
                sum.whole += counted.whole;
                sum.again += counted.again;
                sum.blocked += counted.blocked;
                sum.units += counted.units;
            }
            Some(Err(how)) => {
                let differs = |program: &Arc<Program>| {
                    matches!(compare(program, seed, sample.most), Some(Err(_)))
                };
                let small = shrink(drawn, &differs);
                panic!("seed {seed}: {how}\n{small:?}");
            }
        }
        seed += 1;
    }
    let found = [
        ("compared", compared),
        ("skipped", skipped),
        ("units", sum.units),
        ("source sets", sum.whole),
        ("run again", sum.again),
        ("blocked by splitting", sum.blocked),
    ];
    figures("units-of-actors", &found);
}
