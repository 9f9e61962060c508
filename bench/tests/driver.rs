//! What `raddle-bench driver` counts instructions of.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

/// Two threads with three operations each, spawned and joined.
#[raddle::test]
fn two_threads(n: AtomicU32) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..3 {
                    n.fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(n.load(SeqCst), 6);
}
