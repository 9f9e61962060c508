//! What a user gives to hear how far a search is: a function of their own, or lines on the terminal.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use raddle_trace::Progress;

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
/// use raddle::{Config, ProgressListener, explore};
///
/// let heard = Arc::new(AtomicU64::new(0));
/// let theirs = Arc::clone(&heard);
/// let mut config = Config::default();
/// config.strategy = "dfs".into();
/// config.time = Some(Duration::from_millis(300));
/// config.observer = Some(ProgressListener::new(Duration::from_millis(10), move |progress| {
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
/// // 24! / 6!^4 = 2.3 × 10^12 executions do not end in 300 ms. What is left is told only where the band is narrow enough.
/// let left = report.progress.expect("it did not finish").left_ms;
/// assert!(left.is_none_or(|left| left > 1e6));
/// # Ok::<(), raddle::Error>(())
/// ```
#[derive(Clone)]
pub struct ProgressListener {
    pub(crate) every: Duration,
    pub(crate) hear: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl ProgressListener {
    /// Calls `hear` on the thread that started the search, at most once in each `every`, and only
    /// between two executions. While it runs no limit of time is looked at, so it should be short.
    pub fn new(every: Duration, hear: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self { every, hear: Arc::new(hear) }
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressListener").field("every", &self.every).finish_non_exhaustive()
    }
}

/// Whether they are the same function, and not two that do the same.
impl PartialEq for ProgressListener {
    fn eq(&self, other: &Self) -> bool {
        self.every == other.every && Arc::ptr_eq(&self.hear, &other.hear)
    }
}

impl Eq for ProgressListener {}
