//! What listens to a search and decides nothing: counts, coverage, progress, checkpoints.
//!
//! The engine holds a list of observers beside the one strategy. They are notified of what happens in each
//! execution and of its end, and may look at the whole search between two executions. They choose nothing
//! and cut nothing, so a search with them runs the executions that it runs without.
//!
//! # Why: A strategy that repeats a prefix need not hear of it again
//! A strategy that repeats a prefix need not hear of it again (`Plan::steps_to_skip`). An observer that asks for steps
//! hears of all of them; the strategy beside it still skips those.

use raddle_trace::{Carried, Counts, Covered, Divergence, Progress};

use crate::strategy::{
    Answer, Checkpoint, Cut, Event, Finished, Needs, Plan, Point, Remarks, Resumable, Stateful,
    Strategy, Unsupported,
};

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The strategy has nothing left.
    Covered,
    /// A failure was found.
    Failed,
    /// The budget of executions is used up.
    Executions,
    /// The strategy holds more than it may.
    Memory,
    /// The caller stopped it.
    Stopped,
    /// A replayed prefix did something else.
    Diverged(Divergence),
    /// The strategy could not go on: why, and what to do.
    Trouble(String),
}

/// What the engine must do for an observer. Each costs, so ask for the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that costs")]
pub struct ObserverNeeds {
    /// [`Observer::event`] is called with every [`Event`], also with those that the strategy
    /// [skips](Plan::steps_to_skip).
    pub steps: bool,
    /// [`Observer::decided`] is called.
    pub decisions: bool,
    /// As [`Needs::contexts`].
    pub contexts: u8,
    /// As [`Needs::labels`].
    pub labels: bool,
    /// As [`Needs::messages`].
    pub messages: bool,
}

/// Listens to a search.
///
/// `decided` and `event` run on a task's small stack: no recursion, no user code. What an observer looks up
/// there must depend only on its own state and on the arguments: with an execution in a process of its own
/// it is notified twice, in the fork and in the process that stays.
pub trait Observer: Send {
    /// What the engine must do for it. Asked once, before the first execution.
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds::default()
    }

    /// An execution begins with this plan.
    fn begin(&mut self, plan: &Plan) {
        let _ = plan;
    }

    /// The strategy was asked at a point and answered, if [`ObserverNeeds::decisions`].
    fn decided(&mut self, point: &Point<'_>, answer: Answer) {
        let _ = (point, answer);
    }

    /// Something happened, and the strategy answered with this cut, if [`ObserverNeeds::steps`].
    fn event(&mut self, event: &Event<'_>, cut: Option<Cut>) {
        let _ = (event, cut);
    }

    /// The execution ended.
    fn end(&mut self, execution: &Finished<'_>) {
        let _ = execution;
    }

    /// The next execution is about to begin.
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        let _ = search;
    }

    /// The search has ended.
    fn finish(&mut self, search: &mut Paused<'_, '_>, ended: &Ended) {
        let _ = (search, ended);
    }

    /// Adds what it knows to how far the search is.
    fn add_to(&self, progress: &mut Progress) {
        let _ = progress;
    }

    /// Itself, if what it knows is part of what a search needs to go on in another process.
    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        None
    }
}

/// The observers of a search.
pub type Observers<'a, 'b> = &'a mut [&'b mut (dyn Observer + 'b)];

/// A search between two executions, as an observer sees it.
pub struct Paused<'a, 'b> {
    counts: Counts,
    carried: &'a dyn Fn() -> Carried,
    strategy: &'a mut dyn Strategy,
    /// Those before the one that looks, and those after it.
    others: [Observers<'a, 'b>; 2],
}

impl std::fmt::Debug for Paused<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Paused").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Paused<'_, '_> {
    /// How much has been done.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the engine would bring to the next execution: with it and [`save`](Self::save) a search can go
    /// on in another process.
    #[must_use]
    pub fn carried(&self) -> Carried {
        (self.carried)()
    }

    /// How far the search is, by the strategy and the other observers.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut progress = self.strategy.progress();
        for other in self.others.iter().flat_map(|others| others.iter()) {
            other.add_to(&mut progress);
        }
        progress
    }

    /// The state of the strategy and of the other observers, for [`restore`].
    ///
    /// # Errors
    /// If the strategy cannot be saved.
    pub fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut parts = vec![self.strategy.save()?];
        for other in self.others.iter_mut().flat_map(|others| others.iter_mut()) {
            if let Some(resumable) = other.resumable() {
                parts.push(resumable.save()?);
            }
        }
        Ok(join(&parts))
    }
}

