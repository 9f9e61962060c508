//! The man page and the reference page of the documentation, from the same source as `--help`.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use raddle_knobs::{KNOBS, Knob, Scope};
use raddle_trace::exit;

use crate::cli::Cli;
use crate::settings::BUILT_IN;

/// A completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> String {
    // To memory first: what writes it panics if it cannot write on, as when its reader has seen enough.
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cargo-raddle", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The man page, in roff.
#[must_use]
pub fn man_page() -> String {
    let mut bytes = Vec::new();
    let mut command = Cli::command();
    // So that subcommands know how they are typed.
    command.build();
    let man = clap_mangen::Man::new(command.clone()).title("cargo-raddle");
    // Writing to memory does not fail. The section that refers to a page for each subcommand is left out: all of them are
    // on this one.
    let _ = man.render_title(&mut bytes);
    let _ = man.render_name_section(&mut bytes);
    let _ = man.render_synopsis_section(&mut bytes);
    let _ = man.render_description_section(&mut bytes);
    let _ = man.render_options_section(&mut bytes);
    let _ = man.render_extra_section(&mut bytes);
    let _ = man.render_version_section(&mut bytes);
    let own = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for subcommand in command.get_subcommands().filter(own) {
        let heading = format!(".SH \"CARGO RADDLE {}\"\n", subcommand.get_name().to_uppercase());
        bytes.extend(heading.bytes());
        let man = clap_mangen::Man::new(subcommand.clone());
        let _ = man.render_synopsis_section(&mut bytes);
        let _ = man.render_description_section(&mut bytes);
        let _ = man.render_options_section(&mut bytes);
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.push_str(".SH \"EXIT STATUS\"\n");
    for (code, meaning) in exit::ALL {
        let _ = writeln!(text, ".TP\n.B {code}\n{}", meaning.replace('`', ""));
    }
    text.push_str(".SH ENVIRONMENT\n");
    for knob in knobs() {
        let (variable, line, expected) = (knob.variable(), knob.line, knob.value.expected());
        let _ = writeln!(text, ".TP\n.B {variable}\n{line}: {expected}");
    }
    text
}

/// Every knob that can be given to the driver.
fn knobs() -> impl Iterator<Item = &'static Knob> {
    KNOBS.iter().filter(|knob| knob.is_flag())
}

/// The reference part of `book/src/cargo-raddle.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from("## Commands\n");
    let mut command = Cli::command().term_width(96);
    command.build();
    for subcommand in command.get_subcommands_mut() {
        if subcommand.get_name() != "help" {
            section(&mut out, subcommand);
        }
    }
    out.push_str("\n## Settings\n\n");
    let own = knobs().filter(|knob| knob.scope == Scope::Driver);
    let own: Vec<_> = own.map(|knob| format!("`{}`", knob.name)).collect();
    let _ = writeln!(
        out,
        "Each is a flag, a variable, a key of a profile in `raddle.toml`, and (but for {}) a field of\n\
         `raddle::Config` and a knob of `#[raddle::test]`.\n\n\
         | setting | value | if not set | what it is |\n|---|---|---|---|",
        own.join(", ")
    );
    for Knob { name, value, default, line, .. } in knobs() {
        let _ = writeln!(out, "| `{name}` | {} | {default} | {line} |", value.expected());
    }
    out.push_str("\n## Profiles without a file\n\n");
    for (name, values) in BUILT_IN {
        let values: Vec<_> = values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let _ = writeln!(out, "- `{name}`: {}", values.join(", "));
    }
    out.push_str("\n## Exit codes\n\n| code | meaning |\n|---:|---|\n");
    for (code, meaning) in exit::ALL {
        let _ = writeln!(out, "| {code} | {meaning} |");
    }
    out
}

fn section(out: &mut String, command: &mut Command) {
    let _ = writeln!(out, "\n### `cargo raddle {}`\n", command.get_name());
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = writeln!(out, "```text\n{}\n```", lines.join("\n").trim());
}
