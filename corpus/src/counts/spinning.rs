//! Locks and signals of loops that look: mutual exclusion without blocking, as it is taught.
//!
//! What a reduction runs of them depends on how many rounds a loop may make in vain (`Config::rounds`, 2 with
//! `dpor`): `docs/results/spinning.md` has the counts, and `tests/it/spinning.rs` compares them with all interleavings
//! where those can be run. [`LOCKS`] has those that `dfs` does not cover in a second.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::{hint, thread};

use crate::program::{Expected, Group, Program, in_rounds, parameter};

/// Those with more interleavings than a test can run.
pub static LOCKS: &[Program] = &[PETERSON, DEKKER, BAKERY, MCS_LOCK];

/// What only one thread may be in at a time.
#[derive(Debug, Default)]
struct Section(AtomicBool);

impl Section {
    fn pass(&self) {
        assert!(!self.0.swap(true, SeqCst), "two are inside");
        self.0.store(false, SeqCst);
    }
}

/// Runs two threads, which are told who they are.
fn two(body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for me in 0..2 {
            let body = &body;
            scope.spawn(move || body(me));
        }
    });
}

/// `peterson`.
pub const PETERSON: Program =
    Program::new("peterson", Group::Counts, "two threads exclude each other by Peterson's lock")
        .source("Peterson 1981")
        .plain(peterson)
        .in_rounds(&[&in_rounds(&[], [24, 40, 60])]);

/// Each is interested, and lets the other go first.
pub fn peterson() {
    let (interested, turn, section) = <([AtomicBool; 2], AtomicUsize, Section)>::default();
    two(|me| {
        interested[me].store(true, SeqCst);
        turn.store(1 - me, SeqCst);
        while interested[1 - me].load(SeqCst) && turn.load(SeqCst) != me {
            hint::spin_loop();
        }
        section.pass();
        interested[me].store(false, SeqCst);
    });
}

/// `dekker`.
pub const DEKKER: Program =
    Program::new("dekker", Group::Counts, "two threads exclude each other by Dekker's lock")
        .source("Dijkstra 1962")
        .plain(dekker)
        .in_rounds(&[&in_rounds(&[], [50, 102, 182])]);

/// Who finds that the other is interested steps back if it is the other's turn.
pub fn dekker() {
    let (interested, turn, section) = <([AtomicBool; 2], AtomicUsize, Section)>::default();
    two(|me| {
        interested[me].store(true, SeqCst);
        while interested[1 - me].load(SeqCst) {
            if turn.load(SeqCst) == me {
                hint::spin_loop();
                continue;
            }
            interested[me].store(false, SeqCst);
            while turn.load(SeqCst) != me {
                hint::spin_loop();
            }
            interested[me].store(true, SeqCst);
        }
        section.pass();
        turn.store(1 - me, SeqCst);
        interested[me].store(false, SeqCst);
    });
}

/// `bakery`.
pub const BAKERY: Program =
    Program::new("bakery", Group::Counts, "two threads exclude each other by Lamport's bakery")
        .source("Lamport 1974")
        .plain(bakery)
        .in_rounds(&[&in_rounds(&[], [59, 102, 157])]);

/// Each draws a number above the other's, and who has the lower one goes first.
pub fn bakery() {
    let (choosing, number) = <([AtomicBool; 2], [AtomicUsize; 2])>::default();
    let section = Section::default();
    two(|me| {
        let other = 1 - me;
        choosing[me].store(true, SeqCst);
        let mine = 1 + number[other].load(SeqCst);
        number[me].store(mine, SeqCst);
        choosing[me].store(false, SeqCst);
        while choosing[other].load(SeqCst) {
            hint::spin_loop();
        }
        loop {
            let theirs = number[other].load(SeqCst);
            if theirs == 0 || (mine, me) < (theirs, other) {
                break;
            }
            hint::spin_loop();
        }
        section.pass();
        number[me].store(0, SeqCst);
    });
}

/// `ticket-lock`.
///
/// Of two threads with a section each: who draws first, and how many loads of the other come before its ticket is
/// called: none to r + 1, after which its yield waits. So 2 × (r + 2), and so it is with a lock that spins.
pub const TICKET_LOCK: Program = Program::new(
    "ticket-lock",
    Group::Counts,
    "t threads with n sections each under a ticket lock",
)
.two(ticket_lock, &[parameter("t", 2, 1, 8), parameter("n", 1, 1, 100)])
.in_rounds(&[&in_rounds(&[2, 1], [6, 8, 10]), &in_rounds(&[2, 2], [78, 168, 310])]);

/// Who draws a ticket waits until it is called.
pub fn ticket_lock(t: usize, n: usize) {
    let (next, serving, section) = <(AtomicUsize, AtomicUsize, Section)>::default();
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                for _ in 0..n {
                    let ticket = next.fetch_add(1, SeqCst);
                    while serving.load(SeqCst) != ticket {
                        hint::spin_loop();
                    }
                    section.pass();
                    serving.store(ticket + 1, SeqCst);
                }
            });
        }
    });
}

