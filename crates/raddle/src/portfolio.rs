//! The searches of one test for one report: a portfolio, most often of one.
//!
//! No order of the search suits every test, so GAMBIT suggests to run several at once (Coons,
//! Burckhardt, Musuvathi, 2010, section 5.2). A member is a search of its own, with its own engine
//! on its own OS thread: nothing is shared but the turns and the budget. The first failure ends them
//! all, and so does a member that has covered every execution; if it has done so up to equivalence, the others
//! go on for [a few](turns::AFTER_REDUCTION) before that. A portfolio of one needs no turns, and its budget is the
//! engine's limit.
//!
//! *Turns.* As many members run as `members` says; the others wait, between two of their executions, until
//! one of those has had its turn: one execution, more as it gets on. The next turn is that of the member with the
//! fewest executions; but the first member of `auto` is [owed more](raddle_trace::unit::Pace). With one at a time the order is
//! always the same, and so is all that comes of it. With several at once a fast member that has not to
//! wait takes more than its share.
//!
//! *What executions share.* An object that outlives an execution, a static for one, belongs to one
//! execution at a time. If two members meet at one, the engine notices; then all begins anew with one
//! at a time. The same if an execution does not repeat itself, or a failure does not show again when nothing
//! else runs: then executions share something of which raddle knows nothing.
//!
//! Misses: such a thing, if all it does is to hide a failure. `members = 1` is the way out.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use raddle_engine::{Ended, EngineError, Lap, Stop, Strategy};
use raddle_trace::{Covered, Failure, Note, Report, Settings};

use crate::checkpoint::{self, How, Keeper};
use crate::conclusion::{self, note};
use crate::config::{EXECUTIONS, Isolation};
use crate::cut_off;
use crate::error::Error;
use crate::job::{Body, Job};
use crate::plan::{self, Member, Plan};
use crate::search::{self, Asked, SearchResult};
use crate::supervisor::{self, Control};

mod turns;

pub(crate) use turns::AFTER_REDUCTION;
use turns::{MemberTurns, TurnState, Turns};

/// Runs all of them and reports.
pub(crate) fn explore(mut job: Job, plan: &Plan, test: &Body) -> Result<Report, Error> {
    let began = Instant::now();
    let keeper = checkpoint::open(&job, &plan.searches())?;
    job.searched = keeper.as_ref().map(|keeper| keeper.elapsed()).unwrap_or_default();
    let at_once = at_once(&job, plan);
    let mut ran = run(&job, plan, keeper.as_ref(), at_once, job.config.time, test);
    let mut notes: Vec<_> = plan.left_out.iter().map(note).collect();
    notes.extend(job.config.differences());
    if at_once > 1
        && let Some(why) = interference(&job, &ran, test)
    {
        notes.push(note(format!(
            "{why}, so the members began anew and took turns; with RADDLE_MEMBERS=1 they do so at once"
        )));
        if let Some(tree) = &job.config.tree {
            tree.clear();
        }
        // Some time must be left, or there is nothing to report.
        let left = job.config.time.map(|time| time.saturating_sub(began.elapsed()).max(time / 4));
        ran = run(&job, plan, keeper.as_ref(), 1, left, test);
    }
    let ran = match ran {
        Err(Error::Hung(hang)) => {
            return cut_off::report(&job, hang, job.config.settings(), began, test);
        }
        ran => ran.map_err(|error| checkpoint::named(&job.config, error))?,
    };
    notes.extend(ran.went_on().filter(|_| plan.members.len() > 1));
    let how = ran.how(plan.listed, job.config.executions.is_some());
    let failed_by = ran.failure().map(|(by, _)| by);
    let known = job.known.as_ref();
    let mut report = conclusion::conclude(&job.config, known, plan, ran.found, failed_by, notes);
    let mut elapsed = began.elapsed();
    if let Some(keeper) = keeper {
        elapsed = keeper.elapsed();
        report.notes.append(&mut keeper.end(how));
    }
    report.elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    Ok(report)
}

/// How many members run at once.
fn at_once(job: &Job, plan: &Plan) -> usize {
    // The page on which a host writes what it is about to do has room for one execution. And of a process
    // in which others run at once nothing can be forked: what they lock stays locked.
    let hosted = job.hosted.as_ref().is_some_and(|hosted| hosted.tape.is_some());
    if hosted || job.config.isolation == Isolation::Process {
        return 1;
    }
    let cores = || available_parallelism().map_or(1, NonZero::get);
    // By itself raddle runs the same executions in the same order on every machine.
    let in_turns = job.config.time.is_none() || plan::is_auto(&job.config);
    let usual = || if in_turns { 1 } else { cores() };
    let at_once = job.config.members.map_or_else(usual, |members| members as usize);
    at_once.clamp(1, plan.members.len())
}

