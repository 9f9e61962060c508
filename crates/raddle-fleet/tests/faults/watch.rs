//! What hangs is ended with all that it has started, and named: else a job that waits for it would be ended without a word.

use std::fs;
use std::process::{Command, Stdio, exit};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::say;

/// No test takes so long on a machine that is very busy; each has limits of its own, which fail it sooner.
const LONGEST: Duration = Duration::from_secs(600);

/// Does it, and ends this process if that takes too long.
pub(crate) fn within<T>(name: &str, test: impl FnOnce() -> T) -> T {
    let (over, until_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if until_over.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                say(&format!("test {name} ... FAILED: it was not over after {LONGEST:?}"));
                for child in children() {
                    kill(&child);
                }
                exit(101);
            }
        });
        let done = test();
        drop(over);
        done
    })
}

/// The processes that this one has started and that are still there.
fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let all: String = threads.filter_map(of).collect();
    all.split_whitespace().map(str::to_owned).collect()
}

fn kill(child: &str) {
    let _ = Command::new("kill").args(["-9", child]).stderr(Stdio::null()).status();
}
