//! Wakeup trees: sequences of steps that are still to be tried from a state.
//!
//! A branch's step was recorded in an earlier execution. Where a new sequence has a step of the
//! same task, the two are the same step and the sequence's own record is taken. Values that were
//! decided for a step, or in the code after it, belong to it: the same step with other values goes
//! on in another way. On the way along a sequence only the values are tried for which a way is
//! listed: whatever needs others has been found in an execution with those values, and lists them.
//!
//! # Which objects are the same
//!
//! Whether a branch can begin a sequence hangs on whether its step depends on one of the sequence, and so on
//! whether the two touch the same object. Objects are numbered where they are first announced, so beyond the state
//! at the root of the tree the numbers of two executions mean nothing to each other. Nor is a step of one always one of the
//! other: after another value was read, a task's n-th step touches something else. Three things are known:
//!
//! - An object that was announced before the root has the same number in both, and is none that was announced later.
//! - If a task announces its n-th op after the same past in both ([`Happened::announced`]), the op is the same
//!   and touches the same objects: their numbers in the one are translated to those in the other.
//! - If neither holds, the two cannot be told apart now, but they can later. The sequence becomes a branch after the
//!   one in question, and says so ([`Branch::unless`]). When its turn comes, everything below the step `p` of
//!   the other has been run. An event there whose [fingerprint](raddle_engine::happens::Happened::fingerprint) is that of a step of the
//!   sequence has the same past as that, and `p` is not in it, because the sequence was found without `p`; `p` came before
//!   that event and is not in its past, so the two are independent. If this holds for every step of
//!   the sequence, then the sequence followed by `p` is equivalent to `p` followed by the sequence, and everything
//!   that goes on from there has been run. So the branch is dropped. The last step of a sequence comes earlier than
//!   where it was recorded and has another past; there the op must have been announced after the same past, and what
//!   it touched below `p`, at its [widest](raddle_engine::dependence::widest), be independent of `p`.
//!
//! A sequence that ends up in a branch which may be dropped leaves the steps that were not compared on the way
//! ([`Way::beyond`]): they must have been seen, too.
//!
//! [`Decided::spent`]: raddle_engine::strategy::Decided::spent
//! [`Happened::announced`]: raddle_engine::happens::Happened::announced
//!
//! # Why: Reduction: values are part of a step
//! A wakeup sequence carries the values decided in its steps and in the code after them, and only those are tried along
//! it.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::{ObjectId, TaskId};
use serde::{Deserialize, Serialize};

/// A node of a wakeup tree: a step to take, and what to try after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Branch {
    pub(crate) step: Footprint,
    /// Names the step, and its op as it was announced.
    pub(crate) key: Key,
    /// It is not needed if what it leads to is found to have been run after one of these tasks, whose branches are before it.
    pub(crate) unless: Vec<TaskId>,
    /// By the values that are decided.
    pub(crate) ways: Vec<Way>,
}

/// What to try after a step in which these values were decided, or any for which there is no other
/// way. Nothing: whatever comes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) values: Option<Box<[u32]>>,
    pub(crate) children: Vec<Branch>,
    /// With these values the step took something from a budget: see `Decided::spent`.
    spends: bool,
    /// Steps of sequences that ended here and went on, if they are needed.
    beyond: Vec<Key>,
}

/// A step in every execution that has it, with all that is before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Key {
    /// Its fingerprint; 0 of the last step of a sequence, which is to come earlier than it did.
    pub(crate) event: u64,
    /// Its op as it was announced; 0 if that is not known.
    pub(crate) announced: u64,
}

impl Way {
    fn new(values: Option<Box<[u32]>>, children: Vec<Branch>, spends: bool) -> Self {
        Self { values, children, spends, beyond: Vec::new() }
    }

    /// Whether the values decided so far may become those of this way.
    pub(crate) fn allows(&self, decided: &[u32]) -> bool {
        self.values.as_ref().is_none_or(|values| values.starts_with(decided))
    }
}

impl Branch {
    /// A step after which anything may come.
    pub(crate) fn free(task: TaskId) -> Self {
        let step = Footprint::new(task, &[], None);
        Self {
            step,
            key: Key::default(),
            unless: Vec::new(),
            ways: vec![Way::new(None, Vec::new(), false)],
        }
    }

