//! `mpsc` in programs.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::mpsc::{
    Receiver, RecvError, RecvTimeoutError, SendError, TrySendError, channel, sync_channel,
};
use raddle_threads::{Named, thread};
use raddle_trace::{Outcome, Settings, Timeouts};

use crate::{explore_all, failure, outcomes, outcomes_with, panic_message, shared};

const SOON: Duration = Duration::from_millis(10);
const IDLE: Settings =
    Settings { timeouts: Timeouts::Idle, spurious: false, data_seed: None, rounds: None };

/// [`outcomes_with`], as text: the errors of channels have no order.
#[track_caller]
fn texts_with<T: Debug>(settings: Settings, program: impl Fn() -> T) -> (BTreeSet<String>, u64) {
    outcomes_with(settings, || format!("{:?}", program()))
}

#[track_caller]
fn texts<T: Debug>(program: impl Fn() -> T) -> (BTreeSet<String>, u64) {
    texts_with(Settings::default(), program)
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(str::to_owned).into()
}

#[test]
fn two_producers_are_received_in_either_order() {
    let (found, executions) = outcomes(|| {
        let (tx, rx) = channel();
        let tx2 = tx.clone();
        let one = thread::spawn(move || tx.send(1).is_ok());
        let two = thread::spawn(move || tx2.send(2).is_ok());
        assert!(one.join().expect("no panic") && two.join().expect("no panic"));
        rx.iter().collect::<Vec<_>>()
    });
    assert_eq!(found, BTreeSet::from([vec![1, 2], vec![2, 1]]));
    // Each producer sends and drops its sender: C(4, 2).
    assert_eq!(executions, 6);
}

#[test]
fn a_receiver_keeps_behind_its_sender() {
    let (found, executions) = outcomes(|| {
        let (tx, rx) = channel();
        let producer = thread::spawn(move || {
            tx.send(1).expect("the receiver stays");
            tx.send(2).expect("the receiver stays");
        });
        let received: Vec<_> = rx.iter().collect();
        producer.join().expect("no panic");
        received
    });
    assert_eq!(found, BTreeSet::from([vec![1, 2]]));
    // Three steps (send, send, drop) and three receives, the nth after the nth step: the third
    // Catalan number.
    assert_eq!(executions, 5);
}

#[test]
fn sends_that_race_with_the_receivers_end_fail_or_not() {
    let (found, executions) = outcomes(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(1).map_err(|SendError(back)| back));
        drop(rx);
        sender.join().expect("no panic")
    });
    assert_eq!(found, BTreeSet::from([Ok(()), Err(1)]));
    // The receiver is dropped before, between or after the send and the drop of the sender.
    assert_eq!(executions, 3);
}

#[test]
fn a_channel_closed_too_early_is_found_and_replayed() {
    let message = panic_message(&|| {
        let (tx, rx) = channel();
        let worker = thread::spawn(move || {
            tx.send(1).expect("the receiver is there");
        });
        drop(rx);
        worker.join().expect("the worker did its work");
    });
    assert!(message.contains("the receiver is there"), "{message}");
}

#[test]
fn try_recv_finds_a_value_or_none() {
    let (found, executions) = texts(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(1));
        let received = rx.try_recv();
        let _ = sender.join();
        received
    });
    assert_eq!(found, set(["Ok(1)", "Err(Empty)"]));
    // Before, between or after the send and the drop.
    assert_eq!(executions, 3);

    let (found, executions) = texts(|| {
        let (tx, rx) = channel::<()>();
        let sender = thread::spawn(move || drop(tx));
        let received = rx.try_recv();
        let _ = sender.join();
        received
    });
    assert_eq!(found, set(["Err(Empty)", "Err(Disconnected)"]));
    assert_eq!(executions, 2);
}

// B has done its part and is about to drop its sender when A drops its own and goes on: what A does
// next comes before the disconnect. If only last drops were steps, the sender of B, the first of
// the two to do its part, would be dropped with it.
#[test]
fn the_last_sender_may_be_dropped_late() {
    let (found, _) = texts(|| {
        let (tx, rx) = channel::<()>();
        let tx2 = tx.clone();
        let part = Arc::new(AtomicUsize::new(0));
        let part2 = Arc::clone(&part);
        let (over, over2) = shared(AtomicBool::new(false));
        let a = thread::spawn(move || {
            let before = part.load(SeqCst);
            drop(tx);
            over.store(true, SeqCst);
            before
        });
        let b = thread::spawn(move || {
            part2.store(1, SeqCst);
            drop(tx2);
        });
        let seen = over2.load(SeqCst).then(|| rx.try_recv());
        b.join().expect("no panic");
        (a.join().expect("no panic"), seen)
    });
    let seen = ["None", "Some(Err(Empty))", "Some(Err(Disconnected))"];
    let every =
        [0, 1].into_iter().flat_map(|before| seen.map(|seen| format!("({before}, {seen})")));
    assert_eq!(found, every.collect());
}

