//! What is seen of deliveries from outside: which receive a link has next, and what the last one did.

use raddle_engine::receive::{Content, Effects, NewActor, Order, Receive, ReceiveName, Reception};
use raddle_engine::rt;

use super::store::Cancelled;
use super::{Kind, Message, World};
use crate::address::ActorId;
use crate::hash::mix;
use crate::letters::{Dispatch, Letter, Letters, MessageType, timer_of};
use crate::mailboxes::{Mailboxes, Sender};
use crate::step;
use crate::turn::Stamp;

impl World {
    /// The test does something, or a thread of it.
    pub(crate) fn enter_outside(&mut self) {
        if let Some(letters) = &mut self.turn.letters {
            letters.enter(rt::task_key());
        }
    }

    /// It has done it.
    pub(crate) fn leave_outside(&mut self) {
        if let Some(letters) = &mut self.turn.letters {
            letters.leave(rt::task_key());
        }
    }

    /// It has an answer, which this receive gave.
    pub(crate) fn answered_outside(&mut self, receive: u64) {
        if let Some(letters) = &mut self.turn.letters {
            letters.answered(rt::task_key(), receive);
        }
    }

    /// The identity of a message that it sends.
    pub(crate) fn stamp_outside(&mut self, kind: MessageType) -> Stamp {
        self.enter_outside();
        let letters = self.turn.letters.as_deref_mut()?;
        let key = rt::task_key();
        let sender = letters.sender_outside(key);
        Some(Box::new(letters.stamp(kind, sender, Sender::Outside(key))))
    }

    /// What a link would deliver next, if messages are observed.
    pub(crate) fn delivery(&self, link: u32) -> Option<Receive> {
        self.turn.letters.as_ref()?;
        let entry = &self.links[link as usize];
        let message = entry.queue.front()?;
        let receiver = self.actors.get(entry.to.index()).map_or(0, |slot| slot.state.identity);
        let signal = |content, receiver| {
            let after = self.turn.letters.as_ref().map_or(0, |letters| letters.receives);
            Some(Receive {
                message: entry.key,
                sender: 0,
                receiver,
                content,
                type_name: "",
                sent_in: 0,
                nth: 0,
                sent_after: after,
                settled: 0,
                answered_by: 0,
                ask: 0,
                order: Order::Unordered,
                system: self.turn.letters.as_ref().map_or(0, |letters| letters.system),
                spawned: None,
            })
        };
        match entry.kind {
            Kind::Messages => Some(self.letter(message, receiver, false)),
            Kind::Timer(..) if message.payload.is::<Cancelled>() => {
                signal(Content::Nothing, receiver)
            }
            Kind::Timer(..) => Some(self.letter(message, receiver, true)),
            Kind::Crash | Kind::SpentCrash => signal(Content::Crash, 0),
            Kind::Restart => signal(Content::Restart, receiver),
        }
    }

    /// A hash of which messages are older than which others that wait for the same actor, and which timers; 0 if
    /// messages are not observed. Of an actor with one link that has something its order says that.
    pub(crate) fn ages(&self) -> u64 {
        let Some(letters) = &self.turn.letters else { return 0 };
        let mut all = Vec::new();
        for (number, link) in self.links.iter().enumerate() {
            let kind = match link.kind {
                Kind::Messages => 0,
                Kind::Timer(..) => 1,
                Kind::Restart => 2,
                Kind::Crash | Kind::SpentCrash => continue,
            };
            for (place, message) in link.queue.iter().enumerate() {
                // As `delivery` has them: what was not sent is as old as the point at which it is asked for.
                let stamp = message.stamp.as_deref();
                let stamp = stamp.filter(|_| !message.payload.is::<Cancelled>());
                let age = stamp.map_or((letters.receives, 0), |of| (of.sent_after, of.nth));
                all.push((link.to.index(), kind, age, number, place));
            }
        }
        all.sort_unstable();
        let mut hash = 0;
        for actor in all.chunk_by(|one, other| one.0 == other.0) {
            let (.., first, _) = actor[0];
            if actor.iter().any(|(.., link, _)| *link != first) {
                for &(.., link, place) in actor {
                    hash = mix(hash ^ mix(self.links[link].key ^ place as u64));
                }
            }
        }
        hash
    }

