//! One worker: a thread with a host, to which it gives one unit after another.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use raddle_trace::Failure;
use raddle_trace::host::{Avoid, JobKind, Message};
use raddle_trace::unit::{Completed, Order, UnitPlan};

use super::board::{Board, Given};
use crate::check::{self, Question};
use crate::deaths::Died;
use crate::find::Test;
use crate::host::{Conversation, Gone, Hosts, Lines, START, Started, Task};
use crate::os;
use crate::patience::{Patience, Standstill};

/// How often a worker looks whether others wait, while its host runs a unit.
const LOOK: Duration = Duration::from_millis(10);

/// A host that is given units.
pub(crate) struct Host {
    started: Started,
    said: Conversation,
    stream: UnixStream,
    lines: Lines,
    page: PathBuf,
    strategy: String,
    seed: u64,
    began: Instant,
}

/// What came of a unit that a host was given.
pub(crate) enum Answer {
    Completed(Box<Completed>),
    /// The host could not do its work.
    Error(String),
    /// It is gone.
    Gone,
}

/// What is known of a host that is gone.
pub(crate) enum HostFate {
    /// It died of what the test does; and how to keep from that.
    Death(Box<Failure>, Option<Avoid>),
    /// It died, and nothing is known of why.
    Nothing,
    /// It ended, or was killed by us.
    Silence,
}

/// Runs units until there are no more. What the tests of its hosts printed last.
pub(super) fn work(board: &Board, hosts: &Hosts<'_>, test: &Test, worker: usize) -> String {
    let mut output = String::new();
    let mut host = None;
    while board.stopped().is_none() {
        if host.is_none() {
            match Host::start(board, hosts, test) {
                Ok(Ok(started)) => host = Some(started),
                Ok(Err(why)) => return fail(board, why, output),
                Err(error) => {
                    return fail(board, format!("its host could not be run: {error}"), output);
                }
            }
        }
        let Some(mut own) = host.take() else { continue };
        let Some(given) = board.next(worker) else {
            host = Some(own);
            break;
        };
        match own.run(board, worker, &given) {
            Ok(Answer::Completed(record)) => {
                board.complete(worker, &given, &record);
                host = Some(own);
            }
            Ok(Answer::Error(why)) => {
                board.give_back(&given);
                board.fail(why);
                host = Some(own);
            }
            Ok(Answer::Gone) => {
                let said = own.mourn(board, hosts, test, &given);
                output = said.unwrap_or(output);
            }
            Err(error) => {
                board.give_back(&given);
                return fail(board, format!("its host could not be heard: {error}"), output);
            }
        }
    }
    if let Some(own) = host
        && let Ok(gone) = own.end()
    {
        output = gone.output;
    }
    output
}

fn fail(board: &Board, why: String, output: String) -> String {
    board.fail(why);
    output
}

/// How often a host is started that is killed before it has said anything.
const MAX_STARTS: u32 = 10;

/// Why a host said nothing of what there is to be run.
struct Silence {
    why: String,
    /// Neither by the driver nor by itself.
    killed: bool,
}

impl Silence {
    fn of(gone: &Gone, error: Option<String>) -> Self {
        let killed = error.is_none() && gone.is_killed_by_others();
        Self { why: error.unwrap_or_else(|| check::silent(gone)), killed }
    }
}

impl Host {
    fn start(board: &Board, hosts: &Hosts<'_>, test: &Test) -> io::Result<Result<Self, String>> {
        let greeted = Self::greet(hosts, test)?;
        Ok(greeted.map(|(host, plan)| {
            board.join(&plan);
            host
        }))
    }

