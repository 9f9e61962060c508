//! Random small programs: every reduction against exhaustive search.
//!
//! A program is a tree of statements over a few shared objects. What a task does next may depend
//! on what it read. Programs with more interleavings than the limit are skipped and counted.

use std::fmt;
use std::sync::Arc;

use raddle_engine::rt;
use raddle_engine::scope::Scope;
use raddle_search::Reduction;
use raddle_search::rng::Rng;
use raddle_testing::{Sample, figures};
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::{Barrier, Condvar, Mutex, Once, RwLock, counted, mpsc};
use raddle_threads::{Named, thread};
use raddle_trace::{Settings, Timeouts};
use std::time::Duration;

use crate::{best_first, exhaustive, is_out_of_reach, reduced};

#[derive(Clone, Debug)]
enum Statement {
    Load(usize),
    Store(usize, usize),
    Add(usize),
    /// Compare with what was last read.
    Exchange(usize),
    Section(usize, Vec<Statement>),
    TrySection(usize, Vec<Statement>),
    Read(Vec<Statement>),
    Write(Vec<Statement>),
    TryWrite,
    TryRead(Vec<Statement>),
    /// Notifies under the lock that the waiters use.
    NotifyLocked,
    /// Holds that lock. Not among the statements that are drawn.
    Gated(Vec<Statement>),
    Choose(u32),
    IfOdd(Vec<Statement>),
    Send(usize),
    TryReceive,
    Receive,
    ReceiveTimeout,
    Wait,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    Spawn(Vec<Statement>),
    /// Joins what was spawned last.
    Join,
    IsFinished,
    Park,
    ParkTimeout,
    UnparkMain,
    Yield,
    DropSender,
    /// To a channel with one place.
    Put(usize),
    TryPut(usize),
    Get,
    TryGet,
    DropGetter,
    /// To a channel without room.
    Hand(usize),
    TryHand(usize),
    Receive0,
    TryReceive0,
    Receive0Timeout,
    /// At a barrier for two.
    Meet,
    Once(Vec<Statement>),
    IsDone,
    /// Of the task's own handles to a value that they share, the latest.
    CloneHandle,
    DropHandle,
    Downgrade,
    CloneWeak,
    DropWeak,
    Upgrade,
    StrongCount,
    WeakCount,
    GetMut,
    TryUnwrap,
    IntoInner,
    MakeMut,
}

#[derive(Clone)]
pub(crate) struct Program {
    tasks: Vec<Vec<Statement>>,
    /// Whether waits may end without a notification.
    spurious: bool,
    /// Whether tasks begin with handles to a value.
    handles: bool,
    /// When waits end by their timeouts.
    timeouts: Timeouts,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for task in &self.tasks {
            writeln!(f, "{task:?}")?;
        }
        if self.timeouts != Timeouts::Any {
            writeln!(f, "timeouts: {:?}", self.timeouts)?;
        }
        if self.spurious { writeln!(f, "spurious wake-ups") } else { Ok(()) }
    }
}

/// What the tasks share.
struct Shared {
    words: Vec<AtomicUsize>,
    locks: Vec<Mutex<usize>>,
    rw: RwLock<usize>,
    condvar: Condvar,
    gate: Mutex<bool>,
    sender: Mutex<Option<mpsc::Sender<usize>>>,
    receiver: Mutex<Option<mpsc::Receiver<usize>>>,
    main: thread::Thread,
    put: mpsc::SyncSender<usize>,
    get: Mutex<Option<mpsc::Receiver<usize>>>,
    hand: mpsc::SyncSender<usize>,
    handed: Mutex<Option<mpsc::Receiver<usize>>>,
    barrier: Barrier,
    once: Once,
}

/// A value that shows when it is dropped.
#[derive(Clone)]
struct Value(Arc<Shared>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.words[1].fetch_add(10, SeqCst);
    }
}

/// The handles of a task.
#[derive(Default)]
struct Handles {
    strong: Vec<counted::Arc<Value>>,
    weak: Vec<counted::Weak<Value>>,
}

struct Generator {
    rng: Rng,
    /// Which statements there are, by number: each program uses a few kinds.
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
            8 => Statement::TryWrite,
            9 => Statement::Choose(2),
            10 => Statement::IfOdd(body(self)),
            11 => Statement::Send(1 + word),
            12 => Statement::TryReceive,
            13 => Statement::Receive,
            14 => Statement::ReceiveTimeout,
            15 => Statement::Wait,
            16 => Statement::WaitTimeout,
            17 => Statement::NotifyOne,
            18 => Statement::NotifyAll,
            19 => Statement::Spawn(body(self)),
            20 => Statement::Join,
            21 => Statement::IsFinished,
            22 => Statement::Park,
            23 => Statement::ParkTimeout,
            24 => Statement::UnparkMain,
            25 => Statement::Yield,
            26 => Statement::NotifyLocked,
            27 => Statement::TryRead(body(self)),
            28 => Statement::DropSender,
            29 => Statement::Put(1 + word),
            30 => Statement::TryPut(1 + word),
            31 => Statement::Get,
            32 => Statement::TryGet,
            33 => Statement::DropGetter,
            34 => Statement::Hand(1 + word),
            35 => Statement::TryHand(1 + word),
            36 => Statement::Receive0,
            37 => Statement::TryReceive0,
            38 => Statement::Receive0Timeout,
            39 => Statement::Meet,
            40 => Statement::Once(body(self)),
            41 => Statement::IsDone,
            42 => Statement::CloneHandle,
            43 => Statement::DropHandle,
            44 => Statement::Downgrade,
            45 => Statement::CloneWeak,
            46 => Statement::DropWeak,
            47 => Statement::Upgrade,
            48 => Statement::StrongCount,
            49 => Statement::WeakCount,
            50 => Statement::GetMut,
            51 => Statement::TryUnwrap,
            52 => Statement::IntoInner,
            _ => Statement::MakeMut,
        }
    }

    fn program(&mut self) -> Program {
        let families: [&[u32]; 13] = [
            &[0, 1, 2, 3, 10],
            &[4, 5, 0, 1],
            &[6, 7, 8, 27, 0, 1],
            &[9, 10, 0, 1, 2],
            &[11, 12, 13, 0],
            &[15, 17, 18, 26, 1, 0],
            &[19, 20, 21, 0, 1],
            &[22, 24, 0, 1],
            &[14, 16, 23, 11, 17, 24, 25, 26],
            &[28, 11, 13, 12, 14],
            &[29, 29, 30, 31, 32, 33],
            &[34, 35, 36, 37, 38],
            &[39, 40, 41, 0, 1],
        ];
        self.kinds.clear();
        for _ in 0..2 {
            let family = families[self.rng.below(13) as usize];
            self.kinds.extend_from_slice(family);
        }
        let tasks = 2 + self.rng.below(3);
        let tasks = self.tasks(tasks);
        Program { tasks, spurious: self.rng.below(8) == 0, handles: false, timeouts: Timeouts::Any }
    }

    fn tasks(&mut self, n: u32) -> Vec<Vec<Statement>> {
        let mut task = || {
            let n = 1 + self.rng.below(3);
            (0..n).map(|_| self.statement(2)).collect()
        };
        (0..n).map(|_| task()).collect()
    }

    /// One that is about reference counts.
    fn counting(&mut self, least: u32) -> Program {
        self.kinds.clear();
        self.kinds.extend((42..=53).chain([0, 2, 10, 43, 47, 52]));
        let tasks = least + self.rng.below(2);
        Program {
            tasks: self.tasks(tasks),
            spurious: false,
            handles: true,
            timeouts: Timeouts::Any,
        }
    }
}

