//! What all tests of a run came to: lines for the end of `cargo test`, a Markdown table for the summary of a CI job.

use std::fmt::Write as _;

use raddle_trace::{Note, Report, Verdict};

use crate::columns::{clean, count};

/// How many tests are listed at the end of a run. The file has all of them.
const MAX_LINES: usize = 40;

/// What one test came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// Its name.
    test: String,
    /// How it ended, as the first word of its report.
    verdict: String,
    /// Whether it ended as it should.
    passed: bool,
    executions: u64,
    elapsed_ms: u64,
    /// What was covered, without the assumptions, or what went wrong.
    covered: String,
    /// Under which assumptions.
    assuming: String,
    /// What raddle does not do as the tool for which the test was written: a pass says less, or something else.
    differences: Vec<String>,
}

impl SummaryRow {
    /// Of a test of this name whose search has ended.
    #[must_use]
    pub fn new(test: &str, report: &Report, passed: bool) -> Self {
        let guarantee = &report.guarantee;
        let mut plain = guarantee.clone();
        plain.assumptions.clear();
        let assumptions = guarantee.assumptions.iter().map(ToString::to_string);
        let covered = match &report.failure {
            Some(failure) => failure.outcome.summary(&failure.trace.tasks),
            None => plain.to_string(),
        };
        Self {
            test: test.to_owned(),
            verdict: report.verdict.to_string(),
            passed,
            executions: report.counts.executions,
            elapsed_ms: report.elapsed_ms,
            covered,
            assuming: assumptions.collect::<Vec<_>>().join(", "),
            differences: report.notes.iter().filter_map(difference).collect(),
        }
    }

    /// The same under another word than that of its report.
    #[must_use]
    pub fn called(self, verdict: &str) -> Self {
        Self { verdict: verdict.to_owned(), ..self }
    }

    /// Of a test of which nothing can be said, with the reason.
    #[must_use]
    pub fn without_report(test: &str, why: &str) -> Self {
        Self {
            test: test.to_owned(),
            verdict: Verdict::Inconclusive.to_string(),
            passed: false,
            executions: 0,
            elapsed_ms: 0,
            covered: why.lines().next().unwrap_or_default().to_owned(),
            assuming: String::new(),
            differences: Vec::new(),
        }
    }
}

fn difference(note: &Note) -> Option<String> {
    match note {
        Note::Difference { text } => Some(clean(text)),
        _ => None,
    }
}

/// A line for each test that passed, and what all of them assume; then how raddle differs from the tools for which they were
/// written, if they were. Empty if there is none.
///
/// ```
/// use raddle_report::{SummaryRow, summary_lines};
/// use raddle_trace::{Counts, Covered, Guarantee, Report, Verdict};
///
/// let report = Report::new("dfs".into(), Verdict::Covered, Guarantee::new(Covered::Everything), Counts::default());
/// let text = summary_lines(&[SummaryRow::new("queue_is_fifo", &report, true)]);
/// assert_eq!(text, "raddle: what 1 passed test covers\n  queue_is_fifo: every execution (0 executions)\n");
/// ```
#[must_use]
pub fn summary_lines(rows: &[SummaryRow]) -> String {
    let mut passed: Vec<_> = rows.iter().filter(|row| row.passed).collect();
    passed.sort_by(|a, b| a.test.cmp(&b.test));
    let Some(first) = passed.first() else { return String::new() };
    // Most tests of a program assume the same, which is said once.
    let shared = passed.iter().all(|row| row.assuming == first.assuming);
    let covers = if passed.len() == 1 { "covers" } else { "cover" };
    let mut text = format!("raddle: what {} {covers}", count(passed.len() as u64, "passed test"));
    if shared && !first.assuming.is_empty() {
        let _ = write!(text, ", assuming {}", first.assuming);
    }
    text.push('\n');
    for row in passed.iter().take(MAX_LINES) {
        let SummaryRow { test, covered, assuming, .. } = row;
        let _ = write!(text, "  {test}: {covered} ({})", count(row.executions, "execution"));
        if !shared && !assuming.is_empty() {
            let _ = write!(text, "; assuming {assuming}");
        }
        text.push('\n');
    }
    if let Some(more) = passed.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more: RADDLE_SUMMARY=FILE lists all of them");
    }
    text.push_str(&difference_lines(&passed));
    text
}

/// A line for each difference, with the tests that it is about unless it is about all of them.
fn difference_lines(rows: &[&SummaryRow]) -> String {
    let mut lines = String::new();
    let mut told: Vec<&String> = Vec::new();
    for difference in rows.iter().flat_map(|row| &row.differences) {
        if told.contains(&difference) {
            continue;
        }
        told.push(difference);
        let has = |row: &&&SummaryRow| row.differences.contains(difference);
        let all = rows.iter().all(|row| has(&row));
        // A test may have several searches, which follow each other.
        let mut tests: Vec<&str> = rows.iter().filter(has).map(|row| row.test.as_str()).collect();
        tests.dedup();
        let _ = match &tests[..] {
            _ if all => writeln!(lines, "  note: {difference}"),
            [first] => writeln!(lines, "  note on {first}: {difference}"),
            [first, more @ ..] => {
                writeln!(lines, "  note on {first} and {} more: {difference}", more.len())
            }
            [] => Ok(()),
        };
    }
    lines
}

