//! Where in an execution another task's step would hurt, by the patterns that such bugs have.
//!
//! Two kinds of window, both seen in the execution that makes a candidate known (as the bug patterns of
//! Farchi, Nir and Ur, IPDPS 2003, and of Lu, Park, Seo and Zhou, ASPLOS 2008, say that they are common):
//!
//! - *check, then act*: from where a task looks at an object (reads it, or tries and is refused) to where it
//!   next changes it. A candidate breaks into it if its task, one of the others, changes the object in one of
//!   its next [`NEAR`] steps;
//! - *lock order*: from where a task takes a lock to where it takes another one while it holds the first. A
//!   candidate breaks into it if its task, one of the others, is about to take the second lock, and later takes
//!   the first while it holds that.
//!
//! Misses: windows that the execution does not show, because it went another way. Overreports: looks on which
//! nothing hangs. Both only change the order.

use std::collections::BTreeMap;

use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::Step;

use super::priority::Window;

/// So many steps after it was left a task may still break into a window.
const NEAR: usize = 4;
/// So many windows of one object are looked at.
const MAX_WINDOWS: usize = 16;

/// A task is in it for the steps after `from` up to `to`.
#[derive(Clone, Copy, Debug)]
struct Span {
    task: TaskId,
    from: u32,
    to: u32,
}

impl Span {
    /// Whether the step with this number would come into it.
    fn contains(&self, event: u32) -> bool {
        self.from < event && event <= self.to
    }
}

/// A lock that was taken while another one was held.
#[derive(Clone, Copy, Debug)]
struct Nested {
    held: ObjectId,
    taken: ObjectId,
    span: Span,
}

/// The windows of an execution.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The steps so far: who, and what they did to what.
    steps: Vec<(TaskId, [(ObjectId, Access); 2])>,
    /// How many there were before each new point.
    points: Vec<u32>,
    /// Where the steps of each task are.
    of_task: BTreeMap<TaskId, Vec<u32>>,
    /// By object, in the order of their ends.
    acts: BTreeMap<ObjectId, Vec<Span>>,
    nested: Vec<Nested>,
}

const NOTHING: (ObjectId, Access) = (ObjectId::NONE, Access::Yield);

fn looks(access: Access) -> bool {
    matches!(access, Access::Read | Access::FailedUpdate | Access::Refused)
}

fn takes(access: Access) -> bool {
    matches!(access, Access::Acquire | Access::TryAcquire)
}

impl Windows {
    pub(super) fn begin(&mut self) {
        self.steps.clear();
        self.points.clear();
    }

    pub(super) fn point(&mut self) {
        self.points.push(self.steps.len() as u32);
    }

    pub(super) fn step(&mut self, step: &Step<'_>) {
        let mut touched = [NOTHING; 2];
        for (to, from) in touched.iter_mut().zip(step.footprint) {
            *to = *from;
        }
        self.steps.push((step.task, touched));
    }

    /// The execution has ended: finds its windows.
    pub(super) fn find(&mut self) {
        self.of_task.clear();
        self.acts.clear();
        self.nested.clear();
        let mut looked = BTreeMap::<(TaskId, ObjectId), u32>::new();
        let mut held = BTreeMap::<TaskId, Vec<(ObjectId, u32)>>::new();
        for (at, (task, touched)) in self.steps.iter().enumerate() {
            let (at, task) = (at as u32, *task);
            self.of_task.entry(task).or_default().push(at);
            for &(object, access) in touched.iter().filter(|(object, _)| *object != ObjectId::NONE)
            {
                if looks(access) {
                    // A later look replaces the earlier one: the act depends on what was seen last.
                    looked.insert((task, object), at);
                // A change that the task did not look before is no check-then-act.
                } else if access.changes()
                    && let Some(from) = looked.remove(&(task, object))
                {
                    self.acts.entry(object).or_default().push(Span { task, from, to: at });
                }
                let held = held.entry(task).or_default();
                if takes(access) {
                    let span = |from| Span { task, from, to: at };
                    // One pair for each lock that it holds: an order of three locks is three pairs.
                    let nested = held.iter().map(|&(lock, from)| Nested {
                        held: lock,
                        taken: object,
                        span: span(from),
                    });
                    self.nested.extend(nested);
                    held.push((object, at));
                } else if access == Access::Release {
                    held.retain(|(lock, _)| *lock != object);
                }
            }
        }
    }

