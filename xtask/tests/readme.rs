//! What the README shows is what `cargo test -p tour --test readme` prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_readme_shows_what_its_test_prints() {
    let root = xtask::root();
    // Where this test was built: most of what it needs is there.
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's own");
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    let output = command
        // Of the whole workspace, though one package has it: with the features of all of them, nothing is built again.
        .args(["test", "--locked", "--workspace", "--exclude", "xtask", "--test", "readme"])
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", build)
        .env("RUST_BACKTRACE", "0")
        // However busy the machine is, the failure is made as small as on an idle one.
        .env("RADDLE_MINIMISE", "10m")
        .output()
        .expect("cargo can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    let printed = said.split_once("FAILED two_increments_make_two: main").unwrap_or_else(|| {
        panic!("it does not fail:\n{said}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    let end = printed.1.find(" -- --exact").expect("it says how to replay it");
    let printed = format!("FAILED two_increments_make_two: main{} -- --exact", &printed.1[..end]);
    let readme = std::fs::read_to_string(root.join("README.md")).expect("there is one");
    let shown = readme.split_once("```text\n").and_then(|(_, rest)| rest.split_once("\n```"));
    let (shown, _) = shown.expect("an output in the README");
    assert_eq!(normal(shown, build), normal(&printed, build));
}

/// Without the time, and with the trace at the root of the repository. The sentence with the time is one line: where it is broken
/// hangs on the digits of the time.
fn normal(text: &str, build: &Path) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match (lines.last_mut(), line.strip_prefix("  ")) {
            (Some(last), Some(rest)) if last.starts_with("searched with ") => {
                last.push(' ');
                last.push_str(rest);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let traces = build.join("raddle");
    let traces = traces.to_string_lossy();
    let line = |line: &str| match line.split_once(" decisions in ") {
        Some((before, after)) => {
            let after = after.split_once(';').map_or("", |(_, after)| after);
            format!("{before} decisions in …;{after}\n")
        }
        None => line.replace(&*traces, "target/raddle") + "\n",
    };
    lines.iter().map(|text| line(text)).collect()
}

#[test]
fn the_readme_shows_the_file_of_its_test() {
    let root = xtask::root();
    let readme = std::fs::read_to_string(root.join("README.md")).expect("there is one");
    let shown = readme.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
    let file = std::fs::read_to_string(root.join("examples/tour/tests/readme.rs"));
    let file = file.expect("there is one");
    // Without its header, which says what the README says.
    let (_, code) = file.split_once('\n').expect("a header");
    assert_eq!(shown.expect("code in the README").0, code);
}
