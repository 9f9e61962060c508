//! `cargo raddle`: see the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cargo_raddle::main(std::env::args_os()))
}
