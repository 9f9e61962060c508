//! States against executions: a search over states sees exactly the states that the exhaustive search
//! over executions sees, on random programs with everything that actors can do.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use raddle_engine::explorer::{About, DelayingExplorer, Explorer, Process, ProcessEvent, Runnable};
use raddle_engine::{Ended, Limits, Setup, Stop};
use raddle_search::DepthFirst;
use raddle_testing::{Sample, SizeProbes, figures};

use super::saved::Wish;
use super::*;
use crate::address::ActorId;
use crate::mailboxes::Sender;
use crate::snapshot::{ANYBODY, Move, Snapshot};
use crate::step::{ActorState, Health};
use crate::view::{View, Viewed};
use crate::world::Kind;
use crate::{Actor, Address, Context, Faults, Mailboxes, Model, Monitor, Timer, Watch};

/// What a handler does.
#[derive(Clone, Copy, Debug)]
enum Action {
    Send(usize, u8),
    /// A value that the search decides, sent to a peer.
    Choose(usize, u8),
    Spawn(u8),
    Stop,
    Become,
    Timer(u8),
    Cancel,
    Observe,
}

/// By message, for each behaviour. Messages sent are smaller than the one handled, so that all ends.
type Program = Arc<Vec<Vec<Vec<Action>>>>;

#[derive(Clone)]
struct Node {
    program: Program,
    heard: Vec<u8>,
    peers: Vec<Address<u8>>,
    children: Vec<Address<u8>>,
    timer: Option<Timer>,
    watch: Watch<u8>,
    /// It asks for the time, always.
    timed: bool,
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.heard, &self.peers, &self.children, self.timer).hash(state);
    }
}

/// Another behaviour of the same actor.
#[derive(Clone, Hash)]
struct Other(Node);

impl Node {
    fn act(&mut self, row: usize, message: u8, cx: &mut Context<'_, u8>) -> bool {
        self.heard.push(message);
        if self.timed {
            self.heard.push(cx.now().as_millis() as u8);
        }
        let program = Arc::clone(&self.program);
        let mut becomes = false;
        for action in &program[row][message as usize] {
            let peer = |to: usize| {
                let all = self.peers.iter().chain(&self.children);
                all.clone().nth(to % all.count()).expect("there is one").clone()
            };
            match *action {
                Action::Send(to, what) => cx.send(&peer(to), what),
                Action::Choose(to, what) => {
                    let value = cx.choose(2) as u8;
                    cx.send(&peer(to), what.saturating_sub(value));
                }
                Action::Spawn(what) => {
                    let child = Self {
                        heard: Vec::new(),
                        children: Vec::new(),
                        timer: None,
                        ..self.clone()
                    };
                    let child = cx.spawn(child);
                    cx.send(&child, what);
                    self.children.push(child);
                }
                Action::Stop => cx.stop(),
                Action::Become => becomes = true,
                Action::Timer(what) => {
                    self.timer =
                        Some(cx.set_timer(Duration::from_millis(5 + u64::from(message)), what));
                }
                Action::Cancel => {
                    if let Some(timer) = self.timer {
                        cx.cancel(timer);
                    }
                }
                Action::Observe => cx.observe(&self.watch, message),
            }
        }
        becomes
    }
}

impl Actor for Node {
    type Message = u8;
    crate::snapshots!();

    fn handle(&mut self, message: u8, cx: &mut Context<'_, u8>) {
        if self.act(0, message, cx) {
            cx.become_(Other(self.clone()));
        }
    }

    fn restart(&self) -> Option<Self> {
        (self.heard.len() % 2 == 1).then(|| Self { heard: vec![9], timer: None, ..self.clone() })
    }

    fn start(&mut self, cx: &mut Context<'_, u8>) {
        if self.timed {
            let _ = cx.now();
        }
        if self.heard == [9] {
            cx.send(&self.peers[0], 0);
        }
    }
}

impl Actor for Other {
    type Message = u8;
    crate::snapshots!();

    fn handle(&mut self, message: u8, cx: &mut Context<'_, u8>) {
        if self.0.act(1, message, cx) {
            cx.become_(self.0.clone());
        }
    }
}

