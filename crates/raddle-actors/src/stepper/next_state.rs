//! A state that is being made by a step, as the store of [`step`]: it shares what has not
//! changed with the state before, and keeps its fingerprint.

use std::rc::Rc;

use super::Stepper;
use super::memo::{Handled, Remembered};
use crate::address::ActorId;
use crate::any_actor::{AnyActor, Flow};
use crate::context::Timer;
use crate::faults::MessageFaults;
use crate::mailboxes::{Mailboxes, Sender};
use crate::snapshot::{Happened, Move, Pending, SharedActor, SharedMessage, Snapshot};
use crate::step::{self, ActorState, SetTimer, Site, Store, Taken, Timers};
use crate::turn::{Payload, Stamp, Turn};

/// The state after a step, until that is done.
pub(super) struct NextState<'a> {
    stepper: &'a mut Stepper,
    state: &'a mut Snapshot,
    /// The actor that was copied, because the step changes it. There is at most one: a handler changes
    /// only its own, besides new ones.
    changed: Option<ActorId>,
    /// How old the message is that was taken.
    taken: u32,
}

impl<'a> NextState<'a> {
    /// `state` is as before the step.
    #[inline]
    pub(super) fn new(stepper: &'a mut Stepper, state: &'a mut Snapshot) -> Self {
        Self { stepper, state, changed: None, taken: 0 }
    }

    /// The step is done: keeps what it did, and the fingerprints of the actor that is changed and of
    /// those that are new, from the index `new` on.
    #[inline]
    pub(super) fn finish(self, new: usize) {
        let Self { stepper, state, changed, taken: _ } = self;
        if let Some(changed) = changed {
            stepper.rehash(state, changed.index());
            stepper.memo.keep(&state.actors[changed.index()]);
        }
        for new in new..state.actors.len() {
            stepper.rehash(state, new);
        }
    }

    /// An actor that is about to change.
    #[inline]
    fn own(&mut self, id: ActorId) -> &mut SharedActor {
        own(&mut self.state.actors, &mut self.changed, id)
    }

    /// Does what an actor did with a message before. `false` if that is not known.
    #[inline]
    fn recall(&mut self, to: ActorId, handled: &Handled) -> bool {
        let Some(Remembered { actor, sends, became }) = self.stepper.memo.get(handled) else {
            return false;
        };
        let state = &mut *self.state;
        let before = state.actors[to.index()].hash;
        state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(actor.hash);
        state.actors[to.index()] = Rc::clone(actor);
        for (receiver, message) in sends {
            let (from, message) = (Sender::Actor(to), Rc::clone(message));
            state.push(self.stepper.mailboxes, from, *receiver, message);
        }
        let became = became.then_some(Happened::Became);
        let sent = sends.iter().map(|(to, _)| Happened::Sent(*to));
        self.stepper.did.extend(became.into_iter().chain(sent));
        true
    }
}

/// An actor that is about to change: copied, unless it was in this step or is new.
#[inline]
fn own<'a>(
    actors: &'a mut [Rc<SharedActor>],
    changed: &mut Option<ActorId>,
    id: ActorId,
) -> &'a mut SharedActor {
    let shared = &mut actors[id.index()];
    if Rc::get_mut(shared).is_none() {
        *shared = Rc::new(shared.copy());
        *changed = Some(id);
    }
    Rc::get_mut(shared).expect("it was copied")
}

