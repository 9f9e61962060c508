//! The programs with actix. Its actors stay on the thread they were made on: pairs are on one, others
//! take turns.

use std::sync::mpsc::{Sender, channel};

use actix::{Actor, Addr, Arbiter, AsyncContext, Context, Handler, Message, System};

use crate::{CHUNK, Clock, MANY, PAIRS, Program, Run, threads};

struct Player {
    peer: Option<Addr<Player>>,
    done: Sender<()>,
}

#[derive(Message)]
#[rtype(result = "()")]
enum Play {
    Peer(Addr<Player>),
    Ball(u64),
}

impl Actor for Player {
    type Context = Context<Self>;
}

impl Handler<Play> for Player {
    type Result = ();

    fn handle(&mut self, message: Play, _: &mut Context<Self>) {
        match message {
            Play::Peer(peer) => self.peer = Some(peer),
            Play::Ball(1) => self.done.send(()).expect("somebody waits"),
            Play::Ball(n) => self.peer.as_ref().expect("it was told").do_send(Play::Ball(n - 1)),
        }
    }
}

struct Sink {
    left: u64,
    done: Sender<()>,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Count(u64);

impl Actor for Sink {
    type Context = Context<Self>;
}

impl Handler<Count> for Sink {
    type Result = ();

    fn handle(&mut self, Count(n): Count, _: &mut Context<Self>) {
        self.left -= std::hint::black_box(n);
        if self.left == 0 {
            self.done.send(()).expect("somebody waits");
        }
    }
}

struct Source {
    to: Vec<Addr<Sink>>,
    chunk: u64,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Go(u64);

impl Actor for Source {
    type Context = Context<Self>;
}

impl Handler<Go> for Source {
    type Result = ();

    fn handle(&mut self, Go(left): Go, cx: &mut Context<Self>) {
        for _ in 0..self.chunk {
            for to in &self.to {
                to.do_send(Count(1));
            }
        }
        if left > self.chunk {
            cx.address().do_send(Go(left - self.chunk));
        }
    }
}

/// Makes an actor on a thread.
fn on<A>(arbiter: &Arbiter, actor: A) -> Addr<A>
where
    A: Actor<Context = Context<A>> + Send,
{
    let (tell, told) = channel();
    arbiter.spawn_fn(move || tell.send(actor.start()).expect("somebody waits"));
    told.recv().expect("it starts")
}

pub(crate) fn run(run: Run) -> u128 {
    let system = System::new();
    let ns = system.block_on(async move {
        let arbiters: Vec<_> = (0..threads()).map(|_| Arbiter::new()).collect();
        let arbiter = |n: u64| &arbiters[n as usize % arbiters.len()];
        let clock = Clock::new();
        let done = clock.done.clone();
        let sink = |n, left| on(arbiter(n), Sink { left, done: done.clone() });
        match run.program {
            Program::PingPong => {
                let player = |n| on(arbiter(n), Player { peer: None, done: done.clone() });
                let players: Vec<_> = (0..PAIRS).map(|n| (player(n), player(n))).collect();
                for (a, b) in &players {
                    a.send(Play::Peer(b.clone())).await.expect("it lives");
                    b.send(Play::Peer(a.clone())).await.expect("it lives");
                }
                clock.measure(run, || {
                    for (a, _) in &players {
                        a.do_send(Play::Ball(run.rounds));
                    }
                })
            }
            Program::FanIn => {
                let to = vec![sink(0, run.messages())];
                let sources: Vec<_> = (0..MANY)
                    .map(|n| on(arbiter(n), Source { to: to.clone(), chunk: CHUNK }))
                    .collect();
                clock.measure(run, || {
                    for source in &sources {
                        source.do_send(Go(run.rounds / CHUNK * CHUNK));
                    }
                })
            }
            Program::FanOut => {
                let to = (0..MANY).map(|n| sink(n, run.rounds)).collect();
                let source = on(arbiter(0), Source { to, chunk: 1 });
                clock.measure(run, || source.do_send(Go(run.rounds)))
            }
        }
    });
    System::current().stop();
    ns
}
