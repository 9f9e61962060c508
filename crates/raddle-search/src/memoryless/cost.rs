//! The fewest preemptions of any execution that contains given events: a lower bound, never too high.
//!
//! A *core* is a set of events of an execution with all that happened before them, and one step more, the last. Of all orders
//! of a core that respect happens-before, one has the fewest preemptions; an execution that contains the core
//! has no fewer. To leave a task costs one where its next op could certainly go on there, and
//! - that op is of the core; or
//! - it is not, but would come before an event of the core that is yet to come and on which it depends. Then it would
//!   have happened before that event, and be of the core.
//!
//! Why no execution that contains the core is cheaper: whether an op can go on hangs on events on its objects alone, those
//! that conflict with it are before it or after it, and those before an event of the core are of the core. So at the
//! moment at which that execution leaves the task, the op is as it is here.
//!
//! An op could certainly go on where all that is before it has run, where it never waits, where a count of what was done to its
//! object says so, and where its objects are as they were when it ran: what changed them by then has run, and
//! nothing else that changes them.
//!
//! Errs: too low where it is not known whether an op could go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle_engine::dependence::{Footprint, conflict};
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::Waits;

/// Places at which the search for the cheapest order gives up: then the core counts as cheap enough.
const MAX_PLACES: usize = 20_000;

/// The last step of a core.
#[derive(Debug)]
pub(super) struct Last {
    pub(super) step: Footprint,
    pub(super) waits: [Waits; 2],
    /// How many events of each task are before it.
    pub(super) needs: Vec<u32>,
    /// Whether that is all that is before it, and what it does is known. If not, it may be that it waits, and that
    /// nothing depends on it.
    pub(super) exact: bool,
}

/// What an op touches.
#[derive(Clone, Copy, Debug)]
struct Ops {
    touched: [(ObjectId, Access); 2],
    waits: [Waits; 2],
}

/// An execution, as cores look at it.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    history: &'a History,
    /// Which ops on what each event touched wait.
    waits: &'a [[Waits; 2]],
    /// The events that changed each object, in order.
    changes: BTreeMap<ObjectId, Vec<usize>>,
    /// The events with values, in them or after them: another one may have been decided elsewhere.
    decided: BTreeSet<usize>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(
        history: &'a History,
        waits: &'a [[Waits; 2]],
        values: &[(usize, u32)],
    ) -> Self {
        let decided = values.iter().map(|(event, _)| *event).collect();
        let mut changes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for event in 0..history.len() {
            for (object, access) in history.event(event).footprint.touched {
                if object != ObjectId::NONE && access.changes() {
                    changes.entry(object).or_default().push(event);
                }
            }
        }
        Self { history, waits, changes, decided }
    }
}

/// Events of which the cheapest order is looked for.
#[derive(Debug)]
pub(super) struct Core<'a> {
    seen: &'a Seen<'a>,
    history: &'a History,
    /// The number of events of each task.
    counts: Vec<u32>,
    last: Last,
}

impl<'a> Core<'a> {
    pub(super) fn new(seen: &'a Seen<'a>, counts: Vec<u32>, last: Last) -> Self {
        Self { seen, history: seen.history, counts, last }
    }

    fn is_last(&self, lane: usize, at: u32) -> bool {
        lane == self.last.step.task.index() && at == self.counts[lane]
    }

    /// The event of a lane after its first `at`; none if there is none, or it is the last step.
    fn event(&self, lane: usize, at: u32) -> Option<usize> {
        let own = lane == self.last.step.task.index() && at >= self.counts[lane];
        if own { None } else { self.history.index_of(TaskId(lane as u32), at + 1) }
    }

    fn ops(&self, lane: usize, at: u32) -> Option<Ops> {
        if self.is_last(lane, at) {
            return Some(Ops { touched: self.last.step.touched, waits: self.last.waits });
        }
        let event = self.event(lane, at)?;
        let touched = self.history.event(event).footprint.touched;
        Some(Ops { touched, waits: self.seen.waits[event] })
    }

    /// How many steps of a lane are of the core.
    fn end(&self, lane: usize) -> u32 {
        self.counts[lane] + u32::from(lane == self.last.step.task.index())
    }

    /// Whether all that is before the next step of a lane has run.
    fn is_ready(&self, lane: usize, cut: &[u32]) -> bool {
        let needs = if self.is_last(lane, cut[lane]) {
            &self.last.needs[..]
        } else {
            self.event(lane, cut[lane]).map_or(&[][..], |event| self.history.clock(event))
        };
        needs.iter().zip(cut).enumerate().all(|(at, (needs, ran))| at == lane || ran >= needs)
    }

