//! Schedules that show new orders of receives, as a user meets them.

use std::fmt::Write as _;
use std::time::Duration;

use raddle::{Config, Isolation, Receives, Report, Verdict, check_with};
use raddle_actors::{Actor, Address, Context, Mailboxes, System};
use raddle_trace::{Covered, PartialSchedule};

/// What the writer is told.
#[derive(Debug)]
enum Told {
    Open,
    Write,
    Flush,
}

/// Must be open before it is written to; becomes closed when it is flushed.
#[derive(Default)]
struct Writer {
    open: bool,
    written: u32,
}

struct Closed;

impl Actor for Writer {
    type Message = Told;

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        match message {
            Told::Open => self.open = true,
            Told::Write => {
                assert!(self.open, "written before it was open");
                self.written += 1;
            }
            Told::Flush => cx.become_(Closed),
        }
    }
}

impl Actor for Closed {
    type Message = Told;

    fn handle(&mut self, _: Told, _: &mut Context<'_, Told>) {}
}

/// Tells the writer something, after so many messages to itself.
struct Relay {
    to: Address<Told>,
    tells: fn() -> Told,
}

impl Actor for Relay {
    type Message = u32;

    fn handle(&mut self, left: u32, cx: &mut Context<'_, u32>) {
        if left == 0 {
            cx.send(&self.to, (self.tells)());
        } else {
            let me = cx.me().clone();
            cx.send(&me, left - 1);
        }
    }
}

/// The message that opens comes at once; those that write come through so many hops.
fn slow_writes(mailboxes: Mailboxes, writers: u32, hops: u32, opens_late: bool) {
    let system = System::builder().mailboxes(mailboxes).build();
    let writer = system.spawn(Writer { open: !opens_late, written: 0 });
    let relay = |tells: fn() -> Told| system.spawn(Relay { to: writer.clone(), tells });
    for _ in 0..writers {
        let write = relay(|| Told::Write);
        system.send(&write, hops);
    }
    let open = relay(|| Told::Open);
    let flush = relay(|| Told::Flush);
    system.send(&open, 0);
    system.send(&flush, 2 * hops);
    system.handle_all();
}

fn run(config: Config, body: impl Fn() + Send + Sync + 'static) -> Report {
    raddle::explore(config, body).expect("the search can run")
}

fn config(strategy: &str) -> Config {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    config.executions = Some(200);
    config
}

fn late() {
    slow_writes(Mailboxes::Pairs, 2, 6, true);
}

#[test]
fn an_order_that_is_rarely_seen_is_forced_in_a_few_executions_and_replays() {
    let report = run(config("bita"), late);
    let failure = report.failure.expect("it is found");
    assert!(failure.execution <= 4, "{}", failure.execution);
    let token = failure.schedule.to_string();
    let replayed = raddle::replay(&token, late).expect("a token");
    assert_eq!(replayed.verdict, Verdict::Failed);
}

#[test]
fn a_search_in_processes_of_its_own_does_the_same() {
    let mut isolated = config("bita");
    isolated.isolation = Isolation::Process;
    let (one, other) = (run(isolated, late), run(config("bita"), late));
    let found =
        |report: Report| report.failure.map(|failure| (failure.execution, failure.schedule));
    assert_eq!(found(one), found(other));
}

#[test]
fn a_search_that_covers_all_goals_says_what_it_covered() {
    for criterion in ["bita", "bita(pr)", "bita(pbr)", "bita(pcr)"] {
        let report = run(config(criterion), || slow_writes(Mailboxes::Pairs, 2, 1, false));
        assert_eq!(report.verdict, Verdict::Passed, "{report:?}");
        let Covered::Receives { ended, infeasible, .. } = report.guarantee.covered else {
            panic!("{report:?}")
        };
        assert!(ended && infeasible == 0, "{criterion}: {report:?}");
        assert_eq!(report.strategy, criterion);
        let seen = report.receives.expect("there are receives");
        if criterion == "bita" {
            // The writer hears of two writes, an open and a flush: six pairs, all in both orders.
            assert_eq!((seen.count.pr.pairs, seen.count.pr.covered), (6 + 5, 6));
            assert_eq!((seen.count.pcr.covered, seen.open), (6, (0, 5)));
            assert_eq!((seen.count.pbr.pairs, seen.count.pbr.covered), (3, 3));
        }
    }
}

#[test]
fn orders_of_receives_are_counted_with_any_strategy() {
    for strategy in ["dfs", "dpor", "dpor(source)"] {
        let mut config = Config::default();
        strategy.clone_into(&mut config.strategy);
        config.receives = Receives::Count;
        let report = run(config, || slow_writes(Mailboxes::Pairs, 1, 0, false));
        let seen = report.receives.expect("asked for");
        let pr = seen.count.pr;
        assert_eq!((pr.pairs, pr.covered, pr.goals), (3, 3, 6), "{strategy}");
        assert!(seen.uncovered.is_empty(), "{:?}", seen.uncovered);
    }
    let mut config = config("round-robin");
    config.receives = Receives::Count;
    let report = run(config, || slow_writes(Mailboxes::Pairs, 1, 0, false));
    let seen = report.receives.expect("asked for");
    assert_eq!(seen.open, (3, 0));
    let first = seen.uncovered[0].to_string();
    assert_eq!(first, "Writer 1: Write from Relay 1 always before Open from Relay 2");
}

/// As it is in a file.
fn written(schedule: &PartialSchedule) -> String {
    let mut text = r#"{"version": 1, "name": "as it failed", "receives": ["#.to_owned();
    for (nth, receive) in schedule.receives.iter().enumerate() {
        let comma = if nth == 0 { "" } else { ", " };
        let _ = write!(text, r#"{comma}{{"message": "{:016x}"}}"#, receive.message.0);
    }
    text + "]}"
}

#[test]
fn a_partial_schedule_is_forced_from_a_file() {
    let report = run(config("bita"), late);
    let failing = report.receives.and_then(|seen| seen.failing).expect("it failed");
    let last = failing.receives.last().expect("something was received");
    assert!(last.name.starts_with("Writer 1: Write from Relay"), "{}", last.name);
    let name = format!("raddle-partial-{}.receives", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, written(&failing)).expect("a file");
    let mut replay = config("dfs");
    replay.replay = Some(file.to_string_lossy().into_owned());
    let again = run(replay.clone(), late);
    assert_eq!(again.verdict, Verdict::Failed);
    assert_eq!(again.failure.expect("it fails").execution, 1);
    // A program to which it does not fit: released, said, and no hang.
    let other = run(replay.clone(), || slow_writes(Mailboxes::Pairs, 1, 1, false));
    let notes = format!("{:?}", other.notes);
    assert_eq!(other.verdict, Verdict::Passed);
    assert!(
        notes.contains("10 of 10 executions did not follow the schedule `as it failed`"),
        "{notes}"
    );
    std::fs::write(&file, r#"{"version": 9, "receives": []}"#).expect("a file");
    let refused = raddle::explore(replay, late).expect_err("another version").to_string();
    assert!(refused.contains("version 9"), "{refused}");
    let _ = std::fs::remove_file(file);
}

#[test]
fn a_search_begins_with_a_recorded_execution_or_along_a_schedule_of_receives() {
    let found = run(config("bita"), late);
    let failure = found.failure.expect("it is found");
    assert!(failure.execution > 1, "else there is nothing to show");
    let failing = found.receives.and_then(|seen| seen.failing).expect("it failed");
    let name = format!("raddle-start-{}.receives", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, written(&failing)).expect("a file");
    for given in [failure.schedule.to_string(), file.to_string_lossy().into_owned()] {
        let mut config = config("bita");
        config.start_with = Some(given);
        let again = run(config.clone(), late).failure.expect("it fails");
        assert_eq!(again.execution, 1);
        // Only `bita` begins with something.
        config.strategy = "dpor".to_owned();
        let refused = raddle::explore(config, late).expect_err("no use for it").to_string();
        assert!(refused.contains("`bita` is not asked for"), "{refused}");
    }
    let mut other = config("bita");
    other.start_with = Some(failure.schedule.to_string());
    let refused = raddle::explore(other, || slow_writes(Mailboxes::Pairs, 1, 1, false));
    let refused = refused.expect_err("a recording of another test").to_string();
    assert!(refused.contains("did not repeat it"), "{refused}");
    let _ = std::fs::remove_file(file);
}

/// Where a test of this name keeps the orders of receives that its searches have shown.
fn kept(test: &str) -> std::path::PathBuf {
    let exe = std::env::current_exe().expect("this program");
    let target = exe.ancestors().find(|above| above.join("CACHEDIR.TAG").is_file());
    target.expect("a target directory").join("raddle").join(format!("{test}.receives.json"))
}

#[test]
fn orders_of_receives_are_kept_and_a_later_search_adds_to_them() {
    let test = format!("kept-receives-{}", std::process::id());
    let run = |strategy: &str, executions: u64| {
        let mut config = config(strategy);
        config.receives = Receives::Keep;
        config.executions = Some(executions);
        config.test = Some(test.clone());
        check_with(config, || slow_writes(Mailboxes::Pairs, 1, 0, false));
        std::fs::read_to_string(kept(&test)).expect("a file")
    };
    let first = run("round-robin", 1);
    assert!(first.contains("Write from Relay 1") && first.contains("Open from Relay 2"), "{first}");
    let all = run("bita", 50);
    assert!(all.len() > first.len(), "{all}");
    // What one execution shows is known by then.
    assert_eq!(run("round-robin", 1), all);
    std::fs::write(kept(&test), "{}").expect("a file");
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run("dfs", 1)));
    assert!(refused.is_err(), "what cannot be read is not taken for nothing");
    let _ = std::fs::remove_file(kept(&test));
}

#[test]
fn a_search_that_fails_keeps_no_orders_of_receives() {
    let test = format!("failing-receives-{}", std::process::id());
    let mut config = config("bita");
    config.receives = Receives::Keep;
    config.test = Some(test.clone());
    let failed =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check_with(config, late)));
    assert!(failed.is_err());
    assert!(!kept(&test).exists());
}