/// The last thing that it was told.
#[derive(Clone, Hash, Default)]
struct Told(u8);

impl Monitor for Told {
    type Event = u8;
    crate::snapshots!(monitor);

    fn observe(&mut self, event: u8) {
        self.0 = event;
    }
}

fn health(health: Health) -> &'static str {
    match health {
        Health::Up => "up",
        Health::Down => "down",
        Health::Gone => "gone",
    }
}

fn node(state: &dyn std::any::Any, pending: &[u32]) -> String {
    let (row, node) = match state.downcast_ref::<Node>() {
        Some(node) => (0, node),
        None => (1, &state.downcast_ref::<Other>().expect("one of the two").0),
    };
    let timer = node.timer.map(|timer| pending.iter().position(|&number| number == timer.0));
    format!("{row} {:?} {} {timer:?}", node.heard, node.children.len())
}

/// What makes states different.
#[derive(Clone, Copy)]
struct Matters {
    /// Not the order of messages.
    unordered: bool,
    /// How many timers have fired.
    counted: bool,
    /// The time.
    timed: bool,
}

fn actor_portrait(
    actor: &ActorState,
    numbers: &[u32],
    timers: &[String],
    count: impl Fn(u32) -> u32,
    time: impl Fn(Duration) -> Duration,
) -> String {
    let state = node(actor.actor.state(), numbers);
    let (made, fired) = (actor.made.actors, count(actor.fired));
    let (up, now) = (health(actor.health), time(actor.now));
    format!("{up} {state} {made} {fired} {now:?} {timers:?}")
}

/// A state as text, whatever it is a state of, without any of the hashes that states are told apart by.
fn portrait(view: &View<'_>, Matters { unordered, counted, timed }: Matters) -> String {
    // How many timers have fired matters where that is limited.
    let count = |fired: u32| if counted { fired } else { 0 };
    let time = |time: Duration| if timed { time } else { Duration::ZERO };
    let mut actors = BTreeMap::new();
    let mut lanes: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    let faults;
    match view.of {
        Viewed::World(world) => {
            let path = |actor: ActorId| world.actors[actor.index()].state.path;
            let sender = |from| match from {
                Sender::Actor(actor) if !unordered => path(actor),
                _ => 0,
            };
            let mut timers: BTreeMap<u64, Vec<(u32, String)>> = BTreeMap::new();
            let show = |link: &crate::world::Link, message: &crate::world::Message| {
                world.actors[link.to.index()].state.actor.show(&message.payload)
            };
            for link in world.links.iter().filter(|link| link.ready) {
                let texts = link.queue.iter().map(|message| show(link, message));
                match link.kind {
                    Kind::Messages => {
                        let lane = lanes.entry((sender(link.from), path(link.to))).or_default();
                        lane.extend(texts);
                    }
                    Kind::Timer(timer, after) => {
                        let own = timers.entry(path(link.to)).or_default();
                        own.extend(
                            texts.map(|text| (timer.0, format!("{text} {:?}", time(after)))),
                        );
                    }
                    Kind::Crash | Kind::SpentCrash | Kind::Restart => {}
                }
            }
            let armed = |link: &&crate::world::Link| link.kind.is_crash_to_come() && link.ready;
            faults = world.links.iter().filter(armed).count();
            for slot in &world.actors {
                let actor = &slot.state;
                let mut own = timers.remove(&actor.path).unwrap_or_default();
                own.sort();
                let numbers: Vec<_> = own.iter().map(|(number, _)| *number).collect();
                let texts: Vec<_> = own.into_iter().map(|(_, text)| text).collect();
                actors.insert(actor.path, actor_portrait(actor, &numbers, &texts, count, time));
            }
        }
        Viewed::Snapshot(snapshot) => {
            let path = |actor: u32| snapshot.actors[actor as usize].state.path;
            for lane in &snapshot.lanes {
                let from = if unordered || lane.from >= ANYBODY { 0 } else { path(lane.from) };
                let actor = &snapshot.actors[lane.to as usize].state.actor;
                let texts = lane.each().map(|(message, _)| actor.show(&message.payload));
                lanes.entry((from, path(lane.to))).or_default().extend(texts);
            }
            faults = snapshot.crashes as usize;
            for shared in &snapshot.actors {
                let actor = &shared.state;
                let numbers: Vec<_> = shared.timers.iter().map(|pending| pending.number).collect();
                let show = |pending: &crate::snapshot::Pending| {
                    let text = actor.actor.show(&pending.message.payload);
                    format!("{text} {:?}", time(pending.due))
                };
                let texts: Vec<_> = shared.timers.iter().map(show).collect();
                actors.insert(actor.path, actor_portrait(actor, &numbers, &texts, count, time));
            }
        }
    }
    if unordered {
        for lane in lanes.values_mut() {
            lane.sort();
        }
    }
    let (losses, duplicates, told) = view.budgets();
    format!("{actors:?} {lanes:?} {faults} {losses} {duplicates} {told:?}")
}

