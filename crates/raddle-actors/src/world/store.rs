//! A world as the store of [`step`](crate::step).

use super::{Kind, Message, Slot, World};
use crate::address::ActorId;
use crate::any_actor::{AnyActor, Flow};
use crate::faults::{MessageFault, MessageFaults};
use crate::hash::mix;
use crate::letters::Dispatch;
use crate::mailboxes::{Mailboxes, Sender};
use crate::step::{ActorState, SetTimer, Site, Store, Taken, Timers};
use crate::things::ActorThings;
use crate::turn::{Payload, Stamp, Turn};
use std::panic::Location;

/// In place of the message of a timer that was cancelled.
pub(super) struct Cancelled;

impl Store for World {
    type Message = Message;
    /// A link.
    type Delivery = u32;

    fn mailboxes(&self) -> Mailboxes {
        self.mailboxes
    }

    fn timer_limit(&self) -> Option<u32> {
        self.faults.timers
    }

    fn message_faults(&mut self) -> &mut MessageFaults {
        &mut self.message_faults
    }

    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
    }

    fn actor_count(&self) -> u32 {
        self.actors.len() as u32
    }

    fn actor(&self, id: ActorId) -> &ActorState {
        &self.actors[id.index()].state
    }

    fn actor_mut(&mut self, id: ActorId) -> (&mut ActorState, &mut Turn) {
        (&mut self.actors[id.index()].state, &mut self.turn)
    }

    fn add_actor(&mut self, state: ActorState, name: Option<Box<str>>, site: Site) {
        self.turn.shared_resources |= self.observers.of_census();
        let things = ActorThings::new(state.path);
        self.actors.push(Slot { state, name, site, things, incoming: Vec::new() });
    }

    /// Leaves it to the end of the step to note whether the link is still ready.
    fn take(&mut self, link: u32) -> Taken<Message> {
        let entry = &mut self.links[link as usize];
        let (kind, from, to) = (entry.kind, entry.from, entry.to);
        let message = entry.queue.pop_front().expect("a link that is ready has a message");
        (self.current.sent_by, self.current.site) = (message.sent_by, message.site);
        match kind {
            Kind::Messages => Taken::Message { from, to, message },
            Kind::Timer(_, due) => {
                self.turn.shared_resources |= self.actors[to.index()].things.own;
                if message.payload.is::<Cancelled>() {
                    self.current.lapsed = true;
                    Taken::Cancelled { of: to }
                } else {
                    Taken::Timer { of: to, due, message }
                }
            }
            Kind::Crash => Taken::Crash,
            Kind::SpentCrash => unreachable!("a crash that has happened is not armed again"),
            Kind::Restart => Taken::Restart { of: to },
        }
    }

    fn copy_message(&self, to: ActorId, message: &Message) -> Message {
        let actor = &self.actors[to.index()].state.actor;
        let payload = actor.copy_message(&message.payload).unwrap_or_else(|| {
            panic!(
                "raddle: messages to {} cannot be duplicated, because they cannot be copied: write \
                 raddle_actors::snapshots!(); in its `impl Actor`",
                self.name(to)
            )
        });
        let Message { sent_by, site, .. } = *message;
        let stamp = message.stamp.as_ref().map(|letter| Box::new(letter.duplicate()));
        Message { payload, sent_by, site, stamp }
    }

    /// The copy of the message that is delivered. Its link is named after that one's, which does not hang on what its
    /// sender sends now, and it is there because of this step.
    fn enqueue(&mut self, from: Sender, to: ActorId, message: Message) {
        let key = mix(self.links[self.current.link as usize].key ^ 0xc);
        let link = self.add_link(from, to, Kind::Messages, key);
        self.push(link, Message { sent_by: self.current.number, ..message });
    }

    fn enqueue_first(&mut self, from: Sender, to: ActorId, message: Message) {
        let link = self.link(from, to);
        self.links[link as usize].queue.push_front(message);
    }

    fn send(&mut self, from: ActorId, to: ActorId, payload: Payload, stamp: Stamp, site: Site) {
        self.turn.shared_resources |= self.touched_mailbox(to);
        let message = Message { payload, sent_by: self.current.number, site, stamp };
        World::send(self, Sender::Actor(from), to, message);
    }

    fn set_timer(&mut self, of: ActorId, timer: SetTimer, payload: Payload, site: Site) {
        let SetTimer { timer, due, stamp } = timer;
        if let (Some(letters), Some(letter)) = (&mut self.turn.letters, &stamp) {
            let receiver = self.actors[of.index()].state.identity;
            letters.did.sent.push(Dispatch { letter: **letter, receiver, is_timer: true });
        }
        let key = mix(self.actors[of.index()].state.path ^ mix(u64::from(timer.0) ^ 17 << 40));
        let link = self.add_link(Sender::Actor(of), of, Kind::Timer(timer, due), key);
        self.push(link, Message { payload, sent_by: self.current.number, site, stamp });
    }

    /// A search that leaves out equivalent executions must hear that a timer could have fired: then it
    /// stays, and does nothing when its turn comes.
    fn cancel_timers(&mut self, of: ActorId, which: Timers) {
        let heard = self.is_heard();
        for link in 0..self.links.len() as u32 {
            let entry = &mut self.links[link as usize];
            let is_meant = |timer| which.include(timer);
            if entry.to != of || !entry.ready || !entry.kind.timer().is_some_and(is_meant) {
                continue;
            }
            self.turn.shared_resources |= self.actors[of.index()].things.own;
            if heard {
                for message in &mut entry.queue {
                    message.payload = Box::new(Cancelled);
                }
            } else {
                entry.queue.clear();
                self.update_ready(link);
            }
        }
    }

    fn answer(&mut self, answer: Box<dyn FnOnce() + Send>) {
        self.answers.push(answer);
    }

    #[cfg_attr(not(feature = "check"), expect(unused_variables, reason = "there is no search"))]
    fn no_fault_left(&mut self, fault: MessageFault) {
        #[cfg(feature = "check")]
        if self.faults.of_messages().include(fault)
            && matches!(self.turn.chooser, crate::turn::Chooser::Engine)
        {
            raddle_engine::rt::unasked();
        }
    }

    fn spend_crash(&mut self) {
        self.links[self.current.link as usize].kind = Kind::SpentCrash;
    }

    fn add_restart(&mut self, of: ActorId) {
        let key = mix(self.links[self.current.link as usize].key ^ 0xd);
        let restart = self.add_link(Sender::Anybody, of, Kind::Restart, key);
        self.push_signal(restart, Location::caller());
    }

    fn call(actor: &mut dyn AnyActor, message: Message, turn: &mut Turn) -> Flow {
        actor.handle(message.payload, turn)
    }

    fn describe(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.description.wanted {
            self.description.text = text(self);
        }
    }

    fn show(&self, to: ActorId, message: &Message) -> String {
        self.actors[to.index()].state.actor.show(&message.payload)
    }

    fn name(&self, actor: ActorId) -> String {
        World::name(self, actor)
    }
}
