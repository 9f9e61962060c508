//! Wakeup trees: sequences of steps that are still to be tried from a state.
//!
//! A branch's step was recorded in an earlier execution. Where a new sequence has a step of the
//! same task, the two are the same step and the sequence's own record is taken. Values that were
//! decided for a step, or in the code after it, belong to it: the same step with other values goes
//! on in another way. On the way along a sequence only the values are tried for which a way is
//! listed: whatever needs others has been found in an execution with those values, and lists them.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::{ObjectId, TaskId};
use serde::{Deserialize, Serialize};

/// A node of a wakeup tree: a step to take, and what to try after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Branch {
    pub(crate) step: Footprint,
    /// Tasks that must not sleep on the way, because it is not known that they may.
    pub(crate) awake: Vec<TaskId>,
    /// By the values that are decided.
    pub(crate) ways: Vec<Way>,
}

/// What to try after a step in which these values were decided, or any for which there is no other
/// way. Nothing: whatever comes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) values: Option<Box<[u32]>>,
    pub(crate) children: Vec<Branch>,
}

impl Branch {
    /// A step after which anything may come.
    pub(crate) fn free(task: TaskId) -> Self {
        let step = Footprint::new(task, &[], None);
        Self { step, awake: Vec::new(), ways: vec![Way { values: None, children: Vec::new() }] }
    }
}

impl Way {
    /// Whether the values decided so far may become those of this way.
    pub(crate) fn allows(&self, decided: &[u32]) -> bool {
        self.values.as_ref().is_none_or(|values| values.starts_with(decided))
    }
}

/// A sequence of steps, and what is known about the execution in which it was found. Its steps are
/// named by numbers.
pub(crate) trait Found {
    /// A step.
    fn step(&self, link: u32) -> &Footprint;
    /// The values decided in a step and in the code after it. None of the last step, which may see
    /// something else than when it was recorded, and then goes on as it likes.
    fn values(&self, link: u32) -> Option<Box<[u32]>>;
    /// Objects announced before the tree's root: their numbers mean the same in all executions.
    fn objects(&self) -> u32;
    /// The objects that the `nth` step of a task touched in this execution.
    fn touched(&self, task: TaskId, nth: u32) -> Option<[ObjectId; 2]>;
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
/// Where that cannot be told, the sequence becomes a branch of its own on which the task in question
/// must not sleep: nothing is lost, and something may be repeated.
pub(crate) fn insert<F: Found>(branches: &mut Vec<Branch>, sequence: &mut Vec<u32>, found: &F) {
    Insertion { found, strayed: Vec::new() }.below(branches, sequence);
}

/// A sequence on its way into a tree.
struct Insertion<'a, F> {
    found: &'a F,
    /// Tasks of steps on the way that are not in the sequence.
    strayed: Vec<TaskId>,
}

impl<F: Found> Insertion<'_, F> {
    fn below(&mut self, branches: &mut Vec<Branch>, sequence: &mut Vec<u32>) {
        let mut awake = Vec::new();
        for branch in branches.iter_mut() {
            match self.fit(branch, sequence) {
                Fit::No => {}
                Fit::Unknown => awake.push(branch.step.task),
                Fit::Begins(place) => return self.after(branch, place, sequence),
            }
        }
        let mut chain = self.chain(sequence);
        if let Some(first) = chain.first_mut() {
            first.awake = awake;
        }
        branches.append(&mut chain);
    }

    fn chain(&self, sequence: &[u32]) -> Vec<Branch> {
        sequence.iter().rev().fold(Vec::new(), |children, &link| {
            let ways = vec![Way { values: self.found.values(link), children }];
            vec![Branch { step: *self.found.step(link), awake: Vec::new(), ways }]
        })
    }

    fn is_new(&self, step: &Footprint) -> bool {
        let objects = self.found.objects();
        step.touched.iter().any(|(o, _)| *o != ObjectId::NONE && o.0 >= objects)
            || step.watch.end > objects
    }

    fn fit(&self, branch: &Branch, sequence: &[u32]) -> Fit {
        let task = branch.step.task;
        let step = |&link: &u32| self.found.step(link);
        if let Some(place) = sequence.iter().position(|link| step(link).task == task) {
            let own = step(&sequence[place]);
            let free = sequence[..place].iter().all(|link| !step(link).dependent(own));
            return if free { Fit::Begins(Some(place)) } else { Fit::No };
        }
        let mut theirs = branch.step;
        let mut known = !self.is_new(&theirs);
        if !known
            && !self.strayed.contains(&task)
            && theirs.watch.end <= self.found.objects()
            && let Some(objects) = self.found.touched(task, theirs.nth)
            // After its timeout, or where it waits, a task's step of that number is another one.
            && theirs.touched.iter().zip(objects).all(|((own, _), object)| {
                (*own == ObjectId::NONE) == (object == ObjectId::NONE)
            })
        {
            for (touched, object) in theirs.touched.iter_mut().zip(objects) {
                touched.0 = object;
            }
            known = true;
        }
        if sequence.iter().any(|link| step(link).dependent(&theirs)) {
            return Fit::No;
        }
        if !known && sequence.iter().any(|link| self.is_new(step(link))) {
            return Fit::Unknown;
        }
        Fit::Begins(None)
    }

    /// The branch's step begins the sequence.
    fn after(&mut self, branch: &mut Branch, place: Option<usize>, sequence: &mut Vec<u32>) {
        // Of a task that the sequence says nothing about, any values will do.
        #[expect(clippy::single_match_else, reason = "both cases matter")]
        let values = match place {
            Some(place) => self.found.values(sequence.remove(place)),
            None => {
                self.strayed.push(branch.step.task);
                None
            }
        };
        let at = |values: &Option<_>| branch.ways.iter().position(|way| way.values == *values);
        let known = branch.ways.len();
        if let (None, other) = (at(&values), at(&None)) {
            // Until now these values were among those for which there is no way of their own.
            let children = match other {
                Some(other) => branch.ways[other].children.clone(),
                None => self.chain(sequence),
            };
            branch.ways.push(Way { values: values.clone(), children });
            if other.is_none() {
                // The new one holds the sequence already.
                self.along(&mut branch.ways[..known], values.as_deref(), sequence);
                return;
            }
        }
        self.along(&mut branch.ways, values.as_deref(), sequence);
    }

    /// Adds the rest of the sequence after these values, or after all.
    fn along(&mut self, ways: &mut [Way], values: Option<&[u32]>, sequence: &mut Vec<u32>) {
        if sequence.is_empty() {
            return;
        }
        let wanted = |way: &&mut Way| values.is_none() || way.values.as_deref() == values;
        let mut ways = ways.iter_mut().filter(wanted).filter(|way| !way.children.is_empty());
        let Some(mut way) = ways.next() else { return };
        for next in ways {
            // There is more than one way to add it to.
            let (mut copy, strayed) = (sequence.clone(), self.strayed.clone());
            self.below(&mut way.children, &mut copy);
            self.strayed = strayed;
            way = next;
        }
        self.below(&mut way.children, sequence);
    }
}
