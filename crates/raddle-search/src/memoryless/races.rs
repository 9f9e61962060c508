//! Which races of an execution are reversed, and the units that do so.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::{Access, ObjectId};
use raddle_engine::strategy::Waits;

use super::cost::{Core, Last, Seen};
use super::run::Run;
use super::units::{Guided, Unit};

/// Of how many events beside a race every choice is tried.
const MOST_BESIDE: usize = 12;

/// How many choices of the events that the later op of a race meets are tried.
const MOST_CHOICES: usize = 1 << MOST_BESIDE;

/// The later op of a race.
#[derive(Clone, Debug)]
struct Later {
    /// Its event, or the one that came instead; the number of events if it did not run.
    index: usize,
    step: Option<Footprint>,
    waits: [Waits; 2],
    ran: bool,
    /// Of one that was moved up already: only events before this one, and those of `with`, are before it.
    limit: usize,
    with: Vec<usize>,
    /// Of one whose races were opened by an earlier execution: it is new only beside an event from this one on.
    beside: Option<usize>,
}

impl Later {
    fn has(&self, event: usize) -> bool {
        event < self.limit || self.with.binary_search(&event).is_ok()
    }
}

/// Whether what a unit leads to can be within the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fits {
    Yes,
    /// Only if its head comes earlier still.
    Moved,
    No,
}

/// What looking for races came to.
#[derive(Debug, Default)]
pub(super) struct OpenedUnits {
    pub(super) units: Vec<Unit>,
    pub(super) races: u64,
    /// Units that cost more than the bound.
    pub(super) too_dear: u64,
    /// Not every choice of events beside a race was tried.
    pub(super) gave_up: bool,
}

impl Run {
    /// Opens the races of the events that are new.
    pub(super) fn open_races(&mut self, bound: Option<u32>) -> OpenedUnits {
        let mut found = OpenedUnits::default();
        let Some(fresh) = self.unit.fresh else { return found };
        let mut opener = Opener { run: self, bound, found: &mut found };
        opener.open(fresh);
        found
    }

    /// Which ops on the objects that an op touches wait, as events on them have shown.
    fn waits_on(&self, touched: &[(ObjectId, Access); 2]) -> [Waits; 2] {
        touched.map(|(object, _)| {
            (0..self.history.len())
                .find_map(|event| {
                    let theirs = &self.history.event(event).footprint.touched;
                    let at = theirs.iter().position(|(other, _)| *other == object)?;
                    Some(self.waits[event][at])
                })
                .unwrap_or_default()
        })
    }

    /// What the later op does where it comes before the event at `first` and after those in `before`, if
    /// that is known.
    fn access_at(
        &self,
        at: usize,
        first: usize,
        before: &[usize],
        (step, [waits, _]): (&Footprint, [Waits; 2]),
    ) -> Option<Footprint> {
        let object = step.touched[0].0;
        let changes = |event: usize| {
            let touched = &self.history.event(event).footprint.touched;
            touched.iter().any(|(other, access)| *other == object && access.changes())
        };
        let moves = |&event: &usize| self.history.event(event).footprint.task == step.task;
        let mut step = *step;
        let same_anywhere = match step.touched[0].1 {
            // A lock is given back by who has it, wherever that is. To unpark a task that was unparked does nothing.
            Access::Release => waits == Waits::Lock,
            Access::Read
            | Access::Acquire
            | Access::Share
            | Access::Unshare
            | Access::Append
            | Access::BoundedPush(_)
            | Access::Take => true,
            _ => false,
        };
        if changes(first) && !same_anywhere {
            let own = self.points.options(at).iter().find(|(task, _)| *task == step.task);
            let (_, access) =
                own.filter(|_| !before.iter().any(|event| changes(*event) || moves(event)))?;
            step.touched[0].1 = *access;
        }
        let events = (0..first).chain(before.iter().copied());
        Some(self.after(step, events))
    }

