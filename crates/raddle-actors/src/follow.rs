//! From a path of states to an execution: the strategy that follows it.
//!
//! A search over states knows which message is delivered at each step of a violation, by its ends and
//! its contents. [`Follow`] runs the same model as an execution of the engine and picks the link that
//! has that message, so that a violation gets an ordinary schedule and trace.

use std::cell::{Cell, RefCell};
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_engine::rt::Link;
use raddle_engine::strategy::{Answer, Needs, Options, Plan, Point};
use raddle_engine::{Setup, Stop, Strategy, TaskId};
use raddle_trace::{Covered, Failure};

use crate::hash::Fingerprint;
use crate::mailboxes::Sender;
use crate::snapshot::{ANYBODY, Move, OUTSIDE, Snapshot};
use crate::world::{Kind, World};

/// What one step delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    what: What,
    /// Values, as they are asked for.
    values: Vec<u32>,
}

/// Who hears what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The sender, by path (none: outside, or not distinguished); the receiver; the message's hash.
    Message(Option<u64>, u64, u64),
    /// Whose, by path, and its number.
    Timer(u64, u32),
    Crash,
    /// Who comes back, by path.
    Restart(u64),
}

impl Lead {
    /// What the engine has to do for a step.
    pub(crate) fn new(state: &Snapshot, way: Move, values: &[u32]) -> Self {
        let path = |actor: u32| state.actors[actor as usize].state.path;
        let what = match way {
            Move::Lane(at) => {
                let lane = &state.lanes[at as usize];
                let from = match lane.from {
                    OUTSIDE | ANYBODY => None,
                    actor => Some(path(actor)),
                };
                What::Message(from, path(lane.to), lane.first().hash)
            }
            Move::Timer(of, at) => {
                What::Timer(path(of), state.actors[of as usize].timers[at as usize].number)
            }
            Move::Crash => What::Crash,
            Move::Restart(of) => What::Restart(path(of)),
        };
        Self { what, values: values.to_vec() }
    }
}

#[derive(Debug, Default)]
struct Guide {
    leads: Vec<Lead>,
    /// The step that is next.
    at: usize,
    wanted: Option<TaskId>,
    /// How many values it has asked for.
    asked: usize,
    /// What was decided, as options.
    taken: Vec<u32>,
}

thread_local! {
    /// The guide of the search that runs on this OS thread.
    static GUIDE: RefCell<Option<Arc<Mutex<Guide>>>> = const { RefCell::new(None) };
    /// Whether there is one: asked after every step of every system, so it must cost next to nothing.
    static GUIDED: Cell<bool> = const { Cell::new(false) };
}

/// Finds what is wanted next. `steps` have been taken.
pub(crate) fn seek(world: &World, links: &[Option<Link>], steps: u64) {
    if !GUIDED.try_with(Cell::get).unwrap_or(false) {
        return;
    }
    GUIDE.with_borrow(|guide| {
        let Some(guide) = guide else { return };
        let mut guide = guide.lock().unwrap_or_else(PoisonError::into_inner);
        guide.at = steps as usize;
        guide.asked = 0;
        guide.wanted = guide.leads.get(guide.at).and_then(|lead| {
            let at =
                world.links.iter().position(|link| link.ready && is(world, link, lead.what))?;
            links.get(at).copied().flatten().map(Link::task)
        });
    });
}

fn is(world: &World, link: &crate::world::Link, what: What) -> bool {
    let path = |actor: crate::ActorId| world.actors[actor.index()].state.path;
    match (link.kind, what) {
        (Kind::Messages, What::Message(from, to, hash)) => {
            let sender = match link.from {
                Sender::Actor(actor) => Some(path(actor)),
                Sender::Outside(_) | Sender::Anybody => None,
            };
            let mut hasher = Fingerprint::new();
            let actor = &world.actors[link.to.index()].state.actor;
            let same =
                actor.hash_message(&link.queue[0].payload, &mut hasher) && hasher.finish() == hash;
            sender == from && path(link.to) == to && same
        }
        (Kind::Timer(timer, _), What::Timer(of, number)) => {
            path(link.to) == of && timer.0 == number
        }
        (Kind::Crash, What::Crash) => true,
        (Kind::Restart, What::Restart(of)) => path(link.to) == of,
        (
            Kind::Messages | Kind::Timer(..) | Kind::Crash | Kind::SpentCrash | Kind::Restart,
            What::Message(..) | What::Timer(..) | What::Crash | What::Restart(_),
        ) => false,
    }
}

/// Runs one execution along a path.
struct Follow {
    guide: Arc<Mutex<Guide>>,
    begun: bool,
}

impl Strategy for Follow {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        !std::mem::replace(&mut self.begun, true)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let mut guide = self.guide.lock().unwrap_or_else(PoisonError::into_inner);
        let option = match point.options {
            Options::Schedule(_) => guide.wanted.and_then(|task| point.option_of(task)),
            Options::Value { .. } => {
                guide.asked += 1;
                let lead = guide.leads.get(guide.at);
                lead.and_then(|lead| lead.values.get(guide.asked - 1)).copied()
            }
        };
        let option = option.unwrap_or(0);
        guide.taken.push(option);
        Answer::Take(option)
    }

    fn covered(&self) -> Covered {
        Covered::Replay
    }
}

/// Runs `body` along a path: how it fails, and what it decides. None if it does not, or cannot be run here.
pub(crate) fn follow(leads: Vec<Lead>, body: &dyn Fn()) -> (Option<Failure>, Vec<u32>) {
    let guide = Arc::new(Mutex::new(Guide { leads, ..Guide::default() }));
    GUIDE.set(Some(Arc::clone(&guide)));
    GUIDED.set(true);
    let mut strategy = Follow { guide: Arc::clone(&guide), begun: false };
    let explored = raddle_engine::explore(
        &mut strategy,
        &Setup::default(),
        &mut |_| Stop::No,
        &mut |_| {},
        body,
    );
    GUIDED.set(false);
    GUIDE.set(None);
    let taken = std::mem::take(&mut guide.lock().unwrap_or_else(PoisonError::into_inner).taken);
    (explored.ok().and_then(|explored| explored.failure), taken)
}
