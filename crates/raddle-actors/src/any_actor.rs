//! An actor without its type: what a system that runs one step after another keeps of it.

use std::any::Any;
use std::fmt::Debug;

use crate::actor::Behaviour;
use crate::address::Address;
use crate::context::{self, Context};
use crate::hash::Fingerprint;
use crate::turn::{Payload, Turn};

/// What a handler decided about its own actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) stops: bool,
    /// It has another behaviour from now on.
    pub(crate) becomes: bool,
}

/// An actor without its type.
pub(crate) trait AnyActor: Send {
    fn handle(&mut self, message: Payload, turn: &mut Turn) -> Flow;
    fn start(&mut self, turn: &mut Turn) -> Flow;
    /// What comes back after a crash.
    fn restart(&self) -> Option<Box<dyn AnyActor>>;
    fn state(&self) -> &dyn Any;
    fn type_name(&self) -> &'static str;
    fn show(&self, message: &Payload) -> String;
    fn copy(&self) -> Option<Box<dyn AnyActor>>;
    /// Feeds its state to the hasher. `false` if it cannot.
    fn hash(&self, hasher: &mut Fingerprint) -> bool;
    fn copy_message(&self, message: &Payload) -> Option<Payload>;
    /// Handles a copy of a message that others have too. `None` if it cannot be copied.
    #[cfg(feature = "check")]
    fn handle_copy(&mut self, message: &Payload, turn: &mut Turn) -> Option<Flow>;
    /// Feeds a message to the hasher. `false` if it cannot.
    fn hash_message(&self, message: &Payload, hasher: &mut Fingerprint) -> bool;
}

/// An actor and its address.
pub(crate) struct Typed<M> {
    pub(crate) address: Address<M>,
    pub(crate) behaviour: Box<dyn Behaviour<M>>,
}

impl<M: Debug + Send + 'static> Typed<M> {
    fn run(
        &mut self,
        turn: &mut Turn,
        code: impl FnOnce(&mut dyn Behaviour<M>, &mut Context<'_, M>),
    ) -> Flow {
        let mut cx = Context::new(&self.address, context::HandlerTurn::Serial(turn));
        code(&mut *self.behaviour, &mut cx);
        let (next, stops) = (cx.next.take(), cx.stops);
        let becomes = next.is_some();
        if let Some(next) = next {
            self.behaviour = next;
            turn.became = true;
        }
        Flow { stops, becomes }
    }

    fn message(message: &Payload) -> &M {
        message.downcast_ref().expect("an address is of its actor's messages")
    }
}

impl<M: Debug + Send + 'static> AnyActor for Typed<M> {
    fn handle(&mut self, message: Payload, turn: &mut Turn) -> Flow {
        let message = message.downcast::<M>().expect("an address is of its actor's messages");
        self.run(turn, |behaviour, cx| behaviour.handle(*message, cx))
    }

    fn start(&mut self, turn: &mut Turn) -> Flow {
        self.run(turn, |behaviour, cx| behaviour.start(cx))
    }

    fn restart(&self) -> Option<Box<dyn AnyActor>> {
        let behaviour = self.behaviour.restart()?;
        Some(Box::new(Self { address: self.address.clone(), behaviour }))
    }

    fn state(&self) -> &dyn Any {
        self.behaviour.as_any()
    }

    fn type_name(&self) -> &'static str {
        self.behaviour.type_name()
    }

    fn show(&self, message: &Payload) -> String {
        format!("{:?}", Self::message(message))
    }

    fn copy(&self) -> Option<Box<dyn AnyActor>> {
        let behaviour = self.behaviour.copy()?;
        Some(Box::new(Self { address: self.address.clone(), behaviour }))
    }

    fn hash(&self, hasher: &mut Fingerprint) -> bool {
        self.behaviour.hash(hasher)
    }

    fn copy_message(&self, message: &Payload) -> Option<Payload> {
        let messages = self.behaviour.messages()?;
        Some(Box::new((messages.copy)(Self::message(message))))
    }

    #[cfg(feature = "check")]
    fn handle_copy(&mut self, message: &Payload, turn: &mut Turn) -> Option<Flow> {
        let message = (self.behaviour.messages()?.copy)(Self::message(message));
        Some(self.run(turn, |behaviour, cx| behaviour.handle(message, cx)))
    }

    fn hash_message(&self, message: &Payload, hasher: &mut Fingerprint) -> bool {
        let Some(messages) = self.behaviour.messages() else { return false };
        (messages.hash)(Self::message(message), hasher);
        true
    }
}
