//! Units: parts of one search that other processes run, and what comes of them.
//!
//! A unit is all that a host needs to run its part: the composition, where in the tree of decisions the part begins,
//! what the strategy keeps for it, the numbers that tasks have there. It needs no record of other units. A host runs a
//! unit for a while and gives back one record, [`Completed`]: what was found, and *leftovers*, the units into which
//! the rest was cut. The store of units puts the record in their place as a whole, or not at all; so a part of a search is
//! at every moment either to be run or counted, never both and never neither. [`fold`](crate::fold) adds the records up.
//!
//! A unit is run any number of times and counts once: a second result of the same unit is ignored.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fold::Folded;
use crate::guarantee::{Assumption, Covered, TraceCount, Unseen};
use crate::hash::mix;
use crate::host::Avoid;
use crate::outcome::Divergence;
use crate::pairs::Coverage;
use crate::progress::Estimate;
use crate::receives::ReceivesSeen;
use crate::report::{Counts, Failure, Note};
use crate::schedule::TaskName;
use crate::sketch::Sketch;
use crate::token;

/// The version of everything in this module.
pub const VERSION: u32 = 1;

/// Which unit: the same number in every process and in every run of the same search with the same cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct UnitId(pub u64);

impl UnitId {
    /// The first unit of the n-th search of a test.
    #[must_use]
    pub fn root(search: u32) -> Self {
        Self(mix(0x756e_6974_0000_0000 | u64::from(search)))
    }

    /// The n-th leftover of this unit.
    #[must_use]
    pub fn leftover(self, n: u32) -> Self {
        Self(mix(mix(self.0).wrapping_add(u64::from(n) + 1)))
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<UnitId> for String {
    fn from(id: UnitId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for UnitId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = u64::from_str_radix(&text, 16);
        number
            .map(Self)
            .map_err(|_| format!("`{text}` is not the number of a unit: 16 hexadecimal digits"))
    }
}

/// Bytes that only the strategy reads which wrote them. As text: letters, digits, `-` and `_`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Bytes(pub Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        token::to_text(&bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        token::from_text(&text)
            .map(Self)
            .map_err(|_| "it has letters that encode no bytes".to_owned())
    }
}

/// How the units of a search are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Subtrees of decisions, each depth first.
    DepthFirst,
    /// In the order of a frontier, until it is cut: its candidates are then subtrees.
    Frontier,
    /// Sequences of steps that reverse a race, by the form of the optimal reduction that needs no record of others.
    Memoryless,
    /// Subtrees of source sets. A race that reaches above a subtree is a [`Request`] to the point at which it would be
    /// reversed.
    SourceSets,
    /// Blocks of samples, each drawn from a seed of its own.
    Blocks,
    /// The search cannot be cut: one worker at a time runs it.
    Whole,
}

/// A part of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// Which one it is.
    pub id: UnitId,
    /// How often it was given to a worker before, as far as its keeper knows. Results of every generation are
    /// the same part of the search, so the first that comes counts.
    pub generation: u32,
    /// Of which search of the test it is a part, by number: a portfolio has several.
    pub search: u32,
    /// The composition that reads `state`.
    pub line: String,
    /// How it is run.
    pub method: Method,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Every execution of the part begins with these decisions: option, and out of how many. What is known of a part
    /// of a reduction or of blocks of samples is in `state` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<(u32, u32)>,
    /// What a bound leaves to spend below the prefix, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<u32>,
    /// The share of the whole search that it is by what its points look like, from 0 to 1; 0 if that is not known.
    #[serde(default)]
    pub share: f64,
    /// What the strategy goes on from; empty: from the beginning.
    #[serde(default)]
    pub state: Bytes,
    /// The tasks that were known where it was cut, in the order of their numbers: `state` has them by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskName>,
    /// Which option of the last point of `state` it begins with, if a request opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sibling: Option<Sibling>,
}

/// An option of a point that is begun after others of the same point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sibling {
    /// The task that moves.
    pub task: u32,
    /// The tasks that move in the options which were begun before.
    pub others: Vec<u32>,
    /// The steps of those of them that are known: they sleep.
    pub asleep: Vec<Bytes>,
}

/// A point of the tree of decisions that lies above units, so that none of them may open anything there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPoint {
    /// Which: [`point_ids`] of what leads to it.
    pub id: u64,
    /// What was opened there, in the order in which the later ones sleep on the earlier.
    pub begun: Vec<Begun>,
}

/// An option that was opened at a shared point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The task that moves.
    pub task: u32,
    /// Its step, or more than that, with each of its values; none as long as that is not known, so that it cannot sleep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Bytes>,
}

