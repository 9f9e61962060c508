//! The end of a run: a row for each test.

use std::fmt::Write as _;

use raddle_report::{Colour, TextOptions};
use raddle_trace::Verdict;
use raddle_trace::events::{Ending, Retried, TestId};

use crate::check::Tested;
use crate::print::{self, Side};
use crate::run::Tally;

/// One word, or two: how it ended.
pub(crate) fn verdict(tested: &Tested) -> String {
    match (&tested.report, tested.ending) {
        (_, Ending::Interrupted) => "interrupted".to_owned(),
        (_, Ending::Inconclusive) | (None, _) => "inconclusive".to_owned(),
        (Some(report), Ending::Passed) if !report.verdict.is_pass() => "as expected".to_owned(),
        (Some(report), Ending::Passed) => report.verdict.to_string(),
        (Some(_), Ending::Failed) => "FAILED".to_owned(),
    }
}

/// What the verdict means, in one clause.
pub(crate) fn guarantee(tested: &Tested) -> String {
    let Some(report) = &tested.report else {
        let error = tested.error.as_deref().unwrap_or("nothing is known");
        return error.lines().next().unwrap_or_default().to_owned();
    };
    if let Some(failure) = &report.failure {
        let summary = failure.outcome.summary(&failure.trace.tasks);
        return summary.lines().next().unwrap_or_default().to_owned();
    }
    if let (Some(expected), Ending::Failed) = (&tested.expected, tested.ending) {
        return format!("expected {expected}, found no failure");
    }
    if report.verdict == Verdict::Inconclusive {
        return "the search could not go on".to_owned();
    }
    if let (Some(expected), Ending::Interrupted) = (&tested.expected, tested.ending) {
        return format!("expected {expected}, not found so far");
    }
    let text = report.guarantee.to_string();
    text.split("; assuming").next().unwrap_or_default().to_owned()
}

/// Executions there are in all, if the search can tell and did not run them all.
pub(crate) fn estimate(tested: &Tested) -> String {
    let progress = tested.report.as_ref().and_then(|report| report.progress);
    match progress.and_then(|progress| progress.estimate) {
        Some(estimate) if estimate.total.is_narrow() => format!("~{}", short(estimate.total.about)),
        _ => "-".to_owned(),
    }
}

/// A number with all its digits, or two.
#[expect(clippy::cast_sign_loss, reason = "numbers of executions")]
fn short(number: f64) -> String {
    if number < 1e6 {
        print::grouped(number.round().max(0.0) as u64)
    } else {
        format!("{number:.1e}")
    }
}

/// Distinct traces, if they were counted.
pub(crate) fn traces(tested: &Tested) -> String {
    let traces = tested.report.as_ref().and_then(|report| report.guarantee.traces);
    match traces {
        Some(traces) if traces.exact => print::grouped(traces.distinct),
        Some(traces) => format!("~{}", print::grouped(traces.distinct)),
        None => "-".to_owned(),
    }
}

pub(crate) fn executions(tested: &Tested) -> String {
    let executions = tested.report.as_ref().map(|report| report.counts.executions);
    executions.map_or("-".to_owned(), print::grouped)
}

pub(crate) fn time(tested: &Tested) -> String {
    let seconds = tested.elapsed.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.2}s") } else { format!("{seconds:.0}s") }
}

/// Columns that a guarantee should have, and those that a name keeps.
const GUARANTEE: usize = 28;
const NAME: usize = 16;

/// The table, the saved schedules that have something to say, and the sums.
pub(crate) fn summary(tested: &[Tested], tally: &Tally, colour: Colour, width: usize) -> String {
    let mut head = vec![
        ("verdict", Side::Left),
        ("test", Side::Left),
        ("executions", Side::Right),
        ("traces", Side::Right),
        ("estimate", Side::Right),
        ("time", Side::Right),
        ("guarantee", Side::Left),
    ];
    // What one looks for first. The order is that of the tests otherwise.
    let mut tested: Vec<&Tested> = tested.iter().collect();
    tested.sort_by_key(|test| weight(test.ending));
    let row = |test: &&Tested| {
        vec![
            verdict(test),
            test.id.test.clone(),
            executions(test),
            traces(test),
            estimate(test),
            time(test),
            guarantee(test),
        ]
    };
    let mut rows: Vec<Vec<String>> = tested.iter().map(row).collect();
    make_room(&mut head, &mut rows, width);
    let table = print::table(&head, &rows);
    let mut out = String::new();
    for (index, line) in table.lines().enumerate() {
        let cut = print::cut(line, width);
        let line = match index.checked_sub(1).and_then(|row| tested.get(row)) {
            None => print::paint(colour, "2", &cut),
            Some(test) => painted(colour, &verdict(test), &cut, test.ending),
        };
        out.push_str(&line);
        out.push('\n');
    }
    for test in &tested {
        out.push_str(&saved(test));
    }
    out.push_str(&sums(tally));
    // And last, where the eye is after a long run; whole, to be copied.
    for test in tested.iter().filter(|test| weight(test.ending) < PASSES) {
        let word = print::paint(colour, colour_code(test.ending), &verdict(test));
        let TestId { package, target, test } = &test.id;
        let _ = writeln!(out, "{word} {test} ({package}, {target})");
    }
    out
}