    /// Starts a host and hears what there is to be run; or why it has nothing to say. One that is killed before it has said
    /// anything, as by a system that is short of memory, is started anew.
    pub(crate) fn greet(
        hosts: &Hosts<'_>,
        test: &Test,
    ) -> io::Result<Result<(Self, Box<UnitPlan>), String>> {
        let mut starts = 1;
        loop {
            match Self::greet_once(hosts, test)? {
                Err(silence) if silence.killed && starts < MAX_STARTS => starts += 1,
                greeted => return Ok(greeted.map_err(|silence| silence.why)),
            }
        }
    }

    fn greet_once(
        hosts: &Hosts<'_>,
        test: &Test,
    ) -> io::Result<Result<(Self, Box<UnitPlan>), Silence>> {
        let (page, began) = (hosts.desk.page()?, Instant::now());
        let task = Task { work: JobKind::Units, page: Some(&page), deaths: None };
        let mut started = hosts.start(test, task, &[])?;
        let mut said = Conversation::default();
        let Some(stream) = started.accept(&mut said)? else {
            return Ok(Err(Silence::of(&started.end(Ok(said))?, None)));
        };
        // A host that waits for a unit reads it at once. One that does not is killed.
        stream.set_write_timeout(Some(START))?;
        let lines = Lines::of(&stream)?;
        let strategy = String::new();
        let mut host = Self { started, said, stream, lines, page, strategy, seed: 0, began };
        let mut plan = None;
        let mut error = None;
        let mut patience = Patience::within(START, host.started.id());
        while plan.is_none() && error.is_none() {
            match host.hear(&mut |message| match message {
                Message::Plan { plan: found } => plan = Some(found),
                Message::Error { text } => error = Some(text),
                _ => {}
            })? {
                Some(true) => {}
                None if patience.is_over() => {
                    host.said.kill(host.started.id());
                    let why = "its host has connected and does not say what there is to run";
                    error = Some(why.to_owned());
                }
                None if os::interrupts() == 0 => {}
                _ => break,
            }
        }
        match (plan, error) {
            (Some(plan), _) => {
                host.said.is_idle();
                Ok(Ok((host, plan)))
            }
            (None, error) => Ok(Err(Silence::of(&host.close()?, error))),
        }
    }

