//! A toy program and what drives a strategy through it, without the engine. For tests.
//!
//! A few tasks, each a list of ops, all created before the first step. [`State`] says what each
//! can do; [`execute`] asks a strategy, [`interleavings`] enumerates by plain recursion, and the
//! two must agree.

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use raddle_engine::observer::{Audience, Ended, Observers};
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{
    Answer, Choice, Cut, Decided, Event, Finished, Options, Pending, Plan, Point, Step, Strategy,
    Stuck, Taken,
};
use raddle_trace::{Carried, Counts, Gaps, LimitKind, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Touches what no other task touches.
    Step,
    Yield,
    /// Of this object.
    Read(u32),
    /// Of this object.
    Write(u32),
    /// Needs a value below this.
    Value(u32),
    /// There is one lock.
    Lock,
    Unlock,
}

#[derive(Clone, Debug)]
pub(crate) struct Toy {
    pub(crate) tasks: Vec<Vec<Op>>,
    /// By order of creation.
    pub(crate) ids: Vec<u32>,
    pub(crate) max_steps: usize,
}

/// Task, in order of creation, and the value it was given, or 0.
pub(crate) type Moves = Vec<(u32, u32)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Execution {
    pub(crate) moves: Moves,
    pub(crate) decisions: Vec<Taken>,
    pub(crate) cut: Option<Cut>,
}

impl Toy {
    pub(crate) fn new(tasks: Vec<Vec<Op>>) -> Self {
        let ids = (1..=tasks.len() as u32).collect();
        Self { tasks, ids, max_steps: usize::MAX }
    }

    /// What executions have in common whose moves have the same partial order: the moves of each
    /// task, and the order in which they hold the lock.
    pub(crate) fn trace(&self, moves: &Moves) -> (Vec<Moves>, Vec<u32>) {
        let mut lanes = vec![Moves::new(); self.tasks.len()];
        let mut holders = Vec::new();
        for &(task, value) in moves {
            let lane = &mut lanes[task as usize];
            if self.tasks[task as usize][lane.len()] == Op::Lock {
                holders.push(task);
            }
            lane.push((task, value));
        }
        (lanes, holders)
    }

    /// The same for executions whose moves have the same partial order, and no others: for each object, which reads
    /// are between which writes, and the moves of each task.
    pub(crate) fn partial_order(&self, moves: &Moves) -> Vec<Moves> {
        let mut lanes = vec![Moves::new(); self.tasks.len()];
        let mut objects = vec![Moves::new(); 3];
        let mut reads: Vec<Moves> = vec![Moves::new(); 3];
        for &(task, value) in moves {
            let lane = &mut lanes[task as usize];
            let at = lane.len() as u32;
            let (object, writes) = match self.tasks[task as usize][lane.len()] {
                Op::Lock | Op::Unlock => (Some(2), true),
                Op::Write(object) => (Some(object as usize), true),
                Op::Read(object) => (Some(object as usize), false),
                Op::Step | Op::Yield | Op::Value(_) => (None, false),
            };
            lane.push((task, value));
            let Some(object) = object else { continue };
            if writes {
                reads[object].sort_unstable();
                objects[object].append(&mut reads[object]);
                objects[object].push((task, at));
            } else {
                reads[object].push((task, at));
            }
        }
        for (order, reads) in objects.iter_mut().zip(&mut reads) {
            reads.sort_unstable();
            order.append(reads);
        }
        lanes.into_iter().chain(objects).collect()
    }

    /// Tasks of so many independent steps each.
    pub(crate) fn independent(steps: &[usize]) -> Self {
        Self::new(steps.iter().map(|&n| vec![Op::Step; n]).collect())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct State<'a> {
    toy: &'a Toy,
    at: Vec<usize>,
    holder: Option<usize>,
    last: Option<usize>,
    yielded: bool,
}

impl<'a> State<'a> {
    pub(crate) fn new(toy: &'a Toy) -> Self {
        Self { toy, at: vec![0; toy.tasks.len()], holder: None, last: None, yielded: false }
    }

    fn next_op(&self, task: usize) -> Option<Op> {
        self.toy.tasks[task].get(self.at[task]).copied()
    }

