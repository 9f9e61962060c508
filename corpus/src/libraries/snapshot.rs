//! A value of two versions: readers pin the current one, writers fill the other and then switch.
//!
//! The shape is read-copy-update with counts of readers, as in user-space RCU and in left-right
//! locks: readers never wait, writers wait until no reader is left in the old version.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "read-copy-update",
    line: "readers pin the current version, writers fill the other and switch",
    tests: &[Test {
        correct: of("snapshot", "t increment n times by new versions, two read", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("snapshot-pin", "a reader does not look again after it pinned", |n, t| {
                test(Flaw::NoRecheck, n, t);
            })
            .bug(Expected::Panic, "torn snapshot, missing recheck"),
            of("snapshot-leak", "a reader that pinned the old version leaves the pin", |n, t| {
                test(Flaw::LeakedPin, n, t);
            })
            .bug(Expected::Livelock, "missing undo on a path"),
            of("snapshot-early", "a writer switches before the version is complete", |n, t| {
                test(Flaw::EarlySwitch, n, t);
            })
            .bug(Expected::Panic, "torn snapshot, wrong order of flag and data"),
            of("snapshot-lost", "a writer reads the old value before it locks", |n, t| {
                test(Flaw::EarlyRead, n, t);
            })
            .bug(Expected::Panic, "lost update"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Between reading which version is current and pinning it a writer may have seen it unpinned,
    /// and be filling it.
    NoRecheck,
    /// A reader that comes too late tries the next version, and forgets its pin on the old one. The
    /// next writer waits for ever.
    LeakedPin,
    /// Readers are sent to a version of which half is written.
    EarlySwitch,
    /// Two writers read the same value, and one after the other writes what follows from it.
    EarlyRead,
}

struct Version {
    halves: [AtomicUsize; 2],
    pins: AtomicUsize,
}

struct Value {
    versions: [Version; 2],
    current: AtomicUsize,
    writer: Mutex<()>,
    flaw: Flaw,
}

impl Value {
    fn new(flaw: Flaw) -> Self {
        let version = || Version {
            halves: [AtomicUsize::new(0), AtomicUsize::new(0)],
            pins: AtomicUsize::new(0),
        };
        Self {
            versions: [version(), version()],
            current: AtomicUsize::new(0),
            writer: Mutex::new(()),
            flaw,
        }
    }

    fn read(&self) -> [usize; 2] {
        loop {
            let index = self.current.load(SeqCst);
            let version = &self.versions[index];
            version.pins.fetch_add(1, SeqCst);
            if self.flaw == Flaw::NoRecheck || self.current.load(SeqCst) == index {
                let halves = version.halves.each_ref().map(|half| half.load(SeqCst));
                version.pins.fetch_sub(1, SeqCst);
                return halves;
            }
            if self.flaw != Flaw::LeakedPin {
                version.pins.fetch_sub(1, SeqCst);
            }
        }
    }

    fn increment(&self) {
        let early = (self.flaw == Flaw::EarlyRead).then(|| self.read()[0]);
        let lock = self.writer.lock().unwrap();
        let current = self.current.load(SeqCst);
        let value = early.unwrap_or_else(|| self.versions[current].halves[0].load(SeqCst)) + 1;
        let other = &self.versions[1 - current];
        while other.pins.load(SeqCst) > 0 {
            thread::yield_now();
        }
        other.halves[0].store(value, SeqCst);
        if self.flaw == Flaw::EarlySwitch {
            self.current.store(1 - current, SeqCst);
        }
        other.halves[1].store(value, SeqCst);
        if self.flaw != Flaw::EarlySwitch {
            self.current.store(1 - current, SeqCst);
        }
        drop(lock);
    }
}

/// Both halves are the same whenever they are read, and no increment is lost.
fn test(flaw: Flaw, n: usize, t: usize) {
    let value = Value::new(flaw);
    let value = &value;
    let torn: usize = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(move || (0..n).for_each(|_| value.increment()));
        }
        let torn = || {
            let [a, b] = value.read();
            a != b
        };
        let readers: Vec<_> =
            (0..2).map(|_| scope.spawn(move || (0..n).filter(|_| torn()).count())).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert_eq!(torn, 0, "half of a version was read");
    assert_eq!(value.read(), [n * t; 2], "an increment was lost");
}
