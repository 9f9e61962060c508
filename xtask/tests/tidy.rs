//! The workspace itself: is it tidy, and does the build that users ship have std inside?

use std::path::Path;
use std::process::Command;

#[test]
fn the_workspace_is_tidy() {
    let complaints = xtask::tidy::check(&xtask::root()).expect("it can be looked at");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

// By itself: in a build of the whole workspace some package asks for the feature `check`.
#[test]
fn without_its_feature_the_facade_is_std() {
    cargo("test -p raddle --test plain");
}

#[test]
fn the_tour_builds_on_std_and_actors_alone() {
    cargo("build -p tour");
    let tree = "tree -e normal --prefix none -p tour";
    let tree = cargo(tree);
    let names: Vec<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["tour", "raddle", "raddle-actors"], "and nothing below");
}

/// Runs cargo in a build directory beside the one that these tests are in; what it says.
#[track_caller]
fn cargo(arguments: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments.split(' '))
        .current_dir(xtask::root())
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain"))
        .output()
        .expect("cargo can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments}:\n{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
