//! A transport of Mozilla asks the service that runs it to go on while it holds its own lock; the
//! service stops its transports while it holds its lock.

use raddle::sync::Mutex;
use raddle::thread;

use super::{Bystander, DEADLOCK, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "a transport goes on through its service, which stops it";

pub(super) const TEST: Test = Test {
    correct: right("file-transport", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "file-transport-lock",
        "it keeps its lock meanwhile",
        || test(Flaw::Here),
        DEADLOCK,
    )],
};

/// Both come to their end.
fn test(flaw: Flaw) {
    let (transport, service) = (Mutex::new("running"), Mutex::new(vec!["transport"]));
    let bystander = Bystander::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            bystander.visit();
            let state = transport.lock().unwrap();
            let running = *state == "running";
            let state = (flaw == Flaw::Here).then_some(state);
            if running {
                service.lock().unwrap().push("again");
            }
            drop(state);
        });
        scope.spawn(|| {
            bystander.visit();
            let mut queue = service.lock().unwrap();
            queue.clear();
            *transport.lock().unwrap() = "stopped";
        });
    });
}
