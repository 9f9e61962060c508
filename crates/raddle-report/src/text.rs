//! A report as a person reads it: what failed, how, what that means, and how to see it again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use raddle_trace::{
    Covered, Death, Divergence, Failure, Member, Minimised, Note, Outcome, PairCount, Panic,
    ReceiveCount, Report, Size, Trace, Verdict,
};

use crate::columns::{Colour, Ink, NO_BREAK, clean, count, hang, paragraph, place, printable};
use crate::explanation::{explanation, steps_told};
use crate::links::{Links, sites};
use crate::notes::said;
use crate::progress::estimated;
use crate::races;
use crate::table::{TableOptions, table};
use crate::waits::{explain, op_on_object};

#[cfg(test)]
mod tests;

/// A token longer than this many characters gives way to the path of a file, if there is one.
pub const LONG_TOKEN: usize = 400;

/// How many lines of a panic message are shown.
const MESSAGE_LINES: usize = 20;
/// How many new pairs of statements are shown.
const NEW_PAIRS: usize = 12;
/// How many different steps of a spinning task are named.
const SPIN_STEPS: usize = 3;

/// How a report is rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the table and of wrapped text. The replay command is never wrapped.
    pub width: usize,
    /// Rows of the table; a longer execution is folded.
    pub max_rows: usize,
    /// Whether to colour.
    pub colour: Colour,
    /// Where places in the source lead, if they are to be links.
    pub links: Option<Links>,
    /// The command that replays the failure, if it is not `RADDLE_REPLAY=… cargo test …`.
    pub replay_command: Option<String>,
    /// Where the whole failure has been saved, if it has.
    pub trace_file: Option<PathBuf>,
    /// What was replayed, if it was a replay and that is known: `the saved schedule of …`.
    pub replayed: Option<String>,
    /// Whether the table has every step: also those that cannot have led to the failure, and however many
    /// there are.
    pub full: bool,
}

impl Default for TextOptions {
    /// 100 columns, 40 rows, no colour, no links, the usual command, no file, not every step.
    fn default() -> Self {
        let TableOptions { width, max_rows, colour, links, full, .. } = TableOptions::default();
        let (replay_command, trace_file, replayed) = (None, None, None);
        Self { width, max_rows, colour, links, replay_command, trace_file, replayed, full }
    }
}

/// The strategy of a report of one recorded execution.
const REPLAY: &str = "replay";

/// A report as text: one line or two and the notes if it passed, all that helps if it did not.
///
/// ```
/// use raddle_report::{TextOptions, render};
/// use raddle_trace::{Assumption, Counts, Covered, Guarantee, Report, Verdict};
///
/// let mut guarantee = Guarantee::new(Covered::Everything);
/// guarantee.assumptions = vec![Assumption::SequentialConsistency];
/// let mut report = Report::new("dfs".into(), Verdict::Covered, guarantee, Counts::default());
/// report.test = Some("queue_is_fifo".into());
/// let text = render(&report, &TextOptions::default());
/// assert!(text.starts_with(
///     "COVERED queue_is_fifo: every execution; assuming sequentially consistent memory\n"
/// ));
/// ```
#[must_use]
pub fn render(report: &Report, options: &TextOptions) -> String {
    let mut text = Text { report, options, causes_said: false, table: 0..0, out: String::new() };
    match &report.failure {
        Some(failure) => text.failed(failure),
        None => text.not_failed(),
    }
    text.linked()
}

struct Text<'a> {
    report: &'a Report,
    options: &'a TextOptions,
    /// Whether the causes of a divergence have been listed: once is enough.
    causes_said: bool,
    /// Where the table is, which has its own links.
    table: Range<usize>,
    out: String,
}

