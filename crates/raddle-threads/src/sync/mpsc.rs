//! `std::sync::mpsc`: channels with one receiver.
//!
//! A channel is a model (who may send or receive, and in which order) and the values beside it,
//! since models know no types. A value is put aside under a ticket before its send is announced,
//! and the model moves tickets: a receiver that is told one always finds the value there, also
//! outside an execution where threads run in parallel, and a send that fails takes its own back.
//!
//! Every drop of a sender is a step, not only the last one. How many there are cannot be seen, but
//! the order of the drops decides which of them disconnects, and that one can be late: if drops
//! before the last happened together with the step before them, "B is about to drop while A drops
//! and goes on" would be missed. A clone is no step: its maker has a sender, so until the clone is
//! made no drop can be the last, and whether it is made before or after another drop makes no difference.
//!
//! To strategies that go by messages a receive here is what it is of an actor, see [`raddle_engine::receive`]: the
//! receiver is the channel's receiving end, and a message has its letter from before its send is announced. A
//! channel that was made outside of an execution has none.

mod meeting;
mod queue;
mod values;

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

use raddle_engine::receive::{Letter, Posting, type_hash};
use raddle_engine::rt;
use raddle_trace::hash::fnv1a;

use self::meeting::{Meeting, MeetingOp};
use self::queue::{Queue, QueueOp};
use self::values::{Parcel, Values};
use crate::Named;
use crate::prelude::*;

/// What came of an op on a channel.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// The value was sent, or an end was dropped.
    Done,
    /// This value was received.
    Got(Parcel),
    /// No room, or no receiver that waits for a value.
    Full,
    Empty,
    Disconnected,
    /// It is known to the other side now, and has to wait for it.
    Waits,
    /// The receiver is gone, and these values with it.
    Left(Vec<Parcel>),
}

/// What the ends of a channel release when they are dropped, under which keys. Values have others.
mod ends {
    pub(super) const SENDER: u32 = u32::MAX;
    pub(super) const RECEIVER: u32 = u32::MAX - 1;
}

/// The text of an op with its reply.
fn show(name: &str, reply: Option<&Reply>) -> String {
    let told = match reply {
        None | Some(Reply::Left(_)) => return name.to_owned(),
        Some(Reply::Waits) => return format!("{name} waits"),
        Some(Reply::Done | Reply::Got(_)) => "Ok",
        Some(Reply::Full) => "Full",
        Some(Reply::Empty) => "Empty",
        Some(Reply::Disconnected) => "Disconnected",
    };
    format!("{name} -> {told}")
}

/// How many senders a channel has. Beside the model because a clone is no step; the model counts
/// down.
type Senders = Arc<AtomicUsize>;

/// With room or without.
#[derive(Debug)]
enum Kind {
    Queue(Object<Queue>),
    Meeting(Object<Meeting>),
}

/// What both ends share.
struct Channel<T> {
    model: Kind,
    senders: Senders,
    values: Values<T>,
    /// What the receiving end is in every execution, if it was made while messages are observed; else 0.
    identity: u64,
}

impl<T> Channel<T> {
    /// With room for `bound` values; without a bound if there is none.
    #[track_caller]
    fn new(bound: Option<usize>) -> Self {
        let senders = Arc::new(AtomicUsize::new(1));
        let model = match bound {
            Some(0) => Kind::Meeting(Object::new(Meeting::new(Arc::clone(&senders)))),
            _ => Kind::Queue(Object::new(Queue::new(bound, Arc::clone(&senders)))),
        };
        let identity = rt::mailbox(fnv1a(type_name::<T>().as_bytes()));
        Self { model, senders, values: Values::new(), identity }
    }

    /// What a value is that is about to be sent, to those who observe messages.
    #[track_caller]
    fn stamp(&self, value: &T) -> Letter {
        if self.identity == 0 || !rt::messages_are_observed() {
            return Letter::NONE;
        }
        let (name, created) = match &self.model {
            Kind::Queue(queue) => (queue.name(), queue.created()),
            Kind::Meeting(meeting) => (meeting.name(), meeting.created()),
        };
        rt::stamp(&Posting {
            receiver: self.identity,
            name,
            created,
            type_name: type_name::<T>(),
            type_hash: type_hash(value),
            site: Location::caller(),
        })
    }

    fn set_name(&mut self, name: &'static str) {
        match &mut self.model {
            Kind::Queue(queue) => queue.set_name(name),
            Kind::Meeting(meeting) => meeting.set_name(name),
        }
    }

    #[track_caller]
    fn send(&self, value: T) -> Result<(), SendError<T>> {
        let letter = self.stamp(&value);
        let aside = self.values.put(value);
        let parcel = Parcel { ticket: aside.ticket(), letter };
        let reply = match &self.model {
            Kind::Queue(queue) => queue.step(QueueOp::Send(parcel)),
            Kind::Meeting(meeting) => match meeting.step(MeetingOp::Send(parcel)) {
                // The receiver that takes the value, or leaves, has decided what comes of it, and no
                // task sees the sender go on: no scheduling point.
                Reply::Waits => meeting.wait(MeetingOp::Sent),
                reply => reply,
            },
        };
        if reply == Reply::Disconnected {
            return Err(SendError(aside.take_back()));
        }
        aside.leave();
        Ok(())
    }

