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
//! Misses: what threads of a test tell each other by other means than messages.
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

/// Whether a receive follows something that the test sent after the message which is received at `earlier`.
fn follows_send(run: &Run, before: &Bits, receive: usize, earlier: usize) -> bool {
    let sent = &run.received[earlier];
    before.iter().chain([receive]).any(|place| {
        let other = &run.received[place];
        other.sent_in == sent.sent_in && other.sender == sent.sender && other.nth > sent.nth
    })
}

impl Reading<'_> {
    fn read(&mut self, at: usize, received: &Received) {
        let mut before = Bits::default();
        let sent_in = self.places.get(&received.sent_in).copied();
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
        let lane = match received.order {
            MailboxOrder::Pairs => (received.sender, received.receiver),
            MailboxOrder::Queue => (0, received.receiver),
            MailboxOrder::Unordered => return,
        };
        let places = self.lanes.entry(lane).or_default();
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

    fn remember(&mut self, at: usize, received: &Received, before: Bits, sent_in: Option<usize>) {
        let mut history = before.clone();
        history.insert(at);
        let last = self.last_of.insert(received.receiver, at);
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
        let lane = match received.order {
            MailboxOrder::Pairs => (received.sender, received.receiver),
            MailboxOrder::Queue => (0, received.receiver),
            MailboxOrder::Unordered => return,
        };
        self.lanes.entry(lane).or_default().push(at);
    }
}
