//! Pages, as far as that can be told without a browser: `tests/browser` has the rest.

use insta::assert_snapshot;
use raddle_trace::{Covered, Missing, Note, Report, Run, Tried, Verdict};
use serde_json::Value;

use super::*;
use crate::samples::{
    FILE, data_race, divergence, livelock, lock_cycle, lock_order, lost_update, notified, passed,
    site, stack_overflow, three_panics, two_tills,
};

/// A page without its styles, scripts and data, a line for each element.
fn skeleton(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    for end in ["</style>", "</script>", "</script>"] {
        let Some((kept, after)) = rest.split_once(end) else { break };
        let begin = kept.rfind(['>']).filter(|_| end == "</style>").unwrap_or(0);
        let tag = if end == "</style>" { "<style>" } else { "<script" };
        out.push_str(&kept[..kept.rfind(tag).unwrap_or(begin)]);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What the script of a page is given.
fn given(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").expect("a page with steps");
    let (data, _) = data.split_once("</script>").expect("it ends");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn a_page_without_a_failure_says_what_was_covered() {
    let mut report = passed(Verdict::Covered, Covered::Everything);
    report.notes = vec![lock_cycle(), Note::Diverged(divergence())];
    assert_snapshot!(skeleton(&trace_page(&report, &Sources::default())));
}

#[test]
fn a_page_with_a_failure_has_all_its_parts() {
    assert_snapshot!(skeleton(&trace_page(&lock_order(), &Sources::default())));
}

#[test]
fn panics_stand_between_the_steps_of_a_page_and_the_first_one_leads() {
    let page = trace_page(&three_panics(), &Sources::default());
    let headline = "<p class=\"headline\">thread 2 panicked at tests/account.rs:23";
    assert!(page.contains(headline), "{}", skeleton(&page));
    let titles: Vec<&str> = ["<h2>Failure</h2>", "<h2>Earlier panic</h2>", "<h2>Later panic</h2>"]
        .into_iter()
        .filter(|title| page.contains(title))
        .collect();
    assert_eq!(titles, ["<h2>Failure</h2>", "<h2>Later panic</h2>"]);
    let ends = &given(&page)["ends"];
    let places: Vec<_> = (0..3).map(|end| (&ends[end]["task"], &ends[end]["step"])).collect();
    let (none, at) = (Value::Null, |n: u32| Value::from(n));
    assert_eq!(places, [(&at(2), &at(2)), (&at(1), &at(3)), (&at(0), &none)]);
}

#[test]
fn a_page_of_a_run_has_all_its_parts() {
    let tried = |report: Report| Tried {
        report,
        samples: Vec::new(),
        page: Some("a.html".into()),
        expected: false,
    };
    let mut other = lock_order();
    other.test = Some("other".into());
    let tests = vec![
        tried(lost_update()),
        tried(passed(Verdict::Inconclusive, Covered::Everything)),
        tried(other),
    ];
    let run =
        Run { title: Some("queue".into()), elapsed_ms: 70_000, tried: tests, ..Run::default() };
    let mut sources = Sources::default();
    sources.insert(FILE, &"a line\n".repeat(40));
    assert_snapshot!(skeleton(&run_page(&run, &sources)));
}

#[test]
fn a_test_that_is_to_fail_and_does_is_as_expected() {
    let failed =
        |expected| Tried { report: lost_update(), samples: Vec::new(), page: None, expected };
    let run = Run { tried: vec![failed(true), failed(true), failed(false)], ..Run::default() };
    let page = run_page(&run, &Sources::default());
    let tally = |n, class, word| {
        format!("<span class=\"tally\">{n} <span class=\"badge {class}\">{word}</span></span>")
    };
    assert!(page.contains(&tally(2, "expected", "as expected")), "{page}");
    assert!(page.contains(&tally(1, "failed", "failed")), "{page}");
}

#[test]
fn the_script_is_given_columns() {
    let page = trace_page(&two_tills(), &Sources::default());
    let data = given(&page);
    assert_eq!(data["task"], serde_json::json!([1, 2, 3, 4, 5, 6, 0]));
    assert_eq!(data["after"], serde_json::json!([0, 0, [0], [1, 2], [2], [3], [4, 5]]));
    assert_eq!(data["exact"], true);
    assert_eq!(data["messages"]["lanes"], serde_json::json!([1, 2, 3, 3, 1, 2, 4]));
    assert_eq!(data["ends"][0]["text"], "panicked: sold twice");
}

#[test]
fn the_script_is_given_what_arrows_are_and_where_states_change() {
    let page = trace_page(&notified(), &Sources::default());
    let data = given(&page);
    // Step 7 wakes: notified by 4, with the lock that 5 gave back.
    assert_eq!(data["after"][7], serde_json::json!([4, 5]));
    assert_eq!(data["kinds"][7], serde_json::json!([2, 1]));
    assert_eq!((&data["after"][8], &data["kinds"][8]), (&serde_json::json!([6]), &0.into()));
    assert_eq!(data["fails"], 8);
    assert_eq!(data["states"]["step"], serde_json::json!([0, 1, 1, 2, 3, 5, 6, 7, 7, 8]));
    assert_eq!(data["addresses"], serde_json::json!([]));
    let mut sources = Sources::default();
    sources.link(crate::Links { root: "/w".into(), format: "{path}#{line}".to_owned() });
    let data = given(&trace_page(&notified(), &sources));
    assert_eq!(data["addresses"][0], "/w/tests/account.rs#9");
}

#[test]
fn only_the_lines_around_a_step_are_in_the_page() {
    let mut sources = Sources::default();
    let text: Vec<String> = (1..100).map(|line| format!("line {line}")).collect();
    sources.insert(FILE, &text.join("\n"));
    sources.insert("src/secret.rs", "no step is here");
    let page = trace_page(&lost_update(), &sources);
    // Steps at 12, 13 and 19, the counter from 8: five lines on each side.
    let lines = &given(&page)["lines"][0];
    let shown: Vec<u32> = (1..100).filter(|line| lines.get(line.to_string()).is_some()).collect();
    assert_eq!(shown, (3..=24).collect::<Vec<_>>());
    assert!(!page.contains("no step is here"));
    assert_eq!(Sources::wanted(&lost_update()).into_iter().collect::<Vec<_>>(), [FILE]);
}

#[test]
fn a_long_line_and_a_line_that_is_not_there_do_no_harm() {
    let mut sources = Sources::default();
    sources.insert(FILE, &"x".repeat(1_000_000));
    assert!(trace_page(&lost_update(), &sources).len() < 100_000);
    let mut report = lost_update();
    let events = &mut report.failure.as_mut().expect("failed").trace.events;
    (events[0].site.line, events[1].site.line) = (0, u32::MAX);
    assert!(trace_page(&report, &sources).contains("<!doctype html>"));
    assert_eq!(sources.around(&site(0)).len(), 1);
}

#[test]
fn text_cannot_become_markup() {
    let evil = "</script><!--\"'&\u{2028}\x1b<b>";
    assert_eq!(escape(evil), "&lt;/script&gt;&lt;!--&quot;&#39;&amp;\u{2028}\\u{1b}&lt;b&gt;");
    let json = serde_json::to_string(evil).expect("JSON");
    let embedded = embed(&json);
    assert!(!embedded.contains(['<', '>', '&', '\u{2028}']));
    assert_eq!(serde_json::from_str::<String>(&embedded).expect("JSON"), evil);
    let mut report = lost_update();
    report.test = Some("{data}{search}</title>".to_owned());
    report.failure.as_mut().expect("failed").trace.events[0].op = evil.to_owned();
    let page = trace_page(&report, &Sources::default());
    assert!(page.contains("<title>{data}{search}&lt;/title&gt;: failed</title>"));
    assert!(page.contains("<h1>{data}{search}&lt;/title&gt;</h1>"), "names are not looked into");
    // The data, and the script of the page.
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn every_outcome_has_a_page() {
    let mut empty = lost_update();
    empty.failure.as_mut().expect("failed").trace.events.clear();
    let reports = [livelock(), stack_overflow(), data_race(Missing::End), two_tills(), empty];
    for report in reports {
        let page = trace_page(&report, &Sources::default());
        assert!(page.contains("transfers") && page.ends_with("</html>\n"));
        // The one address is the name of SVG.
        let addresses = page.replace("\"http://www.w3.org/2000/svg\"", "");
        assert!(!addresses.contains("http:") && !addresses.contains("https:"));
    }
}

#[test]
fn a_page_has_the_orders_of_receives_that_were_seen_and_those_that_were_not() {
    let mut report = passed(Verdict::Passed, Covered::Everything);
    assert!(!trace_page(&report, &Sources::default()).contains("Orders of receives"));
    let covered = |pairs, covered| raddle_trace::PairsCovered { pairs, covered, goals: 0 };
    let count = raddle_trace::ReceiveCount {
        pr: covered(6, 4),
        pcr: covered(6, 2),
        ..raddle_trace::ReceiveCount::default()
    };
    let pair = |second: &str, must| raddle_trace::UncoveredPair {
        actor: "writer 1".to_owned(),
        first: "Open from <runner>".to_owned(),
        second: second.to_owned(),
        must,
    };
    let uncovered = vec![pair("Write from action", false), pair("Close from runner", true)];
    let seen = raddle_trace::ReceivesSeen { count, uncovered, open: (1, 1), ..Default::default() };
    report.receives = Some(seen);
    let page = trace_page(&report, &Sources::default());
    assert!(page.contains("<section><h2>Orders of receives</h2>"), "{page}");
    assert!(page.contains("<dt>one order only</dt><dd>1, and 1 as they must</dd>"), "{page}");
    let first = "writer 1: Open from &lt;runner&gt; always before Write from action";
    assert!(page.contains(first), "{page}");
    assert!(!page.contains("with a change of behaviour"), "there was none");
}

#[test]
fn a_page_says_why() {
    let mut report = lost_update();
    let failure = report.failure.as_mut().expect("failed");
    let lost = Some(raddle_trace::Lost { step: Some(1), tried: 30 });
    failure.explanation = Some(raddle_trace::Explanation::new(Vec::new(), 0, lost));
    let page = trace_page(&report, &Sources::default());
    let why = "<summary><h2>Why</h2></summary><ul class=\"plain\"><li>after step 1 (thread 2: load \
               counter -&gt; 0) it was lost: all of 30 ways to go on that were tried fail</li></ul>";
    assert!(page.contains(why));
}

#[test]
fn numbers_have_their_thousands_apart() {
    for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(number(n), text);
    }
}

#[test]
fn a_page_of_a_run_lists_what_was_found_besides() {
    let mut report = lost_update();
    report.others.extend(lock_order().failure);
    let tried = Tried { report, samples: Vec::new(), page: None, expected: false };
    let page = run_page(&Run { tried: vec![tried], ..Run::default() }, &Sources::default());
    let (_, besides) = page.split_once("The search went on").expect("it says so");
    assert!(besides.contains("deadlock") && besides.contains("RADDLE_REPLAY="), "{besides}");
}
