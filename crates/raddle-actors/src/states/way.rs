//! The steps that lead to a state.

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

impl FromIterator<Step> for Way {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        let add = |before, step| Self(Some(Rc::new(Last { before, step })));
        steps.into_iter().fold(Self::default(), add)
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
        let way: Way = (0..1_000_000).map(step).collect();
        let other = way.then(Move::Crash, &[1]);
        drop(way);
        assert_eq!(other.steps().len(), 1_000_001);
        assert_eq!(other.steps()[7], step(7));
    }
}
