//! Who hears how far a search is: a function of the caller's, or the terminal.
//!
//! The searching thread is asked by the one that waits for it (`watch.rs`), which has the clock, and
//! answers between two executions. While nobody asks, that costs one load for each execution; if nobody
//! ever will, nothing.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use raddle_engine::Ended;
use raddle_engine::observer::Paused;
use raddle_trace::Progress;

use crate::checkpoint;
use crate::config::Config;
use crate::watch::Orders;

/// From one line on the terminal to the next.
const LINES: Duration = Duration::from_secs(2);

/// Whether [`check`](crate::check()) writes lines to standard error while it searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ShowProgress {
    /// If standard error is a terminal and the variable `CI` is not set. Where the environment is not
    /// read: no.
    #[default]
    Auto,
    /// Yes, wherever they go, every two seconds.
    Always,
    /// Yes, one in each so long a time.
    Every(Duration),
    /// No.
    Never,
}

/// A function that hears how far a search is.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use raddle::{Config, Observer, explore};
///
/// let heard = Arc::new(AtomicU64::new(0));
/// let theirs = Arc::clone(&heard);
/// let mut config = Config::default();
/// config.strategy = "dfs".into();
/// config.time = Some(Duration::from_millis(300));
/// config.observer = Some(Observer::new(Duration::from_millis(10), move |progress| {
///     assert!(progress.executions > 0 && progress.rate.is_some());
///     let total = progress.estimate.expect("dfs estimates").total;
///     assert!(total.low <= total.about && total.about <= total.high);
///     theirs.fetch_add(1, SeqCst);
/// }));
/// let report = explore(config, || {
///     let n = Arc::new(raddle::sync::atomic::AtomicU32::new(0));
///     let threads: Vec<_> = (0..4)
///         .map(|_| {
///             let n = Arc::clone(&n);
///             raddle::thread::spawn(move || for _ in 0..6 { n.fetch_add(1, SeqCst); })
///         })
///         .collect();
///     threads.into_iter().for_each(|thread| thread.join().unwrap());
/// })?;
/// assert!(heard.load(SeqCst) > 0);
/// // 24! / 6!^4 = 2.3 × 10^12 executions do not end in 300 ms.
/// assert!(report.progress.expect("it did not finish").left_ms > Some(1e6));
/// # Ok::<(), raddle::Error>(())
/// ```
#[derive(Clone)]
pub struct Observer {
    pub(crate) every: Duration,
    pub(crate) hear: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Observer {
    /// Calls `hear` on the thread that started the search, at most once in each `every`, and only
    /// between two executions. While it runs no limit of time is looked at, so it should be short.
    pub fn new(every: Duration, hear: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self { every, hear: Arc::new(hear) }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("every", &self.every).finish_non_exhaustive()
    }
}

/// Whether they are the same function, and not two that do the same.
impl PartialEq for Observer {
    fn eq(&self, other: &Self) -> bool {
        self.every == other.every && Arc::ptr_eq(&self.hear, &other.hear)
    }
}

impl Eq for Observer {}

/// Writes lines for the test of this configuration, if it is to.
pub(crate) fn lines(config: &Config) -> Option<Observer> {
    let every = how_often(config, io::stderr().is_terminal())?;
    let test = config.test.as_ref().map_or(String::new(), |test| format!("{test}: "));
    Some(Observer::new(every, move |progress| {
        let line = format!("{test}{}\n", raddle_report::progress_line(progress));
        // Not by the macro, whose output the test harness keeps until the test has ended. If
        // nobody is there to read it, that is no reason to stop.
        let _ = io::stderr().write_all(line.as_bytes());
    }))
}

/// From one line to the next; none if there are to be none.
fn how_often(config: &Config, is_terminal: bool) -> Option<Duration> {
    match config.progress {
        ShowProgress::Always => Some(LINES),
        ShowProgress::Every(time) => Some(time),
        ShowProgress::Never => None,
        ShowProgress::Auto => (config.ci == Some(false) && is_terminal).then_some(LINES),
    }
}

/// Says how far a search is, and leaves a checkpoint, when it is asked to.
pub(crate) struct ProgressReporter<'a> {
    pub(crate) orders: &'a Orders,
    /// Where what the search needs to go on is kept, if it is.
    pub(crate) kept: Option<&'a checkpoint::Place>,
}

impl raddle_engine::Observer for ProgressReporter<'_> {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        let executions = search.counts().executions;
        // Before the first execution there is nothing to say.
        if executions == 0 {
            return;
        }
        if let Some(kept) = self.kept
            && self.orders.is_to_be_kept()
        {
            kept.keep(search);
        }
        if self.orders.is_asked() {
            self.orders.tell(&Progress { executions, ..search.progress() });
        }
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, ended: &Ended) {
        if let Some(kept) = self.kept {
            kept.finish(search, ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_for_people_at_a_terminal_and_for_who_asks() {
        let of = |progress, ci| Config { progress, ci, ..Config::default() };
        let auto = |ci| of(ShowProgress::Auto, ci);
        assert_eq!(how_often(&auto(Some(false)), true), Some(LINES));
        assert_eq!(how_often(&auto(Some(false)), false), None, "a pipe");
        assert_eq!(how_often(&auto(Some(true)), true), None, "a CI with a terminal");
        assert_eq!(how_often(&auto(None), true), None, "the environment was not read");
        assert_eq!(how_often(&of(ShowProgress::Always, Some(true)), false), Some(LINES));
        assert_eq!(how_often(&of(ShowProgress::Never, Some(false)), true), None);
        let often = ShowProgress::Every(Duration::from_millis(20));
        assert_eq!(how_often(&of(often, None), false), Some(Duration::from_millis(20)));
    }
}
