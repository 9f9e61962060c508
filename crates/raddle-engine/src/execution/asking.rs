//! The one question: who moves next, and which value. Answered by the plan, a script, the strategy,
//! or nobody.

use std::panic::Location;

use raddle_trace::Divergence;

use super::view::View;
use super::{Ending, Execution, Mark, Next, busy};
use crate::isolation::Entry;
use crate::model::Model;
use crate::op::TaskId;
use crate::strategy::{Answer, Choice, Event, Options, Point, Taken};

impl Execution {
    /// Who moves next? `me` is the task on whose stack this runs, if any.
    ///
    /// # Safety
    /// `ex` is live; called on the stack of `me`, or on the host's.
    pub(crate) unsafe fn ask(ex: *mut Self, me: Option<TaskId>) -> Next {
        // SAFETY: by contract; no borrow is held over `fire` and `drain`, which switch.
        unsafe {
            loop {
                if (*ex).ending.is_some() || (*ex).n_steps >= (*ex).next_check {
                    return Next::Host;
                }
                let Some(chosen) = Self::choose(ex) else { return Next::Host };
                if !(*ex).task(chosen).fiber.is_null() {
                    return Next::Run(chosen);
                }
                if (*ex).task(chosen).passive.is_some() {
                    Self::work(ex, chosen);
                } else {
                    Self::fire(ex, chosen);
                }
                if Self::drain(ex, me) {
                    return Next::Run(me.expect("drain found the caller"));
                }
            }
        }
    }

