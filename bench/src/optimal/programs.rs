//! Small random programs over the primitives of `std::sync`, and how they run.

use std::sync::Arc;
use std::time::Duration;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{self, Condvar, Mutex, RwLock, mpsc};
use raddle::thread;
use raddle_engine::rt;
use raddle_search::rng::Rng;

use self::Kind::{
    Add, Choose, DropGetter, Exchange, Get, GetTimeout, IfOdd, Load, NotifyAll, NotifyLocked,
    NotifyOne, Once, Park, ParkTimeout, Put, Read, Section, Store, TryGet, TryPut, TryRead,
    TrySection, TryWrite, UnparkMain, Wait, WaitTimeout, Write,
};

/// What a statement does, with one of two words or locks, or with its body inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Add,
    /// Compares with what was last read.
    Exchange,
    Section,
    TrySection,
    Read,
    Write,
    TryRead,
    TryWrite,
    Choose,
    IfOdd,
    Wait,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    NotifyLocked,
    Put,
    TryPut,
    Get,
    TryGet,
    GetTimeout,
    DropGetter,
    Park,
    ParkTimeout,
    UnparkMain,
    Once,
}

/// Kinds that meet; each program has those of two families.
pub(crate) const FAMILIES: [(&str, &[Kind]); 8] = [
    ("words", &[Load, Store, Add, Exchange, IfOdd]),
    ("locks", &[Section, TrySection, Load, Store]),
    ("shared locks", &[Read, Write, TryRead, TryWrite, Load, Store]),
    ("values", &[Choose, IfOdd, Load, Store, Add]),
    ("condition variables", &[Wait, NotifyOne, NotifyAll, NotifyLocked, Store, Load]),
    ("channels", &[Put, Put, TryPut, Get, TryGet, DropGetter]),
    ("parking", &[Park, UnparkMain, Once, Load, Store]),
    ("timeouts", &[ParkTimeout, WaitTimeout, GetTimeout, UnparkMain, NotifyOne, Put]),
];

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    kind: Kind,
    word: usize,
    body: Vec<Self>,
}

/// The tasks of a program.
pub(crate) type Program = Vec<Vec<Statement>>;

fn statement(rng: &mut Rng, kinds: &[Kind], depth: u32) -> Statement {
    let (kind, word) = (kinds[rng.below(kinds.len() as u32) as usize], rng.below(2) as usize);
    let n = if depth == 0 { 0 } else { 1 + rng.below(2) };
    let body = (0..n).map(|_| statement(rng, kinds, depth - 1)).collect();
    Statement { kind, word, body }
}

/// The program of a seed, and its families.
pub(crate) fn program(seed: u64) -> (Program, [usize; 2]) {
    let mut rng = Rng::new(seed);
    let families = [0; 2].map(|_| rng.below(FAMILIES.len() as u32) as usize);
    let kinds: Vec<_> = families.iter().flat_map(|&family| FAMILIES[family].1).copied().collect();
    let tasks = 2 + rng.below(3);
    let mut task = || {
        let n = 1 + rng.below(3);
        (0..n).map(|_| statement(&mut rng, &kinds, 1)).collect()
    };
    ((0..tasks).map(|_| task()).collect(), families)
}

/// What the tasks share.
struct Shared {
    words: [AtomicUsize; 2],
    locks: [Mutex<usize>; 2],
    rw: RwLock<usize>,
    condvar: Condvar,
    gate: Mutex<()>,
    put: mpsc::SyncSender<usize>,
    get: Mutex<Option<mpsc::Receiver<usize>>>,
    main: thread::Thread,
    once: sync::Once,
}

const SECOND: Duration = Duration::from_secs(1);

/// Runs the statements of a task; `last` is what it saw last.
fn run(shared: &Shared, statements: &[Statement], last: &mut usize) {
    for Statement { kind, word, body } in statements {
        let (atomic, lock) = (&shared.words[*word], &shared.locks[*word]);
        let gate = || shared.gate.lock().expect("not poisoned");
        match kind {
            Load => *last = atomic.load(SeqCst),
            Store => atomic.store(1 + *last, SeqCst),
            Add => *last = atomic.fetch_add(1, SeqCst),
            Exchange => {
                let done = atomic.compare_exchange(*last, 7, SeqCst, SeqCst);
                *last = done.unwrap_or_else(|value| value);
            }
            Section => {
                let _guard = lock.lock().expect("not poisoned");
                run(shared, body, last);
            }
            TrySection => {
                let guard = lock.try_lock();
                *last = usize::from(guard.is_ok());
                run(shared, body, last);
            }
            Read => {
                let guard = shared.rw.read().expect("not poisoned");
                *last = *guard;
                run(shared, body, last);
            }
            Write => {
                let mut guard = shared.rw.write().expect("not poisoned");
                *guard += 1;
                run(shared, body, last);
            }
            TryRead => {
                let guard = shared.rw.try_read();
                *last = guard.as_ref().map_or(10, |guard| **guard);
                run(shared, body, last);
            }
            TryWrite => *last = usize::from(shared.rw.try_write().is_ok()),
            Choose => *last = rt::choose(2) as usize,
            IfOdd if *last % 2 == 1 => run(shared, body, last),
            IfOdd => {}
            Wait => drop(shared.condvar.wait(gate())),
            WaitTimeout => {
                let (gate, how) =
                    shared.condvar.wait_timeout(gate(), SECOND).expect("not poisoned");
                drop(gate);
                *last = usize::from(how.timed_out());
            }
            NotifyOne => shared.condvar.notify_one(),
            NotifyAll => shared.condvar.notify_all(),
            NotifyLocked => {
                let gate = gate();
                shared.condvar.notify_one();
                drop(gate);
            }
            Put => *last = usize::from(shared.put.send(*word).is_ok()),
            TryPut => *last = usize::from(shared.put.try_send(*word).is_ok()),
            // Only one task has the receiver: the others do nothing.
            Get | TryGet | GetTimeout | DropGetter => {
                let getter = shared.get.lock().expect("not poisoned").take();
                let Some(getter) = getter else { continue };
                *last = match kind {
                    Get => getter.recv().unwrap_or(66),
                    TryGet => getter.try_recv().unwrap_or(55),
                    GetTimeout => getter.recv_timeout(SECOND).unwrap_or(77),
                    _ => continue,
                };
                *shared.get.lock().expect("not poisoned") = Some(getter);
            }
            Park => thread::park(),
            ParkTimeout => thread::park_timeout(SECOND),
            UnparkMain => shared.main.unpark(),
            Once => shared.once.call_once(|| run(shared, body, last)),
        }
    }
}

/// Runs a program.
pub(crate) fn execute(program: &Program) {
    let (put, get) = mpsc::sync_channel(1);
    let shared = Arc::new(Shared {
        words: [AtomicUsize::new(0), AtomicUsize::new(0)],
        locks: [Mutex::new(0), Mutex::new(0)],
        rw: RwLock::new(0),
        condvar: Condvar::new(),
        gate: Mutex::new(()),
        put,
        get: Mutex::new(Some(get)),
        main: thread::current(),
        once: sync::Once::new(),
    });
    let spawn = |statements: &Vec<Statement>| {
        let (shared, statements) = (Arc::clone(&shared), statements.clone());
        thread::spawn(move || run(&shared, &statements, &mut 0))
    };
    let children: Vec<_> = program[1..].iter().map(spawn).collect();
    run(&shared, &program[0], &mut 0);
    for child in children {
        child.join().expect("no panic");
    }
}
