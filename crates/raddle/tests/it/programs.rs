//! Small programs that the tests run.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Named, thread};

/// Two tasks add one each, in two steps.
pub(crate) fn lost_update() {
    let n = Arc::new(AtomicU32::new(0).named("n"));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || add_one(&theirs));
    add_one(&n);
    thread.join().unwrap();
    assert_eq!(n.load(SeqCst), 2, "an update was lost");
}

fn add_one(n: &AtomicU32) {
    let seen = n.load(SeqCst);
    n.store(seen + 1, SeqCst);
}

/// Numbers that are looked for and added in critical sections of their own.
struct Numbers {
    items: Mutex<Vec<u32>>,
}

impl Numbers {
    fn has(&self, n: u32) -> bool {
        self.items.lock().unwrap().contains(&n)
    }

    fn add(&self, n: u32) {
        let mut items = self.items.lock().unwrap();
        items.push(n);
    }
}

/// Two threads of one name add what is not there yet.
pub(crate) fn added_twice() {
    let numbers = Arc::new(Numbers { items: Mutex::new(Vec::new()) });
    let adder = || {
        let numbers = Arc::clone(&numbers);
        let thread = thread::Builder::new().name("adder".to_owned());
        let body = move || {
            if !numbers.has(7) {
                numbers.add(7);
            }
        };
        thread.spawn(body).unwrap()
    };
    let (one, other) = (adder(), adder());
    one.join().unwrap();
    other.join().unwrap();
    assert_eq!(numbers.items.lock().unwrap().len(), 1, "added twice");
}

/// Two tasks take two locks in opposite orders.
pub(crate) fn lock_order() {
    let (a, b) = (Arc::new(Mutex::new(()).named("a")), Arc::new(Mutex::new(()).named("b")));
    let (their_a, their_b) = (Arc::clone(&a), Arc::clone(&b));
    let thread = thread::spawn(move || {
        let _b = their_b.lock().unwrap();
        let _a = their_a.lock().unwrap();
    });
    {
        let _a = a.lock().unwrap();
        let _b = b.lock().unwrap();
    }
    thread.join().unwrap();
}

/// Two tasks add one each, in one step.
pub(crate) fn kept_update() {
    let n = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || theirs.fetch_add(1, SeqCst));
    n.fetch_add(1, SeqCst);
    thread.join().unwrap();
    assert_eq!(n.load(SeqCst), 2);
}

/// Three tasks of ten steps each: 30! / 10!^3 executions, too many for anyone.
pub(crate) fn large() {
    let n = Arc::new(AtomicU32::new(0));
    for _ in 0..2 {
        let theirs = Arc::clone(&n);
        thread::spawn(move || ten_times(&theirs));
    }
    ten_times(&n);
}

fn ten_times(n: &AtomicU32) {
    for _ in 0..10 {
        n.fetch_add(1, SeqCst);
    }
}