    fn letter(&self, message: &Message, receiver: u64, is_timer: bool) -> Receive {
        let letter = message.stamp.as_deref().expect("a message has its identity from the start");
        self.receive(&Dispatch { letter: *letter, receiver, is_timer })
    }

    fn receive(&self, dispatch: &Dispatch) -> Receive {
        let &Dispatch { letter, receiver, is_timer } = dispatch;
        let Letter { identity, type_name, sent_in, nth, sent_after, settled, .. } = letter;
        let (sender, content, order) = if is_timer {
            (timer_of(letter.sender), Content::Timer, Order::Unordered)
        } else {
            let content = if letter.is_answer { Content::Answer } else { Content::Message };
            let order = match self.mailboxes {
                Mailboxes::Pairs => Order::Pairs,
                Mailboxes::Queue => Order::Queue,
                Mailboxes::Unordered => Order::Unordered,
            };
            (letter.sender, content, order)
        };
        let Letter { answered_by, ask, .. } = letter;
        Receive {
            message: identity,
            sender,
            receiver,
            content,
            type_name,
            sent_in,
            nth,
            sent_after,
            settled,
            answered_by,
            ask,
            order,
            system: self.turn.letters.as_ref().map_or(0, |letters| letters.system),
            spawned: None,
        }
    }

    /// A link is about to deliver.
    pub(super) fn begin_receive(&mut self, link: u32) {
        let Some(receive) = self.delivery(link) else { return };
        let stamp = self.links[link as usize].queue.front().and_then(|first| first.stamp.as_ref());
        self.current.from = stamp.map_or(Sender::Anybody, |letter| letter.from);
        self.current.receive = Some(receive);
        self.current.victim = None;
        if let Some(letters) = &mut self.turn.letters {
            letters.begin(receive.identity(), receive.content != Content::Nothing);
        }
    }

    /// What the last step received and did.
    pub(crate) fn effects(&self) -> Option<Effects> {
        let (letters, mut receive) = (self.turn.letters.as_ref()?, self.current.receive?);
        let Letters { did, .. } = &**letters;
        if let Some(victim) = self.current.victim {
            receive.receiver = self.actors[victim.index()].state.identity;
        }
        let reception = match (did.lost, did.dropped) {
            (true, _) => Reception::Lost,
            (false, true) => Reception::Dropped,
            (false, false) => Reception::Handled,
        };
        let created = did.created.iter();
        Some(Effects {
            receive,
            reception,
            by: receive.receiver,
            sent: did.sent.iter().map(|dispatch| self.receive(dispatch)).collect(),
            created: created.map(|&(actor, type_name)| NewActor { actor, type_name }).collect(),
            became: did.became,
            stopped: did.stopped,
            answered_test: did.answered_test,
        })
    }

    /// An actor by what it was when it was created: the same name whatever it has become.
    fn first_name(&self, actor: ActorId) -> String {
        let Some(slot) = self.actors.get(actor.index()) else { return String::new() };
        let types = self.turn.letters.as_ref().map_or(&[][..], |letters| &letters.first_types);
        let type_name = |id: ActorId| types.get(id.index()).copied().unwrap_or_default();
        step::display_name(actor, slot.name.as_deref(), type_name)
    }

    /// How a person calls what the last step received.
    pub(crate) fn receive_name(&self) -> ReceiveName {
        let entry = &self.links[self.current.link as usize];
        let sender = match (entry.kind, self.current.from) {
            (Kind::Timer(..), _) => "timer".to_owned(),
            (Kind::Crash | Kind::SpentCrash | Kind::Restart, _) => "fault".to_owned(),
            (Kind::Messages, Sender::Actor(actor)) => self.first_name(actor),
            (Kind::Messages, Sender::Outside(_) | Sender::Anybody) => "test".to_owned(),
        };
        let receiver = self.current.victim.unwrap_or(entry.to);
        let receiver = self.first_name(receiver);
        ReceiveName { receiver, sender, message: self.description.text.clone() }
    }
}
