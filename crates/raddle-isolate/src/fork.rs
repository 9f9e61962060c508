//! Forks, waits for their end, and hands over what they told.

use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use raddle_engine::search::{Concluded, CutOff, EndKind, Isolate, Ran, Recorded, Search};
use raddle_engine::strategy::Strategy;
use raddle_engine::{EngineError, Lap, Pulse, Stop};
use raddle_trace::host::{Retraced, RetracedEvent};
use raddle_trace::{Death, Divergence, Failure, LimitKind, Note, Outcome};
use serde::{Deserialize, Serialize};

use crate::log::{self, Entry, Log, Shared};
use crate::transcript::{self, Account, ExecutionEnd, ForkTranscript, Texts};

/// From one look whether a fork may go on to the next.
const LOOK_MS: i32 = 10;
/// So many looks at an execution that does not move are enough, if the search is to end.
const PATIENCE: u32 = 200;

/// What is needed to run executions in forks.
#[derive(Debug)]
pub(crate) struct Fork {
    log: Shared,
    texts: Texts,
    pulse: &'static Pulse,
}

fn failed(what: &str, error: &io::Error) -> EngineError {
    EngineError::Isolation(format!("there is no {what} to be had: {error}"))
}

/// How a forked process came to its end.
#[derive(Clone, Copy)]
enum End {
    /// By itself, or by something that happened in it.
    Status(libc::c_int),
    /// It was killed, because the caller said so.
    Killed(Stop),
}

/// What a fork says at its end, besides numbers.
#[derive(Debug, Serialize, Deserialize)]
struct ForkEpilogue {
    kind: Kind,
    outcome: Outcome,
    leaked: u64,
    notes: Vec<Note>,
}

/// [`EndKind`], as it is sent.
#[derive(Debug, Serialize, Deserialize)]
enum Kind {
    Outcome,
    Diverged(Divergence),
    Stopped,
    Foreign,
}

impl From<EndKind> for Kind {
    fn from(kind: EndKind) -> Self {
        match kind {
            EndKind::Outcome => Self::Outcome,
            EndKind::Diverged(divergence) => Self::Diverged(divergence),
            EndKind::Stopped => Self::Stopped,
            EndKind::Foreign => Self::Foreign,
        }
    }
}

impl From<Kind> for EndKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Outcome => Self::Outcome,
            Kind::Diverged(divergence) => Self::Diverged(divergence),
            Kind::Stopped => Self::Stopped,
            Kind::Foreign => Self::Foreign,
        }
    }
}

