//! Pairs of statements: which directly preceded which, in executions that passed.

use serde::{Deserialize, Serialize};

/// How many pairs were learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCount {
    /// Different pairs, those that were known before the search among them.
    pub known: u64,
    /// Of these, how many the search has added.
    pub added: u64,
    /// The execution that added the last of them, from 1; 0 if none did.
    pub last: u64,
}
