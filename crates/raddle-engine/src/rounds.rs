//! Spinning is waiting: a task that goes round in circles, and sees nothing new, waits until something that it
//! saw has changed.
//!
//! # The rule
//!
//! A *look* is a step of a task that sees an object and leaves it as it is (a load, a compare-exchange or
//! a `try_lock` that fails), or a yield. What else a task does (a step that changes or waits for something, a
//! value that is decided, a reading of the clock, a spawned task) is an *effect*, and a task's looks are
//! counted from its last one. Two looks are alike if they have the same source site, op and object, and the
//! object has not been changed between them. A *round* is a sequence of at most [`LONGEST`] looks.
//!
//! With the setting `rounds = r` a look that would be the last of `r + 1` rounds in a row that are all alike is
//! *disabled* as long as no object of the round has been changed since the task last looked at it. So what a
//! search runs are exactly the executions in which no task makes more than `r` alike rounds in a row while
//! nothing that it looked at changes, and dfs with the same setting runs all of them. Any step that may change the
//! object ends the wait, also one that writes the value that is there. To wait for another *value* would make
//! `A; B; A` look like no change, which depends on when the task looks; a count of changes does not, and a task that goes
//! round once more than it needs to costs an execution and misses none.
//!
//! # Why a reduction may rely on it
//!
//! The count of changes of an object, as a look sees it, follows from the partial order of the execution, because
//! each such step is ordered with each look ([`conflict`](crate::dependence::conflict)). Whether the rule is about a look
//! at all follows from the task's own looks. If it is, the step is said to watch the objects of the round
//! ([`Watch`]) and so depends on every step that changes one of them: whether it is
//! enabled changes by no step that is independent of it. So executions under the rule are those of a program with
//! ops that wait, and whatever holds of a reduction for those holds here. A step that watches cannot come before the
//! first change since its task last looked, which the search for races takes into account.
//!
//! # When nothing else can move
//!
//! A loop may end by itself: it counts in a local variable, which the engine does not see. So where all
//! tasks are finished, blocked or wait by this rule, the next of the latter in turn takes one step beyond the
//! rule, and the question is put again. What comes of it is a real execution, so a failure there is one. If it never
//! ends, it is a livelock by the same limit as everywhere ([`Limits::fruitless`](crate::limits::Limits::fruitless)).
//! Such a step hangs on where all other tasks are, so it depends on every step, and comes before none
//! ([`Step::last_resort`](crate::strategy::Step::last_resort)). The promise does not speak of what follows it: which of
//! several tasks goes on first is not searched.
//!
//! # Loops that are marked
//!
//! [`await_until`](crate::rt::await_until) says that a condition looks and does nothing else, whatever its locals. There
//! the task waits after each evaluation that was false, with or without the setting, and nothing is left out: an
//! evaluation that sees nothing new has no effect.
//!
//! Misses: what a task does only after more than `r` such rounds, unless nothing else could move. Rounds
//! that are longer than [`LONGEST`] are no rounds here: the fairness of [`fair`](crate::fair) is for those, and so it
//! is for `is_finished`, and for rounds with an effect.
//!
//! # Why: Spinning is waiting
//! Fairness is no property of a partial order, so a reduction could not cover a program that spins. With
//! `Settings::rounds` a task that has looked around r times and seen the same waits for a change of what it saw. The
//! step that ends the wait *watches* the objects of the round (`Step::watch`): it depends on every step that changes
//! one of them, as an op that waits for a lock depends on what gives it back, and where a race would have it come
//! before the first change there is no such sequence (`History::can_go_on`). Changes are counted, not compared: whether
//! a value is back is a matter of when one looks. Where nothing else can move the tasks that wait so go on in turn, one
//! step each (`Step::last_resort`), because a loop may count where the engine cannot see it; such a step depends on all
//! before it. The setting is of a search and not of all: `raddle` gives it to reductions (`Built::reduces`), so that
//! samplers still go beyond it. `rounds.rs` has the argument.

