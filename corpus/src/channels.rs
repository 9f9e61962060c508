//! Threads that talk over channels, for searches that go by the order of messages.
//!
//! What actors are in [`actors::systems`](crate::actors::systems) threads are here: a thread that receives from a channel
//! handles one message after another, and a bug is an order in which they should not come. Messages take ways of
//! different lengths, so that one order is rare among executions at random.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]

use raddle::Named as _;
use raddle::sync::mpsc::{self, Sender};
use raddle::thread;

use crate::program::{Expected, Group, Parameter, Program};

/// What the writer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// To write something.
    Write,
    /// That this was all.
    Flush,
}

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "writers", default: 2, least: 1, most: 4 },
    Parameter { name: "hops", default: 1, least: 0, most: 12 },
];

/// All programs: the one that is right, then its bug.
pub static PROGRAMS: &[Program] = &[CHANNEL_FLUSH_FIXED, CHANNEL_FLUSH];

/// `channel-flush`.
pub const CHANNEL_FLUSH: Program = Program::new(
    "channel-flush",
    Group::Applications,
    "threads write over a channel, a flush comes through relays",
)
.many(channel_flush, PARAMETERS)
.large(&[2, 8])
.bug(Expected::Panic, crate::actors::systems::ORDER);

/// `channel-flush-fixed`.
pub const CHANNEL_FLUSH_FIXED: Program = Program::new(
    "channel-flush-fixed",
    Group::Applications,
    "threads write over a channel, the flush is asked for when they have ended",
)
.many(channel_flush_fixed, PARAMETERS)
.large(&[2, 8]);

/// The flush is asked for while threads still write. It takes a longer way, so it seldom overtakes a write.
pub fn channel_flush(arguments: &[usize]) {
    flush(arguments, false);
}

/// [`channel_flush`], but the flush is asked for when the threads that write have ended.
pub fn channel_flush_fixed(arguments: &[usize]) {
    flush(arguments, true);
}

fn flush(arguments: &[usize], waits: bool) {
    let (writers, hops) = (arguments[0], arguments[1]);
    let (to_writer, told) = mpsc::channel().named("writer");
    let write = |to_writer: Sender<Told>| move || to_writer.send(Told::Write).unwrap();
    let threads: Vec<_> = (0..writers).map(|_| thread::spawn(write(to_writer.clone()))).collect();
    let way = (0..hops).fold(to_writer, |next, _| {
        let (to_relay, from) = mpsc::channel();
        thread::spawn(move || next.send(from.recv().unwrap()).unwrap());
        to_relay
    });
    if waits {
        for thread in threads {
            thread.join().unwrap();
        }
    }
    way.send(Told::Flush).unwrap();
    drop(way);
    let mut is_open = true;
    for told in told {
        match told {
            Told::Write => assert!(is_open, "written after the flush"),
            Told::Flush => is_open = false,
        }
    }
}
