//! The page of several searches.

use raddle_report::html::{Sources, run_page};
use raddle_trace::{
    Band, Covered, Estimate, Progress, Report, Run, Sample, TraceCount, Tried, Verdict,
};
use serde_json::json;

use crate::Test;
use crate::chromium::{Browser, Scheme, WIDE};
use crate::samples::{lock_order, lost_update, passed};
use crate::traces::CONTRAST;

pub(crate) const TESTS: &[Test] = &[
    ("a_run_shows_verdicts_and_strategies_side_by_side", side_by_side),
    ("tests_of_a_run_are_filtered_and_reached_by_keys", filtered),
    ("nothing_of_a_run_becomes_markup", hostile),
    ("a_run_is_legible_in_light_and_dark", legible),
];

fn named(mut report: Report, test: &str, strategy: &str) -> Report {
    report.test = Some(test.to_owned());
    strategy.clone_into(&mut report.strategy);
    report
}

/// A search that learns as it goes.
pub(crate) fn samples(rate: u32) -> Vec<Sample> {
    let sample = |tick: u32| {
        let executions = u64::from(tick * rate);
        let about = 40_000.0 / f64::from(1 + tick % 7) + f64::from(rate);
        let total = Band { about, low: about / 3.0, high: about * 2.0 };
        let covered = f64::from(tick * rate).min(about);
        let estimate = Estimate { total, covered, search: total, weighted: None, probed: None };
        let distinct = u64::from(tick * rate / 2).min(900);
        let traces = Some(TraceCount { distinct, exact: true, error: 0.0, unseen: None });
        let progress = Progress { traces, estimate: Some(estimate), ..Progress::default() };
        let progress = progress.timed(executions, u64::from(tick) * 100);
        Sample { progress, pairs: Some(distinct / 9) }
    };
    (0..60).map(sample).collect()
}

fn run() -> Run {
    let covered = passed(Verdict::Covered, Covered::Everything);
    let part = passed(Verdict::Passed, Covered::Sample { executions: 12, bound: None });
    let tried =
        |report, rate| Tried { report, samples: samples(rate), page: None, expected: false };
    let failed = Tried {
        report: lost_update(),
        samples: Vec::new(),
        page: Some("lost.html".into()),
        expected: false,
    };
    let elsewhere = Tried {
        report: named(lock_order(), "locks", "dfs"),
        samples: Vec::new(),
        page: Some("https://example.invalid/".to_owned()),
        expected: false,
    };
    let searches = vec![
        failed,
        tried(named(covered, "queue", "dpor"), 40),
        tried(named(part, "queue", "pct(3)"), 90),
        elsewhere,
    ];
    Run { title: Some("nightly".to_owned()), elapsed_ms: 9_000, tried: searches, ..Run::default() }
}

fn side_by_side(browser: &Browser) {
    let script = r##"
        const cells = (row) => [...row.querySelectorAll("th, td")].slice(0, -1).map((cell) => cell.textContent.replace("\u00a0", " "));
        return {
          table: [...document.querySelectorAll(".summary tbody tr")].map(cells),
          plots: [...document.querySelectorAll("#t1 .plot > svg")].map((plot) => plot.querySelectorAll("path.line").length),
          captions: [...document.querySelectorAll("#t1 figcaption")].map((one) => one.firstChild.textContent.trim()),
          labels: document.querySelector("#t1 .plot > svg").getAttribute("aria-label"),
          links: [...document.querySelectorAll(".failure a")].map((link) => link.getAttribute("href")),
          wide: document.documentElement.scrollWidth <= innerWidth,
        };
    "##;
    let said = browser.run(&run_page(&run(), &Sources::default()), script);
    assert_eq!(
        said["table"],
        json!([
            ["transfers", "failed", "pct(3)", "12", "–", "–", "2 ms"],
            ["queue", "covered", "dpor", "12", "–", "12", "2 ms"],
            // At tick 59 of the samples: 40,000 by four, and 90.
            ["passed", "pct(3)", "12", "–", "10,000", "2 ms"],
            ["locks", "failed", "dfs", "12", "–", "–", "2 ms"],
        ])
    );
    assert_eq!(said["plots"], json!([2, 2, 2, 2, 2, 2]));
    let captions = ["Distinct traces by executions", "Distinct traces", "Executions"];
    let more = ["Executions in all, estimated", "Covered", "Pairs of places in order"];
    let captions: Vec<_> = captions.iter().chain(&more).collect();
    assert_eq!(said["captions"], json!(captions));
    assert!(said["labels"].as_str().is_some_and(|label| label.contains("dpor: ")));
    assert_eq!(said["links"], json!(["lost.html"]), "pages elsewhere are not linked");
    assert_eq!(said["wide"], true);
}

fn filtered(browser: &Browser) {
    let script = r#"
        const shown = () => [...document.querySelectorAll("section.test:not([hidden]) h2")].map((one) => one.textContent);
        const seen = { all: shown() };
        key("/");
        seen.focus = document.activeElement.id;
        type("filter", "DEADLOCK dfs"); seen.words = shown();
        type("filter", "none such"); seen.nothing = [shown(), $("nothing").hidden];
        key("Escape"); seen.again = shown().length;
        key("j"); seen.first = document.activeElement.textContent;
        key("j"); seen.second = document.activeElement.textContent;
        key("k"); seen.back = document.activeElement.textContent;
        return seen;
    "#;
    let said = browser.run(&run_page(&run(), &Sources::default()), script);
    assert_eq!(said["all"], json!(["transfers", "queue", "locks"]));
    assert_eq!(said["focus"], "filter");
    assert_eq!(said["words"], json!(["locks"]));
    assert_eq!(said["nothing"], json!([[], false]));
    assert_eq!(said["again"], 3);
    assert_eq!(
        (&said["first"], &said["second"], &said["back"]),
        (&json!("transfers"), &json!("queue"), &json!("transfers"))
    );
}

fn hostile(browser: &Browser) {
    let evil = "</script><script>window.owned=1</script><img src=x onerror=owned=1>\"'><b>";
    let mut run = run();
    run.title = Some(evil.to_owned());
    for tried in &mut run.tried {
        tried.report.test = Some(format!("{evil}{}", tried.report.strategy));
        evil.clone_into(&mut tried.report.strategy);
        tried.page = Some(evil.to_owned());
    }
    let script = "return [window.owned ?? null, count('img'), count('b'), document.title];";
    let said = browser.run(&run_page(&run, &Sources::default()), script);
    assert_eq!(said, json!([null, 0, 0, evil]));
}

fn legible(browser: &Browser) {
    let page = run_page(&run(), &Sources::default());
    for scheme in [Scheme::Light, Scheme::Dark] {
        assert_eq!(browser.run_in(&page, CONTRAST, scheme, WIDE)["weak"], json!([]));
    }
}
