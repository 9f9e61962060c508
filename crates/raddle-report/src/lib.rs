//! What a person or a program reads of a search: [`raddle_trace`] data as terminal text and JSON.
//!
//! Everything here is a function from data to a `String`: nothing prints, reads a file, or looks
//! at the environment, and the engine is not linked. So a report can be rendered on another
//! machine than the one that searched.
//!
//! Reading order: [`render()`] (a whole report), [`table()`] (one execution, a lane for each task),
//! [`to_json`] and [`from_json`] (stored reports), [`schedule_from_json`] (what a replay needs),
//! [`progress_line`] (a search that runs).

mod columns;
mod fold;
mod json;
mod progress;
mod races;
mod table;
mod text;
mod waits;
mod why;

#[cfg(test)]
mod samples;

pub use columns::Colour;
pub use json::{
    MAX_BYTES, ReportError, failure_from_json, failure_to_json, from_json, pairs_from_json,
    pairs_to_json, schedule_from_json, to_json, to_json_pretty,
};
pub use progress::{estimated, progress_line};
pub use table::{TableOptions, table};
pub use text::{LONG_TOKEN, TextOptions, render};
pub use why::explanation;