impl Isolate for Fork {
    fn pulse(&self) -> &'static Pulse {
        self.pulse
    }

    fn run(
        &mut self,
        search: &mut Search,
        strategy: &mut dyn Strategy,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Result<Ran, EngineError> {
        let log = self.log.0;
        let end = self.fork(lap, executions, || {
            let mut transcript = ForkTranscript::new(&mut *strategy, log);
            conclude(search.run_there(&mut transcript, Rc::new(log), body, executions), log);
        })?;
        let account = transcript::hear(log, strategy, &mut self.texts);
        take_over(search, account, end)
    }

    fn repeat(
        &mut self,
        search: &mut Search,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Recorded, EngineError> {
        let options = search.options();
        let (mut steps, mut looks) = (0, 0);
        let mut patient = |at: Lap| {
            looks = if at.steps == steps { looks + 1 } else { 0 };
            steps = at.steps;
            match lap(at) {
                Stop::Search if looks > PATIENCE => {
                    Stop::Hang { after_ms: u64::from(PATIENCE) * LOOK_MS as u64 }
                }
                Stop::Search => Stop::No,
                stop => stop,
            }
        };
        self.record_these(search, Some(&options), body, &mut patient)
    }

    fn record(
        &mut self,
        search: &mut Search,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Recorded, EngineError> {
        self.record_these(search, None, body, lap)
    }
}

impl Fork {
    pub(crate) fn new() -> Result<Self, EngineError> {
        let log = Log::new().map_err(|error| failed("memory", &error))?;
        let memory = log::shared(size_of::<Pulse>()).map_err(|error| failed("memory", &error))?;
        // SAFETY: a mapping of that size, aligned to a page, zeroed, and never unmapped.
        let pulse = unsafe { Pulse::place(memory) };
        Ok(Self { log: Shared(log), texts: Texts::default(), pulse })
    }

    /// Runs one execution for its trace: with these options, or the one that the search is to replay.
    fn record_these(
        &mut self,
        search: &mut Search,
        options: Option<&[u32]>,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Recorded, EngineError> {
        let log = self.log.0;
        let end = self.fork(lap, 0, || {
            let hear = Box::new(move |told: RetracedEvent| tell(log, &told));
            let (concluded, schedule, trace) =
                search.record_there(options, Rc::new(log), hear, body);
            log.put(Entry::Record);
            tell(log, &(schedule, trace));
            conclude(concluded, log);
        })?;
        let mut retraced = Retraced::new();
        let (mut whole, mut account) = (None, Account::default());
        let mut read = log.read();
        while let Some(entry) = read.entry() {
            match entry {
                Entry::Text(bytes) => {
                    // SAFETY: so many bytes follow.
                    let text = unsafe { read.all::<u8>(bytes) };
                    retraced.hear(parse(&text)?);
                }
                Entry::Record => {
                    whole = read.text().map(|text| parse(text.as_bytes())).transpose()?;
                }
                Entry::Name(name) => account.heard.names.push(name),
                Entry::Taken(taken, mark) => {
                    account.heard.taken.push(taken);
                    account.heard.marks.push(mark);
                }
                Entry::Over { numbers, stuck, tasks } => {
                    // SAFETY: so many follow, in this order.
                    let (stuck, tasks) = unsafe { (read.all(stuck), read.all(tasks)) };
                    let text = read.text().unwrap_or_default();
                    account.end = Some(ExecutionEnd { numbers, stuck, tasks, text });
                }
                other => unreachable!("engine bug: a record goes on with {other:?}"),
            }
        }
        let mut ran = take_over(search, account, end)?;
        let (schedule, trace) = whole.unwrap_or_else(|| {
            // It did not come to its end: what it told of each step is all there is.
            let Failure { outcome, schedule, trace, .. } = match ran.outcome() {
                Outcome::Died { death, .. } => retraced.died(death.clone(), 0),
                other => retraced.failure(other.clone(), 0),
            };
            ran.set_outcome(outcome);
            (schedule, trace)
        });
        Ok(Recorded { ran, schedule, trace })
    }

    /// Does `work` in a fork, and waits for the end of that.
    fn fork(
        &self,
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
        work: impl FnOnce(),
    ) -> Result<End, EngineError> {
        self.log.0.clear();
        let (read, write) = pipe().map_err(|error| failed("pipe", &error))?;
        // What stands in a buffer would be printed by both.
        let _ = io::stdout().flush();
        // SAFETY: the child goes on with the one thread it has, and never returns from here.
        match raddle_engine::fork_alone(|| unsafe { libc::fork() }) {
            -1 => Err(failed("process", &io::Error::last_os_error())),
            0 => {
                drop(read);
                end_with_parent();
                // Failures of other searches are theirs to tell, whatever becomes of this execution.
                raddle_engine::forget_last_words();
                let done = catch_unwind(AssertUnwindSafe(work));
                let _ = io::stdout().flush();
                // SAFETY: ends the fork; nothing of the original is to be cleaned up in it.
                unsafe { libc::_exit(if done.is_ok() { 0 } else { PANICKED }) }
            }
            pid => {
                drop(write);
                let end = wait(pid, &read, self.pulse, lap, executions);
                self.pulse.end();
                if self.log.0.is_full() {
                    return Err(EngineError::Isolation(
                        "one execution had more to tell than fits into 256 MiB; set RADDLE_STEPS \
                         to a smaller number, or search without a reduction"
                            .to_owned(),
                    ));
                }
                Ok(end)
            }
        }
    }
}

/// The exit code of a fork in which the engine itself panicked.
const PANICKED: libc::c_int = 101;

/// Waits for the end of a fork, which the caller may order.
fn wait(
    pid: libc::pid_t,
    pipe: &OwnedFd,
    pulse: &Pulse,
    lap: &mut dyn FnMut(Lap) -> Stop,
    executions: u64,
) -> End {
    let mut status = 0;
    loop {
        let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry, for the time of the call.
        let closed = unsafe { libc::poll(&raw mut poll, 1, LOOK_MS) } > 0;
        // A process that the test has started may hold the pipe open, so it is looked either way.
        let options = if closed { 0 } else { libc::WNOHANG };
        // SAFETY: a valid pointer; the process is a child of this one, waited for only here.
        match unsafe { libc::waitpid(pid, &raw mut status, options) } {
            0 => {}
            ended if ended == pid => return End::Status(status),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
            // It was waited for elsewhere: the program under test waits for any child.
            _ => return End::Status(0),
        }
        let steps = pulse.beat().steps.max(1);
        let stop = lap(Lap { executions, steps });
        if stop != Stop::No {
            // SAFETY: not waited for yet, so the number is its own.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, &raw mut status, 0);
            }
            return End::Killed(stop);
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two numbers, which have no other owner when the call has succeeded.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        for end in ends {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// A fork is nothing without the process that it was forked from.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: a plain call.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

fn tell(log: Log, what: &impl Serialize) {
    log.text(&serde_json::to_string(what).expect("every map has names for keys"));
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, EngineError> {
    let wrong = |error| EngineError::Isolation(format!("a fork spoke out of turn: {error}"));
    serde_json::from_slice(text).map_err(wrong)
}

/// In the fork, at its end.
fn conclude(concluded: Concluded, log: Log) {
    let Concluded { numbers, stuck, tasks, kind, outcome, leaked, notes } = concluded;
    let counts = (stuck.len() as u32, tasks.len() as u32);
    log.with(Entry::Over { numbers, stuck: counts.0, tasks: counts.1 }, |write| {
        write.all(&stuck);
        write.all(&tasks);
    });
    tell(log, &ForkEpilogue { kind: kind.into(), outcome, leaked, notes });
}

/// Makes the state of the search what it would be if the execution had run here.
fn take_over(search: &mut Search, account: Account, end: End) -> Result<Ran, EngineError> {
    let Account { heard, end: told } = account;
    match told {
        Some(ExecutionEnd { numbers, stuck, tasks, text }) if !text.is_empty() => {
            let ForkEpilogue { kind, outcome, leaked, notes } = parse(text.as_bytes())?;
            let kind = kind.into();
            let concluded = Concluded { numbers, stuck, tasks, kind, outcome, leaked, notes };
            Ok(search.take_over(heard, concluded))
        }
        _ => Ok(search.take_over_cut_off(heard, cause(end))),
    }
}

/// Why an execution did not come to its end.
fn cause(end: End) -> CutOff {
    match end {
        End::Killed(Stop::Execution) => CutOff::Limit(LimitKind::Time),
        End::Killed(Stop::Hang { after_ms }) => CutOff::Died(Death::Hang { after_ms }),
        End::Killed(Stop::No | Stop::Search) => CutOff::Stopped,
        End::Status(status) if libc::WIFSIGNALED(status) => {
            CutOff::Died(Death::signal(libc::WTERMSIG(status)))
        }
        End::Status(status) => CutOff::Died(Death::Exit { code: libc::WEXITSTATUS(status) }),
    }
}
