//! A load generator: actions that run a scenario, writers that keep what they measure, a terminator.
//!
//! In the shape of Gatling, in which Bita found four bugs. The runner opens the writers and has the actions
//! execute. An action sends what it measured to every writer. A writer tells the terminator of each record that it
//! has kept. When all records are kept, the terminator has the writers flush; when all have, it tells the
//! runner, which reads them.
//!
//! What must hold: a writer gets records when it is open and not flushed, it is read when it is flushed, and
//! in the end the runner has read a record of every action from every writer.

use raddle::actors::{Actor, Address, Context, System};

use super::{ORDER, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// An action itself tells the terminator that it is done, when it has sent its records.
    ///
    /// Order: the last action is done, and the terminator's flush is at a writer before a record that was sent
    /// earlier.
    FlushOvertakesRecord,
    /// The terminator is not told how many actions there are: it counts those that have started.
    ///
    /// Order: all records of the actions that have started are kept before another one has said that it starts.
    CountsThoseStarted,
    /// The runner has the actions execute when it has told the writers to open, and does not wait until they are.
    ///
    /// Order: a record is at a writer before the writer is told to open.
    RecordBeforeOpen,
    /// The terminator says that all is over when one writer has flushed.
    ///
    /// Order: one writer flushes, and the runner's request to read is at the other one before the flush is.
    OneFlushIsEnough,
}

const WRITERS: usize = 2;

const PARAMETERS: [Parameter; 3] = [
    parameter("actions", 2, 1, 16),
    parameter("hops of a record", 0, 0, 64),
    parameter("hops to the terminator", 0, 0, 64),
];