    pub(crate) fn is_finished(&self, task: usize) -> bool {
        self.next_op(task).is_none()
    }

    pub(crate) fn enabled(&self) -> Vec<usize> {
        let able = |&task: &usize| match self.next_op(task) {
            None => false,
            Some(Op::Lock) => self.holder.is_none(),
            Some(_) => true,
        };
        (0..self.at.len()).filter(able).collect()
    }

    fn running(&self) -> Option<usize> {
        self.last.filter(|last| !self.yielded && self.enabled().contains(last))
    }

    /// Takes a step; says how many values it may be given.
    pub(crate) fn step(&mut self, task: usize) -> u32 {
        let op = self.next_op(task).unwrap();
        self.at[task] += 1;
        self.last = Some(task);
        self.yielded = op == Op::Yield;
        match op {
            Op::Lock => self.holder = Some(task),
            Op::Unlock => assert_eq!(self.holder.take(), Some(task)),
            Op::Value(of) => return of,
            Op::Step | Op::Yield | Op::Read(_) | Op::Write(_) => {}
        }
        1
    }

    /// What an op would touch.
    fn touched(task: usize, op: Op) -> (ObjectId, Access) {
        match op {
            Op::Lock => (ObjectId(0), Access::Acquire),
            Op::Unlock => (ObjectId(0), Access::Release),
            Op::Step | Op::Value(_) => (ObjectId(1 + task as u32), Access::Write),
            Op::Read(object) => (ObjectId(101 + object), Access::Read),
            Op::Write(object) => (ObjectId(101 + object), Access::Write),
            Op::Yield => (ObjectId::NONE, Access::Yield),
        }
    }

    fn id(&self, task: usize) -> TaskId {
        TaskId(self.toy.ids[task])
    }

    /// Tells of the step that a task is about to take: the decision that led to it, and whether the strategy was asked
    /// for that one.
    fn tell(
        &self,
        strategy: &mut dyn Strategy,
        task: usize,
        (point, was_asked): (Option<u32>, bool),
        decided: Option<Taken>,
    ) -> Option<Cut> {
        let needs = strategy.needs();
        if !needs.steps {
            return None;
        }
        let id = self.id(task);
        if let Some(taken) = decided {
            strategy.step(&Event::Value { task: id, taken, during: true });
        }
        if was_asked && needs.skip_decided {
            return None;
        }
        let op = self.next_op(task).expect("it is about to move");
        strategy.step(&Event::Step(Step {
            task: id,
            footprint: &[Self::touched(task, op)],
            site: std::panic::Location::caller(),
            context: raddle_engine::context::Context::NONE,
            shared_resources: 0,
            learned: false,
            decided: Decided::default(),
            watch: raddle_engine::strategy::Watch::default(),
            last_resort: false,
            sent_by: None,
            point,
            replayed: false,
            immediate: false,
            partner: None,
            enabled_since: 0,
            timer: None,
            ended: None,
            waited_for: raddle_engine::strategy::Tasks::default(),
            pending: self,
        }))
    }
}

impl Pending for State<'_> {
    fn stuck(&self) -> Vec<Stuck> {
        Vec::new()
    }

    fn place(&self, task: TaskId) -> u32 {
        self.toy.ids.iter().position(|&other| other == task.0).map_or(u32::MAX, |at| at as u32)
    }

    #[track_caller]
    fn op(&self, id: TaskId) -> Option<raddle_engine::op::Op> {
        let task = self.toy.ids.iter().position(|&other| other == id.0)?;
        let (object, access) = Self::touched(task, self.next_op(task)?);
        let site = std::panic::Location::caller();
        Some(raddle_engine::op::Op { object, access, second: None, site })
    }

    fn blocked(&self) -> Vec<TaskId> {
        let enabled = self.enabled();
        (0..self.at.len())
            .filter(|task| self.next_op(*task).is_some() && !enabled.contains(task))
            .map(|task| self.id(task))
            .collect()
    }
}

/// Of points made by hand.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Pending for Nothing {
    fn stuck(&self) -> Vec<Stuck> {
        Vec::new()
    }

    fn place(&self, task: TaskId) -> u32 {
        task.0
    }

    fn op(&self, _: TaskId) -> Option<raddle_engine::op::Op> {
        None
    }

    fn blocked(&self) -> Vec<TaskId> {
        Vec::new()
    }
}

