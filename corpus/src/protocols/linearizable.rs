//! Whether a history of reads and writes of one register is linearizable, looked at as it goes on.
//!
//! Kept is every state in which the register may be: its value, and which of the operations that have not
//! returned have taken effect already, with what they saw. An operation that returns leaves those states in
//! which it took effect with that result, after any others that may have come before it; if none is left, no
//! order explains the history. That is the search of Wing and Gong (1993) with the states of Lowe (2017),
//! and it is exact.

use std::collections::{BTreeMap, BTreeSet};

use raddle::actors::Monitor;

/// What a client asks of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// What is its value? It is 0 at first.
    Read,
    /// Let this be its value.
    Write(u32),
}

/// What the monitor is told. A client has one operation at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A client has begun an operation.
    Invoked {
        /// Which client.
        client: usize,
        /// What it asks.
        operation: Operation,
    },
    /// A client has its result.
    Returned {
        /// Which client.
        client: usize,
        /// The value that was read, or written.
        value: u32,
    },
}

/// The value of the register, and the results of operations that have taken effect and not returned.
type State = (u32, BTreeMap<usize, u32>);

/// A register that all clients see as one, and that answers them all in the end.
#[derive(Clone, Debug, Hash)]
pub struct Linearizable {
    states: BTreeSet<State>,
    pending: BTreeMap<usize, Operation>,
}

impl Default for Linearizable {
    fn default() -> Self {
        Self { states: BTreeSet::from([(0, BTreeMap::new())]), pending: BTreeMap::new() }
    }
}

impl Linearizable {
    /// The states in which this client's operation has returned this value.
    fn after(&self, client: usize, value: u32) -> BTreeSet<State> {
        let mut seen = self.states.clone();
        let mut open: Vec<State> = seen.iter().cloned().collect();
        let mut after = BTreeSet::new();
        while let Some((register, effects)) = open.pop() {
            if let Some(result) = effects.get(&client) {
                if *result == value {
                    let mut effects = effects;
                    effects.remove(&client);
                    after.insert((register, effects));
                }
                continue;
            }
            for (other, operation) in &self.pending {
                if effects.contains_key(other) {
                    continue;
                }
                let register = match operation {
                    Operation::Read => register,
                    Operation::Write(value) => *value,
                };
                let mut effects = effects.clone();
                effects.insert(*other, register);
                if seen.insert((register, effects.clone())) {
                    open.push((register, effects));
                }
            }
        }
        after
    }
}

impl Monitor for Linearizable {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Invoked { client, operation } => {
                let before = self.pending.insert(client, operation);
                assert_eq!(before, None, "client {client} has two operations at a time");
            }
            Event::Returned { client, value } => {
                self.states = self.after(client, value);
                let operation = self.pending.remove(&client);
                assert!(
                    !self.states.is_empty(),
                    "not linearizable: {operation:?} of client {client} returned {value}"
                );
            }
        }
    }

    fn is_hot(&self) -> bool {
        !self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::Event::{Invoked, Returned};
    use super::Operation::{Read, Write};
    use super::*;

    fn is_linearizable(history: &[Event]) -> bool {
        let mut monitor = Linearizable::default();
        let look = AssertUnwindSafe(|| history.iter().for_each(|event| monitor.observe(*event)));
        catch_unwind(look).is_ok()
    }

    fn invoked(client: usize, operation: Operation) -> Event {
        Invoked { client, operation }
    }

    fn returned(client: usize, value: u32) -> Event {
        Returned { client, value }
    }

    #[test]
    fn a_read_sees_a_write_that_has_returned() {
        let write = [invoked(0, Write(1)), returned(0, 1), invoked(1, Read)];
        assert!(is_linearizable(&[&write[..], &[returned(1, 1)]].concat()));
        assert!(!is_linearizable(&[&write[..], &[returned(1, 0)]].concat()));
        assert!(!is_linearizable(&[&write[..], &[returned(1, 2)]].concat()));
    }

    #[test]
    fn a_write_that_has_not_returned_is_seen_by_all_once_it_is_seen() {
        let seen = [invoked(0, Write(1)), invoked(1, Read), returned(1, 1), invoked(1, Read)];
        assert!(is_linearizable(&[&seen[..], &[returned(1, 1)]].concat()));
        assert!(!is_linearizable(&[&seen[..], &[returned(1, 0)]].concat()));
        let unseen = [invoked(0, Write(1)), invoked(1, Read), returned(1, 0), invoked(1, Read)];
        assert!(is_linearizable(&[&unseen[..], &[returned(1, 0)]].concat()));
        assert!(is_linearizable(&[&unseen[..], &[returned(1, 1)]].concat()));
    }

    #[test]
    fn writes_at_the_same_time_take_effect_in_one_order() {
        let both = [invoked(0, Write(1)), invoked(1, Write(2)), invoked(2, Read)];
        let orders = |first, second| {
            let rest = [
                returned(0, 1),
                returned(1, 2),
                returned(2, first),
                invoked(2, Read),
                returned(2, second),
            ];
            is_linearizable(&[&both[..], &rest].concat())
        };
        // The first read may be the older one of both, and the second is the newer one.
        let allowed = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)];
        for first in 0..3 {
            for second in 0..3 {
                let is_allowed = allowed.contains(&(first, second));
                assert_eq!(orders(first, second), is_allowed, "{first} {second}");
            }
        }
    }
}
