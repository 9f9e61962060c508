//! What is seen on a terminal: a pseudo-terminal of some size, and the screen that it would show.
#![expect(unsafe_code, reason = "the C library opens pseudo-terminals")]

use std::fs::File;
use std::io::Read as _;
use std::num::NonZero;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};

use raddle_trace::exit;
use vt100::Parser;

use crate::{Watched, fixture};

/// A command on a terminal, and what that shows.
struct Terminal {
    child: Watched,
    /// The end at which the terminal's owner sits.
    owner: File,
    screen: Parser,
    bytes: Vec<u8>,
    columns: u16,
}

impl Terminal {
    fn start(mut command: Command, rows: u16, columns: u16) -> Self {
        let (mut owner, mut inner) = (-1, -1);
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: two valid places for file descriptors; no name and no settings are asked for.
        let opened = unsafe {
            let nothing = std::ptr::null_mut();
            libc::openpty(
                &raw mut owner,
                &raw mut inner,
                nothing,
                std::ptr::null_mut(),
                (&raw const size).cast_mut(),
            )
        };
        assert_eq!(opened, 0, "a pseudo-terminal: {}", std::io::Error::last_os_error());
        // SAFETY: both were just opened, and nothing else owns them.
        let (owner, inner) = unsafe { (OwnedFd::from_raw_fd(owner), OwnedFd::from_raw_fd(inner)) };
        let end = || Stdio::from(inner.try_clone().unwrap());
        command.stdin(Stdio::null()).stdout(end()).stderr(end());
        let child = Watched::spawn(&mut command);
        drop((command, inner));
        let some = |n| NonZero::new(n).unwrap();
        let screen = Parser::new(some(rows), some(columns), 10_000);
        Self { child, owner: owner.into(), screen, bytes: Vec::new(), columns }
    }

    /// Reads on. False if no process has the terminal any more.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.owner.read(&mut bytes) {
            Ok(n) if n > 0 => {
                self.screen.process(&bytes[..n]);
                self.bytes.extend_from_slice(&bytes[..n]);
                true
            }
            // Linux says so when the last one has gone.
            _ => false,
        }
    }

    /// Rows of the screen with something on them.
    fn rows(&self) -> Vec<String> {
        let rows = self.screen.screen().rows(0, self.columns);
        rows.map(|row| row.trim_end().to_owned()).filter(|row| !row.is_empty()).collect()
    }

    /// The first screen with a row like this.
    fn until(&mut self, row: impl Fn(&str) -> bool) -> Vec<String> {
        loop {
            let rows = self.rows();
            if rows.iter().any(|found| row(found)) {
                return rows;
            }
            assert!(self.read(), "it ended without such a row:\n{}", rows.join("\n"));
        }
    }

    /// All rows at the end, those that have left the screen first, and the exit code.
    fn end(mut self) -> (Vec<String>, Vec<u8>, Option<i32>) {
        while self.read() {}
        let code = self.child.end().code();
        assert!(!self.screen.screen().hide_cursor(), "the cursor is there again");
        self.screen.screen_mut().set_scrollback(usize::MAX);
        let mut all = Vec::new();
        loop {
            let above = self.screen.screen().scrollback();
            let rows = self.rows();
            if above == 0 {
                all.extend(rows);
                return (all, self.bytes, code);
            }
            all.extend(rows.into_iter().take(1));
            self.screen.screen_mut().set_scrollback(above - 1);
        }
    }
}

/// A test that ends when its time is over. The locale is one with more than ASCII.
fn command(more: &[(&str, &str)]) -> Command {
    let mut command = fixture().command(&[
        "test",
        "--no-regressions",
        "--exact",
        "--time=1500ms",
        "--traces=true",
        "--strategy=all best-first(pb)",
        "--jobs=2",
        "an_endless_one",
    ]);
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "LC_CTYPE", "LANG", "CI"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").envs(more.iter().copied());
    command
}

/// A line that moves.
fn moves(row: &str) -> bool {
    row.contains("/s") && row.ends_with(" left")
}

#[test]
fn a_line_says_how_far_a_search_is_and_leaves_nothing_behind() {
    for (rows, columns) in [(24, 80), (50, 200), (20, 40)] {
        let mut terminal = Terminal::start(command(&[]), rows, columns);
        let seen = terminal.until(moves);
        let lines: Vec<_> = seen.iter().filter(|row| moves(row)).collect();
        assert_eq!(lines.len(), 1, "a line, and no part of another:\n{}", seen.join("\n"));
        assert!(lines[0].contains("an_endless_"), "{}", lines[0]);
        // How many different ones, where there is room.
        assert_eq!(lines[0].contains("traces"), columns >= 80, "{}", lines[0]);
        let (all, _, code) = terminal.end();
        assert_eq!(code, Some(i32::from(exit::PASSED)), "{}", all.join("\n"));
        let left: Vec<_> = all.iter().filter(|row| moves(row)).collect();
        assert!(left.is_empty(), "left on the screen: {left:?}\n{}", all.join("\n"));
        assert!(all.iter().any(|row| row.starts_with("verdict  test")), "{}", all.join("\n"));
    }
}

#[test]
fn without_colours_there_are_none_and_a_dumb_terminal_gets_text_alone() {
    let (_, bytes, _) = Terminal::start(command(&[("NO_COLOR", "1")]), 24, 80).end();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let ours = text.split("raddle test\r\n").last().unwrap();
    assert!(!ours.contains("\x1b[3") && !ours.contains("\x1b[1m"), "{ours:?}");
    let (all, bytes, _) = Terminal::start(command(&[("TERM", "dumb")]), 24, 80).end();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let ours = text.split("raddle test\r\n").last().unwrap();
    assert!(!ours.contains('\x1b'), "{ours:?}");
    assert!(all.iter().any(|row| row.contains("1 passed")));
}

#[test]
fn a_terminal_that_knows_ascii_alone_is_written_nothing_else_on_lines_that_move() {
    let mut terminal = Terminal::start(command(&[("LC_ALL", "C")]), 24, 80);
    let seen = terminal.until(moves);
    let line = seen.iter().find(|row| moves(row)).unwrap();
    assert!(line.is_ascii(), "{line}");
    terminal.end();
}

#[test]
fn after_ctrl_c_the_terminal_is_as_it_was() {
    let mut terminal = Terminal::start(command(&[("RADDLE_EXECUTIONS", "none")]), 24, 80);
    terminal.until(moves);
    let pid = terminal.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let heard = "Ctrl-C: ending 1 search; again kills it; add --resume to go on later";
    terminal.until(|row| row == heard);
    let (all, _, code) = terminal.end();
    assert_eq!(code, Some(i32::from(exit::INTERRUPTED)), "{}", all.join("\n"));
    assert!(!all.iter().any(|row| moves(row)), "{}", all.join("\n"));
    // Acknowledged once, and before anything came of it.
    let at = |is_it: &dyn Fn(&str) -> bool| all.iter().position(|row| is_it(row)).unwrap();
    assert_eq!(all.iter().filter(|row| *row == heard).count(), 1, "{}", all.join("\n"));
    let result = at(&|row| row.trim_start().starts_with("interrupted  an_endless_one: "));
    assert!(at(&|row| row == heard) < result, "{}", all.join("\n"));
    assert!(all.iter().any(|row| row.starts_with("interrupted  an_endless_one")), "the table");
    assert!(all.iter().any(|row| row == "0 passed, 1 interrupted"), "{}", all.join("\n"));
}
