//! Models: their states and executions, what fails, what is refused, and numbers that are known.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use raddle_actors::{
    Actor, Address, Context, Faults, Mailboxes, Model, Monitor, Searched, States, Stopped, System,
    Timer, View, Watch, WhenFull,
};
use raddle_engine::{Setup, Stop};
use raddle_trace::{Covered, Outcome};

/// Notes what it is told.
#[derive(Clone, Hash, Default)]
struct Log(Vec<u32>);

impl Actor for Log {
    type Message = u32;
    raddle_actors::snapshots!();

    fn handle(&mut self, what: u32, _cx: &mut Context<'_, u32>) {
        self.0.push(what);
    }
}

type LogAddress = Address<u32>;

fn heard<'a>(log: &LogAddress, view: &'a View<'_>) -> &'a [u32] {
    &view.actor::<Log>(log).0
}

/// `n` messages to each of `logs` actors, which nothing connects.
fn logs(logs: u32, n: u32) -> Model<Vec<LogAddress>> {
    Model::new(move |system| {
        let logs: Vec<_> = (0..logs).map(|_| system.spawn(Log::default())).collect();
        for log in &logs {
            (0..n).for_each(|what| system.send(log, what));
        }
        logs
    })
}

fn bfs<S: Send + Sync + 'static>(model: &Model<S>) -> Searched {
    let breadth = model.search(&States::breadth_first()).expect("it can be searched");
    let depth = model.search(&States::depth_first()).expect("it can be searched");
    if breadth.violation.is_none() {
        let counts = |one: &Searched| (one.unique, one.states, one.finals, one.transitions);
        assert_eq!(counts(&breadth), counts(&depth));
    }
    assert_eq!(breadth.is_pass(), depth.is_pass());
    breadth
}

fn message(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Panicked { panics, .. } => &panics[0].message,
        other => panic!("{other:?}"),
    }
}

/// What the engine makes of the schedule of a violation is that violation.
fn replays<S: Send + Sync + 'static>(model: &Model<S>, searched: &Searched) {
    let violation = searched.violation.as_ref().expect("there is one");
    let failure = violation.failure.as_ref().expect("it is an execution, too");
    assert_eq!(message(&failure.outcome), violation.what);
    let again = raddle_engine::replay(
        &failure.schedule,
        Some(&failure.trace),
        &Setup::default(),
        &mut |_| Stop::No,
        &mut |_| {},
        &|| model.run(),
    )
    .expect("it can be replayed");
    assert_eq!(again.outcome, failure.outcome);
    assert!(again.divergence.is_none(), "{:?}", again.divergence);
}

#[test]
fn independent_actors_multiply() {
    // Each log has 0 to n messages: (n + 1)^logs states, logs * n * (n + 1)^(logs - 1) steps.
    for (count, n) in [(1u32, 3u32), (2, 3), (3, 4)] {
        let searched = bfs(&logs(count, n).panics_only());
        let states = u64::from(n + 1).pow(count);
        let steps = u64::from(count * n) * u64::from(n + 1).pow(count - 1);
        assert_eq!((searched.unique, searched.transitions), (states, steps));
        assert_eq!((searched.states, searched.finals), (steps + 1, 1));
        assert_eq!(searched.depth, count * n);
    }
}

#[test]
fn without_order_a_log_has_every_arrangement() {
    // Of k out of n: n! / (n - k)!. For 4: 1 + 4 + 12 + 24 + 24.
    let searched = bfs(&logs(1, 4).mailboxes(Mailboxes::Unordered).panics_only());
    assert_eq!((searched.unique, searched.finals), (65, 24));
}

#[test]
fn messages_that_are_alike_are_one_way_on() {
    let model = Model::new(|system| {
        let log = system.spawn(Log::default());
        (0..5).for_each(|_| system.send(&log, 7));
    });
    let searched = bfs(&model.mailboxes(Mailboxes::Unordered).panics_only());
    assert_eq!((searched.unique, searched.transitions), (6, 5));
}

/// Spawns another when told, and tells a third.
#[derive(Clone, Hash)]
struct Parent(LogAddress);

impl Actor for Parent {
    type Message = u32;
    raddle_actors::snapshots!();

    fn handle(&mut self, what: u32, cx: &mut Context<'_, u32>) {
        let child = cx.spawn(Log::default());
        cx.send(&child, what);
    }
}

