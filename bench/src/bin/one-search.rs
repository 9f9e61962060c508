//! One search of a program of the corpus, and nothing else: what valgrind counts instructions of.
//!
//! `one-search PROGRAM COMPOSITION EXECUTIONS`, for instance
//! `one-search 'inc(4)' 'all best-first(pb)' 1000`. Prints how many executions there were, how many of
//! them blocked, how many steps, and why it ended: at a failure, for one.
//!
//! `level` before an `all best-first(…)` makes all candidates cost the same, so that the newest is next and the search goes depth
//! first, and takes nothing over from the execution before. What the priorities look at is found out all the same.

use std::io::Write as _;
use std::process::ExitCode;

use raddle_engine::strategy::Strategy;
use raddle_engine::{Limits, Setup, Stop, explore};
use raddle_search::bound::Bound;
use raddle_search::order::NonPreemptive;
use raddle_search::tree::priority::{
    Candidate, Cost, Dpor, ModifiedDpor, Preemptions, Priority, Sees, SleepSets,
};
use raddle_search::tree::{Frontier, TreeSearch};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let said = match arguments.as_slice() {
        [program, composition, executions] => search(program, composition, executions),
        _ => Err("usage: one-search PROGRAM COMPOSITION EXECUTIONS".to_owned()),
    };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    match said {
        Ok(line) => writeln!(out, "{line}").map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Err(why) => {
            // A closed stderr is no reason to say something else.
            let _ = writeln!(err, "one-search: {why}");
            ExitCode::FAILURE
        }
    }
}

fn search(program: &str, composition: &str, executions: &str) -> Result<String, String> {
    let executions: u64 =
        executions.parse().map_err(|error| format!("{executions} is no number: {error}"))?;
    let (name, numbers) = match program.split_once('(') {
        None => (program, Vec::new()),
        Some((name, numbers)) => {
            let numbers = numbers.trim_end_matches(')').split(',');
            let parse = |n: &str| {
                n.trim().parse::<usize>().map_err(|error| format!("{n} is no number: {error}"))
            };
            (name, numbers.map(parse).collect::<Result<Vec<_>, _>>()?)
        }
    };
    let (program, arguments) =
        raddle_corpus::find(name, &numbers).map_err(|error| error.to_string())?;
    let mut strategy = match composition.strip_prefix("level all best-first(") {
        Some(rest) => level(rest)?,
        None => raddle_search::build(composition, 1).map_err(|error| error.to_string())?.strategy,
    };
    let limits = Limits { executions, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let body = || program.call(&arguments);
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &body)
        .map_err(|error| error.to_string())?;
    let raddle_trace::Counts { executions, blocked, steps, .. } = explored.counts;
    Ok(format!("{executions} {blocked} {steps} {:?}", explored.ended))
}

/// A priority by which all candidates are alike.
#[derive(Debug)]
struct Level(Box<dyn Priority>);

impl Priority for Level {
    fn name(&self) -> String {
        format!("level {}", self.0.name())
    }

    fn sees(&self) -> Sees {
        self.0.sees()
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // Asked all the same, so that what it takes to answer is counted.
        let _ = self.0.cost(candidate);
        Cost(0)
    }
}

/// A search by priorities that make no difference: `ss, mdpor) preemptions(2)`.
fn level(text: &str) -> Result<Box<dyn Strategy>, String> {
    let (names, bound) = text.split_once(')').ok_or("a bracket is not closed")?;
    let bound = match bound.trim() {
        "" => Bound::None,
        bound => {
            let number = bound.strip_prefix("preemptions(").and_then(|rest| rest.strip_suffix(')'));
            let number = number.and_then(|number| number.parse().ok());
            Bound::Preemptions(number.ok_or_else(|| format!("`{bound}` is no bound here"))?)
        }
    };
    let mut parts: Vec<Box<dyn Priority>> = Vec::new();
    for name in names.split(", ") {
        let part: Box<dyn Priority> = match name {
            "pb" => Box::new(Preemptions),
            "dpor" => Box::new(Dpor),
            "mdpor" => Box::new(ModifiedDpor),
            "ss" => Box::new(SleepSets),
            _ => return Err(format!("`{name}` is not known here")),
        };
        parts.push(Box::new(Level(part)));
    }
    let search = TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, bound);
    Ok(Box::new(search.map_err(|error| error.to_string())?.starting_over()))
}
