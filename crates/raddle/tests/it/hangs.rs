//! A task that blocks the OS thread.

use std::time::Duration;

use raddle::{Config, Error, explore};

fn hung(program: fn()) -> raddle::Hang {
    let mut config = Config::default();
    // Longer than a busy machine keeps a thread from running.
    config.watchdog = Some(Duration::from_secs(3));
    match explore(config, program) {
        Err(Error::Hung(hang)) => *hang,
        other => panic!("a hang, not {other:?}"),
    }
}

/// A std lock that is held over a switch.
fn std_lock() {
    let lock = std::sync::Arc::new(std::sync::Mutex::new(()));
    let theirs = std::sync::Arc::clone(&lock);
    let thread = raddle::thread::spawn(move || {
        let _held = theirs.lock();
        raddle::thread::yield_now();
    });
    raddle::thread::yield_now();
    drop(lock.lock());
    thread.join().unwrap();
}

#[test]
fn a_std_lock_held_by_a_suspended_task_is_reported() {
    let hang = hung(std_lock);
    assert_eq!(hang.task, 0);
    let site = hang.site.as_ref().expect("it yielded");
    assert!(site.file.ends_with("hangs.rs"), "{site}");
    let site = site.to_string();
    let text = Error::Hung(Box::new(hang)).to_string().replace(&site, "[site]");
    insta::assert_snapshot!(text, @"
    execution 1 hangs: no task has made a step for 3s
    last to move: task 0 (the test's body) at [site]
    The task, or one that it has spawned since, waits for something that raddle does not control:
    - a lock, channel or thread of std, parking_lot or another crate, which a suspended task will
      never let go: use raddle::sync and raddle::thread, also in the code under test
    - real input or output, or std::thread::sleep: replace it in the test, or use raddle::thread::sleep
    - a loop that does nothing raddle sees: call raddle::hint::spin_loop or raddle::thread::yield_now
    raddle controls what is in raddle::sync, raddle::thread, raddle::time and raddle::hint, and nothing
    else. If the code only computes for long, set a longer RADDLE_WATCHDOG, or none. The hanging OS
    thread is left behind: what it holds stays held until the process ends.
    ");
}

#[test]
fn a_hang_before_the_first_step_is_reported() {
    let hang = hung(|| {
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv();
    });
    assert_eq!((hang.task, hang.execution), (0, 1));
}