/// What units of source sets say of points above them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upwards {
    /// Points that lie above units from now on, with what is left of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedPoint>,
    /// What is wanted at points that did before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// At the point with this number: what is known now of an option that was opened there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<(u64, Begun)>,
    /// The tasks by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskName>,
}

impl Upwards {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.requests.is_empty() && self.learned.is_none()
    }
}

/// Races that are to be reversed at one point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The composition that reads `state`.
    pub line: String,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// The decisions that lead to the point, and one at it: option, and out of how many.
    pub prefix: Vec<(u32, u32)>,
    /// What a strategy goes on from at the point, when it is told with which [`Sibling`].
    pub state: Bytes,
    /// One of the options of each of these is to be run.
    pub wanted: Vec<Wanted>,
}

/// The options that can begin a sequence which reverses a race: one of them is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The tasks that move, in order.
    pub initials: Vec<u32>,
    /// The best of them.
    pub best: Begun,
    /// The number of its option at the point.
    pub option: u32,
}

/// The number of each point on the way that these decisions are: option, and out of how many. The first has none before it.
pub fn point_ids(prefix: &[(u32, u32)]) -> impl Iterator<Item = u64> + '_ {
    prefix.iter().scan(mix(0x706f_696e_7400_0000), |id, (option, of)| {
        let here = *id;
        *id = mix(mix(here ^ u64::from(*option)).wrapping_add(u64::from(*of)));
        Some(here)
    })
}

impl Unit {
    /// All of a search.
    #[must_use]
    pub fn root(search: u32, line: &str, method: Method, seed: u64) -> Self {
        Self {
            version: VERSION,
            id: UnitId::root(search),
            generation: 0,
            search,
            line: line.to_owned(),
            method,
            seed,
            prefix: Vec::new(),
            spare: None,
            share: 1.0,
            state: Bytes::default(),
            tasks: Vec::new(),
            sibling: None,
        }
    }
}

/// What there is to be run in units, as a host says before it runs any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitPlan {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The searches, by number: those of one member of a portfolio one after another.
    pub searches: Vec<PlannedSearch>,
    /// At most so many executions of all of them together.
    pub executions: u64,
    /// At most so long, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Whether the searches are a list of which each is told of.
    pub listed: bool,
    /// When a reduction has covered all it sees, so many executions without it are enough.
    pub after_reduction: u64,
    /// Which test, strategies and settings, as text: units of another one mean something else, and so do those of another
    /// binary, which the store of units must add.
    pub run: String,
}

/// One search of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedSearch {
    /// The member of the portfolio whose search it is.
    pub member: u32,
    /// Whether it begins only when the one before it, of the same member, has ended without an answer.
    pub follows: bool,
    /// The composition.
    pub line: String,
    /// How it is run.
    pub method: Method,
    /// Why one worker at a time runs it, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// How its executions are shared with those of the other members.
    #[serde(default)]
    pub pace: Pace,
}

/// How the members of a list share what there is to run: the next turn is always that of the member that has got
/// the least far, the first one of several. One member may be owed more than the others: then all go on alike
/// for a while, and after that this one alone for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Executions of each member up to which all go on alike.
    pub level: u64,
    /// Executions of this member up to which it then goes on alone; as many as `level` for a member that waits
    /// meanwhile.
    pub alone: u64,
}

impl Pace {
    /// How far a member has got that has run so many executions. While it goes on alone it stays where it is,
    /// so that the others wait.
    #[must_use]
    pub fn reached(self, executions: u64) -> u64 {
        if (self.level..self.alone).contains(&executions) { self.level } else { executions }
    }

    /// How many executions a member that has run so many may run before it is asked again how far it has got.
    #[must_use]
    pub fn most(self, executions: u64) -> u64 {
        let next = [self.level, self.alone].into_iter().find(|at| *at > executions);
        next.map_or(u64::MAX, |at| at - executions)
    }
}

impl UnitPlan {
    /// The unit with which a search begins.
    #[must_use]
    pub fn root(&self, search: u32) -> Option<Unit> {
        let PlannedSearch { line, method, seed, .. } = self.searches.get(search as usize)?;
        Some(Unit::root(search, line, *method, *seed))
    }
}

/// What the driver tells a host that runs units: one JSON object on each line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Order {
    /// Run this unit, and give back one [`Completed`].
    Run {
        /// That.
        unit: Box<Unit>,
        /// For how long.
        quota: Quota,
        /// How many executions of the search are wanted, if it draws.
        samples: u64,
        /// Ways that processes died of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        avoid: Vec<Avoid>,
    },
    /// Give back what is left of the unit that runs, after the execution that runs.
    Yield {
        /// In at most so many pieces.
        pieces: u32,
    },
    /// There are no more units.
    End,
}

