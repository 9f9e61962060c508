//! One program under one strategy: the only place that knows how.

use std::time::Duration;

use raddle::{Config, Error, Report};
use raddle_trace::Assumption;
use serde::Serialize;

use crate::program::{Count, Program};

/// How to run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The composition, as in `dfs preemptions(2)`.
    pub strategy: String,
    /// At most so many executions. `None`: as raddle has it for the strategy.
    pub executions: Option<u64>,
    /// At most for so long.
    pub time: Option<Duration>,
    /// Of all that is drawn.
    pub seed: u64,
    /// Whether distinct partial orders are counted.
    pub traces: bool,
    /// As `Config::rounds`.
    pub rounds: Option<u32>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            strategy: "dfs".to_owned(),
            executions: None,
            time: None,
            seed: 0,
            traces: false,
            rounds: None,
        }
    }
}

impl Ask {
    /// With this strategy and nothing else.
    #[must_use]
    pub fn new(strategy: &str) -> Self {
        Self { strategy: strategy.to_owned(), ..Self::default() }
    }
}

/// Runs a program.
///
/// # Errors
/// If raddle cannot: the strategy is not one. What the program does is in the report.
pub fn run(program: &'static Program, arguments: &[usize], ask: &Ask) -> Result<Report, Error> {
    let mut config = config(program, ask);
    config.test = Some(program.name.to_owned());
    let arguments = arguments.to_vec();
    raddle::explore(config, move || program.call(&arguments))
}

/// Runs one execution of a program once more.
///
/// # Errors
/// If the token is none.
pub fn replay(
    program: &'static Program,
    arguments: &[usize],
    token: &str,
) -> Result<Report, Error> {
    let config = config(program, &Ask::default());
    let arguments = arguments.to_vec();
    raddle::replay_with(config, token, move || program.call(&arguments))
}

/// What a program is run with.
#[must_use]
pub fn config(program: &Program, ask: &Ask) -> Config {
    let mut config = Config::default();
    config.strategy.clone_from(&ask.strategy);
    config.executions = ask.executions;
    config.time = ask.time;
    config.seed = Some(ask.seed);
    config.traces = ask.traces;
    config.rounds = ask.rounds;
    config.steps = program.steps;
    config
}

/// What came of running a program: what is written with `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<usize>,
    /// The composition in its shortest form.
    pub strategy: String,
    /// The seed of all that was drawn.
    pub seed: u64,
    /// `covered`, `passed`, `failed` or `inconclusive`.
    pub verdict: String,
    /// How the program is known to end: `pass`, `panicked`, `deadlock`, `livelock` or
    /// `data-race`.
    pub expected: String,
    /// Whether the search found what is known.
    pub as_expected: bool,
    /// What was covered, as a sentence.
    pub guarantee: String,
    /// Executions that were run.
    pub executions: u64,
    /// Executions that a limit ended.
    pub rejected: u64,
    /// Executions that were cut because what followed was covered elsewhere: those that a cache
    /// found to be superfluous.
    pub blocked: u64,
    /// Distinct partial orders, if they were counted.
    pub traces: Option<u64>,
    /// Whether that is exact, and not an estimate.
    pub traces_exact: Option<bool>,
    /// The chance that the next execution shows a new one, as far as that can be estimated.
    pub unseen: Option<f64>,
    /// Executions of a search without reduction, if that is known.
    pub known_interleavings: Option<u64>,
    /// Executions of an optimal reduction, if that is known.
    pub known_traces: Option<u64>,
    /// Steps of all executions.
    pub steps: u64,
    /// Decisions of all executions.
    pub decisions: u64,
    /// `panicked`, `deadlock`, `livelock`, …, if it failed.
    pub failure: Option<&'static str>,
    /// The number of the execution that failed, from 1.
    pub failed_at: Option<u64>,
    /// What replays the failure.
    pub schedule: Option<String>,
    /// Wall time.
    pub elapsed_ms: u64,
    /// What else the search has to say.
    pub notes: Vec<String>,
}

impl Told {
    /// Of a report.
    #[must_use]
    pub fn new(program: &'static Program, arguments: Vec<usize>, report: &Report) -> Self {
        let failure = report.failure.as_ref();
        let (counts, traces) = (&report.counts, report.guarantee.traces);
        let known = |count: Option<Count>| count.and_then(|count| count(&arguments));
        let rounds = report.guarantee.assumptions.iter().find_map(|assumption| match assumption {
            Assumption::Rounds(rounds) => Some(*rounds),
            _ => None,
        });
        Self {
            program: program.name,
            known_interleavings: known(program.interleavings),
            known_traces: program.known_traces(&arguments, rounds),
            arguments,
            strategy: report.strategy.clone(),
            seed: report.seed,
            verdict: report.verdict.to_string(),
            expected: program.expected.to_string(),
            as_expected: is_as_expected(program, report),
            guarantee: report.guarantee.to_string(),
            executions: counts.executions,
            rejected: counts.rejected,
            blocked: report.counts.blocked,
            traces: traces.map(|traces| traces.distinct),
            traces_exact: traces.map(|traces| traces.exact),
            unseen: traces.and_then(|traces| traces.unseen).map(|unseen| unseen.chance()),
            steps: counts.steps,
            decisions: counts.decisions,
            failure: failure.map(|failure| failure.outcome.kind()),
            failed_at: failure.map(|failure| failure.execution),
            schedule: failure.map(|failure| failure.schedule.to_string()),
            elapsed_ms: report.elapsed_ms,
            notes: report.notes.iter().map(raddle_report::sentence).collect(),
        }
    }
}

/// Whether a search found what is known of the program.
#[must_use]
pub fn is_as_expected(program: &Program, report: &Report) -> bool {
    let outcome = report.failure.as_ref().map(|failure| &failure.outcome);
    report.verdict != raddle::Verdict::Inconclusive && program.expected.is_met_by(outcome)
}
