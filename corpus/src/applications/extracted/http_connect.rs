//! Mozilla opens a connection, and then says for which request it is. The connection may be there before
//! the request.

use raddle::sync::{Mutex, mpsc};
use raddle::thread;

use super::{Bystander, Flaw, ORDER, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one opens a connection; when it is there its request is sent";

pub(super) const TEST: Test = Test {
    correct: right("http-connect", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "http-connect-early",
        "the request is set afterwards",
        || test(Flaw::Here),
        ORDER,
    )],
};

/// The request is sent.
fn test(flaw: Flaw) {
    let (request, sent, bystander) = (Mutex::new(None), Mutex::new(None), Bystander::default());
    let (open, opened) = mpsc::channel();
    let (request, sent, bystander) = (&request, &sent, &bystander);
    thread::scope(|scope| {
        scope.spawn(move || {
            opened.recv().unwrap();
            bystander.visit();
            let request = *request.lock().unwrap();
            *sent.lock().unwrap() = request;
        });
        scope.spawn(move || {
            bystander.visit();
            if flaw == Flaw::None {
                *request.lock().unwrap() = Some("GET /");
            }
            open.send(()).unwrap();
            if flaw == Flaw::Here {
                *request.lock().unwrap() = Some("GET /");
            }
        });
    });
    assert_eq!(*sent.lock().unwrap(), Some("GET /"), "nothing was asked for");
}