    /// Whether a task that moves at a new point would break into a window of another one.
    pub(super) fn broken(&self, point: usize, task: TaskId) -> Window {
        let Some(&event) = self.points.get(point) else { return Window::None };
        let Some(own) = self.of_task.get(&task) else { return Window::None };
        // What the task did after this point in the execution that was seen stands for what it would do now.
        let next = own.partition_point(|&at| at < event);
        let Some(&first) = own.get(next) else { return Window::None };
        let open = |span: &Span| span.task != task && span.contains(event);
        // Both orders of the two locks must be there: the other task holds one and is about to take the second, and this one
        // takes them the other way round. Otherwise it would only wait.
        let wants = |nested: &Nested| {
            let (_, touched) = &self.steps[first as usize];
            open(&nested.span)
                && touched.iter().any(|&(lock, access)| takes(access) && lock == nested.taken)
                && self.nested.iter().any(|back| {
                    back.span.task == task
                        && back.span.from >= event
                        && (back.held, back.taken) == (nested.taken, nested.held)
                })
        };
        if self.nested.iter().any(wants) {
            return Window::LockOrder;
        }
        let near = own[next..].iter().take(NEAR).map(|&at| &self.steps[at as usize].1);
        let breaks = |&(object, access): &(ObjectId, Access)| {
            let Some(spans) = self.acts.get(&object).filter(|_| access.changes()) else {
                return false;
            };
            // Those that ended before the point cannot be broken into; the rest is in the order of their ends.
            let from = spans.partition_point(|span| span.to < event);
            spans[from..].iter().take(MAX_WINDOWS).any(open)
        };
        // Some steps ahead, since a task seldom is about to change the object at the very point at which it could be let go.
        if near.flatten().any(breaks) { Window::CheckThenAct } else { Window::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: ObjectId = ObjectId(0);
    const RIGHT: ObjectId = ObjectId(1);

    /// The steps of an execution, with a point before each.
    fn windows(steps: &[(u32, ObjectId, Access)]) -> Windows {
        let mut windows = Windows::default();
        for &(task, object, access) in steps {
            windows.point();
            windows.steps.push((TaskId(task), [(object, access), NOTHING]));
        }
        windows.find();
        windows
    }

    /// What a task would break into at each point.
    fn broken(windows: &Windows, task: u32) -> Vec<Window> {
        (0..windows.points.len()).map(|at| windows.broken(at, TaskId(task))).collect()
    }

    use Access::{Acquire, Read, Release, Write};
    use Window::{CheckThenAct, LockOrder, None};

    #[test]
    fn a_change_between_a_look_and_an_act_breaks_in() {
        let steps = [(1, LEFT, Read), (1, RIGHT, Read), (1, LEFT, Write), (1, RIGHT, Read)];
        let others = [(2, RIGHT, Read), (2, LEFT, Write)];
        let all: Vec<_> = steps.into_iter().chain(others).collect();
        let found = windows(&all);
        assert_eq!(broken(&found, 2), [None, CheckThenAct, CheckThenAct, None, None, None]);
        assert_eq!(broken(&found, 1), [None; 6], "its own window");
        assert_eq!(broken(&found, 3), [None; 6], "who does nothing breaks nothing");
    }

    #[test]
    fn a_look_alone_breaks_nothing() {
        let found = windows(&[(1, LEFT, Read), (1, LEFT, Write), (2, LEFT, Read)]);
        assert_eq!(broken(&found, 2), [None; 3]);
    }

    #[test]
    fn a_change_that_is_far_off_breaks_nothing() {
        let far = std::iter::repeat_n((2, RIGHT, Read), NEAR);
        let steps = [(1, LEFT, Read), (1, LEFT, Write)].into_iter().chain(far);
        let found = windows(&steps.chain([(2, LEFT, Write)]).collect::<Vec<_>>());
        assert_eq!(broken(&found, 2), [None; 7]);
    }

    // A task that comes between the two of the first one waits for the first lock, and the first for the second.
    #[test]
    fn locks_in_the_other_order_break_in() {
        let steps = |task, first, second| {
            [(task, first, Acquire), (task, second, Acquire), (task, second, Release)]
                .into_iter()
                .chain([(task, first, Release)])
        };
        let both: Vec<_> = steps(1, LEFT, RIGHT).chain(steps(2, RIGHT, LEFT)).collect();
        let found = broken(&windows(&both), 2);
        assert_eq!(found, [None, LockOrder, None, None, None, None, None, None]);
        let same: Vec<_> = steps(1, LEFT, RIGHT).chain(steps(2, LEFT, RIGHT)).collect();
        assert_eq!(broken(&windows(&same), 2), [None; 8]);
    }
}
