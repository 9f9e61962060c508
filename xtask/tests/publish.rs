//! What is to be published can be: what a registry asks for is there, and all packages can be made without one.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn packages() -> Vec<Value> {
    let metadata = xtask::tidy::metadata(&xtask::root()).expect("cargo can be asked");
    metadata["packages"].as_array().expect("a list").clone()
}

/// Whether a package stays at home.
fn is_private(package: &Value) -> bool {
    package["publish"].as_array().is_some_and(Vec::is_empty)
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("packages have names")
}

#[test]
fn every_published_package_says_what_it_is() {
    let packages = packages();
    for package in packages.iter().filter(|package| !is_private(package)) {
        let name = name(package);
        assert!(package["description"].is_string(), "{name} has no description");
        let many = |key: &str| package[key].as_array().is_some_and(|all| !all.is_empty());
        assert!(many("keywords") && many("categories"), "{name} has no keywords or categories");
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        assert_eq!(package["rust_version"], "1.88", "{name}");
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let home = manifest.parent().expect("a directory");
        let readme = package["readme"].as_str().unwrap_or_else(|| panic!("{name} has no readme"));
        for file in [readme, "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(home.join(file).exists(), "{name} has no {file}");
        }
    }
}

/// A dependency for tests alone may have a version only if it is published before the package that has it.
#[test]
fn dependencies_for_tests_close_no_circle() {
    let packages = packages();
    let depends = |on: &str, of: &str, seen: &mut Vec<String>| reaches(&packages, of, on, seen);
    for package in packages.iter().filter(|package| !is_private(package)) {
        let own = package["dependencies"].as_array().expect("a list");
        for dependency in own.iter().filter(|dependency| dependency["kind"] == "dev") {
            let on = name(dependency);
            let is_ours = packages.iter().any(|package| name(package) == on);
            let has_version = dependency["req"] != "*";
            if is_ours && has_version {
                let closes = depends(name(package), on, &mut Vec::new());
                assert!(!closes, "{} cannot be published before {on}, nor after it", name(package));
            }
        }
    }
}

/// Whether one package needs another, to be built.
fn reaches(packages: &[Value], from: &str, to: &str, seen: &mut Vec<String>) -> bool {
    if from == to {
        return true;
    }
    if seen.iter().any(|name| name == from) {
        return false;
    }
    seen.push(from.to_owned());
    let Some(package) = packages.iter().find(|package| name(package) == from) else { return false };
    let needed = package["dependencies"].as_array().expect("a list").iter();
    let needed = needed.filter(|dependency| dependency["kind"] != "dev");
    needed.into_iter().any(|dependency| reaches(packages, name(dependency), to, seen))
}

/// Their builds are left out: they are those of the workspace, and take as long again.
#[test]
fn all_packages_can_be_made_without_a_registry() {
    let packages = packages();
    let private = packages.iter().filter(|package| is_private(package)).map(name);
    let output = Command::new(env!("CARGO"))
        .args(["package", "--workspace", "--offline", "--no-verify", "--allow-dirty"])
        .args(private.flat_map(|name| ["--exclude", name]))
        .current_dir(xtask::root())
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages"))
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
