//! Orders of receives as a measure of any search: `receives`.
//!
//! An observer of any strategy on actors, as `coverage.rs` of the crate is for statements: it learns from every
//! execution in which orders each actor received its messages, by all three criteria.
//!
//! Misses: of an actor, all but its first 16,384 receives; names of receives beyond the first 50,000.
//! Overreports: nothing. Pairs of which one order is impossible are among the pairs that are not covered; those of
//! which that is certain are counted apart.

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::strategy::{Checkpoint, Cut, Event, Finished, Plan, Resumable, Unsupported};
use raddle_trace::{
    ActorReceives, Identity, KnownReceive, OrderSet, PairsCovered, PartialSchedule, Progress,
    ReceiveCount, ReceivesSeen, ScheduledReceive, UncoveredPair, receives,
};
use serde::{Deserialize, Serialize};

use super::recording::named;
use super::{Causality, Criterion, MustHappen, Orders, Recording};
use crate::state;

const NAME: &str = "receives";

/// Names that are kept.
const MOST_NAMES: usize = 50_000;

/// Pairs that are listed, and pairs that are looked at for that.
const MOST_LISTED: usize = 200;
const MOST_LOOKED_AT: usize = 100_000;

/// Receives of an execution in which it is looked up whether an order must be so.
const MOST_JUDGED: usize = 2_000;

/// Learns from the executions of a search in which orders actors received their messages.
///
/// ```
/// use raddle_search::ReceiveCoverage;
///
/// let receives = ReceiveCoverage::default();
/// // Given to the engine beside a strategy, it learns from what that one explores.
/// assert_eq!(receives.seen().count.pr.pairs, 0);
/// ```
#[derive(Debug, Default)]
pub struct ReceiveCoverage {
    recording: Recording,
    saved: SavedCoverage,
    /// What was received in the last execution that failed.
    failing: Option<PartialSchedule>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedCoverage {
    orders: Orders,
    names: BTreeMap<u64, String>,
    actors: BTreeMap<u64, String>,
    executions: u64,
    added: u64,
    last: u64,
    /// Pairs whose order must be as it was seen, as identities.
    must: BTreeSet<(u64, u64)>,
    series: Vec<(u64, u64)>,
}

impl ReceiveCoverage {
    /// Takes these orders to have been seen before: what is new is counted from there.
    #[must_use]
    pub fn knowing(mut self, known: &OrderSet) -> Self {
        for actor in &known.actors {
            let receives: Vec<u64> = actor.receives.iter().map(|known| known.receive.0).collect();
            let changes = (0..).zip(&actor.receives).filter(|(_, known)| known.changes);
            let changes: Vec<u32> = changes.map(|(at, _)| at).collect();
            let mut seen = Vec::new();
            let rows = [
                (Criterion::Pr, &actor.pr),
                (Criterion::Pbr, &actor.pbr),
                (Criterion::Pcr, &actor.pcr),
            ];
            for (criterion, rows) in rows {
                for (later, before) in (0..).zip(rows) {
                    seen.push((criterion, later, before.clone()));
                }
            }
            self.saved.orders.know(actor.actor.0, &receives, &changes, &seen);
            self.saved.actors.insert(actor.actor.0, actor.name.clone());
            let names = actor.receives.iter();
            self.saved.names.extend(names.map(|known| (known.receive.0, known.name.clone())));
        }
        self
    }

    /// What two searches have shown, the second `after` so many executions of the first; 0 if beside it.
    #[must_use]
    pub fn merged(one: &ReceivesSeen, other: &ReceivesSeen, after: u64) -> ReceivesSeen {
        let both = Self::default().knowing(&one.orders).knowing(&other.orders);
        let mut seen = both.seen();
        seen.count.added = one.count.added + other.count.added;
        seen.count.last =
            if other.count.last > 0 { other.count.last + after } else { one.count.last };
        seen.series.clone_from(&one.series);
        if after > 0 {
            seen.series.extend(other.series.iter().map(|(at, goals)| (at + after, *goals)));
        }
        seen.failing = other.failing.clone().or_else(|| one.failing.clone());
        // What must be so was seen by one of them.
        let must = |pair: &UncoveredPair| {
            let same = |known: &&UncoveredPair| {
                known.must
                    && (&known.actor, &known.first, &known.second)
                        == (&pair.actor, &pair.first, &pair.second)
            };
            one.uncovered.iter().chain(&other.uncovered).any(|known| same(&known))
        };
        for pair in &mut seen.uncovered {
            pair.must = must(pair);
        }
        seen.uncovered.sort_by_key(|pair| pair.must);
        let forced = seen.uncovered.iter().filter(|pair| pair.must).count() as u64;
        seen.open = (seen.open.0.saturating_sub(forced), seen.open.1 + forced);
        seen
    }

    /// How many orders were shown.
    #[must_use]
    pub fn count(&self) -> ReceiveCount {
        let counts = self.saved.orders.counts();
        let of = |criterion: Criterion| PairsCovered {
            pairs: counts.pairs[criterion.index()],
            covered: counts.covered[criterion.index()],
            goals: counts.goals[criterion.index()],
        };
        ReceiveCount {
            pr: of(Criterion::Pr),
            pcr: of(Criterion::Pcr),
            pbr: of(Criterion::Pbr),
            added: self.saved.added,
            last: self.saved.last,
        }
    }

