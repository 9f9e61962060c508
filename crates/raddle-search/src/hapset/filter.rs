//! The one extra condition of a guided search: is an order of two steps worth a run?
//!
//! Two steps raced, and the later one would be put first. If its statement has directly preceded that of
//! the other in a passing execution, the order is left out. Then the step before, on the same object, is
//! asked about, and so on: the search backtracks at the latest step where the order would be new.

use raddle_engine::dependence::{conflict, reversible};
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{Checkpoint, Finished, Step, Stuck, Unsupported};
use raddle_trace::{Covered, Outcome, PairCount, PairSet};
use serde::{Deserialize, Serialize};

use super::Metric;
use super::laps::Laps;
use super::learner::{Learner, gives_back};
use super::statements::StatementId;
use crate::races::{Later, RaceFilter};
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "filter";

/// The last step of a task, at a statement, on an object.
#[derive(Clone, Copy, Debug)]
struct Past {
    task: TaskId,
    statement: StatementId,
    access: Access,
    event: u32,
}

/// What a filter learned, as it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedFilter(Vec<u8>);

/// Knows which orders of statements passing executions have shown.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) learner: Learner,
    pub(crate) laps: Laps,
    /// Whether it leaves anything out.
    prunes: bool,
    /// Whether what it leaves in is the search without it, and so is what is covered.
    whole: bool,
    /// The statements of the events of the execution.
    events: Vec<StatementId>,
    /// Events, by the later one, that could have come in an order not seen then: with the latest such
    /// event, and with all that came since its task was about to take it.
    behind: Vec<(u32, u32)>,
    /// By task, the number of events up to its last one.
    own: Vec<u32>,
    /// By object, the latest at the end. Those that are not empty are named by `used`.
    pasts: Vec<Vec<Past>>,
    used: Vec<u32>,
    contexts: u8,
    pruned: u64,
    executions: u64,
    count: PairCount,
}

impl Filter {
    /// Learns this, and tells statements apart by so many calls.
    pub(crate) fn new(metric: Metric, contexts: u8) -> Self {
        Self {
            learner: Learner::new(metric, contexts > 0),
            laps: Laps::default(),
            prunes: true,
            whole: false,
            events: Vec::new(),
            behind: Vec::new(),
            own: Vec::new(),
            pasts: Vec::new(),
            used: Vec::new(),
            contexts,
            pruned: 0,
            executions: 0,
            count: PairCount::default(),
        }
    }

    /// Learns, and leaves nothing out: what a search without a filter does. It counts what it would.
    pub(crate) fn lenient(self) -> Self {
        Self { prunes: false, ..self }
    }

    /// The same, as the last of several: what is covered is what the search without it covers.
    pub(crate) fn whole(self) -> Self {
        Self { whole: true, ..self.lenient() }
    }

    /// Whether what is covered is what the search without it covers.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Tells the statements of different tasks apart, too.
    pub(crate) fn by_task(self) -> Self {
        Self { learner: self.learner.by_task(), ..self }
    }

    /// Goes by fewer calls than the engine is asked for.
    pub(crate) fn of_calls(self, calls: u8) -> Self {
        Self { learner: self.learner.of_calls(calls), ..self }
    }

    /// After so many executions with other filters.
    pub(crate) fn after(self, executions: u64) -> Self {
        Self { executions, ..self }
    }

    /// Executions so far.
    pub(crate) fn executions(&self) -> u64 {
        self.executions
    }

    /// Whether it has left anything out.
    pub(crate) fn has_pruned(&self) -> bool {
        self.pruned > 0
    }

    /// Takes these to have been seen in passing executions.
    pub(crate) fn know(&mut self, pairs: &PairSet) {
        self.learner.know(pairs);
        self.count.known = self.learner.known().len() as u64;
    }

    /// How many calls the engine is asked for.
    pub(crate) fn contexts(&self) -> u8 {
        self.contexts
    }

    /// What was learned, for a saved state.
    pub(crate) fn save(&self) -> SavedFilter {
        let mut writer = Writer::new(NAME);
        writer.number(self.contexts.into());
        writer.flag(self.prunes);
        self.learner.save(&mut writer);
        let PairCount { known, added, last } = self.count;
        for number in [self.pruned, self.executions, known, added, last] {
            writer.number(number);
        }
        SavedFilter(writer.finish().0)
    }

