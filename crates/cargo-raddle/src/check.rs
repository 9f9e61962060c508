//! One test: its saved schedules first, then the search; and of a host that died, what it did last.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_trace::events::{Ending, Retried, TestId};
use raddle_trace::host::{Message, Retraced, Work, page};
use raddle_trace::{
    Counts, Covered, Death, Divergence, Failure, Guarantee, Note, Outcome, Progress, Report,
    Verdict, report,
};

use crate::find::Test;
use crate::host::{Gone, Hosts};
use crate::os;
use crate::regressions;

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
    Minimise,
}

/// What a host is asked for.
#[derive(Clone, Copy, Debug)]
enum Question<'a> {
    Search,
    Recording(&'a str, What),
}

impl<'a> Question<'a> {
    fn recording(self) -> Option<&'a str> {
        match self {
            Self::Search => None,
            Self::Recording(recording, _) => Some(recording),
        }
    }

    fn work(self) -> Work {
        match self {
            Self::Recording(_, What::Minimise) => Work::Minimise,
            _ => Work::Search,
        }
    }

    /// A recording reaches a host as everybody else's does.
    fn variables(self) -> Vec<(String, String)> {
        let variable = |recording: &str| ("RADDLE_REPLAY".to_owned(), recording.to_owned());
        self.recording().map(variable).into_iter().collect()
    }
}

