//! Messages in channels of threads: their identities, and who has received what. Kept only while messages are observed.

use std::panic::Location;

use raddle_trace::hash::mix;

use super::Execution;
use crate::op::TaskId;
use crate::receive::{
    Carried, Content, Effects, Letter, Order, Posting, Receive, ReceiveName, Reception, Spawned,
    identity,
};

/// What tells threads from actors and messages in an identity.
const THREAD: u64 = 41 << 40;
const EXIT: u64 = 43 << 40;

/// Receives on channels are those of one system, which has no number of an object.
const CHANNELS: u32 = u32::MAX;

/// The messages of one execution.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    letters: Vec<Posted>,
    /// By task.
    threads: Vec<Thread>,
    /// How many messages were received.
    receives: u32,
    /// The last step that sent or received one: its number, whose it was, and what it did.
    last: Option<(u64, TaskId, Carried)>,
}

/// A message that was sent, or is about to be.
#[derive(Clone, Copy, Debug)]
struct Posted {
    receive: Receive,
    sender: TaskId,
    channel: (Option<&'static str>, &'static Location<'static>),
    site: &'static Location<'static>,
}

/// What a thread is doing: the receive that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// Its own identity.
    identity: u64,
    /// The receive that caused what it does.
    cause: u64,
    /// What the identities of what it sends and makes begin with.
    seed: u64,
    sent: u32,
    made: u32,
    spawned: Option<Spawned>,
}

impl Messages {
    pub(super) fn begin(&mut self) {
        self.letters.clear();
        self.threads.clear();
        self.receives = 0;
        self.last = None;
    }

    /// A thread begins: spawned by another, or the test's first.
    pub(super) fn spawn(&mut self, parent: Option<TaskId>, child: TaskId) {
        let after = self.receives;
        let (mut cause, mut made_in, mut nth, mut spawned) = (0, 0, 0, None);
        if let Some(parent) = parent {
            let parent = self.thread(parent);
            (cause, made_in, nth) = (parent.cause, parent.seed, parent.made);
            parent.made += 1;
            spawned = Some(Spawned { by: parent.identity, after, nth: parent.sent });
        }
        let identity = identity(THREAD, made_in, nth) | 1;
        *self.thread(child) = Thread { identity, cause, seed: identity, sent: 0, made: 0, spawned };
    }

    /// A thread has waited for the end of another, in the step with this number. Of no concern before anything was sent.
    pub(super) fn join(
        &mut self,
        task: TaskId,
        ended: TaskId,
        step: u64,
        site: &'static Location<'static>,
    ) {
        if self.letters.is_empty() {
            return;
        }
        let Thread { identity: sender, cause, spawned, .. } = *self.thread(ended);
        let receive = Receive {
            message: mix(sender ^ EXIT),
            sender,
            receiver: identity(EXIT, sender, 0),
            content: Content::Exit,
            type_name: "exit",
            sent_in: cause,
            nth: u32::MAX,
            sent_after: self.receives,
            settled: 0,
            answered_by: 0,
            ask: 0,
            order: Order::Channel,
            system: CHANNELS,
            spawned,
        };
        self.letters.push(Posted { receive, sender: ended, channel: (Some("join"), site), site });
        let letter = Letter::new(self.letters.len() - 1);
        self.take(task, letter);
        self.last = Some((step, task, Carried::Receives(letter)));
    }

    /// A thread receives a message: what it does from now on, that receive does.
    fn take(&mut self, task: TaskId, letter: Letter) {
        self.receives += 1;
        let receive = self.receive(letter).identity();
        let thread = self.thread(task);
        *thread = Thread { cause: receive, seed: receive, sent: 0, made: 0, ..*thread };
    }

    fn thread(&mut self, task: TaskId) -> &mut Thread {
        if self.threads.len() <= task.index() {
            self.threads.resize(task.index() + 1, Thread::default());
        }
        &mut self.threads[task.index()]
    }

    /// A thread makes a channel for messages of a type: the identity of its receiving end.
    pub(crate) fn mailbox(&mut self, task: TaskId, type_hash: u64) -> u64 {
        let thread = self.thread(task);
        thread.made += 1;
        identity(mix(type_hash), thread.seed, thread.made - 1) | 1
    }

    /// A thread is about to send a message.
    pub(crate) fn stamp(&mut self, task: TaskId, posting: &Posting) -> Letter {
        let &Posting { receiver, name, created, type_name, type_hash, site } = posting;
        let thread = self.thread(task);
        let nth = thread.sent;
        thread.sent += 1;
        let &mut Thread { identity: sender, cause, seed, spawned, .. } = thread;
        let receive = Receive {
            message: identity(type_hash, seed, nth),
            sender,
            receiver,
            content: Content::Message,
            type_name,
            sent_in: cause,
            nth,
            sent_after: 0,
            settled: 0,
            answered_by: 0,
            ask: 0,
            order: Order::Channel,
            system: CHANNELS,
            spawned,
        };
        self.letters.push(Posted { receive, sender: task, channel: (name, created), site });
        Letter::new(self.letters.len() - 1)
    }

    pub(super) fn receive(&self, letter: Letter) -> Receive {
        self.letters[letter.index()].receive
    }

    /// What the step with this number, of this task, did with a message.
    pub(super) fn last(&self, step: u64, task: TaskId) -> Option<Carried> {
        let (number, by, carried) = self.last?;
        (number == step && by == task).then_some(carried)
    }

    pub(super) fn effects(&self, step: u64, task: TaskId) -> Option<Effects> {
        let Carried::Receives(letter) = self.last(step, task)? else { return None };
        Some(Effects {
            receive: self.receive(letter),
            reception: Reception::Handled,
            by: self.threads[task.index()].identity,
            sent: Vec::new(),
            created: Vec::new(),
            became: false,
            stopped: false,
            answered_test: false,
        })
    }
}

impl Execution {
    /// The next step, of this task, sends or receives a message.
    #[cold]
    pub(crate) fn carry(&mut self, task: TaskId, carried: Option<Carried>) {
        let (step, messages) = (self.n_steps + 1, &mut self.messages);
        match carried {
            Some(Carried::Sends(letter)) => {
                messages.letters[letter.index()].receive.sent_after = messages.receives;
            }
            Some(Carried::Receives(letter)) => {
                messages.take(task, letter);
            }
            None => {}
        }
        messages.last = carried.map(|carried| (step, task, carried));
    }

    /// How a person calls the message that the last step received, of this task.
    pub(super) fn receive_name(&self, task: TaskId) -> ReceiveName {
        let last = self.messages.last(self.n_steps, task);
        let Some(Carried::Receives(letter)) = last else { return ReceiveName::default() };
        let Posted { receive, sender, channel: (name, created), site } =
            self.messages.letters[letter.index()];
        let short = |site: &'static Location<'static>| {
            let file = site.file().rsplit(['/', '\\']).next().unwrap_or_default();
            format!("{file}:{}", site.line())
        };
        let receiver = name.map_or_else(|| format!("channel {}", short(created)), str::to_owned);
        let type_name = receive.type_name.split('<').next().unwrap_or_default();
        let type_name = type_name.rsplit("::").next().unwrap_or_default();
        let message = match receive.content {
            Content::Exit => "its end".to_owned(),
            _ => format!("{type_name} {} of {}", receive.nth + 1, short(site)),
        };
        ReceiveName { receiver, sender: self.label(sender), message }
    }
}