    /// One of the same settings with what [`save`](Self::save) gave.
    pub(crate) fn restored(&self, saved: SavedFilter) -> Result<Self, Unsupported> {
        let saved = Checkpoint(saved.0);
        let mut reader = Reader::new(&saved, NAME)?;
        if reader.number()? != u64::from(self.contexts) || reader.flag()? != self.prunes {
            return Err(FOREIGN);
        }
        let mut new = Self::new(self.learner.metric(), self.contexts);
        (new.prunes, new.whole) = (self.prunes, self.whole);
        new.learner = self.learner.restored(&mut reader)?;
        (new.pruned, new.executions) = (reader.number()?, reader.number()?);
        let (known, added, last) = (reader.number()?, reader.number()?, reader.number()?);
        new.count = PairCount { known, added, last };
        reader.finish()?;
        Ok(new)
    }

    /// What was learned.
    pub(crate) fn count(&self) -> PairCount {
        self.count
    }

    /// What a search with this filter has covered.
    pub(crate) fn covered(&self, ended: bool, preemptions: Option<u32>) -> Covered {
        let (executions, pruned, pairs) = (self.executions, self.pruned, self.count.known);
        Covered::Guided { executions, pruned, pairs, preemptions, ended }
    }

    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.learner.begin();
        self.laps.begin();
        self.events.clear();
        self.behind.clear();
        self.own.clear();
        for object in self.used.drain(..) {
            self.pasts[object as usize].clear();
        }
    }

    /// A step was taken.
    pub(crate) fn step(&mut self, step: &Step<'_>) {
        let task = step.partner.unwrap_or(step.task);
        let statement = self.learner.statement_of(step.site, step.context, task);
        self.laps.step(step.task, statement);
        let event = self.events.len() as u32;
        self.events.push(statement);
        if self.own.len() <= task.index() {
            self.own.resize(task.index() + 1, 0);
        }
        let since = std::mem::replace(&mut self.own[task.index()], event + 1);
        for &(object, access) in step.footprint {
            if object == ObjectId::NONE || !self.learner.metric().counts(access) {
                continue;
            }
            let slot = object.0 as usize;
            if self.pasts.len() <= slot {
                self.pasts.resize_with(slot + 1, Vec::new);
            }
            if self.pasts[slot].is_empty() {
                self.used.push(object.0);
            }
            if gives_back(access) {
                continue;
            }
            let list = &mut self.pasts[slot];
            let (mut own, mut any) = (None, false);
            for (at, past) in list.iter().enumerate().rev() {
                if past.task == task {
                    own = own.or((past.statement == statement).then_some(at));
                    continue;
                }
                // Mostly it is known.
                let wanted = past.event >= since || !any;
                if wanted
                    && !self.learner.has_seen(past.statement, statement)
                    && conflict(past.access, access)
                    && reversible(past.access, access)
                {
                    any = true;
                    self.behind.push((event, past.event));
                }
            }
            if let Some(own) = own {
                list.remove(own);
            }
            list.push(Past { task, statement, access, event });
        }
        self.learner.learn(step, statement);
    }

    /// The execution ended.
    pub(crate) fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.learner.end(matches!(execution.outcome, Outcome::Completed));
        let known = self.learner.known().len() as u64;
        if known > self.count.known {
            self.count.added += known - self.count.known;
            (self.count.known, self.count.last) = (known, self.executions);
        }
    }

    fn retain(&mut self, earlier: StatementId, index: usize, races: &mut Vec<u32>) {
        let (learner, events) = (&self.learner, &self.events);
        let (mut left_out, prunes) = (0, self.prunes);
        races.retain(|&first| {
            let known = learner.knows(events[first as usize], earlier, index);
            left_out += u64::from(known);
            !(known && prunes)
        });
        self.pruned += left_out;
    }
}

impl RaceFilter for Filter {
    /// Leaves out of `races`, those of `later`, what is not worth a run.
    fn keep_new(&mut self, history: &History, later: &Later, races: &mut Vec<u32>) {
        let index = later.index;
        self.retain(self.events[index], index, races);
        if !self.prunes || !later.ran {
            return;
        }
        let from = self.behind.partition_point(|(event, _)| (*event as usize) < index);
        let behind = self.behind[from..].iter().take_while(|(event, _)| *event as usize == index);
        // What its task did before must not need the other.
        let event = history.event(index);
        let previous = history.index_of(event.footprint.task, event.nth - 1);
        for &(_, other) in behind {
            let needs = |previous| history.before(other as usize, previous);
            if !races.contains(&other) && !previous.is_some_and(needs) {
                races.push(other);
            }
        }
    }

    /// The same for an op that did not run.
    fn keep_new_of_stuck(&mut self, stuck: &Stuck, races: &mut Vec<u32>) {
        let statement = self.learner.statement_of(stuck.site, stuck.context, stuck.task);
        self.retain(statement, self.events.len(), races);
    }
}