#[test]
fn the_order_of_spawns_makes_no_difference() {
    let model = Model::new(|system| {
        let log = system.spawn(Log::default());
        for what in 0..2 {
            let parent = system.spawn(Parent(log.clone()));
            system.send(&parent, what);
        }
    });
    // Each parent has not spawned, has spawned, or its child has heard: 3^2, and from one half of the
    // steps a state is reached that was reached before.
    let searched = bfs(&model.panics_only());
    assert_eq!((searched.unique, searched.transitions), (9, 12));
}

#[test]
fn the_shortest_way_to_a_violation_is_found() {
    let model = logs(2, 3)
        .invariant("the second hears no 1", |logs, view| !heard(&logs[1], view).contains(&1));
    let searched = bfs(&model);
    let violation = searched.violation.as_ref().expect("it is found");
    assert_eq!(violation.what, "the invariant \"the second hears no 1\" does not hold");
    let steps: Vec<_> = violation.steps.iter().map(ToString::to_string).collect();
    assert_eq!(steps, ["test → Log 2: 0", "test → Log 2: 1"]);
    assert_eq!(searched.stopped, Stopped::Violated);
    replays(&model, &searched);
    let deep = model.search(&States::depth_first()).expect("it can be searched");
    replays(&model, &deep);
}

#[test]
fn a_report_is_text() {
    let model = logs(1, 2)
        .invariant("no 1", |logs, view| !heard(&logs[0], view).contains(&1))
        .sometimes("a 5", |logs, view| heard(&logs[0], view).contains(&5));
    let text = model.search(&States::breadth_first()).expect("it can be searched").to_string();
    assert_eq!(
        text,
        "failed: the invariant \"no 1\" does not hold\n   1  test → Log 1: 0\n   2  test → Log 1: 1\n\
         failed: no state reached the goal \"a 5\"\n\
         covered: the first 3 states of a search that did not end\n\
         states(bfs): 3 states, 3 of them different, 0 final; 2 steps, depth 2\n\
         invariant \"no 1\": does not hold\ngoal \"a 5\": not reached"
    );
}

#[test]
fn a_goal_that_nothing_reaches_is_a_failure_that_names_it() {
    let model = logs(1, 2)
        .sometimes("both", |logs, view| heard(&logs[0], view).len() == 2)
        .sometimes("three", |logs, view| heard(&logs[0], view).len() == 3);
    let searched = bfs(&model);
    assert!(!searched.is_pass());
    let unreached: Vec<_> = searched.unreached().map(|goal| goal.name.clone()).collect();
    assert_eq!(unreached, ["three"]);
    let body = model.clone();
    raddle::check(move || body.run());
    assert_eq!(model.unreached(), ["three"]);
    let judged =
        catch_unwind(AssertUnwindSafe(|| model.judge())).expect_err("a goal is not reached");
    assert_eq!(
        judged.downcast_ref::<String>().map(String::as_str),
        Some("no execution reached \"three\"")
    );
}

#[test]
fn a_final_check_is_made_where_nothing_is_left() {
    let ends = |end: u32| {
        Model::new(|system| {
            let log = system.spawn(Log::default());
            system.send(&log, 1);
            system.send(&log, 2);
            log
        })
        .mailboxes(Mailboxes::Unordered)
        .finally("ends so", move |log, view| heard(log, view).last() != Some(&end))
    };
    assert!(bfs(&ends(3)).is_pass());
    let model = ends(1);
    let searched = bfs(&model);
    assert!(searched.to_string().starts_with("failed: all is handled, and \"ends so\" does not"));
    replays(&model, &searched);
}

/// Votes freely.
#[derive(Clone, Hash)]
struct Voter(LogAddress);

impl Actor for Voter {
    type Message = ();
    raddle_actors::snapshots!();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let vote = cx.choose(3) * 10 + cx.choose(2);
        cx.send(&self.0, vote);
    }
}

fn election() -> Model<LogAddress> {
    Model::new(|system| {
        let log = system.spawn(Log::default());
        for _ in 0..2 {
            let voter = system.spawn(Voter(log.clone()));
            system.send(&voter, ());
        }
        log
    })
}

#[test]
fn every_value_is_tried() {
    // A voter waits, its vote is on its way, or it has arrived; there are 3 * 2 votes. Both wait: 1.
    // One waits: 2 * (6 + 6). Both votes are on their way: 36. One has arrived: 2 * 36. Both have:
    // the log is one of 36, and does not say whose vote is whose.
    let searched = bfs(&election().panics_only());
    assert_eq!(searched.unique, 1 + 24 + 36 + 72 + 36);
    let model = election().invariant("no 21 after 20", |log, view| heard(log, view) != [20, 21]);
    let searched = bfs(&model);
    let violation = searched.violation.as_ref().expect("it is found");
    let values: Vec<_> = violation.steps.iter().flat_map(|step| step.values.clone()).collect();
    assert_eq!(values.len(), 4);
    replays(&model, &searched);
}

