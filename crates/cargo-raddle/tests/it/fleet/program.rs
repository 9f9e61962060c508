//! What the runs of many machines search.

/// The tests.
pub(super) const PROGRAM: &str = r#"
use std::time::Duration;

use raddle::actors::{Actor, Address, Context, System};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

fn add(n: &AtomicU32, threads: u32, times: u32) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || for _ in 0..times { n.fetch_add(1, SeqCst); });
        }
    });
}

/// 11! / (3!^3 * 2!) executions.
#[raddle::test(strategy = "dfs", executions = 1_000_000)]
fn many() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        let n = &n;
        for times in [3, 3, 3, 2] {
            scope.spawn(move || for _ in 0..times { n.fetch_add(1, SeqCst); });
        }
    });
    assert_eq!(n.load(SeqCst), 11);
}

/// 24! / 6!^4 executions.
#[raddle::test(strategy = "dfs", executions = 1_000_000_000)]
fn endless(n: AtomicU32) {
    add(&n, 4, 6);
}

#[raddle::test(strategy = "dfs", executions = 1_000_000)]
fn lossy() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| { let seen = n.load(SeqCst); n.store(seen + 1, SeqCst); });
        }
    });
    assert_eq!(n.load(SeqCst), 2, "an <b>update</b> is lost");
}

#[raddle::test(strategy = "dpor")]
fn reduced(n: AtomicU32) {
    add(&n, 4, 2);
}

/// Counts what it is sent.
#[derive(Default)]
struct Total(u32);

impl Actor for Total {
    type Message = u32;

    fn handle(&mut self, more: u32, _: &mut Context<'_, u32>) {
        self.0 += more;
    }
}

/// Sends it on.
struct Relay(Address<u32>);

impl Actor for Relay {
    type Message = u32;

    fn handle(&mut self, more: u32, cx: &mut Context<'_, u32>) {
        cx.send(&self.0, more);
    }
}

#[raddle::test(strategy = "dpor(source)")]
fn actors() {
    let system = System::new();
    let total = system.spawn_named("total", Total::default());
    for name in ["a", "b", "c"] {
        let relay = system.spawn_named(name, Relay(total.clone()));
        system.send(&relay, 1);
        system.send(&relay, 2);
    }
    system.handle_all();
    assert_eq!(system.inspect(&total, |total: &Total| total.0), 9);
}

// The reduction that needs no record does not see through the timeout.
#[raddle::test(strategy = "dpor")]
fn a_timeout() {
    let (lock, woken) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *lock.lock().unwrap() = true;
            woken.notify_one();
        });
        let mut ready = lock.lock().unwrap();
        if !*ready {
            ready = woken.wait_timeout(ready, Duration::from_millis(1)).unwrap().0;
        }
        drop(ready);
    });
}

#[raddle::test(strategy = "all best-first(pb) preemptions(2)")]
fn frontier(n: AtomicU32) {
    add(&n, 3, 4);
}

#[raddle::test(strategy = "pos", executions = 5000)]
fn sampled(n: AtomicU32) {
    add(&n, 3, 3);
}

#[raddle::test]
fn by_default(n: AtomicU32) {
    add(&n, 3, 2);
}

#[raddle::test(strategy = "dfs")]
fn small(n: AtomicU32) {
    add(&n, 2, 2);
}

/// Aborts in one order: digits of base 4, the first thread to move the first.
fn aborts_in(order_of_death: u32, n: &AtomicU32, times: u32) {
    // Not raddle's, so no step.
    let order = std::sync::atomic::AtomicU32::new(0);
    thread::scope(|scope| {
        for id in 1..4 {
            let order = &order;
            scope.spawn(move || {
                for _ in 0..times {
                    n.fetch_add(1, SeqCst);
                    let so_far = 4 * order.load(SeqCst) + id;
                    order.store(so_far, SeqCst);
                    if so_far == order_of_death {
                        std::process::abort();
                    }
                }
            });
        }
    });
}

// In one of 1,680 orders.
#[raddle::test(strategy = "dfs")]
fn one_order_aborts(n: AtomicU32) {
    aborts_in(0b10_11_01_10_11_01_10_11_01, &n, 3);
}

// In one of 6 orders.
#[raddle::test(strategy = "dfs")]
fn one_dies(n: AtomicU32) {
    aborts_in(0b10_11_01, &n, 1);
}
"#;
