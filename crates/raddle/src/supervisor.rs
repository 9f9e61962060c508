//! The supervisor: searches on OS threads of their own, and the calling thread that keeps the time for
//! them.
//!
//! The engine has no clock, and the searching thread does not read one either: the thread that
//! waits for it does, and leaves an *order* in the [`Control`] that both share, where the engine's
//! question "may I go on?" finds it. So a question costs one load. The same thread watches the pulse of the
//! search: if an execution runs and no step is made for too long, the search is given up and its OS thread
//! left behind, because nothing can be said to a task that never comes back. Without a watchdog and without
//! a limit of time there is nothing to wait for, and a single search runs on the calling thread. Several
//! searches at once are watched in the same way, each by its own pulse.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_engine::{Beat, EngineError, Lap, Pulse, Stop, panics_so_far, rt, unwinds_now};
use raddle_trace::{Progress, Site};

use crate::config::Isolation;
use crate::error::{CutOff, Error, Hang};
use crate::job::Job;
use crate::progress::ProgressListener;

const GO_ON: u64 = 0;
/// End the search.
const END: u64 = u64::MAX;

/// The least time between two looks at the pulse.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(250);
/// From a question how far the search is to the look whether it was answered.
const ANSWER_LOOK: Duration = Duration::from_millis(5);

/// How long an execution that runs when the search is to end may take to its end, if a checkpoint is kept:
/// most strategies are saved between two executions.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the two threads share.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// One of the constants above, or the number (by the pulse) of an execution to reject.
    order: AtomicU64,
    /// That execution hangs, for so many milliseconds; 0: it only takes too long.
    hangs: AtomicU64,
    /// The pulse of the search that runs, and the executions it had counted before.
    pulse: Mutex<Option<(&'static Pulse, u64)>>,
    /// Whether the search is to say how far it is.
    asked: AtomicBool,
    /// The answer.
    told: Mutex<Option<Progress>>,
    /// Whether a checkpoint is due.
    checkpoint_due: AtomicBool,
    /// An execution that runs when the search is to end may come to its end, so that nothing of it is lost.
    finish_current_execution: AtomicBool,
    /// Whether the other thread looks at the pulse all the time.
    watched: bool,
}

impl Control {
    /// Takes the pulse of a search that begins.
    pub(crate) fn attach(&self, pulse: &'static Pulse) {
        *self.pulse() = Some((pulse, pulse.counted()));
        if self.watched {
            pulse.watch();
        }
    }

    /// Whether the search is to say how far it is.
    #[inline]
    pub(crate) fn progress_requested(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Answers that question.
    #[cold]
    pub(crate) fn report_progress(&self, progress: &Progress) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(*progress);
        self.asked.store(false, Ordering::Relaxed);
    }

    /// Whether a checkpoint is due; asks once.
    #[inline]
    pub(crate) fn checkpoint_requested(&self) -> bool {
        let due = &self.checkpoint_due;
        due.load(Ordering::Relaxed) && due.swap(false, Ordering::Relaxed)
    }

    fn take_told(&self) -> Option<Progress> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Answers the engine.
    #[inline]
    pub(crate) fn should_stop(&self, lap: Lap) -> Stop {
        match self.order.load(Ordering::Relaxed) {
            GO_ON => Stop::No,
            END if lap.steps > 0 && self.finish_current_execution.load(Ordering::Relaxed) => {
                Stop::No
            }
            END => Stop::Search,
            execution => self.reject(execution, lap),
        }
    }

    /// The order is for one execution, which may be over by now.
    #[cold]
    fn reject(&self, execution: u64, lap: Lap) -> Stop {
        let running = self.pulse().map(|(pulse, _)| pulse.beat().executions);
        // If it fails, the search is to end: the next question finds that.
        let _ = self.order.compare_exchange(execution, GO_ON, Ordering::Relaxed, Ordering::Relaxed);
        match self.hangs.swap(0, Ordering::Relaxed) {
            _ if lap.steps == 0 || running != Some(execution) => Stop::No,
            0 => Stop::Execution,
            after_ms => Stop::Hang { after_ms },
        }
    }

    /// Orders an execution to be rejected, unless there is another order.
    fn reject_now(&self, execution: u64) {
        let relaxed = Ordering::Relaxed;
        let _ = self.order.compare_exchange(GO_ON, execution, relaxed, relaxed);
    }

    fn pulse(&self) -> std::sync::MutexGuard<'_, Option<(&'static Pulse, u64)>> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a thread is started for.
pub(crate) type SearchFn<T> = Box<dyn FnOnce(&Control) -> Result<T, EngineError> + Send>;

