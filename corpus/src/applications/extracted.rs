//! Eleven bugs out of Mozilla and `MySQL`, each as small as it can be: those of table 5 of the `HaPSet`
//! paper, by their names there.
//!
//! The paper names them and their kinds and does not show them. Where the bug is known from the study of
//! Lu, Park, Seo and Zhou (ASPLOS 2008) or from the projects, this is its shape; of the others the
//! shape is a mistake of that kind in that place. As there, some other accesses and locks stand beside
//! each.

mod create_thread;
mod file_transport;
mod http_connect;
mod load_script;
mod mysql_log;
mod node_state;
mod open_input_stream;
mod read_write_proc;
mod seek_to_item;
mod timer_thread;
mod update_timer;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::{Application, program};
use crate::program::{Expected, Program};

/// The application.
pub const APPLICATION: Application = Application {
    name: "extracted",
    line: "eleven bugs out of Mozilla and MySQL, and the same without them",
    tests: &[
        mysql_log::TEST,
        node_state::TEST,
        load_script::TEST,
        seek_to_item::TEST,
        update_timer::TEST,
        file_transport::TEST,
        create_thread::TEST,
        read_write_proc::TEST,
        open_input_stream::TEST,
        http_connect::TEST,
        timer_thread::TEST,
    ],
};

/// The one mistake of such a program, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    Here,
}

const fn right(name: &'static str, line: &'static str, body: fn()) -> Program {
    program(name, line).plain(body)
}

const fn wrong(
    name: &'static str,
    line: &'static str,
    body: fn(),
    (expected, pattern): (Expected, &'static str),
) -> Program {
    program(name, line).plain(body).bug(expected, pattern)
}

const ATOMICITY: (Expected, &str) = (Expected::Panic, "atomicity violation");
const ORDER: (Expected, &str) = (Expected::Panic, "order violation");
const HANG: (Expected, &str) = (Expected::Deadlock, "order violation");
const DEADLOCK: (Expected, &str) = (Expected::Deadlock, "deadlock");

/// Accesses that have nothing to do with the bug: those that a program of this size always has.
#[derive(Default)]
struct Bystander {
    visits: AtomicUsize,
    log: Mutex<Vec<usize>>,
}

impl Bystander {
    fn visit(&self) {
        let nth = self.visits.fetch_add(1, SeqCst);
        self.log.lock().unwrap().push(nth);
    }
}
