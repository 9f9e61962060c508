//! Several searches of one test for one report: a portfolio.
//!
//! No order of the search suits every test, so GAMBIT suggests to run several at once (Coons,
//! Burckhardt, Musuvathi, 2010, section 5.2). A member is a search of its own, with its own engine
//! on its own OS thread: nothing is shared but the turns and the budget. The first failure ends them
//! all, and so does a member that has covered every execution.
//!
//! *Turns.* As many members run as there are jobs; the others wait, between two of their executions, until
//! one of those has had its turn: a few executions, more as it gets on. With one job the order is always
//! the same, and so is all that comes of it.
//!
//! *What executions share.* An object that outlives an execution, a static for one, belongs to one
//! execution at a time. If two members meet at one, the engine notices; then all begins anew with one
//! job. The same if an execution does not repeat itself, or a failure does not show again when nothing
//! else runs: then executions share something of which raddle knows nothing.
//!
//! Misses: such a thing, if all it does is to hide a failure. `jobs = 1` is the way out.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use raddle_engine::{Ended, Lap, Limits, Setup, Stop};
use raddle_trace::{
    Counts, Coverage, Covered, Failure, Guarantee, Member, Note, Probed, Report, Verdict, report,
};

use crate::checkpoint::{self, How, Keeper};
use crate::config::{AUTO, Config, EXECUTIONS, Isolation, Pairs};
use crate::error::Error;
use crate::search::{self, Asked, Body, Found};
use crate::watch::{self, Orders, Turn};

/// The members of `portfolio`, and of `auto` if time is given.
///
/// Chosen by `raddle-bench gambit` on one half of the bugs of `corpus/src/libraries`, when it was first run,
/// and reported on the other: see `docs/results/gambit.md`. The first can end, and then everything is covered.
pub(crate) const DEFAULT: [&str; 2] = ["dpor(classic) best-first(pb)", "pos"];

/// What stands for [`DEFAULT`].
const PORTFOLIO: &str = "portfolio";

/// The searches to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Members {
    /// Each with its composition in its shortest form, and its seed.
    all: Vec<(String, u64)>,
    /// Which were left out, and why.
    notes: Vec<Note>,
    /// Whether one of them never ends by itself.
    samples: bool,
}

/// The members that a configuration asks for; none if it asks for one search.
pub(crate) fn members(config: &Config) -> Result<Option<Members>, Error> {
    let text = config.strategy.trim();
    let refuse = |reason: String| Err(Error::Strategy { strategy: text.to_owned(), reason });
    let auto = text == AUTO && config.time.is_some() && config.preemptions.is_none();
    let names: Vec<&str> = if auto || text == PORTFOLIO {
        DEFAULT.to_vec()
    } else if text.contains('|') {
        text.split('|').map(str::trim).collect()
    } else if text.split([' ', '(']).next() == Some(PORTFOLIO) {
        return refuse(
            "`portfolio` is a list of whole strategies and takes no parts; write the list yourself, \
             as in `dfs preemptions(2) | pos`"
                .to_owned(),
        );
    } else {
        return Ok(None);
    };
    if config.preemptions.is_some() {
        return refuse(
            "`preemptions` bounds one search, and these are several; write the bound where it \
             belongs, as in `dfs preemptions(2) | pos`"
                .to_owned(),
        );
    }
    let mut members = Members { all: Vec::new(), notes: Vec::new(), samples: false };
    let mut left_out = Vec::new();
    for name in names {
        if name.is_empty() {
            return refuse("there is a `|` with no strategy beside it; leave it out".to_owned());
        }
        if [AUTO, PORTFOLIO].contains(&name) {
            return refuse(format!(
                "`{name}` is a choice of strategies and cannot be a member; name the strategies"
            ));
        }
        let environment = search::environment(config, config.seed(), u64::MAX);
        let built = match raddle_search::build(name, environment) {
            Ok(built) => built,
            Err(error) => match error.refused_settings() {
                Some((name, reason)) => {
                    left_out.push(format!("`{name}` is left out: {reason}"));
                    continue;
                }
                None => return Err(search::refusal(name, &error)),
            },
        };
        let samples = matches!(built.strategy.covered(), Covered::Sample { .. });
        let same = members.all.iter().filter(|(name, _)| *name == built.name).count() as u64;
        // What draws has `random` or `rand` in its name, or is a sampler.
        if same > 0 && !samples && !built.name.contains("rand") {
            return refuse(format!(
                "`{}` is there twice and would do the same both times; leave one out",
                built.name
            ));
        }
        members.samples |= samples;
        members.all.push((built.name, config.seed().wrapping_add(same)));
    }
    if members.all.is_empty() {
        return refuse(left_out.join("; "));
    }
    members.notes = left_out.into_iter().map(search::text).collect();
    Ok(Some(members))
}

