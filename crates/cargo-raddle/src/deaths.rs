//! Hosts that die: what they did last, and a fresh host that goes on without it.
//!
//! A search depends on its seed and on what the test does, so a fresh host does all that the one before it
//! did, up to where that died; there it is kept from going on, and goes on with the next execution. It begins
//! with what the other has kept last, or anew: as long as the way from there to the death was, so long it takes to
//! come back.
//!
//! A host that something else kills ([`Kills`]) died of nothing that the test does: another does the same once more.
//!
//! Misses: a test that has its own process killed by `SIGKILL`, but not when it goes the same way alone, and
//! elsewhere each time. That ends as inconclusive.

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
    /// Those that something else has killed.
    kills: Kills,
    /// The seed of the hosts that are gone, which the next one is to have too.
    seed: Option<u64>,
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
        let (known, kills, seed) = (KeptDeaths::default(), Kills::default(), None);
        let (file, not_kept, last) = (None, None, None);
        Self { began, since, known, kills, seed, file, not_kept, last }
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
        if self.last.is_none() && self.kills.times == 0 {
            return 0;
        }
        self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }

    /// What else the next host is to be given.
    pub(crate) fn variables(&self, hosts: &Hosts<'_>, test: &TestId) -> Vec<(String, String)> {
        let Some(seed) = self.seed else { return Vec::new() };
        let mut variables = vec![("RADDLE_SEED".to_owned(), seed.to_string())];
        // What the one before has kept, and not an earlier run, shortens the way.
        let checkpoints = hosts.desk.checkpoints.as_ref();
        if checkpoints.is_some_and(|checkpoints| checkpoints.is_newer(test, self.since)) {
            variables.push(("RADDLE_RESUME".to_owned(), "true".to_owned()));
        }
        variables
    }

    /// A host has answered, or is gone. What came of the search, if no other host is to go on.
    pub(crate) fn after(
        &mut self,
        (hosts, test): (&Hosts<'_>, &Test),
        answer: Answer,
        left: Left,
    ) -> Option<Answer> {
        let seed = answer.report.as_ref().map(|report| report.seed);
        let known = self.kills.after(answer, left);
        let Some((answer, avoid)) = known else {
            self.seed = seed.or(self.seed);
            return None;
        };
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
        (self.seed, self.last) = (seed.or(self.seed), Some(answer));
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
/// So many hosts in all that go a way must be killed on it, and not seen to be by something else.
const KILLED_ALIKE: u32 = 3;
/// A host that was killed at the same point of an execution so often is taken to die of it.
const KILLED_THERE: u32 = 4;
/// So often a host may be killed before one gets further than all before it.
const KILLED_IN_VAIN: u32 = 10;

/// How a host has left its work.
#[derive(Debug)]
pub(crate) enum Left {
    /// It has said what came of it, or nothing is known.
    Answered,
    /// It died of what the test does; the way there, if another host can keep from it.
    Died(Option<Avoid>),
    /// It was killed, and not seen to be by the test.
    Killed(Kill),
}

/// A host that was killed from outside, as an operator or a system that is short of memory does.
#[derive(Debug, Default)]
pub(crate) struct Kill {
    /// Where it was, if that is known.
    pub(crate) way: Option<Avoid>,
    /// Executions by the last word it said.
    pub(crate) executions: u64,
}

/// The hosts of one question that something else than the test has killed.
#[derive(Debug, Default)]
pub(crate) struct Kills {
    times: u32,
    /// Of them, those since the last one that got further than all before it.
    in_vain: u32,
    furthest: u64,
    /// How often at each point. Kept by the options up to there: numbers of executions begin anew in a host that goes on from
    /// a checkpoint.
    ways: Vec<(Avoid, u32)>,
}

impl Kills {
    /// A host has left its work with this answer. What that comes to, and the way to keep from if it died of the test; none if
    /// it was killed by something else, and another is to do the same.
    pub(crate) fn after(
        &mut self,
        mut answer: Answer,
        left: Left,
    ) -> Option<(Answer, Option<Avoid>)> {
        let mut avoid = None;
        match left {
            Left::Answered => {}
            Left::Died(way) => avoid = way,
            Left::Killed(_) if os::interrupts() > 0 => {
                let why = "its host was killed before it had saved what it had".to_owned();
                answer = Answer::without_report(why, Vec::new());
            }
            Left::Killed(kill) => match self.add(kill) {
                Killer::Other => return None,
                Killer::Test(way) => {
                    let text = format!(
                        "the process of the test was killed {KILLED_THERE} times at the same point of the same execution, as by \
                         a system that is short of memory, though not when that execution was run alone"
                    );
                    if let Some(report) = &mut answer.report {
                        report.notes.push(Note::Text { text });
                    }
                    avoid = Some(way);
                }
                Killer::Unknown => {
                    let why = format!(
                        "its host was killed {} times (SIGKILL), the last {KILLED_IN_VAIN} without getting further, and not seen \
                         to be by the test: nothing can be said of it. A system that is short of memory kills so: try \
                         --host-memory",
                        self.times
                    );
                    return Some((Answer::without_report(why, Vec::new()), None));
                }
            },
        }
        if let Some(report) = answer.report.as_mut().filter(|_| self.times > 0) {
            report.notes.push(Note::Text { text: killed(self.times.into()) });
        }
        Some((answer, avoid))
    }

    fn add(&mut self, kill: Kill) -> Killer {
        let further = kill.executions > self.furthest;
        self.in_vain = if further { 1 } else { self.in_vain + 1 };
        self.furthest = self.furthest.max(kill.executions);
        self.times += 1;
        if let Some(way) = kill.way {
            let known = self.ways.iter().position(|(known, _)| *known == way);
            let at = known.unwrap_or_else(|| {
                self.ways.push((way, 0));
                self.ways.len() - 1
            });
            self.ways[at].1 += 1;
            if self.ways[at].1 >= KILLED_THERE {
                let (way, times) = self.ways.swap_remove(at);
                self.times -= times;
                return Killer::Test(way);
            }
        }
        if self.in_vain >= KILLED_IN_VAIN { Killer::Unknown } else { Killer::Other }
    }
}

/// What a kill is put down to.
#[derive(Debug, PartialEq, Eq)]
enum Killer {
    Other,
    /// At this point each time.
    Test(Avoid),
    Unknown,
}

/// That hosts were killed by something else than the test.
pub(crate) fn killed(times: u64) -> String {
    let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
    format!("a host was killed {times} by something else than the test; what it had was run again")
}

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
        &self,
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
                let retrace = || self.retrace(hosts, test, (page, decisions), execution, question);
                let mut failure = retrace();
                // What killed this host from outside may kill the one that retraces it, too.
                let alike = if self.is_killed() { KILLED_ALIKE } else { 1 };
                for _ in 1..alike {
                    if failure.unstable.is_some() {
                        break;
                    }
                    failure = retrace();
                }
                (execution, failure)
            }
            Err(why) => {
                notes.push(Note::Text { text: format!("there is no schedule: {why}") });
                let outcome = Outcome::Died {
                    death: self.death.clone(),
                    task: None,
                    site: None,
                    panic: None,
                };
                let mut failure = Retraced::new().failure(outcome, self.last + 1);
                if self.is_killed() {
                    let found = "there is no schedule to go once more".to_owned();
                    failure.unstable = Some(divergence(0, 0, found));
                }
                (self.last + 1, failure)
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
        let strategy =
            if recording.is_some() { "replay".to_owned() } else { self.strategy.clone() };
        let guarantee = Guarantee::new(covered);
        let mut report = Report::new(strategy, Verdict::Failed, guarantee, counts);
        report.test = Some(test.id.test.clone());
        report.seed = self.seed;
        (report.failure, report.notes) = (Some(failure), notes);
        report.elapsed_ms = self.elapsed.as_millis().try_into().unwrap_or(u64::MAX);
        (report, avoid)
    }

    /// Whether something else may have killed it.
    pub(crate) fn is_killed(&self) -> bool {
        self.death == Death::signal(KILL)
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
        failure.unstable = found.map(|found| divergence(step, decision, found));
        failure
    }
}

