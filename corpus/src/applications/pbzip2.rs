//! A compressor in the shape of pbzip2: a producer reads blocks into a bounded queue, consumers
//! compress them, and a file writer puts them together in order.
//!
//! Compression is by lengths of runs, and what was written is expanded again and compared. The input
//! and the output file are in memory; a full queue, an empty one and a block that is not ready are
//! waited for.

use std::collections::VecDeque;

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Application, program};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, Program, parameter};

/// The application.
pub const APPLICATION: Application = Application {
    name: "pbzip2",
    line: "a producer, consumers and a file writer over a bounded queue",
    tests: &[Test {
        correct: of("pbzip2", "b blocks through n consumers", |b, n| {
            test(Flaw::None, b, n);
        }),
        bugs: &[
            of("pbzip2-free", "the queue is freed when the file is written", |b, n| {
                test(Flaw::EarlyFree, b, n);
            })
            .bug(Expected::Panic, "order violation, use after free"),
            of("pbzip2-size", "the size of a block is there before the block is", |b, n| {
                test(Flaw::SizeFirst, b, n);
            })
            .bug(Expected::Panic, "race over two variables"),
            of("pbzip2-plain", "the file writer looks at a plain size without the lock", |b, n| {
                test(Flaw::PlainSize, b, n);
            })
            .bug(Expected::DataRace, "data race"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("b", 2, 1, 100), parameter("n", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[20, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// The main thread waits for the file writer and not for the consumers, of which some still
    /// look whether there is another block.
    EarlyFree,
    /// The consumer says how long the block is, then puts it down. The file writer goes by the length.
    SizeFirst,
    /// The file writer looks at the length without the lock. Nothing goes wrong but the race.
    PlainSize,
}

/// Bytes of a block.
const BLOCK: usize = 6;

/// Lengths of runs: (how often, which byte) …
fn compress(block: &[u8]) -> Vec<u8> {
    let runs = block.chunk_by(|a, b| a == b);
    runs.flat_map(|run| [u8::try_from(run.len()).unwrap(), run[0]]).collect()
}

fn expand(bytes: &[u8]) -> Vec<u8> {
    let runs = bytes.chunks_exact(2);
    runs.flat_map(|run| std::iter::repeat_n(run[1], run[0].into())).collect()
}

/// The queue of blocks to compress.
struct Queue {
    blocks: Mutex<Blocks>,
    not_full: Condvar,
    not_empty: Condvar,
    /// Its memory belongs to another thread.
    freed: AtomicBool,
}

#[derive(Default)]
struct Blocks {
    waiting: VecDeque<(usize, Vec<u8>)>,
    /// No more will come.
    all_read: bool,
}

impl Queue {
    /// As many blocks as this can wait.
    const MAX_WAITING: usize = 1;

    fn touch(&self) {
        assert!(!self.freed.load(SeqCst), "the queue is used after it was freed");
    }

    fn put(&self, number: usize, block: Vec<u8>) {
        let mut blocks = self.blocks.lock().unwrap();
        while blocks.waiting.len() >= Self::MAX_WAITING {
            blocks = self.not_full.wait(blocks).unwrap();
        }
        blocks.waiting.push_back((number, block));
        self.not_empty.notify_one();
    }

    fn close(&self) {
        self.blocks.lock().unwrap().all_read = true;
        self.not_empty.notify_all();
    }

    /// `None` if there will be no more.
    fn take(&self) -> Option<(usize, Vec<u8>)> {
        self.touch();
        let mut blocks = self.blocks.lock().unwrap();
        loop {
            if let Some(block) = blocks.waiting.pop_front() {
                self.not_full.notify_one();
                return Some(block);
            }
            if blocks.all_read {
                return None;
            }
            blocks = self.not_empty.wait(blocks).unwrap();
            self.touch();
        }
    }
}

/// A block of the output.
#[derive(Default)]
struct Slot {
    size: AtomicUsize,
    bytes: Mutex<Vec<u8>>,
    /// The size as C has it.
    plain: Tracked<usize>,
}

/// The blocks that are compressed.
struct Output {
    slots: Vec<Slot>,
    lock: Mutex<()>,
    ready: Condvar,
    flaw: Flaw,
}

impl Output {
    fn put(&self, number: usize, bytes: Vec<u8>) {
        let slot = &self.slots[number];
        let size = bytes.len();
        if self.flaw == Flaw::SizeFirst {
            slot.size.store(size, SeqCst);
        }
        let held = self.lock.lock().unwrap();
        *slot.bytes.lock().unwrap() = bytes;
        slot.plain.set(size);
        if self.flaw != Flaw::SizeFirst {
            slot.size.store(size, SeqCst);
        }
        self.ready.notify_all();
        drop(held);
    }

    /// Waits until it is ready.
    fn take(&self, number: usize) -> Vec<u8> {
        let slot = &self.slots[number];
        if self.flaw == Flaw::PlainSize && slot.plain.get() > 0 {
            return std::mem::take(&mut *slot.bytes.lock().unwrap());
        }
        let mut held = self.lock.lock().unwrap();
        while slot.size.load(SeqCst) == 0 {
            held = self.ready.wait(held).unwrap();
        }
        std::mem::take(&mut *slot.bytes.lock().unwrap())
    }
}

/// What was written is what was read.
fn test(flaw: Flaw, b: usize, n: usize) {
    let input: Vec<_> = (0..b * BLOCK).map(|at| u8::try_from(at / 4 % 251).unwrap()).collect();
    let queue = Queue {
        blocks: Mutex::default(),
        not_full: Condvar::new(),
        not_empty: Condvar::new(),
        freed: AtomicBool::new(false),
    };
    let slots = std::iter::repeat_with(Slot::default).take(b).collect();
    let output = Output { slots, lock: Mutex::new(()), ready: Condvar::new(), flaw };
    let (queue, output, input) = (&queue, &output, &input);
    let file: Vec<u8> = thread::scope(|scope| {
        let writer =
            scope.spawn(|| (0..b).flat_map(|number| output.take(number)).collect::<Vec<_>>());
        let consume = || {
            while let Some((number, block)) = queue.take() {
                output.put(number, compress(&block));
            }
        };
        let consumers: Vec<_> = (0..n).map(|_| scope.spawn(consume)).collect();
        for (number, block) in input.chunks(BLOCK).enumerate() {
            queue.put(number, block.to_vec());
        }
        queue.close();
        if flaw != Flaw::EarlyFree {
            for consumer in consumers {
                consumer.join().unwrap();
            }
        }
        let file = writer.join().unwrap();
        queue.freed.store(true, SeqCst);
        file
    });
    assert!(expand(&file) == *input, "what was written is what was read");
}
