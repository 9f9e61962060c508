//! Lines for people: on a terminal one for each test that runs, redrawn; elsewhere only results.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use raddle_report::{Colour, progress_row};
use raddle_trace::Progress;
use raddle_trace::events::{Ending, Retried, TestId};

use super::Show;
use super::summary::{
    colour_code, executions, failure_text, guarantee, interrupted, summary, time, verdict,
};
use crate::check::Tested;
use crate::find::Test;
use crate::run::Tally;
use crate::{os, page, print};

/// From one movement of a line to the next.
const TICK: Duration = Duration::from_millis(250);
/// Where the text after the verdict of a test begins.
const INDENT: usize = 14;

/// Writes results to standard output, and what moves to standard error.
#[derive(Debug)]
pub(crate) struct Human {
    colour: Colour,
    width: usize,
    /// Whether the terminal shows more than ASCII.
    unicode: bool,
    /// None where there is no terminal on which a line can be drawn again.
    lines: Option<MultiProgress>,
    bars: BTreeMap<TestId, ProgressBar>,
    /// Whether every step of a failure is shown.
    full: bool,
}

impl Human {
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let moves = std::io::stderr().is_terminal() && !dumb;
        Self {
            colour: print::colour(),
            width: print::width(),
            unicode: print::unicode(),
            lines: moves.then(MultiProgress::new),
            bars: BTreeMap::new(),
            full: print::full(false),
        }
    }

    /// With every step of a failure, if that is asked for.
    pub(crate) fn full(self, asked: bool) -> Self {
        Self { full: print::full(asked), ..self }
    }

    /// Takes the line of a test away.
    pub(crate) fn clear(&mut self, test: &TestId) {
        if let Some(bar) = self.bars.remove(test) {
            bar.finish_and_clear();
            if let Some(lines) = &self.lines {
                lines.remove(&bar);
            }
        }
    }

    /// The line of a test. None if there is no terminal, or it is full: lines that have left the screen
    /// cannot be drawn again. The test gets one when another is over.
    fn bar(&mut self, test: &TestId) -> Option<&ProgressBar> {
        let lines = self.lines.as_ref()?;
        if !self.bars.contains_key(test) {
            let rows = os::rows().unwrap_or(24);
            if self.bars.len() + 2 > rows {
                return None;
            }
            let bar = lines.add(ProgressBar::new_spinner());
            let ticks = if self.unicode { "⠁⠂⠄⡀⢀⠠⠐⠈ " } else { "-\\|/ " };
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style.tick_chars(ticks));
            }
            bar.enable_steady_tick(TICK);
            self.bars.insert(test.clone(), bar);
        }
        self.bars.get(test)
    }

    fn show(&mut self, test: &TestId, progress: &Progress) {
        // Of the terminal as it is now. The last column is left free: some terminals go to the next line
        // when it is written.
        let width = os::columns().unwrap_or(80).saturating_sub(3);
        let row = progress_row(&test.test, progress, width);
        let row = if self.unicode { row } else { print::ascii(&row) };
        if let Some(bar) = self.bar(test) {
            bar.set_message(row);
        }
    }

    fn say(&self, text: &str) {
        self.beside_lines(|| print::out(text));
    }

    /// Says that Ctrl-C was heard, on standard error: it is no result.
    pub(crate) fn acknowledge(&self, text: &str) {
        self.beside_lines(|| print::err(text));
    }

    /// Has something written where lines that move do not get in its way.
    fn beside_lines(&self, write: impl FnOnce()) {
        match &self.lines {
            Some(lines) => lines.suspend(write),
            None => write(),
        }
    }
}

impl Show for Human {
    fn began(&mut self, tests: &[Test], ignored: u64) {
        let n = tests.len();
        let left = if ignored > 0 { format!(", {ignored} ignored") } else { String::new() };
        let plural = if n == 1 { "test" } else { "tests" };
        self.say(&format!("{n} raddle {plural}{left}\n"));
    }

    fn started(&mut self, test: &Test) {
        self.show(&test.id, &Progress::default());
    }

    fn progress(&mut self, test: &Test, progress: &Progress) {
        self.show(&test.id, progress);
    }

    fn retried(&mut self, test: &Test, file: &Path, what: Retried) {
        let what = match what {
            Retried::Fails => "still fails",
            Retried::Fixed => "passes now",
            Retried::Stale => "is stale: the test has changed",
        };
        self.say(&format!("{}: the schedule in {} {what}\n", test.id.test, page::shown(file)));
    }

    fn processors_idle(&mut self, test: &Test, workers: usize) {
        let name = &test.id.test;
        let hint = format!(
            "{name} is searched by one host while other processors are idle; with `--workers {workers}` as many hosts share it"
        );
        self.acknowledge(&format!("{}\n", print::wrapped(&hint, 0, 2, print::columns())));
    }

    fn interrupted(&mut self, running: usize) {
        self.acknowledge(&interrupted(running, "; add --resume to go on later"));
    }

    fn finished(&mut self, tested: &Tested) {
        self.clear(&tested.id);
        if matches!(tested.ending, Ending::Passed | Ending::Interrupted) {
            let code = colour_code(tested.ending);
            let word = print::paint(self.colour, code, &format!("{:>12}", verdict(tested)));
            let (n, time) = (executions(tested), time(tested));
            let plural = if n == "1" { "execution" } else { "executions" };
            let what = guarantee(tested);
            let line = format!("{}: {n} {plural} in {time}; {what}", tested.id.test);
            let line = print::wrapped(&line, INDENT, INDENT, print::columns());
            self.say(&format!("{word}  {line}\n"));
        } else {
            let text = failure_text(tested, self.colour, self.width, self.full);
            self.say(&format!("\n{text}\n"));
        }
    }

    fn ended(&mut self, tested: &[Tested], tally: &Tally) {
        let text = summary(tested, tally, self.colour, print::columns());
        self.say(&format!("\n{text}"));
    }
}
