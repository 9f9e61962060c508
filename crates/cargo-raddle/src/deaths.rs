//! Hosts that die: what they did last, and a fresh host that goes on without it.
//!
//! A search depends on its seed and on what the test does, so a fresh host does all that the one before it
//! did, up to where that died; there it is kept from going on, and goes on with the next execution. It begins
//! with what the other has kept last, or anew: as long as the way from there to the death was, so long it takes to
//! come back.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use raddle_trace::events::TestId;
use raddle_trace::host::{Avoid, JobKind, Message, Retraced, page};
use raddle_trace::{
    Counts, Covered, Death, Divergence, Failure, Guarantee, Note, Outcome, Report, Verdict,
};

use crate::check::{Answer, Question};
use crate::find::Test;
use crate::host::{Hosts, Task};
use crate::kept_deaths::KeptDeaths;
use crate::os;

/// So many hosts of one test may die.
const MAX_DEATHS: usize = 8;

/// The hosts of one search that have died so far.
#[derive(Debug)]
pub(crate) struct Deaths {
    /// When the first of them began, by either clock.
    began: Instant,
    since: SystemTime,
    known: KeptDeaths,
    /// Where they are kept for a run that goes on later.
    file: Option<PathBuf>,
    /// Why they could not be.
    not_kept: Option<String>,
    /// What came of the last of them.
    last: Option<Answer>,
}

impl Deaths {
    pub(crate) fn new() -> Self {
        let (began, since) = (Instant::now(), SystemTime::now());
        let (known, file, not_kept, last) = (KeptDeaths::default(), None, None, None);
        Self { began, since, known, file, not_kept, last }
    }

    /// Of a search: with those of the run that it goes on from.
    pub(crate) fn of_search(hosts: &Hosts<'_>, test: &Test) -> Result<Self, String> {
        let Some(checkpoints) = &hosts.desk.checkpoints else { return Ok(Self::new()) };
        let known = checkpoints.known_deaths(&test.id, || hosts.desk.binary(&test.binary.path))?;
        Ok(Self { known, file: Some(checkpoints.deaths(&test.id)), ..Self::new() })
    }

    /// The ways that the next host is to keep from.
    pub(crate) fn avoid(&self) -> &[Avoid] {
        &self.known.avoid
    }

    /// How long hosts have searched that are gone now, in milliseconds.
    pub(crate) fn spent_ms(&self) -> u64 {
        if self.last.is_none() {
            return 0;
        }
        self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }

    /// What else the next host is to be given.
    pub(crate) fn variables(&self, hosts: &Hosts<'_>, test: &TestId) -> Vec<(String, String)> {
        let report = self.last.as_ref().and_then(|answer| answer.report.as_ref());
        let Some(report) = report else { return Vec::new() };
        let mut variables = vec![("RADDLE_SEED".to_owned(), report.seed.to_string())];
        // What the one before has kept, and not an earlier run, shortens the way.
        let checkpoints = hosts.desk.checkpoints.as_ref();
        if checkpoints.is_some_and(|checkpoints| checkpoints.is_newer(test, self.since)) {
            variables.push(("RADDLE_RESUME".to_owned(), "true".to_owned()));
        }
        variables
    }

