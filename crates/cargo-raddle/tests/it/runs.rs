//! Runs, their exit codes, and what is said of them.

use std::fs;
use std::path::Path;

use raddle_trace::About;
use raddle_trace::events::{Line, VERSION};
use raddle_trace::exit;

use crate::fixture;

/// The tests of the fixture that end by themselves.
const PLAIN: [&str; 7] = [
    "test",
    "--no-regressions",
    "--test=plain",
    "--exact",
    "a_right_one",
    "one_that_is_to_fail",
    "one_that_the_harness_expects_to_fail",
];

#[test]
fn what_passes_says_what_that_means() {
    let fixture = fixture();
    let marker = fixture.0.join("marker");
    let _ = fs::remove_file(&marker);
    let output = crate::output(fixture.command(&PLAIN).env("FIXTURE_MARKER", &marker));
    let done = crate::Done::of(&output).ended_with(exit::PASSED);
    assert!(!marker.exists(), "an ordinary test was run");
    assert!(done.out.starts_with("3 raddle tests\n"), "{}", done.out);
    let table: Vec<&str> =
        done.out.lines().skip_while(|line| !line.starts_with("verdict")).collect();
    let words = |row: usize| table[row].split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        words(0),
        ["verdict", "test", "executions", "traces", "estimate", "time", "guarantee"]
    );
    // Two orders: both by the reduction, both by `dfs`, and as many executions, four, of each of the two samplers meanwhile.
    assert_eq!(words(1)[..5], ["covered", "a_right_one", "12", "-", "-"]);
    assert!(table[1].ends_with("  every execution"), "{}", table[1]);
    assert!(table[2].starts_with("as expected  one_that_is_to_fail "), "{}", table[2]);
    assert!(table[3].starts_with("as expected  one_that_the_harness_expects_to_fail "));
    assert_eq!(table[4], "3 passed");
    assert!(table[5].starts_with("report: "), "{}", table[5]);
    assert!(!done.out.contains('\u{1b}'), "no colours and no bars where there is no terminal");
}

#[test]
fn a_failure_is_shown_with_what_was_printed_and_how_to_see_it_again() {
    let done = fixture()
        .run(&["test", "--no-regressions", "--test=plain", "a_wrong_one", "a_right_one"])
        .ended_with(exit::FAILED);
    for text in [
        "FAILED a_wrong_one: main panicked at tests/plain.rs:27:5",
        "execution 1, made small, step by step:",
        "what the test printed last:\n",
        "  hello from an execution\n",
        "replay it with:\n  cargo raddle replay rd1",
        " a_wrong_one -p fixture\n",
        "1 passed, 1 failed\n",
    ] {
        assert!(done.out.contains(text), "{text:?} is not in\n{}", done.out);
    }
    assert!(!done.out.contains("running 1 test"), "what the harness says is nobody's business");
}

#[test]
fn failures_come_first_in_the_table_and_are_named_last() {
    let arguments = ["test", "--no-regressions", "--test=plain", "--jobs=1", "--exact"];
    let names = [
        "a_right_one",
        "a_wrong_one",
        "one_that_cannot_be_run",
        "one_that_fails_in_another_way",
        "one_that_is_to_fail",
    ];
    let done = fixture().run(&[&arguments[..], &names].concat()).ended_with(exit::FAILED);
    let rows: Vec<&str> =
        done.out.lines().skip_while(|line| !line.starts_with("verdict")).skip(1).collect();
    let begins = [
        "FAILED        a_wrong_one ",
        "FAILED        one_that_fails_in_another_way ",
        "inconclusive  one_that_cannot_be_run ",
        "covered       a_right_one ",
        "as expected   one_that_is_to_fail ",
        "2 passed, 2 failed, 1 inconclusive",
        "FAILED a_wrong_one (fixture, plain)",
        "FAILED one_that_fails_in_another_way (fixture, plain)",
        "inconclusive one_that_cannot_be_run (fixture, plain)",
    ];
    for (row, begin) in rows.iter().zip(begins) {
        assert!(row.starts_with(begin), "{begin:?}: {row:?}\n{}", done.out);
    }
    // Where there is no terminal a table has 120 columns; what is too long for that is cut.
    assert!(rows[..5].iter().all(|row| row.chars().count() <= 120), "{}", done.out);
    assert!(rows[0].ends_with('…'), "{}", rows[0]);
}

