//! How small the failures of the corpus can be made: found by chance, then made small.

use std::fmt::Write as _;

use raddle::{Config, Error, Minimised, explore, minimise};

use crate::program::Program;
use crate::run::{Ask, config};

/// What became of one failure.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    /// What was run.
    pub program: &'static Program,
    /// The seed with which it was found.
    pub seed: u64,
    /// How it was made small.
    pub minimised: Minimised,
}

/// Finds a failure of a program with `random`, or else with `pos`, and makes it small. None if neither finds
/// one in 10,000 executions.
///
/// # Errors
/// If raddle cannot run it.
pub fn small(
    program: &'static Program,
    arguments: &[usize],
    seed: u64,
) -> Result<Option<Small>, Error> {
    for strategy in ["random", "pos"] {
        let config: Config = config(program, &Ask { seed, ..Ask::new(strategy) });
        let arguments = arguments.to_vec();
        let test = move || program.call(&arguments);
        if let Some(failure) = explore(config.clone(), test.clone())?.failure {
            let smaller = minimise(&config, &failure, test)?;
            let minimised = smaller.and_then(|smaller| smaller.minimised);
            return Ok(minimised.map(|minimised| Small { program, seed, minimised }));
        }
    }
    Ok(None)
}

/// The middle one, or the smaller of the two in the middle.
fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// All of them as Markdown.
#[must_use]
pub fn table(all: &[Small]) -> String {
    let mut text = String::from(
        "| program | seed | preemptions, steps as found | made small | fewest known | proved fewest | executions |\n\
         |---|---:|---:|---:|---:|---|---:|\n",
    );
    for Small { program, seed, minimised } in all {
        let Minimised { from, to, executions, least, .. } = minimised;
        let known = program.preemptions.map(|count| count(&program.defaults()).to_string());
        let _ = writeln!(
            text,
            "| {} | {seed} | {}, {} | {}, {} | {} | {} | {executions} |",
            program.name,
            from.preemptions,
            from.steps,
            to.preemptions,
            to.steps,
            known.unwrap_or_default(),
            if *least { "yes" } else { "no" },
        );
    }
    let column = |of: fn(&Small) -> u64| median(all.iter().map(of).collect());
    let known: Vec<_> =
        all.iter().filter_map(|small| Some((small, small.program.preemptions?))).collect();
    let as_known = known.iter().filter(|(small, count)| {
        small.minimised.to.preemptions == count(&small.program.defaults())
    });
    let _ = write!(
        text,
        "\n{} failures. Median preemptions {} as found, {} made small; median steps {} and {}. The fewest \
         are known of {}, and reached in {}; proved in {} of all.\n",
        all.len(),
        column(|small| small.minimised.from.preemptions.into()),
        column(|small| small.minimised.to.preemptions.into()),
        column(|small| small.minimised.from.steps),
        column(|small| small.minimised.to.steps),
        known.len(),
        as_known.count(),
        all.iter().filter(|small| small.minimised.least).count(),
    );
    text
}
