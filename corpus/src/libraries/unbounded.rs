//! An unbounded queue with a lock at each end, whose receivers block.
//!
//! The shape is Michael and Scott's two-lock queue (PODC 1996) with a count of what is there and a
//! condition for those who wait, as in Java's `LinkedBlockingQueue`. Nodes are in an arena.

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "unbounded queue",
    line: "a lock at each end, a count, and a condition for those who wait",
    tests: &[Test {
        correct: of("unbounded-queue", "n items each from t senders, then it is closed", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of(
                "unbounded-queue-wake",
                "notifications are sent without the receivers' lock",
                |n, t| {
                    test(Flaw::Unlocked, n, t);
                },
            )
            .bug(Expected::Deadlock, "lost wake-up"),
            of("unbounded-queue-close", "to close it wakes one receiver", |n, t| {
                test(Flaw::CloseWakesOne, n, t);
            })
            .bug(Expected::Deadlock, "notify_one for notify_all"),
            of("unbounded-queue-end", "a receiver looks whether it is closed too late", |n, t| {
                test(Flaw::LateLook, n, t);
            })
            .bug(Expected::Panic, "wrong order of looks"),
            of("unbounded-queue-count", "a sender counts its item before it is linked", |n, t| {
                test(Flaw::EarlyCount, n, t);
            })
            .bug(Expected::Panic, "wrong order of flag and data"),
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
    /// Notifications are not under the lock of the condition. One can come after a receiver saw
    /// that there is nothing, and before it waits.
    Unlocked,
    /// All receivers must hear that nothing comes any more. Only one does.
    CloseWakesOne,
    /// A receiver sees that there is nothing, then that the queue is closed, and leaves. What was
    /// sent between the two looks stays.
    LateLook,
    /// The count says that there is an item before it is linked in. A receiver follows a link that
    /// is not there, and returns what is no item.
    EarlyCount,
}

struct Node {
    item: Tracked<usize>,
    /// 0 if it is the last.
    next: AtomicUsize,
}

struct Queue {
    nodes: Vec<Node>,
    n_nodes: AtomicUsize,
    head: Mutex<usize>,
    tail: Mutex<usize>,
    count: AtomicUsize,
    closed: AtomicBool,
    arrived: Condvar,
    flaw: Flaw,
}

impl Queue {
    fn new(flaw: Flaw, most: usize) -> Self {
        let node = |_| Node { item: Tracked::new(0), next: AtomicUsize::new(0) };
        Self {
            nodes: (0..=most).map(node).collect(),
            n_nodes: AtomicUsize::new(1),
            head: Mutex::new(0),
            tail: Mutex::new(0),
            count: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            arrived: Condvar::new(),
            flaw,
        }
    }

    fn send(&self, item: usize) {
        let node = self.n_nodes.fetch_add(1, SeqCst);
        self.nodes[node].item.set(item);
        let mut tail = self.tail.lock().unwrap();
        if self.flaw == Flaw::EarlyCount {
            self.count.fetch_add(1, SeqCst);
        }
        self.nodes[*tail].next.store(node, SeqCst);
        *tail = node;
        drop(tail);
        if self.flaw != Flaw::EarlyCount {
            self.count.fetch_add(1, SeqCst);
        }
        let head = (self.flaw != Flaw::Unlocked).then(|| self.head.lock().unwrap());
        self.arrived.notify_one();
        drop(head);
    }

    fn close(&self) {
        self.closed.store(true, SeqCst);
        let head = (self.flaw != Flaw::Unlocked).then(|| self.head.lock().unwrap());
        if self.flaw == Flaw::CloseWakesOne {
            self.arrived.notify_one();
        } else {
            self.arrived.notify_all();
        }
        drop(head);
    }

    /// Without a lock. Once it is closed nothing comes any more.
    fn is_at_end(&self) -> bool {
        let early = (self.flaw == Flaw::LateLook).then(|| self.count.load(SeqCst));
        if early.is_some_and(|count| count > 0) || !self.closed.load(SeqCst) {
            return false;
        }
        early.unwrap_or_else(|| self.count.load(SeqCst)) == 0
    }

    /// `None` if it is closed and nothing is left.
    fn receive(&self) -> Option<usize> {
        if self.is_at_end() {
            return None;
        }
        let mut head = self.head.lock().unwrap();
        while self.count.load(SeqCst) == 0 {
            if self.closed.load(SeqCst) && self.count.load(SeqCst) == 0 {
                return None;
            }
            head = self.arrived.wait(head).unwrap();
        }
        self.count.fetch_sub(1, SeqCst);
        let node = self.nodes[*head].next.load(SeqCst);
        if node == 0 {
            return Some(usize::MAX);
        }
        *head = node;
        Some(self.nodes[node].item.get())
    }
}

/// Each item is received once, and then every receiver hears of the end. The last sender closes.
fn test(flaw: Flaw, n: usize, t: usize) {
    let (queue, sending) = (Queue::new(flaw, n * t), AtomicUsize::new(t));
    let (queue, sending) = (&queue, &sending);
    let mut all = thread::scope(|scope| {
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || std::iter::from_fn(|| queue.receive()).collect::<Vec<_>>())
            })
            .collect();
        for sender in 0..t {
            scope.spawn(move || {
                (sender * n..(sender + 1) * n).for_each(|item| queue.send(item));
                if sending.fetch_sub(1, SeqCst) == 1 {
                    queue.close();
                }
            });
        }
        let received = receivers.into_iter().flat_map(|receiver| receiver.join().unwrap());
        received.collect::<Vec<_>>()
    });
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..n * t), "an item was lost or received twice: {all:?}");
}
