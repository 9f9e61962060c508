//! Searches over actors that are stopped and go on from a file: links have numbers that hang on the order in
//! which they were met, and mean the same in every part.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use raddle::{Config, Note, Progress, Report, explore};
use raddle_testing::{Sample, figures};

use crate::random::Program;

/// What does not hang on the clock, nor on whether there was a file.
fn without_time(mut report: Report) -> Report {
    report.elapsed_ms = 0;
    if let Some(progress) = &mut report.progress {
        let (rate, left_ms) = (None, None);
        *progress = Progress { elapsed_ms: 0, rate, left_ms, frontier_bytes: 0, ..*progress };
    }
    report.notes.retain(|note| !matches!(note, Note::Kept { .. } | Note::Resumed { .. }));
    report
}

fn search(
    program: &Arc<Program>,
    strategy: &str,
    executions: u64,
    checkpoint: Option<&PathBuf>,
) -> Report {
    let mut config = Config::default();
    config.strategy = strategy.into();
    config.executions = Some(executions);
    config.traces = true;
    config.watchdog = None;
    config.checkpoint = checkpoint.map(|file| file.to_string_lossy().into_owned());
    config.checkpoint_every = None;
    let program = Arc::clone(program);
    explore(config, move || drop(program.run())).expect("a search can run here")
}

/// Two thousand programs if there is time, else 25.
#[test]
fn actors_are_searched_in_parts_as_if_nothing_had_happened() {
    let sample = Sample::new((25, 60), (2_000, 60));
    let mut executions = 0;
    let file =
        std::env::temp_dir().join(format!("raddle-actors-{}.checkpoint", std::process::id()));
    for seed in (sample.from..).take(sample.programs as usize) {
        executions += in_parts(seed, sample.most, &file);
    }
    let _ = fs::remove_file(file);
    figures("saved-actors", &[("compared", sample.programs), ("executions", executions)]);
}

/// Searches a program in parts and as a whole by each strategy; how many executions the whole searches had.
#[track_caller]
fn in_parts(seed: u64, most: u64, file: &PathBuf) -> u64 {
    let program = Arc::new(Program::random(seed));
    let mut executions = 0;
    for strategy in
        ["dpor", "dpor(eta)", "dpor(source)", "dpor(classic)", "hapset(all)", "surw", "bita"]
    {
        let _ = fs::remove_file(file);
        let mut last = None;
        for part in [1, 2 + seed % 5, 20, most] {
            last = Some(search(&program, strategy, part, Some(file)));
            if !file.exists() {
                break;
            }
        }
        let whole = search(&program, strategy, most, None);
        executions += whole.counts.executions;
        let parts = last.map(without_time);
        assert_eq!(parts, Some(without_time(whole)), "{strategy} of {program:#?}");
    }
    executions
}

/// Seed 217: `surw` has counted more objects than the steps that it keeps touch, and took its own checkpoint for a
/// damaged one.
#[test]
fn a_sampler_that_counted_more_objects_than_it_kept_steps_goes_on() {
    let file = std::env::temp_dir().join(format!("raddle-surw-{}.checkpoint", std::process::id()));
    in_parts(217, 60, &file);
    let _ = fs::remove_file(file);
}
