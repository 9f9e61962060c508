//! Mozilla notes which script it loads in one variable, and compiles the one noted there when a load is
//! done. Another load in between notes another script.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{ATOMICITY, Bystander, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "two note a script each, load it and compile what is noted";

pub(super) const TEST: Test = Test {
    correct: right("load-script", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "load-script-other",
        "the lock is let go for loading",
        || test(Flaw::Here),
        ATOMICITY,
    )],
};

/// Each script is compiled.
fn test(flaw: Flaw) {
    let (current, lock) = (AtomicUsize::new(0), Mutex::new(()));
    let (compiled, bystander) = (Mutex::new(Vec::new()), Bystander::default());
    let load = |script: usize| {
        let held = lock.lock().unwrap();
        current.store(script, SeqCst);
        let held = (flaw == Flaw::None).then_some(held);
        bystander.visit();
        let script = current.load(SeqCst);
        compiled.lock().unwrap().push(script);
        drop(held);
    };
    thread::scope(|scope| {
        scope.spawn(|| load(1));
        scope.spawn(|| load(2));
    });
    let mut compiled = compiled.into_inner().unwrap();
    compiled.sort_unstable();
    assert_eq!(compiled, [1, 2], "a script was compiled twice, and another never");
}