impl<'a> Text<'a> {
    /// What was written, with links if there are to be any.
    fn linked(self) -> String {
        let Some(links) = &self.options.links else { return self.out };
        let report: &'a Report = self.report;
        let mut all = sites(report);
        for note in &report.notes {
            if let Note::LockOrder { cycle } = note {
                all.extend(cycle.iter().flat_map(|nested| {
                    [&nested.held_at, &nested.taken_at, &nested.held.created, &nested.taken.created]
                }));
            }
        }
        let (before, rest) = self.out.split_at(self.table.start);
        let (table, after) = rest.split_at(self.table.len());
        format!("{}{table}{}", links.within(before, &all), links.within(after, &all))
    }

    fn not_failed(&mut self) {
        let guarantee = self.report.guarantee.to_string();
        let passed = self.report.verdict.is_pass();
        self.headline(match self.report.verdict {
            Verdict::Covered | Verdict::Passed => &guarantee,
            Verdict::Failed => "the failure was not kept",
            _ => "the search could not go on",
        });
        self.counts("  ");
        if let Some(estimate) = self.report.progress.as_ref().and_then(estimated) {
            self.paragraph("  ", &format!("did not finish: {estimate}"));
        }
        if !passed {
            self.paragraph("  ", &format!("covered so far: {guarantee}"));
        }
        self.coverage("  ");
        self.receives("  ");
        self.notes();
    }

    fn failed(&mut self, failure: &Failure) {
        let (trace, outcome) = (&failure.trace, &failure.outcome);
        match outcome {
            Outcome::Panicked { panics, .. } if !panics.is_empty() => {
                self.headline(&panicked(trace, &panics[0]));
                self.message(&panics[0].message, "  ");
            }
            Outcome::Died { death, task, panic: Some(panic), .. } => {
                self.headline(&panicked(trace, panic));
                self.message(&panic.message, "  ");
                let who = task.map_or("the test".to_owned(), |task| trace.task_label(task));
                self.paragraph("  ", &clean(&format!("then {who} {death}")));
            }
            _ => self.headline(&clean(&outcome.summary(&trace.tasks))),
        }
        self.gap();
        self.interleaving(failure);
        self.outcome(trace, outcome);
        self.panics_before(trace);
        if let Some(divergence) = &failure.unstable {
            self.gap();
            self.label("unstable: ");
            self.line("replaying the failure did something else, so it may not show again");
            self.divergence(divergence);
        }
        if let Some(why) = &failure.explanation {
            let lines = explanation(why, trace);
            if !lines.is_empty() {
                self.section("why:");
            }
            for line in lines {
                self.paragraph("  ", &line);
            }
        }
        self.notes();
        self.gap();
        let says_something = |m: &&Minimised| m.from != m.to || m.to.preemptions > 0;
        if let Some(minimised) = failure.minimised.as_ref().filter(says_something) {
            self.paragraph("", &made_small(minimised));
        }
        self.counts("");
        let ended = came_to_its_end(&self.report.guarantee.covered);
        let lead = if ended { "run, what failed included" } else { "covered so far" };
        self.paragraph("", &format!("{lead}: {}", self.report.guarantee));
        self.coverage("");
        self.receives("");
        if let Some(file) = &self.options.trace_file {
            self.line(&format!("the whole trace: {}", clean(&file.to_string_lossy())));
        }
        self.gap();
        let command = self.replay_command(failure);
        self.line("replay it with:");
        self.line(&format!("  {command}"));
        self.others();
    }

    /// Failures after which the search went on.
    fn others(&mut self) {
        let report = self.report;
        if report.others.is_empty() {
            return;
        }
        self.section("the search went on, and found these too:");
        for other in &report.others {
            let what = clean(&other.outcome.summary(&other.trace.tasks));
            self.paragraph("  ", &format!("{what}, in execution {}", other.execution));
            // A caller that has a command for the first has one for tokens.
            let command = match (&self.options.replay_command, &report.test) {
                (Some(_), Some(test)) => {
                    format!("cargo raddle replay {} {}", other.schedule, clean(test))
                }
                _ => replay_command(report, other, None),
            };
            self.line(&format!("    {command}"));
        }
    }