/// Has a strategy and its observers go on from a state that [`Paused::save`] gave of the same ones.
///
/// # Errors
/// If one of them cannot be restored, or the state is not theirs.
pub fn restore(
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    state: &Checkpoint,
) -> Result<(), Unsupported> {
    const FOREIGN: Unsupported =
        Unsupported("go on from this state: it is not that of this search");
    let mut parts = parted(state).ok_or(FOREIGN)?.into_iter();
    strategy.restore(&parts.next().ok_or(FOREIGN)?)?;
    for observer in observers {
        if let Some(resumable) = observer.resumable() {
            resumable.restore(&parts.next().ok_or(FOREIGN)?)?;
        }
    }
    if parts.next().is_none() { Ok(()) } else { Err(FOREIGN) }
}

/// Several states as one: each after its length.
fn join(parts: &[Checkpoint]) -> Checkpoint {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| 8 + part.0.len()).sum());
    for part in parts {
        bytes.extend_from_slice(&(part.0.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&part.0);
    }
    Checkpoint(bytes)
}

/// The states of which one was [made](join).
fn parted(state: &Checkpoint) -> Option<Vec<Checkpoint>> {
    let mut parts = Vec::new();
    let mut rest = &state.0[..];
    while !rest.is_empty() {
        let (length, more) = rest.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, more) = more.split_at_checked(length)?;
        parts.push(Checkpoint(part.to_vec()));
        rest = more;
    }
    Some(parts)
}

/// The strategy of a search with its observers, for whatever runs executions: the engine, and tests that have
/// none. The one place that notifies observers.
pub struct Audience<'a, 'b> {
    strategy: &'a mut dyn Strategy,
    observers: Observers<'a, 'b>,
    needs: Needs,
    /// Whether the strategy itself is to be notified of steps.
    strategy_steps: bool,
    /// What the observers need, by what one of them needs.
    steps: bool,
    decisions: bool,
    /// Of the running execution: steps so far, and how many of them the strategy skips.
    n_steps: u64,
    skipped: u64,
}

impl std::fmt::Debug for Audience<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audience").field("needs", &self.needs).finish_non_exhaustive()
    }
}

impl<'a, 'b> Audience<'a, 'b> {
    /// Before the first execution.
    pub fn new(strategy: &'a mut dyn Strategy, observers: Observers<'a, 'b>) -> Self {
        let mut needs = strategy.needs();
        let strategy_steps = needs.steps;
        let (mut steps, mut decisions) = (false, false);
        for wanted in observers.iter().map(|observer| observer.needs()) {
            steps |= wanted.steps;
            decisions |= wanted.decisions;
            needs.contexts = needs.contexts.max(wanted.contexts);
            needs.labels |= wanted.labels;
            needs.messages |= wanted.messages;
        }
        needs.steps |= steps;
        needs.skip_decided &= !steps;
        let (n_steps, skipped) = (0, 0);
        Self { strategy, observers, needs, strategy_steps, steps, decisions, n_steps, skipped }
    }

    /// Who is to be asked and notified while an execution runs: the strategy itself, if no observer wants to
    /// know of it.
    pub(crate) fn while_running(&mut self) -> &mut dyn Strategy {
        if self.steps || self.decisions { self } else { self.strategy }
    }

    /// The strategy, for an execution that observers do not hear of.
    pub(crate) fn strategy_alone(&mut self) -> &mut dyn Strategy {
        self.strategy
    }

    /// Whether there is an observer, besides the strategy.
    pub(crate) fn has_observers(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Calls each observer between two executions, or when the search has `ended`.
    pub fn pause(&mut self, counts: Counts, carried: &dyn Fn() -> Carried, ended: Option<&Ended>) {
        for at in 0..self.observers.len() {
            let (before, rest) = self.observers.split_at_mut(at);
            let Some((observer, after)) = rest.split_first_mut() else { return };
            let others = [before, after];
            let mut paused = Paused { counts, carried, strategy: &mut *self.strategy, others };
            match ended {
                None => observer.between(&mut paused),
                Some(ended) => observer.finish(&mut paused, ended),
            }
        }
    }

    /// How far the search is, by the strategy and all observers.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut progress = self.strategy.progress();
        self.observers.iter().for_each(|observer| observer.add_to(&mut progress));
        progress
    }

