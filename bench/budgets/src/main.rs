//! One search of one of the programs in [`programs`], and nothing else: what `cargo xtask budgets` counts the
//! instructions of.
//!
//! `raddle-budgets PROGRAM STRATEGY EXECUTIONS`, for instance `raddle-budgets lastzero-10 dpor 500`. Prints how many
//! executions there were, how many steps, and why the search ended. The package depends on no more than engine,
//! searches and threads, so that a build of it alone is short.

mod programs;

use std::io::Write as _;
use std::process::ExitCode;

use raddle_engine::strategy::Strategy;
use raddle_engine::{Limits, Setup, Stop, explore};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let said = match arguments.as_slice() {
        [program, strategy, executions] => search(program, strategy, executions),
        _ => Err("usage: raddle-budgets PROGRAM STRATEGY EXECUTIONS".to_owned()),
    };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    match said {
        Ok(line) => writeln!(out, "{line}").map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Err(why) => {
            // A closed stderr is no reason to say something else.
            let _ = writeln!(err, "raddle-budgets: {why}");
            ExitCode::FAILURE
        }
    }
}

fn search(program: &str, strategy: &str, executions: &str) -> Result<String, String> {
    let executions: u64 =
        executions.parse().map_err(|error| format!("{executions} is no number: {error}"))?;
    let body = programs::find(program)?;
    let mut strategy: Box<dyn Strategy> = match strategy {
        // What workers run for `dpor`: no composition names it.
        "memoryless" => Box::new(raddle_search::Memoryless::new()),
        line => raddle_search::build(line, 1).map_err(|error| error.to_string())?.strategy,
    };
    let limits = Limits { executions, steps: u64::MAX, idle: u64::MAX, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &body)
        .map_err(|error| error.to_string())?;
    let raddle_trace::Counts { executions, steps, .. } = explored.counts;
    Ok(format!("{executions} {steps} {:?}", explored.ended))
}
