//! Adds up what the units of one search came to, so that parts which together are the whole claim the whole.
//!
//! A [`Fold`] knows which units are open: the first ones, less those that were completed, plus their leftovers. A record
//! of a unit that is not open is ignored, so a second result of a unit, or one that comes late, changes nothing; nor does the
//! order in which records come. Nothing but the numbers of the open units is needed for that.
//!
//! *What is claimed.* Each result says what all parts cover together if each of them ends and says the same
//! ([`UnitResult::claim`]). If no unit is open, that is the guarantee, with the weakest of what parts
//! said; else it is "the first n executions of a search that did not end".
//!
//! *Source sets.* Units of [`Method::SourceSets`] open nothing at points above them, because each is above many. They
//! request it, and here is decided: points are kept as long as an open unit is below them, with what was begun at each in that
//! order. A request is met if one of its options was begun; else a unit is made of the best, in which all that was begun there
//! before sleeps. So the tree that is there at the end is one that depth-first search could have run, whatever the order of the
//! records. [`Fold::opened`] has the new units: they must be in the queue before the fold is kept.
//!
//! *Estimates.* A record says what its run covered and what its leftovers should come to. What a search comes to is what was run
//! and what is left of the units that are open; one of which nothing is known is taken for as large as those that were completed.
//!
//! *Which failure.* Workers find failures in an order that hangs on time, and the first ends the search. Of those that were
//! reported the one with the fewest decisions is shown, of equal ones that with the fewest steps, then the first by its text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::guarantee::{Assumption, Covered, Gaps, SampleBound};
use crate::hash::{Fnv1a, mix};
use crate::outcome::{Divergence, Outcome};
use crate::pairs::Coverage;
use crate::progress::{Band, Estimate};
use crate::receives::{ActorReceives, OrderSet, ReceivesSeen};
use crate::report::{Counts, Failure, Note};
use crate::unit::{
    Begun, Completed, MAX_EXACT_TRACES, Method, Request, Sibling, TraceSet, Unit, UnitEnd, UnitId,
    UnitResult, Wanted, point_ids,
};

/// Adds up one search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// Units that are to be run.
    open: BTreeMap<UnitId, Open>,
    /// Points above them, of a search by source sets.
    points: BTreeMap<u64, Shared>,
    /// Units that requests opened and that have not been asked for.
    opened: Vec<Unit>,
    /// What was found so far.
    pub sum: Folded,
}

/// A unit that is to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    share: f64,
    /// The points above it, if they are shared.
    above: Vec<u64>,
    /// What it should come to: of the space, and to be run.
    left: Option<(Band, Band)>,
}

impl Open {
    fn of(unit: &Unit) -> Self {
        let above = match unit.method {
            Method::SourceSets => point_ids(&unit.prefix).collect(),
            _ => Vec::new(),
        };
        Self { share: unit.share, above, left: None }
    }
}

/// A point above units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Shared {
    /// How many of them are open.
    open: u64,
    begun: Vec<Begun>,
}

/// What the units of a search that were completed came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Folded {
    /// How many units were completed.
    pub units: u64,
    /// What was done.
    pub counts: Counts,
    /// What all parts cover together, if none is open.
    pub claim: Option<Covered>,
    /// Whether nothing is open.
    pub over: bool,
    /// The failure that ended the search, if one did.
    pub failure: Option<Failure>,
    /// Executions that ended their process, one for each way of doing so at each place.
    pub deaths: Vec<Failure>,
    /// Where an execution did not repeat itself.
    pub diverged: Option<Divergence>,
    /// Why a strategy could not go on.
    pub trouble: Option<String>,
    /// Whether more alternatives were known than may be kept.
    pub memory: bool,
    /// What the guarantee rests on.
    pub assumptions: Vec<Assumption>,
    /// What else there is to say.
    pub notes: Vec<Note>,
    /// The traces, if they were counted.
    pub traces: Option<TraceSet>,
    /// Pairs of statements, if they were learned.
    pub coverage: Option<Coverage>,
    /// Orders of receives, if there were any. Its counts and open pairs are those of one part: who shows them counts
    /// them again from `orders`.
    pub receives: Option<ReceivesSeen>,
    /// The share of the search that was run, by what its points look like.
    pub share: f64,
    /// Executions of the space that are covered by what was run, if a strategy has told.
    #[serde(default)]
    pub covered: Option<f64>,
    /// What the search is estimated to come to, if it ended before it was over.
    #[serde(default)]
    pub estimate: Option<Estimate>,
    /// Processor time of hosts, in microseconds.
    pub busy_us: u64,
}

