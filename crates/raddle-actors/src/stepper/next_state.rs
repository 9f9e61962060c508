//! A state that is being made by a step, as the store of [`step`](crate::step): it shares what has not
//! changed with the state before, and keeps its fingerprint.

use std::rc::Rc;
use std::time::Duration;

use super::Stepper;
use super::memo::{Handled, Remembered};
use crate::address::ActorId;
use crate::any_actor::{AnyActor, Flow};
use crate::context::Timer;
use crate::faults::MessageFaults;
use crate::mailboxes::{Mailboxes, Sender};
use crate::snapshot::{Move, Pending, SharedActor, SharedMessage, Snapshot};
use crate::step::{self, ActorState, Site, Store, Taken, Timers};
use crate::turn::{Payload, Turn};

/// The state after a step, until that is done.
pub(super) struct NextState<'a> {
    stepper: &'a mut Stepper,
    state: Snapshot,
    /// The actors before the step.
    known: usize,
    /// The one of them that was copied, because the step changes it.
    changed: Option<usize>,
    /// What this step handles, if it can be remembered.
    handled: Option<Handled>,
    /// What this step has sent, if it is to be remembered.
    sends: Vec<(u32, Rc<SharedMessage>)>,
}

impl<'a> NextState<'a> {
    #[inline]
    pub(super) fn new(stepper: &'a mut Stepper, from: &Snapshot) -> Self {
        let mut state = Snapshot {
            actors: Vec::with_capacity(from.actors.len()),
            lanes: Vec::with_capacity(from.lanes.len() + 4),
            monitors: Rc::clone(&from.monitors),
            ..*from
        };
        state.actors.extend_from_slice(&from.actors);
        state.lanes.extend_from_slice(&from.lanes);
        let (known, changed, handled, sends) = (state.actors.len(), None, None, Vec::new());
        Self { stepper, state, known, changed, handled, sends }
    }

    /// The state, with the fingerprints of actors that are changed or new.
    #[inline]
    pub(super) fn finish(self) -> Snapshot {
        let Self { stepper, mut state, known, changed, handled, sends } = self;
        if let Some(changed) = changed {
            stepper.rehash(&mut state, changed);
            if let Some(handled) = handled {
                let actor = Rc::clone(&state.actors[changed]);
                stepper.memo.insert(handled, Remembered { actor, sends: sends.into() });
            }
        }
        for new in known..state.actors.len() {
            stepper.rehash(&mut state, new);
        }
        state
    }

    /// An actor that is about to change: copied, unless it was in this step or is new.
    fn own(&mut self, id: ActorId) -> &mut SharedActor {
        let at = id.index();
        let shared = &mut self.state.actors[at];
        if Rc::get_mut(shared).is_none() {
            *shared = Rc::new(shared.copy());
            self.changed = Some(at);
        }
        Rc::get_mut(shared).expect("it was copied")
    }

    /// Does what an actor did with a message before. `false` if that is not known.
    fn recall(&mut self, to: ActorId, handled: &Handled) -> bool {
        let Some(Remembered { actor, sends }) = self.stepper.memo.get(handled) else {
            return false;
        };
        let state = &mut self.state;
        let before = state.actors[to.index()].hash;
        state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(actor.hash);
        state.actors[to.index()] = Rc::clone(actor);
        for (receiver, message) in sends {
            let (from, message) = (Sender::Actor(to), Rc::clone(message));
            state.push(self.stepper.mailboxes, from, *receiver, message);
        }
        self.stepper.sent_to.extend(sends.iter().map(|(to, _)| *to));
        true
    }
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
        self.own(id);
        let actor = Rc::get_mut(&mut self.state.actors[id.index()]).expect("it was copied");
        (&mut actor.state, &mut self.stepper.turn)
    }

    fn add_actor(&mut self, actor: ActorState, name: Option<Box<str>>, _: Site) {
        // Numbers of actors must not differ between states that remember the same.
        self.handled = None;
        self.state.actors.push(Rc::new(SharedActor::new(actor, name)));
    }

    fn take(&mut self, next: Move) -> Taken<Rc<SharedMessage>> {
        match next {
            Move::Lane(at) => {
                let (from, to, message) = self.state.pop(self.stepper.mailboxes, at as usize);
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
        self.state.push_first(self.stepper.mailboxes, from, to.0, message);
    }

    fn send(&mut self, from: ActorId, to: ActorId, payload: Payload, _: Site) {
        let message = self.stepper.share(&self.state, to, payload);
        self.stepper.sent_to.push(to.0);
        if self.handled.is_some() {
            self.sends.push((to.0, Rc::clone(&message)));
        }
        self.enqueue(Sender::Actor(from), to, message);
    }

    fn set_timer(&mut self, of: ActorId, timer: Timer, due: Duration, payload: Payload, _: Site) {
        let message = self.stepper.share(&self.state, of, payload);
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
        actor.handle_copy(&message.payload, turn).unwrap_or(Flow { stops: false })
    }

    fn handle(&mut self, to: ActorId, message: Rc<SharedMessage>) {
        // Numbers of actors must not differ from state to state.
        if self.state.actors.len() != self.stepper.known {
            return step::handle(self, to, message);
        }
        let handled = (self.state.actors[to.index()].hash, message.hash);
        if self.recall(to, &handled) {
            return;
        }
        let asked = self.stepper.asked().len();
        step::handle(self, to, message);
        // What was decided or told besides is not the same in every state.
        let same = self.stepper.asked().len() == asked && !self.stepper.turn.told;
        if same && !self.stepper.memo.is_full() {
            self.handled = Some(handled);
        }
    }

    fn show(&self, to: ActorId, message: &Rc<SharedMessage>) -> String {
        self.state.actors[to.index()].state.actor.show(&message.payload)
    }

    fn name(&self, actor: ActorId) -> String {
        self.state.name(actor.0)
    }
}
