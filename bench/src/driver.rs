//! What a host costs: instructions of an execution under the driver, and in process.
//!
//! The same test binary is run twice under valgrind's callgrind, with few executions and with many, by
//! plain `cargo test` and as a host; the difference by the executions between is what one costs. Counts
//! do not depend on what else the machine does. The host is served by a listener here, which does what
//! `cargo raddle` does: a page for options, and progress four times a second.
//!
//! A second table has what a host runs in a second, and what it costs to give each execution a process of its
//! own. Those are times: they do depend on what else the machine does.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use raddle_trace::host::{Job, JobKind, Message, VARIABLE, VERSION, page};
use serde_json::Value;

use crate::machine::PROFILE;
use crate::numbers::grouped;
use crate::table::{Comparison, Table};

const STRATEGIES: [&str; 3] = ["random", "pct(3)", "pos"];

/// What a host runs in a second, with executions in one process and in processes of their own.
pub(crate) fn speed(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let binary = build()?;
    let header = ["strategy", "executions/s", "with a process each", "µs for a process"];
    let mut table = Table {
        title: "Executions a second in a host: two threads, three operations each".to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    let (many, few) = if quick { (200_000, 1_000) } else { (1_000_000, 5_000) };
    for strategy in STRATEGIES {
        say(&format!("driver: {strategy}, by the clock"));
        let rate = |executions, more| -> Result<f64, String> {
            let begun = Begun::new(&binary, strategy, executions, How::Host, more)?;
            let Heard { executions, elapsed_ms } = begun.run(&mut begun.command())?.1;
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            Ok(executions as f64 * 1_000.0 / elapsed_ms.max(1) as f64)
        };
        let (here, apart) = (rate(many, None)?, rate(few, Some(("RADDLE_ISOLATION", "process")))?);
        table.comparisons.push(Comparison {
            table: "driver",
            row: strategy.to_owned(),
            column: "executions per second".to_owned(),
            ours: Some(here),
            peer: None,
            ratio: None,
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts are small"
        )]
        table.rows.push(vec![
            strategy.to_owned(),
            grouped(here as u64),
            grouped(apart as u64),
            format!("{:.0}", 1e6 / apart - 1e6 / here),
        ]);
    }
    table.notes.push(format!(
        "{} executions of each, {} with a process for each; by the clock of the search.",
        grouped(u64::from(many)),
        grouped(u64::from(few))
    ));
    Ok(table)
}

pub(crate) fn measure(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let binary = build()?;
    let (few, many) = if quick { (1_000, 6_000) } else { (2_000, 42_000) };
    let header = ["strategy", "cargo test", "host", "÷"];
    let mut table = Table {
        title: "Instructions of one execution: two threads, three operations each".to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    for strategy in STRATEGIES {
        say(&format!("driver: {strategy}"));
        let each = |how: How| -> Result<f64, String> {
            let less = instructions(&binary, strategy, few, how)?;
            let more = instructions(&binary, strategy, many, how)?;
            Ok((more - less) / f64::from(many - few))
        };
        let (plain, host) = (each(How::Plain)?, each(How::Host)?);
        let ratio = host / plain;
        table.comparisons.push(Comparison {
            table: "driver",
            row: strategy.to_owned(),
            column: "instructions".to_owned(),
            ours: Some(host),
            peer: Some(plain),
            ratio: Some(ratio),
        });
        table.rows.push(vec![
            strategy.to_owned(),
            format!("{plain:.0}"),
            format!("{host:.0}"),
            format!("{ratio:.3}"),
        ]);
    }
    table.notes.push(format!(
        "Executions: {} and {} for each number. All threads of the process are counted.",
        grouped(u64::from(few)),
        grouped(u64::from(many))
    ));
    Ok(table)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Plain,
    Host,
}

/// Builds the test binary, optimised.
fn build() -> Result<PathBuf, String> {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--profile", PROFILE, "--no-run", "-p", "raddle-bench", "--test", "driver"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_test = |message: &Value| message["target"]["name"] == "driver";
    let mut paths =
        messages.filter(is_test).filter_map(|m| m["executable"].as_str().map(PathBuf::from));
    paths.next().ok_or_else(|| "cargo built no test binary".to_owned())
}

/// All instructions of the process.
fn instructions(binary: &Path, strategy: &str, executions: u32, how: How) -> Result<f64, String> {
    let begun = Begun::new(binary, strategy, executions, how, None)?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(binary);
    begun.prepare(&mut command);
    let (text, heard) = begun.run(&mut command)?;
    if how == How::Host && heard.executions != u64::from(executions) {
        let ran = heard.executions;
        return Err(format!("{strategy}: the host reported {ran} executions, not {executions}"));
    }
    let collected =
        text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.ok_or_else(|| format!("valgrind counted nothing: {text}"))
}

/// What the host says it did.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    executions: u64,
    elapsed_ms: u64,
}

/// One run of the binary: what it is given.
struct Begun<'a> {
    binary: &'a Path,
    variables: Vec<(&'static str, String)>,
    directory: PathBuf,
    listener: Option<UnixListener>,
}

impl<'a> Begun<'a> {
    fn new(
        binary: &'a Path,
        strategy: &str,
        executions: u32,
        how: How,
        more: Option<(&'static str, &str)>,
    ) -> Result<Self, String> {
        let directory = std::env::temp_dir().join(format!("raddle-bench-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let (socket, file) = (directory.join("socket"), directory.join("page"));
        let mut variables = vec![
            ("RADDLE_STRATEGY", strategy.to_owned()),
            ("RADDLE_EXECUTIONS", executions.to_string()),
            ("RADDLE_WATCHDOG", "10m".to_owned()),
        ];
        variables.extend(more.map(|(name, value)| (name, value.to_owned())));
        let mut listener = None;
        if how == How::Host {
            let page = File::create(&file).and_then(|page| page.set_len(4 * page::WORDS as u64));
            page.map_err(|error| error.to_string())?;
            listener = Some(UnixListener::bind(&socket).map_err(|error| error.to_string())?);
            let job = Job {
                version: VERSION,
                work: JobKind::Search,
                channel: socket.to_string_lossy().into_owned(),
                page: Some(file.to_string_lossy().into_owned()),
                avoid: None,
                spent_ms: 0,
                progress_ms: 250,
                tree: None,
            };
            let job = serde_json::to_string(&job).map_err(|error| error.to_string())?;
            variables.push((VARIABLE, job));
        }
        Ok(Self { binary, variables, directory, listener })
    }

    /// The binary itself.
    fn command(&self) -> Command {
        let mut command = Command::new(self.binary);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command.args(["--exact", "two_threads", "--nocapture", "--test-threads=1"]);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// Runs it; what was said on standard error, and to the driver.
    fn run(&self, command: &mut Command) -> Result<(String, Heard), String> {
        let listener = self.listener.as_ref().map(UnixListener::try_clone).transpose();
        let listener = listener.map_err(|error| error.to_string())?;
        let hear = listener.map(|listener| thread::spawn(move || heard(&listener)));
        let output = command.output().map_err(|error| format!("could not be run: {error}"))?;
        let heard = match hear {
            Some(hear) => hear.join().map_err(|_| "the listener panicked".to_owned())?,
            None => Some(Heard::default()),
        };
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let heard = heard.ok_or_else(|| format!("the host reported nothing: {text}"))?;
        Ok((text, heard))
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// What the host says it ran.
fn heard(listener: &UnixListener) -> Option<Heard> {
    let (stream, _) = listener.accept().ok()?;
    let mut heard = None;
    for line in BufReader::new(&stream).lines() {
        let message = serde_json::from_str(&line.ok()?).ok()?;
        if let Message::Finished { report, .. } = message {
            let (executions, elapsed_ms) = (report.counts.executions, report.elapsed_ms);
            heard = Some(Heard { executions, elapsed_ms });
        }
    }
    heard
}
