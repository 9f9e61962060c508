//! The values of a channel, each under a ticket.

use std::sync::{Mutex, MutexGuard, PoisonError};

use raddle_engine::receive::Letter;

/// Stands for a value in a model. Given again once the value has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(pub(super) u32);

/// A value as a model moves it, with the identity of the message that it is, if messages are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parcel {
    pub(super) ticket: Ticket,
    pub(super) letter: Letter,
}

impl Parcel {
    /// The value stays in its channel while another execution begins, where it is none of the messages.
    pub(super) fn forget(&mut self) {
        self.letter = Letter::NONE;
    }
}

/// Values that wait to be sent or received.
pub(super) struct Values<T>(Mutex<Slots<T>>);

struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<Ticket>,
}

impl<T> Values<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Slots { slots: Vec::new(), free: Vec::new() }))
    }

    /// Puts a value aside, until it is sent or taken back.
    pub(super) fn put(&self, value: T) -> Aside<'_, T> {
        let mut slots = self.slots();
        let ticket = slots.free.pop().unwrap_or(Ticket(slots.slots.len() as u32));
        match slots.slots.get_mut(ticket.0 as usize) {
            Some(slot) => *slot = Some(value),
            None => slots.slots.push(Some(value)),
        }
        Aside { values: self, ticket: Some(ticket) }
    }

    pub(super) fn take(&self, ticket: Ticket) -> Option<T> {
        let mut slots = self.slots();
        let value = slots.slots.get_mut(ticket.0 as usize)?.take()?;
        slots.free.push(ticket);
        Some(value)
    }

    /// No user code runs under this lock, and no switch happens: never contended inside an
    /// execution.
    fn slots(&self) -> MutexGuard<'_, Slots<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that its sender still owns: dropped with this if the sender is unwound.
pub(super) struct Aside<'a, T> {
    values: &'a Values<T>,
    /// None once it has been sent or taken back.
    ticket: Option<Ticket>,
}

impl<T> Aside<'_, T> {
    pub(super) fn ticket(&self) -> Ticket {
        self.ticket.expect("only `leave` and `take_back` give it up")
    }

    /// The value belongs to the channel now.
    pub(super) fn leave(mut self) {
        self.ticket = None;
    }

    pub(super) fn take_back(mut self) -> T {
        let ticket = self.ticket.take();
        let value = ticket.and_then(|ticket| self.values.take(ticket));
        value.expect("a value that was not sent is still there")
    }
}

impl<T> Drop for Aside<'_, T> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            drop(self.values.take(ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_given_again_once_its_value_is_taken() {
        let values = Values::new();
        let (a, b) = (values.put('a'), values.put('b'));
        let (first, second) = (a.ticket(), b.ticket());
        assert_ne!(first, second);
        a.leave();
        assert_eq!(values.take(first), Some('a'));
        assert_eq!(values.take(first), None);
        let c = values.put('c');
        assert_eq!(c.ticket(), first);
        assert_eq!(b.take_back(), 'b');
        assert_eq!(c.take_back(), 'c');
    }

    #[test]
    fn what_is_not_sent_goes_with_its_sender() {
        let values = Values::new();
        let ticket = values.put(1).ticket();
        assert_eq!(values.take(ticket), None);
    }
}
