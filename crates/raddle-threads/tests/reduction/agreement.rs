//! Reductions against each other, on random programs that have too many interleavings for exhaustive search.
//!
//! What is lost only by programs of some size was not seen where all interleavings of each were run: a trace of 13 of three tasks
//! was, which have 114,735 interleavings. The reductions here rest on three algorithms: wakeup trees, source sets and races that are reversed
//! once. What one of them loses another one shows.

use raddle_search::{Dpor, Memoryless, Reduction};
use raddle_testing::{Sample, figures};
use raddle_trace::Covered;

use crate::random::{Program, execute, once_lost_beyond_exhaustive_search, program, shrink_while};
use crate::{Saw, best_first, is_out_of_reach, search_to_its_end};

/// Traces that are seen by one search and not by another.
fn difference(name: &str, one: &Saw, other: &Saw) -> Result<(), String> {
    let lost = one.traces.difference(&other.traces).count();
    let extra = other.traces.difference(&one.traces).count();
    if lost + extra == 0 && one.results == other.results {
        return Ok(());
    }
    let of = one.traces.len();
    Err(format!("{name}: {lost} of {of} traces are missing, {extra} are new"))
}

/// The number of traces on which the reductions agree. None if there are more than `most`, or the optimal reduction does not claim to have them
/// all. Another reduction is left out if it does not end within twenty times as many executions, the memoryless one also if it claims less.
fn compare(program: &Program, most: u64) -> Option<Result<u64, String>> {
    let run = || execute(program);
    let settings = program.settings();
    let (all, covered) = search_to_its_end(Dpor::new(Reduction::Optimal), most, settings, &run)?;
    if covered != Covered::Equivalence {
        return None;
    }
    // Source sets run some traces in vain, the classic reduction more of them.
    for reduction in [Reduction::Source, Reduction::Classic] {
        let ended = search_to_its_end(Dpor::new(reduction), 20 * most, settings, &run);
        let Some((saw, _)) = ended else { continue };
        if let Err(how) = difference(&format!("{reduction:?}"), &all, &saw) {
            return Some(Err(how));
        }
    }
    let by_reversals = search_to_its_end(Memoryless::new(), 20 * most, settings, &run);
    if let Some((saw, Covered::Equivalence)) = by_reversals
        && let Err(how) = difference("memoryless", &all, &saw)
    {
        return Some(Err(how));
    }
    let traces = all.traces.len() as u64;
    Some(best_first::compare_reduced(&all, Some(20 * most), settings, &run).map(|()| traces))
}

/// Programs with more than 200 traces, or of which the optimal reduction claims less, beside the 100 of a plain `cargo test`.
const SKIPPED: u64 = 12;

/// `cargo xtask nightly agreement` compares 12,000 programs of up to 500 traces.
#[test]
fn reductions_agree_on_programs_beyond_exhaustive_search() {
    let sample = Sample::new((100, 200), (12_000, 1_000));
    let (mut compared, mut skipped, mut traces) = (0, 0, 0);
    let mut seed = 3_000_000 + sample.from;
    while compared < sample.programs {
        let drawn = program(seed);
        seed += 1;
        // Exhaustive search is better where it can be had.
        if is_out_of_reach(2_000, drawn.settings(), &|| execute(&drawn)).is_none() {
            continue;
        }
        match compare(&drawn, sample.most) {
            None => skipped += 1,
            Some(Ok(n)) => {
                compared += 1;
                traces += n;
            }
            Some(Err(how)) => {
                let differs =
                    |program: &Program| matches!(compare(program, sample.most), Some(Err(_)));
                let small = shrink_while(drawn, differs);
                let how_small = compare(&small, sample.most);
                panic!("seed {}: {how}\n{small:?}{how_small:?}", seed - 1);
            }
        }
    }
    figures("agreement", &[("compared", compared), ("skipped", skipped), ("traces", traces)]);
    if sample.default {
        assert_eq!(skipped, SKIPPED, "programs skipped, beside {compared} compared");
    }
}

#[test]
fn programs_of_which_something_was_once_lost_lose_nothing() {
    for (program, traces) in once_lost_beyond_exhaustive_search() {
        assert_eq!(compare(&program, 1_000), Some(Ok(traces)), "{program:?}");
    }
}
