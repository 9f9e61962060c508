//! The programs whose cost is budgeted, each for one thing that costs.

use std::sync::Arc;

use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::{Condvar, Mutex, mpsc};
use raddle_threads::thread::{self, JoinHandle};

type Body = Box<dyn Fn() + Sync>;

/// The program of this name: a word and its numbers, as in `own-2x500`.
///
/// # Errors
/// If there is none.
pub(crate) fn find(name: &str) -> Result<Body, String> {
    let (word, numbers) = name.split_once('-').unwrap_or((name, ""));
    let numbers: Result<Vec<usize>, _> =
        numbers.split('x').filter(|number| !number.is_empty()).map(str::parse).collect();
    let numbers = numbers.map_err(|error| format!("{name}: {error}"))?;
    Ok(match (word, numbers.as_slice()) {
        ("tiny", []) => Box::new(tiny),
        ("locks", []) => Box::new(|| contended(3, 2)),
        ("channel", []) => Box::new(channel),
        ("condvar", []) => Box::new(condvar),
        ("empty", &[threads]) => Box::new(move || empty(threads)),
        ("own", &[threads, accesses]) => Box::new(move || own(threads, accesses)),
        ("pairs", &[threads, pairs]) => Box::new(move || self::pairs(threads, pairs)),
        ("contended", &[threads, sections]) => Box::new(move || contended(threads, sections)),
        ("adders", &[threads, sums]) => Box::new(move || adders(threads, sums)),
        ("readers", &[readers]) => Box::new(move || self::readers(readers)),
        ("lastzero", &[writers]) => Box::new(move || last_zero(writers)),
        ("filesystem", &[processes]) => Box::new(move || file_system(processes)),
        _ => {
            return Err(format!(
                "no program `{name}`: there are tiny, locks, channel, condvar, empty-N, readers-N, lastzero-N, \
                 filesystem-N, and own, pairs, adders and contended with -NxN"
            ));
        }
    })
}

/// Two threads with three ops each on one atomic: what a short test pays for.
fn tiny() {
    let shared = Arc::new(AtomicUsize::new(0));
    join([1, 2].map(|value| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.fetch_add(value, SeqCst);
            shared.load(SeqCst);
            shared.store(value, SeqCst);
        })
    }));
}

/// Two producers send four messages to the main thread.
fn channel() {
    let (sender, receiver) = mpsc::channel();
    let producers = [1_usize, 2].map(|value| {
        let sender = sender.clone();
        thread::spawn(move || {
            for _ in 0..2 {
                sender.send(value).expect("the receiver outlives the producers");
            }
        })
    });
    for _ in 0..4 {
        receiver.recv().expect("each producer sends two messages");
    }
    join(producers);
}

#[derive(Default)]
struct Buffer {
    item: Mutex<Option<usize>>,
    filled: Condvar,
    emptied: Condvar,
}

impl Buffer {
    fn put(&self, value: usize) {
        let mut item = self.item.lock().expect("no holder panics");
        while item.is_some() {
            item = self.emptied.wait(item).expect("no holder panics");
        }
        *item = Some(value);
        self.filled.notify_one();
    }

    fn take(&self) -> usize {
        let mut item = self.item.lock().expect("no holder panics");
        loop {
            if let Some(value) = item.take() {
                self.emptied.notify_one();
                return value;
            }
            item = self.filled.wait(item).expect("no holder panics");
        }
    }
}

/// A buffer for one item, through which one thread passes three to another.
fn condvar() {
    let buffer = Arc::new(Buffer::default());
    let (producer, consumer) = (Arc::clone(&buffer), buffer);
    join([
        thread::spawn(move || (0..3).for_each(|value| producer.put(value))),
        thread::spawn(move || (0..3).for_each(|value| assert_eq!(consumer.take(), value))),
    ]);
}

/// So many threads add so many times to one variable: all steps conflict, and every interleaving is another trace.
fn adders(threads: usize, sums: usize) {
    let sum = Arc::new(AtomicUsize::new(0));
    let spawn = |_| {
        let sum = Arc::clone(&sum);
        thread::spawn(move || {
            for _ in 0..sums {
                sum.fetch_add(1, SeqCst);
            }
        })
    };
    let threads: Vec<_> = (0..threads).map(spawn).collect();
    join(threads);
}

