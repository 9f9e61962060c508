//! Wakeup trees: sequences of steps that are still to be tried from a state.
//!
//! A branch's step was recorded in an earlier execution. Where a new sequence has a step of the
//! same task, the two are the same step and the sequence's own record is taken. Values that were
//! decided for a step, or in the code after it, belong to it: the same step with other values goes
//! on in another way. On the way along a sequence only the values are tried for which a way is
//! listed: whatever needs others has been found in an execution with those values, and lists them.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::{ObjectId, TaskId};

/// One step of a sequence.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) step: Footprint,
    /// Its number among the steps of its task.
    pub(super) nth: u32,
    /// The values decided in it and in the code after it. None of the last step, which may see
    /// something else than when it was recorded, and then goes on as it likes.
    pub(super) values: Option<Box<[u32]>>,
}

/// A sequence that was left out in favour of another, with the node at which it belongs.
pub(super) type LeftOut = (u32, Vec<Link>);

/// A node of a wakeup tree: a step to take, and what to try after it.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) step: Footprint,
    nth: u32,
    /// Tasks that must not sleep on the way, because it is not known that they may.
    pub(super) awake: Vec<TaskId>,
    /// By the values that are decided.
    pub(super) ways: Vec<Way>,
}

/// What to try after a step in which these values were decided, or any for which there is no other
/// way. Nothing: whatever comes.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) values: Option<Box<[u32]>>,
    pub(super) children: Vec<Branch>,
    /// Sequences that were left out because this way leads to the same. If it turns out to lead
    /// nowhere they are wanted after all.
    instead_of: Vec<LeftOut>,
}

impl Branch {
    /// A step after which anything may come.
    pub(super) fn free(task: TaskId) -> Self {
        let step = Footprint::new(task, &[], None);
        Self { step, nth: 0, awake: Vec::new(), ways: vec![Way::new(None, Vec::new())] }
    }

    fn chain(sequence: Vec<Link>, awake: Vec<TaskId>) -> Vec<Self> {
        let grow = |children: Vec<Self>, Link { step, nth, values }: Link| {
            vec![Self { step, nth, awake: Vec::new(), ways: vec![Way::new(values, children)] }]
        };
        let mut chain = sequence.into_iter().rev().fold(Vec::new(), grow);
        if let Some(first) = chain.first_mut() {
            first.awake = awake;
        }
        chain
    }

    /// Gives up the branch and all below it.
    pub(super) fn give_up(self, wanted: &mut Vec<LeftOut>) {
        self.ways.into_iter().for_each(|way| way.give_up(wanted));
    }
}

impl Way {
    fn new(values: Option<Box<[u32]>>, children: Vec<Branch>) -> Self {
        Self { values, children, instead_of: Vec::new() }
    }

    /// Whether the values decided so far may become those of this way.
    pub(super) fn allows(&self, decided: &[u32]) -> bool {
        self.values.as_ref().is_none_or(|values| values.starts_with(decided))
    }

    /// Gives up the way and all below it.
    pub(super) fn give_up(self, wanted: &mut Vec<LeftOut>) {
        wanted.extend(self.instead_of);
        self.children.into_iter().for_each(|child| child.give_up(wanted));
    }
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

/// What is known about the execution in which a sequence was found.
pub(super) struct Found<'a> {
    /// Objects announced before the tree's root: their numbers mean the same in all executions.
    pub(super) objects: u32,
    /// The objects that the `nth` step of a task touched in it.
    pub(super) touched: &'a dyn Fn(TaskId, u32) -> Option<[ObjectId; 2]>,
}