    /// Bytes that the strategy holds for what it knows of.
    pub(crate) fn frontier_bytes(&self) -> u64 {
        self.strategy.progress().frontier_bytes
    }
}

impl Strategy for Audience<'_, '_> {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if !self.strategy.begin(plan) {
            return false;
        }
        self.skipped = plan.steps_to_skip;
        if self.steps {
            plan.steps_to_skip = 0;
        }
        self.n_steps = plan.steps_to_skip;
        self.observers.iter_mut().for_each(|observer| observer.begin(plan));
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let answer = self.strategy.decide(point);
        if self.decisions {
            self.observers.iter_mut().for_each(|observer| observer.decided(point, answer));
        }
        answer
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if matches!(event, Event::Passed { .. } | Event::Actor(_)) {
            return self.strategy.step(event);
        }
        let is_step = matches!(event, Event::Step(_));
        self.n_steps += u64::from(is_step);
        let is_new = self.n_steps >= self.skipped + u64::from(is_step);
        let cut = if self.strategy_steps && is_new { self.strategy.step(event) } else { None };
        if self.steps {
            self.observers.iter_mut().for_each(|observer| observer.event(event, cut));
        }
        cut
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.strategy.end(execution);
        self.observers.iter_mut().for_each(|observer| observer.end(execution));
    }

    fn covered(&self) -> Covered {
        self.strategy.covered()
    }

    fn remarks(&self) -> Remarks {
        self.strategy.remarks()
    }

    fn stateful(&mut self) -> Option<&mut dyn Stateful> {
        self.strategy.stateful()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use raddle_trace::{Gaps, Outcome};

    use super::*;
    use crate::context::Context;
    use crate::op::{ObjectId, Op, TaskId};
    use crate::strategy::{Decided, Pending, Step, Stuck, Taken, Tasks};

    /// Skips two steps, cuts at the fourth, and can be saved.
    #[derive(Default)]
    struct Skipping {
        heard: Vec<u64>,
        state: u8,
    }

    /// The number of a step is its task's.
    fn number(event: &Event<'_>) -> u64 {
        match event {
            Event::Step(step) => step.task.0.into(),
            Event::Value { task, .. } => 100 + u64::from(task.0),
            Event::Unasked { task } => 300 + u64::from(task.0),
            Event::Spawn { child, .. } => 200 + u64::from(child.0),
            Event::Passed { option, .. } => 400 + u64::from(*option),
            Event::Actor(news) => 500 + news.identity,
        }
    }

    impl Strategy for Skipping {
        fn needs(&self) -> Needs {
            Needs { steps: true, ..Needs::default() }
        }

        fn begin(&mut self, plan: &mut Plan) -> bool {
            plan.steps_to_skip = 2;
            true
        }

        fn decide(&mut self, _: &Point<'_>) -> Answer {
            Answer::Take(0)
        }

        fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
            self.heard.push(number(event));
            (number(event) == 4).then_some(Cut::Redundant)
        }

        fn covered(&self) -> Covered {
            Covered::Everything
        }

        fn resumable(&mut self) -> Option<&mut dyn Resumable> {
            Some(self)
        }
    }

    impl Resumable for Skipping {
        fn save(&mut self) -> Result<Checkpoint, Unsupported> {
            Ok(Checkpoint(vec![self.state]))
        }

        fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
            let [state] = state.0[..] else { return Err(Unsupported("be restored")) };
            self.state = state;
            Ok(())
        }
    }

    /// Hears all, and saves the search when it is looked at.
    #[derive(Default)]
    struct Hearing {
        heard: Vec<(u64, Option<Cut>)>,
        ended: u64,
        saved: Option<Checkpoint>,
    }

    impl Observer for Hearing {
        fn needs(&self) -> ObserverNeeds {
            ObserverNeeds { steps: true, contexts: 3, ..ObserverNeeds::default() }
        }

        fn event(&mut self, event: &Event<'_>, cut: Option<Cut>) {
            self.heard.push((number(event), cut));
        }

        fn end(&mut self, _: &Finished<'_>) {
            self.ended += 1;
        }

        fn between(&mut self, search: &mut Paused<'_, '_>) {
            self.saved = search.save().ok();
        }
    }

    /// Has a number that is part of a checkpoint.
    #[derive(Default)]
    struct Numbered(Skipping);

    impl Observer for Numbered {
        fn add_to(&self, progress: &mut Progress) {
            progress.pending = self.0.state.into();
        }

        fn resumable(&mut self) -> Option<&mut dyn Resumable> {
            Some(&mut self.0)
        }
    }

    #[derive(Debug)]
    struct Nothing;

    impl Pending for Nothing {
        fn op(&self, _: TaskId) -> Option<Op> {
            None
        }

        fn blocked(&self) -> Vec<TaskId> {
            Vec::new()
        }

        fn stuck(&self) -> Vec<Stuck> {
            Vec::new()
        }

        fn place(&self, task: TaskId) -> u32 {
            task.0
        }
    }

    fn step(task: u32) -> Event<'static> {
        Event::Step(Step {
            task: TaskId(task),
            footprint: &[(ObjectId::NONE, crate::op::Access::Yield)],
            site: Location::caller(),
            context: Context::NONE,
            shared_resources: 0,
            learned: false,
            decided: Decided::default(),
            watch: crate::strategy::Watch::default(),
            last_resort: false,
            sent_by: None,
            point: None,
            replayed: false,
            immediate: false,
            partner: None,
            enabled_since: 0,
            timer: None,
            ended: None,
            waited_for: Tasks::default(),
            pending: &Nothing,
        })
    }

    fn value(task: u32) -> Event<'static> {
        let taken = Taken { option: 0, of: 2 };
        Event::Value { task: TaskId(task), taken, during: true }
    }

    #[test]
    fn an_observer_hears_of_what_the_strategy_skips() {
        let (mut strategy, mut hearing) = (Skipping::default(), Hearing::default());
        let mut observers: [&mut dyn Observer; 1] = [&mut hearing];
        let mut audience = Audience::new(&mut strategy, &mut observers);
        assert_eq!((audience.needs().steps, audience.needs().contexts), (true, 3));
        let mut plan = Plan::default();
        assert!(audience.begin(&mut plan));
        assert_eq!(plan.steps_to_skip, 0, "the engine notifies of all");
        let events = [step(1), value(2), step(2), value(3), step(3), step(4)];
        let cuts: Vec<_> = events.iter().map(|event| audience.step(event)).collect();
        assert_eq!(cuts, [None, None, None, None, None, Some(Cut::Redundant)]);
        audience.end(&Finished {
            outcome: &Outcome::Completed,
            decisions: &[],
            steps: 4,
            tasks: 4,
            stuck: &[],
            cut: Some(Cut::Redundant),
            yielded: false,
            gaps: Gaps::default(),
        });
        assert_eq!(strategy.heard, [103, 3, 4], "a value is of the step that comes next");
        let heard: Vec<_> = hearing.heard.iter().map(|heard| heard.0).collect();
        assert_eq!(heard, [1, 102, 2, 103, 3, 4]);
        assert_eq!((hearing.heard[5].1, hearing.ended), (Some(Cut::Redundant), 1));
    }

    #[test]
    fn without_a_need_the_strategy_is_asked_itself() {
        let (mut strategy, mut numbered) = (Skipping::default(), Numbered::default());
        let itself = (&raw const strategy).cast::<()>();
        let mut observers: [&mut dyn Observer; 1] = [&mut numbered];
        let mut audience = Audience::new(&mut strategy, &mut observers);
        let asked: *const dyn Strategy = audience.while_running();
        assert!(std::ptr::eq(asked.cast::<()>(), itself));
    }

    #[test]
    fn a_search_is_saved_with_its_observers_and_refused_without() {
        let mut strategy = Skipping { state: 7, ..Skipping::default() };
        let mut numbered = Numbered(Skipping { state: 9, ..Skipping::default() });
        let mut hearing = Hearing::default();
        let mut observers: [&mut dyn Observer; 2] = [&mut hearing, &mut numbered];
        let mut audience = Audience::new(&mut strategy, &mut observers);
        audience.pause(Counts::default(), &Carried::default, None);
        assert_eq!(audience.progress().pending, 9);
        let saved = hearing.saved.expect("it can be saved");
        let (mut again, mut also) = (Skipping::default(), Numbered::default());
        restore(&mut again, &mut [&mut also], &saved).expect("it is theirs");
        assert_eq!((again.state, also.0.state), (7, 9));
        assert!(restore(&mut again, &mut [], &saved).is_err(), "something is left");
        let mut other = Numbered::default();
        assert!(restore(&mut again, &mut [&mut also, &mut other], &saved).is_err());
        let cut = Checkpoint(saved.0[..saved.0.len() - 1].to_vec());
        assert!(restore(&mut again, &mut [&mut also], &cut).is_err());
    }
}