    /// A host has answered, and if it died of it, in this way. What came of the search, if no other host is to
    /// go on.
    pub(crate) fn after(
        &mut self,
        (hosts, test): (&Hosts<'_>, &Test),
        answer: Answer,
        avoid: Option<Avoid>,
    ) -> Option<Answer> {
        let failure = answer.report.as_ref().and_then(|report| report.failure.clone());
        // One that dies where it was to be kept from that cannot be kept from it.
        let new = avoid.filter(|avoid| !self.known.avoid.contains(avoid));
        let (Some(avoid), Some(failure)) = (new, failure) else {
            return Some(self.add_to(answer));
        };
        let mut known = self.known.clone();
        known.avoid.push(avoid);
        known.add(failure);
        // Before another host goes on, whose checkpoints are past it.
        if let Some(path) = &self.file {
            let binary = hosts.desk.binary(&test.binary.path).map_err(|error| error.to_string());
            self.not_kept = binary.and_then(|binary| known.write(path, &binary)).err();
        }
        if known.avoid.len() >= MAX_DEATHS || os::interrupts() > 0 {
            return Some(self.add_to(answer));
        }
        self.known = known;
        self.last = Some(answer);
        None
    }

    /// What all hosts of the search found together, the last of which gave this answer.
    fn add_to(&mut self, answer: Answer) -> Answer {
        let before = self.last.take();
        if before.is_none() && self.known.failures.is_empty() {
            return answer;
        }
        let hosts = self.known.avoid.len();
        // If nothing came of the last one, what the others found stands all the same.
        let told = answer.report.as_ref().is_some_and(|report| report.counts.executions > 0);
        let mut answer = before.filter(|_| !told).unwrap_or(answer);
        let Some(report) = &mut answer.report else { return answer };
        report.failure.take().into_iter().for_each(|failure| self.known.add(failure));
        let failures = &mut self.known.failures;
        // A failure of another kind goes first: it was made small, and explained.
        let first = failures.iter().position(|failure| !is_death(failure)).unwrap_or(0);
        report.failure = Some(failures.remove(first));
        report.others = std::mem::take(failures);
        report.verdict = Verdict::Failed;
        let elapsed_ms = self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        report.elapsed_ms = report.elapsed_ms.max(elapsed_ms);
        let times = if hosts == 1 { "once".to_owned() } else { format!("{hosts} times") };
        report.notes.push(Note::Text {
            text: format!(
                "the process of the test died {times}; the search went on in a fresh one, which was kept \
                 from what the others died of"
            ),
        });
        report.notes.extend(self.not_kept.take().map(|text| Note::Text { text }));
        answer.passed = false;
        answer
    }
}

fn is_death(failure: &Failure) -> bool {
    matches!(failure.outcome, Outcome::Died { .. })
}

/// Whether a failure ends its process, so that trying it again needs a process for each execution; one that
/// hangs takes too long for that.
pub(crate) fn ends_its_process(failure: &Failure) -> bool {
    match &failure.outcome {
        Outcome::Died { death, .. } => !matches!(death, Death::Hang { .. }),
        _ => false,
    }
}

/// The number of `SIGKILL`, everywhere.
pub(crate) const KILL: i32 = 9;

/// A host that died, and what is known of it.
pub(crate) struct Died {
    pub(crate) death: Death,
    pub(crate) strategy: String,
    pub(crate) seed: u64,
    pub(crate) elapsed: Duration,
    /// Executions by the last word it said.
    pub(crate) last: u64,
}

impl Died {
    /// Has another host go the same way once more, and reports it as a failure; and the way, if there is one
    /// that another host can keep from.
    pub(crate) fn report(
        self,
        hosts: &Hosts<'_>,
        test: &Test,
        page: &Path,
        question: Question<'_>,
    ) -> (Report, Option<Avoid>) {
        let mut notes = Vec::new();
        let read = std::fs::read(page).map_err(|error| error.to_string());
        let read = read.and_then(|bytes| page::read(&bytes));
        let mut avoid = None;
        let (execution, failure) = match read {
            Ok(read) => {
                let (options, death) = (read.options, self.death.clone());
                let decisions = options.len();
                avoid = Some(Avoid { options, death }).filter(|avoid| !avoid.options.is_empty());
                let execution = u64::from(read.execution).max(1);
                (execution, self.retrace(hosts, test, (page, decisions), execution, question))
            }
            Err(why) => {
                notes.push(Note::Text { text: format!("there is no schedule: {why}") });
                let outcome = Outcome::Died {
                    death: self.death.clone(),
                    task: None,
                    site: None,
                    panic: None,
                };
                (self.last + 1, Retraced::new().failure(outcome, self.last + 1))
            }
        };
        let trace = &failure.trace;
        let mut counts = Counts::default();
        counts.executions = execution;
        counts.steps = trace.events.len() as u64;
        counts.decisions = failure.schedule.decisions.len() as u64;
        (counts.max_steps, counts.max_depth) = (counts.steps, counts.decisions);
        counts.max_tasks = trace.tasks.len() as u64;
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
        let strategy = if recording.is_some() { "replay".to_owned() } else { self.strategy };
        let guarantee = Guarantee::new(covered);
        let mut report = Report::new(strategy, Verdict::Failed, guarantee, counts);
        report.test = Some(test.id.test.clone());
        report.seed = self.seed;
        (report.failure, report.notes) = (Some(failure), notes);
        report.elapsed_ms = self.elapsed.as_millis().try_into().unwrap_or(u64::MAX);
        (report, avoid)
    }

    /// Goes the way on a page, which has so many decisions.
    fn retrace(
        &self,
        hosts: &Hosts<'_>,
        test: &Test,
        (page, decisions): (&Path, usize),
        execution: u64,
        question: Question<'_>,
    ) -> Failure {
        let mut retraced = Retraced::new();
        let mut survived = None;
        let work = JobKind::Retrace { page: page.to_string_lossy().into_owned() };
        // What a replay is run with comes from the recording, so it is needed here too.
        let more = question.variables();
        let gone = hosts.run(test, Task::of(work), &more, &mut |message| match message {
            Message::Told { told } => retraced.hear(told),
            Message::Survived { outcome } => survived = Some(outcome.kind().to_owned()),
            Message::Error { text } => survived = Some(text),
            _ => {}
        });
        let events = &retraced.trace.events;
        let (step, decision) = (events.len() as u64, retraced.schedule.decisions.len() as u32);
        let mut failure = retraced.died(self.death.clone(), execution);
        let found = match gone {
            Err(error) => Some(error.to_string()),
            // What kills any process, wherever it is, is not the test: that died at the end of the way. The last decision is told
            // only when the step after it is done.
            Ok(gone)
                if gone.status.signal() == Some(KILL) && (decision as usize) + 1 < decisions =>
            {
                Some("it was killed before it came there".to_owned())
            }
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