#[test]
fn a_bounded_channel_makes_its_sender_wait() {
    let (found, executions) = texts(|| {
        let (tx, rx) = sync_channel(1);
        let producer = thread::spawn(move || {
            tx.send(1).expect("the receiver stays");
            tx.send(2).expect("the receiver stays");
        });
        let received = [rx.recv(), rx.recv()];
        drop(rx);
        producer.join().expect("no panic");
        received
    });
    assert_eq!(found, set(["[Ok(1), Ok(2)]"]));
    // Send, receive, send are in this order; then the drop of the sender falls in one of three
    // places around the second receive and the drop of the receiver.
    assert_eq!(executions, 3);
}

#[test]
fn try_send_finds_room_or_none() {
    let (found, executions) = texts(|| {
        let (tx, rx) = sync_channel(1);
        tx.send(1).expect("the receiver stays");
        let sender = thread::spawn(move || tx.try_send(2));
        let first = rx.recv();
        let sent = sender.join().expect("no panic");
        (first, sent, rx.try_recv())
    });
    let full = "(Ok(1), Err(TrySendError::Full(..)), Err(Disconnected))";
    assert_eq!(found, set(["(Ok(1), Ok(()), Ok(2))", full]));
    // The receive comes before, between or after the send and the drop of the sender.
    assert_eq!(executions, 3);
}

#[test]
fn a_full_channel_that_nobody_empties_is_a_deadlock() {
    let outcome = failure(Settings::default(), &|| {
        let (tx, rx) = sync_channel(1);
        tx.send(1).expect("the receiver stays");
        tx.send(2).expect("the receiver stays");
        drop(rx);
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].op, "send");
}

#[test]
fn a_sender_blocked_by_a_full_channel_hears_of_its_end() {
    let (found, executions) = outcomes(|| {
        let (tx, rx) = sync_channel(1);
        tx.send(1).expect("the receiver stays");
        let sender = thread::spawn(move || tx.send(2).map_err(|SendError(back)| back));
        drop(rx);
        sender.join().expect("no panic")
    });
    assert_eq!(found, BTreeSet::from([Err(2)]));
    assert_eq!(executions, 1);
}

#[test]
fn a_rendezvous_is_a_send_and_a_receive_together() {
    let (found, executions) = texts(|| {
        let (tx, rx) = sync_channel(0);
        let sent = Arc::new(AtomicBool::new(false));
        let sent2 = Arc::clone(&sent);
        let sender = thread::spawn(move || {
            let result = tx.send(7);
            sent2.store(true, SeqCst);
            result
        });
        let early = sent.load(SeqCst);
        let received = rx.recv();
        (early, received, sender.join().expect("no panic"))
    });
    assert_eq!(found, set(["(false, Ok(7), Ok(()))"]));
    // The sender comes before the load, between it and the receive, or after both: then store and
    // drop follow, with main in join.
    assert_eq!(executions, 3);
}

#[test]
fn a_try_send_meets_only_a_receiver_that_waits() {
    let (found, executions) = texts(|| {
        let (tx, rx) = sync_channel(0);
        let sender = thread::spawn(move || tx.try_send(7));
        let received = rx.recv();
        (received, sender.join().expect("no panic"))
    });
    assert_eq!(found, set(["(Ok(7), Ok(()))", "(Err(RecvError), Err(TrySendError::Full(..)))"]));
    // If the receiver waits: 1. If the send fails, its sender's drop comes before or after the
    // receive: 2.
    assert_eq!(executions, 3);
}

#[test]
fn a_try_recv_meets_only_a_sender_that_waits() {
    let (found, executions) = texts(|| {
        let (tx, rx) = sync_channel(0);
        let sender = thread::spawn(move || tx.send(7).map_err(|SendError(back)| back));
        let received = rx.try_recv();
        drop(rx);
        (received, sender.join().expect("no panic"))
    });
    assert_eq!(found, set(["(Ok(7), Ok(()))", "(Err(Empty), Err(7))"]));
    // If the sender waits: its drop comes before or after the receiver's: 2. If the receiver is
    // first, the send comes before or after its drop: 2.
    assert_eq!(executions, 4);
}