/// Runs `search` in the time of the job and waits for it.
pub(crate) fn run<T: Send + 'static>(
    job: &Job,
    search: impl FnOnce(&Control) -> Result<T, EngineError> + Send + 'static,
) -> Result<T, Error> {
    let mut results = run_all(job, job.config.time, vec![Box::new(search)])?;
    results.pop().unwrap_or_else(|| unreachable!("one search has one result"))
}

/// Runs searches at once, each on an OS thread of its own, and waits for all of them: in `time`, if
/// given. What each came to is in the order of the searches.
///
/// # Errors
/// If one hangs. The others go on: it is for the caller to end them.
pub(crate) fn run_all<T: Send + 'static>(
    job: &Job,
    time: Option<Duration>,
    mut searches: Vec<SearchFn<T>>,
) -> Result<Vec<Result<T, Error>>, Error> {
    if rt::inside() {
        return Err(Error::Nested);
    }
    let config = &job.config;
    let keeps = config.checkpoint.is_some() && config.checkpoint_every.is_some();
    let timed = time.is_some() || config.execution_time.is_some() || keeps;
    let unattended = config.watchdog.is_none() && !timed && job.observers().is_empty();
    if unattended && searches.len() == 1 {
        // No clock need be looked at, so the search runs right here.
        let search = searches.remove(0);
        return Ok(vec![finish(catch_unwind(AssertUnwindSafe(|| search(&Control::default()))))]);
    }
    on_threads(job, time, searches)
}

fn finish<T>(result: thread::Result<Result<T, EngineError>>) -> Result<T, Error> {
    match result {
        Ok(result) => Ok(result?),
        Err(payload) => Err(Error::Bug { message: text_of(&*payload) }),
    }
}

fn on_threads<T: Send + 'static>(
    job: &Job,
    time: Option<Duration>,
    searches: Vec<SearchFn<T>>,
) -> Result<Vec<Result<T, Error>>, Error> {
    let keeps = job.config.checkpoint.is_some() || runs_units(job);
    let control = || Control {
        finish_current_execution: AtomicBool::new(keeps),
        watched: job.config.watchdog.is_some(),
        ..Control::default()
    };
    let controls: Vec<_> = searches.iter().map(|_| Arc::new(control())).collect();
    let (send, receive) = mpsc::channel();
    // All of them before any starts: one that begins may wait for the others.
    let workers: Vec<_> = controls.iter().map(|_| Worker::take()).collect::<Result<_, _>>()?;
    for (nth, (worker, search)) in workers.iter().zip(searches).enumerate() {
        let (control, send) = (Arc::clone(&controls[nth]), send.clone());
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(|| search(&control)));
            // The receiver is gone if the search was given up.
            let _ = send.send((nth, result));
        };
        worker.start(work)?;
    }
    drop(send);
    let results = Supervisor::new(job, time, &controls).wait(&receive)?;
    workers.into_iter().for_each(Worker::give_back);
    Ok(results.into_iter().map(finish).collect())
}

fn runs_units(job: &Job) -> bool {
    job.hosted.as_ref().is_some_and(|hosted| hosted.units)
}

type Errand = Box<dyn FnOnce() + Send>;

/// An OS thread for searches. Each calling thread keeps those it had for its next searches: to start a thread
/// costs more than many searches take. Not shared between calling threads, because what a test
/// prints is caught by the thread that started its thread. One whose search hangs is not kept.
struct Worker {
    work: mpsc::Sender<Errand>,
}

thread_local! {
    static IDLE: RefCell<Vec<Worker>> = const { RefCell::new(Vec::new()) };
}

impl Worker {
    fn take() -> Result<Self, Error> {
        if let Some(worker) = IDLE.with_borrow_mut(Vec::pop) {
            return Ok(worker);
        }
        let (work, todo) = mpsc::channel::<Errand>();
        // Ends when the calling thread does, or drops it.
        let run = move || todo.iter().for_each(|work| work());
        let spawned = thread::Builder::new().name("raddle".to_owned()).spawn(run);
        spawned.map_err(|error| Error::Thread { reason: error.to_string() })?;
        Ok(Self { work })
    }

    fn start(&self, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let gone = |_| Error::Thread { reason: "the thread for searches is gone".to_owned() };
        self.work.send(Box::new(work)).map_err(gone)
    }

    fn give_back(self) {
        IDLE.with_borrow_mut(|idle| idle.push(self));
    }
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without text").to_owned()
}