impl Program {
    /// With which it is run.
    pub(crate) fn settings(&self) -> Settings {
        let &Self { spurious, timeouts, .. } = self;
        Settings { spurious, timeouts, ..Settings::default() }
    }

    /// Whether it has a step that depends on something else where it comes earlier, so that one which sleeps may be woken though
    /// nothing has come that depends on it, and a trace may be run twice (`docs/decisions/steps-that-vary.md`): a look at
    /// whether a task has ended, which depends on that task's last step, and whether a step is the last one is known when it
    /// has run; or an attempt to receive, which depends on the end of the last sender if there is no message, and else does not.
    fn has_steps_that_vary(&self) -> bool {
        let text = format!("{:?}", self.tasks);
        let has = |name| text.contains(name);
        let attempts = has("TryReceive,") || has("TryReceive]");
        has("IsFinished") || attempts && has("Send(") && has("DropSender")
    }
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    Generator { rng: Rng::new(seed), kinds: Vec::new() }.program()
}

/// The program of a seed that is about reference counts.
pub(crate) fn counting(seed: u64) -> Program {
    Generator { rng: Rng::new(seed), kinds: Vec::new() }.counting(2)
}

/// The same with more tasks: most have too many interleavings for exhaustive search.
pub(crate) fn counting_much(seed: u64) -> Program {
    Generator { rng: Rng::new(seed), kinds: Vec::new() }.counting(3)
}

/// The program of a seed, with wake-ups for no reason; every second has the lock of the waiters held elsewhere, too. None if no
/// wait of it has a timeout.
pub(crate) fn waiting(seed: u64) -> Option<Program> {
    let mut program = Program { spurious: true, ..program(seed) };
    if seed % 2 == 1 {
        program.tasks.iter_mut().for_each(|task| gate(task));
    }
    format!("{program:?}").contains("WaitTimeout").then_some(program)
}

/// The smallest programs of which the memoryless reduction once lost traces.
pub(crate) fn once_lost() -> [Program; 3] {
    use Statement::{
        DropSender, NotifyAll, Park, Read, Send, Spawn, TryRead, TryReceive, TryWrite, UnparkMain,
        Wait, Write,
    };
    let of = |tasks: Vec<Vec<Statement>>, spurious| Program {
        tasks,
        spurious,
        handles: false,
        timeouts: Timeouts::Any,
    };
    [
        // Who is notified before it can have its lock waits for the lock alone.
        of(
            vec![vec![Wait], vec![Wait], vec![Spawn(vec![NotifyAll]), Spawn(vec![NotifyAll])]],
            true,
        ),
        // There is a second sender that goes only if the last task is before the second one.
        of(vec![vec![Send(2)], vec![TryReceive, DropSender], vec![DropSender]], false),
        // The first task has the lock until the third has given it back, so the second comes before both or after both.
        of(
            vec![
                vec![TryRead(vec![Park, Read(vec![TryWrite, UnparkMain])])],
                vec![Write(vec![])],
                vec![Read(vec![])],
                vec![UnparkMain],
            ],
            false,
        ),
    ]
}

/// One task's run of its statements; what it saw goes into the result.
struct Runner<'a> {
    shared: &'a Arc<Shared>,
    last: usize,
    saw: Vec<usize>,
    children: Vec<thread::JoinHandle<Vec<usize>>>,
    handles: Handles,
}

