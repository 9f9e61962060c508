//! Identities of actors and messages that are the same in every execution, as Bita has them.
//!
//! An actor is (its type, the receive that created it, how many that one had created before), a message (its
//! type, the receive that sent it, how many that one had sent before), each as a hash. Of an enum the variant is
//! a part of the type, because a message of another variant would be one of another class in Akka. What a test
//! does outside of all receives counts as one receive, number 0; each further thread of it as one of its own.
//!
//! Kept only while messages are observed. The paths of actors and the keys of links are other
//! names of the same things, for what compares executions that share their beginning.

use std::any::type_name;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use crate::hash::{Fingerprint, mix};
use crate::mailboxes::Sender;

/// The type of a message, with its variant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageType {
    pub(crate) name: &'static str,
    hash: u64,
}

impl MessageType {
    pub(crate) fn of<N>(message: &N) -> Self {
        let name = type_name::<N>();
        let mut hasher = Fingerprint::new();
        name.hash(&mut hasher);
        // Of a type that is no enum this is always the same.
        discriminant(message).hash(&mut hasher);
        Self { name, hash: hasher.finish() }
    }
}

/// What tells one message from all others, in every execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    pub(crate) identity: u64,
    pub(crate) type_name: &'static str,
    pub(crate) sender: u64,
    pub(crate) from: Sender,
    /// The receive that sent it.
    pub(crate) sent_in: u64,
    pub(crate) nth: u32,
    /// How many receives there had been.
    pub(crate) sent_after: u32,
    /// How many of them the test has waited for.
    pub(crate) settled: u32,
    /// The receive that gave the test its last answer.
    pub(crate) answered_by: u64,
    /// The question that it is, or that it answers.
    pub(crate) ask: u64,
    pub(crate) is_answer: bool,
}

impl Letter {
    /// Of a copy that the network makes.
    pub(crate) fn duplicate(&self) -> Self {
        Self { identity: mix(self.identity ^ 0x17), ..*self }
    }
}

/// What the running step has done, or the last one did.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each may be with each")]
pub(crate) struct Did {
    pub(crate) sent: Vec<Dispatch>,
    pub(crate) created: Vec<(u64, &'static str)>,
    pub(crate) became: bool,
    pub(crate) stopped: bool,
    pub(crate) lost: bool,
    pub(crate) dropped: bool,
    pub(crate) answered_test: bool,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) letter: Letter,
    pub(crate) receiver: u64,
    pub(crate) is_timer: bool,
}

/// The test, or a thread of it.
#[derive(Clone, Copy, Debug)]
struct Outside {
    key: u64,
    sent: u32,
    created: u32,
    answered_by: u64,
}

/// The receive that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    receive: u64,
    /// What identities begin with: the receive, and outside of one also the system.
    seed: u64,
    sent: u32,
    created: u32,
    answered_by: u64,
}

/// Gives identities.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    running: Running,
    pub(crate) did: Did,
    /// How many receives there were.
    pub(crate) receives: u32,
    settled: u32,
    /// Which system of the execution it is.
    pub(crate) system: u32,
    outside: Vec<Outside>,
    /// What actors were when they were created, by number.
    pub(crate) first_types: Vec<&'static str>,
    /// The question that the next message is, or answers.
    ask: (u64, bool),
}

impl Letters {
    /// Of the system with this number.
    pub(crate) fn new(system: u32) -> Self {
        Self { system, ..Self::default() }
    }

    /// A receive begins, or a step that receives nothing.
    pub(crate) fn begin(&mut self, receive: u64, is_one: bool) {
        self.running = Running { receive, seed: receive, ..Running::default() };
        self.receives += u32::from(is_one);
        let Did { mut sent, mut created, .. } = std::mem::take(&mut self.did);
        sent.clear();
        created.clear();
        self.did = Did { sent, created, ..Did::default() };
    }

    /// The identity of the receive that runs.
    pub(crate) fn receive(&self) -> u64 {
        self.running.receive
    }

    /// The test does something, or the thread of it that has this key. The first is the entry point.
    pub(crate) fn enter(&mut self, key: u64) {
        let at = self.place(key);
        let Outside { sent, created, answered_by, .. } = self.outside[at];
        let receive = outside_identity(at, key);
        let seed = receive ^ mix(self.system.into());
        self.running = Running { receive, seed, sent, created, answered_by };
    }

    /// It has done it.
    pub(crate) fn leave(&mut self, key: u64) {
        let at = self.place(key);
        (self.outside[at].sent, self.outside[at].created) =
            (self.running.sent, self.running.created);
        self.did.sent.clear();
        self.did.created.clear();
    }

    /// The thread with this key has an answer, which this receive gave.
    pub(crate) fn answered(&mut self, key: u64, receive: u64) {
        let at = self.place(key);
        self.outside[at].answered_by = receive;
    }

    /// The test has waited until all was handled.
    pub(crate) fn settle(&mut self) {
        self.settled = self.receives;
    }

    fn place(&mut self, key: u64) -> usize {
        self.outside.iter().position(|outside| outside.key == key).unwrap_or_else(|| {
            self.outside.push(Outside { key, sent: 0, created: 0, answered_by: 0 });
            self.outside.len() - 1
        })
    }

    /// The sender of what the test sends, or the thread of it with this key.
    pub(crate) fn sender_outside(&mut self, key: u64) -> u64 {
        outside_identity(self.place(key), key)
    }

    /// The next message is a question. Returns which one.
    pub(crate) fn asks(&mut self) -> u64 {
        let ask = mix(self.running.seed ^ mix(u64::from(self.running.sent) ^ 29 << 40));
        self.ask = (ask, false);
        ask
    }

    /// The next message answers a question.
    pub(crate) fn answers(&mut self, ask: u64) {
        self.ask = (ask, ask != 0);
    }

    /// A message is sent by the receive that runs.
    pub(crate) fn stamp(&mut self, kind: MessageType, sender: u64, from: Sender) -> Letter {
        let Running { receive, seed, sent: nth, answered_by, .. } = self.running;
        self.running.sent += 1;
        let (ask, is_answer) = std::mem::take(&mut self.ask);
        Letter {
            identity: identity(kind.hash, seed, nth),
            type_name: kind.name,
            sender,
            from,
            sent_in: receive,
            nth,
            sent_after: self.receives,
            settled: self.settled,
            answered_by,
            ask,
            is_answer,
        }
    }

    /// The receive that runs creates an actor: the identity of that.
    pub(crate) fn create(&mut self, type_name: &'static str) -> u64 {
        let mut hasher = Fingerprint::new();
        type_name.hash(&mut hasher);
        let actor = identity(hasher.finish(), self.running.seed, self.running.created) | 1;
        self.running.created += 1;
        self.did.created.push((actor, type_name));
        self.first_types.push(type_name);
        actor
    }
}

fn outside_identity(place: usize, key: u64) -> u64 {
    if place == 0 { 0 } else { mix(key ^ 31 << 40) }
}

fn identity(type_hash: u64, seed: u64, nth: u32) -> u64 {
    mix(type_hash ^ mix(seed ^ mix(u64::from(nth) + 1)))
}

/// The artificial actor that sends what the timers of an actor bring.
pub(crate) fn timer_of(actor: u64) -> u64 {
    mix(actor ^ 37 << 40)
}
