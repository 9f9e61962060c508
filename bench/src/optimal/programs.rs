//! Small random programs over the primitives of `std::sync`, and how they run.

use std::sync::Arc;
use std::time::Duration;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex, Once, RwLock, mpsc};
use raddle::thread;
use raddle_engine::rt;
use raddle_search::rng::Rng;

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Load(usize),
    Store(usize, usize),
    Add(usize),
    /// Compare with what was last read.
    Exchange(usize),
    Section(usize, Vec<Statement>),
    TrySection(usize, Vec<Statement>),
    Read(Vec<Statement>),
    Write(Vec<Statement>),
    TryRead(Vec<Statement>),
    TryWrite,
    Choose,
    IfOdd(Vec<Statement>),
    Wait,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    NotifyLocked,
    /// To a channel with one place.
    Put(usize),
    TryPut(usize),
    Get,
    TryGet,
    GetTimeout,
    DropGetter,
    Park,
    ParkTimeout,
    UnparkMain,
    Once(Vec<Statement>),
}

/// What the statements of a family have in common; each program has those of two.
pub(crate) const FAMILIES: [(&str, &[u32]); 7] = [
    ("words", &[0, 1, 2, 3, 11]),
    ("locks", &[4, 5, 0, 1]),
    ("shared locks", &[6, 7, 8, 9, 0, 1]),
    ("values", &[10, 11, 0, 1, 2]),
    ("condition variables", &[12, 13, 14, 15, 16, 1, 0]),
    ("channels", &[17, 17, 18, 19, 20, 21, 22]),
    ("parking", &[23, 24, 25, 26, 0, 1]),
];

struct Generator {
    rng: Rng,
    kinds: Vec<u32>,
}

impl Generator {
    fn statement(&mut self, depth: u32) -> Statement {
        let kind = self.kinds[self.rng.below(self.kinds.len() as u32) as usize];
        let word = self.rng.below(2) as usize;
        let body = |this: &mut Self| {
            let n = if depth == 0 { 0 } else { 1 + this.rng.below(2) };
            (0..n).map(|_| this.statement(depth - 1)).collect()
        };
        match kind {
            0 => Statement::Load(word),
            1 => Statement::Store(word, 1 + self.rng.below(3) as usize),
            2 => Statement::Add(word),
            3 => Statement::Exchange(word),
            4 => Statement::Section(word, body(self)),
            5 => Statement::TrySection(word, body(self)),
            6 => Statement::Read(body(self)),
            7 => Statement::Write(body(self)),
            8 => Statement::TryRead(body(self)),
            9 => Statement::TryWrite,
            10 => Statement::Choose,
            11 => Statement::IfOdd(body(self)),
            12 => Statement::Wait,
            13 => Statement::WaitTimeout,
            14 => Statement::NotifyOne,
            15 => Statement::NotifyAll,
            16 => Statement::NotifyLocked,
            17 => Statement::Put(1 + word),
            18 => Statement::TryPut(1 + word),
            19 => Statement::Get,
            20 => Statement::TryGet,
            21 => Statement::GetTimeout,
            22 => Statement::DropGetter,
            23 => Statement::Park,
            24 => Statement::ParkTimeout,
            25 => Statement::UnparkMain,
            _ => Statement::Once(body(self)),
        }
    }
}

/// The tasks of a program.
pub(crate) type Program = Vec<Vec<Statement>>;

