//! What the tests of this process have covered, said when it ends.
//!
//! The harness of `cargo test` keeps what a passing test prints and shows it only if asked to, so the guarantee of a pass would
//! be seen by few. The lines are written after the harness has written its own, by a function that the C library calls
//! at the end of the process; where there is none (off Unix) only the file is written, test by test.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use raddle_report::{SummaryRow, summary_lines, summary_markdown};
use raddle_trace::Report;

use crate::config::Config;
use crate::progress::ShowProgress;

/// What there is to say at the end.
struct Ended {
    rows: Vec<SummaryRow>,
    /// Whether lines are written to standard error.
    lines: bool,
    /// Where a table is added.
    file: Option<PathBuf>,
}

static ENDED: Mutex<Ended> = Mutex::new(Ended { rows: Vec::new(), lines: false, file: None });

/// What of a configuration decides what is said of its test.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    lines: bool,
    file: Option<PathBuf>,
}

impl Summary {
    pub(crate) fn new(config: &Config) -> Self {
        // A configuration that was made without the environment is a program's own, which shows what it wants to.
        let lines = config.env.ci.is_some() && config.progress != ShowProgress::Never;
        Self { lines, file: config.summary.as_ref().map(PathBuf::from) }
    }

    /// Keeps what a test came to until the process ends.
    pub(crate) fn add(&self, report: &Report, passed: bool) {
        if !self.lines && self.file.is_none() {
            return;
        }
        let test = report.test.as_deref().unwrap_or("a check without a name");
        let row = SummaryRow::new(test, report, passed);
        let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        ended.rows.push(row);
        ended.lines |= self.lines;
        ended.file = ended.file.take().or_else(|| self.file.clone());
        if !is_called_at_exit() {
            write(&mut ended);
        }
    }
}

/// Writes what has been kept. What cannot be written is said, and is no reason to fail.
fn write(ended: &mut Ended) {
    let rows = std::mem::take(&mut ended.rows);
    if rows.is_empty() {
        return;
    }
    let mut text = String::new();
    if ended.lines {
        text.push_str(&summary_lines(&rows));
    }
    if let Some(path) = &ended.file {
        // One write, so that binaries which end at the same time do not mix their tables.
        let mut append = OpenOptions::new();
        let file = append.create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(summary_markdown(&rows).as_bytes()));
        if let Err(error) = written {
            let path = path.display();
            let _ = writeln!(text, "raddle: the summary was not written to {path}: {error}");
        }
    }
    // Not by the macro, whose output the harness may keep. If its reader is gone, that is no reason to stop.
    if !text.is_empty() {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Whether the end of this process will write what is kept.
fn is_called_at_exit() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(at_exit::register)
}

#[cfg(unix)]
mod at_exit {
    #![expect(unsafe_code, reason = "the C library calls a function at the end of the process")]

    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{ENDED, write};

    /// The process that registered: a fork of it has the function too, and nothing to say.
    static PROCESS: AtomicU32 = AtomicU32::new(0);

    pub(super) fn register() -> bool {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: a function without arguments that does not unwind, in a binary that is never unloaded.
        unsafe { libc::atexit(said) == 0 }
    }

    extern "C" fn said() {
        if PROCESS.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        // A test that another thread is in the middle of has not ended, and is not waited for.
        if let Ok(mut ended) = ENDED.try_lock() {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write(&mut ended)));
        }
    }
}

#[cfg(not(unix))]
mod at_exit {
    pub(super) fn register() -> bool {
        false
    }
}
