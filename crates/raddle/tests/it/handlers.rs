//! A program with handlers of its own for signals: they have their way.
#![cfg(unix)]
#![expect(unsafe_code, reason = "handlers are installed, and called, by the C library")]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

const ABORT: i32 = 6;
const ARITHMETIC: i32 = 8;
const SEGMENTATION: i32 = 11;

unsafe extern "C" {
    safe fn raise(signal: i32) -> i32;
    fn signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
    fn write(file: i32, text: *const u8, length: usize) -> isize;
    fn _exit(code: i32) -> !;
}

extern "C" fn says_so(_: i32) {
    let text = "their handler\n";
    // SAFETY: a valid buffer of that length.
    unsafe { write(2, text.as_ptr(), text.len()) };
}

extern "C" fn ends_it(number: i32) {
    says_so(number);
    // SAFETY: a plain call.
    unsafe { _exit(42) };
}

/// Set for the test that is only run by others.
const CHILD: &str = "CHILD_WITH_HANDLERS";

#[test]
fn child() {
    let install = |number, handler| {
        // SAFETY: the handlers do nothing that is not allowed in one.
        unsafe { signal(number, handler) };
    };
    let die: fn() = match std::env::var(CHILD).as_deref() {
        Ok("abort") => {
            install(ABORT, says_so);
            || std::process::abort()
        }
        Ok("survive") => {
            install(ARITHMETIC, says_so);
            || _ = raise(ARITHMETIC)
        }
        Ok("end") => {
            install(SEGMENTATION, ends_it);
            // SAFETY: none: that is the point.
            || unsafe { std::ptr::without_provenance_mut::<u32>(64).write_volatile(1) }
        }
        _ => return,
    };
    raddle::check(move || {
        assert_eq!(AtomicU32::new(0).load(SeqCst), 0);
        die();
    });
}

fn run(how: &str) -> (ExitStatus, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["handlers::child", "--exact"]).env(CHILD, how);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

const ENDS: &str = "raddle: the process ends in the middle of an execution";

#[test]
fn a_handler_of_aborts_is_called_after_what_raddle_says() {
    let (status, text) = run("abort");
    assert_eq!(status.signal(), Some(ABORT), "{text}");
    let said = text.find(ENDS).expect(&text);
    assert!(text[said..].contains("their handler\n"), "{text}");
    // No `#[raddle::test]`, so the driver does not find it.
    assert!(text.contains("RADDLE_ISOLATION=process") && !text.contains("cargo raddle"), "{text}");
}

#[test]
fn of_a_signal_that_a_program_survives_nothing_is_said() {
    let (status, text) = run("survive");
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.contains("their handler\n") && !text.contains(ENDS), "{text}");
}

#[test]
fn a_handler_that_ends_the_process_ends_it() {
    let (status, text) = run("end");
    assert_eq!(status.code(), Some(42), "{text}");
    assert!(text.ends_with("their handler\n"), "{text}");
}
