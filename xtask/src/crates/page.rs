//! The page of everything that was measured of the crates.

use std::fmt::Write as _;

use super::record::{Ended, Made, Record, Row, Run};

/// What a run came to, as cells of a table: how it ended, executions, CPU seconds.
pub(super) fn word(run: Option<&Run>) -> String {
    let Some(run) = run else { return "not run | – | –".to_owned() };
    let more = if run.ended == Ended::Stopped { ">" } else { "" };
    let executions = run.executions.map_or("–".to_owned(), |n| format!("{more}{n}"));
    let ended = match (run.ended, run.covered) {
        (Ended::Failed, _) => "**fails**",
        (Ended::Hung, _) => "**hangs**",
        (Ended::Stopped, _) => "stopped",
        (Ended::Passed, true) => "covered",
        (Ended::Passed, false) => "passes",
    };
    format!("{ended} | {executions} | {more}{:.2}", run.seconds)
}

/// Why raddle misses a goal on a test: found by hand, and printed only while the test does miss it.
const REASONS: [(&str, &str, &str); 2] = [
    (
        "tokio",
        "runtime::tests::loom_current_thread::yield_now::yield_calls_park_before_scheduling_again",
        "the test itself asks for one execution (`max_permutations`)",
    ),
    (
        "tokio",
        "runtime::tests::loom_multi_thread::yield_now::yield_calls_park_before_scheduling_again",
        "the test itself asks for one execution (`max_permutations`)",
    ),
];

/// The reason for a miss: what is known of the test, or what the numbers say.
fn reason(name: &str, row: &Row) -> String {
    let found = REASONS.iter().find(|(of, one, _)| *of == name && *one == row.test);
    if let Some((_, _, why)) = found {
        return (*why).to_owned();
    }
    if row.loom.as_ref().is_some_and(|run| run.ended == Ended::Stopped) {
        return "Undecided: loom was stopped at its limit, and how long it takes to the end is not known".to_owned();
    }
    let executions = |run: &Option<Run>| run.as_ref().and_then(|run| run.executions);
    match (executions(&row.loom), executions(&row.raddle)) {
        (Some(loom), Some(raddle)) => format!("{raddle} executions beside loom's {loom}"),
        _ => "No reason is known".to_owned(),
    }
}

/// A test and where it is from.
type Of<'a> = (&'a Record, &'a Row);

const INTRODUCTION: &str = "\
# Tests of real crates, written for loom, under loom and under raddle

`cargo xtask crates`: crates of the registry with their unchanged tests, built with loom 0.7 or 0.5 (whichever the crate asks for) and \
with `raddle-loom` in its place by one line of `[patch.crates-io]`, in release. Each test is a process of its own with a limit of \
CPU time (*stopped*; `>` is what had been done by then). *covered*: the tool says that it ran \
everything (of loom: the test ended without a failure), at the bound on preemptions of the crate's own continuous integration where it names one; *passes*: no failure, and not \
everything was run. Each run was made once, beside other work on the machine: CPU seconds (user and system) are told, and a factor of two \
means nothing. Rows of different crates may be of different commits and limits; each crate says which (the history does not have commits whose changes landed under \
other names). loom tells how many executions it ran only \
where the test lets it write its log. It is run with `LOOM_MAX_BRANCHES=100000` and `LOOM_CHECKPOINT_INTERVAL=1000`: with the first a long execution \
is not given up, with the second it tells often enough how far it was when it was stopped.

loom also explores what weak memory allows a load to read, and raddle does not: fewer executions are not the same work, and a \
test that passes here may have an error of that kind.

";

const HEAD: &str = "\
| crate | bound | tests | covered by loom, raddle | failing | CPU seconds, loom | raddle | covered by both: loom | raddle | limit of CPU time, commit, date |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|
";

/// The page.
pub(super) fn written(records: &[Record]) -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str(&goals(records));
    page.push_str("## The crates\n\n");
    page.push_str(HEAD);
    for record in records {
        page.push_str(&line(record));
    }
    for record in records.iter().filter(|record| record.error.is_none()) {
        let _ = write!(
            page,
            "\n## {}\n\n{}.{}\n\n\
             | test | loom | executions | CPU s | raddle | executions | CPU s |\n|---|---|---:|---:|---|---:|---:|\n",
            title(record),
            made(record),
            record.note.as_ref().map_or(String::new(), |note| format!(" {note}")),
        );
        for Row { test, loom, raddle } in &record.rows {
            let _ = writeln!(
                page,
                "| `{test}` | {} | {} |",
                word(loom.as_ref()),
                word(raddle.as_ref())
            );
        }
    }
    page
}

fn bound(record: &Record) -> String {
    record.bound.map_or("none".to_owned(), |bound| bound.to_string())
}

fn title(record: &Record) -> String {
    let tests = match record.tests.as_str() {
        "" => String::new(),
        tests => format!(", tests `{tests}`"),
    };
    format!("{} {}, bound {}{tests}", record.name, record.version, bound(record))
}

