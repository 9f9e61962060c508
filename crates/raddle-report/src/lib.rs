//! What a person or a program reads of a search: [`raddle_trace`] data as terminal text, JSON, pages,
//! and files for other tools.
//!
//! Everything here is a function from data to a `String`: nothing prints, reads a file, or looks
//! at the environment, and the engine is not linked. So a report can be rendered on another
//! machine than the one that searched.
//!
//! Reading order: [`render()`] (a whole report), [`table()`] (one execution, a lane for each task),
//! [`to_json`] and [`from_json`] (stored reports), [`schedule_from_json`] (what a replay needs),
//! [`progress_line`] (a search that runs), [`summary_lines`] (all tests of a run), [`html`] (pages to look at), [`export`] (other tools).
//!
//! Without the feature `pages` there is only what a test says by itself. `raddle` takes it so, because every test binary has it.
#![cfg_attr(
    not(feature = "pages"),
    allow(dead_code, reason = "what text and pages share is used more by pages")
)]

mod columns;
#[cfg(feature = "pages")]
mod curves;
mod explanation;
pub mod export;
mod fold;
#[cfg(feature = "pages")]
pub mod html;
mod json;
mod links;
mod messages;
mod minor;
mod notes;
mod order;
mod progress;
mod races;
mod shown_at;
mod summary;
mod table;
mod text;
mod variables;
mod waits;

#[cfg(test)]
mod samples;

pub use columns::Colour;
#[cfg(feature = "pages")]
pub use curves::{Curve, CurveOptions, curves};
pub use explanation::explanation;
pub use json::{
    MAX_BYTES, ReportError, failure_from_json, failure_to_json, from_json, orders_from_json,
    orders_to_json, pairs_from_json, pairs_to_json, partial_schedule_from_json,
    partial_schedule_to_json, schedule_from_json, to_json, to_json_pretty,
};
pub use links::Links;
pub use notes::sentence;
pub use progress::{estimated, progress_line, progress_row};
pub use summary::{SummaryRow, summary_lines, summary_markdown};
pub use table::{TableOptions, table};
pub use text::{LONG_TOKEN, TextOptions, render};
pub use variables::{name_objects, name_trace};
