//! Many tests, some at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use raddle_trace::events::Ending;
use raddle_trace::exit;

use crate::check::{self, Heard, Regressions, Tested};
use crate::error::DriverError;
use crate::find::Test;
use crate::fleet::Fleet;
use crate::host::{Desk, HostTree, Hosts};
use crate::os;
use crate::settings::{Settings, Shared};
use crate::show::Show;

/// From one line of progress to the next.
pub(crate) const PROGRESS: Duration = Duration::from_millis(250);

/// How often it is looked whether Ctrl-C was pressed, if nothing else happens.
const LOOK: Duration = Duration::from_millis(50);

/// What a run is run with.
#[derive(Debug)]
pub(crate) struct Runner<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) settings: &'a Settings,
    pub(crate) regressions: Regressions,
    /// Where the tree of decisions is kept, if it is wanted.
    pub(crate) tree: Option<&'a HostTree>,
    /// From one word of progress to the next.
    pub(crate) progress: Duration,
    /// Other machines that search, if they do.
    pub(crate) fleet: Option<&'a dyn Fleet>,
    /// Whether no further test is begun when one has failed.
    pub(crate) fail_fast: bool,
    /// Whether what tests print is shown while they print it.
    pub(crate) no_capture: bool,
}

enum Event {
    Started(usize),
    Heard(usize, Heard),
    Finished(usize, Box<Tested>),
}

impl<'a> Runner<'a> {
    /// Of a command that neither looks at saved regressions nor keeps trees.
    pub(crate) fn plain(desk: &'a Desk, settings: &'a Settings) -> Self {
        let regressions = Regressions::LeftAlone;
        let (tree, progress, fleet) = (None, PROGRESS, None);
        Self {
            desk,
            settings,
            regressions,
            tree,
            progress,
            fleet,
            fail_fast: false,
            no_capture: false,
        }
    }

