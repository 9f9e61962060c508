//! Programs with loops that wait: every reduction against exhaustive search with the same setting, and what that
//! runs against a second implementation of the rule (`raddle_engine`, `rounds.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::rt;
use raddle_engine::strategy::{Cut, Event, Finished};
use raddle_engine::{Ended, Limits, Setup};
use raddle_search::rng::Rng;
use raddle_search::{DepthFirst, Reduction};
use raddle_testing::{Sample, figures};
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::time::Instant;
use raddle_threads::{hint, thread};
use raddle_trace::Settings;

use crate::{best_first, exhaustive, observed, reduced};

#[derive(Clone, Debug)]
enum Statement {
    Load(usize),
    Store(usize, usize),
    Add(usize),
    Yield,
    /// Loads while the word has this value, and yields between.
    While(usize, usize),
    WhileYield(usize, usize),
    /// Loads both while one has a value and the other has one.
    WhileBoth(usize, usize),
    /// Loads at most so often, while the word has this value.
    Times(usize, usize, usize),
    TimesYield(usize, usize, usize),
    /// The same with an effect in each round: a value is chosen, the clock is read, or a task is spawned that stores.
    TimesChoose(usize, usize, usize),
    TimesNow(usize, usize, usize),
    TimesSpawn(usize, usize, usize),
    /// Takes a lock that spins, of compare-exchanges.
    Spinlock(Vec<Statement>),
    /// Tries a lock until it has it.
    TryLock(Vec<Statement>),
    Await(usize, usize),
    AwaitBoth(usize, usize),
    IfOdd(Vec<Statement>),
}

#[derive(Clone)]
pub(crate) struct Program {
    tasks: Vec<Vec<Statement>>,
    rounds: u32,
}

impl Program {
    /// With which it is run.
    pub(crate) fn settings(&self) -> Settings {
        Settings { rounds: Some(self.rounds), ..Settings::default() }
    }

    /// The programs that lack one statement of a task.
    pub(crate) fn with_one_statement_less(&self) -> Vec<Self> {
        let places = self.tasks.iter().enumerate();
        let places = places.flat_map(|(task, body)| (0..body.len()).map(move |at| (task, at)));
        let without = |(task, at): (usize, usize)| {
            let mut smaller = self.clone();
            smaller.tasks[task].remove(at);
            smaller
        };
        places.map(without).collect()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for task in &self.tasks {
            writeln!(f, "{task:?}")?;
        }
        writeln!(f, "rounds {}", self.rounds)
    }
}

struct Generator {
    rng: Rng,
    kinds: Vec<u32>,
}

impl Generator {
    fn statement(&mut self, depth: u32) -> Statement {
        let kind = self.kinds[self.rng.below(self.kinds.len() as u32) as usize];
        let word = self.rng.below(2) as usize;
        let value = self.rng.below(2) as usize;
        let body = |this: &mut Self| {
            let n = if depth == 0 { 0 } else { this.rng.below(2) };
            (0..n).map(|_| this.statement(depth - 1)).collect()
        };
        match kind {
            0 => Statement::Load(word),
            1 => Statement::Store(word, value),
            2 => Statement::Add(word),
            3 => Statement::Yield,
            4 => Statement::While(word, value),
            5 => Statement::WhileYield(word, value),
            6 => Statement::WhileBoth(value, self.rng.below(2) as usize),
            7 => Statement::Times(word, value, 1 + self.rng.below(4) as usize),
            8 => Statement::TimesYield(word, value, 1 + self.rng.below(3) as usize),
            9 => Statement::Spinlock(body(self)),
            10 => Statement::TryLock(body(self)),
            11 => Statement::Await(word, value),
            12 => Statement::AwaitBoth(value, self.rng.below(2) as usize),
            13 => Statement::IfOdd(body(self)),
            14 => Statement::TimesChoose(word, value, 1 + self.rng.below(3) as usize),
            15 => Statement::TimesNow(word, value, 1 + self.rng.below(4) as usize),
            _ => Statement::TimesSpawn(word, value, 1 + self.rng.below(2) as usize),
        }
    }

    fn program(&mut self, families: &[&[u32]], least: u32) -> Program {
        self.kinds.clear();
        for _ in 0..2 {
            let family = families[self.rng.below(families.len() as u32) as usize];
            self.kinds.extend_from_slice(family);
        }
        self.kinds.extend([1, 2]);
        let n = least + self.rng.below(2);
        let mut task = || {
            let n = 1 + self.rng.below(3);
            (0..n).map(|_| self.statement(1)).collect()
        };
        let tasks = (0..n).map(|_| task()).collect();
        Program { tasks, rounds: 1 + self.rng.below(3) }
    }
}

