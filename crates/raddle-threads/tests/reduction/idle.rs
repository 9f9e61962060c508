//! Timeouts that fire only when nothing else can move, of an op for which several tasks compete. No primitive of std has one: the receiver
//! of a channel and a thread that parks have their timed waits to themselves.

use std::time::Duration;

use raddle_engine::model::Model;

use raddle_engine::op::{Access, TaskId};
use raddle_engine::rt::Object;
use raddle_search::Reduction;
use raddle_threads::sync::{Arc, Mutex};
use raddle_threads::thread;
use raddle_trace::{Settings, Timeouts};

use crate::{exhaustive, reduced};

/// How many tokens there are.
#[derive(Debug)]
struct Tokens(usize);

#[derive(Clone, Copy, Debug)]
enum TokensOp {
    Take,
    Give,
}

impl Model for Tokens {
    type Op = TokensOp;
    type Reply = ();
    const KIND: &'static str = "Tokens";

    fn enabled(&self, _: TaskId, op: TokensOp) -> bool {
        matches!(op, TokensOp::Give) || self.0 > 0
    }

    fn access(&self, _: TaskId, _: TokensOp) -> Access {
        Access::Write
    }

    fn apply(&mut self, _: TaskId, op: TokensOp, _: u32) {
        match op {
            TokensOp::Take => self.0 -= 1,
            TokensOp::Give => self.0 += 1,
        }
    }

    fn reset(&mut self) {
        self.0 = 0;
    }

    fn show(op: TokensOp, _: Option<&()>) -> String {
        format!("{op:?}").to_lowercase()
    }
}

/// So many tasks wait for a token, each for this time, and there are fewer: who had one, and who gave up, in this order.
fn compete(times: &[u64], tokens: usize) -> String {
    let shared = Arc::new((Object::new(Tokens(0)), Mutex::new(Vec::new())));
    let take = |(name, &time): (usize, &u64)| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let got = shared.0.step_timeout(TokensOp::Take, Duration::from_millis(time)).is_some();
            let what = if got { "has one" } else { "gives up" };
            shared.1.lock().expect("no task panics").push(format!("{name} {what}"));
        })
    };
    let takers: Vec<_> = times.iter().enumerate().map(take).collect();
    (0..tokens).for_each(|_| shared.0.step(TokensOp::Give));
    for taker in takers {
        taker.join().expect("no task panics");
    }
    let all = shared.1.lock().expect("no task panics");
    all.join("; ")
}

#[test]
fn whoever_gave_up_could_have_been_the_one_that_did_not() {
    let settings = Settings { timeouts: Timeouts::Idle, ..Settings::default() };
    for (times, tokens) in [
        (&[1, 1][..], 1),
        (&[1, 2], 1),
        (&[2, 1], 1),
        (&[1, 1, 1], 1),
        (&[1, 2, 1], 1),
        (&[1, 1, 1], 2),
        (&[3, 2, 1], 0),
        (&[1, 1, 1], 0),
    ] {
        let run = || compete(times, tokens);
        let all = exhaustive(200_000, settings, &run).expect("few interleavings");
        for reduction in [Reduction::Source, Reduction::Classic, Reduction::Optimal] {
            let saw = reduced(reduction, all.executions + 10, settings, &run).expect("fewer");
            let what = format!("{reduction:?}, {times:?}, {tokens}");
            assert_eq!(saw.results, all.results, "{what}");
            assert_eq!(saw.traces, all.traces, "{what}");
        }
        let orders = match (times, tokens) {
            // In the order of their deadlines.
            ([3, 2, 1], _) => 1,
            // One of two has it, and who gives up is the last to say so.
            ([_, _], _) => 2,
            // The task that has it says so first. If that is the second, the two others have the same deadline and give up in either order;
            // if it is the first or the third, the two others have different deadlines and give up in one order: 2 + 1 + 1.
            ([1, 2, 1], _) => 4,
            // All three give up, in any order; or one of them has it first; or two have, in either order.
            _ => 6,
        };
        let said = all.results.iter().filter(|result| *result != "completed").count();
        assert_eq!(said, orders, "{times:?}, {tokens}: {:?}", all.results);
    }
}
