//! Reports made by hand, for the tests of this crate.

use raddle_trace::{
    Assumption, CellAccess, CellOp, Counts, Covered, DataRace, Decision, Divergence, Event,
    Failure, Guarantee, HeldLock, Missing, Nested, Note, ObjectName, Outcome, Panic, Raised,
    Report, Schedule, Site, TaskKind, TaskName, Trace, Verdict, Waiting,
};

pub(crate) const FILE: &str = "tests/account.rs";

pub(crate) fn site(line: u32) -> Site {
    Site { file: FILE.to_owned(), line, column: 9 }
}

/// The body of the test and `n` threads that it spawns.
pub(crate) fn threads(n: u32) -> Vec<TaskName> {
    let thread = |nth| TaskName { parent: 0, nth, kind: TaskKind::Thread, label: None };
    [TaskName::root()].into_iter().chain((0..n).map(thread)).collect()
}

pub(crate) fn object(kind: &str, name: Option<&str>, line: u32) -> ObjectName {
    let (kind, name) = (kind.to_owned(), name.map(str::to_owned));
    ObjectName { kind, created: site(line), name, nth: 0, variable: None }
}

/// A step of `task`: `(task, op, object, line)`. A step that leaves a task preempts it if `*`
/// precedes the op.
pub(crate) fn event((task, op, object, line): (u32, &str, Option<u32>, u32)) -> Event {
    let (op, preempts) = op.strip_prefix('*').map_or((op, false), |op| (op, true));
    Event { task, op: op.to_owned(), object, site: site(line), preempts, ..Event::default() }
}

pub(crate) fn panic(task: u32, message: &str, line: u32) -> Panic {
    Panic { task, message: message.to_owned(), site: Some(site(line)) }
}

/// A report of a search that found no failure.
pub(crate) fn passed(verdict: Verdict, covered: Covered) -> Report {
    let mut guarantee = Guarantee::new(covered);
    guarantee.assumptions = vec![Assumption::SequentialConsistency];
    let mut counts = Counts::default();
    (counts.executions, counts.steps, counts.decisions) = (12, 96, 41);
    (counts.max_steps, counts.max_depth, counts.max_tasks) = (9, 5, 3);
    let mut report = Report::new("pct(3)".to_owned(), verdict, guarantee, counts);
    report.test = Some("transfers".to_owned());
    (report.seed, report.elapsed_ms) = (7, 2);
    report
}

/// A report of a search that found this.
pub(crate) fn failed(trace: Trace, outcome: Outcome) -> Report {
    let decisions = trace.events.iter().map(|event| Decision::Run(event.task)).collect();
    let schedule = Schedule { tasks: trace.tasks.clone(), decisions, ..Schedule::default() };
    let covered = Covered::Sample { executions: 12, bound: None };
    let mut report = passed(Verdict::Failed, covered);
    report.failure = Some(Failure::new(outcome, schedule, trace, 12));
    report
}

/// Two threads read a counter before either writes it.
pub(crate) fn lost_update() -> Report {
    let steps = [
        (1, "load -> 0", Some(0), 12),
        (2, "*load -> 0", Some(0), 12),
        (2, "store(1)", Some(0), 13),
        (1, "store(1)", Some(0), 13),
        (0, "load -> 1", Some(0), 19),
    ];
    let trace = Trace {
        tasks: threads(2),
        objects: vec![object("AtomicUsize", Some("counter"), 8)],
        events: steps.map(event).to_vec(),
        ..Trace::default()
    };
    let message = "assertion `left == right` failed: an update was lost\n  left: 1\n right: 2";
    failed(trace, Outcome::Panicked { panics: vec![panic(0, message, 19)], then: None })
}

/// Two threads take two locks in opposite orders.
pub(crate) fn lock_order() -> Report {
    let steps = [(1, "lock", Some(0), 9), (2, "*lock", Some(1), 14)];
    let trace = Trace {
        tasks: threads(2),
        objects: vec![object("Mutex", None, 5), object("Mutex", None, 6)],
        events: steps.map(event).to_vec(),
        ..Trace::default()
    };
    let waits = |task, op: &str, object, line, holder, since| Waiting {
        task,
        op: op.to_owned(),
        object,
        site: site(line),
        held_by: vec![(holder, since)],
    };
    let waiting = vec![
        waits(0, "join", None, 18, 1, None),
        waits(1, "lock", Some(1), 10, 2, Some(site(14))),
        waits(2, "lock", Some(0), 15, 1, Some(site(9))),
    ];
    failed(trace, Outcome::Deadlock { waiting })
}