/// One host's answer.
struct Answer {
    report: Option<Report>,
    expected: Option<String>,
    error: Option<String>,
    passed: bool,
    output: String,
    samples: Vec<Progress>,
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
    for (path, _) in saved {
        let recording = path.to_string_lossy();
        let question = Question::Recording(&recording, What::Replay);
        let answer = ask(hosts, test, question, &mut |_| {});
        let what = match answer.report.as_ref().map(|report| report.verdict) {
            Some(Verdict::Failed) => Retried::Fails,
            Some(Verdict::Covered | Verdict::Passed) => Retried::Fixed,
            _ => Retried::Stale,
        };
        hear(Heard::Retried(path.clone(), what));
        retried.push((path.clone(), what));
        if what == Retried::Fails && !answer.passed {
            return tested(test, answer, Some(path), retried, began);
        }
    }
    let answer = ask(hosts, test, Question::Search, &mut |progress| {
        hear(Heard::Progress(Box::new(progress)));
    });
    let failure = answer.report.as_ref().and_then(|report| report.failure.as_ref());
    let new = failure.filter(|_| !answer.passed && answer.expected.is_none());
    let new = new.filter(|_| regressions == Regressions::Kept);
    let saved = new.map(|failure| regressions::save(package, &test.id, failure));
    match saved {
        None => tested(test, answer, None, retried, began),
        Some(Ok(path)) => tested(test, answer, Some(path), retried, began),
        Some(Err(error)) => {
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

fn tested(
    test: &Test,
    answer: Answer,
    saved: Option<PathBuf>,
    retried: Vec<(PathBuf, Retried)>,
    began: Instant,
) -> Tested {
    let Answer { report, expected, error, passed, output, samples } = answer;
    let inconclusive = match &report {
        None => true,
        Some(report) => report.verdict == Verdict::Inconclusive,
    };
    let ending = match (passed, inconclusive) {
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
    match ask_for(hosts, test, question, hear) {
        Ok(answer) => answer,
        Err(error) => Answer {
            report: None,
            expected: None,
            error: Some(format!("its host could not be run: {error}")),
            passed: false,
            output: String::new(),
            samples: Vec::new(),
        },
    }
}

fn ask_for(
    hosts: &Hosts<'_>,
    test: &Test,
    question: Question<'_>,
    hear: &mut dyn FnMut(Progress),
) -> io::Result<Answer> {
    let page = hosts.desk.page()?;
    let mut samples = Vec::new();
    let mut finished = None;
    let mut found = None;
    let mut error = None;
    let mut greeting = (String::new(), 0);
    let began = Instant::now();
    let more = question.variables();
    let gone =
        hosts.run(test, question.work(), Some(&page), &more, &mut |message| match message {
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
        Answer { report: Some(report), expected, error: None, passed, output, samples }
    } else if let Some((death, mut report)) = dead.clone().zip(found) {
        // The failure is what it is; only what was tried with it took the process down.
        report.notes.push(Note::Text {
            text: format!("an execution that was tried to make the failure small {death}"),
        });
        Answer { report: Some(report), expected: None, error: None, passed: false, output, samples }
    } else if let Some(death) = dead {
        let last = samples.last().map_or(0, |progress: &Progress| progress.executions);
        let died =
            Died { death, strategy: greeting.0, seed: greeting.1, elapsed: began.elapsed(), last };
        let report = died.report(hosts, test, &page, question);
        Answer { report: Some(report), expected: None, error: None, passed: false, output, samples }
    } else {
        let error = Some(error.unwrap_or_else(|| silent(&gone)));
        Answer { report: None, expected: None, error, passed: false, output, samples }
    };
    let _ = std::fs::remove_file(&page);
    Ok(answer)
}

/// Why a host said nothing.
fn silent(gone: &Gone) -> String {
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

/// A host that died, and what is known of it.
struct Died {
    death: Death,
    strategy: String,
    seed: u64,
    elapsed: Duration,
    /// Executions by the last word it said.
    last: u64,
}

impl Died {
    /// Has another host go the same way once more, and reports it as a failure.
    fn report(self, hosts: &Hosts<'_>, test: &Test, page: &Path, question: Question<'_>) -> Report {
        let mut notes = Vec::new();
        let read = std::fs::read(page).map_err(|error| error.to_string());
        let read = read.and_then(|bytes| page::read(&bytes));
        let (execution, failure) = match read {
            Ok(read) => {
                let execution = u64::from(read.execution).max(1);
                (execution, self.retrace(hosts, test, page, execution, question))
            }
            Err(why) => {
                notes.push(Note::Text { text: format!("there is no schedule: {why}") });
                let outcome = Outcome::Died { death: self.death.clone(), task: None, site: None };
                (self.last + 1, Retraced::new().failure(outcome, self.last + 1))
            }
        };
        let trace = &failure.trace;
        let counts = Counts {
            executions: execution,
            steps: trace.events.len() as u64,
            decisions: failure.schedule.decisions.len() as u64,
            max_steps: trace.events.len() as u64,
            max_depth: failure.schedule.decisions.len() as u64,
            max_tasks: trace.tasks.len() as u64,
            ..Counts::default()
        };
        notes.push(Note::Text {
            text: "the process of the test ended, so steps and decisions are those of the last \
                   execution alone"
                .to_owned(),
        });
        let recording = question.recording();
        let covered = match recording {
            Some(_) => Covered::Replay,
            None => Covered::Part { executions: execution, preemptions: None },
        };
        Report {
            version: report::VERSION,
            test: Some(test.id.test.clone()),
            strategy: if recording.is_some() { "replay".to_owned() } else { self.strategy },
            seed: self.seed,
            verdict: Verdict::Failed,
            guarantee: Guarantee { covered, traces: None, rejected: 0, assumptions: Vec::new() },
            counts,
            failure: Some(failure),
            notes,
            progress: None,
            coverage: None,
            members: Vec::new(),
            elapsed_ms: self.elapsed.as_millis().try_into().unwrap_or(u64::MAX),
        }
    }

    fn retrace(
        &self,
        hosts: &Hosts<'_>,
        test: &Test,
        page: &Path,
        execution: u64,
        question: Question<'_>,
    ) -> Failure {
        let mut retraced = Retraced::new();
        let mut survived = None;
        let work = Work::Retrace { page: page.to_string_lossy().into_owned() };
        // What a replay is run with comes from the recording, so it is needed here too.
        let more = question.variables();
        let gone = hosts.run(test, work, None, &more, &mut |message| match message {
            Message::Told { told } => retraced.hear(told),
            Message::Survived { outcome } => survived = Some(outcome.kind().to_owned()),
            Message::Error { text } => survived = Some(text),
            _ => {}
        });
        let events = &retraced.trace.events;
        let (task, site) = (events.last().map(|event| event.task), events.last());
        let site = site.map(|event| event.site.clone());
        let (step, decision) = (events.len() as u64, retraced.schedule.decisions.len() as u32);
        let outcome = Outcome::Died { death: self.death.clone(), task, site };
        let mut failure = retraced.failure(outcome, execution);
        let found = match gone {
            Err(error) => Some(error.to_string()),
            Ok(_) => survived,
        };
        failure.unstable = found.map(|found| Divergence {
            step,
            decision,
            expected: "the end of the process".to_owned(),
            found,
        });
        failure
    }
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
