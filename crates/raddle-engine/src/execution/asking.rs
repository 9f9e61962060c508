//! The one question: who moves next, and which value. Answered by the plan, a script or the
//! strategy, or not asked at all where there is one option.
//!
//! There is one procedure, [`ask`](Execution::ask) with [`choose`](Execution::choose) and
//! [`decide`](Execution::decide). The parameter `ORDINARY` says that no flag of
//! [`slow_path`] is set: then what the flags stand for need not be looked at, and the compiler leaves it out.

use std::panic::Location;

use raddle_trace::Divergence;

use super::view::View;
use super::{Ending, Execution, Next, Repeat, slow_path};
use crate::crash_log::DecisionMark;
use crate::model::Model;
use crate::op::TaskId;
use crate::strategy::{Answer, Choice, Cut, Event, Options, Point, Shortcut, Taken};

impl Execution {
    /// Who moves next?
    ///
    /// # Safety
    /// `ex` is live; called on the stack of its current task, or on the host's.
    #[inline]
    pub(crate) unsafe fn ask(ex: *mut Self) -> Next {
        // SAFETY: by contract; no borrow is held over what may switch.
        unsafe {
            if (*ex).ending.is_some() || (*ex).check_is_due() {
                return Next::Host;
            }
            match Self::choose::<false>(ex) {
                None => Next::Host,
                Some(chosen) if (*ex).task(chosen).fiber.is_null() => Self::step_for(ex, chosen),
                Some(chosen) => Next::Run(chosen),
            }
        }
    }

    /// The chosen one has no stack: its step is taken here, and the question is put again.
    pub(super) unsafe fn step_for(ex: *mut Self, mut chosen: TaskId) -> Next {
        // SAFETY: as in `ask`; no borrow is held over `fire`, `work` and `drain`, which switch.
        unsafe {
            // The task on whose stack this runs; none on the host's.
            let me = (!(*ex).me.is_null()).then_some((*ex).current);
            loop {
                if (*ex).listeners.needs.skip_decided {
                    // Only steps of tasks with a stack may be left out of what the strategy is told.
                    (*ex).pace.carefree = 0;
                }
                if (*ex).task(chosen).passive.is_some() {
                    Self::work(ex, chosen);
                } else {
                    Self::fire(ex, chosen);
                }
                if Self::drain(ex, me) {
                    return Next::Run(me.expect("drain found the caller"));
                }
                if (*ex).ending.is_some() || (*ex).check_is_due() {
                    return Next::Host;
                }
                match Self::choose::<false>(ex) {
                    None => return Next::Host,
                    Some(next) if (*ex).task(next).fiber.is_null() => chosen = next,
                    Some(next) => return Next::Run(next),
                }
            }
        }
    }

