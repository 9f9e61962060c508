//! Results as XML of the junit kind: what CI servers read.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use raddle_report::Colour;
use raddle_trace::events::Ending;

use super::{failure_text, guarantee};
use crate::check::Tested;
use crate::print;

/// Writes the results, with a suite for each binary.
pub(crate) fn junit(tested: &[Tested], to: impl io::Write) -> io::Result<()> {
    let mut suites: BTreeMap<String, Vec<&Tested>> = BTreeMap::new();
    for test in tested {
        let name = format!("{}::{}", test.id.package, test.id.target);
        suites.entry(name).or_default().push(test);
    }
    let mut report = Report::new("raddle");
    for (name, tests) in &suites {
        let mut suite = TestSuite::new(name);
        suite.set_time(tests.iter().map(|test| test.elapsed).sum::<Duration>());
        suite.add_test_cases(tests.iter().map(|test| case(name, test)));
        report.add_test_suite(suite);
    }
    report.serialize(to).map_err(io::Error::other)
}

fn case(suite: &str, test: &Tested) -> TestCase {
    let mut case = TestCase::new(&test.id.test, status(test));
    case.set_classname(suite).set_time(test.elapsed);
    let mut said = match &test.report {
        Some(report) => report.guarantee.to_string(),
        None => String::new(),
    };
    if !test.output.is_empty() {
        said.push('\n');
        said.push_str(&test.output);
    }
    case.set_system_out(kept(&said));
    case
}

/// Neither a pass nor a failure, so CI servers are told that the test was left out.
const INTERRUPTED: &str = "interrupted: Ctrl-C ended its search before that was through";

fn status(test: &Tested) -> TestCaseStatus {
    let (kind, message) = match test.ending {
        Ending::Passed => return TestCaseStatus::success(),
        Ending::Interrupted => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(INTERRUPTED);
            return status;
        }
        Ending::Failed => (NonSuccessKind::Failure, guarantee(test)),
        Ending::Inconclusive => {
            let message = test.error.as_deref().unwrap_or("the search could not go on");
            (NonSuccessKind::Error, message.to_owned())
        }
    };
    let mut status = TestCaseStatus::non_success(kind);
    let description = failure_text(test, Colour::Never, 100, print::full(false));
    status.set_message(kept(&message)).set_description(kept(&description));
    status
}

/// Text in which `quick_junit` leaves out nothing but control characters: it would drop tabs with them.
/// What XML cannot hold and is no control character becomes a question mark, which it does not look for.
fn kept(text: &str) -> String {
    text.replace('\t', "    ").replace(['\u{fffe}', '\u{ffff}'], "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_left_out_or_replaced() {
        let mut case = TestCase::new("it", TestCaseStatus::success());
        case.set_system_out(kept("a<b> & \"c\"\td\u{1b}[0m\n\u{7}\u{ffff}"));
        let mut suite = TestSuite::new("all");
        suite.add_test_case(case);
        let mut report = Report::new("raddle");
        report.add_test_suite(suite);
        let text = report.to_string().expect("written to memory");
        let out = "<system-out>a&lt;b&gt; &amp; &quot;c&quot;    d\n?</system-out>";
        assert!(text.contains(out), "{text}");
    }
}
