//! Executions that wait for something outside of raddle are named by their place. Linux tells.
#![cfg(all(target_os = "linux", not(miri)))]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Config, Note, Report, explore, thread};

const STRATEGIES: [&str; 4] = ["auto", "dfs", "random", "portfolio"];

fn searched(strategy: &str, test: fn()) -> Report {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    config.executions = Some(4);
    explore(config, test).expect("a search can run here")
}

/// Microseconds, and the lines between which they were waited.
fn waits(report: &Report) -> Vec<(u64, Option<u32>, Option<u32>)> {
    let wait = |note: &Note| match note {
        Note::WaitsOutside { us, after, before } => {
            let line = |site: &Option<raddle::trace::Site>| site.as_ref().map(|site| site.line);
            Some((*us, line(after), line(before)))
        }
        _ => None,
    };
    report.notes.iter().filter_map(wait).collect()
}

/// Two threads, and something that is done between two steps of the first.
fn between_two_steps(work: impl Fn()) -> (u32, u32) {
    let n = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&n);
    let other = thread::spawn(move || {
        theirs.fetch_add(1, SeqCst);
    });
    let (first, last) = (line!() + 1, line!() + 3);
    n.fetch_add(1, SeqCst);
    work();
    n.load(SeqCst);
    other.join().unwrap();
    (first, last)
}

const SLEEP: Duration = Duration::from_millis(20);

#[test]
fn a_real_sleep_is_named_by_the_steps_around_it() {
    // Some sandboxes do not say for how long a thread could have run.
    if !Path::new("/proc/thread-self/schedstat").exists() {
        return;
    }
    let (first, last) = between_two_steps(|| {});
    for strategy in STRATEGIES {
        let report = searched(strategy, || {
            between_two_steps(|| std::thread::sleep(SLEEP));
        });
        let found = waits(&report);
        let [(us, after, before)] = found[..] else { panic!("{strategy}: {found:?}") };
        assert_eq!((after, before), (Some(first), Some(last)), "{strategy}");
        // However busy the machine is, it slept as long as that.
        assert!(us >= 15_000, "{strategy}: {us}");
    }
}

#[test]
fn nothing_is_said_of_tests_that_do_not_wait() {
    for strategy in STRATEGIES {
        let ordinary = searched(strategy, || {
            between_two_steps(|| {});
        });
        assert_eq!(waits(&ordinary), [], "{strategy}");
        // However busy the machine is: who is kept from running does not wait.
        let busy = searched(strategy, || {
            between_two_steps(|| {
                black_box((0..2_000_000_u64).fold(0, |sum, n| black_box(sum ^ n)));
            });
        });
        assert_eq!(waits(&busy), [], "{strategy}");
        // Time of raddle's own clock takes no time.
        let sleeps = searched(strategy, || {
            between_two_steps(|| thread::sleep(Duration::from_secs(3600)));
        });
        assert_eq!(waits(&sleeps), [], "{strategy}");
    }
}
