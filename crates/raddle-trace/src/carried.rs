//! What the engine itself brings from one execution of a search to the next, besides the strategy's state:
//! a search that goes on in another process begins with it.

use serde::{Deserialize, Serialize};

use crate::report::{Counts, Note};
use crate::schedule::TaskName;

/// What an engine knows between two executions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// How much was done.
    pub counts: Counts,
    /// Every task that any execution had, in the order of its number: so numbers mean the same again.
    pub tasks: Vec<TaskName>,
    /// What the program did that the guarantee must speak of, by the engine's own words.
    pub seen: Vec<String>,
    /// Tasks that could not be unwound.
    pub leaked: u64,
    /// What there is to say so far.
    pub notes: Vec<Note>,
}