impl Store for NextState<'_> {
    type Message = Rc<SharedMessage>;
    type Delivery = Move;

    fn mailboxes(&self) -> Mailboxes {
        self.stepper.mailboxes
    }

    fn timer_limit(&self) -> Option<u32> {
        self.stepper.timer_limit
    }

    fn message_faults(&mut self) -> &mut MessageFaults {
        &mut self.state.message_faults
    }

    fn turn(&mut self) -> &mut Turn {
        &mut self.stepper.turn
    }

    fn actor_count(&self) -> u32 {
        self.state.actors.len() as u32
    }

    fn actor(&self, id: ActorId) -> &ActorState {
        &self.state.actors[id.index()].state
    }

    fn actor_mut(&mut self, id: ActorId) -> (&mut ActorState, &mut Turn) {
        let actor = own(&mut self.state.actors, &mut self.changed, id);
        (&mut actor.state, &mut self.stepper.turn)
    }

    fn add_actor(&mut self, actor: ActorState, name: Option<Box<str>>, _: Site) {
        // Numbers of actors must not differ between states that remember the same.
        self.stepper.memo.forget_step();
        self.stepper.did.push(Happened::Spawned(self.state.actors.len() as u32));
        self.state.actors.push(Rc::new(SharedActor::new(actor, name)));
    }

    #[inline]
    fn take(&mut self, next: Move) -> Taken<Rc<SharedMessage>> {
        match next {
            Move::Lane(at) => {
                let (from, to, (message, age)) =
                    self.state.pop(self.stepper.mailboxes, at as usize);
                self.taken = age;
                Taken::Message { from, to, message }
            }
            Move::Timer(of, at) => {
                let of = ActorId(of);
                let Pending { due, message, .. } = self.own(of).timers.remove(at as usize);
                Taken::Timer { of, due, message }
            }
            Move::Crash => {
                self.state.crashes -= 1;
                Taken::Crash
            }
            Move::Restart(of) => Taken::Restart { of: ActorId(of) },
        }
    }

    fn copy_message(&self, _: ActorId, message: &Rc<SharedMessage>) -> Rc<SharedMessage> {
        Rc::clone(message)
    }

    fn enqueue(&mut self, from: Sender, to: ActorId, message: Rc<SharedMessage>) {
        self.state.push(self.stepper.mailboxes, from, to.0, message);
    }

    fn enqueue_first(&mut self, from: Sender, to: ActorId, message: Rc<SharedMessage>) {
        self.state.push_first(self.stepper.mailboxes, from, to.0, (message, self.taken));
    }

    fn send(&mut self, from: ActorId, to: ActorId, payload: Payload, _: Stamp, _: Site) {
        let message = self.stepper.share(self.state, to, payload);
        self.stepper.did.push(Happened::Sent(to.0));
        self.stepper.memo.note_send(to.0, &message);
        self.enqueue(Sender::Actor(from), to, message);
    }

    fn set_timer(&mut self, of: ActorId, timer: SetTimer, payload: Payload, _: Site) {
        let SetTimer { timer, due, .. } = timer;
        let message = self.stepper.share(self.state, of, payload);
        self.own(of).timers.push(Pending { number: timer.0, due, message });
    }

    fn cancel_timers(&mut self, of: ActorId, which: Timers) {
        self.own(of).timers.retain(|pending| !which.include(Timer(pending.number)));
    }

    fn answer(&mut self, _: Box<dyn FnOnce() + Send>) {
        panic!(
            "raddle: a model has nobody outside who could be answered: use Context::ask, or \
             raddle::check"
        );
    }

    fn call(actor: &mut dyn AnyActor, message: Rc<SharedMessage>, turn: &mut Turn) -> Flow {
        // A message that cannot be copied was refused when it was sent.
        actor.handle_copy(&message.payload, turn).unwrap_or(Flow { stops: false, becomes: false })
    }

    #[inline]
    fn handle(&mut self, to: ActorId, message: Rc<SharedMessage>) {
        // Numbers of actors must not differ from state to state.
        if self.state.actors.len() != self.stepper.known {
            step::handle(self, to, message);
            self.stepper.note_flow();
            return;
        }
        let handled = (self.state.actors[to.index()].hash, message.hash);
        if self.recall(to, &handled) {
            return;
        }
        let asked = self.stepper.asked().len();
        step::handle(self, to, message);
        let ordered = self.stepper.note_flow();
        // What was decided or told besides is not the same in every state.
        if self.stepper.asked().len() == asked && !self.stepper.turn.told && !ordered {
            self.stepper.memo.note_handled(handled, self.stepper.turn.became);
        }
    }

    fn show(&self, to: ActorId, message: &Rc<SharedMessage>) -> String {
        self.state.actors[to.index()].state.actor.show(&message.payload)
    }

    fn name(&self, actor: ActorId) -> String {
        self.state.name(actor.0)
    }
}
