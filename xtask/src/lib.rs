//! Chores of the workspace, as functions that tests can call.

pub mod budgets;
pub mod crates;
pub mod instructions;
pub mod layers;
pub mod links;
pub mod mutate;
pub mod nightly;
pub mod size;
pub mod tidy;
pub mod weight;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
///
/// # Panics
/// If the source tree of this package has been moved away from under it.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the package is inside the workspace").to_owned()
}

/// Writes a file, and says which if it cannot.
pub(crate) fn write_file(path: &Path, text: &[u8]) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