/// What came of the members.
struct Ran {
    found: Vec<SearchResult>,
    /// Who ended them all, if one did.
    ended_by: Option<usize>,
    /// For how many executions the others went on then, if they did.
    went_on: Option<u64>,
    /// Whether two of them met at an object.
    clashed: bool,
    /// Whether all executions there were to run have been run.
    used_up: bool,
}

impl Ran {
    /// Whether there is something to go on with later.
    fn how(&self, listed: bool, gave: bool) -> How {
        let ended = |found: &SearchResult| match &found.explored.ended {
            Ended::Stopped if self.used_up => How::of(&Ended::Executions, gave),
            ended => How::of(ended, gave),
        };
        if listed && (self.failure().is_some() || self.ended_by.is_some()) {
            return How::Over;
        }
        let all: Vec<How> = self.found.iter().map(ended).collect();
        let first = [How::Stopped, How::Astray].into_iter().find(|how| all.contains(how));
        first.unwrap_or(How::Over)
    }

    /// That members went on after one with a reduction had ended.
    fn went_on(&self) -> Option<Note> {
        let (by, executions) = (self.ended_by?, self.went_on?);
        let name = &self.found[by].name;
        Some(note(format!(
            "`{name}` had nothing left to run, and does not see what tasks share outside raddle's types; the \
             other members went on for {executions} of up to {AFTER_REDUCTION} executions"
        )))
    }

    /// The failure that ended them all; or one that came too late for that, which is none the less one.
    fn failure(&self) -> Option<(usize, &Failure)> {
        let of = |nth: usize| Some((nth, self.found[nth].explored.failure.as_ref()?));
        self.ended_by.and_then(of).or_else(|| (0..self.found.len()).find_map(of))
    }
}

/// Why the members should not have run at once, if so.
fn interference(job: &Job, ran: &Result<Ran, Error>, test: &Body) -> Option<&'static str> {
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
    if failure.unstable.is_some() || !shows_again(job, failure, test) {
        return Some("a failure did not show again when it was run alone");
    }
    None
}

/// Whether a failure that was found while others ran shows again when nothing else runs.
fn shows_again(job: &Job, failure: &Failure, test: &Body) -> bool {
    let (setup, test, schedule) = (job.setup(), Arc::clone(test), failure.schedule.clone());
    let replayed = supervisor::run(&job.quiet(None), move |control| {
        let mut lap = |lap| control.should_stop(lap);
        let mut pulse = |pulse| control.attach(pulse);
        raddle_engine::replay(&schedule, None, &setup, &mut lap, &mut pulse, &*test)
    });
    replayed.is_ok_and(|replayed| {
        replayed.divergence.is_none() && replayed.outcome.is_like(&failure.outcome)
    })
}

/// A search that is ready to run.
struct Stage {
    strategy: Box<dyn Strategy>,
    name: String,
    /// The most that it may run.
    executions: u64,
    /// Where what it needs to go on is kept.
    kept: Option<checkpoint::CheckpointSlot>,
    settings: Settings,
}