    /// The names of all steps of the sequences that it stands for.
    pub(crate) fn keys(&self, keys: &mut Vec<Key>) {
        keys.push(self.key);
        for way in &self.ways {
            keys.extend_from_slice(&way.beyond);
            way.children.iter().for_each(|child| child.keys(keys));
        }
    }
}

/// A step of a sequence: its number, and whose it is, which is what is mostly asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) task: TaskId,
    pub(crate) number: u32,
}

/// A sequence of steps, and what is known about the execution in which it was found. Its steps are
/// named by numbers.
pub(crate) trait RecordedSteps {
    /// A step.
    fn step(&self, link: u32) -> &Footprint;
    /// Its name.
    fn key(&self, link: u32) -> Key;
    /// The values decided in a step and in the code after it. None of the last step, which may see
    /// something else than when it was recorded, and then goes on as it likes.
    fn values(&self, link: u32) -> Option<Box<[u32]>>;
    /// Objects announced before the tree's root: their numbers mean the same in all executions.
    fn objects(&self) -> u32;
    /// The objects that an op touched in this execution, if it was announced here after the same past.
    fn touched(&self, op: &Footprint, announced: u64) -> Option<[ObjectId; 2]>;
}

/// How a branch stands to a sequence.
enum Fit {
    /// Its step cannot begin the sequence.
    No,
    /// It cannot be told.
    Unknown,
    /// Its step begins the sequence: this one, or none of it.
    Begins(Option<usize>),
}

/// Adds a sequence to a wakeup tree, unless a branch of it leads to the same.
///
/// Where that cannot be told, the sequence becomes a branch of its own, which is looked at again when its turn
/// comes.
pub(crate) fn insert<F: RecordedSteps>(
    branches: &mut Vec<Branch>,
    sequence: &mut Vec<Link>,
    found: &F,
) {
    Insertion { found, droppable: false }.below(branches, sequence);
}

/// Has every step below tried with all values, not only with those of the sequences that led here.
///
/// Another order of steps need not be in the tree: a race in one of the executions below shows it. Another value of a step is
/// shown by no race, because no step depends on it. A program of which a trace was lost: a message is delivered or
/// lost, `m[0]` or `m[1]`, after a step `p`. The sequence `p m[0] r` is inserted first; then `p` alone, after which anything
/// may come. Without this only `m[0]` was tried after `p`, and what follows `p m[1]` was never run.
fn allow_all_values(branches: &mut [Branch]) {
    for branch in branches {
        if branch.ways.iter().all(|way| way.values.is_some()) {
            branch.ways.push(Way::new(None, Vec::new(), false));
        }
        branch.ways.iter_mut().for_each(|way| allow_all_values(&mut way.children));
    }
}

/// A sequence on its way into a tree.
struct Insertion<'a, F> {
    found: &'a F,
    /// Whether it is below a branch that may be dropped.
    droppable: bool,
}

