//! Every name that may stand in a strategy, by what it is, with an example for each.
//!
//! A test binary is asked: the strategies are those of the raddle that the tests depend on.

use std::fmt::Write as _;

use raddle_report::Colour;
use raddle_trace::exit;
use raddle_trace::host::{JobKind, Message, Part};
use serde_json::json;

use crate::cli::{self, Chosen, Format};
use crate::command::{self, prepare};
use crate::error::DriverError;
use crate::find::Test;
use crate::host::Task;
use crate::print;
use crate::project::Project;
use crate::run::{self, Runner};

/// Names that are longer have a line to themselves.
const NAME: usize = 16;

pub(crate) fn strategies(asked: &cli::Strategies) -> Result<u8, DriverError> {
    let chosen = Chosen { include_ignored: true, ..Chosen::default() };
    let project = Project::load(asked.build.manifest_path.as_deref())?;
    let (tests, _) = prepare(&project, &asked.build, &chosen)?;
    let Some(test) = tests.first() else { return Ok(exit::NO_TESTS) };
    let settings = command::settings(&project, &cli::Settings::default())?;
    let desk = run::desk()?;
    let runner = Runner::plain(&desk, &settings);
    let mut found: Vec<Part> = Vec::new();
    // Whatever strategy is set: it is not about to run.
    let unset = [("RADDLE_STRATEGY".to_owned(), String::new())];
    let gone = runner.with_hosts(|hosts| {
        hosts.run(test, Task::of(JobKind::Strategies), &unset, &mut |message| {
            if let Message::Strategies { parts } = message {
                found = parts;
            }
        })
    });
    gone.map_err(|error| DriverError::tool(format!("the host could not be run: {error}")))?;
    if found.is_empty() {
        return Err(DriverError::tool(
            "the test binary did not say which strategies it has; is its raddle of another version \
             than this cargo-raddle?",
        ));
    }
    found.retain(|part| part.here);
    if asked.format == Format::Json {
        for part in &found {
            let line = json!({
                "version": raddle_trace::events::VERSION,
                "name": part.name, "role": part.role, "means": part.means, "line": part.line,
                "paper": part.paper, "example": part.example,
            });
            print::out(&format!("{line}\n"));
        }
        return Ok(exit::PASSED);
    }
    print::out(&text(&found, print::colour(), print::width()));
    Ok(exit::PASSED)
}

/// Refuses a strategy that the raddle of the tests does not know, before any of them is run.
pub(crate) fn check(runner: &Runner<'_>, test: &Test, strategy: &str) -> Result<(), DriverError> {
    let variable = [("RADDLE_STRATEGY".to_owned(), strategy.to_owned())];
    let mut wrong = None;
    // What else may be amiss with hosts is told of the tests.
    let _ = runner.with_hosts(|hosts| {
        hosts.run(test, Task::of(JobKind::Strategies), &variable, &mut |message| {
            if let Message::Error { text } = message {
                wrong = Some(text);
            }
        })
    });
    match wrong {
        Some(why) => {
            Err(DriverError::usage(format!("{why}\ncargo raddle strategies lists what there is")))
        }
        None => Ok(()),
    }
}

/// A paragraph for each role.
fn text(parts: &[Part], colour: Colour, width: usize) -> String {
    let mut out = String::new();
    let mut roles: Vec<&str> = Vec::new();
    for part in parts {
        if !roles.contains(&part.role.as_str()) {
            roles.push(&part.role);
        }
    }
    for role in roles {
        let of_role = || parts.iter().filter(|part| part.role == role);
        let means = of_role().next().map_or("", |part| &part.means);
        // The one that shows most of how strategies are written.
        let example = of_role().map(|part| &*part.example).rev();
        let example = example.max_by_key(|text| (text.contains(['(', ' ']), text.len()));
        let example = example.unwrap_or_default();
        let title = print::paint(colour, "1", role);
        let _ = writeln!(out, "{title}: {}", print::wrapped(means, role.len() + 2, 2, width));
        for Part { name, line, paper, .. } in of_role() {
            let paper = if paper.is_empty() { String::new() } else { format!(" ({paper})") };
            let (text, indent) = (format!("{line}{paper}"), NAME + 4);
            let text = print::wrapped(&text, indent, indent, width);
            let name = if name.chars().count() > NAME {
                format!("  {}\n{}", print::wrapped(name, 2, 4, width), " ".repeat(indent))
            } else {
                format!("  {name:NAME$}  ")
            };
            let _ = writeln!(out, "{name}{text}");
        }
        let _ = writeln!(
            out,
            "  {}\n",
            print::paint(colour, "2", &format!("for example: --strategy '{example}'"))
        );
    }
    out.push_str(&print::wrapped(
        "A strategy is a choice, a sampler, or a search: `dfs`, or an expansion with at most one of each \
         of frontier, bound, order, cache and probes. In a test: #[raddle::test(strategy = \"...\")].",
        0,
        0,
        width,
    ));
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_its_names_and_an_example() {
        let part = |name: &str, role: &str, line: &str, paper: &str, example: &str| Part {
            name: name.to_owned(),
            role: role.to_owned(),
            means: format!("what {role}s are for"),
            line: line.to_owned(),
            paper: paper.to_owned(),
            example: example.to_owned(),
            here: true,
        };
        let parts = [
            part("random", "sampler", "every option with the same chance", "", "random"),
            part("pct(d)", "sampler", "random priorities", "A, B, ASPLOS 2010", "pct(3)"),
            part("dpor(classic | source)", "expansion", "one execution of each class", "", "dpor"),
        ];
        insta::assert_snapshot!(text(&parts, Colour::Never, 60), @r#"
        sampler: what samplers are for
          random            every option with the same chance
          pct(d)            random priorities (A, B, ASPLOS 2010)
          for example: --strategy 'pct(3)'

        expansion: what expansions are for
          dpor(classic | source)
                            one execution of each class
          for example: --strategy 'dpor'

        A strategy is a choice, a sampler, or a search: `dfs`, or an
        expansion with at most one of each of frontier, bound,
        order, cache and probes. In a test: #[raddle::test(strategy
        = "...")].
        "#);
    }
}
