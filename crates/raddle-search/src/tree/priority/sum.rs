//! A weighted sum of priorities, as an operator besides comparing one after the other.

use raddle_engine::strategy::Step;
use raddle_trace::PairSet;

use super::{Candidate, Cost, Priority, Reversal, Sees};

/// The sum of what several say, each with its weight. Too large sums are all equal.
#[derive(Debug)]
pub struct Sum {
    parts: Vec<(u32, Box<dyn Priority>)>,
}

impl Sum {
    /// Of these.
    #[must_use]
    pub fn new(parts: Vec<(u32, Box<dyn Priority>)>) -> Self {
        Self { parts }
    }
}

impl Priority for Sum {
    fn name(&self) -> String {
        let parts: Vec<_> =
            self.parts.iter().map(|(weight, part)| format!("{weight}, {}", part.name())).collect();
        format!("sum({})", parts.join(", "))
    }

    fn sees(&self) -> Sees {
        self.parts.iter().fold(Sees::default(), |sees, (_, part)| sees.or(part.sees()))
    }

    fn begin(&mut self) {
        self.parts.iter_mut().for_each(|(_, part)| part.begin());
    }

    fn step(&mut self, step: &Step<'_>) {
        self.parts.iter_mut().for_each(|(_, part)| part.step(step));
    }

    fn end(&mut self, passed: bool) {
        self.parts.iter_mut().for_each(|(_, part)| part.end(passed));
    }

    fn know(&mut self, pairs: &PairSet) {
        self.parts.iter_mut().for_each(|(_, part)| part.know(pairs));
    }

    fn counts_delays(&self) -> bool {
        // Then all parts are asked along an explorer; those that count preemptions see 0.
        self.parts.iter().any(|(_, part)| part.counts_delays())
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        let costs = self.parts.iter_mut().map(|(weight, part)| {
            let Cost(cost) = part.cost(candidate);
            // Saturating: an order among sums that large would be that of what is left after an overflow.
            cost.saturating_mul(*weight)
        });
        Cost(costs.fold(0, u32::saturating_add))
    }

    fn notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(|(_, part)| part.notes()).collect()
    }

    /// Only if nothing but that bears on all its parts.
    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        let mut sum = 0_u32;
        for (weight, part) in &self.parts {
            // One part that does not know the new cost is enough: its share of the old sum is not kept, so the sum cannot be made
            // again.
            sum = sum.saturating_add(part.improved(reversal)?.0.saturating_mul(*weight));
        }
        Some(Cost(sum))
    }

    fn save(&self, words: &mut Vec<u64>) {
        self.parts.iter().for_each(|(_, part)| part.save(words));
    }

    fn saved_words(&self, words: &[u64]) -> usize {
        self.parts.iter().fold(0, |before, (_, part)| {
            before + part.saved_words(words.get(before..).unwrap_or_default())
        })
    }

    fn restore(&mut self, words: &mut dyn Iterator<Item = u64>) {
        self.parts.iter_mut().for_each(|(_, part)| part.restore(words));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Departures, Preemptions, candidate};
    use super::*;

    // 1 preemption and 2 departures: 10 * 1 + 3 * 2.
    #[test]
    fn a_sum_weighs_its_parts() {
        let mut sum = Sum::new(vec![(10, Box::new(Preemptions)), (3, Box::new(Departures))]);
        assert_eq!(sum.cost(&candidate()), Cost(16));
        assert_eq!(sum.name(), "sum(10, pb, 3, departures)");
    }
}
