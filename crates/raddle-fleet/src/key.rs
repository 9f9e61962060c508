//! Which unit: a name that no other unit of the run has, and that needs no counter shared by workers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which unit of a run.
///
/// A unit that a search begins with has record 0 and its number; what is left of a unit is named by the tag of the
/// record that completed it, which no other record has; what follows from a fold by a number of its own, with the
/// last index, which no leftover has.
///
/// ```
/// use raddle_fleet::UnitKey;
///
/// let key = UnitKey::root(3).leftover(17, 0);
/// assert_eq!(key.to_string(), "17-0-0");
/// assert_eq!("17-0-0".parse(), Ok(key));
/// assert!("17-0".parse::<UnitKey>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnitKey {
    /// The tag of the record that left it; 0: the run began with it.
    pub record: u64,
    /// Which of that record's leftovers.
    pub index: u32,
    /// Which round of the run it belongs to: a run that begins anew with other units counts on.
    pub generation: u32,
}

impl UnitKey {
    /// A unit that the run begins with.
    #[must_use]
    pub fn root(index: u32) -> Self {
        Self { record: 0, index, generation: 0 }
    }

    /// A unit that follows from what was folded, by a number that says which: the same one whenever that is folded again.
    #[must_use]
    pub fn following(number: u64) -> Self {
        Self { record: number, index: u32::MAX, generation: 0 }
    }

    /// The same in another round.
    #[must_use]
    pub fn in_generation(self, generation: u32) -> Self {
        Self { generation, ..self }
    }

    /// What this unit left, as number `index`, when it was completed by the record with this tag.
    #[must_use]
    pub fn leftover(self, tag: u64, index: u32) -> Self {
        Self { record: tag, index, generation: self.generation }
    }
}

impl fmt::Display for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.record, self.index, self.generation)
    }
}

impl FromStr for UnitKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` names no unit: record-index-generation is expected");
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or_else(wrong);
        let record = part()?.parse().map_err(|_| wrong())?;
        let index = part()?.parse().map_err(|_| wrong())?;
        let generation = part()?.parse().map_err(|_| wrong())?;
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self { record, index, generation })
    }
}
