//! Finds the races of an execution, and for each the sequence that reverses it.
//!
//! A race is two dependent steps, not ordered otherwise, of which the later could have come first
//! (`raddle_engine::happens` says which pairs these are). Every reduction asks the same: for each race,
//! from the state before its first step, which tasks can begin a sequence that runs the second step
//! before the first? Those tasks are the *initials* of the sequence (Abdulla, Aronis, Jonsson, Sagonas,
//! JACM 2017). What a reduction opens there differs; finding it does not, so it stands here, for the
//! depth-first reductions, for best-first search and for searches with a filter.
//!
//! The differences are parameters:
//! - from which event on races are new ([`Ops::from`]), and whether known ones are visited again
//!   ([`RaceFinder::revisiting`]): the optimal reduction opens whole sequences, which go on as the
//!   execution does, so the same race asks for another sequence in the next execution. The others visit again only the races of steps
//!   that may depend on more where they come earlier (`docs/decisions/steps-that-vary.md`);
//! - a filter, which leaves out races that are not worth an execution (`hapset/filter.rs`);
//! - what the second step would have done where it comes earlier ([`Reversal::find`]).
//!
//! # Why: Reduction: every race, at every execution
//! To open only the races of new steps loses traces under the optimal reduction: what a sleeping task covers is known
//! only of whole executions. Races of the repeated part are remembered and their sequences found anew, unless all that
//! is new depends on them.
//!
//! # Why: DPOR and timeouts
//! A timeout is a step of a task of its own. It ends the op it belongs to, and that op ends it, so one of the two is in
//! no execution with the other: no race between events shows that the other could have come. So the engine says of each
//! such step what it made impossible (`Step::timer`, `Step::ended`) and since when (`Timer::disabled_since`), and the
//! finder of races takes that for an op that came later (`races::Instead`). To forget the second kind, a wake-up that
//! could have come instead of its timeout, lost 6 of 173 traces of two waits that may time out and wake for no reason:
//! those with the lock taken and given back between the timeout's turn and the wake-up.

use raddle_engine::dependence::{Footprint, widest};
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{Step, Stuck, Tasks, Timer};

/// The later op of a race.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Later {
    /// Its step, if it is one that can be chosen.
    pub(crate) step: Option<Footprint>,
    /// The event, or the one that came instead.
    pub(crate) index: usize,
    /// Whether it ran.
    pub(crate) ran: bool,
    /// Its task, if it could have come [instead](Instead) of the event.
    pub(crate) instead: Option<TaskId>,
}

/// What could have come instead of a step and then never ran, because the step ended it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instead {
    /// The timer of the step's op.
    Timer(Timer),
    /// Of a timer's step: the op of its owner, with what that would have touched.
    Op { task: TaskId, footprint: [(ObjectId, Access); 2] },
    /// The same where the timer fired because nothing could move, the op neither: it could have come only earlier.
    Waiting { task: TaskId, footprint: [(ObjectId, Access); 2] },
}

impl Instead {
    pub(crate) fn of(step: &Step<'_>) -> Option<Self> {
        let op = || {
            let (task, footprint) = (step.partner?, step.ended?);
            Some(if step.last_resort {
                Self::Waiting { task, footprint }
            } else {
                Self::Op { task, footprint }
            })
        };
        step.timer.map(Self::Timer).or_else(op)
    }
}

/// What is looked at when an execution has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ops<'a> {
    /// The first event whose races are new.
    pub(crate) from: usize,
    /// What could have come instead of these events. Also of those before `from`: it never runs, so it may follow any
    /// event that is new and does not depend on what made it impossible.
    pub(crate) instead: &'a [(u32, Instead)],
    /// Ops that could not run at the end: they race as if they had run last.
    pub(crate) stuck: &'a [Stuck],
}

/// Leaves out races that are not worth an execution.
pub(crate) trait RaceFilter {
    /// Changes the first events of the races of an op.
    fn keep_new(&mut self, history: &History, later: &Later, races: &mut Vec<u32>);
    /// The same for an op that did not run.
    fn keep_new_of_stuck(&mut self, stuck: &Stuck, races: &mut Vec<u32>);
}

/// Finds races. Holds room to work in and, if known races are visited again, those.
#[derive(Debug, Default)]
pub(crate) struct RaceFinder {
    raced: Vec<u32>,
    /// The races of the path's events so far: the first event, and the later op.
    known: Option<Vec<(u32, Later)>>,
    seen: Vec<u32>,
}

impl RaceFinder {
    /// One that also visits the races of the repeated part again.
    pub(crate) fn revisiting() -> Self {
        Self { known: Some(Vec::new()), ..Self::default() }
    }