/// Loops of all kinds.
const ALL: [&[u32]; 11] = [
    &[4, 1, 1],
    &[5, 1],
    &[6, 1, 2],
    &[7, 13, 0],
    &[8, 1],
    &[9, 0],
    &[10, 0, 3],
    &[11, 12, 1],
    &[14, 4],
    &[15, 4],
    &[16, 5],
];

/// Those that end by themselves.
const COUNTED: [&[u32]; 6] = [&[7, 0], &[8, 13], &[7, 3], &[14, 7], &[15, 7], &[16, 7]];

struct Shared {
    words: Arc<[AtomicUsize; 2]>,
    spinlock: AtomicUsize,
    lock: Mutex<usize>,
}

struct Runner<'a> {
    shared: &'a Shared,
    saw: Vec<usize>,
}

impl Runner<'_> {
    fn run(&mut self, statements: &[Statement]) {
        let Shared { words, spinlock, lock } = self.shared;
        let looks = |word: usize, value: usize, times: usize, effect: &mut dyn FnMut()| {
            let ended = (0..times).find(|_| {
                let ended = words[word].load(SeqCst) != value;
                if !ended {
                    effect();
                }
                ended
            });
            ended.unwrap_or(100)
        };
        for statement in statements {
            match statement {
                Statement::Load(word) => self.saw.push(words[*word].load(SeqCst)),
                Statement::Store(word, value) => words[*word].store(*value, SeqCst),
                Statement::Add(word) => self.saw.push(words[*word].fetch_add(1, SeqCst)),
                Statement::Yield => thread::yield_now(),
                Statement::While(word, value) => while words[*word].load(SeqCst) == *value {},
                Statement::WhileYield(word, value) => {
                    while words[*word].load(SeqCst) == *value {
                        hint::spin_loop();
                    }
                }
                Statement::WhileBoth(first, second) => {
                    while words[0].load(SeqCst) == *first && words[1].load(SeqCst) == *second {}
                }
                Statement::Times(word, value, times) => {
                    let ended = (0..*times).find(|_| words[*word].load(SeqCst) != *value);
                    self.saw.push(ended.unwrap_or(100));
                }
                Statement::TimesYield(word, value, times) => {
                    self.saw.push(looks(*word, *value, *times, &mut thread::yield_now));
                }
                Statement::TimesChoose(word, value, times) => {
                    let mut chosen = 0;
                    let ended =
                        looks(*word, *value, *times, &mut || chosen += rt::choose(2) as usize);
                    self.saw.extend([ended, chosen]);
                }
                // What the clock says is not a matter of the partial order.
                Statement::TimesNow(word, value, times) => {
                    self.saw.push(looks(*word, *value, *times, &mut || _ = Instant::now()));
                }
                Statement::TimesSpawn(word, value, times) => {
                    let mut children = Vec::new();
                    let ended = looks(*word, *value, *times, &mut || {
                        let words = Arc::clone(words);
                        children.push(thread::spawn(move || words[0].store(1, SeqCst)));
                    });
                    self.saw.push(ended);
                    for child in children {
                        child.join().expect("no panic");
                    }
                }
                Statement::Spinlock(body) => {
                    while spinlock.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
                    self.run(body);
                    spinlock.store(0, SeqCst);
                }
                Statement::TryLock(body) => {
                    let guard = loop {
                        if let Ok(guard) = lock.try_lock() {
                            break guard;
                        }
                        thread::yield_now();
                    };
                    self.saw.push(*guard);
                    self.run(body);
                    drop(guard);
                }
                Statement::Await(word, value) => {
                    hint::await_until(|| words[*word].load(SeqCst) != *value);
                }
                Statement::AwaitBoth(first, second) => hint::await_until(|| {
                    words[0].load(SeqCst) != *first || words[1].load(SeqCst) != *second
                }),
                Statement::IfOdd(body) => {
                    if self.saw.last().is_some_and(|saw| saw % 2 == 1) {
                        self.run(body);
                    }
                }
            }
        }
    }
}