    /// The task that moves next, with a stack or without. `None`: none can, or the execution is over.
    #[inline]
    pub(super) unsafe fn choose<const ORDINARY: bool>(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            let this = &mut *ex;
            let mut unfair = false;
            if !ORDINARY {
                if let Some(forced) = this.enabled.forced {
                    this.decisions.point = None;
                    return this.choose_forced(forced);
                }
                unfair = this.slow_path & slow_path::UNFAIR != 0;
                if unfair {
                    this.keep_fair();
                }
            }
            if !unfair && this.enabled.count < 2 {
                this.decisions.point = None;
                let Some(only) = this.enabled.places.next(0) else {
                    return Self::choose_idle(ex);
                };
                let only = this.tasks.created[only as usize];
                this.note_preemption::<ORDINARY>(only);
                return Some(only);
            }
            if this.listeners.draws && (ORDINARY || this.slow_path & slow_path::ANSWERED == 0) {
                return Some(Self::draw(ex));
            }
            if ORDINARY {
                return Self::ask_next(ex);
            }
            this.list_options();
            let options = if unfair { &this.enabled.fair_options } else { &this.enabled.options };
            let chosen = match options.as_slice() {
                [] => {
                    this.decisions.point = None;
                    return Self::choose_idle(ex);
                }
                [only] => {
                    let only = only.task;
                    this.decisions.point = None;
                    only
                }
                many => {
                    let many: *const [Choice] = many;
                    Self::decide::<ORDINARY>(ex, Options::Schedule(&*many))?.1
                }
            };
            (*ex).note_preemption::<ORDINARY>(chosen);
            Some(chosen)
        }
    }

    /// The part of [`choose`](Self::choose) in which the plan or the strategy answers, where there are several options
    /// and no flag of [`slow_path`] is set. All in one function: it is called for nearly every step.
    ///
    /// # Safety
    /// As for [`ask`](Self::ask).
    #[inline(never)]
    pub(super) unsafe fn ask_next(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            if (*ex).listeners.repeat.left > 0
                && let Some(task) = Self::take_again(ex)
            {
                return Some(task);
            }
            (*ex).list_options();
            let options: *const [Choice] = (*ex).enabled.options.as_slice();
            let (option, task) = Self::decide::<true>(ex, Options::Schedule(&*options))?;
            let listeners = &mut (*ex).listeners;
            if listeners.asks_repeats
                && let Some(Shortcut::Repeats(strategy)) = (*listeners.strategy).shortcut()
            {
                let left = strategy.repeats();
                listeners.repeat = Repeat { option, task, left, untold: 0 };
            }
            Some(task)
        }
    }

    /// The task that the strategy took last, if it would take it here as well. On the short way only, which no task takes
    /// that yields.
    #[inline]
    unsafe fn take_again(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `ask_next`.
        unsafe {
            let this = &mut *ex;
            let Repeat { option, task, .. } = this.listeners.repeat;
            if !this.enabled.is_listed || task != this.current {
                return None;
            }
            let (index, of) = (this.decisions.taken.len(), this.enabled.count);
            if cfg!(debug_assertions) {
                // It counts by itself then, and is told nothing.
                let many: *const [Choice] = this.enabled.options.as_slice();
                assert_eq!(Self::asked(ex, index, Options::Schedule(&*many)), option);
            } else {
                this.listeners.repeat.untold += 1;
            }
            let this = &mut *ex;
            this.listeners.repeat.left -= 1;
            this.decisions.taken.push(Taken { option, of });
            this.decisions.point = Some(index as u32);
            Some(task)
        }
    }

    /// Notes for the trace whether to choose this task is a preemption.
    #[inline]
    fn note_preemption<const ORDINARY: bool>(&mut self, chosen: TaskId) {
        if !ORDINARY && self.listeners.recorder.is_some() {
            self.decisions.preempting = self.running().is_some_and(|running| running != chosen);
        }
    }

    /// [`draw`](Self::draw) as a call. What nearly always holds is done without another one, so that no registers have
    /// to be saved.
    #[inline(never)]
    pub(super) unsafe fn draw_next(ex: *mut Self) -> TaskId {
        // SAFETY: as in `draw`.
        unsafe {
            let this = &mut *ex;
            let (taken, of) = (&mut this.decisions.taken, this.enabled.count);
            let has_room = taken.len() < taken.capacity();
            if !cfg!(debug_assertions)
                && has_room
                && let Some(rng) = &mut this.listeners.generator
            {
                let option = rng.below(of);
                this.decisions.point = Some(taken.len() as u32);
                taken.push(Taken { option, of });
                if this.enabled.is_listed {
                    return this.enabled.options[option as usize].task;
                }
                return this.unlisted(option);
            }
            Self::draw_slowly(ex)
        }
    }

    #[inline(never)]
    unsafe fn draw_slowly(ex: *mut Self) -> TaskId {
        // SAFETY: as in `draw`.
        unsafe { Self::draw(ex) }
    }

    /// What [`decide`](Self::decide) would do where the strategy is a generator and no more: there are options, no plan
    /// answers, and nothing is kept but what was taken.
    #[inline]
    unsafe fn draw(ex: *mut Self) -> TaskId {
        // SAFETY: as in `decide`.
        unsafe {
            let this = &mut *ex;
            let (index, of) = (this.decisions.taken.len(), this.enabled.count);
            let option = this.listeners.generator.as_mut().map_or(0, |rng| rng.below(of));
            if cfg!(debug_assertions) {
                this.list_options();
                let many: *const [Choice] = this.enabled.options.as_slice();
                assert_eq!(Self::asked(ex, index, Options::Schedule(&*many)), option);
            }
            let this = &mut *ex;
            let chosen = if this.enabled.is_listed {
                this.enabled.options[option as usize].task
            } else {
                this.unlisted(option)
            };
            this.decisions.taken.push(Taken { option, of });
            this.decisions.point = Some(index as u32);
            chosen
        }
    }

    /// An option where the list of them is out of date. Where they change in every step, as those do who wait for a lock,
    /// to list them would cost more than to count.
    #[inline(never)]
    fn unlisted(&mut self, option: u32) -> TaskId {
        if self.enabled.is_counted {
            self.list_options();
            return self.enabled.options[option as usize].task;
        }
        self.enabled.is_counted = true;
        let place = self.enabled.places.nth(option).expect("there are as many as are counted");
        self.tasks.created[place as usize]
    }

    /// The next in turn, or the task that unwinds as soon as it can go on.
    fn choose_forced(&mut self, forced: TaskId) -> Option<TaskId> {
        if self.is_enabled(forced) {
            return Some(forced);
        }
        self.list_options();
        let after = self.task(self.enabled.last).lineage.seq;
        let later = |choice: &&Choice| self.task(choice.task).lineage.seq > after;
        let next = self
            .enabled
            .options
            .iter()
            .find(later)
            .or(self.enabled.options.first())
            .map(|c| c.task);
        let due = || self.due_timers().first().map(|choice| choice.task);
        next.or_else(due).or_else(|| self.last_resort())
    }

    /// Nothing can move by itself: a timer that is due only then, or a task that waits for a change which will not come.
    #[cold]
    #[inline(never)]
    unsafe fn choose_idle(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            match (*ex).due_timers().as_slice() {
                [] => (*ex).last_resort(),
                [only] => Some(only.task),
                several => Some(Self::decide::<false>(ex, Options::Schedule(several))?.1),
            }
        }
    }

    /// The one place where something is decided: the option, and the task that it moves or that asked for
    /// a value. `None`: the execution is over.
    #[inline]
    unsafe fn decide<const ORDINARY: bool>(
        ex: *mut Self,
        options: Options<'_>,
    ) -> Option<(u32, TaskId)> {
        // SAFETY: as in `ask`; the borrows of `options` are reads.
        unsafe {
            let index = (*ex).decisions.taken.len();
            let option = if index < (*ex).decisions.plan.prefix.len() {
                let planned = (&(*ex).decisions.plan.prefix)[index];
                if !ORDINARY && (*ex).slow_path & slow_path::ASK_ON_HOST != 0 {
                    Self::tell_passed(ex, index, options, planned);
                }
                planned
            } else if !ORDINARY && ((*ex).decisions.strict || (*ex).decisions.cut.is_some()) {
                Self::decide_alone(ex, index, options)?
            } else {
                Self::ask_strategy(ex, index, options)
            };
            let this = &mut *ex;
            let (task, of, is_value) = match options {
                Options::Schedule(choices) => match choices.get(option as usize) {
                    Some(choice) => (choice.task, choices.len() as u32, false),
                    None => return this.no_such_option(index, option, choices.len() as u32),
                },
                Options::Value { of, .. } if option >= of => {
                    return this.no_such_option(index, option, of);
                }
                Options::Value { task, of, .. } => (task, of, true),
            };
            if this.listeners.needs.plans {
                let (site, trail) = (this.task(task).op.site, this.decisions.trail);
                if !this.remember(index, DecisionMark { of, task, site, trail }) {
                    return None;
                }
            }
            this.decisions.taken.push(Taken { option, of });
            if this.listeners.has_crash_log && !this.bear_witness(index, task) {
                return None;
            }
            if !is_value {
                this.decisions.point = Some(index as u32);
            }
            if !ORDINARY && let Some(recorder) = &mut this.listeners.recorder {
                recorder.decision(task, is_value.then_some((option, of)));
                this.recount();
            }
            Some((option, task))
        }
    }

    /// A planned option is not there: this execution is another one.
    #[cold]
    fn no_such_option(&mut self, index: usize, option: u32, of: u32) -> Option<(u32, TaskId)> {
        let planned = index < self.decisions.plan.prefix.len();
        assert!(planned, "engine bug: a strategy took option {option} of {of}");
        self.diverge(format!("more than {option} options"), format!("{of} options"));
        None
    }

    /// The strategy's answer, drawn in its place if it is one that only draws.
    #[expect(clippy::inline_always, reason = "a part of `ask_next`, which is to be one function")]
    #[inline(always)]
    unsafe fn ask_strategy(ex: *mut Self, index: usize, options: Options<'_>) -> u32 {
        // SAFETY: as in `ask`.
        unsafe {
            // What it answers here may change what it would answer where it allowed a repetition.
            (*ex).listeners.repeat.left = 0;
            if let Some(generator) = &mut (*ex).listeners.generator {
                let drawn = generator.below(match options {
                    Options::Schedule(choices) => choices.len() as u32,
                    Options::Value { of, .. } => of,
                });
                if cfg!(debug_assertions) {
                    assert_eq!(Self::asked(ex, index, options), drawn);
                }
                return drawn;
            }
            Self::asked(ex, index, options)
        }
    }

    /// The strategy's own answer.
    #[expect(clippy::inline_always, reason = "as for `ask_strategy`")]
    #[inline(always)]
    unsafe fn asked(ex: *mut Self, index: usize, options: Options<'_>) -> u32 {
        // SAFETY: as in `ask`; the strategy does not reach the execution but through `Pending`,
        // which only reads.
        unsafe {
            if (*ex).listeners.repeat.untold > 0 {
                (*ex).listeners.tell_repeated();
            }
            let view = View(ex);
            let point = Self::point(&view, index, options);
            match (*(*ex).listeners.strategy).decide(&point) {
                Answer::Take(option) => {
                    if (*ex).listeners.needs.skip_decided && matches!(options, Options::Schedule(_))
                    {
                        // The step that comes next is known to the strategy.
                        let Execution { pace, n_steps, .. } = &mut *ex;
                        pace.carefree = pace.undisturbed.min(*n_steps + 1);
                    }
                    option
                }
                Answer::Cut(cut) => (*ex).cut_short(cut, &point),
            }
        }
    }

    /// The point that is decided now.
    #[inline]
    unsafe fn point<'a>(view: &'a View, index: usize, options: Options<'a>) -> Point<'a> {
        // SAFETY: as in `ask_strategy`.
        let ex = unsafe { &*view.0 };
        Point {
            index: index as u32,
            options,
            running: ex.running(),
            last: ex.enabled.last,
            objects: ex.n_objects,
            pending: view,
        }
    }

    /// The plan has answered a point: tells a strategy that is asked on the host's stack.
    #[cold]
    unsafe fn tell_passed(ex: *mut Self, index: usize, options: Options<'_>, planned: u32) {
        let Options::Schedule(choices) = options else { return };
        if (planned as usize) < choices.len() {
            // SAFETY: as in `ask_strategy`.
            unsafe {
                let view = View(ex);
                let point = Self::point(&view, index, options);
                (*(*ex).listeners.strategy).step(&Event::Passed { point: &point, option: planned });
            }
        }
    }

    /// The strategy does not want to see the rest: from here on the strategy is not asked.
    #[cold]
    fn cut_short(&mut self, cut: Cut, point: &Point<'_>) -> u32 {
        self.decisions.cut = Some(cut);
        self.slow_path |= slow_path::NO_STRATEGY;
        self.in_turn(point.options)
    }

    /// Leaves word of the decision taken last, about `task`, where another process finds it. `false`: going
    /// on is known to end this one.
    fn bear_witness(&mut self, index: usize, task: TaskId) -> bool {
        let taken = self.decisions.taken[index];
        if let Some(log) = &self.listeners.log {
            let (of, site, trail) = (taken.of, self.task(task).op.site, self.decisions.trail);
            log.decided(taken, DecisionMark { of, task, site, trail });
        }
        let deadly = self.listeners.tape.is_some_and(|tape| tape.put(index, taken.option));
        if deadly {
            self.end(Ending::Died);
        }
        !deadly
    }

    /// The answer where no strategy is asked.
    #[cold]
    unsafe fn decide_alone(ex: *mut Self, index: usize, options: Options<'_>) -> Option<u32> {
        // SAFETY: as in `decide`.
        unsafe {
            if let Some(script) = &(*ex).decisions.script {
                match script.answer(&(*ex).tasks, index, options) {
                    Ok(option) => return Some(option),
                    Err((expected, found)) => (*ex).diverge(expected, found),
                }
            } else if (*ex).decisions.strict {
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
    fn remember(&mut self, index: usize, mark: DecisionMark) -> bool {
        if index >= self.decisions.marks.len() {
            self.decisions.marks.push(mark);
            return true;
        }
        let repeats = index <= self.decisions.shared && index < self.decisions.plan.prefix.len();
        if repeats && self.decisions.script.is_none() {
            let before = self.decisions.marks[index];
            let changed = index == self.decisions.shared;
            let same = before.of == mark.of
                && before.trail == mark.trail
                && (changed || before.task == mark.task && std::ptr::eq(before.site, mark.site));
            if !same {
                self.diverge_marks(before, mark);
                return false;
            }
        }
        self.decisions.marks[index] = mark;
        true
    }

    #[cold]
    fn diverge_marks(&mut self, before: DecisionMark, mark: DecisionMark) {
        let say = |mark: &DecisionMark| {
            format!("{} options, taking {} at {}", mark.of, self.label(mark.task), mark.site)
        };
        let expected = say(&before);
        let found = if before.trail == mark.trail {
            say(&mark)
        } else {
            let (who, site) = self.decisions.announced;
            format!(
                "other ops before this point, the last announced by {} at {site}",
                self.label(who)
            )
        };
        self.diverge(expected, found);
    }

    fn diverge(&mut self, expected: String, found: String) {
        let (step, decision) = (self.n_steps, self.decisions.taken.len() as u32);
        let divergence = Divergence { step, decision, expected, found };
        self.end(Ending::Diverged(Box::new(divergence)));
    }

    /// The answer where the strategy is no longer asked: the next in turn.
    fn in_turn(&self, options: Options<'_>) -> u32 {
        let Options::Schedule(choices) = options else { return 0 };
        let after = self.task(self.enabled.last).lineage.seq;
        choices.iter().position(|choice| self.task(choice.task).lineage.seq > after).unwrap_or(0)
            as u32
    }

    /// A value for the running step, or for the code after it.
    ///
    /// # Safety
    /// `ex` is the current execution.
    pub(crate) unsafe fn value(ex: *mut Self, of: u32, during: bool) -> u32 {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            if of < 2
                || (*ex).is_tearing()
                || (*ex).ending.is_some()
                || (*ex).enabled.forced.is_some()
            {
                return 0;
            }
            let task = (*ex).current;
            (*ex).task_mut(task).rounds.forget();
            let point = (*ex).decisions.point;
            let option = Self::decide::<false>(ex, Options::Value { task, of, during });
            let option = option.map_or(0, |(option, _)| option);
            (*ex).decisions.point = point;
            let dies = (*ex).ending == Some(Ending::Died);
            if dies && !(*ex).task(task).fiber.is_null() && !std::thread::panicking() {
                // With the value it would die; without, it would go where no decision leads.
                Self::raise();
            }
            if (*ex).n_steps >= (*ex).listeners.strategy_from_step {
                let taken = Taken { option, of };
                (*(*ex).listeners.strategy).step(&Event::Value { task, taken, during });
            }
            option
        }
    }

    /// Which way a step goes of which its model has so many.
    #[inline(never)]
    pub(crate) unsafe fn option_of_step<M: Model>(
        ex: *mut Self,
        model: &M,
        op: M::Op,
        of: u32,
        site: &'static Location<'static>,
    ) -> u32 {
        // SAFETY: as in `value`.
        unsafe {
            if of < 2 {
                return 0;
            }
            let me = (*ex).current;
            (*ex).task_mut(me).op.site = site;
            if let Some(script) = &mut (*ex).decisions.script {
                script.option_tasks.clear();
                script.option_tasks.extend((0..of).map_while(|o| model.option_task(me, op, o)));
            }
            let decided = (*ex).decisions.taken.len();
            let option = Self::value(ex, of, true);
            if let Some(script) = &mut (*ex).decisions.script {
                script.option_tasks.clear();
            }
            if (*ex).decisions.taken.len() > decided
                && let Some(recorder) = &mut (*ex).listeners.recorder
            {
                recorder.value_task(model.option_task(me, op, option));
                (*ex).recount();
            }
            option
        }
    }
}
