//! One host: a test binary started for one job, heard to its end, whatever end that is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use raddle_trace::host::{Job, JobKind, Message, OUTPUT, STOP, VARIABLE, VERSION, page};
use raddle_trace::unit::ToJudge;
use raddle_trace::{Death, DecisionTree, Failure};

use crate::checkpoints::Checkpoints;
use crate::deaths::{Deaths, KILL};
use crate::find::Test;
use crate::fleet::Fleet;
use crate::os;
use crate::patience::{GRACE, Patience, Standstill};
use crate::print;
use crate::settings::{Shared, Workers};

/// From one look at Ctrl-C, or at a host that does not connect, to the next.
const LOOK: Duration = Duration::from_millis(20);
/// What is kept of what a test prints: the end of it.
const KEPT: usize = 64 << 10;
/// A binary that has not connected after this, or has connected and says nothing, never will. To load one takes long on a
/// network's disk; the time in which it waits for a processor does not count.
pub(crate) const START: Duration = Duration::from_secs(120);

/// A directory for sockets and pages, gone when dropped.
#[derive(Debug)]
pub(crate) struct Desk {
    directory: PathBuf,
    next: AtomicU64,
    /// Numbers of test binaries, by their paths.
    binaries: Mutex<BTreeMap<PathBuf, String>>,
    /// Where hosts leave what their searches need to go on, if they are to.
    pub(crate) checkpoints: Option<Checkpoints>,
}

impl Desk {
    pub(crate) fn new() -> io::Result<Self> {
        static DESKS: AtomicU64 = AtomicU64::new(0);
        let (process, nth) = (std::process::id(), DESKS.fetch_add(1, Ordering::Relaxed));
        // Short: the path of a socket has at most 107 bytes.
        let directory = std::env::temp_dir().join(format!("raddle-{process}-{nth}"));
        fs::create_dir_all(&directory)?;
        let (next, binaries) = (AtomicU64::new(0), Mutex::default());
        Ok(Self { directory, next, binaries, checkpoints: None })
    }

    /// A name that no other file there has.
    pub(crate) fn path(&self, extension: &str) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.directory.join(format!("{number}.{extension}"))
    }

    /// A number for a test binary: of the same bytes the same.
    pub(crate) fn binary(&self, path: &Path) -> io::Result<String> {
        let mut known = self.binaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(path) {
            return Ok(known.clone());
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(path)?);
        let number = format!("{:016x}", hasher.finish());
        known.insert(path.to_owned(), number.clone());
        Ok(number)
    }

    /// A file for options, all holes.
    pub(crate) fn page(&self) -> io::Result<PathBuf> {
        let path = self.path("page");
        File::create(&path)?.set_len(4 * page::WORDS as u64)?;
        Ok(path)
    }
}

impl Desk {
    /// A file with a failure, to be replayed.
    pub(crate) fn recording(&self, failure: &Failure) -> io::Result<PathBuf> {
        let path = self.path("json");
        serde_json::to_writer(File::create(&path)?, failure).map_err(io::Error::other)?;
        Ok(path)
    }

    /// A file with what units came to.
    pub(crate) fn to_judge(&self, judged: &ToJudge) -> io::Result<PathBuf> {
        let path = self.path("units");
        serde_json::to_writer(File::create(&path)?, judged).map_err(io::Error::other)?;
        Ok(path)
    }

    /// A file that says what to keep from.
    fn avoid(&self, deaths: &Deaths) -> io::Result<PathBuf> {
        let path = self.path("avoid");
        serde_json::to_writer(File::create(&path)?, deaths.avoid()).map_err(io::Error::other)?;
        Ok(path)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// What a host is to do.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) work: JobKind,
    /// Where its options are kept.
    pub(crate) page: Option<&'a Path>,
    /// Those that have died of the same work.
    pub(crate) deaths: Option<&'a Deaths>,
}

impl Task<'_> {
    /// Work that no host has died of, and whose options are not needed.
    pub(crate) fn of(work: JobKind) -> Self {
        Self { work, page: None, deaths: None }
    }
}

/// How a host is started.
#[derive(Debug)]
pub(crate) struct Hosts<'a> {
    pub(crate) desk: &'a Desk,
    /// Variables, over those of the driver.
    pub(crate) variables: &'a [(String, String)],
    /// Bytes of address space; none: as much as there is.
    pub(crate) memory: Option<u64>,
    /// From one message of progress to the next.
    pub(crate) progress: Duration,
    /// Where the tree of decisions is kept, if it is wanted.
    pub(crate) tree: Option<&'a HostTree>,
    /// Whether several hosts share a search.
    pub(crate) workers: Workers,
    /// How many do, if so.
    pub(crate) shared: Shared,
    /// Other machines that search, if they do.
    pub(crate) fleet: Option<&'a dyn Fleet>,
    /// Whether what tests print is shown while they print it.
    pub(crate) no_capture: bool,
}

