//! Every text that a user can see, on reports made by hand.

use insta::assert_snapshot;
use raddle_trace::{
    Band, Call, Coverage, Estimate, Event, Explanation, Lasted, Lost, Missing, ObjectName,
    PairCount, Pivot, Progress, Raised, SampleBound, Schedule, Second, Site, Statement, TaskName,
    TraceCount, Unseen, Waiting,
};

use crate::{from_json, to_json};

use super::*;
use crate::samples::{
    data_race, divergence, event, failed, livelock, lock_cycle, lock_order, long, lost_update,
    many_tasks, object, panic, passed, site, stack_overflow, threads, three_panics,
};

fn shown(report: &Report) -> String {
    render(report, &TextOptions::default())
}

/// Without the lines that are the same for every failure.
fn shown_above_counts(report: &Report) -> String {
    let text = shown(report);
    text.split("\n\nsearched with").next().unwrap_or_default().to_owned()
}

fn failure(report: &mut Report) -> &mut Failure {
    report.failure.as_mut().expect("a failed report")
}

#[test]
fn pairs_of_statements_are_counted_and_the_new_ones_are_listed() {
    let at = |line| Statement {
        site: Site { file: "src/bank.rs".into(), line, column: 9 },
        calls: vec!["transfer".to_owned()],
    };
    let count = PairCount { known: 17, added: 2, last: 5 };
    let mut coverage = Coverage { count, ..Coverage::default() };
    let mut report = passed(Verdict::Passed, Covered::Sample { executions: 12, bound: None });
    report.coverage = Some(coverage.clone());
    let text = render(&report, &TextOptions::default());
    assert!(text.contains("17 pairs known, 2 added, the last by execution 5\n"), "{text}");
    coverage.new.insert(at(7), at(3));
    report.coverage = Some(coverage.clone());
    let text = render(&report, &TextOptions::default());
    assert!(text.contains("; 1 new since the last run:\n"), "{text}");
    let pair = "    src/bank.rs:7:9 in transfer ← src/bank.rs:3:9 in transfer\n";
    assert!(text.contains(pair), "{text}");
    for line in 0..20 {
        coverage.new.insert(at(line), at(99));
    }
    report.coverage = Some(coverage);
    assert!(render(&report, &TextOptions::default()).contains("    … 9 more pairs\n"));
}