/// Sets a timer again and again.
#[derive(Clone, Hash)]
struct Ticker {
    ticks: u32,
    timer: Option<Timer>,
    looks: bool,
    seen: Duration,
}

impl Actor for Ticker {
    type Message = u32;
    raddle_actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, u32>) {
        self.timer = Some(cx.set_timer(Duration::from_secs(1), 1));
    }

    fn handle(&mut self, by: u32, cx: &mut Context<'_, u32>) {
        self.ticks = (self.ticks + by) % 3;
        if self.looks {
            self.seen = cx.now();
        }
        if by == 0 {
            cx.cancel(self.timer.expect("it was set"));
        } else {
            self.timer = Some(cx.set_timer(Duration::from_secs(1), 1));
        }
    }
}

fn ticker(looks: bool) -> Model<Address<u32>> {
    Model::new(move |system| {
        let seen = Duration::ZERO;
        let ticker = system.spawn(Ticker { ticks: 0, timer: None, looks, seen });
        system.send(&ticker, 0);
        ticker
    })
    .panics_only()
}

#[test]
fn a_timer_that_is_set_again_and_again_has_few_states() {
    // Three counts before the message that cancels it, three after.
    let searched = bfs(&ticker(false));
    assert_eq!((searched.unique, searched.finals), (6, 3));
}

#[test]
fn time_counts_once_somebody_asks_for_it() {
    let model = ticker(true);
    let searched = model.search(&States::breadth_first().states(1000)).expect("it can be searched");
    // It never ends: each time is another state.
    assert_eq!((searched.unique, searched.stopped), (1000, Stopped::States));
}

/// Loses what it has in memory.
#[derive(Clone, Hash, Default)]
struct Disk {
    written: u32,
    memory: u32,
}

impl Actor for Disk {
    type Message = u32;
    raddle_actors::snapshots!();

    fn handle(&mut self, what: u32, _cx: &mut Context<'_, u32>) {
        self.memory += what;
        if what == 2 {
            self.written = self.memory;
        }
    }

    fn restart(&self) -> Option<Self> {
        Some(Self { memory: self.written, ..*self })
    }
}

fn disk() -> Model<Address<u32>> {
    Model::new(|system| {
        let disk = system.spawn_named("disk", Disk::default());
        (1..=3).for_each(|what| system.send(&disk, what));
        disk
    })
    .faults(Faults { crashes: 1, ..Faults::default() })
}

#[test]
fn crashes_are_found_and_replayed() {
    let model = disk()
        .finally("all is there", |disk, view| view.actor::<Disk>(disk).memory == 6)
        .sometimes("all is there", |disk, view| view.actor::<Disk>(disk).memory == 6);
    let searched = bfs(&model);
    let violation = searched.violation.as_ref().expect("a crash loses something");
    assert!(violation.steps.iter().any(|step| step.what == "crash of disk"), "{searched}");
    replays(&model, &searched);
}

#[test]
fn losses_and_duplicates_are_found_and_replayed() {
    for (faults, what) in [
        (Faults { losses: 1, ..Faults::default() }, 1),
        (Faults { duplicates: 1, ..Faults::default() }, 3),
    ] {
        for mailboxes in [Mailboxes::Pairs, Mailboxes::Queue, Mailboxes::Unordered] {
            let model = logs(1, 2)
                .mailboxes(mailboxes)
                .faults(faults)
                .finally("each once", move |logs, view| heard(&logs[0], view).len() != what);
            let searched = bfs(&model);
            assert!(searched.violation.is_some());
            replays(&model, &searched);
        }
    }
}

/// Panics.
#[derive(Clone, Hash)]
struct Fuse;

impl Actor for Fuse {
    type Message = u32;
    raddle_actors::snapshots!();

    fn handle(&mut self, what: u32, cx: &mut Context<'_, u32>) {
        if what == 2 {
            cx.unhandled(&what);
        }
    }
}

#[test]
fn a_handler_that_panics_is_a_violation() {
    let model = Model::new(|system| {
        let fuse = system.spawn(Fuse);
        (0..3).for_each(|what| system.send(&fuse, what));
    })
    .panics_only();
    let searched = bfs(&model);
    let violation = searched.violation.as_ref().expect("it panics");
    assert_eq!((violation.steps.len(), violation.steps[2].what.as_str()), (3, "2"));
    replays(&model, &searched);
}