/// The waiting side.
struct Supervisor<'a> {
    /// One for each search.
    controls: &'a [Arc<Control>],
    time: Option<Duration>,
    execution_time: Option<Duration>,
    watchdog: Option<Duration>,
    /// Each execution has a process of its own.
    isolated: bool,
    observers: Vec<&'a ProgressListener>,
    /// Set if the driver wants the search to end.
    stop: Option<&'a AtomicBool>,
    /// From one checkpoint to the next.
    checkpoint_every: Option<Duration>,
    /// Whether executions that run when the search is to end may come to their end.
    finish_current_execution: bool,
    /// However long that takes.
    units: bool,
    /// Wall time of earlier parts of the search.
    searched: Duration,
}

/// Asks searches how far they are, when an observer is due to hear of it.
struct ProgressPoller<'a> {
    controls: &'a [Arc<Control>],
    observers: &'a [&'a ProgressListener],
    /// The last answer of each search.
    answers: Vec<Option<Progress>>,
    /// When each of them heard it last.
    last: Vec<Duration>,
    /// Whether the search was asked.
    asked: bool,
    /// Wall time of earlier parts of the search.
    searched: Duration,
}

impl ProgressPoller<'_> {
    fn is_due(&self, index: usize, now: Duration) -> bool {
        now >= self.last[index] + self.observers[index].every
    }

    /// How long to wait before the next look; `None` if there are no observers.
    fn look(&self, now: Duration) -> Option<Duration> {
        if self.asked {
            return Some(ANSWER_LOOK);
        }
        let left = |(observer, last): (&&ProgressListener, &Duration)| {
            (*last + observer.every).checked_sub(now)
        };
        let left = self.observers.iter().zip(&self.last).map(left).map(Option::unwrap_or_default);
        left.min().map(|left| left.max(SHORTEST_LOOK))
    }

    /// Asks the searches if it is time, and passes their answers on.
    fn poll(&mut self, now: Duration) {
        let mut answered = false;
        for (control, answer) in self.controls.iter().zip(&mut self.answers) {
            if let Some(progress) = control.take_told() {
                *answer = Some(progress);
                answered = true;
            }
        }
        if answered {
            self.asked = false;
            self.tell(now);
        } else if !self.asked && (0..self.observers.len()).any(|index| self.is_due(index, now)) {
            self.asked = true;
            self.controls.iter().for_each(|control| control.asked.store(true, Ordering::Relaxed));
        }
    }
}

impl ProgressPoller<'_> {
    /// Tells those who are due what was answered last.
    fn tell(&mut self, now: Duration) {
        let ms = (self.searched + now).as_millis().try_into().unwrap_or(u64::MAX);
        let progress = together(self.answers.iter().flatten());
        let progress = progress.timed(progress.executions, ms);
        for index in 0..self.observers.len() {
            if self.is_due(index, now) {
                self.last[index] = now;
                (self.observers[index].hear)(&progress);
            }
        }
    }
}

/// How far several searches of one test are: all that they ran, and what the first that can tell says of
/// the space. A search that waits for its turn is as far as it was when it last answered.
fn together<'a>(answers: impl Iterator<Item = &'a Progress>) -> Progress {
    let add = |all: Progress, one: &Progress| Progress {
        executions: all.executions + one.executions,
        pending: all.pending + one.pending,
        frontier_bytes: all.frontier_bytes + one.frontier_bytes,
        estimate: all.estimate.or(one.estimate),
        traces: all.traces.or(one.traces),
        bound: all.bound.or(one.bound),
        ..all
    };
    let mut answers = answers.copied();
    let first = answers.next().unwrap_or_default();
    answers.fold(first, |all, one| add(all, &one))
}

/// What the waiting thread has seen of a search.
#[derive(Clone, Copy, Debug, Default)]
struct Vitals {
    last: Option<Beat>,
    // Summed up from looks, not read from the clock: if the process was suspended, so was the
    // search, and no test is to blame.
    without_step: Duration,
    in_execution: Duration,
}

impl Vitals {
    fn look(&mut self, beat: Beat, look: Duration) {
        let same = |beat: &Beat| (beat.running, beat.executions, beat.steps);
        let moved = self.last.as_ref().map(same) != Some(same(&beat)) || !beat.running;
        self.without_step = if moved { Duration::ZERO } else { self.without_step + look };
        let same_execution =
            beat.running && self.last.is_some_and(|last| last.executions == beat.executions);
        self.in_execution = if same_execution { self.in_execution + look } else { Duration::ZERO };
        self.last = Some(beat);
    }
}

