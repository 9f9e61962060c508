//! From arguments to an exit code.

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Parser as _;
use raddle_report::{SummaryRow, summary_markdown};
use raddle_trace::events::{Ending, TestId};
use raddle_trace::exit;
use serde_json::json;

use crate::check::{Regressions, Tested};
use crate::checkpoints::{self, Checkpoints};
use crate::cli::{self, Asked, Build, Chosen, Cli, Format};
use crate::error::DriverError;
use crate::find::{self, Test};
use crate::fleet::{self, Fleet};
use crate::host::HostTree;
use crate::page::{Of, Ran};
use crate::print::{self, Side};
use crate::project::Project;
use crate::run::{self, Runner, Tally};
use crate::settings::Settings;
use crate::show::{Human, Json, Show, guarantee, junit, verdict};
use crate::{compare, documents, estimate, export, os, page, regressions, replay, strategies};

/// Executions whose decisions are kept for `--tree`: more than that is no picture.
const TREE_EXECUTIONS: u64 = 500;

/// Does what the arguments ask for, the first of which is the program, and returns the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    // Cargo passes the name of the subcommand on.
    if arguments.get(1).is_some_and(|argument| argument == "raddle") {
        arguments.remove(1);
    }
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let given: Vec<String> = arguments.iter().skip(1).map(text).collect();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render();
            if error.use_stderr() {
                print::err(&text.to_string());
                return exit::USAGE;
            }
            print::out(&text.to_string());
            return exit::PASSED;
        }
    };
    let done = match &cli.command {
        Asked::Test(asked) => test(asked, &given, None),
        Asked::Coordinate(asked) => fleet::coordinate(asked, &given),
        Asked::Work(asked) => fleet::work(asked),
        Asked::Status(asked) => fleet::status(asked),
        Asked::List(asked) => list(asked),
        Asked::Replay(asked) => replay::replay(asked),
        Asked::Minimise(asked) => replay::minimise(asked),
        Asked::Explain(asked) => replay::explain(asked),
        Asked::Estimate(asked) => estimate::estimate(asked),
        Asked::Compare(asked) => compare::compare(asked),
        Asked::Strategies(asked) => strategies::strategies(asked),
        Asked::Report(asked) => report(asked),
        Asked::Export(asked) => export::export(asked),
        Asked::Completions(asked) => {
            print::out(&documents::completions(asked.shell));
            Ok(exit::PASSED)
        }
        Asked::Man => {
            print::out(&documents::man_page());
            Ok(exit::PASSED)
        }
    };
    done.unwrap_or_else(|wrong| {
        print::err(&format!("error: {}\n", wrong.text));
        wrong.code
    })
}

/// Builds, and finds the tests that were asked for; and how many of them are ignored.
pub(crate) fn prepare(
    project: &Project,
    build: &Build,
    chosen: &Chosen,
) -> Result<(Vec<Test>, u64), DriverError> {
    // First what can be wrong without building.
    find::refuse_flags(chosen)?;
    let tests = find::all(project.build(build)?)?;
    find::chosen(tests, chosen)
}

/// What searches are run with.
pub(crate) fn settings(project: &Project, flags: &cli::Settings) -> Result<Settings, DriverError> {
    Settings::read(&project.root, flags)
}

