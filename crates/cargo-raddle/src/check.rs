//! One test: its saved schedules first, then the search; and of a host that died, what it did last.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use raddle_trace::events::{Ending, Retried, TestId};
use raddle_trace::host::{JobKind, Message};
use raddle_trace::{Failure, Note, Outcome, Progress, Report, Verdict};

use crate::deaths::{self, Deaths, Died, Kill, Kills, Left};
use crate::find::Test;
use crate::host::{Gone, Hosts, Task};
use crate::os;
use crate::regressions;
use crate::workers;

/// How often the curve of a search is kept, at most, before every second point is dropped.
const SAMPLES: usize = 512;
/// How much is shown of what a test or the harness says.
const LINES: usize = 40;

/// What came of a test.
#[derive(Clone, Debug)]
pub(crate) struct Tested {
    pub(crate) id: TestId,
    pub(crate) ending: Ending,
    pub(crate) report: Option<Report>,
    /// What failure it is to have.
    pub(crate) expected: Option<String>,
    /// Why nothing can be said.
    pub(crate) error: Option<String>,
    /// Where the failure is saved.
    pub(crate) saved: Option<PathBuf>,
    pub(crate) retried: Vec<(PathBuf, Retried)>,
    /// The end of what the test printed.
    pub(crate) output: String,
    /// How far the search was, from time to time.
    pub(crate) samples: Vec<Progress>,
    pub(crate) elapsed: Duration,
}

/// What is heard of a test before it is over.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    Progress(Box<Progress>),
    Retried(PathBuf, Retried),
}

/// Whether saved schedules are tried, and new ones saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regressions {
    Kept,
    LeftAlone,
}

/// What is done with a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Replay,
    /// A saved failure that is tried again: if it fails, it is told as it was the first time.
    Retry,
    /// The same of one that ends its process: each execution in a process of its own.
    ExplainApart,
    Minimise,
    /// Each execution in a process of its own.
    MinimiseApart,
}

/// What a host is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'a> {
    Search,
    /// What workers found is in this file.
    Judge(&'a str),
    Recording(&'a str, What),
}

impl<'a> Question<'a> {
    pub(crate) fn recording(self) -> Option<&'a str> {
        match self {
            Self::Search | Self::Judge(_) => None,
            Self::Recording(recording, _) => Some(recording),
        }
    }

    fn work(self) -> JobKind {
        match self {
            Self::Recording(_, What::Minimise | What::MinimiseApart) => JobKind::Minimise,
            Self::Judge(file) => JobKind::Judge { file: file.to_owned() },
            _ => JobKind::Search,
        }
    }

    /// A recording reaches a host as everybody else's does.
    pub(crate) fn variables(self) -> Vec<(String, String)> {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut variables = Vec::new();
        if let Self::Recording(recording, what) = self {
            variables.push(variable("RADDLE_REPLAY", recording));
            if matches!(what, What::MinimiseApart | What::ExplainApart) {
                variables.push(variable("RADDLE_ISOLATION", "process"));
            }
            if matches!(what, What::Retry | What::ExplainApart) {
                variables.push(variable("RADDLE_EXPLAIN", "true"));
            }
        }
        variables
    }
}

/// One host's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) report: Option<Report>,
    expected: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) passed: bool,
    /// Whether Ctrl-C ended it before it was through, and no failure was found until then.
    interrupted: bool,
    pub(crate) output: String,
    samples: Vec<Progress>,
}

impl Answer {
    /// Not as it should be; what else there is to say is set in its fields.
    fn failed(output: String, samples: Vec<Progress>) -> Self {
        let (report, expected, error) = (None, None, None);
        Self { report, expected, error, passed: false, interrupted: false, output, samples }
    }

    /// Nothing can be said of the test.
    pub(crate) fn without_report(why: String, samples: Vec<Progress>) -> Self {
        let (report, expected, output) = (None, None, String::new());
        let interrupted = os::interrupts() > 0;
        Self { report, expected, error: Some(why), passed: false, interrupted, output, samples }
    }
}

