//! Where there are no Unix sockets a test binary is no host: the tests run by `cargo test`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use raddle_engine::Tape;

use crate::config::Config;
use crate::error::Error;
use crate::search::Body;

/// As on Unix, and never made.
#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) tape: Option<Tape>,
}

impl PartialEq for Hosted {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.stop, &other.stop) && self.tape == other.tape
    }
}

impl Eq for Hosted {}

/// Refuses.
pub(crate) fn serve(_config: Config, _test: Body) {
    let reason = "hosts need a Unix; use cargo test here".to_owned();
    panic!("{}", Error::Host { reason });
}