/// Runs all of them and reports.
pub(crate) fn explore(mut config: Config, members: &Members, test: &Body) -> Result<Report, Error> {
    let began = Instant::now();
    let keeper = checkpoint::open(&config, &members.all)?;
    config.searched = keeper.as_ref().map(|keeper| keeper.elapsed()).unwrap_or_default();
    let cores = || available_parallelism().map_or(1, NonZero::get);
    let usual = if config.time.is_some() { cores() } else { 1 };
    // The page on which a host writes what it is about to do has room for one execution.
    let hosted = config.hosted.as_ref().is_some_and(|hosted| hosted.tape.is_some());
    // And of a process in which others run at once nothing can be forked: what they lock stays locked.
    let one = hosted || config.isolation == Isolation::Process;
    let usual = if one { 1 } else { usual };
    let jobs = config.jobs.filter(|_| !one);
    let jobs = jobs.map_or(usual, |jobs| jobs as usize).clamp(1, members.all.len());
    let mut ran = run(&config, members, keeper.as_ref(), jobs, config.time, test);
    let mut notes = members.notes.clone();
    if jobs > 1
        && let Some(why) = interference(&config, &ran, test)
    {
        notes.push(search::text(format!(
            "{why}, so the members began anew and took turns; with RADDLE_JOBS=1 they do so at once"
        )));
        if let Some(tree) = config.recorded_tree() {
            tree.clear();
        }
        // Some time must be left, or there is nothing to report.
        let left = config.time.map(|time| time.saturating_sub(began.elapsed()).max(time / 4));
        ran = run(&config, members, keeper.as_ref(), 1, left, test);
    }
    let ran = ran.map_err(|error| checkpoint::named(&config, error))?;
    let how = ran.how(config.executions.is_some());
    let mut report = conclude(config, members, ran, notes);
    let mut elapsed = began.elapsed();
    if let Some(keeper) = keeper {
        elapsed = keeper.elapsed();
        report.notes.append(&mut keeper.end(how));
    }
    report.elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    Ok(report)
}

/// What came of the members.
struct Ran {
    found: Vec<Found>,
    /// Who ended them all, if anybody did.
    ended_by: Option<usize>,
    /// Whether two of them met at an object.
    clashed: bool,
    /// Whether all executions there were to run have been run.
    used_up: bool,
}

impl Ran {
    /// Whether there is something to go on with later.
    fn how(&self, gave: bool) -> How {
        let ended = |found: &Found| match &found.explored.ended {
            Ended::Stopped if self.used_up => How::of(&Ended::Executions, gave),
            ended => How::of(ended, gave),
        };
        if self.failure().is_some() || self.ended_by.is_some() {
            return How::Over;
        }
        let mut all = self.found.iter().map(ended);
        if all.any(|how| how == How::Stopped) { How::Stopped } else { How::Over }
    }

    /// The failure that ended them all; or one that came too late for that, which is none the less one.
    fn failure(&self) -> Option<(usize, &Failure)> {
        let of = |nth: usize| Some((nth, self.found[nth].explored.failure.as_ref()?));
        self.ended_by.and_then(of).or_else(|| (0..self.found.len()).find_map(of))
    }
}

/// Why the members should not have run at once, if so.
fn interference(config: &Config, ran: &Result<Ran, Error>, test: &Body) -> Option<&'static str> {
    if matches!(ran, Err(Error::Foreign)) || ran.as_ref().is_ok_and(|ran| ran.clashed) {
        return Some(
            "executions that ran at once used the same object of raddle, such as a static",
        );
    }
    let ran = ran.as_ref().ok()?;
    if ran.found.iter().any(|found| matches!(found.explored.ended, Ended::Diverged(_))) {
        return Some("an execution did not repeat itself while others ran");
    }
    let (_, failure) = ran.failure()?;
    if failure.unstable.is_some() || !shows_again(config, failure, test) {
        return Some("a failure did not show again when it was run alone");
    }
    None
}

