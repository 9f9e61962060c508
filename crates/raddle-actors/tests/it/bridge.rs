//! Threads and actors in one test.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use raddle::Verdict;
use raddle_actors::{Actor, Context, Mailboxes, Reply, System};

use crate::{explore, explore_by, failure};

#[derive(Debug)]
enum Counter {
    Add,
    Get(Reply<u32>),
}

struct Count(u32);

impl Actor for Count {
    type Message = Counter;

    fn handle(&mut self, message: Counter, cx: &mut Context<'_, Counter>) {
        match message {
            Counter::Add => self.0 += 1,
            Counter::Get(reply) => cx.reply(reply, self.0),
        }
    }
}

/// Two threads add one each; the test asks meanwhile, and again when both are done.
fn threads_and_an_actor(mailboxes: Mailboxes) -> (u32, u32) {
    let system = System::builder().mailboxes(mailboxes).build();
    let count = system.spawn(Count(0));
    system.run();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (system, count) = (system.clone(), count.clone());
            raddle::thread::spawn(move || system.send(&count, Counter::Add))
        })
        .collect();
    let first = system.ask(&count, Counter::Get);
    for thread in threads {
        thread.join().expect("a thread does not panic");
    }
    system.handle_all();
    (first, system.ask(&count, Counter::Get))
}

#[test]
fn a_thread_asks_an_actor_while_others_send() {
    for mailboxes in [Mailboxes::Pairs, Mailboxes::Queue, Mailboxes::Unordered] {
        for strategy in ["dfs", "dpor", "dpor(source)"] {
            let seen = Arc::new(Mutex::new(BTreeSet::new()));
            let results = Arc::clone(&seen);
            let report = explore_by(strategy, move || {
                let result = threads_and_an_actor(mailboxes);
                results.lock().expect("nobody panics").insert(result);
            });
            assert_eq!(report.verdict, Verdict::Covered);
            let seen = seen.lock().expect("nobody panics").clone();
            assert_eq!(seen, BTreeSet::from([(0, 2), (1, 2), (2, 2)]), "{mailboxes:?} {strategy}");
        }
    }
}

#[test]
fn locks_and_actors_are_explored_together() {
    // A lock held while an actor is asked, which another thread wants: all orders, no deadlock.
    let report = explore(|| {
        let system = System::new();
        let count = system.spawn(Count(0));
        system.run();
        let lock = Arc::new(raddle::sync::Mutex::new(0));
        let (theirs, their_system, their_count) =
            (Arc::clone(&lock), system.clone(), count.clone());
        let thread = raddle::thread::spawn(move || {
            let mut guard = theirs.lock().expect("not poisoned");
            *guard += their_system.ask(&their_count, Counter::Get);
        });
        system.send(&count, Counter::Add);
        *lock.lock().expect("not poisoned") += 10;
        thread.join().expect("a thread does not panic");
        let total = *lock.lock().expect("not poisoned");
        assert!(total == 10 || total == 11, "{total}");
    });
    assert_eq!(report.verdict, Verdict::Covered);
}

#[test]
fn what_is_no_decision_is_refused_while_messages_are_handled_at_any_time() {
    type Use = fn(&System, &raddle_actors::Address<Counter>);
    let uses: [(&str, Use); 3] = [
        ("inspect", |system, count| assert_ne!(system.inspect(count, |count: &Count| count.0), 9)),
        ("handle_one", |system, _| assert!(system.handle_one())),
        ("handle_until", |system, _| assert!(system.handle_until(|_| true))),
    ];
    for (name, what) in uses {
        let report = explore(move || {
            let system = System::new();
            let count = system.spawn(Count(0));
            system.run();
            system.send(&count, Counter::Add);
            what(&system, &count);
        });
        let said = failure(&report);
        assert!(said.contains(&format!("{name} after run")), "{said}");
    }
}

#[test]
fn a_question_that_nobody_answers_is_a_deadlock() {
    struct Silent(Vec<Reply<u32>>);
    impl Actor for Silent {
        type Message = Reply<u32>;
        fn handle(&mut self, reply: Reply<u32>, _cx: &mut Context<'_, Reply<u32>>) {
            self.0.push(reply);
        }
    }
    let report = explore(|| {
        let system = System::new();
        let silent = system.spawn(Silent(Vec::new()));
        let _: u32 = system.ask(&silent, |reply| reply);
    });
    assert!(failure(&report).contains("Deadlock"), "{}", failure(&report));
}
