//! Source sets in parts: subtrees that others run, and what these want at points above them.
//!
//! A part may open nothing at the points that lead to it: others are below the same points, and each would open the same again.
//! It requests that one of some tasks moves there, and the fold of all parts decides ([`raddle_trace::fold`]). What was begun
//! at such a point has an order, and in each of these options those before it sleep, whatever has been run below them.
//! That is the order in which depth-first search would have tried them, so the parts together run what it could have run.
//!
//! For one option to sleep in another its step must be known before it has been run. A task that can begin the sequence of a race
//! does at the point what it did in the sequence, since nothing before it there depends on it. Of the later step of the race, where
//! values were decided, and where the step belongs with others (timers, joins, loops that look in vain), nothing is known until the option has been
//! run: it does not sleep in those begun before that. Then a trace may be run twice, and none is lost.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::strategy::{Checkpoint, SearchPart, Taken, Tasks, Unsupported};
use raddle_trace::unit::{Begun, Bytes, Request, SharedPoint, Sibling, Upwards, Wanted, point_ids};

use super::guide::Guide;
use super::{Dpor, Node, Reduced, SavedReduction, What};
use crate::path::Decision as _;
use crate::races::{Later, Reversal};
use crate::state::{self, FOREIGN};
use crate::wakeup::Branch;

/// One of some tasks is to move at a point above the part.
#[derive(Clone, Debug)]
pub(super) struct AtShared {
    /// The point's place in the path.
    at: usize,
    /// The tasks, in order.
    initials: Vec<TaskId>,
    best: TaskId,
    /// The step of the best, if it is known.
    step: Option<Footprint>,
}

/// Adds a request, unless those that there are want as much.
pub(super) fn request(all: &mut Vec<AtShared>, new: AtShared) {
    let implies = |one: &AtShared, other: &AtShared| {
        one.at == other.at && one.initials.iter().all(|task| other.initials.contains(task))
    };
    if !all.iter().any(|known| implies(known, &new)) {
        all.retain(|known| !implies(&new, known));
        all.push(new);
    }
}

impl AtShared {
    /// What a race wants at a shared point; none if that is covered, or can not be.
    pub(super) fn new(
        at: usize,
        node: &Node,
        initials: &[TaskId],
        later: &Later,
        step: impl FnOnce(TaskId) -> Option<Footprint>,
    ) -> Option<Self> {
        let What::Step { task, options, .. } = &node.what else { return None };
        // Others that were begun there are in place of what is still to be tried.
        let begun =
            |who: &TaskId| who == task || node.wakeup.iter().any(|branch| branch.step.task == *who);
        if initials.iter().any(begun) {
            return None;
        }
        let mut can: Vec<TaskId> =
            initials.iter().copied().filter(|who| options.contains(*who)).collect();
        let racing = |who: &&TaskId| later.step.is_some_and(|step| step.task == **who);
        let best = *can.iter().find(racing).or_else(|| can.first())?;
        can.sort_unstable();
        Some(Self { at, initials: can, best, step: step(best) })
    }
}

/// What the first step of a task in a sequence that reverses a race would be at the point before it, if that is known.
pub(super) fn first_step(
    history: &History,
    guide: &Guide,
    reversal: &Reversal,
    objects: u32,
    task: TaskId,
) -> Option<Footprint> {
    let is_own = |event: &usize| history.event(*event).footprint.task == task;
    // The later op of the race may do something else here, and what it does at most is not enough: a step that slept as more than it
    // is wakes too early, and where it comes then it hides what reverses a race.
    let event = reversal.then.iter().copied().find(is_own)?;
    let step = history.event(event).footprint;
    let known = |(object, _): &(ObjectId, _)| *object == ObjectId::NONE || object.0 < objects;
    let alone = step.partner.is_none()
        && step.ran_on == Tasks::default()
        && step.waited_for == Tasks::default()
        && step.watch.steps == 0
        && !step.last_resort;
    let plain = alone && step.touched.iter().all(known) && step.watch.end <= objects;
    (plain && step.nth > 0 && guide.values_of(event as u32).is_empty())
        .then(|| step.with_any_values())
}

fn to_bytes(step: &Footprint) -> Bytes {
    Bytes(state::write("step", step).0)
}

fn begun(task: TaskId, step: Option<&Footprint>) -> Begun {
    Begun { task: task.0, steps: step.map(to_bytes).into_iter().collect() }
}

