//! Answers to questions.

use std::any::TypeId;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

use crate::address::Address;
use crate::context::HandlerTurn;

/// Through this the asked actor answers: [`Context::reply`](crate::Context::reply).
pub struct Reply<T> {
    to: Arc<dyn Asker<T>>,
}

/// What waits for an answer.
pub(crate) trait Asker<T>: Send + Sync {
    fn answer(&self, answer: T, turn: &mut HandlerTurn<'_>, site: &'static Location<'static>);
    /// Who it is, for comparison.
    fn key(&self, hasher: &mut dyn Hasher);
}

impl<T> Reply<T> {
    pub(crate) fn new(asker: impl Asker<T> + 'static) -> Self {
        Self { to: Arc::new(asker) }
    }

    pub(crate) fn answer(
        &self,
        answer: T,
        turn: &mut HandlerTurn<'_>,
        site: &'static Location<'static>,
    ) {
        self.to.answer(answer, turn, site);
    }
}

impl<T> Clone for Reply<T> {
    fn clone(&self) -> Self {
        Self { to: Arc::clone(&self.to) }
    }
}

impl<T> Hash for Reply<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to.key(state);
    }
}

impl<T> PartialEq for Reply<T> {
    fn eq(&self, other: &Self) -> bool {
        let key = |reply: &Self| {
            let mut hasher = std::hash::DefaultHasher::new();
            reply.to.key(&mut hasher);
            hasher.finish()
        };
        key(self) == key(other)
    }
}

impl<T> Eq for Reply<T> {}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reply")
    }
}

/// An actor that gets the answer as one of its messages.
pub(crate) struct ToActor<M, T> {
    pub(crate) to: Address<M>,
    pub(crate) wrap: fn(T) -> M,
    /// Which question it was, if messages are observed. No part of who asked.
    pub(crate) ask: u64,
}

impl<M: fmt::Debug + Send + 'static, T: 'static> Asker<T> for ToActor<M, T> {
    fn answer(&self, answer: T, turn: &mut HandlerTurn<'_>, site: &'static Location<'static>) {
        let message = (self.wrap)(answer);
        if let HandlerTurn::Serial(turn) = turn {
            turn.answers(self.ask);
        }
        turn.send(&self.to, message, site);
    }

    fn key(&self, mut hasher: &mut dyn Hasher) {
        self.to.hash(&mut hasher);
        // The same function may have several addresses: then equal states are taken for different
        // ones, and never the other way round but for functions that do the same.
        (self.wrap as usize).hash(&mut hasher);
        TypeId::of::<T>().hash(&mut hasher);
    }
}
