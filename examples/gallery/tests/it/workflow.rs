//! The workflow file for CI asks `cargo raddle` only for what it can do.

const WORKFLOW: &str = include_str!("../../../ci/raddle.yml");
const REFERENCE: &str = include_str!("../../../../book/src/cargo-raddle.md");

#[test]
fn every_command_of_the_workflow_is_in_the_reference() {
    let mut seen = 0;
    for line in WORKFLOW.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let Some((_, command)) = line.split_once("cargo raddle ") else { continue };
        let mut words = command.split_whitespace();
        let name = words.next().expect("a command");
        let section = REFERENCE.split_once(&format!("### `cargo raddle {name}`\n"));
        let (_, section) = section.unwrap_or_else(|| panic!("there is no command {name}"));
        let section = section.split("\n### ").next().unwrap_or(section);
        for flag in words.filter(|word| word.starts_with("--")) {
            assert!(section.contains(&format!("{flag} ")), "{name} has no {flag}");
        }
        seen += 1;
    }
    assert!(seen >= 1, "the workflow runs raddle");
}
