//! Steps of [passive tasks](crate::passive), taken where a task asks which moves next.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use raddle_trace::{LimitKind, TaskKind};

use super::{Cancelled, Ending, Execution, How, slow_path};
use crate::op::{Access, NOTHING, ObjectId, TaskId};
use crate::passive::{Passive, Worked};
use crate::strategy::Decided;
use crate::task::Task;

impl Execution {
    /// A new passive task, made by the current one. Its name is its key.
    pub(crate) fn create_passive(
        &mut self,
        key: u64,
        label: impl FnOnce() -> Arc<str>,
        passive: Passive,
        site: &'static Location<'static>,
    ) -> Option<TaskId> {
        if self.tasks.created.len() >= self.lasting.limits.tasks as usize {
            self.end(Ending::Limit(LimitKind::Tasks));
            return None;
        }
        let id = self.tasks.intern_key(key);
        self.enter(self.current, id, TaskKind::Environment, Location::caller());
        let wanted = self.listeners.recorder.is_some() || self.listeners.needs.labels;
        let entry = self.task_mut(id);
        entry.fiber = std::ptr::null_mut();
        entry.passive = Some(passive);
        entry.op.site = site;
        if wanted {
            entry.lineage.label = Some(label());
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
            let entry: *mut Task = &raw mut *(&mut (*ex).tasks.list)[task.index()];
            let Some(Passive { work, token, .. }) = &(*entry).passive else {
                unreachable!("engine bug: a task without code was chosen")
            };
            let (work, token) = (Arc::clone(work), *token);
            let (current, me) = ((*ex).current, (*ex).me);
            let starting = (*ex).slow_path & slow_path::STARTING;
            (*ex).current = task;
            (*ex).me = entry;
            (*ex).slow_path = (*ex).slow_path & !slow_path::STARTING | slow_path::IN_PASSIVE_STEP;
            let result = catch_unwind(AssertUnwindSafe(|| work.work(token)));
            (*ex).slow_path = (*ex).slow_path & !slow_path::IN_PASSIVE_STEP | starting;
            match result {
                Ok(Worked { touched, shared_resources, decided, sent_by, site })
                    if (*ex).ending.is_none() =>
                {
                    ((*entry).steps.shared_resources, (*entry).steps.sent_by) =
                        (shared_resources, sent_by);
                    (*entry).steps.decided = decided;
                    Self::commit(ex, (task, entry), &touched, site, How::Step, || work.show());
                    ((*entry).steps.shared_resources, (*entry).steps.sent_by) = (0, None);
                    (*entry).steps.decided = Decided::default();
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
            let entry = (*ex).task(task);
            let object = entry.passive.as_ref().map_or(ObjectId::NONE, |passive| passive.object);
            let at = entry.op.site;
            let touched = [(object, Access::Write), NOTHING];
            // The step that failed is the last one of the trace.
            let entry: *mut Task = &raw mut *(&mut (*ex).tasks.list)[task.index()];
            Self::commit(ex, (task, entry), &touched, at, How::Step, || {
                let work = (*ex).task(task).passive.as_ref();
                work.map_or_else(String::new, |passive| passive.work.show())
            });
            (*ex).end_by_panic(task, payload);
            (*ex).end(Ending::Panicked);
        }
    }

    /// The number of the step to which the code that now runs belongs, from 1; none before the first.
    pub(crate) fn step_now(&self) -> Option<u64> {
        if self.slow_path & slow_path::IN_PASSIVE_STEP != 0 {
            return Some(self.n_steps + 1);
        }
        let entry = self.task(self.current);
        let number = if entry.steps.last > 0 { entry.steps.last } else { entry.lineage.born.1 };
        (number > 0).then_some(number)
    }
}
