// Tests as users of shuttle write them. Included where `shuttle` is the crate, and where it is
// `raddle::migrate::shuttle`.

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use shuttle::thread;

#[test]
fn a_lock_counts_all() {
    shuttle::check_random(
        || {
            let total = Arc::new(Mutex::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let total = Arc::clone(&total);
                    thread::spawn(move || *total.lock().unwrap() += 1)
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(*total.lock().unwrap(), 3);
        },
        100,
    );
}

fn increment_in_two_steps() {
    let n = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || {
        let seen = theirs.load(Ordering::SeqCst);
        theirs.store(seen + 1, Ordering::SeqCst);
    });
    let seen = n.load(Ordering::SeqCst);
    n.store(seen + 1, Ordering::SeqCst);
    thread.join().unwrap();
    assert_eq!(n.load(Ordering::SeqCst), 2, "an update was lost");
}

#[test]
#[should_panic(expected = "an update was lost")]
fn chance_finds_a_lost_update() {
    shuttle::check_random(increment_in_two_steps, 1_000);
}

#[test]
#[should_panic(expected = "an update was lost")]
fn priorities_find_a_lost_update() {
    shuttle::check_pct(increment_in_two_steps, 1_000, 3);
}

#[test]
#[should_panic(expected = "an update was lost")]
fn trying_all_finds_a_lost_update() {
    shuttle::check_dfs(increment_in_two_steps, None);
}

#[test]
fn a_queue_of_one_place_hands_over() {
    shuttle::check_dfs(
        || {
            let (send, receive) = mpsc::sync_channel(1);
            let thread = thread::spawn(move || (0..2).for_each(|n| send.send(n).unwrap()));
            assert_eq!((receive.recv().unwrap(), receive.recv().unwrap()), (0, 1));
            thread.join().unwrap();
        },
        Some(10_000),
    );
}

#[test]
fn nobody_passes_a_barrier_alone() {
    shuttle::check_random(
        || {
            let state = Arc::new((Barrier::new(2), Mutex::new(0), Condvar::new()));
            let theirs = Arc::clone(&state);
            let thread = thread::spawn(move || {
                *theirs.1.lock().unwrap() += 1;
                theirs.2.notify_all();
                theirs.0.wait();
            });
            let mut count = state.1.lock().unwrap();
            while *count == 0 {
                count = state.2.wait(count).unwrap();
            }
            drop(count);
            state.0.wait();
            thread.join().unwrap();
        },
        100,
    );
}
