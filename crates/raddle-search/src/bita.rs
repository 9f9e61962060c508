//! Coverage-guided schedules for actors: `bita`.
//!
//! Tasharofi, Pradel, Lin and Johnson, ASE 2013. One execution is run at random. From it schedules are made that show
//! orders of receives which none has shown (`receives/generator.rs`), and executions are forced along them
//! (`bita/forcing.rs`). A handful of executions instead of an exploration. The first one may also be a recorded one
//! ([`Start`]).
//!
//! `bita` goes by pairs of receives, then by changes of behaviour if there are any, then by consecutive receives;
//! `bita(pr)`, `bita(pbr)` and `bita(pcr)` by one of them. What the paper leaves open: the executions that were forced
//! are sources of schedules too, so the search is not limited to what the first execution shows. And after the
//! paper's criteria `bita` goes by three consecutive receives: a message that must come between two others is
//! shown by a schedule for two consecutive receives only if that happens to have the third on the right side. It ends
//! when no execution that it has run offers an order which none has shown.
//!
//! Misses: orders that no execution shows to be possible, and failures that need two or more orders together which
//! no schedule happens to combine. Executions beyond `MOST_KEPT` receives in all are no sources of schedules. There is
//! no schedule for three consecutive receives once a quarter of a million of such orders were seen.
//! Overreports: nothing. Every execution is one that the program can take.

mod forcing;
mod given;

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Event, Finished, Needs, Plan, Point, Remarks, Resumable, Strategy,
    Unsupported,
};
use raddle_trace::{Covered, Outcome, PartialSchedule};
use serde::{Deserialize, Serialize};

use self::forcing::{Forcing, Wanted};
pub use self::given::Given;
use crate::receives::{
    Bits, Criterion, Generator, Goal, MailboxOrder, Orders, Planned, Recording, Run, senders,
};
use crate::rng::Rng;
use crate::state;

const NAME: &str = "bita";

/// Receives of executions that are kept as sources of schedules: some 150 bytes each.
const MOST_KEPT: usize = 1 << 20;

/// Executions from which one goal is asked for, if it was not met.
const ATTEMPTS: u8 = 3;

/// How schedules were followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedules {
    /// Schedules that were made and forced.
    pub generated: u64,
    /// Those that were not followed to their end.
    pub infeasible: u64,
    /// Those whose execution met no goal that was new, unless it failed before it had followed the schedule.
    pub fruitless: u64,
    /// Those whose execution did not meet the goal for which they were made, with the same exception.
    pub missed: u64,
    /// Those that were followed up to where the execution failed, and have more receives.
    pub failed: u64,
}

/// The execution that a search begins with.
#[derive(Clone, Debug, Default)]
pub enum Start {
    /// One that is drawn.
    #[default]
    Drawn,
    /// A recorded one: the options that it took.
    Options(Vec<u32>),
    /// One that is forced along this schedule, and drawn where that says nothing.
    Receives(PartialSchedule),
}

/// Runs a program of actors along schedules that show new orders of receives.
#[derive(Debug)]
pub struct Bita {
    saved: SavedBita,
    start: Start,
    recording: Recording,
    forcing: Forcing,
    generator: Option<Generator>,
}

/// What goes on in another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedBita {
    criteria: Vec<Criterion>,
    /// Whether three consecutive receives come after the criteria.
    triples: bool,
    rng: u64,
    executions: u64,
    /// Executions from which schedules are made, and how many receives they have.
    bases: Vec<Run>,
    kept: usize,
    /// Where the search is: which criterion, which execution, which of its receives.
    phase: usize,
    base: usize,
    next: usize,
    orders: Orders,
    /// Which actors were seen to send to which, into one queue for each actor.
    senders: BTreeSet<(u64, u64)>,
    /// Goals that were not met when they were asked for: how often, and last from which execution.
    attempts: BTreeMap<(u32, Goal), (u8, u32)>,
    /// The schedule of the next execution; of the one that runs. None after the first and at the end.
    planned: Option<Planned>,
    schedules: Schedules,
}

