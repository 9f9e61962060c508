//! Deaths that a search has found and gone on after, in a file beside what it goes on from.
//!
//! A checkpoint, and the units that are left, are past them: a host that goes on from there does not meet them again. So
//! they are written down before another host is started, and a run that goes on later begins with them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use raddle_trace::Failure;
use raddle_trace::host::Avoid;
use serde::{Deserialize, Serialize};

/// What the hosts of a search died of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptDeaths {
    /// The ways that the next host is to keep from.
    pub(crate) avoid: Vec<Avoid>,
    /// One failure for each way of dying at each place.
    pub(crate) failures: Vec<Failure>,
}

/// A file of them: another build of the test may do something else.
#[derive(Serialize, Deserialize)]
struct OfBinary<T> {
    binary: String,
    deaths: T,
}

impl KeptDeaths {
    /// What an earlier run of the same binary has left; nothing if there was none.
    pub(crate) fn read(path: &Path, binary: &str) -> Result<Self, String> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        let read: OfBinary<Self> = serde_json::from_slice(&bytes).map_err(|error| {
            format!(
                "{} cannot be read ({error}): it has what the test died of in the run that is to go on; to begin anew, \
                 run with --discard-checkpoints",
                path.display()
            )
        })?;
        Ok(if read.binary == binary { read.deaths } else { Self::default() })
    }

    /// Written whole or not at all.
    pub(crate) fn write(&self, path: &Path, binary: &str) -> Result<(), String> {
        let written = || -> io::Result<()> {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let beside = path.with_extension("deaths-new");
            let mut file = File::create(&beside)?;
            let whole = OfBinary { binary: binary.to_owned(), deaths: self };
            file.write_all(&serde_json::to_vec(&whole).map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(beside, path)
        };
        written().map_err(|error| {
            format!("what the test died of could not be kept in {}: {error}", path.display())
        })
    }

    /// Adds a failure, unless the same is known.
    pub(crate) fn add(&mut self, failure: Failure) {
        if !self.failures.iter().any(|known| known.outcome == failure.outcome) {
            self.failures.push(failure);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use raddle_trace::Death;

    use super::*;

    #[test]
    fn deaths_are_read_back_by_the_same_binary_alone() {
        let directory = std::env::temp_dir().join(format!("raddle-deaths-{}", std::process::id()));
        let path = directory.join("a.deaths");
        assert!(KeptDeaths::read(&path, "1").unwrap().avoid.is_empty(), "there is no file");
        let death = Death::Exit { code: 7 };
        let avoid = vec![Avoid { options: vec![1, 2], death }];
        let kept = KeptDeaths { avoid, failures: Vec::new() };
        kept.write(&path, "1").unwrap();
        assert_eq!(KeptDeaths::read(&path, "1").unwrap().avoid, kept.avoid);
        assert!(KeptDeaths::read(&path, "2").unwrap().avoid.is_empty());
        fs::write(&path, "{").unwrap();
        let why = KeptDeaths::read(&path, "1").unwrap_err();
        assert!(why.contains("--discard-checkpoints"), "{why}");
        fs::remove_dir_all(directory).unwrap();
    }
}