impl Runner<'_> {
    fn see(&mut self, value: usize) {
        self.last = value;
        self.saw.push(value);
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of statement")]
    fn run(&mut self, statements: &[Statement]) {
        let shared = Arc::clone(self.shared);
        for statement in statements {
            match statement {
                Statement::Load(word) => self.see(shared.words[*word].load(SeqCst)),
                Statement::Store(word, value) => shared.words[*word].store(*value, SeqCst),
                Statement::Add(word) => self.see(shared.words[*word].fetch_add(1, SeqCst)),
                Statement::Exchange(word) => {
                    let done = shared.words[*word].compare_exchange(self.last, 7, SeqCst, SeqCst);
                    self.see(done.map_or_else(|value| value, |value| value + 100));
                }
                Statement::Section(lock, body) => {
                    // For those who go by methods.
                    let scope = Scope::new("section");
                    let _entered = scope.enter();
                    let mut guard = shared.locks[*lock].lock().expect("not poisoned");
                    *guard += 1;
                    self.see(*guard);
                    self.run(body);
                }
                Statement::TrySection(lock, body) => match shared.locks[*lock].try_lock() {
                    Ok(mut guard) => {
                        *guard += 1;
                        self.see(*guard);
                        self.run(body);
                    }
                    Err(_) => self.see(1000),
                },
                Statement::Read(body) => {
                    let guard = shared.rw.read().expect("not poisoned");
                    self.see(*guard);
                    self.run(body);
                }
                Statement::Write(body) => {
                    let mut guard = shared.rw.write().expect("not poisoned");
                    *guard += 1;
                    self.run(body);
                }
                Statement::TryWrite => match shared.rw.try_write() {
                    Ok(mut guard) => *guard += 1,
                    Err(_) => self.see(1000),
                },
                Statement::TryRead(body) => {
                    let guard = shared.rw.try_read();
                    self.see(guard.as_ref().map_or(1000, |guard| **guard));
                    self.run(body);
                }
                Statement::NotifyLocked => {
                    let gate = shared.gate.lock().expect("not poisoned");
                    shared.condvar.notify_one();
                    drop(gate);
                }
                Statement::Gated(body) => {
                    let _gate = shared.gate.lock().expect("not poisoned");
                    self.run(body);
                }
                Statement::Choose(n) => self.see(rt::choose(*n) as usize),
                Statement::IfOdd(body) => {
                    if self.last % 2 == 1 {
                        self.run(body);
                    }
                }
                Statement::Send(value) => {
                    let sender = shared.sender.lock().expect("not poisoned").clone();
                    let sent = sender.map_or(44, |sender| usize::from(sender.send(*value).is_ok()));
                    self.see(sent);
                }
                Statement::DropSender => {
                    let sender = shared.sender.lock().expect("not poisoned").take();
                    drop(sender);
                }
                // Only one task has the receiver: the others do nothing.
                Statement::TryReceive | Statement::Receive | Statement::ReceiveTimeout => {
                    let receiver = shared.receiver.lock().expect("not poisoned").take();
                    let Some(receiver) = receiver else { continue };
                    let value = match statement {
                        Statement::TryReceive => receiver.try_recv().unwrap_or(55),
                        Statement::Receive => receiver.recv().unwrap_or(66),
                        _ => receiver.recv_timeout(Duration::from_secs(1)).unwrap_or(77),
                    };
                    self.see(value);
                    *shared.receiver.lock().expect("not poisoned") = Some(receiver);
                }
                Statement::Wait => {
                    let gate = shared.gate.lock().expect("not poisoned");
                    drop(shared.condvar.wait(gate));
                }
                Statement::WaitTimeout => {
                    let gate = shared.gate.lock().expect("not poisoned");
                    let timeout = Duration::from_secs(1);
                    let (gate, how) =
                        shared.condvar.wait_timeout(gate, timeout).expect("not poisoned");
                    drop(gate);
                    self.see(usize::from(how.timed_out()));
                }
                Statement::NotifyOne => shared.condvar.notify_one(),
                Statement::NotifyAll => shared.condvar.notify_all(),
                Statement::Spawn(body) => {
                    let (shared, body) = (Arc::clone(&shared), body.clone());
                    self.children
                        .push(thread::spawn(move || start(&shared, &body, Handles::default())));
                }
                Statement::Join => {
                    if let Some(child) = self.children.pop() {
                        let saw = child.join().expect("no panic");
                        self.saw.extend(saw);
                    }
                }
                Statement::IsFinished => {
                    if let Some(child) = self.children.last() {
                        let finished = child.is_finished();
                        self.see(usize::from(finished));
                    }
                }
                Statement::Park => thread::park(),
                Statement::ParkTimeout => thread::park_timeout(Duration::from_secs(1)),
                Statement::UnparkMain => shared.main.unpark(),
                Statement::Yield => thread::yield_now(),
                Statement::Put(value) => self.see(usize::from(shared.put.send(*value).is_ok())),
                Statement::TryPut(value) => {
                    self.see(usize::from(shared.put.try_send(*value).is_ok()));
                }
                Statement::Hand(value) => self.see(usize::from(shared.hand.send(*value).is_ok())),
                Statement::TryHand(value) => {
                    self.see(usize::from(shared.hand.try_send(*value).is_ok()));
                }
                Statement::Get | Statement::TryGet | Statement::DropGetter => {
                    let getter = shared.get.lock().expect("not poisoned").take();
                    let Some(getter) = getter else { continue };
                    match statement {
                        Statement::Get => self.see(getter.recv().unwrap_or(66)),
                        Statement::TryGet => self.see(getter.try_recv().unwrap_or(55)),
                        _ => continue,
                    }
                    *shared.get.lock().expect("not poisoned") = Some(getter);
                }
                Statement::Receive0 | Statement::TryReceive0 | Statement::Receive0Timeout => {
                    let handed = shared.handed.lock().expect("not poisoned").take();
                    let Some(handed) = handed else { continue };
                    let value = match statement {
                        Statement::Receive0 => handed.recv().unwrap_or(66),
                        Statement::TryReceive0 => handed.try_recv().unwrap_or(55),
                        _ => handed.recv_timeout(Duration::from_secs(1)).unwrap_or(77),
                    };
                    self.see(value);
                    *shared.handed.lock().expect("not poisoned") = Some(handed);
                }
                Statement::Meet => self.see(usize::from(shared.barrier.wait().is_leader())),
                Statement::Once(body) => shared.once.call_once(|| self.run(body)),
                Statement::IsDone => self.see(usize::from(shared.once.is_completed())),
                counts => {
                    self.count(counts);
                }
            }
        }
    }

    /// Does nothing without a handle.
    fn count(&mut self, statement: &Statement) -> Option<()> {
        let Handles { strong, weak } = &mut self.handles;
        let saw = match statement {
            Statement::CloneHandle => {
                let clone = counted::Arc::clone(strong.last()?);
                strong.push(clone);
                return None;
            }
            Statement::DropHandle => {
                drop(strong.pop()?);
                return None;
            }
            Statement::Downgrade => {
                weak.push(counted::Arc::downgrade(strong.last()?));
                return None;
            }
            Statement::CloneWeak => {
                let clone = weak.last()?.clone();
                weak.push(clone);
                return None;
            }
            Statement::DropWeak => {
                drop(weak.pop()?);
                return None;
            }
            Statement::Upgrade => {
                let upgraded = weak.last()?.upgrade();
                let there = upgraded.is_some();
                strong.extend(upgraded);
                usize::from(there)
            }
            Statement::StrongCount => match strong.last() {
                Some(handle) => counted::Arc::strong_count(handle),
                None => weak.last()?.strong_count(),
            },
            Statement::WeakCount => match strong.last() {
                Some(handle) => counted::Arc::weak_count(handle),
                None => weak.last()?.weak_count(),
            },
            Statement::GetMut => usize::from(counted::Arc::get_mut(strong.last_mut()?).is_some()),
            Statement::TryUnwrap => match counted::Arc::try_unwrap(strong.pop()?) {
                Ok(_) => 1,
                Err(handle) => {
                    strong.push(handle);
                    0
                }
            },
            Statement::IntoInner => usize::from(counted::Arc::into_inner(strong.pop()?).is_some()),
            _ => {
                counted::Arc::make_mut(strong.last_mut()?);
                return None;
            }
        };
        self.see(saw);
        None
    }
}