/// Checks one test.
pub(crate) fn check(
    hosts: &Hosts<'_>,
    test: &Test,
    regressions: Regressions,
    hear: &mut dyn FnMut(Heard),
) -> Tested {
    let began = Instant::now();
    let package = &test.binary.package.directory;
    let mut retried = Vec::new();
    let saved = if regressions == Regressions::Kept {
        regressions::of(package, &test.id)
    } else {
        Vec::new()
    };
    for (path, saved) in saved {
        let recording = path.to_string_lossy();
        let explains = !hosts.has("RADDLE_EXPLAIN", "false");
        let what = if explains { What::Retry } else { What::Replay };
        let question = Question::Recording(&recording, what);
        let mut answer = ask(hosts, test, question, &mut |_| {});
        if answer.interrupted {
            return tested(test, answer, None, retried, began);
        }
        let what = match answer.report.as_ref().map(|report| report.verdict) {
            Some(Verdict::Failed) => Retried::Fails,
            Some(Verdict::Covered | Verdict::Passed) => Retried::Fixed,
            _ => Retried::Stale,
        };
        if what == Retried::Fails {
            make_whole(hosts, test, (&recording, &saved.failure), explains, &mut answer);
        }
        hear(Heard::Retried(path.clone(), what));
        retried.push((path.clone(), what));
        if what == Retried::Fails && !answer.passed {
            return tested(test, answer, Some(path), retried, began);
        }
    }
    let mut answer = ask(hosts, test, Question::Search, &mut |progress| {
        hear(Heard::Progress(Box::new(progress)));
    });
    make_small(hosts, test, &mut answer);
    let failure = answer.report.as_ref().and_then(|report| report.failure.as_ref());
    let new = failure.filter(|_| !answer.passed && answer.expected.is_none());
    let new = new.filter(|_| regressions == Regressions::Kept);
    let others = answer.report.iter().flat_map(|report| &report.others);
    let saved = new.map(|failure| {
        // Those too, each in a file of its own; the first is the one that is shown.
        let first = regressions::save(package, &test.id, failure)?;
        for other in others {
            regressions::save(package, &test.id, other)?;
        }
        Ok(first)
    });
    match saved {
        None => tested(test, answer, None, retried, began),
        Some(Ok(path)) => tested(test, answer, Some(path), retried, began),
        Some(Err::<_, io::Error>(error)) => {
            let mut tested = tested(test, answer, None, retried, began);
            if let Some(report) = &mut tested.report {
                report.notes.push(Note::Text {
                    text: format!(
                        "the schedule was not saved in {}: {error}",
                        regressions::directory(package).display()
                    ),
                });
            }
            tested
        }
    }
}

/// Makes a failure small that ended its process, which the host that found it could not do.
fn make_small(hosts: &Hosts<'_>, test: &Test, answer: &mut Answer) {
    let failure = answer.report.as_mut().and_then(|report| report.failure.as_mut());
    let found = failure.filter(|failure| deaths::ends_its_process(failure));
    let Some(failure) = found.filter(|failure| failure.minimised.is_none()) else { return };
    if hosts.has("RADDLE_MINIMISE", "none") {
        return;
    }
    let Ok(file) = hosts.desk.recording(failure) else { return };
    let recording = file.to_string_lossy();
    let question = Question::Recording(&recording, What::MinimiseApart);
    let smaller = ask(hosts, test, question, &mut |_| {}).report.and_then(|report| report.failure);
    if let Some(smaller) = smaller.filter(|smaller| smaller.minimised.is_some()) {
        take_over(failure, smaller);
    }
}

/// Puts what was found out of a death in processes of their own in the place of what was known of it.
fn take_over(failure: &mut Failure, mut found: Failure) {
    // Why there was a signal is seen from outside: a lack of memory, for one.
    if let (Outcome::Died { death, .. }, Outcome::Died { death: known, .. }) =
        (&mut found.outcome, &failure.outcome)
    {
        death.clone_from(known);
    }
    found.execution = failure.execution;
    *failure = found;
}

/// Of a saved failure that fails again: says how small it was made, and why it fails if the host could not because that
/// ends it.
fn make_whole(
    hosts: &Hosts<'_>,
    test: &Test,
    (recording, saved): (&str, &Failure),
    explains: bool,
    answer: &mut Answer,
) {
    let failure = answer.report.as_mut().and_then(|report| report.failure.as_mut());
    let Some(failure) = failure.filter(|failure| failure.outcome.is_like(&saved.outcome)) else {
        return;
    };
    if explains && failure.explanation.is_none() && deaths::ends_its_process(failure) {
        let question = Question::Recording(recording, What::ExplainApart);
        let report = ask(hosts, test, question, &mut |_| {}).report;
        let explained = report.and_then(|report| report.failure);
        if let Some(explained) = explained.filter(|again| again.outcome.is_like(&failure.outcome)) {
            take_over(failure, explained);
        }
    }
    failure.minimised.clone_from(&saved.minimised);
}

