//! Panics of tasks: noted before anything is unwound, and who has got them.

use std::any::Any;

use raddle_trace::Site;

use super::{Execution, slow_path};
use crate::last_words;
use crate::op::TaskId;
use crate::panics::{self, Raised};
use crate::task::TaskPanic;

/// How many panics are named if the process aborts.
const NAMED: u32 = 8;

impl Execution {
    /// The current task panics; it has not begun to unwind.
    #[cold]
    pub(crate) fn raise_panic(&mut self, message: String, site: Option<Site>) {
        if self.is_tearing() {
            return;
        }
        let (me, nth) = (self.current, self.tasks.n_panics);
        self.tasks.n_panics += 1;
        if !self.listeners.has_crash_log {
            let line = (nth < NAMED).then(|| self.panicked(&message, site.as_ref()));
            self.keep_words(line.as_deref());
        }
        // The step of a passive task is written down when it is over.
        let in_step = self.slow_path & slow_path::IN_PASSIVE_STEP != 0;
        if let Some(recorder) = &mut self.listeners.recorder {
            recorder.panicked(me, message.clone(), site.clone(), in_step);
        }
        self.recount();
        self.task_mut(me).unwinding.raised.push(Raised { message, site, nth });
    }

    /// Keeps this line, and the options taken so far, in case that the execution never comes back.
    pub(crate) fn keep_words(&self, line: Option<&str>) {
        let options = self.decisions.taken.iter().map(|taken| taken.option);
        last_words::add(self.lasting.pulse, line, options, self.lasting.settings.rounds);
    }

    fn panicked(&self, message: &str, site: Option<&Site>) -> String {
        let place = site.map(|site| format!(" at {site}")).unwrap_or_default();
        format!("  {} panicked{place}: {message}\n", self.label(self.current))
    }

    /// A panic has ended this task.
    pub(crate) fn end_by_panic(&mut self, task: TaskId, payload: &(dyn Any + Send)) {
        let message = panics::message(payload);
        let raised = self.task_mut(task).unwinding.raised.take(&message);
        let keeps_words = !self.listeners.has_crash_log;
        let raised = raised.unwrap_or_else(|| {
            self.tasks.n_panics += 1;
            if keeps_words {
                self.keep_words(None);
            }
            Raised { message, site: None, nth: self.tasks.n_panics - 1 }
        });
        self.task_mut(task).unwinding.panic = Some(TaskPanic { raised, taken: None });
        if keeps_words {
            last_words::set_ended_a_task(self.lasting.pulse, true);
        }
    }

    /// A task has made a step. If it had panicked and does not unwind, it has caught that.
    pub(super) fn note_went_on(&mut self, task: TaskId) {
        if self.tasks.n_panics == 0 || self.unwinds(task) {
            return;
        }
        let entry = self.task(task);
        let unwinding = &entry.unwinding;
        let goes_on = !unwinding.finishing && !unwinding.raises_again && entry.passive.is_none();
        if let Some(recorder) = self.listeners.recorder.as_mut().filter(|_| goes_on) {
            recorder.handled(task);
        }
    }

    /// The execution is over: what tasks have caught without a step after it is caught, too.
    pub(crate) fn note_caught(&mut self) {
        let Some(recorder) = self.listeners.recorder.as_mut() else { return };
        if self.tasks.n_panics == 0 {
            return;
        }
        for task in &self.tasks.created {
            let entry = &self.tasks.list[task.index()];
            if entry.unwinding.open().is_none() && entry.passive.is_none() {
                recorder.handled(*task);
            }
        }
    }

    /// The current task has got the panic of this one. Whether it had one that no task had taken.
    pub(crate) fn take_panic(&mut self, task: TaskId) -> bool {
        let me = self.current;
        let Some(panic) = &mut self.task_mut(task).unwinding.panic else { return false };
        if panic.taken.is_some() {
            return false;
        }
        panic.taken = Some(me);
        if !self.listeners.has_crash_log {
            let open = |task: &TaskId| {
                self.task(*task).unwinding.panic.as_ref().is_some_and(|panic| panic.taken.is_none())
            };
            let ended = self.tasks.created.iter().any(open);
            last_words::set_ended_a_task(self.lasting.pulse, ended);
        }
        if let Some(recorder) = &mut self.listeners.recorder {
            recorder.handled(task);
        }
        self.recount();
        true
    }
}