pub(crate) fn execute(program: &Program) -> String {
    let words = || AtomicUsize::new(0);
    let shared = Arc::new(Shared {
        words: Arc::new([words(), words()]),
        spinlock: AtomicUsize::new(0),
        lock: Mutex::new(0),
    });
    let start = |statements: &[Statement], shared: &Shared| {
        let mut runner = Runner { shared, saw: Vec::new() };
        runner.run(statements);
        runner.saw
    };
    let spawn = |statements: &Vec<Statement>| {
        let (shared, statements) = (Arc::clone(&shared), statements.clone());
        thread::spawn(move || start(&statements, &shared))
    };
    let children: Vec<_> = program.tasks[1..].iter().map(spawn).collect();
    let mut saw = vec![start(&program.tasks[0], &shared)];
    saw.extend(children.into_iter().map(|child| child.join().expect("no panic")));
    let words = shared.words.each_ref().map(|word| word.load(SeqCst));
    format!("{saw:?} {words:?}")
}

/// The program of a seed, with more tasks than those that are compared with exhaustive search.
pub(crate) fn spinning_much(seed: u64) -> Program {
    Generator { rng: Rng::new(seed), kinds: Vec::new() }.program(&ALL, 3)
}

/// What a comparison came to: traces, or none if there are too many interleavings.
fn compare(program: &Program, most: u64) -> Result<Option<(u64, u64, u64)>, String> {
    let run = || execute(program);
    let settings = program.settings();
    let Some(all) = exhaustive(most, settings, &run) else { return Ok(None) };
    let mut ran = 0;
    for reduction in [Reduction::Source, Reduction::Classic, Reduction::Optimal] {
        let Some(saw) = reduced(reduction, 2 * all.executions + 10, settings, &run) else {
            return Err(format!("{reduction:?} ran more than all"));
        };
        let lost = all.traces.difference(&saw.traces).count();
        let extra = saw.traces.difference(&all.traces).count();
        if lost + extra > 0 {
            let of = all.traces.len();
            return Err(format!("{reduction:?} lost {lost} of {of}, {extra} extra"));
        }
        if all.results != saw.results {
            return Err(format!("{reduction:?}: {:?} instead of {:?}", saw.results, all.results));
        }
        ran = saw.executions;
    }
    best_first::compare_reduced(&all, None, settings, &run)?;
    Ok(Some((all.executions, all.traces.len() as u64, ran)))
}

#[test]
fn programs_that_spin_have_the_same_traces_under_every_reduction() {
    let sample = Sample::new((150, 1_000), (12_000, 3_000));
    let (mut compared, mut skipped, mut interleavings, mut traces, mut ran) = (0, 0, 0, 0, 0);
    let mut seed = 180_000 + sample.from;
    while compared < sample.programs {
        let program = Generator { rng: Rng::new(seed), kinds: Vec::new() }.program(&ALL, 2);
        match compare(&program, sample.most) {
            Ok(None) => skipped += 1,
            Ok(Some((all, distinct, executions))) => {
                compared += 1;
                interleavings += all;
                traces += distinct;
                ran += executions;
            }
            Err(how) => panic!("seed {seed}: {how}\n{program:?}"),
        }
        seed += 1;
    }
    assert!(skipped < 2 * compared, "{skipped} skipped, {compared} compared");
    figures(
        "spins",
        &[
            ("compared", compared),
            ("skipped", skipped),
            ("interleavings", interleavings),
            ("traces", traces),
            ("optimal", ran),
        ],
    );
}

/// One look, as the second implementation has it.
type Look = (&'static Location<'static>, ObjectId, u32);

/// Which task moved, or what was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Task(Name),
    Option(u32),
}

/// A task by how it was spawned: its parent's name, then a byte that says which of the parent's children it is, from one. Two
/// searches give the same task different numbers if they create tasks in different orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Name(u32);

impl Name {
    fn child(self, nth: u8) -> Self {
        assert!(nth > 0 && self.0 >> 24 == 0);
        Self(self.0 << 8 | u32::from(nth))
    }
}

/// Which tasks moved in each execution, and what was decided; and whether a task made more rounds than are allowed, found by comparing
/// all of them.
#[derive(Debug)]
struct Rule {
    most: usize,
    moved: Vec<Move>,
    /// The tasks that were spawned in this execution, and how many each has spawned.
    names: BTreeMap<TaskId, Name>,
    spawned: BTreeMap<TaskId, u8>,
    looks: BTreeMap<TaskId, Vec<Look>>,
    changes: BTreeMap<ObjectId, u32>,
    broken: bool,
    within: BTreeSet<Vec<Move>>,
    beyond: u64,
}

impl Rule {
    fn new(most: u32) -> Self {
        Self {
            most: most as usize,
            moved: Vec::new(),
            names: BTreeMap::new(),
            spawned: BTreeMap::new(),
            looks: BTreeMap::new(),
            changes: BTreeMap::new(),
            broken: false,
            within: BTreeSet::new(),
            beyond: 0,
        }
    }