impl Found<'_> {
    fn is_new(&self, step: &Footprint) -> bool {
        step.touched.iter().any(|(o, _)| *o != ObjectId::NONE && o.0 >= self.objects)
    }

    fn fit(&self, branch: &Branch, sequence: &[Link], strayed: &[TaskId]) -> Fit {
        let task = branch.step.task;
        if let Some(place) = sequence.iter().position(|link| link.step.task == task) {
            let own = &sequence[place].step;
            let free = sequence[..place].iter().all(|link| !link.step.dependent(own));
            return if free { Fit::Begins(Some(place)) } else { Fit::No };
        }
        let mut step = branch.step;
        let mut known = !self.is_new(&step);
        if !known
            && !strayed.contains(&task)
            && let Some(objects) = (self.touched)(task, branch.nth)
        {
            for (touched, object) in step.touched.iter_mut().zip(objects) {
                touched.0 = object;
            }
            known = true;
        }
        if sequence.iter().any(|link| link.step.dependent(&step)) {
            return Fit::No;
        }
        if !known && sequence.iter().any(|link| self.is_new(&link.step)) {
            return Fit::Unknown;
        }
        Fit::Begins(None)
    }
}

/// Adds a sequence to a wakeup tree, unless a branch of it leads to the same.
///
/// Where that cannot be told, the sequence becomes a branch of its own on which the task in question
/// must not sleep: nothing is lost, and something may be repeated.
pub(super) fn insert(
    branches: &mut Vec<Branch>,
    sequence: Vec<Link>,
    root: u32,
    found: &Found<'_>,
) {
    let whole = sequence.clone();
    let insertion = Insertion { whole: &whole, root, found };
    insertion.below(branches, sequence, &mut Vec::new());
}

/// A sequence on its way into a tree.
struct Insertion<'a> {
    whole: &'a [Link],
    root: u32,
    found: &'a Found<'a>,
}

impl Insertion<'_> {
    fn below(&self, branches: &mut Vec<Branch>, sequence: Vec<Link>, strayed: &mut Vec<TaskId>) {
        let mut awake = Vec::new();
        for branch in branches.iter_mut() {
            match self.found.fit(branch, &sequence, strayed) {
                Fit::No => {}
                Fit::Unknown => awake.push(branch.step.task),
                Fit::Begins(place) => return self.after(branch, place, sequence, strayed),
            }
        }
        branches.extend(Branch::chain(sequence, awake));
    }

    /// The branch's step begins the sequence.
    fn after(
        &self,
        branch: &mut Branch,
        place: Option<usize>,
        mut sequence: Vec<Link>,
        strayed: &mut Vec<TaskId>,
    ) {
        // Of a task that the sequence says nothing about, any values will do.
        #[expect(clippy::single_match_else, reason = "both cases matter")]
        let values = match place {
            Some(place) => sequence.remove(place).values,
            None => {
                strayed.push(branch.step.task);
                None
            }
        };
        let at = |values: &Option<_>| branch.ways.iter().position(|way| way.values == *values);
        let (listed, other) = (at(&values), at(&None));
        if listed.is_none() {
            let fresh = || Way::new(None, Branch::chain(sequence.clone(), Vec::new()));
            // Until now these values were among those for which there is no way of their own.
            let way = other.map_or_else(fresh, |other| branch.ways[other].clone());
            let known = branch.ways.len();
            branch.ways.push(Way { values: values.clone(), ..way });
            if other.is_none() {
                // The new one holds the sequence already.
                self.along(&mut branch.ways[..known], values.as_deref(), &sequence, strayed);
                return;
            }
        }
        self.along(&mut branch.ways, values.as_deref(), &sequence, strayed);
    }

    /// Adds the rest of the sequence after these values, or after all.
    fn along(
        &self,
        ways: &mut [Way],
        values: Option<&[u32]>,
        sequence: &[Link],
        strayed: &[TaskId],
    ) {
        for way in ways {
            if values.is_some() && way.values.as_deref() != values {
                continue;
            }
            if way.children.is_empty() || sequence.is_empty() {
                way.instead_of.push((self.root, self.whole.to_vec()));
            } else {
                self.below(&mut way.children, sequence.to_vec(), &mut strayed.to_vec());
            }
        }
    }
}