/// So many threads that do nothing.
fn empty(threads: usize) {
    let threads: Vec<_> = (0..threads).map(|_| thread::spawn(|| ())).collect();
    join(threads);
}

/// So many threads, with so many accesses each to a variable of their own: no two steps conflict.
fn own(threads: usize, accesses: usize) {
    let spawn = |value| {
        thread::spawn(move || {
            let own = AtomicUsize::new(0);
            for _ in 0..accesses {
                own.fetch_add(value, SeqCst);
            }
        })
    };
    let threads: Vec<_> = (0..threads).map(spawn).collect();
    join(threads);
}

/// So many threads, with so many pairs each of a load and a store, on one variable.
fn pairs(threads: usize, pairs: usize) {
    let shared = Arc::new(AtomicUsize::new(0));
    let spawn = |_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            for _ in 0..pairs {
                shared.store(shared.load(SeqCst) + 1, SeqCst);
            }
        })
    };
    let threads: Vec<_> = (0..threads).map(spawn).collect();
    join(threads);
}

/// So many threads, with so many sections each on one lock.
fn contended(threads: usize, sections: usize) {
    let total = Arc::new(Mutex::new(0_usize));
    let spawn = |value| {
        let total = Arc::clone(&total);
        thread::spawn(move || {
            for _ in 0..sections {
                *total.lock().expect("no holder panics") += value;
            }
        })
    };
    let threads: Vec<_> = (0..threads).map(spawn).collect();
    join(threads);
}

/// One thread writes what so many others read, each after a read of a variable of its own.
fn readers(readers: usize) {
    let shared = Arc::new(AtomicUsize::new(0));
    let reader = |_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let own = AtomicUsize::new(0);
            own.load(SeqCst);
            shared.load(SeqCst);
        })
    };
    let writer = Arc::clone(&shared);
    let writer = thread::spawn(move || writer.store(1, SeqCst));
    let readers: Vec<_> = (0..readers).map(reader).collect();
    join([writer]);
    join(readers);
}

/// So many threads write `a[i] = a[i - 1] + 1`, and one looks for the last 0.
fn last_zero(writers: usize) {
    let array: Arc<Vec<_>> = Arc::new((0..=writers).map(|_| AtomicUsize::new(0)).collect());
    let reader = {
        let array = Arc::clone(&array);
        thread::spawn(move || {
            let mut i = writers;
            while array[i].load(SeqCst) != 0 {
                i -= 1;
            }
        })
    };
    let spawn = |i: usize| {
        let array = Arc::clone(&array);
        thread::spawn(move || array[i].store(array[i - 1].load(SeqCst) + 1, SeqCst))
    };
    let writers: Vec<_> = (1..=writers).map(spawn).collect();
    join([reader]);
    join(writers);
}

/// So many threads, each of which takes a lock of its own and then one that it may share with others.
fn file_system(processes: usize) {
    const INODES: usize = 32;
    const BLOCKS: usize = 26;
    let inodes: Arc<Vec<_>> = Arc::new((0..INODES).map(|_| Mutex::new(0)).collect());
    let blocks: Arc<Vec<_>> = Arc::new((0..BLOCKS).map(|_| Mutex::new(false)).collect());
    let spawn = |process: usize| {
        let (inodes, blocks) = (Arc::clone(&inodes), Arc::clone(&blocks));
        thread::spawn(move || {
            let i = process % INODES;
            let mut inode = inodes[i].lock().expect("no holder panics");
            let mut b = 2 * i % BLOCKS;
            while *inode == 0 {
                let mut busy = blocks[b].lock().expect("no holder panics");
                if !*busy {
                    *busy = true;
                    *inode = b + 1;
                }
                b = (b + 1) % BLOCKS;
            }
        })
    };
    let threads: Vec<_> = (0..processes).map(spawn).collect();
    join(threads);
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}
