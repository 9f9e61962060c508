//! What the workers of one test share: which units there are, who has which, and whether it is over.

#[cfg(feature = "nats")]
mod remote;

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_trace::fold::Folded;
use raddle_trace::host::Avoid;
use raddle_trace::unit::{Completed, Method, PlannedSearch, Quota, ToJudge, TraceSet, UnitPlan};
use raddle_trace::{Covered, Estimate, Failure, Note, Progress};

use super::lane::{Lane, Leased};
use super::rare::Rare;
use crate::kept_deaths::KeptDeaths;
use crate::os;
use crate::settings::Workers;

#[cfg(feature = "nats")]
pub(crate) use self::remote::Remote;

/// Executions after which a host gives back what is left of a unit.
const UNIT_EXECUTIONS: u64 = 200_000;
/// The time after which it does.
const UNIT_TIME: Duration = Duration::from_secs(1);
/// Into so many units for each worker a search is cut at its beginning, and what idle workers wait for.
const PIECES: u32 = 10;
/// A unit that has run for less is not asked for what is left of it.
const SHORTEST: Duration = Duration::from_millis(20);
/// So often a unit may take its host down without being seen to.
const ATTEMPTS: u32 = 4;
/// So many hosts of one test may die of what the test does.
const DEATHS: usize = 8;
/// From one moment at which all that was recorded is on the disk to the next.
const SYNC: Duration = Duration::from_secs(5);
/// How often a worker that waits looks around.
const LOOK: Duration = Duration::from_millis(50);

/// Why no more units are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// All was run, or an answer was found.
    Over,
    /// As many executions as were wanted.
    Executions,
    /// The time is over, or Ctrl-C was pressed.
    Interrupted,
    /// The tool could not do its work.
    Error(String),
}

/// What the workers share.
pub(super) struct Board {
    workers: usize,
    unit_executions: u64,
    unit_time: Duration,
    /// The file of the first search's units; those of others are beside it.
    file: PathBuf,
    /// A number for the test binary.
    binary: String,
    resume: bool,
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    plan: Option<UnitPlan>,
    lanes: Vec<Lane>,
    stop: Option<StopReason>,
    /// The most executions of all searches together.
    limit: u64,
    idle: usize,
    /// Executions of the unit that each worker runs.
    live: Vec<u64>,
    /// What hosts died of, and how the next ones keep from that.
    deaths: KeptDeaths,
    /// Hosts that died without it being the test's doing.
    killed: u64,
    /// When all was last synchronised.
    synced: Duration,
    /// When what records came to is written again.
    keeping: Rare,
}

/// A unit that a worker is to run.
pub(super) struct Given {
    pub(super) leased: Leased,
    pub(super) quota: Quota,
    pub(super) samples: u64,
    pub(super) avoid: Vec<Avoid>,
    lane: usize,
    since: Instant,
}