    /// The verdict, the test, and what is to be said of it.
    fn headline(&mut self, what: &str) {
        let verdict = self.report.verdict;
        let lead = verdict.to_string().to_uppercase();
        let name = self.report.test.as_deref().map(|name| format!(" {}", clean(name)));
        let name = name.unwrap_or_default();
        let text = paragraph("", &format!("{lead}{name}: {what}"), self.options.width);
        let colour = self.options.colour;
        // A failure is red as a whole; elsewhere only the verdict is coloured.
        let text = match verdict {
            Verdict::Covered | Verdict::Passed => {
                text.replacen(&lead, &colour.paint(Ink::Good, &lead), 1)
            }
            Verdict::Inconclusive => text.replacen(&lead, &colour.paint(Ink::Doubtful, &lead), 1),
            _ => format!("{}\n", colour.paint(Ink::Bad, text.trim_end())),
        };
        self.out.push_str(&text);
    }

    fn interleaving(&mut self, failure: &Failure) {
        let TextOptions { width, max_rows, colour, full, .. } = *self.options;
        let max_rows = if full { usize::MAX } else { max_rows };
        let links = self.options.links.clone();
        let told = failure.explanation.as_ref().map(steps_told).unwrap_or_default();
        let options = TableOptions { width, max_rows, colour, links, full, told };
        let table = table(&failure.trace, &failure.outcome, &options);
        let execution = failure.execution;
        let is_smaller = failure.minimised.is_some_and(|Minimised { from, to, .. }| to < from);
        let smaller = if is_smaller { ", made small" } else { "" };
        if table.is_empty() {
            self.paragraph("", &format!("execution {execution} failed before its first step"));
        } else {
            self.line(&format!("execution {execution}{smaller}, step by step:"));
            self.gap();
            let start = self.out.len();
            self.out.push_str(&table);
            self.table = start..self.out.len();
        }
    }

    /// What the table has no room for.
    fn outcome(&mut self, trace: &Trace, outcome: &Outcome) {
        match outcome {
            Outcome::Panicked { panics, then } => {
                if panics.len() > 1 {
                    self.section("other panics:");
                }
                for panic in panics.iter().skip(1) {
                    self.paragraph("  ", &panicked(trace, panic));
                    self.message(&panic.message, "    ");
                }
                if let Some(then) = then {
                    self.section("what followed:");
                    self.paragraph("  ", &clean(&then.summary(&trace.tasks)));
                    self.outcome(trace, then);
                }
            }
            Outcome::Deadlock { waiting } => {
                self.section("who waits for whom:");
                for line in explain(trace, waiting) {
                    self.paragraph("  ", &line);
                }
            }
            Outcome::Livelock { spinning, steps } => {
                self.section("who spins:");
                for &task in spinning {
                    self.paragraph("  ", &spins(trace, task, *steps));
                }
            }
            Outcome::DataRace(race) => {
                self.section("the data race:");
                for line in races::explain(trace, race) {
                    self.paragraph("  ", &line);
                }
            }
            Outcome::StackOverflow { site, .. } => {
                self.gap();
                let last = site.as_ref().map(|site| place(site, usize::MAX));
                let last = last.filter(|site| !site.is_empty());
                let last = last.map(|site| format!("; its last operation was at {site}"));
                let last = last.unwrap_or_default();
                self.paragraph(
                    "",
                    &format!("the task recurses without end, or needs more stack{last}"),
                );
            }
            Outcome::Died { death, site, .. } => {
                self.gap();
                let last = site.as_ref().map(|site| place(site, usize::MAX));
                let last = last.filter(|site| !site.is_empty());
                let last = last.map(|site| format!("; the last operation was at {site}"));
                let last = last.unwrap_or_default();
                let text = match death {
                    Death::Hang { .. } => {
                        self.paragraph("", &format!("{HANGS}{last}:"));
                        for cause in HANG_CAUSES {
                            self.hang("- ", cause);
                        }
                        return;
                    }
                    Death::Memory { .. } => {
                        "the test allocates without end, or needs a larger \
                                             limit (host_memory)"
                    }
                    _ => "the process of the test did not come to the end of this execution",
                };
                self.paragraph("", &format!("{text}{last}"));
            }
            _ => {}
        }
    }