#[test]
fn pages_say_what_a_run_was_run_with_and_lead_to_the_source() {
    let fixture = fixture();
    let wrong = ["test", "--no-regressions", "--test=plain", "--exact", "a_wrong_one"];
    let arguments = [&wrong[..], &["--seed=5", "--links=edit:{path}@{line}"]].concat();
    let done = fixture.run_with_own_pages(&arguments).ended_with(exit::FAILED);
    let report = done.out.lines().find_map(|line| line.strip_prefix("report: ")).unwrap();
    let directory = Path::new(report).parent().unwrap();
    let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
    let run: raddle_trace::Run = serde_json::from_str(&read("run.json")).unwrap();
    let About { settings, compiler, .. } = &run.about;
    assert!(settings.contains(&("seed".to_owned(), "5".to_owned())), "{settings:?}");
    assert!(settings.iter().all(|(name, _)| name != "links"), "{settings:?}");
    let compiler = compiler.as_deref().unwrap();
    assert!(compiler.starts_with("rustc "), "{compiler}");
    assert!(read("report.html").contains(&format!("<dt>compiler</dt><dd>{compiler}</dd>")));
    let page = read(run.tried[0].page.as_deref().unwrap());
    let place = format!("edit:{}@27", fixture.0.join("tests/plain.rs").display());
    assert!(page.contains(&place), "{place} is not in the page");
    let none = [&wrong[..], &["--links=none"]].concat();
    fixture.run_with_own_pages(&none).ended_with(exit::FAILED);
    let page = read(run.tried[0].page.as_deref().unwrap());
    assert!(page.contains("\"addresses\":[]"), "there are links");
}

#[test]
fn what_is_not_known_is_not_a_pass() {
    let arguments = ["test", "--no-regressions", "--exact", "one_that_cannot_be_run"];
    let done = fixture().run(&arguments).ended_with(exit::INCONCLUSIVE);
    assert!(done.out.contains("the strategy `no such strategy` cannot be used"), "{}", done.out);
    let done = fixture()
        .run(&["test", "--no-regressions", "--exact", "one_that_fails_in_another_way"])
        .ended_with(exit::FAILED);
    assert!(done.out.contains("expected a deadlock, found another failure:"), "{}", done.out);
}

#[test]
fn an_ignored_test_is_run_if_asked_for() {
    let done = fixture().run(&["test", "an_ignored_one"]).ended_with(exit::NO_TESTS);
    assert!(done.out.contains("0 raddle tests, 1 ignored"), "{}", done.out);
    let done = fixture().run(&["test", "an_ignored_one", "--include-ignored"]);
    assert!(done.ended_with(exit::PASSED).out.contains("nothing").eq(&false));
}

#[test]
fn events_are_lines_of_one_version() {
    let arguments = ["--format=json", "a_wrong_one"];
    let done = fixture().run(&[&PLAIN[..], &arguments].concat()).ended_with(exit::FAILED);
    for line in done.out.lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        assert_eq!(line.version, VERSION);
    }
    let events = done.events();
    assert_eq!(events[0]["event"], "run-started");
    assert_eq!(events[0]["tests"], 4);
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["exit_code"]), (&"run-finished".into(), &1.into()));
    assert_eq!((&last["passed"], &last["failed"]), (&3.into(), &1.into()));
    let finished = done.finished();
    assert_eq!(finished["a_right_one"]["report"]["verdict"], "covered");
    assert_eq!(finished["a_right_one"]["report"]["counts"]["executions"], 12);
    let wrong = &finished["a_wrong_one"];
    assert_eq!((&wrong["ending"], &wrong["package"]), (&"failed".into(), &"fixture".into()));
    assert_eq!(wrong["report"]["failure"]["outcome"]["kind"], "panicked");
    assert_eq!(finished["one_that_is_to_fail"]["expected"], "a panic");
    assert_eq!(finished["one_that_is_to_fail"]["ending"], "passed");
}

#[test]
fn results_are_written_as_junit() {
    let fixture = fixture();
    let file = fixture.0.join("junit.xml");
    let junit = format!("--junit={}", file.display());
    let arguments = [&PLAIN[..], &["a_wrong_one", &junit]].concat();
    fixture.run(&arguments).ended_with(exit::FAILED);
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(
        "<testsuites name=\"raddle\" tests=\"4\" skipped=\"0\" failures=\"1\" errors=\"0\">"
    ));
    assert!(text.contains("<testcase name=\"a_right_one\" classname=\"fixture::plain\""));
    assert!(text.contains("<failure message=\"main panicked at tests/plain.rs:27:5:"), "{text}");
    assert!(text.contains("every execution; assuming sequentially consistent memory"));
}

