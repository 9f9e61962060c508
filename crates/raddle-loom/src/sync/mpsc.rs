//! `loom::sync::mpsc`: channels whose messages must be received, or dropped with their receiver, before the execution ends.
//!
//! Besides what loom has there are std's bounded channels and iterators.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use raddle::sync::mpsc as controlled;
#[doc(no_inline)]
pub use raddle::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::leaks::{Kind, Listed};

/// A value on its way.
struct Message<T> {
    value: T,
    _listed: Listed,
}

impl<T> Message<T> {
    #[track_caller]
    fn new(value: T) -> Self {
        Self { value, _listed: Listed::new(Kind::Message, Location::caller()) }
    }

    fn open(self) -> T {
        self.value
    }
}

/// Like [`std::sync::mpsc::channel`].
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = controlled::channel();
    (Sender(sender), Receiver(receiver))
}

/// Like [`std::sync::mpsc::sync_channel`].
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (sender, receiver) = controlled::sync_channel(bound);
    (SyncSender(sender), Receiver(receiver))
}

/// Like [`std::sync::mpsc::Sender`].
pub struct Sender<T>(controlled::Sender<Message<T>>);

impl<T> Sender<T> {
    /// Sends a value.
    ///
    /// # Errors
    /// With the value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(Message::new(value)).map_err(|SendError(message)| SendError(message.open()))
    }
}

/// Like [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(controlled::SyncSender<Message<T>>);

impl<T> SyncSender<T> {
    /// Sends a value, when there is room.
    ///
    /// # Errors
    /// With the value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(Message::new(value)).map_err(|SendError(message)| SendError(message.open()))
    }

    /// Sends a value if there is room.
    ///
    /// # Errors
    /// With the value, if there is no room or the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(Message::new(value)).map_err(|error| match error {
            TrySendError::Full(message) => TrySendError::Full(message.open()),
            TrySendError::Disconnected(message) => TrySendError::Disconnected(message.open()),
        })
    }
}

/// Like [`std::sync::mpsc::Receiver`].
pub struct Receiver<T>(controlled::Receiver<Message<T>>);

impl<T> Receiver<T> {
    /// Waits for a value.
    ///
    /// # Errors
    /// If there is none and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.0.recv().map(Message::open)
    }

    /// Waits for a value, or for so long. With loom this cannot be called.
    ///
    /// # Errors
    /// If there is none in time, or none and all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.0.recv_timeout(timeout).map(Message::open)
    }

    /// A value, if there is one.
    ///
    /// # Errors
    /// If there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.0.try_recv().map(Message::open)
    }

    /// All values, until all senders are gone.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().map(Message::open)
    }

    /// The values that are there.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.try_iter().map(Message::open)
    }
}

/// The values of a channel, until all senders are gone.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

macro_rules! ends {
    ($($name:ident: $($clones:ident)?;)*) => {$(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        $(impl<T> $clones for $name<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        })?
    )*};
}

ends! {
    Sender: Clone;
    SyncSender: Clone;
    Receiver: ;
}