    /// Whether what the later op does is certain where it comes before the event at `first`: it does the same wherever it comes
    /// earlier, or that event changes its object, so that it was looked up, or nothing that it leaves behind does.
    fn is_certain(
        &self,
        first: usize,
        before: &[usize],
        later: &Later,
        placed: &Footprint,
    ) -> bool {
        let changes = |event: usize, object: ObjectId| {
            let touched = &self.history.event(event).footprint.touched;
            touched.iter().any(|(other, access)| *other == object && access.changes())
        };
        let end = later.index.min(self.history.len());
        let stays = |access: Access, object: ObjectId, waits: Waits| match access {
            Access::Release => waits == Waits::Lock,
            Access::Read
            | Access::Share
            | Access::Unshare
            | Access::Append
            | Access::BoundedPush(_)
            | Access::Take => true,
            // Of a queue: that it has come to its end.
            Access::Acquire => !self.is_queue(object),
            _ => false,
        };
        let left = |event: &usize| later.has(*event) && before.binary_search(event).is_err();
        placed.touched.iter().enumerate().all(|(at, &(object, access))| {
            object == ObjectId::NONE
                || stays(access, object, later.waits[at])
                || at == 0 && changes(first, object)
                || !(first..end).filter(left).any(|event| changes(event, object))
        })
    }

    /// The later op as the least that it may do, of which it is not known what it does where it is put, if its races
    /// are the same whatever that is.
    ///
    /// They are where all that was done to its object before it changed the object: an exchange that succeeds and one
    /// that fails conflict with the same events then. A read would make a difference, since only one that succeeds
    /// conflicts with it.
    fn alike_among_writes(&self, step: &Footprint, later: &Later) -> Option<Footprint> {
        let least = vague(step, later.waits).filter(|_| later.ran)?;
        let (object, access) = least.touched[0];
        let changes = |event: usize| {
            let touched = self.history.event(event).footprint.touched;
            touched.iter().all(|(other, theirs)| *other != object || *theirs == Access::Write)
        };
        (access == Access::FailedUpdate && (0..later.index).all(changes)).then_some(least)
    }

    fn is_queue(&self, object: ObjectId) -> bool {
        use Access::{Append, BoundedPush, Take, TryBoundedPush, TryTake};
        (0..self.history.len()).any(|event| {
            self.history.event(event).footprint.touched.iter().any(|(other, access)| {
                let queues =
                    matches!(access, Append | BoundedPush(_) | TryBoundedPush(_) | Take | TryTake);
                *other == object && queues
            })
        })
    }

    /// The events after the one at `first` that do not depend on it, but on the later op of a race.
    fn met(&self, first: usize, later: &Later) -> Vec<usize> {
        let Some(step) = &later.step else { return Vec::new() };
        // What let it go on there need not come before it here.
        let mut plain = Footprint::new(step.task, &step.touched, step.partner);
        (plain.shared_resources, plain.nth) = (step.shared_resources, step.nth);
        (plain.waited_for, plain.ran_on) = (step.waited_for, step.ran_on);
        let history = &self.history;
        let end = if later.ran { later.index } else { history.len() };
        let meets = |&event: &usize| {
            let happened = history.event(event);
            later.has(event)
                && !happened.immediate
                && !history.before(first, event)
                && !history.happens_before_op(event)
                && plain.dependent(&happened.footprint)
        };
        (first + 1..end).filter(meets).collect()
    }

    /// The events between the steps of a race that are on neither side of it, and on which the later op would depend
    /// where it comes after those in `before`: there it may do something else than it did.
    fn beside(&self, first: usize, at: usize, later: &Later, before: &[usize]) -> Vec<usize> {
        let Some(step) = later.step.filter(|_| later.ran) else { return Vec::new() };
        // Of the ops that may turn out otherwise only those on queues commute with something that they would not commute
        // with then: that a sender goes.
        let otherwise = match step.touched[0].1 {
            Access::TryTake => Access::FailedUpdate,
            Access::TryBoundedPush(_) => Access::Refused,
            _ => return Vec::new(),
        };
        let placed = self.access_at(at, first, before, (&step, later.waits));
        let access = placed.map_or(otherwise, |placed| placed.touched[0].1);
        let mut there = Footprint::new(step.task, &step.touched, step.partner);
        there.touched[0].1 = access;
        let depends = |&event: &usize| {
            let happened = self.history.event(event);
            later.has(event)
                && !happened.immediate
                && before.binary_search(&event).is_err()
                && !self.history.before(first, event)
                && !self.history.before(event, later.index)
                && there.dependent(&happened.footprint)
        };
        let after_it = |event: &usize| self.history.before(later.index, *event);
        (first + 1..self.history.len())
            .filter(|event| *event != later.index && !after_it(event))
            .filter(depends)
            .collect()
    }

