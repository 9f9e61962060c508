//! Where there are no Unix sockets a test binary is no host: the tests run by `cargo test`.

use crate::config::Config;
use crate::error::Error;
use crate::job::Body;

/// Refuses.
pub(crate) fn serve(_config: Config, _test: &Body) {
    let reason = "hosts need a Unix; use cargo test here".to_owned();
    panic!("{}", Error::Host { reason });
}
