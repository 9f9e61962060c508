//! Which tests are found, and which are not.

use raddle_trace::exit;

use crate::{Project, fixture};

#[test]
fn only_raddle_tests_are_listed() {
    let done = fixture().run(&["list", "--format", "json"]).ended_with(exit::PASSED);
    let name = |event: &serde_json::Value| {
        let of = |key: &str| event[key].as_str().unwrap().to_owned();
        (of("target"), of("test"))
    };
    let found: Vec<_> = done.events().iter().map(name).collect();
    let expected = [
        ("deaths", "a_bus_error_that_is_sent"),
        ("deaths", "a_death_after_a_value"),
        ("deaths", "a_death_on_the_way_to_less"),
        ("deaths", "a_lack_of_memory"),
        ("deaths", "a_loop"),
        ("deaths", "a_race_beside_a_guard"),
        ("deaths", "a_segmentation_fault"),
        ("deaths", "a_stack_overflow"),
        ("deaths", "a_static"),
        ("deaths", "a_std_lock"),
        ("deaths", "an_abort"),
        ("deaths", "an_abort_after_a_panic"),
        ("deaths", "an_exit"),
        ("deaths", "an_illegal_instruction"),
        ("deaths", "an_orphan"),
        ("deaths", "several_ends"),
        ("fixture", "tests::inner::a_test_in_a_module_is_found"),
        ("plain", "a_right_one"),
        ("plain", "a_wrong_one"),
        ("plain", "an_endless_one"),
        ("plain", "an_ignored_one"),
        ("plain", "one_that_cannot_be_run"),
        ("plain", "one_that_fails_in_another_way"),
        ("plain", "one_that_is_to_fail"),
        ("plain", "one_that_the_harness_expects_to_fail"),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(target, test)| ((*target).to_owned(), (*test).to_owned())).collect();
    assert_eq!(found, expected);
    let ignored: Vec<bool> =
        done.events().iter().map(|event| event["ignored"].as_bool().unwrap()).collect();
    assert_eq!(ignored.iter().filter(|ignored| **ignored).count(), 1);
    assert_eq!(done.events()[17]["site"], "tests/plain.rs:14");
}

/// The names that are left by these arguments.
fn listed(arguments: &[&str]) -> Vec<String> {
    let arguments = [&["list", "--format=json"], arguments].concat();
    let done = fixture().run(&arguments).ended_with(exit::PASSED);
    let name = |event: &serde_json::Value| event["test"].as_str().unwrap().to_owned();
    done.events().iter().map(name).collect()
}

#[test]
fn tests_are_chosen_by_expressions_and_left_out_by_words() {
    let right = "package(fixture) & test(right)";
    assert_eq!(listed(&["-E", right]), ["a_right_one"]);
    let plain = "binary(plain) & test(one) & !test(=a_right_one) - test(#one_that*)";
    assert_eq!(listed(&["-E", plain]), ["a_wrong_one", "an_endless_one", "an_ignored_one"]);
    let one_of_them = ["-E", "test(=an_abort)", "-E", "test(=an_exit)"];
    assert_eq!(listed(&one_of_them), ["an_abort", "an_exit"]);
    assert_eq!(listed(&["abort", "--skip=panic"]), ["an_abort"]);
    let without = ["--exact", "an_abort", "an_exit", "a_loop", "--skip=an_exit", "--skip=a"];
    assert_eq!(listed(&without), ["a_loop", "an_abort"], "whole names are left out");
    let done = fixture().run(&["list", "right", "--skip=one"]).ended_with(exit::NO_TESTS);
    assert!(done.err.contains("together leave none of the 25 raddle tests"), "{}", done.err);
    let done = fixture().run(&["test", "-E", "package(x) & tset(y)"]).ended_with(exit::USAGE);
    assert!(done.err.contains("did you mean `test`?"), "{}", done.err);
    assert!(done.err.contains("\n  package(x) & tset(y)\n               ^"), "{}", done.err);
}

#[test]
fn flags_for_the_test_harness_are_refused_with_what_does_the_same() {
    for (given, instead) in [
        ("--nocapture", "--no-capture shows what tests print"),
        ("--test-threads=1", "--jobs N runs so many hosts at a time"),
        ("--bench", "cargo raddle test --help has the flags that there are"),
    ] {
        let done = fixture().run(&["test", "--", given]).ended_with(exit::USAGE);
        let said = format!("`{given}` stands after `--`");
        assert!(done.err.contains(&said) && done.err.contains(instead), "{}", done.err);
    }
}

#[test]
fn marks_survive_optimisation() {
    let project = Project::new("optimised");
    // Of this package alone: what it depends on is built already.
    project.write_more("Cargo.toml", "[profile.dev.package.optimised]\nopt-level = 3\n");
    project.write("src/lib.rs", "#[raddle::test]\nfn one() {}\n#[test]\nfn two() {}\n");
    let done = project.run(&["list", "--format=json"]).ended_with(exit::PASSED);
    let tests: Vec<_> = done.events().iter().map(|event| event["test"].clone()).collect();
    assert_eq!(tests, ["one"]);
}

#[test]
fn where_there_is_none_that_is_said() {
    let project = Project::new("without");
    project.write("src/lib.rs", "#[test]\nfn ordinary() { panic!(\"nobody asked\") }\n");
    let done = project.run(&["test"]).ended_with(exit::NO_TESTS);
    assert!(done.err.contains("there is no raddle test: mark functions with #[raddle::test]"));
    let done = fixture().run(&["test", "nothing_like_that"]).ended_with(exit::NO_TESTS);
    assert!(done.err.contains("none of the 25 raddle tests has `nothing_like_that` in its name"));
    let done = fixture().run(&["test", "--exact", "a_rigt_one"]).ended_with(exit::NO_TESTS);
    let said = "raddle tests is called `a_rigt_one`; did you mean `a_right_one`?";
    assert!(done.err.contains(said), "{}", done.err);
}

#[test]
fn where_there_is_no_package_that_is_said() {
    let nowhere = std::env::temp_dir();
    let arguments = ["list", "--manifest-path", "no/such/Cargo.toml"];
    let done = crate::output(fixture().command(&arguments).current_dir(nowhere));
    let done = crate::Done::of(&done).ended_with(exit::BUILD);
    assert!(!done.err.contains("error: error:"), "{}", done.err);
    assert!(done.err.contains("run this in the directory of a package"), "{}", done.err);
}

#[test]
fn what_does_not_compile_is_shown() {
    let project = Project::new("broken");
    project.write("src/lib.rs", "fn f() -> u32 { \"text\" }\n");
    let done = project.run(&["test"]).ended_with(exit::BUILD);
    assert!(done.err.contains("mismatched types") && done.err.contains("the tests were not built"));
}