/// With which limits, at which commits and when.
fn made(record: &Record) -> String {
    let of = |name: &str, runs: Vec<&Run>| {
        let mut all: Vec<String> = Vec::new();
        for Run { made: Made { limit, commit, date }, .. } in &runs {
            let text = format!("{limit} s a test, {commit}, {date}");
            if !all.contains(&text) {
                all.push(text);
            }
        }
        let all = if all.is_empty() { "not run".to_owned() } else { all.join(" and ") };
        format!("{name}: {all}")
    };
    let loom = record.rows.iter().filter_map(|row| row.loom.as_ref()).collect();
    let raddle = record.rows.iter().filter_map(|row| row.raddle.as_ref()).collect();
    format!("{}; {}", of("loom", loom), of("raddle", raddle))
}

fn fails(run: Option<&Run>) -> bool {
    run.is_some_and(|run| matches!(run.ended, Ended::Failed | Ended::Hung))
}

/// What was wanted, and what came of it.
fn goals(records: &[Record]) -> String {
    let all: Vec<Of<'_>> = records
        .iter()
        .flat_map(|record| record.rows.iter().map(move |row| (record, row)))
        .collect();
    let mut text = String::from("## What was wanted\n\n");
    text.push_str(&false_failures(&all));
    text.push_str(&factors(&all));
    text.push_str(&tokio(records));
    text.push('\n');
    text
}

