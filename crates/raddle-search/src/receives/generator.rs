//! Partial schedules, each of which shows an order of receives that none has shown.
//!
//! Bita's algorithm. For two receives of one actor of which an order is wanted: all receives before the first, those
//! after it that must happen before the second, then the two in the wanted order; and then the same for two of the
//! receives that are left (the *tail*), as long as there are some. Receives that must happen after one that was
//! moved are left out: they may not exist any more.
//!
//! Where this differs: before the second of two receives later ones may come that were never seen before it, so that
//! fewer schedules are needed. Schedules are made one at a time, each after the execution before it, so that what an
//! execution happened to show is not asked for again. What was moved is found out by replaying the plan: a receive
//! is *disturbed* if one that came before it at its actor comes after it now, or the other way round. So the same
//! code plans for a queue for each actor, where the order at a receiver is that of the sends: the receives that sent
//! the two messages are put in the wanted order, and whatever is then ahead of one in its queue comes first.
//!
//! Misses: orders that only the possible causes of a receive forbid ([`Causality::Possible`]), until an execution
//! has the causes elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::recording::{MailboxOrder, Received, Run};
use super::{Bits, Causality, Criterion, MustHappen, Orders};

/// Pairs that are looked at for more goals of one schedule. What is left is for the next.
const MOST_LOOKS: u32 = 100_000;

/// Receives that come before two others for one more order each.
const MOST_OVERTAKING: usize = 64;

/// A schedule that is to be forced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Planned {
    /// The places in the execution that it was made from, in the order in which they are wanted.
    pub(crate) places: Vec<u32>,
    /// The goal for which it was made: the receive that is to come first, and the other.
    pub(crate) goal: (u64, u64),
}

/// Plans schedules from one execution.
#[derive(Debug)]
pub(crate) struct Generator {
    must: MustHappen,
    /// The receives of each actor, and where each stands there.
    lists: Vec<Vec<u32>>,
    /// Of each receive: its list and its place in it.
    listed: Vec<(u32, u32)>,
    /// The receive that is looked at first.
    pub(crate) next: usize,
}

/// Two receives of one actor, by place, and whether the second is to come first.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    first: usize,
    second: usize,
    swap: bool,
}

impl Generator {
    pub(crate) fn new(run: &Run) -> Self {
        let must = MustHappen::new(run, Causality::Possible);
        let mut by_actor: BTreeMap<u64, u32> = BTreeMap::new();
        let mut lists: Vec<Vec<u32>> = Vec::new();
        let mut listed = Vec::with_capacity(run.received.len());
        for (place, received) in run.received.iter().enumerate() {
            let list = *by_actor.entry(received.receiver).or_insert_with(|| {
                lists.push(Vec::new());
                lists.len() as u32 - 1
            });
            let list_at = &mut lists[list as usize];
            listed.push((list, list_at.len() as u32));
            list_at.push(place as u32);
        }
        Self { must, lists, listed, next: 0 }
    }

    /// The next schedule that meets a goal which `orders` does not have, unless it was given up.
    pub(crate) fn plan(
        &mut self,
        run: &Run,
        orders: &Orders,
        criterion: Criterion,
        given_up: &dyn Fn(u64, u64) -> bool,
    ) -> Option<Planned> {
        let look = Look { run, orders, criterion, given_up, must: &self.must };
        while self.next < run.received.len() {
            let first = self.next;
            for second in self.later(first) {
                for swap in look.unmet(first, second) {
                    let wanted = Wanted { first, second, swap };
                    let plan = Plan::new(self, &look).make(wanted);
                    if let Some(places) = plan {
                        let id = |place: usize| run.received[place].identity;
                        let goal = if swap { (second, first) } else { (first, second) };
                        return Some(Planned { places, goal: (id(goal.0), id(goal.1)) });
                    }
                }
            }
            self.next += 1;
        }
        None
    }

    /// The later receives of the same actor.
    fn later(&self, place: usize) -> impl Iterator<Item = usize> + use<'_> {
        let (list, at) = self.listed[place];
        self.lists[list as usize][at as usize + 1..].iter().map(|&place| place as usize)
    }
}