/// Splitmix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        crate::hash::mix(self.0) % n
    }
}

/// A random program, and how it is run.
struct Random {
    program: Program,
    nodes: usize,
    sent: Vec<(usize, u8)>,
    mailboxes: Mailboxes,
    faults: Faults,
    timed: bool,
}

impl Random {
    fn matters(&self) -> Matters {
        Matters {
            // A kind that is new here is to be drawn by `random`, too.
            unordered: match self.mailboxes {
                Mailboxes::Pairs | Mailboxes::Queue => false,
                Mailboxes::Unordered => true,
            },
            counted: self.faults.timers.is_some(),
            timed: self.timed,
        }
    }
}

/// Few actions, so that there are not too many executions.
fn random(seed: u64) -> Random {
    let mut rng = Rng(seed << 20);
    let nodes = 2 + rng.below(2) as usize;
    let action = |rng: &mut Rng, message: u64| {
        let (to, what) = (rng.below(3) as usize, rng.below(message) as u8);
        match rng.below(16) {
            0..=5 => Action::Send(to, what),
            6..=7 => Action::Choose(to, what),
            8 => Action::Spawn(what),
            9 => Action::Stop,
            10 => Action::Become,
            11..=12 => Action::Timer(what),
            13 => Action::Cancel,
            _ => Action::Observe,
        }
    };
    let row = |rng: &mut Rng| {
        let actions = |message: u64| {
            let n = if message == 0 { 0 } else { 1 + rng.below(2) };
            (0..n).map(|_| action(rng, message)).collect()
        };
        (0..4).map(actions).collect()
    };
    let program = Arc::new(vec![row(&mut rng), row(&mut rng)]);
    let sent = 1 + rng.below(3);
    let sent =
        (0..sent).map(|_| (rng.below(nodes as u64) as usize, 1 + rng.below(3) as u8)).collect();
    let mailboxes =
        [Mailboxes::Pairs, Mailboxes::Queue, Mailboxes::Unordered][rng.below(3) as usize];
    let mut faults = Faults::default();
    match rng.below(8) {
        0 => faults.losses = 1,
        1 => faults.duplicates = 1,
        2 => faults.crashes = 1,
        3 => (faults.losses, faults.duplicates) = (1, 1),
        4 => faults.timers = Some(1),
        _ => {}
    }
    let timed = rng.below(4) == 0;
    Random { program, nodes, sent, mailboxes, faults, timed }
}

type Set = Arc<Mutex<BTreeSet<String>>>;

