//! `rare`: of each pair of statements that race, one candidate after the other; the pairs take turns.
//!
//! A loop of a thousand rounds races a thousand times at the same two statements, and every execution again. By any cost
//! that counts switches those are all alike, and whichever pair has most races has most of the executions. Here a
//! candidate costs as many as there were before it of its pair: the first of every pair, then the second, …
//!
//! The two statements are those of the race that a reduction opened the candidate for; without a reduction, what the task is
//! about to do and what was done there instead.

use std::collections::BTreeMap;
use std::panic::Location;

use super::{Candidate, Cost, Priority, Sees};

/// The pair of which fewest are known first.
#[derive(Clone, Debug, Default)]
pub struct Rare {
    known: BTreeMap<(u64, u64), u32>,
}

/// The same in every process, so that a saved search goes on.
fn hash(site: &Location<'_>) -> u64 {
    let numbers = [site.line(), site.column()].into_iter().flat_map(u32::to_le_bytes);
    let bytes = site.file().bytes().chain(numbers);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Priority for Rare {
    fn name(&self) -> String {
        "rare".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { ops: true, races: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        let ops = || Some([candidate.instead?.site, candidate.op?.site]);
        // A value: all are of one pair.
        let pair = candidate.race.or_else(ops).map(|[first, later]| (hash(first), hash(later)));
        let known = self.known.entry(pair.unwrap_or_default()).or_insert(0);
        *known = known.saturating_add(1);
        Cost(*known - 1)
    }

    fn save(&self, words: &mut Vec<u64>) {
        words.push(self.known.len() as u64);
        for (&(first, later), &known) in &self.known {
            words.extend([first, later, known.into()]);
        }
    }

    fn saved_words(&self, words: &[u64]) -> usize {
        let pairs = words.first().and_then(|pairs| usize::try_from(*pairs).ok());
        // A number that no state has: it does not fit.
        pairs.and_then(|pairs| pairs.checked_mul(3)?.checked_add(1)).unwrap_or(usize::MAX)
    }

    fn restore(&mut self, words: &mut dyn Iterator<Item = u64>) {
        self.known.clear();
        for _ in 0..words.next().unwrap_or(0) {
            let (Some(first), Some(later), Some(known)) =
                (words.next(), words.next(), words.next())
            else {
                return;
            };
            self.known.insert((first, later), known.try_into().unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate;
    use super::*;

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn pairs_take_turns_and_go_on_after_a_pause() {
        let sites = [here(), here()];
        let [one, other] = [sites, [sites[1], sites[0]]].map(Some);
        let cost = |rare: &mut Rare, race| rare.cost(&Candidate { race, ..candidate() });
        let mut rare = Rare::default();
        assert_eq!(cost(&mut rare, one), Cost(0));
        assert_eq!(cost(&mut rare, one), Cost(1));
        assert_eq!(cost(&mut rare, other), Cost(0), "the other way round is another pair");
        let mut words = Vec::new();
        rare.save(&mut words);
        let mut again = Rare::default();
        again.restore(&mut words.into_iter());
        assert_eq!(cost(&mut again, one), Cost(2));
        assert_eq!(cost(&mut again, None), Cost(0), "values are a pair of their own");
    }
}
