//! Builds, finds and runs the binaries of the compared tools.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use peer::{Measurement, Mode, Program, Reduction};
use serde::de::DeserializeOwned;

use crate::machine::PROFILE;

/// A run is sized to take less than a second, or has a cap far below: a peer that takes this long
/// hangs.
const DEADLINE: Duration = Duration::from_mins(2);

/// A compared tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Raddle,
    Shuttle,
    /// shuttle, with the programs of the corpus.
    ShuttleCorpus,
    Loom,
    /// loom, with programs that use its `Arc`.
    LoomArc,
    Traceforge,
    /// raddle, searching states.
    RaddleStates,
    /// raddle, one search of a program of the corpus.
    OneSearch,
    Stateright,
    /// Actor libraries, raddle's among them: one binary that takes the library's name.
    Actors,
}

impl Tool {
    /// Those that run all programs, in the order of their turns, which is also the order of the
    /// columns.
    pub(crate) const ALL: [Self; 3] = [Self::Raddle, Self::Shuttle, Self::Loom];

    /// The directory of the package, inside that of this one.
    const fn directory(self) -> &'static str {
        match self {
            Self::Raddle | Self::RaddleStates | Self::OneSearch => "",
            Self::Shuttle | Self::ShuttleCorpus => "peer-shuttle",
            Self::Loom | Self::LoomArc => "peer-loom",
            Self::Traceforge => "peer-traceforge",
            Self::Stateright => "peer-stateright",
            Self::Actors => "peer-actors",
        }
    }

    /// The package whose binary [`binary`](Self::binary) is.
    const fn package(self) -> &'static str {
        match self {
            Self::Raddle | Self::RaddleStates | Self::OneSearch => "raddle-bench",
            Self::Shuttle | Self::ShuttleCorpus => "peer-shuttle",
            Self::Loom | Self::LoomArc => "peer-loom",
            Self::Traceforge => "peer-traceforge",
            Self::Stateright => "peer-stateright",
            Self::Actors => "peer-actors",
        }
    }

    const fn binary(self) -> &'static str {
        match self {
            Self::Raddle => "peer-raddle",
            Self::Shuttle => "peer-shuttle",
            Self::ShuttleCorpus => "peer-shuttle-corpus",
            Self::Loom => "peer-loom",
            Self::LoomArc => "peer-loom-arc",
            Self::Traceforge => "peer-traceforge",
            Self::RaddleStates => "peer-raddle-states",
            Self::OneSearch => "one-search",
            Self::Stateright => "peer-stateright",
            Self::Actors => "peer-actors",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raddle | Self::RaddleStates | Self::OneSearch => "raddle",
            Self::Shuttle | Self::ShuttleCorpus => "shuttle",
            Self::Loom => "loom",
            Self::LoomArc => "loom, own Arc",
            Self::Traceforge => "traceforge",
            Self::Stateright => "stateright",
            Self::Actors => "actors",
        })
    }
}

/// What a peer is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) program: Program,
    pub(crate) mode: Mode,
    pub(crate) reduction: Option<Reduction>,
    pub(crate) executions: u64,
    pub(crate) within: Option<Duration>,
}

impl Run {
    /// Without a reduction, and without a limit on time.
    pub(crate) const fn new(program: Program, mode: Mode, executions: u64) -> Self {
        Self { program, mode, reduction: None, executions, within: None }
    }

    fn arguments(&self) -> Vec<String> {
        let Self { program, mode, reduction, executions, within } = self;
        let mut arguments = vec![program.to_string(), mode.to_string()];
        arguments.extend(["--executions".to_owned(), executions.to_string()]);
        if let Some(reduction) = reduction {
            arguments.extend(["--reduction".to_owned(), reduction.to_string()]);
        }
        if let Some(within) = within {
            arguments.extend(["--seconds".to_owned(), within.as_secs_f64().to_string()]);
        }
        arguments
    }
}

/// Why there is no measurement. The message ends with what to do.
#[derive(Clone, Debug)]
pub(crate) struct PeerError(String);

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PeerError {}

impl From<String> for PeerError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

/// The binaries, beside the one that is running.
#[derive(Debug)]
pub(crate) struct Peers {
    directory: PathBuf,
}

impl Peers {
    /// Builds peers, each alone, so that no tool's features change another's.
    pub(crate) fn build(tools: &[Tool]) -> Result<Self, PeerError> {
        let this = env::current_exe()
            .map_err(|error| PeerError(format!("could not find its own executable: {error}")))?;
        let directory = this.parent().map(PathBuf::from).unwrap_or_default();
        // Peers are looked for beside this binary, and are to be built as it is.
        if directory.file_name().is_none_or(|profile| profile != PROFILE) {
            return Err(PeerError(format!(
                "comparisons are of builds with the profile `{PROFILE}`: run with `cargo run --profile {PROFILE}`"
            )));
        }
        let target = directory.parent().map(PathBuf::from).unwrap_or_default();
        for tool in tools {
            let manifest =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(tool.directory()).join("Cargo.toml");
            let (package, binary) = (tool.package(), tool.binary());
            let mut command = Command::new(env!("CARGO"));
            if let Some(toolchain) = toolchain(env!("CARGO")) {
                command.env("RUSTUP_TOOLCHAIN", toolchain);
            }
            let status = command
                .args([
                    "build",
                    "--quiet",
                    "--profile",
                    PROFILE,
                    "--package",
                    package,
                    "--bin",
                    binary,
                ])
                .arg("--manifest-path")
                .arg(&manifest)
                .arg("--target-dir")
                .arg(&target)
                .status();
            let failed = match status {
                Ok(status) if status.success() => continue,
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            };
            return Err(PeerError(format!(
                "could not build {binary} ({failed}): make `cargo build --profile {PROFILE} --bin {binary} \
                 --manifest-path {}` pass, then run again",
                manifest.display()
            )));
        }
        Ok(Self { directory })
    }

