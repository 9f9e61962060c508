//! The programs with kameo: with mailboxes without a bound, or with its default, which holds 64 messages
//! and lets senders wait.

use std::sync::mpsc::Sender;

use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::mailbox::{self, MailboxReceiver, MailboxSender};
use kameo::message::{Context, Message};

use crate::{CHUNK, Clock, MANY, PAIRS, Program, Run, threads};

/// Sends a message, as one does it with either kind of mailbox.
macro_rules! send {
    ($to:expr, $message:expr, $bounded:expr) => {
        if $bounded {
            let _ = $to.tell($message).await;
        } else {
            let _ = $to.tell($message).try_send();
        }
    };
}

#[derive(Actor)]
struct Player {
    peer: Option<ActorRef<Player>>,
    done: Sender<()>,
    bounded: bool,
}

enum Play {
    Peer(ActorRef<Player>),
    Ball(u64),
}

impl Message<Play> for Player {
    type Reply = ();

    async fn handle(&mut self, message: Play, _: &mut Context<Self, ()>) {
        match message {
            Play::Peer(peer) => self.peer = Some(peer),
            Play::Ball(1) => self.done.send(()).expect("somebody waits"),
            Play::Ball(n) => {
                let peer = self.peer.as_ref().expect("it was told");
                send!(peer, Play::Ball(n - 1), self.bounded);
            }
        }
    }
}

#[derive(Actor)]
struct Sink {
    left: u64,
    done: Sender<()>,
}

struct Count(u64);

impl Message<Count> for Sink {
    type Reply = ();

    async fn handle(&mut self, Count(n): Count, _: &mut Context<Self, ()>) {
        self.left -= std::hint::black_box(n);
        if self.left == 0 {
            self.done.send(()).expect("somebody waits");
        }
    }
}

#[derive(Actor)]
struct Source {
    to: Vec<ActorRef<Sink>>,
    chunk: u64,
    bounded: bool,
}

struct Go(u64);

impl Message<Go> for Source {
    type Reply = ();

    async fn handle(&mut self, Go(left): Go, cx: &mut Context<Self, ()>) {
        for _ in 0..self.chunk {
            for to in &self.to {
                send!(to, Count(1), self.bounded);
            }
        }
        if left > self.chunk {
            send!(cx.actor_ref(), Go(left - self.chunk), self.bounded);
        }
    }
}

fn mailbox<A: Actor>(bounded: bool) -> (MailboxSender<A>, MailboxReceiver<A>) {
    if bounded { mailbox::bounded(64) } else { mailbox::unbounded() }
}

pub(crate) fn run(run: Run, bounded: bool) -> u128 {
    let workers = threads();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(workers).enable_all().build().expect("a runtime");
    let _inside = runtime.enter();
    let clock = Clock::new();
    let done = clock.done.clone();
    let sink = |left| {
        let sink = Sink { left, done: done.clone() };
        Sink::spawn_with_mailbox(sink, mailbox(bounded))
    };
    match run.program {
        Program::PingPong => {
            let player = || {
                let player = Player { peer: None, done: done.clone(), bounded };
                Player::spawn_with_mailbox(player, mailbox(bounded))
            };
            let players: Vec<_> = (0..PAIRS).map(|_| (player(), player())).collect();
            for (a, b) in &players {
                runtime.block_on(async {
                    a.ask(Play::Peer(b.clone())).await.expect("it lives");
                    b.ask(Play::Peer(a.clone())).await.expect("it lives");
                });
            }
            clock.measure(run, || {
                for (a, _) in &players {
                    let _ = a.tell(Play::Ball(run.rounds)).try_send();
                }
            })
        }
        Program::FanIn => {
            let to = vec![sink(run.messages())];
            let sources: Vec<_> = (0..MANY)
                .map(|_| {
                    let source = Source { to: to.clone(), chunk: CHUNK, bounded };
                    Source::spawn_with_mailbox(source, mailbox(bounded))
                })
                .collect();
            runtime.block_on(async {
                for source in &sources {
                    source.wait_for_startup().await;
                }
            });
            clock.measure(run, || {
                for source in &sources {
                    let _ = source.tell(Go(run.rounds / CHUNK * CHUNK)).try_send();
                }
            })
        }
        Program::FanOut => {
            let to: Vec<_> = (0..MANY).map(|_| sink(run.rounds)).collect();
            let source = Source { to, chunk: 1, bounded };
            let source = Source::spawn_with_mailbox(source, mailbox(bounded));
            runtime.block_on(source.wait_for_startup());
            clock.measure(run, || {
                let _ = source.tell(Go(run.rounds)).try_send();
            })
        }
    }
}
