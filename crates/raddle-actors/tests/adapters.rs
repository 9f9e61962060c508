//! Stand-ins for the environment: their every answer and failure is a decision, and all are tried.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use raddle::{Config, Verdict};
use raddle_actors::adapters::{Clock, Disk, Rpc, RpcError, Server, SteppedClock, Storage};
use raddle_actors::{Actor, Context, Faults, System};

/// All results of a program, if none of its executions fails.
fn results<T: Ord + Send + 'static>(
    strategy: &str,
    program: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let results = Arc::new(Mutex::new(BTreeSet::new()));
    let theirs = Arc::clone(&results);
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    let report = raddle::explore(config, move || {
        let result = program();
        theirs.lock().expect("nobody panics with it").insert(result);
    });
    assert_eq!(report.expect("a known strategy").verdict, Verdict::Covered);
    let mut results = results.lock().expect("nobody panics with it");
    std::mem::take(&mut *results)
}

/// The same of all searches that cover everything.
fn all<T: Ord + Send + std::fmt::Debug + 'static>(
    program: impl Fn() -> T + Send + Sync + Clone + 'static,
) -> BTreeSet<T> {
    let all = results("dfs", program.clone());
    for strategy in ["dpor", "dpor(classic)"] {
        assert_eq!(results(strategy, program.clone()), all, "{strategy}");
    }
    all
}

#[test]
fn a_clock_takes_every_sequence_of_steps() {
    struct Reader {
        clock: SteppedClock,
        read: Vec<u64>,
    }
    impl Actor for Reader {
        type Message = ();
        fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
            let now = self.clock.now(cx);
            self.read.push(now.as_secs());
        }
    }
    let read = all(|| {
        let system = System::new();
        let clock = SteppedClock::new(&[Duration::ZERO, Duration::from_secs(5)]);
        let reader = system.spawn(Reader { clock, read: Vec::new() });
        system.send(&reader, ());
        system.send(&reader, ());
        system.handle_all();
        system.inspect(&reader, |reader: &Reader| reader.read.clone())
    });
    assert_eq!(read, BTreeSet::from([vec![0, 0], vec![0, 5], vec![5, 5], vec![5, 10]]));
}

/// Adds one by a call, and again if there was no answer.
struct Caller {
    server: Server<u32, u32, u32>,
    answers: Vec<Result<u32, RpcError>>,
}

impl Actor for Caller {
    type Message = u32;

    fn handle(&mut self, by: u32, cx: &mut Context<'_, u32>) {
        let answer = self.server.call(by, cx);
        self.answers.push(answer);
        if answer.is_err() {
            let me = cx.me().clone();
            cx.send(&me, by);
        }
    }
}

fn calls(failures: u32) -> BTreeSet<(u32, usize)> {
    all(move || {
        let system = System::new();
        let server = Server::new(0, failures, |count, by| {
            *count += by;
            *count
        });
        let caller = system.spawn(Caller { server, answers: Vec::new() });
        system.send(&caller, 1);
        system.handle_all();
        system.inspect(&caller, |caller: &Caller| (*caller.server.state(), caller.answers.len()))
    })
}

#[test]
fn a_call_that_was_not_answered_may_have_been_done() {
    // (how often it was done, how often it was called)
    assert_eq!(calls(0), BTreeSet::from([(1, 1)]));
    assert_eq!(calls(1), BTreeSet::from([(1, 1), (1, 2), (2, 2)]));
    assert_eq!(calls(2), BTreeSet::from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]));
}

/// Writes down what it is told, with or without a sync.
struct Keeper {
    disk: Disk,
    syncs: bool,
    /// What it found when it began.
    found: Option<Vec<u8>>,
    is_back: bool,
    failed: u32,
}

impl Keeper {
    fn new(syncs: bool, failures: u32) -> Self {
        Self { disk: Disk::new(failures), syncs, found: None, is_back: false, failed: 0 }
    }
}

impl Actor for Keeper {
    type Message = u8;

    fn start(&mut self, cx: &mut Context<'_, u8>) {
        self.found = self.disk.get("value", cx).expect("a disk that can be read");
    }

    fn handle(&mut self, value: u8, cx: &mut Context<'_, u8>) {
        let written = self.disk.put("value", &[value], cx);
        let synced = if self.syncs { self.disk.sync(cx) } else { Ok(()) };
        self.failed += u32::from(written.is_err()) + u32::from(synced.is_err());
    }

    fn restart(&self) -> Option<Self> {
        let disk = self.disk.after_crash();
        Some(Self { disk, found: None, is_back: true, ..*self })
    }
}

/// What a keeper that crashed found, and what the disk has in the end.
type Left = (Option<Vec<u8>>, Option<Vec<u8>>);

fn after_a_crash(syncs: bool) -> BTreeSet<Left> {
    let seen = all(move || {
        let faults = Faults { crashes: 1, ..Faults::default() };
        let system = System::builder().faults(faults).build();
        let keeper = system.spawn(Keeper::new(syncs, 0));
        system.send(&keeper, 1);
        system.send(&keeper, 2);
        system.handle_all();
        system.inspect(&keeper, |keeper: &Keeper| {
            let kept = keeper.disk.synced("value").map(<[u8]>::to_vec);
            keeper.is_back.then(|| (keeper.found.clone(), kept))
        })
    });
    seen.into_iter().flatten().collect()
}

#[test]
fn what_was_synced_outlives_a_crash() {
    let value = |value: Option<u8>| value.map(|value| vec![value]);
    let pairs = |pairs: &[(Option<u8>, Option<u8>)]| -> BTreeSet<_> {
        pairs.iter().map(|(found, kept)| (value(*found), value(*kept))).collect()
    };
    // It crashed before, between or after the two; what comes while it is down is lost.
    let (one, two) = (Some(1), Some(2));
    let synced = pairs(&[(None, two), (None, None), (one, two), (one, one), (two, two)]);
    let expected: BTreeSet<_> = synced.into_iter().collect();
    assert_eq!(after_a_crash(true), expected);
}

#[test]
fn what_was_not_synced_may_be_lost_from_the_end() {
    let found: BTreeSet<_> = after_a_crash(false).into_iter().map(|(found, _)| found).collect();
    // After both writes: none, the first, or both are left.
    assert_eq!(found, BTreeSet::from([None, Some(vec![1]), Some(vec![2])]));
}

#[test]
fn a_write_and_a_sync_may_fail_as_often_as_allowed() {
    let failed = |failures| {
        all(move || {
            let system = System::new();
            let keeper = system.spawn(Keeper::new(true, failures));
            system.send(&keeper, 1);
            system.handle_all();
            system.inspect(&keeper, |keeper: &Keeper| {
                (keeper.failed, keeper.disk.synced("value").is_some())
            })
        })
    };
    assert_eq!(failed(0), BTreeSet::from([(0, true)]));
    assert_eq!(failed(1), BTreeSet::from([(0, true), (1, false)]));
    assert_eq!(failed(2), BTreeSet::from([(0, true), (1, false), (2, false)]));
}