    /// Takes the binaries that are beside this one, however they were built: for what is not measured in time.
    pub(crate) fn beside() -> Result<Self, PeerError> {
        let this = env::current_exe()
            .map_err(|error| PeerError(format!("could not find its own executable: {error}")))?;
        Ok(Self { directory: this.parent().map(PathBuf::from).unwrap_or_default() })
    }

    /// Where the binary of a tool is.
    pub(crate) fn path(&self, tool: Tool) -> PathBuf {
        self.directory.join(tool.binary())
    }

    /// Runs one measurement.
    pub(crate) fn run(&self, tool: Tool, run: &Run) -> Result<Measurement, PeerError> {
        let what = format!("{} {}", run.program, run.mode);
        let measurement: Measurement = self.line(tool, &what, &run.arguments())?;
        if measurement.executions == 0 {
            return Err(PeerError(format!("{tool} on {what} made no execution")));
        }
        Ok(measurement)
    }

    /// Runs a peer and reads the last line that it prints. `what` is for messages.
    pub(crate) fn line<T: DeserializeOwned>(
        &self,
        tool: Tool,
        what: &str,
        arguments: &[String],
    ) -> Result<T, PeerError> {
        let lines = self.text(tool, what, arguments)?;
        // traceforge tells how far it is before.
        let line = lines.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| {
            PeerError(format!("{tool} on {what} printed no measurement ({error}): {lines}"))
        })
    }

    /// Runs a peer and reads all that it prints. `what` is for messages.
    pub(crate) fn text(
        &self,
        tool: Tool,
        what: &str,
        arguments: &[String],
    ) -> Result<String, PeerError> {
        let binary = self.directory.join(tool.binary());
        let command_line = format!("{} {}", binary.display(), arguments.join(" "));
        let mut command = Command::new(&binary);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // shuttle tells of each failure how to replay it.
        if tool == Tool::ShuttleCorpus {
            command.stderr(Stdio::null());
        }
        for name in settings_of_tools() {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|error| {
            PeerError(format!(
                "could not start {} ({error}): build it with `cargo build --profile {PROFILE} -p {} --bin {}`",
                binary.display(),
                tool.package(),
                tool.binary()
            ))
        })?;
        let failed = |how: &str| {
            PeerError(format!("{tool} on {what} {how}: run `{command_line}` to see why"))
        };
        let Some(status) = wait(&mut child).map_err(|error| failed(&error.to_string()))? else {
            return Err(failed("did not end in two minutes"));
        };
        if !status.success() {
            return Err(failed(&format!("failed with {status}")));
        }
        let mut lines = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut lines).map_err(|error| failed(&error.to_string()))?;
        }
        Ok(lines)
    }
}

/// The name of the toolchain that this cargo is of, if rustup has installed it. Named, it is the one of all packages:
/// otherwise a package that brings a `rust-toolchain.toml`, as dashmap does, asks for its own.
fn toolchain(cargo: &str) -> Option<&str> {
    let mut parts = Path::new(cargo).components().map(|part| part.as_os_str().to_str());
    parts.find(|part| *part == Some("toolchains"))?;
    parts.next()?
}

/// Variables that would change what a tool does.
fn settings_of_tools() -> impl Iterator<Item = OsString> {
    env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        ["RADDLE_", "SHUTTLE_", "LOOM_"].iter().any(|prefix| name.starts_with(prefix))
    })
}

/// Waits for a peer's few lines, which fit in the pipe; kills it at the deadline.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(2));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_peer_is_reported_with_the_command_that_builds_it() {
        let peers = Peers { directory: PathBuf::from("/nowhere") };
        let run = Run::new(Program::Tiny, Mode::Dfs, 1);
        let error = peers.run(Tool::Loom, &run).expect_err("not there");
        assert_eq!(
            error.to_string(),
            "could not start /nowhere/peer-loom (No such file or directory (os error 2)): build it \
             with `cargo build --profile compare -p peer-loom --bin peer-loom`"
        );
    }

    #[test]
    fn a_run_becomes_a_command_line() {
        let mut run = Run::new(Program::Pairs(2, 3), Mode::Exhaust, 7);
        assert_eq!(run.arguments(), ["pairs-2x3", "exhaust", "--executions", "7"]);
        run.reduction = Some(Reduction::Source);
        run.within = Some(Duration::from_millis(1_500));
        assert_eq!(run.arguments()[4..], ["--reduction", "source", "--seconds", "1.5"]);
    }

    #[test]
    fn a_toolchain_of_rustup_is_named_by_where_its_cargo_is() {
        let stable = "/home/me/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/cargo";
        assert_eq!(toolchain(stable), Some("stable-x86_64-unknown-linux-gnu"));
        assert_eq!(toolchain("/usr/bin/cargo"), None);
    }
}