    /// An execution begins that repeats the first `kept` events of the last one.
    pub(crate) fn begin(&mut self, kept: usize) {
        if let Some(known) = &mut self.known {
            // A race whose later op is not in the repeated part is found anew by `find`, if that op comes again.
            known.retain(|(_, later)| later.index < kept);
        }
    }

    /// The races that will be visited again, for a saved state.
    pub(crate) fn known(&self) -> &[(u32, Later)] {
        self.known.as_deref().unwrap_or_default()
    }

    /// Takes back what [`known`](Self::known) gave.
    pub(crate) fn restore(&mut self, known: Vec<(u32, Later)>) {
        if let Some(own) = &mut self.known {
            *own = known;
        }
    }

    /// Calls `found` for every race of `ops`, with the index of its first event and its later op. The
    /// history has then been asked about that op ([`History::order_of`]), as [`Reversal::find`] needs it.
    pub(crate) fn find(
        &mut self,
        history: &mut History,
        ops: Ops<'_>,
        mut filter: Option<&mut dyn RaceFilter>,
        mut found: impl FnMut(&History, usize, &Later),
    ) {
        // A known race of an op that may depend on more where it comes earlier may be reversed by another sequence now: one with a new
        // event, which would be before it there. A trace of 13 was lost of a `try_recv` beside a `send` and the last sender's end.
        let again = self.known.is_none() && filter.is_none() && history.has_varying_steps();
        for index in if again { 0 } else { ops.from }..history.len() {
            let known = index < ops.from && !history.event(index).footprint.may_depend_on_more();
            if known || !history.may_race(index) {
                continue;
            }
            history.races(index, &mut self.raced);
            let later = Later { step: step_of(history, index), index, ran: true, instead: None };
            self.found(history, &later, reborrow(&mut filter), &mut found);
        }
        for &(index, instead) in ops.instead {
            let index = index as usize;
            if index < ops.from && self.known.is_some() {
                // `find_again` has visited it.
                continue;
            }
            let step = match instead {
                Instead::Timer(timer) => {
                    let owner = history.event(index).footprint.task;
                    history.races_of_timer(index, &timer, &mut self.raced);
                    Footprint::new(timer.task, &timer.footprint, Some(owner))
                }
                Instead::Op { task, footprint } => {
                    history.races_of_ended(index, (task, &footprint), &mut self.raced);
                    Footprint::new(task, &footprint, None)
                }
                Instead::Waiting { task, footprint } => {
                    history.races_of_waiting(index, (task, &footprint), &mut self.raced);
                    Footprint::new(task, &footprint, None)
                }
            };
            let later = Later { step: Some(step), index, ran: false, instead: Some(step.task) };
            self.found(history, &later, reborrow(&mut filter), &mut found);
        }
        // They are not remembered in `known`: an op that is stuck is one of the end of this execution, and the next one ends
        // elsewhere.
        for stuck in ops.stuck {
            history.races_of_stuck(stuck, &mut self.raced);
            let step = Footprint::new(stuck.task, &stuck.footprint, None);
            self.found_stuck(history, stuck, step, reborrow(&mut filter), &mut found);
            if let Some(timer) = stuck.timer {
                history.races_of_stuck_timer(stuck, &timer, &mut self.raced);
                let step = Footprint::new(timer.task, &timer.footprint, Some(stuck.task));
                self.found_stuck(history, stuck, step, reborrow(&mut filter), &mut found);
            }
        }
    }

    /// Calls `found` for the races of the repeated part whose sequences may be other ones now. `kept`:
    /// events that are those of the execution before. `other_value`: the first new decision was a value,
    /// so that the last repeated step is new to all sequences that have it.
    pub(crate) fn find_again(
        &mut self,
        history: &mut History,
        kept: usize,
        other_value: bool,
        mut found: impl FnMut(&History, usize, &Later),
    ) {
        let Some(known) = self.known.as_ref().filter(|known| !known.is_empty()) else { return };
        history.seen_since(kept, &mut self.seen);
        if other_value {
            self.seen.clear();
        }
        let mut asked = None;
        for (first, later) in known {
            let first = *first as usize;
            let event = history.event(first);
            let seen = self.seen.get(event.footprint.task.index());
            // If all new events depend on the first step of the race, none of them is in a sequence that
            // reverses it: the sequence is the one that was opened before.
            if seen.is_some_and(|&seen| seen >= event.nth) {
                continue;
            }
            // The races of one op are next to each other.
            if asked != Some((later.index, later.instead)) {
                history.order_of(later.index, later.instead);
                asked = Some((later.index, later.instead));
            }
            found(history, first, later);
        }
    }