/// Notes when it was told something.
struct Noted(Vec<Duration>);

impl Actor for Noted {
    type Message = u32;

    fn handle(&mut self, _: u32, cx: &mut Context<'_, u32>) {
        self.0.push(cx.now());
    }
}

fn receives_in_logical_time() {
    let tick = Duration::from_millis(10);
    let system = System::builder().logical_time(tick).build();
    let actors = [0, 1].map(|_| system.spawn(Noted(Vec::new())));
    for actor in &actors {
        system.send(actor, 1);
        system.send(actor, 2);
    }
    system.handle_all();
    let mut times: Vec<Duration> = Vec::new();
    for actor in &actors {
        times.extend(system.inspect(actor, |actor: &Noted| actor.0.clone()));
    }
    times.sort_unstable();
    assert_eq!(times, [1, 2, 3, 4].map(|receives| tick * receives));
}

#[test]
fn each_receive_takes_a_tick_of_logical_time_and_none_is_independent_of_another() {
    // Two messages to each of two actors, in order for each: 4! / (2! 2!) = 6 executions, and all differ in what the
    // clock shows, so a reduction leaves out none. Without logical time it has one.
    for strategy in ["dfs", "dpor", "dpor(source)"] {
        let report = run(config(strategy), receives_in_logical_time);
        assert_eq!((report.verdict, report.counts.executions), (Verdict::Covered, 6), "{strategy}");
    }
    let report = run(config("bita"), receives_in_logical_time);
    assert_eq!(report.verdict, Verdict::Passed);
}

#[test]
fn a_test_without_messages_is_told_to_choose_another_strategy() {
    let report = run(config("bita"), || {});
    assert!(
        format!("{:?}", report.notes).contains("choose another strategy"),
        "{:?}",
        report.notes
    );
}