fn named(rows: &[Of<'_>]) -> String {
    let names: Vec<String> =
        rows.iter().map(|(record, row)| format!("{} `{}`", record.name, row.test)).collect();
    names.join(", ")
}

fn false_failures(all: &[Of<'_>]) -> String {
    let all: Vec<Of<'_>> = all.iter().copied().filter(|(_, row)| row.raddle.is_some()).collect();
    let only = |row: &Row| fails(row.raddle.as_ref()) && !fails(row.loom.as_ref());
    let false_ones: Vec<Of<'_>> = all.iter().copied().filter(|(_, row)| only(row)).collect();
    let both: Vec<Of<'_>> =
        all.iter().copied().filter(|(_, row)| fails(row.loom.as_ref()) && !only(row)).collect();
    let mut text = if false_ones.is_empty() {
        format!("- No false failure: **met**, {} tests that raddle ran.", all.len())
    } else {
        format!("- No false failure: **missed** by {} of {} tests:", false_ones.len(), all.len())
    };
    for (record, row) in &false_ones {
        let _ = write!(text, "\n  - {} `{}`: {}", record.name, row.test, reason(&record.name, row));
    }
    if !both.is_empty() {
        let _ = write!(text, "\n  Failing under loom: {}.", named(&both));
    }
    text + "\n"
}

/// Raddle's part of loom's CPU time, where loom takes more than a second.
fn factors(all: &[Of<'_>]) -> String {
    let mut text = String::new();
    let (mut parts, mut missed) = (Vec::new(), Vec::new());
    for &(record, row) in all {
        let (Some(loom), Some(raddle)) = (&row.loom, &row.raddle) else { continue };
        if loom.seconds <= 1.0 || loom.ended == Ended::Failed {
            continue;
        }
        let part = raddle.seconds / loom.seconds;
        if raddle.ended == Ended::Passed && part <= 0.2 {
            parts.push(part);
        } else {
            missed.push((record, row, raddle));
            // One that was stopped took at least its limit.
            parts.push(if raddle.ended == Ended::Passed { part } else { f64::INFINITY });
        }
    }
    parts.sort_by(f64::total_cmp);
    let Some(median) = parts.get(parts.len() / 2) else { return text };
    let _ = writeln!(
        text,
        "- Every test on which loom spends more than a CPU second (or is stopped) is finished in at most a fifth of its CPU time: {}, {} of {} tests. \
         (One on which loom was stopped counts with the limit, so its factor is a lower bound.)",
        if missed.is_empty() { "**met**" } else { "**missed**" },
        parts.len() - missed.len(),
        parts.len(),
    );
    for (record, row, raddle) in &missed {
        let _ = writeln!(
            text,
            "  - {} `{}`, bound {}: loom {}, raddle {}. {}.",
            record.name,
            row.test,
            bound(record),
            spelled(row.loom.as_ref()),
            spelled(Some(raddle)),
            reason(&record.name, row)
        );
    }
    let _ = writeln!(
        text,
        "- The median of these is at most a twentieth: {}, {}.",
        if *median <= 0.05 { "**met**" } else { "**missed**" },
        if median.is_finite() {
            format!("1/{:.0}", 1.0 / median.max(1e-4))
        } else {
            "more than half are not finished".to_owned()
        }
    );
    text
}

fn spelled(run: Option<&Run>) -> String {
    let Some(run) = run else { return "not run".to_owned() };
    let how = match (run.ended, run.covered) {
        (Ended::Stopped, _) => "stopped after",
        (Ended::Hung, _) => "hung after",
        (Ended::Failed, _) => "failed after",
        (Ended::Passed, true) => "covered in",
        (Ended::Passed, false) => "passed in",
    };
    format!("{how} {:.2} s", run.seconds)
}

/// The goal for tokio at two preemptions.
fn tokio(records: &[Record]) -> String {
    let whole = |record: &&Record| {
        record.name == "tokio" && record.bound == Some(2) && record.tests.is_empty()
    };
    let Some(record) = records.iter().find(whole) else { return String::new() };
    let runs: Vec<(&Row, &Run)> =
        record.rows.iter().filter_map(|row| Some((row, row.raddle.as_ref()?))).collect();
    let covered = runs.iter().filter(|(_, run)| run.covered).count();
    let seconds: f64 = runs.iter().filter(|(_, run)| run.covered).map(|(_, run)| run.seconds).sum();
    let mut text = format!(
        "- tokio at bound 2, at least 107 of 111 covered in at most one CPU minute: {}, {covered} of {} covered in {seconds:.1} CPU s.\n",
        if covered >= 107 && seconds <= 60.0 { "**met**" } else { "**missed**" },
        runs.len(),
    );
    for (row, run) in runs.iter().filter(|(_, run)| !run.covered) {
        let _ = writeln!(
            text,
            "  - not covered: `{}`, {}. {}.",
            row.test,
            spelled(Some(run)),
            reason("tokio", row)
        );
    }
    text
}

/// The row of a crate in the first table.
fn line(record: &Record) -> String {
    if let Some(why) = &record.error {
        return format!(
            "| {} {} | {} | not measured: {why} | | | | | | | |\n",
            record.name,
            record.version,
            bound(record),
        );
    }
    let of = [|row: &Row| row.loom.clone(), |row: &Row| row.raddle.clone()];
    let runs = of.map(|of| record.rows.iter().map(of).collect::<Vec<_>>());
    let both: Vec<bool> = record
        .rows
        .iter()
        .map(|row| {
            [&row.loom, &row.raddle].iter().all(|run| run.as_ref().is_some_and(|run| run.covered))
        })
        .collect();
    let covered = |runs: &[Option<Run>]| runs.iter().flatten().filter(|run| run.covered).count();
    let failing = |runs: &[Option<Run>]| runs.iter().filter(|run| fails(run.as_ref())).count();
    let all = |runs: &[Option<Run>]| {
        runs.iter().flatten().map(|run| run.seconds).fold(0.0, |sum, one| sum + one)
    };
    let shared = |runs: &[Option<Run>]| {
        let both = runs.iter().zip(&both).filter(|(_, both)| **both);
        both.filter_map(|(run, _)| run.as_ref()).fold(0.0, |sum, run| sum + run.seconds)
    };
    let [loom, raddle] = &runs;
    format!(
        "| {} {} | {} | {} | {}, {} | {}, {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |\n",
        record.name,
        record.version,
        bound(record),
        record.rows.len(),
        covered(loom),
        covered(raddle),
        failing(loom),
        failing(raddle),
        all(loom),
        all(raddle),
        shared(loom),
        shared(raddle),
        made(record)
    )
}

#[cfg(test)]
mod tests {
    use super::written;
    use crate::crates::record::{Ended, Made, Record, Row, Run};

    fn run(ended: Ended, seconds: f64) -> Run {
        let made = Made { limit: 20, commit: "abc".into(), date: "2026-01-01".into() };
        Run { ended, seconds, executions: Some(7), covered: ended == Ended::Passed, made }
    }

    #[test]
    fn goals_that_are_missed_are_named() {
        let row = |test: &str, loom: Run, raddle: Run| Row {
            test: test.to_owned(),
            loom: Some(loom),
            raddle: Some(raddle),
        };
        let rows = vec![
            row("fast", run(Ended::Stopped, 20.0), run(Ended::Passed, 0.1)),
            row("slow", run(Ended::Passed, 2.0), run(Ended::Passed, 1.0)),
            row("wrong", run(Ended::Passed, 0.1), run(Ended::Failed, 0.1)),
        ];
        let record = Record {
            name: "a".into(),
            version: "1.0.0".into(),
            bound: None,
            tests: String::new(),
            note: None,
            error: None,
            rows,
        };
        let page = written(&[record]);
        assert!(page.contains("No false failure: **missed** by 1 of 3 tests"), "{page}");
        assert!(page.contains("**missed**, 1 of 2 tests"), "{page}");
        assert!(
            page.contains("a `slow`, bound none: loom covered in 2.00 s, raddle covered in 1.00 s"),
            "{page}"
        );
        assert!(page.contains("| `fast` | stopped | >7 | >20.00 | covered | 7 | 0.10 |"), "{page}");
    }
}
