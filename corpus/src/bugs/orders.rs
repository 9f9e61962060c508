//! Steps that must come in an order which nothing enforces.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Expected, Group, Program, parameter};

const SCTBENCH: &str = "SCTBench: Thomson, Donaldson, Betts, PPoPP 2014";

/// `reorder`.
pub const REORDER: Program =
    Program::new("reorder", Group::Bugs, "n set a and then b; one must see both or none")
        .source(SCTBENCH)
        .one(reorder, &[parameter("n", 2, 1, 100)])
        .fails(Expected::Panic, |_| 1);

/// n × (a = 1; b = -1) ‖ (a, b) is (0, 0) or (1, -1).
pub fn reorder(n: usize) {
    let (a, b) = (AtomicIsize::new(0), AtomicIsize::new(0));
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                a.store(1, SeqCst);
                b.store(-1, SeqCst);
            });
        }
        scope.spawn(|| {
            let seen = (a.load(SeqCst), b.load(SeqCst));
            assert!(matches!(seen, (0, 0) | (1, -1)), "{seen:?}");
        });
    });
}

/// `bluetooth`.
pub const BLUETOOTH: Program = Program::new(
    "bluetooth",
    Group::Bugs,
    "a driver does a request that it took before it stopped",
)
.source("Qadeer and Wu, PLDI 2004")
.plain(bluetooth)
.fails(Expected::Panic, |_| 1);

#[derive(Debug)]
struct Driver {
    /// Requests that are being done, and one for the driver itself.
    pending: AtomicUsize,
    stopping: AtomicBool,
    /// Nothing is pending any more.
    idle: AtomicBool,
    stopped: AtomicBool,
}

impl Driver {
    fn leave(&self) {
        if self.pending.fetch_sub(1, SeqCst) == 1 {
            self.idle.store(true, SeqCst);
        }
    }
}

/// Between the look whether the driver stops and the entry of a request it may have stopped.
pub fn bluetooth() {
    let driver = Driver {
        pending: AtomicUsize::new(1),
        stopping: AtomicBool::new(false),
        idle: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            if driver.stopping.load(SeqCst) {
                return;
            }
            driver.pending.fetch_add(1, SeqCst);
            assert!(!driver.stopped.load(SeqCst), "a request after the end");
            driver.leave();
        });
        scope.spawn(|| {
            driver.stopping.store(true, SeqCst);
            driver.leave();
            if driver.idle.load(SeqCst) {
                driver.stopped.store(true, SeqCst);
            }
        });
    });
}

/// `token-ring`.
///
/// It is enough that one comes before the one it copies from.
pub const TOKEN_RING: Program =
    Program::new("token-ring", Group::Bugs, "three pass a value round; one looks when all have")
        .source(SCTBENCH)
        .plain(token_ring)
        .fails(Expected::Panic, |_| 0);

/// What the members of the ring have, and whether each has had its turn.
#[derive(Debug)]
struct Ring {
    values: [usize; 3],
    done: [bool; 3],
}

/// The first counts on from the third, the second copies the first, the third the second. If they
/// came in this order all have the same; nothing says that they do.
pub fn token_ring() {
    let ring = Mutex::new(Ring { values: [1, 2, 1], done: [false; 3] });
    let turn = |member: usize| {
        let mut ring = ring.lock().unwrap();
        ring.values[member] = match member {
            0 => (ring.values[2] + 1) % 4,
            _ => ring.values[member - 1],
        };
        ring.done[member] = true;
    };
    thread::scope(|scope| {
        for member in 0..3 {
            scope.spawn(move || turn(member));
        }
        scope.spawn(|| {
            let ring = ring.lock().unwrap();
            let [a, b, c] = ring.values;
            assert!(ring.done != [true; 3] || a == b && b == c, "{:?}", ring.values);
        });
    });
}
