//! The one extra condition of a guided search: is an order of two steps worth a run?
//!
//! Two steps raced, and the later one would be put first. If its statement has directly preceded that of
//! the other in a passing execution, the order is left out. Then the step before, on the same object, is
//! asked about, and so on: the search backtracks at the latest step where the order would be new.

use raddle_engine::dependence::{conflict, reversible};
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{Finished, Step, Stuck};
use raddle_trace::{Covered, Outcome, PairCount, PairSet};

use super::Metric;
use super::laps::Laps;
use super::learner::{Learner, gives_back};
use super::statements::StatementId;
use crate::dpor::reversal::Later;

const NONE: u32 = u32::MAX;

/// The last step of a task, at a statement, on an object.
#[derive(Clone, Copy, Debug)]
struct Past {
    task: TaskId,
    statement: StatementId,
    access: Access,
    event: u32,
}

/// Knows which orders of statements passing executions have shown.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) learner: Learner,
    pub(crate) laps: Laps,
    /// Whether it leaves anything out.
    prunes: bool,
    /// The statements of the events of the execution.
    events: Vec<StatementId>,
    /// For each of them the latest event that it could have come before in an order not seen then.
    behind: Vec<u32>,
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
            events: Vec::new(),
            behind: Vec::new(),
            pasts: Vec::new(),
            used: Vec::new(),
            contexts,
            pruned: 0,
            executions: 0,
            count: PairCount::default(),
        }
    }

    /// Learns, and leaves nothing out: what a search without a filter does.
    pub(crate) fn lenient(self) -> Self {
        Self { prunes: false, ..self }
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
        for object in self.used.drain(..) {
            self.pasts[object as usize].clear();
        }
    }

    /// A step was taken.
    pub(crate) fn step(&mut self, step: &Step<'_>) {
        let statement = self.learner.step(step);
        self.laps.step(step.task, statement);
        let event = self.events.len() as u32;
        self.events.push(statement);
        let task = step.partner.unwrap_or(step.task);
        let mut behind = NONE;
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
            let learner = &self.learner;
            let new = |past: &&Past| {
                past.task != task
                    && conflict(past.access, access)
                    && reversible(past.access, access)
                    && !learner.has_seen(past.statement, statement)
            };
            if let Some(past) = self.pasts[slot].iter().rev().find(new)
                && (behind == NONE || past.event > behind)
            {
                behind = past.event;
            }
            let list = &mut self.pasts[slot];
            let same = |past: &Past| past.task == task && past.statement == statement;
            if let Some(at) = list.iter().rposition(same) {
                list.remove(at);
            }
            list.push(Past { task, statement, access, event });
        }
        self.behind.push(behind);
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

    /// Leaves out of `races`, those of `later`, what is not worth a run.
    pub(crate) fn keep_new(&mut self, history: &History, later: &Later, races: &mut Vec<u32>) {
        let index = later.index;
        let before = races.len();
        self.retain(self.events[index], index, races);
        let behind = self.behind[index];
        let pruned = races.len() < before && later.ran;
        if pruned && behind != NONE && !races.contains(&behind) {
            // What its task did before must not need the other.
            let event = history.event(index);
            let previous = history.index_of(event.footprint.task, event.nth - 1);
            if previous.is_none_or(|previous| !history.before(behind as usize, previous)) {
                races.push(behind);
            }
        }
    }

    /// The same for an op that did not run.
    pub(crate) fn keep_new_of_stuck(&mut self, stuck: &Stuck, races: &mut Vec<u32>) {
        let statement = self.learner.statement(stuck.site, stuck.context);
        self.retain(statement, self.events.len(), races);
    }

    fn retain(&mut self, earlier: StatementId, index: usize, races: &mut Vec<u32>) {
        if !self.prunes {
            return;
        }
        let before = races.len();
        let (learner, events) = (&self.learner, &self.events);
        races.retain(|&first| !learner.knows(events[first as usize], earlier, index));
        self.pruned += (before - races.len()) as u64;
    }
}
