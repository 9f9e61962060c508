//! What a race opens at the state before its first step.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::Stuck;

use super::guide::Guide;
use super::units::{self, AtShared};
use super::{Node, Reduction, What};
use crate::races::{Later, Reversal};
use crate::sleep;
use crate::wakeup::{self, Branch, Key, Link, RecordedSteps};

/// Opens races in the nodes of a path.
pub(super) struct Opener<'a> {
    pub(super) reduction: Reduction,
    pub(super) reversal: &'a mut Reversal,
    pub(super) sequence: &'a mut Vec<Link>,
    pub(super) guide: &'a Guide,
    pub(super) stuck: &'a [Stuck],
    pub(super) path: &'a mut [Node],
    /// The first point of the path that may change, and what is wanted at those before it.
    pub(super) floor: usize,
    pub(super) requests: &'a mut Vec<AtShared>,
}

impl Opener<'_> {
    /// Opens what the race of the event at `first` with a later op asks for.
    pub(super) fn open(&mut self, history: &History, first: usize, later: &Later) {
        // Where there was one option no other task could have moved, so no sequence that reverses the race can begin there.
        let Some(at) = self.node_of(first) else { return };
        let node = &mut self.path[at];
        let mut later = *later;
        let access = |then: &[usize], step: &Footprint| node.access_after(history, then, step);
        if self.reduction == Reduction::Optimal {
            if !self.reversal.find_without_initials(history, first, &mut later, access) {
                return;
            }
            let last = later.step.as_ref();
            let mut sleepers = node.sleep.iter();
            // One that sleeps and could begin the sequence has it covered.
            if sleepers.any(|sleeper| self.reversal.begins(history, last, sleeper.task)) {
                return;
            }
            if !node.covers(history, &later, &self.reversal.then) {
                self.open_sequence(history, at, later);
            }
            return;
        }
        if !self.reversal.find(history, first, &mut later, access) {
            return;
        }
        // What was tried here itself is not left out: it covers what begins with it.
        let slept = |task: TaskId| sleep::contains(&node.sleep[..node.slept as usize], task);
        self.reversal.leave_out_sleepers(history, later.step.as_ref(), slept);
        let initials = &self.reversal.initials;
        // A sleeper that can begin the sequence: all that begins with its step was run, so this was.
        if node.sleep.iter().any(|sleeper| initials.contains(&sleeper.task)) {
            return;
        }
        let (reversal, guide) = (&*self.reversal, self.guide);
        let objects = node.objects;
        let step = |task| units::first_step(history, guide, reversal, objects, task);
        if at < self.floor {
            if let Some(new) = AtShared::new(at, node, initials, &later, step) {
                units::request(self.requests, new);
            }
            return;
        }
        node.open_initial(initials, &later, step);
        if self.reduction == Reduction::Classic {
            node.open_racing(&later);
        }
    }

    /// The node at which an event was decided; none if there was no choice.
    fn node_of(&self, event: usize) -> Option<usize> {
        let at = self.path.partition_point(|node| (node.event as usize) < event);
        // Values decided before the step stand at the same event.
        (at..self.path.len())
            .take_while(|&at| self.path[at].event as usize == event)
            .find(|&at| matches!(self.path[at].what, What::Step { .. }))
    }

    /// The whole sequence goes into the wakeup tree.
    fn open_sequence(&mut self, history: &History, at: usize, later: Later) {
        let mut last = later.step;
        // An op that did not run has no number among the events of its task: it is the one it would get.
        if let Some(step) = last.as_mut().filter(|_| !later.ran) {
            step.nth = history.events_before(step.task, later.index) + 1;
        }
        self.sequence.clear();
        let link = |&event: &usize| {
            let task = history.event(event).footprint.task;
            Link { task, number: event as u32 }
        };
        self.sequence.extend(self.reversal.then.iter().map(link));
        self.sequence.extend(last.map(|last| Link { task: last.task, number: LAST }));
        let node = &mut self.path[at];
        let objects = node.objects;
        // Where it was announced does not hang on what it then came after.
        let announced = match later.instead {
            Some(_) => None,
            None if later.ran => Some(history.event(later.index).announced),
            None => last.and_then(|step| history.next_announcement(step.task)),
        };
        let found =
            InHistory { history, guide: self.guide, stuck: self.stuck, last, announced, objects };
        let What::Step { options, .. } = &node.what else { return };
        let can_begin = |link: &Link| options.contains(link.task);
        // A sequence that cannot begin here would only be lost where it is followed (`Guide::lead`).
        if self.sequence.first().is_some_and(can_begin) {
            wakeup::insert(&mut node.wakeup, self.sequence, &found);
        }
    }
}