use std::panic::Location;

use crate::op::{Access, ObjectId, TaskId};
use crate::strategy::Watch;

/// The most looks of a round.
pub(crate) const LONGEST: usize = 16;

/// Yields of a task after effects that hold it back for no other one: fewer would keep a reduction from covering a
/// program whose tasks take a lock that spins a few times each, more would make it run the rounds of a
/// loop that polls in every order.
pub(crate) const FREE_YIELDS: u32 = 4;

/// One look.
#[derive(Clone, Copy, Debug)]
struct Look {
    site: &'static Location<'static>,
    object: ObjectId,
    /// Of an op that could do something else in another state: its text, as a number.
    op: u64,
    /// Changes of the object before it.
    version: u32,
}

impl Look {
    /// The same op at the same place.
    fn is_like(&self, other: &Self) -> bool {
        self.object == other.object && self.op == other.op && self.site == other.site
    }
}

/// What a task is about to do, for [`Rounds::arrive`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) site: &'static Location<'static>,
    pub(crate) object: ObjectId,
    pub(crate) op: u64,
}

/// The looks of one task since its last effect.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// The last ones, by their number modulo the size.
    looks: [Option<Look>; LONGEST],
    count: usize,
    /// By length of a round, less one: how many of the last looks are each alike to the one so far before.
    runs: [u32; LONGEST],
    /// The evaluation of a marked condition: so many looks until it was false.
    marked: Option<usize>,
    /// What its pending or running step watches.
    pub(crate) watch: Watch,
    /// The objects of that round, if it waits for one of them to change.
    waits_for: Vec<ObjectId>,
    pub(crate) waits: bool,
    /// Its running step is one beyond the rule.
    pub(crate) last_resort: bool,
    /// The text of its running op, as a number.
    pub(crate) op: u64,
    /// Yields after effects.
    pub(crate) yields: u32,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            looks: [None; LONGEST],
            count: 0,
            runs: [0; LONGEST],
            marked: None,
            watch: Watch::default(),
            waits_for: Vec::new(),
            waits: false,
            last_resort: false,
            op: 0,
            yields: 0,
        }
    }
}

