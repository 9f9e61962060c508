//! Learns from executions which statement came directly before which on the same object.
//!
//! For each object there is a list of the tasks that have touched it, each with what it did last, the
//! latest at the end. A task that touches it is compared with those behind its own entry, and goes to the end:
//! so the cost of a step is the number of tasks that have been there since.

use std::panic::Location;

use raddle_engine::context::{self, Context};
use raddle_engine::dependence::{conflict, reversible};
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{Step, Unsupported};

use raddle_trace::PairSet;

use super::Metric;
use super::pairs::Pairs;
use super::statements::{StatementId, Statements};
use crate::state::{FOREIGN, Reader, Writer};

/// What a task did last to an object.
#[derive(Clone, Copy, Debug)]
struct Last {
    task: TaskId,
    access: Access,
    statement: StatementId,
    /// If it has given back the lock since: what did that, and whether it was shared.
    gave_back: StatementId,
    shared: bool,
}

const NONE: StatementId = StatementId::NONE;

impl Last {
    fn new(task: TaskId, access: Access, statement: StatementId) -> Self {
        Self { task, access, statement, gave_back: NONE, shared: false }
    }

    /// The statement that directly precedes another task's step with this access, if that tells something.
    fn comes_before(&self, access: Access) -> Option<StatementId> {
        if gives_back(access) {
            return (self.access == Access::Refused).then_some(self.statement);
        }
        if self.gave_back != NONE {
            // Who waits for a lock could not have come before it was given back, so that says nothing:
            // the one that had taken it does.
            let how = if self.shared { Access::Unshare } else { Access::Release };
            if conflict(how, access) && reversible(how, access) {
                return Some(self.gave_back);
            }
        }
        conflict(self.access, access).then_some(self.statement)
    }
}

/// A pair that no passing execution has shown before this one.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    later: StatementId,
    earlier: StatementId,
    /// The event that showed it first.
    event: u32,
}

/// The pairs that were learned, and those of the execution that runs.
#[derive(Clone, Debug)]
pub(crate) struct Learner {
    metric: Metric,
    statements: Statements,
    /// By object. Those that are not empty are named by `used`.
    objects: Vec<Vec<Last>>,
    used: Vec<u32>,
    known: Pairs,
    fresh: Vec<Fresh>,
    /// As a set.
    met: Pairs,
    events: u32,
    /// Whether calls tell statements apart.
    contexts: bool,
    /// Whether tasks do.
    tasks: bool,
    /// How many calls do, if fewer than the engine says; and what it says, by number, cut to so many.
    calls: Option<u8>,
    cut: Vec<Option<Context>>,
}

impl Learner {
    /// Learns this, and tells statements apart by their calls or does not.
    pub(crate) fn new(metric: Metric, contexts: bool) -> Self {
        Self {
            metric,
            statements: Statements::default(),
            objects: Vec::new(),
            used: Vec::new(),
            known: Pairs::default(),
            fresh: Vec::new(),
            met: Pairs::default(),
            events: 0,
            contexts,
            tasks: false,
            calls: None,
            cut: Vec::new(),
        }
    }

    /// Tells the statements of different tasks apart, too.
    pub(crate) fn by_task(self) -> Self {
        Self { tasks: true, ..self }
    }

    /// Goes by so many of the calls that the engine says.
    pub(crate) fn of_calls(self, calls: u8) -> Self {
        Self { calls: Some(calls), ..self }
    }

    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// What was learned.
    pub(crate) fn known(&self) -> &Pairs {
        &self.known
    }

    /// Takes these to have been seen in passing executions.
    pub(crate) fn know(&mut self, pairs: &PairSet) {
        for (later, earlier) in pairs.iter() {
            let (later, earlier) = (self.statements.named(later), self.statements.named(earlier));
            self.known.insert(later, earlier);
        }
    }

    /// What was learned, by names.
    pub(crate) fn pairs(&self) -> PairSet {
        let mut pairs = PairSet::default();
        for (later, earlier) in self.known.iter() {
            pairs.insert(self.statements.name(later), self.statements.name(earlier));
        }
        pairs
    }

