//! The test that the README shows. It fails: `cargo test -p tour --test readme`.
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{sync::Arc, thread};

#[raddle::test]
fn two_increments_make_two() {
    let n = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || theirs.store(theirs.load(SeqCst) + 1, SeqCst));
    n.store(n.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(n.load(SeqCst), 2);
}
