//! A table of comparisons, as text, Markdown or JSON.

use serde::Serialize;

/// One number of ours beside one of a peer. The JSON of `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    pub(crate) table: &'static str,
    pub(crate) row: String,
    pub(crate) column: String,
    pub(crate) ours: Option<f64>,
    pub(crate) peer: Option<f64>,
    /// How many times better ours is.
    pub(crate) ratio: Option<f64>,
}

/// A table that was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) comparisons: Vec<Comparison>,
    /// What a reader must know, a sentence each.
    pub(crate) notes: Vec<String>,
    /// Measurements that should be here and are not.
    pub(crate) failures: Vec<String>,
}

impl Table {
    pub(crate) fn json(&self) -> impl Iterator<Item = String> {
        self.comparisons
            .iter()
            .map(|row| serde_json::to_string(row).expect("a struct of numbers and strings"))
    }

    pub(crate) fn text(&self) -> String {
        let rows = self.aligned().into_iter().map(|row| row.join("  ").trim_end().to_owned());
        lines([self.title.clone(), String::new()].into_iter().chain(rows))
            + "\n"
            + &lines(self.notes.iter().cloned())
    }

    pub(crate) fn markdown(&self) -> String {
        let columns = self.header.len();
        let rule = (0..columns).map(|column| if is_text(column, columns) { "---" } else { "---:" });
        let rule = format!("|{}|", rule.collect::<Vec<_>>().join("|"));
        let mut rows: Vec<_> =
            self.aligned().into_iter().map(|row| format!("| {} |", row.join(" | "))).collect();
        rows.insert(1, rule);
        let notes = self.notes.iter().map(|note| format!("- {note}"));
        format!("## {}\n\n{}\n{}", self.title, lines(rows), lines(notes))
    }

    /// Header and rows, padded to the width of their columns.
    fn aligned(&self) -> Vec<Vec<String>> {
        let rows = || std::iter::once(&self.header).chain(&self.rows);
        let columns = self.header.len();
        let width = |column: usize| {
            rows().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let pad = |row: &Vec<String>| -> Vec<String> {
            let cells = row.iter().zip(&widths).enumerate();
            cells
                .map(|(column, (cell, &width))| {
                    if is_text(column, columns) {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                })
                .collect()
        };
        rows().map(pad).collect()
    }
}

fn lines(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

/// The first column names the row, and the last one may hold words; between them are numbers.
const fn is_text(column: usize, columns: usize) -> bool {
    column == 0 || column + 1 == columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        Table {
            title: "Speed".to_owned(),
            header: row(["program", "ns", "ended"]),
            rows: vec![row(["tiny", "12,345", "yes"]), row(["long", "—", "no"])],
            comparisons: vec![Comparison {
                table: "speed",
                row: "tiny".to_owned(),
                column: "loom".to_owned(),
                ours: Some(10.0),
                peer: None,
                ratio: None,
            }],
            notes: vec!["Numbers.".to_owned()],
            failures: Vec::new(),
        }
    }

    #[test]
    fn text_is_aligned() {
        let expected = "Speed\n\nprogram      ns  ended\ntiny     12,345  yes\nlong          —  no\n\nNumbers.\n";
        assert_eq!(table().text(), expected);
    }

    #[test]
    fn markdown_aligns_numbers_to_the_right() {
        let expected = "## Speed\n\n| program |     ns | ended |\n|---|---:|---|\n\
            | tiny    | 12,345 | yes   |\n| long    |      — | no    |\n\n- Numbers.\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn json_has_one_object_for_each_comparison() {
        let expected = r#"{"table":"speed","row":"tiny","column":"loom","ours":10.0,"peer":null,"ratio":null}"#;
        assert_eq!(table().json().collect::<Vec<_>>(), [expected]);
    }
}
