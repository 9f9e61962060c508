//! What `check` prints and saves: each test runs another test of this binary, in a process of its
//! own, with its own environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::programs::{added_twice, kept_update, large, lost_update};

/// Set for tests that are only run by other tests.
const CHILD: &str = "CHILD_OF_RADDLE_TESTS";

#[test]
fn child_that_loses_an_update() {
    if std::env::var_os(CHILD).is_some() {
        raddle::check(lost_update);
    }
}

#[test]
fn child_that_adds_twice() {
    if std::env::var_os(CHILD).is_some() {
        raddle::check(added_twice);
    }
}

#[test]
fn child_that_passes() {
    if std::env::var_os(CHILD).is_some() {
        raddle::check(kept_update);
    }
}

#[test]
fn child_that_nests() {
    if std::env::var_os(CHILD).is_some() {
        raddle::check(|| raddle::check(kept_update));
    }
}

#[test]
fn child_that_is_sequential() {
    if std::env::var_os(CHILD).is_some() {
        raddle::check(|| {});
    }
}

#[test]
fn child_that_is_large() {
    if std::env::var_os(CHILD).is_some() {
        raddle::check(large);
    }
}

/// Whether a child passed, and what it printed, with what differs from run to run replaced.
fn child(name: &str, environment: &[(&str, &str)]) -> (bool, String) {
    let output = child_command(name, environment).output().expect("it runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn child_command(name: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args([&format!("checks::{name}"), "--exact", "--nocapture", "--test-threads=2"]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    command
        .env(CHILD, "1")
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_PKG_NAME", "raddle")
        .envs(environment.iter().copied());
    command
}

/// A search that can tell how large it is before it has come far.
const BOUNDED: &str = "dfs preemptions(3)";

/// Only the report: without libtest's and std's lines around it, what is said when the process ends, times and tokens.
fn report(text: &str) -> String {
    let text = text.split_once("raddle: what ").map_or(text, |(report, _)| report);
    let lines = text.lines().filter(|line| {
        !line.is_empty()
            && !line.starts_with("thread '")
            && !line.starts_with("note: run with")
            && !line.starts_with("error: test failed")
    });
    let mut report = String::new();
    for line in lines {
        let words = line.split(' ').map(|word| match word.split_once("rd1") {
            Some((before, _)) => format!("{before}[token]"),
            None => match word.split_once("/raddle/raddle.checks.") {
                Some((_, file)) => format!("[target]/raddle/raddle.checks.{file}"),
                None => word.to_owned(),
            },
        });
        report += &words.collect::<Vec<_>>().join(" ");
        report.push('\n');
    }
    // How the line with the time is wrapped hangs on how long that took.
    if let Some(begin) = report.find("searched with ")
        && let Some(length) = report[begin..].find("; deepest")
    {
        let end = begin + length + report[begin + length..].find("decision").map_or(0, |at| at);
        let line = report[begin..end].split_whitespace().collect::<Vec<_>>().join(" ") + " ";
        let time = line.rfind(" in ").map_or(line.len(), |at| at + 4);
        let rest = line.find("; deepest").unwrap_or(line.len());
        report.replace_range(begin..end, &format!("{}[time]{}", &line[..time], &line[rest..]));
    }
    if let Some(begin) = report.find("replayed a recorded schedule: ")
        && let Some(time) = report[begin..].find(" in ").map(|at| begin + at + 4)
    {
        let end = report[time..].find('\n').map_or(report.len(), |at| time + at);
        report.replace_range(time..end, "[time]");
    }
    report
}

fn saved(text: &str) -> PathBuf {
    let line = text.lines().find_map(|line| line.strip_prefix("the whole trace: "));
    PathBuf::from(line.expect("a file is named"))
}

fn token(text: &str) -> &str {
    let mut words = text.split_whitespace();
    words.find_map(|word| word.strip_prefix("RADDLE_REPLAY=")).expect("a command")
}

/// Which functions led to a step is known where stacks can be walked.
const WALKS: bool = cfg!(all(unix, not(target_arch = "arm")));

#[test]
fn a_failing_check_shows_all_that_helps() {
    if !WALKS {
        return;
    }
    let (passed, text) = child("child_that_loses_an_update", &[]);
    assert!(!passed);
    insta::assert_snapshot!(report(&text), @"
    FAILED checks::child_that_loses_an_update: main panicked at crates/raddle/tests/it/programs.rs:14:5
      assertion `left == right` failed: an update was lost
        left: 1
       right: 2
    execution 1, made small, step by step:
    step  │ main                       │ thread 1    │ at
    ──────┼────────────────────────────┼─────────────┼───────────────────────────────
       0  │ load n -> 0                │             │ …/tests/it/programs.rs:18
       1* │                            │ load n -> 0 │ …/tests/it/programs.rs:18
       2  │                            │ store n (1) │ …/tests/it/programs.rs:19
       3  │ store n (1)                │             │ …/tests/it/programs.rs:19
       4  │ join thread 1              │             │ …/tests/it/programs.rs:13
       5  │ load n -> 1                │             │ …/tests/it/programs.rs:14
    ──────┼────────────────────────────┼─────────────┼───────────────────────────────
          │ panicked: assertion `left  │             │ …/tests/it/programs.rs:14
          │ == right` failed: an       │             │
          │ update was lost            │             │
    * a preemption: the task that moved before could have gone on
    why:
      `add_one` at crates/raddle/tests/it/programs.rs:18 read n (step 0, main) before `add_one` at
        crates/raddle/tests/it/programs.rs:19 wrote it (step 2, thread 1); in the other order the test
        would have passed
      after step 1 (thread 1: load n -> 0, in `add_one`) it was lost: all of 300 ways to go on that were
        tried fail
    note: `pos` found it
    made small: from 3 preemptions in 6 steps to 1 preemption in 6 steps, by 25 executions; no execution
      with fewer preemptions shows it
    searched with auto (dpor | pos), seed 0: 2 executions, 12 steps, 5 decisions in [time]; deepest: 3 decisions
    of these, by dpor: 1 execution, passed; by pos: 1 execution, failed
    covered so far: 1 sampled execution, each showing any partial order with a chance of at least 1 in
      64 (if no execution has more than 2 tasks and 6 steps); assuming sequentially consistent memory
    the whole trace: [target]/raddle/raddle.checks.child_that_loses_an_update.json
    replay it with:
      RADDLE_REPLAY=[token] cargo test -p raddle checks::child_that_loses_an_update -- --exact
    ");
}

#[test]
fn a_failure_is_told_in_the_names_of_the_source() {
    if !WALKS {
        return;
    }
    let (passed, text) = child("child_that_adds_twice", &[]);
    assert!(!passed);
    let text = report(&text);
    let (text, _) = text.split_once("1 preemption in").expect("its size");
    let (text, last) = text.split_once("  after step 2 ").expect("the last choice");
    insta::assert_snapshot!(text, @r"
    FAILED checks::child_that_adds_twice: main panicked at crates/raddle/tests/it/programs.rs:54:5
      assertion `left == right` failed: added twice
        left: 2
       right: 1
    execution 2, step by step:
    step  │ main                       │ adder#1      │ adder#2      │ at
    ──────┼────────────────────────────┼──────────────┼──────────────┼───────────────────────────────
       0  │                            │ lock items   │              │ …/tests/it/programs.rs:29
       1  │                            │ unlock items │              │ …/tests/it/programs.rs:29
       2* │                            │              │ lock items   │ …/tests/it/programs.rs:29
       4  │                            │              │ lock items   │ …/tests/it/programs.rs:33
       5  │                            │              │ unlock items │ …/tests/it/programs.rs:35
       6  │                            │ lock items   │              │ …/tests/it/programs.rs:33
       8  │ join adder#1               │              │              │ …/tests/it/programs.rs:52
       9  │ join adder#2               │              │              │ …/tests/it/programs.rs:53
      10  │ lock items                 │              │              │ …/tests/it/programs.rs:54
          │ panicked: assertion `left  │              │              │ …/tests/it/programs.rs:54
          │ == right` failed: added    │              │              │
          │ twice                      │              │              │
    … and 2 unlocks that let no other task go on, 1 step after the failure (shown with --full or
      RADDLE_FULL=true)
    * a preemption: the task that moved before could have gone on
    items is the Mutex from crates/raddle/tests/it/programs.rs:40:45
    why:
      none of 2 races matters alone: the failure stays whichever of its two steps comes first
    ");
    // With line tables alone a function has no type.
    let last =
        last.replace("`Numbers::has`", "`has`").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        last,
        "(adder#2: lock items, in `has`) it was lost: all of 300 ways to go on that were tried fail \
         note: `dpor` found it"
    );
}

#[test]
fn every_step_is_shown_if_asked_for() {
    let (_, text) = child("child_that_adds_twice", &[("RADDLE_FULL", "true")]);
    // Two critical sections of each thread, and that of main.
    assert_eq!(text.matches("unlock items").count(), 5, "{text}");
    assert!(!text.contains("(shown with --full"), "{text}");
}

#[test]
fn a_backtrace_has_functions_of_the_test_alone() {
    if !WALKS {
        return;
    }
    let backtrace = ("RUST_BACKTRACE", "1");
    let (_, text) = child("child_that_adds_twice", &[backtrace]);
    assert!(text.contains("panicked at crates/raddle/tests/it/checks.rs"), "{text}");
    let found = text.find("stack backtrace").expect("a backtrace");
    let end = text.find("FAILED ").expect("a report");
    let frames = &text[found..end];
    assert!(frames.contains("programs::added_twice"), "{frames}");
    for other in ["raddle::", "raddle_engine", "raddle_threads", "corosensei", "std::", "core::"] {
        assert!(!frames.contains(&format!(": {other}")), "{frames}");
    }
    assert_eq!(text.matches("stack backtrace").count(), 1, "{text}");
    let replay = ("RADDLE_REPLAY", token(&text));
    let (_, again) = child("child_that_adds_twice", &[backtrace, replay]);
    assert_eq!(again.matches("stack backtrace").count(), 1, "{again}");
    let found = again.find("stack backtrace").expect("a backtrace");
    let end = again.find("FAILED ").expect("a report");
    assert_eq!(&again[found..end], frames);
}

#[test]
fn a_failure_is_saved_and_replays_from_its_token_and_its_file() {
    let (_, text) = child("child_that_loses_an_update", &[]);
    let path = saved(&text);
    let json = std::fs::read_to_string(&path).expect("it was saved");
    assert!(json.contains("an update was lost"), "{json}");
    let path = path.to_str().expect("it was printed");
    for what in [token(&text), path] {
        let (passed, again) = child("child_that_loses_an_update", &[("RADDLE_REPLAY", what)]);
        assert!(!passed);
        assert!(again.contains("replayed a recorded schedule: "), "{again}");
        // Loud: std's own message comes too, from the thread of the search.
        assert!(again.contains("thread 'raddle'"), "{again}");
        let table = |text: &str| {
            let begin = text.find("step by step").expect("a table");
            let end = text.find("* a preemption");
            let end = end.expect("the end of the table");
            text[begin..end].to_owned()
        };
        assert_eq!(table(&again), table(&text));
    }
    assert!(!Path::new(path).with_extension("tmp").exists());
}

#[test]
fn the_replay_of_another_test_is_no_pass() {
    let (_, text) = child("child_that_loses_an_update", &[]);
    let (passed, text) = child("child_that_passes", &[("RADDLE_REPLAY", token(&text))]);
    assert!(!passed);
    insta::assert_snapshot!(report(&text), @"
    INCONCLUSIVE checks::child_that_passes: the search could not go on
      replayed a recorded schedule: 4 steps, 1 decision in [time]
      covered so far: one recorded execution; assuming sequentially consistent memory
    note: the search stopped: an execution did not repeat what was recorded
      at step 4, decision 1:
        expected: 3 decisions
        found:    the end of the execution after 1
      If the test has changed since the recording, run the search again.
      Something decides that raddle does not control. Most likely:
      - a `static` or `thread_local!` that keeps state from one execution to the next: create the state
        inside the test
      - a lock, atomic, channel or thread of std, also in a dependency: use raddle's
      - the iteration order of a `HashMap` or `HashSet`: use a `BTreeMap`, or sort
      - the real clock: use raddle's, or do not let it decide anything
      - random numbers or addresses: use `raddle::rng` or `raddle::choose`
    note: every test that is run now replays this recording: run only the one it belongs to
    ");
}

#[test]
fn a_pass_is_a_line_or_two() {
    let (passed, text) = child("child_that_passes", &[]);
    assert!(passed);
    insta::assert_snapshot!(report(&text), @"
    COVERED checks::child_that_passes: every execution; assuming sequentially consistent memory
      searched with auto (dpor, then dfs | pos | pct(3)), seed 0: 12 executions, 48 steps, 12 decisions in [time]; deepest: 1 decision
      of these, by dpor, then dfs: 4 executions, covered; by pos: 4 executions, passed; by pct(3): 4
        executions, passed
    ");
}

#[test]
fn what_passed_tests_cover_is_seen_without_asking() {
    let file = std::env::temp_dir().join(format!("raddle-summary-{}.md", std::process::id()));
    let run = |environment: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        // The harness keeps what tests print.
        command.args(["checks::child_that_passes", "--exact"]).env_remove("RADDLE_SUMMARY");
        let output = command.env(CHILD, "1").envs(environment.iter().copied()).output();
        let output = output.expect("it runs");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let summary = ("RADDLE_SUMMARY", file.to_str().expect("a path"));
    assert_eq!(
        run(&[summary]),
        "raddle: what 1 passed test covers, assuming sequentially consistent memory\n  \
         checks::child_that_passes: every execution (12 executions)\n"
    );
    assert_eq!(run(&[("RADDLE_PROGRESS", "false"), summary]), "", "it was told to be silent");
    let table = std::fs::read_to_string(&file).expect("both were added");
    std::fs::remove_file(&file).expect("it is there");
    assert_eq!(table.matches("### raddle: 1 passed, 0 not\n").count(), 2);
    assert_eq!(
        table.matches("| `checks::child_that_passes` | covered | 12 |").count(),
        2,
        "{table}"
    );
}

#[test]
fn a_replay_that_passes_says_so() {
    // The schedule of an execution without a decision.
    let token = raddle::Schedule::default().to_string();
    let (passed, text) = child("child_that_is_sequential", &[("RADDLE_REPLAY", &token)]);
    assert!(passed, "{text}");
    insta::assert_snapshot!(report(&text), @"
    PASSED checks::child_that_is_sequential: one recorded execution; assuming sequentially consistent
      memory
      replayed a recorded schedule: 0 steps, 0 decisions in [time]
    note: the recorded execution passes now
    ");
}

#[test]
fn a_sequential_check_passes_and_says_so() {
    let (passed, text) = child("child_that_is_sequential", &[]);
    assert!(passed);
    insta::assert_snapshot!(report(&text), @"
    COVERED checks::child_that_is_sequential: every execution; assuming sequentially consistent memory
      searched with auto (dpor, then dfs | pos | pct(3)), seed 0: 6 executions, 0 steps, 0 decisions in [time]; deepest: 0 decisions
      of these, by dpor, then dfs: 2 executions, covered; by pos: 2 executions, passed; by pct(3): 2
        executions, passed
    note: nothing concurrent happened: at no point was there more than one option, so the test has one
          execution only. Spawn with raddle's `thread::spawn` and share raddle's locks, atomics and
          channels: raddle does not see those of std. A test that is sequential by design does not need
          raddle.
    ");
}

#[test]
fn the_environment_has_the_last_word() {
    let (passed, text) = child(
        "child_that_passes",
        &[("RADDLE_STRATEGY", "pct(2)"), ("RADDLE_EXECUTIONS", "5"), ("RADDLE_SEED", "9")],
    );
    assert!(passed);
    assert!(text.contains("searched with pct(2), seed 9: 5 executions"), "{text}");
}

#[test]
fn a_wrong_environment_fails_the_test() {
    let (passed, text) = child("child_that_passes", &[("RADDLE_TIME", "ten")]);
    assert!(!passed);
    insta::assert_snapshot!(report(&text), @"raddle could not run this test: RADDLE_TIME is `ten`; it must be a time such as 500ms, 10s, 2m or 1h, or none");
    let (passed, text) = child("child_that_passes", &[("RADDLE_STRATEGIE", "dfs")]);
    assert!(!passed);
    insta::assert_snapshot!(report(&text), @"raddle could not run this test: there is no variable RADDLE_STRATEGIE; did you mean RADDLE_STRATEGY?");
}

#[test]
fn a_nested_check_fails_with_the_reason() {
    let (passed, text) = child("child_that_nests", &[]);
    assert!(!passed);
    insta::assert_snapshot!(report(&text), @"
    FAILED checks::child_that_nests: main panicked at crates/raddle/tests/it/checks.rs:36:26
      raddle could not run this test: a search was started inside an execution of another search; call raddle::check and raddle::explore from an ordinary test, not from the closure they run
    execution 1 failed before its first step
    searched with auto (dpor), seed 0: 1 execution, 0 steps, 0 decisions in [time]; deepest: 0 decisions
    covered so far: the first execution of a search that did not end; assuming sequentially consistent
      memory
    the whole trace: [target]/raddle/raddle.checks.child_that_nests.json
    replay it with:
      RADDLE_REPLAY=[token] cargo test -p raddle checks::child_that_nests -- --exact
    ");
}

// It is ended by this test as soon as it has said how far it is, however long that takes.
#[test]
fn a_long_search_says_how_far_it_is_if_asked() {
    let environment =
        [("RADDLE_STRATEGY", BOUNDED), ("RADDLE_TIME", "1h"), ("RADDLE_PROGRESS", "20ms")];
    let mut command = child_command("child_that_is_large", &environment);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let stderr = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let lines = std::io::BufRead::lines(stderr);
    // The first lines may come before the estimate is worth telling.
    let is_progress = |line: &String| {
        line.starts_with("checks::child_that_is_large: ") && line.contains("/s: at least ")
    };
    let line = lines.map_while(Result::ok).find(is_progress);
    child.kill().expect("it still runs");
    child.wait().expect("it was killed");
    let line = line.expect("a line of progress");
    for part in [
        " executions, ",
        "/s: at least ",
        " executions in all, probably about ",
        " covered, ",
        " left; ",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

#[test]
fn a_search_that_did_not_end_says_how_much_is_left() {
    let environment = [("RADDLE_STRATEGY", BOUNDED), ("RADDLE_EXECUTIONS", "500")];
    let (passed, text) = child("child_that_is_large", &environment);
    assert!(passed && text.contains("  did not finish: at least "), "{text}");
}

#[test]
fn nothing_is_said_to_a_pipe_that_did_not_ask() {
    let environment = [("RADDLE_STRATEGY", "dfs"), ("RADDLE_TIME", "100ms")];
    for more in [None, Some(("RADDLE_PROGRESS", "false")), Some(("CI", "true"))] {
        let environment: Vec<_> = environment.into_iter().chain(more).collect();
        let (passed, text) = child("child_that_is_large", &environment);
        let is_progress = |line: &str| line.starts_with("checks::child_that_is_large: ");
        assert!(passed && !text.lines().any(is_progress), "{text}");
    }
}
