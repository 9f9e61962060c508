//! A run of a known tree, and what it must come to.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use raddle_fleet::nats::{Binary, Manifest, Nats, NatsQueue, Run, RunState};
use raddle_fleet::synthetic::{Node, Sum, Synthetic};
use raddle_fleet::{
    Coordinator, Ending, Pace, Problem, Queue, QueueError, QueuedUnit, Record, UnitKey,
};

use crate::DEADLINE;
use crate::process::Process;

/// Short, so that a killed worker is noticed soon. Nothing is decided by it but how long a test takes.
pub(crate) const LEASE: Duration = Duration::from_secs(1);
pub(crate) const TREE: Node = Node { leaves: 6_000, seed: 2_024 };
pub(crate) const SYNTHETIC: Synthetic = Synthetic { rounds: 300, failures: 997, leaves: 60 };
pub(crate) const PACE: Pace =
    Pace { short: Duration::ZERO, long: Duration::ZERO, enough: 16, parts: 6, executions: 60 };
pub(crate) const ROOT: fn() -> QueuedUnit =
    || QueuedUnit { key: UnitKey::root(0), bytes: TREE.unit() };

/// What the search without faults finds.
pub(crate) fn expected() -> &'static Sum {
    static EXPECTED: OnceLock<Sum> = OnceLock::new();
    EXPECTED.get_or_init(|| SYNTHETIC.search(TREE))
}

pub(crate) fn added(sum: &mut Sum, record: &Record) {
    let Ending::Done(completion) = &record.ending else { panic!("a unit was given up") };
    sum.add(&postcard::from_bytes(&completion.result).unwrap());
}

pub(crate) fn manifest(replicas: u32) -> Manifest {
    Manifest {
        version: Manifest::current_version(),
        raddle: "test".to_owned(),
        binary: Binary { sha256: "0".to_owned(), size: 0, stored: false, signature: None },
        test: "a tree".to_owned(),
        variables: Vec::new(),
        lease_ms: u64::try_from(LEASE.as_millis()).unwrap(),
        replicas,
        state: RunState::Open,
        more: BTreeMap::new(),
    }
}

/// A run, and this process as its coordinator.
pub(crate) struct Fleet {
    pub(crate) run: Run,
    pub(crate) queue: NatsQueue,
    pub(crate) coordinator: Coordinator,
    pub(crate) sum: Sum,
    /// What it must come to.
    expected: Sum,
    manifest: Manifest,
}

impl Fleet {
    pub(crate) fn begin(nats: &Nats, name: &str, replicas: u32) -> Self {
        Self::begin_with(nats, name, replicas, (ROOT(), expected().clone()))
    }

    /// A run that takes several times as long, for faults that come one after another.
    pub(crate) fn begin_long(nats: &Nats, name: &str, replicas: u32) -> Self {
        let tree = Node { leaves: 5 * TREE.leaves, ..TREE };
        let root = QueuedUnit { key: UnitKey::root(0), bytes: tree.unit() };
        Self::begin_with(nats, name, replicas, (root, SYNTHETIC.search(tree)))
    }

    fn begin_with(
        nats: &Nats,
        name: &str,
        replicas: u32,
        (root, expected): (QueuedUnit, Sum),
    ) -> Self {
        let manifest = manifest(replicas);
        let run = Run::begin(nats, name, &manifest).unwrap();
        let queue = NatsQueue::open(&run, &manifest).unwrap();
        let coordinator = Coordinator::begin(&queue, vec![root]).unwrap();
        Self { run, queue, coordinator, sum: Sum::default(), expected, manifest }
    }

    /// Folds what came, and says how many units are done.
    pub(crate) fn poll(&mut self) -> u64 {
        self.try_poll().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same of a server that may be damaged.
    pub(crate) fn try_poll(&mut self) -> Result<u64, QueueError> {
        let sum = &mut self.sum;
        let polled = self.coordinator.poll(&self.queue, &mut |record| {
            added(sum, record);
            Vec::new()
        });
        // While there is no server there is nothing to fold.
        match polled {
            Err(error) if error.problem() != Problem::Unreachable => Err(error),
            _ => Ok(self.coordinator.done().0),
        }
    }

    /// Folds until every unit is done; `fault` hears how many are, after each look.
    pub(crate) fn drive(&mut self, fault: impl FnMut(u64)) {
        self.drive_while(|_| true, fault);
    }

    /// Folds until so many units are done.
    pub(crate) fn drive_until(&mut self, units: u64) {
        self.drive_while(|done| done < units, |_| ());
    }

    fn drive_while(&mut self, goes_on: impl Fn(u64) -> bool, mut fault: impl FnMut(u64)) {
        let began = Instant::now();
        let mut empty = 0;
        while !self.coordinator.is_finished() && goes_on(self.coordinator.done().0) {
            let before = self.coordinator.done().0;
            let done = self.poll();
            fault(done);
            let nothing = |state: raddle_fleet::QueueState| state.waiting + state.leased == 0;
            empty =
                if done == before && self.queue.state().is_ok_and(nothing) { empty + 1 } else { 0 };
            if empty == 3 {
                self.coordinator.repair(&self.queue).unwrap();
            }
            assert!(began.elapsed() < DEADLINE, "{done} units are done: {:?}", self.queue.state());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The result is that of the search without faults, and workers hear that it is over.
    pub(crate) fn end(mut self, workers: Vec<Process>) {
        self.drive(|_| ());
        assert_eq!(self.sum, self.expected);
        self.manifest.state = RunState::Finished;
        self.run.set(&self.manifest).unwrap();
        for mut worker in workers {
            while worker.line().is_some() {}
        }
        // Nothing came after the end.
        self.poll();
        assert_eq!(self.sum, self.expected);
    }
}

/// Numbers that are drawn: the same ones in every run of a test.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}
