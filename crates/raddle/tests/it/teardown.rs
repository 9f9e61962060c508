//! What was found is not lost to what the test does afterwards: destructors that spin, panic or abort.
//!
//! Each program fails while another thread has something on its stack that must not be unwound. All are run with
//! `check`, as a test is: found, run again for the trace, made small and explained, all in this process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Config, thread};

/// The report of a test that fails.
#[track_caller]
fn report(config: Config, test: impl Fn() + Send + Sync + 'static) -> String {
    let checked = catch_unwind(AssertUnwindSafe(|| raddle::check_with(config, test)));
    let payload = checked.expect_err("it fails");
    payload.downcast_ref::<String>().expect("a report").clone()
}

/// What comes before the table, on one line.
fn headline(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.is_empty());
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn quick() -> Config {
    let mut config = Config::default();
    // Longer than a busy machine keeps a thread from running.
    config.watchdog = Some(Duration::from_secs(4));
    config
}

/// Does this when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A thread with `guard` on its stack races with main.
fn race_beside<F: FnMut() + Send + 'static>(guard: OnDrop<F>) {
    let cell = Arc::new(Tracked::new(0));
    let theirs = Arc::clone(&cell);
    let thread = thread::spawn(move || {
        let _guard = guard;
        theirs.set(1);
        thread::yield_now();
    });
    cell.set(2);
    thread.join().unwrap();
}

fn abort_if_panicking() {
    if std::thread::panicking() {
        std::process::abort();
    }
}

#[test]
fn a_guard_that_aborts_in_another_thread_does_not_hide_a_data_race() {
    let text = report(quick(), || race_beside(OnDrop(abort_if_panicking)));
    assert!(text.contains("data race of"), "{text}");
    assert!(text.contains("teardown.rs"), "{text}");
}

#[test]
fn a_destructor_that_spins_for_a_peer_does_not_hide_a_data_race() {
    let text = report(quick(), || {
        // As a queue that waits for a slot that its peer is about to fill: not by raddle's operations.
        let filled = std::sync::atomic::AtomicBool::new(false);
        race_beside(OnDrop(move || {
            while std::thread::panicking() && !filled.load(SeqCst) {
                std::hint::spin_loop();
            }
        }));
    });
    assert!(text.contains("data race of"), "{text}");
    assert!(!text.contains("hangs"), "{text}");
}

/// Main fails an assertion while a thread with `guard` on its stack waits for it.
fn assertion_beside<F: FnMut() + Send + 'static>(guard: OnDrop<F>) {
    let lock = Arc::new(Mutex::new(0));
    let held = lock.lock().unwrap();
    let theirs = Arc::clone(&lock);
    let thread = thread::spawn(move || {
        let _guard = guard;
        drop(theirs.lock());
    });
    assert_eq!(*held, 1, "not one yet");
    drop(held);
    thread.join().unwrap();
}

#[test]
fn a_destructor_that_panics_in_another_thread_does_not_hide_an_assertion() {
    let text = report(quick(), || {
        assertion_beside(OnDrop(|| panic!("from the destructor")));
    });
    assert!(text.contains("not one yet"), "{text}");
    assert!(!text.contains("from the destructor"), "{text}");
}

#[test]
fn what_is_tried_to_explain_a_failure_may_hang_and_the_failure_is_reported_all_the_same() {
    // The order that fails is found first. In the other one a loop waits for nothing that raddle sees.
    let text = report(quick(), || {
        let n = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&n);
        let thread = thread::spawn(move || theirs.store(1, SeqCst));
        let seen = n.load(SeqCst);
        assert_eq!(seen, 1, "it was first");
        thread.join().unwrap();
        loop {
            std::hint::spin_loop();
        }
    });
    assert!(text.contains("it was first"), "{text}");
    assert!(text.contains("note: ") && text.contains("hangs"), "{text}");
}

#[test]
fn a_destructor_that_spins_while_its_own_panic_unwinds_does_not_hide_the_panic() {
    let text = report(quick(), || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&flag);
        let thread = thread::spawn(move || theirs.store(true, SeqCst));
        let _guard = OnDrop(|| {
            while !flag.load(SeqCst) {
                raddle::hint::spin_loop();
            }
        });
        assert!(flag.load(SeqCst), "the cause");
        thread.join().unwrap();
    });
    let headline = headline(&text);
    assert!(headline.contains(": main panicked at crates/raddle/tests/it/teardown.rs:"), "{text}");
    assert!(headline.ends_with(" the cause"), "{text}");
}

