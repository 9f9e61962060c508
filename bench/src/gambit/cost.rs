//! What an execution costs best first and depth first.

use super::Part;
use crate::table::Table;

/// Measures it.
pub(crate) fn measure(_quick: bool) -> Part {
    let title = "Cost".to_owned();
    let failures = vec!["gambit cost: is not measured yet".to_owned()];
    Table { title, header: vec![String::new()], failures, ..Table::default() }.into()
}
