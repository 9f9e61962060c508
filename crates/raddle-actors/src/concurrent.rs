//! The concurrent manager: actors on threads, for production.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::Duration;

use crate::actor::Behaviour;
use crate::address::Address;
use crate::context::Timer;

/// Where an actor's messages wait.
pub(crate) struct Mailbox<M> {
    never: Infallible,
    messages: PhantomData<fn(M)>,
}

impl<M> Mailbox<M> {
    pub(crate) fn push(&self, _message: M) {
        match self.never {}
    }
}

/// One handler's turn.
pub(crate) struct Turn {
    never: Infallible,
}

impl Turn {
    pub(crate) fn spawn<M>(&mut self, _behaviour: Box<dyn Behaviour<M>>) -> Address<M> {
        match self.never {}
    }

    pub(crate) fn set_timer<M>(
        &mut self,
        _me: &Address<M>,
        _after: Duration,
        _message: M,
    ) -> Timer {
        match self.never {}
    }

    pub(crate) fn cancel(&mut self, _timer: Timer) {
        match self.never {}
    }

    pub(crate) fn now(&self) -> Duration {
        match self.never {}
    }

    pub(crate) fn choose(&mut self, _of: u32) -> u32 {
        match self.never {}
    }
}

/// The threads of a system.
#[derive(Clone)]
pub(crate) struct Pool {
    never: Infallible,
}

impl Pool {
    pub(crate) fn new(_threads: usize, _capacity: Option<usize>) -> Self {
        unimplemented!()
    }

    pub(crate) fn spawn<A: crate::Actor>(&self, _actor: A) -> Address<A::Message> {
        match self.never {}
    }

    pub(crate) fn send<M>(&self, _to: &std::sync::Arc<Mailbox<M>>, _message: M) {
        match self.never {}
    }

    pub(crate) fn wait_idle(&self) {
        match self.never {}
    }

    pub(crate) fn inspect<A: crate::Actor, T>(
        &self,
        _address: &Address<A::Message>,
        _look: impl FnOnce(&A) -> T,
    ) -> T {
        match self.never {}
    }
}
