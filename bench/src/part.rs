//! Tables with their plots, as Markdown that shows pictures and as the files of both.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::plot::Plot;
use crate::table::Table;

/// A table with the plots that belong to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) table: Table,
    /// By file name.
    pub(crate) plots: Vec<(String, Plot)>,
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self { table, plots: Vec::new() }
    }
}

/// Tables as Markdown, each with its plots below, which are in `plots`.
pub(crate) fn markdown(parts: &[Part], plots: &str) -> String {
    let mut text = String::new();
    for part in parts {
        let _ = writeln!(text, "{}", part.table.markdown());
        for (file, plot) in &part.plots {
            let _ = writeln!(text, "![{}]({plots}/{file}.svg)\n", plot.title);
        }
    }
    text
}

/// Writes the text to `<dir>/<name>.md` and the plots to `<dir>/<plots>/`.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn write(
    dir: &Path,
    name: &str,
    text: &str,
    parts: &[Part],
    plots: &str,
) -> Result<(), String> {
    let failed = |path: &Path, error| format!("could not write {}: {error}", path.display());
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    let plots = dir.join(plots);
    if parts.iter().any(|part| !part.plots.is_empty()) {
        fs::create_dir_all(&plots).map_err(|error| failed(&plots, error))?;
    }
    for (file, plot) in parts.iter().flat_map(|part| &part.plots) {
        let path = plots.join(file).with_added_extension("svg");
        fs::write(&path, plot.svg()).map_err(|error| failed(&path, error))?;
    }
    let path = dir.join(name).with_added_extension("md");
    fs::write(&path, text).map_err(|error| failed(&path, error))
}
