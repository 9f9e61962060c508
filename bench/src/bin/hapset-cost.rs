//! One search of a corpus program, with or without learning, for a counter of instructions around it.
//!
//! `hapset-cost <what> <program> <executions>`, where `what` is `dpor`, `dpor-filtered`, `dpor-calls`, `random` or
//! `random-watched`. The filter leaves nothing out, so both searches of a pair run the same executions.

use std::process::ExitCode;

use raddle_engine::{Limits, Observer, Setup, Stop, Strategy, explore_observed};
use raddle_search::hapset::Metric;
use raddle_search::{Alternatives, Dpor, HapSet, Reduction};
use raddle_search::{PairCoverage, Random};

fn strategy(what: &str) -> Option<Box<dyn Strategy>> {
    Some(match what {
        "dpor" => Box::new(Dpor::new(Reduction::Classic)),
        "dpor-filtered" => Box::new(HapSet::new(Alternatives::Dpor).with_calls(0).lenient()),
        "dpor-calls" => Box::new(HapSet::new(Alternatives::Dpor).lenient()),
        "random" | "random-watched" => Box::new(Random::new(1)),
        _ => return None,
    })
}

fn run(args: &[String]) -> Result<u64, String> {
    let [what, program, executions] = args else {
        return Err("write: hapset-cost <what> <program> <executions>".to_owned());
    };
    let mut strategy = strategy(what).ok_or_else(|| format!("`{what}` is not known"))?;
    let executions = executions.parse().map_err(|_| format!("`{executions}` is no number"))?;
    let (program, arguments) =
        raddle_corpus::find(program, &[]).map_err(|error| error.to_string())?;
    let limits = Limits { executions, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let body = || program.call(&arguments);
    let mut pairs = (what == "random-watched").then(|| PairCoverage::new(Metric::HapSet, 0));
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(pairs.as_mut().map(|pairs| pairs as &mut dyn Observer));
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let explored = explore_observed(&mut *strategy, &mut observers, &setup, lap, pulse, &body);
    Ok(explored.map_err(|error| error.to_string())?.counts.executions)
}

#[expect(clippy::print_stdout, reason = "who measures reads it")]
#[expect(clippy::print_stderr, reason = "who types it reads it")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(executions) => {
            println!("{executions}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