    /// How a host is started, where one test at a time is looked at.
    pub(crate) fn with_hosts<T>(&self, work: impl FnOnce(&Hosts<'_>) -> T) -> T {
        self.with_shared_hosts(self.settings.shared(1), work)
    }

    fn with_shared_hosts<T>(&self, shared: Shared, work: impl FnOnce(&Hosts<'_>) -> T) -> T {
        let variables = self.settings.variables();
        let memory = self.settings.host_memory;
        let Self { desk, tree, progress, fleet, no_capture, .. } = *self;
        let workers = self.settings.workers;
        let variables = &variables;
        let hosts =
            Hosts { desk, variables, memory, progress, tree, workers, shared, fleet, no_capture };
        work(&hosts)
    }

    /// Checks the tests, and shows what happens. The results are in the order of the tests; after
    /// Ctrl-C, or a failure with `fail_fast`, those that were not begun are missing.
    pub(crate) fn run(&self, tests: &[Test], show: &mut dyn Show) -> Vec<Tested> {
        let mut all: Vec<Option<Tested>> = vec![None; tests.len()];
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let shared = self.settings.shared(tests.len());
        let (send, events) = mpsc::channel();
        self.with_shared_hosts(shared, |hosts| {
            thread::scope(|scope| {
                for _ in 0..shared.tests {
                    let (send, next, stopped) = (send.clone(), &next, &stopped);
                    // The thread that starts a host waits for it: a host dies with its thread.
                    scope.spawn(move || {
                        while os::interrupts() == 0 && !stopped.load(Ordering::Relaxed) {
                            let index = next.fetch_add(1, Ordering::Relaxed);
                            let Some(test) = tests.get(index) else { break };
                            let _ = send.send(Event::Started(index));
                            let mut hear = |heard| drop(send.send(Event::Heard(index, heard)));
                            let tested = check::check(hosts, test, self.regressions, &mut hear);
                            if self.fail_fast && tested.ending == Ending::Failed {
                                stopped.store(true, Ordering::Relaxed);
                            }
                            let _ = send.send(Event::Finished(index, Box::new(tested)));
                        }
                    });
                }
                drop(send);
                watch(&events, tests, IdleProcessors::new(self.settings), show, &mut all);
            });
        });
        all.into_iter().flatten().collect()
    }
}

/// Shows what happens until nothing can any more, and keeps the results. Ctrl-C is acknowledged at once, though searches
/// may take a while to end.
fn watch(
    events: &Receiver<Event>,
    tests: &[Test],
    mut idle: IdleProcessors,
    show: &mut dyn Show,
    all: &mut [Option<Tested>],
) {
    let mut running = 0;
    let mut acknowledged = os::interrupts() > 0;
    loop {
        let event = events.recv_timeout(LOOK);
        if !acknowledged && os::interrupts() > 0 {
            acknowledged = true;
            show.interrupted(running);
        }
        match event {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Ok(Event::Started(index)) => {
                running += 1;
                show.started(&tests[index]);
            }
            Ok(Event::Heard(index, Heard::Progress(progress))) => {
                show.progress(&tests[index], &progress);
                if let Some(workers) = idle.worth_saying(progress.elapsed_ms, running) {
                    show.processors_idle(&tests[index], workers);
                }
            }
            Ok(Event::Heard(index, Heard::Retried(path, what))) => {
                show.retried(&tests[index], &path, what);
            }
            Ok(Event::Finished(index, tested)) => {
                running -= 1;
                show.finished(&tested);
                all[index] = Some(*tested);
            }
        }
    }
}

/// Whether a long search leaves processors idle that could share it. A search is one host's unless more are asked for, so that
/// the same seed has the same executions in the same order everywhere.
#[derive(Clone, Copy, Debug)]
struct IdleProcessors {
    /// Hosts that may be alive at once; none where it was said how many share a search.
    jobs: Option<usize>,
}

impl IdleProcessors {
    /// A search that ends before is not worth a word.
    const AFTER_MS: u64 = 20_000;

    fn new(settings: &Settings) -> Self {
        Self { jobs: settings.workers.count.is_none().then_some(settings.jobs) }
    }

    /// How many hosts could share each search that goes on, if a search has taken so long and so many tests are running. Said once.
    fn worth_saying(&mut self, elapsed_ms: u64, running: usize) -> Option<usize> {
        let each = self.jobs? / running.max(1);
        if each < 2 || elapsed_ms < Self::AFTER_MS {
            return None;
        }
        self.jobs = None;
        Some(each)
    }
}

/// A place for sockets and pages.
pub(crate) fn desk() -> Result<Desk, DriverError> {
    Desk::new().map_err(|error| DriverError::tool(format!("no temporary directory: {error}")))
}

/// How many tests ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) inconclusive: u64,
    pub(crate) interrupted: u64,
    pub(crate) not_run: u64,
    pub(crate) ignored: u64,
}

impl Tally {
    pub(crate) fn of(tested: &[Tested], all: usize, ignored: u64) -> Self {
        let count = |ending| tested.iter().filter(|tested| tested.ending == ending).count() as u64;
        Self {
            passed: count(Ending::Passed),
            failed: count(Ending::Failed),
            inconclusive: count(Ending::Inconclusive),
            interrupted: count(Ending::Interrupted),
            not_run: (all - tested.len()) as u64,
            ignored,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            _ if os::interrupts() > 0 => exit::INTERRUPTED,
            Self { failed: 1.., .. } => exit::FAILED,
            Self { inconclusive: 1.., .. } => exit::INCONCLUSIVE,
            Self { passed: 0, .. } => exit::NO_TESTS,
            _ => exit::PASSED,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::settings::Workers;

    #[test]
    fn a_long_search_that_leaves_processors_idle_is_named_once() {
        let of = |jobs, count| {
            let workers = Workers { count, ..Workers::default() };
            let (knobs, host_memory, links) = (BTreeMap::new(), None, None);
            IdleProcessors::new(&Settings { knobs, jobs, workers, host_memory, links })
        };
        let long = IdleProcessors::AFTER_MS;
        let mut one = of(8, None);
        assert_eq!(one.worth_saying(long - 1, 1), None, "it may end soon");
        assert_eq!(one.worth_saying(long, 2), Some(4));
        assert_eq!(one.worth_saying(long + 1, 1), None, "it was said");
        assert_eq!(
            of(8, Some(2)).worth_saying(long, 1),
            None,
            "it was said how many share a search"
        );
        assert_eq!(
            of(8, None).worth_saying(long, 5),
            None,
            "each has one, and no two are left over for all"
        );
        assert_eq!(of(1, None).worth_saying(long, 1), None, "there is one processor");
    }

    #[test]
    fn a_failure_weighs_more_than_what_is_not_known() {
        let code = |failed, inconclusive| {
            Tally { passed: 1, failed, inconclusive, ..Tally::default() }.exit_code()
        };
        assert_eq!(code(0, 0), exit::PASSED);
        assert_eq!(code(0, 1), exit::INCONCLUSIVE);
        assert_eq!(code(1, 1), exit::FAILED);
        assert_eq!(Tally::default().exit_code(), exit::NO_TESTS);
    }
}