impl Node {
    /// What the options that were opened here and not tried would do, if that is known.
    fn opened(&self) -> impl Iterator<Item = (TaskId, Option<Footprint>)> + '_ {
        self.wakeup.iter().map(|branch| {
            let step = branch.step;
            (step.task, Some(step).filter(|step| step.nth > 0))
        })
    }

    /// Begins with another option, in which others sleep. All of them are known to have been begun.
    fn begin_with(&mut self, who: TaskId, others: &[TaskId], asleep: &[Footprint]) {
        let What::Step { task, .. } = &mut self.what else { return };
        *task = who;
        self.sleep.truncate(self.slept as usize);
        self.sleep.extend_from_slice(asleep);
        self.wakeup.clear();
        self.wakeup.extend(others.iter().copied().map(Branch::free));
        self.watch = None;
    }
}

impl Reduced {
    /// What a step of the path did, if it did that with whatever values: the option of a point at which siblings may sleep on it.
    fn plain_step(&self, node: &Node, after: &[Node]) -> Option<Footprint> {
        let here = after.iter().take_while(|other| other.event == node.event);
        let during = |other: &Node| matches!(other.what, What::Value { during: true, .. });
        let valued = self.valued.iter().any(|(event, _)| *event == node.event);
        if valued || here.into_iter().any(during) {
            return None;
        }
        self.done_at(node.event).map(Footprint::with_any_values)
    }

    /// What a part has of the expansion.
    fn saved_part(&self, points: usize) -> SavedReduction {
        SavedReduction {
            gaps: raddle_trace::Gaps::default(),
            blocked: 0,
            done: vec![None; points],
            valued: Vec::new(),
            known: Vec::new(),
            values_touch_others: self.values_touch_others,
            filter: None,
        }
    }

    /// The search was restored to a path that was not run: its last option is taken.
    pub(super) fn take_last(&mut self, path: &[Node]) {
        let Some(node) = path.last() else { return };
        self.sleep_as_at(node);
        match &node.what {
            What::Step { .. } => self.guide.follow(None, true),
            What::Value { during, ways, .. } => self.guide.follow(ways.clone(), *during),
        }
    }

    /// See [`Divisible::begin_with`](raddle_engine::strategy::Divisible::begin_with).
    pub(super) fn begin_with_sibling(
        &mut self,
        last: &mut Node,
        sibling: &Sibling,
    ) -> Result<(), Unsupported> {
        let task = TaskId(sibling.task);
        if !matches!(&last.what, What::Step { options, .. } if options.contains(task)) {
            return Err(FOREIGN);
        }
        let read = |bytes: &Bytes| state::read("step", &Checkpoint(bytes.0.clone()));
        let asleep = sibling.asleep.iter().map(read).collect::<Result<Vec<Footprint>, _>>()?;
        let others: Vec<TaskId> = sibling.others.iter().copied().map(TaskId).collect();
        self.values_touch_others |= asleep.iter().any(|step| step.decided.touches_others);
        last.begin_with(task, &others, &asleep);
        self.take_last(std::slice::from_ref(last));
        Ok(())
    }
}

fn taken(points: &[Node]) -> Vec<Taken> {
    points.iter().map(|point| Taken { option: point.option(), of: point.of() }).collect()
}

fn decisions(points: &[Node]) -> Vec<(u32, u32)> {
    points.iter().map(|point| (point.option(), point.of())).collect()
}

impl Dpor {
    /// Gives away what was opened at the shallowest points. All of a point, so there may be more than `n` parts.
    pub(super) fn split_source(&mut self, n: usize) -> Vec<SearchPart> {
        let mut parts = Vec::new();
        if !self.has_run() {
            return parts;
        }
        self.expansion.entered.get_or_insert(self.path.floor);
        while parts.len() < n && self.path.floor < self.path.points().len() {
            let at = self.path.floor;
            match &self.path.points()[at].what {
                What::Value { .. } => parts.extend(self.give_values(at)),
                What::Step { .. } => self.give_options(at, &mut parts),
            }
            self.path.floor += 1;
            self.whole = false;
        }
        parts
    }

