//! What a search can see of messages: before a delivery, and after it.

use std::collections::{BTreeMap, BTreeSet};

use raddle_actors::{Actor, Address, Context, Mailboxes, Reply, System};
use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::receive::{Content, Effects, Order, Receive, ReceiveName, Reception};
use raddle_engine::strategy::{Answer, Cut, Event, Finished, Options, Point};
use raddle_engine::{Limits, Setup, Stop, explore_observed};

/// Of one execution: what the chosen options would deliver, and what each receive did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Heard {
    chosen: Vec<Option<Receive>>,
    effects: Vec<(Effects, ReceiveName)>,
}

#[derive(Default)]
struct Listener {
    now: Heard,
    executions: Vec<Heard>,
}

impl Observer for Listener {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, decisions: true, messages: true, ..ObserverNeeds::default() }
    }

    fn decided(&mut self, point: &Point<'_>, answer: Answer) {
        if let (Options::Schedule(choices), Answer::Take(option)) = (point.options, answer) {
            self.now.chosen.push(point.pending.delivery(choices[option as usize].task));
        }
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        if let Event::Step(step) = event
            && let Some(effects) = step.effects()
        {
            self.now.effects.push((effects, step.receive_name()));
        }
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions.push(std::mem::take(&mut self.now));
    }
}

fn listen(strategy: &str, executions: u64, isolated: bool, body: fn()) -> Vec<Heard> {
    let mut strategy = raddle_search::build(strategy, 7).expect("a strategy").strategy;
    let mut listener = Listener::default();
    let limits = Limits { executions, ..Limits::default() };
    let isolation = isolated.then_some(raddle_isolate::FORK);
    let setup = Setup { limits, isolation, keep_going: true, ..Setup::default() };
    let observers: &mut [&mut dyn Observer] = &mut [&mut listener];
    explore_observed(&mut *strategy, observers, &setup, &mut |_| Stop::No, &mut |_| {}, &body)
        .expect("it runs");
    listener.executions
}

#[derive(Debug)]
enum Told {
    Write(u32),
    Flush,
    Ask(Reply<u32>),
}

/// Becomes closed when it is flushed.
struct Writer(u32);
struct Closed;

impl Actor for Writer {
    type Message = Told;

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        match message {
            Told::Write(by) => self.0 += by,
            Told::Flush => cx.become_(Closed),
            Told::Ask(reply) => cx.reply(reply, self.0),
        }
    }
}

impl Actor for Closed {
    type Message = Told;

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        if let Told::Ask(reply) = message {
            cx.reply(reply, 0);
        }
    }
}

/// Writes once and stops.
struct Action(Address<Told>, u32);

impl Actor for Action {
    type Message = ();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.send(&self.0, Told::Write(self.1));
        cx.stop();
    }
}

#[derive(Debug)]
enum Go {
    Begin,
    Sum(#[expect(dead_code, reason = "shown")] u32),
}

/// Creates an action, asks and flushes.
struct Boss(Address<Told>);

impl Actor for Boss {
    type Message = Go;