    /// Panics before an end of another kind: caught, taken, or of a task that ended by it.
    fn panics_before(&mut self, trace: &Trace) {
        let outcome = self.report.failure.as_ref().map(|failure| &failure.outcome);
        let led = match outcome {
            Some(Outcome::Panicked { .. }) => return,
            // The one that it died of is in the headline.
            Some(Outcome::Died { .. }) => true,
            _ => false,
        };
        let before = trace.panics.iter().filter(|raised| raised.handled || !led);
        let before: Vec<_> = before.collect();
        let caught = before.iter().all(|raised| raised.handled);
        if !before.is_empty() {
            let which = if caught { ", which were caught" } else { "" };
            self.section(&format!("panics before that{which}:"));
        }
        for raised in before {
            self.paragraph("  ", &panicked(trace, &raised.panic));
            self.message(&raised.panic.message, "    ");
        }
    }

    fn counts(&mut self, indent: &str) {
        let report = self.report;
        let counts = &report.counts;
        let rejected = match (counts.rejected, counts.blocked) {
            (0, 0) => String::new(),
            (n, 0) => format!(" ({n} cut off by a limit)"),
            (0, m) => format!(" ({m} cut as covered elsewhere)"),
            (n, m) => format!(" ({n} cut off by a limit, {m} cut as covered elsewhere)"),
        };
        let steps = count(counts.steps, "step");
        let decisions = count(counts.decisions, "decision");
        let elapsed = elapsed(report.elapsed_ms);
        if report.strategy == REPLAY {
            let what = self.options.replayed.as_deref().unwrap_or("a recorded schedule");
            self.paragraph(
                indent,
                &format!("replayed {}{rejected}: {steps}, {decisions} in {elapsed}", clean(what)),
            );
            return;
        }
        let text = format!(
            "searched with {}, seed {}: {}{rejected}, {steps}, {decisions} in {elapsed}; deepest: {}",
            clean(&report.strategy),
            report.seed,
            count(counts.executions, "execution"),
            count(counts.max_depth, "decision"),
        );
        self.paragraph(indent, &text);
        let member = |member: &Member| {
            let executions = count(member.counts.executions, "execution");
            format!("{}: {executions}, {}", clean(&member.strategy), member.verdict)
        };
        let members: Vec<_> = report.members.iter().map(member).collect();
        if !members.is_empty() {
            self.paragraph(indent, &format!("of these, by {}", members.join("; by ")));
        }
    }

    /// Pairs of statements, and which of them are new.
    fn coverage(&mut self, indent: &str) {
        let Some(coverage) = &self.report.coverage else { return };
        let PairCount { known, added, last } = coverage.count;
        let mut text = format!("orders of statements: {} known", count(known, "pair"));
        if added > 0 {
            let _ = write!(text, ", {added} added, the last by execution {last}");
        } else {
            text.push_str(", none added");
        }
        let new = coverage.new.len() as u64;
        if new > 0 {
            let _ = write!(text, "; {new} new since the last run:");
        }
        self.paragraph(indent, &text);
        for (later, earlier) in coverage.new.iter().take(NEW_PAIRS) {
            self.hang(&format!("{indent}  "), &clean(&format!("{later} ← {earlier}")));
        }
        if new > NEW_PAIRS as u64 {
            self.line(&format!("{indent}  … {}", count(new - NEW_PAIRS as u64, "more pair")));
        }
    }