fn start(shared: &Arc<Shared>, statements: &[Statement], handles: Handles) -> Vec<usize> {
    let mut runner = Runner { shared, last: 0, saw: Vec::new(), children: Vec::new(), handles };
    runner.run(statements);
    for child in std::mem::take(&mut runner.children) {
        let saw = child.join().expect("no panic");
        runner.saw.extend(saw);
    }
    drop(runner.handles);
    runner.saw
}

pub(crate) fn execute(program: &Program) -> String {
    let (sender, receiver) = mpsc::channel();
    let (put, get) = mpsc::sync_channel(1);
    let (hand, handed) = mpsc::sync_channel(0);
    let shared = Arc::new(Shared {
        words: (0..2).map(|_| AtomicUsize::new(0)).collect(),
        locks: (0..2).map(|_| Mutex::new(0)).collect(),
        rw: RwLock::new(0),
        condvar: Condvar::new(),
        gate: Mutex::new(false),
        sender: Mutex::new(Some(sender)),
        receiver: Mutex::new(Some(receiver)),
        main: thread::current(),
        put,
        get: Mutex::new(Some(get)),
        hand,
        handed: Mutex::new(Some(handed)),
        barrier: Barrier::new(2),
        once: Once::new(),
    });
    let mut ours = Handles::default();
    if program.handles {
        ours.strong.push(counted::Arc::new(Value(Arc::clone(&shared))).named("value"));
    }
    // Every other task has a weak handle. All are made before any of them runs.
    let handles = (1..program.tasks.len()).map(|task| {
        let mut handles = Handles::default();
        match ours.strong.last() {
            Some(handle) if task % 2 == 1 => handles.weak.push(counted::Arc::downgrade(handle)),
            Some(handle) => handles.strong.push(counted::Arc::clone(handle)),
            None => {}
        }
        handles
    });
    let handles: Vec<Handles> = handles.collect();
    let children: Vec<_> = program.tasks[1..]
        .iter()
        .zip(handles)
        .map(|(statements, handles)| {
            let (shared, statements) = (Arc::clone(&shared), statements.clone());
            thread::spawn(move || start(&shared, &statements, handles))
        })
        .collect();
    let mut saw = vec![start(&shared, &program.tasks[0], ours)];
    saw.extend(children.into_iter().map(|child| child.join().expect("no panic")));
    let words: Vec<_> = shared.words.iter().map(|word| word.load(SeqCst)).collect();
    format!("{saw:?} {words:?}")
}

/// What a comparison of all searches on one program came to.
enum Compared {
    /// It has too many interleavings, or is not closed under equivalence.
    TooLarge,
    /// The same. `repeated`: executions that showed a trace again, of the optimal reduction.
    Same {
        repeated: u64,
        interleavings: u64,
        traces: u64,
    },
    Differs(String),
}

fn compare(program: &Program, most: u64) -> Compared {
    let run = || execute(program);
    let settings = program.settings();
    if is_out_of_reach(most, settings, &run).is_some() {
        return Compared::TooLarge;
    }
    let Some(all) = exhaustive(most, settings, &run) else { return Compared::TooLarge };
    let mut repeated = 0;
    for reduction in [Reduction::Source, Reduction::Classic, Reduction::Optimal] {
        let most = all.executions + 10;
        let Some(saw) = reduced(reduction, most, settings, &run) else {
            return Compared::Differs(format!("{reduction:?} ran more than all"));
        };
        let lost = all.traces.difference(&saw.traces).count();
        let extra = saw.traces.difference(&all.traces).count();
        if lost + extra > 0 {
            let of = all.traces.len();
            return Compared::Differs(format!("{reduction:?} lost {lost} of {of}, {extra} extra"));
        }
        if all.results != saw.results {
            let (ours, theirs) = (saw.results, all.results);
            return Compared::Differs(format!("{reduction:?}: {ours:?} instead of {theirs:?}"));
        }
        repeated = saw.repeated;
    }
    // Best first with a reduction is refused with the others.
    if settings.timeouts != Timeouts::Idle
        && let Err(how) = best_first::compare_reduced(&all, None, settings, &run)
    {
        return Compared::Differs(how);
    }
    Compared::Same { repeated, interleavings: all.executions, traces: all.traces.len() as u64 }
}

