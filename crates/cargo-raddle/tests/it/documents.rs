//! Documents that are made of the command line are up to date.

use std::fs;
use std::process::Stdio;

use raddle_trace::exit;

use crate::{Watched, fixture, here};

const BEGIN: &str = "<!-- made by `UPDATE_DOCS=1 cargo test -p cargo-raddle documents` -->\n";

#[test]
fn the_reference_page_is_what_the_command_line_says() {
    let path = here().parent().unwrap().parent().unwrap().join("book/src/cargo-raddle.md");
    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).expect("the page has a place for it");
    let made = cargo_raddle::markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{made}")).unwrap();
        return;
    }
    assert!(rest == made, "book/src/cargo-raddle.md is not up to date: {BEGIN}");
}

#[test]
fn there_is_a_man_page_and_completions() {
    let fixture = fixture();
    let man = fixture.run(&["man"]).ended_with(exit::PASSED);
    for text in [".TH cargo", "CARGO RADDLE TEST", "EXIT STATUS", "RADDLE_EXECUTION_TIME"] {
        assert!(man.out.contains(text), "{text}: {}", man.out);
    }
    for text in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXTRA", "VERSION"] {
        assert!(man.out.contains(&format!(".SH {text}\n")), "{text}: {}", man.out);
    }
    // What refers to pages that there are not.
    assert!(!man.out.contains("test(1)") && !man.out.contains(".SH SUBCOMMANDS"), "{}", man.out);
    assert!(man.out.contains("\\fBcargo raddle replay\\fR"), "{}", man.out);
    for shell in ["bash", "zsh", "fish"] {
        let done = fixture.run(&["completions", shell]).ended_with(exit::PASSED);
        assert!(done.out.contains("replay"), "{shell}");
    }
    let help = fixture.run(&["--help"]).ended_with(exit::PASSED);
    assert!(help.out.contains("Usage: cargo raddle <COMMAND>"), "{}", help.out);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let fixture = fixture();
    for arguments in [&["completions", "bash"][..], &["completions", "zsh"], &["man"], &["--help"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = fixture.command(arguments);
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let output = Watched::spawn(&mut command).wait_with_output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*said), (Some(0), ""), "{arguments:?}");
    }
}
