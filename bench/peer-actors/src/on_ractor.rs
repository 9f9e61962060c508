//! The programs with ractor.

use std::sync::mpsc::Sender;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::{CHUNK, Clock, MANY, PAIRS, Program, Run, threads};

struct Player;

enum Play {
    Peer(ActorRef<Play>),
    Ball(u64),
}

struct Playing {
    peer: Option<ActorRef<Play>>,
    done: Sender<()>,
}

impl Actor for Player {
    type Msg = Play;
    type State = Playing;
    type Arguments = Sender<()>;

    async fn pre_start(
        &self,
        _: ActorRef<Play>,
        done: Sender<()>,
    ) -> Result<Playing, ActorProcessingErr> {
        Ok(Playing { peer: None, done })
    }

    async fn handle(
        &self,
        _: ActorRef<Play>,
        message: Play,
        state: &mut Playing,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Play::Peer(peer) => state.peer = Some(peer),
            Play::Ball(1) => state.done.send(())?,
            Play::Ball(n) => {
                let peer = state.peer.as_ref().expect("it was told");
                let _ = peer.send_message(Play::Ball(n - 1));
            }
        }
        Ok(())
    }
}

struct Sink;

impl Actor for Sink {
    type Msg = u64;
    type State = (u64, Sender<()>);
    type Arguments = (u64, Sender<()>);

    async fn pre_start(
        &self,
        _: ActorRef<u64>,
        state: (u64, Sender<()>),
    ) -> Result<(u64, Sender<()>), ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<u64>,
        n: u64,
        (left, done): &mut (u64, Sender<()>),
    ) -> Result<(), ActorProcessingErr> {
        *left -= std::hint::black_box(n);
        if *left == 0 {
            done.send(())?;
        }
        Ok(())
    }
}

struct Source;

impl Actor for Source {
    type Msg = u64;
    type State = (Vec<ActorRef<u64>>, u64);
    type Arguments = (Vec<ActorRef<u64>>, u64);

    async fn pre_start(
        &self,
        _: ActorRef<u64>,
        state: (Vec<ActorRef<u64>>, u64),
    ) -> Result<(Vec<ActorRef<u64>>, u64), ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        me: ActorRef<u64>,
        left: u64,
        (to, chunk): &mut (Vec<ActorRef<u64>>, u64),
    ) -> Result<(), ActorProcessingErr> {
        for _ in 0..*chunk {
            for to in &*to {
                let _ = to.send_message(1);
            }
        }
        if left > *chunk {
            let _ = me.send_message(left - *chunk);
        }
        Ok(())
    }
}

pub(crate) fn run(run: Run) -> u128 {
    let workers = threads();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(workers).enable_all().build().expect("a runtime");
    let clock = Clock::new();
    let done = clock.done.clone();
    let sink = |left| {
        let sink = Actor::spawn(None, Sink, (left, done.clone()));
        runtime.block_on(sink).expect("it starts").0
    };
    match run.program {
        Program::PingPong => {
            let player = || {
                let player = Actor::spawn(None, Player, done.clone());
                runtime.block_on(player).expect("it starts").0
            };
            let players: Vec<_> = (0..PAIRS).map(|_| (player(), player())).collect();
            for (a, b) in &players {
                let _ = a.send_message(Play::Peer(b.clone()));
                let _ = b.send_message(Play::Peer(a.clone()));
            }
            clock.measure(run, || {
                for (a, _) in &players {
                    let _ = a.send_message(Play::Ball(run.rounds));
                }
            })
        }
        Program::FanIn => {
            let to = vec![sink(run.messages())];
            let sources: Vec<_> = (0..MANY)
                .map(|_| {
                    let source = Actor::spawn(None, Source, (to.clone(), CHUNK));
                    runtime.block_on(source).expect("it starts").0
                })
                .collect();
            clock.measure(run, || {
                for source in &sources {
                    let _ = source.send_message(run.rounds / CHUNK * CHUNK);
                }
            })
        }
        Program::FanOut => {
            let to: Vec<_> = (0..MANY).map(|_| sink(run.rounds)).collect();
            let source = Actor::spawn(None, Source, (to, 1));
            let source = runtime.block_on(source).expect("it starts").0;
            clock.measure(run, || {
                let _ = source.send_message(run.rounds);
            })
        }
    }
}