/// Whether a failure that was found while others ran shows again when nothing else runs.
fn shows_again(config: &Config, failure: &Failure, test: &Body) -> bool {
    let alone = Config { time: None, observer: None, lines: None, ..config.clone() };
    let (setup, test, schedule) = (config.setup(), Arc::clone(test), failure.schedule.clone());
    let replayed = watch::run(&alone, Turn::Last, move |orders| {
        let mut lap = |lap| orders.lap(Turn::Last, lap);
        let mut pulse = |pulse| orders.begin(pulse);
        raddle_engine::replay(&schedule, None, &setup, &mut lap, &mut pulse, &*test)
    });
    replayed.is_ok_and(|replayed| {
        replayed.divergence.is_none() && replayed.outcome.is_like(&failure.outcome)
    })
}

/// Runs the members, so many at once.
fn run(
    config: &Config,
    members: &Members,
    keeper: Option<&Arc<Keeper>>,
    jobs: usize,
    time: Option<Duration>,
    test: &Body,
) -> Result<Ran, Error> {
    let n = members.all.len();
    let limited = time.is_none() && members.samples;
    let usual = if limited { EXECUTIONS } else { u64::MAX };
    let before = keeper.map_or(0, |keeper| keeper.executions());
    let executions = config.executions.unwrap_or(usual).saturating_sub(before);
    let turns = Arc::new(Turns::new(n, jobs, executions));
    if let Some(keeper) = keeper {
        keeper.begin();
    }
    let setup = config.setup();
    let frontier_bytes = setup.limits.frontier_bytes / n as u64;
    let limits = Limits { executions: u64::MAX, frontier_bytes, ..setup.limits };
    let tells = !config.observers().is_empty();
    let setup = Setup { limits, ..setup };
    let (traces, pairs) = (config.traces, config.pairs != Pairs::Off);
    let known = config.known.clone().unwrap_or_default();
    let asked = Asked { setup, traces, pairs, known, tells, tree: config.recorded_tree() };
    let mut searches: Vec<watch::Search<Found>> = Vec::new();
    for (member, (name, seed)) in members.all.iter().enumerate() {
        let built = search::build(name, search::environment(config, *seed, frontier_bytes))?;
        let (turns, test, asked) = (Arc::clone(&turns), Arc::clone(test), asked.clone());
        let kept =
            keeper.map(|keeper| checkpoint::Place { keeper: Arc::clone(keeper), search: member });
        searches.push(Box::new(move |orders| {
            let mut place = Place::new(turns, member);
            let before = kept.as_ref().and_then(checkpoint::Place::before);
            place.taken = before.map_or(0, |before| before.carried.counts.executions);
            let mut lap = |lap| place.lap(orders, lap);
            let raddle_search::Built { strategy, name } = built;
            let clashes = raddle_engine::clashes();
            let found =
                search::run_one(strategy, name, &asked, kept.as_ref(), orders, &mut lap, &*test)?;
            place.turns.clashed.fetch_or(raddle_engine::clashes() != clashes, Ordering::Relaxed);
            place.leave(&found);
            Ok(found)
        }));
    }
    let results = watch::run_all(config, time, searches).inspect_err(|_| turns.end());
    let found = results?.into_iter().collect::<Result<_, _>>()?;
    let ended_by = turns.state().ended_by;
    let used_up = turns.left.load(Ordering::Relaxed) == 0;
    let clashed = turns.clashed.load(Ordering::Relaxed);
    Ok(Ran { found, ended_by, clashed, used_up })
}

/// Who may run, and how much is left to run.
#[derive(Debug)]
struct Turns {
    state: Mutex<State>,
    moved: Condvar,
    /// Nobody goes on.
    over: AtomicBool,
    /// Executions that nobody has taken yet.
    left: AtomicU64,
    /// An object was refused to a member, because another one had it.
    clashed: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Who may run.
    runs: Vec<bool>,
    /// Who may run next. Has nobody who runs, or has left.
    waits: VecDeque<usize>,
    /// Who ended it for all.
    ended_by: Option<usize>,
}

