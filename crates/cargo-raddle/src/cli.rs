//! What can be asked for: the one source of `--help`, the man page, completions and the book's page.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand, ValueEnum};
use raddle_knobs::{KNOBS, Knob, Scope, Value};

use crate::expression::Expression;

/// Finds concurrency bugs: runs the raddle tests of a workspace
///
/// Each test runs in a process of its own (a host), under one schedule after another. What a pass
/// means is said for each; a failure is shown step by step, saved, and tried first the next time.
#[derive(Debug, Parser)]
#[command(name = "cargo-raddle", bin_name = "cargo raddle", version)]
#[command(
    after_help = "Settings: flags override variables (RADDLE_TIME), which override the profile \
in raddle.toml, which overrides #[raddle::test(...)]. The words are the same everywhere."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Asked,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Asked {
    /// Build, find the raddle tests, and run them
    Test(Box<Test>),
    /// Have other machines search one test, and fold what they find (see the chapter on fleets in the book)
    Coordinate(Box<Coordinate>),
    /// Run parts of the searches that `coordinate` has begun, until they are over
    Work(Box<Work>),
    /// Say how runs of many machines stand, or show one as a live page
    Status(Box<Status>),
    /// Say which raddle tests there are
    List(List),
    /// Run one recorded execution again
    Replay(Box<Replay>),
    /// Make a recorded failure small: fewest preemptions, then steps, then tasks
    Minimise(Box<Minimise>),
    /// Say why a recorded failure happens: which orders of steps matter, and when all is lost
    Explain(Box<Explain>),
    /// Say how many executions tests have, and how long it takes to run them
    Estimate(Box<Estimate>),
    /// Run the same tests under several strategies, and put the results side by side
    Compare(Box<Compare>),
    /// Say which strategies there are and how to write them
    Strategies(Strategies),
    /// Say where the page of the last `test` is, or of the last `compare`, or open it
    Report(Report),
    /// Write a recorded failure for another tool: a timeline, a diagram, its decisions
    Export(Export),
    /// Write a completion script to standard output
    Completions(Completions),
    /// Write the man page to standard output
    Man,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// What to write: lines for people, or one JSON object for each event
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Also write the results to this file, as XML for CI servers (junit)
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also add a table of the results to this file, in Markdown: for the summary of a CI job; `RADDLE_SUMMARY` names it too
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Of one test, also write the tree of decisions that was explored, for Graphviz: what could move,
    /// what was taken, how the first 500 executions ended
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    /// Show every step of a failure, also those that cannot have led to it, however many there are
    #[arg(long)]
    pub(crate) full: bool,
    /// Neither try saved schedules nor save new ones
    #[arg(long)]
    pub(crate) no_regressions: bool,
    /// Only tests that an earlier run has stopped before they were through, each from where it was
    #[arg(long)]
    pub(crate) resume: bool,
    /// Throw away what earlier runs of these tests have left to go on from; with --resume, those tests begin anew
    #[arg(long)]
    pub(crate) discard_checkpoints: bool,
    /// Only tests that did not pass when they were last run
    #[arg(long, conflicts_with = "resume")]
    pub(crate) failed: bool,
    /// Only the K-th of N parts of the tests, so that N machines run all of them: 1/3
    #[arg(long, value_name = "K/N")]
    pub(crate) partition: Option<Partition>,
    /// Begin no further test when one has failed
    #[arg(long, overrides_with = "no_fail_fast")]
    pub(crate) fail_fast: bool,
    /// Run all tests, also when one has failed: this is the default
    #[arg(long)]
    pub(crate) no_fail_fast: bool,
    /// Show what tests print, in all executions, while they print it; runs one test at a time
    #[arg(long, alias = "nocapture")]
    pub(crate) no_capture: bool,
    #[command(flatten)]
    pub(crate) build: Build,
}

/// One of several parts of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Which, from 1.
    part: usize,
    parts: usize,
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a part and the number of parts, as in 1/3".to_owned();
        let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (part, parts) = (number(part)?, number(parts)?);
        if part == 0 || part > parts {
            return Err(format!("there are parts 1 to {parts}, and no part {part}"));
        }
        Ok(Self { part, parts })
    }
}

impl Partition {
    /// Those of `all` that are in this part: every n-th, so that tests of one file, which take alike, are spread.
    pub(crate) fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.part - 1).step_by(self.parts).collect()
    }
}

