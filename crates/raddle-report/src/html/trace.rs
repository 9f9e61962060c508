//! The page of one report. With a failure: its steps to walk through, and what is known of each.
//! Without: what was covered.

use std::fmt::Write as _;

use raddle_trace::{Failure, Outcome, Panic, ReceiveCount, ReceivesSeen, Report};

use crate::columns::{clean, count};
use crate::explanation::explanation;
use crate::html::data::data;
use crate::html::{Sources, badge, embed, escape, number, page, waits};
use crate::notes::said;
use crate::progress::estimated;
use crate::races;
use crate::table::{TableOptions, table};
use crate::text::{came_to_its_end, elapsed, made_small, panicked, replay_command, spins};
use crate::waits::explain;

const STYLE: &str = include_str!("trace.css");
const SCRIPT: &str = include_str!("trace.js");
/// What stands around the steps.
const FRAME: &str = include_str!("trace.html");
/// How many lines of a panic message are shown.
const MESSAGE_LINES: usize = 40;
/// The rows of the table for those without scripts.
const PLAIN_ROWS: usize = 200;

/// The page of a report: one file, which loads nothing.
///
/// `sources` has the files that steps are shown in; see [`Sources::wanted`]. Lines of files that it
/// does not have are left out.
///
/// ```
/// use raddle_report::html::{Sources, trace_page};
/// # let text = r#"{"version": 1, "test": "queue", "strategy": "dfs", "seed": 0, "verdict": "covered",
/// #     "guarantee": {"covered": "everything", "rejected": 0, "assumptions": []},
/// #     "counts": {"executions": 20, "rejected": 0, "steps": 120, "decisions": 70, "max_steps": 6,
/// #     "max_depth": 4, "max_tasks": 3}, "failure": null, "notes": [], "elapsed_ms": 3}"#;
/// # let report = raddle_report::from_json(text)?;
///
/// let page = trace_page(&report, &Sources::default());
/// assert!(page.starts_with("<!doctype html>"));
/// # Ok::<(), raddle_report::ReportError>(())
/// ```
#[must_use]
pub fn trace_page(report: &Report, sources: &Sources) -> String {
    let name = report.test.as_deref().unwrap_or("a test");
    let title = format!("{name}: {}", report.verdict);
    match &report.failure {
        Some(failure) if !failure.trace.events.is_empty() => {
            let body = with_steps(report, failure, sources);
            page(&title, "trace", &body, STYLE, SCRIPT)
        }
        _ => page(&title, "summary", &without_steps(report), STYLE, ""),
    }
}

fn with_steps(report: &Report, failure: &Failure, sources: &Sources) -> String {
    // Without a script there is no way to ask for what is hidden.
    let options =
        TableOptions { width: 120, max_rows: PLAIN_ROWS, full: true, ..TableOptions::default() };
    let plain = table(&failure.trace, &failure.outcome, &options);
    let parts = [
        ("{top}", top(report)),
        ("{plain}", escape(&plain)),
        ("{failure}", failed(failure)),
        ("{search}", search(report)),
        ("{order}", escape(order_said(failure))),
        ("{data}", embed(&data(report, failure, sources))),
    ];
    fill(FRAME, &parts)
}