/// What all units of a test came to, for the host that judges it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToJudge {
    /// What each search came to, by its number; none of those that were not begun.
    pub searches: Vec<Option<Folded>>,
    /// Whether it was stopped, so that something may be left.
    pub notes: Vec<Note>,
    /// Wall time in milliseconds.
    pub elapsed_ms: u64,
}

/// For how long a host runs a unit before it gives back what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// At most so many executions.
    pub executions: u64,
    /// At most so long, in milliseconds; an execution that runs then comes to its end.
    pub time_ms: u64,
    /// Into how many leftovers the rest is cut, at most.
    pub pieces: u32,
    /// Whether it ends as soon as the rest can be cut into so many.
    #[serde(default)]
    pub spread: bool,
}

/// How the run of a unit ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UnitEnd {
    /// All of the part that is not in the leftovers was run.
    Done,
    /// A failure ended the search: what else there is in the part was not run.
    Failed,
    /// An execution did not repeat itself.
    Diverged {
        /// Where.
        divergence: Divergence,
    },
    /// The strategy could not go on: a sentence, with what to do.
    Trouble {
        /// That.
        why: String,
    },
    /// More alternatives are known than may be kept.
    Memory,
}

/// Fingerprints of traces, one by one while they are few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenTraces", try_from = "WrittenTraces")]
pub struct TraceSet {
    /// Those that are kept one by one: all, unless `sketch` is there.
    pub seen: BTreeSet<u64>,
    /// Those of them that one execution showed, of a search that draws.
    pub once: BTreeSet<u64>,
    /// All of them, if there were too many.
    pub sketch: Option<Sketch>,
    /// Executions that showed what had been seen.
    pub repeated: u64,
    /// Executions that were drawn with the chances that stay.
    pub drawn: u64,
}

/// So many traces are kept one by one.
pub const MAX_EXACT_TRACES: usize = 1_000_000;

impl TraceSet {
    /// Adds what another part has shown, up to `limit` traces one by one.
    pub fn merge(&mut self, other: &Self, limit: usize) {
        self.repeated += other.repeated + other.seen.intersection(&self.seen).count() as u64;
        self.drawn += other.drawn;
        let once: BTreeSet<u64> = self
            .once
            .difference(&other.seen)
            .chain(other.once.difference(&self.seen))
            .copied()
            .collect();
        self.once = once;
        let too_many = self.seen.union(&other.seen).count() > limit;
        if self.sketch.is_some() || other.sketch.is_some() || too_many {
            let mut all = self.sketched();
            all.merge(&other.sketched());
            self.sketch = Some(all);
            self.once.clear();
        }
        for &trace in &other.seen {
            if self.seen.len() >= limit {
                break;
            }
            self.seen.insert(trace);
        }
    }

    fn sketched(&self) -> Sketch {
        self.sketch.clone().unwrap_or_else(|| {
            let mut sketch = Sketch::default();
            self.seen.iter().for_each(|trace| sketch.insert(*trace));
            sketch
        })
    }

    /// How many there are, and how likely a new one is.
    #[must_use]
    pub fn count(&self) -> TraceCount {
        if let Some(sketch) = &self.sketch {
            let distinct = sketch.estimate();
            return TraceCount { distinct, exact: false, error: Sketch::ERROR, unseen: None };
        }
        let (once, executions) = (self.once.len() as u64, self.drawn);
        let unseen = (executions > 0).then_some(Unseen { once, executions });
        TraceCount { distinct: self.seen.len() as u64, exact: true, error: 0.0, unseen }
    }
}

/// [`TraceSet`] as it is written: each set as the differences of its numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct WrittenTraces {
    seen: Bytes,
    #[serde(default)]
    once: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sketch: Option<Bytes>,
    repeated: u64,
    drawn: u64,
}

fn written(set: &BTreeSet<u64>) -> Bytes {
    let (mut bytes, mut before) = (Vec::new(), 0);
    for &number in set {
        let mut left = number - before;
        before = number;
        while left >= 0x80 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    }
    Bytes(bytes)
}

