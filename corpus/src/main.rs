//! Runs programs of the corpus, for tests, benchmarks and people.
//!
//! Exit codes: 0 if the search found what is known of the program, 1 if it did not (it missed the
//! bug, or found another, or one where there is none), 2 if it could not be run as asked.

use std::fmt;
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use raddle_corpus::program::InRounds;
use raddle_corpus::protocols::PROTOCOLS;
use raddle_corpus::tables;
use raddle_corpus::{Ask, Expected, Lookup, Program, REGISTRY, Told, everything, find, run};
use serde_json::json;

const AS_KNOWN: u8 = 0;
const NOT_AS_KNOWN: u8 = 1;
const CANNOT: u8 = 2;

/// Programs with known verdicts and counts, under any strategy of raddle.
#[derive(Debug, Parser)]
#[command(after_help = "\
Exit codes: 0 if what was found is what is known of the program, 1 if not, 2 if it cannot be run as
asked. A strategy that misses a known bug within its budget ends with 1.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows all programs and what is known of them.
    List {
        /// As one JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Shows the libraries, their tests and their bugs, as Markdown.
    Libraries,
    /// Finds the failures of all programs by chance and makes them small, as Markdown.
    Minimise {
        /// How often: with the seeds from 0 on.
        #[arg(long, default_value_t = 1)]
        seeds: u64,
    },
    /// Shows the applications and their bugs, as Markdown.
    Applications,
    /// Counts the traces of programs that spin, in 1, 2 and 3 rounds, as Markdown.
    Spinning,
    /// Runs the protocols on threads as in production, with failures, and looks at their histories.
    Threads(Threads),
    /// Runs a program, or all with --all.
    Run(Run),
}

#[derive(Debug, Args)]
struct Threads {
    /// For how long, each protocol: `500ms`, `10s`, `2m`.
    #[arg(long, value_parser = duration, default_value = "10s")]
    time: Duration,
    /// On how many threads; 0: as many as the machine has.
    #[arg(long = "threads", default_value_t = 2)]
    on: usize,
    /// Only the protocol with this program.
    protocol: Option<String>,
}

#[derive(Debug, Args)]
struct Run {
    /// Its name, as in `list`.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    program: Option<String>,
    /// Its arguments; none for its defaults.
    arguments: Vec<usize>,
    /// Every program but those of the libraries and applications, with its defaults: a table.
    #[arg(long)]
    all: bool,
    /// A composition, such as `random`, `pct(3)`, `dfs` or `dfs preemptions(2)`.
    #[arg(long, default_value = "auto")]
    strategy: String,
    /// At most so many executions.
    #[arg(long)]
    executions: Option<u64>,
    /// At most for so long: `500ms`, `10s`, `2m`.
    #[arg(long, value_parser = duration)]
    time: Option<Duration>,
    /// The seed of all that is drawn.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Counts distinct partial orders.
    #[arg(long)]
    traces: bool,
    /// How many rounds a loop may make in vain; none: 2 with a reduction, and else no limit.
    #[arg(long)]
    rounds: Option<u32>,
    /// One JSON object for each program, on a line of its own.
    #[arg(long)]
    json: bool,
}

