//! A place where two threads meet and exchange what they have; who waits too long goes away.
//!
//! The shape is that of Java's `Exchanger`: one offers, another takes the offer and leaves its own
//! thing, and an offer can be withdrawn.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "exchanger",
    line: "two meet and exchange what they have; an offer can be withdrawn",
    tests: &[Test {
        correct: of("exchanger", "t come n times each with something to exchange", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of(
                "exchanger-early",
                "an offer is said to be taken before the other's is there",
                |n, t| {
                    test(Flaw::EarlyTaken, n, t);
                },
            )
            .bug(Expected::Panic, "wrong order of flag and data"),
            of("exchanger-withdraw", "to withdraw looks first, and then goes away", |n, t| {
                test(Flaw::TornWithdrawal, n, t);
            })
            .bug(Expected::Panic, "non-atomic cancel"),
            of("exchanger-overwrite", "an offer is made in two steps", |n, t| {
                test(Flaw::Overwrites, n, t);
            })
            .bug(Expected::Livelock, "check-then-act"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 1, 1, 1_000), parameter("t", 3, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[30, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Who offered sees that the offer was taken, and takes what is not there yet.
    EarlyTaken,
    /// The offer is taken between the look and the withdrawal. One has exchanged and the other has
    /// not.
    TornWithdrawal,
    /// Two see that there is no offer, and the second overwrites the first. Who made that one
    /// cannot withdraw it, believes it taken, and waits.
    Overwrites,
}

/// How often one looks before it withdraws.
const PATIENCE: usize = 3;

/// No offer, and nothing that was got.
const NOTHING: usize = 0;

struct Offer {
    got: AtomicUsize,
    taken: AtomicBool,
}

struct Exchanger {
    /// Which thing is on offer. All things are different, from 1.
    offer: AtomicUsize,
    /// By thing.
    offers: Vec<Offer>,
    flaw: Flaw,
}

impl Exchanger {
    fn new(flaw: Flaw, things: usize) -> Self {
        let offer = |_| Offer { got: AtomicUsize::new(NOTHING), taken: AtomicBool::new(false) };
        let offers = (0..=things).map(offer).collect();
        Self { offer: AtomicUsize::new(NOTHING), offers, flaw }
    }

    fn make_offer(&self, thing: usize) -> bool {
        if self.flaw == Flaw::Overwrites {
            self.offer.store(thing, SeqCst);
            return true;
        }
        self.offer.compare_exchange(NOTHING, thing, SeqCst, SeqCst).is_ok()
    }

    fn take_offer(&self, other: usize, thing: usize) -> bool {
        if self.offer.compare_exchange(other, NOTHING, SeqCst, SeqCst).is_err() {
            return false;
        }
        let Offer { got, taken } = &self.offers[other];
        if self.flaw == Flaw::EarlyTaken {
            taken.store(true, SeqCst);
        }
        got.store(thing, SeqCst);
        taken.store(true, SeqCst);
        true
    }

    /// What another had, or `None` if no other thread came.
    fn exchange(&self, thing: usize) -> Option<usize> {
        loop {
            let other = self.offer.load(SeqCst);
            if other != NOTHING {
                if self.take_offer(other, thing) {
                    return Some(other);
                }
            } else if self.make_offer(thing) {
                return self.wait(thing);
            }
        }
    }

    fn wait(&self, thing: usize) -> Option<usize> {
        let Offer { got, taken } = &self.offers[thing];
        let mut looks = 0;
        while !taken.load(SeqCst) {
            looks += 1;
            if looks == PATIENCE && self.withdraw(thing) {
                return None;
            }
            thread::yield_now();
        }
        Some(got.load(SeqCst))
    }

    fn withdraw(&self, thing: usize) -> bool {
        if self.flaw == Flaw::TornWithdrawal {
            if self.offer.load(SeqCst) == thing {
                self.offer.store(NOTHING, SeqCst);
            }
            return true;
        }
        self.offer.compare_exchange(thing, NOTHING, SeqCst, SeqCst).is_ok()
    }
}

/// If one got what another had, that one got what the first had.
fn test(flaw: Flaw, n: usize, t: usize) {
    let exchanger = Exchanger::new(flaw, n * t);
    let exchanger = &exchanger;
    let got: Vec<_> = thread::scope(|scope| {
        let exchange = |thing| exchanger.exchange(thing);
        let threads: Vec<_> = (0..t)
            .map(|me| (me * n + 1)..=((me + 1) * n))
            .map(|things| scope.spawn(move || things.map(exchange).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for (index, &other) in got.iter().enumerate() {
        let back = other.map(|other| got.get(other.wrapping_sub(1)).copied().flatten());
        assert!(back.is_none_or(|back| back == Some(index + 1)), "not mutual: {got:?}");
    }
}