fn read(bytes: &Bytes) -> Option<BTreeSet<u64>> {
    let (mut set, mut before) = (BTreeSet::new(), 0_u64);
    let (mut number, mut shift) = (0_u64, 0);
    for &byte in &bytes.0 {
        let part = u64::from(byte & 0x7f);
        if shift > 63 || shift == 63 && part > 1 {
            return None;
        }
        number |= part << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            before = before.checked_add(number)?;
            set.insert(before);
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(set)
}

impl From<TraceSet> for WrittenTraces {
    fn from(set: TraceSet) -> Self {
        let sketch = set.sketch.map(|sketch| Bytes(sketch.registers().to_vec()));
        let (seen, once) = (written(&set.seen), written(&set.once));
        Self { seen, once, sketch, repeated: set.repeated, drawn: set.drawn }
    }
}

impl TryFrom<WrittenTraces> for TraceSet {
    type Error = String;

    fn try_from(written: WrittenTraces) -> Result<Self, String> {
        let damaged = || "a set of traces is damaged".to_owned();
        let seen = read(&written.seen).ok_or_else(damaged)?;
        let once = read(&written.once).ok_or_else(damaged)?;
        let sketch = match written.sketch {
            None => None,
            Some(bytes) => Some(Sketch::from_registers(&bytes.0).ok_or_else(damaged)?),
        };
        let (repeated, drawn) = (written.repeated, written.drawn);
        Ok(Self { seen, once, sketch, repeated, drawn })
    }
}

/// What came of running a unit, without its leftovers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitResult {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// Of which unit.
    pub unit: UnitId,
    /// The generation that was run.
    pub generation: u32,
    /// Of which search.
    pub search: u32,
    /// How it ended.
    #[serde(flatten)]
    pub end: UnitEnd,
    /// What was done in this run alone.
    pub counts: Counts,
    /// What all parts of the search cover together, if each of them is run to its end and says the same; of a search that
    /// cannot be cut, what it has covered so far.
    pub claim: Covered,
    /// What the guarantee rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// A failure that ended the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Executions that ended their process, after which the search went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deaths: Vec<Failure>,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The traces, if they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<TraceSet>,
    /// Pairs of statements, if they are learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Orders of receives, if they are looked at and there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives: Option<ReceivesSeen>,
    /// What this run and its leftovers are estimated to come to, if the strategy knows: what was run before is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// What it says of points above it.
    #[serde(default, skip_serializing_if = "Upwards::is_empty")]
    pub upwards: Upwards,
    /// Processor time that the host took for it, in microseconds.
    #[serde(default)]
    pub busy_us: u64,
}

/// One record: what came of a unit, and the units that are left of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// What came of it.
    pub result: UnitResult,
    /// The rest, to be run by any worker in any order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<Unit>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_different_numbers() {
        let mut all = BTreeSet::new();
        for search in 0..4 {
            let root = UnitId::root(search);
            all.insert(root);
            for n in 0..100 {
                all.insert(root.leftover(n));
                all.insert(root.leftover(n).leftover(0));
            }
        }
        assert_eq!(all.len(), 4 * 201);
        let json = serde_json::to_string(&UnitId(u64::MAX)).expect("a number can be written");
        assert_eq!(json, "\"ffffffffffffffff\"");
    }

    #[test]
    fn sets_of_traces_are_written_and_read() {
        let seen: BTreeSet<u64> = [0, 1, 127, 128, 1 << 40, u64::MAX].into();
        let set = TraceSet { seen, once: [128].into(), repeated: 3, drawn: 9, sketch: None };
        let json = serde_json::to_string(&set).expect("it can be written");
        assert_eq!(serde_json::from_str::<TraceSet>(&json).expect("as written"), set);
        let damaged = Bytes(vec![0xff; 12]);
        assert_eq!(read(&damaged), None);
        assert_eq!(read(&Bytes(vec![0x80])), None);
    }

    #[test]
    fn traces_of_parts_are_those_of_the_whole() {
        let of = |seen: &[u64], once: &[u64], repeated, drawn| TraceSet {
            seen: seen.iter().copied().collect(),
            once: once.iter().copied().collect(),
            repeated,
            drawn,
            sketch: None,
        };
        // 7 8 7 9, then 9 9 10: together 8 and 10 were seen once.
        let mut all = of(&[7, 8, 9], &[8, 9], 1, 4);
        all.merge(&of(&[9, 10], &[10], 1, 3), 100);
        assert_eq!(all, of(&[7, 8, 9, 10], &[8, 10], 3, 7));
        let mut few = of(&[mix(1), mix(2)], &[], 0, 0);
        few.merge(&of(&[mix(3), mix(4)], &[], 0, 0), 3);
        assert_eq!(few.count().distinct, 4);
        assert!(!few.count().exact);
    }
}
