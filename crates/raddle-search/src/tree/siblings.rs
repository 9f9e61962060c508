//! What a node keeps of its options besides its decisions, if executions are compared: for priorities that
//! look at races or sleep sets, and for reductions.
//!
//! Of each option that waits, in which bin; of each that was started, where that still matters, what its step
//! did and before which others it was started. Twelve bytes each, and nothing of an option that is no
//! candidate. It is dropped with its node; what has been started at a point outlives the children that were
//! dropped below it.

use serde::{Deserialize, Serialize};

use super::priority::Reversal;

/// An option that is a candidate or was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sibling {
    pub(super) place: u32,
    pub(super) option: u32,
    /// Its bin if it waits, the number of its footprint if it was started; above that what is known of it.
    state: u32,
}

/// One as it is saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedSibling {
    pub(super) place: u32,
    pub(super) option: u32,
    /// The number of its footprint if it was started.
    pub(super) footprint: u32,
    /// All else that is known of it, in four bits.
    flags: u8,
}

const STARTED: u32 = 1 << 31;
/// It is a value's.
const VALUE: u32 = 1 << 30;
/// Of one that waits: why.
const REVERSAL: u32 = 28;
/// Of one that was started: something below it is left.
const LIVE: u32 = 1 << REVERSAL;
const INDEX: u32 = (1 << REVERSAL) - 1;

impl Sibling {
    /// One that waits in a bin.
    pub(super) fn waiting(
        place: u32,
        option: u32,
        bin: u32,
        value: bool,
        reversal: Reversal,
    ) -> Self {
        // 28 bits: four are left for what is known of it.
        assert!(bin <= INDEX, "so many bins have no room in memory");
        let value = if value { VALUE } else { 0 };
        Self { place, option, state: bin | value | (reversal as u32) << REVERSAL }
    }

    /// One that was started, with the number of its footprint: 0 as long as that is not known, or if it may
    /// be something else with other values, so that it does not sleep.
    pub(super) fn started(place: u32, option: u32, footprint: u32) -> Self {
        assert!(footprint <= INDEX, "so many footprints have no room in memory");
        Self { place, option, state: STARTED | footprint }
    }

    /// As it is saved.
    pub(super) fn saved(&self) -> SavedSibling {
        let Self { place, option, state } = *self;
        // The bin is another one next time.
        let footprint = self.footprint().unwrap_or(0);
        SavedSibling { place, option, footprint, flags: (state >> REVERSAL) as u8 }
    }

    /// One that was saved: with a footprint if it was started, else in no bin yet. None if there cannot be one.
    fn restored(saved: &SavedSibling) -> Option<Self> {
        let SavedSibling { place, option, footprint, flags } = *saved;
        let flags = u32::from(flags).checked_shl(REVERSAL).filter(|_| flags < 16)?;
        // Bins get other numbers when a search is restored. The largest one says that it is still to be put into its bin.
        let index = if flags & STARTED != 0 { footprint } else { INDEX };
        let can_be = footprint <= INDEX && (flags & STARTED != 0 || footprint == 0);
        can_be.then_some(Self { place, option, state: flags | index })
    }

    /// Whether it waits, and in no bin yet.
    pub(super) fn is_unplaced(&self) -> bool {
        self.bin() == Some(INDEX)
    }

    /// Whether something is left of it.
    pub(super) fn is_live(&self) -> bool {
        self.state & (STARTED | LIVE) != STARTED
    }

    pub(super) fn is_started(&self) -> bool {
        self.state & STARTED != 0
    }

    pub(super) fn is_value(&self) -> bool {
        self.state & VALUE != 0
    }

    /// The bin in which it waits.
    pub(super) fn bin(&self) -> Option<u32> {
        (!self.is_started()).then_some(self.state & INDEX)
    }

    /// What it did when it was started.
    pub(super) fn footprint(&self) -> Option<u32> {
        self.is_started().then_some(self.state & INDEX)
    }

