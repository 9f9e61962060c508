//! Orders of receives: which of two messages an actor received first, in which executions of a test have shown both.
//!
//! The three criteria of Bita (Tasharofi, Pradel, Lin and Johnson, ASE 2013) as data: saved between runs of a test,
//! merged, printed. Identities of actors and receives are hashes that are the same in every execution and process
//! of one program; after a change of the program they may be others, and then what was saved of them is of no use
//! and does no harm.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of [`OrderSet`] and of [`PartialSchedule`] that this crate writes.
pub const VERSION: u32 = 1;

/// The identity of an actor, a message or a receive. Written as sixteen digits, because not every reader of JSON
/// keeps 64 bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct Identity(pub u64);

impl From<Identity> for String {
    fn from(identity: Identity) -> Self {
        format!("{:016x}", identity.0)
    }
}

impl TryFrom<String> for Identity {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = u64::from_str_radix(&text, 16);
        number
            .map(Self)
            .map_err(|_| format!("`{text}` is not an identity: up to 16 hexadecimal digits"))
    }
}

/// How much of one criterion was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairsCovered {
    /// Pairs of receives of one actor that happened in one execution.
    pub pairs: u64,
    /// Those of which both orders were seen.
    pub covered: u64,
    /// Orders that were seen.
    pub goals: u64,
}

impl fmt::Display for PairsCovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.covered, self.pairs)
    }
}

/// How many orders of receives were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveCount {
    /// Pairs of receives (PR): one before the other.
    pub pr: PairsCovered,
    /// Pairs of consecutive receives (PCR): one directly before the other.
    pub pcr: PairsCovered,
    /// Pairs of a change of behaviour and a receive (PBR), with no other change between.
    pub pbr: PairsCovered,
    /// Orders of PR that the search has added to those known before.
    pub added: u64,
    /// The execution that added the last of them, from 1; 0 if none did.
    pub last: u64,
}

/// A receive of one actor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownReceive {
    /// Which one it is.
    pub receive: Identity,
    /// How a person calls it: the message and its sender.
    #[serde(default)]
    pub name: String,
    /// Whether it was seen to change the actor's behaviour.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes: bool,
}

/// What is known of one actor. Receives are numbered from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorReceives {
    /// Which one it is.
    pub actor: Identity,
    /// How a person calls it.
    #[serde(default)]
    pub name: String,
    /// What it received.
    pub receives: Vec<KnownReceive>,
    /// Of each receive: those that were seen before it.
    pub pr: Vec<Vec<u32>>,
    /// Of each receive: those that were seen directly before it.
    pub pcr: Vec<Vec<u32>>,
    /// Of each receive: those that were seen before it, one of the two changing the behaviour.
    pub pbr: Vec<Vec<u32>>,
}

/// Orders of receives that executions have shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderSet {
    /// The version of this format.
    pub version: u32,
    /// By actor.
    pub actors: Vec<ActorReceives>,
}

impl Default for OrderSet {
    fn default() -> Self {
        Self { version: VERSION, actors: Vec::new() }
    }
}

/// Two receives of one actor of which only one order was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncoveredPair {
    /// The actor.
    pub actor: String,
    /// The receive that came first, as a person calls it.
    pub first: String,
    /// The other one, which never came first.
    pub second: String,
    /// Whether it must be so: the executions show that the first leads to the other, or that one sender sent both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must: bool,
}

impl fmt::Display for UncoveredPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, first, second, must } = self;
        write!(f, "{actor}: {first} always before {second}")?;
        if *must { f.write_str(" (as it must)") } else { Ok(()) }
    }
}

/// What a search has shown of orders of receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivesSeen {
    /// How many.
    pub count: ReceiveCount,
    /// How they grew: executions, and orders of PR known after so many of them.
    pub series: Vec<(u64, u64)>,
    /// What is known now.
    pub orders: OrderSet,
    /// Pairs of PR of which only one order was seen, those that may be otherwise first; not all if they are many.
    pub uncovered: Vec<UncoveredPair>,
    /// How many such pairs there are that may be otherwise, and how many that must be so.
    pub open: (u64, u64),
    /// What was received in the last execution that failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Box<PartialSchedule>>,
}

/// A message of a [`PartialSchedule`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledReceive {
    /// The message.
    pub message: Identity,
    /// Who sends it, if that is known.
    #[serde(default)]
    pub sender: Identity,
    /// Who receives it, if that is known.
    #[serde(default)]
    pub receiver: Identity,
    /// What a person reads: `Writer 1: Write(2) from Action 1`.
    #[serde(default)]
    pub name: String,
    /// The values that are decided in the receive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<u32>,
}

/// Messages in the order in which they are to be received. It need not name every message of an execution; what it
/// leaves open is free when its last message was received.
///
/// ```
/// use raddle_trace::PartialSchedule;
///
/// let text = r#"{"version": 1, "name": "flush first", "receives": [{"message": "2a"}]}"#;
/// let schedule: PartialSchedule = serde_json::from_str(text)?;
/// assert_eq!(schedule.receives[0].message.0, 0x2a);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialSchedule {
    /// The version of this format.
    pub version: u32,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// The package of its test, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The target of the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its test, as the harness calls it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// In order.
    pub receives: Vec<ScheduledReceive>,
}

impl PartialSchedule {
    /// The extension of the files that such schedules are kept in, as JSON.
    pub const EXTENSION: &'static str = "receives";

    /// Whether this version can read it.
    ///
    /// # Errors
    /// If it is of another version; the sentence says which.
    pub fn check(&self) -> Result<(), String> {
        if self.version == VERSION {
            return Ok(());
        }
        let version = self.version;
        Err(format!("a partial schedule of version {version}; this is for version {VERSION}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_schedule_is_written_and_read() {
        let receive = ScheduledReceive {
            message: Identity(u64::MAX),
            name: "Writer 1: Flush from Boss 1".to_owned(),
            ..ScheduledReceive::default()
        };
        let schedule = PartialSchedule {
            version: VERSION,
            name: "flush first".to_owned(),
            receives: vec![receive],
            ..PartialSchedule::default()
        };
        let json = serde_json::to_string(&schedule).expect("it can be written");
        assert!(json.contains("ffffffffffffffff"), "{json}");
        assert_eq!(serde_json::from_str::<PartialSchedule>(&json).expect("as written"), schedule);
        assert!(schedule.check().is_ok());
        assert!(PartialSchedule { version: 2, ..schedule }.check().is_err());
        let wrong = json.replace("ffffffffffffffff", "seven");
        assert!(serde_json::from_str::<PartialSchedule>(&wrong).is_err());
    }
}
