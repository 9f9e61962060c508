//! Reductions against each other, on random programs that have too many interleavings for exhaustive search.
//!
//! What is lost only by programs of some size was not seen where all interleavings of each were run: a trace of 13 of three tasks
//! was, which have 114,735 interleavings. The reductions here rest on three algorithms: wakeup trees, source sets and races that are reversed
//! once. What one of them loses another one shows.

use std::fmt;

use raddle_search::{Dpor, Memoryless, Reduction};
use raddle_testing::{Sample, figures};
use raddle_trace::{Covered, Settings};

use crate::{Saw, best_first, is_out_of_reach, random, search_to_its_end, spins};

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

/// A random program that is compared.
trait Drawn: Clone + fmt::Debug {
    fn settings(&self) -> Settings;
    fn run(&self) -> String;
    /// Without what is not needed for something to hold of it.
    fn shrunk(self, holds: &dyn Fn(&Self) -> bool) -> Self;
}

impl Drawn for random::Program {
    fn settings(&self) -> Settings {
        self.settings()
    }

    fn run(&self) -> String {
        random::execute(self)
    }

    fn shrunk(self, holds: &dyn Fn(&Self) -> bool) -> Self {
        random::shrink_while(self, holds)
    }
}

impl Drawn for spins::Program {
    fn settings(&self) -> Settings {
        self.settings()
    }

    fn run(&self) -> String {
        spins::execute(self)
    }

    fn shrunk(mut self, holds: &dyn Fn(&Self) -> bool) -> Self {
        while let Some(smaller) = self.with_one_statement_less().into_iter().find(holds) {
            self = smaller;
        }
        self
    }
}

/// The number of traces on which the reductions agree. None if there are more than `most`, or the optimal reduction does not claim to have them
/// all. Another reduction is left out if it does not end within twenty times as many executions, the memoryless one also if it claims less.
fn compare(program: &impl Drawn, most: u64) -> Option<Result<u64, String>> {
    let run = || program.run();
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

/// Compares programs of seeds from this one on that are too large for exhaustive search. `skipped` is how many of them have more traces than the
/// sample of a plain `cargo test` compares, or less is claimed of.
#[track_caller]
fn agree<P: Drawn>(
    name: &str,
    sample: Sample,
    first: u64,
    draw: impl Fn(u64) -> Option<P>,
    expected: u64,
) {
    let (mut compared, mut skipped, mut traces) = (0, 0, 0);
    let mut seeds = first + sample.from..;
    while compared < sample.programs {
        let seed = seeds.next().expect("there is no last seed");
        let Some(drawn) = draw(seed) else { continue };
        // Exhaustive search is better where it can be had.
        if is_out_of_reach(2_000, drawn.settings(), &|| drawn.run()).is_none() {
            continue;
        }
        match compare(&drawn, sample.most) {
            None => skipped += 1,
            Some(Ok(n)) => {
                compared += 1;
                traces += n;
            }
            Some(Err(how)) => {
                let differs = |program: &P| matches!(compare(program, sample.most), Some(Err(_)));
                let small = drawn.shrunk(&differs);
                let how_small = compare(&small, sample.most);
                panic!("seed {seed}: {how}\n{small:?}{how_small:?}");
            }
        }
    }
    figures(name, &[("compared", compared), ("skipped", skipped), ("traces", traces)]);
    if sample.default {
        assert_eq!(skipped, expected, "programs skipped, beside {compared} compared");
    }
}

/// `cargo xtask nightly agreement` compares 12,000 programs of up to 500 traces.
#[test]
fn reductions_agree_on_programs_beyond_exhaustive_search() {
    let sample = Sample::new((100, 200), (12_000, 1_000));
    agree("agreement", sample, 3_000_000, |seed| Some(random::program(seed)), 12);
}

#[test]
fn reductions_agree_on_reference_counts_beyond_exhaustive_search() {
    let sample = Sample::new((20, 100), (2_000, 400));
    let draw = |seed| Some(random::counting_much(seed));
    agree("agreement-counts", sample, 3_200_000, draw, 82);
}

#[test]
fn reductions_agree_on_waits_that_time_out_beyond_exhaustive_search() {
    let sample = Sample::new((20, 200), (2_000, 400));
    agree("agreement-waits", sample, 3_400_000, random::waiting, 6);
}

#[test]
fn reductions_agree_on_loops_that_wait_beyond_exhaustive_search() {
    let sample = Sample::new((10, 100), (1_000, 100));
    let draw = |seed| Some(spins::spinning_much(seed));
    agree("agreement-spins", sample, 3_600_000, draw, 7);
}

#[test]
fn programs_of_which_something_was_once_lost_lose_nothing() {
    for (program, traces) in random::once_lost_beyond_exhaustive_search() {
        assert_eq!(compare(&program, 1_000), Some(Ok(traces)), "{program:?}");
    }
}
