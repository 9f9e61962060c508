//! The page of several searches.

use raddle_report::html::{Sources, run_page};
use raddle_trace::{
    About, Band, Covered, Estimate, Progress, Report, Run, Sample, TraceCount, Tried, Verdict,
};
use serde_json::json;

use crate::Test;
use crate::chromium::{Browser, Scheme};
use crate::samples::{lock_order, lost_update, passed};
use crate::traces::{CONTRAST, OVERFLOWS, WINDOWS};

pub(crate) const TESTS: &[Test] = &[
    ("a_run_shows_verdicts_and_strategies_side_by_side", side_by_side),
    ("tests_of_a_run_are_filtered_and_reached_by_keys", filtered),
    ("nothing_of_a_run_becomes_markup", hostile),
    ("a_run_is_sorted_by_any_column", sorted),
    ("a_run_says_what_it_was_run_with", says_with_what),
    ("a_run_fits_every_window_in_light_and_dark", fits),
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
          plots: [...document.querySelectorAll("#t2 .plot > svg")].map((plot) => plot.querySelectorAll("path.line").length),
          captions: [...document.querySelectorAll("#t2 figcaption")].map((one) => one.firstChild.textContent.trim()),
          labels: document.querySelector("#t2 .plot > svg").getAttribute("aria-label"),
          without: count("#t0 .plot"),
          links: [...document.querySelectorAll(".failure a")].map((link) => link.getAttribute("href")),
          wide: document.documentElement.scrollWidth <= innerWidth,
        };
    "##;
    let said = browser.run(&run_page(&run(), &Sources::default()), script);
    assert_eq!(
        said["table"],
        json!([
            // Failures are first.
            ["transfers", "failed", "pct(3)", "12", "–", "–", "2 ms"],
            ["locks", "failed", "dfs", "12", "–", "–", "2 ms"],
            ["queue", "covered", "dpor", "12", "–", "12", "2 ms"],
            // At tick 59 of the samples: 40,000 by four, and 90.
            ["passed", "pct(3)", "12", "–", "10,000", "2 ms"],
        ])
    );
    assert_eq!(said["without"], 0, "a search that said nothing on its way has no plots");
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
    assert_eq!(said["all"], json!(["transfers", "locks", "queue"]));
    assert_eq!(said["focus"], "filter");
    assert_eq!(said["words"], json!(["locks"]));
    assert_eq!(said["nothing"], json!([[], false]));
    assert_eq!(said["again"], 3);
    assert_eq!(
        (&said["first"], &said["second"], &said["back"]),
        (&json!("transfers"), &json!("locks"), &json!("transfers"))
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

fn sorted(browser: &Browser) {
    let script = r#"
        const order = () => [...document.querySelectorAll(".summary tbody tr")].map((row) => `${row.parentNode.querySelector("th").textContent} ${row.querySelector("code").textContent}`);
        const heads = [...document.querySelectorAll(".summary thead th")], sorts = () => heads.map((head) => head.getAttribute("aria-sort"));
        const press = (nth) => { const button = heads[nth].querySelector("button"); button.focus(); button.click(); return document.activeElement === button; };
        const seen = { first: order(), none: sorts(), tabs: heads.map((head) => head.querySelector("button").tabIndex) };
        seen.focus = press(0); seen.names = order(); seen.up = sorts()[0];
        press(0); seen.reversed = order(); seen.down = sorts()[0];
        press(5); seen.numbers = order(); seen.only = sorts().filter((one) => one !== "none");
        press(5); seen.largest = order();
        press(1); seen.verdicts = order();
        // The name of a test is in the first of its rows, whichever that is.
        seen.first_has_name = [...document.querySelectorAll(".summary tbody")].every((test) => test.rows[0].cells[0].tagName === "TH" && test.querySelectorAll("th").length === 1);
        type("filter", "queue"); seen.filtered = count(".summary tbody:not([hidden])");
        return seen;
    "#;
    let said = browser.run(&run_page(&run(), &Sources::default()), script);
    let (transfers, locks) = ("transfers pct(3)", "locks dfs");
    let (dpor, pct) = ("queue dpor", "queue pct(3)");
    assert_eq!(said["first"], json!([transfers, locks, dpor, pct]));
    assert_eq!(said["none"], json!(vec!["none"; 8]));
    assert_eq!(said["tabs"], json!(vec![0; 8]), "every header is reached by the tab key");
    assert_eq!(said["focus"], true);
    assert_eq!(said["names"], json!([locks, dpor, pct, transfers]));
    assert_eq!((&said["up"], &said["down"]), (&json!("ascending"), &json!("descending")));
    assert_eq!(said["reversed"], json!([transfers, dpor, pct, locks]));
    // Those that have no number in the column are last in either direction.
    assert_eq!(said["numbers"], json!([dpor, pct, transfers, locks]));
    assert_eq!(said["only"], json!(["ascending"]));
    assert_eq!(said["largest"], json!([pct, dpor, transfers, locks]));
    assert_eq!(said["verdicts"], json!([transfers, locks, pct, dpor]), "failed, passed, covered");
    assert_eq!((&said["first_has_name"], &said["filtered"]), (&json!(true), &json!(1)));
}

fn says_with_what(browser: &Browser) {
    let script = "return [[...document.querySelectorAll('.about div')].map((one) => one.textContent), [...document.querySelectorAll('.meaning, .failure > p')].map((one) => one.textContent)];";
    let mut run = run();
    let said = browser.run(&run_page(&run, &Sources::default()), script);
    let failed = ["in execution 12, seed 7: walk through it", "in execution 12, seed 7"];
    assert_eq!(said, json!([["seed7"], failed]), "nothing else is known");
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    run.about = About {
        settings: vec![setting("strategy", "pct(3)"), setting("time", "30s")],
        compiler: Some("rustc 1.90.0".to_owned()),
        revision: Some("67f94be9, with changes".to_owned()),
    };
    run.tried[1].report.seed = 8;
    let said = browser.run(&run_page(&run, &Sources::default()), script);
    let expected = [
        "seedsdiffer, and are with each test",
        "settingsstrategy = pct(3), time = 30s",
        "compilerrustc 1.90.0",
        "revision67f94be9, with changes",
    ];
    assert_eq!(said[0], json!(expected));
}

/// Names and messages as long as those of real tests.
fn wordy() -> Run {
    let mut run = run();
    let long =
        "a_module_of_a_package::tests::a_test_whose_name_is_a_sentence_that_does_not_end_soon";
    for tried in &mut run.tried {
        let test = format!("{long}_{}", tried.report.test.as_deref().unwrap_or_default());
        tried.report.test = Some(test);
        tried.report.counts.executions = 123_456_789;
        tried.report.elapsed_ms = 7_654_321;
    }
    run.about.settings = vec![("strategy".to_owned(), "portfolio(dpor, pct(3), pos) ".repeat(6))];
    run
}

fn fits(browser: &Browser) {
    let script = format!(
        r#"{OVERFLOWS}
        const seen = [...document.querySelectorAll(".summary td, .summary th")].filter((cell) => cell.getBoundingClientRect().width < 20).length;
        const {{ weak, ground }} = await (async () => {{ {CONTRAST} }})();
        return {{ bad, seen, weak, ground }};"#
    );
    for (scheme, window) in WINDOWS {
        for run in [run(), wordy()] {
            let page = run_page(&run, &Sources::default());
            let said = browser.run_in(&page, &script, scheme, window);
            assert_eq!(said["bad"], json!([]), "{window:?}");
            assert_eq!(said["seen"], 0, "{window:?}: no cell is squeezed");
            assert_eq!(said["weak"], json!([]), "{window:?}");
            let dark = said["ground"].as_f64().is_some_and(|ground| ground < 0.05);
            assert_eq!(dark, matches!(scheme, Scheme::Dark), "{window:?}");
        }
    }
}
