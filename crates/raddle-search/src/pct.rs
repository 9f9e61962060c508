//! Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010.
//!
//! Every task has a random priority, the highest that can move does, and at `d - 1` random steps
//! the task about to move is put behind all others. A bug of depth `d` among `n` tasks and `k`
//! steps shows with a chance of at least `1 / (n * k^(d-1))` in each execution.
//!
//! Where it differs from the paper:
//! - `k` is not given: it is the most decisions of any execution so far. The bound is promised of
//!   the executions that were drawn with the `k` it names, and not of those before.
//! - `k` counts decisions between tasks instead of steps. Where one task can move, to put it
//!   behind the others has no effect before the next decision, and can be done there.
//! - A task that yields goes behind all that no change point has lowered, and stays before those that one
//!   has; if one has lowered it, it goes behind all others. Without this a task that spins at the
//!   highest priority waits for ever for one that never moves. It stays before what change points lower,
//!   so that one which comes after the yield lowers the task still. The theorem says nothing of tasks that
//!   yield: no bound is promised once one has.
//! - Values are drawn with equal chances.
//!
//! A change point gives a priority that was drawn independently of its time: if each put its task behind
//! all others, bugs of depth 3 and more that need the task lowered first to be the last would never show.
//!
//! Misses: bugs deeper than `d`, more often than the bound says of those of depth `d`; and those with a
//! change point after the first `k` decisions.
//! Overreports: its bound, for bugs that need certain values too: the chance to draw those comes on top.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Checkpoint, Choice, Finished, Needs, Options, Plan, Point, Repeating, Resumable,
    Shortcut, Strategy, Unsupported,
};
use raddle_trace::{Covered, SampleBound};

use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "pct";

/// The lowest priority that a task can begin with.
const INITIAL: u64 = 1 << 63;

/// What yields give to tasks that no change point has lowered counts down from `INITIAL`, and stays above this.
const UNCHANGED: u64 = CHANGED + (1 << 32);

/// Change point `i` gives the priority `CHANGED + i`. What yields give to tasks that were lowered counts down
/// from here.
const CHANGED: u64 = 1 << 62;

/// Runs the task of highest priority, and lowers a priority at `depth - 1` random decisions.
#[derive(Clone, Debug)]
pub struct Pct {
    rng: Rng,
    depth: u32,
    /// By task id. Invariant: above `UNCHANGED` until a change point lowers the task, below after.
    priorities: Vec<u64>,
    /// Below every priority given so far in this execution to a task that no change point has lowered.
    lowest_unchanged: u64,
    /// Below every priority given so far in this execution.
    lowest: u64,
    /// Decisions at which the task about to move is lowered.
    change_points: Vec<u32>,
    /// The first of them that has not come.
    next_change: u32,
    /// Decisions between tasks in this execution.
    decisions: u32,
    /// Whether the task that was taken last has yielded, and so may not be the highest any more.
    lowered: bool,
    /// The most of them in any execution, or as given.
    longest: u32,
    /// Whether `longest` was given.
    fixed: bool,
    /// Executions that were drawn with this `longest`.
    since: u64,
    /// The most tasks in any execution.
    tasks: u64,
    /// Whether a task has yielded.
    yielded: bool,
    executions: u64,
}

impl Pct {
    /// Samples for bugs that need `depth` ordering constraints; 0 counts as 1.
    #[must_use]
    pub fn new(seed: u64, depth: u32) -> Self {
        Self {
            rng: Rng::new(seed),
            depth: depth.max(1),
            priorities: Vec::new(),
            lowest_unchanged: INITIAL,
            lowest: CHANGED,
            change_points: Vec::new(),
            next_change: u32::MAX,
            decisions: 0,
            lowered: false,
            longest: 1,
            fixed: false,
            since: 0,
            tasks: 0,
            yielded: false,
            executions: 0,
        }
    }

    /// The same with the length given, as in the paper: change points are among the first `steps`
    /// decisions, however many there are. 0 counts as 1.
    #[must_use]
    pub fn with_steps(seed: u64, depth: u32, steps: u32) -> Self {
        Self { longest: steps.max(1), fixed: true, ..Self::new(seed, depth) }
    }

