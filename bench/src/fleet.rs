//! What sharing one search among hosts costs: processor time beside hosts that know nothing of each other, and what cutting
//! a search into units adds to its executions.
//!
//! Everything is run as a user would: `cargo raddle test` over the programs of `tests/fleet.rs`. Times are those of the
//! processor, of driver and hosts together, less those of a run with one execution; so what else the machine does matters little.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::numbers::grouped;
use crate::table::Table;

/// Runs of which the least time counts: what disturbs one can only add to it.
const RUNS: usize = 3;

/// The profile in which driver and programs are built: that of this program, so that a try of it does not wait for an optimised
/// build. Figures of an unoptimised one are none, and the head of the tables has the command.
const PROFILE: &str = if cfg!(debug_assertions) { "dev" } else { "nightly" };

/// What a run came to.
#[derive(Clone, Debug, Default)]
struct Ran {
    executions: u64,
    blocked: u64,
    traces: u64,
    units: u64,
    /// Processor time, in seconds.
    busy: f64,
}

/// `cargo raddle`, built as the programs are.
fn driver() -> Result<PathBuf, String> {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--profile", PROFILE, "-p", "cargo-raddle"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut paths = messages.filter_map(|m| m["executable"].as_str().map(PathBuf::from));
    paths.next().ok_or_else(|| "cargo built no driver".to_owned())
}