impl Rounds {
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.forget();
        self.watch = Watch::default();
        self.waits_for.clear();
        (self.waits, self.last_resort, self.op, self.yields) = (false, false, 0, 0);
    }

    /// The task did something else than look.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.count > 0 {
            self.count = 0;
            self.runs = [0; LONGEST];
        }
        self.marked = None;
    }

    /// The look that was `back` looks ago, from 1.
    fn look(&self, back: usize) -> Option<&Look> {
        if back > self.count || back > LONGEST {
            return None;
        }
        self.looks[(self.count - back) % LONGEST].as_ref()
    }

    /// The task looked.
    pub(crate) fn looked(
        &mut self,
        site: &'static Location<'static>,
        object: ObjectId,
        version: u32,
    ) {
        let look = Look { site, object, op: self.op, version };
        for length in 1..=LONGEST.min(self.count) {
            let alike = |before: &Look| before.version == version && before.is_like(&look);
            let run =
                if self.look(length).is_some_and(alike) { self.runs[length - 1] + 1 } else { 0 };
            self.runs[length - 1] = run;
        }
        self.looks[self.count % LONGEST] = Some(look);
        self.count += 1;
    }

    /// Whether its next look may be one that the rule is about.
    pub(crate) fn is_close(&self, most: Option<u32>) -> bool {
        self.marked.is_some() || most.is_some_and(|most| self.lengths(most).next().is_some())
    }

    /// The lengths of rounds of which one more look would make `most + 1`.
    fn lengths(&self, most: u32) -> impl Iterator<Item = usize> {
        (1..=LONGEST.min(self.count))
            .filter(move |&length| self.runs[length - 1] as usize + 1 >= most as usize * length)
    }

    /// Looks whether the rule is about the next op of the task: then [`watch`](Self::watch) says what the op watches.
    /// `version`: changes so far by object. Whether the task must wait.
    pub(crate) fn arrive(
        &mut self,
        most: Option<u32>,
        next: Next,
        version: impl Fn(ObjectId) -> u32,
    ) -> bool {
        (self.watch, self.waits) = (Watch::default(), false);
        self.waits_for.clear();
        let marked = self.marked.take();
        let like = |look: &Look| {
            look.site == next.site && look.object == next.object && look.op == next.op
        };
        let completes = |&length: &usize| self.look(length).is_some_and(like);
        let unmarked = || most.and_then(|most| self.lengths(most).filter(completes).last());
        let shortest = || most.and_then(|most| self.lengths(most).find(completes));
        let (Some(longest), Some(shortest)) = (marked.or_else(unmarked), marked.or_else(shortest))
        else {
            return false;
        };
        // What a longer round looks at, a shorter one with the same end does not look at all of: the step
        // depends on what either would wait for, and waits for the shorter one.
        let mut watch = Watch { steps: shortest as u32, ..Watch::default() };
        for back in 1..=longest {
            if let Some(look) = self.look(back) {
                watch.add(look.object);
            }
        }
        self.watch = watch;
        let mut waits = true;
        for back in 1..=shortest {
            if let Some(look) = self.look(back).filter(|look| look.object != ObjectId::NONE) {
                waits &= look.version == version(look.object);
                if !self.waits_for.contains(&look.object) {
                    self.waits_for.push(look.object);
                }
            }
        }
        self.waits = waits;
        if marked.is_some() {
            // Another evaluation begins.
            self.forget();
        }
        waits
    }

    /// Whether it waits for this object to change.
    pub(crate) fn waits_for(&self, object: ObjectId) -> bool {
        self.waits && self.waits_for.contains(&object)
    }

    /// Whether it yielded there since its last effect.
    pub(crate) fn yielded_at(&self, site: &Location<'_>) -> bool {
        let yields = |look: &Look| look.object == ObjectId::NONE && look.site == site;
        (2..=LONGEST).any(|back| self.look(back).is_some_and(yields))
    }

    /// Whether the next op is the first of another evaluation of a marked condition.
    pub(crate) fn is_marked(&self) -> bool {
        self.marked.is_some()
    }

    /// The next op is the first of another evaluation of a condition that has made all looks since the last
    /// effect. `false`: it made none, or too many.
    pub(crate) fn mark(&mut self) -> bool {
        self.marked = (1..=LONGEST).contains(&self.count).then_some(self.count);
        self.marked.is_some()
    }
}

/// Whether a step looked at an object, or yielded.
pub(crate) fn is_look(access: Access) -> bool {
    matches!(access, Access::Read | Access::FailedUpdate | Access::Refused | Access::Yield)
}

/// What the tasks of an execution wait for by this rule.
#[derive(Debug, Default)]
pub(crate) struct Spinning {
    /// Looks are counted.
    pub(crate) on: bool,
    /// Changes by object.
    versions: Vec<u32>,
    /// The tasks that are [close](Rounds::is_close), or wait.
    pub(crate) close: Vec<TaskId>,
    /// Who took a step beyond the rule last, by its place in the order of creation.
    pub(crate) turn: u32,
    /// Steps beyond the rule since something changed, and when that was.
    pub(crate) resorts: (u64, u64),
}

impl Spinning {
    pub(crate) fn begin(&mut self, on: bool) {
        self.on = on;
        self.versions.clear();
        self.close.clear();
        self.turn = 0;
        self.resorts = (0, 0);
    }

    /// Whether a task took a step beyond the rule since something changed, which was then.
    pub(crate) fn has_resorted_since(&self, last_change: u64) -> bool {
        self.resorts.0 > 0 && self.resorts.1 == last_change
    }