#[test]
fn a_table_of_the_results_is_added_to_the_summary_of_a_job() {
    let fixture = fixture();
    let file = fixture.0.join("summary.md");
    fs::write(&file, "an earlier step\n\n").unwrap();
    let mut command = fixture.command(&[&PLAIN[..], &["a_wrong_one"]].concat());
    command.env("RADDLE_SUMMARY", &file);
    crate::Done::of(&crate::output(&mut command)).ended_with(exit::FAILED);
    let text = fs::read_to_string(file).unwrap();
    assert!(
        text.starts_with("an earlier step\n\n### raddle: 3 passed, 1 not\n\n| test |"),
        "{text}"
    );
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows[0].starts_with("| `a_wrong_one` | failed |"), "{text}");
    assert!(rows[1].starts_with("| `a_right_one` | covered | 12 |"), "{text}");
}

#[test]
fn parts_of_the_tests_are_all_of_them_and_none_twice() {
    let fixture = fixture();
    let names = |part: &str| {
        let partition = format!("--partition={part}");
        let arguments = [&PLAIN[..], &["--format=json", &partition]].concat();
        let done = fixture.run(&arguments).ended_with(exit::PASSED);
        done.finished().into_keys().collect::<Vec<_>>()
    };
    let (first, second) = (names("1/2"), names("2/2"));
    assert_eq!(first, ["a_right_one", "one_that_the_harness_expects_to_fail"]);
    assert_eq!(second, ["one_that_is_to_fail"]);
    for (wrong, why) in [("3/2", "there are parts 1 to 2, and no part 3"), ("half", "as in 1/3")] {
        let done = fixture.run(&["test", "--partition", wrong]).ended_with(exit::USAGE);
        assert!(done.err.contains(why), "{}", done.err);
    }
}

#[test]
fn tests_that_failed_can_be_run_again_without_the_others() {
    let project = crate::Project::new("failed-again");
    project.write("src/lib.rs", "");
    let tests = |right: &str| {
        format!(
            "#[raddle::test]\nfn a_right_one() {{}}\n#[raddle::test]\nfn b_wrong_one() {{ assert!({right}); \
             println!(\"seen\"); }}\n#[raddle::test]\nfn c_right_one() {{}}\n"
        )
    };
    project.write("tests/it.rs", &tests("false"));
    let arguments = ["test", "--no-regressions", "--format=json", "--jobs=1"];
    let run = |more: &[&str], code| {
        let done = project.run(&[&arguments[..], more].concat()).ended_with(code);
        (done.finished().into_keys().collect::<Vec<_>>(), done.err)
    };
    let (begun, _) = run(&["--fail-fast"], exit::FAILED);
    assert_eq!(begun, ["a_right_one", "b_wrong_one"], "the third is not begun");
    assert_eq!(run(&["--failed"], exit::FAILED).0, ["b_wrong_one"]);
    project.write("tests/it.rs", &tests("true"));
    let (run_again, shown) = run(&["--failed", "--no-capture"], exit::PASSED);
    assert_eq!(run_again, ["b_wrong_one"]);
    assert!(shown.contains("seen\n") && !shown.contains("running 1 test"), "{shown}");
    let (_, why) = run(&["--failed"], exit::NO_TESTS);
    assert!(why.contains("none of these tests failed when it was last run"), "{why}");
}

#[test]
fn settings_come_from_the_file_the_environment_and_flags() {
    let fixture = fixture();
    fixture.write("raddle.toml", "[profiles.mine]\nstrategy = 'random'\nexecutions = 7\n");
    let executions = |environment: Option<&str>, flags: &[&str]| {
        let arguments = ["test", "--no-regressions", "--format=json", "--exact", "a_right_one"];
        let mut command = fixture.command(&[&arguments, flags].concat());
        if let Some(value) = environment {
            command.env("RADDLE_EXECUTIONS", value);
        }
        let done = crate::Done::of(&crate::output(&mut command)).ended_with(exit::PASSED);
        let report = done.finished()["a_right_one"]["report"].clone();
        (report["strategy"].as_str().unwrap().to_owned(), report["counts"]["executions"].as_u64())
    };
    let profile = "--profile=mine";
    assert_eq!(
        executions(None, &[]),
        ("auto (dpor, then dfs | pos | pct(3))".to_owned(), Some(12))
    );
    assert_eq!(executions(None, &[profile]), ("random".to_owned(), Some(7)));
    assert_eq!(executions(Some("8"), &[profile]), ("random".to_owned(), Some(8)));
    let flag = "--executions=9";
    assert_eq!(executions(Some("8"), &[profile, flag]), ("random".to_owned(), Some(9)));

    fixture.write("raddle.toml", "[profiles.mine]\nexecution = 7\n");
    let done = fixture.run(&["test", profile]).ended_with(exit::USAGE);
    assert!(done.err.contains("there is no key `execution`; did you mean `executions`?"));
    fs::remove_file(fixture.0.join("raddle.toml")).unwrap();
    let done = fixture.run(&["test", "--executions=many"]).ended_with(exit::USAGE);
    assert!(done.err.contains("--executions is `many`; it must be a whole number"), "{}", done.err);
    fixture.run(&["test", "--no-such-flag"]).ended_with(exit::USAGE);
    fixture.run(&["no-such-command"]).ended_with(exit::USAGE);
}