#[test]
fn two_who_offer_before_they_receive_deadlock() {
    let outcome = failure(Settings::default(), &|| {
        let (tx1, rx1) = sync_channel(0);
        let (tx2, rx2) = sync_channel(0);
        let other = thread::spawn(move || {
            let _ = tx1.send(1);
            let _ = rx2.recv();
        });
        let _ = tx2.send(2);
        let _ = rx1.recv();
        let _ = other.join();
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    assert_eq!(waiting.iter().map(|one| &*one.op).collect::<Vec<_>>(), ["send", "send"]);
}

fn receive_one(rx: &Receiver<i32>) -> Result<i32, RecvTimeoutError> {
    rx.recv_timeout(SOON)
}

#[test]
fn a_timeout_fires_before_the_send_or_not() {
    for bound in [None, Some(1), Some(0)] {
        let program = move || {
            let (rx, sender) = match bound {
                None => {
                    let (tx, rx) = channel();
                    (rx, thread::spawn(move || tx.send(1).is_ok()))
                }
                Some(bound) => {
                    let (tx, rx) = sync_channel(bound);
                    (rx, thread::spawn(move || tx.send(1).is_ok()))
                }
            };
            let received = receive_one(&rx);
            drop(rx);
            let _ = sender.join();
            received
        };
        let (found, executions) = texts(program);
        assert_eq!(found, set(["Ok(1)", "Err(Timeout)"]), "{bound:?}");
        // With room. The timeout first: then the end of the receiver comes before, between or
        // after send and drop: 3. The send first: then the receive and the end of the receiver
        // against the drop of the sender: 3.
        // Without. The sender first: it waits, the receive takes it: then the two ends in either
        // order: 2. The receiver first: it waits. Then the timeout, and again 3; but if the send
        // comes next it waits for the end of the receiver, so 2 of them are one: 2. Or the send:
        // then receive and end against the drop of the sender: 3.
        let expected = if bound == Some(0) { 7 } else { 6 };
        assert_eq!(executions, expected, "{bound:?}");
        assert_eq!(texts_with(IDLE, program).0, set(["Ok(1)"]), "{bound:?}");
    }
}

#[test]
fn a_timeout_ends_a_wait_that_nothing_else_ends() {
    for settings in [Settings::default(), IDLE] {
        let (found, executions) = texts_with(settings, || {
            let (tx, rx) = channel();
            let (tx2, rx2) = sync_channel(0);
            let received = (receive_one(&rx), receive_one(&rx2));
            drop((tx, tx2));
            received
        });
        assert_eq!(found, set(["(Err(Timeout), Err(Timeout))"]));
        assert_eq!(executions, 1);
    }
}

#[test]
fn a_timed_receive_hears_of_the_disconnect() {
    let program = || {
        let (tx, rx) = channel::<()>();
        let sender = thread::spawn(move || drop(tx));
        let received = rx.recv_timeout(SOON);
        sender.join().expect("no panic");
        received
    };
    assert_eq!(texts(program), (set(["Err(Timeout)", "Err(Disconnected)"]), 2));
    assert_eq!(texts_with(IDLE, program), (set(["Err(Disconnected)"]), 1));
}

#[test]
fn a_loop_of_timeouts_ends() {
    // Send, then receive and drop in either order: 2. The timeout may come before that once or
    // twice; to fire a third time it would have to wait until the sender has moved.
    for (settings, expected) in [(Settings::default(), 3 * 2), (IDLE, 2)] {
        let (found, executions) = texts_with(settings, || {
            let (tx, rx) = channel();
            let sender = thread::spawn(move || tx.send(1).is_ok());
            let received = loop {
                match rx.recv_timeout(SOON) {
                    Err(RecvTimeoutError::Timeout) => {}
                    received => break received,
                }
            };
            sender.join().expect("no panic");
            received
        });
        assert_eq!(found, set(["Ok(1)"]));
        assert_eq!(executions, expected);
    }
}

#[test]
fn every_form_of_iteration_ends_where_it_should() {
    let (found, executions) = outcomes(|| {
        let (tx, rx) = channel();
        for value in 0..6 {
            tx.send(value).expect("the receiver stays");
        }
        let tried: Vec<_> = rx.try_iter().take(2).collect();
        let by_reference: Vec<_> = (&rx).into_iter().take(2).collect();
        drop(tx);
        let by_value: Vec<_> = rx.into_iter().collect();
        (tried, by_reference, by_value)
    });
    assert_eq!(found, BTreeSet::from([(vec![0, 1], vec![2, 3], vec![4, 5])]));
    assert_eq!(executions, 1);
}

/// Takes a lock when it is dropped.
#[derive(Debug)]
struct Locks(Arc<Mutex<u32>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().expect("not poisoned") += 1;
    }
}

#[test]
fn what_is_left_is_dropped_with_the_receiver_and_its_destructors_are_steps() {
    let (found, executions) = outcomes(|| {
        let (dropped, dropped2) = shared(Mutex::new(0));
        let (tx, rx) = channel();
        tx.send(Locks(Arc::clone(&dropped))).expect("the receiver stays");
        tx.send(Locks(dropped)).expect("the receiver stays");
        let receiver = thread::spawn(move || drop(rx));
        let early = *dropped2.lock().expect("not poisoned");
        receiver.join().expect("no panic");
        let refused = tx.send(Locks(Arc::clone(&dropped2))).is_err();
        let late = *dropped2.lock().expect("not poisoned");
        (early, refused, late)
    });
    assert_eq!(found, BTreeSet::from([(0, true, 3), (1, true, 3), (2, true, 3)]));
    // The child drops the receiver, then locks and unlocks twice; main locks and unlocks once. The
    // child's drop D, sections X and X, and main's section M: M comes somewhere in D X X: 4 places.
    // Between its lock and its unlock only D can move, and does or does not if it has not: the
    // first place counts twice. Between an unlock of the child and its next lock M can begin; that
    // is the place between the sections.
    assert_eq!(executions, 5);
}

#[test]
fn a_channel_from_outside_carries_values_out_of_every_execution() {
    let (tx, rx) = channel();
    let explored = explore_all(Settings::default(), &|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let other = thread::spawn(move || a.store(1, SeqCst));
        let seen = b.load(SeqCst);
        other.join().expect("no panic");
        tx.send(seen).expect("the receiver stays");
    });
    assert!(explored.failure.is_none());
    assert_eq!(explored.counts.executions, 2);
    drop(tx);
    assert_eq!(rx.iter().collect::<BTreeSet<_>>(), BTreeSet::from([0, 1]));
}

