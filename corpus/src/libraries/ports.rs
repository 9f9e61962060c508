//! A small runtime for coordination: ports with items and receivers, handlers that a dispatcher
//! runs, iterators over ports, gathers, joins of two ports, and causalities.
//!
//! The shape is that of Microsoft's Concurrency and Coordination Runtime. Its unit tests gave their
//! names to the first rows of GAMBIT's table: iterator, causality, scatter-gather, task coverage,
//! gather and post.

use std::collections::VecDeque;

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "ports",
    line: "ports, receivers, a dispatcher, iterators, gathers, joins, causalities",
    tests: &[
        Test {
            correct: of(
                "iterator",
                "t post n items each, one handler takes them in turn",
                |n, t| {
                    iterator(Flaw::None, n, t);
                },
            ),
            bugs: &[of("iterator-missed", "a receiver looks, and is registered later", |n, t| {
                iterator(Flaw::TwoSections, n, t);
            })
            .bug(Expected::Livelock, "check-then-act, lost wake-up")],
        },
        Test {
            correct: of(
                "scatter-gather",
                "n rounds of t requests and a gather of replies",
                |n, t| {
                    scatter_gather(Flaw::None, n, t);
                },
            ),
            bugs: &[of("scatter-gather-lost", "replies are counted in two steps", |n, t| {
                scatter_gather(Flaw::LostReply, n, t);
            })
            .bug(Expected::Livelock, "lost update")],
        },
        Test {
            correct: of("causality", "t·n handlers of one cause, of which one fails", |n, t| {
                causality(Flaw::None, n, t);
            }),
            bugs: &[of("causality-left", "who stops halfway is not counted as ended", |n, t| {
                causality(Flaw::NotEnded, n, t);
            })
            .bug(Expected::Livelock, "missing release on a path")],
        },
        Test {
            correct: of("task-coverage", "t start n tasks each, and each is run", |n, t| {
                task_coverage(Flaw::None, n, t);
            }),
            bugs: &[of(
                "task-coverage-hint",
                "the length of the queue is told too late",
                |n, t| {
                    task_coverage(Flaw::StaleLength, n, t);
                },
            )
            .bug(Expected::Livelock, "wrong order of unlock and store")],
        },
        Test {
            correct: of("gather-post", "t post n items to two ports, two join them", |n, t| {
                gather_post(Flaw::None, n, t);
            }),
            bugs: &[
                of("gather-post-stale", "a join looks before it locks, and not again", |n, t| {
                    gather_post(Flaw::NoRecheck, n, t);
                })
                .bug(Expected::Panic, "check-then-act"),
                of(
                    "gather-post-order",
                    "a join that fails puts its item back at the end",
                    |n, t| {
                        gather_post(Flaw::PutBack, n, t);
                    },
                )
                .bug(Expected::Panic, "take and undo instead of take both"),
            ],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[30, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A receiver finds no item and is registered in a second section. An item that comes in
    /// between lies there, and the receiver waits for it.
    TwoSections,
    /// Two replies come at once and count as one. The gather is never complete.
    LostReply,
    /// A handler that hears halfway that another failed returns at once. Who waits for all handlers
    /// waits for it too.
    NotEnded,
    /// The length of the queue is stored after the lock was let go. An old zero hides a task.
    StaleLength,
    /// A join sees that both ports have items, and takes. Another was faster.
    NoRecheck,
    /// A join takes from one port, finds nothing at the other, and puts the item back behind those
    /// that came later.
    PutBack,
}

type Task = Box<dyn FnOnce() + Send>;

/// A queue of tasks, and its length for those who look without a lock.
struct Dispatcher {
    queue: Mutex<VecDeque<Task>>,
    length: AtomicUsize,
    stopped: AtomicBool,
    flaw: Flaw,
}

impl Dispatcher {
    fn new(flaw: Flaw) -> Arc<Self> {
        let (length, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { queue: Mutex::default(), length, stopped, flaw })
    }

    /// Changes the queue, and says how long it is then.
    fn with<R>(&self, change: impl FnOnce(&mut VecDeque<Task>) -> R) -> R {
        let mut queue = self.queue.lock().unwrap();
        let result = change(&mut queue);
        let length = queue.len();
        if self.flaw == Flaw::StaleLength {
            drop(queue);
            self.length.store(length, SeqCst);
        } else {
            self.length.store(length, SeqCst);
            drop(queue);
        }
        result
    }

    fn start(&self, task: impl FnOnce() + Send + 'static) {
        self.with(|queue| queue.push_back(Box::new(task)));
    }

    fn work(&self) {
        while !self.stopped.load(SeqCst) {
            let some = self.length.load(SeqCst) > 0;
            match some.then(|| self.with(VecDeque::pop_front)).flatten() {
                Some(task) => task(),
                None => thread::yield_now(),
            }
        }
    }

    fn stop_when(&self, done: impl Fn() -> bool) {
        while !done() {
            thread::yield_now();
        }
        self.stopped.store(true, SeqCst);
    }
}

/// Runs a test with two workers until `done`. The test starts what else it needs.
fn with_workers(
    dispatcher: &Arc<Dispatcher>,
    clients: Vec<Box<dyn FnOnce() + Send>>,
    done: impl Fn() -> bool,
) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| dispatcher.work());
        }
        for client in clients {
            scope.spawn(client);
        }
        dispatcher.stop_when(done);
    });
}