/// Best first, every priority: the schedules of depth first, all and within a bound.
#[test]
fn best_first_runs_the_schedules_of_depth_first() {
    let sample = Sample::new((60, 500), (12_000, 2_000));
    let (mut compared, mut skipped, mut schedules) = (0, 0, 0);
    let mut seed = 70_000 + sample.from;
    while compared < sample.programs {
        let program = Generator { rng: Rng::new(seed), kinds: Vec::new() }.program();
        let run = || execute(&program);
        match best_first::compare_all(seed, sample.most, program.settings(), &run) {
            None => skipped += 1,
            Some(Ok(n)) => {
                compared += 1;
                schedules += n;
            }
            Some(Err(how)) => panic!("seed {seed}: {how}\n{program:?}"),
        }
        seed += 1;
    }
    check_skips(sample, compared, skipped, BEST_FIRST_SKIPS);
    figures(
        "best-first",
        &[("compared", compared), ("skipped", skipped), ("schedules", schedules)],
    );
}

/// Programs that were skipped, of those drawn: exactly, in the sample of a plain `cargo test`; and in per
/// cent, at least and at most, in others. Programs that no comparison looks at are to stay as few as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skips {
    pub(crate) exactly: u64,
    pub(crate) percent: (u64, u64),
}

#[track_caller]
pub(crate) fn check_skips(sample: Sample, compared: u64, skipped: u64, expected: Skips) {
    if sample.default {
        assert_eq!(skipped, expected.exactly, "programs skipped, beside {compared} compared");
    } else if compared >= 500 {
        let percent = 100 * skipped / (compared + skipped);
        let (least, most) = expected.percent;
        assert!((least..=most).contains(&percent), "{skipped} skipped beside {compared}");
    }
}

/// More than 500 interleavings of 54 programs, beside the 60; with 2,000 it is 43 %.
const BEST_FIRST_SKIPS: Skips = Skips { exactly: 54, percent: (30, 55) };

/// Drops statements and tasks as long as the program still differs.
fn shrink(program: Program, most: u64) -> Program {
    shrink_while(program, |program| matches!(compare(program, most), Compared::Differs(_)))
}

/// Drops statements and tasks as long as something holds of the program.
pub(crate) fn shrink_while(mut program: Program, differs: impl Fn(&Program) -> bool) -> Program {
    if !raddle_testing::shrinks() {
        return program;
    }
    'again: loop {
        for task in 0..program.tasks.len() {
            for at in 0..program.tasks[task].len() {
                let mut smaller = program.clone();
                smaller.tasks[task].remove(at);
                if differs(&smaller) {
                    program = smaller;
                    continue 'again;
                }
                let body = match &program.tasks[task][at] {
                    Statement::Section(_, body)
                    | Statement::TrySection(_, body)
                    | Statement::Read(body)
                    | Statement::Write(body)
                    | Statement::TryRead(body)
                    | Statement::Spawn(body)
                    | Statement::Once(body)
                    | Statement::Gated(body)
                    | Statement::IfOdd(body) => body.clone(),
                    _ => continue,
                };
                for inner in 0..body.len() {
                    let mut smaller = program.clone();
                    match &mut smaller.tasks[task][at] {
                        Statement::Section(_, body)
                        | Statement::TrySection(_, body)
                        | Statement::Read(body)
                        | Statement::Write(body)
                        | Statement::TryRead(body)
                        | Statement::Spawn(body)
                        | Statement::Once(body)
                        | Statement::Gated(body)
                        | Statement::IfOdd(body) => drop(body.remove(inner)),
                        _ => {}
                    }
                    if differs(&smaller) {
                        program = smaller;
                        continue 'again;
                    }
                }
            }
        }
        return program;
    }
}

/// More than 2,000 interleavings of 642 programs, beside the 1,000 that are compared: 39 %. With 50,000 it is a
/// quarter.
const TOO_LARGE: Skips = Skips { exactly: 642, percent: (15, 45) };

/// Programs of which the optimal reduction runs a trace twice, of the 1,000 that are compared.
///
/// All have steps that vary. Of the 12,000 of `cargo xtask nightly threads` they are 24.
const REPEATING: u64 = 2;

/// Twelve thousand programs if there is time, else a thousand.
#[test]
fn random_programs_lose_nothing() {
    let sample = Sample::new((1_000, 2_000), (12_000, 50_000));
    let Sample { programs, most, from, .. } = sample;
    let (mut compared, mut too_large, mut repeating) = (0, 0, 0);
    let (mut all_interleavings, mut all_traces) = (0, 0);
    let mut seed = from;
    while compared < programs {
        let program = program(seed);
        match compare(&program, most) {
            Compared::TooLarge => too_large += 1,
            Compared::Same { repeated, interleavings, traces } => {
                compared += 1;
                if repeated > 0 {
                    assert!(program.has_steps_that_vary(), "seed {seed}: {repeated} traces again");
                    repeating += 1;
                }
                all_interleavings += interleavings;
                all_traces += traces;
            }
            Compared::Differs(how) => {
                let small = shrink(program, most);
                panic!("seed {seed}: {how}\n{small:?}");
            }
        }
        seed += 1;
    }
    figures(
        "threads",
        &[
            ("compared", compared),
            ("skipped", too_large),
            ("interleavings", all_interleavings),
            ("traces", all_traces),
            ("repeating", repeating),
        ],
    );
    check_skips(sample, compared, too_large, TOO_LARGE);
    if sample.default {
        assert_eq!(repeating, REPEATING, "programs with a trace that was run twice");
    }
}

/// Makes sections of other locks sections of the one that waiters use.
fn gate(statements: &mut [Statement]) {
    for statement in statements {
        match statement {
            Statement::Section(_, body)
            | Statement::TrySection(_, body)
            | Statement::Read(body)
            | Statement::TryRead(body)
            | Statement::Write(body) => {
                gate(body);
                *statement = Statement::Gated(std::mem::take(body));
            }
            Statement::Spawn(body) | Statement::Once(body) | Statement::IfOdd(body) => gate(body),
            _ => {}
        }
    }
}