fn tested(
    test: &Test,
    answer: Answer,
    saved: Option<PathBuf>,
    retried: Vec<(PathBuf, Retried)>,
    began: Instant,
) -> Tested {
    let Answer { report, expected, error, passed, interrupted, output, samples } = answer;
    let inconclusive = match &report {
        None => true,
        Some(report) => report.verdict == Verdict::Inconclusive,
    };
    let ending = match (passed, inconclusive) {
        _ if interrupted => Ending::Interrupted,
        _ if error.is_some() => Ending::Inconclusive,
        (true, _) => Ending::Passed,
        (false, true) => Ending::Inconclusive,
        (false, false) => Ending::Failed,
    };
    let (id, elapsed) = (test.id.clone(), began.elapsed());
    Tested { id, ending, report, expected, error, saved, retried, output, samples, elapsed }
}

/// Replays a recording once, or makes it small.
pub(crate) fn replay(hosts: &Hosts<'_>, test: &Test, recording: &str, what: What) -> Tested {
    let began = Instant::now();
    let answer = ask(hosts, test, Question::Recording(recording, what), &mut |_| {});
    tested(test, answer, None, Vec::new(), began)
}

/// Has a host search, or replay a recording.
fn ask(
    hosts: &Hosts<'_>,
    test: &Test,
    question: Question<'_>,
    hear: &mut dyn FnMut(Progress),
) -> Answer {
    if let (Question::Search, Some(fleet)) = (question, hosts.fleet) {
        let search = |hear: &mut dyn FnMut(Progress)| fleet.search(hosts, test, hear);
        return by_workers(hosts, test, search, hear);
    }
    if let (Question::Search, Some(workers)) = (question, workers::count(hosts, test)) {
        let search = |hear: &mut dyn FnMut(Progress)| workers::search(hosts, test, workers, hear);
        return by_workers(hosts, test, search, hear);
    }
    if let Question::Search = question {
        workers::forget(hosts, test);
    }
    if question.recording().is_some() {
        return ask_until_answered(hosts, test, question, hear);
    }
    let mut deaths = match Deaths::of_search(hosts, test) {
        Ok(deaths) => deaths,
        Err(why) => return Answer::without_report(why, Vec::new()),
    };
    loop {
        let (answer, left) = ask_once(hosts, test, question, &deaths, hear);
        if let Some(answer) = deaths.after((hosts, test), answer, left) {
            if let Some(checkpoints) = &hosts.desk.checkpoints {
                checkpoints.forget_deaths_of_what_is_through(&test.id);
            }
            return answer;
        }
    }
}

/// Has a host do what is no search; one that something else kills is followed by another.
fn ask_until_answered(
    hosts: &Hosts<'_>,
    test: &Test,
    question: Question<'_>,
    hear: &mut dyn FnMut(Progress),
) -> Answer {
    let mut kills = Kills::default();
    loop {
        let (answer, left) = ask_once(hosts, test, question, &Deaths::new(), hear);
        if let Some((answer, _)) = kills.after(answer, left) {
            return answer;
        }
    }
}

/// Has several hosts share a search, and one more judge what they found.
fn by_workers(
    hosts: &Hosts<'_>,
    test: &Test,
    search: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<(String, String), String>,
    hear: &mut dyn FnMut(Progress),
) -> Answer {
    let mut samples = Vec::new();
    let found = search(&mut |progress| {
        keep(&mut samples, &progress);
        hear(progress);
    });
    match found {
        Ok((file, output)) => {
            let question = Question::Judge(&file);
            // The host that judges is not the one that was stopped.
            let stopped = os::interrupts() > 0;
            let mut answer = ask_until_answered(hosts, test, question, &mut |_| {});
            let _ = std::fs::remove_file(&file);
            answer.samples = samples;
            answer.interrupted |= stopped && answer.report.as_ref().is_some_and(is_a_part);
            if answer.output.is_empty() {
                answer.output = last_lines(&output);
            }
            answer
        }
        Err(why) => Answer::without_report(why, samples),
    }
}

/// One host's answer, and how it left.
fn ask_once(
    hosts: &Hosts<'_>,
    test: &Test,
    question: Question<'_>,
    deaths: &Deaths,
    hear: &mut dyn FnMut(Progress),
) -> (Answer, Left) {
    match ask_for(hosts, test, question, deaths, hear) {
        Ok(answer) => answer,
        Err(error) => {
            let why = format!("its host could not be run: {error}");
            (Answer::without_report(why, Vec::new()), Left::Answered)
        }
    }
}

