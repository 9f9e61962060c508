//! Passive tasks: lanes without code of their own. Their steps are run by whoever asks who moves.
//!
//! The messages from one actor to another are such a lane: each step hands one to the receiver, whose
//! handler runs to its end. A handler is one step, so it needs no stack that could be left and come
//! back to. It runs on the stack of the task that waits, or on the host's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use raddle_trace::{LimitKind, TaskKind};

use super::{Cancelled, Ending, Execution, How, busy};
use crate::op::{Access, ObjectId, TaskId};
use crate::panics;
use crate::task::{State, Task, TaskPanic};

/// What the steps of passive tasks do.
pub trait Work: Send + Sync {
    /// Takes the next step of the passive task with this token.
    fn work(&self, token: u32) -> Worked;

    /// The step has been counted: now others can be enabled by it, or disabled.
    fn worked(self: Arc<Self>, token: u32);

    /// The last step as a person reads it.
    fn show(&self) -> String;
}

/// What a step of a passive task touched.
#[derive(Clone, Copy, Debug)]
pub struct Worked {
    /// First what the task had announced.
    pub touched: [(ObjectId, Access); 2],
    /// See [`Step::also`](crate::strategy::Step::also).
    pub also: u64,
    /// See [`Step::sent_by`](crate::strategy::Step::sent_by).
    pub sent_by: Option<u64>,
    /// Where the message was sent.
    pub site: &'static Location<'static>,
}

/// The part of a task that only passive ones have.
pub(crate) struct Passive {
    pub(crate) work: Arc<dyn Work>,
    pub(crate) token: u32,
    /// What its next step will act on.
    pub(crate) object: ObjectId,
}

impl std::fmt::Debug for Passive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passive").field("token", &self.token).finish_non_exhaustive()
    }
}

impl Execution {
    /// A new passive task, made by the current one. Its name is its key.
    pub(crate) fn create_passive(
        &mut self,
        key: u64,
        label: impl FnOnce() -> Arc<str>,
        passive: Passive,
        site: &'static Location<'static>,
    ) -> Option<TaskId> {
        if self.created.len() >= self.limits.tasks as usize {
            self.end(Ending::Limit(LimitKind::Tasks));
            return None;
        }
        let live = |id: TaskId| {
            self.tasks.get(id.index()).is_some_and(|task| {
                task.state != State::Absent
                    && self.created.get(task.seq as usize).is_some_and(|&known| known == id)
            })
        };
        let id = self.names.intern_key(key, live);
        self.enter(self.current, id, TaskKind::Environment);
        let wanted = self.recorder.is_some() || self.needs.labels;
        let entry = self.task_mut(id);
        entry.fiber = std::ptr::null_mut();
        entry.passive = Some(passive);
        entry.site = site;
        if wanted {
            entry.label = Some(label());
        }
        Some(id)
    }

    /// The chosen one is a passive task: its step is taken here and now.
    ///
    /// # Safety
    /// As for [`ask`](Self::ask).
    pub(super) unsafe fn work(ex: *mut Self, task: TaskId) {
        // SAFETY: by contract; no borrow of the execution is held while user code runs, and tasks are
        // boxed.
        unsafe {
            let entry: *mut Task = &raw mut *(&mut (*ex).tasks)[task.index()];
            let Some(Passive { work, token, .. }) = &(*entry).passive else {
                unreachable!("engine bug: a task without code was chosen")
            };
            let (work, token) = (Arc::clone(work), *token);
            let (current, me) = ((*ex).current, (*ex).me);
            let starting = (*ex).busy & busy::STARTING;
            (*ex).current = task;
            (*ex).me = entry;
            (*ex).busy = (*ex).busy & !busy::STARTING | busy::WORKING;
            let result = catch_unwind(AssertUnwindSafe(|| work.work(token)));
            (*ex).busy = (*ex).busy & !busy::WORKING | starting;
            match result {
                Ok(Worked { touched, also, sent_by, site }) if (*ex).ending.is_none() => {
                    ((*entry).also, (*entry).sent_by) = (also, sent_by);
                    Self::commit(ex, task, &touched, site, How::Step, || work.show());
                    ((*entry).also, (*entry).sent_by) = (0, None);
                    work.worked(token);
                }
                Ok(_) => {}
                Err(payload) => Self::work_failed(ex, task, &*payload),
            }
            (*ex).current = current;
            (*ex).me = me;
        }
    }

    #[cold]
    unsafe fn work_failed(ex: *mut Self, task: TaskId, payload: &(dyn Any + Send)) {
        // SAFETY: as in `work`.
        unsafe {
            if payload.is::<Cancelled>() {
                return;
            }
            let message = panics::message(payload);
            let site = panics::take_site();
            let entry = (*ex).task(task);
            let object = entry.passive.as_ref().map_or(ObjectId::NONE, |passive| passive.object);
            let at = entry.site;
            let touched = [(object, Access::Write), crate::op::NOTHING];
            // The step that failed is the last one of the trace.
            Self::commit(ex, task, &touched, at, How::Step, || {
                let work = (*ex).task(task).passive.as_ref();
                work.map_or_else(String::new, |passive| passive.work.show())
            });
            let step = (*ex).n_steps;
            (*ex).task_mut(task).panic = Some(TaskPanic { message, site, taken: false, step });
            (*ex).end(Ending::BodyPanicked);
        }
    }

    /// The number of the step to which the code that now runs belongs, from 1; none before the first.
    pub(crate) fn step_now(&self) -> Option<u64> {
        if self.busy & busy::WORKING != 0 {
            return Some(self.n_steps + 1);
        }
        let entry = self.task(self.current);
        let number = if entry.last_event > 0 { entry.last_event } else { entry.born.1 };
        (number > 0).then_some(number)
    }
}