pub(crate) fn test(
    asked: &cli::Test,
    given: &[String],
    fleet: Option<&dyn Fleet>,
) -> Result<u8, DriverError> {
    // First what can be wrong without building.
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let mut settings = settings(&project, &asked.settings)?;
    if asked.no_capture {
        // What two tests print at a time cannot be told apart.
        settings.jobs = settings.workers.count.unwrap_or(1);
    }
    let summary =
        asked.summary.clone().or_else(|| std::env::var_os("RADDLE_SUMMARY").map(PathBuf::from));
    let summary = summary.filter(|path| !path.as_os_str().is_empty());
    for (flag, path) in
        [("--junit", &asked.junit), ("--summary", &summary), ("--tree", &asked.tree)]
    {
        if let Some(path) = path {
            can_write(flag, path)?;
        }
    }
    let (tests, ignored) = prepare(&project, &asked.build, &asked.chosen)?;
    let checkpoints = Checkpoints::new(&project.directory(), asked.resume);
    let tests = narrowed(asked, &checkpoints, tests)?;
    refuse_what_does_not_go_together(asked, &settings, fleet.is_some(), tests.len())?;
    os::catch_interrupts();
    let began = Instant::now();
    let mut desk = run::desk()?;
    desk.checkpoints = Some(checkpoints);
    let regressions = if asked.no_regressions { Regressions::LeftAlone } else { Regressions::Kept };
    if regressions == Regressions::Kept {
        warn_of_unreadable(&tests);
    }
    let mut show: Box<dyn Show> = match asked.format {
        Format::Human => Box::new(Human::new().full(asked.full)),
        Format::Json => Box::new(Json::new()),
    };
    let progress = run::PROGRESS;
    let kept = HostTree::new(TREE_EXECUTIONS);
    let tree = asked.tree.as_ref().map(|_| &kept);
    let (fail_fast, no_capture) = (asked.fail_fast, asked.no_capture);
    let (desk, settings) = (&desk, &settings);
    let runner =
        Runner { desk, settings, regressions, tree, progress, fleet, fail_fast, no_capture };
    if let (Some(strategy), Some(test)) = (settings.knobs.get("strategy"), tests.first()) {
        strategies::check(&runner, test, strategy)?;
    }
    show.began(&tests, ignored);
    let tested = runner.run(&tests, &mut *show);
    let tally = Tally::of(&tested, tests.len(), ignored);
    show.ended(&tested, &tally);
    if let Some(Err(error)) = desk.checkpoints.as_ref().map(|kept| kept.mark(&tests, &tested)) {
        print::err(&format!("which tests were not run was not noted: {error}\n"));
    }
    if asked.format == Format::Human {
        let changed = |id: &TestId| {
            let test = tests.iter().find(|test| test.id == *id)?;
            desk.checkpoints.as_ref()?.changed(test, &project.root)
        };
        print::out(&checkpoints::said(&tested, tally.not_run, given, changed));
    }
    write_results(asked.junit.as_deref(), summary.as_deref(), &tested)?;
    if let Some(path) = &asked.tree {
        write_tree(path, &kept, asked.format)?;
    }
    let title = format!("cargo raddle test {}", asked.build.package.join(" "));
    let run = Ran { of: Of::Run, title: title.trim(), settings, elapsed: began.elapsed() };
    write_page(&project, &run, &tested, asked.format);
    Ok(tally.exit_code())
}

/// Writes the page of the run, and says where it is.
fn write_page(project: &Project, run: &Ran<'_>, tested: &[Tested], format: Format) {
    match page::write(project, run, tested) {
        Ok(path) if format == Format::Human => {
            print::out(&format!("report: {}\n", path.display()));
        }
        Ok(_) => {}
        Err(error) => print::err(&format!("warning: the report was not written: {error}\n")),
    }
}

/// What is for one test alone, or for one host.
fn refuse_what_does_not_go_together(
    asked: &cli::Test,
    settings: &Settings,
    fleet: bool,
    n_tests: usize,
) -> Result<(), DriverError> {
    if asked.tree.is_some() && n_tests != 1 {
        return Err(DriverError::usage(format!(
            "--tree is for one test, and there are {n_tests}; write the name of one, with --exact if it is \
             part of others"
        )));
    }
    if fleet && n_tests != 1 {
        return Err(DriverError::usage(format!(
            "a run of many machines is of one test, and there are {n_tests}; write the name of one, with --exact if it is \
             part of others"
        )));
    }
    if asked.tree.is_some() && settings.workers.count.is_some() {
        return Err(DriverError::usage(
            "--tree shows what one host has decided, and with --workers several share the search; leave one of \
             them out",
        ));
    }
    Ok(())
}

/// Of the tests with these names, those that are to be run, each with what it is to go on from.
fn narrowed(
    asked: &cli::Test,
    checkpoints: &Checkpoints,
    tests: Vec<Test>,
) -> Result<Vec<Test>, DriverError> {
    let mut tests = checkpoints.chosen(tests)?;
    if asked.failed {
        tests = checkpoints.failed(tests)?;
    }
    if let Some(partition) = asked.partition {
        tests = partition.of(tests);
    }
    if asked.discard_checkpoints {
        let removed = checkpoints.discard(&tests);
        removed.map_err(|error| DriverError::tool(format!("checkpoints: {error}")))?;
    }
    Ok(tests)
}

/// Whether a file can be written, before all the work whose results are to go there.
fn can_write(flag: &str, path: &Path) -> Result<(), DriverError> {
    let opened = fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| {
        DriverError::usage(format!("{flag}: {} cannot be written: {error}", path.display()))
    })
}