/// What a comparison of programs with timed waits came to.
#[derive(Default)]
struct Waits {
    compared: u64,
    too_large: u64,
    traces: u64,
    seeds: u64,
}

impl Waits {
    /// Compares the programs of seeds from this one on that have one of these operations, until there are enough. Every
    /// second has the lock of the waiters held elsewhere, too.
    #[track_caller]
    fn compare(sample: Sample, first: u64, program: impl Fn(u64) -> Program, ops: &[&str]) -> Self {
        let mut all = Self::default();
        while all.compared < sample.programs {
            let seed = first + all.seeds;
            let mut program = program(seed);
            if seed % 2 == 1 {
                program.tasks.iter_mut().for_each(|task| gate(task));
            }
            all.seeds += 1;
            let text = format!("{program:?}");
            if !ops.iter().any(|op| text.contains(op)) {
                continue;
            }
            match compare(&program, sample.most) {
                Compared::TooLarge => all.too_large += 1,
                Compared::Same { traces, .. } => {
                    all.compared += 1;
                    all.traces += traces;
                }
                Compared::Differs(how) => {
                    let small = shrink(program, sample.most);
                    panic!("seed {seed}: {how}\n{small:?}");
                }
            }
        }
        all
    }

    fn figures(&self, name: &str) {
        let Self { compared, too_large, traces, seeds } = *self;
        figures(
            name,
            &[("compared", compared), ("skipped", too_large), ("seeds", seeds), ("traces", traces)],
        );
    }
}

/// More than 500 interleavings of 155 programs, beside the 100.
const NEVER_TOO_LARGE: Skips = Skips { exactly: 155, percent: (40, 90) };

/// Programs with timed waits that never time out, every fourth with wake-ups for no reason: most end in deadlocks.
#[test]
fn random_waits_that_never_time_out_lose_nothing() {
    let sample = Sample::new((100, 500), (3_000, 3_000));
    let program = |seed: u64| Program {
        timeouts: Timeouts::Never,
        spurious: seed.is_multiple_of(4),
        ..program(seed)
    };
    let all = Waits::compare(sample, 900_000 + sample.from, program, &TIMED);
    all.figures("no-timeouts");
    check_skips(sample, all.compared, all.too_large, NEVER_TOO_LARGE);
}

/// Statements that end by a timeout if they may.
const TIMED: [&str; 4] = ["WaitTimeout", "ParkTimeout", "ReceiveTimeout", "Receive0Timeout"];

/// More than 500 interleavings of 119 programs, beside the 100; with 2,000 it is 48 %.
const IDLE_TOO_LARGE: Skips = Skips { exactly: 119, percent: (30, 70) };

/// Programs with timed waits that time out only when nothing else can move, every fourth with wake-ups for no reason.
///
/// Of 3,000 of them with up to 2,000 interleavings each, once: 15,781 traces, none lost by `dpor` of any kind.
#[test]
fn random_waits_that_time_out_when_nothing_else_can_move_lose_nothing() {
    let sample = Sample::new((100, 500), (3_000, 3_000));
    let program = |seed: u64| Program {
        timeouts: Timeouts::Idle,
        spurious: seed.is_multiple_of(4),
        ..program(seed)
    };
    let all = Waits::compare(sample, 1_300_000 + sample.from, program, &TIMED);
    all.figures("idle");
    check_skips(sample, all.compared, all.too_large, IDLE_TOO_LARGE);
}

/// More than 500 interleavings of 273 programs, beside the 60.
const WAITS_TOO_LARGE: Skips = Skips { exactly: 273, percent: (40, 90) };

/// Programs whose waits time out and wake for no reason, every second with the lock of the waiters held elsewhere, too: few of
/// those that [`random_programs_lose_nothing`] draws are such.
///
/// `cargo xtask nightly waits` compares 3,000 of them, with up to 3,000 interleavings each. At its full size, once: 52,111
/// traces, none lost by `dpor` of any kind; 9,030 programs were larger.
#[test]
fn random_waits_that_time_out_and_wake_for_no_reason_lose_nothing() {
    let sample = Sample::new((60, 500), (3_000, 3_000));
    let program = |seed| Program { spurious: true, ..program(seed) };
    let all = Waits::compare(sample, 500_000 + sample.from, program, &["WaitTimeout"]);
    all.figures("waits");
    check_skips(sample, all.compared, all.too_large, WAITS_TOO_LARGE);
}

/// More than 2,000 interleavings of 57 programs, beside the 1,000 that are compared.
const COUNTING_TOO_LARGE: Skips = Skips { exactly: 57, percent: (0, 12) };

/// Handles of `counted::Arc`: clones, drops, upgrades and looks at counts, with a value whose destructor is seen.
#[test]
fn random_programs_of_reference_counts_lose_nothing() {
    let sample = Sample::new((1_000, 2_000), (4_000, 50_000));
    let (mut compared, mut too_large, mut all_interleavings, mut all_traces) = (0, 0, 0, 0);
    let mut seed = 300_000 + sample.from;
    while compared < sample.programs {
        let program = counting(seed);
        match compare(&program, sample.most) {
            Compared::TooLarge => too_large += 1,
            Compared::Same { interleavings, traces, .. } => {
                compared += 1;
                all_interleavings += interleavings;
                all_traces += traces;
            }
            Compared::Differs(how) => {
                let small = shrink(program, sample.most);
                panic!("seed {seed}: {how}\n{small:?}");
            }
        }
        seed += 1;
    }
    figures(
        "reference-counts",
        &[
            ("compared", compared),
            ("skipped", too_large),
            ("interleavings", all_interleavings),
            ("traces", all_traces),
        ],
    );
    check_skips(sample, compared, too_large, COUNTING_TOO_LARGE);
}

