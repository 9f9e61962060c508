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
//! the two messages are put in the wanted order, and whatever is then ahead of one in its queue comes first. What a
//! disturbed receive does may also be something new, and in a queue a new message is ahead of those that are sent
//! after it: an actor that may have received one is disturbed from there on.
//!
//! Channels of threads are planned as queues whose senders can be held before each send (`posts.rs`). The state that a
//! receive may change is that of a thread, which may receive from several channels.
//!
//! Misses: orders that only the possible causes of a receive forbid ([`Causality::Possible`]), until an execution
//! has the causes elsewhere.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::posts::Posts;
use super::recording::{MailboxOrder, Run};
use super::{Bits, Causality, Criterion, MustHappen, Orders};

/// Pairs that are looked at for more goals of one schedule. What is left is for the next.
const MOST_LOOKS: u32 = 100_000;

/// Receives that come before two others for one more order each.
const MOST_OVERTAKING: usize = 64;

/// In a queue: messages that no execution has shown may be here.
const UNKNOWN: u32 = u32::MAX;

/// A receive that criteria do not count, or that is not told apart.
const UNNUMBERED: u32 = u32::MAX;

/// When a receive happens that does not.
const NEVER: u32 = u32::MAX;

/// A schedule that is to be forced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Planned {
    /// The places in the execution that it was made from, in the order in which they are wanted.
    pub(crate) places: Vec<u32>,
    /// So many of them, the first ones, are as in that execution, with all that happened between them.
    pub(crate) repeated: u32,
    /// The goal for which it was made.
    pub(crate) goal: Goal,
}

/// Receives of one actor in the order in which they are wanted: two and a 0, or three directly after each other.
pub(crate) type Goal = [u64; 3];

