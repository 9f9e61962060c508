//! Lines for people: on a terminal one for each test that runs, redrawn; elsewhere only results.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use raddle_report::{Colour, progress_line};
use raddle_trace::Progress;
use raddle_trace::events::{Ending, Retried, TestId};

use super::Show;
use super::summary::{executions, failure_text, guarantee, summary, time, verdict};
use crate::check::Tested;
use crate::find::Test;
use crate::run::Tally;
use crate::{page, print};

/// Writes results to standard output, and what moves to standard error.
#[derive(Debug)]
pub(crate) struct Human {
    colour: Colour,
    width: usize,
    /// None where there is no terminal.
    lines: Option<MultiProgress>,
    bars: BTreeMap<TestId, ProgressBar>,
}

impl Human {
    pub(crate) fn new() -> Self {
        let lines = std::io::stderr().is_terminal().then(MultiProgress::new);
        Self { colour: print::colour(), width: print::width(), lines, bars: BTreeMap::new() }
    }

    /// Takes the line of a test away.
    pub(crate) fn clear(&mut self, test: &TestId) {
        if let Some(bar) = self.bars.remove(test) {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        match &self.lines {
            Some(lines) => lines.suspend(|| print::out(text)),
            None => print::out(text),
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
        let Some(lines) = &self.lines else { return };
        let bar = lines.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message(test.id.test.clone());
        bar.enable_steady_tick(Duration::from_millis(250));
        self.bars.insert(test.id.clone(), bar);
    }

    fn progress(&mut self, test: &Test, progress: &Progress) {
        if let Some(bar) = self.bars.get(&test.id) {
            bar.set_message(format!("{}: {}", test.id.test, progress_line(progress)));
        }
    }

    fn retried(&mut self, test: &Test, file: &Path, what: Retried) {
        let what = match what {
            Retried::Fails => "still fails",
            Retried::Fixed => "passes now",
            Retried::Stale => "is stale: the test has changed",
        };
        self.say(&format!("{}: the schedule in {} {what}\n", test.id.test, page::shown(file)));
    }

    fn finished(&mut self, tested: &Tested) {
        self.clear(&tested.id);
        if tested.ending == Ending::Passed {
            let word = print::paint(self.colour, "32", &format!("{:>12}", verdict(tested)));
            let (n, time) = (executions(tested), time(tested));
            let plural = if n == "1" { "execution" } else { "executions" };
            let what = guarantee(tested);
            let line = format!("{}: {n} {plural} in {time}; {what}", tested.id.test);
            self.say(&format!("{word}  {line}\n"));
        } else {
            let text = failure_text(tested, self.colour, self.width);
            self.say(&format!("\n{text}\n"));
        }
    }

    fn ended(&mut self, tested: &[Tested], tally: &Tally) {
        // In a file or a log nothing has to fit.
        let width = if std::io::stdout().is_terminal() { self.width } else { usize::MAX };
        let text = summary(tested, tally, self.colour, width);
        self.say(&format!("\n{text}"));
    }
}