/// A table in Markdown, failures first.
///
/// ```
/// use raddle_report::{SummaryRow, summary_markdown};
/// use raddle_trace::{Counts, Covered, Guarantee, Report, Verdict};
///
/// let report = Report::new("dfs".into(), Verdict::Covered, Guarantee::new(Covered::Everything), Counts::default());
/// let text = summary_markdown(&[SummaryRow::new("a|b", &report, true)]);
/// assert!(text.starts_with("### raddle: 1 passed, 0 not\n\n| test | verdict |"));
/// assert!(text.ends_with("| `a\\|b` | covered | 0 | 0 ms | every execution |\n\n"));
/// ```
#[must_use]
pub fn summary_markdown(rows: &[SummaryRow]) -> String {
    let mut sorted: Vec<_> = rows.iter().collect();
    sorted.sort_by(|a, b| (a.passed, &a.test).cmp(&(b.passed, &b.test)));
    let passed = rows.iter().filter(|row| row.passed).count();
    let mut text = format!("### raddle: {passed} passed, {} not\n\n", rows.len() - passed);
    text.push_str(
        "| test | verdict | executions | time | what was covered, or what went wrong |\n",
    );
    text.push_str("|---|---|---:|---:|---|\n");
    for row in sorted {
        let SummaryRow { test, verdict, executions, elapsed_ms, covered, assuming, .. } = row;
        let mut more =
            if assuming.is_empty() { String::new() } else { format!("; assuming {assuming}") };
        for difference in &row.differences {
            let _ = write!(more, "; note: {difference}");
        }
        let _ = writeln!(
            text,
            "| `{}` | {verdict} | {executions} | {elapsed_ms} ms | {} |",
            cell(&test.replace('`', "'")),
            cell(&format!("{covered}{more}"))
        );
    }
    text.push('\n');
    text
}

/// Text that is no markup and ends no cell: it may come from the program under test.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '|' => out.push_str("\\|"),
            '<' => out.push_str("&lt;"),
            '\n' | '\r' | '\t' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use raddle_trace::{Assumption, Counts, Covered, Guarantee};

    use super::*;

    fn row(test: &str, assumption: Option<Assumption>, passed: bool) -> SummaryRow {
        let mut guarantee = Guarantee::new(Covered::Everything);
        guarantee.assumptions = assumption.into_iter().collect();
        let mut counts = Counts::default();
        counts.executions = 6;
        let verdict = if passed { Verdict::Covered } else { Verdict::Inconclusive };
        SummaryRow::new(test, &Report::new("dfs".into(), verdict, guarantee, counts), passed)
    }

    #[test]
    fn assumptions_that_all_tests_share_are_said_once() {
        let same = Some(Assumption::SequentialConsistency);
        let rows = [row("b", same, true), row("a", same, true), row("c", None, false)];
        assert_eq!(
            summary_lines(&rows),
            "raddle: what 2 passed tests cover, assuming sequentially consistent memory\n  \
             a: every execution (6 executions)\n  b: every execution (6 executions)\n"
        );
        let rows = [row("b", same, true), row("a", None, true)];
        assert_eq!(
            summary_lines(&rows),
            "raddle: what 2 passed tests cover\n  a: every execution (6 executions)\n  \
             b: every execution (6 executions); assuming sequentially consistent memory\n"
        );
    }

    #[test]
    fn a_difference_is_said_once_with_the_tests_that_it_is_about() {
        let with = |test, differences: &[&str]| {
            let mut row = row(test, None, true);
            row.differences = differences.iter().map(|&text| text.to_owned()).collect();
            row
        };
        let b = with("b", &["x", "y"]);
        let rows = [with("a", &["x"]), b.clone(), b, with("c", &["x", "y"])];
        assert_eq!(
            summary_lines(&rows).lines().skip(5).collect::<Vec<_>>(),
            ["  note: x", "  note on b and 1 more: y"]
        );
        let rows = [with("a", &[]), with("b", &["x"])];
        assert!(summary_lines(&rows).ends_with("\n  note on b: x\n"));
        assert!(summary_markdown(&rows).contains("| every execution; note: x |"));
    }

    #[test]
    fn a_report_of_a_test_that_was_written_for_another_tool_has_its_differences() {
        let guarantee = Guarantee::new(Covered::Everything);
        let mut report = Report::new("dfs".into(), Verdict::Covered, guarantee, Counts::default());
        report.notes.push(Note::Difference { text: "that tool also tries this".to_owned() });
        report.notes.push(Note::Text { text: "something else".to_owned() });
        let row = SummaryRow::new("a", &report, true);
        assert_eq!(row.differences, ["that tool also tries this"]);
    }

    #[test]
    fn a_run_without_a_pass_has_no_lines() {
        assert_eq!(summary_lines(&[row("a", None, false)]), "");
    }

    #[test]
    fn long_lists_end_with_how_many_are_left_out() {
        let rows: Vec<_> = (0..45).map(|n| row(&format!("t{n:02}"), None, true)).collect();
        let text = summary_lines(&rows);
        assert_eq!(text.lines().count(), 42, "a heading, 40 tests, and the rest");
        assert!(text.ends_with("  and 5 more: RADDLE_SUMMARY=FILE lists all of them\n"));
    }

    #[test]
    fn failures_come_first_and_text_of_the_program_is_no_markup() {
        let wrong = SummaryRow::without_report("z", "a | <b>\nsecond line");
        let text = summary_markdown(&[row("a", None, true), wrong]);
        let rows: Vec<_> = text.lines().skip(4).collect();
        assert_eq!(rows[0], "| `z` | inconclusive | 0 | 0 ms | a \\| &lt;b> |");
        assert_eq!(rows[1], "| `a` | covered | 6 | 0 ms | every execution |");
    }
}