    fn changes(&self, object: ObjectId) -> u32 {
        self.changes.get(&object).copied().unwrap_or(0)
    }

    /// Whether the looks of a task end with one round too many, of which all objects are as they were.
    fn is_broken_by(&self, looks: &[Look]) -> bool {
        (1..=looks.len() / (self.most + 1)).any(|length| {
            let rounds = &looks[looks.len() - length * (self.most + 1)..];
            let alike = rounds.chunks(length).all(|round| round == &rounds[..length]);
            let current = |look: &Look| self.changes(look.1) == look.2;
            alike && rounds[..length].iter().all(current)
        })
    }
}

impl Observer for Rule {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        let step = match event {
            Event::Step(step) => step,
            Event::Spawn { parent, child } => {
                self.looks.remove(parent);
                let nth = self.spawned.entry(*parent).or_default();
                *nth += 1;
                let name = self.names.get(parent).copied().unwrap_or_default().child(*nth);
                assert!(self.names.insert(*child, name).is_none());
                return;
            }
            Event::Value { task, taken, .. } => {
                self.looks.remove(task);
                self.moved.push(Move::Option(taken.option));
                return;
            }
            Event::Unasked { .. } | Event::Passed { .. } | Event::Actor(_) => return,
        };
        if !step.immediate {
            let name = self.names.get(&step.task).copied().unwrap_or_default();
            self.moved.push(Move::Task(name));
        }
        let (object, access) = step.footprint[0];
        if access.changes() {
            *self.changes.entry(object).or_default() += 1;
        }
        let version = self.changes(object);
        let looks = self.looks.entry(step.task).or_default();
        match access {
            Access::Read | Access::Yield if !step.immediate => {
                looks.push((step.site, object, version));
                let looks = looks.clone();
                self.broken |= self.is_broken_by(&looks);
            }
            _ => looks.clear(),
        }
    }

    fn end(&mut self, _: &Finished<'_>) {
        let moved = std::mem::take(&mut self.moved);
        if self.broken {
            self.beyond += 1;
        } else {
            self.within.insert(moved);
        }
        self.names.clear();
        self.spawned.clear();
        self.looks.clear();
        self.changes.clear();
        self.broken = false;
    }
}

/// The executions of a program without the rule that keep it, and with the rule: and how many break it.
fn both_ways(program: &Program, most: u64) -> Option<[(BTreeSet<Vec<Move>>, u64); 2]> {
    let run = |rounds: Option<u32>| {
        let mut rule = Rule::new(program.rounds);
        let settings = Settings { rounds, ..Settings::default() };
        // Without the rule no task is held back for what it does either.
        let limits = Limits { executions: most, idle: 1_000, ..Limits::default() };
        let setup = Setup { limits, keep_going: true, settings, ..Setup::default() };
        let body = || drop(execute(program));
        let explored = observed(&mut DepthFirst::default(), &mut [&mut rule], &setup, &body);
        let unfair = explored.assumptions.contains(&raddle_trace::Assumption::FairYields);
        (explored.ended == Ended::Covered && !unfair).then_some((rule.within, rule.beyond))
    };
    Some([run(None)?, run(Some(program.rounds))?])
}

#[test]
fn exactly_the_executions_within_the_rule_are_run() {
    let sample = Sample::new((150, 4_000), (3_000, 20_000));
    let (mut compared, mut skipped, mut within, mut beyond) = (0, 0, 0, 0);
    let mut seed = 190_000 + sample.from;
    while compared < sample.programs {
        let program = Generator { rng: Rng::new(seed), kinds: Vec::new() }.program(&COUNTED, 2);
        seed += 1;
        let Some([(free, without), (ruled, last_resorts)]) = both_ways(&program, sample.most)
        else {
            skipped += 1;
            continue;
        };
        let lost = free.difference(&ruled).count();
        let extra = ruled.difference(&free).count();
        assert!(lost + extra == 0, "seed {}: {lost} lost, {extra} extra\n{program:?}", seed - 1);
        // What goes on beyond the rule when nothing else can move is real, too.
        assert!(last_resorts <= without);
        compared += 1;
        within += ruled.len() as u64;
        beyond += without;
    }
    assert!(skipped < 3 * compared, "{skipped} skipped, {compared} compared");
    assert!(beyond > 0 && within > 0);
    figures(
        "spin-rule",
        &[("compared", compared), ("skipped", skipped), ("within", within), ("beyond", beyond)],
    );
}