    /// What was learned.
    #[must_use]
    pub fn seen(&self) -> ReceivesSeen {
        let count = self.count();
        let mut series = self.saved.series.clone();
        let now = (self.saved.executions, count.pr.goals);
        if self.saved.executions > 0 && series.last() != Some(&now) {
            series.push(now);
        }
        let (uncovered, open) = self.uncovered();
        let failing = self.failing.clone().map(Box::new);
        ReceivesSeen { count, series, orders: self.order_set(), uncovered, open, failing }
    }

    fn uncovered(&self) -> (Vec<UncoveredPair>, (u64, u64)) {
        let name = |names: &BTreeMap<u64, String>, id: u64| {
            names.get(&id).cloned().unwrap_or_else(|| format!("{id:016x}"))
        };
        let found = self.saved.orders.uncovered(Criterion::Pr, MOST_LOOKED_AT);
        let is_must = |pair: &(u64, u64, u64)| self.saved.must.contains(&(pair.1, pair.2));
        let (must, open): (Vec<_>, Vec<_>) = found.into_iter().partition(is_must);
        let counts = (open.len() as u64, must.len() as u64);
        let all = open.into_iter().map(|pair| (pair, false));
        let all = all.chain(must.into_iter().map(|pair| (pair, true))).take(MOST_LISTED);
        let pairs = all.map(|((actor, first, second), must)| UncoveredPair {
            actor: name(&self.saved.actors, actor),
            first: name(&self.saved.names, first),
            second: name(&self.saved.names, second),
            must,
        });
        (pairs.collect(), counts)
    }

    fn order_set(&self) -> OrderSet {
        let mut set = OrderSet::default();
        for orders in &self.saved.orders.actors {
            let changes = Orders::changes(orders);
            let receives = orders.receives.iter().enumerate().map(|(at, id)| KnownReceive {
                receive: Identity(*id),
                name: self.saved.names.get(id).cloned().unwrap_or_default(),
                changes: changes.contains(&at),
            });
            let rows = |criterion| -> Vec<Vec<u32>> {
                let rows = Orders::seen(orders, criterion);
                rows.map(|(_, row)| row.into_iter().map(|at| at as u32).collect()).collect()
            };
            set.actors.push(ActorReceives {
                actor: Identity(orders.actor),
                name: self.saved.actors.get(&orders.actor).cloned().unwrap_or_default(),
                receives: receives.collect(),
                pr: rows(Criterion::Pr),
                pcr: rows(Criterion::Pcr),
                pbr: rows(Criterion::Pbr),
            });
        }
        set
    }

    /// What was received in the last execution, as a schedule.
    fn schedule(&self) -> PartialSchedule {
        let of = |received: &super::Received| {
            let receiver = self.saved.actors.get(&received.receiver);
            let name = self.saved.names.get(&received.identity);
            let (receiver, name) = (receiver.map_or("", |name| name), name.map_or("", |name| name));
            ScheduledReceive {
                message: Identity(received.message),
                sender: Identity(received.sender),
                receiver: Identity(received.receiver),
                name: format!("{receiver}: {name}"),
                values: received.values.clone(),
            }
        };
        PartialSchedule {
            version: receives::VERSION,
            receives: {
                let received = self.recording.run().received.iter();
                received.filter(|received| received.can_be_held()).map(of).collect()
            },
            ..PartialSchedule::default()
        }
    }

    /// Notes which orders of the last execution must be so.
    fn judge(&mut self) {
        let run = self.recording.run();
        if run.received.len() > MOST_JUDGED {
            return;
        }
        let must = MustHappen::new(run, Causality::Certain);
        for (later, received) in run.received.iter().enumerate() {
            for earlier in must.before(later).iter() {
                let other = &run.received[earlier];
                if other.counted && received.counted && other.receiver == received.receiver {
                    self.saved.must.insert((other.identity, received.identity));
                }
            }
        }
    }
}

impl Observer for ReceiveCoverage {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, messages: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.recording.begin();
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        let Some((received, step)) = self.recording.event(event) else { return };
        let names = &mut self.saved.names;
        if names.len() < MOST_NAMES && !names.contains_key(&received.identity) {
            let name = step.receive_name();
            names.insert(received.identity, named(&name));
            self.saved.actors.entry(received.receiver).or_insert(name.receiver);
        }
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.saved.executions += 1;
        if execution.outcome.is_failure() && !self.recording.run().received.is_empty() {
            self.failing = Some(self.schedule());
        }
        let before = self.saved.orders.counts();
        let new = self.saved.orders.learn(self.recording.run());
        let after = self.saved.orders.counts();
        let at = Criterion::Pr.index();
        if new[at] > 0 {
            self.saved.added += new[at];
            self.saved.last = self.saved.executions;
        }
        if after.pairs[at] > before.pairs[at] {
            self.judge();
        }
        // A tenth more executions than at the last entry.
        let executions = self.saved.executions;
        if self.saved.series.last().is_none_or(|(last, _)| executions > last + last / 10) {
            self.saved.series.push((executions, after.goals[at]));
        }
    }

    fn add_to(&self, progress: &mut Progress) {
        let count = self.count();
        progress.receives = (count.pr.pairs > 0).then_some(count);
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for ReceiveCoverage {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        Ok(state::write(NAME, &self.saved))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.saved = state::read(NAME, state)?;
        Ok(())
    }
}
