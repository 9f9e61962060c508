//! Which orders of receives executions have shown.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::recording::{Received, Run};
use super::{Bits, Criterion};

/// Receives of one actor that are told apart. Each costs a bit for each other one and criterion.
const MOST_OF_ONE_ACTOR: usize = 16_384;

/// Orders of three receives that are told apart.
const MOST_TRIPLES: u64 = 1 << 18;

/// What has been shown of one actor. Its receives are numbered in the order in which they were first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActorOrders {
    pub(crate) actor: u64,
    pub(crate) receives: Vec<u64>,
    /// By criterion and receive: those that were seen before it.
    seen: [Vec<Bits>; 3],
    /// Those that were seen to change the actor's behaviour.
    became: Bits,
    /// Three that were seen directly after each other.
    triples: BTreeSet<[u32; 3]>,
}

/// How much has been shown, by criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Ordering goals that were met.
    pub(crate) goals: [u64; 3],
    /// Pairs of receives that are of the criterion: both happened in one execution.
    pub(crate) pairs: [u64; 3],
    /// Those of which both orders were seen.
    pub(crate) covered: [u64; 3],
}

/// What executions have shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The actor of each receive, and its number there.
    places: BTreeMap<u64, (u32, u32)>,
    by_actor: BTreeMap<u64, u32>,
    pub(crate) actors: Vec<ActorOrders>,
    counts: Counts,
    /// Receives that were not told apart, because their actor has too many.
    pub(crate) left_out: u64,
    /// Whether three receives directly after each other are told apart, and how many of these were seen.
    has_triples: bool,
    triples: u64,
}

/// One actor in the execution that is learned from.
#[derive(Debug, Default)]
struct Walk {
    before: Bits,
    last: Option<usize>,
    before_last: Option<usize>,
    last_change: Option<usize>,
    since_change: Bits,
}

impl Orders {
    /// How much has been shown.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Learns of three receives directly after each other, too.
    pub(crate) fn learn_triples(&mut self) {
        self.has_triples = true;
    }

    /// Whether it still learns of them.
    pub(crate) fn has_triples(&self) -> bool {
        self.has_triples
    }

    /// How often three receives were seen directly after each other that had not been before.
    pub(crate) fn n_triples(&self) -> u64 {
        self.triples
    }

    /// Whether these three were seen directly after each other.
    pub(crate) fn has_triple(&self, triple: [u64; 3]) -> bool {
        let [first, second, third] = triple.map(|receive| self.number(receive));
        match (first, second, third) {
            (Some((actor, first)), Some((_, second)), Some((_, third))) => {
                self.sees_triple(actor, [first, second, third])
            }
            _ => false,
        }
    }

    /// Whether these three of an actor, by number, were seen directly after each other.
    pub(crate) fn sees_triple(&self, actor: u32, triple: [u32; 3]) -> bool {
        self.actors[actor as usize].triples.contains(&triple)
    }

    /// Learns from an execution. Returns how many goals of each criterion it met that none had met before.
    pub(crate) fn learn(&mut self, run: &Run) -> [u64; 3] {
        self.learn_all(run.received.iter())
    }