/// Answers one question: by the plan if it reaches so far, else by the strategy.
fn ask(
    strategy: &mut dyn Strategy,
    plan: &Plan,
    state: &State<'_>,
    options: Options<'_>,
    decisions: &mut Vec<Taken>,
    cut: &mut Option<Cut>,
) -> u32 {
    let point = Point {
        index: decisions.len() as u32,
        options,
        running: state.running().map(|task| state.id(task)),
        last: state.last.map_or(TaskId::ROOT, |task| state.id(task)),
        objects: 0,
        pending: state,
    };
    let option = match plan.prefix.get(decisions.len()) {
        Some(&planned) => {
            if strategy.needs().on_host && matches!(options, Options::Schedule(_)) {
                strategy.step(&Event::Passed { point: &point, option: planned });
            }
            planned
        }
        None if cut.is_some() => 0,
        None => match strategy.decide(&point) {
            Answer::Take(option) => option,
            Answer::Cut(why) => {
                *cut = Some(why);
                0
            }
        },
    };
    assert!(option < point.arity());
    decisions.push(Taken { option, of: point.arity() });
    option
}

/// Runs the next execution; none if the strategy has no more.
pub(crate) fn execute(
    strategy: &mut dyn Strategy,
    plan: &mut Plan,
    toy: &Toy,
) -> Option<Execution> {
    if !strategy.begin(plan) {
        return None;
    }
    let (execution, outcome) = execute_unended(strategy, plan, toy);
    let Execution { decisions, moves, cut } = &execution;
    let (steps, tasks) = (moves.len() as u64, toy.tasks.len() as u64);
    let (stuck, cut) = (&[][..], *cut);
    let mut at = vec![0; toy.tasks.len()];
    let yielded = moves.iter().any(|&(task, _)| {
        at[task as usize] += 1;
        toy.tasks[task as usize][at[task as usize] - 1] == Op::Yield
    });
    strategy.end(&Finished {
        outcome: &outcome,
        decisions,
        steps,
        tasks,
        stuck,
        cut,
        yielded,
        gaps: Gaps::default(),
    });
    plan.renew(decisions.iter().copied());
    Some(execution)
}

/// Runs an execution that was begun, and does not say that it ended.
pub(crate) fn execute_unended(
    strategy: &mut dyn Strategy,
    plan: &Plan,
    toy: &Toy,
) -> (Execution, Outcome) {
    let mut state = State::new(toy);
    let (mut moves, mut decisions) = (Moves::new(), Vec::new());
    let mut outcome = Outcome::Completed;
    let mut cut = None;
    if strategy.needs().steps && plan.steps_to_skip == 0 {
        for task in 0..toy.tasks.len() {
            strategy.step(&Event::Spawn { parent: TaskId::ROOT, child: state.id(task) });
        }
    }
    loop {
        let enabled = state.enabled();
        if enabled.is_empty() {
            break;
        }
        if moves.len() == toy.max_steps {
            outcome = Outcome::Limit { limit: LimitKind::Steps };
            break;
        }
        let mut chosen = 0;
        if enabled.len() > 1 {
            let choices: Vec<_> =
                enabled.iter().map(|&task| Choice { task: state.id(task) }).collect();
            let options = Options::Schedule(&choices);
            chosen = ask(strategy, plan, &state, options, &mut decisions, &mut cut) as usize;
        }
        let task = enabled[chosen];
        let before = state.clone();
        let point = (enabled.len() > 1).then(|| decisions.len() as u32 - 1);
        let of = state.step(task);
        let mut value = 0;
        if of > 1 {
            let options = Options::Value { task: state.id(task), of, during: true };
            value = ask(strategy, plan, &state, options, &mut decisions, &mut cut);
        }
        let decided = (of > 1).then_some(Taken { option: value, of });
        if moves.len() as u64 >= plan.steps_to_skip {
            let was_asked =
                cut.is_none() && point.is_some_and(|at| at as usize >= plan.prefix.len());
            cut = cut.or(before.tell(strategy, task, (point, was_asked), decided));
        }
        moves.push((task as u32, value));
    }
    (Execution { moves, decisions, cut }, outcome)
}