impl Fold {
    /// A search that consists of these units.
    #[must_use]
    pub fn new(units: &[Unit]) -> Self {
        let open = units.iter().map(|unit| (unit.id, Open::of(unit))).collect();
        Self { open, points: BTreeMap::new(), opened: Vec::new(), sum: Folded::default() }
    }

    /// Whether a unit is still to be run, or runs.
    #[must_use]
    pub fn is_open(&self, unit: UnitId) -> bool {
        self.open.contains_key(&unit)
    }

    /// How many units are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Takes in a record; `false` if its unit is not open, because it was completed before: then nothing changes.
    pub fn complete(&mut self, record: &Completed, method: Method) -> bool {
        let Some(unit) = self.open.remove(&record.result.unit) else { return false };
        let left: f64 = record.leftovers.iter().map(|unit| unit.share).sum();
        self.sum.share += (unit.share - left).max(0.0);
        let upwards = &record.result.upwards;
        for point in &upwards.shared {
            let shared = Shared { open: 0, begun: point.begun.clone() };
            self.points.entry(point.id).or_insert(shared);
        }
        if let Some((point, known)) = &upwards.learned
            && let Some(point) = self.points.get_mut(point)
            && let Some(begun) = point.begun.iter_mut().find(|begun| begun.task == known.task)
        {
            begun.steps.clone_from(&known.steps);
        }
        #[expect(clippy::cast_precision_loss, reason = "estimates have few digits")]
        let part = 1.0 / record.leftovers.len().max(1) as f64;
        let left = record.result.estimate.as_ref().map(Estimate::left);
        let left = left.map(|(space, search)| (space.times(part), search.times(part)));
        record.leftovers.iter().for_each(|unit| self.add_open(unit, left));
        for request in &upwards.requests {
            request.wanted.iter().for_each(|wanted| self.meet(record, request, wanted));
        }
        for point in &unit.above {
            if let Some(shared) = self.points.get_mut(point) {
                shared.open = shared.open.saturating_sub(1);
            }
        }
        // Nothing is requested of a point below which nothing is open.
        for point in unit.above.iter().copied().chain(upwards.shared.iter().map(|point| point.id)) {
            if self.points.get(&point).is_some_and(|shared| shared.open == 0) {
                self.points.remove(&point);
            }
        }
        self.sum.add(&record.result, method);
        self.sum.over = self.open.is_empty();
        true
    }

    /// What the search is estimated to come to, if something is known of that.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "estimates have few digits")]
    pub fn estimate(&self) -> Option<Estimate> {
        let sum = &self.sum;
        let covered = sum.covered?;
        let run = sum.counts.executions as f64;
        let (mut total, mut search) = (Band::exact(covered), Band::exact(run));
        let each = |of: f64| Band::exact(of / sum.units.max(1) as f64);
        for unit in self.open.values() {
            let (space, left) = unit.left.unwrap_or_else(|| (each(covered), each(run)));
            (total, search) = (total.and(space), search.and(left));
        }
        Some(Estimate { total, covered, search, weighted: None, probed: None })
    }

    /// What the units that were completed came to, when no more are run; with an estimate if some are open.
    #[must_use]
    pub fn ended(&self) -> Folded {
        let estimate = if self.sum.over { None } else { self.estimate() };
        Folded { estimate, ..self.sum.clone() }
    }

    /// The units that requests have opened since this was asked last: they are to be run, too.
    pub fn opened(&mut self) -> Vec<Unit> {
        std::mem::take(&mut self.opened)
    }

    fn add_open(&mut self, unit: &Unit, left: Option<(Band, Band)>) {
        let open = Open { left, ..Open::of(unit) };
        for point in &open.above {
            if let Some(shared) = self.points.get_mut(point) {
                shared.open += 1;
            }
        }
        self.open.insert(unit.id, open);
    }