/// The command that runs a program.
fn command(driver: &PathBuf, program: &str, strategy: &str, more: &[String]) -> Command {
    // The shell says what its children took.
    let mut command = Command::new("sh");
    command.args(["-c", "\"$@\"; times", "sh"]).arg(driver).args(["raddle", "test"]);
    command.args(["--cargo-profile", PROFILE, "-p", "raddle-bench", "--test", "fleet"]);
    command.args(["--no-regressions", "--format=json", "--exact", program, "--strategy", strategy]);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// What a command wrote.
fn read(text: &str) -> Result<Ran, String> {
    let mut ran = Ran::default();
    for line in text.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        if event["event"] != "test-finished" {
            continue;
        }
        let report = &event["report"];
        if !matches!(report["verdict"].as_str(), Some("covered" | "passed")) {
            return Err(format!("it did not pass: {event}"));
        }
        let count = |name: &str| report["counts"][name].as_u64().unwrap_or(0);
        (ran.executions, ran.blocked) = (count("executions"), count("blocked"));
        ran.traces = report["guarantee"]["traces"]["distinct"].as_u64().unwrap_or(0);
        let notes = report["notes"].as_array().into_iter().flatten();
        let mut said = notes.filter_map(|note| note["text"].as_str()?.split_once(" in "));
        let units =
            said.find_map(|(_, rest)| rest.split(' ').next()?.replace(',', "").parse().ok());
        ran.units = units.unwrap_or(0);
    }
    let times = text.lines().last().unwrap_or_default();
    let seconds = |time: &str| -> Option<f64> {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    ran.busy = times.split_whitespace().filter_map(seconds).sum();
    if ran.executions == 0 { Err(format!("nothing was run:\n{text}")) } else { Ok(ran) }
}

/// Runs commands side by side; what they took together.
fn run(commands: Vec<Command>) -> Result<Vec<Ran>, String> {
    let started = commands.into_iter().map(|mut command| command.spawn());
    let children = started.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for child in children {
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        all.push(read(&String::from_utf8_lossy(&output.stdout))?);
    }
    Ok(all)
}

/// Two hosts that share a search beside two that do not know of each other.
pub(crate) fn throughput(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let driver = driver()?;
    let header = [
        "program",
        "strategy",
        "executions",
        "apart: µs each",
        "2 workers: µs each",
        "units",
        "apart ÷ shared",
    ];
    let mut table = Table {
        title: "Processor time of an execution: two hosts apart, and two that share one search"
            .to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    for (program, all) in [("short", 369_600), ("long", 3_432)] {
        for strategy in ["dfs", "dpor"] {
            say(&format!("fleet: {program}, {strategy}"));
            let half = format!("--executions={}", all / 2);
            let (mut apart, mut shared, mut units) = (f64::MAX, f64::MAX, 0);
            let least = |more: &[&str]| -> Result<f64, String> {
                let more: Vec<String> = more.iter().map(ToString::to_string).collect();
                let one = run(vec![command(&driver, program, strategy, &more)])?;
                Ok(one.iter().map(|ran| ran.busy).sum())
            };
            let begin_apart = 2.0 * least(&["--executions=1"])?;
            let begin_shared = least(&["--executions=1", "--workers=2"])?;
            for _ in 0..if quick { 1 } else { RUNS } {
                let two = || command(&driver, program, strategy, std::slice::from_ref(&half));
                let took: f64 = run(vec![two(), two()])?.iter().map(|ran| ran.busy).sum();
                apart = apart.min(took - begin_apart);
                let more = ["--workers=2".to_owned()];
                let one = run(vec![command(&driver, program, strategy, &more)])?;
                let Some(ran) = one.first() else { continue };
                if ran.executions != all {
                    return Err(format!("{program}, {strategy}: {} executions", ran.executions));
                }
                if ran.busy - begin_shared < shared {
                    (shared, units) = (ran.busy - begin_shared, ran.units);
                }
            }
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            let each = |busy: f64| 1e6 * busy / all as f64;
            table.rows.push(vec![
                program.to_owned(),
                strategy.to_owned(),
                grouped(all),
                format!("{:.2}", each(apart)),
                format!("{:.2}", each(shared)),
                grouped(units),
                format!("{:.1} %", 100.0 * apart / shared),
            ]);
        }
    }
    table.notes.push(
        "Processor time of driver and hosts, less that of a run with one execution; the least of the runs. Apart: two drivers \
         with one host each, half of the executions each."
            .to_owned(),
    );
    Ok(table)
}

/// What cutting adds to the executions of a search.
pub(crate) fn redundancy(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let driver = driver()?;
    let header = [
        "program",
        "strategy",
        "workers",
        "executions of a unit",
        "units",
        "traces",
        "executions",
        "blocked",
        "added by cutting",
    ];
    let mut table = Table {
        title: "Executions of a search, however it is cut".to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    // Whole first: what a search without workers does is what the others are compared with.
    let ways: [(&str, &[&str]); 5] = [
        ("none", &[]),
        ("1", &["--workers=1"]),
        ("2", &["--workers=2"]),
        ("4", &["--workers=4", "--unit-executions=1000"]),
        ("8", &["--workers=8", "--unit-executions=50"]),
    ];
    let programs: &[(&str, &str)] = if quick {
        &[("cut", "dfs"), ("cut", "dpor")]
    } else {
        &[
            ("cut", "dfs"),
            ("cut", "dpor"),
            ("cut", "dpor(source)"),
            ("senders", "dpor(source)"),
            ("commit", "dpor(source)"),
            ("yields", "dpor(source)"),
        ]
    };
    for &(program, strategy) in programs {
        let mut whole = None;
        for (workers, way) in ways {
            say(&format!("fleet: {program}, {strategy} {}", way.join(" ")));
            let mut more: Vec<String> = way.iter().map(ToString::to_string).collect();
            // More than any of them needs, so that none ends at the usual number.
            more.extend(["--traces=true".to_owned(), "--executions=10000000".to_owned()]);
            let ran = run(vec![command(&driver, program, strategy, &more)])?.remove(0);
            let all = ran.executions + ran.blocked;
            let whole = *whole.get_or_insert(all);
            let unit = way.get(1).and_then(|way| way.split_once('='));
            let added = all.saturating_sub(whole);
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            let share = 100.0 * added as f64 / ran.traces.max(1) as f64;
            table.rows.push(vec![
                program.to_owned(),
                format!("`{strategy}`"),
                workers.to_owned(),
                unit.map_or("as usual", |(_, n)| n).to_owned(),
                grouped(ran.units),
                grouped(ran.traces),
                grouped(ran.executions),
                grouped(ran.blocked),
                format!("{} ({share:.1} %)", grouped(added)),
            ]);
        }
    }
    table.notes.push(
        "*added by cutting*: executions, those that were blocked among them, beyond those of the search without workers, and \
         their share of the traces. `dpor` is memoryless in units and has wakeup trees without workers. It has no units for \
         programs of actors, timeouts or yields: there workers run `dpor(source)`."
            .to_owned(),
    );
    Ok(table)
}

/// The time of the clock by the number of workers: Eta's figure 6 as far as there are processors.
pub(crate) fn scaling(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let driver = driver()?;
    let header = ["program", "strategy", "workers", "executions a second", "±", "times one worker"];
    let mut table = Table {
        title: "Executions a second by workers (Eta's figure 6)".to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let powers = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n <= cores);
    for (program, strategy, all) in [("short", "dpor", 369_600), ("long", "dfs", 3_432)] {
        let mut one = None;
        for workers in powers.clone() {
            let mut rates = Vec::new();
            for _ in 0..if quick { 1 } else { RUNS } {
                say(&format!("fleet: {program}, {strategy}, {workers} workers by the clock"));
                let more = [format!("--workers={workers}")];
                let begin = std::time::Instant::now();
                let ran = run(vec![command(&driver, program, strategy, &more)])?.remove(0);
                if ran.executions != all {
                    return Err(format!("{program}, {strategy}: {} executions", ran.executions));
                }
                #[expect(clippy::cast_precision_loss, reason = "counts are small")]
                rates.push(all as f64 / begin.elapsed().as_secs_f64());
            }
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            let n = rates.len() as f64;
            let mean = rates.iter().sum::<f64>() / n;
            let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / n;
            let one = *one.get_or_insert(mean);
            #[expect(clippy::cast_sign_loss, reason = "a rate is not negative")]
            table.rows.push(vec![
                program.to_owned(),
                format!("`{strategy}`"),
                workers.to_string(),
                grouped(mean as u64),
                format!("{:.1} %", 100.0 * variance.sqrt() / mean),
                format!("{:.2}", mean / one),
            ]);
        }
    }
    table.notes.push(format!(
        "The whole search by the clock, from the start of the driver to its end, {RUNS} repetitions; ±: the standard deviation. \
         Up to the {cores} processors of this machine. Beyond them [fleet-sim.md](fleet-sim.md) has a simulation, with Eta's \
         curve beside it."
    ));
    Ok(table)
}

/// What writing checkpoints takes of a search's time.
pub(crate) fn checkpoints(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let driver = driver()?;
    let header = ["strategy", "executions", "without: s", "one a second: s", "more"];
    let mut table = Table {
        title: "Processor time of a search without checkpoints and with one a second".to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    for (strategy, executions) in [
        ("dfs", 369_600),
        ("dpor", 369_600),
        ("dpor(source)", 369_600),
        ("all breadth-first", 200_000),
        ("all best-first(pb)", 200_000),
    ] {
        let executions = if quick { executions / 20 } else { executions };
        let (mut without, mut with) = (f64::MAX, f64::MAX);
        for _ in 0..if quick { 1 } else { RUNS } {
            say(&format!("fleet: checkpoints of {strategy}"));
            for (every, least) in [("none", &mut without), ("1s", &mut with)] {
                let more =
                    [format!("--executions={executions}"), format!("--checkpoint-every={every}")];
                let ran = run(vec![command(&driver, "short", strategy, &more)])?.remove(0);
                *least = least.min(ran.busy);
            }
        }
        table.rows.push(vec![
            format!("`{strategy}`"),
            grouped(executions),
            format!("{without:.2}"),
            format!("{with:.2}"),
            format!("{:.1} %", 100.0 * (with / without - 1.0)),
        ]);
    }
    table.notes.push(
        "Driver and host, the least of the runs. A second is asked for to see something: the default is 30 s. A checkpoint that \
         takes long is written less often than asked for, so that it takes at most a hundredth of the time."
            .to_owned(),
    );
    Ok(table)
}

/// Executions of a unit, and its time, from small to large: what the defaults of `--unit-executions` and `--unit-time` are chosen by.
const UNIT_EXECUTIONS: [u64; 7] = [1_000, 5_000, 20_000, 100_000, 200_000, 500_000, 1_000_000];
const UNIT_TIMES: [&str; 6] = ["100ms", "200ms", "500ms", "1s", "2s", "5s"];

/// What the size of units costs.
pub(crate) fn units(quick: bool, say: &dyn Fn(&str)) -> Result<Table, String> {
    let driver = driver()?;
    let header = [
        "program",
        "strategy",
        "a unit has at most",
        "units",
        "processor time: s",
        "µs for each unit",
        "by the clock: s",
        "idle",
    ];
    let mut table = Table {
        title: "Two workers by the size of units".to_owned(),
        header: header.map(str::to_owned).into(),
        ..Table::default()
    };
    // Where one is looked at the other must not matter.
    let executions = UNIT_EXECUTIONS.map(|n| {
        let name = format!("{} executions", grouped(n));
        (name, [format!("--unit-executions={n}"), "--unit-time=1h".to_owned()])
    });
    let times = UNIT_TIMES.map(|time| {
        (
            time.to_owned(),
            [format!("--unit-time={time}"), "--unit-executions=1000000000".to_owned()],
        )
    });
    let ways: Vec<(String, [String; 2])> = executions.into_iter().chain(times).collect();
    for (program, strategy, all) in
        [("short", "dfs", 369_600), ("short", "dpor", 369_600), ("long", "dfs", 3_432)]
    {
        let mut rows = Vec::new();
        for (name, way) in ways.iter().step_by(if quick { 6 } else { 1 }) {
            say(&format!("fleet: {program}, {strategy}, units of {name}"));
            let (mut least, mut clock) = (Ran { busy: f64::MAX, ..Ran::default() }, f64::MAX);
            for _ in 0..if quick { 1 } else { RUNS } {
                let more: Vec<String> =
                    way.iter().cloned().chain(["--workers=2".to_owned()]).collect();
                let began = std::time::Instant::now();
                let ran = run(vec![command(&driver, program, strategy, &more)])?.remove(0);
                clock = clock.min(began.elapsed().as_secs_f64());
                if ran.executions != all {
                    return Err(format!("{program}, {strategy}: {} executions", ran.executions));
                }
                if ran.busy < least.busy {
                    least = ran;
                }
            }
            rows.push((name.clone(), least, clock));
        }
        // The way with the fewest units is what each unit more is compared with.
        let few = rows.iter().map(|(_, ran, _)| (ran.units, ran.busy)).min_by_key(|few| few.0);
        let (fewest, base) = few.unwrap_or((0, 0.0));
        for (name, ran, clock) in rows {
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            let more = ran.units.saturating_sub(fewest) as f64;
            let each = if more > 0.0 {
                format!("{:.0}", 1e6 * (ran.busy - base) / more)
            } else {
                "–".to_owned()
            };
            table.rows.push(vec![
                program.to_owned(),
                format!("`{strategy}`"),
                name,
                grouped(ran.units),
                format!("{:.2}", ran.busy),
                each,
                format!("{clock:.2}"),
                format!("{:.1} %", 100.0 * (1.0 - ran.busy / (2.0 * clock)).max(0.0)),
            ]);
        }
    }
    table.notes.push(
        "The least of the runs, of driver and hosts together; *idle*: what of two processors' time by the clock was not used, the start of \
         the driver included, so it means something only on a machine that does nothing else. *µs for each unit*: the processor time beyond \
         that of the way with the fewest units, for each unit more. The defaults are 200,000 executions and 1 s."
            .to_owned(),
    );
    Ok(table)
}