impl Turns {
    /// The first members run, the others wait, whoever arrives first.
    fn new(members: usize, jobs: usize, executions: u64) -> Self {
        let runs = (0..members).map(|member| member < jobs).collect();
        let state = State { runs, waits: (jobs..members).collect(), ended_by: None };
        Self {
            state: Mutex::new(state),
            moved: Condvar::new(),
            over: AtomicBool::new(false),
            left: AtomicU64::new(executions),
            clashed: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is this member's turn, or all is over.
    fn wait(&self, member: usize, state: MutexGuard<'_, State>) {
        let waits = |state: &mut State| !state.runs[member] && !self.is_over();
        drop(self.moved.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner));
    }

    /// The member has had its turn: if somebody waits, it is theirs.
    fn hand_on(&self, member: usize) {
        let mut state = self.state();
        if let Some(next) = state.waits.pop_front() {
            state.runs[member] = false;
            state.runs[next] = true;
            state.waits.push_back(member);
            self.moved.notify_all();
        }
        self.wait(member, state);
    }

    /// The member will not run again; with `ends`, nobody will.
    fn leave(&self, member: usize, ends: bool) {
        let mut state = self.state();
        if ends {
            state.ended_by.get_or_insert(member);
            self.over.store(true, Ordering::Relaxed);
        }
        state.waits.retain(|other| *other != member);
        if std::mem::take(&mut state.runs[member])
            && let Some(next) = state.waits.pop_front()
        {
            state.runs[next] = true;
        }
        self.moved.notify_all();
    }

    /// Nobody goes on.
    fn end(&self) {
        let _state = self.state();
        self.over.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes an execution out of what is left.
    fn take(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// The most executions of one turn.
const LONGEST_TURN: u64 = 256;

/// How many executions a member with so many behind it has in a turn. To hand on takes about as long as a
/// short execution; and whatever another member would have found meanwhile is found so much later.
fn turn(executions: u64) -> u64 {
    (executions / 8).clamp(1, LONGEST_TURN)
}

/// A member's place among the turns. Leaves when it is dropped, and ends all if it had not left before:
/// then its search could not go on.
struct Place {
    turns: Arc<Turns>,
    member: usize,
    /// The executions that had been run when it last asked whether to go on.
    asked_after: Option<u64>,
    /// Executions after which its turn is over.
    until: u64,
    taken: u64,
    has_left: bool,
}

impl Place {
    fn new(turns: Arc<Turns>, member: usize) -> Self {
        Self { turns, member, asked_after: None, until: 0, taken: 0, has_left: false }
    }

    /// Answers the engine.
    fn lap(&mut self, orders: &Orders, lap: Lap) -> Stop {
        // Only the first question after an execution comes between two of them.
        let between = self.asked_after != Some(lap.executions);
        if between {
            if self.asked_after.is_none() {
                self.turns.wait(self.member, self.turns.state());
            } else if lap.executions >= self.until {
                self.turns.hand_on(self.member);
            }
            if lap.executions >= self.until {
                self.until = lap.executions + turn(lap.executions);
            }
            self.asked_after = Some(lap.executions);
        }
        if self.turns.is_over() {
            return Stop::Search;
        }
        let stop = orders.lap(Turn::Last, lap);
        if between && stop == Stop::No {
            if !self.turns.take() {
                return Stop::Search;
            }
            self.taken += 1;
        }
        stop
    }

    /// The search is over. What it took and did not run is for the others.
    fn leave(&mut self, found: &Found) {
        let Found { explored, covered, .. } = found;
        let unused = self.taken.saturating_sub(explored.counts.executions);
        self.turns.left.fetch_add(unused, Ordering::Relaxed);
        let is_all = matches!(
            covered,
            Covered::Everything | Covered::Equivalence | Covered::Cached { preemptions: None, .. }
        );
        let ends = explored.failure.is_some()
            || matches!(explored.ended, Ended::Diverged(_))
            || is_all && search::is_covered(&explored.ended, &explored.counts, covered);
        self.has_left = true;
        self.turns.leave(self.member, ends);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.has_left {
            self.turns.leave(self.member, true);
        }
    }
}

/// The report of all members.
fn conclude(config: Config, members: &Members, ran: Ran, mut notes: Vec<Note>) -> Report {
    let failed_by = ran.failure().map(|(by, _)| by);
    let names: Vec<_> = members.all.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(" | ");
    let auto = config.strategy.trim() == AUTO;
    let strategy = if auto { format!("{AUTO} ({names})") } else { names };
    let mut counts = Counts::default();
    let mut all = Vec::new();
    let mut progress = None;
    let mut coverage: Option<Coverage> = None;
    for (found, (_, seed)) in ran.found.iter().zip(&members.all) {
        search::add(&mut counts, &found.explored.counts);
        progress = progress.or(found.progress.estimate.map(|_| found.progress));
        all.push(member(found, *seed));
        also(&mut notes, found);
        coverage = beside(coverage, found.coverage.as_ref());
    }
    if let (Some(coverage), Some(known)) = (&mut coverage, &config.known) {
        coverage.new = coverage.pairs.difference(known);
    }
    let strongest = (0..all.len()).max_by_key(|nth| (strength(&all[*nth]), all.len() - nth));
    let strongest = strongest.expect("a portfolio has members");
    let diverged = ran.found.iter().any(|one| matches!(one.explored.ended, Ended::Diverged(_)));
    let failed = failed_by.and_then(|by| ran.found.into_iter().nth(by)).map(|by| by.explored);
    let (failure, others) =
        failed.map_or((None, Vec::new()), |explored| (explored.failure, explored.deaths));
    let verdict = if failure.is_some() {
        Verdict::Failed
    } else if diverged {
        Verdict::Inconclusive
    } else if let Some(why) = search::nothing_seen(&counts) {
        notes.push(search::text(why));
        Verdict::Inconclusive
    } else {
        all[strongest].verdict
    };
    if let Some(by) = failed_by {
        notes.push(search::text(format!("`{}` found it", all[by].strategy)));
    } else if all.len() > 1 {
        let name = &all[strongest].strategy;
        notes.push(search::text(format!("the guarantee is that of `{name}` alone")));
    }
    Report {
        version: report::VERSION,
        strategy,
        seed: config.seed(),
        test: config.test,
        verdict,
        guarantee: all[strongest].guarantee.clone(),
        counts,
        progress: progress.filter(|_| verdict == Verdict::Passed),
        failure,
        others,
        notes,
        coverage,
        members: all,
        elapsed_ms: 0,
    }
}

fn member(found: &Found, seed: u64) -> Member {
    let Found { name, explored, covered, traces, .. } = found;
    let verdict = if explored.failure.is_some() {
        Verdict::Failed
    } else if matches!(explored.ended, Ended::Diverged(_))
        || search::nothing_seen(&explored.counts).is_some()
    {
        Verdict::Inconclusive
    } else if search::is_covered(&explored.ended, &explored.counts, covered) {
        Verdict::Covered
    } else {
        Verdict::Passed
    };
    let guarantee = Guarantee {
        covered: *covered,
        traces: *traces,
        rejected: explored.counts.rejected,
        assumptions: explored.assumptions.clone(),
    };
    Member { strategy: name.clone(), seed, verdict, guarantee, counts: explored.counts }
}

/// What members have learned beside each other. The series is that of the first.
fn beside(before: Option<Coverage>, more: Option<&Coverage>) -> Option<Coverage> {
    let (Some(mut coverage), Some(more)) = (before.clone(), more) else {
        return before.or_else(|| more.cloned());
    };
    let known = coverage.count.known - coverage.count.added;
    coverage.pairs.merge(&more.pairs);
    coverage.count.known = coverage.pairs.len() as u64;
    coverage.count.added = coverage.count.known - known;
    coverage.count.last = coverage.count.last.max(more.count.last);
    Some(coverage)
}

/// What else there is to say of a member, once.
fn also(notes: &mut Vec<Note>, found: &Found) {
    let mut more = found.explored.notes.clone();
    if let Some(Probed { probes, .. }) = found.progress.estimate.and_then(|about| about.probed) {
        more.push(search::text(format!(
            "{probes} of the executions were random probes, run for the estimate alone"
        )));
    }
    if let Ended::Trouble(why) = &found.explored.ended {
        more.push(search::text(format!("`{}` stopped before its end: {why}", found.name)));
    }
    if found.explored.ended == Ended::Memory {
        more.push(search::text(format!(
            "`{}` stopped because it knows of more alternatives than it may keep; set RADDLE_MEMORY, of \
             which each member has an equal share",
            found.name
        )));
    }
    more.retain(|note| !notes.contains(note));
    notes.append(&mut more);
}

/// How much a member's guarantee is worth: that of a search that ended by what it covered, else what was
/// drawn before what is only the beginning of a search, the more the better.
fn strength(member: &Member) -> (u32, u64) {
    match &member.guarantee.covered {
        _ if member.counts.executions == 0 => (0, 0),
        Covered::Everything => (7, 0),
        Covered::Equivalence => (6, 0),
        Covered::Cached { preemptions: None, .. } => (5, 0),
        Covered::Preemptions(k) => (4, 2 * u64::from(*k) + 1),
        Covered::Cached { preemptions: Some(k), .. } => (4, 2 * u64::from(*k)),
        Covered::Sample { executions, .. } => (3, *executions),
        Covered::Part { executions, .. } => (2, *executions),
        _ => (1, 0),
    }
}

#[cfg(test)]
mod tests;
