//! Which receives of an execution must happen before which.
//!
//! Two relations, both closed under transitivity. [`Causality::Possible`] is Bita's: a receive is taken to be caused
//! by the receive that sent its message or created its receiver *and by all earlier receives of that actor*, which
//! may have changed the state that made it send; and two messages from one actor to another keep the order in which
//! they were sent in this execution. [`Causality::Certain`] leaves out what another execution could contradict: it
//! has no receives that only may have been a cause, and two messages keep their order only if the receives that sent
//! them must.
//!
//! Besides: what a test sends after it has waited follows what it waited for; in one queue for each actor messages
//! keep the order of their sends, so two receives are in order if the receives that sent them are; an answer
//! follows the receive that gave it, and the message of a timer the receive that set it, because these sent them.
//!
//! In a channel of threads messages keep the order of their sends, too, but there a send is a step of its own: what a thread
//! sends later in the same receive may come after what others send meanwhile. Two receives are in order if the first
//! message was sent before the second in every execution that has the same causes: by the same thread, or because
//! the second was caused by something that the sender of the first sent after it.
//!
//! A join is a receive of what the ended thread sends last, and a thread that is spawned follows what was sent before.
//!
//! Misses: what threads tell each other by other means, as that a channel is disconnected, and how much room there is
//! in a channel.
//! Overreports: with [`Causality::Possible`], in one queue for each actor, what the test sent first is taken to come
//! first also if it sends while messages are handled; and receives that could come in another order, which the next round finds
//! in an execution that has the supposed cause elsewhere.

use std::collections::BTreeMap;

use super::Bits;
use super::recording::{MailboxOrder, Received, Run};

/// What is taken for a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causality {
    /// Whatever may have been one: Bita's relation, for schedules that are to be feasible.
    Possible,
    /// Only what is one in every execution.
    Certain,
}

/// The relation of one execution.
#[derive(Clone, Debug)]
pub struct MustHappen {
    /// Of each receive, by its place: those before it.
    before: Vec<Bits>,
    /// Of each receive: those that its message depends on, which are all of `before` but what comes first only because
    /// mailboxes keep an order. Only of [`Causality::Possible`].
    causes: Vec<Bits>,
    /// Of each receive the one that sent its message.
    sent_in: Vec<Option<u32>>,
}

/// What is known while an execution is read from its beginning.
struct Reading<'a> {
    causality: Causality,
    run: &'a Run,
    before: Vec<Bits>,
    causes: Vec<Bits>,
    sent_in: Vec<Option<u32>>,
    /// Of each receive: all that what it does may depend on, itself among it.
    history: Vec<Bits>,
    places: BTreeMap<u64, usize>,
    created: BTreeMap<u64, usize>,
    /// The last receive of each actor.
    last_of: BTreeMap<u64, usize>,
    /// The receives of each lane that keeps an order.
    lanes: BTreeMap<(u64, u64), Vec<usize>>,
    /// The receives of each system.
    systems: BTreeMap<u32, Vec<usize>>,
    /// Which thread spawned a thread, and when.
    spawned: BTreeMap<u64, (u64, (u32, u32))>,
}

/// Which lane of messages that keep an order a message is in.
fn lane(received: &Received) -> Option<(u64, u64)> {
    match received.order {
        MailboxOrder::Pairs => Some((received.sender, received.receiver)),
        MailboxOrder::Queue | MailboxOrder::Channel => Some((0, received.receiver)),
        MailboxOrder::Unordered => None,
    }
}

impl MustHappen {
    /// Of this execution.
    #[must_use]
    pub fn new(run: &Run, causality: Causality) -> Self {
        let mut reading = Reading {
            causality,
            run,
            before: Vec::with_capacity(run.received.len()),
            causes: Vec::new(),
            sent_in: Vec::with_capacity(run.received.len()),
            history: Vec::with_capacity(run.received.len()),
            places: BTreeMap::new(),
            created: BTreeMap::new(),
            last_of: BTreeMap::new(),
            lanes: BTreeMap::new(),
            systems: BTreeMap::new(),
            spawned: BTreeMap::new(),
        };
        for (at, received) in run.received.iter().enumerate() {
            reading.read(at, received);
        }
        let Reading { before, causes, sent_in, .. } = reading;
        Self { before, causes, sent_in }
    }

    /// Whether the receive at one place must happen before that at another.
    #[inline]
    #[must_use]
    pub fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.before[later].contains(earlier)
    }

    /// Those that must happen before the receive at this place.
    pub(crate) fn before(&self, place: usize) -> &Bits {
        &self.before[place]
    }

    /// Those that the message depends on which is received at this place: if they happen as they did, it is sent.
    pub(crate) fn causes(&self, place: usize) -> &Bits {
        &self.causes[place]
    }

    /// The place of the receive that sent the message which is received at this place; none: the test did.
    pub(crate) fn sent_in(&self, place: usize) -> Option<usize> {
        self.sent_in[place].map(|place| place as usize)
    }

    /// Bytes that the relation takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.before.iter().chain(&self.causes).map(Bits::bytes).sum()
    }
}

/// The thread that spawned a thread, and when; the one that spawned that; and so on, as far as they are known.
pub(crate) fn spawners(
    spawned: &BTreeMap<u64, (u64, (u32, u32))>,
    thread: u64,
) -> impl Iterator<Item = (u64, (u32, u32))> + '_ {
    std::iter::successors(spawned.get(&thread), |(spawner, _)| spawned.get(spawner)).copied()
}

