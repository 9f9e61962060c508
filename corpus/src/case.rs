//! A case for the priority by methods: a set of items on a port, in a larger program.
//!
//! GAMBIT (Coons, Burckhardt, Musuvathi, `PPoPP` 2010) tells in section 5.3 of `GatherPost2`: one thread
//! places a set of items on a port, another one takes them out. A depth-first search with reduction did not
//! find its bug in a weekend, because nearly all of its 164 steps conflict; best first with the names of the
//! two methods found it in seconds, because both `Enqueue` and `TryDequeue` have to be left for it. That code is
//! not public; this has the shape that they describe. Both versions were written down before any search had
//! seen one of them, and what they do was not changed after. The two methods were given scopes: in optimised builds
//! `enqueue` ends with a jump into its last op, which was then seen outside of it, and the search by methods ran other
//! executions than in builds with frames.
//!
//! The bug: `Port::enqueue` says how many items there are only after it has looked whether a thread sleeps.
//! `try_dequeue` finds nothing and is left there; `enqueue` puts the items in, sees that the gatherer is
//! awake, and is left there; `try_dequeue` sees no items by their number, and the gatherer goes to sleep for
//! good. Two preemptions, one in each method. All else is the larger program: a ledger into which everybody
//! writes.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]

use std::collections::VecDeque;

use raddle::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread::{self, Thread};

use crate::program::{Expected, Group, Parameter, Program, parameter};

const PARAMETERS: [Parameter; 2] =
    [parameter("items", 3, 1, 100), parameter("entries", 10, 0, 100)];

/// As it should be.
pub const GATHER: Program = Program::new(
    "gather",
    Group::Libraries,
    "a set of items on a port, and a ledger of all that happens",
)
.source("the shape of GatherPost2 of Coons, Burckhardt, Musuvathi, PPoPP 2010")
.two(|items, entries| gather(Flaw::None, items, entries), &PARAMETERS)
.large(&[10, 40]);

/// With the bug.
pub const GATHER_LATE: Program =
    Program::new("gather-late", Group::Libraries, "the number of items is told too late")
        .source(GATHER.source)
        .two(|items, entries| gather(Flaw::LateNumber, items, entries), &PARAMETERS)
        .bug(Expected::Deadlock, "wrong order of check and store, lost wake-up")
        .large(&[10, 40]);

/// The case: as it should be, and with the bug.
pub static PROGRAMS: [Program; 2] = [GATHER, GATHER_LATE];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// The number of items is told after the look at who sleeps.
    LateNumber,
}

/// Items, their number for those who look without a lock, and whether the gatherer is awake.
struct Port {
    items: Mutex<VecDeque<usize>>,
    /// Items put in less items taken out. Below zero while a set is being put in.
    number: AtomicIsize,
    awake: AtomicBool,
    flaw: Flaw,
}

impl Port {
    fn new(flaw: Flaw) -> Self {
        let (number, awake) = (AtomicIsize::new(0), AtomicBool::new(true));
        Self { items: Mutex::default(), number, awake, flaw }
    }

    #[inline(never)]
    fn enqueue(&self, set: &[usize], gatherer: &Thread) {
        raddle::method!("enqueue");
        for item in set {
            self.items.lock().unwrap().push_back(*item);
        }
        let number = set.len().cast_signed();
        if self.flaw != Flaw::LateNumber {
            self.number.fetch_add(number, SeqCst);
        }
        if !self.awake.load(SeqCst) {
            self.awake.store(true, SeqCst);
            gatherer.unpark();
        }
        if self.flaw == Flaw::LateNumber {
            self.number.fetch_add(number, SeqCst);
        }
    }

    /// None: the caller may have to sleep.
    #[inline(never)]
    fn try_dequeue(&self) -> Option<usize> {
        raddle::method!("try_dequeue");
        let item = self.items.lock().unwrap().pop_front();
        if item.is_some() {
            self.number.fetch_sub(1, SeqCst);
            return item;
        }
        self.awake.store(false, SeqCst);
        // A set may have come before any thread could see that none is awake.
        if self.number.load(SeqCst) > 0 {
            self.awake.store(true, SeqCst);
        }
        None
    }

    #[inline(never)]
    fn sleep(&self) {
        while !self.awake.load(SeqCst) {
            thread::park();
        }
    }
}

/// What everybody writes into.
#[derive(Default)]
struct Ledger {
    entries: AtomicUsize,
    sum: AtomicUsize,
    last: Mutex<usize>,
}

impl Ledger {
    #[inline(never)]
    fn record(&self, value: usize) {
        self.entries.fetch_add(1, SeqCst);
        self.sum.fetch_add(value, SeqCst);
        *self.last.lock().unwrap() = value;
    }
}

/// All items arrive, in order, and all entries are in the ledger.
fn gather(flaw: Flaw, items: usize, entries: usize) {
    let (port, ledger) = (Arc::new(Port::new(flaw)), Arc::new(Ledger::default()));
    let gatherer = {
        let (port, ledger) = (Arc::clone(&port), Arc::clone(&ledger));
        thread::spawn(move || {
            let mut gathered = Vec::new();
            while gathered.len() < items {
                match port.try_dequeue() {
                    Some(item) => gathered.push(item),
                    None => port.sleep(),
                }
            }
            (0..entries).for_each(|_| ledger.record(1));
            gathered
        })
    };
    let poster = {
        let (port, ledger) = (Arc::clone(&port), Arc::clone(&ledger));
        let gatherer = gatherer.thread().clone();
        thread::spawn(move || {
            let set: Vec<_> = (0..items).collect();
            port.enqueue(&set, &gatherer);
            (0..entries).for_each(|_| ledger.record(10));
        })
    };
    let auditor = {
        let ledger = Arc::clone(&ledger);
        thread::spawn(move || (0..entries).for_each(|_| ledger.record(100)))
    };
    assert!(gatherer.join().unwrap().into_iter().eq(0..items), "all items, in order");
    poster.join().unwrap();
    auditor.join().unwrap();
    assert_eq!(ledger.entries.load(SeqCst), 3 * entries, "all entries");
    assert_eq!(ledger.sum.load(SeqCst), 111 * entries, "all entries");
}