/// Writes the results to the files that were asked for.
fn write_results(
    junit_file: Option<&Path>,
    summary: Option<&Path>,
    tested: &[Tested],
) -> Result<(), DriverError> {
    if let Some(path) = junit_file {
        fs::File::create(path)
            .and_then(|file| junit(tested, file))
            .map_err(|error| DriverError::tool(format!("{}: {error}", path.display())))?;
    }
    if let Some(path) = summary {
        add_summary(path, tested)?;
    }
    Ok(())
}

/// Adds a table of the results to a file, which may have other things in it.
fn add_summary(path: &Path, tested: &[Tested]) -> Result<(), DriverError> {
    let row = |test: &Tested| match &test.report {
        Some(report) => SummaryRow::new(&test.id.test, report, test.ending == Ending::Passed),
        None => SummaryRow::without_report(&test.id.test, &guarantee(test)),
    };
    let row = |test: &Tested| match test.ending {
        Ending::Interrupted => row(test).called(&verdict(test)),
        _ => row(test),
    };
    let rows: Vec<_> = tested.iter().map(row).collect();
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(summary_markdown(&rows).as_bytes()))
        .map_err(|error| DriverError::tool(format!("{}: {error}", path.display())))
}

/// Writes what was decided in the search.
fn write_tree(path: &Path, kept: &HostTree, format: Format) -> Result<(), DriverError> {
    let Some(tree) = kept.take() else {
        print::err(
            "there is no tree of decisions: no search came to its end. If a saved schedule failed \
             first, add --no-regressions\n",
        );
        return Ok(());
    };
    fs::write(path, raddle_report::export::dot(&tree))
        .map_err(|error| DriverError::tool(format!("{}: {error}", path.display())))?;
    if format == Format::Human {
        let path = path.display();
        let (n, all) = (tree.executions, tree.executions + tree.more);
        let (n, all) = (print::grouped(n), print::grouped(all));
        let which = match tree.more {
            0 if tree.executions == 1 => "the one execution".to_owned(),
            0 => format!("all {n} executions"),
            _ => format!("the first {n} of {all} executions"),
        };
        print::out(&format!(
            "tree: {path} ({which}); draw it with: dot -Tsvg {path} -o tree.svg\n"
        ));
    }
    Ok(())
}

/// Files among the saved schedules that cannot be read belong to no test: they are named, and left alone.
fn warn_of_unreadable(tests: &[Test]) {
    let mut packages: Vec<&Path> =
        tests.iter().map(|test| test.binary.package.directory.as_path()).collect();
    packages.dedup();
    for line in packages.into_iter().flat_map(regressions::unreadable) {
        print::err(&format!("warning: {line}\n"));
    }
}

fn list(asked: &cli::List) -> Result<u8, DriverError> {
    let chosen = Chosen { include_ignored: true, ..asked.chosen.clone() };
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let (tests, _) = prepare(&project, &asked.build, &chosen)?;
    if asked.format == Format::Json {
        for test in &tests {
            let line = json!({
                "version": raddle_trace::events::VERSION,
                "package": test.id.package, "target": test.id.target, "test": test.id.test,
                "site": test.site, "ignored": test.ignored,
            });
            print::out(&format!("{line}\n"));
        }
        return Ok(exit::PASSED);
    }
    let head =
        [("package", Side::Left), ("target", Side::Left), ("test", Side::Left), ("at", Side::Left)];
    let row = |test: &Test| {
        let ignored = if test.ignored { " (ignored)" } else { "" };
        let name = format!("{}{ignored}", test.id.test);
        vec![test.id.package.clone(), test.id.target.clone(), name, test.site.clone()]
    };
    let rows: Vec<_> = tests.iter().map(row).collect();
    let table = print::table(&head, &rows);
    // Where it is read by a program the names are whole.
    let terminal = std::io::stdout().is_terminal();
    print::out(&if terminal { print::fitted(&table) } else { table });
    Ok(exit::PASSED)
}

fn report(asked: &cli::Report) -> Result<u8, DriverError> {
    let project = Project::load(asked.manifest_path.as_deref())?;
    let (of, command) = if asked.comparison {
        (Of::Comparison, "cargo raddle compare")
    } else {
        (Of::Run, "cargo raddle test")
    };
    let path = page::path(&project, of);
    if !path.is_file() {
        return Err(DriverError::no_tests(format!("there is no report yet: run {command} first")));
    }
    print::out(&format!("{}\n", path.display()));
    if asked.open {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().map_err(|error| {
            DriverError::tool(format!(
                "{program} could not be started: {error}; open the file above in a browser"
            ))
        })?;
        if !status.success() {
            return Err(DriverError::tool(format!(
                "{program} could not open it; open the file above in a browser"
            )));
        }
    }
    Ok(exit::PASSED)
}
