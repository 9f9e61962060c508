//! Tables that compare raddle with other tools, measured in one run.
//!
//! Each tool is a binary of its own (`peer-raddle`, `peer-shuttle`, `peer-loom`, …), since some
//! cannot be linked together. This program builds them, runs them in turn, and prints what they
//! measured. What concerns raddle alone it measures in its own process.

mod about;
mod actors;
mod bita;
mod bounded;
mod default;
mod delaying;
mod driver;
mod estimate;
mod eta;
mod fleet;
mod fleet_sim;
mod foundation;
mod gambit;
mod hapset;
mod machine;
mod numbers;
mod optimal;
mod part;
mod peers;
mod plot;
mod points;
mod reduction;
mod samplers;
mod states;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::peers::{Peers, Tool};
use crate::reduction::Measured;
use crate::table::Table;

/// Measures raddle beside other tools
#[derive(Debug, Parser)]
#[command(name = "raddle-bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Cost of an execution beside shuttle and loom, on small programs of threads
    Foundation(Output),
    /// How often executions of samplers show the bugs of the corpus, beside shuttle
    Samplers(Output),
    /// What `random` shows with the points that shuttle has and it lacks
    ///
    /// Counts executions and measures no time, so any profile will do. With debug assertions it takes the binary
    /// `peer-shuttle-corpus` of its own profile, which must have been built.
    Points(Output),
    /// What DPOR saves beside other tools, and what it costs
    ///
    /// With --markdown also writes the plot of the growth, to docs/results/reduction-growth.svg
    Reduction(Output),
    /// States per second beside stateright, on the same protocols
    States(Output),
    /// What a host of cargo raddle costs beside plain cargo test, in instructions (needs valgrind)
    Driver(Output),
    /// What sharing one search among hosts costs, and what cutting it adds
    Fleet(Output),
    /// Messages per second of actors on threads beside kameo, ractor and actix
    Actors(Output),
    /// Eta's tables and figures beside ours, on the actor programs of the corpus
    Eta(Eta),
    /// What searches guided by pairs of statements find and miss, and a scoreboard of samplers
    Hapset(Hapset),
    /// GAMBIT's tables and figures, on the bugs of the libraries of the corpus
    Gambit(Gambit),
    /// Bita's tables and figures, on the systems of actors of the corpus
    Bita(Bita),
    /// Executions and states to the bugs of protocols, by searches that count delays and others
    Delaying(Delaying),
    /// How far off the estimates of a search are, and how often their bands hold
    Estimate(Output),
    /// The default search: its members, what it finds in the corpus and what it covers
    Default(Output),
    /// `dpor preemptions(k)` beside the traces within the bound, and beside a cache
    Bounded(Output),
    /// Fleets of 1 to 10,000 workers, simulated with measured costs, beside Eta's
    FleetSim(FleetSim),
    /// An optimal reduction without wakeup trees beside `dpor`: what docs/decisions rests on
    OptimalSpike(Output),
}

