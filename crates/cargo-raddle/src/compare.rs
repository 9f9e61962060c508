//! The same tests under several strategies, side by side.

use std::time::Instant;

use crate::check::{Regressions, Tested};
use crate::cli;
use crate::print::{self, Side};
use crate::project::Project;
use crate::run::{self, Runner, Tally};
use crate::show::{Human, Show, guarantee, verdict};
use crate::wrong::Wrong;
use crate::{command, os, page};

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

    fn finished(&mut self, tested: &Tested) {
        self.lines.clear(&tested.id);
    }
}

pub(crate) fn compare(asked: &cli::Compare) -> Result<u8, Wrong> {
    let strategies = split(&asked.strategies);
    if strategies.iter().any(String::is_empty) {
        return Err(Wrong::usage("--strategies has a strategy without a name; write a,b,c"));
    }
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let settings = command::settings(&project, &asked.settings)?.or("traces", "true");
    let (tests, ignored) = command::prepare(&project, &asked.build, &asked.chosen)?;
    os::catch_interrupts();
    let desk = run::desk()?;
    let began = Instant::now();
    let mut all: Vec<Vec<Tested>> = Vec::new();
    for strategy in &strategies {
        let settings = settings.with_strategy(strategy);
        let regressions = Regressions::LeftAlone;
        let runner = Runner { desk: &desk, settings: &settings, regressions, tree: None };
        all.push(runner.run(&tests, &mut Beside { lines: Human::new() }));
    }
    print::out(&table(&strategies, &all));
    // By test, so that the page puts the strategies of one beside each other.
    let mut tested: Vec<Tested> = all.into_iter().flatten().collect();
    tested.sort_by(|a, b| a.id.cmp(&b.id));
    let title = format!("strategies compared: {}", strategies.join(", "));
    match page::write(&project, &title, began.elapsed(), &tested) {
        Ok(path) => print::out(&format!("\nreport: {}\n", path.display())),
        Err(error) => print::err(&format!("the report was not written: {error}\n")),
    }
    let tally = Tally::of(&tested, tests.len() * strategies.len(), ignored);
    // That a strategy finds the bug is what one compares for.
    Ok(Tally { failed: 0, passed: tally.passed + tally.failed, ..tally }.exit_code())
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
    print::table(&head, &rows)
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