/// Plans schedules from one execution.
#[derive(Debug)]
pub(crate) struct Generator {
    must: MustHappen,
    /// The receives of each actor, and where each stands there.
    lists: Vec<Vec<u32>>,
    /// Of each receive: its list and its place in it.
    listed: Vec<(u32, u32)>,
    /// The receives that may have changed the state of each actor or thread.
    owners: Vec<Vec<u32>>,
    /// Of each receive: which of `owners` it is in, and its place there.
    owned: Vec<(u32, u32)>,
    /// What threads sent into channels.
    posts: Posts,
    /// Of each receive: its number in [`Orders`], or [`UNNUMBERED`].
    numbers: Vec<u32>,
    /// Of each actor: its number there.
    actors: Vec<u32>,
    /// Of each receive: those of its actor, by place in the list, that must happen after it. Made when it is asked for.
    after: Vec<OnceCell<Bits>>,
    /// Of each receive: those of the messages that it sent into queues.
    children: Vec<Vec<u32>>,
    /// What the test sent into queues, and after how many receives.
    sent_by_test: Vec<(u32, u32)>,
    /// The list of each actor.
    by_actor: BTreeMap<u64, u32>,
    /// Of each actor: those to which it is known to send into a queue, as lists; and how many pairs that was made of.
    sends_to: Vec<Vec<u32>>,
    n_senders: usize,
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
    /// From an execution that `orders` has learned.
    pub(crate) fn new(run: &Run, orders: &Orders) -> Self {
        let must = MustHappen::new(run, Causality::Possible);
        let mut by_actor: BTreeMap<u64, u32> = BTreeMap::new();
        let mut lists: Vec<Vec<u32>> = Vec::new();
        let mut listed = Vec::with_capacity(run.received.len());
        let mut by_owner: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut owners, mut owned) = (Vec::new(), Vec::with_capacity(run.received.len()));
        let mut children = vec![Vec::new(); run.received.len()];
        let mut sent_by_test = Vec::new();
        for (at, received) in run.received.iter().enumerate() {
            listed.push(list_under(received.receiver, at, &mut by_actor, &mut lists));
            owned.push(list_under(received.by, at, &mut by_owner, &mut owners));
            if received.order != MailboxOrder::Queue {
                continue;
            }
            match must.sent_in(at) {
                Some(sender) => children[sender].push(at as u32),
                None => sent_by_test.push((waited_for(run, at), at as u32)),
            }
        }
        for sent in &mut children {
            sent.sort_by_key(|&at: &u32| (run.received[at as usize].nth, at));
        }
        sent_by_test.sort_unstable();
        let mut actors = vec![0; lists.len()];
        let mut numbers = vec![UNNUMBERED; run.received.len()];
        for (at, received) in run.received.iter().enumerate().filter(|(_, one)| one.counted) {
            if let Some((actor, number)) = orders.number(received.identity) {
                (actors[listed[at].0 as usize], numbers[at]) = (actor, number);
            }
        }
        let after = vec![OnceCell::new(); run.received.len()];
        Self {
            must,
            lists,
            listed,
            owners,
            owned,
            posts: Posts::new(run),
            numbers,
            actors,
            after,
            children,
            sent_by_test,
            by_actor,
            sends_to: Vec::new(),
            n_senders: 0,
            next: 0,
        }
    }

    /// Knows which actors were seen to send into the queue of which, in this and other executions.
    pub(crate) fn know(&mut self, senders: &BTreeSet<(u64, u64)>) {
        if !self.sends_to.is_empty() && self.n_senders == senders.len() {
            return;
        }
        (self.sends_to, self.n_senders) = (vec![Vec::new(); self.lists.len()], senders.len());
        for (sender, receiver) in senders {
            let lists = (self.by_actor.get(sender), self.by_actor.get(receiver));
            if let (Some(&sender), Some(&receiver)) = lists {
                self.sends_to[sender as usize].push(receiver);
            }
        }
    }

    /// The next schedule that meets a goal which `orders` does not have, unless it was given up.
    pub(crate) fn plan(
        &mut self,
        run: &Run,
        orders: &Orders,
        criterion: Criterion,
        given_up: &dyn Fn(Goal) -> bool,
    ) -> Option<Planned> {
        let look = Look { run, orders, criterion, given_up, generator: self };
        let mut next = self.next;
        let mut planned = None;
        'search: while next < run.received.len() {
            for second in look.candidates(next) {
                for swap in look.unmet(next, second) {
                    let wanted = Wanted { first: next, second, swap };
                    planned = look.plan(wanted);
                    if planned.is_some() {
                        break 'search;
                    }
                }
            }
            next += 1;
        }
        self.next = next;
        planned
    }

    /// The next schedule that has three receives directly after each other as `orders` does not have them.
    pub(crate) fn plan_triple(
        &mut self,
        run: &Run,
        orders: &Orders,
        given_up: &dyn Fn(Goal) -> bool,
    ) -> Option<Planned> {
        let look = Look { run, orders, criterion: Criterion::Pcr, given_up, generator: self };
        let is_counted = |place: &usize| run.received[*place].counted;
        let (mut next, mut looks, mut planned) = (self.next, 0, None);
        if !orders.has_triples() {
            next = run.received.len();
        }
        'search: while next < run.received.len() {
            let first = Some(next).filter(is_counted);
            let later: Vec<usize> =
                first.map_or_else(Vec::new, |first| self.later(first).filter(is_counted).collect());
            for (nth, &second) in later.iter().enumerate() {
                for &third in &later[nth + 1..] {
                    looks += 1;
                    if looks > MOST_LOOKS {
                        next = run.received.len();
                        break 'search;
                    }
                    let places = [next, second, third];
                    let orders = ORDERS_OF_THREE.map(|order| order.map(|at: usize| places[at]));
                    planned = orders.into_iter().find_map(|three| look.plan_triple(three));
                    if planned.is_some() {
                        break 'search;
                    }
                }
            }
            next += 1;
        }
        self.next = next;
        planned
    }

    /// The later receives of the same actor.
    fn later(&self, place: usize) -> impl Iterator<Item = usize> + use<'_> {
        let (list, at) = self.listed[place];
        self.lists[list as usize][at as usize + 1..].iter().map(|&place| place as usize)
    }
}