/// The frame with each name replaced, once and from left to right: what is put in is not looked at.
fn fill(frame: &str, parts: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = frame;
    for (name, text) in parts {
        let (before, after) = rest.split_once(name).unwrap_or((rest, ""));
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn without_steps(report: &Report) -> String {
    let failure = report.failure.as_ref().map(failed).unwrap_or_default();
    let top = top(report);
    let search = search(report);
    format!("{top}<main class=\"side\">{failure}{search}</main>\n")
}

/// The verdict, the test, what happened, and how to see it again.
fn top(report: &Report) -> String {
    let name = report.test.as_deref().map_or_else(|| "a test".to_owned(), clean);
    let headline = match &report.failure {
        Some(failure) => headline(failure),
        None => report.guarantee.to_string(),
    };
    let counts = format!(
        "{}, {} in {}",
        clean(&report.strategy),
        counted(report.counts.executions, "execution"),
        elapsed(report.elapsed_ms)
    );
    let replay = report.failure.as_ref().map(|failure| {
        let command = escape(&replay_command(report, failure, None));
        format!(
            "<div class=\"replay\"><code id=\"replay\" title=\"{command}\">{command}</code>\
             <button id=\"copy\" title=\"Copy the command that replays this\">Copy</button></div>"
        )
    });
    format!(
        "<header class=\"top\">{}<h1>{}</h1><span class=\"counts\">{}</span>{}\
         <p class=\"headline\">{}</p></header>\n",
        badge(report.verdict),
        escape(&name),
        escape(&counts),
        replay.unwrap_or_default(),
        escape(&headline),
    )
}

/// What an execution did, on one line.
pub(super) fn headline(failure: &Failure) -> String {
    let trace = &failure.trace;
    match &failure.outcome {
        Outcome::Panicked { panics, .. } if !panics.is_empty() => {
            let first = panics[0].message.lines().next().unwrap_or_default();
            format!("{}: {}", panicked(trace, &panics[0]), clean(first))
        }
        other => clean(&other.summary(&trace.tasks)),
    }
}

/// The parts of a failure that its steps do not tell.
fn failed(failure: &Failure) -> String {
    let trace = &failure.trace;
    let mut out = String::new();
    let section = |title: &str, content: &str| {
        let title = format!("<summary><h2>{title}</h2></summary>");
        format!("<section><details open>{title}{content}</details></section>\n")
    };
    match &failure.outcome {
        Outcome::Panicked { panics, then } => {
            let step =
                |panic: &Panic| trace.panics.iter().position(|raised| raised.panic == *panic);
            for (index, panic) in panics.iter().enumerate() {
                let lines: Vec<_> = panic.message.lines().take(MESSAGE_LINES).collect();
                let message = escape(&lines.join("\n"));
                let title = match (index, step(panic), step(&panics[0])) {
                    (0, ..) => "Failure",
                    (_, Some(this), Some(first)) if this < first => "Earlier panic",
                    (_, Some(_), Some(_)) => "Later panic",
                    _ => "Other panic",
                };
                let who = escape(&panicked(trace, panic));
                out.push_str(&section(
                    title,
                    &format!("<p>{who}</p><pre class=\"said\">{message}</pre>"),
                ));
            }
            if let Some(then) = then {
                let text = escape(&clean(&then.summary(&trace.tasks)));
                out.push_str(&section("What followed", &format!("<p class=\"said\">{text}</p>")));
            }
        }
        Outcome::Deadlock { waiting } => {
            let content = waits::svg(trace, waiting) + &list(&explain(trace, waiting));
            out.push_str(&section("Who waits for whom", &content));
        }
        Outcome::Livelock { spinning, steps } => {
            let lines: Vec<_> = spinning.iter().map(|&task| spins(trace, task, *steps)).collect();
            out.push_str(&section("Who spins", &list(&lines)));
        }
        Outcome::DataRace(race) => {
            out.push_str(&section("The data race", &list(&races::explain(trace, race))));
        }
        other => {
            let text = escape(&clean(&other.summary(&trace.tasks)));
            out.push_str(&section("Failure", &format!("<p class=\"said\">{text}</p>")));
        }
    }
    let why = failure.explanation.as_ref().map(|why| list(&explanation(why, trace)));
    if let Some(why) = why.filter(|why| !why.is_empty()) {
        out.push_str(&section("Why", &why));
    }
    if let Some(divergence) = &failure.unstable {
        let text = escape(&clean(&divergence.to_string()));
        let told = "replaying the failure did something else, so it may not show again";
        out.push_str(&section("Unstable", &format!("<p>{told}: {text}</p>")));
    }
    out
}

fn order_said(failure: &Failure) -> &'static str {
    if failure.trace.events.iter().all(|event| event.after.is_some()) {
        ""
    } else {
        "The trace does not say which steps had to come first: steps on one object are shown in order."
    }
}

/// What was searched, and what that means.
fn search(report: &Report) -> String {
    let counts = &report.counts;
    let failed = report.failure.is_some() && came_to_its_end(&report.guarantee.covered);
    let mut facts = vec![
        ("strategy", clean(&report.strategy)),
        ("seed", report.seed.to_string()),
        (if failed { "run" } else { "covered" }, report.guarantee.to_string()),
        ("executions", number(counts.executions)),
        ("steps", number(counts.steps)),
        (
            "decisions",
            format!("{}, at most {} in one execution", number(counts.decisions), counts.max_depth),
        ),
        ("tasks", format!("at most {}", counts.max_tasks)),
    ];
    if let Some(failure) = &report.failure {
        facts.push(("failed in", format!("execution {}", number(failure.execution))));
        facts.extend(failure.minimised.as_ref().map(|minimised| ("size", made_small(minimised))));
    }
    if counts.rejected > 0 {
        facts.push(("rejected", format!("{} cut off by a limit", number(counts.rejected))));
    }
    if counts.blocked > 0 {
        facts.push(("blocked", format!("{} cut as covered elsewhere", number(counts.blocked))));
    }
    if let Some(estimate) = report.progress.as_ref().and_then(estimated) {
        facts.push(("estimate", estimate));
    }
    let mut out = "<section><h2>Search</h2><dl>".to_owned();
    for (name, text) in facts {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&text));
    }
    out.push_str("</dl></section>\n");
    if let Some(seen) = &report.receives {
        out.push_str(&receives(seen));
    }
    for note in &report.notes {
        let (text, lines) = said(note);
        let _ = writeln!(
            out,
            "<section><h2>Note</h2><p>{}</p>{}</section>",
            escape(&text),
            list(&lines)
        );
    }
    out
}

/// Orders in which actors received their messages, and pairs that came in one order only.
fn receives(seen: &ReceivesSeen) -> String {
    let ReceiveCount { pr, pcr, pbr, .. } = seen.count;
    let mut facts = vec![("both orders seen", format!("{pr} pairs of receives of one actor"))];
    facts.push(("in direct succession", pcr.to_string()));
    if pbr.pairs > 0 {
        facts.push(("with a change of behaviour", pbr.to_string()));
    }
    let (open, must) = seen.open;
    facts.push(("one order only", format!("{}, and {} as they must", number(open), number(must))));
    let mut out = "<section><h2>Orders of receives</h2><dl>".to_owned();
    for (name, text) in facts {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&text));
    }
    out.push_str("</dl>");
    let pairs = seen.uncovered.iter().map(|pair| clean(&pair.to_string()));
    out.push_str(&list(&pairs.collect::<Vec<_>>()));
    out.push_str("</section>\n");
    out
}

fn list(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let item = |line: &String| format!("<li>{}</li>", escape(line));
    format!("<ul class=\"plain\">{}</ul>", lines.iter().map(item).collect::<String>())
}

/// `1,234 steps`.
pub(super) fn counted(n: u64, noun: &str) -> String {
    count(n, noun).replacen(&n.to_string(), &number(n), 1)
}
