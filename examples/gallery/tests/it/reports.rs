//! What raddle says of the wrong programs is what `reports/` has. `UPDATE_REPORTS=1` rewrites it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use raddle::{Config, Trace};
use raddle_report::html::{Sources, trace_page};

/// Runs a test that fails, and compares what it says with the files that are kept.
pub(crate) fn compare(name: &str, test: fn()) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().and_then(Path::parent).expect("the workspace");
    // However busy the machine is, the failure is made as small as on an idle one.
    let config = Config::from_env().expect("no variable is wrong");
    let config = config.minimise(Duration::from_secs(600)).explain(true);
    let mut report = raddle::explore(config.clone(), test).expect("it can be searched");
    let said =
        catch_unwind(AssertUnwindSafe(|| raddle::check_with(config, test))).expect_err("it fails");
    let said = said.downcast_ref::<String>().expect("a report").as_str();
    let (text, trace) = without_what_varies(said);
    let json = fs::read_to_string(trace).expect("the whole trace was written");
    // The failure as it was made small and explained, in the report of the search that found it.
    report.failure = Some(raddle_report::failure_from_json(&json).expect("raddle wrote it"));
    report.elapsed_ms = 0;
    place_in_raddle(&mut report.failure.as_mut().expect("it was set").trace);
    let mut sources = Sources::default();
    for file in Sources::wanted(&report).into_iter().filter(|file| !file.starts_with(OURS)) {
        sources.insert(file, &fs::read_to_string(root.join(file)).expect("a source of ours"));
    }
    let page = trace_page(&report, &sources);
    for (kind, made) in [("txt", text), ("html", page)] {
        let file = package.join(format!("reports/{name}.{kind}"));
        if std::env::var_os("UPDATE_REPORTS").is_some() {
            fs::write(&file, &made).expect("it can be written");
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == made, "{} is not what is said now:\n{made}", file.display());
    }
}

/// Where raddle's own sources are, before the name of a package.
const OURS: &str = "crates/";

/// Places within raddle are at line 0, so that a change there leaves these reports as they are.
fn place_in_raddle(trace: &mut Trace) {
    let created = trace.objects.iter_mut().map(|object| &mut object.created);
    let sites = created.chain(trace.events.iter_mut().map(|event| &mut event.site));
    for site in sites.filter(|site| site.file.starts_with(OURS)) {
        (site.line, site.column) = (0, 0);
    }
}

/// A line of text with the same done to it.
fn with_places_in_raddle(line: &str) -> String {
    let ours = |place: &str| place.starts_with(OURS) || place.starts_with("…/step.rs");
    let place = |word: &str| match word.split_once(".rs:") {
        Some((file, rest)) if ours(word) => {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
            format!("{file}.rs{rest}")
        }
        _ => word.to_owned(),
    };
    line.split(' ').map(place).collect::<Vec<_>>().join(" ")
}

/// The report without times and places of this machine; and where the whole trace is.
fn without_what_varies(said: &str) -> (String, String) {
    let mut text = String::new();
    let mut trace = String::new();
    let mut lines = said.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("the whole trace: ") {
            path.clone_into(&mut trace);
            continue;
        }
        let mut line = with_places_in_raddle(line);
        if line.starts_with("searched with ") {
            // Where it is broken depends on how long the time is.
            while let Some(more) = lines.next_if(|more| more.starts_with("  ")) {
                line = format!("{line} {}", more.trim_start());
            }
            line = without_time(&line);
        }
        text.push_str(&line);
        text.push('\n');
    }
    (text, trace)
}

/// What a search did, but for how long it took.
fn without_time(line: &str) -> String {
    let Some((before, after)) = line.split_once(" in ") else { return line.to_owned() };
    let after = after.split_once(';').map_or("", |(_, after)| after);
    format!("{before};{after}")
}