    /// Whether an op could certainly go on. `counted`: what happened to a lock before it is of the core.
    fn goes_on(&self, ops: &Ops, cut: &[u32], counted: bool) -> bool {
        use Access::{
            Acquire, Append, BoundedPush, Refused, Release, Share, Take, TryAcquire,
            TryBoundedPush, TryShare, TryTake, Unshare,
        };
        let certain =
            |(&(object, access), waits): (&(ObjectId, Access), Waits)| match (waits, access) {
                _ if object == ObjectId::NONE => true,
                (Waits::Lock, Acquire) | (_, Share) => counted && self.held(object, cut) == 0,
                // Others that take something, or add something, only make room for it, or a value.
                (_, BoundedPush(places)) => counted && self.queued(object, cut) < i64::from(places),
                (_, Take) => counted && self.queued(object, cut) > 0,
                (Waits::Never, _)
                | (
                    _,
                    TryAcquire | Refused | Release | TryShare | Unshare | Append
                    | TryBoundedPush(_) | TryTake,
                ) => true,
                _ => false,
            };
        ops.touched[0].0 != ObjectId::NONE && ops.touched.iter().zip(ops.waits).all(certain)
    }

    /// How many tasks have a lock for themselves.
    fn held(&self, lock: ObjectId, cut: &[u32]) -> i64 {
        self.count(lock, cut, |access| match access {
            Access::Acquire | Access::TryAcquire => 1,
            Access::Release => -1,
            _ => 0,
        })
    }

    /// How many values a queue has.
    fn queued(&self, queue: ObjectId, cut: &[u32]) -> i64 {
        self.count(queue, cut, |access| match access {
            Access::Append | Access::BoundedPush(_) | Access::TryBoundedPush(_) => 1,
            Access::Take | Access::TryTake => -1,
            _ => 0,
        })
    }

    /// Adds up what was done to an object.
    fn count(&self, object: ObjectId, cut: &[u32], worth: fn(Access) -> i64) -> i64 {
        let steps =
            cut.iter().enumerate().flat_map(|(lane, &ran)| (0..ran).map(move |at| (lane, at)));
        let ops = steps.filter_map(|(lane, at)| self.ops(lane, at));
        let touched = ops.flat_map(|ops| ops.touched).filter(|(other, _)| *other == object);
        touched.map(|(_, access)| worth(access)).sum()
    }

    /// Whether it certainly is a preemption to leave a lane.
    fn preempts(&self, lane: usize, cut: &[u32]) -> bool {
        let at = cut[lane];
        let Some(ops) = self.ops(lane, at) else { return false };
        if self.is_last(lane, at) && !self.last.exact {
            return self.goes_on(&ops, cut, false);
        }
        let goes_on = self.goes_on(&ops, cut, true);
        let event = self.event(lane, at);
        if at < self.end(lane) {
            let conflicts = ops.touched.iter().all(|(_, access)| conflicts_with_changes(*access));
            let same = || conflicts && event.is_some_and(|event| self.is_as_it_was(event, cut));
            return self.is_ready(lane, cut) || goes_on || same();
        }
        // What is not of the core may have changed any other object that the op touches.
        let is_alone = ops.touched[1].0 == ObjectId::NONE;
        is_alone && goes_on && self.must_wait(lane, cut, |other| depends(&ops, &other))
            || is_alone
                && event.is_some_and(|event| self.is_as_it_was(event, cut))
                && self.must_wait(lane, cut, |other| meets(&ops, &other))
            || self.runs_into(lane, cut)
    }

    /// Whether a lane certainly comes, by itself, to an op that must wait for the core and could go on.
    ///
    /// The task that an execution begins with does until it is first left, while nothing else has run, what it did. Any
    /// other may have been kept from that by what is not of the core and ran before it: of such a task no more
    /// is known than that ops which tell it nothing do not change its way.
    fn runs_into(&self, lane: usize, cut: &[u32]) -> bool {
        let first = lane == TaskId::ROOT.index()
            && cut.iter().enumerate().all(|(other, &ran)| other == lane || ran == 0);
        let mut cut = cut.to_vec();
        while let Some(event) = self.event(lane, cut[lane])
            && self.is_as_it_was(event, &cut)
            && let Some(ops) = self.ops(lane, cut[lane])
        {
            let waits = |other: Ops| depends(&ops, &other) || meets(&ops, &other);
            let is_alone = ops.touched[1].0 == ObjectId::NONE;
            if (first || is_alone) && self.must_wait(lane, &cut, waits) {
                return true;
            }
            let tells_nothing =
                is_alone && matches!(ops.touched[0].1, Access::Release | Access::Unshare);
            if self.seen.decided.contains(&event) || !first && !tells_nothing {
                return false;
            }
            cut[lane] += 1;
        }
        false
    }