    /// The best reason to run it that is known.
    pub(super) fn reversal(&self) -> Reversal {
        match self.state >> REVERSAL & 3 {
            0 => Reversal::None,
            1 => Reversal::Conservative,
            _ => Reversal::Race,
        }
    }

    /// Where it waits from now on, and why.
    pub(super) fn wait(&mut self, bin: u32, reversal: Reversal) {
        *self = Self::waiting(self.place, self.option, bin, self.is_value(), reversal);
    }
}

/// Those of one node, by their places; of a place first those that were started, in that order.
#[derive(Clone, Debug, Default)]
pub(super) struct Siblings(Box<[Sibling]>);

impl From<Vec<Sibling>> for Siblings {
    /// Of some in order.
    fn from(all: Vec<Sibling>) -> Self {
        debug_assert!(all.is_sorted_by_key(|sibling| sibling.place), "siblings go by their places");
        Self(all.into_boxed_slice())
    }
}

impl Siblings {
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    pub(super) fn all(&self) -> &[Sibling] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As they are saved.
    pub(super) fn saved(&self) -> Vec<SavedSibling> {
        self.0.iter().map(Sibling::saved).collect()
    }

    /// Some that were saved; none if they cannot be, or are not in order.
    pub(super) fn restored(saved: &[SavedSibling]) -> Option<Self> {
        let all = saved.iter().map(Sibling::restored).collect::<Option<Vec<_>>>()?;
        let order = |one: &Sibling| (one.place, !one.is_started());
        // An option that stood there twice would be run twice, and its node never be dropped.
        let is_twice = |at: usize| {
            let one: &Sibling = &all[at];
            let mut here = all[..at].iter().rev().take_while(|other| other.place == one.place);
            here.any(|other| other.option == one.option)
        };
        let in_order = all.is_sorted_by_key(order) && !(0..all.len()).any(is_twice);
        in_order.then(|| Self(all.into_boxed_slice()))
    }

    /// How many there are of which something is left, and how many of these wait.
    pub(super) fn live(&self) -> (usize, usize) {
        let live = self.0.iter().filter(|sibling| sibling.is_live());
        (live.clone().count(), live.filter(|sibling| !sibling.is_started()).count())
    }

    /// Where those of a place begin.
    fn begin(&self, place: u32) -> usize {
        self.0.partition_point(|sibling| sibling.place < place)
    }

    fn index(&self, place: u32, option: u32) -> Option<usize> {
        let from = self.begin(place);
        let here = self.0[from..].iter().take_while(|sibling| sibling.place == place);
        here.enumerate().find(|(_, sibling)| sibling.option == option).map(|(at, _)| from + at)
    }

    pub(super) fn get(&self, place: u32, option: u32) -> Option<&Sibling> {
        self.index(place, option).map(|at| &self.0[at])
    }

    pub(super) fn get_mut(&mut self, place: u32, option: u32) -> Option<&mut Sibling> {
        self.index(place, option).map(|at| &mut self.0[at])
    }

    /// Those that were started at a place, in that order.
    pub(super) fn started(&self, place: u32) -> &[Sibling] {
        let from = self.begin(place);
        let here = self.0[from..].iter();
        // They come first at their place, in the order in which they were started, which is the order in which they sleep.
        let n = here.take_while(|one| one.place == place && one.is_started()).count();
        &self.0[from..from + n]
    }

    /// Adds one, which is not there.
    pub(super) fn add(&mut self, sibling: Sibling) {
        let at = self.begin(sibling.place) + self.started(sibling.place).len();
        let mut all = std::mem::take(&mut self.0).into_vec();
        all.reserve_exact(1);
        all.insert(at, sibling);
        self.0 = all.into_boxed_slice();
    }

    /// Adds some that wait and are not there.
    pub(super) fn add_all(&mut self, new: &[Sibling]) {
        let mut all = std::mem::take(&mut self.0).into_vec();
        all.reserve_exact(new.len());
        all.extend_from_slice(new);
        // Those of a place stay in their order.
        all.sort_by_key(|sibling| sibling.place);
        self.0 = all.into_boxed_slice();
    }