/// The executions of a strategy that ends.
pub(crate) fn all(strategy: &mut dyn Strategy, toy: &Toy) -> Vec<Moves> {
    let executions = first(strategy, toy, 1_000_000);
    assert!(executions.len() < 1_000_000, "the search does not end");
    executions
}

/// The next `n` executions, or as many as there are. The plan begins with rubbish.
pub(crate) fn first(strategy: &mut dyn Strategy, toy: &Toy, n: usize) -> Vec<Moves> {
    let mut plan = Plan { prefix: vec![77; 3], ..Plan::default() };
    let next = || execute(strategy, &mut plan, toy).map(|execution| execution.moves);
    std::iter::from_fn(next).take(n).collect()
}

/// Whether a strategy says so of its next execution, which is then begun.
pub(crate) fn is_memoryless(strategy: &mut dyn Strategy) -> bool {
    let mut plan = Plan::default();
    assert!(strategy.begin(&mut plan), "there is a next one");
    plan.memoryless
}

/// The next `n` executions, or as many as there are, of a search that is observed; if they are all, the
/// observers are told so.
pub(crate) fn observed(
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    toy: &Toy,
    n: usize,
) -> Vec<Execution> {
    let mut audience = Audience::new(strategy, observers);
    let mut plan = Plan { prefix: vec![77; 3], ..Plan::default() };
    let mut executions = Vec::new();
    while executions.len() < n {
        let Some(execution) = execute(&mut audience, &mut plan, toy) else {
            audience.pause(Counts::default(), &Carried::default, Some(&Ended::Covered));
            break;
        };
        executions.push(execution);
    }
    executions
}

/// The same cases in every run of the tests.
pub(crate) fn fixed_seed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() }
}

/// Every execution of at most this many preemptions, by recursion, sorted.
pub(crate) fn interleavings(toy: &Toy, preemptions: u32) -> Vec<Moves> {
    fn go(state: &State<'_>, spare: u32, moves: &mut Moves, found: &mut Vec<Moves>) {
        let enabled = state.enabled();
        if enabled.is_empty() {
            found.push(moves.clone());
        }
        for &task in &enabled {
            let preempts = state.running().is_some_and(|running| running != task);
            let Some(spare) = spare.checked_sub(u32::from(preempts)) else { continue };
            let mut next = state.clone();
            for value in 0..next.step(task) {
                moves.push((task as u32, value));
                go(&next, spare, moves, found);
                moves.pop();
            }
        }
    }
    let mut found = Vec::new();
    go(&State::new(toy), preemptions, &mut Moves::new(), &mut found);
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use raddle_engine::observer::{Observer, ObserverNeeds};

    use super::*;

    /// Wants to hear of all steps.
    struct Listener;

    impl Observer for Listener {
        fn needs(&self) -> ObserverNeeds {
            ObserverNeeds { steps: true, ..ObserverNeeds::default() }
        }
    }

    #[test]
    fn a_sampler_draws_the_same_if_it_is_told_of_what_it_has_chosen() {
        let toy = Toy::new(vec![
            vec![Op::Write(0), Op::Lock, Op::Value(3), Op::Unlock, Op::Write(1)],
            vec![Op::Read(0), Op::Yield, Op::Lock, Op::Write(1), Op::Unlock],
            vec![Op::Write(1), Op::Step, Op::Write(0), Op::Step],
        ]);
        for name in ["pct", "pos", "urw", "surw", "rff"] {
            let make = || crate::registry::build(name, 5).expect("it is known").strategy;
            let (mut listener, mut observed_one) = (Listener, make());
            let told = observed(&mut *observed_one, &mut [&mut listener], &toy, 300);
            let told: Vec<_> = told.into_iter().map(|execution| execution.moves).collect();
            assert_eq!(first(&mut *make(), &toy, 300), told, "{name}");
        }
    }

    // C(6, 3), and of these without preemption only the two that run a task to its end.
    #[test]
    fn the_recursion_counts_as_arithmetic_does() {
        let toy = Toy::independent(&[3, 3]);
        assert_eq!(interleavings(&toy, u32::MAX).len(), 20);
        assert_eq!(interleavings(&toy, 0).len(), 2);
    }
}