/// A model that notes all its states and all its last ones.
fn noting(random: Random) -> (Model<()>, Set, Set) {
    let matters = random.matters();
    let Random { program, nodes, sent, mailboxes, faults, timed } = random;
    let (all, last) = (Set::default(), Set::default());
    let note = |set: &Set| {
        let noted = Arc::clone(set);
        move |(): &(), view: &View<'_>| {
            let portrait = portrait(view, matters);
            noted.lock().unwrap_or_else(PoisonError::into_inner).insert(portrait);
            true
        }
    };
    let model = Model::new(move |system| {
        let watch = system.monitor(Told::default());
        let member = |peers: Vec<Address<u8>>| Node {
            program: Arc::clone(&program),
            heard: Vec::new(),
            peers,
            children: Vec::new(),
            timer: None,
            watch,
            timed,
        };
        // The first knows no actor but itself: its address is that of the first actor.
        let mut known: Vec<Address<u8>> = Vec::new();
        for _ in 0..nodes {
            let peers = if known.is_empty() { vec![first()] } else { known.clone() };
            known.push(system.spawn(member(peers)));
        }
        for (to, what) in &sent {
            system.send(&known[*to], *what);
        }
    })
    .mailboxes(mailboxes)
    .faults(faults)
    .invariant("noted", note(&all))
    .finally("noted", note(&last));
    (model, all, last)
}

/// The address of the first actor that the test spawns.
fn first() -> Address<u8> {
    Address::serial(ActorId(0), crate::hash::mix(1 ^ crate::hash::mix(1)))
}

