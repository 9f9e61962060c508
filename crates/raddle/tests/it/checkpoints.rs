//! Searches that are stopped and go on from a file: in another search, and in another process after this one
//! was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Config, Note, Pairs, Progress, Report, Verdict, explore, thread};
use raddle_trace::checkpoint::ANEW;

use crate::programs::{kept_update, large, lost_update};

/// A file that is not there.
fn file(name: &str) -> PathBuf {
    let name = format!("raddle-{}-{name}.checkpoint", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = fs::remove_file(&path);
    path
}

fn config(strategy: &str, file: &Path) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.into();
    config.checkpoint = Some(file.to_string_lossy().into_owned());
    config.test = Some("a test".into());
    config.traces = true;
    config
}

/// Two threads that add three times, by load and store: 12! / 6!^2 executions.
fn increments() {
    let n = Arc::new(AtomicU32::new(0));
    let threads = [0; 2].map(|_| {
        let n = Arc::clone(&n);
        thread::spawn(move || {
            for _ in 0..3 {
                n.store(n.load(SeqCst) + 1, SeqCst);
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

/// What does not hang on the clock, nor on whether there was a file.
fn without_time(mut report: Report) -> Report {
    report.elapsed_ms = 0;
    if let Some(progress) = &mut report.progress {
        *progress =
            Progress { elapsed_ms: 0, rate: None, left_ms: None, frontier_bytes: 0, ..*progress };
    }
    let about_file = |note: &Note| {
        matches!(note, Note::Kept { .. } | Note::NotKept { .. } | Note::Resumed { .. })
    };
    report.notes.retain(|note| !about_file(note));
    report
}

#[test]
fn parts_of_a_search_add_up_to_the_whole() {
    for strategy in
        ["dfs", "dpor", "dpor(source)", "dfs cache", "hapset(all)", "pos", "auto", "rff"]
    {
        let file = file(&strategy.replace(['(', ')', ' '], "-"));
        let run = |executions: u64, checkpoint: bool| {
            let mut config = config(strategy, &file);
            config.executions = Some(executions);
            config.pairs = Pairs::Count;
            if !checkpoint {
                config.checkpoint = None;
            }
            explore(config, increments).unwrap()
        };
        // One execution that was run is the same for all of them.
        let mut last = None;
        for executions in [1, 7, 30, 31, 120] {
            let report = run(executions, true);
            let is_over = report.counts.executions < executions;
            assert_eq!(file.exists(), !is_over, "{strategy} after {executions}");
            let resumed = report.notes.iter().any(|note| matches!(note, Note::Resumed { .. }));
            assert_eq!(resumed, executions > 1, "{strategy} after {executions}");
            last = Some((report, executions));
            if is_over {
                break;
            }
        }
        let (report, executions) = last.unwrap();
        // Whose turn it was is not in a file: each part of a portfolio begins with the first member's.
        if strategy != "auto" {
            let whole = run(executions, false);
            assert_eq!(without_time(report), without_time(whole), "{strategy}");
        }
        let _ = fs::remove_file(file);
    }
}

#[test]
fn a_report_says_that_it_is_of_several_parts() {
    let file = file("said");
    let run = |executions| {
        let mut config = config("dfs", &file);
        config.executions = executions;
        explore(config, kept_update).unwrap()
    };
    let first = run(Some(1));
    let kept = Note::Kept { file: file.to_string_lossy().into_owned(), anew: Vec::new() };
    assert_eq!(first.notes, [kept]);
    assert!(raddle::render(&first).contains("it can go on from"), "{}", raddle::render(&first));
    let second = run(None);
    assert_eq!((second.verdict, second.counts.executions), (Verdict::Covered, 2));
    let [Note::Resumed { parts: 2, executions: 1, .. }] = second.notes[..] else {
        panic!("{:?}", second.notes);
    };
    let text = raddle::render(&second).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("of 2 parts together, 1 execution"), "{text}");
    assert!(!file.exists(), "it is over");
}

#[test]
fn a_budget_that_nobody_gave_leaves_nothing() {
    let file = file("default");
    let report = explore(config("random", &file), kept_update).unwrap();
    assert_eq!((report.counts.executions, report.notes.len()), (10_000, 0));
    assert!(!file.exists());
}

#[test]
fn time_that_is_up_leaves_a_checkpoint_and_more_time_goes_on() {
    let file = file("time");
    let (mut executions, mut parts) = (0, 0);
    // Under load a part may come to nothing.
    while executions < 20 || parts < 3 {
        let mut config = config("dpor", &file);
        config.time = Some(Duration::from_millis(30));
        let report = explore(config, large).unwrap();
        parts += 1;
        assert!(report.counts.executions >= executions);
        assert!(report.elapsed_ms >= 30 * parts, "all parts together");
        executions = report.counts.executions;
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn a_failure_is_found_once_and_ends_it() {
    let file = file("failure");
    let mut config = config("dfs", &file);
    config.executions = Some(1);
    assert_eq!(explore(config.clone(), lost_update).unwrap().verdict, Verdict::Passed);
    config.executions = None;
    let report = explore(config, lost_update).unwrap();
    assert_eq!(report.verdict, Verdict::Failed);
    // Execution 2, as without the interruption.
    assert_eq!(report.failure.unwrap().execution, 2);
    assert!(!file.exists());
}

#[test]
fn members_of_a_portfolio_go_on_each_where_it_was() {
    let file = file("portfolio");
    let run = |executions| {
        let mut config = config("dpor | pos", &file);
        config.executions = executions;
        explore(config, increments).unwrap()
    };
    let first = run(Some(40));
    assert_eq!(first.counts.executions, 40);
    let second = run(Some(100));
    assert_eq!(second.counts.executions, 100, "{:?}", second.members);
    for (before, after) in first.members.iter().zip(&second.members) {
        assert!(after.counts.executions >= before.counts.executions);
    }
    let whole = run(None);
    assert_eq!(whole.verdict, Verdict::Covered);
    let alone = {
        let mut config = config("dpor", &file);
        config.checkpoint = None;
        explore(config, increments).unwrap()
    };
    assert_eq!(whole.members[0].counts, alone.counts, "dpor ran what it runs alone");
    assert!(!file.exists());
}

#[test]
fn a_reduced_search_in_the_order_of_priorities_goes_on_where_it_was() {
    let file = file("reduced");
    let run = |executions, kept: bool| {
        let mut config = config("dpor(source) best-first(pb)", &file);
        config.executions = executions;
        config.checkpoint = config.checkpoint.filter(|_| kept);
        explore(config, increments).unwrap()
    };
    let first = run(Some(3), true);
    assert!(matches!(&first.notes[..], [Note::Kept { anew, .. }] if anew.is_empty()), "{first:?}");
    let (parts, whole) = (run(None, true), run(None, false));
    assert_eq!((parts.counts, &parts.guarantee), (whole.counts, &whole.guarantee));
    assert!(!file.exists());
}

#[test]
fn a_checkpoint_of_another_search_is_an_error_and_stays() {
    let file = file("fits");
    let mut first = config("dfs", &file);
    first.executions = Some(3);
    explore(first.clone(), increments).unwrap();
    let bytes = fs::read(&file).unwrap();
    let refused = |change: fn(&mut Config)| {
        let mut config = first.clone();
        change(&mut config);
        let error = explore(config, increments).unwrap_err().to_string();
        assert!(
            error.contains(&*file.to_string_lossy())
                && error.contains("; ")
                && error.ends_with(ANEW),
            "{error}"
        );
        assert_eq!(fs::read(&file).unwrap(), bytes);
        error
    };
    assert!(refused(|config| config.strategy = "dpor".into()).contains("strategy `dfs`"));
    assert!(refused(|config| config.test = Some("other".into())).contains("test `a test`"));
    assert!(refused(|config| config.seed = Some(5)).contains("RADDLE_SEED=0"));
    assert!(refused(|config| config.spurious = true).contains("RADDLE_SPURIOUS=false"));
    assert!(refused(|config| config.traces = false).contains("RADDLE_TRACES=true"));
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let error = explore(first.clone(), increments).unwrap_err().to_string();
    assert!(
        error.ends_with(&format!("it is damaged, or no checkpoint of raddle; {ANEW}")),
        "{error}"
    );
    // Unless it is to begin anew.
    first.resume = false;
    let report = explore(first, increments).unwrap();
    assert!(!report.notes.iter().any(|note| matches!(note, Note::Resumed { .. })));
    fs::remove_file(file).unwrap();
}

/// Which execution this is, of the process that is killed.
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

const KILLED: &str = "FIXTURE_CHECKPOINT_OF_ONE_THAT_IS_KILLED";

/// As the process that is killed sees it: a checkpoint after each millisecond, of a search that does not end before
/// there is one, however busy the machine is; and when there is one it ends without a word.
fn until_killed(file: &Path) -> ! {
    let mut config = config("dpor", file);
    config.checkpoint_every = Some(Duration::from_millis(1));
    let path = file.to_owned();
    let _ = explore(config, move || {
        let n = EXECUTIONS.fetch_add(1, Ordering::Relaxed);
        if n > 20 && path.exists() {
            kill_this_process();
        }
        large();
    });
    unreachable!("it was killed");
}

fn kill_this_process() -> ! {
    let pid = std::process::id().to_string();
    let _ = Command::new("kill").args(["-KILL", &pid]).status();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_process_that_is_killed_leaves_the_last_checkpoint() {
    if let Some(file) = std::env::var_os(KILLED) {
        until_killed(Path::new(&file));
    }
    let file = file("killed");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "checkpoints::a_process_that_is_killed_leaves_the_last_checkpoint"])
        .env(KILLED, &file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), None, "killed");
    assert!(file.exists());
    let resume = |executions: u64| {
        let mut config = config("dpor", &file);
        config.executions = Some(executions);
        explore(config, large).unwrap()
    };
    // It ends at once: the budget is of all parts together.
    let report = resume(1);
    let resumed = report.notes.iter().find_map(|note| match note {
        Note::Resumed { executions, .. } => Some(*executions),
        _ => None,
    });
    let before = resumed.expect("it goes on");
    assert!(before > 0, "{:?}", report.notes);
    let report = resume(before + 30);
    fs::remove_file(&file).unwrap();
    let whole = resume(before + 30);
    assert_eq!(without_time(report), without_time(whole));
    fs::remove_file(&file).unwrap();
}
