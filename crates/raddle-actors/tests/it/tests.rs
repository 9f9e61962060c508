//! Eta's way to write a test: build, inject, handle, inspect.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use raddle::{Config, Verdict};
use raddle_actors::{Actor, Address, Context, Manager, System};

use crate::{explore, explore_by};

/// Adds what it is told to what it was told last, or doubles.
#[derive(Debug)]
enum Sum {
    Add(u32),
    Double,
}

struct Adder(u32);

impl Actor for Adder {
    type Message = Sum;

    fn handle(&mut self, message: Sum, _cx: &mut Context<'_, Sum>) {
        match message {
            Sum::Add(n) => self.0 += n,
            Sum::Double => self.0 *= 2,
        }
    }
}

/// Passes on what it is told.
struct Relay(Address<Sum>);

impl Actor for Relay {
    type Message = Sum;

    fn handle(&mut self, message: Sum, cx: &mut Context<'_, Sum>) {
        cx.send(&self.0, message);
    }
}

/// One adder and two relays, each with one message. What the adder has in the end.
fn race(system: &System) -> u32 {
    let adder = system.spawn_named("adder", Adder(1));
    let left = system.spawn_named("left", Relay(adder.clone()));
    let right = system.spawn_named("right", Relay(adder.clone()));
    system.send(&left, Sum::Add(3));
    system.send(&right, Sum::Double);
    system.handle_all();
    system.inspect(&adder, |adder: &Adder| adder.0)
}

#[test]
fn the_same_test_runs_once_in_turn_at_random_and_in_every_order() {
    // In turn: left, right, then left's message before right's.
    assert_eq!(race(&System::deterministic()), 8);
    let random = |seed| race(&System::builder().manager(Manager::Random { seed }).build());
    let drawn: BTreeSet<u32> = (0..50).map(random).collect();
    assert_eq!(drawn, BTreeSet::from([5, 8]));
    assert_eq!(random(7), random(7));
    for strategy in ["dfs", "dpor", "dpor(eta)", "dpor(source)", "dpor(classic)"] {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let results = Arc::clone(&seen);
        let report = explore_by(strategy, move || {
            let result = race(&System::new());
            results.lock().expect("nobody panics").insert(result);
        });
        assert_eq!(report.verdict, Verdict::Covered, "{strategy}");
        assert_eq!(*seen.lock().expect("nobody panics"), BTreeSet::from([5, 8]), "{strategy}");
        // Two orders at the adder; depth first also 2 orders of the relays, less those in which one
        // relay's message cannot be there yet: 6 of the interleavings of 2 chains of 2.
        let expected = if strategy == "dfs" { 6 } else { 2 };
        assert_eq!(report.counts.executions, expected, "{strategy}");
    }
}

#[test]
fn samplers_run_actors_too() {
    for strategy in ["random", "pct(2)", "pos", "urw", "surw", "round-robin"] {
        let mut config = Config::default();
        strategy.clone_into(&mut config.strategy);
        config.executions = Some(100);
        let report = raddle::explore(config, || {
            assert_ne!(race(&System::new()), 5);
        });
        let failed = report.expect("the search can run").failure.is_some();
        // Each in turn is one order, which is not the one that fails.
        assert_eq!(failed, strategy != "round-robin", "{strategy}");
    }
}

#[test]
fn one_message_at_a_time() {
    let report = explore(|| {
        let system = System::new();
        let adder = system.spawn(Adder(1));
        assert!(!system.handle_one());
        system.send(&adder, Sum::Add(1));
        system.send(&adder, Sum::Double);
        assert!(system.handle_one());
        assert_eq!(system.inspect(&adder, |adder: &Adder| adder.0), 2);
        assert!(system.handle_one());
        assert!(!system.handle_one());
        assert_eq!(system.inspect(&adder, |adder: &Adder| adder.0), 4);
    });
    assert_eq!(report.verdict, Verdict::Covered);
    assert_eq!(report.counts.executions, 1);
}

#[test]
fn messages_until_something_holds() {
    // Until either relay's message has come: the other one's is left.
    let report = explore(|| {
        let system = System::new();
        let adder = system.spawn(Adder(1));
        for message in [Sum::Add(3), Sum::Double] {
            let relay = system.spawn(Relay(adder.clone()));
            system.send(&relay, message);
        }
        let looked_at = adder.clone();
        assert!(system.handle_until(move |view| view.actor::<Adder>(&looked_at).0 != 1));
        let first = system.inspect(&adder, |adder: &Adder| adder.0);
        assert!(first == 4 || first == 2, "{first}");
        system.handle_all();
        let last = system.inspect(&adder, |adder: &Adder| adder.0);
        assert_eq!(last, if first == 4 { 8 } else { 5 });
    });
    assert_eq!(report.verdict, Verdict::Covered);
}

#[test]
fn an_actor_becomes_another_and_stops() {
    struct Second(Vec<Sum>);
    impl Actor for Second {
        type Message = Sum;
        fn handle(&mut self, message: Sum, cx: &mut Context<'_, Sum>) {
            self.0.push(message);
            if self.0.len() == 2 {
                cx.stop();
            }
        }
    }
    struct First;
    impl Actor for First {
        type Message = Sum;
        fn handle(&mut self, _: Sum, cx: &mut Context<'_, Sum>) {
            cx.become_(Second(Vec::new()));
        }
    }
    let system = System::deterministic();
    let actor = system.spawn(First);
    (0..5).for_each(|n| system.send(&actor, Sum::Add(n)));
    system.handle_all();
    let heard = system.inspect(&actor, |second: &Second| format!("{:?}", second.0));
    assert_eq!(heard, "[Add(1), Add(2)]");
}