/// A server. A user and a password may stand in its URL; the variables that the server's own tools know are read, too.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Server {
    // As a text and not as documentation, where it would be taken for a link.
    #[arg(
        long,
        value_name = "URL",
        help = "The NATS server: nats://host:4222, or tls://...; of a cluster several, with commas between them. A user and a \
                password may stand in it; NATS_USER, NATS_PASSWORD and NATS_TOKEN are read, too"
    )]
    pub(crate) nats: String,
    /// A file with credentials
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_creds: Option<PathBuf>,
    /// A file with the seed of an nkey
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_nkey: Option<PathBuf>,
    /// A file with certificates of authorities to trust
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_ca: Option<PathBuf>,
    /// A file with our own certificate
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    pub(crate) nats_cert: Option<PathBuf>,
    /// A file with the key of our certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub(crate) nats_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Coordinate {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What the run is called; if left out, the test and the beginning of the binary's hash
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// How long a worker may be silent before another gets what it had: 30s, 2m
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) lease: String,
    /// Copies that the servers of a cluster keep of everything: 1 or 3
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) replicas: u32,
    /// Do not store the test binary on the server: workers have it, and name it by --binary
    #[arg(long)]
    pub(crate) no_upload: bool,
    /// Sign the test binary by the key in this file, for workers with --trust-key; if there is no such file, a key is made
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
    /// Serve a live page on this port of the loopback; 0: any
    #[arg(long, value_name = "PORT")]
    pub(crate) page: Option<u16>,
    #[command(flatten)]
    pub(crate) test: Test,
}

#[derive(Debug, Args)]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Which run; if left out, the one that is open
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// A test binary whose SHA-256 this is may be fetched from the server and run; may be repeated
    #[arg(long, value_name = "SHA256")]
    pub(crate) trust: Vec<String>,
    /// Any test binary that this key has signed may be fetched from the server and run; may be repeated
    #[arg(long, value_name = "PUBLIC KEY")]
    pub(crate) trust_key: Vec<String>,
    /// The test binary, if this machine has it; nothing is fetched then
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trust", "trust_key"])]
    pub(crate) binary: Option<PathBuf>,
    /// The directory in which the test runs; if left out, an empty one that is removed afterwards
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) directory: Option<PathBuf>,
    /// Hosts at a time; if left out, as many as there are processors
    #[arg(long, value_name = "N")]
    pub(crate) hosts: Option<usize>,
    /// What this worker is called; if left out, the machine and the process
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How long to wait for the run to begin: 30s, 10m
    #[arg(long, value_name = "TIME", default_value = "1m")]
    pub(crate) wait: String,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Only this run
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// What to write: lines for people, or one JSON object for each run
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Serve a live page of the run on this port of the loopback until Ctrl-C; 0: any
    #[arg(long, value_name = "PORT", requires = "run")]
    pub(crate) page: Option<u16>,
    /// Remove the run and all it has on the server
    #[arg(long, requires = "run")]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// What to write: lines for people, or one JSON object for each test
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) build: Build,
}

/// One recorded execution.
#[derive(Debug, Args)]
pub(crate) struct Recorded {
    /// A token (rd1...), or the path of a file that raddle wrote
    #[arg(value_name = "TOKEN|FILE")]
    pub(crate) recording: String,
    /// The test it belongs to, if the file does not say
    #[arg(value_name = "TEST")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Minimise {
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// How long to try: 500ms, 10s, 2m
    #[arg(long, value_name = "TIME", default_value = "1m")]
    pub(crate) time: String,
    /// Leave the file as it is
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) build: Build,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// Show every step of a failure, also those that cannot have led to it, however many there are
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) build: Build,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// Show every step of a failure, also those that cannot have led to it, however many there are
    #[arg(long, alias = "trace")]
    pub(crate) full: bool,
    /// Run it in a debugger that stops where the failure is
    #[arg(long, value_enum, value_name = "DEBUGGER")]
    pub(crate) debugger: Option<Debugger>,
    /// In the debugger, also stop after this step
    #[arg(long, value_name = "STEP", requires = "debugger")]
    pub(crate) step: Option<u64>,
    /// Write the debugger's commands to standard output instead of starting it
    #[arg(long, requires = "debugger")]
    pub(crate) print_script: bool,
    #[command(flatten)]
    pub(crate) build: Build,
}

#[derive(Debug, Args)]
pub(crate) struct Estimate {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) build: Build,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The strategies, with commas between them
    #[arg(long, value_name = "STRATEGY,...", required = true)]
    pub(crate) strategies: String,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) build: Build,
}

