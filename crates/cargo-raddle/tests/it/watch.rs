//! Commands that are watched: one that hangs is killed with all that it has started, so that its test fails by name.

use std::io::{BufRead as _, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::Done;
use crate::interrupts::is_gone;

/// Ends what hangs. No verdict depends on it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// A process with a group of its own, which is killed when this is dropped or when it hangs.
#[derive(Debug)]
pub(crate) struct Watched {
    /// None: it was waited for.
    child: Option<Child>,
    /// After this it hangs.
    limit: Duration,
    hung: Arc<AtomicBool>,
    /// Dropped with this.
    _until_dropped: mpsc::Sender<()>,
}

fn kill_group(pid: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args(["-9", "--", &format!("-{pid}")]).stderr(Stdio::null()).status();
}

impl Watched {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::spawn_within(command, DEADLINE)
    }

    fn spawn_within(command: &mut Command, limit: Duration) -> Self {
        let child = command.process_group(0).spawn().unwrap();
        let (alive, until_dropped) = mpsc::channel::<()>();
        let (pid, hung) = (child.id(), Arc::new(AtomicBool::new(false)));
        let found = Arc::clone(&hung);
        thread::spawn(move || {
            if until_dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                found.store(true, Ordering::SeqCst);
                kill_group(pid);
            }
        });
        Self { child: Some(child), limit, hung, _until_dropped: alive }
    }

    /// What it says to the end, as far as that goes to pipes that nothing else reads.
    #[track_caller]
    pub(crate) fn wait_with_output(mut self) -> Output {
        let (out, err) = (self.stdout.take().map(read), self.stderr.take().map(read));
        let (stdout, stderr) = (self.rest_of(out), self.rest_of(err));
        let status = self.end_having_said(&[&stdout[..], &stderr].concat());
        Output { status, stdout, stderr }
    }

    /// All that comes from a pipe.
    #[track_caller]
    fn rest_of(&self, read: Option<Gathered>) -> Vec<u8> {
        read.map_or_else(Vec::new, |read| read.end(self.limit))
    }

    /// Waits for its end, which is its own and not that of the watch.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.end_having_said(&[])
    }

    #[track_caller]
    fn end_having_said(&mut self, said: &[u8]) -> ExitStatus {
        let status = self.wait().unwrap();
        let (hung, limit) = (self.hung.load(Ordering::SeqCst), self.limit);
        assert!(!hung, "it hung for {limit:?} and was killed: {}", String::from_utf8_lossy(said));
        status
    }
}

impl Deref for Watched {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.child.as_ref().unwrap()
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The number of one that was waited for may be another's by now.
        if let Some(mut child) = self.child.take()
            && child.try_wait().is_ok_and(|ended| ended.is_none())
        {
            kill_group(child.id());
            let _ = child.wait();
        }
    }
}

/// What a thread reads from a pipe.
struct Gathered {
    bytes: Arc<Mutex<Vec<u8>>>,
    over: Receiver<()>,
}

fn read(mut pipe: impl Read + Send + 'static) -> Gathered {
    let (bytes, (send, over)) = (Arc::new(Mutex::new(Vec::new())), mpsc::channel());
    let kept = Arc::clone(&bytes);
    thread::spawn(move || {
        let mut chunk = [0; 8192];
        while let Ok(n @ 1..) = pipe.read(&mut chunk) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..n]);
        }
        drop(send);
    });
    Gathered { bytes, over }
}

impl Gathered {
    /// All of it. A process that has left the group may hold the pipe, and that is not for the test to wait for.
    #[track_caller]
    fn end(self, limit: Duration) -> Vec<u8> {
        let over = self.over.recv_timeout(limit + Duration::from_secs(10));
        let bytes = std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner));
        let said = String::from_utf8_lossy(&bytes);
        assert_eq!(over, Err(RecvTimeoutError::Disconnected), "its output has no end: {said}");
        bytes
    }
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Watched::spawn(command).wait_with_output()
}

/// A command in the background, both of whose streams are read.
pub(crate) struct Background {
    pub(crate) child: Watched,
    out: Option<Gathered>,
    /// Lines of standard error, and those that were read.
    lines: Receiver<String>,
    seen: String,
}

impl Background {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Watched::spawn(command);
        let out = child.stdout.take().map(read);
        let err = child.stderr.take().unwrap();
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(err).split(b'\n').map_while(Result::ok) {
                let _ = send.send(String::from_utf8_lossy(&line).into_owned() + "\n");
            }
        });
        Self { child, out, lines, seen: String::new() }
    }

    /// Reads what it complains about until a line has this.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            self.seen.push_str(&line);
            if line.contains(words) {
                return line;
            }
        }
        panic!("it ended, or hung, and did not say `{words}`: {}", self.seen);
    }

    /// Waits for its end, with all that it complained about.
    #[track_caller]
    pub(crate) fn end(mut self) -> Done {
        let out = self.out.take();
        let stdout = self.child.rest_of(out);
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            self.seen.push_str(&line);
        }
        let stderr = std::mem::take(&mut self.seen).into_bytes();
        let output = Output { status: self.child.end(), stdout, stderr };
        Done::of(&output)
    }
}

/// What a test that waits for this command says when it fails, which it must.
#[cfg(test)]
fn failure_of(wait: impl FnOnce() -> Output + std::panic::UnwindSafe) -> String {
    let failed = std::panic::catch_unwind(wait).expect_err("it never ends of itself");
    failed.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_command_that_hangs_is_killed_with_its_group_and_its_test_fails() {
    // One that has not said what it has started is given more time.
    let mut limit = Duration::from_millis(20);
    let started = loop {
        let said = failure_of(move || {
            let mut command = Command::new("sh");
            command.args(["-c", "tail -f /dev/null & echo $!; wait"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            Watched::spawn_within(&mut command, limit).wait_with_output()
        });
        let said = said.strip_prefix(&format!("it hung for {limit:?} and was killed: "));
        let said = said.expect("that is why it failed");
        if let Ok(process) = said.trim().parse() {
            break process;
        }
        assert_eq!(said, "");
        limit *= 2;
    };
    // It had the pipe, which is closed.
    is_gone(started);
}

#[test]
fn a_command_that_is_no_longer_wanted_is_killed_with_its_group() {
    let mut command = Command::new("sh");
    command.args(["-c", "tail -f /dev/null & echo $!; wait"]);
    let mut watched = Watched::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    let mut line = String::new();
    let mut out = BufReader::new(watched.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(watched);
    is_gone(line.trim().parse().unwrap());
}