impl Bita {
    /// By these criteria, one after the other.
    #[must_use]
    pub fn new(criteria: &[Criterion], seed: u64) -> Self {
        let saved = SavedBita {
            criteria: criteria.to_vec(),
            triples: false,
            rng: Rng::new(seed).state(),
            executions: 0,
            bases: Vec::new(),
            kept: 0,
            phase: 0,
            base: 0,
            next: 0,
            orders: Orders::default(),
            senders: BTreeSet::new(),
            attempts: BTreeMap::new(),
            planned: None,
            schedules: Schedules::default(),
        };
        Self {
            saved,
            start: Start::default(),
            recording: Recording::default(),
            forcing: Forcing::default(),
            generator: None,
        }
    }

    /// Goes by three consecutive receives after the criteria.
    #[must_use]
    pub fn then_triples(mut self) -> Self {
        self.saved.triples = true;
        self.saved.orders.learn_triples();
        self
    }

    /// Begins with this execution.
    #[must_use]
    pub fn starting_with(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// How schedules were followed so far.
    #[must_use]
    pub fn schedules(&self) -> Schedules {
        self.saved.schedules
    }

    /// Finds the next schedule.
    fn plan(&mut self) -> Option<Planned> {
        let Self { saved, generator, .. } = self;
        loop {
            let criterion = saved.criteria.get(saved.phase).copied();
            if criterion.is_none() && !(saved.triples && saved.phase == saved.criteria.len()) {
                return None;
            }
            let has_changes = saved.orders.counts().pairs[Criterion::Pbr.index()] > 0;
            let is_through = saved.base == saved.bases.len();
            if is_through || criterion == Some(Criterion::Pbr) && !has_changes {
                (saved.phase, saved.base, saved.next) = (saved.phase + 1, 0, 0);
                *generator = None;
                continue;
            }
            let run = &saved.bases[saved.base];
            let made = generator.get_or_insert_with(|| {
                let mut made = Generator::new(run, &saved.orders);
                made.next = saved.next;
                made
            });
            made.know(&saved.senders);
            let (attempts, phase, base) = (&saved.attempts, saved.phase as u32, saved.base as u32);
            let given_up = |goal| {
                let tried = attempts.get(&(phase, goal));
                tried.is_some_and(|&(tried, last)| tried >= ATTEMPTS || last == base)
            };
            let planned = match criterion {
                Some(criterion) => made.plan(run, &saved.orders, criterion, &given_up),
                None => made.plan_triple(run, &saved.orders, &given_up),
            };
            saved.next = made.next;
            if planned.is_some() {
                return planned;
            }
            *generator = None;
            (saved.base, saved.next) = (saved.base + 1, 0);
        }
    }

    /// Judges the schedule that was forced, by the execution that came of it.
    fn judge(&mut self, new: [u64; 3], triples: bool, outcome: &Outcome) {
        let Some(Planned { goal, .. }) = self.saved.planned.take() else { return };
        let SavedBita { criteria, phase, base, orders, attempts, schedules, .. } = &mut self.saved;
        let criterion = criteria.get(*phase).copied();
        let is_new = criterion.map_or(triples, |criterion| new[criterion.index()] > 0);
        let (_, is_whole) = self.forcing.followed();
        schedules.generated += 1;
        let is_cut_short = !is_whole && !self.forcing.is_released() && outcome.is_failure();
        let is_met = match criterion {
            Some(criterion) => orders.is_met(criterion, goal[0], goal[1]),
            None => orders.has_triple(goal),
        };
        if is_cut_short {
            schedules.failed += 1;
        } else {
            schedules.infeasible += u64::from(!is_whole);
            schedules.fruitless += u64::from(!is_new);
            schedules.missed += u64::from(!is_met);
        }
        // Also if it failed first: a search that goes on after failures would ask for it again and again.
        if !is_met {
            let entry = attempts.entry((*phase as u32, goal)).or_default();
            *entry = (entry.0 + 1, *base as u32);
        }
    }
}

/// The messages that are received at these places, in this order.
fn wanted(run: &Run, places: &[u32]) -> Vec<Wanted> {
    let (mut done, mut gapless) = (Bits::default(), 0);
    let mut wanted = Vec::with_capacity(places.len());
    for &place in places {
        // Threads are as far as they were when the first receive that is not done was next. Those that write to a
        // channel are held before their sends instead.
        let received = &run.received[place as usize];
        let next = run.received.get(gapless).filter(|_| received.order != MailboxOrder::Channel);
        let thread_steps = next.map_or(0, |next| next.thread_steps);
        if received.can_be_held() {
            wanted.push(Wanted { thread_steps, ..Wanted::from(received) });
        }
        done.insert(place as usize);
        while done.contains(gapless) {
            gapless += 1;
        }
    }
    wanted
}

impl Strategy for Bita {
    fn needs(&self) -> Needs {
        Needs { steps: true, plans: false, messages: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.recording.begin();
        self.forcing = Forcing::default();
        if self.saved.executions == 0 {
            match &self.start {
                Start::Drawn => {}
                Start::Options(options) => plan.prefix.clone_from(options),
                Start::Receives(schedule) => self.forcing = Forcing::new(Wanted::all(schedule)),
            }
            return true;
        }
        let Some(planned) = &self.saved.planned else { return false };
        let run = &self.saved.bases[self.saved.base];
        if let Some(last) = planned.repeated.checked_sub(1).filter(|_| !run.decisions.is_empty()) {
            let end = run.received[last as usize].decisions;
            plan.prefix.extend_from_slice(&run.decisions[..end as usize]);
        }
        self.forcing = Forcing::new(wanted(run, &planned.places));
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let mut rng = Rng::from_state(self.saved.rng);
        let option = self.forcing.decide(point, &mut rng);
        self.saved.rng = rng.state();
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        let received = self.recording.event(event).map(|(received, _)| received);
        self.forcing.heard(event, received);
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.saved.executions += 1;
        self.recording.end(execution.decisions);
        let run = self.recording.run();
        self.saved.senders.extend(senders(run));
        let triples = self.saved.orders.n_triples();
        let new = self.saved.orders.learn(run);
        let triples = self.saved.orders.n_triples() > triples;
        let receives = run.received.len();
        let is_first = self.saved.bases.is_empty();
        let has_room = self.saved.kept + receives <= MOST_KEPT;
        let is_last_phase = self.saved.phase == self.saved.criteria.len();
        let is_new = new.iter().any(|new| *new > 0) || triples && is_last_phase;
        if is_first || is_new && has_room {
            self.saved.kept += receives;
            self.saved.bases.push(run.clone());
        }
        self.judge(new, triples, execution.outcome);
        self.saved.planned = self.plan();
    }

    fn covered(&self) -> Covered {
        let (counts, pr) = (self.saved.orders.counts(), Criterion::Pr.index());
        Covered::Receives {
            executions: self.saved.executions,
            schedules: self.saved.schedules.generated,
            infeasible: self.saved.schedules.infeasible,
            pairs: counts.pairs[pr],
            covered: counts.covered[pr],
            ended: self.saved.executions > 0 && self.saved.planned.is_none(),
        }
    }

    fn remarks(&self) -> Remarks {
        let nothing =
            self.saved.executions > 0 && self.saved.bases.iter().all(|run| run.received.is_empty());
        let unfinished = nothing.then(|| {
            "the first execution received no message, and `bita` goes by the order of receives; choose \
             another strategy for a test without actors and channels, such as `dpor`"
                .to_owned()
        });
        Remarks { unfinished, ..Remarks::default() }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Bita {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        Ok(state::write(NAME, &self.saved))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let saved: SavedBita = state::read(NAME, state)?;
        let is_planned = saved.base < saved.bases.len() || saved.planned.is_none();
        let is_asked = saved.criteria == self.saved.criteria && saved.triples == self.saved.triples;
        if !is_asked || !is_planned || saved.base > saved.bases.len() {
            return Err(state::FOREIGN);
        }
        self.saved = saved;
        self.generator = None;
        Ok(())
    }
}