    /// Adds what was learned to a saved state. Between two executions there is nothing else.
    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.number(self.metric as u64);
        writer.flag(self.contexts);
        self.statements.save(writer);
        writer.number(self.known.len() as u64);
        for (later, earlier) in self.known.iter() {
            writer.number(later.0.into());
            writer.number(earlier.0.into());
        }
        if self.tasks {
            self.statements.save_tasks(writer);
        }
    }

    /// One of the same settings with what [`save`](Self::save) added.
    pub(crate) fn restored(&self, reader: &mut Reader<'_>) -> Result<Self, Unsupported> {
        if reader.number()? != self.metric as u64 || reader.flag()? != self.contexts {
            return Err(FOREIGN);
        }
        let new = Self::new(self.metric, self.contexts);
        let mut new = Self { tasks: self.tasks, calls: self.calls, ..new };
        new.statements = Statements::restore(reader)?;
        let most = new.statements.len();
        for _ in 0..reader.length()? {
            let (later, earlier) = (StatementId(reader.small()?), StatementId(reader.small()?));
            if later.index() >= most || earlier.index() >= most {
                return Err(FOREIGN);
            }
            new.known.insert(later, earlier);
        }
        if new.tasks {
            new.statements.restore_tasks(reader)?;
        }
        Ok(new)
    }

    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        for object in self.used.drain(..) {
            self.objects[object as usize].clear();
        }
        self.forget();
        self.events = 0;
    }

    /// Forgets the pairs of the execution.
    fn forget(&mut self) {
        for Fresh { later, earlier, .. } in self.fresh.drain(..) {
            self.met.remove(later, earlier);
        }
    }

    /// The execution ended. Only what passes is learned from.
    pub(crate) fn end(&mut self, passed: bool) {
        if passed {
            for &Fresh { later, earlier, .. } in &self.fresh {
                self.known.insert(later, earlier);
            }
        } else {
            self.forget();
        }
    }

    /// Whether a pair had been seen before the event at `event`: in passing executions, or in this one if
    /// it passed.
    pub(crate) fn knows(&self, later: StatementId, earlier: StatementId, event: usize) -> bool {
        if self.met.contains(later, earlier) {
            let is = |fresh: &&Fresh| fresh.later == later && fresh.earlier == earlier;
            return self.fresh.iter().find(is).is_some_and(|fresh| (fresh.event as usize) < event);
        }
        self.known.contains(later, earlier)
    }

    /// Whether a pair has been seen up to now.
    #[inline]
    pub(crate) fn has_seen(&self, later: StatementId, earlier: StatementId) -> bool {
        self.known.contains(later, earlier) || self.met.contains(later, earlier)
    }

    /// The number of a statement.
    #[inline]
    pub(crate) fn statement(
        &mut self,
        site: &'static Location<'static>,
        context: Context,
    ) -> StatementId {
        self.statements.id(site, if self.contexts { context } else { Context::NONE })
    }

    /// The number of a statement that this task takes.
    #[inline]
    pub(crate) fn statement_of(
        &mut self,
        site: &'static Location<'static>,
        context: Context,
        task: TaskId,
    ) -> StatementId {
        let context = match self.calls.filter(|_| self.contexts) {
            Some(calls) => self.cut_to(context, calls),
            None => context,
        };
        if !self.tasks {
            return self.statement(site, context);
        }
        self.statements.id_of(site, if self.contexts { context } else { Context::NONE }, task)
    }

    /// The innermost of some calls.
    fn cut_to(&mut self, context: Context, calls: u8) -> Context {
        let at = context.0 as usize;
        if let Some(Some(cut)) = self.cut.get(at) {
            return *cut;
        }
        let names = context::names(context);
        let innermost: Vec<&str> = names.iter().take(calls.into()).map(|name| &**name).collect();
        let cut = if innermost.is_empty() { Context::NONE } else { context::of(&innermost) };
        if self.cut.len() <= at {
            self.cut.resize(at + 1, None);
        }
        self.cut[at] = Some(cut);
        cut
    }

    /// A step was taken; says by which statement.
    #[inline]
    pub(crate) fn step(&mut self, step: &Step<'_>) -> StatementId {
        let statement = self.statement(step.site, step.context);
        self.learn(step, statement);
        statement
    }

    /// A step was taken by this statement.
    #[inline]
    pub(crate) fn learn(&mut self, step: &Step<'_>, statement: StatementId) {
        // A timer's step is its owner's: the wait at which it stands ended.
        let task = step.partner.unwrap_or(step.task);
        for &(object, access) in step.footprint {
            if object == ObjectId::NONE || !self.metric.counts(access) {
                continue;
            }
            let slot = object.0 as usize;
            if self.objects.len() <= slot {
                self.objects.resize_with(slot + 1, Vec::new);
            }
            if self.objects[slot].is_empty() {
                self.used.push(object.0);
            }
            match self.metric {
                Metric::ReadsFrom => self.reads(slot, task, access, statement),
                Metric::HapSet | Metric::PSet => self.follows(slot, task, access, statement),
            }
        }
        self.events += 1;
    }

    fn meet(&mut self, later: StatementId, earlier: StatementId) {
        if !self.known.contains(later, earlier) && self.met.insert(later, earlier) {
            self.fresh.push(Fresh { later, earlier, event: self.events });
        }
    }

    /// Learns after which task's step a step came.
    fn follows(&mut self, slot: usize, task: TaskId, access: Access, statement: StatementId) {
        let mut own = None;
        for at in (0..self.objects[slot].len()).rev() {
            let last = &self.objects[slot][at];
            if last.task == task {
                own = Some(at);
                break;
            }
            // Mostly there is nothing to learn.
            let knows = |earlier| self.known.contains(statement, earlier);
            if !(knows(last.statement) && (last.gave_back == NONE || knows(last.gave_back)))
                && let Some(earlier) = last.comes_before(access)
            {
                self.meet(statement, earlier);
            }
        }
        let list = &mut self.objects[slot];
        if gives_back(access) {
            if let Some(own) = own {
                list[own].gave_back = statement;
                list[own].shared = access == Access::Unshare;
            }
            return;
        }
        let newest = Last::new(task, access, statement);
        match own {
            Some(own) => {
                let since = &mut list[own..];
                since[0] = newest;
                since.rotate_left(1);
            }
            None => list.push(newest),
        }
    }

    /// Learns what a step saw: what changed the object last.
    fn reads(&mut self, slot: usize, task: TaskId, access: Access, statement: StatementId) {
        let before = self.objects[slot].last().map_or(StatementId::NONE, |last| last.statement);
        if sees(access) {
            self.meet(statement, before);
        }
        if access.changes() {
            self.objects[slot].clear();
            self.objects[slot].push(Last::new(task, access, statement));
        }
    }
}

/// Whether an access ends what another one began: a lock or a share of it.
pub(crate) fn gives_back(access: Access) -> bool {
    matches!(access, Access::Release | Access::Unshare)
}

/// Whether what an access does may hang on what was there.
pub(crate) fn sees(access: Access) -> bool {
    !gives_back(access) && !matches!(access, Access::Append | Access::DoWork | Access::Adjust)
}
