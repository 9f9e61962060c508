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

/// Ends what hangs. No verdict depends on it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// A process with a group of its own, which is killed when this is dropped or when it hangs.
#[derive(Debug)]
pub(crate) struct Watched {
    /// None: it was waited for.
    child: Option<Child>,
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
        let child = command.process_group(0).spawn().unwrap();
        let (alive, until_dropped) = mpsc::channel::<()>();
        let (pid, hung) = (child.id(), Arc::new(AtomicBool::new(false)));
        let found = Arc::clone(&hung);
        thread::spawn(move || {
            if until_dropped.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                found.store(true, Ordering::SeqCst);
                kill_group(pid);
            }
        });
        Self { child: Some(child), hung, _until_dropped: alive }
    }

    /// What it says to the end, as far as that goes to pipes that nothing else reads.
    pub(crate) fn wait_with_output(mut self) -> Output {
        let out = self.stdout.take().map(read);
        let err = self.stderr.take().map(read);
        let all = |read: Option<Gathered>| read.map_or_else(Vec::new, Gathered::end);
        let (stdout, stderr) = (all(out), all(err));
        Output { status: self.end(), stdout, stderr }
    }

    /// Waits for its end, which is its own and not that of the watch.
    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        let status = self.wait().unwrap();
        assert!(!self.hung.load(Ordering::SeqCst), "it hung for {DEADLINE:?} and was killed");
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
    fn end(self) -> Vec<u8> {
        let over = self.over.recv_timeout(DEADLINE + Duration::from_secs(10));
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
        let stdout = self.out.take().map_or_else(Vec::new, Gathered::end);
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            self.seen.push_str(&line);
        }
        let stderr = std::mem::take(&mut self.seen).into_bytes();
        let output = Output { status: self.child.end(), stdout, stderr };
        Done::of(&output)
    }
}
