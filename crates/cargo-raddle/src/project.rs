//! The workspace, by way of cargo: where it is, and its test binaries.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::Build;
use crate::error::DriverError;

/// What cargo knows of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    packages: Vec<Package>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    version: String,
    pub(crate) directory: PathBuf,
}

/// A test binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    pub(crate) package: Package,
    /// The target: a file of tests, or the library.
    pub(crate) target: String,
    pub(crate) path: PathBuf,
    /// Where its dynamic libraries are.
    libraries: Vec<PathBuf>,
}

fn cargo() -> Command {
    // Cargo says who it is when it runs a subcommand.
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

impl Project {
    /// Asks cargo.
    pub(crate) fn load(manifest: Option<&Path>) -> Result<Self, DriverError> {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1", "--no-deps"]);
        if let Some(path) = manifest {
            command.arg("--manifest-path").arg(path);
        }
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| DriverError::build(format!("cargo could not be run: {error}")))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.trim().strip_prefix("error: ").unwrap_or(why.trim());
            return Err(DriverError::build(format!(
                "{why}\nrun this in the directory of a package, or say where it is by --manifest-path"
            )));
        }
        let value: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            DriverError::build(format!("cargo metadata wrote no JSON: {error}"))
        })?;
        Self::read(&value).ok_or_else(|| {
            DriverError::build(
                "cargo metadata wrote something else than expected; is cargo very old?",
            )
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        let package = |value: &Value| {
            let manifest = PathBuf::from(text(&value["manifest_path"])?);
            Some(Package {
                id: text(&value["id"])?,
                name: text(&value["name"])?,
                version: text(&value["version"])?,
                directory: manifest.parent()?.to_owned(),
            })
        };
        Some(Self {
            root: text(&value["workspace_root"])?.into(),
            target: text(&value["target_directory"])?.into(),
            packages: value["packages"].as_array()?.iter().filter_map(package).collect(),
        })
    }

    /// Where the driver keeps what it writes.
    pub(crate) fn directory(&self) -> PathBuf {
        self.target.join("raddle")
    }

    /// Builds the tests. What the compiler says goes to standard error as it is.
    pub(crate) fn build(&self, build: &Build) -> Result<Vec<Binary>, DriverError> {
        let output = cargo()
            .args(arguments(build))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| DriverError::build(format!("cargo could not be run: {error}")))?;
        if !output.status.success() {
            return Err(DriverError::build("the tests were not built; see what cargo says above"));
        }
        Ok(self.binaries(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The test binaries among what cargo says it made.
    fn binaries(&self, messages: &str) -> Vec<Binary> {
        let messages: Vec<Value> =
            messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let linked = messages.iter().filter_map(|message| message["linked_paths"].as_array());
        let linked = linked.flatten().filter_map(Value::as_str);
        // A path may say of what kind it is: native=/usr/lib.
        let linked = linked.map(|path| path.split_once('=').map_or(path, |(_, path)| path));
        let linked: Vec<PathBuf> =
            linked.map(PathBuf::from).filter(|path| path.starts_with(&self.target)).collect();
        let binary = |message: &Value| {
            if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
                return None;
            }
            let path = PathBuf::from(message["executable"].as_str()?);
            let id = message["package_id"].as_str()?;
            let package = self.packages.iter().find(|package| package.id == id)?.clone();
            let mut libraries = linked.clone();
            libraries.extend(path.parent().map(Path::to_owned));
            libraries.extend(path.parent().and_then(Path::parent).map(Path::to_owned));
            let target = message["target"]["name"].as_str()?.to_owned();
            Some(Binary { package, target, path, libraries })
        };
        messages.iter().filter_map(binary).collect()
    }
}

impl Binary {
    /// One that another machine has built; it runs in this directory.
    #[cfg(feature = "nats")]
    pub(crate) fn from_elsewhere(path: PathBuf, directory: PathBuf) -> Self {
        let (id, version) = (String::new(), String::new());
        let package = Package { id, name: String::new(), version, directory };
        Self { package, target: String::new(), path, libraries: Vec::new() }
    }

    /// A command that runs the binary as `cargo test` would: in the directory of its package, with
    /// cargo's variables. Misses: what build scripts set by `rustc-env` for run time, which is nothing.
    pub(crate) fn command(&self) -> Command {
        let Package { name, version, directory, .. } = &self.package;
        let mut command = Command::new(&self.path);
        command
            .current_dir(directory)
            .env("CARGO_MANIFEST_DIR", directory)
            .env("CARGO_MANIFEST_PATH", directory.join("Cargo.toml"))
            .env("CARGO_PKG_NAME", name)
            .env("CARGO_PKG_VERSION", version)
            .env("CARGO_CRATE_NAME", self.target.replace('-', "_"));
        let variable = if cfg!(target_os = "macos") {
            "DYLD_FALLBACK_LIBRARY_PATH"
        } else {
            "LD_LIBRARY_PATH"
        };
        let before = std::env::var_os(variable).unwrap_or_default();
        let before = std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty());
        let paths = std::env::join_paths(self.libraries.iter().cloned().chain(before));
        if let Ok(paths) = paths {
            command.env(variable, paths);
        }
        command
    }
}

/// What cargo is called with.
fn arguments(build: &Build) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["test", "--no-run", "--message-format=json-render-diagnostics"].map(Into::into).into();
    let many = [
        ("--package", &build.package),
        ("--exclude", &build.exclude),
        ("--test", &build.test),
        ("--features", &build.features),
    ];
    for (flag, values) in many {
        for value in values {
            arguments.extend([flag.into(), value.into()]);
        }
    }
    let flags = [
        ("--workspace", build.workspace),
        ("--lib", build.lib),
        ("--all-features", build.all_features),
        ("--no-default-features", build.no_default_features),
        ("--release", build.release),
        ("--offline", build.offline),
        ("--locked", build.locked),
    ];
    arguments.extend(flags.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).into()));
    if let Some(profile) = &build.cargo_profile {
        arguments.extend(["--profile".into(), profile.into()]);
    }
    if let Some(path) = &build.manifest_path {
        arguments.extend(["--manifest-path".into(), path.into()]);
    }
    if !build.lib && build.test.is_empty() {
        // Doc tests are never built by `--no-run`; benches are no tests.
        arguments.push("--tests".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_built_is_passed_on() {
        let build = Build {
            package: vec!["tour".into()],
            features: vec!["a,b".into()],
            release: true,
            ..Build::default()
        };
        let words: Vec<_> =
            arguments(&build).into_iter().map(|word| word.into_string().expect("text")).collect();
        assert_eq!(
            words.join(" "),
            "test --no-run --message-format=json-render-diagnostics --package tour --features a,b \
             --release --tests"
        );
    }
}