/// Every beginning has an end.
#[derive(Clone, Hash, Default)]
struct Ends(i32);

impl Monitor for Ends {
    type Event = i32;
    raddle_actors::snapshots!(monitor);

    fn observe(&mut self, change: i32) {
        self.0 += change;
        assert!(self.0 >= 0, "an end without a beginning");
    }

    fn is_hot(&self) -> bool {
        self.0 > 0
    }
}

#[derive(Clone, Hash)]
struct Watched(Watch<i32>);

impl Actor for Watched {
    type Message = i32;
    raddle_actors::snapshots!();

    fn handle(&mut self, change: i32, cx: &mut Context<'_, i32>) {
        cx.observe(&self.0, change);
    }
}

fn watched(changes: &'static [i32], mailboxes: Mailboxes) -> Model<()> {
    Model::new(move |system| {
        let watched = system.spawn(Watched(system.monitor(Ends::default())));
        for change in changes {
            system.send(&watched, *change);
        }
    })
    .mailboxes(mailboxes)
}

#[test]
fn monitors_are_a_part_of_states() {
    // In order: 0, 1, 2, 1, 0, told apart by what is left.
    let searched = bfs(&watched(&[1, 1, -1, -1], Mailboxes::Pairs));
    assert!(searched.is_pass(), "{searched}");
    assert_eq!(searched.unique, 5);
    let model = watched(&[1, 1, -1], Mailboxes::Pairs);
    let searched = bfs(&model);
    assert!(searched.to_string().contains("is still hot"), "{searched}");
    let model = watched(&[1, -1], Mailboxes::Unordered);
    let searched = bfs(&model);
    assert_eq!(
        searched.violation.as_ref().map(|violation| violation.what.as_str()),
        Some("an end without a beginning")
    );
    replays(&model, &searched);
}

#[test]
fn a_monitor_that_is_hot_at_the_end_fails_in_the_engine_too() {
    let model = watched(&[1, 1, -1], Mailboxes::Pairs);
    let searched = bfs(&model);
    let violation = searched.violation.expect("it is hot");
    let failure = violation.failure.expect("it is an execution, too");
    assert!(message(&failure.outcome).contains("is still hot"), "{:?}", failure.outcome);
}

#[test]
fn limits_are_kept_and_told() {
    let model = logs(4, 9).panics_only();
    let search = |states: States| model.search(&states).expect("it can be searched");
    let some = search(States::breadth_first().states(500));
    assert_eq!((some.unique, some.stopped), (500, Stopped::States));
    assert_eq!(some.guarantee.to_string(), "the first 500 states of a search that did not end");
    // At most 16 bytes for each of 10,000 states, and at least 10: 8 bytes in a table that is 4/5 full.
    let small = search(States::depth_first().bytes(100 << 10));
    assert_eq!(small.stopped, Stopped::Bytes);
    assert!((5_000..10_000).contains(&small.unique), "{}", small.unique);
    let small = search(States::breadth_first().bytes(100 << 10));
    assert_eq!(small.stopped, Stopped::Bytes);
    let shallow = search(States::breadth_first().depth(3));
    // Sums of at most 3 over four logs: 1 + 4 + 10 + 20.
    assert_eq!((shallow.unique, shallow.depth), (35, 3));
    assert!(
        matches!(shallow.guarantee.covered, Covered::States { unique: 35, depth: Some(3), .. }),
        "{}",
        shallow.guarantee
    );
    let whole = search(States::breadth_first());
    assert!(whole.guarantee.to_string().starts_with(
        "every state that can be reached, unless 64-bit fingerprints collided (chance below 1e-11"
    ));
    let mut asked = 0;
    let stopped = model
        .search_while(&States::depth_first(), &mut |_| {
            asked += 1;
            asked < 3
        })
        .expect("it can be searched");
    assert_eq!((stopped.stopped, asked), (Stopped::Caller, 3));
}

#[test]
fn what_cannot_be_searched_is_refused_with_the_reason() {
    struct Plain;
    impl Actor for Plain {
        type Message = ();
        fn handle(&mut self, (): (), _cx: &mut Context<'_, ()>) {}
    }
    #[derive(Default)]
    struct Stubborn;
    impl Monitor for Stubborn {
        type Event = ();
        fn observe(&mut self, (): ()) {}
    }
    fn refused<S: Send + Sync + 'static>(model: &Model<S>) -> String {
        let states = States::breadth_first();
        model.search(&states).expect_err("it is refused").to_string()
    }
    let why = refused(&Model::new(|system| system.spawn(Plain)).panics_only());
    assert!(
        why.starts_with("Plain 1 cannot be copied: write raddle_actors::snapshots!();"),
        "{why}"
    );
    let why = refused(&Model::new(|system| system.monitor(Stubborn)));
    assert!(why.contains("raddle_actors::snapshots!(monitor);"), "{why}");
    let why = refused(&logs(1, 1));
    assert!(why.starts_with("the model has no properties"), "{why}");
    let why = refused(&Model::new(System::clone).panics_only());
    assert!(why.starts_with("the setup of a model keeps the system"), "{why}");
    let depth = States::depth_first().depth(3);
    assert!(logs(1, 1).panics_only().search(&depth).is_err());
}

