//! Two actors that send each other messages and acknowledge them.

use raddle::actors::{Actor, Address, Context};

use super::{ETA, queues};
use crate::program::{Group, Program, parameter};

/// `pingpong`.
///
/// Interleavings: 2^(n+1), as published: 2,048 for 10 and 65,536 for 15. Each actor always has one
/// message in each round. Whichever is handled first (2 ways), what it sends waits behind the other
/// one, so that is next; then each actor has one message again. There are n + 1 rounds: the one of the
/// two inputs, and one for each of the n messages of a side.
///
/// Traces: 1. An actor sends to the other one only, so no two steps of different actors send to one
/// mailbox, and that is what independence is in the paper's definition 5.4. Under it any program of two
/// actors that do not write to themselves has one trace. The published 2^n with DPOR (1,024 and 32,768)
/// come out for this very program if a step also touches the mailbox that it takes its message from: the
/// two steps of a round then depend on each other in all rounds but the last, where nothing is sent.
pub const PINGPONG: Program = Program::new(
    "pingpong",
    Group::Actors,
    "two actors send each other n messages, each an acknowledgement",
)
.source(ETA)
.one(pingpong, &[parameter("n", 4, 1, 60)])
.interleavings(|n| 1_u64.checked_shl(n[0] as u32 + 1))
.traces(|_| Some(1));

#[derive(Clone, Debug, Hash)]
enum Message {
    /// The input: whom to play with.
    Begin(Address<Message>),
    /// The n-th message of one side; but for the first it acknowledges the one before.
    Ping { nth: usize, from: Address<Message> },
}

/// One side. It says nothing again before the other has answered.
#[derive(Clone, Debug, Hash)]
struct Player {
    messages: usize,
    heard: usize,
}

impl Actor for Player {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let (nth, to) = match message {
            Message::Begin(other) => (1, other),
            Message::Ping { nth, from } => {
                self.heard += 1;
                (nth + 1, from)
            }
        };
        if nth <= self.messages {
            let from = cx.me().clone();
            cx.send(&to, Message::Ping { nth, from });
        }
    }
}

/// Two balls between two players.
pub fn pingpong(n: usize) {
    let system = queues();
    let player = || Player { messages: n, heard: 0 };
    let first = system.spawn_named("ping", player());
    let second = system.spawn_named("pong", player());
    system.send(&first, Message::Begin(second.clone()));
    system.send(&second, Message::Begin(first.clone()));
    system.handle_all();
    for player in [&first, &second] {
        assert_eq!(system.inspect(player, |player: &Player| player.heard), n);
    }
}