#[test]
fn strategies_are_those_of_the_tests_own_raddle() {
    let done = fixture().run(&["strategies"]).ended_with(exit::PASSED);
    // Of every role: what stands for others, and what stands in brackets too.
    for name in [
        "portfolio",
        "a | b",
        "random",
        "pct(",
        "dfs",
        "dpor(",
        "preemptions(k)",
        "pb",
        "method(",
        "train(",
    ] {
        let begins = |line: &str| line.trim_start().starts_with(name);
        assert!(done.out.lines().any(begins), "{name}: {}", done.out);
    }
    assert!(
        done.out.contains("for example: --strategy 'dfs preemptions(2) | pos'"),
        "{}",
        done.out
    );
    assert!(done.out.lines().all(|line| line.chars().count() <= 100), "{}", done.out);
    let done = fixture().run(&["strategies", "--format=json"]).ended_with(exit::PASSED);
    assert!(done.events().iter().any(|part| part["name"] == "random" && part["role"] == "sampler"));
}

#[test]
fn a_strategy_that_there_is_not_is_refused_before_anything_is_run() {
    for arguments in [
        ["test", "--no-regressions", "--strategy=dsf", "a_right_one"],
        ["compare", "--jobs=1", "--strategies=pos,dsf", "a_right_one"],
        ["estimate", "--jobs=1", "--strategy=dsf", "a_right_one"],
    ] {
        let done = fixture().run(&arguments).ended_with(exit::USAGE);
        assert!(done.err.contains("did you mean `dfs`?"), "{}", done.err);
        assert!(done.err.contains("cargo raddle strategies lists what there is"), "{}", done.err);
        assert_eq!(done.out, "");
    }
}

#[test]
fn the_tree_of_decisions_is_written_for_graphviz() {
    let fixture = fixture();
    let (file, no) = (fixture.0.join("tree.dot"), "--no-regressions");
    let tree = format!("--tree={}", file.display());
    let arguments = ["test", no, &tree, "--strategy=dfs", "--exact", "a_right_one"];
    let done = fixture.run(&arguments).ended_with(exit::PASSED);
    assert!(done.out.contains("(all 2 executions); draw it with: dot -Tsvg"), "{}", done.out);
    let text = fs::read_to_string(&file).unwrap();
    // One decision with two answers, and the executions to which they lead.
    assert!(text.contains("n0:o0 -> n1;") && text.contains("n0:o1 -> n2;"), "{text}");
    assert!(text.contains("fetch_add") && text.contains("2 executions"), "{text}");
    let arguments = ["test", no, &tree, "a_right_one", "a_wrong_one"];
    let done = fixture.run(&arguments).ended_with(exit::USAGE);
    assert!(done.err.contains("--tree is for one test, and there are 2"), "{}", done.err);
    let arguments = ["test", no, "--tree=no/such/directory/tree.dot", "a_right_one"];
    let done = fixture.run(&arguments).ended_with(exit::USAGE);
    assert!(
        done.err.contains("--tree: no/such/directory/tree.dot cannot be written"),
        "{}",
        done.err
    );
}

