//! Actors on threads: what they promise that the other managers do not have to.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use raddle_actors::{
    Actor, Address, Context, Deliveries, Manager, RandomDelays, Reply, System, Timer, Transit,
};

fn threads(threads: usize) -> System {
    System::builder().manager(Manager::Concurrent { threads }).build()
}

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Sees to it that messages of each sender come in order, and that its handler does not run twice at a time.
#[derive(Default)]
struct Ordered {
    last: HashMap<usize, u32>,
    inside: Arc<AtomicBool>,
    seen: usize,
}

impl Actor for Ordered {
    type Message = (usize, u32);

    fn handle(&mut self, (sender, n): (usize, u32), _: &mut Context<'_, (usize, u32)>) {
        assert!(!self.inside.swap(true, Ordering::SeqCst), "two handlers of one actor");
        let last = self.last.insert(sender, n).unwrap_or(0);
        assert_eq!(n, last + 1, "a message of {sender} came out of order");
        self.seen += 1;
        self.inside.store(false, Ordering::SeqCst);
    }
}

struct Source {
    number: usize,
    to: Address<(usize, u32)>,
    sent: u32,
    most: u32,
}

impl Actor for Source {
    type Message = ();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        for _ in 0..=self.sent % 7 {
            if self.sent < self.most {
                self.sent += 1;
                cx.send(&self.to, (self.number, self.sent));
            }
        }
        if self.sent < self.most {
            let me = cx.me().clone();
            cx.send(&me, ());
        }
    }
}

fn many_senders(system: &System, senders: usize, most: u32) {
    let to = system.spawn(Ordered::default());
    let sources: Vec<_> = (0..senders)
        .map(|number| system.spawn(Source { number, to: to.clone(), sent: 0, most }))
        .collect();
    for source in &sources {
        system.send(source, ());
    }
    for n in 1..=most {
        system.send(&to, (senders, n));
    }
    system.handle_all();
    let seen = system.inspect(&to, |to: &Ordered| to.seen);
    assert_eq!(seen, (senders + 1) * most as usize);
}

#[test]
fn messages_of_each_sender_stay_in_order() {
    for workers in [1, 2, 4] {
        many_senders(&threads(workers), 8, 2_000);
    }
}

#[test]
fn messages_of_each_sender_stay_in_order_under_back_pressure() {
    for capacity in [1, 2, 16, 1_000] {
        let manager = Manager::Concurrent { threads: 3 };
        let system = System::builder().manager(manager).capacity(capacity).build();
        many_senders(&system, 8, 1_000);
    }
}

/// One of a circle: makes several of each message, for a while.
struct Node {
    next: Option<Address<Told>>,
    seen: usize,
}

#[derive(Debug)]
enum Told {
    Next(Address<Told>),
    Pass(u32),
}

impl Actor for Node {
    type Message = Told;

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        match message {
            Told::Next(next) => self.next = Some(next),
            Told::Pass(n) => {
                self.seen += 1;
                let next = self.next.clone().expect("it was told");
                for _ in 0..if n > 0 { 3 } else { 0 } {
                    cx.send(&next, Told::Pass(n - 1));
                }
            }
        }
    }
}

#[test]
fn circles_of_actors_with_full_mailboxes_go_on() {
    for size in 1..5 {
        let manager = Manager::Concurrent { threads: 2 };
        let system = System::builder().manager(manager).capacity(1).build();
        let nodes: Vec<_> = (0..size).map(|_| system.spawn(Node { next: None, seen: 0 })).collect();
        for (n, node) in nodes.iter().enumerate() {
            system.send(node, Told::Next(nodes[(n + 1) % size].clone()));
        }
        for node in &nodes {
            system.send(node, Told::Pass(7));
        }
        system.handle_all();
        let seen = nodes.iter().map(|node| system.inspect(node, |node: &Node| node.seen));
        // 1 + 3 + 9 + … + 3^7 for each.
        assert_eq!(seen.sum::<usize>(), size * 3_280);
    }
}

/// Handles a message when it is let.
struct Gated {
    gate: Receiver<()>,
    seen: Arc<AtomicUsize>,
}

impl Actor for Gated {
    type Message = u32;

    fn handle(&mut self, _: u32, _: &mut Context<'_, u32>) {
        let _ = self.gate.recv();
        self.seen.fetch_add(1, Ordering::SeqCst);
    }
}

