//! A barrier for a fixed party, with an action that the last to arrive performs in each phase.
//!
//! The shape is that of .NET's `Barrier` and Java's `CyclicBarrier`, made of two counters on which
//! those who wait spin.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "barrier",
    line: "phases for a fixed party, an action at the end of each, by spinning",
    tests: &[Test {
        correct: of("phases", "t meet n times, and each sees the sum of the phase", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("phases-reset", "the next phase is opened before arrivals are reset", |n, t| {
                test(Flaw::LateReset, n, t);
            })
            .bug(Expected::Livelock, "wrong order of reset and release"),
            of("phases-look", "who arrives looks afterwards which phase it is", |n, t| {
                test(Flaw::LateLook, n, t);
            })
            .bug(Expected::Livelock, "wrong order of announce and look"),
            of("phases-action", "the action comes after the others are released", |n, t| {
                test(Flaw::LateAction, n, t);
            })
            .bug(Expected::Panic, "wrong order of flag and data"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[30, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Who is fast arrives in the next phase before the count is set to zero. Its arrival is
    /// forgotten.
    LateReset,
    /// The last may open the next phase between the arrival of another and its look. That one then
    /// waits for the end of the wrong phase.
    LateLook,
    /// The others go on before the action is done, and see what it left in the phase before.
    LateAction,
}

struct Barrier {
    party: usize,
    arrived: AtomicUsize,
    phase: AtomicUsize,
    flaw: Flaw,
}

impl Barrier {
    fn new(flaw: Flaw, party: usize) -> Self {
        Self { party, arrived: AtomicUsize::new(0), phase: AtomicUsize::new(0), flaw }
    }

    /// Waits for the others. The last to come performs the action, then all go on.
    fn meet(&self, action: impl Fn()) {
        let early = (self.flaw != Flaw::LateLook).then(|| self.phase.load(SeqCst));
        let arrived = self.arrived.fetch_add(1, SeqCst) + 1;
        let phase = early.unwrap_or_else(|| self.phase.load(SeqCst));
        if arrived != self.party {
            while self.phase.load(SeqCst) == phase {
                thread::yield_now();
            }
            return;
        }
        let reset = || self.arrived.store(0, SeqCst);
        let open = || self.phase.store(phase + 1, SeqCst);
        match self.flaw {
            Flaw::LateReset => {
                action();
                open();
                reset();
            }
            Flaw::LateAction => {
                reset();
                open();
                action();
            }
            Flaw::None | Flaw::LateLook => {
                reset();
                action();
                open();
            }
        }
    }
}

/// In each phase everybody raises its part by one, and sees the sum of all.
fn test(flaw: Flaw, n: usize, t: usize) {
    let barrier = Barrier::new(flaw, t);
    let parts: Vec<_> = (0..t).map(|_| AtomicUsize::new(0)).collect();
    let sum = AtomicUsize::new(0);
    let (barrier, parts, sum) = (&barrier, &parts, &sum);
    let seen: Vec<Vec<usize>> = thread::scope(|scope| {
        let phase = move |me: usize, phase: usize| {
            parts[me].store(phase, SeqCst);
            barrier.meet(|| sum.store(parts.iter().map(|part| part.load(SeqCst)).sum(), SeqCst));
            sum.load(SeqCst)
        };
        let threads: Vec<_> = (0..t)
            .map(|me| scope.spawn(move || (1..=n).map(|at| phase(me, at)).collect()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let all: Vec<_> = (1..=n).map(|phase| phase * t).collect();
    assert!(seen.iter().all(|seen| *seen == all), "not the sum of the phase: {seen:?}");
}