/// One that did not die when it went the same way.
fn divergence(step: u64, decision: u32, found: String) -> Divergence {
    Divergence { step, decision, expected: "the end of the process".to_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(options: &[u32], executions: u64) -> Kill {
        let avoid = Avoid { options: options.to_vec(), death: Death::signal(KILL) };
        Kill { way: Some(avoid), executions }
    }

    #[test]
    fn the_fourth_kill_at_the_same_point_is_the_tests() {
        let mut kills = Kills::default();
        for elsewhere in 0..3 {
            assert_eq!(kills.add(at(&[1, 2], 0)), Killer::Other);
            assert_eq!(kills.add(at(&[1, 2, elsewhere], 0)), Killer::Other);
        }
        let way = at(&[1, 2], 0).way.expect("it was given");
        assert_eq!(kills.add(at(&[1, 2], 0)), Killer::Test(way));
        assert_eq!(kills.times, 3, "what is the test's is not something else's");
    }

    #[test]
    fn hosts_that_get_further_may_be_killed_as_often_as_they_are_and_others_ten_times() {
        let mut kills = Kills::default();
        for executions in 1..=100 {
            assert_eq!(kills.add(Kill { way: None, executions }), Killer::Other);
        }
        // The hundredth got furthest; nine more do not.
        for _ in 0..8 {
            assert_eq!(kills.add(Kill { way: None, executions: 100 }), Killer::Other);
        }
        assert_eq!(kills.add(Kill::default()), Killer::Unknown);
    }
}
