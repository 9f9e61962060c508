//! Files of raddle: where they lie, and how they are written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::Env;

/// Writes a file beside its place and moves it there: another process may read or write the same.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&draft, text)?;
    fs::rename(&draft, path)
}

/// The file, from here or from a directory above: a test runs in the directory of its package, and
/// its user may sit in that of the workspace.
pub(crate) fn find(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|above| above.join(path)).find(|path| path.is_file())
}

/// The build directory: of the running binary, or as cargo was told, or of the package.
pub(crate) fn target_dir(env: &Env) -> Option<PathBuf> {
    let marked = |directory: &&Path| directory.join("CACHEDIR.TAG").is_file();
    let exe = std::env::current_exe().ok();
    let of_exe = exe.as_deref().and_then(|exe| exe.ancestors().skip(1).find(marked));
    if let Some(found) = of_exe {
        return Some(found.to_owned());
    }
    if let Some(told) = &env.target_dir {
        return Some(PathBuf::from(told));
    }
    let package = env.manifest_dir.as_deref().map(Path::new)?;
    package.ancestors().map(|above| above.join("target")).find(|target| target.is_dir())
}