#[test]
fn a_setup_only_sets_up() {
    let model = Model::new(System::handle_all_of_one).panics_only();
    let panic = catch_unwind(AssertUnwindSafe(|| model.search(&States::breadth_first())));
    let panic = panic.expect_err("it handles");
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).expect("it is text");
    assert!(text.starts_with("raddle: a model's setup builds a system"), "{text}");
}

trait HandleAll {
    fn handle_all_of_one(&self);
}

impl HandleAll for System {
    fn handle_all_of_one(&self) {
        let log = self.spawn(Log::default());
        self.send(&log, 1);
        self.handle_all();
    }
}

#[test]
fn one_model_runs_under_every_strategy() {
    let model = election()
        .invariant_of("two votes", |log| vec![log.into()], |log, view| heard(log, view).len() <= 2)
        .sometimes_of("twice 21", |log| vec![log.into()], |log, view| heard(log, view) == [21, 21])
        .finally("both", |log, view| heard(log, view).len() == 2);
    let explored = |strategy: &str, executions: Option<u64>| {
        let mut config = raddle::Config::default();
        strategy.clone_into(&mut config.strategy);
        config.executions = executions;
        let body = model.clone();
        raddle::explore(config, move || body.run()).expect("it can be explored").verdict
    };
    for strategy in ["dfs", "dpor", "dpor(source)", "dfs cache"] {
        assert_eq!(explored(strategy, None), raddle::Verdict::Covered, "{strategy}");
    }
    model.judge();
    for strategy in ["random", "pct(3)", "pos", "surw"] {
        assert_eq!(explored(strategy, Some(300)), raddle::Verdict::Passed, "{strategy}");
    }
    // As an ordinary test, each in turn.
    model.run();
}

#[test]
fn states_can_be_walked() {
    let model = election().panics_only();
    let mut space = model.space().expect("its states can be kept");
    let first = space.first();
    let enabled = space.enabled(&first);
    assert_eq!(enabled.len(), 2);
    assert!(enabled.iter().all(|link| link.from.is_none() && link.to.is_some()));
    let asked = space.step(&first, enabled[0], &[]).expect("it does not panic").asked;
    assert_eq!(asked, [3, 2]);
    let next = space.step(&first, enabled[0], &[1]).expect("it does not panic");
    assert_eq!((next.sent_to.len(), next.spawned.len()), (1, 0));
    let waiting = space.enabled(&next.snapshot);
    let vote = waiting.iter().find(|link| link.from == enabled[0].to).expect("it has voted");
    assert_eq!(vote.to, Some(next.sent_to[0]));
    let vote = |space: &mut raddle_actors::Space<_>, values: &[u32]| {
        let voted = space.step(&first, enabled[0], values).expect("it does not panic").snapshot;
        voted.fingerprint()
    };
    let all: std::collections::BTreeSet<u64> = (0..3)
        .flat_map(|tens| (0..2).map(move |ones| [tens, ones]))
        .map(|values| vote(&mut space, &values))
        .collect();
    assert_eq!(all.len(), 6);
    assert_eq!(vote(&mut space, &[0, 0]), vote(&mut space, &[]));
    assert_eq!(space.delivery(&first, enabled[1], &[]).to_string(), "test → Voter 2: ()");
}

#[test]
fn a_violation_is_the_same_with_any_number_of_threads() {
    // Each log has its entries in order, and no state with all logs full is allowed.
    let model = logs(3, 4)
        .invariant("not all", |logs, view| logs.iter().any(|log| heard(log, view).len() < 4));
    let search = |threads| {
        let states = States::breadth_first().threads(threads);
        model.search(&states).expect("it can be searched").violation.expect("all are full once")
    };
    let one = search(1);
    assert_eq!(one.steps.len(), 12);
    for threads in [2, 3] {
        let other = search(threads);
        assert_eq!((&other.steps, &other.what), (&one.steps, &one.what));
    }
}