#[test]
fn a_saved_failure_is_exported() {
    let fixture = fixture();
    let _ = fs::remove_dir_all(fixture.0.join("raddle-regressions"));
    fixture.run(&["test", "--exact", "a_wrong_one"]).ended_with(exit::FAILED);
    let file = "raddle-regressions/a_wrong_one.json";
    let export = |format: &str| fixture.run(&["export", file, "--format", format]);
    assert!(export("perfetto").ended_with(exit::PASSED).out.contains("\"traceEvents\""));
    assert!(export("mermaid").ended_with(exit::PASSED).out.starts_with("sequenceDiagram"));
    assert!(export("dot").ended_with(exit::PASSED).out.starts_with("digraph"));
    fixture.run(&["export", file, "--format=dot", "--output=path.dot"]).ended_with(exit::PASSED);
    assert!(fs::read_to_string(fixture.0.join("path.dot")).unwrap().starts_with("digraph"));
    let wrong =
        |what: &str| fixture.run(&["export", what, "--format=dot"]).ended_with(exit::USAGE).err;
    assert!(wrong("rd1AAAA").contains("a token has no steps; give the path of a file"));
    assert!(wrong("Cargo.toml").contains("not complete JSON"));
    fs::remove_dir_all(fixture.0.join("raddle-regressions")).unwrap();
}

#[test]
fn strategies_are_put_side_by_side() {
    let strategies = "--strategies=dfs,dpor,all best-first(mdpor, pb)";
    let arguments = ["compare", strategies, "--exact", "a_right_one", "a_wrong_one"];
    let done = fixture().run(&arguments).ended_with(exit::PASSED);
    let rows: Vec<Vec<&str>> = done.out.lines().map(|line| line.split("  ").collect()).collect();
    let of = |test: &str| rows.iter().filter(|row| row[0] == test).count();
    assert_eq!((of("a_right_one"), of("a_wrong_one")), (3, 3), "{}", done.out);
    assert!(done.out.contains("all best-first(mdpor, pb)"), "{}", done.out);
    // A plot of what is more than a point; without a terminal there are no colours, so it has letters.
    assert!(done.out.contains("a_right_one: distinct traces by executions"), "{}", done.out);
    assert!(done.out.contains("a dfs   b dpor   c all best-first(mdpor, pb)"), "{}", done.out);
    // The page has both tests, and a page for each failure.
    let report = fixture().run(&["report", "--comparison"]).ended_with(exit::PASSED);
    let page = std::path::Path::new(report.out.trim());
    let text = fs::read_to_string(page).unwrap();
    assert!(text.contains("a_right_one") && text.contains("strategies compared: dfs, dpor"));
    assert!(done.out.contains(&format!("plots: {}", page.display())), "{}", done.out);
    assert!(text.contains("all best-first(mdpor, pb)"));
    let plot = text.contains("Distinct traces by executions");
    assert!(!plot, "nothing is to be seen of searches of a few executions");
    let failures: Vec<_> = fs::read_dir(page.with_file_name("compared")).unwrap().collect();
    assert_eq!(failures.len(), 3, "one for each strategy");
    for failure in failures {
        let path = failure.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(text.contains(&format!("compared/{name}")), "{name} is linked");
        // With the lines of the source: the compiler names them from the root of the workspace.
        assert!(fs::read_to_string(path).unwrap().contains("self.0.load(SeqCst) + 1"));
    }
}

#[test]
fn the_report_of_a_run_is_not_that_of_a_later_comparison() {
    let fixture = fixture();
    let run = fixture.run_with_own_pages(&PLAIN).ended_with(exit::PASSED);
    let compare = ["compare", "--strategies=dfs,pos", "--exact", "a_right_one"];
    let compared = fixture.run_with_own_pages(&compare).ended_with(exit::PASSED);
    let page = fixture.run_with_own_pages(&["report"]).ended_with(exit::PASSED).out;
    assert!(run.out.ends_with(&format!("report: {page}")), "{page}: {}", run.out);
    let page = fixture.run_with_own_pages(&["report", "--comparison"]).ended_with(exit::PASSED).out;
    assert!(compared.out.ends_with(&format!("plots: {page}")), "{page}: {}", compared.out);
}

#[test]
fn an_estimate_says_how_many_executions_there_are() {
    let arguments =
        ["estimate", "--executions=300", "--time=none", "--exact", "a_right_one", "an_endless_one"];
    let done = fixture().run(&arguments).ended_with(exit::PASSED);
    let row = |test: &str| done.out.lines().find(|line| line.starts_with(test)).unwrap().to_owned();
    assert!(row("a_right_one").ends_with("2: it ran them all"), "{}", done.out);
    // So far from its end it may be anything.
    let told = row("an_endless_one");
    let said = ["executions to run in all, probably about", "too wide a band to tell; run more"];
    assert!(said.iter().any(|said| told.contains(said)), "{}", done.out);
}