/// A host that was started.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    listener: UnixListener,
    socket: PathBuf,
    out: Option<Reading>,
    err: Option<Reading>,
}

/// The tree of decisions that a host has told.
#[derive(Debug)]
pub(crate) struct HostTree {
    /// How many executions may be in it.
    executions: u64,
    tree: Mutex<Option<DecisionTree>>,
}

impl HostTree {
    pub(crate) fn new(executions: u64) -> Self {
        Self { executions, tree: Mutex::new(None) }
    }

    /// A replay has none: what was told before it stays.
    fn keep(&self, tree: DecisionTree) {
        if tree.executions > 0 {
            *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree);
        }
    }

    /// What was told, if anything was.
    pub(crate) fn take(&self) -> Option<DecisionTree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What is left when a host is gone.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each may be so with any of the others")]
pub(crate) struct Gone {
    pub(crate) status: ExitStatus,
    /// Whether it said anything at all.
    pub(crate) greeted: bool,
    /// Whether it said how its work ended.
    pub(crate) answered: bool,
    /// How long nothing moved, if it ended itself for that; and what it said of it.
    pub(crate) hung: Option<(u64, String)>,
    /// Whether it was told to stop before its work was done.
    pub(crate) told_to_stop: bool,
    /// Whether the driver killed it, because it was told to stop and did not.
    pub(crate) killed: bool,
    /// And whether that was because something had stopped it.
    pub(crate) stood_still: bool,
    /// The end of what the test printed.
    pub(crate) output: String,
    /// The same of standard error, with what the harness says.
    pub(crate) complaint: String,
}

impl Gone {
    /// Whether it was killed by something else than the driver, as by a system that is short of memory.
    pub(crate) fn is_killed_by_others(&self) -> bool {
        self.status.signal() == Some(KILL) && !self.killed && os::interrupts() == 0
    }

    /// How it died in the middle of its work, if it did.
    pub(crate) fn death(&self, memory: Option<u64>) -> Option<Death> {
        if !self.greeted || self.killed {
            return None;
        }
        if let Some((after_ms, _)) = self.hung {
            return Some(Death::Hang { after_ms });
        }
        if self.answered {
            return None;
        }
        // What std says before it aborts.
        let starved = self.complaint.contains("memory allocation of ");
        Some(match (self.status.signal(), self.status.code()) {
            (Some(_), _) if starved => Death::Memory { limit: memory },
            (Some(number), _) => Death::signal(number),
            (None, code) => Death::Exit { code: code.unwrap_or(-1) },
        })
    }
}

impl Hosts<'_> {
    /// Whether hosts are told this by a variable.
    pub(crate) fn has(&self, variable: &str, value: &str) -> bool {
        self.variables.iter().any(|(name, given)| name == variable && given == value)
    }

    /// Runs a host to its end. `more` are variables for this one alone. `hear` gets every message.
    pub(crate) fn run(
        &self,
        test: &Test,
        task: Task<'_>,
        more: &[(String, String)],
        hear: &mut dyn FnMut(Message),
    ) -> io::Result<Gone> {
        let patient = matches!(task.work, JobKind::Judge { .. });
        let mut started = self.start(test, task, more)?;
        let mut hear = |message| match (message, self.tree) {
            (Message::Tree { tree }, Some(kept)) => kept.keep(*tree),
            (message, _) => hear(message),
        };
        // What was found before Ctrl-C was pressed is to be told.
        let interrupts = if patient { os::interrupts() } else { 0 };
        let said = Conversation { interrupts, ..Conversation::default() };
        let heard = said.hold(&mut started.child, &started.listener, &mut hear);
        started.end(heard)
    }

    /// Starts a host.
    pub(crate) fn start(
        &self,
        test: &Test,
        task: Task<'_>,
        more: &[(String, String)],
    ) -> io::Result<Started> {
        let Task { work, page, deaths } = task;
        let avoid = deaths.filter(|deaths| !deaths.avoid().is_empty());
        let avoid = avoid.map(|deaths| self.desk.avoid(deaths)).transpose()?;
        let socket = self.desk.path("sock");
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let job = Job {
            version: VERSION,
            work,
            channel: socket.to_string_lossy().into_owned(),
            page: page.map(|page| page.to_string_lossy().into_owned()),
            avoid: avoid.map(|path| path.to_string_lossy().into_owned()),
            spent_ms: deaths.map_or(0, Deaths::spent_ms),
            progress_ms: self.progress.as_millis().try_into().unwrap_or(u64::MAX),
            tree: self.tree.map(|kept| kept.executions),
        };
        let job = serde_json::to_string(&job).map_err(io::Error::other)?;
        let mut command = test.binary.command();
        command
            .args([
                "--exact",
                &test.id.test,
                "--nocapture",
                "--include-ignored",
                "--test-threads=1",
            ])
            .env(VARIABLE, job)
            .envs(self.variables.iter().chain(more).map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        os::prepare(&mut command, self.memory);
        let mut child = command.spawn()?;
        let shows = self.no_capture;
        let out = child.stdout.take().map(|pipe| Reading::start(pipe, shows));
        let err = child.stderr.take().map(|pipe| Reading::start(pipe, shows));
        Ok(Started { child, listener, socket, out, err })
    }
}