    /// Orders of receives, and which of them are still to be seen.
    fn receives(&mut self, indent: &str) {
        let Some(seen) = &self.report.receives else { return };
        let ReceiveCount { pr, pcr, pbr, added, last } = seen.count;
        let mut text =
            format!("orders of receives: both seen of {pr} pairs, of {pcr} in direct succession");
        if pbr.pairs > 0 {
            let _ = write!(text, ", of {pbr} with a change of behaviour");
        }
        if added > 0 {
            let _ = write!(text, "; {added} orders added, the last by execution {last}");
        }
        let (open, must) = seen.open;
        if must > 0 {
            let _ = write!(text, "; {} in the only order there is", count(must, "pair"));
        }
        if open > 0 {
            let _ = write!(text, "; {} seen in one order only:", count(open, "pair"));
        }
        self.paragraph(indent, &text);
        for pair in seen.uncovered.iter().filter(|pair| !pair.must).take(NEW_PAIRS) {
            self.hang(&format!("{indent}  "), &clean(&pair.to_string()));
        }
        if open > NEW_PAIRS as u64 {
            self.line(&format!("{indent}  … {}", count(open - NEW_PAIRS as u64, "more pair")));
        }
    }

    fn notes(&mut self) {
        let failed = self.report.failure.is_some();
        for note in &self.report.notes {
            if failed {
                self.gap();
            }
            let (text, lines) = said(note);
            self.note(&text);
            if let Note::Diverged(divergence) = note {
                self.divergence(divergence);
                continue;
            }
            for line in lines {
                self.hang("  - ", &line);
            }
        }
    }

    fn note(&mut self, text: &str) {
        let wrapped = hang("note: ", text, self.options.width);
        self.label("note: ");
        self.out.push_str(&wrapped["note: ".len()..]);
    }

    /// Where it showed, and where to look.
    fn divergence(&mut self, divergence: &Divergence) {
        let Divergence { step, decision, expected, found } = divergence;
        self.paragraph("  ", &format!("at step {step}, decision {decision}:"));
        self.hang("    expected: ", &clean(expected));
        self.hang("    found:    ", &clean(found));
        if std::mem::replace(&mut self.causes_said, true) {
            return;
        }
        if self.report.guarantee.covered == Covered::Replay {
            self.paragraph(
                "  ",
                "If the test has changed since the recording, run the search again.",
            );
        }
        self.paragraph("  ", "Something decides that raddle does not control. Most likely:");
        for (cause, remedy) in UNCONTROLLED {
            self.hang("  - ", &format!("{cause}: {remedy}"));
        }
    }

    fn replay_command(&self, failure: &Failure) -> String {
        if let Some(command) = &self.options.replay_command {
            return command.clone();
        }
        replay_command(self.report, failure, self.options.trace_file.as_deref())
    }