    /// Opens the best option of a request, unless one that meets it was begun.
    fn meet(&mut self, record: &Completed, request: &Request, wanted: &Wanted) {
        let Some(id) = point_ids(&request.prefix).last() else { return };
        let point = self.points.entry(id).or_default();
        if point.begun.iter().any(|begun| wanted.initials.contains(&begun.task)) {
            return;
        }
        let others = point.begun.iter().map(|begun| begun.task).collect();
        let asleep = point.begun.iter().flat_map(|begun| begun.steps.iter().cloned()).collect();
        let sibling = Sibling { task: wanted.best.task, others, asleep };
        point.begun.push(wanted.best.clone());
        let mut prefix = request.prefix.clone();
        if let Some((option, _)) = prefix.last_mut() {
            *option = wanted.option;
        }
        let UnitResult { search, upwards, .. } = &record.result;
        let unit = Unit {
            version: crate::unit::VERSION,
            id: sibling.unit_id(id),
            generation: 0,
            search: *search,
            line: request.line.clone(),
            method: Method::SourceSets,
            seed: request.seed,
            prefix,
            spare: None,
            share: 0.0,
            state: request.state.clone(),
            tasks: upwards.tasks.clone(),
            sibling: Some(sibling),
        };
        self.add_open(&unit, None);
        self.opened.push(unit);
    }
}

impl Sibling {
    /// The number of the unit that begins with it at this point. With other siblings it is another part of the search.
    fn unit_id(&self, point: u64) -> UnitId {
        let mut hash = Fnv1a::new();
        for number in self.others.iter().chain([&self.task]) {
            hash.add(&number.to_le_bytes());
        }
        for step in &self.asleep {
            hash.add(&(step.0.len() as u64).to_le_bytes());
            hash.add(&step.0);
        }
        UnitId(mix(point ^ mix(hash.value())))
    }
}

impl Folded {
    fn add(&mut self, result: &UnitResult, method: Method) {
        self.units += 1;
        self.busy_us += result.busy_us;
        if let Some(estimate) = &result.estimate {
            *self.covered.get_or_insert(0.0) += estimate.covered;
        }
        let before = self.counts.executions;
        self.counts.add(&result.counts);
        self.claim = Some(match self.claim {
            Some(before) if method != Method::Whole => before.and(result.claim),
            _ => result.claim,
        });
        match &result.end {
            UnitEnd::Done | UnitEnd::Failed => {}
            UnitEnd::Diverged { divergence } => {
                self.diverged.get_or_insert_with(|| divergence.clone());
            }
            UnitEnd::Trouble { why } => {
                self.trouble.get_or_insert_with(|| why.clone());
            }
            UnitEnd::Memory => self.memory = true,
        }
        for failure in result.failure.iter().chain(&result.deaths) {
            let execution = failure.execution + before;
            self.add_failure(&Failure { execution, ..failure.clone() });
        }
        self.assumptions.extend_from_slice(&result.assumptions);
        self.assumptions.sort_unstable();
        self.assumptions.dedup();
        result.notes.iter().for_each(|note| self.add_note(note));
        if let Some(traces) = &result.traces {
            self.traces.get_or_insert_default().merge(traces, MAX_EXACT_TRACES);
        }
        if let Some(coverage) = &result.coverage {
            match &mut self.coverage {
                Some(before) => before.add_beside(coverage),
                none => *none = Some(coverage.clone()),
            }
        }
        if let Some(receives) = &result.receives {
            match &mut self.receives {
                Some(before) => before.add_orders(receives),
                none => *none = Some(receives.clone()),
            }
        }
    }

    /// Adds a failure that some worker found.
    pub fn add_failure(&mut self, failure: &Failure) {
        if matches!(failure.outcome, Outcome::Died { .. }) {
            let same = |known: &Failure| known.outcome == failure.outcome;
            if !self.deaths.iter().any(same) {
                self.deaths.push(failure.clone());
                self.deaths.sort_by_cached_key(order);
            }
            return;
        }
        let better = self.failure.as_ref().is_none_or(|known| order(failure) < order(known));
        if better {
            self.failure = Some(failure.clone());
        }
    }