    /// Whether the objects of an event are as they were when it happened.
    fn is_as_it_was(&self, event: usize, cut: &[u32]) -> bool {
        let happened = self.history.event(event);
        let own = self.last.step.task.index();
        let has_last = cut[own] > self.counts[own];
        let ran = |event: usize| {
            let other = self.history.event(event);
            let lane = other.footprint.task.index();
            // The last step may be an event of its own task, elsewhere.
            let of_core = lane != own || other.nth <= self.counts[own];
            of_core && cut.get(lane).is_some_and(|&ran| ran >= other.nth)
        };
        let as_it_was = |object: ObjectId| {
            let changed = self.seen.changes.get(&object).map_or(&[][..], Vec::as_slice);
            let moved =
                has_last && self.last.step.touched.iter().any(|(other, _)| *other == object);
            !moved && changed.iter().all(|&other| other == event || ran(other) == (other < event))
        };
        let mut objects = happened.footprint.touched.iter().map(|(object, _)| *object);
        !happened.immediate
            && happened.footprint.touched[0].0 != ObjectId::NONE
            && objects.all(|object| object == ObjectId::NONE || as_it_was(object))
    }

    /// Whether an op that is not of the core must come after something that is, is yet to come and depends on it.
    fn must_wait(&self, lane: usize, cut: &[u32], depends: impl Fn(Ops) -> bool) -> bool {
        let steps = |other: usize| (cut[other]..self.end(other)).map(move |at| (other, at));
        (0..cut.len())
            .filter(|&other| other != lane)
            .flat_map(steps)
            .filter(|&(other, at)| self.last.exact || !self.is_last(other, at))
            .any(|(other, at)| self.ops(other, at).is_some_and(&depends))
    }

    /// Whether an order of the core costs at most so much, or it takes too long to find out.
    pub(super) fn costs_at_most(&self, k: u32) -> bool {
        let width = self.counts.len();
        let ends: Vec<u32> = (0..width).map(|lane| self.end(lane)).collect();
        let mut seen: BTreeMap<(Vec<u32>, usize), u32> = BTreeMap::new();
        let mut queue = VecDeque::from([(vec![0_u32; width], TaskId::ROOT.index(), 0)]);
        while let Some((cut, running, cost)) = queue.pop_front() {
            if cut == ends || seen.len() > MAX_PLACES {
                return true;
            }
            let key = (cut, running);
            if seen.get(&key).is_some_and(|&before| before <= cost) {
                continue;
            }
            let cut = key.0.clone();
            seen.insert(key, cost);
            let price = u32::from(self.preempts(running, &cut));
            for lane in (0..width).filter(|&lane| cut[lane] < ends[lane]) {
                if !self.is_ready(lane, &cut) {
                    continue;
                }
                let mut next = cut.clone();
                next[lane] += 1;
                if lane == running || price == 0 {
                    queue.push_front((next, lane, cost));
                } else if cost < k {
                    queue.push_back((next, lane, cost + 1));
                }
            }
        }
        false
    }
}

/// The accesses of two ops on one object.
fn shared<'a>(one: &'a Ops, other: &'a Ops) -> impl Iterator<Item = (Access, Access)> + 'a {
    one.touched.iter().filter(|(object, _)| *object != ObjectId::NONE).flat_map(
        |(object, access)| {
            let theirs = other.touched.iter().filter(move |(theirs, _)| theirs == object);
            theirs.map(|(_, theirs)| (*access, *theirs))
        },
    )
}

/// Whether an op depends on another one whatever it does there.
fn depends(ops: &Ops, other: &Ops) -> bool {
    use Access::{
        Acquire, Append, BoundedPush, FailedUpdate, Read, Refused, Release, Share, Take,
        TryAcquire, TryBoundedPush, TryShare, TryTake, Unshare, Write,
    };
    shared(ops, other).any(|pair| {
        matches!(
            pair,
            (Read | FailedUpdate | Write, Write)
                | (Acquire | Share | TryAcquire | TryShare | Refused, Acquire | TryAcquire)
                | (TryAcquire, Release | Share | TryShare | Unshare)
                | (
                    Append | BoundedPush(_) | TryBoundedPush(_),
                    Append | BoundedPush(_) | TryBoundedPush(_)
                )
                | (Take | TryTake, Take | TryTake)
        )
    })
}

/// Whether an op depends on another one if it does what it did, and all that changes their object depends on that one.
fn meets(ops: &Ops, other: &Ops) -> bool {
    let all = other.touched.iter().all(|(_, access)| conflicts_with_changes(*access));
    all && shared(ops, other).any(|(own, theirs)| conflict(own, theirs))
}

/// Whether all that changes an object conflicts with this access to it.
fn conflicts_with_changes(access: Access) -> bool {
    use Access::{
        Acquire, FailedUpdate, PassGate, Read, Refused, Release, TryAcquire, Write, Yield,
    };
    // A yield is what stands where nothing is touched.
    matches!(
        access,
        Write | Acquire | TryAcquire | Release | Read | FailedUpdate | Refused | PassGate | Yield
    )
}
