//! Each execution in a process of its own: a fork of one that has never run the test.
//!
//! So statics start anew, and what ends a process ends one execution: the search goes on. The fork has a
//! copy of everything, the strategy too, and runs the execution with it; what it does is written into memory
//! that both processes see, and the original takes it over when the fork has ended, however it ended
//! ([`transcript`]). A fork costs nearly a millisecond, so this is for programs that need it.
//!
//! What the fork prints reaches the same standard output. What a test harness catches in memory is lost
//! with the fork. Of the OS threads of the process only the searching one is there in a fork; a lock that
//! another one held at that moment stays locked.

mod log;
mod transcript;

use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_trace::host::{Retraced, Told};
use raddle_trace::{Death, Divergence, Failure, LimitKind, Note, Outcome, Schedule, Trace};
use serde::{Deserialize, Serialize};

use log::Shared;
pub(crate) use log::{Entry, Log};
use transcript::{ForkTranscript, Heard, Over, Texts};

use crate::execution::{Ending, Execution};
use crate::explore::{EngineError, Search};
use crate::host::Ran;
use crate::limits::{Lap, Stop};
use crate::pulse::Pulse;
use crate::recorder::Recorder;
use crate::strategy::{Answer, Plan, Point, Strategy};

/// From one look whether a fork may go on to the next.
const LOOK_MS: i32 = 10;
/// So many looks at an execution that does not move are enough, if the search is to end.
const PATIENCE: u32 = 200;

/// What is needed to run executions apart.
#[derive(Debug)]
pub(crate) struct Isolation {
    log: Shared,
    texts: Texts,
}

/// Vital signs that a fork shares with its parent.
pub(crate) fn pulse() -> Result<&'static Pulse, EngineError> {
    let memory = log::shared(size_of::<Pulse>()).map_err(|error| failed("memory", &error))?;
    // SAFETY: a mapping of that size, aligned to a page, zeroed, and never unmapped.
    Ok(unsafe { Pulse::place(memory) })
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
struct Rest {
    sort: Sort,
    outcome: Outcome,
    leaked: u64,
    notes: Vec<Note>,
}

/// The endings that are not outcomes.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Sort {
    Whole,
    Diverged(Divergence),
    Stopped,
    Foreign,
}

impl Sort {
    fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Diverged(divergence) => Self::Diverged(divergence.clone()),
            Ending::Stopped => Self::Stopped,
            Ending::Foreign => Self::Foreign,
            _ => Self::Whole,
        }
    }

    /// What became of it is in the outcome.
    fn ending(self) -> Ending {
        match self {
            Self::Whole => Ending::Completed,
            Self::Diverged(divergence) => Ending::Diverged(divergence),
            Self::Stopped => Ending::Stopped,
            Self::Foreign => Ending::Foreign,
        }
    }
}

/// An execution that was run for its trace.
#[derive(Debug)]
pub(crate) struct Repeated {
    pub(crate) ran: Ran,
    pub(crate) schedule: Schedule,
    pub(crate) trace: Trace,
}

impl Isolation {
    pub(crate) fn new() -> Result<Self, EngineError> {
        let log = Log::new().map_err(|error| failed("memory", &error))?;
        Ok(Self { log: Shared(log), texts: Texts::default() })
    }

    /// Runs one execution with a copy of the strategy, and has the strategy live through it.
    pub(crate) fn run(
        &mut self,
        search: &mut Search,
        strategy: &mut dyn Strategy,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Result<Ran, EngineError> {
        let log = self.log.0;
        let end = self.fork(search.pulse, lap, executions, || {
            let mut transcript = ForkTranscript::new(&mut *strategy, log);
            let mut ran = search.run_with(&mut transcript, log, body);
            if search.touched && !search.watch {
                search.log = None;
                ran.leaked += search.watch_again(&mut ran, body, &mut |_| Stop::No, executions);
            }
            conclude(search, &ran, log);
        })?;
        let heard = transcript::hear(log, strategy, &mut self.texts);
        take_over(search, heard, end)
    }

    /// Runs the last execution once more, for its trace: to its end, also if the search is to end, but not if
    /// it does not move.
    pub(crate) fn repeat(
        &mut self,
        search: &mut Search,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Repeated, EngineError> {
        let options: Vec<u32> = search.taken.iter().map(|taken| taken.option).collect();
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
        self.record(search, body, &mut patient, |search| {
            search.plan.prefix.clear();
            search.plan.prefix.extend_from_slice(&options);
        })
    }

    /// Runs one execution for its trace, after `prepare` has said which.
    pub(crate) fn record(
        &mut self,
        search: &mut Search,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        prepare: impl FnOnce(&mut Search),
    ) -> Result<Repeated, EngineError> {
        let log = self.log.0;
        let end = self.fork(search.pulse, lap, 0, || {
            prepare(search);
            search.strict = true;
            search.watch = true;
            let hear = Box::new(move |told: Told| tell(log, &told));
            search.recorder = Some(Box::new(Recorder::telling(hear)));
            let ran = search.run_with(&mut Unasked, log, body);
            // Tasks that came to be after the last step.
            search.recount();
            let (schedule, trace) = search.recorded();
            log.put(Entry::Record);
            tell(log, &(schedule, trace));
            conclude(search, &ran, log);
        })?;
        let mut retraced = Retraced::new();
        let (mut whole, mut heard) = (None, Heard::default());
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
                Entry::Name(name) => heard.names.push(name),
                Entry::Taken(taken, mark) => {
                    heard.taken.push(taken);
                    heard.marks.push(mark);
                }
                Entry::Over { stuck, tasks, .. } => {
                    // SAFETY: so many follow, in this order.
                    let (stuck, tasks) = unsafe { (read.all(stuck), read.all(tasks)) };
                    let text = read.text().unwrap_or_default();
                    heard.over = Some(Over { entry, stuck, tasks, text });
                }
                other => unreachable!("engine bug: a record goes on with {other:?}"),
            }
        }
        let mut ran = take_over(search, heard, end)?;
        let (schedule, trace) = whole.unwrap_or_else(|| {
            // It did not come to its end: what it told of each step is all there is.
            let Failure { outcome, schedule, trace, .. } = match &ran.outcome {
                Outcome::Died { death, .. } => retraced.died(death.clone(), 0),
                other => retraced.failure(other.clone(), 0),
            };
            ran.outcome = outcome;
            (schedule, trace)
        });
        Ok(Repeated { ran, schedule, trace })
    }