/// Two actions and two writers are the least that shows every bug.
pub const SUBJECT: Subject = Subject {
    name: "load generator",
    line: "actions, writers of what they measure, and a terminator",
    test: Test {
        correct: correct(
            "load",
            "a load generator: actions, writers and a terminator",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[4, 2, 4],
        ),
        bugs: &[
            wrong(
                ("load-flush-overtakes-record", "a flush is at a writer before a record"),
                ORDER,
                |system, size| run(system, Bug::FlushOvertakesRecord, size),
                &PARAMETERS,
                &[2, 0, 7],
            ),
            wrong(
                ("load-counts-those-started", "the terminator has not heard of an action"),
                ORDER,
                |system, size| run(system, Bug::CountsThoseStarted, size),
                &PARAMETERS,
                &[2, 3, 4],
            ),
            wrong(
                ("load-record-before-open", "a record is at a writer that is not open"),
                ORDER,
                |system, size| run(system, Bug::RecordBeforeOpen, size),
                &PARAMETERS,
                &[2, 8, 0],
            ),
            wrong(
                ("load-one-flush-is-enough", "a writer is read that has not flushed"),
                ORDER,
                |system, size| run(system, Bug::OneFlushIsEnough, size),
                &PARAMETERS,
                &[2, 0, 5],
            ),
        ],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToRunner {
    /// The input: these are to execute.
    Begin(Vec<Address<ToAction>>),
    Opened,
    /// All records are kept and flushed.
    Over,
    /// What a writer has.
    Read {
        records: usize,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToAction {
    Execute,
}

#[derive(Clone, Debug, Hash)]
enum ToWriter {
    Open(Address<ToRunner>),
    /// With whom to tell that it is kept.
    Record {
        action: usize,
        terminator: Address<ToTerminator>,
    },
    Flush(Address<ToTerminator>),
    Read(Address<ToRunner>),
}

#[derive(Clone, Debug, Hash)]
enum ToTerminator {
    /// An action begins.
    Started,
    /// An action has sent its records.
    Done,
    /// A writer has kept a record.
    Kept,
    Flushed,
}

#[derive(Clone, Debug, Hash)]
struct Runner {
    bug: Bug,
    writers: Vec<Address<ToWriter>>,
    actions: Vec<Address<ToAction>>,
    opened: usize,
    read: Vec<usize>,
}

impl Runner {
    fn execute(&self, cx: &mut Context<'_, ToRunner>) {
        for action in &self.actions {
            cx.send(action, ToAction::Execute);
        }
    }
}

impl Actor for Runner {
    type Message = ToRunner;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToRunner, cx: &mut Context<'_, ToRunner>) {
        let me = cx.me().clone();
        match message {
            ToRunner::Begin(actions) => {
                self.actions = actions;
                for writer in &self.writers {
                    cx.send(writer, ToWriter::Open(me.clone()));
                }
                if self.bug == Bug::RecordBeforeOpen {
                    self.execute(cx);
                }
            }
            ToRunner::Opened => {
                self.opened += 1;
                if self.opened == self.writers.len() && self.bug != Bug::RecordBeforeOpen {
                    self.execute(cx);
                }
            }
            ToRunner::Over => {
                for writer in &self.writers {
                    cx.send(writer, ToWriter::Read(me.clone()));
                }
            }
            ToRunner::Read { records } => self.read.push(records),
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Action {
    bug: Bug,
    number: usize,
    /// Ways to the writers.
    writers: Vec<Address<ToWriter>>,
    terminator: Address<ToTerminator>,
    /// The long way to it.
    slow_terminator: Address<ToTerminator>,
}

impl Actor for Action {
    type Message = ToAction;
    raddle::actors::snapshots!();

    fn handle(&mut self, _: ToAction, cx: &mut Context<'_, ToAction>) {
        if self.bug == Bug::CountsThoseStarted {
            cx.send(&self.terminator, ToTerminator::Started);
        }
        for writer in &self.writers {
            let (action, terminator) = (self.number, self.slow_terminator.clone());
            cx.send(writer, ToWriter::Record { action, terminator });
        }
        if self.bug == Bug::FlushOvertakesRecord {
            cx.send(&self.slow_terminator, ToTerminator::Done);
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum File {
    Closed,
    Open,
    Flushed,
}

#[derive(Clone, Debug, Hash)]
struct Writer {
    bug: Bug,
    file: File,
    records: Vec<usize>,
}

impl Actor for Writer {
    type Message = ToWriter;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToWriter, cx: &mut Context<'_, ToWriter>) {
        match message {
            ToWriter::Open(runner) => {
                self.file = File::Open;
                cx.send(&runner, ToRunner::Opened);
            }
            ToWriter::Record { action, terminator } => {
                assert_eq!(self.file, File::Open, "a record of action {action} cannot be kept");
                self.records.push(action);
                if self.bug != Bug::FlushOvertakesRecord {
                    cx.send(&terminator, ToTerminator::Kept);
                }
            }
            ToWriter::Flush(terminator) => {
                assert_eq!(self.file, File::Open, "there is nothing to flush");
                self.file = File::Flushed;
                cx.send(&terminator, ToTerminator::Flushed);
            }
            ToWriter::Read(runner) => {
                assert_eq!(self.file, File::Flushed, "a file is read before it is flushed");
                cx.send(&runner, ToRunner::Read { records: self.records.len() });
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Terminator {
    bug: Bug,
    writers: Vec<Address<ToWriter>>,
    /// The way to the runner.
    runner: Address<ToRunner>,
    /// How many actions there are, or how many have started if that is what is counted.
    actions: usize,
    done: usize,
    kept: usize,
    flushed: usize,
}

impl Terminator {
    fn flush(&self, cx: &mut Context<'_, ToTerminator>) {
        let me = cx.me().clone();
        for writer in &self.writers {
            cx.send(writer, ToWriter::Flush(me.clone()));
        }
    }
}

impl Actor for Terminator {
    type Message = ToTerminator;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToTerminator, cx: &mut Context<'_, ToTerminator>) {
        match message {
            ToTerminator::Started => self.actions += 1,
            ToTerminator::Done => {
                self.done += 1;
                if self.done == self.actions {
                    self.flush(cx);
                }
            }
            ToTerminator::Kept => {
                self.kept += 1;
                if self.kept == self.actions * self.writers.len() {
                    self.flush(cx);
                }
            }
            ToTerminator::Flushed => {
                self.flushed += 1;
                let enough = match self.bug {
                    Bug::OneFlushIsEnough => 1,
                    _ => self.writers.len(),
                };
                if self.flushed == enough {
                    cx.send(&self.runner, ToRunner::Over);
                }
            }
        }
    }
}

fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[actions, record_hops, terminator_hops] = size else { unreachable!("three arguments") };
    let writer = |nth| {
        let writer = Writer { bug, file: File::Closed, records: Vec::new() };
        system.spawn_named(&format!("writer {nth}"), writer)
    };
    let writers: Vec<_> = (0..WRITERS).map(writer).collect();
    let (opened, read) = (0, Vec::new());
    let runner = Runner { bug, writers: writers.clone(), actions: Vec::new(), opened, read };
    let runner = system.spawn_named("runner", runner);
    let terminator = Terminator {
        bug,
        writers: writers.clone(),
        runner: route(system, terminator_hops, &runner),
        actions: if bug == Bug::CountsThoseStarted { 0 } else { actions },
        done: 0,
        kept: 0,
        flushed: 0,
    };
    let terminator = system.spawn_named("terminator", terminator);
    let action = |number| {
        let action = Action {
            bug,
            number,
            writers: writers.iter().map(|writer| route(system, record_hops, writer)).collect(),
            terminator: terminator.clone(),
            slow_terminator: route(system, terminator_hops, &terminator),
        };
        system.spawn_named(&format!("action {number}"), action)
    };
    let all: Vec<_> = (0..actions).map(action).collect();
    system.send(&runner, ToRunner::Begin(all));
    system.handle_all();
    let read = system.inspect(&runner, |runner: &Runner| runner.read.clone());
    assert_eq!(read, [actions; WRITERS], "records were lost");
}