impl Node {
    /// Whether a sleeper that no step of the sequence depends on covers it. Only if what is opened is the whole sequence, and not by a sleeper that
    /// has [outlasted](Node::outlasted) a sequence.
    ///
    /// Why a sleeper `p` covers a sequence `v`: everything after `p v` has been run. Where a step `e` could come instead of `p`, the two
    /// race, so that `v e` was inserted at the point at which `p` was tried. If a branch `b` of that point begins `v e` and leaves
    /// open what follows, `v e` is dropped, because what follows `b` includes it. So what follows `b` must not leave `v` to `p` in
    /// turn. A sequence wakes the sleepers as long as it does what it was inserted for. One that was inserted in doubt
    /// ([`Branch::unless`]), or whose last step does less than it might, may leave some: such a `p` has outlasted `b`. One of 82 traces was lost of three waits with
    /// timeouts beside one that could also wake for no reason.
    fn covers(&self, history: &History, later: &Later, then: &[usize]) -> bool {
        let from = self.outlasted as usize;
        let event = |&event: &usize| history.event(event).footprint;
        let covers = |sleeper: &Footprint| {
            later.step.is_none_or(|last| !last.dependent(sleeper))
                && then.iter().map(event).all(|step| !step.dependent(sleeper))
        };
        // With all the values that it was tried with.
        let whole = |sleeper: &Footprint| {
            let alike = self.sleep.iter().filter(|other| other.task == sleeper.task);
            alike.into_iter().all(covers)
        };
        // What a sleeper spent may be what the sequence, or what follows it, needs.
        let free = self.sleep[from..].iter().filter(|sleeper| !sleeper.decided.spent);
        free.into_iter().any(|sleeper| covers(sleeper) && whole(sleeper))
    }

    /// What a step that came later would do to its object after these events, if that is known: its task has
    /// not moved since this point and its object has not changed, so it does what it would have done here.
    fn access_after(&self, history: &History, then: &[usize], step: &Footprint) -> Option<Access> {
        let object = step.touched[0].0;
        let What::Step { options, .. } = &self.what else { return None };
        let same = |&event: &usize| {
            let earlier = &history.event(event).footprint;
            let changes = |(o, a): &(ObjectId, Access)| *o == object && a.changes();
            earlier.task != step.task && !earlier.touched.iter().any(changes)
        };
        let access = options[options.place_of(step.task)?].access?;
        then.iter().all(same).then_some(access)
    }

    /// A task that can begin the sequence, unless one that can is opened already; the racing one if it can.
    /// `step`: what that task would do here, if it is known.
    fn open_initial(
        &mut self,
        initials: &[TaskId],
        later: &Later,
        step: impl FnOnce(TaskId) -> Option<Footprint>,
    ) {
        let What::Step { task, options } = &self.what else { return };
        let opened = |who: &TaskId| {
            *who == *task || self.wakeup.iter().any(|branch| branch.step.task == *who)
        };
        if initials.iter().any(opened) {
            return;
        }
        let mut can = initials.iter().copied().filter(|who| options.contains(*who));
        // Any initial is sound. The racing task reverses the race at once, the others only after some steps.
        let racing = |who: &TaskId| later.step.is_some_and(|step| step.task == *who);
        if let Some(task) = can.clone().find(racing).or_else(|| can.next()) {
            let mut branch = Branch::free(task);
            if let Some(step) = step(task) {
                branch.step = step;
            }
            self.wakeup.push(branch);
        }
    }

    /// The racing task, if it could move, whatever it would do there. It need not be one that can begin the
    /// sequence.
    fn open_racing(&mut self, later: &Later) {
        let What::Step { task, options } = &self.what else { return };
        let opened = |who: TaskId| {
            who == *task
                || sleep::contains(&self.sleep, who)
                || self.wakeup.iter().any(|branch| branch.step.task == who)
        };
        let racing = later.step.map(|step| step.task);
        if let Some(who) = racing.filter(|who| options.contains(*who) && !opened(*who)) {
            self.wakeup.push(Branch::free(who));
        }
    }
}

/// Of a sequence's last step, which is not an event of the execution.
const LAST: u32 = u32::MAX;

/// A sequence of events of the last execution.
struct InHistory<'a> {
    history: &'a History,
    guide: &'a Guide,
    stuck: &'a [Stuck],
    last: Option<Footprint>,
    /// The last step as it was announced.
    announced: Option<u64>,
    objects: u32,
}

impl RecordedSteps for InHistory<'_> {
    fn step(&self, link: u32) -> &Footprint {
        match &self.last {
            Some(last) if link == LAST => last,
            _ => &self.history.event(link as usize).footprint,
        }
    }

    fn values(&self, link: u32) -> Option<Box<[u32]>> {
        (link != LAST).then(|| self.guide.values_of(link))
    }

    fn objects(&self) -> u32 {
        self.objects
    }

    fn key(&self, link: u32) -> Key {
        if link == LAST {
            return Key { event: 0, announced: self.announced.unwrap_or(0) };
        }
        let event = self.history.event(link as usize);
        Key { event: event.fingerprint, announced: event.announced }
    }

    fn touched(&self, op: &Footprint, announced: u64) -> Option<[ObjectId; 2]> {
        let Footprint { task, nth, .. } = *op;
        let (here, touched) = if let Some(event) = self.history.event_of(task, nth) {
            (event.announced, event.footprint.touched)
        } else {
            let stuck = self.stuck.iter().find(|stuck| stuck.task == task)?;
            let next = nth == self.history.events_of(task) + 1;
            (self.history.next_announcement(task).filter(|_| next)?, stuck.footprint)
        };
        // An op that waits may have announced less than it touches in the end.
        let alike =
            op.touched.iter().zip(&touched).all(|((own, _), (object, _))| {
                (*own == ObjectId::NONE) == (*object == ObjectId::NONE)
            });
        (here == announced && alike).then(|| touched.map(|(object, _)| object))
    }
}