/// A consumer that is notified finds that the item is gone: it does not look again.
pub(crate) fn notified() -> Report {
    let steps = [
        (1, "lock", Some(0), 9),
        (1, "wait", Some(1), 10),
        (2, "lock", Some(0), 20),
        (2, "fetch_add(1) -> 0", Some(2), 21),
        (2, "notify_one", Some(1), 22),
        (2, "unlock", Some(0), 20),
        (0, "*fetch_sub(1) -> 1", Some(2), 30),
        (1, "*wake", Some(1), 10),
        (1, "load -> 0", Some(2), 11),
    ];
    let mut events = steps.map(event).to_vec();
    let after: [&[u32]; 9] = [&[], &[], &[1], &[], &[], &[], &[3], &[5], &[6]];
    for (event, after) in events.iter_mut().zip(after) {
        event.after = Some(after.to_vec());
    }
    let objects = vec![
        object("Mutex", Some("lock"), 5),
        object("Condvar", Some("filled"), 6),
        object("AtomicUsize", Some("items"), 7),
    ];
    let trace = Trace { tasks: threads(2), objects, events, ..Trace::default() };
    let panics = vec![panic(1, "a notified thread finds an item", 12)];
    failed(trace, Outcome::Panicked { panics, then: None })
}

/// A thread waits in a loop for a flag that the other will never set.
pub(crate) fn livelock() -> Report {
    let mut steps = vec![(1, "store(true)", Some(0), 9), (2, "*load -> true", Some(0), 14)];
    steps.push((1, "*store(false)", Some(0), 10));
    for _ in 0..500 {
        steps.push((2, "load -> false", Some(1), 15));
        steps.push((2, "yield", None, 16));
    }
    let trace = Trace {
        tasks: threads(2),
        objects: vec![object("AtomicBool", Some("ready"), 5), object("AtomicBool", None, 6)],
        events: steps.into_iter().map(event).collect(),
        ..Trace::default()
    };
    failed(trace, Outcome::Livelock { spinning: vec![2], steps: 1_000 })
}

/// A thread recurses without end, taking a lock each time.
pub(crate) fn stack_overflow() -> Report {
    let steps = [(1, "lock", Some(0), 9), (1, "unlock", Some(0), 9), (1, "lock", Some(0), 9)];
    let trace = Trace {
        tasks: threads(1),
        objects: vec![object("Mutex", None, 5)],
        events: steps.map(event).to_vec(),
        ..Trace::default()
    };
    failed(trace, Outcome::StackOverflow { task: 1, site: Some(site(9)) })
}

/// A flag is stored, and the cell beside it read, without the orderings that it takes.
pub(crate) fn data_race(missing: Missing) -> Report {
    let steps = [
        (1, "lock", Some(0), 8),
        (1, "store(true)", Some(1), 10),
        (0, "load -> true", Some(1), 14),
    ];
    let trace = Trace {
        tasks: threads(1),
        objects: vec![object("Mutex", Some("log"), 5), object("AtomicBool", Some("ready"), 6)],
        events: steps.map(event).to_vec(),
        ..Trace::default()
    };
    let access = |task, op, line, locks| {
        let lasted = None;
        CellAccess { task, op, site: site(line), locks, lasted }
    };
    let log = HeldLock { object: 0, taken: site(8) };
    let race = DataRace {
        cell: object("Tracked", None, 4),
        first: access(1, CellOp::Write, 9, vec![log]),
        second: access(0, CellOp::Read, 15, Vec::new()),
        missing,
    };
    failed(trace, Outcome::DataRace(Box::new(race)))
}

/// Two locks of one line, taken in both orders.
pub(crate) fn lock_cycle() -> Note {
    let lock = |nth| ObjectName { nth, ..object("Mutex", None, 5) };
    let nested = |task: &str, held, taken, line| Nested {
        task: task.to_owned(),
        held: lock(held),
        held_at: site(line),
        taken: lock(taken),
        taken_at: site(line + 1),
    };
    Note::LockOrder { cycle: vec![nested("thread 1", 0, 1, 9), nested("thread 2", 1, 0, 14)] }
}