#[test]
fn a_search_with_too_little_room_for_what_was_seen_does_as_it_is_told() {
    let model = logs(4, 5).panics_only();
    let search = |when_full| {
        let states = States::breadth_first().cache(14_000, when_full);
        model.search(&states).expect("it can be searched")
    };
    assert_eq!(search(WhenFull::Stop).stopped, Stopped::Bytes);
    for when_full in [WhenFull::Refuse, WhenFull::Replace] {
        let searched = search(when_full);
        assert_eq!(searched.stopped, Stopped::Covered);
        assert!(searched.unique >= 6u64.pow(4), "some are counted again: {}", searched.unique);
        assert!(searched.guarantee.to_string().contains("were not kept"), "{searched}");
    }
}

#[test]
fn a_path_is_not_searched_by_several_threads() {
    let refused = logs(1, 1)
        .panics_only()
        .search(&States::depth_first().threads(2))
        .expect_err("depth first has one thread");
    assert!(refused.to_string().contains("leave out `threads`"), "{refused}");
}

fn by(strategy: &str) -> raddle::Config {
    let mut config = raddle::Config::default();
    strategy.clone_into(&mut config.strategy);
    config
}

/// The report of a test that runs this model.
fn explored<S: Send + Sync + 'static>(strategy: &str, model: &Model<S>) -> raddle::Report {
    let config = by(strategy);
    let model = model.clone();
    raddle::explore(config, move || model.run()).expect("it can be run")
}

const OVER_STATES: [&str; 5] =
    ["states(bfs)", "states(dfs)", "states(bfs, threads(2))", "strata(rr)", "strata(rtc, exact)"];

#[test]
fn a_strategy_that_visits_states_covers_them_after_one_execution() {
    let model = logs(3, 4)
        .sometimes("all", |logs, view| logs.iter().all(|log| heard(log, view).len() == 4));
    for strategy in OVER_STATES {
        let report = explored(strategy, &model);
        assert_eq!(report.verdict, raddle::Verdict::Covered, "{strategy}: {report:?}");
        assert_eq!(report.counts.executions, 1, "{strategy}");
        let covered = report.guarantee.covered;
        assert!(matches!(covered, Covered::States { delays: None, .. }), "{strategy}: {covered}");
        let text = raddle::render(&report);
        assert!(text.contains("states were searched by"), "{strategy}: {text}");
    }
    let pairs = explored("states(bfs)", &model).guarantee.covered;
    assert!(matches!(pairs, Covered::States { unique: 125, .. }), "{pairs}");
    model.judge();
}

#[test]
fn a_goal_that_a_search_over_states_reached_is_reached() {
    let model = logs(2, 2).sometimes("the second first", |logs, view| {
        heard(&logs[0], view).is_empty() && heard(&logs[1], view).len() == 2
    });
    explored("states(bfs)", &model);
    assert_eq!(model.unreached(), Vec::<&str>::new());
}

#[test]
fn a_violation_of_a_state_is_a_failure_like_any_other() {
    let model = logs(3, 3).invariant("never all at once", |logs, view| {
        !(heard(&logs[0], view).len() == 1
            && heard(&logs[1], view).len() == 2
            && heard(&logs[2], view).len() == 3)
    });
    for strategy in OVER_STATES {
        let report = explored(strategy, &model);
        assert_eq!(report.verdict, raddle::Verdict::Failed, "{strategy}");
        let failure = report.failure.expect("it has failed");
        assert!(message(&failure.outcome).contains("never all at once"), "{strategy}");
        assert_eq!(failure.execution, 2, "the first one was ordinary");
        let token = failure.schedule.to_string();
        let body = model.clone();
        let mut config = raddle::Config::default();
        config.replay = Some(token);
        let replayed = raddle::explore(config, move || body.run()).expect("it can be replayed");
        assert_eq!(replayed.verdict, raddle::Verdict::Failed, "{strategy}");
    }
}

#[test]
fn a_bound_on_delays_is_named() {
    let model = logs(3, 3).panics_only();
    let report = explored("strata(rr, exact) delays(1)", &model);
    assert_eq!(report.verdict, raddle::Verdict::Covered);
    let sentence = report.guarantee.to_string();
    assert!(
        sentence.starts_with("every state that can be reached with at most 1 delay,"),
        "{sentence}"
    );
    // Without `exact` nothing is claimed of a number of delays.
    let report = explored("strata(rr) delays(1)", &model);
    assert_eq!(report.verdict, raddle::Verdict::Passed);
    let sentence = report.guarantee.to_string();
    assert!(sentence.contains("of a search that did not end"), "{sentence}");
}