    /// An object was changed.
    pub(crate) fn change(&mut self, object: ObjectId) {
        let at = object.0 as usize;
        if self.versions.len() <= at {
            self.versions.resize(at + 1, 0);
        }
        self.versions[at] += 1;
    }

    /// How often an object was changed.
    pub(crate) fn version(&self, object: ObjectId) -> u32 {
        self.versions.get(object.0 as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    fn next(object: u32, site: &'static Location<'static>) -> Next {
        Next { site, object: ObjectId(object), op: 0 }
    }

    #[test]
    fn a_look_beyond_the_rounds_waits_until_its_object_changes() {
        let place = here();
        let mut rounds = Rounds::default();
        let unchanged = |_: ObjectId| 0;
        for _ in 0..2 {
            assert!(!rounds.arrive(Some(2), next(3, place), unchanged));
            rounds.looked(place, ObjectId(3), 0);
        }
        assert!(rounds.is_close(Some(2)) && !rounds.is_close(Some(3)) && !rounds.is_close(None));
        assert!(rounds.arrive(Some(2), next(3, place), unchanged));
        assert!(rounds.waits_for(ObjectId(3)) && !rounds.waits_for(ObjectId(4)));
        assert_eq!(rounds.watch.steps, 1);
        // It watches, but need not wait: the object has changed.
        assert!(!rounds.arrive(Some(2), next(3, place), |_| 1));
        assert!(rounds.watch.contains(ObjectId(3)));
        // Another place, another object.
        assert!(!rounds.arrive(Some(2), next(3, here()), unchanged));
        assert!(!rounds.arrive(Some(2), next(4, place), unchanged));
        assert_eq!(rounds.watch, Watch::default());
    }

    #[test]
    fn the_last_look_of_a_round_waits_for_all_of_its_objects() {
        let (one, two) = (here(), here());
        let mut rounds = Rounds::default();
        for _ in 0..2 {
            rounds.looked(one, ObjectId(1), 5);
            assert!(!rounds.arrive(Some(2), next(2, two), |_| 5));
            rounds.looked(two, ObjectId(2), 5);
        }
        assert!(!rounds.arrive(Some(2), next(1, one), |_| 5));
        rounds.looked(one, ObjectId(1), 5);
        assert!(rounds.arrive(Some(2), next(2, two), |_| 5));
        assert!(rounds.waits_for(ObjectId(1)) && rounds.waits_for(ObjectId(2)));
        // Either change ends the wait.
        for changed in [1, 2] {
            let version = |object: ObjectId| if object.0 == changed { 6 } else { 5 };
            assert!(!rounds.arrive(Some(2), next(2, two), version));
        }
    }

    #[test]
    fn an_effect_begins_anew_and_a_changed_object_is_another_round() {
        let place = here();
        let mut rounds = Rounds::default();
        rounds.looked(place, ObjectId(1), 0);
        rounds.looked(place, ObjectId(1), 1);
        assert!(!rounds.arrive(Some(2), next(1, place), |_| 1), "two looks, one of each version");
        rounds.looked(place, ObjectId(1), 1);
        assert!(rounds.arrive(Some(2), next(1, place), |_| 1));
        rounds.forget();
        assert!(!rounds.arrive(Some(2), next(1, place), |_| 1));
    }

    #[test]
    fn a_marked_condition_waits_after_one_evaluation() {
        let (one, two) = (here(), here());
        let mut rounds = Rounds::default();
        assert!(!rounds.mark(), "it has not looked");
        rounds.looked(one, ObjectId(1), 0);
        rounds.looked(two, ObjectId(2), 0);
        assert!(rounds.mark() && rounds.is_close(None));
        assert!(rounds.arrive(None, next(1, one), |_| 0));
        assert!(rounds.waits_for(ObjectId(2)));
        assert!(!rounds.is_close(None), "another evaluation begins");
    }
}