impl Started {
    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The host's end of the socket; none if it ended without a word, or Ctrl-C was pressed.
    pub(crate) fn accept(&mut self, said: &mut Conversation) -> io::Result<Option<UnixStream>> {
        let child = &self.child;
        said.accept((child.id(), &|| has_ended(child)), &self.listener, START)
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        has_ended(&self.child)
    }

    /// Waits for the end of the process, and not for ever.
    pub(crate) fn await_end(&self, said: &mut Conversation) -> io::Result<()> {
        said.await_end(&self.child)
    }

    /// What is left of a host when all was heard.
    pub(crate) fn end(self, heard: io::Result<Conversation>) -> io::Result<Gone> {
        let Self { mut child, socket, out, err, .. } = self;
        // Processes that the test has started go with it, and only then is the number given back.
        os::kill_group(child.id());
        let status = child.wait()?;
        let _ = fs::remove_file(&socket);
        let read = |reading: Option<Reading>| reading.map(Reading::end).unwrap_or_default();
        let (out, err) = (read(out), read(err));
        let Conversation { greeted, answered, hung, told_to_stop, killed, stood_still, .. } =
            heard?;
        let output = [out.own(), err.own()].concat();
        let complaint = err.text();
        Ok(Gone {
            status,
            greeted,
            answered,
            hung,
            told_to_stop,
            killed,
            stood_still,
            output,
            complaint,
        })
    }
}

/// What was heard of a host so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each may be so with any of the others")]
pub(crate) struct Conversation {
    greeted: bool,
    answered: bool,
    hung: Option<(u64, String)>,
    told_to_stop: bool,
    killed: bool,
    stood_still: bool,
    /// How often Ctrl-C was pressed before it began.
    interrupts: u32,
}