    #[inline]
    pub(super) unsafe fn choose(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            let this = &mut *ex;
            this.point = None;
            if let Some(forced) = this.forced {
                return this.choose_forced(forced);
            }
            let unfair = this.busy & busy::UNFAIR != 0;
            if unfair {
                this.keep_fair();
            }
            let options = if unfair { &this.fair_options } else { &this.options };
            let chosen = match options.as_slice() {
                [] => return this.due_timer(),
                [one] => one.task,
                many => {
                    let many: *const [Choice] = many;
                    let option = Self::decide(ex, Options::Schedule(&*many))?;
                    (&*many)[option as usize].task
                }
            };
            let this = &mut *ex;
            if this.recorder.is_some() {
                this.preempting = this.running().is_some_and(|running| running != chosen);
            }
            Some(chosen)
        }
    }

    /// The next in turn, or the task that unwinds as soon as it can go on.
    pub(super) fn choose_forced(&mut self, forced: TaskId) -> Option<TaskId> {
        if self.task(forced).enabled {
            return Some(forced);
        }
        let after = self.task(self.last).seq;
        let later = |choice: &&Choice| self.task(choice.task).seq > after;
        let next = self.options.iter().find(later).or(self.options.first()).map(|c| c.task);
        next.or_else(|| self.due_timer())
    }

    /// The one place where something is decided.
    #[inline]
    pub(super) unsafe fn decide(ex: *mut Self, options: Options<'_>) -> Option<u32> {
        // SAFETY: as in `ask`; the strategy does not reach the execution but through `Pending`,
        // which only reads, and the borrows of `options` are reads too.
        unsafe {
            let index = (*ex).taken.len();
            let of = match options {
                Options::Schedule(choices) => choices.len() as u32,
                Options::Value { of, .. } => of,
            };
            let option = if index < (*ex).plan.prefix.len() {
                (&(*ex).plan.prefix)[index]
            } else if (*ex).strict || (*ex).cut.is_some() {
                Self::decide_alone(ex, index, options)?
            } else {
                let view = View(ex);
                let point = Point {
                    index: index as u32,
                    options,
                    running: (*ex).running(),
                    last: (*ex).last,
                    objects: (*ex).n_objects,
                    pending: &view,
                };
                match (*(*ex).strategy).decide(&point) {
                    Answer::Take(option) => {
                        assert!(option < of, "engine bug: a strategy took option {option} of {of}");
                        option
                    }
                    Answer::Cut(cut) => {
                        Self::cut_short(ex, cut);
                        (*ex).in_turn(options)
                    }
                }
            };
            let this = &mut *ex;
            let task = match options {
                Options::Schedule(choices) => choices.get(option as usize).map(|c| c.task),
                Options::Value { task, .. } => Some(task),
            };
            let task = task.unwrap_or(TaskId::ROOT);
            let mark = Mark { of, task, site: this.task(task).site, trail: this.trail };
            if option >= of || this.needs.plans && !this.remember(index, option, mark) {
                this.diverge_unless_known(option, of);
                return None;
            }
            this.taken.push(Taken { option, of });
            if this.witnessed && !this.bear_witness(index, task) {
                return None;
            }
            let is_value = matches!(options, Options::Value { .. });
            if !is_value {
                this.point = Some(index as u32);
            }
            if let Some(recorder) = &mut this.recorder {
                recorder.decision(task, is_value.then_some((option, of)));
                this.recount();
            }
            Some(option)
        }
    }

    /// Leaves word of the decision taken last, about `task`, where another process finds it. `false`: going
    /// on is known to end this one.
    pub(super) fn bear_witness(&mut self, index: usize, task: TaskId) -> bool {
        let taken = self.taken[index];
        if let Some(log) = self.log {
            let (of, site, trail) = (taken.of, self.task(task).site, self.trail);
            log.put(Entry::Taken(taken, Mark { of, task, site, trail }));
        }
        let deadly = self.tape.is_some_and(|tape| tape.put(index, taken.option));
        if deadly {
            self.end(Ending::Died);
        }
        !deadly
    }

    /// The answer where no strategy is asked.
    #[cold]
    pub(super) unsafe fn decide_alone(
        ex: *mut Self,
        index: usize,
        options: Options<'_>,
    ) -> Option<u32> {
        // SAFETY: as in `decide`.
        unsafe {
            if let Some(script) = &(*ex).script {
                match script.answer(&*ex, index, options) {
                    Ok(option) => return Some(option),
                    Err((expected, found)) => (*ex).diverge(expected, found),
                }
            } else if (*ex).strict {
                let found = "a choice between several options".to_owned();
                (*ex).diverge("the end of the recorded decisions".to_owned(), found);
            } else {
                return Some((*ex).in_turn(options));
            }
            None
        }
    }

    /// Keeps what the decision was about, after comparing it with the last execution where this
    /// one repeats it. `false`: it differs.
    #[inline]
    pub(super) fn remember(&mut self, index: usize, option: u32, mark: Mark) -> bool {
        if index >= self.marks.len() {
            self.marks.push(mark);
            return true;
        }
        let repeats = index <= self.shared && index < self.plan.prefix.len();
        if repeats && self.script.is_none() {
            let before = self.marks[index];
            let changed = index == self.shared;
            let same = before.of == mark.of
                && before.trail == mark.trail
                && (changed || before.task == mark.task && std::ptr::eq(before.site, mark.site));
            if !same || option >= mark.of {
                self.diverge_marks(before, mark);
                return false;
            }
        }
        self.marks[index] = mark;
        true
    }

    /// A planned option that is not there, if that has not been said yet.
    #[cold]
    pub(super) fn diverge_unless_known(&mut self, option: u32, of: u32) {
        if self.ending.is_none() {
            self.diverge(format!("more than {option} options"), format!("{of} options"));
        }
    }

    #[cold]
    pub(super) fn diverge_marks(&mut self, before: Mark, mark: Mark) {
        let say = |mark: &Mark| {
            format!("{} options, taking {} at {}", mark.of, self.label(mark.task), mark.site)
        };
        let expected = say(&before);
        let found = if before.trail == mark.trail {
            say(&mark)
        } else {
            let (who, site) = self.announced;
            format!(
                "other ops before this point, the last announced by {} at {site}",
                self.label(who)
            )
        };
        self.diverge(expected, found);
    }

    pub(super) fn diverge(&mut self, expected: String, found: String) {
        let (step, decision) = (self.n_steps, self.taken.len() as u32);
        self.end(Ending::Diverged(Divergence { step, decision, expected, found }));
    }

    /// The answer where nobody is asked any more: the next in turn.
    pub(super) fn in_turn(&self, options: Options<'_>) -> u32 {
        let Options::Schedule(choices) = options else { return 0 };
        let after = self.task(self.last).seq;
        choices.iter().position(|choice| self.task(choice.task).seq > after).unwrap_or(0) as u32
    }

    /// A value for the running step, or for the code after it.
    ///
    /// # Safety
    /// `ex` is the current execution.
    pub(crate) unsafe fn value(ex: *mut Self, of: u32, during: bool) -> u32 {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            if of < 2 || (*ex).is_tearing() || (*ex).ending.is_some() || (*ex).forced.is_some() {
                return 0;
            }
            let task = (*ex).current;
            let point = (*ex).point;
            let option = Self::decide(ex, Options::Value { task, of, during }).unwrap_or(0);
            (*ex).point = point;
            let dies = (*ex).ending == Some(Ending::Died);
            if dies && !(*ex).task(task).fiber.is_null() && !std::thread::panicking() {
                // With the value it would die; without, it would go where no decision leads.
                Self::raise();
            }
            if (*ex).needs.steps && !(*ex).strict && (*ex).n_steps >= (*ex).untold {
                let taken = Taken { option, of };
                (*(*ex).strategy).step(&Event::Value { task, taken, during });
            }
            option
        }
    }

    /// Which way a step goes, if its model has several.
    pub(crate) unsafe fn option_of_step<M: Model>(
        ex: *mut Self,
        model: &M,
        op: M::Op,
        site: &'static Location<'static>,
    ) -> u32 {
        // SAFETY: as in `value`.
        unsafe {
            let me = (*ex).current;
            let of = model.options(me, op, &(*ex).settings);
            if of < 2 {
                return 0;
            }
            (*ex).task_mut(me).site = site;
            if let Some(script) = &mut (*ex).script {
                script.option_tasks.clear();
                script.option_tasks.extend((0..of).map_while(|o| model.option_task(me, op, o)));
            }
            let decided = (*ex).taken.len();
            let option = Self::value(ex, of, true);
            if let Some(script) = &mut (*ex).script {
                script.option_tasks.clear();
            }
            if (*ex).taken.len() > decided
                && let Some(recorder) = &mut (*ex).recorder
            {
                recorder.value_task(model.option_task(me, op, option));
                (*ex).recount();
            }
            option
        }
    }
}
