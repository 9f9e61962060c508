//! A bounded queue for many producers and many consumers, with a stamp on each slot.
//!
//! The shape is that of Vyukov's bounded MPMC queue, which is in many lock-free collections. A slot
//! is free for turn `k` if its stamp is `k`, and full if it is `k + 1`.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "bounded queue",
    line: "a ring of slots with stamps, for many producers and consumers",
    tests: &[Test {
        correct: of("bounded-queue", "t send n items each, t receive n each", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("bounded-queue-stamp", "a slot is stamped as full before it is filled", |n, t| {
                test(Flaw::EarlyStamp, n, t);
            })
            .bug(Expected::Panic, "wrong order of flag and data"),
            of("bounded-queue-free", "a slot is freed before its item is read", |n, t| {
                test(Flaw::EarlyFree, n, t);
            })
            .bug(Expected::Panic, "use after release"),
            of(
                "bounded-queue-hasty",
                "a turn is claimed before there is an item, and kept",
                |n, t| {
                    test(Flaw::Hasty, n, t);
                },
            )
            .bug(Expected::Livelock, "claim that is not given back"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[30, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// The stamp says that the slot is full before the item is in it. Who receives in between gets
    /// what was there before.
    EarlyStamp,
    /// The receiver frees the slot and reads the item then. A sender may have put its own there.
    EarlyFree,
    /// A receiver takes its turn before it knows that there is an item, and does not give it back
    /// when there is none. The item that comes in that turn is never received.
    Hasty,
}

struct Slot {
    stamp: AtomicUsize,
    item: AtomicUsize,
}

struct Queue {
    slots: Vec<Slot>,
    send_turn: AtomicUsize,
    receive_turn: AtomicUsize,
    flaw: Flaw,
}

impl Queue {
    fn new(flaw: Flaw, room: usize) -> Self {
        let slot =
            |turn| Slot { stamp: AtomicUsize::new(turn), item: AtomicUsize::new(usize::MAX) };
        Self {
            slots: (0..room).map(slot).collect(),
            send_turn: AtomicUsize::new(0),
            receive_turn: AtomicUsize::new(0),
            flaw,
        }
    }

    fn try_send(&self, item: usize) -> bool {
        loop {
            let turn = self.send_turn.load(SeqCst);
            let slot = &self.slots[turn % self.slots.len()];
            let stamp = slot.stamp.load(SeqCst);
            if stamp < turn {
                return false;
            }
            let mine = stamp == turn
                && self.send_turn.compare_exchange(turn, turn + 1, SeqCst, SeqCst).is_ok();
            if mine && self.flaw == Flaw::EarlyStamp {
                slot.stamp.store(turn + 1, SeqCst);
                slot.item.store(item, SeqCst);
                return true;
            }
            if mine {
                slot.item.store(item, SeqCst);
                slot.stamp.store(turn + 1, SeqCst);
                return true;
            }
        }
    }

    fn try_receive(&self) -> Option<usize> {
        loop {
            let turn = self.receive_turn.load(SeqCst);
            let slot = &self.slots[turn % self.slots.len()];
            let claim =
                || self.receive_turn.compare_exchange(turn, turn + 1, SeqCst, SeqCst).is_ok();
            let hasty = self.flaw == Flaw::Hasty && self.send_turn.load(SeqCst) > turn && claim();
            let stamp = slot.stamp.load(SeqCst);
            if stamp < turn + 1 {
                return None;
            }
            if hasty || stamp == turn + 1 && claim() {
                let read = || slot.item.load(SeqCst);
                let early = (self.flaw != Flaw::EarlyFree).then(read);
                slot.stamp.store(turn + self.slots.len(), SeqCst);
                return Some(early.unwrap_or_else(read));
            }
        }
    }
}

/// Each item arrives once, and those of one sender at one receiver in order.
fn test(flaw: Flaw, n: usize, t: usize) {
    let queue = Queue::new(flaw, 2);
    let received = thread::scope(|scope| {
        let queue = &queue;
        let receive = || loop {
            match queue.try_receive() {
                Some(item) => return item,
                None => thread::yield_now(),
            }
        };
        let receivers: Vec<_> = (0..t)
            .map(|_| scope.spawn(move || (0..n).map(|_| receive()).collect::<Vec<_>>()))
            .collect();
        for sender in 0..t {
            scope.spawn(move || {
                for item in sender * n..(sender + 1) * n {
                    while !queue.try_send(item) {
                        thread::yield_now();
                    }
                }
            });
        }
        let received = receivers.into_iter().map(|receiver| receiver.join().unwrap());
        received.collect::<Vec<_>>()
    });
    for mine in &received {
        let of = |sender| mine.iter().filter(move |&&item| item / n == sender);
        assert!((0..t).all(|sender| of(sender).is_sorted()), "out of order: {mine:?}");
    }
    let mut all = received.concat();
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..n * t), "an item was lost or received twice: {all:?}");
}
