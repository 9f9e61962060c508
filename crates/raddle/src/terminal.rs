//! What is written besides the report: lines of progress, and how much of panics.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use crate::config::Config;
use crate::progress::{ProgressListener, ShowProgress};

/// From one line on the terminal to the next.
const LINES: Duration = Duration::from_secs(2);

/// Writes lines for the test of this configuration, if it is to.
pub(crate) fn lines(config: &Config) -> Option<ProgressListener> {
    let every = how_often(config, io::stderr().is_terminal())?;
    let test = config.test.as_ref().map_or(String::new(), |test| format!("{test}: "));
    Some(ProgressListener::new(every, move |progress| {
        let line = format!("{test}{}\n", raddle_report::progress_line(progress));
        // Not by the macro, whose output the test harness keeps until the test has ended. If
        // its reader is gone, that is no reason to stop.
        let _ = io::stderr().write_all(line.as_bytes());
    }))
}

/// Whether panics are to be printed with a backtrace, and not with the full one.
pub(crate) fn wants_short_backtraces() -> bool {
    is_short_backtrace(std::env::var("RUST_BACKTRACE").ok().as_deref())
}

/// As std reads `RUST_BACKTRACE`.
fn is_short_backtrace(variable: Option<&str>) -> bool {
    !matches!(variable, None | Some("0" | "full"))
}

/// From one line to the next; none if there are to be none.
fn how_often(config: &Config, is_terminal: bool) -> Option<Duration> {
    match config.progress {
        ShowProgress::Always => Some(LINES),
        ShowProgress::Every(time) => Some(time),
        ShowProgress::Never => None,
        ShowProgress::Auto => (config.env.ci == Some(false) && is_terminal).then_some(LINES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Env;

    #[test]
    fn a_full_backtrace_is_left_to_std() {
        let shorts = [None, Some("0"), Some("1"), Some("full"), Some("")].map(is_short_backtrace);
        assert_eq!(shorts, [false, false, true, false, true]);
    }

    #[test]
    fn lines_are_for_people_at_a_terminal_and_for_who_asks() {
        let of = |progress, ci| {
            let env = Env { ci, ..Env::default() };
            Config { progress, env, ..Config::default() }
        };
        let auto = |ci| of(ShowProgress::Auto, ci);
        assert_eq!(how_often(&auto(Some(false)), true), Some(LINES));
        assert_eq!(how_often(&auto(Some(false)), false), None, "a pipe");
        assert_eq!(how_often(&auto(Some(true)), true), None, "a CI with a terminal");
        assert_eq!(how_often(&auto(None), true), None, "the environment was not read");
        assert_eq!(how_often(&of(ShowProgress::Always, Some(true)), false), Some(LINES));
        assert_eq!(how_often(&of(ShowProgress::Never, Some(false)), true), None);
        let often = ShowProgress::Every(Duration::from_millis(20));
        assert_eq!(how_often(&of(often, None), false), Some(Duration::from_millis(20)));
    }
}