#[test]
fn the_first_panic_is_the_headline_and_all_have_their_row() {
    let mut config = quick();
    config.full = true;
    let text = report(config, || {
        let lock = Arc::new(Mutex::new(()));
        let (one, two) = (Arc::clone(&lock), Arc::clone(&lock));
        let first = thread::spawn(move || {
            let _held = one.lock().unwrap();
            panic!("the cause");
        });
        let second = thread::spawn(move || drop(two.lock().unwrap()));
        second.join().unwrap();
        first.join().unwrap();
    });
    let headline = headline(&text);
    assert!(headline.contains("_row: thread 1 panicked at crates/raddle/tests/it/"), "{text}");
    assert!(headline.ends_with(" the cause"), "{text}");
    // It unlocks while it unwinds, so its row is before that step.
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("step")).collect();
    let row = |text: &str| table.iter().position(|line| line.contains(text)).expect(text);
    assert!(row("panicked: the") < row("unlock"), "{text}");
}

#[test]
fn a_panic_behind_a_livelock_is_the_headline_and_the_livelock_follows() {
    let text = report(quick(), || {
        let ready = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&ready);
        let thread = thread::spawn(move || {
            assert!(theirs.load(SeqCst), "not ready");
            theirs.store(true, SeqCst);
        });
        while !ready.load(SeqCst) {
            raddle::hint::spin_loop();
        }
        thread.join().unwrap();
    });
    assert!(headline(&text).contains("_follows: thread 1 panicked at"), "{text}");
    assert!(text.contains("what followed:\n  livelock: main changed nothing for"), "{text}");
}

/// Fails if the spawned thread stores first, with `guard` on the stack that the panic unwinds.
fn too_late_with<F: FnMut()>(guard: OnDrop<F>) {
    let _guard = guard;
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| n.store(1, SeqCst));
        assert_eq!(n.load(SeqCst), 0, "too late");
    });
}

/// Waits for ever, and not by raddle's operations.
fn spin_if_panicking() {
    let never = std::sync::atomic::AtomicBool::new(false);
    while std::thread::panicking() && !never.load(SeqCst) {
        std::hint::spin_loop();
    }
}

/// The report has the panic as its headline, the steps that led to it, and the command that replays it; a replay says the
/// same.
#[cfg(unix)]
#[track_caller]
fn is_whole(body: fn(), panic: &str, then: &str) {
    is_whole_with(quick(), body, panic, then);
}

/// The same of a search with these settings.
#[cfg(unix)]
#[track_caller]
fn is_whole_with(config: Config, body: fn(), panic: &str, then: &str) {
    let text = report(config, body);
    let told = |text: &str| {
        let headline = headline(text);
        assert!(headline.contains(" panicked at crates/raddle/tests/it/teardown.rs:"), "{text}");
        assert!(headline.contains(panic) && headline.contains(" then "), "{text}");
        assert!(headline.ends_with(then), "{text}");
        let mut table = text.lines().skip_while(|line| !line.starts_with("step"));
        assert!(table.any(|line| line.contains("store")), "{text}");
    };
    told(&text);
    let replay = text.split("RADDLE_REPLAY=").nth(1).expect(&text);
    let token = replay.split_whitespace().next().expect(&text).to_owned();
    let mut config = quick();
    config.replay = Some(token);
    told(&report(config, body));
}

#[cfg(unix)]
#[test]
fn a_guard_that_aborts_while_its_own_panic_unwinds_does_not_hide_the_panic() {
    let test = || too_late_with(OnDrop(abort_if_panicking));
    is_whole(test, "too late", "main ended the process by SIGABRT (an abort)");
    let in_a_thread = || {
        let thread = thread::spawn(|| too_late_with(OnDrop(abort_if_panicking)));
        thread.join().unwrap();
    };
    is_whole(in_a_thread, "too late", "ended the process by SIGABRT (an abort)");
}

/// A reduction lets a loop that looks in vain wait after two rounds, though no setting says so. Where it waits it is not among the
/// options, so the decisions that led to the panic mean something else to a run without that.
#[cfg(unix)]
#[test]
fn a_panic_behind_a_loop_that_waits_is_retraced_with_the_rounds_of_its_search() {
    fn test() {
        let _guard = OnDrop(abort_if_panicking);
        let (ready, n) = (AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                ready.store(true, SeqCst);
                n.store(1, SeqCst);
            });
            while !ready.load(SeqCst) {}
            assert_eq!(n.load(SeqCst), 0, "too late");
        });
    }
    for strategy in ["dpor", "dpor(source)"] {
        let mut config = quick();
        config.strategy = strategy.to_owned();
        is_whole_with(config, test, "too late", "main ended the process by SIGABRT (an abort)");
    }
}

#[cfg(unix)]
#[test]
fn a_destructor_that_panics_while_its_own_panic_unwinds_does_not_hide_the_first() {
    let test = || {
        too_late_with(OnDrop(|| assert!(!std::thread::panicking(), "from the destructor")));
    };
    is_whole(test, "too late", "main ended the process by SIGABRT (an abort)");
}