    /// What must come before the later op of a race where it comes before the event at `first` and
    /// after those in `met`; none if it cannot.
    fn before(&self, first: usize, later: &Later, met: &[usize]) -> Option<Vec<usize>> {
        let history = &self.history;
        let end = if later.ran { later.index } else { history.len() };
        // One that came after it and does not depend on it may come before it, too.
        let end = met.last().map_or(end, |last| end.max(last + 1));
        let free = |event: &usize| {
            let after = history.before(first, *event);
            later.has(*event) && !history.event(*event).immediate && !after
        };
        let past = |event: &usize| {
            history.happens_before_op(*event)
                || met.iter().any(|&other| history.before(*event, other))
        };
        let mut before: Vec<usize> = (first + 1..end).filter(free).filter(past).collect();
        let Some(step) = &later.step else { return Some(before) };
        let mut widened = !later.ran;
        while let Some(other) = history.in_the_way(step, first, &before) {
            if other >= first {
                if history.happens_before_op(other) {
                    return None;
                }
                before.retain(|&event| !history.before(other, event));
            } else if widened {
                return None;
            } else {
                // Those who had it before must have given it back.
                widened = true;
                let gave = |&event: &usize| past(&event) || history.before(event, later.index);
                before = (first + 1..end).filter(free).filter(gave).collect();
            }
        }
        Some(before)
    }

    /// Whether what a unit leads to can be within the bound: the one whose schedule is `before` the event at `first`,
    /// then the later op. `placed`: what that does there, if it is known.
    ///
    /// Whatever execution a unit leads to, by its own executions and by units that these open, contains all older heads and
    /// all events with another value than the first, with what happened before them: their races were opened before
    /// and are not opened again. It contains the new head with what is before it in any case; but the head may move
    /// further up past what it merely conflicts with. As long as it does not, what happened before it here does so there.
    fn fits(
        &self,
        k: u32,
        (first, before): (usize, &[usize]),
        later: &Later,
        (last, placed): (&Footprint, Option<&Footprint>),
    ) -> Fits {
        let history = &self.history;
        let vague = vague(last, later.waits);
        let placed = placed.or(vague.as_ref());
        let width = history.width().max(last.task.index() + 1);
        let join = |into: &mut Vec<u32>, at: usize| {
            let clock = history.clock(at);
            into.iter_mut().zip(clock).for_each(|(known, theirs)| *known = (*known).max(*theirs));
        };
        let (mut needs, mut here) = (vec![0; width], vec![0; width]);
        // Its task's event before, which need not have been chosen.
        let nth = if later.ran { last.nth - 1 } else { history.events_of(last.task) };
        if let Some(own) = history.index_of(last.task, nth) {
            join(&mut needs, own);
            join(&mut here, own);
        }
        for at in (0..first).chain(before.iter().copied()) {
            let step = &history.event(at).footprint;
            let own = step.task == last.task || history.happens_before_op(at);
            if own {
                join(&mut needs, at);
            }
            if own || placed.is_some_and(|placed| step.dependent(placed)) {
                join(&mut here, at);
            }
        }
        let fixed = |past: &Vec<u32>| {
            let mut counts = past.clone();
            for at in self.marks.fixed().filter(|&at| at < first) {
                join(&mut counts, at);
            }
            counts
        };
        let waits = later.waits;
        let seen = Seen::new(history, &self.waits, &self.values.of_events);
        if let Some(placed) = placed {
            let last = Last { step: *placed, waits, needs: here.clone(), exact: true };
            if Core::new(&seen, fixed(&here), last).costs_at_most(k) {
                return Fits::Yes;
            }
        }
        let counts = fixed(&needs);
        let last = Last { step: *last, waits, needs, exact: false };
        match Core::new(&seen, counts, last).costs_at_most(k) {
            false => Fits::No,
            true if placed.is_some() => Fits::Moved,
            true => Fits::Yes,
        }
    }
}

/// Makes units of races.
struct Opener<'a> {
    run: &'a mut Run,
    bound: Option<u32>,
    found: &'a mut OpenedUnits,
}

