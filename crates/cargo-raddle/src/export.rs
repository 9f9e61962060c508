//! A recorded failure for other tools. Nothing is built or run: a file that raddle wrote is all it takes.

use std::fs;
use std::path::Path;

use raddle_report::export::{dot, mermaid, perfetto};
use raddle_trace::{DecisionTree, Failure, exit};

use crate::cli::{self, As};
use crate::error::DriverError;
use crate::print;

pub(crate) fn export(asked: &cli::Export) -> Result<u8, DriverError> {
    let failure = read(&asked.file)?;
    if failure.trace.events.is_empty() && asked.format != As::Dot {
        let file = asked.file.display();
        return Err(DriverError::usage(format!(
            "`{file}` has a schedule and no steps; cargo raddle replay {file} shows them"
        )));
    }
    let text = match asked.format {
        As::Perfetto => perfetto(&failure),
        As::Mermaid => mermaid(&failure),
        As::Dot => dot(&DecisionTree::from(&failure)),
    };
    match &asked.output {
        None => print::out(&text),
        Some(path) => fs::write(path, text).map_err(|error| {
            DriverError::tool(format!("cannot write {}: {error}", path.display()))
        })?,
    }
    Ok(exit::PASSED)
}

fn read(path: &Path) -> Result<Failure, DriverError> {
    let wrong =
        |why: String| DriverError::usage(format!("cannot export `{}`: {why}", path.display()));
    if !path.exists() && path.to_string_lossy().starts_with("rd1") {
        return Err(wrong(
            "a token has no steps; give the path of a file in raddle-regressions/ or target/raddle/"
                .to_owned(),
        ));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    match raddle_report::failure_from_json(&text) {
        Ok(failure) => Ok(failure),
        // A whole report has its failure inside.
        Err(why) => match raddle_report::from_json(&text).map(|report| report.failure) {
            Ok(Some(failure)) => Ok(failure),
            Ok(None) => Err(wrong("it is the report of a test that did not fail".to_owned())),
            Err(_) => Err(wrong(why.to_string())),
        },
    }
}