#[cfg(unix)]
#[test]
fn a_destructor_that_spins_unseen_while_its_own_panic_unwinds_does_not_hide_the_panic() {
    let test = || too_late_with(OnDrop(spin_if_panicking));
    is_whole(test, "too late", "hangs: no step was made for 4000 ms");
}

#[test]
fn a_thread_that_panicked_leads_if_another_spins_unseen_for_what_it_would_have_set() {
    let text = report(quick(), || {
        let ready = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let theirs = Arc::clone(&ready);
        let n = AtomicU32::new(0);
        let _thread = thread::spawn(move || {
            assert_eq!(n.load(SeqCst), 1, "the cause");
            theirs.store(true, SeqCst);
        });
        thread::yield_now();
        while !ready.load(SeqCst) {
            std::hint::spin_loop();
        }
    });
    // If main moves first, it spins before there is a panic.
    assert!(text.contains("hangs") || headline(&text).contains("the cause"), "{text}");
}

#[test]
fn a_destructor_that_overflows_the_stack_while_its_own_panic_unwinds_does_not_hide_the_panic() {
    fn deep(n: u64) -> u64 {
        let room = [n; 64];
        let more = if n == u64::MAX { 0 } else { deep(std::hint::black_box(n + 1)) };
        more.wrapping_add(std::hint::black_box(room)[3])
    }
    let text = report(quick(), || {
        let _guard = OnDrop(|| {
            std::hint::black_box(deep(0));
        });
        assert_eq!(AtomicU32::new(0).load(SeqCst), 1, "the cause");
    });
    assert!(headline(&text).contains("main panicked at"), "{text}");
    assert!(headline(&text).contains("the cause"), "{text}");
    assert!(text.contains("what followed:\n  main overflowed its stack"), "{text}");
}

#[test]
fn a_panic_that_was_caught_before_a_limit_is_named() {
    let mut config = quick();
    config.steps = Some(50);
    let text = report(config, || {
        catch_unwind(|| panic!("caught")).unwrap_err();
        let n = AtomicU32::new(0);
        (0..1_000).for_each(|value| n.store(value, SeqCst));
    });
    let words: Vec<_> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("cut off by a limit, main panicked at"), "{text}");
}

#[cfg(unix)]
#[test]
fn executions_that_abort_in_processes_of_their_own_say_nothing_themselves() {
    let (code, text) = child("child_that_aborts_while_it_unwinds", "isolated");
    assert_eq!(code, Some(101), "{text}");
    assert!(text.contains("too late") && !text.contains("aborts the process"), "{text}");
}

#[test]
fn a_hang_after_a_panic_that_was_caught_is_a_hang() {
    let text = report(quick(), || {
        catch_unwind(|| panic!("caught")).unwrap_err();
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv();
    });
    assert!(text.contains("execution 1 hangs: no task has made a step for 4s"), "{text}");
}

#[cfg(unix)]
#[test]
fn tasks_that_abort_when_they_are_unwound_by_request_do_not_hide_the_failure() {
    let mut config = quick();
    config.teardown = raddle::Teardown::Unwind;
    let text = report(config, || race_beside(OnDrop(abort_if_panicking)));
    assert!(headline(&text).contains("data race of"), "{text}");
    assert!(text.contains("RADDLE_REPLAY="), "{text}");
}

/// Set for tests that are only run by other tests.
const CHILD: &str = "CHILD_OF_RADDLE_TESTS";

#[test]
fn child_that_aborts_while_it_unwinds() {
    match std::env::var(CHILD).as_deref() {
        Ok("watched") => raddle::check(|| too_late_with(OnDrop(abort_if_panicking))),
        Ok(how) => {
            let mut config = Config::default();
            if how == "isolated" {
                config.isolation = raddle::Isolation::Process;
            } else {
                config.watchdog = None;
            }
            raddle::check_with(config, || too_late_with(OnDrop(abort_if_panicking)));
        }
        Err(_) => {}
    }
}

