//! Which steps had to come before which, as far as a trace says so.

use std::collections::BTreeMap;

use raddle_trace::Trace;

/// Happens-before of one execution, without what the order of each task says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// For each step the steps of other tasks that come directly before it.
    pub(crate) after: Vec<Vec<u32>>,
    /// Whether the engine wrote it down. If not it is guessed: every two steps on one object are
    /// taken to be in order.
    ///
    /// Overreports: two loads of one atomic. Misses: what a spawn or a join puts in order.
    pub(crate) exact: bool,
}

impl Order {
    pub(crate) fn of(trace: &Trace) -> Self {
        let n_events = trace.events.len();
        let known = |event: &raddle_trace::Event| event.after.clone();
        if let Some(after) = trace.events.iter().map(known).collect::<Option<Vec<_>>>()
            && !after.is_empty()
        {
            // Only what is earlier can be before: a file may say anything.
            let earlier = |(index, steps): (usize, Vec<u32>)| {
                steps.into_iter().filter(|&step| (step as usize) < index).collect()
            };
            let after = after.into_iter().enumerate().map(earlier).collect();
            return Self { after, exact: true };
        }
        let mut last_on: BTreeMap<u32, u32> = BTreeMap::new();
        let mut after = vec![Vec::new(); n_events];
        for (index, event) in (0..).zip(&trace.events) {
            let Some(object) = event.object else { continue };
            if let Some(before) = last_on.insert(object, index)
                && trace.events[before as usize].task != event.task
            {
                after[index as usize].push(before);
            }
        }
        Self { after, exact: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lost_update;

    #[test]
    fn what_was_written_down_is_taken_and_the_rest_is_guessed() {
        let mut trace = lost_update().failure.expect("a failed report").trace;
        let guessed = Order::of(&trace);
        assert!(!guessed.exact);
        // 1 load, 2 load, 2 store, 1 store, 0 load of one counter.
        assert_eq!(guessed.after, [vec![], vec![0], vec![], vec![2], vec![3]]);
        for event in &mut trace.events {
            event.after = Some(Vec::new());
        }
        trace.events[2].after = Some(vec![0, 4]);
        let known = Order::of(&trace);
        assert!(known.exact);
        assert_eq!(known.after[2], [0], "nothing follows what is later");
    }
}
