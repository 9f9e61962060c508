//! `cargo xtask weight`: what it costs to build a test crate with one test, against raddle, loom and shuttle.
//!
//! Each package is built from nothing by `cargo test --no-run`, with cargo's own settings and downloaded sources. CPU seconds are user
//! and system of cargo and all compilers; megabytes are what the target directory holds afterwards.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::crates::{command, cpu_seconds, output};
use crate::write_file;

/// A tool, the line of the manifest that asks for it, and a test.
struct Peer {
    name: &'static str,
    dependency: &'static str,
    test: &'static str,
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "raddle",
        dependency: "raddle = { path = \"ROOT/crates/raddle\", features = [\"check\"] }",
        test: "raddle::check(|| { raddle::thread::spawn(|| ()).join().unwrap(); });",
    },
    Peer {
        name: "loom",
        dependency: "loom = \"=0.7.2\"",
        test: "loom::model(|| { loom::thread::spawn(|| ()).join().unwrap(); });",
    },
    Peer {
        name: "shuttle",
        dependency: "shuttle = \"=0.9.9\"",
        test: "shuttle::check_random(|| { shuttle::thread::spawn(|| ()).join().unwrap(); }, 10);",
    },
];

/// Builds all and returns a table.
///
/// # Errors
/// If one cannot be built, with what cargo said.
pub fn table(root: &Path, progress: &dyn Fn(&str)) -> Result<String, String> {
    let mut text = String::from("| | crates | CPU s | MB |\n|---|---:|---:|---:|\n");
    for peer in &PEERS {
        progress(peer.name);
        let directory = root.join("target/weight").join(peer.name);
        lay_out(root, &directory, peer)?;
        let crates = crates(&directory)?;
        let seconds = build(&directory)?;
        let mut size = command("du", &directory);
        size.args(["-sm", "target"]);
        let size = output(size, "du")?;
        let megabytes = size.split_whitespace().next().unwrap_or("?");
        let _ = writeln!(text, "| {} | {crates} | {seconds:.1} | {megabytes} |", peer.name);
    }
    Ok(text)
}

fn lay_out(root: &Path, directory: &Path, peer: &Peer) -> Result<(), String> {
    if directory.exists() {
        fs::remove_dir_all(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    fs::create_dir_all(directory.join("src"))
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let dependency = peer.dependency.replace("ROOT", &root.display().to_string());
    let manifest = format!(
        "[package]\nname = \"weight\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dev-dependencies]\n{dependency}\n"
    );
    write_file(&directory.join("Cargo.toml"), manifest.as_bytes())?;
    let test = format!("#[cfg(test)]\n#[test]\nfn one() {{\n    {}\n}}\n", peer.test);
    write_file(&directory.join("src/lib.rs"), test.as_bytes())
}

/// How many crates are built beside this one. Also downloads them, so that this does not count.
fn crates(directory: &Path) -> Result<usize, String> {
    let mut fetch = command("cargo", directory);
    fetch.args(["fetch", "-q"]);
    output(fetch, "cargo fetch")?;
    let mut tree = command("cargo", directory);
    tree.args(["tree", "-e", "normal,build,dev", "--prefix", "none", "--no-dedupe"]);
    let tree = output(tree, "cargo tree")?;
    let mut names: Vec<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.len().saturating_sub(1))
}

fn build(directory: &Path) -> Result<f64, String> {
    let mut shell = command("bash", directory);
    shell
        .args(["-c", "cargo test -q --no-run >&2 && times"])
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env_remove("CARGO_INCREMENTAL")
        .stderr(Stdio::piped());
    let said = output(shell, "cargo test")?;
    Ok(said.lines().nth(1).map_or(0.0, cpu_seconds))
}

/// The compiler that the figures are of.
#[must_use]
pub fn compiler() -> String {
    let said = Command::new("rustc").arg("--version").output();
    said.map_or(String::new(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