type Receiver = Box<dyn FnOnce(usize) + Send>;

#[derive(Default)]
struct Waiting {
    items: VecDeque<usize>,
    receivers: VecDeque<Receiver>,
}

/// Items meet receivers here. What comes first waits for the other.
struct Port {
    waiting: Mutex<Waiting>,
    dispatcher: Arc<Dispatcher>,
}

impl Port {
    fn new(dispatcher: &Arc<Dispatcher>) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), dispatcher: Arc::clone(dispatcher) })
    }

    fn post(&self, item: usize) {
        let mut waiting = self.waiting.lock().unwrap();
        match waiting.receivers.pop_front() {
            Some(receiver) => self.dispatcher.start(move || receiver(item)),
            None => waiting.items.push_back(item),
        }
    }

    /// Once.
    fn receive(&self, receiver: impl FnOnce(usize) + Send + 'static) {
        let mut waiting = self.waiting.lock().unwrap();
        if let Some(item) = waiting.items.pop_front() {
            self.dispatcher.start(move || receiver(item));
            return;
        }
        if self.dispatcher.flaw == Flaw::TwoSections {
            drop(waiting);
            waiting = self.waiting.lock().unwrap();
        }
        waiting.receivers.push_back(Box::new(receiver));
    }
}

/// A handler that takes one item after the other, and waits for each.
fn iterate(port: &Arc<Port>, left: usize, sum: Arc<AtomicUsize>, done: Arc<AtomicBool>) {
    if left == 0 {
        done.store(true, SeqCst);
        return;
    }
    let next = Arc::clone(port);
    port.receive(move |item| {
        sum.fetch_add(item, SeqCst);
        iterate(&next, left - 1, sum, done);
    });
}

