//! What a node keeps besides its decisions if executions are compared: for priorities that look at races
//! or sleep sets, and for reductions.
//!
//! For each of its points: who could move, what became of each option, and in which order options were
//! started, with what they did. It dies with its node; what has been done at a point outlives the
//! children that were dropped below it.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::TaskId;

use super::priority::Reversal;

/// Of an option that is not a candidate.
pub(super) const CLOSED: u32 = u32::MAX;
/// Of an option that was run, or is being run.
pub(super) const STARTED: u32 = u32::MAX - 1;

/// A point of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Events before it.
    pub(super) event: u32,
    /// Its options among those of the node.
    pub(super) first: u32,
    pub(super) of: u32,
    /// Preemptions before it.
    pub(super) preemptions: u32,
    /// The option of the running task, or none.
    pub(super) running: u32,
    /// Its record, or none.
    pub(super) record: u32,
    /// It is a value's.
    pub(super) value: bool,
}

impl Place {
    pub(super) fn preempts(&self, option: u32) -> bool {
        self.running != u32::MAX && option != self.running
    }
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) task: TaskId,
    /// The bin it is in, or [`CLOSED`], or [`STARTED`].
    pub(super) bin: u32,
    pub(super) reversal: Reversal,
}

/// An option that was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) option: u32,
    /// What its step did. None if that is not known, or may be something else with other values: then
    /// it does not sleep.
    pub(super) footprint: Option<Footprint>,
}

/// What a node knows of its points.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) places: Vec<Place>,
    pub(super) slots: Vec<Slot>,
    /// Of points with more than one option that was started: those, in that order.
    pub(super) records: Vec<Vec<Done>>,
}

impl Known {
    /// Of an execution that was away: where its decisions were, by (events before it, whether it is a
    /// value's), and nothing of their options.
    pub(super) fn bare(stops: &[(u32, bool)]) -> Self {
        let (first, of, preemptions, running, record) = (0, 0, 0, u32::MAX, u32::MAX);
        let place =
            |&(event, value): &_| Place { event, first, of, preemptions, running, record, value };
        Self { places: stops.iter().map(place).collect(), ..Self::default() }
    }

    /// Whether nothing is known of the options of a point.
    pub(super) fn is_bare(&self, place: u32) -> bool {
        self.places[place as usize].of == 0
    }

    pub(super) fn bytes(&self) -> usize {
        let done = self.records.iter().map(|done| done.capacity() * size_of::<Done>());
        self.places.capacity() * size_of::<Place>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.records.capacity() * size_of::<Vec<Done>>()
            + done.sum::<usize>()
    }

    pub(super) fn slot(&self, place: u32, option: u32) -> Option<&Slot> {
        let place = self.places.get(place as usize)?;
        self.slots[place.first as usize..][..place.of as usize].get(option as usize)
    }

    pub(super) fn slot_mut(&mut self, place: u32, option: u32) -> &mut Slot {
        let place = &self.places[place as usize];
        &mut self.slots[place.first as usize..][..place.of as usize][option as usize]
    }

    pub(super) fn option_of(&self, place: u32, task: TaskId) -> Option<u32> {
        let place = &self.places[place as usize];
        let slots = &self.slots[place.first as usize..][..place.of as usize];
        slots.iter().position(|slot| slot.task == task).map(|option| option as u32)
    }

    /// What was started at a point, in that order.
    pub(super) fn done(&self, place: u32) -> &[Done] {
        let record = self.places[place as usize].record;
        self.records.get(record as usize).map_or(&[], Vec::as_slice)
    }

    /// An option was started.
    pub(super) fn start(&mut self, place: u32, done: Done) {
        let place = &mut self.places[place as usize];
        if place.record == u32::MAX {
            place.record = self.records.len() as u32;
            self.records.push(Vec::new());
        }
        self.records[place.record as usize].push(done);
    }

    /// What the option did that was started last is known now.
    pub(super) fn learn(&mut self, place: u32, option: u32, footprint: Option<Footprint>) {
        let record = self.places[place as usize].record;
        let done = self.records.get_mut(record as usize);
        if let Some(done) = done.and_then(|done| done.iter_mut().find(|d| d.option == option)) {
            done.footprint = footprint;
        }
    }
}
