//! The steps that lead to a state.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::snapshot::Move;

/// One step: what was delivered, and the values that were decided in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) way: Move,
    pub(super) values: Box<[u32]>,
}

/// The steps from the first state to another. Ways that begin alike share their beginnings.
#[derive(Clone, Default)]
pub(super) struct Way(Option<Rc<Last>>);

struct Last {
    before: Way,
    step: Step,
}

impl Way {
    /// One step further.
    pub(super) fn then(&self, way: Move, values: &[u32]) -> Self {
        let step = Step { way, values: values.into() };
        Self(Some(Rc::new(Last { before: self.clone(), step })))
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = self;
        while let Self(Some(last)) = at {
            steps.push(last.step.clone());
            at = &last.before;
        }
        steps.reverse();
        steps
    }
}

/// Ways for another thread or another process. What they share is there once.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// Each with the number of the step before it, which is smaller; 0 for the first state, so that the first step is 1.
    pub(super) steps: Vec<(u32, Step)>,
}

/// Puts ways together. What is known is known by where it is.
#[derive(Default)]
pub(super) struct WayPacker {
    pub(super) ways: Ways,
    known: BTreeMap<*const Last, u32>,
}

impl WayPacker {
    /// The number of the last step of a way.
    pub(super) fn add(&mut self, way: &Way) -> u32 {
        let mut new: Vec<&Rc<Last>> = Vec::new();
        let mut at = way;
        let mut number = loop {
            let Way(Some(last)) = at else { break 0 };
            if let Some(&known) = self.known.get(&Rc::as_ptr(last)) {
                break known;
            }
            new.push(last);
            at = &last.before;
        };
        for last in new.into_iter().rev() {
            self.ways.steps.push((number, last.step.clone()));
            number = self.ways.steps.len() as u32;
            self.known.insert(Rc::as_ptr(last), number);
        }
        number
    }
}

impl Ways {
    /// The ways, by the numbers of their last steps.
    pub(super) fn unpack(self) -> Vec<Way> {
        let mut all = vec![Way::default()];
        for (after, step) in self.steps {
            let before = all[after as usize].clone();
            all.push(Way(Some(Rc::new(Last { before, step }))));
        }
        all
    }
}

impl Drop for Way {
    /// Without recursion: a way may be long.
    fn drop(&mut self) {
        let mut last = self.0.take();
        while let Some(mut only) = last.and_then(Rc::into_inner) {
            last = only.before.0.take();
        }
    }
}

/// The values after these, which were asked for with so many options each. `false` if there are none.
pub(super) fn following(values: &mut Vec<u32>, of: &[u32]) -> bool {
    if of.is_empty() {
        return false;
    }
    values.resize(of.len(), 0);
    while let Some(last) = values.pop() {
        if last + 1 < of[values.len()] {
            values.push(last + 1);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_way_is_dropped_without_recursion() {
        let step = |n| Step { way: Move::Lane(n), values: [n].into() };
        let way = (0..1_000_000).fold(Way::default(), |way, n| way.then(Move::Lane(n), &[n]));
        let other = way.then(Move::Crash, &[1]);
        drop(way);
        assert_eq!(other.steps().len(), 1_000_001);
        assert_eq!(other.steps()[7], step(7));
    }

    #[test]
    fn ways_that_were_packed_share_what_they_shared() {
        let two = Way::default().then(Move::Lane(1), &[]).then(Move::Lane(2), &[7]);
        let ways = [two.then(Move::Crash, &[]), two.clone(), two.then(Move::Lane(3), &[])];
        let mut packer = WayPacker::default();
        let numbers = ways.each_ref().map(|way| packer.add(way));
        assert_eq!((packer.ways.steps.len(), numbers), (4, [3, 2, 4]));
        assert_eq!(packer.add(&Way::default()), 0);
        let unpacked = packer.ways.unpack();
        for (number, way) in numbers.into_iter().zip(&ways) {
            assert_eq!(unpacked[number as usize].steps(), way.steps());
        }
    }
}