    fn found(
        &mut self,
        history: &mut History,
        later: &Later,
        filter: Option<&mut dyn RaceFilter>,
        found: &mut impl FnMut(&History, usize, &Later),
    ) {
        if let Some(filter) = filter {
            filter.keep_new(history, later, &mut self.raced);
            // The filter may add events, and asks the history about other ops.
            history.order_of(later.index, later.instead);
        }
        for &first in &self.raced {
            found(history, first as usize, later);
        }
        if let Some(known) = &mut self.known {
            known.extend(self.raced.iter().map(|&first| (first, *later)));
        }
    }

    fn found_stuck(
        &mut self,
        history: &History,
        stuck: &Stuck,
        step: Footprint,
        filter: Option<&mut dyn RaceFilter>,
        found: &mut impl FnMut(&History, usize, &Later),
    ) {
        if let Some(filter) = filter {
            filter.keep_new_of_stuck(stuck, &mut self.raced);
        }
        let later = Later { step: Some(step), index: history.len(), ran: false, instead: None };
        for &first in &self.raced {
            found(history, first as usize, &later);
        }
    }
}

/// The filter for one more call.
fn reborrow<'a>(filter: &'a mut Option<&mut dyn RaceFilter>) -> Option<&'a mut dyn RaceFilter> {
    match filter {
        Some(filter) => Some(&mut **filter),
        None => None,
    }
}

/// The step of an event as the later one of a race; none if it was no scheduling point.
fn step_of(history: &History, index: usize) -> Option<Footprint> {
    let event = history.event(index);
    if event.immediate {
        return None;
    }
    let mut step = event.footprint;
    if let Access::Observe(_) = step.touched[0].1 {
        // If `is_finished` had run earlier, its target may have been joining other tasks than it was
        // here, and which is not known: assume all.
        step.waited_for = Tasks::ALL;
    }
    Some(step)
}

/// The sequence that reverses a race, and room to find it in.
#[derive(Debug, Default)]
pub(crate) struct Reversal {
    /// The events after the first step of the race that do not depend on it, in order.
    pub(crate) then: Vec<usize>,
    /// The tasks that can begin the sequence: their first steps in it depend on nothing before them
    /// there.
    pub(crate) initials: Vec<TaskId>,
    firsts: Vec<u32>,
}

impl Reversal {
    /// Finds the sequence that reverses the race of the event at `first` with `later`: the events after
    /// `first` that do not depend on it, then the later op. `access`: what the later op would do to its
    /// object after those events, if more is known than that it may be the [`widest`]. `false` if there is
    /// no such sequence. `later` becomes what it would be there.
    pub(crate) fn find(
        &mut self,
        history: &History,
        first: usize,
        later: &mut Later,
        access: impl FnOnce(&[usize], &Footprint) -> Option<Access>,
    ) -> bool {
        let found = self.find_without_initials(history, first, later, access);
        if found {
            self.find_initials(history, later.step.as_ref());
        }
        found
    }

    /// The same, for those who need not know all [initials](Self::initials) but ask [who begins](Self::begins).
    pub(crate) fn find_without_initials(
        &mut self,
        history: &History,
        first: usize,
        later: &mut Later,
        access: impl FnOnce(&[usize], &Footprint) -> Option<Access>,
    ) -> bool {
        if !find_sequence(history, first, later, &mut self.then) {
            return false;
        }
        if let Some(step) = &mut later.step {
            // Where it comes earlier it may do something else.
            let here = access(&self.then, step);
            step.touched[0].1 = here.unwrap_or_else(|| widest(step.touched[0].1));
            // Nor need its values be the same there.
            *step = step.with_any_values();
            if later.ran && step.decided.touches_others {
                leave_out_dependents(history, later.index, step, &mut self.then);
            }
            if step.learned && !repeats(history, first, later.index, &self.then, step) {
                step.shared_resources = u128::MAX;
            }
        }
        true
    }

    /// Leaves out of a sequence, whose last step is `last`, the steps at its beginning that slept when its point was reached, unless they must come
    /// before the last; with what follows from them.
    ///
    /// If each step slept as what it is there would be none: nothing in the sequence before such a step depends on it, so it would sleep on. One
    /// that might have touched more with other values is woken too early. Where it comes then it hides that what begins with the rest of the
    /// sequence was not run: 6 of 35 traces were lost of a message that might be handled twice, beside a timer that had been cancelled.
    pub(crate) fn leave_out_sleepers(
        &mut self,
        history: &History,
        last: Option<&Footprint>,
        slept: impl Fn(TaskId) -> bool,
    ) {
        loop {
            let woken = self.then.iter().copied().find(|&index| {
                let task = history.event(index).footprint.task;
                slept(task) && self.initials.contains(&task) && !history.happens_before_op(index)
            });
            let Some(woken) = woken else { return };
            self.then.retain(|&index| !history.before(woken, index));
            self.find_initials(history, last);
        }
    }

