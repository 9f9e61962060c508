//! The measured programs under loom, with std's `Arc` as under the other tools.

use std::process::ExitCode;

/// The programs with loom's threads and primitives.
mod programs {
    peer::programs!(loom);
}

fn main() -> ExitCode {
    peer::main("loom", |search| peer_loom::search(search, programs::run))
}
