//! What is stored: units, and what came of them. Bytes are the caller's.

use serde::{Deserialize, Serialize};

use crate::key::UnitKey;

/// The version of everything that this crate stores or sends.
pub(crate) const VERSION: u32 = 1;

/// A unit as a queue has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedUnit {
    /// Which.
    pub key: UnitKey,
    /// What a worker needs to run it.
    pub bytes: Vec<u8>,
}

/// What a worker has made of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// What it found: counts, failures, coverage.
    pub result: Vec<u8>,
    /// What is left of it: units that, with the result, cover what the unit covers.
    pub leftovers: Vec<Vec<u8>>,
}

/// How a unit ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It was run.
    Done(Completion),
    /// It cannot be run. What it covers stays unknown, so the run can claim nothing of it.
    GivenUp {
        /// Why.
        why: String,
    },
}

/// What came of a unit. There is one for each, ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its place among the records of the run. They increase, not always by one.
    pub sequence: u64,
    /// What its leftovers are named by. No other record of the run has it, not even one that was lost: a server that has
    /// lost its last messages uses their numbers again.
    pub tag: u64,
    /// The unit.
    pub unit: UnitKey,
    /// Which worker wrote it.
    pub worker: String,
    /// That.
    pub ending: Ending,
}

impl Record {
    /// The units that it leaves.
    pub fn leftovers(&self) -> impl Iterator<Item = QueuedUnit> + '_ {
        let bytes: &[Vec<u8>] = match &self.ending {
            Ending::Done(completion) => &completion.leftovers,
            Ending::GivenUp { .. } => &[],
        };
        let key = |index| self.unit.leftover(self.tag, index);
        (0..)
            .zip(bytes)
            .map(move |(index, bytes)| QueuedUnit { key: key(index), bytes: bytes.clone() })
    }
}