/// Cannot be copied.
#[derive(Default)]
struct Opaque(u32);

impl Actor for Opaque {
    type Message = u32;

    fn handle(&mut self, what: u32, _cx: &mut Context<'_, u32>) {
        self.0 += what;
    }
}

#[test]
fn what_has_no_states_is_searched_by_executions_and_the_report_says_so() {
    let opaque = Model::new(|system| {
        let actors: Vec<_> = (0..2).map(|_| system.spawn(Opaque::default())).collect();
        for actor in &actors {
            system.send(actor, 1);
        }
    })
    .panics_only();
    for strategy in ["states(bfs)", "states(dfs)", "strata(rr)"] {
        let report = explored(strategy, &opaque);
        assert_eq!(report.verdict, raddle::Verdict::Covered, "{strategy}");
        assert!(report.counts.executions > 1, "{strategy}");
        let text = raddle::render(&report);
        assert!(text.contains("states were not searched, but executions"), "{strategy}: {text}");
        assert!(text.contains("write raddle_actors::snapshots!()"), "{strategy}: {text}");
    }
}

#[test]
fn a_test_that_does_more_than_its_model_is_searched_by_executions() {
    let model = logs(2, 1).panics_only();
    let report = raddle::explore(by("states(bfs)"), move || {
        model.run();
        model.run();
    })
    .expect("it can be run");
    assert!(report.counts.executions > 1);
    assert!(raddle::render(&report).contains("runs several models"), "{}", raddle::render(&report));
}

/// What does not hang on the clock, nor on whether there was a file.
fn without_time(mut report: raddle::Report) -> raddle::Report {
    report.elapsed_ms = 0;
    report.progress = None;
    let about_file = |note: &raddle::Note| {
        matches!(note, raddle::Note::Kept { .. } | raddle::Note::Resumed { .. })
    };
    report.notes.retain(|note| !about_file(note));
    // Tables of what has been seen: each process has its own, and they bound the chance of collisions.
    if let raddle::Covered::States { parts, .. } = &mut report.guarantee.covered {
        *parts = 0;
    }
    report
}

#[test]
fn a_search_over_states_goes_on_from_a_file() {
    let model = logs(3, 4).panics_only();
    let file = std::env::temp_dir().join(format!("raddle-states-{}", std::process::id()));
    for strategy in OVER_STATES {
        let _ = std::fs::remove_file(&file);
        let run = |executions: Option<u64>, keeps: bool| {
            let mut config = by(strategy);
            config.executions = executions;
            config.checkpoint = keeps.then(|| file.to_string_lossy().into_owned());
            let model = model.clone();
            raddle::explore(config, move || model.run()).expect("it can be run")
        };
        // After the first execution and before the states.
        assert_eq!(run(Some(1), true).counts.executions, 1, "{strategy}");
        assert!(file.exists(), "{strategy}");
        let (parts, whole) = (run(None, true), run(None, false));
        assert!(!file.exists(), "{strategy}");
        assert_eq!(without_time(parts), without_time(whole), "{strategy}");
    }
}

/// Runs a strategy until it has been asked so many times whether to go on, from what was saved if anything was; what it
/// saves then, and how many executions there were.
fn a_part(
    strategy: &str,
    laps: u32,
    from: Option<(raddle_trace::Carried, raddle_engine::strategy::Checkpoint)>,
    body: &dyn Fn(),
) -> Result<(raddle_trace::Carried, raddle_engine::strategy::Checkpoint), (u64, Covered)> {
    let mut strategy = raddle_search::build(strategy, 1).expect("a known strategy").strategy;
    strategy.stateful().expect("it searches states").expect_saving();
    let mut carried = raddle_trace::Carried::default();
    if let Some((before, state)) = from {
        strategy.resumable().expect("it can be saved").restore(&state).expect("its own");
        carried = before;
    }
    let mut left = laps;
    let mut lap = |_: raddle_engine::Lap| {
        left = left.saturating_sub(1);
        if left == 0 { Stop::Search } else { Stop::No }
    };
    let explored = raddle_engine::explore_from(
        &carried,
        &mut *strategy,
        &mut [],
        &Setup::default(),
        &mut lap,
        &mut |_| {},
        body,
    )
    .expect("it can be run");
    if explored.ended != raddle_engine::Ended::Stopped {
        return Err((explored.counts.executions, strategy.covered()));
    }
    let state = strategy.resumable().expect("it can be saved").save().expect("between executions");
    Ok((raddle_trace::Carried { counts: explored.counts, ..carried }, state))
}