/// Where tests that ended so are in a list.
fn weight(ending: Ending) -> u8 {
    match ending {
        Ending::Failed => 0,
        Ending::Inconclusive => 1,
        Ending::Interrupted | Ending::Passed => PASSES,
    }
}

/// Tests of which nothing is wrong.
const PASSES: u8 = 2;

/// That Ctrl-C was heard, and what it does; `more` says what can be done later.
pub(crate) fn interrupted(running: usize, more: &str) -> String {
    match running {
        0 => format!("Ctrl-C: no further test is begun{more}\n"),
        1 => format!("Ctrl-C: ending 1 search; again kills it{more}\n"),
        n => format!("Ctrl-C: ending {n} searches; again kills them{more}\n"),
    }
}

/// Where a terminal is too narrow for all of the table: columns in which nothing stands are left out, and
/// names are shortened, so that what a pass means can be read.
fn make_room(head: &mut Vec<(&str, Side)>, rows: &mut [Vec<String>], width: usize) {
    let wide = |rows: &[Vec<String>], column: usize, name: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(name.chars().count())
    };
    // Columns that are missing.
    let missing = |head: &[(&str, Side)], rows: &[Vec<String>]| {
        let all = head.iter().enumerate().rev().skip(1);
        let taken: usize = all.map(|(at, (name, _))| wide(rows, at, name) + 2).sum();
        (taken + GUARANTEE).saturating_sub(width)
    };
    for column in (0..head.len()).rev() {
        if missing(head, rows) > 0 && rows.iter().all(|row| row[column] == "-") {
            head.remove(column);
            for row in rows.iter_mut() {
                row.remove(column);
            }
        }
    }
    let name = wide(rows, 1, "test").saturating_sub(missing(head, rows)).max(NAME);
    for row in rows {
        row[1] = print::cut(&row[1], name);
    }
}

fn painted(colour: Colour, word: &str, line: &str, ending: Ending) -> String {
    line.replacen(word, &print::paint(colour, colour_code(ending), word), 1)
}

/// The colour of a verdict.
pub(crate) fn colour_code(ending: Ending) -> &'static str {
    match ending {
        Ending::Passed => "32",
        Ending::Failed => "1;31",
        Ending::Inconclusive | Ending::Interrupted => "33",
    }
}

/// What came of saved schedules.
fn saved(test: &Tested) -> String {
    let mut out = String::new();
    for (path, what) in &test.retried {
        let now = match what {
            Retried::Fails => continue,
            Retried::Fixed => "passes now; delete the file when you no longer want it tried",
            Retried::Stale => {
                "is stale: the test does something else under it now; delete the file, or keep it \
                 if the change is not to stay"
            }
        };
        let (test, path) = (&test.id.test, crate::page::shown(path));
        let _ = writeln!(out, "{test}: the schedule saved in {path} {now}");
    }
    out
}

fn sums(tally: &Tally) -> String {
    let Tally { passed, failed, inconclusive, interrupted, not_run, ignored } = *tally;
    let mut parts = vec![format!("{passed} passed")];
    for (n, what) in [
        (failed, "failed"),
        (inconclusive, "inconclusive"),
        (interrupted, "interrupted"),
        (not_run, "not run"),
        (ignored, "ignored"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    parts.join(", ") + "\n"
}

/// All that helps with a test that did not pass.
pub(crate) fn failure_text(tested: &Tested, colour: Colour, width: usize, full: bool) -> String {
    let mut out = String::new();
    if let Some(error) = &tested.error {
        let _ = writeln!(out, "INCONCLUSIVE {}: {error}", tested.id.test);
    }
    if let Some(report) = &tested.report {
        if let (Some(expected), Ending::Failed) = (&tested.expected, tested.ending) {
            let found = if report.failure.is_some() { "another failure" } else { "no failure" };
            let _ = writeln!(out, "expected {expected}, found {found}:");
        }
        let token = report.failure.as_ref().map(|failure| failure.schedule.to_string());
        let file = tested.saved.as_ref().map(|path| crate::page::shown(path));
        let what = file.clone().or(token);
        let TestArguments(arguments) = TestArguments::of(tested, file.is_some());
        let command = what.map(|what| format!("cargo raddle replay {what}{arguments}"));
        let options = TextOptions {
            width,
            colour,
            replay_command: command,
            replayed: tested.retried.last().map(|(path, _)| replayed(&crate::page::shown(path))),
            trace_file: file.map(Into::into),
            full,
            ..TextOptions::default()
        };
        out.push_str(&raddle_report::render(report, &options));
    }
    if !tested.output.is_empty() {
        out.push_str("\nwhat the test printed last:\n");
        for line in tested.output.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// What a replay of a file is called.
pub(crate) fn replayed(file: &str) -> String {
    format!("the saved schedule of {file}")
}

/// What follows a token on the command line.
struct TestArguments(String);

impl TestArguments {
    fn of(tested: &Tested, file: bool) -> Self {
        let id = &tested.id;
        Self(if file { String::new() } else { format!(" {} -p {}", id.test, id.package) })
    }
}
