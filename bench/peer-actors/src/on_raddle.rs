//! The programs with raddle's actors.

use std::sync::mpsc::Sender;

use raddle_actors::{Actor, Address, Context, Manager, System};

use crate::{CHUNK, Clock, MANY, PAIRS, Program, Run};

struct Player {
    peer: Option<Address<Play>>,
    done: Sender<()>,
}

#[derive(Debug)]
enum Play {
    Peer(Address<Play>),
    Ball(u64),
}

impl Actor for Player {
    type Message = Play;

    fn handle(&mut self, message: Play, cx: &mut Context<'_, Play>) {
        match message {
            Play::Peer(peer) => self.peer = Some(peer),
            Play::Ball(1) => self.done.send(()).expect("somebody waits"),
            Play::Ball(n) => {
                let peer = self.peer.as_ref().expect("it was told");
                cx.send(peer, Play::Ball(n - 1));
            }
        }
    }
}

struct Sink {
    left: u64,
    done: Sender<()>,
}

impl Actor for Sink {
    type Message = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, u64>) {
        self.left -= std::hint::black_box(n);
        if self.left == 0 {
            self.done.send(()).expect("somebody waits");
        }
    }
}

struct Source {
    to: Vec<Address<u64>>,
    chunk: u64,
}

impl Actor for Source {
    type Message = u64;

    fn handle(&mut self, left: u64, cx: &mut Context<'_, u64>) {
        for _ in 0..self.chunk {
            for to in &self.to {
                cx.send(to, 1);
            }
        }
        if left > self.chunk {
            let me = cx.me().clone();
            cx.send(&me, left - self.chunk);
        }
    }
}

pub(crate) fn run(run: Run) -> u128 {
    let system = System::builder().manager(Manager::Concurrent { threads: 0 }).build();
    let clock = Clock::new();
    let sink = |left| system.spawn(Sink { left, done: clock.done.clone() });
    match run.program {
        Program::PingPong => {
            let player = || system.spawn(Player { peer: None, done: clock.done.clone() });
            let players: Vec<_> = (0..PAIRS).map(|_| (player(), player())).collect();
            for (a, b) in &players {
                system.send(a, Play::Peer(b.clone()));
                system.send(b, Play::Peer(a.clone()));
            }
            system.handle_all();
            clock.measure(run, || {
                for (a, _) in &players {
                    system.send(a, Play::Ball(run.rounds));
                }
            })
        }
        Program::FanIn => {
            let to = vec![sink(run.messages())];
            let source = || system.spawn(Source { to: to.clone(), chunk: CHUNK });
            let sources: Vec<_> = (0..MANY).map(|_| source()).collect();
            clock.measure(run, || {
                for source in &sources {
                    system.send(source, run.rounds / CHUNK * CHUNK);
                }
            })
        }
        Program::FanOut => {
            let to: Vec<_> = (0..MANY).map(|_| sink(run.rounds)).collect();
            let source = system.spawn(Source { to, chunk: 1 });
            clock.measure(run, || system.send(&source, run.rounds))
        }
    }
}