fn taken(set: &Set) -> BTreeSet<String> {
    std::mem::take(&mut set.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the program was small enough to be compared.
fn same_states(seed: u64, random: Random, most: u64) -> bool {
    let (model, all, last) = noting(random);
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let mut probes = SizeProbes::new(most);
    raddle_engine::explore(&mut probes, &setup, &mut |_| Stop::No, &mut |_| {}, &|| model.run())
        .expect("a search can run here");
    drop((taken(&all), taken(&last)));
    if probes.finds_too_many() {
        return false;
    }
    let explored = raddle_engine::explore(
        &mut DepthFirst::default(),
        &setup,
        &mut |_| Stop::No,
        &mut |_| {},
        &|| model.run(),
    )
    .expect("a search can run here");
    let (states, finals) = (taken(&all), taken(&last));
    if explored.ended == Ended::Executions {
        return false;
    }
    assert_eq!(explored.ended, Ended::Covered);
    assert_eq!(explored.kinds.keys().collect::<Vec<_>>(), [&"completed"], "{seed}");
    let breadth_first = |threads| States::breadth_first().threads(threads);
    let kinds = [breadth_first(1), breadth_first(2), breadth_first(3), States::depth_first()];
    for search in kinds {
        let searched = model.search(&search).expect("all can be copied");
        assert_eq!(searched.stopped, Stopped::Covered);
        let (found, ends) = (taken(&all), taken(&last));
        let missed: Vec<_> = states.difference(&found).collect();
        let invented: Vec<_> = found.difference(&states).collect();
        assert!(missed.is_empty() && invented.is_empty(), "{seed}: {missed:#?} {invented:#?}");
        assert_eq!(ends, finals, "{seed}");
        // As many fingerprints as states: none is shared, and no state has two.
        assert_eq!(searched.unique, found.len() as u64, "{seed}");
        assert_eq!(searched.finals, ends.len() as u64, "{seed}");
    }
    true
}

#[test]
fn states_are_those_of_all_executions() {
    let sample = Sample::new((200, 250), (3_000, 20_000));
    let seeds = (sample.from..).take(sample.programs as usize);
    let compared =
        seeds.filter(|&seed| same_states(seed, random(seed), sample.most)).count() as u64;
    let skipped = sample.programs - compared;
    figures("states", &[("compared", compared), ("skipped", skipped)]);
    if sample.default {
        assert_eq!(skipped, 55, "those with more than 250 executions");
    }
    assert!(compared >= skipped, "{compared}");
}

/// A crash may happen once, or not at all: whichever is decided, it is not asked again. The second one
/// of two may hit an actor that is down, has restarted or is gone.
#[test]
fn crashes_are_decided_once_each() {
    let two_crashes = |seed| {
        let faults = Faults { crashes: 2, ..Faults::default() };
        Random { sent: vec![(0, 1)], faults, ..random(seed) }
    };
    let programs = 40;
    let compared = (0..programs).filter(|&seed| same_states(seed, two_crashes(seed), 3_000));
    let compared = compared.count() as u64;
    assert!(compared * 2 >= programs, "{compared}");
}

/// A state that may be reached is one that the engine reaches along the same way.
#[test]
fn every_state_can_be_reached_by_the_engine() {
    let mut followed = 0;
    for seed in 0..60 {
        let (model, all, _) = noting(random(seed));
        model.search(&States::breadth_first().states(400)).expect("all can be copied");
        let seen: Vec<_> = taken(&all).into_iter().collect();
        let matters = random(seed).matters();
        let forbidden = seen[crate::hash::mix(seed) as usize % seen.len()].clone();
        let model =
            model.invariant("another", move |(), view| portrait(view, matters) != forbidden);
        for search in [States::breadth_first(), States::depth_first()] {
            let searched = model.search(&search.states(400)).expect("all can be copied");
            // Depth-first may come by it later.
            let Some(violation) = searched.violation else { continue };
            let failure = violation.failure.expect("it is an execution, too");
            assert_eq!(failure.outcome.kind(), "panicked", "{seed}");
            let steps = failure.trace.events.iter().filter(|event| !event.op.starts_with("choose"));
            assert_eq!(steps.count(), violation.steps.len(), "{seed}");
            followed += 1;
        }
    }
    assert!(followed >= 100, "{followed}");
}

/// Processes one after the other, each until it cannot go on or is delayed; with `causal`, the receiver of the latest
/// message first.
#[derive(Clone, Debug, Default, Hash)]
struct Queue {
    queue: Vec<Process>,
    causal: bool,
}

impl Queue {
    fn explorer(causal: bool) -> Explorer {
        Explorer::new("queue", Self { queue: Vec::new(), causal })
    }

    fn last(&mut self, process: Process) {
        self.finish(process);
        self.queue.push(process);
    }
}

impl DelayingExplorer for Queue {
    fn start(&mut self, process: Process, _: &About<'_>) {
        self.queue.push(process);
    }

    fn finish(&mut self, process: Process) {
        self.queue.retain(|&other| other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        match *event {
            ProcessEvent::Blocked { process } if !self.causal => self.last(process),
            ProcessEvent::Sent { to, .. } if self.causal => {
                self.finish(to);
                self.queue.insert(0, to);
            }
            _ => {}
        }
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        *self.queue.iter().find(|&&process| runnable.contains(process)).expect("all were started")
    }

    fn delay(&mut self, process: Process) {
        self.last(process);
    }
}

/// A process of the second implementation below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Test,
    Actor(u32),
    Crashes,
}

impl Who {
    fn of(state: &Snapshot, step: Move) -> Self {
        match step {
            Move::Lane(at) => Self::Actor(state.lanes[at as usize].to),
            Move::Timer(actor, _) | Move::Restart(actor) => Self::Actor(actor),
            Move::Crash => Self::Crashes,
        }
    }
}

/// What can be delivered in a state, each with its process and with what comes first there: messages by age, then timers,
/// then the restart.
fn deliverable(state: &Snapshot) -> Vec<(Who, (u32, u32), Move)> {
    let mut all = Vec::new();
    for (at, lane) in state.lanes.iter().enumerate() {
        all.push(((0, lane.age()), Move::Lane(at as u32)));
    }
    for (at, actor) in state.actors.iter().enumerate() {
        for nth in 0..actor.timers.len() as u32 {
            all.push(((1, nth), Move::Timer(at as u32, nth)));
        }
        if actor.is_down() {
            all.push(((2, 0), Move::Restart(at as u32)));
        }
    }
    if state.crashes > 0 {
        all.push(((0, 0), Move::Crash));
    }
    all.into_iter().map(|(age, step)| (Who::of(state, step), age, step)).collect()
}

/// All executions that need at most so many delays, one after the other, with nothing remembered. What the explorer
/// [`Queue`] does and what options cost is written out once more, so that this shares with the search nothing but
/// the steps themselves.
struct BruteForce {
    space: Space<()>,
    causal: bool,
    matters: Matters,
    delays: u32,
    seen: BTreeSet<String>,
    /// Stops when it has taken so many steps.
    steps: u64,
}

impl BruteForce {
    /// These cannot move any more.
    fn block(&self, queue: &mut Vec<Who>, could: impl Iterator<Item = Who>, state: &Snapshot) {
        let can: BTreeSet<_> = deliverable(state).into_iter().map(|(who, ..)| who).collect();
        for who in could.filter(|who| !can.contains(who)) {
            if !self.causal {
                queue.retain(|other| *other != who);
                queue.push(who);
            }
        }
    }

    fn send(&self, queue: &mut Vec<Who>, to: Who) {
        if self.causal {
            queue.retain(|other| *other != to);
            queue.insert(0, to);
        }
    }

    /// The queue in the first state.
    fn first(&self, state: &Snapshot) -> Vec<Who> {
        let actors = (0..state.actors.len() as u32).map(Who::Actor);
        let mut queue: Vec<_> = std::iter::once(Who::Test).chain(actors).collect();
        queue.extend((state.crashes > 0).then_some(Who::Crashes));
        let lanes = state.lanes.iter();
        let mut sent: Vec<_> =
            lanes.flat_map(|lane| lane.each().map(|(_, age)| (age, lane.to))).collect();
        sent.sort_unstable();
        for (_, to) in sent {
            self.send(&mut queue, Who::Actor(to));
        }
        let all = queue.clone();
        let all: BTreeSet<_> = all.into_iter().collect();
        self.block(&mut queue, all.into_iter(), state);
        queue
    }

    fn run(&mut self, state: &Snapshot, queue: &[Who], spent: u32) {
        self.seen.insert(portrait(&View::from(state), self.matters));
        let all = deliverable(state);
        let able: BTreeSet<_> = all.iter().map(|(who, ..)| *who).collect();
        for &(who, age, step) in &all {
            let first: Vec<_> = queue.iter().take_while(|other| **other != who).copied().collect();
            let given_up: Vec<_> = first.into_iter().filter(|who| able.contains(who)).collect();
            let older = all.iter().filter(|(other, before, _)| *other == who && *before < age);
            let price = spent + given_up.len() as u32 + older.count() as u32;
            let mut values = Vec::new();
            loop {
                if self.steps == 0 {
                    return;
                }
                self.steps -= 1;
                self.space.stepper.plan(&values);
                let next = space::attempt(&mut self.space.stepper, state, step);
                let next = next.expect("nothing panics");
                let price = price + values.iter().sum::<u32>();
                let of = self.space.stepper.asked().to_vec();
                if price <= self.delays {
                    let mut after: Vec<_> = queue.to_vec();
                    after.retain(|who| !given_up.contains(who));
                    after.extend(&given_up);
                    let new = state.actors.len() as u32..next.actors.len() as u32;
                    after.extend(new.clone().map(Who::Actor));
                    for did in std::mem::take(&mut self.space.stepper.did) {
                        if let crate::snapshot::Happened::Sent(to) = did {
                            self.send(&mut after, Who::Actor(to));
                        }
                    }
                    let known = self.space.first.actors.len() as u32;
                    // In the order of creation: crashes come after the actors that the test has spawned.
                    let number = |who: &Who| match *who {
                        Who::Test => (0, 0),
                        Who::Actor(actor) if actor < known => (1, actor),
                        Who::Crashes => (2, 0),
                        Who::Actor(actor) => (3, actor),
                    };
                    let mut could: Vec<_> = able.iter().copied().collect();
                    could.sort_by_key(number);
                    let could = could.into_iter().chain(new.map(Who::Actor));
                    self.block(&mut after, could, &next);
                    self.run(&next, &after, price);
                }
                if !following(&mut values, &of) {
                    break;
                }
            }
        }
    }
}

/// The states of all executions of a program that need at most so many delays; none if there are too many.
fn brute_force(
    model: &Model<()>,
    causal: bool,
    delays: u32,
    matters: Matters,
    most: u64,
) -> Option<Vec<String>> {
    let space = model.space().expect("all can be copied");
    let first = space.first();
    let (seen, steps) = (BTreeSet::new(), most);
    let mut all = BruteForce { space, causal, matters, delays, seen, steps };
    let queue = all.first(&first);
    all.run(&first, &queue, 0);
    (all.steps > 0).then(|| all.seen.into_iter().collect())
}

/// Whether the program was small enough to be compared.
fn same_strata(seed: u64, most: u64) -> bool {
    let causal = seed % 2 == 1;
    let matters = random(seed).matters();
    let (model, all, _) = noting(random(seed));
    let search = |states: &States| {
        let searched = model.search(states).expect("all can be copied");
        let mut visited: Vec<_> = taken(&all).into_iter().collect();
        visited.sort();
        (searched, visited)
    };
    let (plain, every) = search(&States::breadth_first().states(most / 10));
    if plain.stopped != Stopped::Covered {
        return false;
    }
    for delays in 0..4 {
        let Some(expected) = brute_force(&model, causal, delays, matters, most) else {
            return false;
        };
        let exact = || States::strata(Queue::explorer(causal)).exact().delays(delays);
        let kinds = [exact(), exact().threads(2), exact().threads(3), exact().increment(2)];
        for states in kinds {
            let (searched, visited) = search(&states);
            assert_eq!(visited, expected, "{seed}: {states} on {} threads", states.threads);
            let claimed = searched.guarantee.to_string();
            let within = match (searched.stopped, delays) {
                (Stopped::Covered, _) => "every state that can be reached, unless".to_owned(),
                (_, 0) => "every state that can be reached without a delay".to_owned(),
                (_, 1) => "every state that can be reached with at most 1 delay".to_owned(),
                (_, k) => format!("every state that can be reached with at most {k} delays"),
            };
            let is_claimed = claimed.starts_with(&within) || searched.unique < 2;
            assert!(is_claimed, "{seed}: {states}: {claimed}");
        }
    }
    // At its end a search has visited everything, whatever it remembers.
    let strata = || States::strata(Queue::explorer(causal));
    for states in [strata(), strata().threads(2), strata().increment(3)] {
        let (searched, visited) = search(&states);
        assert_eq!(searched.stopped, Stopped::Covered, "{seed}: {states}");
        assert_eq!(visited, every, "{seed}: {states}");
    }
    true
}

#[test]
fn strata_are_those_of_all_executions_with_so_many_delays() {
    let sample = Sample::new((200, 2_000), (5_000, 50_000));
    let seeds = (sample.from..).take(sample.programs as usize);
    let compared = seeds.filter(|&seed| same_strata(seed, sample.most)).count() as u64;
    let skipped = sample.programs - compared;
    figures("strata of states", &[("compared", compared), ("skipped", skipped)]);
    assert!(compared >= skipped, "{compared}");
}

/// Has a search saved after so many laps, and stops it then.
struct Stopping {
    laps: u64,
    saved: Option<SavedStates>,
}

impl Listener for Stopping {
    fn visited(&mut self, _: Visited) -> Wish {
        self.laps = self.laps.saturating_sub(1);
        if self.laps == 0 { Wish::Save } else { Wish::GoOn }
    }

    fn saved(&mut self, saved: Option<Box<SavedStates>>) -> Wish {
        self.saved = saved.map(|saved| *saved);
        if self.saved.is_some() { Wish::Stop } else { Wish::GoOn }
    }
}

/// Searches in parts: what the last part found, and how many parts there were.
fn in_parts(model: &Model<()>, states: &States, rng: &mut Rng) -> (Searched, u64) {
    let mut from: Option<SavedStates> = None;
    for parts in 1.. {
        let mut stopping = Stopping { laps: 1 + rng.below(8), saved: None };
        let searched = model.search_from(states, from.take(), &mut stopping);
        let searched = searched.expect("all can be copied");
        if searched.stopped != Stopped::Caller {
            return (searched, parts);
        }
        from = stopping.saved;
        assert!(from.is_some(), "{states}");
    }
    unreachable!()
}

/// Searches a program in parts and as a whole; how many parts there were.
fn same_in_parts(seed: u64, most: u64) -> u64 {
    let matters = random(seed).matters();
    let rare = move |(): &(), view: &View<'_>| {
        let mut hasher = std::hash::DefaultHasher::new();
        portrait(view, matters).hash(&mut hasher);
        hasher.finish() % 97 != seed % 7
    };
    let (plain, _, _) = noting(random(seed));
    let wrong = noting(random(seed)).0.invariant("not that", rare).sometimes("any", |(), _| true);
    let causal = seed % 2 == 1;
    let strata = || States::strata(Queue::explorer(causal));
    let kinds = [
        States::breadth_first(),
        States::breadth_first().depth(4),
        States::breadth_first().cache(20_000, WhenFull::Replace),
        States::depth_first(),
        strata(),
        strata().increment(2).depth(6),
        strata().delays(2),
        strata().exact().delays(3),
        strata().exact().increment(3),
        States::breadth_first().threads(2),
        strata().exact().threads(3),
        strata().threads(2),
    ];
    let mut rng = Rng(seed << 24);
    let mut parts = 0;
    for states in kinds {
        for model in [&plain, &wrong] {
            let states = States { most, saved: true, lap: 16, ..states.clone() };
            let whole = model.search(&states).expect("all can be copied");
            let (searched, n) = in_parts(model, &states, &mut rng);
            parts += n;
            assert_eq!(searched.stopped, whole.stopped, "{seed}: {states}");
            if states.threads > 1 && (whole.stopped != Stopped::Covered || !states.is_exact()) {
                continue;
            }
            let counts = |of: &Searched| (of.unique, of.finals, of.properties.clone());
            assert_eq!(counts(&searched), counts(&whole), "{seed}: {states}");
            if states.threads == 1 {
                let more = |of: &Searched| (of.states, of.transitions, of.depth, of.seen_bytes);
                assert_eq!(more(&searched), more(&whole), "{seed}: {states}");
                let wrong = |of: &Searched| of.violation.as_ref().map(|wrong| wrong.steps.clone());
                assert_eq!(wrong(&searched), wrong(&whole), "{seed}: {states}");
            }
        }
    }
    parts
}

impl States {
    /// Whether the same states are visited on any number of threads, at any time.
    fn is_exact(&self) -> bool {
        self.strata.as_ref().is_none_or(|strata| strata.exact)
    }
}

#[test]
fn states_are_searched_in_parts_as_if_nothing_had_happened() {
    let sample = Sample::new((15, 1_000), (3_000, 5_000));
    let seeds = (sample.from..).take(sample.programs as usize);
    let parts: u64 = seeds.map(|seed| same_in_parts(seed, sample.most)).sum();
    figures("saved-states", &[("compared", sample.programs), ("parts", parts)]);
    assert!(parts > 30 * sample.programs, "{parts}");
}

/// What does not fit is refused, whatever it is.
#[test]
fn a_search_that_was_saved_by_another_program_is_refused() {
    let (one, _, _) = noting(random(3));
    let (other, _, _) = noting(random(8));
    let states = States { saved: true, lap: 1, ..States::breadth_first() };
    let mut stopping = Stopping { laps: 3, saved: None };
    one.search_from(&states, None, &mut stopping).expect("all can be copied");
    let saved = stopping.saved.expect("it was saved");
    let telling = &mut Telling(&mut |_| true);
    let refused = other.search_from(&states, Some(saved.clone()), telling).map(drop);
    assert!(refused.is_err_and(|why| why.to_string().contains("begin anew")));
    let damage: [fn(&mut SavedStates); 5] = [
        |saved| saved.steps[0].after = 7,
        |saved| saved.steps[0].delivered.0 = 9,
        |saved| saved.entries[0].at = u32::MAX,
        |saved| saved.entries[0].fingerprint ^= 1,
        |saved| saved.done.reached.clear(),
    ];
    for damage in damage {
        let mut saved = saved.clone();
        damage(&mut saved);
        let refused = one.search_from(&states, Some(saved), telling).map(drop);
        assert!(refused.is_err_and(|why| why.to_string().contains("begin anew")));
    }
}