/// Why nothing was run.
#[derive(Debug)]
enum Error {
    Lookup(Lookup),
    Raddle(raddle::Error),
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lookup(error) => error.fmt(f),
            Self::Raddle(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl From<Lookup> for Error {
    fn from(error: Lookup) -> Self {
        Self::Lookup(error)
    }
}

impl From<raddle::Error> for Error {
    fn from(error: raddle::Error) -> Self {
        Self::Raddle(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    raddle_knobs::units::time(text)
        .ok_or_else(|| format!("`{text}` is not a time; write `500ms`, `10s`, `2m` or `1h`"))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = io::stdout().lock();
    let done = match &cli.command {
        Command::List { json } => list(&mut out, *json).map(|()| AS_KNOWN),
        Command::Libraries => show(&mut out, &tables::libraries::table()).map(|()| AS_KNOWN),
        Command::Applications => show(&mut out, &tables::applications::table()).map(|()| AS_KNOWN),
        Command::Spinning => show(&mut out, &tables::spinning::table()).map(|()| AS_KNOWN),
        Command::Minimise { seeds } => minimise(&mut out, *seeds).map(|()| AS_KNOWN),
        Command::Threads(asked) => threads(&mut out, asked),
        Command::Run(asked) if asked.all => run_all(&mut out, asked),
        Command::Run(asked) => run_one(&mut out, asked),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // Who reads only the first lines has what it wants.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::from(AS_KNOWN)
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "raddle-corpus: {error}");
            ExitCode::from(CANNOT)
        }
    }
}

fn in_rounds(known: &InRounds) -> serde_json::Value {
    json!({"arguments": known.arguments, "rounds": known.rounds, "traces": known.traces})
}

/// What is known of a program, with its defaults where it depends on arguments.
fn describe(program: &Program) -> serde_json::Value {
    let defaults = program.defaults();
    let parameters: Vec<_> = program
        .parameters
        .iter()
        .map(|p| json!({"name": p.name, "default": p.default, "least": p.least, "most": p.most}))
        .collect();
    json!({
        "name": program.name,
        "group": program.group.to_string(),
        "line": program.line,
        "source": program.source,
        "parameters": parameters,
        "expected": program.expected.to_string(),
        "preemptions": program.preemptions.map(|count| count(&defaults)),
        "interleavings": program.interleavings.and_then(|count| count(&defaults)),
        "traces": program.traces.and_then(|count| count(&defaults)),
        "traces_in_rounds": program.in_rounds.iter().copied().flatten().map(in_rounds).collect::<Vec<_>>(),
        "outcomes": program.all_seen(),
    })
}

fn list(out: &mut impl Write, json: bool) -> Result<(), Error> {
    if json {
        let all: Vec<_> = everything().map(describe).collect();
        writeln!(out, "{}", serde_json::Value::from(all))?;
        return Ok(());
    }
    let mut group = None;
    for program in everything() {
        if group.replace(program.group) != Some(program.group) {
            writeln!(out, "{}:", program.group)?;
        }
        let (name, expected) = (program.to_string(), program.expected.to_string());
        writeln!(out, "  {name:<24} {expected:<9} {}", program.line)?;
    }
    Ok(())
}

fn show(out: &mut impl Write, table: &str) -> Result<(), Error> {
    write!(out, "{table}")?;
    Ok(())
}

fn minimise(out: &mut impl Write, seeds: u64) -> Result<(), Error> {
    let mut all = Vec::new();
    for program in everything().filter(|program| program.expected != Expected::Pass) {
        for seed in 0..seeds {
            all.extend(raddle_corpus::minimise::small(program, &program.defaults(), seed)?);
        }
    }
    write!(out, "{}", raddle_corpus::minimise::table(&all))?;
    Ok(())
}

/// What a reader must know of the table of [`threads`].
const ON_THREADS: &str = "\
The correct version of each protocol of `corpus/src/protocols`, as it runs in production: on threads of the operating \
system, without a search, with an injector that lets nodes fail and with timers that fire early. Each run goes on until \
nothing is left to be handled. An actor is told of the events that monitors are told of under a search, and \
panics if the history is one that must not be; in the end the states of all nodes are compared.";

/// A history that is wrong is a panic, which is shown as one and told by the exit code.
fn threads(out: &mut impl Write, asked: &Threads) -> Result<u8, Error> {
    let mut is_right = true;
    let (time, on) = (raddle_knobs::units::time_text(asked.time), asked.on);
    writeln!(out, "# Protocols on threads\n")?;
    writeln!(
        out,
        "`cargo run --profile compare -p raddle-corpus -- threads --time {time} --threads {on}`\n"
    )?;
    writeln!(out, "{ON_THREADS}\n")?;
    writeln!(out, "| protocol | histories | what came of it |\n|---|---:|---|")?;
    for protocol in PROTOCOLS {
        let name = protocol.test.correct.name;
        if asked.protocol.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let run = || protocol.produce_for(asked.on, asked.time);
        if let Ok(rounds) = catch_unwind(run) {
            writeln!(out, "| `{name}` | {rounds} | all right |")?;
        } else {
            is_right = false;
            writeln!(out, "| `{name}` | – | **one that is wrong** |")?;
        }
    }
    Ok(code(is_right))
}

fn tell(program: &'static Program, arguments: Vec<usize>, asked: &Run) -> Result<Told, Error> {
    let ask = Ask {
        strategy: asked.strategy.clone(),
        executions: asked.executions,
        time: asked.time,
        seed: asked.seed,
        traces: asked.traces,
        rounds: asked.rounds,
    };
    let report = run(program, &arguments, &ask)?;
    Ok(Told::new(program, arguments, &report))
}

/// The exit code of what was found.
fn code(as_known: bool) -> u8 {
    if as_known { AS_KNOWN } else { NOT_AS_KNOWN }
}

fn run_one(out: &mut impl Write, asked: &Run) -> Result<u8, Error> {
    let name = asked.program.as_deref().unwrap_or_default();
    let (program, arguments) = find(name, &asked.arguments)?;
    let told = tell(program, arguments, asked)?;
    if asked.json {
        writeln!(out, "{}", json!(told))?;
        return Ok(code(told.as_expected));
    }
    writeln!(out, "{}", call(&told))?;
    writeln!(out, "strategy    {}, seed {}", told.strategy, told.seed)?;
    writeln!(out, "verdict     {}{}", told.verdict, found(&told))?;
    writeln!(out, "known       {}{}", told.expected, if told.as_expected { "" } else { " (!)" })?;
    writeln!(out, "guarantee   {}", told.guarantee)?;
    writeln!(out, "executions  {} ({} rejected)", told.executions, told.rejected)?;
    if let Some(traces) = told.traces {
        let known = told.known_traces.map(|known| format!(" ({known} known)"));
        writeln!(out, "traces      {traces}{}", known.unwrap_or_default())?;
    }
    writeln!(out, "steps       {}, decisions {}", told.steps, told.decisions)?;
    writeln!(out, "elapsed     {} ms", told.elapsed_ms)?;
    if let Some(schedule) = &told.schedule {
        writeln!(out, "schedule    {schedule}")?;
    }
    for note in &told.notes {
        writeln!(out, "note        {note}")?;
    }
    Ok(code(told.as_expected))
}

fn run_all(out: &mut impl Write, asked: &Run) -> Result<u8, Error> {
    let mut as_known = true;
    for program in REGISTRY {
        let told = tell(program, program.defaults(), asked)?;
        as_known &= told.as_expected;
        if asked.json {
            writeln!(out, "{}", json!(told))?;
        } else {
            let mark = if told.as_expected { "as known" } else { "NOT AS KNOWN" };
            let (call, verdict) = (call(&told), told.verdict.clone() + &found(&told));
            let (n, ms) = (told.executions, told.elapsed_ms);
            writeln!(out, "{call:<24} {verdict:<40} {n:>8} executions {ms:>6} ms  {mark}")?;
        }
    }
    Ok(code(as_known))
}

/// The program with its arguments: `steps(4, 4)`.
fn call(told: &Told) -> String {
    if told.arguments.is_empty() {
        return told.program.to_owned();
    }
    let arguments: Vec<_> = told.arguments.iter().map(ToString::to_string).collect();
    format!("{}({})", told.program, arguments.join(", "))
}

fn found(told: &Told) -> String {
    match (told.failure, told.failed_at) {
        (Some(kind), Some(at)) => format!(": {kind} in execution {at}"),
        _ => String::new(),
    }
}
