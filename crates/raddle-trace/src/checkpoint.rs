//! What is said at the beginning of a checkpoint: whose it is, and how far the search was.
//!
//! The states of strategies follow it in the file, as bytes that only the strategy reads which wrote them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::carried::Carried;

/// The version of a checkpoint, its bytes included.
pub const VERSION: u32 = 2;

/// What to do about a checkpoint from which a search cannot go on.
pub const ANEW: &str = "begin anew: leave `resume` out (cargo raddle test: --discard-checkpoints)";

/// How it is said that the test was built anew since.
pub const OTHER_BUILD: &str = "it was written by another build of this test";

/// Whose a checkpoint is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The test.
    pub test: Option<String>,
    /// Its package.
    pub package: Option<String>,
    /// What else decides which executions there are, by the names of knobs.
    pub settings: BTreeMap<String, String>,
    /// A number for the test binary.
    pub binary: String,
    /// How many times it was searched: one more than it was stopped before.
    pub parts: u32,
    /// Wall time of all parts so far, in milliseconds.
    pub elapsed_ms: u64,
    /// The searches of the test: one, or those that come one after another, or the members of a portfolio.
    pub searches: Vec<Part>,
}

/// One search of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The composition.
    pub strategy: String,
    /// The seed of all that it draws.
    pub seed: u64,
    /// Bytes of its state; 0 if it has not begun, or begins anew.
    pub bytes: u64,
    /// What the engine carries over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
}

impl Header {
    /// Whether a search that would leave `now` can go on from this.
    ///
    /// # Errors
    /// A sentence that says what is another one, and what to do.
    pub fn fits(&self, now: &Self) -> Result<(), String> {
        let name =
            |test: &Option<String>| test.clone().unwrap_or_else(|| "without a name".to_owned());
        if (&self.test, &self.package) != (&now.test, &now.package) {
            let (theirs, ours) = (name(&self.test), name(&now.test));
            return Err(format!(
                "it is of the test `{theirs}` and this is `{ours}`; run that test, or {ANEW}"
            ));
        }
        let names = |header: &Self| {
            let names: Vec<_> = header.searches.iter().map(|part| part.strategy.as_str()).collect();
            names.join(" | ")
        };
        let (theirs, ours) = (names(self), names(now));
        if theirs != ours {
            return Err(format!(
                "it is of the strategy `{theirs}` and this is `{ours}`; use that strategy, or {ANEW}"
            ));
        }
        for (theirs, ours) in self.searches.iter().zip(&now.searches) {
            if theirs.seed != ours.seed {
                let (theirs, ours) = (theirs.seed, ours.seed);
                return Err(format!(
                    "its seed was {theirs} and is {ours} now; set RADDLE_SEED={theirs}, or {ANEW}"
                ));
            }
        }
        let other =
            now.settings.iter().find(|(name, value)| self.settings.get(*name) != Some(value));
        if let Some((name, ours)) = other {
            let theirs = self.settings.get(name).map_or("none", String::as_str);
            let variable = name.to_uppercase();
            return Err(format!(
                "its `{name}` was {theirs} and is {ours} now; set RADDLE_{variable}={theirs}, or {ANEW}"
            ));
        }
        if self.binary != now.binary {
            return Err(format!(
                "{OTHER_BUILD}, in which decisions may mean something else; go on with that build, or {ANEW}"
            ));
        }
        Ok(())
    }
}
