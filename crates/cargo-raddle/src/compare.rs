//! The same tests under several strategies, side by side.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use raddle_report::{Curve, CurveOptions};
use raddle_trace::Progress;

use crate::check::Tested;
use crate::cli;
use crate::error::DriverError;
use crate::page::{Of, Ran};
use crate::print::{self, Side};
use crate::project::Project;
use crate::run::{self, Runner, Tally};
use crate::show::{Human, Show, guarantee, interrupted, verdict};
use crate::{command, os, page, strategies};

/// Tests that have a plot in the terminal.
const PLOTS: usize = 4;

/// From one point of a curve to the next. Of a longer search every second point is dropped, and so on.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(5);

/// Shows lines that move, with the strategy, and no results.
struct Beside {
    lines: Human,
}

impl Show for Beside {
    fn started(&mut self, test: &crate::find::Test) {
        self.lines.started(test);
    }

    fn progress(&mut self, test: &crate::find::Test, progress: &raddle_trace::Progress) {
        self.lines.progress(test, progress);
    }

    fn interrupted(&mut self, running: usize) {
        self.lines.acknowledge(&interrupted(running, ""));
    }

    fn finished(&mut self, tested: &Tested) {
        self.lines.clear(&tested.id);
    }
}

pub(crate) fn compare(asked: &cli::Compare) -> Result<u8, DriverError> {
    let strategies = split(&asked.strategies);
    if strategies.iter().any(String::is_empty) {
        return Err(DriverError::usage("--strategies has a strategy without a name; write a,b,c"));
    }
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let settings = command::settings(&project, &asked.settings)?.or("traces", "true");
    let (tests, ignored) = command::prepare(&project, &asked.build, &asked.chosen)?;
    os::catch_interrupts();
    let desk = run::desk()?;
    if let Some(test) = tests.first() {
        let runner = Runner::plain(&desk, &settings);
        for strategy in &strategies {
            strategies::check(&runner, test, strategy)?;
        }
    }
    let began = Instant::now();
    let mut all: Vec<Vec<Tested>> = Vec::new();
    for strategy in &strategies {
        let settings = settings.with_strategy(strategy);
        let runner = Runner { progress: PROGRESS_INTERVAL, ..Runner::plain(&desk, &settings) };
        all.push(runner.run(&tests, &mut Beside { lines: Human::new() }));
    }
    print::out(&table(&strategies, &all));
    print::out(&plots(&strategies, &all));
    // By test, so that the page puts the strategies of one beside each other.
    let mut tested: Vec<Tested> = all.into_iter().flatten().collect();
    tested.sort_by(|a, b| a.id.cmp(&b.id));
    let title = format!("strategies compared: {}", strategies.join(", "));
    let elapsed = began.elapsed();
    let run = Ran { of: Of::Comparison, title: &title, settings: &settings, elapsed };
    match page::write(&project, &run, &tested) {
        Ok(path) => print::out(&format!("\nplots: {}\n", path.display())),
        Err(error) => print::err(&format!("warning: the report was not written: {error}\n")),
    }
    let tally = Tally::of(&tested, tests.len() * strategies.len(), ignored);
    // That a strategy finds the bug is what one compares for.
    Ok(Tally { failed: 0, passed: tally.passed + tally.failed, ..tally }.exit_code())
}

/// Distinct traces by executions, a plot for each test. More than a few are for the page.
#[expect(clippy::cast_precision_loss, reason = "a plot shows few digits")]
fn plots(strategies: &[String], all: &[Vec<Tested>]) -> String {
    let n_tests = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut options = CurveOptions::default();
    options.width = print::width().min(100);
    options.colour = print::colour();
    options.unicode = CurveOptions::unicode_for(|name| std::env::var(name).ok());
    let mut out = String::new();
    for index in 0..n_tests.min(PLOTS) {
        let curve = |(strategy, tested): (&String, &Vec<Tested>)| {
            let tested = tested.get(index)?;
            let report = tested.report.as_ref()?;
            let point = |progress: Progress| {
                Some((progress.executions as f64, progress.traces?.distinct as f64))
            };
            let points = page::curve(tested, report).into_iter().filter_map(point).collect();
            let found = report.failure.is_some();
            Some(Curve { name: strategy.clone(), points, found })
        };
        let curves: Vec<Curve> = strategies.iter().zip(all).filter_map(curve).collect();
        // One trace is no curve.
        if curves.iter().flat_map(|curve| &curve.points).all(|&(_, traces)| traces < 2.0) {
            continue;
        }
        let name = all.iter().find_map(|tested| tested.get(index)).map(|tested| &tested.id.test);
        let title = name.map_or_else(String::new, |name| format!("{name}: distinct traces"));
        let plot = raddle_report::curves(&title, "executions", &curves, &options);
        if !plot.is_empty() {
            out.push('\n');
            out.push_str(&plot);
        }
    }
    if n_tests > PLOTS {
        let _ = writeln!(out, "\n{} more tests are on the page", n_tests - PLOTS);
    }
    out
}

/// At the commas that are not in brackets.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_u32;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

fn table(strategies: &[String], all: &[Vec<Tested>]) -> String {
    let head = [
        ("test", Side::Left),
        ("strategy", Side::Left),
        ("verdict", Side::Left),
        ("executions", Side::Right),
        ("traces", Side::Right),
        ("steps", Side::Right),
        ("ms", Side::Right),
        ("guarantee", Side::Left),
    ];
    let mut rows = Vec::new();
    let count = all.iter().map(Vec::len).max().unwrap_or(0);
    for index in 0..count {
        for (strategy, tested) in strategies.iter().zip(all) {
            let Some(tested) = tested.get(index) else { continue };
            let report = tested.report.as_ref();
            let number = |of: fn(&raddle_trace::Report) -> u64| {
                report.map_or("-".to_owned(), |report| print::grouped(of(report)))
            };
            let traces = report.and_then(|report| report.guarantee.traces);
            rows.push(vec![
                tested.id.test.clone(),
                strategy.clone(),
                verdict(tested),
                number(|report| report.counts.executions),
                traces.map_or("-".to_owned(), |traces| print::grouped(traces.distinct)),
                number(|report| report.counts.steps),
                number(|report| report.elapsed_ms),
                guarantee(tested),
            ]);
        }
    }
    print::fitted(&print::table(&head, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_belong_to_the_strategy() {
        let parts = split("dfs, all best-first(mdpor, pb),pct(3)");
        assert_eq!(parts, ["dfs", "all best-first(mdpor, pb)", "pct(3)"]);
        assert_eq!(split("dfs,"), ["dfs", ""]);
    }
}
