//! Messages per second of actor libraries, raddle's among them: one library, one program, one run.
//!
//! `peer-actors <library> <program> <rounds>` prints a line of JSON. Time is wall time, from
//! the first message that is sent to the last that is handled; actors exist before. Every library has
//! as many threads as the machine, and mailboxes without a bound, except where its name says so.

mod on_actix;
mod on_kameo;
mod on_ractor;
mod on_raddle;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use serde::Serialize;

/// Pairs of actors that play at the same time.
const PAIRS: u64 = 8;
/// Actors that send to one, or to which one sends.
const MANY: u64 = 32;
/// Messages that an actor of fan-in sends before it lets others go on.
const CHUNK: u64 = 32;

/// What is measured.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// Pairs of actors pass a number to each other until it is zero.
    PingPong,
    /// Many actors send to one.
    FanIn,
    /// One actor sends to many.
    FanOut,
}

/// A run, by how often each actor sends.
#[derive(Clone, Copy, Debug)]
struct Run {
    program: Program,
    rounds: u64,
}

impl Run {
    /// How many messages are handled, those that make an actor of fan-in or fan-out go on left out.
    const fn messages(self) -> u64 {
        match self.program {
            Program::PingPong => PAIRS * self.rounds,
            Program::FanIn => MANY * (self.rounds / CHUNK * CHUNK),
            Program::FanOut => MANY * self.rounds,
        }
    }

    /// How many actors say that they are done.
    const fn done(self) -> u64 {
        match self.program {
            Program::PingPong => PAIRS,
            Program::FanIn => 1,
            Program::FanOut => MANY,
        }
    }
}

/// The clock of a run.
struct Clock {
    done: Sender<()>,
    heard: Receiver<()>,
}

impl Clock {
    fn new() -> Self {
        let (done, heard) = channel();
        Self { done, heard }
    }

    /// Nanoseconds from here until all are done.
    fn measure(self, run: Run, begin: impl FnOnce()) -> u128 {
        let began = Instant::now();
        begin();
        for _ in 0..run.done() {
            self.heard.recv().expect("every actor says when it is done");
        }
        began.elapsed().as_nanos()
    }
}

#[derive(Serialize)]
struct Measured {
    messages: u64,
    ns: u128,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = || {
        eprintln!(
            "usage: peer-actors raddle|kameo|kameo-bounded|ractor|actix ping-pong|fan-in|fan-out ROUNDS"
        );
        ExitCode::from(2)
    };
    let [library, program, rounds] = arguments.as_slice() else { return usage() };
    let program = match program.as_str() {
        "ping-pong" => Program::PingPong,
        "fan-in" => Program::FanIn,
        "fan-out" => Program::FanOut,
        _ => return usage(),
    };
    let Ok(rounds) = rounds.parse::<u64>() else { return usage() };
    let run = Run { program, rounds: rounds.max(CHUNK) };
    let ns = match library.as_str() {
        "raddle" => on_raddle::run(run),
        "kameo" => on_kameo::run(run, false),
        "kameo-bounded" => on_kameo::run(run, true),
        "ractor" => on_ractor::run(run),
        "actix" => on_actix::run(run),
        _ => return usage(),
    };
    let measured = Measured { messages: run.messages(), ns };
    println!("{}", serde_json::to_string(&measured).expect("numbers"));
    ExitCode::SUCCESS
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}
