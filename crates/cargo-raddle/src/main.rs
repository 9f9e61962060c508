//! `cargo raddle`: see the library of this package.

#[cfg(not(unix))]
compile_error!("cargo-raddle needs a Unix; use `cargo test`, which runs raddle tests without it");

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(cargo_raddle::main(std::env::args_os()))
}

#[cfg(not(unix))]
fn main() {}