impl Opener<'_> {
    fn open(&mut self, fresh: usize) {
        let mut races = Vec::new();
        for index in fresh..self.run.history.len() {
            self.run.history.races(index, &mut races);
            let event = self.run.history.event(index);
            let step = (!event.immediate).then_some(event.footprint);
            let waits = self.run.waits[index];
            self.reverse_all(&races, &later(index, step, waits, true));
        }
        self.open_attempts(fresh);
        for at in 0..self.run.timers.len() {
            let (index, timer) = self.run.timers[at];
            if index < fresh {
                continue;
            }
            let owner = self.run.history.event(index).footprint.task;
            let step = Footprint::new(timer.task, &timer.footprint, Some(owner));
            self.run.history.races_of_timer(index, &timer, &mut races);
            self.reverse_stuck(&races, index, step);
        }
        let index = self.run.history.len();
        for stuck in std::mem::take(&mut self.run.stuck) {
            self.run.history.races_of_stuck(&stuck, &mut races);
            self.reverse_stuck(&races, index, Footprint::new(stuck.task, &stuck.footprint, None));
            let Some(timer) = stuck.timer else { continue };
            self.run.history.races_of_stuck_timer(&stuck, &timer, &mut races);
            let step = Footprint::new(timer.task, &timer.footprint, Some(stuck.task));
            self.reverse_stuck(&races, index, step);
        }
    }

    /// Opens the races of attempts that were known before, beside the events that are new: a sender that goes may be
    /// there only because of the head, which let its task have the sender. Where the attempt comes earlier and finds nothing it
    /// depends on that, though here it does not, so the execution that opened the race first could not know of it.
    ///
    /// This is the execution to do so: if the head is before neither the attempt nor any event beside it that is chosen, it is
    /// left behind; if it is before the attempt, that is new itself; else it is before one of those beside, which is new.
    fn open_attempts(&mut self, fresh: usize) {
        let mut races = Vec::new();
        for index in 0..fresh {
            let event = self.run.history.event(index);
            let (_, access) = event.footprint.touched[0];
            if event.immediate || !matches!(access, Access::TryTake | Access::TryBoundedPush(_)) {
                continue;
            }
            let (step, waits) = (Some(event.footprint), self.run.waits[index]);
            self.run.history.races(index, &mut races);
            let beside = Some(fresh);
            self.reverse_all(&races, &Later { beside, ..later(index, step, waits, true) });
        }
    }

    /// Reverses the races of an op that did not run.
    fn reverse_stuck(&mut self, races: &[u32], index: usize, step: Footprint) {
        let waits = self.run.waits_on(&step.touched);
        self.reverse_all(races, &later(index, Some(step), waits, false));
    }

    /// Reverses the races of an op with these events.
    fn reverse_all(&mut self, races: &[u32], later: &Later) {
        for &first in races {
            self.found.races += 1;
            let run = &*self.run;
            if run.marks.is_scheduled(first as usize) {
                continue;
            }
            // Another one between them is to be reversed before.
            let nearer = |&other: &u32| {
                other != first
                    && run.history.before(first as usize, other as usize)
                    && run.point_of(other as usize).is_some()
                    && {
                        let met = run.met(other as usize, later);
                        run.before(other as usize, later, &met).is_some()
                    }
            };
            if !races.iter().any(nearer) {
                self.reverse(first as usize, later);
            }
        }
    }

    /// Reverses the race of the event at `first` with a later op, if this is the execution to do so.
    fn reverse(&mut self, first: usize, later: &Later) {
        let Some(at) = self.run.point_of(first) else { return };
        let met = self.run.met(first, later);
        let mut opened: Vec<Vec<usize>> = Vec::new();
        for met in self.met_before(later, met) {
            let Some(before) = self.run.before(first, later, &met) else { continue };
            if opened.contains(&before) {
                continue;
            }
            if later.beside.is_none() {
                self.reverse_after(first, at, later, &before);
            }
            self.reverse_beside(first, at, later, (&met, &before));
            opened.push(before);
        }
    }

    /// Which of the events that the later op of a race meets come before it, in all ways that no other race shows.
    ///
    /// One that ran could also have come before an event that it met, which is a race of its own, reversed by itself. Not so if it
    /// cannot: it waits for a lock, and who has the lock gives it back only after that event. Where it comes before the
    /// first step of the race, too, by which the lock was taken, it can. So those that cannot be reversed by themselves are
    /// on either side here. A program that lost half of its traces: `try_read` with `read; try_write` inside, beside a
    /// `read` and a `write`, whose lock comes before both readers or after both.
    ///
    /// One that did not run has no race of its own with any of them: each is on either side, with what is before it. Readers are
    /// not before each other. A program that lost 2 of 9 traces, as long as those were on one side in the order in which they came:
    /// a task that keeps a lock for reading, two readers and a writer.
    fn met_before(&mut self, later: &Later, met: Vec<usize>) -> Vec<Vec<usize>> {
        if later.waits == [Waits::Never; 2] && later.ran {
            return vec![met];
        }
        let run = &*self.run;
        let by_itself = |event: &usize| {
            later.ran
                && run.point_of(*event).is_some()
                && run.before(*event, later, &run.met(*event, later)).is_some()
        };
        let fixed: Vec<bool> = met.iter().map(by_itself).collect();
        // First all of them, as they were; of an op that did not run, first none.
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
        for (&event, fixed) in met.iter().zip(fixed) {
            let follows = |one: &Vec<usize>| {
                let earlier = met.iter().take_while(|other| **other < event);
                let mut before = earlier.filter(|other| run.history.before(**other, event));
                before.all(|other| one.contains(other))
            };
            let with = |one: &Vec<usize>| one.iter().copied().chain([event]).collect();
            let more: Vec<Vec<usize>> =
                chosen.iter().filter(|one| follows(one)).map(with).collect();
            if fixed {
                chosen = more;
            } else if chosen.len() + more.len() > MOST_CHOICES {
                self.found.gave_up = true;
                chosen = more;
            } else {
                chosen.splice(0..0, more);
            }
        }
        if !later.ran {
            chosen.reverse();
        }
        chosen
    }

    /// Reverses a race also with events before its later op on which that op does not depend here, but would there: an
    /// attempt to receive that finds something does not look whether there are senders left. They may come
    /// before it or after it, each of them, and no race shows that. `met` with what is before that has been seen to.
    fn reverse_beside(
        &mut self,
        first: usize,
        at: usize,
        later: &Later,
        (met, before): (&[usize], &[usize]),
    ) {
        let beside = self.run.beside(first, at, later, before);
        if beside.is_empty() {
            return;
        }
        self.found.gave_up |= beside.len() > MOST_BESIDE;
        let mut opened = vec![before.to_vec()];
        for chosen in 1..1_u64 << beside.len().min(MOST_BESIDE) {
            let is_chosen = |(at, _): &(usize, &usize)| chosen >> at & 1 == 1;
            let more = beside.iter().enumerate().filter(is_chosen).map(|(_, event)| *event);
            if later.beside.is_some_and(|fresh| more.clone().all(|event| event < fresh)) {
                continue;
            }
            let mut met: Vec<usize> = met.iter().copied().chain(more).collect();
            met.sort_unstable();
            let Some(before) = self.run.before(first, later, &met) else { continue };
            if !opened.contains(&before) {
                self.reverse_after(first, at, later, &before);
                opened.push(before);
            }
        }
    }

    /// Reverses a race with these events before its later op, if this is the execution to do so.
    fn reverse_after(&mut self, first: usize, at: usize, later: &Later, before: &[usize]) {
        let run = &*self.run;
        let left_behind = |event: usize| {
            let own = later.ran && event == later.index;
            let inside = event >= first && event < later.limit && !own;
            inside && before.binary_search(&event).is_err()
        };
        if run.marks.fixed().any(left_behind)
            || later.ran && run.marks.valued.contains(&(later.index as u32))
        {
            return;
        }
        let step = |event: &usize| &run.history.event(*event).footprint;
        let begins = before.first().map(step).or(later.step.as_ref());
        if !begins.is_some_and(|begins| {
            run.points.options(at).iter().any(|(task, _)| *task == begins.task)
        }) {
            return;
        }
        let marks = run.marks.of_first(first);
        let placed =
            later.step.and_then(|last| run.access_at(at, first, before, (&last, later.waits)));
        if let Some(last) = &placed {
            let events = (0..first).chain(before.iter().copied());
            let past = |event: usize| {
                run.history.happens_before_op(event)
                    || events.clone().any(|other| {
                        other >= event
                            && run.history.before(event, other)
                            && step(&other).dependent(last)
                    })
            };
            let known = (&run.history, &run.lineage);
            if Run::is_for_another(&marks.heads, known, last, &events, past) {
                return;
            }
        }
        if let (Some(k), Some(last)) = (self.bound, &later.step) {
            let placed = placed.filter(|placed| run.is_certain(first, before, later, placed));
            let fits = run.fits(k, (first, before), later, (last, placed.as_ref()));
            self.found.too_dear += u64::from(fits != Fits::Yes);
            if fits == Fits::No || fits == Fits::Moved && self.move_up(first, placed, later, before)
            {
                return;
            }
        }
        let run = &*self.run;
        let mut schedule: Vec<_> = before.iter().map(|&event| run.guided(event)).collect();
        schedule.extend(later.step.map(|step| Guided { task: step.task, values: Box::default() }));
        let decisions = run.decisions[..at].to_vec();
        let instead = Some(run.history.event(first).footprint);
        let events = first;
        self.found.units.push(Unit { decisions, events, marks, schedule, instead, fresh: None });
    }

    /// The head of a unit costs too much where it was put, but may move further up: opens its races with what is
    /// repeated, as an execution of the unit would. `false` if what these are is not known: then it must be run.
    fn move_up(
        &mut self,
        first: usize,
        placed: Option<Footprint>,
        later: &Later,
        before: &[usize],
    ) -> bool {
        let Some(step) = &later.step else { return false };
        let history = &self.run.history;
        let objects = step.touched.map(|(object, _)| object);
        let meets = |&event: &usize| {
            let other = &history.event(event).footprint;
            let known =
                |(object, _): &(ObjectId, _)| *object != ObjectId::NONE && objects.contains(object);
            !self.run.marks.is_scheduled(event)
                && !history.happens_before_op(event)
                && (other.touched.iter().any(known)
                    || other.shared_resources & step.shared_resources != 0)
        };
        if step.partner.is_none() && !(0..first).any(|event| meets(&event)) {
            // There is nothing that it could come before.
            return true;
        }
        let placed = placed.or_else(|| self.run.alike_among_writes(step, later));
        let Some(last) = placed else { return false };
        let ([(object, access), (second, _)], [waits, _]) = (last.touched, later.waits);
        if second != ObjectId::NONE || last.shared_resources != 0 || !later.ran {
            return false;
        }
        let conflicts: fn(Access) -> bool = match (waits, access) {
            (Waits::Never, Access::Write) => |_| true,
            (Waits::Never, Access::Read | Access::FailedUpdate) => Access::changes,
            // Before it was given back, or refused, it was taken.
            (Waits::Lock, Access::Acquire) => {
                |theirs| matches!(theirs, Access::Acquire | Access::TryAcquire)
            }
            _ => return false,
        };
        let on = |event: usize| {
            let touched = history.event(event).footprint.touched;
            touched.into_iter().find(|(other, _)| *other == object).map(|(_, access)| access)
        };
        let known = |access: Access| {
            use Access::{Acquire, FailedUpdate, Read, Refused, Release, TryAcquire, Write};
            matches!(access, Write | Read | FailedUpdate | Acquire | Release | TryAcquire | Refused)
        };
        if !(0..first).filter_map(on).all(known) {
            return false;
        }
        let all: Vec<u32> = (0..first)
            .filter(|&event| on(event).is_some_and(conflicts) && !history.happens_before_op(event))
            .map(|event| event as u32)
            .collect();
        let is_last = |&&one: &&u32| {
            !all.iter().any(|&other| other != one && history.before(one as usize, other as usize))
        };
        let races: Vec<u32> = all.iter().filter(is_last).copied().collect();
        if races.iter().any(|&event| history.event(event as usize).immediate) {
            return false;
        }
        let (step, with) = (Some(last), before.to_vec());
        self.reverse_all(&races, &Later { step, limit: first, with, ..later.clone() });
        true
    }
}

fn later(index: usize, step: Option<Footprint>, waits: [Waits; 2], ran: bool) -> Later {
    Later { index, step, waits, ran, limit: usize::MAX, with: Vec::new(), beside: None }
}

/// What an op may do at the least, of which it is not known what it does: all that conflicts with that conflicts with what it
/// does. An exchange may fail, an attempt at a lock be refused. None if that is not known either.
fn vague(last: &Footprint, [waits, _]: [Waits; 2]) -> Option<Footprint> {
    let ((_, access), (second, _)) = (last.touched[0], last.touched[1]);
    let weakest = match (waits, access) {
        (Waits::Never, Access::Write | Access::FailedUpdate) => Access::FailedUpdate,
        (Waits::Lock, Access::TryAcquire | Access::Refused) => Access::Refused,
        _ => return None,
    };
    let mut vague = *last;
    vague.touched[0].1 = weakest;
    (second == ObjectId::NONE).then_some(vague)
}
