//! What a host costs: instructions of an execution under the driver, and in process.
//!
//! The same test binary is run twice under valgrind's callgrind, with few executions and with many, by
//! plain `cargo test` and as a host; the difference by the executions between is what one costs. Counts
//! do not depend on what else the machine does. The host is served by a listener here, which does what
//! `cargo raddle` does: a page for options, and progress four times a second.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use raddle_trace::host::{Job, Message, VARIABLE, VERSION, Work, page};
use serde_json::Value;

use crate::numbers::{grouped, verdict};
use crate::table::{Comparison, Table};

/// More than this, and hosts cost too much.
const MOST: f64 = 1.05;

const STRATEGIES: [&str; 3] = ["random", "pct(3)", "dfs preemptions(1)"];

pub(crate) fn measure(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let binary = build()?;
    let (few, many) = if quick { (1_000, 6_000) } else { (2_000, 42_000) };
    let header = ["strategy", "cargo test", "host", "÷", "asked", ""];
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
            asked: Some(MOST),
        });
        table.rows.push(vec![
            strategy.to_owned(),
            format!("{plain:.0}"),
            format!("{host:.0}"),
            format!("{ratio:.3}"),
            format!("{MOST:.2}"),
            verdict(&[Some(ratio <= MOST)]).to_owned(),
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
        .args(["test", "--release", "--no-run", "-p", "raddle-bench", "--test", "driver"])
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
    let directory = std::env::temp_dir().join(format!("raddle-bench-{}", std::process::id()));
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let (socket, file) = (directory.join("socket"), directory.join("page"));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .args(["--exact", "two_threads", "--nocapture", "--test-threads=1"])
        .env("RADDLE_STRATEGY", strategy)
        .env("RADDLE_EXECUTIONS", executions.to_string())
        .env("RADDLE_WATCHDOG", "10m");
    let mut listener = None;
    if how == How::Host {
        let page = File::create(&file).and_then(|page| page.set_len(4 * page::WORDS as u64));
        page.map_err(|error| error.to_string())?;
        listener = Some(UnixListener::bind(&socket).map_err(|error| error.to_string())?);
        let job = Job {
            version: VERSION,
            work: Work::Search,
            channel: socket.to_string_lossy().into_owned(),
            page: Some(file.to_string_lossy().into_owned()),
            progress_ms: 250,
            tree: None,
        };
        command.env(VARIABLE, serde_json::to_string(&job).map_err(|error| error.to_string())?);
    }
    let hear = listener.map(|listener| thread::spawn(move || executions_heard(&listener)));
    let output = command.output().map_err(|error| format!("could not run valgrind: {error}"))?;
    if let Some(hear) = hear {
        let heard = hear.join().map_err(|_| "the listener panicked".to_owned())?;
        if heard != Some(u64::from(executions)) {
            return Err(format!(
                "{strategy}: the host reported {heard:?} executions, not {executions}"
            ));
        }
    }
    let _ = fs::remove_dir_all(&directory);
    let text = String::from_utf8_lossy(&output.stderr);
    let collected =
        text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.ok_or_else(|| format!("valgrind counted nothing: {text}"))
}

/// What the host says it ran.
fn executions_heard(listener: &UnixListener) -> Option<u64> {
    let (stream, _) = listener.accept().ok()?;
    let mut executions = None;
    for line in BufReader::new(&stream).lines() {
        let message = serde_json::from_str(&line.ok()?).ok()?;
        if let Message::Finished { report, .. } = message {
            executions = Some(report.counts.executions);
        }
    }
    executions
}