impl<'a> Supervisor<'a> {
    fn new(job: &'a Job, time: Option<Duration>, controls: &'a [Arc<Control>]) -> Self {
        let config = &job.config;
        let keeps = config.checkpoint.is_some();
        Self {
            controls,
            time,
            execution_time: config.execution_time,
            watchdog: config.watchdog,
            isolated: config.isolation == Isolation::Process,
            observers: job.observers(),
            stop: job.hosted.as_ref().map(|hosted| &*hosted.stop),
            checkpoint_every: config.checkpoint_every.filter(|_| keeps),
            finish_current_execution: keeps,
            units: runs_units(job),
            searched: job.searched,
        }
    }

    /// Waits for the results of all searches.
    fn wait<T>(&self, done: &Receiver<(usize, T)>) -> Result<Vec<T>, Error> {
        let began = Instant::now();
        let mut results: Vec<Option<T>> = self.controls.iter().map(|_| None).collect();
        let mut vitals = vec![Vitals::default(); self.controls.len()];
        let mut poller = ProgressPoller {
            controls: self.controls,
            observers: &self.observers,
            answers: vec![None; self.controls.len()],
            last: vec![Duration::ZERO; self.observers.len()],
            asked: false,
            searched: self.searched,
        };
        let (mut kept, mut ended) = (Duration::ZERO, None);
        while results.iter().any(Option::is_none) {
            let now = began.elapsed();
            let keep = self
                .checkpoint_every
                .map(|every| (kept + every).saturating_sub(now).max(SHORTEST_LOOK));
            let patience = self.finish_current_execution.then_some(LONGEST_LOOK);
            let looks = [self.look(now), poller.look(now), keep, patience];
            let look = looks.into_iter().flatten().min();
            match done.recv_timeout(look.unwrap_or(Duration::MAX)) {
                Ok((nth, result)) => {
                    results[nth] = Some(result);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the searching thread ended without a result".to_owned();
                    return Err(Error::Bug { message });
                }
            }
            let now = began.elapsed();
            self.end_if_due(now, &mut ended);
            if self.checkpoint_every.is_some_and(|every| now >= kept + every) {
                kept = now;
                for control in self.controls {
                    control.checkpoint_due.store(true, Ordering::Relaxed);
                }
            }
            poller.poll(began.elapsed());
            if ended.is_some() && !self.any_runs() {
                // What was searched is being saved, however long that takes: the driver waits while it hears this.
                poller.tell(began.elapsed());
            }
            for nth in (0..self.controls.len()).filter(|nth| results[*nth].is_none()) {
                self.examine(&self.controls[nth], &mut vitals[nth], look.unwrap_or_default())?;
            }
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Whether one of the searches runs an execution.
    fn any_runs(&self) -> bool {
        let runs = |control: &Arc<Control>| {
            control.pulse().as_ref().is_some_and(|(pulse, _)| pulse.beat().running)
        };
        self.controls.iter().any(runs)
    }

    /// Looks at the pulse of a search: rejects an execution that takes too long.
    ///
    /// # Errors
    /// If it hangs, and takes the search with it.
    fn examine(&self, control: &Control, vitals: &mut Vitals, look: Duration) -> Result<(), Error> {
        let Some((pulse, before)) = *control.pulse() else { return Ok(()) };
        let beat = pulse.beat();
        vitals.look(beat, look);
        if pulse.has_aborted() {
            let hang = hang(Duration::ZERO, &beat, pulse.counted() - before);
            return Err(Error::Hung(Box::new(after_panics(hang, pulse, true))));
        }
        let hangs = self.watchdog.filter(|limit| vitals.without_step >= *limit);
        if let Some(after) = hangs.filter(|_| self.isolated) {
            // It is in a process of its own, and does not take the search with it.
            let after = after.as_millis().try_into().unwrap_or(u64::MAX).max(1);
            control.hangs.store(after, Ordering::Relaxed);
            control.reject_now(beat.executions);
        } else if let Some(after) = hangs {
            let hang = hang(after, &beat, pulse.counted() - before);
            return Err(Error::Hung(Box::new(after_panics(hang, pulse, false))));
        }
        if self.execution_time.is_some_and(|limit| vitals.in_execution >= limit) {
            control.reject_now(beat.executions);
        }
        Ok(())
    }

    /// How long to wait before the next look; `None` if nothing needs one.
    fn look(&self, now: Duration) -> Option<Duration> {
        let left = |limit: Duration| limit.checked_sub(now).filter(|left| !left.is_zero());
        let periods = [self.watchdog.map(|limit| limit / 8), self.execution_time.map(|t| t / 4)];
        let periods = periods.map(|period| period.map(|p| p.clamp(SHORTEST_LOOK, LONGEST_LOOK)));
        periods.into_iter().chain([self.time.and_then(left)]).flatten().min()
    }

    /// Orders the searches to end if it is time, which has been so since `ended`.
    fn end_if_due(&self, now: Duration, ended: &mut Option<Duration>) {
        let stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if !stopped && self.time.is_none_or(|time| now < time) {
            return;
        }
        let patience_is_over = now >= *ended.get_or_insert(now) + PATIENCE;
        for control in self.controls {
            control.order.store(END, Ordering::Relaxed);
            if patience_is_over && !self.units {
                control.finish_current_execution.store(false, Ordering::Relaxed);
            }
        }
    }
}

fn hang(after: Duration, beat: &Beat, execution: u64) -> Hang {
    let site = beat.site.map(|site| Site {
        file: site.file().to_owned(),
        line: site.line(),
        column: site.column(),
    });
    Hang { after, execution, task: beat.task, site, panics: String::new(), cut_off: None }
}

/// Adds what panicked before, and whether the hang follows from it: if a task unwinds, or ended by a panic that no other
/// task has taken. A panic that was caught has nothing to do with it.
fn after_panics(hang: Hang, pulse: &'static Pulse, aborted: bool) -> Hang {
    let Some(so_far) = panics_so_far(pulse) else { return hang };
    let follows = aborted || so_far.ended_a_task || unwinds_now(pulse);
    let cut_off =
        follows.then_some(CutOff { options: so_far.options, rounds: so_far.rounds, aborted });
    Hang { panics: so_far.panics, cut_off, ..hang }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const BETWEEN: Lap = Lap { executions: 3, steps: 0 };

    #[test]
    fn an_order_for_an_execution_that_is_over_is_forgotten() {
        let control = Control { order: AtomicU64::new(7), ..Control::default() };
        assert_eq!(control.should_stop(BETWEEN), Stop::No);
        assert_eq!(control.order.into_inner(), GO_ON);
    }

    #[test]
    fn observers_hear_no_more_often_than_they_want_to() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let observer = |every| {
            let heard = Arc::clone(&heard);
            ProgressListener::new(Duration::from_millis(every), move |progress: &Progress| {
                heard.lock().expect("nobody panicked").push((every, progress.elapsed_ms));
            })
        };
        let controls = [Arc::new(Control::default())];
        let control = &controls[0];
        let (often, seldom) = (observer(10), observer(40));
        let observers = [&often, &seldom];
        let last = vec![Duration::ZERO; 2];
        let (observers, answers) = (&observers, vec![None]);
        let searched = Duration::ZERO;
        let controls = &controls;
        let mut poller =
            ProgressPoller { controls, observers, answers, last, asked: false, searched };
        for ms in (0..100).step_by(5) {
            poller.poll(Duration::from_millis(ms));
            if control.progress_requested() {
                control.report_progress(&Progress::default());
            }
        }
        // Asked at 10, answered at 15, asked again 10 later; the other hears with it from 40 on.
        let expected =
            [(10, 15), (10, 30), (10, 45), (40, 45), (10, 60), (10, 75), (10, 90), (40, 90)];
        assert_eq!(*heard.lock().expect("nobody panicked"), expected);
    }

    #[test]
    fn observers_hear_the_last_answer_again_while_a_search_is_saved() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&heard);
        let observer =
            ProgressListener::new(Duration::from_millis(10), move |progress: &Progress| {
                theirs
                    .lock()
                    .expect("nobody panicked")
                    .push((progress.executions, progress.elapsed_ms));
            });
        let controls = [Arc::new(Control::default())];
        let answers = vec![Some(Progress { executions: 7, ..Progress::default() })];
        let (last, searched) = (vec![Duration::ZERO], Duration::ZERO);
        let (controls, observers) = (&controls, &[&observer]);
        let mut poller =
            ProgressPoller { controls, observers, answers, last, asked: true, searched };
        for ms in [5, 10, 15, 20] {
            poller.tell(Duration::from_millis(ms));
        }
        assert_eq!(*heard.lock().expect("nobody panicked"), [(7, 10), (7, 20)]);
    }

    #[test]
    fn nobody_looks_where_nothing_is_limited() {
        let controls = [Arc::new(Control::default())];
        let second = Some(Duration::from_secs(1));
        let config = Config { watchdog: None, ..Config::default() };
        let job = Job::from(config);
        assert_eq!(Supervisor::new(&job, None, &controls).look(Duration::ZERO), None);
        let supervisor = Supervisor::new(&job, second, &controls);
        assert_eq!(supervisor.look(Duration::ZERO), second);
        assert_eq!(supervisor.look(Duration::from_millis(999)), Some(Duration::from_millis(1)));
        // The order has been left, and is heard or not.
        assert_eq!(supervisor.look(Duration::from_secs(2)), None);
    }
}
