//! Timed waits really end by their timeout.

use std::time::Duration;

use raddle::sync::mpsc::{self, RecvTimeoutError};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use crate::program::{Group, Program};

const SOURCE: &str = "shuttle: a false deadlock; loom: the timeout never fires";
const SHORT: Duration = Duration::from_millis(1);

/// `wait-timeout`.
pub const WAIT_TIMEOUT: Program =
    Program::new("wait-timeout", Group::Peers, "nobody notifies, and the wait ends")
        .source(SOURCE)
        .plain(wait_timeout);

/// A timed wait that can only end by its timeout.
pub fn wait_timeout() {
    let (lock, never) = (Mutex::new(false), Condvar::new());
    let set = lock.lock().unwrap();
    let (set, ended) = never.wait_timeout_while(set, SHORT, |set| !*set).unwrap();
    assert!(ended.timed_out() && !*set);
}

/// `recv-timeout`.
pub const RECV_TIMEOUT: Program =
    Program::new("recv-timeout", Group::Peers, "nobody sends, and the receive ends")
        .source(SOURCE)
        .plain(recv_timeout);

/// A timed receive that can only end by its timeout: the sender is still there.
pub fn recv_timeout() {
    let (sender, receiver) = mpsc::channel::<()>();
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    drop(sender);
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Disconnected));
}

/// `park-timeout`.
pub const PARK_TIMEOUT: Program =
    Program::new("park-timeout", Group::Peers, "nobody unparks, and the wait ends")
        .source(SOURCE)
        .plain(park_timeout);

/// A timed park that can only end by its timeout.
pub fn park_timeout() {
    thread::spawn(|| thread::park_timeout(SHORT)).join().unwrap();
}

/// `timeout-or-not`.
pub const TIMEOUT_OR_NOT: Program =
    Program::new("timeout-or-not", Group::Peers, "a wait ends by its timeout or by a notification")
        .source(SOURCE)
        .sees(timeout_or_not, &[&[0], &[1]]);

/// Whether the wait ended by its timeout.
#[must_use]
pub fn timeout_or_not() -> Vec<usize> {
    let (set, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *set.lock().unwrap() = true;
            changed.notify_one();
        });
        let set = set.lock().unwrap();
        let (_, ended) = changed.wait_timeout_while(set, SHORT, |set| !*set).unwrap();
        vec![usize::from(ended.timed_out())]
    })
}
