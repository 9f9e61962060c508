//! Mozilla looks whether an item is in a list, and then goes to it. Another removes an item in between,
//! and the place is behind the end.

use raddle::sync::Mutex;
use raddle::thread;

use super::{ATOMICITY, Bystander, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one goes to the last item; one removes it";

pub(super) const TEST: Test = Test {
    correct: right("seek-to-item", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "seek-to-item-gone",
        "look and use are two sections",
        || test(Flaw::Here),
        ATOMICITY,
    )],
};

/// What is there can be gone to.
fn test(flaw: Flaw) {
    let (items, bystander) = (Mutex::new(vec!["first", "last"]), Bystander::default());
    let seek = |index: usize| {
        if flaw == Flaw::None {
            return items.lock().unwrap().get(index).copied();
        }
        let there = index < items.lock().unwrap().len();
        bystander.visit();
        there.then(|| items.lock().unwrap()[index])
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            bystander.visit();
            assert!(matches!(seek(1), None | Some("last")));
        });
        scope.spawn(|| {
            bystander.visit();
            items.lock().unwrap().pop();
        });
    });
}
