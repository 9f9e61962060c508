//! What a failure of actors looks like, and that it replays.

use raddle::Verdict;
use raddle_actors::{Actor, Address, Context, Monitor, System, Watch};

use crate::{explore, failure};

#[derive(Debug)]
enum Bank {
    Deposit(u32),
    Withdraw(u32),
}

struct Account(u32);

impl Actor for Account {
    type Message = Bank;

    fn handle(&mut self, message: Bank, _cx: &mut Context<'_, Bank>) {
        match message {
            Bank::Deposit(n) => self.0 += n,
            Bank::Withdraw(n) => {
                self.0 = self.0.checked_sub(n).expect("there is enough money");
            }
        }
    }
}

struct Clerk(Address<Bank>, bool);

impl Actor for Clerk {
    type Message = ();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let message = if self.1 { Bank::Deposit(1) } else { Bank::Withdraw(1) };
        cx.send(&self.0, message);
    }
}

fn bank() {
    let system = System::new();
    let account = system.spawn_named("account", Account(0));
    for (name, deposits) in [("giver", true), ("taker", false)] {
        let clerk = system.spawn_named(name, Clerk(account.clone(), deposits));
        system.send(&clerk, ());
    }
    system.handle_all();
}

#[test]
fn a_panic_in_a_handler_is_shown_with_its_messages_and_replays() {
    let report = explore(bank);
    assert_eq!(report.verdict, Verdict::Failed);
    assert!(failure(&report).contains("there is enough money"), "{}", failure(&report));
    let failure = report.failure.as_ref().expect("it failed");
    assert_eq!(failure.unstable, None);
    let shown: Vec<String> = failure
        .trace
        .events
        .iter()
        .map(|event| format!("{}: {}", failure.trace.task_label(event.task), event.op))
        .collect();
    assert_eq!(shown, ["test → giver: ()", "test → taker: ()", "taker → account: Withdraw(1)"]);
    let replayed = raddle::replay(failure, bank).expect("it can be replayed");
    assert_eq!(replayed.failure.map(|failure| failure.trace), Some(failure.trace.clone()));
}

#[test]
fn a_handler_that_uses_locks_is_told_what_to_do() {
    struct Locks(raddle::sync::Mutex<u32>);
    impl Actor for Locks {
        type Message = ();
        fn handle(&mut self, (): (), _cx: &mut Context<'_, ()>) {
            *self.0.lock().expect("not poisoned") += 1;
        }
    }
    let report = explore(|| {
        let system = System::new();
        let actor = system.spawn(Locks(raddle::sync::Mutex::new(0)));
        system.send(&actor, ());
        system.handle_all();
    });
    let said = failure(&report);
    assert!(said.contains("a handler is one step"), "{said}");
    assert!(said.contains("Send messages instead"), "{said}");
}

#[test]
fn a_message_that_should_not_come_is_a_failure() {
    struct Closed;
    impl Actor for Closed {
        type Message = u32;
        fn handle(&mut self, message: u32, cx: &mut Context<'_, u32>) {
            cx.unhandled(&message);
        }
    }
    let report = explore(|| {
        let system = System::new();
        let actor = system.spawn(Closed);
        system.send(&actor, 7);
        system.handle_all();
    });
    assert!(failure(&report).contains("has no use for 7"), "{}", failure(&report));
}

#[derive(Default)]
struct Open(i32);

impl Monitor for Open {
    type Event = i32;

    fn observe(&mut self, change: i32) {
        self.0 += change;
        assert!(self.0 < 2, "opened twice");
    }

    fn is_hot(&self) -> bool {
        self.0 > 0
    }
}

struct Door(Watch<i32>);

impl Actor for Door {
    type Message = i32;

    fn handle(&mut self, change: i32, cx: &mut Context<'_, i32>) {
        cx.observe(&self.0, change);
    }
}

fn doors(changes: &'static [&'static [i32]]) -> raddle::Report {
    explore(move || {
        let system = System::new();
        let watch = system.monitor(Open::default());
        for changes in changes {
            let door = system.spawn(Door(watch));
            changes.iter().for_each(|change| system.send(&door, *change));
        }
        system.handle_all();
    })
}

#[test]
fn monitors_watch_several_actors() {
    assert_eq!(doors(&[&[1, -1]]).verdict, Verdict::Covered);
    let twice = doors(&[&[1, -1], &[1, -1]]);
    assert!(failure(&twice).contains("opened twice"), "{}", failure(&twice));
    let hot = doors(&[&[1]]);
    assert!(failure(&hot).contains("still hot"), "{}", failure(&hot));
}

#[test]
fn an_invariant_looks_at_the_actors_it_names_and_no_others() {
    let look = |waiting: bool| {
        explore(move || {
            let system = System::new();
            let (named, other) = (system.spawn(Account(0)), system.spawn(Account(0)));
            system.invariant(&[(&named).into()], move |view| {
                let seen = if waiting {
                    view.waiting() == 9
                } else {
                    view.actor::<Account>(&other).0 == 9
                };
                assert!(!seen);
            });
            system.send(&named, Bank::Deposit(1));
            system.handle_all();
        })
    };
    let said = failure(&look(false));
    assert!(said.contains("the invariant does not name"), "{said}");
    let said = failure(&look(true));
    assert!(said.contains("names no actors"), "{said}");
}

#[test]
fn an_invariant_is_checked_after_every_step() {
    let report = explore(|| {
        let system = System::new();
        let account = system.spawn(Account(0));
        let looked_at = account.clone();
        system.invariant(&[(&account).into()], move |view| {
            assert!(view.actor::<Account>(&looked_at).0 < 2, "too rich");
        });
        system.send(&account, Bank::Deposit(2));
        system.send(&account, Bank::Withdraw(2));
        system.handle_all();
    });
    assert!(failure(&report).contains("too rich"), "{}", failure(&report));
}
