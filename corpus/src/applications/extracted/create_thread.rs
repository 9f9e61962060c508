//! Mozilla's thread object keeps the handle of the thread it creates. The new thread reads it, perhaps
//! before it is there.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::mpsc;
use raddle::thread;

use super::{Bystander, Flaw, ORDER, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one creates a thread and keeps its handle, which that reads";

pub(super) const TEST: Test = Test {
    correct: right("create-thread", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "create-thread-early",
        "nothing says that it is there",
        || test(Flaw::Here),
        ORDER,
    )],
};

/// The new thread finds its own handle.
fn test(flaw: Flaw) {
    let (handle, bystander) = (&AtomicUsize::new(0), &Bystander::default());
    let (kept, is_kept) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            bystander.visit();
            if flaw == Flaw::None {
                is_kept.recv().unwrap();
            }
            assert_ne!(handle.load(SeqCst), 0, "no handle");
        });
        bystander.visit();
        handle.store(7, SeqCst);
        // A thread that does not wait may be gone.
        let _ = kept.send(());
    });
}