/// Seed 252: an execution of `dpor(source) best-first` is cut, and the engine runs on with decisions that belong to no
/// point. They were saved with the others, so that the search refused its own checkpoint.
#[test]
fn a_search_with_an_execution_that_was_cut_can_be_restored() {
    let program = program(252);
    match compare(&program, 20_000) {
        Compared::Same { .. } => {}
        Compared::TooLarge => panic!("not compared: {program:?}"),
        Compared::Differs(how) => panic!("{how}\n{program:?}"),
    }
}

/// Seed 915596, shrunk. A wait that may wake for no reason can also time out: a timeout that fires ends a wake-up that could
/// have come instead, and nothing that ran raced with that one. The optimal reduction lost 6 of the traces.
#[test]
fn waits_that_time_out_and_wake_for_no_reason_lose_nothing() {
    use Statement::{NotifyLocked, WaitTimeout};
    // As many as the search of every interleaving has, with timeouts alone and with both.
    for (spurious, interleavings, traces) in [(false, 62, 26), (true, 345, 173)] {
        let tasks = vec![vec![WaitTimeout, NotifyLocked], vec![WaitTimeout]];
        let program = Program { tasks, spurious, handles: false, timeouts: Timeouts::Any };
        match compare(&program, 1_000) {
            Compared::Same { repeated, interleavings: all, traces: seen } => {
                assert_eq!((repeated, all, seen), (0, interleavings, traces), "{spurious}");
            }
            Compared::TooLarge => panic!("not compared: {program:?}"),
            Compared::Differs(how) => panic!("{how}\n{program:?}"),
        }
    }
}

/// Who has been notified, or may wake for no reason, and waits for a lock that is held for good, races with those who took
/// it.
#[test]
fn waiters_that_never_get_their_lock_lose_nothing() {
    use Statement::{Gated, NotifyAll, NotifyOne, Park, Wait, WaitTimeout};
    let programs: [Vec<Vec<Statement>>; 6] = [
        vec![vec![WaitTimeout], vec![Gated(vec![Park])]],
        vec![vec![WaitTimeout], vec![Gated(vec![NotifyOne, Park])]],
        vec![vec![WaitTimeout], vec![NotifyOne], vec![Gated(vec![Park])]],
        vec![vec![Wait], vec![NotifyOne], vec![Gated(vec![Park])], vec![Gated(vec![])]],
        vec![vec![Wait], vec![WaitTimeout], vec![Gated(vec![NotifyAll, Park])]],
        vec![vec![WaitTimeout, NotifyOne], vec![Gated(vec![Wait])]],
    ];
    for tasks in programs {
        for spurious in [false, true] {
            let program =
                Program { tasks: tasks.clone(), spurious, handles: false, timeouts: Timeouts::Any };
            match compare(&program, 5_000) {
                Compared::Same { repeated, .. } => assert_eq!(repeated, 0, "{program:?}"),
                Compared::TooLarge => panic!("not compared: {program:?}"),
                Compared::Differs(how) => panic!("{how}\n{program:?}"),
            }
        }
    }
}

/// Programs with more interleavings than comparisons run, of which a reduction once lost traces, with how many there are. Exhaustive
/// search of the first three was run once: 114,735, 125,495 and 8,232 interleavings. Of the last one source sets, the classic reduction and 300,000
/// random executions show the same 82 traces.
pub(crate) fn once_lost_beyond_exhaustive_search() -> [(Program, u64); 4] {
    use Statement::{
        DropSender, Load, Read, Receive0Timeout, ReceiveTimeout, Send, TryRead, TryReceive,
        TrySection, WaitTimeout, Write,
    };
    let of = |tasks: Vec<Vec<Statement>>| Program {
        tasks,
        spurious: false,
        handles: false,
        timeouts: Timeouts::Any,
    };
    [
        // Who receives something is independent of the last sender's end; where it comes before the message it is not.
        (
            of(vec![
                vec![TrySection(0, vec![TryReceive]), Send(1)],
                vec![Send(2)],
                vec![DropSender],
            ]),
            13,
        ),
        (of(vec![vec![TryReceive], vec![ReceiveTimeout, DropSender], vec![Send(1)]]), 22),
        // A writer that waits for ever could have come after either reader, or both, or none.
        (
            of(vec![
                vec![TryRead(vec![Read(vec![Load(0), Write(vec![])])])],
                vec![Read(vec![])],
                vec![Read(vec![])],
                vec![TryRead(vec![]), Write(vec![])],
            ]),
            9,
        ),
        // The wait that may wake for no reason sleeps along a whole sequence, because its objects were not known to be other ones.
        (
            Program {
                spurious: true,
                ..of(vec![
                    vec![ReceiveTimeout],
                    vec![ReceiveTimeout],
                    vec![Receive0Timeout],
                    vec![WaitTimeout],
                ])
            },
            82,
        ),
    ]
}

