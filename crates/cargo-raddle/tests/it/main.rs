//! The command line, over a project as a user has one.
//!
//! The fixture is copied beside cargo's own files of this build, so that what it depends on is built
//! once, and without the network: the lock file is the workspace's.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod checkpoints;
mod crashes;
mod cycle;
mod deaths;
mod documents;
mod finds;
mod fleet;
mod interrupts;
mod replays;
mod runs;
mod terminals;
mod watch;
mod workers;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock};

use serde_json::Value;

pub(crate) use self::watch::{Background, DEADLINE, Watched, output};

/// Says that a test needs a right that this user does not have. With `NATS_TESTS=required` root must have all of them: CI runs
/// so, and there nothing may be left out unseen.
pub(crate) fn skipped(why: &str) {
    let is_root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    let required = std::env::var("NATS_TESTS").is_ok_and(|value| value == "required");
    assert!(!(is_root && required), "{why}, and NATS_TESTS=required");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// A project outside the workspace.
pub(crate) struct Project(pub(crate) PathBuf);

/// The package of the driver.
pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

impl Project {
    /// A new package of this name, empty but for its manifest.
    pub(crate) fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("src")).unwrap();
        let raddle = here().parent().unwrap().join("raddle");
        let raddle = raddle.display();
        // In a workspace of its own, whatever is above.
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\nraddle = {{ path = \"{raddle}\" }}\n\n\
             [dev-dependencies]\nraddle = {{ path = \"{raddle}\", features = [\"check\"] }}\n"
        );
        fs::write(root.join("Cargo.toml"), manifest).unwrap();
        let lock = here().parent().unwrap().parent().unwrap().join("Cargo.lock");
        fs::copy(lock, root.join("Cargo.lock")).unwrap();
        Self(root)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds to a file.
    pub(crate) fn write_more(&self, file: &str, text: &str) {
        let before = fs::read_to_string(self.0.join(file)).unwrap();
        self.write(file, &format!("{before}\n{text}"));
    }

    /// `cargo raddle`, to be run here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-raddle"));
        command.arg("raddle").args(arguments).current_dir(&self.0);
        for (name, _) in std::env::vars_os() {
            let name = name.into_string().unwrap_or_default();
            // What cargo tells this test is not for the project.
            if name.starts_with("RADDLE_")
                || name.starts_with("CARGO_PKG")
                || name == "RUST_BACKTRACE"
            {
                command.env_remove(name);
            }
        }
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_NET_OFFLINE", "true");
        // However busy the machine is, failures are made as small as on an idle one: what is tried is bounded
        // in steps, too.
        command.env("RADDLE_MINIMISE", "10m");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        Done::of(&output(&mut self.command(arguments)))
    }

    /// The same for tests that look at the pages of a run: other projects, which share what is built, write theirs at any
    /// time.
    pub(crate) fn run_with_own_pages(&self, arguments: &[&str]) -> Done {
        let own = self.0.join("own-target");
        fs::create_dir_all(&own).unwrap();
        for shared in ["debug", ".rustc_info.json"] {
            let link = own.join(shared);
            if !link.exists() {
                std::os::unix::fs::symlink(target().join(shared), link).unwrap();
            }
        }
        Done::of(&output(self.command(arguments).env("CARGO_TARGET_DIR", own)))
    }
}

/// The fixture, one test at a time: its build must not be watched by another.
pub(crate) fn fixture() -> MutexGuard<'static, Project> {
    static FIXTURE: OnceLock<Mutex<Project>> = OnceLock::new();
    let make = || {
        let project = Project::new("fixture");
        copy(&here().join("tests/fixture"), &project.0);
        Mutex::new(project)
    };
    FIXTURE.get_or_init(make).lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Panics with all that was said if the code is another.
    #[track_caller]
    pub(crate) fn ended_with(self, code: u8) -> Self {
        assert_eq!(self.code, Some(i32::from(code)), "{}\n{}", self.out, self.err);
        self
    }

    /// The lines of JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last event of each test.
    pub(crate) fn finished(&self) -> BTreeMap<String, Value> {
        let is_end = |event: &Value| event["event"] == "test-finished";
        let ends = self.events().into_iter().filter(is_end);
        ends.map(|event| (event["test"].as_str().unwrap().to_owned(), event)).collect()
    }
}