/// Runs the members, so many at once.
fn run(
    job: &Job,
    plan: &Plan,
    keeper: Option<&Arc<Keeper>>,
    at_once: usize,
    time: Option<Duration>,
    test: &Body,
) -> Result<Ran, Error> {
    let n = plan.members.len();
    let usual = if time.is_none() && plan.samples { EXECUTIONS } else { u64::MAX };
    let executions = job.config.executions.unwrap_or(usual);
    if let Some(keeper) = keeper {
        keeper.begin();
    }
    let mut asked = Asked::new(job);
    asked.setup.limits.frontier_bytes /= n as u64;
    let turns = plan.listed.then(|| {
        let before = keeper.map_or(0, |keeper| keeper.executions());
        Arc::new(Turns::new(n, at_once, executions.saturating_sub(before)))
    });
    // The budget of members in turns is not the engine's.
    let limit = if turns.is_some() { u64::MAX } else { executions };
    let mut searches: Vec<supervisor::SearchFn<SearchResult>> = Vec::new();
    let mut first = 0;
    for (nth, member) in plan.members.iter().enumerate() {
        let stages = stages(job, member, limit, asked.setup.limits.frontier_bytes, keeper, first)?;
        first += stages.len();
        let (asked, test) = (asked.clone(), Arc::clone(test));
        let place = turns.clone().map(|turns| MemberTurns::new(turns, nth, member.pace));
        searches.push(match place {
            Some(place) => {
                Box::new(move |control| run_in_turns(stages, asked, control, place, &*test))
            }
            None => Box::new(move |control| {
                run_member(stages, asked, control, &mut |lap| control.should_stop(lap), &*test)
            }),
        });
    }
    let results = supervisor::run_all(job, time, searches);
    let Some(turns) = turns else {
        let found = results?.into_iter().collect::<Result<_, _>>()?;
        let (ended_by, went_on) = (None, None);
        return Ok(Ran { found, ended_by, went_on, clashed: false, used_up: false });
    };
    let found = results.inspect_err(|_| turns.end())?.into_iter().collect::<Result<_, _>>()?;
    let &TurnState { ended_by, left_after, .. } = &*turns.state();
    let left = turns.left.load(Ordering::Relaxed);
    let went_on = left_after.map(|before| before.saturating_sub(left));
    let clashed = turns.clashed.load(Ordering::Relaxed);
    Ok(Ran { found, ended_by, went_on, clashed, used_up: left == 0 })
}

/// The searches of a member, whose checkpoints begin at this place.
fn stages(
    job: &Job,
    member: &Member,
    executions: u64,
    frontier_bytes: u64,
    keeper: Option<&Arc<Keeper>>,
    first: usize,
) -> Result<Vec<Stage>, Error> {
    let stage = |(nth, name): (usize, &String)| {
        let environment = search::environment(job, member.seed, frontier_bytes);
        let built = match (&job.partial, &job.custom) {
            (Some(schedule), _) => search::forced(schedule, member.seed),
            (None, Some(custom)) => search::custom(custom),
            (None, None) => search::build(name, environment)?,
        };
        let kept = keeper
            .cloned()
            .map(|keeper| checkpoint::CheckpointSlot { keeper, search: first + nth });
        let settings = job.config.settings_of(built.reduces);
        Ok(Stage { strategy: built.strategy, name: built.name, executions, kept, settings })
    };
    member.stages.iter().enumerate().map(stage).collect()
}

/// Runs the searches of a member one after another until one has an answer that the next could not improve.
fn run_member(
    stages: Vec<Stage>,
    mut asked: Asked,
    control: &Control,
    lap: &mut dyn FnMut(Lap) -> Stop,
    test: &dyn Fn(),
) -> Result<SearchResult, EngineError> {
    let mut all: Vec<SearchResult> = Vec::new();
    for Stage { strategy, name, executions, kept, settings } in stages {
        asked.setup.settings = settings;
        // After a reduction that covered all it sees, a few executions without it are enough.
        let most = if all.last().is_some_and(conclusion::has_covered) {
            AFTER_REDUCTION
        } else {
            u64::MAX
        };
        asked.setup.limits.executions = executions.min(most);
        let found = search::run_one(strategy, name, &asked, kept.as_ref(), control, lap, test)?;
        if let Some(coverage) = &found.coverage {
            asked.known.clone_from(&coverage.pairs);
        }
        if let Some(receives) = &found.receives {
            asked.known_orders.clone_from(&receives.orders);
        }
        let has_answer = found.explored.failure.is_some() || found.covered == Covered::Everything;
        let has_ended = matches!(found.explored.ended, Ended::Covered | Ended::Memory);
        all.push(found);
        if has_answer || !has_ended {
            break;
        }
    }
    Ok(conclusion::in_sequence(all))
}

/// The same where others run, or wait for their turns.
fn run_in_turns(
    stages: Vec<Stage>,
    asked: Asked,
    control: &Control,
    mut place: MemberTurns,
    test: &dyn Fn(),
) -> Result<SearchResult, EngineError> {
    let before = stages.iter().filter_map(|stage| stage.kept.as_ref()?.before());
    place.taken = before.map(|before| before.carried.counts.executions).sum();
    let clashes = raddle_engine::clashes();
    let found =
        run_member(stages, asked, control, &mut |lap| place.should_stop(control, lap), test)?;
    place.turns.clashed.fetch_or(raddle_engine::clashes() != clashes, Ordering::Relaxed);
    place.leave(&found);
    Ok(found)
}

#[cfg(test)]
mod tests;
