//! Failing schedules that are kept: `raddle-regressions/` beside the manifest of the package, one file
//! for each, meant to be committed. Whose a file is stands in it; its name is for people.
//!
//! Nothing here deletes: a schedule that passes now, or fits the test no longer, is the user's to drop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use raddle_trace::events::TestId;
use raddle_trace::{Failure, SavedFailure, saved};

/// The directory.
const DIRECTORY: &str = "raddle-regressions";

/// Where the schedules of a package are.
pub(crate) fn directory(package: &Path) -> PathBuf {
    package.join(DIRECTORY)
}

/// The saved schedules of a test, by file name. A file that cannot be read is left out.
pub(crate) fn of(package: &Path, test: &TestId) -> Vec<(PathBuf, SavedFailure)> {
    let mut found: Vec<(PathBuf, SavedFailure)> = files(package)
        .filter_map(|path| {
            let saved = read(&path).ok()?;
            let whose = saved.test.as_deref() == Some(&test.test)
                && saved.target.as_deref().is_none_or(|target| target == test.target);
            whose.then_some((path, saved))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// What is wrong with files that cannot be read, a line each.
pub(crate) fn unreadable(package: &Path) -> Vec<String> {
    let wrong = |path: PathBuf| read(&path).err().map(|why| format!("{}: {why}", path.display()));
    files(package).filter_map(wrong).collect()
}

fn files(package: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory(package)).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"))
}

/// A saved failure, checked.
pub(crate) fn read(path: &Path) -> Result<SavedFailure, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    // First by the reader that checks what it reads.
    raddle_report::failure_from_json(&text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Saves a failure, unless its schedule is there already.
pub(crate) fn save(package: &Path, test: &TestId, failure: &Failure) -> io::Result<PathBuf> {
    let same = |(_, saved): &&(PathBuf, SavedFailure)| saved.failure.schedule == failure.schedule;
    if let Some((path, _)) = of(package, test).iter().find(same) {
        return Ok(path.clone());
    }
    let saved = SavedFailure {
        package: Some(test.package.clone()),
        target: Some(test.target.clone()),
        test: Some(test.test.clone()),
        failure: failure.clone(),
    };
    let (directory, stem) = (directory(package), saved::file_stem(&test.test));
    fs::create_dir_all(&directory)?;
    let name = |n: u32| if n == 1 { format!("{stem}.json") } else { format!("{stem}.{n}.json") };
    let path = (1..10_000).map(|n| directory.join(name(n))).find(|path| !path.exists());
    let path = path.ok_or_else(|| io::Error::other("no name is free"))?;
    write(&path, &saved)?;
    Ok(path)
}

/// Writes a saved failure.
pub(crate) fn write(path: &Path, saved: &SavedFailure) -> io::Result<()> {
    let json = serde_json::to_string_pretty(saved).map_err(io::Error::other)?;
    // Beside it and moved into place, so that no reader sees half of it.
    let draft = path.with_extension("tmp");
    fs::write(&draft, json + "\n")?;
    fs::rename(&draft, path)
}
