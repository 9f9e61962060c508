//! Eta's tables and figures, measured with raddle beside what was published.
//!
//! Follows Simsa, Bryant, Gibson and Hickey, "Efficient Exploratory Testing of Concurrent Systems"
//! (CMU-PDL-11-113): tables 1 to 3 and figures 1 to 5. The programs are those of `corpus/src/actors`.
//!
//! Where it differs: times are CPU time, because the machine is shared; Eta's are wall time on a
//! six-core workstation of 2010. What took them an hour is given up after seconds here. Figure 6, on
//! many machines, is not here.

mod at_random;
mod coverage;
mod estimates;
mod exhaustive;
mod reduced;
mod tests;
mod watched;

use std::time::Duration;

use crate::part::Part;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Exhaustive search: executions and time
    Table1,
    /// Distinct executions over time, random against exploratory; random's time to see all
    Figure1,
    /// The estimate over time without reduction, by seeds depth first and at random
    #[value(name = "figures2-3")]
    Figures23,
    /// Searches with reduction: executions and time
    Table2,
    /// The last estimate of searches with reduction
    Table3,
    /// The estimate over time with reduction
    #[value(name = "figures4-5")]
    Figures45,
    /// Speed beside Eta's, and the memory of a long search
    Speed,
    /// All of these
    All,
}

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// CPU time after which a search of unknown length is given up, and a sampler.
    pub(crate) cap: Duration,
    /// CPU time after which any other search is given up.
    pub(crate) long: Duration,
    pub(crate) repetitions: usize,
    /// A search that takes longer is not repeated.
    pub(crate) once: Duration,
}

impl Effort {
    pub(crate) fn new(quick: bool, repetitions: usize) -> Self {
        let (cap, long) = if quick { (1, 2) } else { (10, 240) };
        let [cap, long] = [cap, long].map(Duration::from_secs);
        Self { cap, long, repetitions: repetitions.max(1), once: cap }
    }
}

type Measure = fn(Effort, &dyn Fn(&str)) -> Vec<Part>;

/// Measures what was asked for. `progress` hears what is measured next.
pub(crate) fn measure(what: What, effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let all: [(What, Measure); 7] = [
        (What::Speed, exhaustive::speed),
        (What::Table1, exhaustive::table1),
        (What::Figure1, coverage::figure1),
        (What::Figures23, estimates::figures23),
        (What::Table2, reduced::table2),
        (What::Table3, reduced::table3),
        (What::Figures45, estimates::figures45),
    ];
    let asked = all.into_iter().filter(|(part, _)| what == What::All || what == *part);
    asked.flat_map(|(_, measure)| measure(effort, progress)).collect()
}

/// How far an estimate is off, either way: table 3's 2^|log2(y/x)|.
#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
pub(crate) fn accuracy(actual: u64, estimate: f64) -> f64 {
    (estimate / actual as f64).log2().abs().exp2()
}

/// The mean, and the standard deviation as a part of it.
#[expect(clippy::cast_precision_loss, reason = "there are a few samples")]
fn mean(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / n;
    (mean, if mean > 0.0 { variance.sqrt() / mean } else { 0.0 })
}

/// Seconds, with as many digits as make sense.
fn seconds(seconds: f64) -> String {
    crate::numbers::duration(seconds * 1e9)
}

/// With two digits in front of a power of ten.
fn large(number: f64) -> String {
    #[expect(clippy::cast_sign_loss, reason = "executions")]
    if number < 1e9 {
        crate::numbers::grouped(number.round() as u64)
    } else {
        format!("{number:.1e}")
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn an_estimate_is_off_by_a_factor_either_way() {
        for (estimate, off) in [(100.0, 1.0), (50.0, 2.0), (200.0, 2.0)] {
            assert!((accuracy(100, estimate) - off).abs() < 1e-9);
        }
    }

    #[test]
    fn a_deviation_is_a_part_of_the_mean() {
        let (mean, deviation) = mean(&[1.0, 3.0]);
        assert!((mean - 2.0).abs() < 1e-12 && (deviation - 0.5).abs() < 1e-12);
    }

    #[test]
    fn large_numbers_have_a_power() {
        assert_eq!((large(1_946.4), large(1.23e17)), ("1,946".to_owned(), "1.2e17".to_owned()));
    }
}