impl<F: RecordedSteps> Insertion<'_, F> {
    fn below(&mut self, branches: &mut Vec<Branch>, sequence: &mut Vec<Link>) {
        let mut unless = Vec::new();
        for branch in branches.iter_mut() {
            match self.fit(branch, sequence) {
                Fit::No => {}
                Fit::Unknown => unless.push(branch.step.task),
                Fit::Begins(place) => return self.after(branch, place, sequence),
            }
        }
        let mut chain = self.chain(sequence);
        if let Some(first) = chain.first_mut() {
            first.unless = unless;
        }
        branches.append(&mut chain);
    }

    fn chain(&self, sequence: &[Link]) -> Vec<Branch> {
        sequence.iter().rev().fold(Vec::new(), |children, &Link { number: link, .. }| {
            let (step, key) = (*self.found.step(link), self.found.key(link));
            let ways = vec![Way::new(self.found.values(link), children, self.spends(link))];
            vec![Branch { step, key, unless: Vec::new(), ways }]
        })
    }

    /// Whether a step takes something from a budget. The last one is given any values.
    fn spends(&self, link: u32) -> bool {
        self.found.step(link).decided.spent && self.found.values(link).is_some()
    }

    /// Whether an object was first announced after the root.
    fn is_new_object(&self, object: ObjectId) -> bool {
        object != ObjectId::NONE && object.0 >= self.found.objects()
    }

    fn is_new(&self, step: &Footprint) -> bool {
        step.touched.iter().any(|(object, _)| self.is_new_object(*object))
            || step.watch.end > self.found.objects()
    }

    fn fit(&self, branch: &Branch, sequence: &[Link]) -> Fit {
        let task = branch.step.task;
        let step = |link: &Link| self.found.step(link.number);
        if let Some(place) = sequence.iter().position(|link| link.task == task) {
            let own = step(&sequence[place]);
            // The same task at the same state takes the same step, so what counts is whether it can be moved to the front of
            // the sequence.
            let free = sequence[..place].iter().all(|link| !step(link).dependent(own));
            return if free { Fit::Begins(Some(place)) } else { Fit::No };
        }
        if branch.ways.iter().all(|way| way.spends) {
            // What it spends may be what the sequence, or what follows it, needs.
            return Fit::No;
        }
        let mut translated;
        let (theirs, known) = if self.is_new(&branch.step) {
            translated = branch.step;
            let known = self.translate(&mut translated, branch.key.announced);
            (&translated, known)
        } else {
            (&branch.step, true)
        };
        if sequence.iter().any(|link| step(link).dependent(theirs)) {
            return Fit::No;
        }
        // Both sides have objects that only one of the two executions knows by number: they may be the same ones or not. If
        // only one side had, its objects could not be among those of the other, which are older than the root.
        if !known && sequence.iter().any(|link| self.is_new(step(link))) {
            return Fit::Unknown;
        }
        Fit::Begins(None)
    }

    /// Gives a step that touches objects which are new since the root the numbers that they have in the sequence's
    /// execution. `false`: those are not known, and are left out.
    fn translate(&self, step: &mut Footprint, announced: u64) -> bool {
        if step.watch.end <= self.found.objects()
            && let Some(objects) = self.found.touched(step, announced)
        {
            for (touched, object) in step.touched.iter_mut().zip(objects) {
                touched.0 = object;
            }
            return true;
        }
        for (object, _) in &mut step.touched {
            if self.is_new_object(*object) {
                *object = ObjectId::NONE;
            }
        }
        false
    }

    /// The branch's step begins the sequence.
    fn after(&mut self, branch: &mut Branch, place: Option<usize>, sequence: &mut Vec<Link>) {
        // Of a task that the sequence says nothing about, any values will do.
        let own = place.map(|place| sequence.remove(place));
        let (values, spends) = match own {
            Some(link) => (self.found.values(link.number), self.spends(link.number)),
            None => (None, false),
        };
        self.droppable |= !branch.unless.is_empty();
        let at = |values: &Option<_>| branch.ways.iter().position(|way| way.values == *values);
        let known = branch.ways.len();
        if let (None, other) = (at(&values), at(&None)) {
            // Until now these values were among those for which there is no way of their own.
            let children = match other {
                Some(other) => branch.ways[other].children.clone(),
                None => self.chain(sequence),
            };
            branch.ways.push(Way::new(values.clone(), children, spends));
            if other.is_none() {
                // The new one holds the sequence already.
                self.along(&mut branch.ways[..known], values.as_deref(), sequence);
                return;
            }
        }
        self.along(&mut branch.ways, values.as_deref(), sequence);
    }

    /// Adds the rest of the sequence after these values, or after all. What is left of the sequence then is of no use.
    fn along(&mut self, ways: &mut [Way], values: Option<&[u32]>, sequence: &mut Vec<Link>) {
        let wanted = |way: &&mut Way| values.is_none() || way.values.as_deref() == values;
        if sequence.is_empty() {
            // After the sequence anything may come, and the sequences that were here before name some values only.
            ways.iter_mut().filter(wanted).for_each(|way| allow_all_values(&mut way.children));
            return;
        }
        let droppable = self.droppable;
        let mut wanted = ways.iter_mut().filter(wanted).peekable();
        while let Some(way) = wanted.next() {
            if way.children.is_empty() {
                // Whatever comes includes it, as long as the branch is not dropped.
                if droppable {
                    way.beyond.extend(sequence.iter().map(|link| self.found.key(link.number)));
                    way.beyond.sort_unstable();
                    way.beyond.dedup();
                }
                continue;
            }
            if wanted.peek().is_some() {
                self.below(&mut way.children, &mut sequence.clone());
            } else {
                // Nearly always there is one way to add it to.
                self.below(&mut way.children, sequence);
            }
            // Set on the way down one of the ways; the next one begins as this one did.
            self.droppable = droppable;
        }
    }
}