    /// As [`learn`](Self::learn), from the receives of an execution.
    pub(crate) fn learn_all<'a>(
        &mut self,
        received: impl Iterator<Item = &'a Received>,
    ) -> [u64; 3] {
        let before = self.counts.goals;
        let mut walks: BTreeMap<u32, Walk> = BTreeMap::new();
        for received in received.filter(|received| received.counted) {
            let Some((actor, number)) = self.place(received) else { continue };
            let walk = walks.entry(actor).or_default();
            self.walk(walk, actor as usize, number as usize, received.became);
        }
        let after = self.counts.goals;
        [0, 1, 2].map(|criterion| after[criterion] - before[criterion])
    }

    /// The actor and the number of a receive, new or not.
    fn place(&mut self, received: &Received) -> Option<(u32, u32)> {
        if let Some(place) = self.places.get(&received.identity) {
            return Some(*place);
        }
        let actors = &mut self.actors;
        let actor = *self.by_actor.entry(received.receiver).or_insert_with(|| {
            actors.push(ActorOrders { actor: received.receiver, ..ActorOrders::default() });
            actors.len() as u32 - 1
        });
        let orders = &mut self.actors[actor as usize];
        if orders.receives.len() >= MOST_OF_ONE_ACTOR {
            self.left_out += 1;
            return None;
        }
        orders.receives.push(received.identity);
        orders.seen.iter_mut().for_each(|seen| seen.push(Bits::default()));
        let place = (actor, orders.receives.len() as u32 - 1);
        self.places.insert(received.identity, place);
        Some(place)
    }

    fn walk(&mut self, walk: &mut Walk, actor: usize, number: usize, became: bool) {
        if walk.before.contains(number) {
            return;
        }
        if became {
            self.note_change(actor, number);
        }
        if let (true, Some(first), Some(second)) = (self.has_triples, walk.before_last, walk.last) {
            let triple = [first, second, number].map(|number| number as u32);
            self.triples += u64::from(self.actors[actor].triples.insert(triple));
            self.has_triples = self.triples < MOST_TRIPLES;
        }
        walk.before_last = walk.last;
        let Walk { before, last, last_change, since_change, .. } = walk;
        // Most have been seen before: those are passed over a word at a time.
        let row = &self.actors[actor].seen[Criterion::Pr.index()][number];
        let new = before.without(row);
        self.meet(Criterion::Pr, actor, new.into_iter(), number);
        self.meet(Criterion::Pcr, actor, last.iter().copied(), number);
        if became {
            self.meet(Criterion::Pbr, actor, since_change.iter(), number);
            since_change.clear();
            *last_change = Some(number);
        } else {
            self.meet(Criterion::Pbr, actor, last_change.iter().copied(), number);
        }
        before.insert(number);
        since_change.insert(number);
        *last = Some(number);
    }

    /// Notes that goals were met: these before that one.
    fn meet(
        &mut self,
        criterion: Criterion,
        actor: usize,
        earlier: impl Iterator<Item = usize>,
        later: usize,
    ) {
        let at = criterion.index();
        let orders = &mut self.actors[actor];
        for earlier in earlier {
            if !orders.seen[at][later].insert(earlier) {
                continue;
            }
            self.counts.goals[at] += 1;
            let other_way = |seen: &[Vec<Bits>; 3], at: usize| seen[at][earlier].contains(later);
            if other_way(&orders.seen, at) {
                self.counts.covered[at] += 1;
            }
            if criterion == Criterion::Pr && !other_way(&orders.seen, at) {
                // A pair that is new.
                self.counts.pairs[Criterion::Pr.index()] += 1;
                self.counts.pairs[Criterion::Pcr.index()] += 1;
                if orders.became.contains(earlier) || orders.became.contains(later) {
                    self.counts.pairs[Criterion::Pbr.index()] += 1;
                }
            }
        }
    }

    /// A receive is seen to change the behaviour, for the first time or not.
    fn note_change(&mut self, actor: usize, number: usize) {
        let orders = &mut self.actors[actor];
        if !orders.became.insert(number) {
            return;
        }
        let pr = &orders.seen[Criterion::Pr.index()];
        let known = |&other: &usize| {
            other != number
                && !orders.became.contains(other)
                && (pr[number].contains(other) || pr[other].contains(number))
        };
        let more = (0..orders.receives.len()).filter(known).count() as u64;
        self.counts.pairs[Criterion::Pbr.index()] += more;
    }

    /// Whether an execution has shown one receive before another, as the criterion has it.
    pub(crate) fn is_met(&self, criterion: Criterion, earlier: u64, later: u64) -> bool {
        let (Some(&(actor, earlier)), Some(&(other, later))) =
            (self.places.get(&earlier), self.places.get(&later))
        else {
            return false;
        };
        actor == other && self.sees(criterion, actor, earlier, later)
    }

    /// The actor and the number of a receive that was learned.
    pub(crate) fn number(&self, receive: u64) -> Option<(u32, u32)> {
        self.places.get(&receive).copied()
    }

    /// As [`is_met`](Self::is_met), of receives of one actor by number.
    #[inline]
    pub(crate) fn sees(&self, criterion: Criterion, actor: u32, earlier: u32, later: u32) -> bool {
        let seen = &self.actors[actor as usize].seen[criterion.index()];
        seen[later as usize].contains(earlier as usize)
    }

    /// Those of an actor that were seen before one of its receives.
    pub(crate) fn before(&self, criterion: Criterion, actor: u32, later: u32) -> &Bits {
        &self.actors[actor as usize].seen[criterion.index()][later as usize]
    }

    /// Adds what others have shown.
    pub(crate) fn merge(&mut self, other: &Self) {
        for theirs in &other.actors {
            let mut numbers = Vec::with_capacity(theirs.receives.len());
            for &identity in &theirs.receives {
                let received = Received { identity, receiver: theirs.actor, ..Received::default() };
                numbers.push(self.place(&received));
            }
            for number in theirs.became.iter() {
                if let Some((actor, number)) = numbers[number] {
                    self.note_change(actor as usize, number as usize);
                }
            }
            for criterion in Criterion::ALL {
                for (later, seen) in theirs.seen[criterion.index()].iter().enumerate() {
                    let Some((actor, later)) = numbers[later] else { continue };
                    let earlier = seen.iter().filter_map(|number| numbers[number]);
                    let earlier = earlier.map(|(_, number)| number as usize);
                    self.meet(criterion, actor as usize, earlier, later as usize);
                }
            }
        }
    }

    /// Pairs of which one order was seen and the other was not: the actor, the receive that was seen first, and
    /// the other. At most so many.
    pub(crate) fn uncovered(&self, criterion: Criterion, most: usize) -> Vec<(u64, u64, u64)> {
        let mut found = Vec::new();
        for orders in &self.actors {
            let seen = &orders.seen[criterion.index()];
            for (later, before) in seen.iter().enumerate() {
                for earlier in before.iter().filter(|&earlier| !seen[earlier].contains(later)) {
                    if found.len() == most {
                        return found;
                    }
                    found.push((orders.actor, orders.receives[earlier], orders.receives[later]));
                }
            }
        }
        found
    }

    /// What was seen of an actor by a criterion: of each receive those before it.
    pub(crate) fn seen(
        orders: &ActorOrders,
        criterion: Criterion,
    ) -> impl Iterator<Item = (usize, Vec<usize>)> + '_ {
        let rows = orders.seen[criterion.index()].iter().enumerate();
        rows.map(|(later, before)| (later, before.iter().collect()))
    }

    /// Those that changed the behaviour of an actor.
    pub(crate) fn changes(orders: &ActorOrders) -> Vec<usize> {
        orders.became.iter().collect()
    }

    /// Notes what a file says: receives of an actor, which of them change its behaviour, and which were seen before
    /// which.
    pub(crate) fn know(
        &mut self,
        actor: u64,
        receives: &[u64],
        became: &[u32],
        seen: &[(Criterion, u32, Vec<u32>)],
    ) {
        let rows = vec![Bits::default(); receives.len()];
        let mut orders = ActorOrders {
            actor,
            receives: receives.to_vec(),
            seen: [rows.clone(), rows.clone(), rows],
            ..ActorOrders::default()
        };
        let fits = |number: &&u32| (**number as usize) < receives.len();
        became.iter().filter(fits).for_each(|&number| _ = orders.became.insert(number as usize));
        for (criterion, later, before) in seen.iter().filter(|(_, later, _)| fits(&later)) {
            for &earlier in before.iter().filter(fits) {
                orders.seen[criterion.index()][*later as usize].insert(earlier as usize);
            }
        }
        let file = Self { actors: vec![orders], ..Self::default() };
        self.merge(&file);
    }
}
