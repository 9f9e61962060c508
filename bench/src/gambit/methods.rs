//! The priority by methods with both names, and with each one: section 5.3.

use super::Part;
use crate::table::Table;

/// Measures it.
pub(crate) fn measure(_quick: bool) -> Part {
    let title = "Methods".to_owned();
    let failures = vec!["gambit methods: is not measured yet".to_owned()];
    Table { title, header: vec![String::new()], failures, ..Table::default() }.into()
}