    /// The lines of a panic message, which may be laid out with care.
    fn message(&mut self, message: &str, indent: &str) {
        for line in message.lines().take(MESSAGE_LINES) {
            self.line(&format!("{indent}{}", printable(line.trim_end())));
        }
        let n_more = message.lines().skip(MESSAGE_LINES).count() as u64;
        if n_more > 0 {
            self.line(&format!("{indent}… {}", count(n_more, "more line")));
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn paragraph(&mut self, indent: &str, text: &str) {
        self.out.push_str(&paragraph(indent, text, self.options.width));
    }

    fn hang(&mut self, lead: &str, text: &str) {
        self.out.push_str(&hang(lead, text, self.options.width));
    }

    fn label(&mut self, text: &str) {
        let label = self.options.colour.paint(Ink::Doubtful, text);
        self.out.push_str(&label);
    }

    fn section(&mut self, title: &str) {
        self.gap();
        self.line(title);
    }

    fn gap(&mut self) {
        self.out.push('\n');
    }
}

/// Why an execution makes no step any more.
const HANGS: &str =
    "a task, or one that it has spawned since, waits for something that raddle does not control";

const HANG_CAUSES: [&str; 3] = [
    "a lock, channel or thread of std, parking_lot or another crate, which a suspended task will never let \
     go: use raddle::sync and raddle::thread, also in the code under test",
    "real input or output, or std::thread::sleep: replace it in the test, or use raddle::thread::sleep",
    "a loop without operations of raddle: call raddle::hint::spin_loop or raddle::thread::yield_now. If it \
     only computes for long, set a longer RADDLE_WATCHDOG, or none",
];

/// The usual command that replays a failure, by its token or by the file in which it was saved.
pub(crate) fn replay_command(report: &Report, failure: &Failure, file: Option<&Path>) -> String {
    let token = failure.schedule.to_string();
    let what = match file {
        Some(file) if token.len() > LONG_TOKEN => shell_path(file),
        _ => token,
    };
    let test = report.test.as_deref().map(|test| format!(" {}", shell_word(test)));
    format!("RADDLE_REPLAY={what} cargo test{}", test.unwrap_or_default())
}

/// What makes executions differ, and what to do about it.
const UNCONTROLLED: [(&str, &str); 5] = [
    (
        "a `static` or `thread_local!` that keeps state from one execution to the next",
        "create the state inside the test",
    ),
    ("a lock, atomic, channel or thread of std, also in a dependency", "use raddle's"),
    ("the iteration order of a `HashMap` or `HashSet`", "use a `BTreeMap`, or sort"),
    ("the real clock", "use raddle's, or do not let it decide anything"),
    ("random numbers or addresses", "use `raddle::rng` or `raddle::choose`"),
];

/// Whether a search has nothing left to run. If it failed it has still not shown that the test is right.
pub(crate) fn came_to_its_end(covered: &Covered) -> bool {
    matches!(
        covered,
        Covered::Everything
            | Covered::Equivalence
            | Covered::Preemptions(_)
            | Covered::BoundedEquivalence(_)
            | Covered::Cached { .. }
            | Covered::Delays(_)
            | Covered::Depth(_)
            | Covered::Strata { .. }
            | Covered::States { .. }
    )
}

pub(crate) fn panicked(trace: &Trace, panic: &Panic) -> String {
    let label = clean(&trace.task_label(panic.task));
    match &panic.site {
        Some(site) => format!("{label} panicked at {}", clean(&site.to_string())),
        None => format!("{label} panicked"),
    }
}

/// The last different things that a task did while nothing changed, the latest first.
pub(crate) fn spins(trace: &Trace, task: u32, steps: u64) -> String {
    let steps = usize::try_from(steps).unwrap_or(usize::MAX);
    let mut seen = BTreeSet::new();
    let recent = trace.events.iter().rev().take(steps).filter(|event| event.task == task);
    let mut parts = Vec::new();
    for event in recent {
        let op = op_on_object(trace, &event.op, event.object);
        let part = format!("{op} at {}", place(&event.site, usize::MAX));
        if seen.insert(part.clone()) {
            parts.push(part);
        }
        if parts.len() == SPIN_STEPS {
            break;
        }
    }
    parts.reverse();
    let label = clean(&trace.task_label(task));
    if parts.is_empty() {
        format!("{label} spins")
    } else {
        format!("{label} repeats {}", parts.join(", "))
    }
}

pub(crate) fn elapsed(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
    .replace(' ', NO_BREAK)
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// Quoted for a POSIX shell, if it needs to be.
fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// From what to what a failing execution was made.
pub(crate) fn made_small(minimised: &Minimised) -> String {
    let size = |size: &Size| {
        let preemptions = count(size.preemptions.into(), "preemption");
        format!("{preemptions} in {}", count(size.steps, "step"))
    };
    let Minimised { from, to, executions, least, .. } = minimised;
    let what = if from == to {
        size(to)
    } else {
        let by = count(*executions, "execution");
        format!("made small: from {} to {}, by {by}", size(from), size(to))
    };
    let least = match (least, to.preemptions) {
        (true, 0) => "",
        (true, _) => "; no execution with fewer preemptions shows it",
        (false, _) => "; there may be one with fewer preemptions",
    };
    format!("{what}{least}")
}