    /// The values that were not tried at a point, in one part.
    fn give_values(&mut self, at: usize) -> Option<SearchPart> {
        let mut points = self.path.points()[..=at].to_vec();
        let What::Value { left: own, .. } = &mut self.path.points_mut()[at].what else {
            return None;
        };
        own.clear();
        let What::Value { option, left, .. } = &mut points[at].what else { return None };
        if left.is_empty() {
            return None;
        }
        *option = left.remove(0);
        let state = self.save_part(&points, at, self.expansion.saved_part(points.len()));
        Some(SearchPart { prefix: taken(&points[..at]), state, spent: 0 })
    }

    /// The options that were opened at a point, a part for each; the point is shared from now on.
    fn give_options(&mut self, at: usize, parts: &mut Vec<SearchPart>) {
        let (node, after) = (&self.path.points()[at], &self.path.points()[at + 1..]);
        let What::Step { task, .. } = node.what else { return };
        let mut all = vec![(task, self.expansion.plain_step(node, after))];
        all.extend(node.opened());
        let tasks: Vec<TaskId> = all.iter().map(|(task, _)| *task).collect();
        let id = point_ids(&decisions(&self.path.points()[..=at])).last();
        let opened: Vec<Begun> =
            all.iter().map(|(task, step)| begun(*task, step.as_ref())).collect();
        for nth in 1..all.len() {
            let asleep: Vec<Footprint> = all[..nth].iter().filter_map(|(_, step)| *step).collect();
            let others: Vec<TaskId> =
                tasks.iter().copied().filter(|other| *other != tasks[nth]).collect();
            let mut points = self.path.points()[..=at].to_vec();
            // What was tried here before sleeps, too.
            let explored = points[at].sleep[points[at].slept as usize..].to_vec();
            let asleep: Vec<Footprint> = explored.into_iter().chain(asleep).collect();
            points[at].begin_with(tasks[nth], &others, &asleep);
            let state = self.save_part(&points, at + 1, self.expansion.saved_part(points.len()));
            parts.push(SearchPart { prefix: taken(&points), state, spent: 0 });
        }
        let mut begun = self.path.points()[at].explored();
        begun.extend(opened);
        self.expansion.shared.extend(id.map(|id| SharedPoint { id, begun }));
    }

    /// See [`Divisible::upwards`](raddle_engine::strategy::Divisible::upwards).
    pub(super) fn say_upwards(&mut self) -> Upwards {
        let wanted = std::mem::take(&mut self.expansion.requests);
        let mut requests: Vec<(usize, Request)> = Vec::new();
        for AtShared { at, initials, best, step } in wanted {
            let points = &self.path.points()[..=at];
            let What::Step { options, .. } = &points[at].what else { continue };
            let option = options.place_of(best).unwrap_or(0) as u32;
            let initials = initials.iter().map(|task| task.0).collect();
            let wanted = Wanted { initials, best: begun(best, step.as_ref()), option };
            if let Some((_, request)) = requests.iter_mut().find(|(other, _)| *other == at) {
                request.wanted.push(wanted);
                continue;
            }
            let state = self.save_part(points, at + 1, self.expansion.saved_part(points.len()));
            let request = Request {
                line: String::new(),
                seed: 0,
                prefix: decisions(points),
                state: Bytes(state.0),
                wanted: vec![wanted],
            };
            requests.push((at, request));
        }
        Upwards {
            shared: std::mem::take(&mut self.expansion.shared),
            requests: requests.into_iter().map(|(_, request)| request).collect(),
            learned: self.learned(),
            tasks: Vec::new(),
        }
    }

    /// What is known of the option that leads to this part.
    fn learned(&self) -> Option<(u64, Begun)> {
        let at = self.expansion.entered.unwrap_or(self.path.floor).checked_sub(1)?;
        let (node, after) = (self.path.points().get(at)?, &self.path.points()[at + 1..]);
        let What::Step { task, .. } = node.what else { return None };
        let step = self.expansion.plain_step(node, after)?;
        let id = point_ids(&decisions(&self.path.points()[..=at])).last()?;
        Some((id, begun(task, Some(&step))))
    }
}

impl Node {
    /// What was tried here before the option that is taken.
    fn explored(&self) -> Vec<Begun> {
        let mut all: Vec<Begun> = Vec::new();
        for step in &self.sleep[self.slept as usize..] {
            match all.iter_mut().find(|known| known.task == step.task.0) {
                Some(known) => known.steps.push(to_bytes(step)),
                None => all.push(begun(step.task, Some(step))),
            }
        }
        all
    }
}
