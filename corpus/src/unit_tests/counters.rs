//! Counters, tokens and phases.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier, Condvar, Mutex};
use raddle::thread;

pub(super) fn mutex_counter() {
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..2 {
                    *count.lock().unwrap() += 1;
                }
            });
        }
    });
    assert_eq!(count.into_inner().unwrap(), 6);
}

pub(super) fn atomic_counter() {
    let count = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || {
                count.fetch_add(1, SeqCst);
                count.fetch_add(1, SeqCst);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(count.load(SeqCst), 6);
}

pub(super) fn ticket_numbers() {
    let (next, taken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let number = next.fetch_add(1, SeqCst);
                taken.lock().unwrap().push(number);
            });
        }
    });
    let mut taken = taken.into_inner().unwrap();
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 2]);
}

pub(super) fn ordered_transfers() {
    let accounts = [Mutex::new(10), Mutex::new(10), Mutex::new(10)];
    let transfer = |from: usize, to: usize, amount: i32| {
        let (first, second) = (from.min(to), from.max(to));
        let mut first = accounts[first].lock().unwrap();
        let mut second = accounts[second].lock().unwrap();
        let (from, to) =
            if from < to { (&mut first, &mut second) } else { (&mut second, &mut first) };
        **from -= amount;
        **to += amount;
    };
    thread::scope(|scope| {
        scope.spawn(|| transfer(0, 1, 3));
        scope.spawn(|| transfer(1, 2, 5));
        scope.spawn(|| transfer(2, 0, 7));
    });
    let balances = accounts.map(|account| account.into_inner().unwrap());
    assert_eq!(balances, [14, 8, 8]);
}

/// A bucket that is asked whether one more may pass.
struct Bucket {
    tokens: Mutex<u32>,
}

impl Bucket {
    fn try_take(&self) -> bool {
        let mut tokens = self.tokens.lock().unwrap();
        if *tokens == 0 {
            return false;
        }
        *tokens -= 1;
        true
    }

    fn refill(&self) {
        *self.tokens.lock().unwrap() += 1;
    }
}

pub(super) fn token_bucket() {
    let bucket = Bucket { tokens: Mutex::new(1) };
    let passed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                if bucket.try_take() {
                    passed.fetch_add(1, SeqCst);
                }
            });
        }
        scope.spawn(|| bucket.refill());
    });
    let passed = passed.load(SeqCst);
    assert!((1..=2).contains(&passed), "{passed} passed");
}

pub(super) fn barrier_phases() {
    let (barrier, ended) = (Barrier::new(2), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for phase in 1..=2 {
                    ended.fetch_add(1, SeqCst);
                    barrier.wait();
                    assert!(ended.load(SeqCst) >= 2 * phase, "all have ended phase {phase}");
                    barrier.wait();
                }
            });
        }
    });
}

/// Counts down, and lets go who waits when it is at zero.
struct Latch {
    count: Mutex<usize>,
    is_open: Condvar,
}

impl Latch {
    fn count_down(&self) {
        let mut count = self.count.lock().unwrap();
        *count -= 1;
        if *count == 0 {
            self.is_open.notify_all();
        }
    }

    fn wait(&self) {
        drop(self.is_open.wait_while(self.count.lock().unwrap(), |count| *count > 0).unwrap());
    }
}

pub(super) fn latch() {
    let latch = Latch { count: Mutex::new(3), is_open: Condvar::new() };
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                done.fetch_add(1, SeqCst);
                latch.count_down();
            });
        }
        latch.wait();
        assert_eq!(done.load(SeqCst), 3);
    });
}
