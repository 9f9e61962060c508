//! Other tools' names for what raddle has, so that their tests move over by changing imports.
//!
//! `use raddle::migrate::loom;` or `use raddle::migrate::shuttle;` where the crate was, and a test file
//! compiles and runs. What differs is in `book/src/migrating.md`: above all, atomics are sequentially
//! consistent here, where loom also tries weaker executions.

/// loom's names.
///
/// ```
/// use raddle::migrate::loom;
///
/// use loom::sync::Arc;
/// use loom::sync::atomic::{AtomicUsize, Ordering};
///
/// loom::model(|| {
///     let n = Arc::new(AtomicUsize::new(0));
///     let theirs = Arc::clone(&n);
///     let thread = loom::thread::spawn(move || theirs.fetch_add(1, Ordering::Relaxed));
///     n.fetch_add(1, Ordering::Relaxed);
///     thread.join().unwrap();
///     assert_eq!(n.load(Ordering::Relaxed), 2);
/// });
/// ```
pub mod loom {
    pub use crate::{cell, hint, thread, thread_local};

    /// Primitives: those of std, and [`Notify`](sync::Notify). [`Arc`](sync::Arc) is the one whose count is
    /// under control, as loom's is.
    pub mod sync {
        pub use crate::sync::counted::{Arc, Weak};
        pub use crate::sync::*;

        /// Wakes one waiter, now or when it comes.
        #[derive(Debug, Default)]
        pub struct Notify {
            notified: Mutex<bool>,
            changed: Condvar,
        }

        impl Notify {
            /// No thread was notified.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Lets one waiter go on.
            pub fn notify(&self) {
                *self.notified.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.changed.notify_one();
            }

            /// Waits for a notification, and takes it.
            pub fn wait(&self) {
                let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
                while !*notified {
                    notified = self.changed.wait(notified).unwrap_or_else(PoisonError::into_inner);
                }
                *notified = false;
            }
        }
    }

    /// Runs every execution of a test up to the order of independent steps: `dpor`, changed by `RADDLE_*`
    /// variables.
    ///
    /// # Panics
    /// If an execution fails, with the whole report.
    #[track_caller]
    pub fn model<F>(test: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        super::check("dpor", None, None, test);
    }

    /// Settings for [`model`](fn@model).
    pub mod model {
        use std::time::Duration;

        /// What a test is run with. Fields that loom has for itself alone (threads, branches,
        /// checkpoints, logs) are not there: raddle has no such limits.
        #[derive(Clone, Debug, Default)]
        #[non_exhaustive]
        pub struct Builder {
            /// At most so many preemptions in each execution.
            pub preemption_bound: Option<usize>,
            /// At most so many executions.
            pub max_permutations: Option<usize>,
            /// At most for so long.
            pub max_duration: Option<Duration>,
        }

        impl Builder {
            /// No bound and no limit.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Runs the test: `dpor`, or `dfs preemptions(k) cache` with a bound.
            ///
            /// # Panics
            /// If an execution fails, with the whole report.
            #[track_caller]
            pub fn check<F>(&self, test: F)
            where
                F: Fn() + Send + Sync + 'static,
            {
                let strategy = match self.preemption_bound {
                    Some(bound) => format!("dfs preemptions({bound}) cache"),
                    None => "dpor".to_owned(),
                };
                super::super::check(&strategy, self.max_permutations, self.max_duration, test);
            }
        }
    }
}

/// shuttle's names.
///
/// ```
/// use raddle::migrate::shuttle;
///
/// use shuttle::sync::{Arc, Mutex};
///
/// shuttle::check_random(
///     || {
///         let total = Arc::new(Mutex::new(0));
///         let theirs = Arc::clone(&total);
///         let thread = shuttle::thread::spawn(move || *theirs.lock().unwrap() += 1);
///         *total.lock().unwrap() += 1;
///         thread.join().unwrap();
///         assert_eq!(*total.lock().unwrap(), 2);
///     },
///     100,
/// );
/// ```
pub mod shuttle {
    pub use crate::{hint, sync, thread, thread_local};

    /// Runs `iterations` executions at random.
    ///
    /// # Panics
    /// If one fails, with the whole report.
    #[track_caller]
    pub fn check_random<F>(test: F, iterations: usize)
    where
        F: Fn() + Send + Sync + 'static,
    {
        super::check("random", Some(iterations), None, test);
    }

    /// Runs `iterations` executions with random priorities and so many changes of them.
    ///
    /// # Panics
    /// If one fails, with the whole report.
    #[track_caller]
    pub fn check_pct<F>(test: F, iterations: usize, depth: usize)
    where
        F: Fn() + Send + Sync + 'static,
    {
        super::check(&format!("pct({depth})"), Some(iterations), None, test);
    }

    /// Runs `iterations` executions, each interleaving about as likely as any other.
    ///
    /// # Panics
    /// If one fails, with the whole report.
    #[track_caller]
    pub fn check_urw<F>(test: F, iterations: usize)
    where
        F: Fn() + Send + Sync + 'static,
    {
        super::check("urw", Some(iterations), None, test);
    }

    /// Runs every execution, or the first so many.
    ///
    /// # Panics
    /// If one fails, with the whole report.
    #[track_caller]
    pub fn check_dfs<F>(test: F, max_iterations: Option<usize>)
    where
        F: Fn() + Send + Sync + 'static,
    {
        super::check("dfs", max_iterations, None, test);
    }

    /// Runs one execution again: a token that raddle printed. Those of shuttle mean nothing here.
    ///
    /// # Panics
    /// If it fails, or cannot be replayed.
    #[track_caller]
    pub fn replay<F>(test: F, schedule: &str)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let config = crate::Config { replay: Some(schedule.to_owned()), ..super::config("random") };
        crate::check_with(config, test);
    }
}

/// The configuration of the environment, with another strategy where that names none.
#[track_caller]
fn config(strategy: &str) -> crate::Config {
    let config = crate::Config { strategy: strategy.to_owned(), ..crate::Config::default() };
    match config.with_env() {
        Ok(config) => config,
        Err(error) => panic!("raddle could not run this test: {error}"),
    }
}

#[track_caller]
fn check<F>(strategy: &str, executions: Option<usize>, time: Option<std::time::Duration>, test: F)
where
    F: Fn() + Send + Sync + 'static,
{
    let mut config = config(strategy);
    config.executions = config.executions.or(executions.map(|n| n as u64));
    config.time = config.time.or(time);
    crate::check_with(config, test);
}