/// The first schedules that are made of an execution, at most so many, if each is followed and all that it leaves
/// open comes after it as it came before. As the executions that come of them.
///
/// ```
/// use raddle_search::receives::{Criterion, Run, rehearse};
///
/// assert!(rehearse(&Run::default(), Criterion::Pr, 10).is_empty());
/// ```
///
/// # Panics
/// Never: that each meets its goal is asserted.
#[must_use]
pub fn rehearse(run: &Run, criterion: Criterion, most: usize) -> Vec<Vec<u32>> {
    let mut orders = Orders::default();
    orders.learn(run);
    let mut generator = Generator::new(run);
    let mut executions = Vec::new();
    while executions.len() < most {
        let planned = generator.plan(run, &orders, criterion, &|_, _| false);
        let Some(Planned { mut places, goal }) = planned else { break };
        let mut named = Bits::default();
        for &place in &places {
            named.insert(place as usize);
        }
        places.extend(
            (0..run.received.len() as u32).filter(|&place| !named.contains(place as usize)),
        );
        let received = places.iter().map(|&place| run.received[place as usize].clone()).collect();
        orders.learn(&Run { received });
        assert!(
            orders.is_met(criterion, goal.0, goal.1),
            "engine bug: a schedule without its goal"
        );
        executions.push(places);
    }
    executions
}

/// What a goal is looked up in.
struct Look<'a> {
    run: &'a Run,
    orders: &'a Orders,
    criterion: Criterion,
    given_up: &'a dyn Fn(u64, u64) -> bool,
    must: &'a MustHappen,
}

impl Look<'_> {
    /// Which orders of two receives of one actor are goals that nothing has met: as they came, or swapped.
    fn unmet(&self, first: usize, second: usize) -> impl Iterator<Item = bool> + use<> {
        let (one, other) = (&self.run.received[first], &self.run.received[second]);
        let is_related = one.counted
            && other.counted
            && (self.criterion != Criterion::Pbr || one.became || other.became)
            && !self.must.is_before(first, second);
        let unmet = |earlier: &Received, later: &Received| {
            is_related
                && !self.orders.is_met(self.criterion, earlier.identity, later.identity)
                && !(self.given_up)(earlier.identity, later.identity)
        };
        let as_it_was = unmet(one, other).then_some(false);
        let swapped = unmet(other, one).then_some(true);
        as_it_was.into_iter().chain(swapped)
    }
}

/// A schedule that is being made, by replaying it.
struct Plan<'a> {
    generator: &'a Generator,
    look: &'a Look<'a>,
    places: Vec<u32>,
    done: Bits,
    /// Of each receive that is done, when.
    when: BTreeMap<usize, usize>,
    /// Those whose effects may be others than they were.
    disturbed: Bits,
    /// Of each actor, how far its receives are done without a gap, and up to where those not done are disturbed.
    reached: Vec<(u32, u32)>,
    /// How many receives are done without a gap.
    gapless: usize,
    looks: u32,
}

impl<'a> Plan<'a> {
    fn new(generator: &'a Generator, look: &'a Look<'a>) -> Self {
        Self {
            generator,
            look,
            places: Vec::new(),
            done: Bits::default(),
            when: BTreeMap::new(),
            disturbed: Bits::default(),
            reached: vec![(0, 0); generator.lists.len()],
            gapless: 0,
            looks: 0,
        }
    }

    /// A schedule for this order and for what else it can show. None if there is none.
    fn make(mut self, wanted: Wanted) -> Option<Vec<u32>> {
        let mut pending = self.place(wanted)?;
        if !self.meets(wanted) {
            return None;
        }
        let mut from = wanted.first;
        while let Some(next) = self.tail(from) {
            from = next.first;
            let saved = self.places.len();
            match self.place(next) {
                Some(left) => {
                    pending = left.or(pending.filter(|place| !self.done.contains(*place)));
                }
                // What was put before it stays: it is what came first anyway.
                None if self.places.len() == saved => from += 1,
                None => break,
            }
        }
        if let Some(pending) = pending {
            self.reach(pending, &[]);
        }
        Some(self.places)
    }