#[test]
fn a_lost_update() {
    assert_snapshot!(shown(&lost_update()), @"
    FAILED transfers: main panicked at tests/account.rs:19:9
      assertion `left == right` failed: an update was lost
        left: 1
       right: 2

    execution 12, step by step:

    step  │ main                       │ thread 1          │ thread 2          │ at
    ──────┼────────────────────────────┼───────────────────┼───────────────────┼────────────────────
       0  │                            │ load counter -> 0 │                   │ tests/account.rs:12
       1* │                            │                   │ load counter -> 0 │ tests/account.rs:12
       2  │                            │                   │ store counter (1) │ tests/account.rs:13
       3  │                            │ store counter (1) │                   │ tests/account.rs:13
       4  │ load counter -> 1          │                   │                   │ tests/account.rs:19
    ──────┼────────────────────────────┼───────────────────┼───────────────────┼────────────────────
          │ panicked: assertion `left  │                   │                   │ tests/account.rs:19
          │ == right` failed: an       │                   │                   │
          │ update was lost            │                   │                   │
    * a preemption: the task that moved before could have gone on

    searched with pct(3), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5 decisions
    covered so far: 12 sampled executions; assuming sequentially consistent memory

    replay it with:
      RADDLE_REPLAY=rd1AAIAAAABBQQJAgQAAAAAAAAAAAD20yAA cargo test transfers
    ");
}

#[test]
fn a_search_that_did_not_finish_says_how_far_it_was() {
    let total = Band { about: 12_345.0, low: 4_000.0, high: 30_000.0 };
    let estimate = Estimate { total, covered: 864.0, search: total, weighted: None, probed: None };
    let progress = Progress { estimate: Some(estimate), ..Progress::default() }.timed(864, 13_500);
    let covered = Covered::Part { executions: 864, preemptions: None };
    let mut report = passed(Verdict::Passed, covered);
    report.progress = Some(progress);
    assert_snapshot!(shown(&report), @"
    PASSED transfers: the first 864 executions of a search that did not end; assuming sequentially
      consistent memory
      searched with pct(3), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5 decisions
      did not finish: at least 4,000 executions in all, probably about 12,000, 7 % covered, ~3 min left
    ");
    // A number may lose its last bit on the way; what is shown does not.
    let read = from_json(&to_json(&report)).expect("what was written");
    assert_eq!(shown(&read), shown(&report));
}

#[test]
fn the_members_of_a_portfolio_are_listed_with_what_they_found() {
    let member = |strategy: &str, executions, verdict| {
        let covered = Covered::Sample { executions, bound: None };
        let Report { guarantee, counts, seed, .. } = passed(verdict, covered);
        let mut member = Member::new(strategy.to_owned(), seed, verdict, guarantee, counts);
        member.counts.executions = executions;
        member
    };
    let mut report = passed(Verdict::Covered, Covered::Equivalence);
    report.strategy = "auto (dpor | pos)".to_owned();
    report.members = vec![member("dpor", 8, Verdict::Covered), member("pos", 4, Verdict::Passed)];
    assert_snapshot!(shown(&report), @"
    COVERED transfers: every execution up to equivalence; assuming sequentially consistent memory
      searched with auto (dpor | pos), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5
        decisions
      of these, by dpor: 8 executions, covered; by pos: 4 executions, passed
    ");
    let read = from_json(&to_json(&report)).expect("what was written");
    assert_eq!(read, report);
    // Nothing is said of what there is not.
    assert!(!to_json(&lost_update()).contains("members"));
}

#[test]
fn a_deadlock_with_a_cycle() {
    assert_snapshot!(shown_above_counts(&lock_order()), @"
    FAILED transfers: deadlock of 3 tasks: main, thread 1, thread 2

    execution 12, step by step:

    step  │ main                  │ thread 1              │ thread 2              │ at
    ──────┼───────────────────────┼───────────────────────┼───────────────────────┼────────────────────
       0  │                       │ lock Mutex#1          │                       │ tests/account.rs:9
       1* │                       │                       │ lock Mutex#2          │ tests/account.rs:14
    ──────┼───────────────────────┼───────────────────────┼───────────────────────┼────────────────────
          │ waits to join         │ waits for lock        │ waits for lock        │
          │ thread 1              │ Mutex#2 held by       │ Mutex#1 held by       │
          │                       │ thread 2              │ thread 1              │
    * a preemption: the task that moved before could have gone on
    Mutex#1 is from tests/account.rs:5:9, Mutex#2 is from tests/account.rs:6:9

    who waits for whom:
      main waits to join thread 1 at tests/account.rs:18
      thread 1 waits for lock Mutex#2 at tests/account.rs:10, held by thread 2 since tests/account.rs:14
      thread 2 waits for lock Mutex#1 at tests/account.rs:15, held by thread 1 since tests/account.rs:9
      cycle: thread 1 -> thread 2 -> thread 1
    ");
}

#[test]
fn a_deadlock_without_a_cycle() {
    let steps = [(1, "lock", Some(0), 9), (2, "notify_one -> nobody", Some(1), 14)];
    let trace = Trace {
        tasks: threads(3),
        objects: vec![object("Mutex", None, 5), object("Condvar", None, 6)],
        events: steps.map(event).to_vec(),
        ..Trace::default()
    };
    let waits = |task, op: &str, object, line, held_by| Waiting {
        task,
        op: op.to_owned(),
        object: Some(object),
        site: site(line),
        held_by,
    };
    let waiting =
        vec![waits(1, "wait", 1, 10, vec![]), waits(3, "lock", 0, 15, vec![(2, Some(site(9)))])];
    assert_snapshot!(shown_above_counts(&failed(trace, Outcome::Deadlock { waiting })), @"
    FAILED transfers: deadlock of 2 tasks: thread 1, thread 3

    execution 12, step by step:

    step  │ thread 1         │ thread 2                 │ thread 3                 │ at
    ──────┼──────────────────┼──────────────────────────┼──────────────────────────┼────────────────────
       0  │ lock Mutex       │                          │                          │ tests/account.rs:9
       1  │                  │ notify_one Co… -> nobody │                          │ tests/account.rs:14
    ──────┼──────────────────┼──────────────────────────┼──────────────────────────┼────────────────────
          │ waits on Condvar │                          │ waits for lock Mutex     │
          │                  │                          │ held by thread 2         │

    who waits for whom:
      thread 1 waits on Condvar at tests/account.rs:10, and no task is left that could let it go on
      thread 3 waits for lock Mutex at tests/account.rs:15, held by thread 2 since tests/account.rs:9
        (which has ended)
    ");
}

#[test]
fn a_task_that_waits_for_itself() {
    let trace = Trace {
        tasks: threads(0),
        objects: vec![object("Mutex", Some("accounts"), 5)],
        events: vec![event((0, "lock", Some(0), 9))],
        ..Trace::default()
    };
    let waiting = vec![Waiting {
        task: 0,
        op: "lock".to_owned(),
        object: Some(0),
        site: site(11),
        held_by: vec![(0, Some(site(9)))],
    }];
    assert_snapshot!(shown_above_counts(&failed(trace, Outcome::Deadlock { waiting })), @"
    FAILED transfers: deadlock: main waits for ever

    execution 12, step by step:

    step  │ main                       │ at
    ──────┼────────────────────────────┼────────────────────
       0  │ lock accounts              │ tests/account.rs:9
    ──────┼────────────────────────────┼────────────────────
          │ waits for lock accounts    │ tests/account.rs:11
          │ held by main               │

    who waits for whom:
      main waits for lock accounts at tests/account.rs:11, held by main since tests/account.rs:9
      main waits for itself
    ");
}

#[test]
fn a_livelock() {
    assert_snapshot!(shown_above_counts(&livelock()), @"
    FAILED transfers: livelock: thread 2 changed nothing for 1000 steps

    execution 12, step by step:

    step  │ thread 1            │ thread 2                 │ at
    ──────┼─────────────────────┼──────────────────────────┼────────────────────
       0  │ store ready (true)  │                          │ tests/account.rs:9
       1* │                     │ load ready -> true       │ tests/account.rs:14
       2* │ store ready (false) │                          │ tests/account.rs:10
       3  │                     │ load AtomicBool -> false │ tests/account.rs:15
       4  │                     │ yield                    │ tests/account.rs:16
       ⋮  │ … 993 steps of thread 2, again and again load AtomicBool -> false, yield …
     998  │                     │ yield                    │ tests/account.rs:16
     999  │                     │ load AtomicBool -> false │ tests/account.rs:15
    1000  │                     │ yield                    │ tests/account.rs:16
    1001  │                     │ load AtomicBool -> false │ tests/account.rs:15
    1002  │                     │ yield                    │ tests/account.rs:16
    ──────┼─────────────────────┼──────────────────────────┼────────────────────
          │                     │ spins for ever           │
    * a preemption: the task that moved before could have gone on

    who spins:
      thread 2 repeats load AtomicBool -> false at tests/account.rs:15, yield at tests/account.rs:16
    ");
}

#[test]
fn a_stack_overflow() {
    assert_snapshot!(shown_above_counts(&stack_overflow()), @"
    FAILED transfers: thread 1 overflowed its stack

    execution 12, step by step:

    step  │ thread 1             │ at
    ──────┼──────────────────────┼───────────────────
       0  │ lock Mutex           │ tests/account.rs:9
       1  │ unlock Mutex         │ tests/account.rs:9
       2  │ lock Mutex           │ tests/account.rs:9
    ──────┼──────────────────────┼───────────────────
          │ overflowed its stack │ tests/account.rs:9
    the place of an unlock is that of its lock

    the task recurses without end, or needs more stack; its last operation was at tests/account.rs:9
    ");
}

#[test]
fn a_long_execution_is_folded() {
    assert_snapshot!(shown_above_counts(&long()), @"
    FAILED transfers: thread 1 panicked at tests/account.rs:23:9
      the queue is empty

    execution 12, step by step:

    step  │ thread 1                     │ thread 2     │ thread 3                     │ at
    ──────┼──────────────────────────────┼──────────────┼──────────────────────────────┼────────────────
       0  │ lock queue                   │              │                              │ …/account.rs:21
       ⋮  │ … 98 steps of thread 1, again and again unlock queue, lock queue …
      99  │ unlock queue                 │              │                              │ …/account.rs:22
     100  │                              │ lock queue   │                              │ …/account.rs:21
       ⋮  │ … 98 steps of thread 2, again and again unlock queue, lock queue …
     199  │                              │ unlock queue │                              │ …/account.rs:22
     200  │                              │              │ lock queue                   │ …/account.rs:21
       ⋮  │ … 39 steps of thread 3, again and again unlock queue, lock queue …
     240  │                              │              │ lock queue                   │ …/account.rs:21
     241* │ try_lock queue -> WouldBlock │              │                              │ …/account.rs:30
     242  │ compare_exchange… -> Err(2)  │              │                              │ …/account.rs:31
     243  │                              │              │ unlock queue                 │ …/account.rs:22
       ⋮  │ … 57 steps of thread 3, again and again lock queue, unlock queue …
     301  │                              │              │ unlock queue                 │ …/account.rs:22
     302  │ lock queue                   │              │                              │ …/account.rs:21
       ⋮  │ … 19 steps of thread 1, again and again unlock queue, lock queue …
     322  │ lock queue                   │              │                              │ …/account.rs:21
     323* │                              │              │ try_lock queue -> WouldBlock │ …/account.rs:30
     324  │                              │              │ compare_exchange… -> Err(2)  │ …/account.rs:31
     325  │ unlock queue                 │              │                              │ …/account.rs:22
       ⋮  │ … 68 steps of thread 1, again and again lock queue, unlock queue …
     394  │ lock queue                   │              │                              │ …/account.rs:21
     395  │ unlock queue                 │              │                              │ …/account.rs:22
     396  │ lock queue                   │              │                              │ …/account.rs:21
     397  │ unlock queue                 │              │                              │ …/account.rs:22
     398  │ lock queue                   │              │                              │ …/account.rs:21
     399  │ unlock queue                 │              │                              │ …/account.rs:22
     400  │ lock queue                   │              │                              │ …/account.rs:21
     401  │ unlock queue                 │              │                              │ …/account.rs:22
     402  │ lock queue                   │              │                              │ …/account.rs:21
     403  │ unlock queue                 │              │                              │ …/account.rs:22
    ──────┼──────────────────────────────┼──────────────┼──────────────────────────────┼────────────────
          │ panicked: the queue is empty │              │                              │ …/account.rs:23
    * a preemption: the task that moved before could have gone on
    the place of an unlock is that of its lock
    ");
}

#[test]
fn many_tasks_become_marks() {
    assert_snapshot!(shown_above_counts(&many_tasks()), @"
    FAILED transfers: thread 5 panicked at tests/account.rs:19:9
      more in flight than workers

    execution 12, step by step:

    step  │ lanes         │ task              │ op                                     │ at
    ──────┼───────────────┼───────────────────┼────────────────────────────────────────┼────────────────
       0  │ ●············ │ main              │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       1  │ ·●··········· │ thread 1          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       2  │ ··●·········· │ thread 2          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       3  │ ···●········· │ compactor         │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       4  │ ····●········ │ thread 4          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       5  │ ·····●······· │ thread 5          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       6  │ ······●······ │ thread 6          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       7  │ ·······●····· │ thread 7          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       8  │ ········●···· │ thread 8          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
       9  │ ·········●··· │ thread 9          │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
      10  │ ··········●·· │ thread 10         │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
      11  │ ···········●· │ thread 11         │ fetch_add in_flight (1) -> 7           │ …/account.rs:12
      12* │ ············● │ timer of thread 2 │ timeout                                │ …/account.rs:15
      13* │ ·····●······· │ thread 5          │ compare_exchange in_flight… -> Err(12) │ …/account.rs:18
    ──────┼───────────────┼───────────────────┼────────────────────────────────────────┼────────────────
          │ ·····●······· │ thread 5          │ panicked: more in flight than workers  │ …/account.rs:19
    * a preemption: the task that moved before could have gone on
    ");
}

#[test]
fn a_narrow_terminal() {
    let options = TextOptions { width: 60, ..TextOptions::default() };
    assert_snapshot!(render(&lock_order(), &options), @"
    FAILED transfers: deadlock of 3 tasks: main, thread 1,
      thread 2

    execution 12, step by step:

    step  │ task     │ op                      │ at
    ──────┼──────────┼─────────────────────────┼────────────────
       0  │ thread 1 │ lock Mutex#1            │ …/account.rs:9
       1* │ thread 2 │ lock Mutex#2            │ …/account.rs:14
    ──────┼──────────┼─────────────────────────┼────────────────
          │ main     │ waits to join thread 1  │ …/account.rs:18
          │ thread 1 │ waits for lock Mutex#2  │ …/account.rs:10
          │          │ held by thread 2        │
          │ thread 2 │ waits for lock Mutex#1  │ …/account.rs:15
          │          │ held by thread 1        │
    * a preemption: the task that moved before could have gone on
    Mutex#1 is from tests/account.rs:5:9, Mutex#2 is from
      tests/account.rs:6:9

    who waits for whom:
      main waits to join thread 1 at tests/account.rs:18
      thread 1 waits for lock Mutex#2 at tests/account.rs:10,
        held by thread 2 since tests/account.rs:14
      thread 2 waits for lock Mutex#1 at tests/account.rs:15,
        held by thread 1 since tests/account.rs:9
      cycle: thread 1 -> thread 2 -> thread 1

    searched with pct(3), seed 7: 12 executions, 96 steps, 41
      decisions in 2 ms; deepest: 5 decisions
    covered so far: 12 sampled executions; assuming sequentially
      consistent memory

    replay it with:
      RADDLE_REPLAY=rd1AAIAAAABAgQIAAAAAAAAAAA-0_Xy cargo test transfers
    ");
}

#[test]
fn earlier_panics_follow() {
    let mut report = lost_update();
    let Outcome::Panicked { panics, .. } = &mut failure(&mut report).outcome else {
        unreachable!()
    };
    panics.push(panic(2, "overdrawn:\n  by 3", 14));
    assert_snapshot!(shown_above_counts(&report), @"
    FAILED transfers: main panicked at tests/account.rs:19:9
      assertion `left == right` failed: an update was lost
        left: 1
       right: 2

    execution 12, step by step:

    step  │ main                       │ thread 1          │ thread 2             │ at
    ──────┼────────────────────────────┼───────────────────┼──────────────────────┼────────────────────
       0  │                            │ load counter -> 0 │                      │ tests/account.rs:12
       1* │                            │                   │ load counter -> 0    │ tests/account.rs:12
       2  │                            │                   │ store counter (1)    │ tests/account.rs:13
       3  │                            │ store counter (1) │                      │ tests/account.rs:13
       4  │ load counter -> 1          │                   │                      │ tests/account.rs:19
    ──────┼────────────────────────────┼───────────────────┼──────────────────────┼────────────────────
          │ panicked: assertion `left  │                   │ panicked: overdrawn: │
          │ == right` failed: an       │                   │                      │
          │ update was lost            │                   │                      │
    * a preemption: the task that moved before could have gone on

    other panics:
      thread 2 panicked at tests/account.rs:14:9
        overdrawn:
          by 3
    ");
}

#[test]
fn a_failure_before_the_first_step() {
    let trace = Trace { tasks: threads(0), ..Trace::default() };
    let panics = vec![Panic { site: None, ..panic(0, "no config", 1) }];
    assert_snapshot!(shown_above_counts(&failed(trace, Outcome::Panicked { panics, then: None })), @"
    FAILED transfers: main panicked
      no config

    execution 12 failed before its first step
    ");
}

#[test]
fn an_unstable_failure() {
    let mut report = lost_update();
    report.notes = vec![Note::Diverged(divergence()), Note::Leaked { tasks: 1 }];
    failure(&mut report).unstable = Some(divergence());
    let text = shown_above_counts(&report);
    let (_, below_table) = text.split_once("could have gone on\n\n").expect("a legend");
    assert_snapshot!(below_table, @"
    unstable: replaying the failure did something else, so it may not show again
      at step 3, decision 2:
        expected: thread 1 could move
        found:    thread 2 alone could move
      Something decides that raddle does not control. Most likely:
      - a `static` or `thread_local!` that keeps state from one execution to the next: create the state
        inside the test
      - a lock, atomic, channel or thread of std, also in a dependency: use raddle's
      - the iteration order of a `HashMap` or `HashSet`: use a `BTreeMap`, or sort
      - the real clock: use raddle's, or do not let it decide anything
      - random numbers or addresses: use `raddle::rng` or `raddle::choose`

    note: the search stopped: an execution did not repeat what was recorded
      at step 3, decision 2:
        expected: thread 1 could move
        found:    thread 2 alone could move

    note: 1 task could not be unwound after the failure and was leaked: what it held is never dropped.
          The failure itself is not in doubt.
    ");
}

#[test]
fn a_pass_that_covers_everything() {
    assert_snapshot!(shown(&passed(Verdict::Covered, Covered::Everything)), @"
    COVERED transfers: every execution; assuming sequentially consistent memory
      searched with pct(3), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5 decisions
    ");
}

#[test]
fn a_pass_that_rests_on_fingerprints() {
    let covered = Covered::Cached { preemptions: Some(2), compared: 95, stored: 33, dropped: 0 };
    let mut report = passed(Verdict::Covered, covered);
    report.counts.blocked = 5;
    assert_snapshot!(shown(&report), @"
    COVERED transfers: every execution with at most 2 preemptions, up to equivalence, unless 64-bit
      fingerprints collided (chance below 1e-15: 95 compared with 33); assuming sequentially consistent
      memory
      searched with pct(3), seed 7: 12 executions (5 cut as covered elsewhere), 96 steps, 41 decisions
        in 2 ms; deepest: 5 decisions
    ");
}

#[test]
fn a_pass_by_sampling() {
    let bound = Some(SampleBound::Pct { depth: 3, tasks: 3, steps: 9, executions: 1990 });
    let covered = Covered::Sample { executions: 2000, bound };
    let mut report = passed(Verdict::Passed, covered);
    report.test = None;
    report.counts.executions = 2000;
    report.counts.rejected = 4;
    report.guarantee.rejected = 4;
    report.elapsed_ms = 61_500;
    assert_snapshot!(shown(&report), @"
    PASSED: 2000 sampled executions, each of the last 1990 showing a bug of depth 3 whose change points
      lie in the first 9 scheduling decisions with a chance of at least 1 in 243 (if no execution has
      more than 3 tasks), except those cut off by a limit (4) and their continuations; assuming
      sequentially consistent memory
      searched with pct(3), seed 7: 2000 executions (4 cut off by a limit), 96 steps, 41 decisions in
        1 min 1 s; deepest: 5 decisions
    ");
}

#[test]
fn a_pass_with_its_traces_counted() {
    let covered = Covered::Sample { executions: 2000, bound: None };
    let mut report = passed(Verdict::Passed, covered);
    report.strategy = "random".to_owned();
    report.counts.executions = 2000;
    let unseen = Some(Unseen { once: 3, executions: 2000 });
    let traces = TraceCount { distinct: 36, exact: true, error: 0.0, unseen };
    report.guarantee.traces = Some(traces);
    assert_snapshot!(shown(&report), @"
    PASSED transfers: 2000 sampled executions; 36 distinct partial orders (the chance that the next
      execution shows a new one is estimated as 0.150 %: 3 of 2000); assuming sequentially consistent
      memory
      searched with random, seed 7: 2000 executions, 96 steps, 41 decisions in 2 ms; deepest: 5
        decisions
    ");
    assert_eq!(from_json(&to_json(&report)).expect("read"), report);
    let traces = TraceCount { distinct: 1_204_000, exact: false, error: 0.008_125, unseen: None };
    report.guarantee.traces = Some(traces);
    assert_snapshot!(report.guarantee, @"2000 sampled executions; about 1204000 distinct partial orders (estimated, with a standard error of 0.8 %); assuming sequentially consistent memory");
    assert_eq!(from_json(&to_json(&report)).expect("read"), report);
}

#[test]
fn a_search_that_stopped() {
    let covered = Covered::Part { executions: 12, preemptions: Some(2) };
    let mut report = passed(Verdict::Inconclusive, covered);
    report.notes = vec![Note::Diverged(divergence())];
    assert_snapshot!(shown(&report), @"
    INCONCLUSIVE transfers: the search could not go on
      searched with pct(3), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5 decisions
      covered so far: the first 12 executions of a search that did not end (at most 2 preemptions each);
        assuming sequentially consistent memory
    note: the search stopped: an execution did not repeat what was recorded
      at step 3, decision 2:
        expected: thread 1 could move
        found:    thread 2 alone could move
      Something decides that raddle does not control. Most likely:
      - a `static` or `thread_local!` that keeps state from one execution to the next: create the state
        inside the test
      - a lock, atomic, channel or thread of std, also in a dependency: use raddle's
      - the iteration order of a `HashMap` or `HashSet`: use a `BTreeMap`, or sort
      - the real clock: use raddle's, or do not let it decide anything
      - random numbers or addresses: use `raddle::rng` or `raddle::choose`
    ");
}

#[test]
fn a_replay_that_diverged() {
    let mut report = passed(Verdict::Inconclusive, Covered::Replay);
    report.notes = vec![Note::Diverged(divergence())];
    assert!(shown(&report).contains("If the test has changed since the recording, run the"));
}

#[test]
fn other_notes() {
    let mut report = passed(Verdict::Covered, Covered::Everything);
    report.notes = vec![
        Note::NothingConcurrent,
        Note::Leaked { tasks: 2 },
        Note::Text { text: "the strategy `pct` ignores the bound".to_owned() },
    ];
    assert_snapshot!(shown(&report), @"
    COVERED transfers: every execution; assuming sequentially consistent memory
      searched with pct(3), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5 decisions
    note: nothing concurrent happened: at no point was there more than one option, so the test has one
          execution only. Spawn with raddle's `thread::spawn` and share raddle's locks, atomics and
          channels: raddle does not see those of std. A test that is sequential by design does not need
          raddle.
    note: 2 tasks could not be unwound after the failure and were leaked: what they held is never
          dropped. The failure itself is not in doubt.
    note: the strategy `pct` ignores the bound
    ");
}

#[test]
fn the_replay_command_names_a_file_where_the_token_is_long() {
    let replay = |decisions: usize, options: &TextOptions| {
        let mut report = lost_update();
        let runs = (0..decisions).map(|index| raddle_trace::Decision::Run(index as u32 % 2));
        failure(&mut report).schedule =
            Schedule { tasks: threads(1), decisions: runs.collect(), ..Schedule::default() };
        let text = render(&report, options);
        text.lines().rev().take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    let file = Some(PathBuf::from("target/my tests/failure.json"));
    let with_file = TextOptions { trace_file: file, ..TextOptions::default() };
    let long = replay(1_000, &with_file);
    assert_eq!(long[0], "  RADDLE_REPLAY='target/my tests/failure.json' cargo test transfers");
    assert_eq!(long[3], "the whole trace: target/my tests/failure.json");
    assert!(replay(10, &with_file)[0].starts_with("  RADDLE_REPLAY=rd1"));
    assert!(replay(1_000, &TextOptions::default())[0].starts_with("  RADDLE_REPLAY=rd1"));
    let command = Some("cargo raddle replay 7".to_owned());
    let with_command = TextOptions { replay_command: command, ..TextOptions::default() };
    assert_eq!(replay(10, &with_command)[0], "  cargo raddle replay 7");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = TextOptions { colour: Colour::Always, ..TextOptions::default() };
    for report in [lost_update(), lock_order(), long(), many_tasks()] {
        let text = render(&report, &coloured);
        assert!(text.starts_with("\x1b[1;31mFAILED transfers"));
        let mut parts = text.split('\x1b');
        let mut plain = parts.next().unwrap_or_default().to_owned();
        plain.extend(parts.map(|part| part.split_once('m').expect("a colour").1));
        assert_eq!(plain, shown(&report));
    }
}

#[test]
fn no_line_of_a_table_is_wider_than_asked() {
    for report in [lost_update(), lock_order(), livelock(), long(), many_tasks()] {
        let failure = report.failure.expect("a failed report");
        for width in 60..140 {
            let options = TableOptions { width, ..TableOptions::default() };
            for line in table(&failure.trace, &failure.outcome, &options).lines() {
                let is_table = line.contains(['│', '┼']);
                assert!(!is_table || line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn names_of_users_cannot_break_the_table() {
    let mut report = lost_update();
    let trace = &mut failure(&mut report).trace;
    trace.tasks[1].label = Some("größter\nArbeiter \x1b[2J 日本".to_owned());
    trace.tasks[2] = TaskName { label: Some(String::new()), ..trace.tasks[2].clone() };
    trace.objects[0].name = Some("a (strange) -> name".to_owned());
    trace.events[0].op = "load -> \"µ\u{7}\"".to_owned();
    let text = shown(&report);
    assert!(!text.contains(['\x1b', '\u{7}']), "{text}");
    assert!(text.contains("│ größter Arbeiter \\u{1… │"), "{text}");
}

#[test]
fn a_data_race_by_an_ordering_that_is_too_weak() {
    let missing = |releases, acquires| Missing::Ordering {
        object: 1,
        written: site(10),
        releases,
        read: site(14),
        acquires,
    };
    assert_snapshot!(shown_above_counts(&data_race(missing(true, false))), @"
    FAILED transfers: data race of thread 1 and main on the Tracked from tests/account.rs:4:9

    execution 12, step by step:

    step  │ main                       │ thread 1                   │ at
    ──────┼────────────────────────────┼────────────────────────────┼────────────────────
       0  │                            │ lock log                   │ tests/account.rs:8
       1  │                            │ store ready (true)         │ tests/account.rs:10
       2  │ load ready -> true         │                            │ tests/account.rs:14
    ──────┼────────────────────────────┼────────────────────────────┼────────────────────
          │ reads the Tracked from     │ writes the Tracked from    │
          │ tests/account.rs:4         │ tests/account.rs:4         │

    the data race:
      thread 1 writes the Tracked from tests/account.rs:4 at tests/account.rs:9, holding log (taken at
        tests/account.rs:8)
      main reads the Tracked from tests/account.rs:4 at tests/account.rs:15, holding no lock
      missing: main has loaded ready at tests/account.rs:14, and sees what was written at
        tests/account.rs:10 after the access of thread 1, but that load does not acquire
      to do: use Ordering::Acquire for the load, or a lock around both accesses
    ");
    for (releases, acquires, remedy) in [
        (true, false, "use Ordering::Acquire for the load"),
        (false, true, "use Ordering::Release for the write,"),
        (false, false, "use Ordering::Release for the write and Ordering::Acquire for the load"),
    ] {
        let text = shown(&data_race(missing(releases, acquires))).replace("\n    ", " ");
        assert!(text.contains(remedy), "{text}");
    }
}

#[test]
fn a_data_race_that_nothing_orders() {
    let text = shown_above_counts(&data_race(Missing::Everything));
    assert_snapshot!(text.split("the data race:").nth(1).expect("a section"), @"

    thread 1 writes the Tracked from tests/account.rs:4 at tests/account.rs:9, holding log (taken at
      tests/account.rs:8)
    main reads the Tracked from tests/account.rs:4 at tests/account.rs:15, holding no lock
    missing: main has acquired nothing that thread 1 released after its access, by a lock, an atomic,
      a channel, a join or otherwise
    to do: hold one lock at both accesses, or let the second task wait for the first: join it, receive
      from it, or load with Ordering::Acquire what it stores with Ordering::Release
    ");
    let text = shown_above_counts(&data_race(Missing::End));
    assert_snapshot!(text.split("lock\n").nth(1).expect("a section"), @"
    missing: the access of thread 1 has not ended, it is still inside the closure
    to do: end the access before the data is handed on
    ");
}

#[test]
fn a_data_race_says_how_long_the_first_access_lasted() {
    let section = |missing, lasted| {
        let mut report = data_race(missing);
        let Outcome::DataRace(race) = &mut report.failure.as_mut().expect("one").outcome else {
            panic!("a race")
        };
        race.first.lasted = Some(lasted);
        shown_above_counts(&report).replace("\n    ", " ")
    };
    let text = section(Missing::Everything, Lasted { from: 0, to: Some(2) });
    let lasted = "at tests/account.rs:9, from step 0 to step 2, holding log";
    assert!(text.contains(lasted), "{text}");
    let missing = "nothing that thread 1 released after the end of its access in step 2, by a lock";
    assert!(text.contains(missing), "{text}");
    let text = section(Missing::End, Lasted { from: 1, to: None });
    assert!(text.contains("at tests/account.rs:9, since step 1, holding log"), "{text}");
}

#[test]
fn orders_of_locks_that_can_deadlock() {
    let mut report = passed(Verdict::Covered, Covered::Everything);
    report.notes.push(lock_cycle());
    assert_snapshot!(shown(&report), @"
    COVERED transfers: every execution; assuming sequentially consistent memory
      searched with pct(3), seed 7: 12 executions, 96 steps, 41 decisions in 2 ms; deepest: 5 decisions
    note: locks were taken in orders that can deadlock. No execution that was run did, and if something
          else than a lock keeps these apart none will:
      - thread 1 held the Mutex from tests/account.rs:5 (#1), taken at tests/account.rs:9, and took the
        Mutex from tests/account.rs:5 (#2) at tests/account.rs:10
      - thread 2 held the Mutex from tests/account.rs:5 (#2), taken at tests/account.rs:14, and took the
        Mutex from tests/account.rs:5 (#1) at tests/account.rs:15
    ");
}

/// Escape sequences in a form that can be read and compared.
fn readable(text: &str) -> String {
    let text = text.replace("\x1b]8;;\x1b\\", "›").replace("\x1b]8;;", "‹").replace("\x1b\\", "|");
    text.replace("\x1b[0m", "}").replace("\x1b[", "{")
}

#[test]
fn lanes_have_colours_and_places_are_links() {
    let links = Some(crate::Links { root: "/w".into(), format: "{path}#{line}".to_owned() });
    let options = TextOptions { colour: Colour::Always, links, ..TextOptions::default() };
    let text = render(&lock_order(), &options);
    let text = text.split("\n\nsearched with").next().unwrap_or_default();
    assert_snapshot!(readable(text), @"
    {1;31mFAILED transfers: deadlock of 3 tasks: main, thread 1, thread 2}

    execution 12, step by step:

    step  │ {1mmain}                  │ {1mthread 1}              │ {1mthread 2}              │ {1mat}
    ──────┼───────────────────────┼───────────────────────┼───────────────────────┼────────────────────
       0  │                       │ {35mlock Mutex#1}          │                       │ ‹/w/tests/account.rs#9|{2mtests/account.rs:9}›
    {33m   1*} │                       │                       │ {34mlock Mutex#2}          │ ‹/w/tests/account.rs#14|{2mtests/account.rs:14}›
    ──────┼───────────────────────┼───────────────────────┼───────────────────────┼────────────────────
          │ {1;31mwaits to join}         │ {1;31mwaits for lock}        │ {1;31mwaits for lock}        │
          │ {1;31mthread 1}              │ {1;31mMutex#2 held by}       │ {1;31mMutex#1 held by}       │
          │                       │ {1;31mthread 2}              │ {1;31mthread 1}              │
    * a preemption: the task that moved before could have gone on
    Mutex#1 is from ‹/w/tests/account.rs#5|tests/account.rs:5:9›, Mutex#2 is from ‹/w/tests/account.rs#6|tests/account.rs:6:9›

    who waits for whom:
      main waits to join thread 1 at ‹/w/tests/account.rs#18|tests/account.rs:18›
      thread 1 waits for lock Mutex#2 at ‹/w/tests/account.rs#10|tests/account.rs:10›, held by thread 2 since ‹/w/tests/account.rs#14|tests/account.rs:14›
      thread 2 waits for lock Mutex#1 at ‹/w/tests/account.rs#15|tests/account.rs:15›, held by thread 1 since ‹/w/tests/account.rs#9|tests/account.rs:9›
      cycle: thread 1 -> thread 2 -> thread 1
    ");
}

#[test]
fn links_change_nothing_but_links() {
    let links = Some(crate::Links::to_files("/w"));
    let linked = TextOptions { links, ..TextOptions::default() };
    let mut warned = passed(Verdict::Covered, Covered::Everything);
    warned.notes.push(lock_cycle());
    let race = data_race(Missing::Everything);
    // What a lane says of an access to a cell is wrapped as it is.
    let in_lanes = [0, 0, 0, 0, 2, 0];
    let reports = [lost_update(), lock_order(), long(), many_tasks(), race, warned];
    for (report, in_lanes) in reports.into_iter().zip(in_lanes) {
        let text = render(&report, &linked);
        let mut parts = text.split("\x1b]8;;");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        plain.extend(parts.map(|part| part.split_once("\x1b\\").expect("an address").1));
        assert_eq!(plain, shown(&report));
        let n_links = text.matches("\x1b]8;;file:///w/tests/account.rs#").count();
        assert_eq!(n_links + in_lanes, shown(&report).matches("account.rs:").count());
    }
}

#[test]
fn what_repeats_is_said_once() {
    let text = shown(&livelock());
    let fold = "… 993 steps of thread 2, again and again load AtomicBool -> false, yield …";
    assert!(text.contains(fold), "{text}");
}

#[test]
fn what_was_found_besides_comes_last_with_its_command() {
    let mut report = lost_update();
    report.others.extend(lock_order().failure);
    let text = render(&report, &TextOptions::default());
    let (_, besides) = text.split_once("the search went on, ").expect("it says so");
    assert_snapshot!(besides, @r"
    and found these too:
      deadlock of 3 tasks: main, thread 1, thread 2, in execution 12
        RADDLE_REPLAY=rd1AAIAAAABAgQIAAAAAAAAAAA-0_Xy cargo test transfers
    ");
    let replay_command = Some("cargo raddle replay first".to_owned());
    let text = render(&report, &TextOptions { replay_command, ..TextOptions::default() });
    assert!(text.contains("    cargo raddle replay rd1"), "{text}");
}

#[test]
fn panics_have_their_rows_and_the_first_one_leads() {
    let text = render(&three_panics(), &TextOptions::default());
    assert!(text.starts_with("FAILED transfers: thread 2 panicked at"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" │ ")).collect();
    let row = |wanted: &str| rows.iter().position(|line| line.contains(wanted)).expect(wanted);
    let order = ["lock queue", "panicked: no item", "unlock queue", "panicked: called"].map(row);
    assert!(order.is_sorted(), "{text}");
    // What came last is how it ended.
    assert!(text.contains("other panics:\n  thread 1 panicked at"), "{text}");
}

#[test]
fn what_follows_a_panic_is_told_after_it() {
    let mut report = three_panics();
    let Outcome::Panicked { then, .. } = &mut failure(&mut report).outcome else { unreachable!() };
    *then = Some(Box::new(Outcome::Livelock { spinning: vec![0], steps: 4 }));
    let text = render(&report, &TextOptions::default());
    assert!(text.starts_with("FAILED transfers: thread 2 panicked at"), "{text}");
    assert!(
        text.contains("what followed:\n  livelock: main changed nothing for 4 steps\n"),
        "{text}"
    );
    assert!(text.contains("who spins:"), "{text}");
}

#[test]
fn a_panic_that_was_caught_is_named_before_a_deadlock() {
    let mut report = lock_order();
    let caught = Raised { panic: panic(1, "caught", 9), step: 0, handled: true };
    failure(&mut report).trace.panics.push(caught);
    let text = render(&report, &TextOptions::default());
    assert!(text.starts_with("FAILED transfers: deadlock"), "{text}");
    assert!(
        text.contains("panics before that, which were caught:\n  thread 1 panicked at"),
        "{text}"
    );
}

#[test]
fn a_search_that_failed_does_not_say_that_all_is_covered() {
    let mut report = lost_update();
    report.guarantee.covered = Covered::Everything;
    let text = render(&report, &TextOptions::default());
    assert!(!text.contains("covered so far"), "{text}");
    assert!(text.contains("run, what failed included: every execution"), "{text}");
}

#[test]
fn a_death_after_a_panic_is_headed_by_the_panic() {
    let mut report = lost_update();
    let panic = Some(Box::new(panic(1, "too late", 9)));
    let death = raddle_trace::Death::signal(6);
    failure(&mut report).outcome = Outcome::Died { death, task: Some(0), site: None, panic };
    let text = render(&report, &TextOptions::default());
    let said = "FAILED transfers: thread 1 panicked at tests/account.rs:9:9\n  too late\n  then main ended the process";
    assert!(text.starts_with(said), "{text}");
}

/// Two threads increment under a lock, but read it in a critical section of its own; after the panic one more
/// step follows.
fn check_then_act() -> Report {
    let steps: [(u32, &str, u32, &[u32]); 11] = [
        (1, "lock", 31, &[]),
        (1, "unlock", 31, &[]),
        (2, "*lock", 31, &[0]),
        (2, "unlock", 31, &[]),
        (2, "lock", 35, &[]),
        (2, "unlock", 35, &[]),
        (1, "lock", 35, &[4]),
        (1, "unlock", 35, &[]),
        (0, "join", 50, &[7]),
        (0, "lock", 52, &[]),
        (2, "lock", 60, &[9]),
    ];
    let call = |line| {
        let name = if line == 31 { "get" } else { "insert" };
        Call { function: format!("app::Cache::{name}"), site: site(line + 1) }
    };
    let step = |&(task, op, line, after): &(u32, &str, u32, &[u32])| Event {
        after: Some(after.to_vec()),
        calls: if line < 50 { vec![call(line)] } else { Vec::new() },
        ..event((task, op, Some(0), line))
    };
    let items = ObjectName { variable: Some("items".to_owned()), ..object("Mutex", None, 8) };
    let trace = Trace {
        tasks: threads(2),
        objects: vec![items],
        events: steps.iter().map(step).collect(),
        ..Trace::default()
    };
    let mut report =
        failed(trace, Outcome::Panicked { panics: vec![panic(0, "lost", 53)], then: None });
    let pivot = Pivot { first: 0, second: Second::Step(4), otherwise: "completed".to_owned() };
    let lost = Some(Lost { step: Some(2), tried: 300 });
    failure(&mut report).explanation = Some(Explanation::new(vec![pivot], 3, lost));
    report
}

#[test]
fn what_cannot_have_led_to_the_failure_is_hidden_and_the_why_names_functions() {
    assert_snapshot!(shown_above_counts(&check_then_act()), @r"
    FAILED transfers: main panicked at tests/account.rs:53:9
      lost

    execution 12, step by step:

    step  │ main           │ thread 1   │ thread 2   │ at
    ──────┼────────────────┼────────────┼────────────┼────────────────────
       0  │                │ lock items │            │ tests/account.rs:31
       2* │                │            │ lock items │ tests/account.rs:31
       4  │                │            │ lock items │ tests/account.rs:35
       6  │                │ lock items │            │ tests/account.rs:35
       8  │ join items     │            │            │ tests/account.rs:50
       9  │ lock items     │            │            │ tests/account.rs:52
    ──────┼────────────────┼────────────┼────────────┼────────────────────
          │ panicked: lost │            │            │ tests/account.rs:53
    … and 4 unlocks that let no other task go on, 1 step after the failure (shown with --full or
      RADDLE_FULL=true)
    * a preemption: the task that moved before could have gone on
    items is the Mutex from tests/account.rs:8:9

    why:
      `Cache::get` at tests/account.rs:31 locked items (step 0, thread 1) before `Cache::insert` at
        tests/account.rs:35 locked it (step 4, thread 2); in the other order the test would have passed
      after step 2 (thread 2: lock items, in `Cache::get`) it was lost: all of 300 ways to go on that
        were tried fail
    ");
}

#[test]
fn every_step_is_shown_if_asked_for() {
    let report = check_then_act();
    let text = render(&report, &TextOptions { full: true, ..TextOptions::default() });
    assert_eq!(text.matches("unlock items").count(), 4, "{text}");
    assert!(!text.contains("shown with --full"), "{text}");
    // Of the unlocks one has the place of the function in which the guard is dropped.
    assert!(text.contains("│ tests/account.rs:32"), "{text}");
    let options = TextOptions { full: true, max_rows: 6, ..TextOptions::default() };
    assert_eq!(render(&report, &options), text, "however many there are");
}
