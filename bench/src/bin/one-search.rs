//! One search of a program of the corpus, and nothing else: what valgrind counts instructions of.
//!
//! `one-search PROGRAM COMPOSITION EXECUTIONS`, for instance
//! `one-search 'inc(4)' 'all best-first(pb)' 1000`. Prints how many executions there were, how many of
//! them blocked, how many steps, and why it ended: at a failure, for one.

use std::io::Write as _;
use std::process::ExitCode;

use raddle_engine::{Limits, Setup, Stop, explore};

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
    let mut strategy =
        raddle_search::build(composition, 1).map_err(|error| error.to_string())?.strategy;
    let limits = Limits { executions, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let body = || program.call(&arguments);
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &body)
        .map_err(|error| error.to_string())?;
    let raddle_trace::Counts { executions, blocked, steps, .. } = explored.counts;
    Ok(format!("{executions} {blocked} {steps} {:?}", explored.ended))
}