/// The program of a seed, and its families.
pub(crate) fn program(seed: u64) -> (Program, [usize; 2]) {
    let mut rng = Rng::new(seed);
    let families = [0; 2].map(|_| rng.below(FAMILIES.len() as u32) as usize);
    let kinds = families.iter().flat_map(|&family| FAMILIES[family].1).copied().collect();
    let mut generator = Generator { rng, kinds };
    let tasks = 2 + generator.rng.below(3);
    let mut task = || {
        let n = 1 + generator.rng.below(3);
        (0..n).map(|_| generator.statement(1)).collect()
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
    once: Once,
}

const SECOND: Duration = Duration::from_secs(1);

/// Runs the statements of a task; `last` is what it saw last.
fn run(shared: &Shared, statements: &[Statement], last: &mut usize) {
    for statement in statements {
        match statement {
            Statement::Load(word) => *last = shared.words[*word].load(SeqCst),
            Statement::Store(word, value) => shared.words[*word].store(*value, SeqCst),
            Statement::Add(word) => *last = shared.words[*word].fetch_add(1, SeqCst),
            Statement::Exchange(word) => {
                let done = shared.words[*word].compare_exchange(*last, 7, SeqCst, SeqCst);
                *last = done.unwrap_or_else(|value| value);
            }
            Statement::Section(lock, body) => {
                let _guard = shared.locks[*lock].lock().expect("not poisoned");
                run(shared, body, last);
            }
            Statement::TrySection(lock, body) => {
                if let Ok(_guard) = shared.locks[*lock].try_lock() {
                    run(shared, body, last);
                }
            }
            Statement::Read(body) => {
                let guard = shared.rw.read().expect("not poisoned");
                *last = *guard;
                run(shared, body, last);
            }
            Statement::Write(body) => {
                *shared.rw.write().expect("not poisoned") += 1;
                run(shared, body, last);
            }
            Statement::TryRead(body) => {
                let guard = shared.rw.try_read();
                *last = guard.as_ref().map_or(10, |guard| **guard);
                run(shared, body, last);
            }
            Statement::TryWrite => {
                *last = usize::from(shared.rw.try_write().is_ok());
            }
            Statement::Choose => *last = rt::choose(2) as usize,
            Statement::IfOdd(body) => {
                if *last % 2 == 1 {
                    run(shared, body, last);
                }
            }
            Statement::Wait => {
                drop(shared.condvar.wait(shared.gate.lock().expect("not poisoned")));
            }
            Statement::WaitTimeout => {
                let gate = shared.gate.lock().expect("not poisoned");
                let (gate, how) = shared.condvar.wait_timeout(gate, SECOND).expect("not poisoned");
                drop(gate);
                *last = usize::from(how.timed_out());
            }
            Statement::NotifyOne => shared.condvar.notify_one(),
            Statement::NotifyAll => shared.condvar.notify_all(),
            Statement::NotifyLocked => {
                let gate = shared.gate.lock().expect("not poisoned");
                shared.condvar.notify_one();
                drop(gate);
            }
            Statement::Put(value) => *last = usize::from(shared.put.send(*value).is_ok()),
            Statement::TryPut(value) => *last = usize::from(shared.put.try_send(*value).is_ok()),
            // Only one task has the receiver: the others do nothing.
            Statement::Get | Statement::TryGet | Statement::GetTimeout | Statement::DropGetter => {
                let getter = shared.get.lock().expect("not poisoned").take();
                let Some(getter) = getter else { continue };
                *last = match statement {
                    Statement::Get => getter.recv().unwrap_or(66),
                    Statement::TryGet => getter.try_recv().unwrap_or(55),
                    Statement::GetTimeout => getter.recv_timeout(SECOND).unwrap_or(77),
                    _ => continue,
                };
                *shared.get.lock().expect("not poisoned") = Some(getter);
            }
            Statement::Park => thread::park(),
            Statement::ParkTimeout => thread::park_timeout(SECOND),
            Statement::UnparkMain => shared.main.unpark(),
            Statement::Once(body) => shared.once.call_once(|| run(shared, body, last)),
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
        once: Once::new(),
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

impl Statement {
    /// The statements within it.
    pub(crate) fn body(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Section(_, body)
            | Self::TrySection(_, body)
            | Self::Read(body)
            | Self::Write(body)
            | Self::TryRead(body)
            | Self::IfOdd(body)
            | Self::Once(body) => Some(body),
            _ => None,
        }
    }
}