/// Adds a receive to the list that is under a key. Returns which list that is, and the place in it.
fn list_under(
    key: u64,
    at: usize,
    by_key: &mut BTreeMap<u64, u32>,
    lists: &mut Vec<Vec<u32>>,
) -> (u32, u32) {
    let list = *by_key.entry(key).or_insert_with(|| {
        lists.push(Vec::new());
        lists.len() as u32 - 1
    });
    let places = &mut lists[list as usize];
    places.push(at as u32);
    (list, places.len() as u32 - 1)
}

const ORDERS_OF_THREE: [[usize; 3]; 6] =
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Which actors sent into the queue of which in an execution.
pub(crate) fn senders(run: &Run) -> impl Iterator<Item = (u64, u64)> {
    let queued = run.received.iter().filter(|received| received.order == MailboxOrder::Queue);
    queued.map(|received| (received.sender, received.receiver))
}

/// How many receives the test waited for before it sent a message.
fn waited_for(run: &Run, place: usize) -> u32 {
    let received = &run.received[place];
    if received.sender == 0 { received.sent_after } else { received.settled }
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
    let mut generator = Generator::new(run, &orders);
    generator.know(&senders(run).collect());
    let mut executions = Vec::new();
    while executions.len() < most {
        let planned = generator.plan(run, &orders, criterion, &|_| false);
        let Some(Planned { mut places, goal, .. }) = planned else { break };
        let mut named = Bits::default();
        for &place in &places {
            named.insert(place as usize);
        }
        places.extend(
            (0..run.received.len() as u32).filter(|&place| !named.contains(place as usize)),
        );
        orders.learn_all(places.iter().map(|&place| &run.received[place as usize]));
        assert!(
            orders.is_met(criterion, goal[0], goal[1]),
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
    given_up: &'a dyn Fn(Goal) -> bool,
    generator: &'a Generator,
}

impl Look<'_> {
    /// Which orders of two receives of one actor are goals that nothing has met: as they came, or swapped.
    fn unmet(&self, first: usize, second: usize) -> impl Iterator<Item = bool> + use<> {
        let Generator { numbers, actors, listed, must, .. } = self.generator;
        let (one, other) = (numbers[first], numbers[second]);
        let (former, latter) = (&self.run.received[first], &self.run.received[second]);
        let is_related = one != UNNUMBERED
            && other != UNNUMBERED
            && one != other
            && (self.criterion != Criterion::Pbr || former.became || latter.became)
            && !must.is_before(first, second);
        let unmet = |(earlier, later): (u32, u32), goal: [u64; 2]| {
            let actor = actors[listed[first].0 as usize];
            is_related
                && !self.orders.sees(self.criterion, actor, earlier, later)
                && !(self.given_up)([goal[0], goal[1], 0])
        };
        let (former, latter) = (former.identity, latter.identity);
        let as_it_was = unmet((one, other), [former, latter]).then_some(false);
        let swapped = unmet((other, one), [latter, former]).then_some(true);
        as_it_was.into_iter().chain(swapped)
    }

    /// Later receives of the same actor, but for those with which a receive has no order that is a goal.
    fn candidates(&self, first: usize) -> impl Iterator<Item = usize> + use<'_> {
        let Generator { numbers, actors, listed, lists, must, after, .. } = self.generator;
        let (list, at) = listed[first];
        let number = numbers[first];
        let begin = at as usize + 1;
        let later = if number == UNNUMBERED { &[] } else { &lists[list as usize][begin..] };
        let after = after[first].get_or_init(|| {
            let mut after = Bits::default();
            for (at, &second) in (begin..).zip(later) {
                if must.is_before(first, second as usize) {
                    after.insert(at);
                }
            }
            after
        });
        // That a pair was as it is here has been seen here: by PR it can only be swapped.
        let seen = (self.criterion == Criterion::Pr && number != UNNUMBERED)
            .then(|| self.orders.before(self.criterion, actors[list as usize], number));
        let is_left = move |&(at, &second): &(usize, &u32)| {
            let number = numbers[second as usize];
            !after.contains(at)
                && number != UNNUMBERED
                && !seen.is_some_and(|seen| seen.contains(number as usize))
        };
        (begin..).zip(later).filter(is_left).map(|(_, &second)| second as usize)
    }

    /// A schedule for an order of two receives and for what else it can show. None if there is none.
    fn plan(&self, wanted: Wanted) -> Option<Planned> {
        let Wanted { first, second, swap } = wanted;
        let must = &self.generator.must;
        let mut held = first;
        if self.is_queued(first) {
            // What the test has sent is in its order, and so is what one receive sent.
            let senders = must.sent_in(first).zip(must.sent_in(second));
            if swap {
                let (one, other) = senders?;
                if one == other || must.is_before(one, other) || must.is_before(one, second) {
                    return None;
                }
            }
            held = senders.map_or(first, |(one, _)| one);
        } else if self.is_posted(first) {
            // The order is that of the sends: neither of the two may be sent yet.
            held = first.min(self.generator.posts.sent_after(first));
        }
        let places = Plan::new(self, held).make(wanted).or_else(|| {
            // What comes before the two may have the first one sent: then the second has to be sent before all of that.
            let mut plan = Plan::new(self, held);
            let is_sent = swap && self.is_posted(first) && plan.send_first(first, second);
            is_sent.then(|| plan.make(wanted))?
        })?;
        let id = |place: usize| self.run.received[place].identity;
        let goal = if swap { [id(second), id(first), 0] } else { [id(first), id(second), 0] };
        Some(Planned { places, repeated: held as u32, goal })
    }

    /// A schedule for three receives directly after each other, if they were never seen so. None if there is none.
    fn plan_triple(&self, three: [usize; 3]) -> Option<Planned> {
        let must = &self.generator.must;
        let [first, second, third] = three;
        let Generator { numbers, actors, listed, .. } = self.generator;
        let actor = actors[listed[first].0 as usize];
        let numbers = three.map(|place| numbers[place]);
        let goal = three.map(|place| self.run.received[place].identity);
        let against = [(second, first), (third, first), (third, second)];
        if numbers.contains(&UNNUMBERED)
            || self.orders.sees_triple(actor, numbers)
            || against.iter().any(|&(earlier, later)| must.is_before(earlier, later))
            || (self.given_up)(goal)
        {
            return None;
        }
        // In a queue the order is that of the sends.
        let senders = three.map(|place| must.sent_in(place).filter(|_| self.is_queued(place)));
        let posted = three.into_iter().filter(|&place| self.is_posted(place));
        let posted = posted.map(|place| self.generator.posts.sent_after(place));
        let end = three.into_iter().chain(senders.into_iter().flatten()).chain(posted).min()?;
        let mut plan = Plan::new(self, end);
        let senders: Vec<usize> = senders.into_iter().flatten().collect();
        for (nth, &sender) in senders.iter().enumerate() {
            let held: Vec<usize> =
                senders[nth..].iter().copied().filter(|&held| held != sender).collect();
            (plan.done.contains(sender) || plan.reach(sender, &held)).then_some(())?;
        }
        for place in three {
            plan.reach_before(place, &three).then_some(())?;
        }
        for (nth, &place) in three.iter().enumerate() {
            plan.reach(place, &three[nth + 1..]).then_some(())?;
        }
        let is_met = plan.follows(first, second) && plan.follows(second, third);
        is_met.then_some(Planned { places: plan.places, repeated: end as u32, goal })
    }

    fn is_queued(&self, place: usize) -> bool {
        self.run.received[place].order == MailboxOrder::Queue
    }

    /// Whether what is received here was sent into a channel of threads.
    fn is_posted(&self, place: usize) -> bool {
        self.run.received[place].order == MailboxOrder::Channel
    }
}