    fn handle(&mut self, message: Go, cx: &mut Context<'_, Go>) {
        if let Go::Begin = message {
            let action = cx.spawn(Action(self.0.clone(), 2));
            cx.send(&action, ());
            cx.ask(&self.0, Told::Ask, Go::Sum);
            cx.send(&self.0, Told::Flush);
        }
    }
}

fn run(mailboxes: Mailboxes) {
    let system = System::builder().mailboxes(mailboxes).build();
    let writer = system.spawn(Writer(0));
    let action = system.spawn(Action(writer.clone(), 1));
    let boss = system.spawn(Boss(writer));
    system.send(&action, ());
    system.send(&boss, Go::Begin);
    system.handle_all();
}

fn pairs() {
    run(Mailboxes::Pairs);
}

fn queue() {
    run(Mailboxes::Queue);
}

fn unordered() {
    run(Mailboxes::Unordered);
}

const MODES: [(fn(), Order); 3] =
    [(pairs, Order::Pairs), (queue, Order::Queue), (unordered, Order::Unordered)];

#[test]
fn a_step_tells_what_it_received_sent_and_created() {
    for (body, order) in MODES {
        for Heard { effects, .. } in listen("dfs", 500, false, body) {
            assert_eq!(effects.len(), 8, "{effects:?}");
            let mut known = BTreeMap::new();
            for (effects, name) in &effects {
                let Effects { receive, sent, created, .. } = effects;
                assert_eq!(receive.order, order);
                assert_eq!(effects.reception, Reception::Handled);
                if receive.sent_in != 0 {
                    assert!(known.contains_key(&receive.sent_in), "its cause came before it");
                }
                for (nth, message) in sent.iter().enumerate() {
                    assert_eq!((message.sent_in, message.nth), (receive.identity(), nth as u32));
                    assert_eq!(message.sender, receive.receiver);
                }
                known.insert(receive.identity(), effects.clone());
                let to = (&*name.sender, &*name.receiver, &*name.message);
                let is = (effects.became, effects.stopped, sent.len(), created.len());
                match to {
                    ("test", "Action 1", "()") | ("Boss 1", "Action 2", "()") => {
                        assert_eq!(is, (false, true, 1, 0));
                    }
                    ("test", "Boss 1", "Begin") => assert_eq!(is, (false, false, 3, 1)),
                    ("Boss 1", "Writer 1", "Flush") => assert_eq!(is, (true, false, 0, 0)),
                    (_, "Writer 1", _) => {
                        assert_eq!((is.0, is.1, is.3), (false, false, 0), "{to:?}");
                        if let Some(answer) = sent.first() {
                            assert_eq!(answer.content, Content::Answer);
                            assert_eq!(answer.ask, receive.ask);
                            assert_ne!(answer.ask, 0);
                        }
                    }
                    (_, "Boss 1", _) => assert_eq!(receive.content, Content::Answer),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn what_an_option_would_deliver_is_what_its_step_receives() {
    for (body, _) in MODES {
        let mut decided = 0;
        for heard in listen("random", 30, false, body) {
            let received: BTreeSet<u64> =
                heard.effects.iter().map(|(effects, _)| effects.receive.identity()).collect();
            for chosen in &heard.chosen {
                let chosen = chosen.expect("every option delivers a message");
                assert!(received.contains(&chosen.identity()));
                decided += 1;
            }
        }
        assert!(decided > 30, "{decided}");
    }
}

#[test]
fn identities_are_the_same_in_every_order() {
    for (body, _) in MODES {
        let executions = listen("dfs", 500, false, body);
        let names = |heard: &Heard| -> BTreeSet<(u64, u64, u64)> {
            let receives = heard.effects.iter().map(|(effects, _)| effects.receive);
            receives
                .map(|receive| (receive.identity(), receive.message, receive.receiver))
                .collect()
        };
        let first = names(&executions[0]);
        assert_eq!(first.len(), 8);
        assert!(executions.len() > 5, "{}", executions.len());
        assert!(executions.iter().all(|heard| names(heard) == first));
    }
}

#[test]
fn an_isolated_search_hears_the_same() {
    for (body, _) in MODES {
        assert_eq!(listen("random", 5, true, body), listen("random", 5, false, body));
    }
}

#[test]
fn the_test_waits_for_what_it_sends_after() {
    fn body() {
        let system = System::new();
        let writer = system.spawn(Writer(0));
        system.send(&writer, Told::Write(1));
        system.handle_all();
        assert_eq!(system.ask(&writer, Told::Ask), 1);
        system.send(&writer, Told::Flush);
        system.handle_all();
    }
    let heard = listen("dfs", 10, false, body);
    let [write, ask, flush] = &heard[0].effects[..] else { panic!("{heard:?}") };
    assert_eq!((write.0.receive.settled, ask.0.receive.settled), (0, 1));
    assert!(ask.0.answered_test);
    assert_eq!(flush.0.receive.answered_by, ask.0.receive.identity());
}