fn gated(system: &System) -> (Address<u32>, Sender<()>, Arc<AtomicUsize>) {
    let (open, gate) = channel();
    let seen = Arc::new(AtomicUsize::new(0));
    (system.spawn(Gated { gate, seen: Arc::clone(&seen) }), open, seen)
}

#[test]
fn outsiders_wait_while_a_mailbox_is_full() {
    let manager = Manager::Concurrent { threads: 2 };
    let system = System::builder().manager(manager).capacity(4).build();
    let (to, open, seen) = gated(&system);
    let sent = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..20 {
                system.send(&to, n);
                // As many as the mailbox holds may be unhandled, this one among them.
                let sent = sent.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(sent <= seen.load(Ordering::SeqCst) + 1 + 4, "{sent} are sent");
            }
        });
        for _ in 0..20 {
            open.send(()).expect("the actor lives");
        }
    });
    system.handle_all();
    assert_eq!(seen.load(Ordering::SeqCst), 20);
}

/// Sends one message to another for each of its own.
struct Relay {
    to: Address<u32>,
    sent: Arc<AtomicUsize>,
}

impl Actor for Relay {
    type Message = u32;

    fn handle(&mut self, n: u32, cx: &mut Context<'_, u32>) {
        cx.send(&self.to, n);
        self.sent.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn back_pressure_goes_through_a_chain_of_actors() {
    let manager = Manager::Concurrent { threads: 2 };
    let system = System::builder().manager(manager).capacity(4).build();
    let (to, open, seen) = gated(&system);
    let mut last = to;
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(Arc::new(AtomicUsize::new(0)));
        last = system.spawn(Relay { to: last, sent: Arc::clone(&sent[sent.len() - 1]) });
    }
    std::thread::scope(|scope| {
        scope.spawn(|| (0..200).for_each(|n| system.send(&last, n)));
        for n in 0..200 {
            for (place, sent) in sent.iter().enumerate() {
                // Each mailbox on the way holds four and the one too many.
                let sent = sent.load(Ordering::SeqCst);
                assert!(sent <= seen.load(Ordering::SeqCst) + 1 + 5 * (place + 1), "{n}: {sent}");
            }
            open.send(()).expect("the actor lives");
        }
    });
    system.handle_all();
    assert_eq!(seen.load(Ordering::SeqCst), 200);
}

/// Counts those of its kind that exist.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has the address of another that has its own.
struct Friend {
    _counted: Counted,
    other: Option<Address<ToFriend>>,
}

#[derive(Debug)]
enum ToFriend {
    Meet(Address<ToFriend>),
    Stop,
    Later(Counted),
}

impl Actor for Friend {
    type Message = ToFriend;