    #[inline]
    fn priority(&mut self, task: TaskId) -> &mut u64 {
        if self.priorities.len() <= task.index() {
            self.draw_until(task);
        }
        &mut self.priorities[task.index()]
    }

    #[cold]
    fn draw_until(&mut self, task: TaskId) {
        while self.priorities.len() <= task.index() {
            self.priorities.push(self.rng.next() | INITIAL);
        }
    }

    /// The index of the option with the highest priority; of equals the first.
    #[inline]
    fn highest(&mut self, choices: &[Choice]) -> usize {
        let (mut best, mut best_priority) = (0, 0);
        for (index, choice) in choices.iter().enumerate() {
            let priority = *self.priority(choice.task);
            if priority > best_priority {
                (best, best_priority) = (index, priority);
            }
        }
        best
    }

    /// A change point has come, when the option `chosen` was about to be taken. Which one is to be taken now.
    #[cold]
    fn change_at(&mut self, choices: &[Choice], mut chosen: usize) -> usize {
        let now = self.decisions;
        if let Some(rank) = self.change_points.iter().position(|&at| at == now) {
            self.change(choices[chosen].task, rank);
            chosen = self.highest(choices);
        }
        self.next_change = self.change_after(now);
        chosen
    }

    /// The first change point after this decision.
    fn change_after(&self, decision: u32) -> u32 {
        let later = self.change_points.iter().filter(|at| **at > decision);
        later.min().copied().unwrap_or(u32::MAX)
    }

    /// The change point with this rank comes when `task` is about to move.
    fn change(&mut self, task: TaskId, rank: usize) {
        if *self.priority(task) < CHANGED {
            // It yielded after an earlier change point. Its rank would raise it.
            self.lower_behind_all(task);
        } else {
            *self.priority(task) = CHANGED + rank as u64;
        }
    }

    /// A task yields: it goes behind those that were lowered as often as it was, by a change point or not.
    fn lower_for_yield(&mut self, task: TaskId) {
        if *self.priority(task) < UNCHANGED {
            self.lower_behind_all(task);
        } else {
            self.lowest_unchanged -= 1;
            *self.priority(task) = self.lowest_unchanged;
        }
    }

    fn lower_behind_all(&mut self, task: TaskId) {
        self.lowest -= 1;
        *self.priority(task) = self.lowest;
    }
}