fn ask_for(
    hosts: &Hosts<'_>,
    test: &Test,
    question: Question<'_>,
    deaths: &Deaths,
    hear: &mut dyn FnMut(Progress),
) -> io::Result<(Answer, Left)> {
    let page = hosts.desk.page()?;
    let mut samples = Vec::new();
    let mut finished = None;
    let mut found = None;
    let mut error = None;
    let mut greeting = (String::new(), 0);
    let began = Instant::now();
    let mut more = question.variables();
    if let (Question::Search, Some(checkpoints)) = (question, &hosts.desk.checkpoints) {
        more.extend(checkpoints.variables(&test.id));
    }
    more.extend(deaths.variables(hosts, &test.id));
    let mut left = Left::Answered;
    let task = Task { work: question.work(), page: Some(&page), deaths: Some(deaths) };
    let gone = hosts.run(test, task, &more, &mut |message| match message {
        Message::Hello { strategy, seed, .. } => greeting = (strategy, seed),
        Message::Progress { progress } => {
            keep(&mut samples, &progress);
            hear(*progress);
        }
        Message::Found { report } => found = Some(*report),
        Message::Finished { report, expected, .. } => finished = Some((*report, expected)),
        Message::Error { text } => error = Some(text),
        _ => {}
    })?;
    // One execution's output is wanted whole.
    let output = if question.recording().is_some() {
        gone.output.trim().to_owned()
    } else {
        last_lines(&gone.output)
    };
    let dead = gone.death(hosts.memory);
    let answer = if let Some((report, expected)) = finished {
        let passed = gone.status.success();
        let interrupted = gone.told_to_stop && is_a_part(&report);
        let report = Some(report);
        Answer { report, expected, error: None, passed, interrupted, output, samples }
    } else if let Some((death, mut report)) = dead.clone().zip(found) {
        // The failure is what it is; only what was tried with it took the process down.
        report.notes.push(Note::Text {
            text: format!("an execution that was tried to make the failure small {death}"),
        });
        Answer { report: Some(report), ..Answer::failed(output, samples) }
    } else if let Some(death) = dead {
        let last = samples.last().map_or(0, |progress: &Progress| progress.executions);
        let died =
            Died { death, strategy: greeting.0, seed: greeting.1, elapsed: began.elapsed(), last };
        let (mut report, way) = died.report(hosts, test, &page, question);
        let unstable = report.failure.as_ref().is_some_and(|failure| failure.unstable.is_some());
        left = if died.is_killed() && unstable {
            Left::Killed(Kill { way, executions: last })
        } else {
            Left::Died(way)
        };
        // Which task it was, and where: the last step that is known need not be of the execution that hangs.
        let moved = gone
            .hung
            .as_ref()
            .and_then(|(_, text)| text.lines().find(|line| line.starts_with("last to move")));
        report.notes.extend(moved.map(|line| Note::Text { text: line.to_owned() }));
        Answer { report: Some(report), ..Answer::failed(output, samples) }
    } else {
        // Before it had said anything.
        if error.is_none() && gone.is_killed_by_others() {
            left = Left::Killed(Kill::default());
        }
        let interrupted = error.is_none() && os::interrupts() > 0;
        let error = Some(error.unwrap_or_else(|| silent(&gone)));
        Answer { error, interrupted, ..Answer::failed(output, samples) }
    };
    let _ = std::fs::remove_file(&page);
    Ok((answer, left))
}

/// Whether a search that was told to stop had something left to do. What it found before is what the test comes to.
fn is_a_part(report: &Report) -> bool {
    report.verdict == Verdict::Passed
}

/// Why a host said nothing.
pub(crate) fn silent(gone: &Gone) -> String {
    if gone.stood_still {
        return "something stopped its host (SIGSTOP) and did not let it go on, so it was ended: nothing can be said of the test"
            .to_owned();
    }
    if gone.killed || os::interrupts() > 0 {
        return "it was stopped before it could say anything".to_owned();
    }
    let said = last_lines(&gone.complaint);
    format!(
        "its host ended ({}) without a word; is its raddle of another version than this \
         cargo-raddle? It printed:\n{said}",
        gone.status
    )
}

/// Adds a point to a curve, and thins it out when it has many.
fn keep(samples: &mut Vec<Progress>, progress: &Progress) {
    if samples.len() >= SAMPLES {
        let mut index = 0;
        samples.retain(|_| {
            index += 1;
            index % 2 == 0
        });
    }
    samples.push(*progress);
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_is_thinned_out() {
        let mut samples = Vec::new();
        for executions in 0..10_000 {
            keep(&mut samples, &Progress { executions, ..Progress::default() });
        }
        assert!(samples.len() <= SAMPLES);
        assert_eq!(samples.last().map(|progress| progress.executions), Some(9_999));
    }
}
