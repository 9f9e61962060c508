//! Makes pages of programs of the corpus, to look at: what each wrong program did, and one page over
//! several strategies. Sources are read from the workspace.
//!
//! `cargo run -p raddle-corpus --example pages -- target/pages`

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use raddle::{Config, ProgressListener, Report};
use raddle_corpus::{Program, find};
use raddle_report::export::{dot, mermaid, perfetto};
use raddle_report::html::{Sources, run_page, trace_page};
use raddle_trace::{DecisionTree, Run, Sample, Tried};

/// Wrong programs: a panic, deadlocks, a livelock, a data race, actors, a long one.
const WRONG: [&str; 10] = [
    "lost-update",
    "abba",
    "philosophers",
    "missed-wakeup",
    "racy-publish",
    "missed-window",
    "store-lost-update",
    "scheduler-lost-task",
    "bounded-buffer",
    "pool-shutdown",
];
/// Searches that stand side by side.
const STRATEGIES: [&str; 4] = ["dfs", "dpor", "random", "pct(3)"];

fn main() -> Result<(), Box<dyn Error>> {
    let directory =
        std::env::args().nth(1).map_or_else(|| PathBuf::from("target/pages"), PathBuf::from);
    fs::create_dir_all(&directory)?;
    let mut run = Run { title: Some("raddle-corpus".to_owned()), ..Run::default() };
    let mut all_sources = Sources::default();
    for name in WRONG {
        let mut tried = search(name, &[], "dfs preemptions(2)", 50_000)?;
        if tried.report.failure.is_none() {
            tried = search(name, &[], "random", 50_000)?;
        }
        let report = &tried.report;
        let sources = sources(report);
        for file in Sources::wanted(report) {
            if let Ok(text) = fs::read_to_string(workspace().join(file)) {
                all_sources.insert(file, &text);
            }
        }
        let page = format!("{name}.html");
        fs::write(directory.join(&page), trace_page(report, &sources))?;
        fs::write(directory.join(format!("{name}.json")), raddle_report::to_json_pretty(report))?;
        if let Some(failure) = &report.failure {
            fs::write(directory.join(format!("{name}.perfetto.json")), perfetto(failure))?;
            fs::write(directory.join(format!("{name}.mmd")), mermaid(failure))?;
            fs::write(directory.join(format!("{name}.dot")), dot(&DecisionTree::from(failure)))?;
            tried.page = Some(page);
        }
        run.tried.push(tried);
    }
    run.elapsed_ms = run.tried.iter().map(|tried| tried.report.elapsed_ms).sum();
    fs::write(directory.join("index.html"), run_page(&run, &all_sources))?;
    let mut side_by_side = Run { title: Some("readers".to_owned()), ..Run::default() };
    for strategy in STRATEGIES {
        side_by_side.tried.push(search("readers", &[11], strategy, 200_000)?);
    }
    side_by_side.elapsed_ms = side_by_side.tried.iter().map(|tried| tried.report.elapsed_ms).sum();
    fs::write(directory.join("strategies.html"), run_page(&side_by_side, &Sources::default()))?;
    fs::write(directory.join("run.json"), serde_json::to_string(&side_by_side)?)?;
    Ok(())
}

/// Runs a program and keeps how far the search was from time to time.
fn search(
    name: &str,
    arguments: &[usize],
    strategy: &str,
    executions: u64,
) -> Result<Tried, Box<dyn Error>> {
    let (program, arguments): (&'static Program, _) = find(name, arguments)?;
    let samples = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&samples);
    let observer = ProgressListener::new(Duration::from_millis(20), move |progress| {
        if let Ok(mut heard) = heard.lock() {
            heard.push(Sample { progress: *progress, pairs: None });
        }
    });
    let mut config = Config::default();
    config.test = Some(program.name.to_owned());
    strategy.clone_into(&mut config.strategy);
    config.executions = Some(executions);
    config.time = Some(Duration::from_secs(3));
    config.seed = Some(0);
    config.traces = true;
    config.steps = program.steps;
    config.observer = Some(observer);
    let report = raddle::explore(config, move || program.call(&arguments))?;
    let samples = samples.lock().map(|samples| samples.clone()).unwrap_or_default();
    Ok(Tried { report, samples, page: None, expected: false })
}

fn sources(report: &Report) -> Sources {
    let mut sources = Sources::default();
    for file in Sources::wanted(report) {
        if let Ok(text) = fs::read_to_string(workspace().join(file)) {
            sources.insert(file, &text);
        }
    }
    sources
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
