//! How many executions tests have, by running a few of them.

use raddle_trace::Verdict;

use crate::check::Tested;
use crate::cli;
use crate::error::DriverError;
use crate::print::{self, Side};
use crate::project::Project;
use crate::run::{self, Runner, Tally};
use crate::show::{Human, Show, interrupted, verdict};
use crate::{command, os, strategies};

/// How long is run for an estimate by default.
const TIME: &str = "3s";

/// Shows lines that move, and no results.
struct Quiet(Human);

impl Show for Quiet {
    fn started(&mut self, test: &crate::find::Test) {
        self.0.started(test);
    }

    fn progress(&mut self, test: &crate::find::Test, progress: &raddle_trace::Progress) {
        self.0.progress(test, progress);
    }

    fn interrupted(&mut self, running: usize) {
        self.0.acknowledge(&interrupted(running, ""));
    }

    fn finished(&mut self, tested: &Tested) {
        self.0.clear(&tested.id);
    }
}

pub(crate) fn estimate(asked: &cli::Estimate) -> Result<u8, DriverError> {
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let settings =
        command::settings(&project, &asked.settings)?.or("time", TIME).or("strategy", "dfs");
    let (tests, ignored) = command::prepare(&project, &asked.build, &asked.chosen)?;
    os::catch_interrupts();
    let desk = run::desk()?;
    let runner = Runner::plain(&desk, &settings);
    if let (Some(strategy), Some(test)) = (settings.knobs.get("strategy"), tests.first()) {
        strategies::check(&runner, test, strategy)?;
    }
    let tested = runner.run(&tests, &mut Quiet(Human::new()));
    let head = [
        ("test", Side::Left),
        ("executions run", Side::Right),
        ("strategy", Side::Left),
        ("in all", Side::Left),
    ];
    let rows: Vec<Vec<String>> = tested.iter().map(row).collect();
    print::out(&print::fitted(&print::table(&head, &rows)));
    let tally = Tally::of(&tested, tests.len(), ignored);
    // A failure is no matter of an estimate.
    Ok(Tally { failed: 0, passed: tally.passed + tally.failed, ..tally }.exit_code())
}

const CANNOT_TELL: &str = "the strategy cannot tell";

fn row(tested: &Tested) -> Vec<String> {
    let (executions, strategy, all) = match &tested.report {
        None => (String::new(), String::new(), tested.error.clone().unwrap_or_default()),
        Some(report) => {
            let executions = print::grouped(report.counts.executions);
            let all = match (report.verdict, report.progress.as_ref()) {
                (Verdict::Covered, _) => format!("{executions}: it ran them all"),
                (_, Some(progress)) => raddle_report::estimated(progress).unwrap_or_else(|| {
                    let known = progress.estimate.is_some();
                    let why = if known { "too wide a band to tell; run more" } else { CANNOT_TELL };
                    why.to_owned()
                }),
                (Verdict::Failed, None) => format!("{}: not estimated", verdict(tested)),
                _ => CANNOT_TELL.to_owned(),
            };
            (executions, report.strategy.clone(), all)
        }
    };
    vec![tested.id.test.clone(), executions, strategy, all]
}