    /// Whether a task can begin the sequence, whose last step is `last`: it is one of the initials.
    pub(crate) fn begins(
        &mut self,
        history: &History,
        last: Option<&Footprint>,
        task: TaskId,
    ) -> bool {
        let is_own = |&&index: &&usize| history.event(index).footprint.task == task;
        // A task of the sequence begins it if nothing of the sequence is before its first step there. One that is only its
        // last step begins it if all others are independent of that.
        let begins = if let Some(&own) = self.then.iter().find(is_own) {
            let earlier = self.then.iter().take_while(|&&index| index < own);
            !earlier.into_iter().any(|&index| history.before(index, own))
        } else {
            last.filter(|last| last.task == task).is_some_and(|last| {
                self.then.iter().all(|&index| {
                    !history.happens_before_op(index)
                        && !history.event(index).footprint.dependent(last)
                })
            })
        };
        if cfg!(debug_assertions) {
            self.find_initials(history, last);
            assert_eq!(begins, self.initials.contains(&task), "{task:?} is an initial, or not");
        }
        begins
    }

    fn find_initials(&mut self, history: &History, last: Option<&Footprint>) {
        let Self { then, initials, firsts } = self;
        initials.clear();
        let mut free_last = last;
        // The first event of each task in the sequence, by its number among the task's events.
        firsts.clear();
        firsts.resize(history.width(), u32::MAX);
        for &index in &*then {
            let event = history.event(index);
            let task = event.footprint.task;
            if firsts[task.index()] == u32::MAX {
                firsts[task.index()] = event.nth;
                initials.push(task);
            }
            let free = |last: &&Footprint| !event.footprint.dependent(last);
            free_last = free_last.filter(|last| !history.happens_before_op(index) && free(last));
        }
        initials.retain(|task| {
            let event = history.index_of(*task, firsts[task.index()]);
            event.is_none_or(|event| history.knows_only_its_own(event, firsts))
        });
        initials.extend(free_last.map(|last| last.task));
    }
}

/// Leaves out of a sequence what came after its last step in the execution, but depends on what that step does with other values.
///
/// The step would come after those events in the sequence, and before them only if a race showed it; of its values no race shows
/// any. A program of which a trace was lost: `c` is the crash of one of two actors, `a` or `b`, and races with `e`, which comes before it
/// and concerns `a`; `m`, which concerns `b`, comes after it. Of `e c(a) m` the sequence `m c` was taken, with any value of `c`. But there was a
/// sequence `c(b) f` already, so that `c` was begun with the value `b` alone, and slept when `m` came first: `c(a)` before `m`
/// was never run.
fn leave_out_dependents(history: &History, from: usize, step: &Footprint, then: &mut Vec<usize>) {
    let mut left_out: Vec<usize> = Vec::new();
    then.retain(|&event| {
        let leaves = event > from
            && (history.event(event).footprint.dependent(step)
                || left_out.iter().any(|&other| history.before(other, event)));
        if leaves {
            left_out.push(event);
        }
        !leaves
    });
}

/// The events after the one at `first` that do not depend on it: with the later op after them a
/// sequence that reverses the race. `false` if there is no such sequence.
fn find_sequence(history: &History, first: usize, later: &Later, then: &mut Vec<usize>) -> bool {
    history.independent_after(first, then);
    if later.instead.is_some() {
        // It comes instead of that event.
        then.retain(|&index| !history.before(later.index, index));
    }
    if let Some(last) = &later.step
        && last.watch.steps > 0
        && !history.can_go_on(last, later.index, first, then)
    {
        // Its task has looked in vain and waits.
        return false;
    }
    while let Some(last) = &later.step
        && let Some(other) = history.in_the_way(last, first, then)
    {
        // The lock that the later op waits for was taken before the race, or by a step without which
        // the op would not be there: it cannot come earlier.
        if other < first || history.happens_before_op(other) {
            return false;
        }
        // Its holder must take it after the race, too, and so must come what depends on that.
        then.retain(|&index| !history.before(other, index));
    }
    true
}

/// Whether a step whose footprint was learned by running it does the same after the events in `then`,
/// instead of where it was: all that touched its object since the event at `first` is among them.
fn repeats(
    history: &History,
    first: usize,
    index: usize,
    then: &[usize],
    step: &Footprint,
) -> bool {
    let object = step.touched[0].0;
    let touches = |event: &usize| {
        history.event(*event).footprint.touched.iter().any(|(other, _)| *other == object)
    };
    object != ObjectId::NONE
        && (first..index.min(history.len()))
            .filter(touches)
            .all(|event| then.binary_search(&event).is_ok())
}