/// Whether a receive follows something that the test, or a thread, sent after the message which is received at `earlier`,
/// in the same receive.
fn follows_send(run: &Run, before: &Bits, receive: usize, earlier: usize) -> bool {
    let sent = &run.received[earlier];
    before.iter().chain([receive]).any(|place| {
        let other = &run.received[place];
        other.sent_in == sent.sent_in && other.sender == sent.sender && other.nth > sent.nth
    })
}

impl Reading<'_> {
    fn read(&mut self, at: usize, received: &Received) {
        if let Some(spawned) = received.spawned {
            self.spawned.insert(received.sender, spawned);
        }
        let mut before = Bits::default();
        // What a thread received last before it ended may be something else elsewhere.
        let is_cause = self.causality == Causality::Possible || received.can_be_held();
        let sent_in = self.places.get(&received.sent_in).copied().filter(|_| is_cause);
        let creator = self.created.get(&received.receiver).copied();
        let answered = self.places.get(&received.answered_by).copied();
        // Elsewhere another receive may give the test its answer.
        let answered = answered.filter(|_| self.causality == Causality::Possible);
        for cause in [sent_in, creator, answered].into_iter().flatten() {
            before.add(&self.history[cause]);
        }
        // A test that has some messages handled and then sends may have waited for any of them.
        let waited = self.causality == Causality::Possible && received.sender == 0;
        let settled = if waited { received.sent_after } else { received.settled };
        if settled > 0 {
            let system = self.systems.get(&received.system).map_or(&[][..], |places| places);
            let settled = &system[..system.len().min(settled as usize)];
            if settled.len() == at {
                before.add_below(at);
            } else {
                for &place in settled {
                    before.insert(place);
                }
            }
        }
        if self.causality == Causality::Possible {
            self.causes.push(before.clone());
        }
        self.keep_order(received, sent_in, &mut before);
        self.remember(at, received, before, sent_in);
    }

    /// What is promised of the order of messages.
    fn keep_order(&mut self, received: &Received, sent_in: Option<usize>, before: &mut Bits) {
        let Some(lane) = lane(received) else { return };
        let places = self.lanes.entry(lane).or_default();
        if received.order == MailboxOrder::Channel {
            let places = std::mem::take(places);
            self.keep_sends(received, sent_in, &places, before);
            self.lanes.insert(lane, places);
            return;
        }
        let of_one_sender = received.order == MailboxOrder::Pairs;
        for &earlier in places.iter().rev() {
            if before.contains(earlier) {
                continue;
            }
            let sent_before = match (self.sent_in[earlier].map(|place| place as usize), sent_in) {
                (Some(one), Some(other)) => one == other || self.before[other].contains(one),
                // What the test sends is in its own order, and comes before what it leads to.
                (None, Some(other)) => {
                    self.causality == Causality::Possible
                        || follows_send(self.run, &self.before[other], other, earlier)
                }
                (None, None) => {
                    self.causality == Causality::Possible
                        || self.run.received[earlier].sender == received.sender
                }
                (Some(_), None) => false,
            };
            let all_in_order = of_one_sender && self.causality == Causality::Possible;
            if sent_before || all_in_order {
                before.insert(earlier);
                before.add(&self.before[earlier]);
                if all_in_order {
                    break;
                }
            }
        }
    }

    /// What is promised in a channel: the order of the sends, as far as that is fixed.
    fn keep_sends(
        &self,
        received: &Received,
        sent_in: Option<usize>,
        places: &[usize],
        before: &mut Bits,
    ) {
        let Self { run, causality, .. } = *self;
        // The last that each thread has sent before, as far as that led to this message.
        let mut sent: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        if causality == Causality::Possible {
            for place in before.iter() {
                let other = &run.received[place];
                let last = sent.entry(other.sender).or_default();
                *last = other.sent_at().max(*last);
            }
            for (spawner, at) in spawners(&self.spawned, received.sender) {
                let last = sent.entry(spawner).or_default();
                *last = at.max(*last);
            }
        }
        for &earlier in places.iter().rev() {
            let other = &run.received[earlier];
            let is_own = other.sender == received.sender;
            let is_before = match causality {
                Causality::Possible => {
                    is_own || sent.get(&other.sender).is_some_and(|last| *last > other.sent_at())
                }
                Causality::Certain if is_own => match (self.sent_in[earlier], sent_in) {
                    (Some(one), Some(two)) => {
                        one as usize == two || self.before[two].contains(one as usize)
                    }
                    // What a thread sends before it receives anything comes first.
                    (one, _) => one.is_none(),
                },
                Causality::Certain => {
                    sent_in.is_some_and(|two| follows_send(run, &self.before[two], two, earlier))
                }
            };
            if is_before && !before.contains(earlier) {
                before.insert(earlier);
                before.add(&self.before[earlier]);
            }
        }
    }

    fn remember(&mut self, at: usize, received: &Received, before: Bits, sent_in: Option<usize>) {
        let mut history = before.clone();
        history.insert(at);
        let last = self.last_of.insert(received.by, at);
        if let (Causality::Possible, Some(last)) = (self.causality, last) {
            history.add(&self.history[last]);
        }
        self.history.push(history);
        self.before.push(before);
        self.sent_in.push(sent_in.map(|place| place as u32));
        self.places.insert(received.identity, at);
        for &actor in &received.created {
            self.created.insert(actor, at);
        }
        self.systems.entry(received.system).or_default().push(at);
        if let Some(lane) = lane(received) {
            self.lanes.entry(lane).or_default().push(at);
        }
    }
}