    /// One that waited is started: the last of those that were.
    pub(super) fn start(&mut self, place: u32, option: u32) {
        // It goes between those that were started and those that wait.
        let to = self.begin(place) + self.started(place).len();
        if let Some(at) = self.index(place, option).filter(|at| *at >= to) {
            // Behind all that were started before it; those that wait keep their order.
            self.0[to..=at].rotate_right(1);
            self.0[to].state = STARTED | LIVE | self.0[to].state & VALUE;
        }
    }

    /// Of one that was started nothing is left. `sleeps`: it matters to others all the same, unless it is a
    /// value's.
    pub(super) fn end(&mut self, place: u32, option: u32, sleeps: bool) {
        match self.get_mut(place, option) {
            // What follows its step has been run, so it sleeps for those that are started later. A value does not sleep, and without
            // sleep sets nothing asks for it again.
            Some(sibling) if sleeps && !sibling.is_value() => sibling.state &= !LIVE,
            Some(_) => self.remove(place, option),
            None => {}
        }
    }

    /// The last place at which something is left.
    pub(super) fn last_live(&self) -> Option<u32> {
        self.0.iter().rfind(|sibling| sibling.is_live()).map(|sibling| sibling.place)
    }

    /// Forgets those of places after this one, if they are worth it.
    pub(super) fn truncate(&mut self, place: u32) {
        let until = self.begin(place + 1);
        // As in `Node::trim`: only if a quarter is won.
        if until < self.0.len() && until <= self.0.len() - self.0.len() / 4 {
            let mut all = std::mem::take(&mut self.0).into_vec();
            all.truncate(until);
            self.0 = all.into_boxed_slice();
        }
    }

    /// Forgets one.
    pub(super) fn remove(&mut self, place: u32, option: u32) {
        if let Some(at) = self.index(place, option) {
            let mut all = std::mem::take(&mut self.0).into_vec();
            all.remove(at);
            self.0 = all.into_boxed_slice();
        }
    }

    /// What one did that was started is known now.
    pub(super) fn learn(&mut self, place: u32, option: u32, footprint: u32) {
        assert!(footprint <= INDEX, "so many footprints have no room in memory");
        if let Some(sibling) = self.get_mut(place, option).filter(|sibling| sibling.is_started()) {
            // Known only when its execution has ended; until then it was 0 and did not sleep.
            sibling.state = sibling.state & !INDEX | footprint;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_started_come_first_in_that_order() {
        let waiting =
            |place, option| Sibling::waiting(place, option, 7, false, Reversal::Conservative);
        let mut siblings = Siblings::default();
        for (place, option) in [(3, 1), (1, 2), (3, 2), (3, 0)] {
            siblings.add(waiting(place, option));
        }
        for option in [2, 0] {
            siblings.start(3, option);
        }
        siblings.learn(3, 0, 9);
        let started: Vec<_> =
            siblings.started(3).iter().map(|one| (one.option, one.footprint())).collect();
        assert_eq!(started, [(2, Some(0)), (0, Some(9))]);
        assert_eq!(siblings.get(3, 1), Some(&waiting(3, 1)), "it waits where it did");
        assert_eq!(siblings.get(1, 2).and_then(Sibling::bin), Some(7));
        assert_eq!(siblings.last_live(), Some(3));
        for option in [2, 0] {
            siblings.end(3, option, true);
        }
        siblings.remove(3, 1);
        assert_eq!(siblings.last_live(), Some(1), "of the others nothing is left");
        assert_eq!((siblings.get(3, 1), siblings.bytes()), (None, 36));
    }

    #[test]
    fn a_sibling_takes_twelve_bytes_and_says_why_it_waits() {
        assert_eq!(size_of::<Sibling>(), 12);
        let mut sibling = Sibling::waiting(0, 1, INDEX, true, Reversal::None);
        sibling.wait(5, Reversal::Race);
        assert_eq!((sibling.bin(), sibling.reversal()), (Some(5), Reversal::Race));
        assert!(sibling.is_value());
    }
}
