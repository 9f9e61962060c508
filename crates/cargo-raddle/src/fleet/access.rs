//! From flags and variables to a connection.

use raddle_fleet::nats::{Access, Nats};
use raddle_fleet::{Problem, QueueError};

use crate::cli::Server;
use crate::error::DriverError;

/// Connects to the server that was named.
pub(super) fn connect(server: &Server) -> Result<Nats, DriverError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let access = Access {
        url: server.nats.clone(),
        token: variable("NATS_TOKEN"),
        user: variable("NATS_USER")
            .map(|user| (user, variable("NATS_PASSWORD").unwrap_or_default())),
        nkey: server.nats_nkey.clone(),
        credentials: server.nats_creds.clone(),
        authorities: server.nats_ca.clone(),
        certificate: server.nats_cert.clone().zip(server.nats_key.clone()),
    };
    Nats::connect(&access).map_err(wrong)
}

/// What is wrong with a server is a mistake of the command's; what it loses is the tool's.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn wrong(error: QueueError) -> DriverError {
    match error.problem() {
        Problem::Refused | Problem::Mismatch | Problem::Unreachable => {
            DriverError::usage(error.to_string())
        }
        _ => DriverError::tool(error.to_string()),
    }
}

/// Reads a time of a flag.
pub(super) fn time(flag: &str, text: &str) -> Result<std::time::Duration, DriverError> {
    raddle_knobs::units::time(text).ok_or_else(|| {
        DriverError::usage(format!(
            "{flag} is `{text}`, and a time is expected: 500ms, 30s, 2m, 1h"
        ))
    })
}
