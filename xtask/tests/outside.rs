//! A package outside of the workspace, with the access that every user has, builds and passes its tests.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn what_is_written_outside_works() {
    let package = xtask::root().join("examples/outside");
    // Where this test was built: most of what comes from the registry is there.
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's own");
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["test", "--offline", "--locked"])
        .current_dir(package)
        .env("CARGO_TARGET_DIR", build)
        .output()
        .expect("cargo can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(
        said.contains("test the_semaphore_is_covered_by_every_kind_of_search ... ok"),
        "{said}"
    );
}

#[test]
fn it_has_no_access_that_a_user_lacks() {
    let package = xtask::root().join("examples/outside");
    let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("there is one");
    let (_, dependencies) = manifest.split_once("[dependencies]\n").expect("it depends on raddle");
    let (dependencies, _) = dependencies.split_once("\n\n").expect("something follows");
    assert_eq!(dependencies, r#"raddle = { path = "../../crates/raddle", features = ["check"] }"#);
    assert!(manifest.contains("\n[workspace]\n"), "it is in no workspace of ours");
    let hidden = |text: &str| text.contains("__private");
    for directory in ["src", "tests"] {
        for entry in fs::read_dir(package.join(directory)).expect("it is there") {
            let path = entry.expect("it can be read").path();
            assert!(!hidden(&fs::read_to_string(&path).expect("a source")), "{}", path.display());
        }
    }
}

/// Lines of code, without comments and blank lines.
#[test]
fn its_sampler_is_short() {
    let text = fs::read_to_string(xtask::root().join("examples/outside/src/bursts.rs"));
    let text = text.expect("there is one");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = text.lines().filter(is_code).count();
    assert!(lines <= 40, "{lines} lines of code, and at most 40 are wanted");
}