    /// Does `work` in a fork, and waits for the end of that.
    fn fork(
        &self,
        pulse: &'static Pulse,
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
        work: impl FnOnce(),
    ) -> Result<End, EngineError> {
        self.log.0.clear();
        let (read, write) = pipe().map_err(|error| failed("pipe", &error))?;
        // What stands in a buffer would be printed by both.
        let _ = io::stdout().flush();
        // SAFETY: the child goes on with the one thread it has, and never returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(failed("process", &io::Error::last_os_error())),
            0 => {
                drop(read);
                end_with_parent();
                let done = catch_unwind(AssertUnwindSafe(work));
                let _ = io::stdout().flush();
                // SAFETY: ends the fork; nothing of the original is to be cleaned up in it.
                unsafe { libc::_exit(if done.is_ok() { 0 } else { PANICKED }) }
            }
            pid => {
                drop(write);
                let end = wait(pid, &read, pulse, lap, executions);
                pulse.end();
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
            // Somebody else has waited for it: the program under test waits for any child.
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
    // SAFETY: room for two numbers, which are owned by nobody else when the call has succeeded.
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
fn conclude(search: &mut Search, ran: &Ran, log: Log) {
    let rest = Rest {
        sort: Sort::of(&ran.ending),
        outcome: ran.outcome.clone(),
        leaked: ran.leaked,
        notes: std::mem::take(&mut search.locks.notes),
    };
    let entry = Entry::Over {
        steps: search.n_steps,
        cut: search.cut,
        seen: search.seen,
        watch: search.watch,
        stuck: ran.stuck.len() as u32,
        tasks: search.created.len() as u32,
    };
    log.with(entry, |write| {
        write.all(&ran.stuck);
        write.all(&search.created);
    });
    tell(log, &rest);
}

/// Makes the state of the search what it would be if the execution had run here.
fn take_over(search: &mut Search, heard: Heard, end: End) -> Result<Ran, EngineError> {
    let Heard { names, taken, marks, over } = heard;
    search.adopt(&names, taken, &marks);
    if let Some(Over { entry: Entry::Over { steps, cut, seen, watch, .. }, stuck, tasks, text }) =
        over
        && !text.is_empty()
    {
        let Rest { sort, outcome, leaked, notes } = parse(text.as_bytes())?;
        (search.n_steps, search.cut, search.created) = (steps, cut, tasks);
        search.seen = seen;
        search.watch = watch;
        for note in notes {
            if !search.locks.notes.contains(&note) {
                search.locks.notes.push(note);
            }
        }
        return Ok(Ran { ending: sort.ending(), outcome, leaked, stuck });
    }
    search.n_steps = search.pulse.beat().steps;
    search.cut = None;
    let (ending, outcome) = match end {
        End::Killed(Stop::Execution) => {
            let limit = LimitKind::Time;
            (Ending::Limit(limit), Outcome::Limit { limit })
        }
        End::Killed(Stop::Hang { after_ms }) => died(Death::Hang { after_ms }),
        End::Killed(_) => (Ending::Stopped, Outcome::Completed),
        End::Status(status) if libc::WIFSIGNALED(status) => {
            died(Death::signal(libc::WTERMSIG(status)))
        }
        End::Status(status) => died(Death::Exit { code: libc::WEXITSTATUS(status) }),
    };
    Ok(Ran { ending, outcome, leaked: 0, stuck: Vec::new() })
}

fn died(death: Death) -> (Ending, Outcome) {
    (Ending::Died, Outcome::Died { death, task: None, site: None })
}

impl Search {
    /// Runs an execution, told to `log`, with this strategy.
    fn run_with(&mut self, strategy: &mut dyn Strategy, log: Log, body: &dyn Fn()) -> Ran {
        self.ask(strategy);
        self.tell_into(log);
        self.run(body, &mut |_| Stop::No, 0)
    }
}

impl Execution {
    /// Writes down in `log` what the other side must know, from now on.
    fn tell_into(&mut self, log: Log) {
        self.log = Some(log);
        self.names.tell(log);
    }
}

/// Who is asked in an execution that repeats another: nobody.
struct Unasked;

impl Strategy for Unasked {
    fn begin(&mut self, _: &mut Plan) -> bool {
        false
    }

    fn decide(&mut self, _: &Point<'_>) -> Answer {
        unreachable!("engine bug: an execution that repeats another asked a strategy")
    }

    fn covered(&self) -> raddle_trace::Covered {
        raddle_trace::Covered::Replay
    }
}