    fn add_note(&mut self, note: &Note) {
        match note {
            Note::Leaked { tasks } => {
                let known = self.notes.iter_mut().find_map(|known| match known {
                    Note::Leaked { tasks } => Some(tasks),
                    _ => None,
                });
                match known {
                    Some(known) => *known += tasks,
                    None => self.notes.push(note.clone()),
                }
            }
            // Of a part that says little; of the whole it is said if no execution had a decision.
            Note::NothingConcurrent => {}
            _ if self.notes.contains(note) => {}
            _ => self.notes.push(note.clone()),
        }
    }

    /// What the search has covered.
    #[must_use]
    pub fn covered(&self) -> Covered {
        let executions = self.counts.executions;
        let claim = self.claim.unwrap_or(Covered::Part { executions: 0, preemptions: None });
        let whole = self.over
            && self.failure.is_none()
            && self.diverged.is_none()
            && self.trouble.is_none()
            && !self.memory;
        match claim.with_executions(executions) {
            sample @ Covered::Sample { .. } => sample,
            covered if whole => covered,
            covered => Covered::Part { executions, preemptions: covered.preemptions() },
        }
    }
}

/// What failures are ordered by.
fn order(failure: &Failure) -> (usize, usize, String) {
    let text = format!("{:?} {:?}", failure.schedule.decisions, failure.outcome);
    (failure.schedule.decisions.len(), failure.trace.events.len(), text)
}

impl Counts {
    /// Adds what another part did.
    pub fn add(&mut self, more: &Self) {
        self.executions += more.executions;
        self.rejected += more.rejected;
        self.blocked += more.blocked;
        self.steps += more.steps;
        self.decisions += more.decisions;
        self.max_steps = self.max_steps.max(more.max_steps);
        self.max_depth = self.max_depth.max(more.max_depth);
        self.max_tasks = self.max_tasks.max(more.max_tasks);
    }
}

impl Covered {
    /// What two parts of one search cover together that claim this and `other`: the weaker claim.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let gaps = |covered: &Self| match *covered {
            Self::Equivalence | Self::BoundedEquivalence(_) => Some(Gaps::default()),
            Self::Reduced { gaps, .. } => Some(gaps),
            _ => None,
        };
        match (self, other) {
            // Nothing was drawn, so nothing is to be promised of it.
            (Self::Sample { executions: 0, .. }, other @ Self::Sample { .. })
            | (other @ Self::Sample { .. }, Self::Sample { executions: 0, .. }) => other,
            (
                Self::Sample { executions, bound },
                Self::Sample { executions: more, bound: other },
            ) => {
                let bound = match (bound, other) {
                    (Some(one), Some(other)) => one.and(other),
                    (Some(one), None) => one.beside_others(more),
                    (None, Some(other)) => other.beside_others(executions),
                    (None, None) => None,
                };
                Self::Sample { executions: executions + more, bound }
            }
            (one, other) if one == other => one,
            (one, other) => match (gaps(&one), gaps(&other)) {
                (Some(first), Some(second)) if first | second != Gaps::default() => {
                    Self::Reduced { executions: 0, gaps: first | second }
                }
                _ => {
                    let preemptions =
                        one.preemptions().filter(|_| one.preemptions() == other.preemptions());
                    Self::Part { executions: 0, preemptions }
                }
            },
        }
    }

    /// What a sampler has drawn since it had covered `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        match (self, before) {
            (
                Self::Sample { executions, bound },
                Self::Sample { executions: earlier, bound: then },
            ) => {
                let bound = bound.map(|bound| bound.since(then, earlier));
                Self::Sample { executions: executions.saturating_sub(earlier), bound }
            }
            (now, _) => now,
        }
    }

    /// The same, of so many executions.
    #[must_use]
    pub fn with_executions(self, executions: u64) -> Self {
        match self {
            Self::Part { preemptions, .. } => Self::Part { executions, preemptions },
            Self::Reduced { gaps, .. } => Self::Reduced { executions, gaps },
            Self::Sample { bound, .. } => Self::Sample { executions, bound },
            other => other,
        }
    }

    /// The bound on preemptions under which the search ran, if there is one.
    #[must_use]
    pub fn preemptions(&self) -> Option<u32> {
        match *self {
            Self::Preemptions(k) | Self::BoundedEquivalence(k) => Some(k),
            Self::Cached { preemptions, .. }
            | Self::Part { preemptions, .. }
            | Self::Guided { preemptions, .. } => preemptions,
            _ => None,
        }
    }
}

