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
//! Errs: too low where it is not known whether an op could go on.

use std::collections::{BTreeMap, VecDeque};

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::Waits;

/// Places at which the search for the cheapest order gives up: then the core counts as cheap enough.
const MOST: usize = 20_000;

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

/// Events of which the cheapest order is looked for.
#[derive(Debug)]
pub(super) struct Core<'a> {
    history: &'a History,
    waits: &'a [[Waits; 2]],
    /// The number of events of each task.
    counts: Vec<u32>,
    last: Last,
}

impl<'a> Core<'a> {
    pub(super) fn new(
        history: &'a History,
        waits: &'a [[Waits; 2]],
        counts: Vec<u32>,
        last: Last,
    ) -> Self {
        Self { history, waits, counts, last }
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
        Some(Ops { touched, waits: self.waits[event] })
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
            Acquire, Append, Fit, Refused, Release, Share, Take, TryAcquire, TryFit, TryShare,
            TryTake, Unshare,
        };
        let certain = |(&(object, access), waits): (&(ObjectId, Access), Waits)| match (waits, access)
        {
            _ if object == ObjectId::NONE => true,
            (Waits::Lock, Acquire) | (_, Share) => counted && self.held(object, cut) == 0,
            // Others that take something, or add something, only make room for it, or a value.
            (_, Fit(places)) => counted && self.queued(object, cut) < i64::from(places),
            (_, Take) => counted && self.queued(object, cut) > 0,
            (Waits::Never, _)
            | (
                _,
                TryAcquire | Refused | Release | TryShare | Unshare | Append | TryFit(_) | TryTake,
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
            Access::Append | Access::Fit(_) | Access::TryFit(_) => 1,
            Access::Take | Access::TryTake => -1,
            _ => 0,
        })
    }

    /// Adds up what was done to an object.
    fn count(&self, object: ObjectId, cut: &[u32], worth: fn(Access) -> i64) -> i64 {
        let steps = cut.iter().enumerate().flat_map(|(lane, &ran)| (0..ran).map(move |at| (lane, at)));
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
        if at < self.end(lane) {
            return self.is_ready(lane, cut) || self.goes_on(&ops, cut, true);
        }
        self.goes_on(&ops, cut, true) && self.must_wait(lane, &ops, cut)
    }

    /// Whether an op that is not of the core must come after something that is and is yet to come.
    fn must_wait(&self, lane: usize, ops: &Ops, cut: &[u32]) -> bool {
        use Access::{Acquire, Append, Fit, Missed, Read, Take, TryAcquire, TryFit, TryTake, Write};
        let depends = |other: usize, at: u32| {
            if self.is_last(other, at) && !self.last.exact {
                return false;
            }
            let Some(theirs) = self.ops(other, at) else { return false };
            theirs.touched.iter().any(|&(object, access)| {
                let own = ops.touched.iter().filter(|(own, _)| *own == object);
                object != ObjectId::NONE
                    && own.copied().any(|(_, own)| {
                        matches!(
                            (own, access),
                            (Read | Missed | Write, Write)
                                | (Acquire, Acquire | TryAcquire)
                                | (Append | Fit(_), Append | Fit(_) | TryFit(_))
                                | (Take, Take | TryTake)
                        )
                    })
            })
        };
        (0..cut.len())
            .filter(|&other| other != lane)
            .any(|other| (cut[other]..self.end(other)).any(|at| depends(other, at)))
    }

    /// Whether an order of the core costs at most so much, or it takes too long to find out.
    pub(super) fn costs_at_most(&self, k: u32) -> bool {
        let width = self.counts.len();
        let ends: Vec<u32> = (0..width).map(|lane| self.end(lane)).collect();
        let mut seen: BTreeMap<(Vec<u32>, usize), u32> = BTreeMap::new();
        let mut queue = VecDeque::from([(vec![0_u32; width], TaskId::ROOT.index(), 0)]);
        while let Some((cut, running, cost)) = queue.pop_front() {
            if cut == ends || seen.len() > MOST {
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