/// Programs on which a reduction once lost traces, shrunk, each with what it took to keep them.
#[test]
fn programs_that_once_lost_traces_do_not() {
    use Statement::*;
    let calm = |tasks: Vec<Vec<Statement>>| Program {
        tasks,
        spurious: false,
        handles: false,
        timeouts: Timeouts::Any,
    };
    let spurious = |tasks: Vec<Vec<Statement>>| Program {
        tasks,
        spurious: true,
        handles: false,
        timeouts: Timeouts::Any,
    };
    let nested = |inner| Spawn(vec![Spawn(inner)]);
    let programs = [
        // A wake follows the notification that let it, whichever other threads notify.
        calm(vec![vec![NotifyLocked], vec![NotifyAll, Wait], vec![Wait]]),
        // Values belong to the steps of a sequence.
        calm(vec![
            vec![Store(0, 1)],
            vec![TryWrite, Read(vec![Store(0, 3)])],
            vec![Write(vec![Choose(2)])],
        ]),
        calm(vec![
            vec![TrySection(1, vec![Section(0, vec![Choose(2)])])],
            vec![TrySection(0, vec![])],
            vec![Store(0, 1), Choose(2)],
        ]),
        // A value after the last step is new to sequences, too.
        calm(vec![vec![], vec![Store(0, 1)], vec![Store(0, 2)], vec![Load(1), Choose(2)]]),
        // Who is spawned by a task that has done nothing follows what that one followed.
        calm(vec![
            vec![],
            vec![Store(1, 1), nested(vec![TrySection(0, vec![])])],
            vec![Store(1, 3)],
        ]),
        calm(vec![vec![ReceiveTimeout], vec![ParkTimeout, Spawn(vec![Yield])]]),
        // A task that waits runs on with the step of another: who looks at it sees that.
        calm(vec![vec![nested(vec![Load(1)]), IsFinished], vec![]]),
        calm(vec![vec![Spawn(vec![Spawn(vec![Load(1)]), Load(0)]), IsFinished], vec![]]),
        calm(vec![vec![], vec![Spawn(vec![ParkTimeout]), IsFinished]]),
        calm(vec![
            vec![],
            vec![
                Spawn(vec![Store(0, 1), Spawn(vec![Store(1, 1), Load(1)])]),
                IsFinished,
                IfOdd(vec![Store(0, 3)]),
            ],
            vec![Exchange(0)],
            vec![Load(1)],
        ]),
        // What sleepers cover is known only of whole executions: every race at every execution.
        calm(vec![
            vec![Store(0, 1)],
            vec![Store(0, 1)],
            vec![Section(1, vec![TryRead(vec![Write(vec![]), Load(0)])])],
            vec![TryWrite],
        ]),
        calm(vec![vec![ParkTimeout], vec![UnparkMain], vec![ParkTimeout], vec![ParkTimeout]]),
        // Who wants a lock alone must come before all that share it.
        calm(vec![
            vec![Read(vec![Write(vec![UnparkMain])])],
            vec![Read(vec![Park])],
            vec![Write(vec![])],
        ]),
        // Who is given something runs on with the step of the giver.
        calm(vec![vec![TryHand(1)], vec![TryHand(2)], vec![Receive0]]),
        // A queue that is full refuses, and keeps waiting who waits for a place.
        calm(vec![vec![TryPut(2), TryPut(1)], vec![Put(1)]]),
        calm(vec![vec![TryPut(2), DropGetter], vec![Put(1)]]),
        calm(vec![vec![TryPut(2), TryGet], vec![Put(2)]]),
        calm(vec![vec![Get, Put(1), TryGet], vec![TryGet, Put(2)]]),
        calm(vec![
            vec![Put(1), Put(1), Store(0, 1)],
            vec![Load(0), TryGet],
            vec![Put(2), DropGetter],
        ]),
        // An op may do something else where it comes earlier.
        calm(vec![
            vec![Once(vec![Load(1)])],
            vec![Store(1, 1), Once(vec![])],
            vec![Once(vec![IsDone, Once(vec![Once(vec![])])])],
        ]),
        calm(vec![vec![], vec![Once(vec![IsDone, Meet])], vec![Once(vec![])]]),
        calm(vec![vec![Spawn(vec![DropSender]), TryReceive], vec![Send(2)]]),
        // Of an op on two objects, what it could not come before on one it may on the other.
        spurious(vec![vec![Once(vec![NotifyOne]), NotifyLocked], vec![Wait]]),
        // A timeout that did not fire could have come after what is new in a later execution.
        spurious(vec![vec![WaitTimeout, ParkTimeout], vec![WaitTimeout, UnparkMain]]),
        // A wake-up that its timeout ended waited for the lock: where the execution is cut at the timeout, and where it is not.
        spurious(vec![vec![WaitTimeout], vec![Gated(vec![TryWrite]), Gated(vec![NotifyLocked])]]),
        spurious(vec![
            vec![Gated(vec![WaitTimeout])],
            vec![Gated(vec![UnparkMain, UnparkMain])],
            vec![WaitTimeout],
        ]),
        spurious(vec![
            vec![Gated(vec![TryWrite]), WaitTimeout],
            vec![Gated(vec![Yield]), Gated(vec![ReceiveTimeout, Gated(vec![UnparkMain])])],
        ]),
    ];
    for program in programs {
        match compare(&program, 50_000) {
            Compared::Same { .. } => {}
            Compared::TooLarge => panic!("not compared: {program:?}"),
            Compared::Differs(how) => panic!("{how}\n{program:?}"),
        }
    }
}

/// Programs without which a mutation of `cargo xtask mutate` survives: few random ones are like them.
#[test]
fn programs_seldom_drawn_lose_nothing() {
    use Statement::{
        Get, Load, Put, ReceiveTimeout, Send, Spawn, Store, TryGet, TryPut, TryReceive,
    };
    let programs: [Vec<Vec<Statement>>; 6] = [
        // Who sends first is received first.
        vec![vec![Send(2)], vec![Send(1), ReceiveTimeout]],
        vec![vec![Send(2), Load(0)], vec![Send(1), TryReceive]],
        // An attempt finds something only after it was put there.
        vec![vec![Put(1)], vec![TryGet]],
        // An attempt finds room only after something was taken.
        vec![vec![TryPut(1), Get], vec![TryPut(2)]],
        vec![vec![TryPut(1), TryGet], vec![TryPut(2)]],
        // A child comes after all that its parent did before.
        vec![vec![Load(0)], vec![Store(0, 1), Spawn(vec![Load(1)])]],
    ];
    for tasks in programs {
        let program = Program { tasks, spurious: false, handles: false, timeouts: Timeouts::Any };
        match compare(&program, 2_000) {
            Compared::Same { repeated, .. } => assert_eq!(repeated, 0, "{program:?}"),
            Compared::TooLarge => panic!("not compared: {program:?}"),
            Compared::Differs(how) => panic!("{how}\n{program:?}"),
        }
    }
}