impl Strategy for Pct {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.priorities.clear();
        (self.lowest_unchanged, self.lowest) = (INITIAL, CHANGED);
        self.decisions = 0;
        self.change_points.clear();
        for _ in 1..self.depth {
            self.change_points.push(self.rng.below(self.longest));
        }
        self.next_change = self.change_points.iter().min().copied().unwrap_or(u32::MAX);
        plan.memoryless = self.fixed;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { of, .. } => return Answer::Take(self.rng.below(of)),
        };
        let mut chosen = self.highest(choices);
        if self.decisions == self.next_change {
            chosen = self.change_at(choices, chosen);
        }
        self.decisions = self.decisions.saturating_add(1);
        let task = choices[chosen].task;
        self.lowered = point.pending.yields(task);
        if self.lowered {
            self.lower_for_yield(task);
        }
        Answer::Take(chosen as u32)
    }

    fn shortcut(&mut self) -> Option<Shortcut<'_>> {
        Some(Shortcut::Repeats(self))
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.since += 1;
        if self.decisions > self.longest && !self.fixed {
            (self.longest, self.since) = (self.decisions, 0);
        }
        self.tasks = self.tasks.max(execution.tasks);
        self.yielded |= execution.yielded;
    }

    fn covered(&self) -> Covered {
        let bound = SampleBound::Pct {
            depth: self.depth,
            tasks: self.tasks,
            steps: u64::from(self.longest),
            executions: self.since,
        };
        let promised = self.since > 0 && !self.yielded;
        Covered::Sample { executions: self.executions, bound: promised.then_some(bound) }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Repeating for Pct {
    // Priorities stay what they are until a change point comes or a task yields.
    fn repeats(&self) -> u32 {
        if self.lowered { 0 } else { self.next_change.saturating_sub(self.decisions) }
    }

    fn repeated(&mut self, times: u32) {
        self.decisions = self.decisions.saturating_add(times);
    }
}

impl Resumable for Pct {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(self.depth.into());
        writer.number(self.rng.state());
        writer.number(self.fixed.into());
        writer.number(self.longest.into());
        writer.number(self.since);
        writer.number(self.tasks);
        writer.flag(self.yielded);
        writer.number(self.executions);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        if reader.small()? != self.depth {
            return Err(FOREIGN);
        }
        let rng = Rng::from_state(reader.number()?);
        let (fixed, longest) = (reader.flag()?, reader.small()?.max(1));
        if fixed != self.fixed || fixed && longest != self.longest {
            return Err(FOREIGN);
        }
        let (since, tasks) = (reader.number()?, reader.number()?);
        let (yielded, executions) = (reader.flag()?, reader.number()?);
        reader.finish()?;
        let new = Self::new(0, self.depth);
        *self = Self { rng, longest, fixed, since, tasks, yielded, executions, ..new };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::toy::{self, Moves, Op, Toy};

    fn preemptions(moves: &Moves, steps: &[usize]) -> usize {
        let mut left = steps.to_vec();
        let mut count = 0;
        for pair in moves.windows(2) {
            left[pair[0].0 as usize] -= 1;
            count += usize::from(pair[0].0 != pair[1].0 && left[pair[0].0 as usize] > 0);
        }
        count
    }

    // Depth 1 has no change points: a permutation of whole tasks, each with the same chance. The
    // deviation of 6,000 draws in 6 cells is 29.
    #[test]
    fn depth_one_runs_whole_tasks_in_every_order_equally_often() {
        let steps = [3, 2, 4];
        let mut counts = BTreeMap::new();
        for moves in toy::first(&mut Pct::new(1, 1), &Toy::independent(&steps), 6_000) {
            assert_eq!(preemptions(&moves, &steps), 0);
            *counts.entry(moves).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (n - 1_000).abs() < 180), "{counts:?}");
    }

    #[test]
    fn each_change_point_preempts_at_most_once() {
        let steps = [4, 4, 4];
        for depth in 1..6 {
            let seen: BTreeSet<_> =
                toy::first(&mut Pct::new(2, depth), &Toy::independent(&steps), 2_000)
                    .iter()
                    .map(|moves| preemptions(moves, &steps))
                    .collect();
            assert_eq!(seen, (0..depth as usize).collect(), "depth {depth}");
        }
    }

    // Depth 2, two tasks, four steps each: task 0 runs first and stops before its last step. With
    // n = 2 tasks and k = 7 decisions at most, at least 1 in 14 executions. The deviation of
    // 14,000 draws is 31, so a chance of 1 in 14 gives more than 850 in all but one of 10^6 seeds.
    #[test]
    fn a_bug_of_depth_two_shows_as_often_as_promised() {
        let mut pct = Pct::new(3, 2);
        let executions = toy::first(&mut pct, &Toy::independent(&[4, 4]), 14_000);
        let tasks = |moves: &Moves| moves.iter().map(|&(task, _)| task).collect::<Vec<_>>();
        let shows = |moves: &&Moves| tasks(moves) == [0, 0, 0, 1, 1, 1, 1, 0];
        let found = executions.iter().filter(shows).count();
        assert!(found > 850, "{found}");
        let Covered::Sample { executions: 14_000, bound: Some(bound) } = pct.covered() else {
            panic!("{:?}", pct.covered())
        };
        let SampleBound::Pct { depth: 2, tasks: 2, steps: 7, executions } = bound else {
            panic!("{bound:?}")
        };
        // Sooner or later an execution has all 7 decisions, and those before are not counted.
        assert!((13_000..14_000).contains(&executions), "{executions}");
    }

    #[test]
    fn a_task_that_yields_goes_behind_all_others() {
        let toy = Toy::new(vec![vec![Op::Yield; 50], vec![Op::Step; 3], vec![Op::Step; 3]]);
        for moves in toy::first(&mut Pct::new(4, 1), &toy, 200) {
            let first_yield = moves.iter().position(|&(task, _)| task == 0).unwrap();
            let last_step = moves.iter().rposition(|&(task, _)| task != 0).unwrap();
            let between = &moves[first_yield + 1..=last_step.max(first_yield)];
            assert!(between.iter().all(|&(task, _)| task != 0), "{moves:?}");
        }
    }

    // Two tasks that yield in turn: neither takes two steps while the other waits.
    #[test]
    fn tasks_that_yield_take_turns() {
        let toy = Toy::new(vec![vec![Op::Yield; 5], vec![Op::Yield; 5]]);
        for moves in toy::first(&mut Pct::new(5, 1), &toy, 50) {
            assert!(moves.windows(2).all(|pair| pair[0].0 != pair[1].0), "{moves:?}");
        }
    }

    // The bug of the test above, with the length given and learned: 1 in 14 or more of each.
    #[test]
    fn what_is_found_with_the_length_given_is_found_without() {
        let shows = |moves: &Moves| {
            let tasks: Vec<_> = moves.iter().map(|&(task, _)| task).collect();
            tasks == [0, 0, 0, 1, 1, 1, 1, 0]
        };
        let until = |pct: &mut Pct| {
            let toy = Toy::independent(&[4, 4]);
            (1..10_000).find(|_| shows(&toy::first(pct, &toy, 1)[0])).unwrap()
        };
        let given: u64 = (0..200).map(|seed| until(&mut Pct::with_steps(seed, 2, 7))).sum();
        let learned: u64 = (0..200).map(|seed| until(&mut Pct::new(seed, 2))).sum();
        // A mean of at most 14, with a deviation of 1 for 200 seeds.
        assert!(given < 200 * 18 && learned < 200 * 18, "{given} and {learned}");
    }

    #[test]
    fn with_the_length_given_all_executions_have_the_same_chances() {
        let toy = Toy::independent(&[4, 4]);
        let mut pct = Pct::with_steps(1, 2, 7);
        toy::first(&mut pct, &toy, 9);
        let bound = SampleBound::Pct { depth: 2, tasks: 2, steps: 7, executions: 9 };
        assert_eq!(pct.covered(), Covered::Sample { executions: 9, bound: Some(bound) });
        assert!(toy::is_memoryless(&mut pct) && !toy::is_memoryless(&mut Pct::new(1, 2)));
        let mut other = Pct::with_steps(5, 2, 7);
        other.restore(&pct.save().unwrap()).unwrap();
        assert_eq!(toy::first(&mut other, &toy, 9), toy::first(&mut pct, &toy, 9));
        Pct::new(1, 2).restore(&pct.save().unwrap()).unwrap_err();
    }

    #[test]
    fn nothing_is_promised_before_the_first_execution() {
        assert_eq!(Pct::new(1, 3).covered(), Covered::Sample { executions: 0, bound: None });
    }

    #[test]
    fn a_restored_sampler_goes_on_where_it_was() {
        let toy = Toy::new(vec![vec![Op::Step; 3], vec![Op::Yield, Op::Value(3)], vec![Op::Step]]);
        let mut pct = Pct::new(6, 3);
        toy::first(&mut pct, &toy, 9);
        let mut other = Pct::new(99, 3);
        other.restore(&pct.save().unwrap()).unwrap();
        assert_eq!(other.covered(), pct.covered());
        assert_eq!(toy::first(&mut other, &toy, 9), toy::first(&mut pct, &toy, 9));
        Pct::new(1, 2).restore(&pct.save().unwrap()).unwrap_err();
    }

    // Numbers of the sampler as it was before yields were told apart from change points: seeds that found
    // something find it again.
    #[test]
    fn without_yields_the_schedules_of_a_seed_are_what_they_were() {
        let toys = [
            Toy::independent(&[4, 4]),
            Toy::independent(&[3, 2, 4]),
            Toy::new(vec![
                vec![Op::Lock, Op::Write(0), Op::Unlock, Op::Value(3)],
                vec![Op::Read(0), Op::Lock, Op::Value(2), Op::Unlock],
                vec![Op::Step, Op::Write(0)],
            ]),
        ];
        let sums: Vec<u64> = (1..=6)
            .map(|depth| {
                let mut bytes = Vec::new();
                for (seed, toy) in (0..50).zip(toys.iter().cycle()) {
                    for mut pct in [Pct::new(seed, depth), Pct::with_steps(seed, depth, 5)] {
                        for (task, value) in toy::first(&mut pct, toy, 40).concat() {
                            bytes.extend([task as u8, value as u8]);
                        }
                    }
                }
                crate::state::checksum(&bytes)
            })
            .collect();
        assert_eq!(
            sums,
            [
                1_461_485_040_567_431_821,
                10_323_490_539_281_960_658,
                17_567_250_568_678_686_146,
                11_641_999_728_919_751_795,
                13_653_349_663_306_188_867,
                1_320_091_223_392_185_895,
            ]
        );
    }

    /// How many of 100,000 executions move the tasks in this order.
    fn shown(pct: &mut Pct, toy: &Toy, order: &[u32]) -> u32 {
        let mut plan = Plan::default();
        let mut shown = 0;
        for _ in 0..100_000 {
            let execution = toy::execute(pct, &mut plan, toy).expect("a sampler goes on");
            let tasks = execution.moves.iter().map(|&(task, _)| task);
            shown += u32::from(tasks.eq(order.iter().copied()));
        }
        shown
    }

    /// So many of 100,000 draws, or more, have something with this chance, but for one series in a million:
    /// 4.76 standard deviations below the mean.
    fn least(chance: f64) -> f64 {
        let mean = 100_000.0 * chance;
        mean - 4.76 * (mean * (1.0 - chance)).sqrt()
    }

    // One interleaving each that as many orderings of two steps tell from all others: its depth.
    #[test]
    fn an_execution_of_depth_d_shows_as_often_as_promised() {
        let cases: [(u32, &[usize], &[u32]); 5] = [
            (1, &[2, 2], &[0, 0, 1, 1]),
            (2, &[3, 3], &[0, 0, 1, 1, 1, 0]),
            (3, &[3, 3], &[0, 1, 1, 0, 0, 1]),
            (4, &[2, 2, 2], &[0, 1, 2, 2, 1, 0]),
            (4, &[2, 2, 2], &[0, 1, 2, 2, 0, 1]),
        ];
        for (depth, steps, order) in cases {
            let (toy, k) = (Toy::independent(steps), order.len() as u32 - 1);
            let mut pct = Pct::with_steps(7, depth, k);
            let found = shown(&mut pct, &toy, order);
            let tasks = steps.len() as u64;
            let bound = SampleBound::Pct { depth, tasks, steps: k.into(), executions: 100_000 };
            let promised = Covered::Sample { executions: 100_000, bound: Some(bound) };
            assert_eq!(pct.covered(), promised);
            let chance = 1.0 / f64::from(steps.len() as u32 * k.pow(depth - 1));
            assert!(f64::from(found) >= least(chance), "depth {depth}, {order:?}: {found}");
        }
    }

    /// The chance of an execution that one order of n tasks and one place for each change point leads to.
    fn reference(toy: &Toy, depth: u32, k: u32) -> f64 {
        let orders: u32 = (1..=toy.tasks.len() as u32).product();
        1.0 / f64::from(orders * k.pow(depth - 1))
    }

    // Two change points, after the first step of task 0 and of task 1. If each put its task behind all others,
    // task 1 could not go on before task 0.
    #[test]
    fn tasks_that_were_lowered_go_on_in_either_order() {
        let toy = Toy::independent(&[2, 2, 2]);
        for order in [[0, 1, 2, 2, 1, 0], [0, 1, 2, 2, 0, 1]] {
            let found = shown(&mut Pct::with_steps(7, 3, 5), &toy, &order);
            assert!(f64::from(found) >= least(reference(&toy, 3, 5)), "{order:?}: {found}");
        }
    }

    // The same after a yield of each task, which the tasks take in turn. The theorem promises nothing of these.
    #[test]
    fn after_yields_an_execution_shows_as_often_as_the_reference() {
        let two = Toy::new(vec![vec![Op::Yield, Op::Step, Op::Step]; 2]);
        let three = Toy::new(vec![vec![Op::Yield, Op::Step, Op::Step]; 3]);
        let cases: [(u32, &Toy, &[u32]); 4] = [
            (2, &two, &[0, 1, 0, 1, 1, 0]),
            (3, &two, &[1, 0, 1, 0, 1, 0]),
            (3, &three, &[0, 1, 2, 0, 1, 2, 2, 1, 0]),
            (3, &three, &[0, 1, 2, 0, 1, 2, 2, 0, 1]),
        ];
        for (depth, toy, order) in cases {
            let k = order.len() as u32 - 1;
            let mut pct = Pct::with_steps(7, depth, k);
            let found = shown(&mut pct, toy, order);
            let least = least(reference(toy, depth, k));
            assert!(f64::from(found) >= least, "depth {depth}, {order:?}: {found}");
            let covered = Covered::Sample { executions: 100_000, bound: None };
            assert_eq!(pct.covered(), covered, "nothing is promised after a yield");
        }
    }

    /// Asks only where an answer is not known to be the last one again, as the engine does.
    struct AskedSeldom {
        pct: Pct,
        options: Vec<Choice>,
        taken: u32,
        left: u32,
        untold: u32,
    }

    impl AskedSeldom {
        fn tell(&mut self) {
            self.pct.repeated(std::mem::take(&mut self.untold));
            self.left = 0;
        }
    }

    impl Strategy for AskedSeldom {
        fn begin(&mut self, plan: &mut Plan) -> bool {
            self.pct.begin(plan)
        }

        fn decide(&mut self, point: &Point<'_>) -> Answer {
            let Options::Schedule(choices) = point.options else {
                self.tell();
                return self.pct.decide(point);
            };
            let again = self.left > 0
                && self.options == choices
                && !point.pending.yields(choices[self.taken as usize].task);
            if again {
                (self.left, self.untold) = (self.left - 1, self.untold + 1);
                return Answer::Take(self.taken);
            }
            self.tell();
            let answer = self.pct.decide(point);
            if let Answer::Take(option) = answer {
                (self.taken, self.left) = (option, self.pct.repeats());
                self.options = choices.to_vec();
            }
            answer
        }

        fn end(&mut self, execution: &Finished<'_>) {
            self.tell();
            self.pct.end(execution);
        }

        fn covered(&self) -> Covered {
            self.pct.covered()
        }
    }

    #[test]
    fn where_it_repeats_itself_it_need_not_be_asked() {
        let steps = vec![Op::Step, Op::Yield, Op::Step, Op::Step, Op::Value(2), Op::Step];
        let locked = vec![Op::Lock, Op::Step, Op::Step, Op::Unlock, Op::Yield, Op::Step];
        let toy = Toy::new(vec![steps.clone(), locked.clone(), vec![Op::Step; 6], locked, steps]);
        for depth in 1..5 {
            let mut asked = Pct::new(depth.into(), depth);
            let (pct, options) = (asked.clone(), Vec::new());
            let mut repeating = AskedSeldom { pct, options, taken: 0, left: 0, untold: 0 };
            assert_eq!(toy::first(&mut repeating, &toy, 200), toy::first(&mut asked, &toy, 200));
            assert_eq!(repeating.covered(), asked.covered());
        }
        assert!(matches!(Pct::new(1, 1).shortcut(), Some(Shortcut::Repeats(_))));
    }

    #[test]
    fn a_yield_keeps_a_task_on_its_side_of_the_change_points() {
        let mut pct = Pct::new(1, 3);
        let [a, b, c] = [TaskId(1), TaskId(2), TaskId(3)];
        let order = |pct: &mut Pct| {
            let mut tasks = [a, b, c];
            tasks.sort_by_key(|&task| std::cmp::Reverse(*pct.priority(task)));
            tasks
        };
        pct.lower_for_yield(a);
        assert_eq!(order(&mut pct)[2], a, "behind those that did not yield");
        pct.change(b, 0);
        assert_eq!(order(&mut pct), [c, a, b], "a change point lowers more than a yield");
        pct.lower_for_yield(c);
        assert_eq!(order(&mut pct), [a, c, b]);
        pct.change(c, 1);
        assert_eq!(order(&mut pct), [a, c, b], "by its rank and not by its time");
        pct.lower_for_yield(c);
        assert_eq!(order(&mut pct), [a, b, c], "a lowered task that yields goes last of all");
        pct.lower_for_yield(b);
        assert_eq!(order(&mut pct), [a, c, b]);
        pct.change(c, 1);
        assert_eq!(order(&mut pct), [a, b, c], "a change point does not raise it");
    }
}