impl Board {
    pub(super) fn new(
        workers: Workers,
        count: usize,
        file: PathBuf,
        binary: String,
        resume: Option<KeptDeaths>,
    ) -> Self {
        let (resume, deaths) = (resume.is_some(), resume.unwrap_or_default());
        let state = State { live: vec![0; count], deaths, ..State::default() };
        Self {
            workers: count,
            unit_executions: workers.unit_executions.unwrap_or(UNIT_EXECUTIONS),
            unit_time: workers.unit_time.unwrap_or(UNIT_TIME),
            file,
            binary,
            resume,
            began: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of the n-th search's units.
    fn file(&self, search: u32) -> PathBuf {
        match search {
            0 => self.file.clone(),
            n => self.file.with_extension(format!("units.{n}")),
        }
    }

    /// The file with what hosts died of.
    fn deaths_file(&self) -> PathBuf {
        self.file.with_extension("deaths")
    }

    /// A host says what there is to run. The first word begins the run; the others must say the same.
    pub(super) fn join(&self, plan: &UnitPlan) {
        let mut state = self.state();
        if let Some(known) = &state.plan {
            if known.run != plan.run {
                let why = "two hosts of one test do not mean the same by it: was it built anew while it ran?";
                state.end(StopReason::Error(why.to_owned()));
            }
            return;
        }
        state.limit = plan.executions;
        state.plan = Some(plan.clone());
        let mut begun = Ok(());
        for (search, planned) in (0..).zip(&plan.searches) {
            let known = self.resume && self.file(search).exists();
            if !planned.follows || known {
                begun = begun.and_then(|()| self.begin(&mut state, plan, search, planned.clone()));
            }
        }
        let fallbacks = plan.searches.len() as u32;
        for search in fallbacks..2 * fallbacks {
            if self.resume && self.file(search).exists() {
                let planned = by_source_sets(&plan.searches[(search - fallbacks) as usize]);
                begun = begun.and_then(|()| self.begin(&mut state, plan, search, planned));
            }
        }
        if let Err(why) = begun.and_then(|()| self.advance(&mut state)) {
            state.end(StopReason::Error(why));
        }
        self.changed.notify_all();
    }

    fn begin(
        &self,
        state: &mut State,
        plan: &UnitPlan,
        search: u32,
        planned: PlannedSearch,
    ) -> Result<(), String> {
        let run = format!("binary {}\n{}", self.binary, plan.run);
        let lane = Lane::open(&self.file(search), &run, search, planned, !self.resume)?;
        state.lanes.push(lane);
        Ok(())
    }

    /// Begins what follows from what has ended, and sees whether all is over.
    fn advance(&self, state: &mut State) -> Result<(), String> {
        let Some(plan) = state.plan.clone() else { return Ok(()) };
        let fallbacks = plan.searches.len() as u32;
        for at in 0..state.lanes.len() {
            let lane = &state.lanes[at];
            if lane.replaced || !lane.has_gaps() || lane.has_answer() {
                continue;
            }
            let (search, planned) = (lane.search + fallbacks, by_source_sets(&lane.planned));
            state.lanes[at].replaced = true;
            if !state.lanes.iter().any(|lane| lane.search == search) {
                self.begin(state, &plan, search, planned)?;
            }
        }
        for (search, planned) in (0..).zip(&plan.searches) {
            let begun = state.lanes.iter().any(|lane| lane.search == search);
            if !planned.follows || begun || state.stop.is_some() {
                continue;
            }
            let before = state.lanes.iter().rfind(|lane| {
                !lane.replaced
                    && (lane.search + 1 == search || lane.search + 1 == search + fallbacks)
            });
            let ended = before.is_some_and(|lane| {
                lane.fold.sum.over
                    && !lane.has_answer()
                    && lane.fold.sum.covered() != Covered::Everything
            });
            if ended {
                self.begin(state, &plan, search, planned.clone())?;
            }
        }
        state.wind_up(&plan);
        Ok(())
    }

    /// A unit for a worker. Waits until there is one; none if no more are run.
    pub(super) fn next(&self, worker: usize) -> Option<Given> {
        let mut state = self.state();
        state.live[worker] = 0;
        loop {
            self.look(&mut state);
            if state.stop.is_some() {
                self.changed.notify_all();
                return None;
            }
            match self.give(&mut state, worker) {
                Ok(Some(given)) => return Some(given),
                Ok(None) => {}
                Err(why) => state.end(StopReason::Error(why)),
            }
            state.idle += 1;
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.idle -= 1;
        }
    }

    /// Whether the time is over.
    fn look(&self, state: &mut State) {
        let limit = state.plan.as_ref().and_then(|plan| plan.time_ms);
        let late = limit.is_some_and(|limit| self.elapsed_ms(state) >= limit);
        if late || os::interrupts() > 0 {
            state.end(StopReason::Interrupted);
        }
    }

    fn elapsed_ms(&self, state: &State) -> u64 {
        let before = state.lanes.iter().map(|lane| lane.before.elapsed_ms).max().unwrap_or(0);
        before + u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn give(&self, state: &mut State, worker: usize) -> Result<Option<Given>, String> {
        let Some(plan) = &state.plan else { return Ok(None) };
        let samples = plan.executions;
        // Members of a list take turns, so none has much at a time.
        let turn = if plan.listed { plan.after_reduction } else { u64::MAX };
        let mut order: Vec<usize> = (0..state.lanes.len()).collect();
        order.retain(|&at| !state.lanes[at].is_over() && state.lane_left(at) > 0);
        // The search that has got the least far is the next.
        order.sort_by_key(|&at| {
            let lane = &state.lanes[at];
            lane.planned.pace.reached(lane.run_or_allowed())
        });
        for at in order {
            let most = state.lane_left(at);
            let lane = &mut state.lanes[at];
            let Some(leased) = lane.lease(worker)? else { continue };
            let fair = (most / (2 * self.workers as u64)).max(100);
            let even = lane.planned.pace.most(lane.run_or_allowed());
            let executions = self.unit_executions.min(fair).min(most).min(turn).min(even);
            lane.allow(&leased.lease, executions);
            let alone = lane.fold.open() == 1 && self.workers > 1;
            let spread = alone && lane.planned.method != Method::Whole;
            let pieces = if spread { PIECES * self.workers as u32 } else { 1 };
            let time_ms = self.unit_time.as_millis().try_into().unwrap_or(u64::MAX);
            let quota = Quota { executions, time_ms, pieces, spread };
            let (avoid, since) = (state.deaths.avoid.clone(), Instant::now());
            return Ok(Some(Given { leased, quota, samples, avoid, lane: at, since }));
        }
        if state.lanes.iter().all(|lane| lane.running() == 0) {
            // What is left has used up what it may run.
            state.end(StopReason::Executions);
        }
        Ok(None)
    }

    /// In how many pieces a worker is to give back what is left of its unit now; none if it may go on.
    pub(super) fn wants(&self, worker: usize, given: &Given, run: Option<u64>) -> Option<u32> {
        let mut state = self.state();
        if let Some(run) = run {
            state.live[worker] = run;
        }
        self.look(&mut state);
        let lane = &state.lanes[given.lane];
        if state.stop.is_some() || lane.replaced {
            return Some(1);
        }
        let cuts = lane.planned.method != Method::Whole;
        let hungry = state.idle > 0 && cuts && given.since.elapsed() >= SHORTEST;
        hungry.then_some(PIECES * self.workers as u32)
    }

    /// A unit was run.
    pub(super) fn complete(&self, worker: usize, given: &Given, record: &Completed) {
        let mut state = self.state();
        state.live[worker] = 0;
        let mut done = state.lanes[given.lane].complete(&given.leased.lease, record);
        if state.lanes[given.lane].has_many_records() {
            done = done.and_then(|()| self.keep(&mut state));
        }
        done = done.and_then(|()| self.advance(&mut state));
        if let Err(why) = done {
            state.end(StopReason::Error(why));
        }
        self.changed.notify_all();
    }

    /// A host died with a unit, in this way; `stable`: it did so again when it went the same way.
    pub(super) fn died(&self, given: &Given, failure: Failure, avoid: Option<Avoid>, stable: bool) {
        let mut state = self.state();
        let attempts = given.leased.lease.attempt;
        if stable || attempts >= ATTEMPTS {
            let new = avoid.filter(|avoid| !state.deaths.avoid.contains(avoid));
            state.deaths.add(failure);
            // Where it cannot be kept from that, the rest of the unit cannot be run.
            let ends = new.is_none() || attempts >= ATTEMPTS + DEATHS as u32;
            state.deaths.avoid.extend(new);
            // Before another host goes on: what it completes is past it.
            if let Err(why) = state.deaths.write(&self.deaths_file(), &self.binary) {
                state.end(StopReason::Error(why));
            }
            if ends || state.deaths.avoid.len() >= DEATHS {
                let why = "its hosts die, and cannot be kept from that";
                let gave = state.lanes[given.lane].give_up(&given.leased.lease, why);
                state.end(gave.map_or_else(StopReason::Error, |()| StopReason::Over));
                self.changed.notify_all();
                return;
            }
        } else {
            state.killed += 1;
        }
        self.return_unit(&mut state, given);
    }

    /// A worker cannot go on with its unit.
    pub(super) fn give_back(&self, given: &Given) {
        let mut state = self.state();
        self.return_unit(&mut state, given);
    }

    fn return_unit(&self, state: &mut State, given: &Given) {
        if let Err(why) = state.lanes[given.lane].give_back(&given.leased.lease) {
            state.end(StopReason::Error(why));
        }
        self.changed.notify_all();
    }

    /// The tool could not do its work.
    pub(super) fn fail(&self, why: String) {
        self.state().end(StopReason::Error(why));
        self.changed.notify_all();
    }

    /// Why it is over, if it is.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.state().stop.clone()
    }

    /// Keeps what the records of all searches came to, unless that took long and was done not long ago. Workers wait for it
    /// meanwhile; until then the records themselves are kept.
    fn keep(&self, state: &mut State) -> Result<(), String> {
        let began = self.began.elapsed();
        if !state.keeping.is_due(began) {
            return Ok(());
        }
        let elapsed_ms = self.elapsed_ms(state);
        let kept = state.lanes.iter_mut().try_for_each(|lane| lane.keep(elapsed_ms));
        state.keeping.was_done(began, self.began.elapsed());
        kept
    }

    /// How far all workers are together.
    pub(super) fn progress(&self) -> Progress {
        let mut state = self.state();
        self.look(&mut state);
        let elapsed = self.elapsed_ms(&state);
        if self.began.elapsed() >= state.synced + SYNC {
            state.synced = self.began.elapsed();
            // If that cannot be stored, the next record cannot either, and that is told.
            let _ = self.keep(&mut state);
            state.lanes.iter().for_each(|lane| drop(lane.sync()));
        }
        let lanes = state.lanes.iter().filter(|lane| !lane.replaced);
        let (mut executions, mut pending) = (state.live.iter().sum::<u64>(), 0);
        let (mut traces, mut estimate) = (None, None);
        for lane in lanes {
            executions += lane.fold.sum.counts.executions;
            pending += lane.fold.open() as u64;
            traces = traces.or(lane.fold.sum.traces.as_ref().map(TraceSet::count));
            estimate = estimate.or_else(|| lane.fold.estimate());
        }
        let covered = estimate.map(|estimate: Estimate| estimate.covered / estimate.total.about);
        let plan = state.plan.as_ref();
        let limit_executions = plan.map(|plan| plan.executions).filter(|most| *most < u64::MAX);
        let limit_ms = plan.and_then(|plan| plan.time_ms);
        let progress = Progress {
            pending,
            traces,
            estimate,
            covered,
            limit_executions,
            limit_ms,
            ..Progress::default()
        };
        progress.timed(executions, elapsed)
    }

    /// What all units came to, when no worker runs any more.
    pub(super) fn end(&self, hosts: usize) -> Result<ToJudge, String> {
        let mut state = self.state();
        let elapsed_ms = self.elapsed_ms(&state);
        let stop = state.stop.clone().unwrap_or(StopReason::Over);
        if let StopReason::Error(why) = stop {
            return Err(why);
        }
        let Some(plan) = state.plan.clone() else {
            return Err("no host said what to run".to_owned());
        };
        let left =
            stop == StopReason::Interrupted && state.lanes.iter().any(|lane| !lane.is_over());
        let mut notes = state.notes(&plan, self.workers, hosts);
        if left {
            for lane in &mut state.lanes {
                lane.keep(elapsed_ms)?;
                lane.sync()?;
            }
            let file = self.file.display().to_string();
            notes.push(Note::Kept { file, anew: Vec::new() });
        }
        let mut searches = Vec::new();
        let fallbacks = plan.searches.len() as u32;
        for search in 0..fallbacks {
            let of = |wanted: u32| {
                state.lanes.iter().find(|lane| lane.search == wanted && !lane.replaced)
            };
            let lane = of(search + fallbacks).or_else(|| of(search));
            let mut folded = lane.map(|lane| lane.fold.ended());
            if search == 0 && !state.deaths.failures.is_empty() {
                let folded = folded.get_or_insert_with(Folded::default);
                state.deaths.failures.iter().for_each(|death| folded.add_failure(death));
            }
            searches.push(folded);
        }
        if !left {
            // Nothing is left to go on with.
            state.lanes.clear();
            let _ = std::fs::remove_file(self.deaths_file());
            (0..2 * fallbacks).for_each(|search| drop(std::fs::remove_file(self.file(search))));
        }
        Ok(ToJudge { searches, notes, elapsed_ms })
    }

    /// Whether there is something to go on from.
    pub(super) fn is_kept(file: &Path) -> bool {
        file.is_file()
    }
}

/// The search that sees through what the reduction without a record does not: source sets, whose units request what they want
/// above them. Wakeup trees cannot be cut.
fn by_source_sets(planned: &PlannedSearch) -> PlannedSearch {
    let line = "dpor(source)".to_owned();
    PlannedSearch { line, method: Method::SourceSets, ..planned.clone() }
}

impl State {
    fn end(&mut self, stop: StopReason) {
        match &self.stop {
            Some(StopReason::Error(_)) => {}
            // What was found before is found; but an error is told.
            Some(_) if !matches!(stop, StopReason::Error(_)) => {}
            _ => self.stop = Some(stop),
        }
    }

    /// Executions that count towards a limit: not those of a search that was begun anew in another way.
    fn counted(&self) -> u64 {
        let lanes = self.lanes.iter().filter(|lane| !lane.replaced);
        lanes.map(|lane| lane.fold.sum.counts.executions).fold(0, u64::saturating_add)
    }

    /// Executions that may still be given to workers.
    fn left(&self) -> u64 {
        let allowed = self.lanes.iter().map(Lane::allowed).fold(0, u64::saturating_add);
        self.limit.saturating_sub(self.counted().saturating_add(allowed))
    }

    /// Executions that may still be given to workers of one search.
    fn lane_left(&self, at: usize) -> u64 {
        let lane = &self.lanes[at];
        let Some(plan) = &self.plan else { return 0 };
        if !lane.planned.follows {
            return self.left();
        }
        // It follows a reduction: if that covered all it sees, a few are enough, whatever the others have run.
        let covered = self.lanes.iter().any(|other| {
            other.planned.member == lane.planned.member
                && !other.planned.follows
                && !other.replaced
                && other.covers()
        });
        if !covered {
            return self.left();
        }
        plan.after_reduction.saturating_sub(lane.run_or_allowed())
    }

    /// Ends the run if there is an answer, or nothing is left; and soon, if one member has covered all it sees.
    fn wind_up(&mut self, plan: &UnitPlan) {
        let answered = |lane: &Lane| {
            lane.has_answer()
                || !lane.replaced && lane.covers() && lane.fold.sum.covered() == Covered::Everything
        };
        let over = self.lanes.iter().all(Lane::is_over);
        if self.lanes.iter().any(answered) || over {
            self.end(StopReason::Over);
        } else if plan.listed && self.lanes.iter().any(|lane| !lane.replaced && lane.covers()) {
            self.limit = self.limit.min(self.counted().saturating_add(plan.after_reduction));
        }
    }

    /// What there is to say of how it was run.
    fn notes(&self, plan: &UnitPlan, workers: usize, hosts: usize) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut say = |text: String| notes.push(Note::Text { text });
        let resumed = self.lanes.iter().map(|lane| lane.before).max_by_key(|before| before.parts);
        let ran = self.lanes.iter().filter(|lane| lane.fold.sum.units > 0);
        for lane in ran.clone().filter(|lane| !lane.replaced) {
            let (line, units) = (&lane.planned.line, lane.fold.sum.units);
            let many =
                if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
            let units = if units == 1 { "1 unit".to_owned() } else { format!("{units} units") };
            say(match lane.planned.method {
                Method::Whole => {
                    let why =
                        plan.searches.get(lane.search as usize).and_then(|one| one.why.clone());
                    let why = why.unwrap_or_else(|| "it cannot be cut".to_owned());
                    format!("`{line}` was run by one worker at a time, because {why}")
                }
                Method::SourceSets if lane.search as usize >= plan.searches.len() => format!(
                    "`{line}` was run by {many} in {units} instead of `dpor`, because the test did something that only a \
                     reduction with a record of what was tried sees through (a timeout, the clock, `is_finished`, a yield, an \
                     attempt to send or to receive, actors), and wakeup trees cannot be cut"
                ),
                Method::Memoryless => format!(
                    "`{line}` was run by {many} in {units}, by the form of the optimal reduction that keeps no \
                     record of what was tried"
                ),
                Method::Frontier => {
                    format!(
                        "`{line}` was run by {many} in {units}; after the first each depth first"
                    )
                }
                Method::Blocks => {
                    format!(
                        "`{line}` was run by {many} in {units}: blocks of samples with seeds of their own"
                    )
                }
                _ => format!("`{line}` was run by {many} in {units}"),
            });
        }
        let lost: u64 =
            ran.filter(|lane| lane.replaced).map(|lane| lane.fold.sum.counts.executions).sum();
        if lost > 0 {
            say(format!("{lost} executions that were run in units before that are not counted"));
        }
        if self.killed > 0 {
            say(crate::deaths::killed(self.killed));
        }
        if !self.deaths.failures.is_empty() {
            let times = self.deaths.avoid.len().max(1);
            let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
            say(format!(
                "the process of the test died {times}; the search went on in a fresh one, which was kept \
                 from what the others died of"
            ));
        }
        let _ = hosts;
        if let Some(before) = resumed.filter(|before| before.parts > 0) {
            let super::lane::Before { parts, elapsed_ms, executions } = before;
            notes.push(Note::Resumed { parts: parts + 1, executions, elapsed_ms });
        }
        notes
    }
}

impl Lane {
    /// Whether it has covered what it set out to.
    fn covers(&self) -> bool {
        let sum = &self.fold.sum;
        sum.over && sum.counts.rejected == 0 && sum.covered().is_all_of_a_search()
    }
}