    /// Hears one line; none if there is none yet, `false` if there will be no more.
    fn hear(&mut self, act: &mut dyn FnMut(Message)) -> io::Result<Option<bool>> {
        match self.lines.received.recv_timeout(LOOK) {
            Ok(line) => {
                let (mut strategy, mut seed) = (None, None);
                self.said.line(&line, &mut |message| {
                    if let Message::Hello { strategy: name, seed: number, .. } = &message {
                        (strategy, seed) = (Some(name.clone()), Some(*number));
                    }
                    act(message);
                });
                self.strategy = strategy.unwrap_or(std::mem::take(&mut self.strategy));
                self.seed = seed.unwrap_or(self.seed);
                Ok(Some(true))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(Some(false)),
            Err(RecvTimeoutError::Timeout) if self.started.has_ended()? => Ok(Some(false)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    fn tell(&mut self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_string(order).map_err(io::Error::other)?;
        line.push('\n');
        let told = self.stream.write_all(line.as_bytes());
        let late = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
        if told.as_ref().is_err_and(|error| late.contains(&error.kind())) {
            os::kill_group(self.started.id());
        }
        told
    }

    /// Has it run a unit.
    fn run(&mut self, board: &Board, worker: usize, given: &Given) -> io::Result<Answer> {
        let Given { leased, quota, samples, avoid, .. } = given;
        let unit = Box::new(leased.unit.clone());
        let order = Order::Run { unit, quota: *quota, samples: *samples, avoid: avoid.clone() };
        self.obey(&order, &mut |run| board.wants(worker, given, run))
    }

    /// Has it do what the order says. `wants` hears how many executions it has run, if that is known, and says into
    /// how many pieces it is to cut what is left, if it is to stop.
    pub(crate) fn obey(
        &mut self,
        order: &Order,
        wants: &mut dyn FnMut(Option<u64>) -> Option<u32>,
    ) -> io::Result<Answer> {
        self.said.is_busy();
        if self.tell(order).is_err() {
            return Ok(Answer::Gone);
        }
        let (mut asked, mut since, mut standstill) = (false, None, Standstill::default());
        loop {
            let (mut answer, mut run) = (None, None);
            let heard = self.hear(&mut |message| match message {
                Message::Completed { completed } => answer = Some(Answer::Completed(completed)),
                Message::Progress { progress } => run = Some(progress.executions),
                Message::Error { text } => answer = Some(Answer::Error(text)),
                _ => {}
            })?;
            if let Some(answer) = answer {
                self.said.is_idle();
                return Ok(answer);
            }
            if heard == Some(false) {
                return Ok(Answer::Gone);
            }
            if heard.is_none() && standstill.is_over(self.started.id()) {
                // As from outside: it dies of no test, and another has its unit.
                os::kill_group(self.started.id());
            }
            if !asked && let Some(pieces) = wants(run) {
                asked = true;
                since = Some(Patience::new(self.started.id()));
                if self.tell(&Order::Yield { pieces }).is_err() {
                    return Ok(Answer::Gone);
                }
            }
            // After a second Ctrl-C nothing is waited for.
            let late = since.as_mut().is_some_and(Patience::is_over);
            if os::interrupts() > 1 || late && os::interrupts() > 0 {
                self.said.kill(self.started.id());
            }
        }
    }

    /// What is left of a host that is silent.
    fn close(mut self) -> io::Result<Gone> {
        self.started.await_end(&mut self.said)?;
        let Self { started, mut said, stream, lines, page, .. } = self;
        os::kill_group(started.id());
        // Only now: while the host lives, a closed socket would end it. What it said last is why it died, if it hung.
        for line in lines.end(&stream) {
            said.line(&line, &mut |_| {});
        }
        let gone = started.end(Ok(said));
        let _ = std::fs::remove_file(page);
        gone
    }

    /// Ends a host that has no unit.
    pub(crate) fn end(mut self) -> io::Result<Gone> {
        let _ = self.tell(&Order::End);
        self.close()
    }

    /// Finds out why a host died with a unit, and says so. What its test printed last.
    fn mourn(self, board: &Board, hosts: &Hosts<'_>, test: &Test, given: &Given) -> Option<String> {
        let Some((gone, found)) = self.examine(hosts, test) else {
            board.give_back(given);
            return None;
        };
        match found {
            HostFate::Death(failure, avoid) => {
                let stable = failure.unstable.is_none();
                board.died(given, *failure, avoid, stable);
            }
            HostFate::Nothing => board.give_back(given),
            HostFate::Silence => {
                board.give_back(given);
                if os::interrupts() == 0 {
                    board.fail(check::silent(&gone));
                }
            }
        }
        Some(gone.output)
    }

    /// Finds out why a host died with a unit.
    pub(crate) fn examine(self, hosts: &Hosts<'_>, test: &Test) -> Option<(Gone, HostFate)> {
        let (page, strategy, seed) = (self.page.clone(), self.strategy.clone(), self.seed);
        let kept = hosts.desk.page().ok()?;
        let (elapsed, own) = (self.began.elapsed(), page.clone());
        // The page goes with the host.
        let _ = std::fs::copy(&page, &kept);
        let gone = self.close().ok()?;
        let Some(death) = gone.death(hosts.memory) else {
            // The driver killed it, or it had said its last word.
            return Some((gone, HostFate::Silence));
        };
        let died = Died { death, strategy, seed, elapsed, last: 0 };
        let (report, avoid) = died.report(hosts, test, &kept, Question::Search);
        let found = report
            .failure
            .map_or(HostFate::Nothing, |failure| HostFate::Death(Box::new(failure), avoid));
        let _ = (std::fs::remove_file(&kept), std::fs::remove_file(own));
        Some((gone, found))
    }
}
