//! Channels that end while they are used.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::mpsc;
use raddle::thread;

use crate::program::{Expected, Group, Program};

/// `channel-close`.
pub const CHANNEL_CLOSE: Program =
    Program::new("channel-close", Group::Bugs, "one sends if a flag says open; one closes")
        .plain(channel_close)
        .fails(Expected::Panic, |_| 1);

/// Between a look at the flag and the send the receiver may go.
pub fn channel_close() {
    let (sender, receiver) = mpsc::channel();
    let open = &AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            if open.load(SeqCst) {
                sender.send(1).expect("the channel is open");
            }
        });
        scope.spawn(move || {
            open.store(false, SeqCst);
            drop(receiver);
        });
    });
}

/// `channel-close-fixed`.
pub const CHANNEL_CLOSE_FIXED: Program = Program::new(
    "channel-close-fixed",
    Group::Bugs,
    "one sends, and takes back what was not taken",
)
.plain(channel_close_fixed);

/// [`channel_close`] without the flag: the channel knows best whether it is open, and every message
/// is received or comes back.
pub fn channel_close_fixed() {
    let (sender, receiver) = mpsc::channel();
    let handled = &AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            for message in 0..2 {
                if sender.send(message).is_err() {
                    handled.fetch_add(1, SeqCst);
                }
            }
        });
        scope.spawn(move || {
            receiver.recv().unwrap();
            handled.fetch_add(1, SeqCst);
        });
    });
    // The second message is in the channel when that closes, or comes back.
    assert!(matches!(handled.load(SeqCst), 1 | 2));
}