/// All items reach the handler.
fn iterator(flaw: Flaw, n: usize, t: usize) {
    let dispatcher = Dispatcher::new(flaw);
    let port = Port::new(&dispatcher);
    let (sum, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    iterate(&port, n * t, Arc::clone(&sum), Arc::clone(&done));
    let client = |_| {
        let port = Arc::clone(&port);
        Box::new(move || (1..=n).for_each(|item| port.post(item))) as Task
    };
    with_workers(&dispatcher, (0..t).map(client).collect(), || done.load(SeqCst));
    assert_eq!(sum.load(SeqCst), t * n * (n + 1) / 2, "all items, once each");
}

/// A round: requests that are answered on a port, and a gather of the answers that starts the next.
struct Rounds {
    port: Arc<Port>,
    requests: usize,
    /// How many there are.
    most: usize,
    /// Replies of the round that have not come.
    missing: AtomicUsize,
    sum: AtomicUsize,
    done: AtomicBool,
}

impl Rounds {
    fn begin(self: &Arc<Self>, round: usize) {
        if round == self.most {
            self.done.store(true, SeqCst);
            return;
        }
        self.missing.store(self.requests, SeqCst);
        for request in 1..=self.requests {
            let (rounds, port) = (Arc::clone(self), Arc::clone(&self.port));
            self.port.receive(move |reply| rounds.gather(round, reply));
            self.port.dispatcher.start(move || port.post(request));
        }
    }

    fn gather(self: &Arc<Self>, round: usize, reply: usize) {
        self.sum.fetch_add(reply, SeqCst);
        let last = if self.port.dispatcher.flaw == Flaw::LostReply {
            let missing = self.missing.load(SeqCst);
            self.missing.store(missing - 1, SeqCst);
            missing == 1
        } else {
            self.missing.fetch_sub(1, SeqCst) == 1
        };
        if last {
            self.begin(round + 1);
        }
    }
}

/// Every round is complete.
fn scatter_gather(flaw: Flaw, n: usize, t: usize) {
    let dispatcher = Dispatcher::new(flaw);
    let rounds = Arc::new(Rounds {
        port: Port::new(&dispatcher),
        requests: t,
        most: n,
        missing: AtomicUsize::new(0),
        sum: AtomicUsize::new(0),
        done: AtomicBool::new(false),
    });
    rounds.begin(0);
    with_workers(&dispatcher, Vec::new(), || rounds.done.load(SeqCst));
    assert_eq!(rounds.sum.load(SeqCst), n * t * (t + 1) / 2, "all replies, once each");
}

/// Handlers that stop when one of them fails.
struct Causality {
    failed: AtomicBool,
    /// Handlers that have not ended.
    running: AtomicUsize,
    ended: Arc<Port>,
    flaw: Flaw,
}

impl Causality {
    fn end(&self) {
        if self.running.fetch_sub(1, SeqCst) == 1 {
            self.ended.post(0);
        }
    }

    fn handle(&self, work: &AtomicUsize, fails: bool) {
        if self.failed.load(SeqCst) {
            self.end();
            return;
        }
        work.fetch_add(1, SeqCst);
        if fails {
            self.failed.store(true, SeqCst);
        } else if self.failed.load(SeqCst) {
            if self.flaw != Flaw::NotEnded {
                self.end();
            }
            return;
        }
        self.end();
    }
}

/// When one has failed the others end, and the caller hears of it.
fn causality(flaw: Flaw, n: usize, t: usize) {
    let dispatcher = Dispatcher::new(flaw);
    let handlers = n * t;
    let causality = Arc::new(Causality {
        failed: AtomicBool::new(false),
        running: AtomicUsize::new(handlers),
        ended: Port::new(&dispatcher),
        flaw,
    });
    let (work, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let heard = Arc::clone(&done);
    causality.ended.receive(move |_| heard.store(true, SeqCst));
    let client = |me: usize| {
        let (dispatcher, causality) = (Arc::clone(&dispatcher), Arc::clone(&causality));
        let work = Arc::clone(&work);
        Box::new(move || {
            for handler in me * n..(me + 1) * n {
                let (causality, work) = (Arc::clone(&causality), Arc::clone(&work));
                dispatcher.start(move || causality.handle(&work, handler == handlers / 2));
            }
        }) as Task
    };
    with_workers(&dispatcher, (0..t).map(client).collect(), || done.load(SeqCst));
    assert!(causality.failed.load(SeqCst), "one of them fails");
}

/// Every task is run, once.
fn task_coverage(flaw: Flaw, n: usize, t: usize) {
    let dispatcher = Dispatcher::new(flaw);
    let covered: Arc<Vec<_>> = Arc::new((0..n * t).map(|_| AtomicUsize::new(0)).collect());
    let ran = Arc::new(AtomicUsize::new(0));
    let client = |me: usize| {
        let (dispatcher, covered) = (Arc::clone(&dispatcher), Arc::clone(&covered));
        let ran = Arc::clone(&ran);
        Box::new(move || {
            for task in me * n..(me + 1) * n {
                let (covered, ran) = (Arc::clone(&covered), Arc::clone(&ran));
                dispatcher.start(move || {
                    covered[task].fetch_add(1, SeqCst);
                    ran.fetch_add(1, SeqCst);
                });
            }
        }) as Task
    };
    with_workers(&dispatcher, (0..t).map(client).collect(), || ran.load(SeqCst) == n * t);
    assert!(covered.iter().all(|times| times.load(SeqCst) == 1), "each task once");
}

/// A port without receivers, for joins that poll.
#[derive(Default)]
struct Items {
    items: Mutex<VecDeque<usize>>,
    length: AtomicUsize,
}

impl Items {
    fn with<R>(&self, change: impl FnOnce(&mut VecDeque<usize>) -> R) -> R {
        let mut items = self.items.lock().unwrap();
        let result = change(&mut items);
        self.length.store(items.len(), SeqCst);
        result
    }

    fn looks_empty(&self) -> bool {
        self.length.load(SeqCst) == 0
    }
}

/// Takes an item of each port, or none.
fn join(flaw: Flaw, a: &Items, b: &Items) -> Option<(usize, usize)> {
    if a.looks_empty() || b.looks_empty() {
        return None;
    }
    match flaw {
        Flaw::NoRecheck => {
            let take = |port: &Items| port.with(VecDeque::pop_front).unwrap_or(usize::MAX);
            Some((take(a), take(b)))
        }
        Flaw::PutBack => {
            let first = a.with(VecDeque::pop_front)?;
            let Some(second) = b.with(VecDeque::pop_front) else {
                a.with(|items| items.push_back(first));
                return None;
            };
            Some((first, second))
        }
        _ => a.with(|of_a| {
            b.with(|of_b| {
                of_a.front()?;
                let second = of_b.pop_front()?;
                Some((of_a.pop_front()?, second))
            })
        }),
    }
}

/// Items are joined once each, and those of one client in order.
fn gather_post(flaw: Flaw, n: usize, t: usize) {
    let (a, b, joined) = (Items::default(), Items::default(), AtomicUsize::new(0));
    let (a, b, joined) = (&a, &b, &joined);
    let pairs: Vec<Vec<_>> = thread::scope(|scope| {
        let gather = || {
            let mut pairs = Vec::new();
            while joined.load(SeqCst) < n * t {
                match join(flaw, a, b) {
                    Some(pair) => {
                        joined.fetch_add(1, SeqCst);
                        pairs.push(pair);
                    }
                    None => thread::yield_now(),
                }
            }
            pairs
        };
        let gatherers: Vec<_> = (0..2).map(|_| scope.spawn(gather)).collect();
        for client in 0..t {
            scope.spawn(move || {
                for item in client * n..(client + 1) * n {
                    a.with(|items| items.push_back(item));
                    b.with(|items| items.push_back(item));
                }
            });
        }
        gatherers.into_iter().map(|gatherer| gatherer.join().unwrap()).collect()
    });
    for pairs in &pairs {
        let of = |client| pairs.iter().filter(move |pair| pair.0 / n == client);
        let in_order = (0..t).all(|client| of(client).is_sorted_by_key(|pair| pair.0));
        assert!(in_order, "out of order: {pairs:?}");
    }
    let (mut of_a, mut of_b): (Vec<_>, Vec<_>) = pairs.into_iter().flatten().unzip();
    of_a.sort_unstable();
    of_b.sort_unstable();
    assert!(of_a.iter().copied().eq(0..n * t), "an item was lost or taken twice: {of_a:?}");
    assert_eq!(of_a, of_b, "an item was lost or taken twice");
}