/// The exit code of a test of this file, and what it prints, captured by the harness, as by default: what it keeps is
/// lost when the process aborts.
#[cfg(unix)]
fn child(name: &str, how: &str) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args([&format!("teardown::{name}"), "--exact"]).env(CHILD, how);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[cfg(unix)]
#[test]
fn a_test_that_aborts_while_a_panic_unwinds_fails_as_others_do() {
    let (code, text) = child("child_that_aborts_while_it_unwinds", "watched");
    assert_eq!(code, Some(101), "{text}");
    assert!(text.contains("too late") && text.contains("RADDLE_REPLAY="), "{text}");
    assert!(text.contains("test result: FAILED. 0 passed; 1 failed"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_process_that_aborts_while_a_panic_unwinds_and_is_not_watched_says_which_panic() {
    let (code, text) = child("child_that_aborts_while_it_unwinds", "unwatched");
    assert_eq!(code, None, "{text}");
    let found = text.lines().find(|line| line.trim().starts_with("main panicked at")).expect(&text);
    assert!(found.contains("teardown.rs") && found.contains("too late"), "{text}");
}

/// A pool whose destructor waits for its worker, which waits for work.
struct Pool {
    worker: Option<thread::JoinHandle<()>>,
    work: Arc<(Mutex<bool>, Condvar)>,
}

impl Pool {
    fn new() -> Self {
        let work = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&work);
        let worker = thread::spawn(move || {
            let mut stopped = theirs.0.lock().unwrap();
            while !*stopped {
                stopped = theirs.1.wait(stopped).unwrap();
            }
        });
        Self { worker: Some(worker), work }
    }

    fn stop(self) {
        *self.work.0.lock().unwrap() = true;
        self.work.1.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.worker.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_panic_whose_unwinding_waits_for_ever_is_the_headline() {
    let text = report(quick(), || {
        let pool = Pool::new();
        assert_eq!(AtomicU32::new(0).load(SeqCst), 1, "the cause");
        pool.stop();
    });
    let led = |text: &str, name: &str| {
        let headline = headline(text);
        assert!(headline.contains(&format!("{name}: main panicked at crates/raddle/")), "{text}");
        assert!(headline.contains("the cause"), "{text}");
        assert!(text.contains("what followed:\n  deadlock of 2 tasks: main, thread 1"), "{text}");
    };
    led(&text, "is_the_headline");
    // A scope catches the panic, waits for its threads and raises it again.
    let text = report(quick(), || {
        let (send, receive) = raddle::sync::mpsc::channel::<u32>();
        thread::scope(|scope| {
            scope.spawn(move || receive.recv());
            assert_eq!(AtomicU32::new(0).load(SeqCst), 1, "the cause");
            send.send(1).unwrap();
        });
    });
    led(&text, "is_the_headline");
}

#[test]
fn a_panic_whose_unwinding_spins_for_ever_is_the_headline() {
    for in_a_thread in [false, true] {
        let body = move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let fail = move || {
                let _guard = OnDrop(|| {
                    while !theirs.load(SeqCst) {
                        thread::yield_now();
                    }
                });
                assert_eq!(AtomicU32::new(0).load(SeqCst), 1, "the cause");
            };
            if in_a_thread {
                thread::spawn(fail).join().unwrap();
            } else {
                fail();
            }
            flag.store(true, SeqCst);
        };
        let text = report(quick(), body);
        let who = if in_a_thread { "thread 1" } else { "main" };
        assert!(headline(&text).contains(&format!(": {who} panicked at crates/raddle/")), "{text}");
        let followed = format!("what followed:\n  livelock: {who} changed nothing for");
        assert!(text.contains(&followed) && text.contains("RADDLE_REPLAY="), "{text}");
    }
}

// To make the failure small runs many executions that leave a task in the middle of its unwinding. std counts those on
// their OS thread, where every later execution would seem to panic.
#[test]
fn executions_after_one_that_was_left_unwinding_do_not_panic() {
    let text = report(quick(), || {
        assert!(!std::thread::panicking(), "this execution has not begun");
        let lock = Arc::new(Mutex::new(()));
        let go = Arc::new((Mutex::new(false), Condvar::new()));
        let (theirs, their_go) = (Arc::clone(&lock), Arc::clone(&go));
        let thread = thread::spawn(move || {
            let _held = theirs.lock().unwrap();
            let mut go = their_go.0.lock().unwrap();
            while !*go {
                go = their_go.1.wait(go).unwrap();
            }
        });
        let _guard = OnDrop(|| drop(lock.lock()));
        let is_set = go.0.lock().map_or(true, |go| *go);
        assert!(is_set, "the cause");
        *go.0.lock().unwrap() = true;
        go.1.notify_all();
        thread.join().unwrap();
    });
    assert!(headline(&text).contains("the cause"), "{text}");
}

#[test]
fn a_panic_that_was_caught_without_a_step_after_it_is_named_too() {
    let text = report(quick(), || {
        let (_send, receive) = raddle::sync::mpsc::channel::<u32>();
        catch_unwind(|| panic!("caught")).unwrap_err();
        receive.recv().unwrap();
    });
    assert!(headline(&text).contains("deadlock: main waits for ever"), "{text}");
    assert!(text.contains("panics before that, which were caught:\n  main panicked at"), "{text}");
}