#[derive(Debug, Args)]
struct Eta {
    /// Which part
    #[arg(value_enum, default_value = "all")]
    what: eta::What,
    /// Give searches up after seconds: some minutes in all
    #[arg(long)]
    quick: bool,
    /// How often each search of tables 1 and 2 is run
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Print one JSON object for each number that is compared
    #[arg(long)]
    json: bool,
    /// Also write the tables to DIR/eta.md (of one part: DIR/eta-PART.md) and plots to DIR/eta/*.svg
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The date for the head of the tables; today if left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

#[derive(Debug, Args)]
struct Hapset {
    /// Which part
    #[arg(value_enum, default_value = "all")]
    what: hapset::What,
    /// Give searches up after a thousand executions: a minute or two in all
    #[arg(long)]
    quick: bool,
    /// Print one JSON object for each number that is compared
    #[arg(long)]
    json: bool,
    /// Also write the tables to DIR/hapset.md (of one part: DIR/hapset-PART.md) and plots to
    /// DIR/hapset/*.svg
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The date for the head of the tables; today if left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

#[derive(Debug, Args)]
struct Gambit {
    /// Which part
    #[arg(value_enum, default_value = "all")]
    what: gambit::What,
    /// Fewer executions and seeds: some minutes in all
    #[arg(long)]
    quick: bool,
    /// The large arguments of the programs instead of the small ones
    #[arg(long)]
    large: bool,
    /// Executions for each bug and strategy
    #[arg(long, value_name = "EXECUTIONS")]
    budget: Option<u64>,
    /// How often whatever draws is run
    #[arg(long)]
    seeds: Option<u64>,
    /// Print one JSON object for each number
    #[arg(long)]
    json: bool,
    /// Also write the tables to DIR/gambit.md (with --large, or of one part: DIR/gambit-….md) and
    /// plots to a directory beside it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The date for the head of the tables; today if left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

#[derive(Debug, Args)]
struct Bita {
    /// Which part
    #[arg(value_enum, default_value = "all")]
    what: bita::What,
    /// Fewer executions, repetitions and seconds: about a minute in all
    #[arg(long)]
    quick: bool,
    /// Executions for each bug and strategy
    #[arg(long, value_name = "EXECUTIONS")]
    budget: Option<u64>,
    /// How often whatever draws is run
    #[arg(long)]
    repetitions: Option<u64>,
    /// Real time for each bug, or program, and repetition with random delays
    #[arg(long, value_name = "MILLISECONDS")]
    time_limit: Option<u64>,
    /// Real time for each bug and repetition on threads without delays
    #[arg(long, value_name = "MILLISECONDS")]
    plain_limit: Option<u64>,
    /// Print one JSON object for each number that is compared
    #[arg(long)]
    json: bool,
    /// Also write the tables to DIR/bita.md (of one part: DIR/bita-PART.md) and plots to DIR/bita/*.svg
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The date for the head of the tables; today if left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

#[derive(Debug, Args)]
struct Delaying {
    /// Which part
    #[arg(value_enum)]
    what: delaying::What,
    /// Low limits: that all of it works
    #[arg(long)]
    quick: bool,
    /// The large sizes of the programs instead of the small ones
    #[arg(long)]
    large: bool,
    /// Give a search up after so many executions
    #[arg(long)]
    executions: Option<u64>,
    /// Give a search up after so many states
    #[arg(long)]
    states: Option<u64>,
    /// Give a search up after so much CPU time
    #[arg(long, value_name = "SECONDS")]
    time: Option<f64>,
    /// Give a search up when it holds so much
    #[arg(long, value_name = "MEBIBYTES")]
    memory: Option<u64>,
    /// How often whatever draws is run
    #[arg(long)]
    runs: Option<usize>,
    /// Only the bugs whose names begin like this; can be given several times
    #[arg(long, value_name = "NAME")]
    bug: Vec<String>,
    /// Only the strategies with these names, as the tables have them; can be given several times
    #[arg(long, value_name = "NAME")]
    column: Vec<String>,
    /// With `priorities`: names of processes, the highest priority first, as `a, b until a > b; c`
    #[arg(long, value_name = "NAMES")]
    order: Option<String>,
    /// With `priorities` and `--order`: the arguments of the programs instead of those of their size
    #[arg(long, value_name = "N", value_delimiter = ',')]
    arguments: Option<Vec<usize>>,
    /// Print one JSON object for each number that is compared
    #[arg(long)]
    json: bool,
    /// Also write the page to DIR/delaying-PART.md (with --large: DIR/delaying-PART-large.md)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The date for the head of the page; today if left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

#[derive(Debug, Args)]
struct FleetSim {
    /// Up to 1,000 workers
    #[arg(long)]
    quick: bool,
    /// What a message costs the server, in microseconds, if it is not what was measured
    #[arg(long, value_name = "MICROSECONDS")]
    message: Option<u64>,
    /// From a worker to the server and back, in microseconds
    #[arg(long, value_name = "MICROSECONDS")]
    network: Option<u64>,
    /// What it takes to fold a record, in microseconds
    #[arg(long, value_name = "MICROSECONDS")]
    fold: Option<u64>,
    /// What it takes to begin a unit, in microseconds
    #[arg(long, value_name = "MICROSECONDS")]
    begin: Option<u64>,
    /// Print one JSON object for each number that is compared
    #[arg(long)]
    json: bool,
    /// Also write the tables to DIR/fleet-sim.md and the plot to DIR/fleet-sim/*.svg
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The date for the head of the tables; today if left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

/// What every command takes.
#[derive(Debug, Args)]
struct Output {
    /// Measure fewer rounds: a minute or less
    #[arg(long)]
    quick: bool,
    /// Print one JSON object for each number that is compared
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown, with the command, the date and the machine
    #[arg(long)]
    markdown: bool,
    /// The date for --markdown; today if left out
    #[arg(long, requires = "markdown", value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Foundation(output) => foundation(&output),
        Command::Reduction(output) => reduction(&output),
        Command::States(output) => states(&output),
        Command::Actors(output) => actors(&output),
        Command::Driver(output) => driver(&output),
        Command::Fleet(output) => fleet(&output),
        Command::Eta(asked) => eta(&asked),
        Command::Hapset(asked) => hapset(&asked),
        Command::Gambit(asked) => gambit(&asked),
        Command::Bita(asked) => bita(&asked),
        Command::Samplers(output) => samplers(&output),
        Command::Points(output) => points(&output),
        Command::Delaying(asked) => delaying(&asked),
        Command::Estimate(output) => estimate(&output),
        Command::Default(output) => default(&output),
        Command::Bounded(output) => bounded(&output),
        Command::FleetSim(asked) => fleet_sim(&asked),
        Command::OptimalSpike(output) => optimal_spike(&output),
    };
    match done {
        Ok(code) => code,
        Err(message) => {
            say(&format!("raddle-bench: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn foundation(output: &Output) -> Result<ExitCode, String> {
    let peers = Peers::build(&Tool::ALL).map_err(|error| error.to_string())?;
    let tables = foundation::measure(&peers, output.quick, say);
    let title = "Foundation: speed beside loom and shuttle";
    finish(&render(output, "foundation", title, &tables), &tables)
}

fn samplers(output: &Output) -> Result<ExitCode, String> {
    let peers = Peers::build(&[Tool::ShuttleCorpus]).map_err(|error| error.to_string())?;
    let tables = samplers::measure(&peers, output.quick, say);
    finish(&render(output, "samplers", "Samplers: executions until a bug shows", &tables), &tables)
}

fn points(output: &Output) -> Result<ExitCode, String> {
    let peers =
        if cfg!(debug_assertions) { Peers::beside() } else { Peers::build(&[Tool::ShuttleCorpus]) };
    let peers = peers.map_err(|error| error.to_string())?;
    let tables = points::measure(&peers, output.quick, say);
    let title = "Points: why random scheduling here and in shuttle differ";
    finish(&render(output, "points", title, &tables), &tables)
}

fn reduction(output: &Output) -> Result<ExitCode, String> {
    let peers = Peers::build(&reduction::TOOLS).map_err(|error| error.to_string())?;
    let Measured { tables, growth } = reduction::measure(&peers, output.quick, say);
    let title = "Reduction: what DPOR saves and costs";
    let mut text = render(output, "reduction", title, &tables);
    if output.markdown {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results").join(PLOT);
        fs::write(&path, growth.svg())
            .map_err(|error| format!("could not write {}: {error}", path.display()))?;
        let _ = writeln!(text, "\n![{}]({PLOT})", growth.title);
    }
    finish(&text, &tables)
}

fn states(output: &Output) -> Result<ExitCode, String> {
    let peers = Peers::build(&states::TOOLS).map_err(|error| error.to_string())?;
    let tables = states::measure(&peers, output.quick, say);
    finish(
        &render(output, "states", "States: searches over states beside stateright", &tables),
        &tables,
    )
}

/// Prints the text, or the tables as JSON.
fn finish_parts(parts: Vec<part::Part>, json: bool, text: String) -> Result<ExitCode, String> {
    let tables: Vec<_> = parts.into_iter().map(|part| part.table).collect();
    let rows = || tables.iter().flat_map(Table::json).map(|row| row + "\n").collect();
    finish(&if json { rows() } else { text }, &tables)
}

fn eta(asked: &Eta) -> Result<ExitCode, String> {
    let effort = eta::Effort::new(asked.quick, asked.repetitions);
    let parts = eta::measure(asked.what, effort, &say);
    let what =
        asked.what.to_possible_value().map_or(String::new(), |value| value.get_name().into());
    let date = asked.date.clone().unwrap_or_else(machine::today);
    let quick = if asked.quick { " --quick" } else { "" };
    let repetitions = match asked.repetitions {
        5 => String::new(),
        other => format!(" --repetitions {other}"),
    };
    let text = format!(
        "# Eta: exploratory testing of actors\n\n\
         `cargo run{} -p raddle-bench -- eta {what}{quick}{repetitions} --out docs/results`, \
         {date}, {}\n\n{}\n\n{}",
        machine::profile(),
        machine::size(),
        about::about("eta").unwrap_or_default(),
        part::markdown(&parts, "eta")
    );
    if let Some(dir) = &asked.out {
        let name =
            if asked.what == eta::What::All { "eta".to_owned() } else { format!("eta-{what}") };
        part::write(dir, &name, &text, &parts, "eta")?;
    }
    finish_parts(parts, asked.json, text)
}

fn fleet_sim(asked: &FleetSim) -> Result<ExitCode, String> {
    let usual = fleet_sim::COSTS;
    let or = |given: Option<u64>, usual: u64| given.map_or(usual, |given| given * 1_000);
    let costs = fleet_sim::Costs {
        message: or(asked.message, usual.message),
        network: or(asked.network, usual.network),
        fold: or(asked.fold, usual.fold),
        begin: or(asked.begin, usual.begin),
    };
    let parts = fleet_sim::measure(asked.quick, costs, raddle_fleet::Pace::default(), &say)?;
    let date = asked.date.clone().unwrap_or_else(machine::today);
    let quick = if asked.quick { " --quick" } else { "" };
    let given = [
        ("message", asked.message),
        ("network", asked.network),
        ("fold", asked.fold),
        ("begin", asked.begin),
    ];
    let flag = |(name, given): (&str, Option<u64>)| given.map(|given| format!(" --{name} {given}"));
    let given: String = given.into_iter().filter_map(flag).collect();
    let text = format!(
        "# Fleets of 1 to 10,000 workers, simulated\n\n\
         `cargo run{} -p raddle-bench -- fleet-sim{quick}{given} --out docs/results`, {date}\n\n{}\n\n{}",
        machine::profile(),
        about::about("fleet-sim").unwrap_or_default(),
        part::markdown(&parts, "fleet-sim")
    );
    if let Some(dir) = &asked.out {
        part::write(dir, "fleet-sim", &text, &parts, "fleet-sim")?;
    }
    finish_parts(parts, asked.json, text)
}

fn hapset(asked: &Hapset) -> Result<ExitCode, String> {
    let parts = hapset::measure(asked.what, hapset::Effort::new(asked.quick), &say);
    let what =
        asked.what.to_possible_value().map_or(String::new(), |value| value.get_name().into());
    let date = asked.date.clone().unwrap_or_else(machine::today);
    let quick = if asked.quick { " --quick" } else { "" };
    let text = format!(
        "# HaPSet: coverage-guided search of threads\n\n\
         `cargo run{} -p raddle-bench -- hapset {what}{quick} --out docs/results`, {date}, {}\n\n{}\n\n{}",
        machine::profile(),
        machine::size(),
        about::about("hapset").unwrap_or_default(),
        part::markdown(&parts, "hapset")
    );
    if let Some(dir) = &asked.out {
        let name = match asked.what {
            hapset::What::All => "hapset".to_owned(),
            _ => format!("hapset-{what}"),
        };
        part::write(dir, &name, &text, &parts, "hapset")?;
    }
    finish_parts(parts, asked.json, text)
}

fn gambit(asked: &Gambit) -> Result<ExitCode, String> {
    let &Gambit { what, quick, large, budget, seeds, .. } = asked;
    let parts = gambit::measure(gambit::Asked { what, quick, large, budget, seeds }, &say);
    let mut words =
        vec![what.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())];
    words.extend(quick.then(|| "--quick".to_owned()));
    words.extend(large.then(|| "--large".to_owned()));
    words.extend(budget.map(|budget| format!("--budget {budget}")));
    words.extend(seeds.map(|seeds| format!("--seeds {seeds}")));
    let mut name = "gambit".to_owned();
    if what != gambit::What::All {
        name = format!("{name}-{}", words[0]);
    }
    if large {
        name += "-large";
    }
    let date = asked.date.clone().unwrap_or_else(machine::today);
    let text = format!(
        "# GAMBIT: best-first search on unit tests of libraries\n\n\
         `cargo run{} -p raddle-bench -- gambit {} --out docs/results`, {date}, {}\n\n{}\n\n{}",
        machine::profile(),
        words.join(" "),
        machine::size(),
        about::about(&name).unwrap_or_default(),
        part::markdown(&parts, &name)
    );
    if let Some(dir) = &asked.out {
        part::write(dir, &name, &text, &parts, &name)?;
    }
    finish_parts(parts, asked.json, text)
}

fn bita(asked: &Bita) -> Result<ExitCode, String> {
    let &Bita { what, quick, budget, repetitions, time_limit, plain_limit, .. } = asked;
    let millis = |limit: Option<u64>| limit.map(Duration::from_millis);
    let effort = bita::Asked {
        what,
        quick,
        budget,
        repetitions,
        time_limit: millis(time_limit),
        plain_limit: millis(plain_limit),
    };
    let parts = bita::measure(effort, &say);
    let part = what.to_possible_value().map_or(String::new(), |value| value.get_name().into());
    let mut words = vec![part.clone()];
    words.extend(quick.then(|| "--quick".to_owned()));
    let numbers = [
        ("budget", budget),
        ("repetitions", repetitions),
        ("time-limit", time_limit),
        ("plain-limit", plain_limit),
    ];
    words.extend(
        numbers.iter().filter_map(|(name, number)| Some(format!("--{name} {}", (*number)?))),
    );
    let date = asked.date.clone().unwrap_or_else(machine::today);
    let text = format!(
        "# Bita: coverage-guided schedules for actors\n\n\
         `cargo run{} -p raddle-bench -- bita {} --out docs/results`, {date}, {}\n\n{}\n\n{}",
        machine::profile(),
        words.join(" "),
        machine::size(),
        bita::about(),
        part::markdown(&parts, "bita")
    );
    if let Some(dir) = &asked.out {
        let name = if what == bita::What::All { "bita".to_owned() } else { format!("bita-{part}") };
        part::write(dir, &name, &text, &parts, "bita")?;
    }
    finish_parts(parts, asked.json, text)
}

fn delaying(asked: &Delaying) -> Result<ExitCode, String> {
    let &Delaying { what, quick, large, executions, states, time, memory, runs, .. } = asked;
    let limits = ((executions, states), (time, memory));
    let (bugs, columns, order) = (asked.bug.clone(), asked.column.clone(), asked.order.clone());
    let limited = delaying::Asked::new(what, (quick, large), limits.0, limits.1, runs);
    let arguments = asked.arguments.clone();
    let asked_for = delaying::Asked { bugs, columns, order, arguments, ..limited };
    let parts = delaying::measure(&asked_for, &say);
    let mut words =
        vec![what.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())];
    words.extend(quick.then(|| "--quick".to_owned()));
    words.extend(large.then(|| "--large".to_owned()));
    words.extend(executions.map(|executions| format!("--executions {executions}")));
    words.extend(states.map(|states| format!("--states {states}")));
    words.extend(time.map(|time| format!("--time {time}")));
    words.extend(memory.map(|memory| format!("--memory {memory}")));
    words.extend(runs.map(|runs| format!("--runs {runs}")));
    words.extend(asked.bug.iter().map(|bug| format!("--bug {bug}")));
    words.extend(asked.column.iter().map(|column| format!("--column '{column}'")));
    words.extend(asked.order.iter().map(|order| format!("--order '{order}'")));
    words.extend(asked.arguments.iter().map(|arguments| {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        format!("--arguments {}", arguments.join(","))
    }));
    let date = asked.date.clone().unwrap_or_else(machine::today);
    let text = format!(
        "# Delaying explorers on protocols\n\n\
         `cargo run{} -p raddle-bench -- delaying {} --out docs/results`, {date}, {}\n\n{}\n{}",
        machine::profile(),
        words.join(" "),
        machine::size(),
        delaying::PREFACE,
        part::markdown(&parts, "delaying")
    );
    if let Some(dir) = &asked.out {
        let name = format!("delaying-{}{}", words[0], if large { "-large" } else { "" });
        part::write(dir, &name, &text, &parts, "delaying")?;
    }
    finish_parts(parts, asked.json, text)
}

fn estimate(output: &Output) -> Result<ExitCode, String> {
    let tables = estimate::measure(output.quick, say);
    finish(
        &render(output, "estimate", "Estimates: how many executions there are", &tables),
        &tables,
    )
}

fn default(output: &Output) -> Result<ExitCode, String> {
    let tables = default::measure(output.quick, say);
    let title = "The default search: what it finds and what it covers";
    finish(&render(output, "default", title, &tables), &tables)
}

fn bounded(output: &Output) -> Result<ExitCode, String> {
    let tables = bounded::measure(output.quick, &say);
    let title = "A bound on preemptions together with a reduction";
    finish(&render(output, "bounded", title, &tables), &tables)
}

fn optimal_spike(output: &Output) -> Result<ExitCode, String> {
    let tables = optimal::measure(output.quick, &say);
    let title = "Optimal reduction with and without wakeup trees";
    finish(&render(output, "optimal-spike", title, &tables), &tables)
}

fn driver(output: &Output) -> Result<ExitCode, String> {
    let tables = [driver::measure(output.quick, &say)?, driver::speed(output.quick, &say)?];
    let title = "Driver: what a host costs beside plain cargo test";
    finish(&render(output, "driver", title, &tables), &tables)
}

fn fleet(output: &Output) -> Result<ExitCode, String> {
    let quick = output.quick;
    let tables = [
        fleet::throughput(quick, &say)?,
        fleet::scaling(quick, &say)?,
        fleet::redundancy(quick, &say)?,
        fleet::checkpoints(quick, &say)?,
        fleet::units(quick, &say)?,
    ];
    let title = "Hosts that share one search";
    finish(&render(output, "fleet", title, &tables), &tables)
}

fn actors(output: &Output) -> Result<ExitCode, String> {
    let peers = Peers::build(&[Tool::Actors]).map_err(|error| error.to_string())?;
    let tables = [actors::measure(&peers, output.quick, say)];
    let title = "Actors on threads beside other libraries";
    finish(&render(output, "actors", title, &tables), &tables)
}

/// The file of the plot, beside the Markdown that shows it.
const PLOT: &str = "reduction-growth.svg";

/// Prints what was measured. Fails only where a number could not be measured: a ratio below the
/// asked one is not an error, on a shared machine it can be noise.
fn finish(text: &str, tables: &[Table]) -> Result<ExitCode, String> {
    print(text).map_err(|error| error.to_string())?;
    let failures: Vec<_> = tables.iter().flat_map(|table| &table.failures).collect();
    for failure in &failures {
        say(&format!("raddle-bench: {failure}"));
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn render(output: &Output, command: &str, title: &str, tables: &[Table]) -> String {
    if output.json {
        return tables
            .iter()
            .flat_map(Table::json)
            .fold(String::new(), |text, row| text + &row + "\n");
    }
    let mut text = String::new();
    if output.markdown {
        let date = output.date.clone().unwrap_or_else(machine::today);
        let quick = if output.quick { " --quick" } else { "" };
        let _ = writeln!(
            text,
            "# {title}\n\n`cargo run{} -p raddle-bench -- {command}{quick} --markdown`, {date}, {}\n",
            machine::profile(),
            machine::size()
        );
        if let Some(about) = about::about(command) {
            let _ = writeln!(text, "{about}\n");
        }
    }
    let rendered: Vec<_> = tables
        .iter()
        .map(|table| if output.markdown { table.markdown() } else { table.text() })
        .collect();
    text + &rendered.join("\n")
}

fn print(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

/// Tells the person at the terminal; a closed stderr is no reason to stop measuring.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}
