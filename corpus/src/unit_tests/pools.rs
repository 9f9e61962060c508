//! Pools of connections, workers and permits.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, mpsc};
use raddle::thread;

/// Connections that are lent, and come back when a guard is dropped.
struct Pool {
    idle: Mutex<Vec<usize>>,
    returned: Condvar,
}

struct Lent<'a> {
    pool: &'a Pool,
    connection: usize,
}

impl Pool {
    fn lend(&self) -> Lent<'_> {
        let idle = self.idle.lock().unwrap();
        let mut idle = self.returned.wait_while(idle, |idle| idle.is_empty()).unwrap();
        Lent { pool: self, connection: idle.pop().unwrap() }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.pool.idle.lock().unwrap().push(self.connection);
        self.pool.returned.notify_one();
    }
}

pub(super) fn connection_pool() {
    let pool = Pool { idle: Mutex::new(vec![0, 1]), returned: Condvar::new() };
    let in_use = [AtomicBool::new(false), AtomicBool::new(false)];
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let lent = pool.lend();
                assert!(!in_use[lent.connection].swap(true, SeqCst), "lent twice");
                in_use[lent.connection].store(false, SeqCst);
            });
        }
    });
    assert_eq!(pool.idle.into_inner().unwrap().len(), 2);
}

pub(super) fn worker_pool() {
    let (sender, receiver) = mpsc::channel::<usize>();
    let (receiver, done) = (Arc::new(Mutex::new(receiver)), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (receiver, done) = (Arc::clone(&receiver), Arc::clone(&done));
            thread::spawn(move || {
                loop {
                    let job = receiver.lock().unwrap().recv();
                    let Ok(job) = job else { return };
                    done.fetch_add(job, SeqCst);
                }
            })
        })
        .collect();
    for job in [1, 10, 100] {
        sender.send(job).unwrap();
    }
    drop(sender);
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(done.load(SeqCst), 111);
}

/// A counting semaphore.
struct Semaphore {
    permits: Mutex<usize>,
    released: Condvar,
}

impl Semaphore {
    fn acquire(&self) {
        let permits = self.permits.lock().unwrap();
        *self.released.wait_while(permits, |permits| *permits == 0).unwrap() -= 1;
    }

    fn release(&self) {
        *self.permits.lock().unwrap() += 1;
        self.released.notify_one();
    }
}

pub(super) fn semaphore_permits() {
    let semaphore = Semaphore { permits: Mutex::new(2), released: Condvar::new() };
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                semaphore.acquire();
                assert!(inside.fetch_add(1, SeqCst) < 2, "at most two");
                inside.fetch_sub(1, SeqCst);
                semaphore.release();
            });
        }
    });
}

pub(super) fn shutdown() {
    let (sender, receiver) = mpsc::channel();
    let stopped = Arc::new(AtomicBool::new(false));
    let worker = {
        let stopped = Arc::clone(&stopped);
        thread::spawn(move || {
            let done: Vec<u32> = receiver.iter().collect();
            assert!(stopped.load(SeqCst), "it goes on until it is stopped");
            done
        })
    };
    let client = {
        let sender = sender.clone();
        thread::spawn(move || sender.send(1).unwrap())
    };
    sender.send(2).unwrap();
    client.join().unwrap();
    stopped.store(true, SeqCst);
    drop(sender);
    let mut done = worker.join().unwrap();
    done.sort_unstable();
    assert_eq!(done, [1, 2]);
}
