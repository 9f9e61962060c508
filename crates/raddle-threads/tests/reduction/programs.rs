//! The programs of the literature on partial-order reduction.

use std::sync::Arc;

use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;

fn atomics(n: usize) -> Arc<Vec<AtomicUsize>> {
    Arc::new((0..n).map(|_| AtomicUsize::new(0)).collect())
}

fn run_all(bodies: Vec<Box<dyn FnOnce() + Send>>) {
    let children: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    for child in children {
        child.join().expect("no panic");
    }
}

fn bodies(n: usize, body: impl Fn(usize) + Send + Sync + 'static) -> Vec<Box<dyn FnOnce() + Send>> {
    let body = Arc::new(body);
    (0..n)
        .map(|i| {
            let body = Arc::clone(&body);
            Box::new(move || body(i)) as Box<dyn FnOnce() + Send>
        })
        .collect()
}

pub(crate) fn readers(n: usize) {
    let a = atomics(n + 1);
    run_all(bodies(n + 1, move |i| {
        if i == 0 {
            a[0].store(1, SeqCst);
        } else {
            a[i].load(SeqCst);
            a[0].load(SeqCst);
        }
    }));
}

pub(crate) fn last_zero(n: usize) {
    let a = atomics(n + 1);
    run_all(bodies(n + 1, move |i| {
        if i == 0 {
            let mut at = n;
            while a[at].load(SeqCst) != 0 {
                at -= 1;
            }
        } else {
            let before = a[i - 1].load(SeqCst);
            a[i].store(before + 1, SeqCst);
        }
    }));
}

pub(crate) fn inc(n: usize) {
    let a = atomics(1);
    run_all(bodies(n, move |_| {
        let value = a[0].load(SeqCst);
        a[0].store(value + 1, SeqCst);
    }));
}

pub(crate) fn cinc(n: usize, counters: usize) {
    let a = atomics(counters);
    run_all(bodies(n, move |_| {
        for counter in a.iter() {
            counter.fetch_add(1, SeqCst);
        }
    }));
}

pub(crate) fn wcas(n: usize) {
    let a = atomics(1);
    run_all(bodies(n + 1, move |i| {
        if i == 0 {
            a[0].store(2, SeqCst);
        } else {
            let _ = a[0].compare_exchange(2, 3, SeqCst, SeqCst);
        }
    }));
}

pub(crate) fn circular_buffer(threads: usize, sections: usize) {
    let lock = Mutex::new(0);
    run_all(bodies(threads, move |_| {
        for _ in 0..sections {
            *lock.lock().expect("not poisoned") += 1;
        }
    }));
}

pub(crate) fn independent(threads: usize, steps: usize) {
    let a = atomics(threads);
    run_all(bodies(threads, move |i| (0..steps).for_each(|_| a[i].store(1, SeqCst))));
}

pub(crate) fn indexer(n: usize) {
    let table = atomics(128);
    run_all(bodies(n, move |t| {
        for m in 1..=4 {
            let w = m * 11 + t;
            let mut h = (7 * w) % 128;
            while table[h].compare_exchange(0, w, SeqCst, SeqCst).is_err() {
                h = (h + 1) % 128;
            }
        }
    }));
}

pub(crate) fn file_system(n: usize) {
    let locks: Vec<_> = (0..32 + 26).map(|_| Mutex::new(0_usize)).collect();
    run_all(bodies(n, move |t| {
        let i = t % 32;
        let mut inode = locks[i].lock().expect("not poisoned");
        if *inode == 0 {
            let mut b = (i * 2) % 26;
            loop {
                let mut busy = locks[32 + b].lock().expect("not poisoned");
                if *busy == 0 {
                    *busy = 1;
                    *inode = b + 1;
                    break;
                }
                drop(busy);
                b = (b + 1) % 26;
            }
        }
    }));
}