impl SampleBound {
    /// What is promised of the samples since it was `before`, after so many of them.
    fn since(self, before: Option<Self>, earlier: u64) -> Self {
        let Some(before) = before else { return self.counting_by(earlier, u64::saturating_sub) };
        match (self, before) {
            (
                Self::Pct { depth, tasks, steps, executions },
                Self::Pct { steps: earlier, executions: then, .. },
            ) if steps == earlier => {
                Self::Pct { depth, tasks, steps, executions: executions.saturating_sub(then) }
            }
            (Self::Uniform { interleavings, counting }, Self::Uniform { counting: then, .. }) => {
                Self::Uniform { interleavings, counting: counting.saturating_sub(then) }
            }
            (
                Self::Selected { objects, interleavings, counting },
                Self::Selected { counting: then, .. },
            ) => {
                let counting = counting.saturating_sub(then);
                Self::Selected { objects, interleavings, counting }
            }
            (now, _) => now,
        }
    }

    /// With another number of executions that counted steps, of which nothing is promised.
    fn counting_by(self, executions: u64, change: fn(u64, u64) -> u64) -> Self {
        match self {
            Self::Uniform { interleavings, counting } => {
                Self::Uniform { interleavings, counting: change(counting, executions) }
            }
            Self::Selected { objects, interleavings, counting } => {
                let counting = change(counting, executions);
                Self::Selected { objects, interleavings, counting }
            }
            other => other,
        }
    }

    /// Beside so many samples of which nothing is promised.
    fn beside_others(self, executions: u64) -> Option<Self> {
        match self {
            Self::Pos { .. } | Self::Strata { .. } => None,
            other => Some(other.counting_by(executions, u64::saturating_add)),
        }
    }

    /// What holds of the samples of both, if something does. Each is a promise of one execution, so the weaker one holds of all.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (
                Self::Pct { depth, tasks, steps, executions },
                Self::Pct { depth: same, tasks: other_tasks, steps: other_steps, executions: more },
            ) if depth == same => {
                // Of those that were drawn with fewer steps nothing is promised at the larger number.
                let executions = match steps.cmp(&other_steps) {
                    std::cmp::Ordering::Less => more,
                    std::cmp::Ordering::Equal => executions + more,
                    std::cmp::Ordering::Greater => executions,
                };
                let (tasks, steps) = (tasks.max(other_tasks), steps.max(other_steps));
                Some(Self::Pct { depth, tasks, steps, executions })
            }
            (Self::Pos { tasks, steps }, Self::Pos { tasks: more, steps: longer }) => {
                Some(Self::Pos { tasks: tasks.max(more), steps: steps.max(longer) })
            }
            (
                Self::Uniform { interleavings, counting },
                Self::Uniform { interleavings: same, counting: more },
            ) if interleavings == same => {
                Some(Self::Uniform { interleavings, counting: counting + more })
            }
            (
                Self::Selected { objects, interleavings, counting },
                Self::Selected { objects: others, interleavings: more, counting: then },
            ) => Some(Self::Selected {
                objects: objects.max(others),
                interleavings: interleavings.max(more),
                counting: counting + then,
            }),
            _ => None,
        }
    }
}

impl Coverage {
    /// Adds what another search has learned beside this one. The series stays that of the first.
    pub fn add_beside(&mut self, more: &Self) {
        let known = self.count.known - self.count.added;
        self.pairs.merge(&more.pairs);
        self.count.known = self.pairs.len() as u64;
        self.count.added = self.count.known.saturating_sub(known);
        self.count.last = self.count.last.max(more.count.last);
        self.new.merge(&more.new);
    }
}