#[test]
fn a_search_over_states_that_is_stopped_in_its_midst_ends_as_if_it_was_not() {
    let model = logs(5, 5).panics_only();
    let body = || model.run();
    for strategy in OVER_STATES {
        let whole = a_part(strategy, u32::MAX, None, &body).expect_err("it ends");
        let mut from = None;
        let mut parts = 0;
        let ended = loop {
            match a_part(strategy, 4 + parts, from, &body) {
                Ok(saved) => from = Some(saved),
                Err(ended) => break ended,
            }
            parts += 1;
        };
        assert!(parts >= 2, "{strategy}: {parts}");
        let of = |(executions, covered): (u64, Covered)| match covered {
            Covered::States { unique, depth, dropped, delays, keys, .. } => {
                (executions, unique, depth, dropped, delays, keys)
            }
            other => panic!("{strategy}: {other}"),
        };
        assert_eq!(of(ended), of(whole), "{strategy}");
    }
}

#[test]
fn where_executions_are_in_processes_of_their_own_states_are_not_searched() {
    let model = logs(2, 2).panics_only();
    for (strategy, says) in [("states(bfs)", true), ("states(dfs)", true), ("strata(rr)", false)] {
        let mut config = by(strategy);
        config.isolation = raddle::Isolation::Process;
        let model = model.clone();
        let report = raddle::explore(config, move || model.run()).expect("it can be run");
        assert_eq!(report.verdict, raddle::Verdict::Covered, "{strategy}");
        assert_ne!(report.counts.executions, 1, "{strategy}");
        let text = raddle::render(&report);
        assert_eq!(text.contains("leave out `isolation`"), says, "{strategy}: {text}");
    }
}

#[test]
fn explorers_do_the_same_where_executions_are_in_processes_of_their_own() {
    let model = logs(2, 2).panics_only();
    for strategy in ["strata(rtc, exact) delays(1)", "dfs delays(2) prr(3)", "strata-sample(rr)"] {
        let run = |isolation| {
            // By executions in both cases.
            let mut config = by(strategy);
            config.executions = Some(20);
            config.isolation = isolation;
            let model = model.clone();
            let two = move || {
                model.run();
                model.run();
            };
            raddle::explore(config, two).expect("it can be run")
        };
        let (apart, here) = (run(raddle::Isolation::Process), run(raddle::Isolation::None));
        assert_eq!(apart.guarantee, here.guarantee, "{strategy}");
        assert_eq!(apart.counts.executions, here.counts.executions, "{strategy}");
        assert_eq!(apart.counts.steps, here.counts.steps, "{strategy}");
    }
}

/// Passes its number on, once it is told to.
#[derive(Clone, Hash)]
struct Caller(u32, Address<u32>);

impl Actor for Caller {
    type Message = ();
    raddle_actors::snapshots!();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.send(&self.1, self.0);
    }
}

/// Panics if it hears of all callers, the last one first.
#[derive(Clone, Hash, Default)]
struct Strict(Vec<u32>);

impl Actor for Strict {
    type Message = u32;
    raddle_actors::snapshots!();

    fn handle(&mut self, caller: u32, _cx: &mut Context<'_, u32>) {
        self.0.push(caller);
        assert_ne!(self.0, [3, 2, 1, 0], "backwards");
    }
}

/// A step that panics is found in its stratum and not before, though all steps of a state are taken at once.
#[test]
fn a_panic_is_found_in_its_stratum() {
    let model = Model::new(|system: &System| {
        let strict = system.spawn(Strict::default());
        for number in 0..4 {
            let caller = system.spawn(Caller(number, strict.clone()));
            system.send(&caller, ());
        }
    })
    .panics_only();
    let explorer = || raddle_search::stock_explorer("rr", 1).expect("a stock explorer");
    let found = |states: &States| {
        let searched = model.search(states).expect("it can be searched");
        searched.violation.map(|violation| (violation.what, violation.steps.len()))
    };
    let needs = (0..20).find(|&k| found(&States::strata(explorer()).exact().delays(k)).is_some());
    let needs = needs.expect("some number of delays is enough");
    assert!(needs >= 2, "{needs}");
    for delays in 0..needs {
        assert_eq!(found(&States::strata(explorer()).delays(delays)), None, "{delays}");
    }
    for states in [States::strata(explorer()).delays(needs), States::strata(explorer())] {
        let (what, steps) = found(&states).expect("it is there");
        assert!(what.contains("backwards"), "{what}");
        assert_eq!(steps, 8, "four callers, and what each sends");
    }
}
