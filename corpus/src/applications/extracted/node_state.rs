//! A node of Mozilla's tree can be found before its first state is set. Who finds it and opens it is
//! overwritten.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Bystander, Flaw, ORDER, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one puts a node in a tree; one opens it if it is there";

pub(super) const TEST: Test = Test {
    correct: right("node-state", LINE, || test(Flaw::None)),
    bugs: &[wrong("node-state-late", "the state is set afterwards", || test(Flaw::Here), ORDER)],
};

const CLOSED: usize = 1;
const OPEN: usize = 2;

/// A node that was opened is open.
fn test(flaw: Flaw) {
    let (tree, state) = (Mutex::new(None), AtomicUsize::new(0));
    let bystander = Bystander::default();
    let opened = thread::scope(|scope| {
        scope.spawn(|| {
            bystander.visit();
            if flaw == Flaw::None {
                state.store(CLOSED, SeqCst);
            }
            *tree.lock().unwrap() = Some("node");
            if flaw == Flaw::Here {
                state.store(CLOSED, SeqCst);
            }
        });
        let opener = scope.spawn(|| {
            bystander.visit();
            let found = tree.lock().unwrap().is_some();
            if found {
                state.store(OPEN, SeqCst);
            }
            found
        });
        opener.join().unwrap()
    });
    assert!(!opened || state.load(SeqCst) == OPEN, "it was opened, and is not open");
}