    #[track_caller]
    fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let letter = self.stamp(&value);
        let aside = self.values.put(value);
        let parcel = Parcel { ticket: aside.ticket(), letter };
        let reply = match &self.model {
            Kind::Queue(queue) => queue.step(QueueOp::TrySend(parcel)),
            Kind::Meeting(meeting) => meeting.step(MeetingOp::TrySend(parcel)),
        };
        match reply {
            Reply::Disconnected => Err(TrySendError::Disconnected(aside.take_back())),
            Reply::Full => Err(TrySendError::Full(aside.take_back())),
            _ => {
                aside.leave();
                Ok(())
            }
        }
    }

    #[track_caller]
    fn recv(&self) -> Result<T, RecvError> {
        let reply = match &self.model {
            Kind::Queue(queue) => queue.step(QueueOp::Recv),
            Kind::Meeting(meeting) => match meeting.step(MeetingOp::Recv) {
                // As in `send`: the meeting is decided by who comes second.
                Reply::Waits => meeting.wait(MeetingOp::Received),
                reply => reply,
            },
        };
        self.got(&reply).ok_or(RecvError)
    }

    #[track_caller]
    fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let reply = match &self.model {
            Kind::Queue(queue) => queue.step_timeout(QueueOp::Recv, timeout),
            Kind::Meeting(meeting) => match meeting.step(MeetingOp::Recv) {
                Reply::Waits => meeting.step_timeout(MeetingOp::Received, timeout),
                reply => Some(reply),
            },
        };
        let Some(reply) = reply else { return Err(RecvTimeoutError::Timeout) };
        self.got(&reply).ok_or(RecvTimeoutError::Disconnected)
    }

    #[track_caller]
    fn try_recv(&self) -> Result<T, TryRecvError> {
        let reply = match &self.model {
            Kind::Queue(queue) => queue.step(QueueOp::TryRecv),
            Kind::Meeting(meeting) => meeting.step(MeetingOp::TryRecv),
        };
        match reply {
            Reply::Empty => Err(TryRecvError::Empty),
            reply => self.got(&reply).ok_or(TryRecvError::Disconnected),
        }
    }

    /// The value that was received, if any. A ticket without its value is one of a sender that
    /// was unwound with its execution: as good as gone.
    fn got(&self, reply: &Reply) -> Option<T> {
        let Reply::Got(parcel) = reply else { return None };
        self.values.take(parcel.ticket)
    }

    fn drop_sender(&self) {
        match &self.model {
            Kind::Queue(queue) => queue.step_at(QueueOp::DropSender, queue.created()),
            Kind::Meeting(meeting) => meeting.step_at(MeetingOp::DropSender, meeting.created()),
        };
    }

    fn drop_receiver(&self) {
        let reply = match &self.model {
            Kind::Queue(queue) => queue.step_at(QueueOp::DropReceiver, queue.created()),
            Kind::Meeting(meeting) => meeting.step_at(MeetingOp::DropReceiver, meeting.created()),
        };
        if let Reply::Left(parcels) = reply {
            for parcel in parcels {
                drop(self.values.take(parcel.ticket));
            }
        }
    }
}

/// Like [`std::sync::mpsc::channel`].
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(None));
    (Sender { channel: Arc::clone(&channel) }, Receiver { channel, not_sync: PhantomData })
}

/// Like [`std::sync::mpsc::sync_channel`]. With a bound of 0 each send meets a receive.
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(Some(bound)));
    (SyncSender { channel: Arc::clone(&channel) }, Receiver { channel, not_sync: PhantomData })
}

/// Like [`std::sync::mpsc::Sender`].
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

/// Like [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T> {
    channel: Arc<Channel<T>>,
}

/// Like [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    not_sync: PhantomData<Cell<()>>,
}

impl<T> Sender<T> {
    /// Sends a value. Never waits.
    ///
    /// # Errors
    /// The value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.channel.send(value)
    }
}

impl<T> SyncSender<T> {
    /// Waits until there is room (with a bound of 0: until the value is received), and sends.
    ///
    /// # Errors
    /// The value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.channel.send(value)
    }

    /// Sends if there is room; with a bound of 0, if a receiver waits.
    ///
    /// # Errors
    /// The value, if there is no room or the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send(value)
    }
}

/// What both kinds of sender have.
macro_rules! sender {
    ($name:ident) => {
        impl<T> Clone for $name<T> {
            // No step: see the head of the file.
            fn clone(&self) -> Self {
                self.channel.senders.fetch_add(1, Ordering::Relaxed);
                Self { channel: Arc::clone(&self.channel) }
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                self.channel.drop_sender();
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl<T> UnwindSafe for $name<T> {}
        impl<T> RefUnwindSafe for $name<T> {}

        impl<T> Named for ($name<T>, Receiver<T>) {
            /// Both ends of a new channel, which has the name.
            ///
            /// # Panics
            /// If a sender has been cloned already.
            fn named(mut self, name: &'static str) -> Self {
                // For a moment the sender has another channel, so that the receiver's is its own.
                self.0.channel = Arc::new(Channel::new(None));
                let own = Arc::get_mut(&mut self.1.channel).expect("a channel is named when new");
                own.set_name(name);
                self.0.channel = Arc::clone(&self.1.channel);
                self
            }
        }
    };
}

sender!(Sender);
sender!(SyncSender);

impl<T> Receiver<T> {
    /// Waits for a value.
    ///
    /// # Errors
    /// If none is left and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.channel.recv()
    }

    /// Takes a value if there is one; with a bound of 0, if a sender waits.
    ///
    /// # Errors
    /// If there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel.try_recv()
    }

    /// Waits for a value or for the timeout.
    ///
    /// # Errors
    /// If the timeout came first, or none is left and all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.channel.recv_timeout(timeout)
    }

    /// Waits for one value after another, until all senders are gone.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// Takes the values that are there, without waiting.
    #[must_use]
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.drop_receiver();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

// The field of an iterator is printed, and called as in std.

/// Like [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Like [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Like [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}
