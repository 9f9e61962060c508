//! Executions on threads in real time: with random delays, and as they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use raddle_actors::{Deliveries, Manager, RandomDelays, System};
use raddle_corpus::program::Program;

use super::runs::Try;

/// So many executions with delays are run at the same time: they do nothing but wait.
const AT_A_TIME: usize = 48;

/// Runs a program once; whether it failed.
pub(crate) fn once(
    program: &Program,
    arguments: &[usize],
    deliveries: Option<impl Deliveries>,
) -> bool {
    let run = || {
        let builder = System::builder().manager(Manager::Concurrent { threads: 2 });
        let system = match deliveries {
            Some(deliveries) => builder.deliveries(deliveries).build(),
            None => builder.build(),
        };
        program.call_on(&system, arguments);
        system.shutdown();
    };
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// Runs a program until it fails or time is over.
fn until(limit: Duration, mut fails: impl FnMut(u64) -> bool) -> Try {
    let begin = Instant::now();
    let mut executions = 0;
    loop {
        executions += 1;
        let found = fails(executions);
        let time = begin.elapsed();
        if found || time >= limit {
            // What is found after the time is over is not found.
            let found = found && time <= limit;
            return Try { found, executions, time: time.min(limit) };
        }
    }
}

/// Without delays.
pub(crate) fn plain(program: &Program, arguments: &[usize], limit: Duration) -> Try {
    until(limit, |_| once(program, arguments, None::<RandomDelays>))
}

/// With delays of at most so much.
pub(crate) fn delayed(
    program: &Program,
    arguments: &[usize],
    most: Duration,
    seed: u64,
    limit: Duration,
) -> Try {
    until(limit, |nth| {
        let delays = RandomDelays::new(most, seed.wrapping_mul(1 << 20).wrapping_add(nth));
        once(program, arguments, Some(delays))
    })
}

/// What each of these comes to, many at a time.
pub(crate) fn all<T: Sync, R: Send>(of: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(of.len()) {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = of.get(nth) else { return };
                    let result = run(one);
                    results.lock().expect("nothing panics here").push((nth, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("nothing panics here");
    results.sort_by_key(|(nth, _)| *nth);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs code whose panics are expected, and says nothing of them.
pub(crate) fn silently<T>(code: impl FnOnce() -> T) -> T {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = code();
    std::panic::set_hook(usual);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_what_was_asked() {
        let asked: Vec<u64> = (0..200).collect();
        assert_eq!(all(&asked, |n| n * 2), asked.iter().map(|n| n * 2).collect::<Vec<_>>());
    }
}