/// Whose state receives change, in a plan: an actor or a thread.
#[derive(Clone, Debug, Default)]
struct Owner {
    /// How far its receives are done without a gap, and up to where those not done are disturbed.
    gapless: u32,
    disturbed_to: u32,
    /// What it does may be something else than it was.
    is_disturbed: bool,
}

/// An actor or a channel in a plan.
#[derive(Clone, Debug, Default)]
struct Planning {
    /// Receives whose messages are in its queue.
    queue: VecDeque<u32>,
    /// After how many receives of the plan it may have received a message that is not known.
    unknown_at: usize,
}

/// A schedule that is being made, by replaying it.
struct Plan<'a> {
    look: &'a Look<'a>,
    generator: &'a Generator,
    places: Vec<u32>,
    done: Bits,
    /// Of each receive, when it happens.
    when: Vec<u32>,
    /// Those whose effects may be others than they were.
    disturbed: Bits,
    /// Those that may not exist.
    uncertain: Bits,
    /// Those whose messages are in queues or channels, or were.
    sent: Bits,
    actors: Vec<Planning>,
    owners: Vec<Owner>,
    /// How many receives are done without a gap, and how many messages of the test are in their queues.
    gapless: usize,
    sent_by_test: usize,
    looks: u32,
}

impl<'a> Plan<'a> {
    /// Begins as the execution did, up to a receive.
    fn new(look: &'a Look<'a>, end: usize) -> Self {
        let generator = look.generator;
        let receives = look.run.received.len();
        let mut done = Bits::default();
        done.add_below(end);
        let mut when = vec![NEVER; receives];
        let places: Vec<u32> = (0..end as u32).collect();
        when[..end].copy_from_slice(&places);
        let sent_by_test = &generator.sent_by_test;
        let sent_by_test = sent_by_test.partition_point(|(waited, _)| *waited as usize <= end);
        let mut plan = Self {
            look,
            generator,
            places,
            done,
            when,
            disturbed: Bits::default(),
            uncertain: Bits::default(),
            sent: Bits::default(),
            actors: vec![Planning::default(); generator.lists.len()],
            owners: vec![Owner::default(); generator.owners.len()],
            gapless: end,
            sent_by_test,
            looks: 0,
        };
        for (owner, list) in plan.owners.iter_mut().zip(&generator.owners) {
            owner.gapless = list.partition_point(|&place| (place as usize) < end) as u32;
        }
        for (actor, list) in plan.actors.iter_mut().zip(&generator.lists) {
            let at = list.partition_point(|&place| (place as usize) < end);
            if list.first().is_some_and(|&place| look.is_posted(place as usize)) {
                let posted = |&&place: &&u32| generator.posts.sent_after(place as usize) < end;
                list[..at].iter().for_each(|&place| _ = plan.sent.insert(place as usize));
                for &place in list[at..].iter().take_while(posted) {
                    actor.queue.push_back(place);
                    plan.sent.insert(place as usize);
                }
                continue;
            }
            // Of what is received later, those that are sent already are the first ones in the queue.
            let queued = list[at..].iter().filter(|&&place| look.is_queued(place as usize));
            let is_sent = |place: usize| match generator.must.sent_in(place) {
                Some(sender) => sender < end,
                None => waited_for(look.run, place) as usize <= end,
            };
            for &place in queued.take_while(|&&place| is_sent(place as usize)) {
                actor.queue.push_back(place);
                plan.sent.insert(place as usize);
            }
        }
        plan
    }

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
        let must = &self.generator.must;
        let is_queue = self.look.is_queued(first);
        // In a queue the order is that of the sends.
        let senders = must.sent_in(first).zip(must.sent_in(second)).filter(|_| is_queue);
        let senders = senders.filter(|(one, _)| !self.done.contains(*one));
        if is_queue && senders.is_none() && swap {
            return None;
        }
        let held = senders.map_or(first, |(one, _)| one);
        for place in self.gapless..held {
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
            (true, Criterion::Pr) if !is_queue => {
                self.overtake(first, second);
                self.reach(second, &[first]).then_some(Some(first))
            }
            // In a queue the first may not be sent yet, and whether it is sent then is certain only here.
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
            let must = &self.generator.must;
            let is_free = chain.iter().all(|&held| !must.is_before(held, next));
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
    fn is_certain(&mut self, place: usize) -> bool {
        if self.uncertain.contains(place) {
            return false;
        }
        let is_uncertain = self.generator.must.causes(place).meets(&self.disturbed);
        if is_uncertain {
            self.uncertain.insert(place);
        }
        !is_uncertain
    }

    /// Has everything happen that a receive needs, then the receive itself. `false` if that needs one that is held,
    /// or one that may not exist.
    fn reach(&mut self, place: usize, held: &[usize]) -> bool {
        self.reach_before(place, held) && self.take_turn(place, held)
    }

    /// Has everything happen that must happen before a receive.
    fn reach_before(&mut self, place: usize, held: &[usize]) -> bool {
        let needed = self.generator.must.before(place).without(&self.done);
        needed.into_iter().all(|needed| {
            self.done.contains(needed) || self.is_certain(needed) && self.take_turn(needed, held)
        })
    }

    /// A receive happens, after what is ahead of it in its queue.
    fn take_turn(&mut self, place: usize, held: &[usize]) -> bool {
        if self.look.is_posted(place) {
            return self.take_posted(place, held);
        }
        if !self.look.is_queued(place) {
            let is_there =
                self.done.contains(place) || !held.contains(&place) && self.is_sent(place);
            if is_there {
                self.happen(place);
            }
            return is_there;
        }
        let list = self.generator.listed[place].0 as usize;
        while !self.done.contains(place) {
            if !self.sent.contains(place) {
                return false;
            }
            match self.actors[list].queue.front() {
                Some(&UNKNOWN) => {
                    let actor = &mut self.actors[list];
                    actor.queue.pop_front();
                    actor.unknown_at = self.places.len();
                    self.owners[self.generator.owned[place].0 as usize].is_disturbed = true;
                    self.may_send(list);
                }
                Some(&next) if !held.contains(&(next as usize)) => {
                    self.actors[list].queue.pop_front();
                    self.happen(next as usize);
                }
                _ => return false,
            }
        }
        true
    }

    /// Has a message sent into its channel while another one is not, with all that this needs.
    fn send_first(&mut self, other: usize, place: usize) -> bool {
        if !self.reach_before(place, &[other]) || !self.is_sent(place) {
            return false;
        }
        let needed = self.generator.posts.needed(self.look.run, place, &self.sent);
        self.post(&needed);
        !self.sent.contains(other)
    }

    /// Threads send into channels.
    fn post(&mut self, posts: &[u32]) {
        for &post in posts {
            self.sent.insert(post as usize);
            let list = self.generator.listed[post as usize].0;
            self.actors[list as usize].queue.push_back(post);
        }
    }

    /// The message is sent into its channel, after what its sender sends before, and received after what is ahead of it
    /// there.
    fn take_posted(&mut self, place: usize, held: &[usize]) -> bool {
        if self.done.contains(place) {
            return true;
        }
        if held.contains(&place) || !self.is_sent(place) {
            return false;
        }
        let (generator, run) = (self.generator, self.look.run);
        let list = generator.listed[place].0;
        let needed = generator.posts.needed(run, place, &self.sent);
        let of_channel = |at: &&u32| generator.listed[**at as usize].0 == list;
        let queue = self.actors[list as usize].queue.iter();
        let mut ahead = queue.chain(needed.iter().filter(of_channel)).map(|&at| at as usize);
        if ahead.by_ref().take_while(|&at| at != place).any(|at| held.contains(&at)) {
            return false;
        }
        self.post(&needed);
        while !self.done.contains(place) {
            let Some(next) = self.actors[list as usize].queue.pop_front() else { return false };
            self.happen(next as usize);
        }
        true
    }

    /// Whether the message is sent that is received here; of one that is in no queue.
    fn is_sent(&self, place: usize) -> bool {
        match self.generator.must.sent_in(place) {
            Some(sender) => self.done.contains(sender),
            None => waited_for(self.look.run, place) as usize <= self.gapless,
        }
    }

    /// An actor may send what it never sent before.
    fn may_send(&mut self, list: usize) {
        let generator = self.generator;
        for &receiver in &generator.sends_to[list] {
            self.put(receiver, UNKNOWN);
        }
    }

    /// A message is in the queue of an actor.
    fn put(&mut self, list: u32, message: u32) {
        let actor = &mut self.actors[list as usize];
        if message != UNKNOWN || actor.queue.back() != Some(&UNKNOWN) {
            actor.queue.push_back(message);
        }
    }

    /// A message is sent into a queue, if it is certain.
    fn send(&mut self, place: u32) {
        let is_certain = self.is_certain(place as usize);
        if is_certain {
            self.sent.insert(place as usize);
        }
        let list = self.generator.listed[place as usize].0;
        self.put(list, if is_certain { place } else { UNKNOWN });
    }

    /// A receive happens next.
    fn happen(&mut self, place: usize) {
        if !self.done.insert(place) {
            return;
        }
        self.when[place] = self.places.len() as u32;
        self.places.push(place as u32);
        while self.done.contains(self.gapless) {
            self.gapless += 1;
        }
        let list = self.generator.listed[place].0;
        let (owner, at) = self.generator.owned[place];
        let places = &self.generator.owners[owner as usize];
        let Owner { gapless, disturbed_to, is_disturbed } = &mut self.owners[owner as usize];
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
        if *is_disturbed {
            self.disturbed.insert(place);
        }
        *is_disturbed |= self.disturbed.contains(place);
        let generator = self.generator;
        if *is_disturbed {
            self.may_send(list as usize);
        } else {
            generator.children[place].iter().for_each(|&child| self.send(child));
        }
        while let Some(&(waited, sent)) = generator.sent_by_test.get(self.sent_by_test)
            && waited as usize <= self.gapless
        {
            self.sent_by_test += 1;
            self.send(sent);
        }
    }

    /// Whether the plan has the goal for which it is made.
    fn meets(&self, wanted: Wanted) -> bool {
        let Wanted { first, second, swap } = wanted;
        let (earlier, later) = if swap { (second, first) } else { (first, second) };
        if self.look.criterion == Criterion::Pr {
            return self.when[earlier] < self.when[later];
        }
        self.follows(earlier, later)
    }

    /// Whether one receive comes after another of the same actor, with nothing between them that the criterion minds.
    fn follows(&self, earlier: usize, later: usize) -> bool {
        let (begin, end) = (self.when[earlier], self.when[later]);
        if end == NEVER || begin >= end {
            return false;
        }
        let (begin, end) = (begin as usize, end as usize);
        let list = self.generator.listed[earlier].0;
        let unknown_at = self.actors[list as usize].unknown_at;
        let mut between = self.places[begin + 1..end].iter().map(|&place| place as usize);
        !(begin + 1..=end).contains(&unknown_at)
            && !between.any(|place| {
                let other = &self.look.run.received[place];
                self.generator.listed[place].0 == list
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
            let (list, at) = self.generator.listed[first];
            self.looks += self.generator.lists[list as usize].len() as u32 - at;
            if self.looks > MOST_LOOKS {
                return None;
            }
            let look = self.look;
            for second in look.candidates(first) {
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
