//! Programs in which two prefixes with the same partial order, in the same state of the explorer, differ in what options
//! cost later: a cache that takes them for the same loses traces. And programs in which the process that crashes
//! actors was taken for an actor.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_actors::{Actor, Address, Context, Faults, Mailboxes, System};
use raddle_engine::explorer::change_order;
use raddle_search::build;

use crate::explorers::{EXPLORERS, compare_program};
use crate::random::{Action, MESSAGES, Program, Way};
use crate::search;

type Handlers = [Vec<Action>; MESSAGES];

/// Without faults, and all is handled in each phase.
fn program(mailboxes: Mailboxes, handlers: Vec<Handlers>, injected: &[&[(usize, u32)]]) -> Program {
    let handlers = handlers.into_iter().map(Vec::from).collect();
    let injected = injected.iter().map(|phase| phase.to_vec()).collect();
    let (faults, way, looks) = (Faults::default(), Way::All, Vec::new());
    Program { mailboxes, faults, handlers, injected, way, looks }
}

fn nothing() -> Handlers {
    [const { Vec::new() }; MESSAGES]
}

fn send(to: usize, message: u32) -> Action {
    Action::Send { to, message }
}

/// Along every explorer it shows what the second implementation does, with a cache and without.
fn is_whole(program: Program) {
    let program = Arc::new(program);
    for explorer in 0..EXPLORERS.len() as u64 {
        assert!(compare_program(&program, explorer, 5_000), "it is too large: {program:#?}");
    }
}

/// An actor that has messages of several senders handles the oldest at no cost. Which one is the oldest hangs on the
/// order of steps that are independent.
#[test]
fn a_cache_tells_apart_which_of_the_messages_to_an_actor_is_older() {
    // An actor and a chain of two others send to it.
    is_whole(program(
        Mailboxes::Pairs,
        vec![
            [vec![], vec![], vec![], vec![send(1, 4)]],
            [vec![], vec![send(1, 2)], vec![], vec![]],
            [vec![send(0, 3)], vec![], vec![], vec![]],
        ],
        &[&[(1, 1)], &[(2, 0), (1, 1)]],
    ));
    // A question to itself and a message.
    is_whole(program(
        Mailboxes::Pairs,
        vec![
            [vec![Action::Ask { of: 0 }], vec![], vec![], vec![]],
            nothing(),
            [vec![send(0, 2)], vec![], vec![], vec![]],
        ],
        &[&[(2, 0), (0, 0)]],
    ));
    // The one that is older waits behind another of the same sender.
    is_whole(program(
        Mailboxes::Pairs,
        vec![
            [vec![send(1, 1)], vec![], vec![], vec![]],
            [vec![], vec![send(1, 3)], vec![], vec![]],
            nothing(),
        ],
        &[&[(0, 0), (0, 0)]],
    ));
    // A message to itself and the answer to another.
    is_whole(program(
        Mailboxes::Pairs,
        vec![
            [vec![], vec![send(0, 4), send(1, 2)], vec![], vec![]],
            [vec![], vec![], vec![send(0, 4)], vec![]],
        ],
        &[&[(0, 1), (0, 1)]],
    ));
}

/// After it has happened, too, when it has nothing to deliver any more.
#[test]
fn a_crash_is_a_step_of_the_process_that_crashes_actors() {
    let faults = Faults { crashes: 1, ..Faults::default() };
    let unordered = |handlers, injected| program(Mailboxes::Unordered, handlers, injected);
    let with_children = [vec![], vec![Action::Spawn(3)], vec![], vec![]];
    let asked = unordered(vec![with_children, nothing()], &[&[]]);
    is_whole(Program { faults, way: Way::Asks, ..asked });
    let asked = unordered(vec![nothing(), nothing()], &[&[(1, 1)], &[(1, 0), (0, 0)]]);
    is_whole(Program { faults, way: Way::Asks, ..asked });
    let chain = [vec![send(2, 2), Action::Spawn(1)], vec![Action::Ask { of: 0 }], vec![], vec![]];
    let some = unordered(vec![nothing(), chain, nothing(), nothing()], &[&[(1, 0)]]);
    is_whole(Program { faults, way: Way::Some(3), ..some });
}

#[derive(Clone, Debug, Hash)]
enum Told {
    Create,
    TellChild,
    TellHub,
    Start(Vec<Address<Told>>),
    Done(u32),
}

/// Creates a child, and tells it later.
struct Parent {
    number: u32,
    hub: Address<Told>,
    child: Option<Address<Told>>,
}

impl Actor for Parent {
    type Message = Told;

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        match (message, &self.child) {
            (Told::Create, _) => {
                let (number, hub) = (self.number, self.hub.clone());
                self.child = Some(cx.spawn(Child { number, hub }));
            }
            (Told::TellChild, Some(child)) => cx.send(child, Told::TellHub),
            (other, _) => panic!("a parent is not told {other:?}"),
        }
    }
}

struct Child {
    number: u32,
    hub: Address<Told>,
}

impl Actor for Child {
    type Message = Told;

    fn handle(&mut self, _: Told, cx: &mut Context<'_, Told>) {
        cx.send(&self.hub, Told::Done(self.number));
    }
}

/// Has all parents tell their children, in the order in which the parents were created.
#[derive(Default)]
struct Hub {
    heard: Vec<u32>,
}

impl Actor for Hub {
    type Message = Told;

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        match message {
            Told::Start(parents) => {
                change_order(["first", "second", "third"]);
                for parent in &parents {
                    cx.send(parent, Told::TellChild);
                }
            }
            Told::Done(number) => self.heard.push(number),
            other => panic!("the hub is not told {other:?}"),
        }
    }
}

/// Three parents create a child each. Then the explorer has the order of their names again, whatever was delayed before.
fn children_of_three() -> String {
    let system = System::builder().mailboxes(Mailboxes::Pairs).build();
    let hub = system.spawn(Hub::default());
    let parent =
        |number, name| system.spawn_named(name, Parent { number, hub: hub.clone(), child: None });
    let parents = vec![parent(1, "first"), parent(2, "second"), parent(3, "third")];
    for phase in [&parents[..2], &parents[2..]] {
        for parent in phase {
            system.send(parent, Told::Create);
        }
        system.handle_all();
    }
    system.send(&hub, Told::Start(parents));
    system.handle_all();
    system.inspect(&hub, |hub: &Hub| format!("{:?}", hub.heard))
}

/// An explorer knows processes by the order in which they were created, and its state says nothing of which is which.
/// With one delay the second parent's child is created first, and moves first afterwards. Where it is created second, the
/// order 2, 1, 3 takes two delays.
#[test]
fn a_cache_tells_apart_which_of_two_actors_was_created_first() {
    let heard = |text: &str| -> BTreeSet<String> {
        let strategy = build(text, 1).expect("a known strategy").strategy;
        search(strategy, u64::MAX, &children_of_three).expect("it ends").results
    };
    let plain = heard("dfs delays(1) ordered");
    assert!(plain.contains("[2, 1, 3]") && plain.contains("[2, 3, 1]"), "{plain:?}");
    for cached in ["dfs delays(1) ordered cache", "strata(ordered, exact) delays(1)"] {
        assert_eq!(heard(cached), plain, "{cached}");
    }
}