/// Three threads push to a queue for a long time; two preemptions matter.
pub(crate) fn long() -> Report {
    let mut steps = Vec::new();
    for round in 0..200 {
        let task = 1 + round / 50 % 3;
        steps.push((task, "lock", Some(0), 21));
        if round == 120 || round == 160 {
            steps.push((4 - task, "*try_lock -> WouldBlock", Some(0), 30));
            steps.push((4 - task, "compare_exchange(0, 1) -> Err(2)", Some(1), 31));
        }
        steps.push((task, "unlock", Some(0), 22));
    }
    let trace = Trace {
        tasks: threads(3),
        objects: vec![object("Mutex", Some("queue"), 5), object("AtomicUsize", None, 6)],
        events: steps.into_iter().map(event).collect(),
        ..Trace::default()
    };
    failed(
        trace,
        Outcome::Panicked { panics: vec![panic(1, "the queue is empty", 23)], then: None },
    )
}

/// Eleven workers and the body of the test, each with a step or two.
pub(crate) fn many_tasks() -> Report {
    let mut tasks = threads(11);
    tasks[3].label = Some("compactor".to_owned());
    tasks.push(TaskName { parent: 2, nth: 0, kind: TaskKind::Environment, label: None });
    let mut steps: Vec<_> = (0..12).map(|task| (task, "fetch_add(1) -> 7", Some(0), 12)).collect();
    steps.push((12, "*timeout", None, 15));
    steps.push((5, "*compare_exchange(7, 8) -> Err(12)", Some(0), 18));
    let trace = Trace {
        tasks,
        objects: vec![object("AtomicUsize", Some("in_flight"), 5)],
        events: steps.into_iter().map(event).collect(),
        ..Trace::default()
    };
    failed(
        trace,
        Outcome::Panicked { panics: vec![panic(5, "more in flight than workers", 19)], then: None },
    )
}

/// Two tills ask whether the last piece is there before either takes it.
pub(crate) fn two_tills() -> Report {
    let link = |label: &str| TaskName {
        parent: 0,
        nth: 0,
        kind: TaskKind::Environment,
        label: Some(label.to_owned()),
    };
    let links = ["test → left", "test → right", "left → stock", "right → stock"];
    let links = links.into_iter().chain(["stock → left", "stock → right"]);
    let steps = [
        (1, "Sell", Some(0), 31),
        (2, "Sell", Some(1), 31),
        (3, "Left { till: actor 1 }", Some(2), 40),
        (4, "Left { till: actor 2 }", Some(2), 40),
        (5, "There(1)", Some(0), 52),
        (6, "There(1)", Some(1), 52),
        (0, "handle all", Some(3), 60),
    ];
    let mut events = steps.map(event).to_vec();
    for (step, sender) in [(2, 0), (3, 1), (4, 2), (5, 3)] {
        events[step].sent_by = Some(sender);
    }
    let after: [&[u32]; 7] = [&[], &[], &[0], &[1, 2], &[2], &[3], &[4, 5]];
    for (event, after) in events.iter_mut().zip(after) {
        event.after = Some(after.to_vec());
    }
    let actor = |line| object("Actor", None, line);
    let trace = Trace {
        tasks: [TaskName::root()].into_iter().chain(links.map(link)).collect(),
        objects: vec![actor(11), actor(12), actor(13), object("System", None, 10)],
        events,
        ..Trace::default()
    };
    failed(trace, Outcome::Panicked { panics: vec![panic(0, "sold twice", 61)], then: None })
}

pub(crate) fn divergence() -> Divergence {
    Divergence {
        step: 3,
        decision: 2,
        expected: "thread 1 could move".to_owned(),
        found: "thread 2 alone could move".to_owned(),
    }
}

/// A thread panics while it holds a lock; a second finds it poisoned; main joins that one.
pub(crate) fn three_panics() -> Report {
    let poisoned = "called `Result::unwrap()` on an `Err` value: PoisonError { .. }";
    let joined = "called `Result::unwrap()` on an `Err` value: Any { .. }";
    let panics = [panic(2, "no item", 23), panic(1, poisoned, 30), panic(0, joined, 40)];
    let steps = [2, 3, 4];
    let raised =
        |(panic, step): (&Panic, u32)| Raised { panic: panic.clone(), step, handled: step < 4 };
    let trace = Trace {
        tasks: threads(2),
        objects: vec![object("Mutex", Some("queue"), 5)],
        events: [
            (1, "load -> 0", None, 28),
            (2, "*lock", Some(0), 21),
            (2, "unlock", Some(0), 21),
            (1, "lock", Some(0), 30),
        ]
        .map(event)
        .into(),
        panics: panics.iter().zip(steps).map(raised).collect(),
    };
    failed(trace, Outcome::Panicked { panics: panics.into(), then: None })
}
