//! What is left of a memoryless search: units, each of which is all that is needed to run it.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::TaskId;
use serde::{Deserialize, Serialize};

/// What is known of the events of an execution besides the events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Marks {
    /// Whether each event was part of a schedule.
    pub(super) scheduled: Vec<bool>,
    pub(super) heads: Vec<Head>,
    /// Events with another value than the first.
    pub(super) valued: Vec<u32>,
}

impl Marks {
    /// Of the first so many events.
    pub(super) fn of_first(&self, events: usize) -> Self {
        // Nearly all of them are.
        let mut heads = Vec::with_capacity(self.heads.len() + 1);
        heads.extend(self.heads.iter().filter(|head| (head.at as usize) < events));
        let valued = self.valued.iter().filter(|&&at| (at as usize) < events).copied();
        let scheduled = self.scheduled[..events.min(self.scheduled.len())].to_vec();
        Self { scheduled, heads, valued: valued.collect() }
    }

    /// Whether an event was part of a schedule.
    pub(super) fn is_scheduled(&self, event: usize) -> bool {
        self.scheduled.get(event).copied().unwrap_or(false)
    }

    /// The heads, and the events with another value than the first.
    pub(super) fn fixed(&self) -> impl Iterator<Item = usize> + '_ {
        let heads = self.heads.iter().map(|head| head.at as usize);
        heads.chain(self.valued.iter().map(|&at| at as usize))
    }
}

/// The last step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) at: u32,
    pub(super) task: TaskId,
    /// Events before the schedule.
    pub(super) from: u32,
    /// What came there instead.
    pub(super) instead: Footprint,
}

/// A step of a schedule, with the values that were decided in it and after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Guided {
    pub(super) task: TaskId,
    pub(super) values: Box<[u32]>,
}

/// A part of the search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Unit {
    /// The decisions of the repeated part, and its events.
    pub(super) decisions: Vec<u32>,
    pub(super) events: usize,
    pub(super) marks: Marks,
    pub(super) schedule: Vec<Guided>,
    pub(super) instead: Option<Footprint>,
    /// The first event whose races are to be looked at; of a schedule, its head: then none is known yet.
    pub(super) fresh: Option<usize>,
}

impl Unit {
    /// The first execution: nothing is repeated.
    pub(super) fn first() -> Self {
        Self { fresh: Some(0), ..Self::default() }
    }

    /// The bytes that it takes, but for its head.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + 4 * self.decisions.capacity()
            + self.marks.scheduled.capacity()
            + size_of::<Head>() * self.marks.heads.capacity()
            + size_of::<Guided>() * self.schedule.capacity()
    }

    /// Whether its numbers make sense together: one that was read may be damaged.
    pub(super) fn is_valid(&self) -> bool {
        let Self { events, marks, fresh, schedule, .. } = self;
        let known = |at: &u32| (*at as usize) < *events + 1;
        let marked = marks.heads.iter().all(|head| known(&head.at) && head.from <= head.at);
        let sensible = *events < 1 << 31 && marks.scheduled.len() <= *events + 1;
        marked
            && sensible
            && marks.valued.iter().all(known)
            && fresh.map_or(!schedule.is_empty(), |fresh| fresh <= *events)
    }
}
