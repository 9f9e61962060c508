//! Results as XML of the junit kind: what CI servers read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_trace::events::Ending;

use super::{failure_text, guarantee};
use crate::check::Tested;
use raddle_report::Colour;

/// A suite for each binary.
pub(crate) fn junit(tested: &[Tested]) -> String {
    let mut suites: BTreeMap<String, Vec<&Tested>> = BTreeMap::new();
    for test in tested {
        let name = format!("{}::{}", test.id.package, test.id.target);
        suites.entry(name).or_default().push(test);
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let count = |tests: &[&Tested], ending| tests.iter().filter(|t| t.ending == ending).count();
    let all: Vec<&Tested> = tested.iter().collect();
    let _ = writeln!(
        out,
        "<testsuites name=\"raddle\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
        all.len(),
        count(&all, Ending::Failed),
        count(&all, Ending::Inconclusive)
    );
    for (name, tests) in &suites {
        let seconds: f64 = tests.iter().map(|test| test.elapsed.as_secs_f64()).sum();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{seconds:.3}\">",
            escape(name),
            tests.len(),
            count(tests, Ending::Failed),
            count(tests, Ending::Inconclusive)
        );
        for test in tests {
            case(&mut out, name, test);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, suite: &str, test: &Tested) {
    let _ = writeln!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
        escape(suite),
        escape(&test.id.test),
        test.elapsed.as_secs_f64()
    );
    let all = escape(&failure_text(test, Colour::Never, 100));
    match test.ending {
        Ending::Passed => {}
        Ending::Failed => {
            let message = escape(&guarantee(test));
            let _ = writeln!(out, "      <failure message=\"{message}\">{all}</failure>");
        }
        Ending::Inconclusive => {
            let message = escape(test.error.as_deref().unwrap_or("the search could not go on"));
            let _ = writeln!(out, "      <error message=\"{message}\">{all}</error>");
        }
    }
    let said = match &test.report {
        Some(report) => report.guarantee.to_string(),
        None => String::new(),
    };
    let _ =
        writeln!(out, "      <system-out>{}{}</system-out>", escape(&said), escape(&shown(test)));
    out.push_str("    </testcase>\n");
}

fn shown(test: &Tested) -> String {
    if test.output.is_empty() { String::new() } else { format!("\n{}", test.output) }
}

/// Text as XML. What XML cannot hold at all becomes a question mark.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            _ if letter.is_control() => out.push('?'),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escape("a<b> & \"c\" \u{1b}[0m\n"), "a&lt;b&gt; &amp; &quot;c&quot; ?[0m\n");
    }
}
