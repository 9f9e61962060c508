//! Which units wait, which are leased, which are done: the rules of every queue, without clock or file.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use crate::key::UnitKey;
use crate::queue::{Held, Lease, QueueState, RecordOutcome, WorkerState};
use crate::record::{Ending, QueuedUnit, Record};

/// A unit that is not done.
#[derive(Clone, Debug)]
struct Open {
    bytes: Vec<u8>,
    attempts: u32,
    holder: Option<Holder>,
}

/// Who has it.
#[derive(Clone, Debug)]
struct Holder {
    worker: String,
    number: u64,
    time: Duration,
    until: Duration,
}

/// Which units of a run wait, which are leased and which are done.
///
/// First come, first served: what is left of a unit that began early is large, and large units are better
/// begun early. A unit whose lease has lapsed goes before all others.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    open: HashMap<UnitKey, Open>,
    /// Invariant: has the keys of all open units without a holder, each once. A unit that was recorded while it waited stays until
    /// its turn comes: to look for it would take long.
    waiting: VecDeque<UnitKey>,
    /// Invariant: those of all open units with one, by the time at which their leases lapse.
    leased: BTreeSet<(Duration, UnitKey)>,
    /// Units with a record.
    done: HashMap<UnitKey, u64>,
    last: u64,
    leases: u64,
    given_up: u64,
    lapsed: u64,
    ignored: u64,
    /// Whether a worker asked in vain since a unit was put.
    hungry: bool,
}

impl Ledger {
    /// Whether this unit is known: open or done.
    #[must_use]
    pub fn knows(&self, key: UnitKey) -> bool {
        self.open.contains_key(&key) || self.done.contains_key(&key)
    }

    /// Whether this unit has no record yet.
    #[must_use]
    pub fn is_open(&self, key: UnitKey) -> bool {
        self.open.contains_key(&key)
    }

    /// Adds a unit that waits, unless it is known.
    pub fn put(&mut self, unit: QueuedUnit) {
        if self.knows(unit.key) {
            return;
        }
        self.waiting.push_back(unit.key);
        self.open.insert(unit.key, Open { bytes: unit.bytes, attempts: 0, holder: None });
        self.hungry = false;
    }

    /// A unit for a worker.
    pub fn lease(&mut self, worker: &str, time: Duration, now: Duration) -> Option<Lease> {
        self.expire(now);
        let key = loop {
            match self.waiting.pop_front() {
                Some(key) if self.open.contains_key(&key) => break key,
                Some(_) => {}
                None => {
                    self.hungry = !self.leased.is_empty();
                    return None;
                }
            }
        };
        self.leases += 1;
        let (number, until) = (self.leases, now.saturating_add(time));
        let open = self.open.get_mut(&key)?;
        open.attempts += 1;
        open.holder = Some(Holder { worker: worker.to_owned(), number, time, until });
        self.leased.insert((until, key));
        Some(Lease {
            unit: QueuedUnit { key, bytes: open.bytes.clone() },
            worker: worker.to_owned(),
            attempt: open.attempts,
            waiting: (self.open.len() - self.leased.len()) as u64,
            number,
        })
    }

    /// Begins the time of a lease anew.
    pub fn heartbeat(&mut self, key: UnitKey, number: u64, now: Duration) -> Held {
        self.expire(now);
        let Some(holder) = self.open.get_mut(&key).and_then(|open| open.holder.as_mut()) else {
            return Held::Lost;
        };
        if holder.number != number {
            return Held::Lost;
        }
        self.leased.remove(&(holder.until, key));
        holder.until = now.saturating_add(holder.time);
        self.leased.insert((holder.until, key));
        if self.hungry { Held::Hungry } else { Held::Yes }
    }

    /// Takes a unit from its worker, so that it waits again.
    pub fn give_back(&mut self, key: UnitKey, number: u64) {
        let Some(open) = self.open.get_mut(&key) else { return };
        if let Some(holder) = open.holder.take_if(|holder| holder.number == number) {
            self.leased.remove(&(holder.until, key));
            self.waiting.push_front(key);
            self.hungry = false;
        }
    }

    /// The number that the record of this unit gets; none if it has one.
    #[must_use]
    pub fn next_record(&self, key: UnitKey) -> Option<u64> {
        (!self.done.contains_key(&key)).then_some(self.last + 1)
    }

    /// Takes a record up, with what it leaves, and says whether it counts. Records may come in any order.
    pub fn record(&mut self, record: &Record) -> RecordOutcome {
        if self.done.contains_key(&record.unit) {
            self.ignored += 1;
            return RecordOutcome::Ignored;
        }
        if let Some(Open { holder: Some(holder), .. }) = self.open.remove(&record.unit) {
            self.leased.remove(&(holder.until, record.unit));
        }
        self.done.insert(record.unit, record.sequence);
        self.last = self.last.max(record.sequence);
        if matches!(record.ending, Ending::GivenUp { .. }) {
            self.given_up += 1;
        }
        for unit in record.leftovers() {
            self.put(unit);
        }
        RecordOutcome::Recorded(record.sequence)
    }

    /// Takes up that a unit has a record, which itself is no longer there.
    pub(crate) fn restore_done(&mut self, key: UnitKey, sequence: u64, given_up: bool) {
        self.done.insert(key, sequence);
        self.last = self.last.max(sequence);
        self.given_up += u64::from(given_up);
    }

    /// A result was ignored before it came here.
    pub(crate) fn ignore(&mut self) {
        self.ignored += 1;
    }

    /// How many units have no record.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.open.len()
    }

    /// How many have one, and how many of those were given up.
    #[must_use]
    pub fn n_done(&self) -> (u64, u64) {
        (self.done.len() as u64, self.given_up)
    }

    /// The keys of all units that are not done, in order.
    #[must_use]
    pub fn open_units(&self) -> Vec<UnitKey> {
        let mut keys: Vec<UnitKey> = self.open.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// A unit that is not done.
    #[must_use]
    pub fn unit(&self, key: UnitKey) -> Option<QueuedUnit> {
        Some(QueuedUnit { key, bytes: self.open.get(&key)?.bytes.clone() })
    }

    /// How the run stands.
    #[must_use]
    pub fn state(&self) -> QueueState {
        let mut workers: BTreeMap<&str, Vec<UnitKey>> = BTreeMap::new();
        for (_, key) in &self.leased {
            let holder = self.open.get(key).and_then(|open| open.holder.as_ref());
            workers.entry(holder.map_or("", |holder| &holder.worker)).or_default().push(*key);
        }
        let workers = workers.into_iter();
        QueueState {
            waiting: (self.open.len() - self.leased.len()) as u64,
            leased: self.leased.len() as u64,
            done: self.done.len() as u64,
            given_up: self.given_up,
            lapsed: self.lapsed,
            ignored: self.ignored,
            workers: workers
                .map(|(name, units)| WorkerState { name: name.to_owned(), units })
                .collect(),
        }
    }

    /// Ends the leases whose time is over.
    pub fn expire(&mut self, now: Duration) {
        while let Some(&(until, key)) = self.leased.first() {
            if until > now {
                break;
            }
            self.leased.pop_first();
            if let Some(open) = self.open.get_mut(&key) {
                open.holder = None;
            }
            self.waiting.push_front(key);
            self.lapsed += 1;
        }
    }
}