    fn handle(&mut self, message: ToFriend, cx: &mut Context<'_, ToFriend>) {
        match message {
            ToFriend::Meet(other) => self.other = Some(other),
            ToFriend::Stop => cx.stop(),
            ToFriend::Later(counted) => {
                cx.set_timer(Duration::from_secs(3600), ToFriend::Later(counted));
            }
        }
    }
}

fn friends(system: &System, count: &Arc<AtomicUsize>) -> [Address<ToFriend>; 2] {
    let friends =
        [(); 2].map(|()| system.spawn(Friend { _counted: Counted::new(count), other: None }));
    system.send(&friends[0], ToFriend::Meet(friends[1].clone()));
    system.send(&friends[1], ToFriend::Meet(friends[0].clone()));
    friends
}

#[test]
fn nothing_is_left_when_the_last_handle_is_dropped() {
    let count = Arc::new(AtomicUsize::new(0));
    let system = threads(2);
    for _ in 0..100 {
        let [a, b] = friends(&system, &count);
        system.send(&a, ToFriend::Later(Counted::new(&count)));
        system.send(&b, ToFriend::Meet(b.clone()));
    }
    let [kept, _] = friends(&system, &count);
    let other = system.clone();
    drop(system);
    assert_eq!(count.load(Ordering::SeqCst), 302);
    drop(other);
    assert_eq!(count.load(Ordering::SeqCst), 0);
    drop(kept);
}

#[test]
fn messages_that_are_left_are_dropped() {
    let count = Arc::new(AtomicUsize::new(0));
    let system = threads(1);
    let (busy, open, seen) = gated(&system);
    system.send(&busy, 1);
    system.send(&busy, 2);
    let [a, _] = friends(&system, &count);
    for _ in 0..10 {
        system.send(&a, ToFriend::Later(Counted::new(&count)));
    }
    assert_eq!(count.load(Ordering::SeqCst), 12);
    open.send(()).expect("the actor lives");
    while seen.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    let other = system.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || system.shutdown());
        // If the second message is being handled, it is handled to its end.
        drop(open);
    });
    assert_eq!(count.load(Ordering::SeqCst), 0);
    // A handle that is left leads nowhere.
    other.send(&a, ToFriend::Stop);
    let late = other.spawn(Friend { _counted: Counted::new(&count), other: None });
    other.send(&late, ToFriend::Stop);
    other.handle_all();
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn an_actor_goes_when_it_stops_or_when_nobody_has_its_address() {
    let count = Arc::new(AtomicUsize::new(0));
    let system = threads(2);
    let [a, b] = friends(&system, &count);
    system.send(&a, ToFriend::Stop);
    system.handle_all();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    system.send(&a, ToFriend::Later(Counted::new(&count)));
    assert_eq!(count.load(Ordering::SeqCst), 1, "what is sent to it goes nowhere");
    drop((a, b));
    assert_eq!(count.load(Ordering::SeqCst), 0);
    for _ in 0..1_000 {
        system.spawn(Friend { _counted: Counted::new(&count), other: None });
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn a_handle_inside_an_actor_may_be_the_last() {
    struct Owner(Option<System>);
    impl Actor for Owner {
        type Message = Arc<Barrier>;
        fn handle(&mut self, barrier: Arc<Barrier>, _: &mut Context<'_, Arc<Barrier>>) {
            barrier.wait();
            self.0 = None;
            barrier.wait();
        }
    }
    let system = threads(2);
    let owner = system.spawn(Owner(Some(system.clone())));
    let barrier = Arc::new(Barrier::new(2));
    system.send(&owner, Arc::clone(&barrier));
    drop(system);
    barrier.wait();
    barrier.wait();
}

/// Panics when it is told to.
struct Nervous;

impl Actor for Nervous {
    type Message = Option<&'static str>;

    fn handle(&mut self, message: Self::Message, _: &mut Context<'_, Self::Message>) {
        if let Some(message) = message {
            panic!("{message}");
        }
    }
}

fn panic_of(code: impl FnOnce()) -> Option<String> {
    catch_unwind(AssertUnwindSafe(code)).err().map(|panic| text(&*panic))
}

#[test]
fn a_panic_stops_its_actor_and_is_passed_on() {
    let system = threads(2);
    let nervous = system.spawn(Nervous);
    let ordered = system.spawn(Ordered::default());
    system.send(&nervous, Some("on purpose"));
    system.send(&nervous, Some("not handled any more"));
    assert_eq!(panic_of(|| system.handle_all()).as_deref(), Some("on purpose"));
    // Others go on, and it is told once.
    system.send(&ordered, (0, 1));
    system.send(&nervous, Some("not handled any more"));
    system.handle_all();
    assert_eq!(system.inspect(&ordered, |ordered: &Ordered| ordered.seen), 1);
    let looked = panic_of(|| system.inspect(&nervous, |_: &Nervous| ()));
    assert!(looked.is_some_and(|text| text.contains("has stopped")));
}

#[test]
fn a_panic_that_nobody_has_heard_of_is_passed_on_in_the_end() {
    for shuts_down in [true, false] {
        let system = threads(2);
        let nervous = system.spawn(Nervous);
        let ordered = system.spawn(Ordered::default());
        system.send(&nervous, Some("on purpose"));
        // Not before it has happened.
        while panic_of(|| system.inspect(&nervous, |_: &Nervous| ())).is_none() {}
        system.send(&ordered, (0, 1));
        let end = || if shuts_down { system.shutdown() } else { drop(system) };
        assert_eq!(panic_of(end).as_deref(), Some("on purpose"));
    }
}

#[test]
fn a_panic_in_a_start_is_the_spawners() {
    struct Never;
    impl Actor for Never {
        type Message = ();
        fn start(&mut self, _: &mut Context<'_, ()>) {
            panic!("no");
        }
        fn handle(&mut self, (): (), _: &mut Context<'_, ()>) {}
    }
    let system = threads(1);
    assert_eq!(panic_of(|| drop(system.spawn(Never))).as_deref(), Some("no"));
    system.handle_all();
}

#[test]
fn a_question_that_is_dropped_is_not_waited_for() {
    #[derive(Debug)]
    struct Ask(Reply<u32>);
    struct Silent;
    impl Actor for Silent {
        type Message = Ask;
        fn handle(&mut self, Ask(reply): Ask, _: &mut Context<'_, Ask>) {
            drop(reply);
        }
    }
    let system = threads(1);
    let silent = system.spawn(Silent);
    let panic = panic_of(|| assert_eq!(system.ask(&silent, Ask), 0));
    assert!(panic.is_some_and(|text| text.contains("nobody has answered")));
}

#[test]
fn to_wait_inside_a_handler_is_refused() {
    struct Waits(System);
    impl Actor for Waits {
        type Message = ();
        fn handle(&mut self, (): (), _: &mut Context<'_, ()>) {
            self.0.handle_all();
        }
    }
    let system = threads(2);
    let waits = system.spawn(Waits(system.clone()));
    system.send(&waits, ());
    let panic = panic_of(|| system.handle_all());
    assert!(panic.is_some_and(|text| text.contains("would wait for itself")));
}

/// Sets timers and notes what comes.
#[derive(Default)]
struct Alarm {
    heard: Vec<u32>,
    cancelled: Option<Timer>,
}

impl Actor for Alarm {
    type Message = u32;

    fn start(&mut self, cx: &mut Context<'_, u32>) {
        let began = cx.now();
        cx.set_timer(Duration::from_millis(20), 20);
        cx.set_timer(Duration::from_millis(5), 5);
        self.cancelled = Some(cx.set_timer(Duration::from_millis(1), 1));
        cx.set_timer(Duration::ZERO, 0);
        assert!(cx.now() >= began);
    }

    fn handle(&mut self, after: u32, cx: &mut Context<'_, u32>) {
        assert!(cx.now() >= Duration::from_millis(after.into()));
        self.heard.push(after);
        if let Some(timer) = self.cancelled.take() {
            // Whether it is due already or not: it has not been handled.
            if after != 1 {
                cx.cancel(timer);
            }
        }
    }
}

#[test]
fn timers_fire_in_time_unless_they_are_cancelled() {
    let system = threads(2);
    // There is no address of one that only its timers keep.
    let alarm = system.spawn(Alarm::default());
    drop(system.spawn(Alarm::default()));
    system.handle_all();
    let heard = system.inspect(&alarm, |alarm: &Alarm| alarm.heard.clone());
    let mut sorted = heard.clone();
    sorted.sort_unstable();
    assert_eq!(heard, sorted);
    assert!(heard == [0, 5, 20] || heard == [1, 5, 20] || heard.starts_with(&[0, 1]), "{heard:?}");
}

/// Sets a timer, is busy until it is due for sure, and cancels it: it is not handled.
#[test]
fn a_timer_that_is_due_can_be_cancelled_until_it_is_handled() {
    #[derive(Debug)]
    enum Told {
        Set,
        Fired,
    }
    struct Hasty(u32);
    impl Actor for Hasty {
        type Message = Told;
        fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
            match message {
                Told::Set => {
                    let first = cx.set_timer(Duration::ZERO, Told::Fired);
                    let began = cx.now();
                    while cx.now() < began + Duration::from_millis(5) {}
                    cx.cancel(first);
                }
                Told::Fired => self.0 += 1,
            }
        }
    }
    let system = threads(1);
    let hasty = system.spawn(Hasty(0));
    system.send(&hasty, Told::Set);
    system.handle_all();
    assert_eq!(system.inspect(&hasty, |hasty: &Hasty| hasty.0), 0);
}

#[test]
fn a_long_handler_does_not_hold_up_the_actor_it_has_sent_to() {
    struct Long {
        to: Address<Sender<()>>,
    }
    struct Short;
    impl Actor for Long {
        type Message = ();
        fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
            let (done, wait) = channel();
            cx.send(&self.to, done);
            // It must be another worker that runs the other one.
            wait.recv().expect("the other one is run meanwhile");
        }
    }
    impl Actor for Short {
        type Message = Sender<()>;
        fn handle(&mut self, done: Sender<()>, _: &mut Context<'_, Sender<()>>) {
            done.send(()).expect("it waits");
        }
    }
    let system = threads(2);
    let to = system.spawn(Short);
    let long = system.spawn(Long { to });
    for _ in 0..20 {
        system.send(&long, ());
    }
    system.handle_all();
}

#[test]
fn actors_can_be_looked_at_while_they_run() {
    let system = threads(2);
    let to = system.spawn(Ordered::default());
    let source = system.spawn(Source { number: 0, to: to.clone(), sent: 0, most: 20_000 });
    system.send(&source, ());
    let mut last = 0;
    for _ in 0..100 {
        let seen = system.inspect(&to, |to: &Ordered| to.seen);
        assert!(seen >= last);
        last = seen;
    }
    system.handle_all();
    assert_eq!(system.inspect(&to, |to: &Ordered| to.seen), 20_000);
}

/// Passes what it is told on to another one, and becomes an actor that does the same.
struct PassesOn(Address<(usize, u32)>);

impl Actor for PassesOn {
    type Message = (usize, u32);

    fn handle(&mut self, message: (usize, u32), cx: &mut Context<'_, (usize, u32)>) {
        cx.send(&self.0, message);
        cx.become_(Self(self.0.clone()));
    }
}

/// Messages, and whether their receivers became others.
type Transits = Vec<(Transit, bool)>;

/// What a hook heard: messages that were sent, and those that were handled.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<[Transits; 2]>>);

impl Deliveries for Heard {
    fn delay(&self, transit: &Transit) -> Duration {
        let mut heard = self.0.lock().expect("no panic");
        heard[0].push((*transit, false));
        // Those that are sent later are due earlier.
        Duration::from_micros(1_000 - 10 * heard[0].len() as u64)
    }

    fn handled(&self, transit: &Transit, became: bool) {
        self.0.lock().expect("no panic")[1].push((*transit, became));
    }
}

#[test]
fn a_hook_hears_of_every_message_and_the_order_of_two_actors_stays() {
    let run = || {
        let heard = Heard::default();
        let manager = Manager::Concurrent { threads: 2 };
        let system = System::builder().manager(manager).deliveries(heard.clone()).build();
        let ordered = system.spawn(Ordered::default());
        let relays: Vec<_> = (0..3).map(|_| system.spawn(PassesOn(ordered.clone()))).collect();
        for n in 1..=10 {
            for (nth, relay) in relays.iter().enumerate() {
                system.send(relay, (nth, n));
            }
        }
        system.handle_all();
        assert_eq!(system.inspect(&ordered, |ordered: &Ordered| ordered.seen), 30);
        system.shutdown();
        let [mut sent, mut handled] = heard.0.lock().expect("no panic").clone();
        for all in [&mut sent, &mut handled] {
            all.sort_unstable_by_key(|(transit, _)| transit.message);
        }
        (sent, handled)
    };
    let (sent, handled) = run();
    assert_eq!(handled.len(), 60);
    assert!(handled.windows(2).all(|two| two[0].0.message != two[1].0.message), "one name each");
    assert!(sent.iter().map(|(transit, _)| transit).eq(handled.iter().map(|(transit, _)| transit)));
    // Those of relays came from outside, and each made it become another.
    for (transit, became) in &handled {
        assert_eq!(transit.sender == 0, *became, "{transit:?}");
    }
    assert_eq!((sent, handled), run(), "names are the same in every run");
}

#[test]
fn random_delays_are_below_their_limit_and_keep_the_order_of_two_actors() {
    let most = Duration::from_micros(300);
    let delays = RandomDelays::new(most, 1);
    let transit = Transit { sender: 0, receiver: 1, message: 2, type_name: "u32" };
    let drawn: Vec<_> = (0..200).map(|_| delays.delay(&transit)).collect();
    assert!(
        drawn.iter().all(|delay| *delay <= most) && drawn.iter().any(|delay| *delay > most / 2)
    );
    let manager = Manager::Concurrent { threads: 2 };
    let system = System::builder().manager(manager).deliveries(delays).build();
    let ordered = system.spawn(Ordered::default());
    let relays: Vec<_> = (0..3).map(|_| system.spawn(PassesOn(ordered.clone()))).collect();
    for n in 1..=20 {
        for (nth, relay) in relays.iter().enumerate() {
            system.send(relay, (nth, n));
        }
    }
    system.handle_all();
    assert_eq!(system.inspect(&ordered, |ordered: &Ordered| ordered.seen), 60);
}
