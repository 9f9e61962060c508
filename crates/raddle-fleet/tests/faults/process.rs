//! This program as a worker or as a coordinator, in a process that can be killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use raddle_fleet::nats::{Access, Nats, NatsQueue, Run, RunState};
use raddle_fleet::synthetic::Sum;
use raddle_fleet::{Coordinator, RecordOutcome, TurnResult, Worker};

use crate::fleet::{PACE, ROOT, SYNTHETIC, added};
use crate::say;

/// Does what a process of this program is for, if it is one.
pub(crate) fn main(arguments: &[String]) -> Option<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["worker", url, run, name] => work(url, run, name),
        ["coordinator", url, run] => coordinate(url, run),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

fn open(url: &str, run: &str) -> (Run, NatsQueue, Duration) {
    let access = Access { url: url.to_owned(), ..Access::default() };
    let nats = crate::server::connect(&access);
    let (run, manifest) = Run::find(&nats, run).unwrap();
    let queue = NatsQueue::open(&run, &manifest).unwrap();
    (run, queue, manifest.lease())
}

/// Says what became of each unit, until the run is finished.
fn work(url: &str, run: &str, name: &str) {
    let (run, queue, lease) = open(url, run);
    let worker = Worker { name: name.to_owned(), lease, pace: PACE };
    let mut work = SYNTHETIC;
    loop {
        match worker.turn(&queue, &mut work) {
            Ok(TurnResult::Idle) => {
                say("idle");
                match run.manifest() {
                    Ok(Some(manifest)) if manifest.state == RunState::Open => {}
                    _ => return,
                }
            }
            Ok(TurnResult::Ran(RecordOutcome::Recorded(_), _)) => say("recorded"),
            Ok(TurnResult::Ran(RecordOutcome::Ignored, _)) => say("ignored"),
            Ok(other) => say(&format!("{other:?}")),
            Err(error) => say(&format!("error: {error}")),
        }
    }
}

/// Says how many records it has folded, and at the end what they come to.
fn coordinate(url: &str, run: &str) {
    let (_, queue, _) = open(url, run);
    let mut sum = Sum::default();
    let mut coordinator = Coordinator::begin(&queue, vec![ROOT()]).unwrap();
    while !coordinator.is_finished() {
        let read = coordinator.poll(&queue, &mut |record| {
            added(&mut sum, record);
            Vec::new()
        });
        if read.is_ok_and(|read| read > 0) {
            say(&format!("folded {}", coordinator.done().0));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    say(&format!("sum {} {} {:?}", sum.leaves, sum.sum, sum.failures));
}

/// A process of this program.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) said: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments);
        Self::run(command)
    }

    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    pub(crate) fn worker(url: &str, run: &str, name: &str) -> Self {
        Self::start(&["worker", url, run, name])
    }

    /// The next line; none at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let n = self.said.read_line(&mut line).unwrap();
        (n > 0).then(|| line.trim().to_owned())
    }

    /// Reads until a line begins so.
    pub(crate) fn until(&mut self, beginning: &str) -> String {
        loop {
            let line = self.line().expect("it goes on");
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    /// Sends a signal: it is the number of a process that this one has started and not waited for.
    #[expect(unsafe_code, reason = "std sends no other signal than SIGKILL")]
    pub(crate) fn signal(&self, signal: libc::c_int) {
        let id = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: the call has no memory to break.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection for the test itself.
pub(crate) fn connected(url: &str) -> Nats {
    crate::server::connect(&Access { url: url.to_owned(), ..Access::default() })
}
