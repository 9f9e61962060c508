//! A lock-free queue with counted pointers whose nodes are used again.
//!
//! The shape is Michael and Scott's queue (PODC 1996): the first node is a dummy, the tail may lag
//! behind, and every pointer has a count of its changes. Each thread keeps the nodes that it took
//! out, and uses them first.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "Michael-Scott queue",
    line: "a lock-free queue with counted pointers and nodes used again",
    tests: &[
        Test {
            correct: of("ms-queue", "t send and receive n times each", |n, t| {
                test(Flaw::None, n, t);
            }),
            bugs: &[
                of("ms-queue-aba", "changes of pointers are not counted", |n, t| {
                    test(Flaw::Uncounted, n, t);
                })
                .bug(Expected::Panic, "ABA"),
                of("ms-queue-late-read", "an item is read after its node is let go", |n, t| {
                    test(Flaw::LateRead, n, t);
                })
                .bug(Expected::Panic, "use after release"),
            ],
        },
        Test {
            correct: of("ms-queue-eager", "t receive and send n times each", |n, t| {
                eager(Flaw::None, n, t);
            }),
            bugs: &[of("ms-queue-tail", "the head overtakes a tail that lags behind", |n, t| {
                eager(Flaw::Overtakes, n, t);
            })
            .bug(Expected::Panic, "missing check")],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 3, 1, 100), parameter("t", 2, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// One reads the head and its successor. Others take both out, and the first becomes the head
    /// again. The head is the same, and its successor is not.
    Uncounted,
    /// The head is moved, and then the item read. Another may have taken that node out too, and put
    /// another item into it.
    LateRead,
    /// The head moves past the tail, and the node that the tail names is used again. What is
    /// appended there is lost.
    Overtakes,
}

/// A word with an index and a count of changes. Index 0 is no node.
const INDEX: usize = 0xffff;

/// Attempts after which a thread says that it is stuck. Each failure is another's success, of which
/// there are fewer.
const ATTEMPTS: usize = 1_000;

struct Node {
    item: AtomicUsize,
    next: AtomicUsize,
}

struct Queue {
    head: AtomicUsize,
    tail: AtomicUsize,
    nodes: Vec<Node>,
    flaw: Flaw,
}

/// What a thread got that is stuck.
const STUCK: usize = usize::MAX;

impl Queue {
    fn new(flaw: Flaw, nodes: usize) -> Self {
        let node = |_| Node { item: AtomicUsize::new(0), next: AtomicUsize::new(0) };
        let (head, tail) = (AtomicUsize::new(1), AtomicUsize::new(1));
        Self { head, tail, nodes: (0..nodes + 2).map(node).collect(), flaw }
    }

    /// The pointer, changed to another index.
    fn to(&self, pointer: usize, index: usize) -> usize {
        let count = if self.flaw == Flaw::Uncounted { 0 } else { (pointer & !INDEX) + INDEX + 1 };
        count | index
    }

    fn next(&self, pointer: usize) -> &AtomicUsize {
        &self.nodes[pointer & INDEX].next
    }

    fn change(&self, which: &AtomicUsize, from: usize, index: usize) -> bool {
        which.compare_exchange(from, self.to(from, index), SeqCst, SeqCst).is_ok()
    }

    /// Appends this node. `false` if stuck.
    fn send(&self, node: usize, item: usize) -> bool {
        self.nodes[node].item.store(item, SeqCst);
        let before = self.nodes[node].next.load(SeqCst);
        self.nodes[node].next.store(self.to(before, 0), SeqCst);
        for _ in 0..ATTEMPTS {
            let tail = self.tail.load(SeqCst);
            let next = self.next(tail).load(SeqCst);
            if self.tail.load(SeqCst) != tail {
                continue;
            }
            if next & INDEX != 0 {
                self.change(&self.tail, tail, next & INDEX);
            } else if self.change(self.next(tail), next, node) {
                self.change(&self.tail, tail, node);
                return true;
            }
        }
        false
    }

    /// The first item, and a node that can be used again.
    fn receive(&self) -> Option<(usize, usize)> {
        for _ in 0..ATTEMPTS {
            let (head, tail) = (self.head.load(SeqCst), self.tail.load(SeqCst));
            let next = self.next(head).load(SeqCst);
            if self.head.load(SeqCst) != head {
                continue;
            }
            if next & INDEX == 0 {
                return None;
            }
            if head & INDEX == tail & INDEX && self.flaw != Flaw::Overtakes {
                self.change(&self.tail, tail, next & INDEX);
                continue;
            }
            let read = || self.nodes[next & INDEX].item.load(SeqCst);
            let early = (self.flaw != Flaw::LateRead).then(read);
            if self.change(&self.head, head, next & INDEX) {
                return Some((early.unwrap_or_else(read), head & INDEX));
            }
        }
        Some((STUCK, 0))
    }
}

/// What one thread sends and receives, with nodes of its own.
struct Worker<'a> {
    queue: &'a Queue,
    free: Vec<usize>,
    received: Vec<usize>,
}

impl Worker<'_> {
    fn send(&mut self, item: usize) {
        if !self.queue.send(self.free.pop().unwrap_or(item + 2), item) {
            self.received.push(STUCK);
        }
    }

    fn receive(&mut self) {
        if let Some((item, node)) = self.queue.receive() {
            self.received.push(item);
            self.free.push(node);
        }
    }
}

/// Each item is received once.
fn test(flaw: Flaw, n: usize, t: usize) {
    exchange(flaw, n, t, |worker, item| {
        worker.send(item);
        worker.receive();
    });
}

/// The same, by threads that receive what others have just begun to send.
fn eager(flaw: Flaw, n: usize, t: usize) {
    exchange(flaw, n, t, |worker, item| {
        worker.receive();
        worker.send(item);
    });
}

fn exchange(flaw: Flaw, n: usize, t: usize, round: fn(&mut Worker<'_>, usize)) {
    let queue = Queue::new(flaw, n * t);
    let queue = &queue;
    let mut all = thread::scope(|scope| {
        let work = move |me: usize| {
            let mut worker = Worker { queue, free: Vec::new(), received: Vec::new() };
            (me * n..(me + 1) * n).for_each(|item| round(&mut worker, item));
            worker.received
        };
        let workers: Vec<_> = (0..t).map(|me| scope.spawn(move || work(me))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let left = (0..=n * t).map_while(|_| queue.receive());
    all.extend(left.map(|(item, _)| item));
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..n * t), "an item was lost or received twice: {all:?}");
}
