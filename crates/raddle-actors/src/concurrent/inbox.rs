//! Messages that wait for one actor, and who has to see to it that they are handled.
//!
//! An inbox is *claimed* while its actor is in a run queue, is run, or waits until it may go on.
//! The thread that puts something into an inbox that is not claimed claims it, and must schedule the actor.
//! The worker that runs the actor takes all messages at once; when there are none it gives up the claim, in
//! the same critical section in which it saw that there are none. So an actor is never scheduled
//! twice, and never left alone with messages.

use std::collections::VecDeque;

use super::sync::{Condvar, Mutex, PoisonError, lock};

/// A queue that had room for more messages than this is not used again.
const KEPT: usize = 1024;

/// What waits for an actor.
pub(crate) struct Inbox<M> {
    state: Mutex<State<M>>,
    room: Condvar,
    /// How many messages may be unhandled before senders from outside wait.
    capacity: Option<usize>,
}

struct State<M> {
    messages: VecDeque<M>,
    /// Timers that are due.
    due: VecDeque<u32>,
    /// Messages that were taken and are not handled. Kept only where there is a capacity.
    taken: usize,
    claimed: bool,
    /// The actor has stopped: nothing is taken in any more.
    closed: bool,
    /// Outsiders who wait for room.
    waiting: usize,
    /// Whether actors wait for room: see [`Backpressure`](super::backpressure::Backpressure).
    actors_wait: bool,
}

/// What follows for the sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// The actor has to be scheduled, by the caller.
    pub(crate) claimed: bool,
    /// There are more messages now than there should be.
    pub(crate) overfull: bool,
}

/// What follows for the worker that runs the actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// There is something to handle. If not, the claim is given up.
    pub(crate) more: bool,
    /// Actors that wait for room may go on.
    pub(crate) unjam: bool,
}

impl<M> Inbox<M> {
    /// An empty one, claimed by its maker. A capacity is at least 1.
    pub(crate) fn new(capacity: Option<usize>) -> Self {
        let state = State {
            messages: VecDeque::new(),
            due: VecDeque::new(),
            taken: 0,
            claimed: true,
            closed: false,
            waiting: 0,
            actors_wait: false,
        };
        let capacity = capacity.map(|messages| messages.max(1));
        Self { state: Mutex::new(state), room: Condvar::new(), capacity }
    }

    pub(crate) fn capacity(&self) -> Option<usize> {
        self.capacity
    }

    /// Puts a message in, full or not. Gives it back if the actor has stopped.
    pub(crate) fn push(&self, message: M) -> Result<Pushed, M> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(message);
        }
        Ok(state.push(message, self.capacity))
    }

    /// Puts a message in as soon as there is room.
    pub(crate) fn push_when_room(&self, message: M) -> Result<Pushed, M> {
        let mut state = lock(&self.state);
        let capacity = self.capacity.unwrap_or(usize::MAX);
        while !state.closed && state.unhandled() >= capacity {
            state.waiting += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        if state.closed {
            return Err(message);
        }
        Ok(state.push(message, self.capacity))
    }

    /// A timer is due. `true`: the actor has to be scheduled, by the caller.
    pub(crate) fn fire(&self, timer: u32) -> bool {
        let mut state = lock(&self.state);
        if state.closed {
            return false;
        }
        state.due.push_back(timer);
        !std::mem::replace(&mut state.claimed, true)
    }

    /// Takes everything. For the worker that has the claim, when all that was taken before is handled.
    pub(crate) fn take(&self, messages: &mut VecDeque<M>, due: &mut VecDeque<u32>) -> Taken {
        debug_assert!(messages.is_empty() && due.is_empty());
        if messages.capacity() > KEPT {
            // After a burst. Many messages were handled since, so this costs each of them little.
            *messages = VecDeque::new();
        }
        let mut state = lock(&self.state);
        debug_assert!(state.claimed);
        std::mem::swap(&mut state.messages, messages);
        std::mem::swap(&mut state.due, due);
        let more = !messages.is_empty() || !due.is_empty();
        state.claimed = more || state.closed;
        let unjam = self.capacity.is_some_and(|most| self.settle(&mut state, messages.len(), most));
        Taken { more, unjam }
    }

    /// So many of the messages that were taken are not handled yet. `true`: actors that wait for room
    /// may go on.
    pub(crate) fn handled(&self, left: usize) -> bool {
        self.capacity.is_some_and(|most| self.settle(&mut lock(&self.state), left, most))
    }

    /// Room is made known when half of it is free: those who wait then have something to do.
    fn settle(&self, state: &mut State<M>, left: usize, capacity: usize) -> bool {
        state.taken = left;
        if state.unhandled() > capacity / 2 {
            return false;
        }
        if state.waiting > 0 {
            self.room.notify_all();
        }
        std::mem::take(&mut state.actors_wait)
    }

    /// Notes that a sender waits for room. `false`: there is room.
    pub(crate) fn must_wait(&self) -> bool {
        let mut state = lock(&self.state);
        let full = self.capacity.is_some_and(|most| state.unhandled() > most) && !state.closed;
        state.actors_wait |= full;
        full
    }

    /// The actor has stopped. Returns what will not be handled; the caller lets go those who wait.
    pub(crate) fn close(&self) -> VecDeque<M> {
        let mut state = lock(&self.state);
        state.closed = true;
        state.claimed = true;
        state.due.clear();
        if state.waiting > 0 {
            self.room.notify_all();
        }
        std::mem::take(&mut state.messages)
    }
}

impl<M> State<M> {
    fn push(&mut self, message: M, capacity: Option<usize>) -> Pushed {
        self.messages.push_back(message);
        let claimed = !std::mem::replace(&mut self.claimed, true);
        Pushed { claimed, overfull: capacity.is_some_and(|most| self.unhandled() > most) }
    }

    fn unhandled(&self) -> usize {
        self.messages.len() + self.taken
    }
}