#[test]
fn a_named_channel_is_called_so_in_traces() {
    let explored = explore_all(Settings::default(), &|| {
        let (tx, rx) = channel().named("jobs");
        tx.send(1).expect("the receiver stays");
        assert_eq!(rx.recv(), Ok(2));
    });
    let trace = explored.failure.expect("the assertion is wrong").trace;
    assert_eq!(trace.objects[0].name.as_deref(), Some("jobs"));
    let ops: Vec<_> = trace.events.iter().map(|event| &*event.op).collect();
    assert_eq!(ops, ["send -> Ok", "recv -> Ok", "drop receiver", "drop sender"]);
}

#[test]
fn senders_and_receivers_go_where_those_of_std_go() {
    fn goes<T: Send>() {}
    fn shares<T: Sync>() {}
    goes::<Receiver<u8>>();
    goes::<raddle_threads::sync::mpsc::Sender<u8>>();
    shares::<raddle_threads::sync::mpsc::Sender<u8>>();
    shares::<raddle_threads::sync::mpsc::SyncSender<u8>>();
}

#[test]
fn outside_an_execution_channels_work_as_in_std() {
    let (tx, rx) = channel();
    let producers: Vec<_> = (0..4u64)
        .map(|n| {
            let tx = tx.clone();
            thread::spawn(move || (0..1000).for_each(|i| tx.send(n * 1000 + i).expect("received")))
        })
        .collect();
    drop(tx);
    let mut last = [None; 4];
    let mut n_received = 0;
    for value in rx {
        let producer = usize::try_from(value / 1000).expect("small");
        assert!(last[producer].replace(value) < Some(value), "in the order of sends");
        n_received += 1;
    }
    assert_eq!(n_received, 4000);
    for producer in producers {
        producer.join().expect("no panic");
    }
}

#[test]
fn outside_an_execution_bounded_channels_work_as_in_std() {
    for bound in [0, 1, 3] {
        let (tx, rx) = sync_channel(bound);
        let tx2 = tx.clone();
        let producers = [tx, tx2].map(|tx| {
            thread::spawn(move || {
                for value in 0..500 {
                    tx.send(value).expect("received");
                }
            })
        });
        assert_eq!(rx.iter().sum::<i32>(), 2 * 499 * 500 / 2);
        for producer in producers {
            producer.join().expect("no panic");
        }
        assert_eq!(rx.recv(), Err(RecvError));

        let (tx, rx) = sync_channel(bound);
        assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
        for _ in 0..bound {
            tx.try_send(()).expect("there is room");
        }
        assert_eq!(tx.try_send(()), Err(TrySendError::Full(())));
        let blocked = thread::spawn(move || tx.send(()));
        drop(rx);
        assert_eq!(blocked.join().expect("no panic"), Err(SendError(())));
    }
}
