//! What every queue of one process does, told by a clock that is set by hand.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::clock::ManualClock;
use crate::disk::DiskQueue;
use crate::memory::MemoryQueue;
use crate::record::Ending;

const LEASE: Duration = Duration::from_secs(10);

fn unit(index: u32) -> QueuedUnit {
    QueuedUnit { key: UnitKey::root(index), bytes: vec![u8::try_from(index).unwrap()] }
}

fn done(result: &[u8], leftovers: &[&[u8]]) -> Completion {
    Completion {
        result: result.to_vec(),
        leftovers: leftovers.iter().map(|l| l.to_vec()).collect(),
    }
}

/// Runs a test over each kind of queue.
fn each(name: &str, test: impl Fn(&dyn Queue, &ManualClock)) {
    let clock = ManualClock::default();
    test(&MemoryQueue::new(Arc::new(clock.clone())), &clock);
    let path = std::env::temp_dir().join(format!("raddle-queue-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let clock = ManualClock::default();
    let queue = DiskQueue::open_with_clock(&path, b"run", Arc::new(clock.clone())).unwrap();
    test(&queue, &clock);
    drop(queue);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn units_are_leased_in_the_order_in_which_they_were_put() {
    each("order", |queue, _| {
        queue.put(vec![unit(0), unit(1)]).unwrap();
        queue.put(vec![unit(1), unit(2)]).unwrap();
        let mut leased = Vec::new();
        while let Some(lease) = queue.lease("w", LEASE).unwrap() {
            leased.push((lease.unit, lease.attempt, lease.waiting));
        }
        assert_eq!(leased, [(unit(0), 1, 2), (unit(1), 1, 1), (unit(2), 1, 0)]);
    });
}

#[test]
fn a_record_has_the_result_and_the_leftovers_and_there_is_one_for_each_unit() {
    each("record", |queue, _| {
        queue.put(vec![unit(0)]).unwrap();
        let lease = queue.lease("w", LEASE).unwrap().unwrap();
        assert_eq!(
            queue.complete(&lease, done(b"r", &[b"a", b"b"])).unwrap(),
            RecordOutcome::Recorded(1)
        );
        assert_eq!(
            queue.complete(&lease, done(b"other", &[b"c"])).unwrap(),
            RecordOutcome::Ignored
        );
        let records = queue.records(0, 9).unwrap();
        let ending = Ending::Done(done(b"r", &[b"a", b"b"]));
        let worker = "w".to_owned();
        assert_eq!(
            records,
            [Record { sequence: 1, tag: 1, unit: UnitKey::root(0), worker, ending }]
        );
        let state = queue.state().unwrap();
        assert_eq!((state.waiting, state.done, state.ignored), (2, 1, 1));
        let next = queue.lease("w", LEASE).unwrap().unwrap().unit;
        assert_eq!(next, QueuedUnit { key: UnitKey::root(0).leftover(1, 0), bytes: b"a".to_vec() });
    });
}

#[test]
fn a_lease_lapses_unless_its_worker_says_that_it_goes_on() {
    each("lapse", |queue, clock| {
        queue.put(vec![unit(0), unit(1)]).unwrap();
        let first = queue.lease("slow", LEASE).unwrap().unwrap();
        clock.advance(LEASE / 2);
        assert_eq!(queue.heartbeat(&first).unwrap(), Held::Yes);
        clock.advance(LEASE / 2);
        assert_eq!(queue.state().unwrap().lapsed, 0);
        clock.advance(LEASE / 2);
        // It comes before what has waited all the time.
        let second = queue.lease("quick", LEASE).unwrap().unwrap();
        assert_eq!((second.unit.key, second.attempt), (first.unit.key, 2));
        assert_eq!(queue.heartbeat(&first).unwrap(), Held::Lost);
        assert_eq!(queue.state().unwrap().lapsed, 1);
        // Giving back what one does not have changes nothing.
        queue.give_back(&first).unwrap();
        assert_eq!(queue.heartbeat(&second).unwrap(), Held::Yes);
    });
}

#[test]
fn of_two_results_of_a_unit_the_first_counts() {
    each("late", |queue, clock| {
        queue.put(vec![unit(0)]).unwrap();
        let stalled = queue.lease("stalled", LEASE).unwrap().unwrap();
        clock.advance(LEASE);
        let quick = queue.lease("quick", LEASE).unwrap().unwrap();
        assert_eq!(queue.complete(&quick, done(b"q", &[])).unwrap(), RecordOutcome::Recorded(1));
        assert_eq!(queue.complete(&stalled, done(b"s", &[b"x"])).unwrap(), RecordOutcome::Ignored);
        let state = queue.state().unwrap();
        assert_eq!((state.waiting, state.leased, state.done), (0, 0, 1));
        assert!(state.is_finished());
    });
}

#[test]
fn a_late_result_counts_if_there_is_no_other() {
    each("first", |queue, clock| {
        queue.put(vec![unit(0)]).unwrap();
        let late = queue.lease("late", LEASE).unwrap().unwrap();
        clock.advance(LEASE);
        let second = queue.lease("second", LEASE).unwrap().unwrap();
        assert_eq!(queue.complete(&late, done(b"l", &[b"x"])).unwrap(), RecordOutcome::Recorded(1));
        assert_eq!(queue.heartbeat(&second).unwrap(), Held::Lost);
        assert_eq!(
            queue.complete(&second, done(b"s", &[b"y", b"z"])).unwrap(),
            RecordOutcome::Ignored
        );
        assert_eq!(queue.state().unwrap().waiting, 1);
    });
}

#[test]
fn what_is_given_back_waits_and_what_is_given_up_is_done() {
    each("back", |queue, _| {
        queue.put(vec![unit(0), unit(1)]).unwrap();
        let lease = queue.lease("w", LEASE).unwrap().unwrap();
        queue.give_back(&lease).unwrap();
        let lease = queue.lease("w", LEASE).unwrap().unwrap();
        assert_eq!((lease.unit.key, lease.attempt), (UnitKey::root(0), 2));
        queue.give_up(&lease, "no such file").unwrap();
        let state = queue.state().unwrap();
        assert_eq!((state.waiting, state.done, state.given_up), (1, 1, 1));
        let why = "no such file".to_owned();
        assert_eq!(queue.records(0, 9).unwrap()[0].ending, Ending::GivenUp { why });
    });
}

#[test]
fn a_worker_hears_that_others_have_nothing_to_do() {
    each("hungry", |queue, _| {
        queue.put(vec![unit(0)]).unwrap();
        let lease = queue.lease("busy", LEASE).unwrap().unwrap();
        assert_eq!(queue.heartbeat(&lease).unwrap(), Held::Yes);
        assert_eq!(queue.lease("idle", LEASE).unwrap(), None);
        assert_eq!(queue.heartbeat(&lease).unwrap(), Held::Hungry);
        queue.put(vec![unit(1)]).unwrap();
        assert_eq!(queue.heartbeat(&lease).unwrap(), Held::Yes);
    });
}

#[test]
fn what_was_folded_takes_the_place_of_records() {
    each("fold", |queue, _| {
        queue.put(vec![unit(0), unit(1)]).unwrap();
        let leases = [(); 2].map(|()| queue.lease("w", LEASE).unwrap().unwrap());
        for lease in &leases {
            queue.complete(lease, done(b"r", &[])).unwrap();
        }
        queue.fold(1, b"one").unwrap();
        let left: Vec<u64> = queue.records(0, 9).unwrap().iter().map(|r| r.sequence).collect();
        assert_eq!(left, [2]);
        assert_eq!(queue.folded().unwrap(), Some((1, b"one".to_vec())));
        // It is not forgotten that the unit is done.
        assert_eq!(queue.complete(&leases[0], done(b"r", &[])).unwrap(), RecordOutcome::Ignored);
    });
}