impl ReceivesSeen {
    /// Adds the orders that another part has shown, and nothing else of it but what failed.
    fn add_orders(&mut self, more: &Self) {
        // Both have shown what was known before, and perhaps the same besides.
        let known = self.orders.n_pairs().saturating_sub(self.count.added);
        self.orders.merge(&more.orders);
        self.count.added = self.orders.n_pairs().saturating_sub(known);
        for pair in more.uncovered.iter().filter(|pair| pair.must) {
            if !self.uncovered.contains(pair) {
                self.uncovered.push(pair.clone());
            }
        }
        if self.failing.is_none() {
            self.failing.clone_from(&more.failing);
        }
    }
}

impl OrderSet {
    /// How many orders of two receives (PR) it has.
    fn n_pairs(&self) -> u64 {
        self.actors.iter().flat_map(|actor| &actor.pr).map(|earlier| earlier.len() as u64).sum()
    }

    /// Adds all orders of another set.
    pub fn merge(&mut self, other: &Self) {
        for actor in &other.actors {
            match self.actors.iter_mut().find(|known| known.actor == actor.actor) {
                Some(known) => known.merge(actor),
                None => self.actors.push(actor.clone()),
            }
        }
    }
}

impl ActorReceives {
    fn merge(&mut self, other: &Self) {
        let mut numbers = Vec::with_capacity(other.receives.len());
        for receive in &other.receives {
            let known = self.receives.iter().position(|known| known.receive == receive.receive);
            let at = known.unwrap_or_else(|| {
                self.receives.push(receive.clone());
                for rows in [&mut self.pr, &mut self.pcr, &mut self.pbr] {
                    rows.push(Vec::new());
                }
                self.receives.len() - 1
            });
            self.receives[at].changes |= receive.changes;
            numbers.push(at as u32);
        }
        let merge = |own: &mut Vec<Vec<u32>>, theirs: &[Vec<u32>]| {
            for (later, earlier) in theirs.iter().enumerate() {
                let (Some(&later), true) = (numbers.get(later), later < numbers.len()) else {
                    continue;
                };
                let Some(row) = own.get_mut(later as usize) else { continue };
                row.extend(earlier.iter().filter_map(|&at| numbers.get(at as usize)));
                row.sort_unstable();
                row.dedup();
            }
        };
        merge(&mut self.pr, &other.pr);
        merge(&mut self.pcr, &other.pcr);
        merge(&mut self.pbr, &other.pbr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receives::{Identity, KnownReceive};
    use crate::unit::{Bytes, SharedPoint};

    fn unit(id: u64, share: f64) -> Unit {
        Unit { id: UnitId(id), share, ..Unit::root(0, "dfs", Method::DepthFirst, 1) }
    }

    fn record(unit: u64, executions: u64, claim: Covered, leftovers: Vec<Unit>) -> Completed {
        let result = UnitResult {
            version: crate::unit::VERSION,
            unit: UnitId(unit),
            generation: 0,
            search: 0,
            end: UnitEnd::Done,
            counts: Counts { executions, ..Counts::default() },
            claim,
            assumptions: vec![],
            failure: None,
            deaths: vec![],
            notes: vec![],
            traces: None,
            coverage: None,
            receives: None,
            estimate: None,
            upwards: crate::unit::Upwards::default(),
            busy_us: 0,
        };
        Completed { result, leftovers }
    }

    fn add(fold: &mut Fold, record: &Completed) -> bool {
        fold.complete(record, Method::DepthFirst)
    }

    #[test]
    fn parts_that_are_all_there_claim_the_whole_and_others_do_not() {
        let mut fold = Fold::new(&[unit(1, 1.0)]);
        let first = record(1, 5, Covered::Everything, vec![unit(2, 0.5), unit(3, 0.25)]);
        assert!(add(&mut fold, &first));
        assert_eq!(fold.sum.covered(), Covered::Part { executions: 5, preemptions: None });
        assert!(add(&mut fold, &record(2, 7, Covered::Everything, vec![])));
        assert!(!fold.sum.over);
        assert!(add(&mut fold, &record(3, 1, Covered::Everything, vec![])));
        assert_eq!(fold.sum.covered(), Covered::Everything);
        assert_eq!(fold.sum.counts.executions, 13);
        assert!((fold.sum.share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_second_result_of_a_unit_is_ignored() {
        let mut fold = Fold::new(&[unit(1, 1.0)]);
        let first = record(1, 5, Covered::Everything, vec![unit(2, 0.5)]);
        assert!(add(&mut fold, &first));
        let before = fold.clone();
        // Late, and cut in another way.
        assert!(!add(&mut fold, &first));
        assert!(!add(&mut fold, &record(1, 9, Covered::Everything, vec![unit(9, 0.1)])));
        assert_eq!(fold, before);
    }

    #[test]
    fn one_part_with_a_gap_is_a_gap_of_the_whole() {
        let gaps = Gaps { yields: true, ..Gaps::default() };
        for (one, other) in [
            (Covered::Equivalence, Covered::Reduced { executions: 4, gaps }),
            (Covered::Reduced { executions: 4, gaps }, Covered::BoundedEquivalence(2)),
        ] {
            assert_eq!(one.and(other), Covered::Reduced { executions: 0, gaps });
        }
        assert_eq!(Covered::Preemptions(2).and(Covered::Preemptions(2)), Covered::Preemptions(2));
        let part = Covered::Part { executions: 0, preemptions: None };
        assert_eq!(Covered::Preemptions(2).and(Covered::Everything), part);
    }

    fn begun(task: u32) -> Begun {
        Begun { task, steps: vec![Bytes(vec![task as u8])] }
    }

    /// Wants one of these tasks to move at the point after one decision.
    fn request(initials: &[u32]) -> Request {
        let wanted =
            Wanted { initials: initials.to_vec(), best: begun(initials[0]), option: initials[0] };
        Request {
            line: "dpor(source)".to_owned(),
            seed: 1,
            prefix: vec![(0, 2), (0, 4)],
            state: Bytes(vec![9]),
            wanted: vec![wanted],
        }
    }

    /// Two units below the point after one decision, at which task 0 moves.
    fn below_a_point() -> Fold {
        let below =
            |id| Unit { method: Method::SourceSets, prefix: vec![(0, 2), (0, 4)], ..unit(id, 0.5) };
        let mut fold = Fold::new(&[Unit { method: Method::SourceSets, ..unit(1, 1.0) }]);
        let mut first = record(1, 1, Covered::Equivalence, vec![below(2), below(3)]);
        let [_, id] = point_ids(&[(0, 2), (0, 4)]).collect::<Vec<_>>()[..] else { panic!() };
        first.result.upwards.shared = vec![SharedPoint { id, begun: vec![begun(0)] }];
        assert!(fold.complete(&first, Method::SourceSets));
        fold
    }

    fn requesting(unit: u64, requests: Vec<Request>) -> Completed {
        let mut done = record(unit, 1, Covered::Equivalence, vec![]);
        done.result.upwards.requests = requests;
        done
    }

    #[test]
    fn what_is_requested_is_opened_once_and_those_before_it_sleep() {
        let mut fold = below_a_point();
        let first = requesting(2, vec![request(&[2, 1]), request(&[1, 2]), request(&[0])]);
        assert!(fold.complete(&first, Method::SourceSets));
        // The second is met by the first, the third by what was there.
        let [two] = &fold.opened()[..] else { panic!("one unit") };
        let asleep = |tasks: &[u8]| tasks.iter().map(|task| Bytes(vec![*task])).collect();
        let sibling = Sibling { task: 2, others: vec![0], asleep: asleep(&[0]) };
        assert_eq!((&two.sibling, two.prefix[1]), (&Some(sibling), (2, 4)));
        assert!(fold.is_open(two.id) && fold.opened().is_empty());
        assert!(!fold.complete(&first, Method::SourceSets), "a second time it requests nothing");
        assert!(fold.complete(&requesting(3, vec![request(&[3])]), Method::SourceSets));
        let [three] = &fold.opened()[..] else { panic!("one unit") };
        let sibling = Sibling { task: 3, others: vec![0, 2], asleep: asleep(&[0, 2]) };
        assert_eq!(three.sibling, Some(sibling));
        assert!(!fold.sum.over);
        for unit in [two, three] {
            assert!(fold.complete(&requesting(unit.id.0, vec![]), Method::SourceSets));
        }
        assert!(fold.sum.over && fold.points.is_empty(), "nothing is open below the point");
    }

    #[test]
    fn what_is_not_known_of_an_option_does_not_sleep_until_it_is_learned() {
        let mut fold = below_a_point();
        let mut unknown = request(&[2]);
        unknown.wanted[0].best.steps.clear();
        assert!(fold.complete(&requesting(2, vec![unknown, request(&[1])]), Method::SourceSets));
        let [two, one] = &fold.opened()[..] else { panic!("two units") };
        let sleepers = |unit: &Unit| unit.sibling.as_ref().map(|sibling| sibling.asleep.len());
        assert_eq!((sleepers(two), sleepers(one)), (Some(1), Some(1)), "task 0 alone");
        let mut done = requesting(two.id.0, vec![]);
        let id = point_ids(&two.prefix).last().expect("it has two points");
        done.result.upwards.learned = Some((id, begun(2)));
        assert!(fold.complete(&done, Method::SourceSets));
        assert!(fold.complete(&requesting(3, vec![request(&[3])]), Method::SourceSets));
        let [three] = &fold.opened()[..] else { panic!("one unit") };
        assert_eq!(sleepers(three), Some(3), "tasks 0, 2 and 1");
    }

    #[test]
    fn an_estimate_is_what_was_run_and_what_is_left_of_open_units() {
        let band = |about: f64| Band { about, low: about / 2.0, high: about * 2.0 };
        let mut fold = Fold::new(&[unit(1, 1.0)]);
        assert_eq!(fold.estimate(), None);
        let mut first = record(1, 10, Covered::Everything, vec![unit(2, 0.5), unit(3, 0.25)]);
        let total = band(50.0);
        let estimate =
            Estimate { total, covered: 10.0, search: total, weighted: None, probed: None };
        first.result.estimate = Some(estimate);
        add(&mut fold, &first);
        let about = fold.estimate().expect("something is known");
        assert_eq!((about.covered, about.total.about), (10.0, 50.0));
        let mut second = record(2, 30, Covered::Everything, vec![]);
        let total = Band::exact(30.0);
        let estimate =
            Estimate { total, covered: 30.0, search: total, weighted: None, probed: None };
        second.result.estimate = Some(estimate);
        add(&mut fold, &second);
        // 40 were run; the other unit should come to half of what was left.
        let about = fold.estimate().expect("something is known");
        assert_eq!((about.covered, about.search.about), (40.0, 60.0));
        assert!(about.search.low < 60.0 && about.search.high > 60.0);
        add(&mut fold, &record(3, 5, Covered::Everything, vec![]));
        assert_eq!(fold.ended().estimate, None, "it is over");
    }

    #[test]
    fn orders_of_receives_are_merged_by_identity() {
        let receive = |n| KnownReceive { receive: Identity(n), ..KnownReceive::default() };
        let actor = |receives: &[u64], pr: Vec<Vec<u32>>| ActorReceives {
            actor: Identity(1),
            receives: receives.iter().copied().map(receive).collect(),
            pcr: vec![vec![]; pr.len()],
            pbr: vec![vec![]; pr.len()],
            pr,
            ..ActorReceives::default()
        };
        // 5 before 6; then 6 before 5 and 7.
        let mut all =
            OrderSet { actors: vec![actor(&[5, 6], vec![vec![], vec![0]])], ..OrderSet::default() };
        let more = OrderSet {
            actors: vec![actor(&[6, 7, 5], vec![vec![], vec![0], vec![0]])],
            ..OrderSet::default()
        };
        // 5 before 6 was known before, and the second part has added what the third shows once more.
        let seen = |orders: &OrderSet, added: u64| {
            let orders = orders.clone();
            let mut seen = ReceivesSeen { orders, ..ReceivesSeen::default() };
            seen.count.added = added;
            seen
        };
        let (first, mut second) = (seen(&all, 0), more.clone());
        second.merge(&all);
        let (mut sum, second) = (first, seen(&second, 2));
        sum.add_orders(&second);
        sum.add_orders(&second);
        assert_eq!(sum.count.added, 2);
        all.merge(&more);
        let merged = actor(&[5, 6, 7], vec![vec![1], vec![0], vec![1]]);
        assert_eq!(all.actors, [merged]);
    }
}