/// `spin-lock`.
pub const SPIN_LOCK: Program = Program::new(
    "spin-lock",
    Group::Counts,
    "t threads with n sections each under a lock that spins",
)
.two(spin_lock, &[parameter("t", 2, 1, 8), parameter("n", 1, 1, 100)])
.in_rounds(&[&in_rounds(&[2, 1], [6, 8, 10]), &in_rounds(&[2, 2], [134, 298, 562])]);

/// A word that is taken by a compare-exchange.
pub fn spin_lock(t: usize, n: usize) {
    let (taken, section) = <(AtomicBool, Section)>::default();
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                for _ in 0..n {
                    while taken.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                        hint::spin_loop();
                    }
                    section.pass();
                    taken.store(false, SeqCst);
                }
            });
        }
    });
}

/// `mcs-lock`.
pub const MCS_LOCK: Program =
    Program::new("mcs-lock", Group::Counts, "t threads with a section each under an MCS lock")
        .source("Mellor-Crummey and Scott 1991")
        .one(mcs_lock, &[parameter("t", 2, 1, 8)])
        .in_rounds(&[&in_rounds(&[2], [26, 42, 62])]);

/// A thread's place in the queue: whether it still waits, and who is behind it, by number from 1.
#[derive(Debug, Default)]
struct Place {
    waits: AtomicBool,
    next: AtomicUsize,
}

/// Each waits for its own word, which the one before it clears.
pub fn mcs_lock(t: usize) {
    let (tail, section) = <(AtomicUsize, Section)>::default();
    let places: Vec<Place> = (0..t).map(|_| Place::default()).collect();
    thread::scope(|scope| {
        for me in 1..=t {
            let (tail, section, places) = (&tail, &section, &places);
            scope.spawn(move || {
                let own = &places[me - 1];
                own.waits.store(true, SeqCst);
                let before = tail.swap(me, SeqCst);
                if before != 0 {
                    places[before - 1].next.store(me, SeqCst);
                    while own.waits.load(SeqCst) {
                        hint::spin_loop();
                    }
                }
                section.pass();
                if own.next.load(SeqCst) == 0 {
                    if tail.compare_exchange(me, 0, SeqCst, SeqCst).is_ok() {
                        return;
                    }
                    while own.next.load(SeqCst) == 0 {
                        hint::spin_loop();
                    }
                }
                places[own.next.load(SeqCst) - 1].waits.store(false, SeqCst);
            });
        }
    });
}

/// `seqlock-reader`.
pub const SEQLOCK_READER: Program = Program::new(
    "seqlock-reader",
    Group::Counts,
    "a reader of two words tries again if a writer was there",
)
.plain(seqlock_reader)
.in_rounds(&[&in_rounds(&[], [20, 25, 30])]);

/// The count is odd while the writer is there.
pub fn seqlock_reader() {
    let (count, words) = <(AtomicUsize, [AtomicUsize; 2])>::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            count.store(1, SeqCst);
            words[0].store(7, SeqCst);
            words[1].store(7, SeqCst);
            count.store(2, SeqCst);
        });
        loop {
            let before = count.load(SeqCst);
            if before % 2 == 1 {
                hint::spin_loop();
                continue;
            }
            let read = words.each_ref().map(|word| word.load(SeqCst));
            if count.load(SeqCst) == before {
                assert_eq!(read[0], read[1]);
                break;
            }
        }
    });
}

/// `await-flag`.
///
/// The store comes before the load, or after it and before the next: 2.
pub const AWAIT_FLAG: Program =
    Program::new("await-flag", Group::Counts, "one waits by a marked loop until another writes")
        .plain(await_flag)
        .interleavings(|_| Some(2))
        .traces(|_| Some(2));

/// A loop that says that it only looks.
pub fn await_flag() {
    let flag = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(true, SeqCst));
        hint::await_until(|| flag.load(SeqCst));
    });
}

/// `spin-then-park`.
pub const SPIN_THEN_PARK: Program = Program::new(
    "spin-then-park",
    Group::Bugs,
    "one spins n rounds and then parks, without having said so in time",
)
.one(spin_then_park, &[parameter("n", 2, 1, 100)])
.fails(Expected::Deadlock, |_| 1)
.steps(300);

/// Who parks says so after its last look, and may miss who sets the flag between.
pub fn spin_then_park(n: usize) {
    let (flag, parked) = <(AtomicBool, AtomicBool)>::default();
    let waiter = thread::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            flag.store(true, SeqCst);
            if parked.load(SeqCst) {
                waiter.unpark();
            }
        });
        let is_set = (0..n).any(|_| flag.load(SeqCst));
        if !is_set {
            parked.store(true, SeqCst);
            thread::park();
        }
    });
}

/// `impatient`.
pub const IMPATIENT: Program = Program::new(
    "impatient",
    Group::Bugs,
    "one gives up after n rounds, which it counts on the heap",
)
.one(impatient, &[parameter("n", 2, 1, 100)])
.fails(Expected::Panic, |_| 0)
.steps(300);

/// The count is nothing that raddle sees.
pub fn impatient(n: usize) {
    let flag = AtomicBool::new(false);
    let mut rounds = Box::new(0);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(true, SeqCst));
        while !flag.load(SeqCst) {
            *rounds += 1;
            assert!(*rounds < n, "the flag was not set within {n} rounds");
        }
    });
}