#[derive(Debug, Args)]
pub(crate) struct Strategies {
    /// What to write: a table, or one JSON object for each name
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) build: Build,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// That of the last `compare`, not of the last `test`
    #[arg(long)]
    pub(crate) comparison: bool,
    /// Open it in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Cargo's manifest, if it is not that of this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The path of a file that raddle wrote, in raddle-regressions/ or target/raddle/
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// For which tool
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: As,
    /// Where to write it; standard output if left out
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What a failure is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum As {
    /// A timeline in JSON, for ui.perfetto.dev and other viewers of Chrome traces
    Perfetto,
    /// A sequence diagram for Mermaid
    Mermaid,
    /// Its path of decisions for Graphviz; `cargo raddle test --tree` writes those of a whole search
    Dot,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

/// Which tests.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Chosen {
    /// Only tests whose names contain one of these
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Filters are whole names, and so are those of --skip
    #[arg(long)]
    pub(crate) exact: bool,
    /// Not tests whose names contain this; may be repeated
    #[arg(long, value_name = "WORD")]
    pub(crate) skip: Vec<String>,
    /// Only tests for which this holds: 'package(x) & test(y) & !test(z)', as in nextest; may be repeated, and then one
    /// of them has to hold
    #[arg(short = 'E', long = "filterset", alias = "filter-expr", value_name = "EXPRESSION")]
    pub(crate) expressions: Vec<Expression>,
    /// Also tests that are marked `ignore`
    #[arg(long)]
    pub(crate) include_ignored: bool,
}

/// What searches are run with.
#[derive(Debug, Default, Args)]
pub(crate) struct Settings {
    #[command(flatten)]
    pub(crate) knobs: Knobs,
    /// A profile of raddle.toml, or one of quick, ci, nightly
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Another file than raddle.toml at the root of the workspace
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A flag for each knob, of a search and of the driver.
#[derive(Debug, Default)]
pub(crate) struct Knobs {
    /// With values.
    pub(crate) given: Vec<(&'static Knob, String)>,
}

impl Args for Knobs {
    fn augment_args(mut command: Command) -> Command {
        for knob in KNOBS.iter().filter(|knob| knob.is_flag()) {
            let name = match knob.value {
                Value::Strategy => "STRATEGY",
                Value::Time => "TIME",
                Value::Memory | Value::Size => "BYTES",
                Value::Word(_) | Value::Flag | Value::MaybeFlag => "WORD",
                Value::Recording => "RECORDING",
                Value::Address => "ADDRESS",
                _ => "N",
            };
            let (expected, variable) = (knob.value.expected(), knob.variable());
            let heading = if knob.scope == Scope::Driver { None } else { Some("Search") };
            command = command.arg(
                Arg::new(knob.name)
                    .long(knob.flag())
                    .value_name(name)
                    .help_heading(heading)
                    .help(format!("{}: {expected} [{variable}]", capital(knob.line))),
            );
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Knobs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |name| matches.get_one::<String>(name).cloned();
        let knobs = KNOBS.iter().filter(|knob| knob.is_flag());
        let given = knobs.filter_map(|knob| Some((knob, value(knob.name)?)));
        Ok(Self { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn capital(line: &str) -> String {
    let mut letters = line.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What cargo is to build; passed on to `cargo test --no-run`.
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Build")]
pub(crate) struct Build {
    /// Only the tests of this package
    #[arg(short, long, value_name = "PACKAGE")]
    pub(crate) package: Vec<String>,
    /// The tests of all packages of the workspace
    #[arg(long)]
    pub(crate) workspace: bool,
    /// Not the tests of this package
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) exclude: Vec<String>,
    /// Only the tests of the library
    #[arg(long)]
    pub(crate) lib: bool,
    /// Only this file of tests
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Vec<String>,
    /// Features to turn on
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub(crate) features: Vec<String>,
    /// Turn all features on
    #[arg(long)]
    pub(crate) all_features: bool,
    /// Do not turn the default features on
    #[arg(long)]
    pub(crate) no_default_features: bool,
    /// Build with optimisations
    #[arg(short, long)]
    pub(crate) release: bool,
    /// Build with this profile of cargo's
    #[arg(long, value_name = "NAME")]
    pub(crate) cargo_profile: Option<String>,
    /// Cargo's manifest, if it is not that of this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Do not use the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Cargo.lock must not change
    #[arg(long)]
    pub(crate) locked: bool,
}

/// What is written to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Human,
    /// For programs: one object on each line
    Json,
}

/// A debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Debugger {
    Gdb,
    Lldb,
}