impl Conversation {
    /// Listens until the host is silent for good.
    fn hold(
        mut self,
        child: &mut Child,
        listener: &UnixListener,
        hear: &mut dyn FnMut(Message),
    ) -> io::Result<Self> {
        let connected = self.accept((child.id(), &|| has_ended(child)), listener, START)?;
        let Some(mut stream) = connected else { return Ok(self) };
        let lines = Lines::of(&stream)?;
        let (mut told, mut standstill): (Option<Patience>, _) = (None, Standstill::default());
        loop {
            match lines.received.recv_timeout(LOOK) {
                Ok(line) => {
                    self.line(&line, hear);
                    // It saves what it has, which takes as long as it takes.
                    told = told.map(|_| Patience::new(child.id()));
                }
                Err(RecvTimeoutError::Disconnected) => break,
                // A process it has started may hold the socket open after it is gone.
                Err(RecvTimeoutError::Timeout) if has_ended(child)? => break,
                // It is no finding: nothing that a test does is known to do that.
                Err(RecvTimeoutError::Timeout) if standstill.is_over(child.id()) => {
                    self.stood_still = true;
                    self.kill(child.id());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if os::interrupts() > self.interrupts && told.is_none() {
                told = Some(Patience::new(child.id()));
                self.told_to_stop = !self.answered;
                let _ = stream.write_all(format!("{STOP}\n").as_bytes());
            }
            let late = told.as_mut().is_some_and(Patience::is_over);
            if late || os::interrupts() > self.interrupts + 1 {
                self.killed = true;
                os::kill_group(child.id());
            }
        }
        self.await_end(child)?;
        os::kill_group(child.id());
        // Only now: while the host lives, a closed socket would end it.
        for line in lines.end(&stream) {
            self.line(&line, hear);
        }
        Ok(self)
    }

    /// The driver has killed it.
    pub(crate) fn kill(&mut self, process: u32) {
        self.killed = true;
        os::kill_group(process);
    }

    /// The host has no unit.
    pub(crate) fn is_idle(&mut self) {
        self.answered = true;
    }

    /// The host has a unit.
    pub(crate) fn is_busy(&mut self) {
        self.answered = false;
    }

    /// The host's end of the socket; none if it ends without a word, or says none for so long. A process is its number, and
    /// what says whether it has ended.
    fn accept(
        &mut self,
        (process, has_ended): (u32, &dyn Fn() -> io::Result<bool>),
        listener: &UnixListener,
        patience: Duration,
    ) -> io::Result<Option<UnixStream>> {
        let mut patience = Patience::within(patience, process);
        loop {
            // Asked first: on a busy machine a host can connect, say all that it has to say and die between the two questions.
            let ended = has_ended()?;
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(Some(stream));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if ended {
                return Ok(None);
            }
            if os::interrupts() > self.interrupts || patience.is_over() {
                self.kill(process);
                return Ok(None);
            }
            thread::sleep(LOOK / 10);
        }
    }

    pub(crate) fn line(&mut self, line: &str, hear: &mut dyn FnMut(Message)) {
        // A line that was cut off by its writer's death says nothing.
        let Ok(message) = serde_json::from_str::<Message>(line) else { return };
        match &message {
            Message::Hello { .. } => self.greeted = true,
            Message::Hung { after_ms, text } => self.hung = Some((*after_ms, text.clone())),
            Message::Finished { .. }
            | Message::Error { .. }
            | Message::Survived { .. }
            | Message::Strategies { .. } => self.answered = true,
            _ => {}
        }
        hear(message);
    }

    /// Waits for the end of the process, and not for ever.
    fn await_end(&mut self, child: &Child) -> io::Result<()> {
        let mut patience = Patience::new(child.id());
        while !has_ended(child)? {
            if patience.is_over() {
                self.killed = !self.answered;
                os::kill_group(child.id());
                return Ok(());
            }
            thread::sleep(LOOK / 10);
        }
        Ok(())
    }
}

/// The lines of a socket, which a thread reads.
pub(crate) struct Lines {
    pub(crate) received: Receiver<String>,
    reader: JoinHandle<()>,
}

impl Lines {
    pub(crate) fn of(stream: &UnixStream) -> io::Result<Self> {
        let (send, received) = mpsc::channel();
        let theirs = stream.try_clone()?;
        let reader = thread::spawn(move || {
            for line in BufReader::new(theirs).lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { received, reader })
    }

    /// The rest of what a host that is gone has said. A process that has left its group may hold the socket open: that is not
    /// waited for.
    pub(crate) fn end(self, stream: &UnixStream) -> Vec<String> {
        let (began, mut rest) = (Instant::now(), Vec::new());
        while let Ok(line) = self.received.recv_timeout(GRACE.saturating_sub(began.elapsed())) {
            rest.push(line);
        }
        let _ = stream.shutdown(Shutdown::Both);
        let _ = self.reader.join();
        rest.extend(self.received.try_iter());
        rest
    }
}

/// Whether a process has ended, without giving its number back: its group can still be killed.
fn has_ended(child: &Child) -> io::Result<bool> {
    os::has_ended(child.id())
}

/// What of a stream is shown: the lines between the fences, which are the test's own.
#[derive(Debug, Default)]
struct OwnLines {
    /// A line that has not ended.
    begun: Vec<u8>,
    within: bool,
}

impl OwnLines {
    /// What is to be shown now that these bytes have come.
    fn of(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let mut text = String::new();
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if line.trim_end() == OUTPUT {
                self.within = !self.within;
            } else if self.within {
                text.push_str(&line);
            }
        }
        text
    }
}

/// A stream that a thread reads.
#[derive(Debug)]
struct Reading {
    tail: Arc<Mutex<Tail>>,
    over: Receiver<()>,
}

impl Reading {
    /// Reads to the end. What comes is written to standard error too if it is to be shown, where it does not mix with
    /// what the driver says to programs.
    fn start(mut pipe: impl Read + Send + 'static, shows: bool) -> Self {
        let (tail, (send, over)) = (Arc::new(Mutex::new(Tail::default())), mpsc::channel());
        let kept = Arc::clone(&tail);
        thread::spawn(move || {
            let mut own_lines = shows.then(OwnLines::default);
            let mut chunk = [0; 8192];
            while let Ok(n @ 1..) = pipe.read(&mut chunk) {
                if let Some(own_lines) = &mut own_lines {
                    print::err(&own_lines.of(&chunk[..n]));
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).add(&chunk[..n]);
            }
            drop(send);
        });
        Self { tail, over }
    }

    /// What has come, when the process is gone. One that has left its group may hold the pipe: that is not waited for.
    fn end(self) -> Tail {
        let _ = self.over.recv_timeout(GRACE);
        std::mem::take(&mut *self.tail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The end of a stream.
#[derive(Debug, Default)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        let kept = &mut self.0;
        kept.extend_from_slice(bytes);
        if kept.len() > 2 * KEPT {
            // A fence that is dropped here is not missed: what is before it is dropped too.
            kept.drain(..kept.len() - KEPT);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// What the test itself printed: what is between the fences.
    fn own(&self) -> String {
        let text = self.text();
        let fence = format!("\n{OUTPUT}\n");
        let parts: Vec<&str> = text.split(&fence).collect();
        match parts.as_slice() {
            [_, own, ..] => *own,
            // Without a fence: so much was printed that the first is gone, or the host never came
            // so far. Then it is all the harness's.
            _ if self.0.len() >= KEPT => &text,
            _ => "",
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_test_itself_prints_is_shown() {
        let all = format!("running 1 test\n\n{OUTPUT}\none\ntwo\n\n{OUTPUT}\ntest result\n");
        // However it is cut: a fence that comes in two pieces is one.
        for size in 1..all.len() {
            let mut own_lines = OwnLines::default();
            let text: String = all.as_bytes().chunks(size).map(|part| own_lines.of(part)).collect();
            assert_eq!(text, "one\ntwo\n\n");
        }
    }

    #[test]
    fn what_the_harness_says_is_not_the_tests() {
        let own = |text: &str| Tail(text.as_bytes().to_vec()).own();
        assert_eq!(own(&format!("running 1 test\n\n{OUTPUT}\nhello\n\n{OUTPUT}\nok\n")), "hello\n");
        assert_eq!(own(&format!("running 1 test\n\n{OUTPUT}\nhello")), "hello");
        assert_eq!(own("running 1 test\n"), "");
    }

    #[test]
    fn the_end_of_a_long_stream_is_kept() {
        let long = "x".repeat(5 * KEPT) + "end";
        let tail = Reading::start(io::Cursor::new(long), false).end();
        assert!(tail.0.len() <= 2 * KEPT && tail.text().ends_with("xend"));
    }

    #[test]
    fn a_host_that_never_connects_is_killed() {
        let desk = Desk::new().expect("there is room for a directory");
        let listener = UnixListener::bind(desk.path("sock")).expect("it is a short path");
        listener.set_nonblocking(true).expect("it can");
        let mut command = std::process::Command::new("sleep");
        os::prepare(command.arg("1000"), None);
        let mut child = command.spawn().expect("every system has it");
        let mut said = Conversation::default();
        let process: (u32, &dyn Fn() -> io::Result<bool>) = (child.id(), &|| has_ended(&child));
        let heard = said.accept(process, &listener, Duration::from_millis(20));
        assert!(heard.expect("it can be asked").is_none() && said.killed);
        assert_eq!(child.wait().expect("it ends").signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_host_that_dies_at_once_is_heard() {
        let desk = Desk::new().expect("there is room for a directory");
        let socket = desk.path("sock");
        let listener = UnixListener::bind(&socket).expect("it is a short path");
        listener.set_nonblocking(true).expect("it can");
        // It does all that it does just before it is seen to have ended.
        let host = || {
            UnixStream::connect(&socket)?.write_all(b"its last words\n")?;
            Ok(true)
        };
        let heard = Conversation::default().accept((0, &host), &listener, START);
        let stream = heard.expect("it can be asked").expect("it has connected");
        assert_eq!(Lines::of(&stream).expect("it can be read").end(&stream), ["its last words"]);
    }

    #[test]
    fn a_stream_that_another_process_holds_open_is_not_waited_for() {
        let (held, mut theirs) = io::pipe().expect("there are pipes");
        let reading = Reading::start(held, false);
        theirs.write_all(b"its last words").expect("it is read");
        assert_eq!(reading.end().text(), "its last words");
        let (ours, mut theirs) = UnixStream::pair().expect("there are sockets");
        let lines = Lines::of(&ours).expect("it can be read");
        theirs.write_all(b"one\ntwo\n").expect("it is read");
        assert_eq!(lines.end(&ours), ["one", "two"]);
    }
}