    /// Puts two receives in the wanted order, after all that comes before them. Returns the one that may still move.
    #[expect(
        clippy::option_option,
        reason = "none: it cannot be; none in it: both are put where they stay"
    )]
    fn place(&mut self, wanted: Wanted) -> Option<Option<usize>> {
        let Wanted { first, second, swap } = wanted;
        let must = self.look.must;
        let is_queue = self.look.run.received[first].order == MailboxOrder::Queue;
        // In a queue the order is that of the sends.
        let senders = must.sent_in(first).zip(must.sent_in(second)).filter(|_| is_queue);
        let senders = senders.filter(|(one, _)| !self.done.contains(*one));
        if is_queue && senders.is_none() && swap {
            return None;
        }
        let held = senders.map_or(first, |(one, _)| one);
        for place in 0..held {
            if !self.done.contains(place) && self.is_certain(place) {
                self.reach(place, &[held]);
            }
        }
        if let Some((one, other)) = senders {
            if swap {
                self.reach(other, &[one]).then_some(())?;
            } else {
                self.reach_before(other, &[one]).then_some(())?;
                (self.reach(one, &[other]) && self.reach(other, &[])).then_some(())?;
            }
        }
        match (swap, self.look.criterion) {
            (true, Criterion::Pr) => {
                if !is_queue {
                    self.overtake(first, second);
                }
                self.reach(second, &[first]).then_some(Some(first))
            }
            (true, _) => (self.reach(second, &[first]) && self.reach(first, &[])).then_some(None),
            (false, _) => {
                self.reach_before(second, &[first]).then_some(())?;
                (self.reach(first, &[second]) && self.reach(second, &[])).then_some(None)
            }
        }
    }

    /// Has later receives of the same actor come first of all, if they were never seen before the second of the two.
    /// With this a schedule shows more: of w1, w2, fl the second execution is fl, w2, w1 and the last.
    fn overtake(&mut self, first: usize, second: usize) {
        let mut chain = vec![first, second];
        let mut last = second;
        for next in self.generator.later(second) {
            self.looks += 1;
            if self.looks > MOST_LOOKS || chain.len() > MOST_OVERTAKING {
                break;
            }
            let is_free = chain.iter().all(|&held| !self.look.must.is_before(held, next));
            let is_left = !self.done.contains(next) && is_free && self.is_certain(next);
            if is_left && self.look.unmet(last, next).any(|swap| swap) {
                chain.push(next);
                last = next;
            }
        }
        while chain.len() > 2 {
            let next = chain.pop().expect("there are more than two");
            self.reach(next, &chain);
        }
    }

    /// Whether a receive exists for certain, whatever was moved so far.
    fn is_certain(&self, place: usize) -> bool {
        !self.look.must.before(place).meets(&self.disturbed)
    }

    /// Has everything happen that a receive needs, then the receive itself. `false` if that needs one that is held,
    /// or one that may not exist.
    fn reach(&mut self, place: usize, held: &[usize]) -> bool {
        self.reach_before(place, held) && self.take_turn(place, held)
    }

    /// Has everything happen that must happen before a receive.
    fn reach_before(&mut self, place: usize, held: &[usize]) -> bool {
        let needed = self.look.must.before(place).without(&self.done);
        needed.into_iter().all(|needed| {
            self.done.contains(needed) || self.is_certain(needed) && self.take_turn(needed, held)
        })
    }

    /// A receive happens, after what is ahead of it in its queue.
    fn take_turn(&mut self, place: usize, held: &[usize]) -> bool {
        let mut stack = vec![place];
        while let Some(&next) = stack.last() {
            if self.done.contains(next) {
                stack.pop();
                continue;
            }
            if held.contains(&next) || stack.len() > self.look.run.received.len() {
                return false;
            }
            if let Some(ahead) = self.ahead(next) {
                if !self.is_certain(ahead) || !self.is_sent(ahead) {
                    return false;
                }
                stack.push(ahead);
                continue;
            }
            if !self.is_sent(next) {
                return false;
            }
            self.happen(next);
            stack.pop();
        }
        true
    }

    fn is_sent(&self, place: usize) -> bool {
        match self.look.must.sent_in(place) {
            Some(sender) => self.done.contains(sender),
            None => self.sent_by_test(place) <= self.gapless,
        }
    }

    /// How many receives the test waited for before it sent a message.
    fn sent_by_test(&self, place: usize) -> usize {
        let received = &self.look.run.received[place];
        let waited = if received.sender == 0 { received.sent_after } else { received.settled };
        waited as usize
    }

    /// When a message was sent, as far as the plan goes: after how many receives, and whether then by the test.
    fn sent(&self, place: usize) -> (usize, bool, u32) {
        let nth = self.look.run.received[place].nth;
        match self.look.must.sent_in(place) {
            Some(sender) => (self.when.get(&sender).map_or(usize::MAX, |at| at + 1), false, nth),
            None => (self.sent_by_test(place), true, nth),
        }
    }

    /// A receive whose message is ahead of another's in the queue of their actor.
    fn ahead(&self, place: usize) -> Option<usize> {
        if self.look.run.received[place].order != MailboxOrder::Queue {
            return None;
        }
        let (list, _) = self.generator.listed[place];
        let (gapless, _) = self.reached[list as usize];
        let mine = self.sent(place);
        let others = self.generator.lists[list as usize][gapless as usize..].iter();
        let others = others.map(|&other| other as usize);
        others
            .filter(|&other| other != place && !self.done.contains(other))
            .filter(|&other| self.look.run.received[other].order == MailboxOrder::Queue)
            .filter(|&other| self.is_sent(other) && self.sent(other) < mine)
            .min_by_key(|&other| self.sent(other))
    }

    /// A receive happens next.
    fn happen(&mut self, place: usize) {
        if !self.done.insert(place) {
            return;
        }
        self.when.insert(place, self.places.len());
        self.places.push(place as u32);
        while self.done.contains(self.gapless) {
            self.gapless += 1;
        }
        let (list, at) = self.generator.listed[place];
        let places = &self.generator.lists[list as usize];
        let (gapless, disturbed_to) = &mut self.reached[list as usize];
        while places.get(*gapless as usize).is_some_and(|&next| self.done.contains(next as usize)) {
            *gapless += 1;
        }
        // One that came before it comes after it now.
        if *gapless <= at {
            self.disturbed.insert(place);
            let from = (*gapless).max(*disturbed_to).min(at);
            for &other in &places[from as usize..at as usize] {
                if !self.done.contains(other as usize) {
                    self.disturbed.insert(other as usize);
                }
            }
            *disturbed_to = (*disturbed_to).max(at);
        }
    }

    /// Whether the plan has the goal for which it is made.
    fn meets(&self, wanted: Wanted) -> bool {
        let Wanted { first, second, swap } = wanted;
        let (earlier, later) = if swap { (second, first) } else { (first, second) };
        if self.look.criterion == Criterion::Pr {
            return self.done.contains(earlier) && !self.done.contains(later)
                || self.when.get(&earlier) < self.when.get(&later);
        }
        let Some(end) = self.when.get(&later) else { return false };
        let Some(begin) = self.when.get(&earlier).filter(|begin| *begin < end) else {
            return false;
        };
        let receiver = self.look.run.received[first].receiver;
        let mut between = self.places[begin + 1..*end].iter().map(|&place| place as usize);
        !between.any(|place| {
            let other = &self.look.run.received[place];
            other.receiver == receiver
                && other.counted
                && (self.look.criterion == Criterion::Pcr || other.became)
        })
    }

    /// Two receives of the tail of which an order was never seen, from this one on.
    fn tail(&mut self, from: usize) -> Option<Wanted> {
        for first in from..self.look.run.received.len() {
            if self.done.contains(first) || !self.is_certain(first) {
                continue;
            }
            for second in self.generator.later(first) {
                self.looks += 1;
                if self.looks > MOST_LOOKS {
                    return None;
                }
                if self.done.contains(second) {
                    continue;
                }
                if let Some(swap) = self.look.unmet(first, second).next()
                    && self.is_certain(second)
                {
                    return Some(Wanted { first, second, swap });
                }
            }
        }
        None
    }
}
