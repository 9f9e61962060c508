//! Tests that were written for loom and for shuttle run under raddle by one line in a manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// cargo, without what the environment says of searches.
fn cargo(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["RADDLE_", "LOOM_", "SHUTTLE_"].iter().any(|tool| name.starts_with(tool)) {
            command.env_remove(&*name);
        }
    }
    command.current_dir(directory);
    command
}

/// Whether it succeeded, and what it wrote.
fn run(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("it can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn ordinary_tests_of_loom_and_shuttle_pass_and_fail_under_raddle() {
    // Where this test was built: what it has in common with `examples/outside` is compiled once.
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's own");
    let package = xtask::root().join("examples/patched");
    let mut tests = cargo(&package);
    tests.args(["test", "--offline", "--locked", "--no-fail-fast"]).env("CARGO_TARGET_DIR", build);
    let (success, text) = run(&mut tests);
    assert!(success, "{text}");
    for passes in [
        // loom's.
        "test a_relaxed_flag_publishes_nothing - should panic ... ok",
        "test an_arc_that_is_forgotten_is_a_leak - should panic ... ok",
        "test a_future_is_driven_until_it_is_ready ... ok",
        // shuttle's.
        "test tasks_are_awaited ... ok",
    ] {
        assert!(text.contains(passes), "{passes}\n{text}");
    }
    for of_both in [
        "test a_lock_keeps_two_increments_apart ... ok",
        "test an_increment_in_two_steps_loses_updates - should panic ... ok",
    ] {
        assert_eq!(text.matches(of_both).count(), 2, "{of_both}\n{text}");
    }
    // Not the real crates, which cover nothing that they could name.
    assert_eq!(text.matches("raddle: what 2 passed tests cover").count(), 2, "{text}");
    let note = "note: loom also explores the older values that weak memory allows a load to read";
    assert_eq!(text.matches(note).count(), 1, "{text}");
}

/// The features of the packages that cargo finds from here, by name and whether they come from the registry.
fn features(directory: &Path, name: &str, from_registry: bool) -> Vec<String> {
    // What other platforms need need not have been downloaded.
    let (_, said) = run(cargo(directory).arg("-vV"));
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo says it");
    let arguments =
        ["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform"];
    let output = cargo(directory).args(arguments).arg(host).output().expect("cargo can be run");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    });
    let packages = metadata["packages"].as_array().expect("it has packages");
    let found = packages
        .iter()
        .find(|package| package["name"] == name && package["source"].is_string() == from_registry);
    let found = found.unwrap_or_else(|| panic!("there is no {name} in {}", directory.display()));
    found["features"].as_object().expect("a table").keys().cloned().collect()
}

/// cargo leaves a patch aside that lacks a feature which is asked for, and takes the real crate without a word.
#[test]
fn the_packages_have_every_feature_of_the_crates_in_whose_place_they_are() {
    let root = xtask::root();
    for name in ["loom", "shuttle"] {
        let real = features(&root, name, true);
        assert!(real.len() > 2, "{real:?}");
        assert_eq!(features(&root.join("examples/patched"), name, false), real, "{name}");
    }
}

/// A repository with what is in the work tree, at the same place each time: cargo keeps what it fetches by address.
#[cfg(unix)]
fn repository(scratch: &Path) -> PathBuf {
    let repository = scratch.join("repository");
    fs::create_dir_all(&repository).expect("it can be made");
    let git = |directory: &Path, arguments: &[&str]| {
        let mut git = Command::new("git");
        let output = git.args(arguments).current_dir(directory).output().expect("there is git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("names of files are text")
    };
    let root = xtask::root();
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    for file in git(&root, &listed).split_terminator('\0') {
        let (from, to) = (root.join(file), repository.join(file));
        // What was deleted and not committed is listed, too.
        if from.is_file() {
            fs::create_dir_all(to.parent().expect("a file is somewhere")).expect("it can be made");
            fs::copy(from, to).expect("it can be copied");
        }
    }
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["add", "--all"]);
    let author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    git(&repository, &[&author[..], &["commit", "--quiet", "--message", "all"]].concat());
    repository
}

/// What cargo keeps, apart from the user's: what the registry has is shared, what is fetched from the repository is not kept.
#[cfg(unix)]
fn home(scratch: &Path) -> PathBuf {
    let home = scratch.join("home");
    fs::create_dir_all(&home).expect("it can be made");
    let users = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let users = users.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).expect("there is one");
    for name in ["registry", "config.toml", "config"] {
        if users.join(name).exists() {
            std::os::unix::fs::symlink(users.join(name), home.join(name)).expect("it can be made");
        }
    }
    home
}

#[cfg(unix)]
#[test]
fn the_lines_for_a_git_repository_that_are_documented_are_what_cargo_takes() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("patched-by-git");
    let _ = fs::remove_dir_all(&scratch);
    let (repository, home) = (repository(&scratch), home(&scratch));
    let address = format!("file://{}", repository.display());
    let user = scratch.join("user");
    fs::create_dir_all(user.join("src")).expect("it can be made");
    fs::write(user.join("src/lib.rs"), "").expect("it can be written");
    let resolve = |dependencies: &str, arguments: &[&str]| {
        let _ = fs::remove_file(user.join("Cargo.lock"));
        let package = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let manifest = format!("{package}\n[workspace]\n\n[dependencies]\n{dependencies}");
        fs::write(user.join("Cargo.toml"), manifest).expect("it can be written");
        run(cargo(&user).args(arguments).env("CARGO_HOME", &home))
    };
    // Without a network cargo takes a repository that it has. This package depends on nothing, so for it none is needed.
    let fetched =
        resolve(&format!("raddle-knobs = {{ git = \"{address}\" }}\n"), &["generate-lockfile"]);
    assert!(fetched.0, "{}", fetched.1);

    let tree = ["tree", "--offline", "--depth", "1"];
    let dependencies =
        "loom = \"0.7\"\nold = { package = \"loom\", version = \"0.5\" }\nshuttle = \"0.9\"\n";
    let lines = documented_lines();
    assert_eq!(lines.matches("git = \"…/raddle\"").count(), 3, "{lines}");
    let (success, text) =
        resolve(&format!("{dependencies}\n{}", lines.replace("…/raddle", &address)), &tree);
    assert!(success, "{text}");
    for package in ["loom v0.5.6", "loom v0.7.2", "shuttle v0.9.9"] {
        assert!(text.contains(&format!("{package} ({address}")), "{package}\n{text}");
    }
    // Why the lines name versions.
    let without =
        format!("loom = \"0.7\"\n\n[patch.crates-io]\nloom = {{ git = \"{address}\" }}\n");
    let (success, text) = resolve(&without, &tree);
    assert!(!success && text.contains("resolved to more than one candidate"), "{text}");
    fs::remove_dir_all(&scratch).expect("it can be removed");
}

/// The lines of the book for a git repository.
#[cfg(unix)]
fn documented_lines() -> String {
    let page = fs::read_to_string(xtask::root().join("book/src/migrating.md")).expect("a page");
    let mut blocks = page.split("```toml\n").skip(1).map(|block| block.split("```").next());
    let lines = blocks.find_map(|block| block.filter(|block| block.contains("git = ")));
    lines.expect("the page has them").to_owned()
}
