//! Makes the page of a report from its JSON alone, with sources if they are there.
//!
//! `cargo run -p raddle-report --example page -- report.json page.html [directory of the sources]`

use std::error::Error;
use std::fs;
use std::path::Path;

use raddle_report::from_json;
use raddle_report::html::{Sources, trace_page};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (report, page, root) = match arguments.as_slice() {
        [report, page] => (report, page, "."),
        [report, page, root] => (report, page, root.as_str()),
        _ => return Err("give the JSON of a report, and where its page is to be written".into()),
    };
    let report = from_json(&fs::read_to_string(report)?)?;
    let mut sources = Sources::default();
    for file in Sources::wanted(&report) {
        // A file that has moved or is another package's is left out.
        if let Ok(text) = fs::read_to_string(Path::new(root).join(file)) {
            sources.insert(file, &text);
        }
    }
    fs::write(page, trace_page(&report, &sources))?;
    Ok(())
}
