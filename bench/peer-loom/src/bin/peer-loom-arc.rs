//! The measured programs under loom, with loom's `Arc`, whose counts are explored too.

use std::process::ExitCode;

/// The programs with loom's threads, primitives and `Arc`.
mod programs {
    peer::programs!(loom, loom);
}

fn main() -> ExitCode {
    peer::main("loom-arc", |search| peer_loom::search(search, programs::run))
}
