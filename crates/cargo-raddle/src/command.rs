//! From arguments to an exit code.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{CommandFactory as _, Parser as _};
use raddle_trace::exit;
use raddle_trace::host::{Message, Part, Work};
use serde_json::json;

use crate::check::Regressions;
use crate::checkpoints::{self, Checkpoints};
use crate::cli::{self, Asked, Build, Chosen, Cli, Format};
use crate::find::{self, Test};
use crate::print::{self, Side};
use crate::project::Project;
use crate::run::{self, Runner, Tally};
use crate::settings::Settings;
use crate::show::{Human, Json, Show, junit};
use crate::wrong::Wrong;
use crate::{compare, documents, estimate, os, page, regressions, replay};

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
        Asked::Test(asked) => test(asked, &given),
        Asked::List(asked) => list(asked),
        Asked::Replay(asked) => replay::replay(asked),
        Asked::Minimise(asked) => replay::minimise(asked),
        Asked::Explain(asked) => replay::explain(asked),
        Asked::Estimate(asked) => estimate::estimate(asked),
        Asked::Compare(asked) => compare::compare(asked),
        Asked::Strategies(asked) => strategies(asked),
        Asked::Report(asked) => report(asked),
        Asked::Completions(asked) => {
            clap_complete::generate(
                asked.shell,
                &mut Cli::command(),
                "cargo-raddle",
                &mut io::stdout(),
            );
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
) -> Result<(Vec<Test>, u64), Wrong> {
    let tests = find::all(project.build(build)?)?;
    find::chosen(tests, chosen)
}

/// What searches are run with.
pub(crate) fn settings(project: &Project, flags: &cli::Settings) -> Result<Settings, Wrong> {
    Settings::read(&project.root, flags)
}

fn test(asked: &cli::Test, given: &[String]) -> Result<u8, Wrong> {
    // First what can be wrong without building.
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let settings = settings(&project, &asked.settings)?;
    let (tests, ignored) = prepare(&project, &asked.build, &asked.chosen)?;
    let checkpoints = Checkpoints::new(&project.directory(), asked.resume);
    let tests = checkpoints.chosen(tests)?;
    os::catch_interrupts();
    let began = Instant::now();
    let mut desk = run::desk()?;
    desk.checkpoints = Some(checkpoints);
    let regressions = if asked.no_regressions { Regressions::LeftAlone } else { Regressions::Kept };
    if regressions == Regressions::Kept {
        warn_of_unreadable(&tests);
    }
    let mut show: Box<dyn Show> = match asked.format {
        Format::Human => Box::new(Human::new()),
        Format::Json => Box::new(Json::new()),
    };
    show.began(&tests, ignored);
    let runner = Runner { desk: &desk, settings: &settings, regressions };
    let tested = runner.run(&tests, &mut *show);
    let tally = Tally::of(&tested, tests.len(), ignored);
    show.ended(&tested, &tally);
    if let Some(Err(error)) = desk.checkpoints.as_ref().map(|kept| kept.mark(&tests, &tested)) {
        print::err(&format!("which tests were not run was not noted: {error}\n"));
    }
    if asked.format == Format::Human {
        print::out(&checkpoints::said(&tested, tally.not_run, given));
    }
    if let Some(path) = &asked.junit {
        std::fs::write(path, junit(&tested))
            .map_err(|error| Wrong::tool(format!("{}: {error}", path.display())))?;
    }
    let title = format!("cargo raddle test {}", asked.build.package.join(" "));
    match page::write(&project, title.trim(), began.elapsed(), &tested) {
        Ok(path) if asked.format == Format::Human => {
            print::out(&format!("report: {}\n", path.display()));
        }
        Ok(_) => {}
        Err(error) => print::err(&format!("the report was not written: {error}\n")),
    }
    Ok(tally.exit_code())
}

/// Files among the saved schedules that cannot be read are nobody's: they are named, and left alone.
fn warn_of_unreadable(tests: &[Test]) {
    let mut packages: Vec<&Path> =
        tests.iter().map(|test| test.binary.package.directory.as_path()).collect();
    packages.dedup();
    for line in packages.into_iter().flat_map(regressions::unreadable) {
        print::err(&format!("warning: {line}\n"));
    }
}

fn list(asked: &cli::List) -> Result<u8, Wrong> {
    let chosen = Chosen {
        filters: asked.chosen.filters.clone(),
        exact: asked.chosen.exact,
        include_ignored: true,
    };
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
    print::out(&print::table(&head, &rows));
    Ok(exit::PASSED)
}

/// Asks a test binary: the strategies are those of the raddle that the tests depend on.
fn strategies(asked: &cli::Strategies) -> Result<u8, Wrong> {
    let chosen = Chosen { filters: Vec::new(), exact: false, include_ignored: true };
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let (tests, _) = prepare(&project, &asked.build, &chosen)?;
    let Some(test) = tests.first() else { return Ok(exit::NO_TESTS) };
    let flags = cli::Settings {
        knobs: cli::Knobs::default(),
        jobs: None,
        host_memory: None,
        profile: None,
        config: None,
    };
    let settings = settings(&project, &flags)?;
    let desk = run::desk()?;
    let regressions = Regressions::LeftAlone;
    let runner = Runner { desk: &desk, settings: &settings, regressions };
    let mut found: Vec<Part> = Vec::new();
    let gone = runner.with_hosts(|hosts| {
        hosts.run(test, Work::Strategies, None, &[], &mut |message| {
            if let Message::Strategies { parts } = message {
                found = parts;
            }
        })
    });
    gone.map_err(|error| Wrong::tool(format!("the host could not be run: {error}")))?;
    if found.is_empty() {
        return Err(Wrong::tool("the test binary did not say which strategies it has"));
    }
    found.retain(|part| part.here);
    if asked.format == Format::Json {
        for part in &found {
            let line = json!({
                "version": raddle_trace::events::VERSION,
                "name": part.name, "role": part.role, "line": part.line, "paper": part.paper,
            });
            print::out(&format!("{line}\n"));
        }
        return Ok(exit::PASSED);
    }
    let head = [
        ("name", Side::Left),
        ("is a", Side::Left),
        ("what it does", Side::Left),
        ("from", Side::Left),
    ];
    let row = |part: &Part| {
        vec![part.name.clone(), part.role.clone(), part.line.clone(), part.paper.clone()]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    print::out(&print::table(&head, &rows));
    print::out(
        "\nA strategy is a sampler, or a search with at most one of each: expansion, frontier, bound, \
         order, cache, probes. For example: --strategy 'dfs preemptions(2)'\n",
    );
    Ok(exit::PASSED)
}

fn report(asked: &cli::Report) -> Result<u8, Wrong> {
    let project = Project::load(asked.manifest_path.as_deref())?;
    let Some(path) = page::last(&project) else {
        return Err(Wrong::no_tests("there is no report yet: run cargo raddle test first"));
    };
    print::out(&format!("{}\n", path.display()));
    if asked.open {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command
            .status()
            .map_err(|error| Wrong::tool(format!("{program} could not be started: {error}")))?;
        if !status.success() {
            return Err(Wrong::tool(format!("{program} could not open it")));
        }
    }
    Ok(exit::PASSED)
}
