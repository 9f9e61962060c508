//! What is asked for, what is kept, and what the page says of it.

use super::*;

#[test]
fn arguments_are_read_and_wrong_ones_refused() {
    let all = wanted(&[]).expect("all");
    assert_eq!((all.time, all.jobs, all.scale), (Duration::from_hours(4), 2, 100));
    let some = wanted(&["--time", "90m", "--resume", "--jobs", "1", "--scale", "5", "actors"]);
    let some = some.expect("some");
    assert_eq!((some.time, some.resume, some.scale), (Duration::from_mins(90), true, 5));
    assert_eq!(some.only, [&PARTS[1]]);
    for wrong in [&["--time", "4"][..], &["--time"], &["--scale", "101"], &["--jobs", "0"], &["no"]]
    {
        assert!(wanted(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_commands_of_a_package_are_not_taken_for_its_test() {
    let built = |name: &str, is_test: bool| {
        json!({"executable": name, "profile": {"test": is_test}}).to_string()
    };
    for messages in [
        [built("it", true), built("raddle-corpus", false)],
        [built("raddle-corpus", false), built("it", true)],
    ] {
        assert_eq!(test_executable(&messages.join("\n")), Some(PathBuf::from("it")));
    }
    assert_eq!(test_executable(&built("raddle-corpus", false)), None);
}

#[test]
fn parts_have_names_of_their_own_and_the_sizes_that_were_promised() {
    let names: std::collections::BTreeSet<_> = PARTS.iter().map(|part| part.name).collect();
    assert_eq!(names.len(), PARTS.len());
    let programs = |name: &str| match PARTS.iter().find(|part| part.name == name)?.kind {
        Kind::Comparison(comparison) => Some(comparison.programs),
        _ => None,
    };
    for (name, expected) in [
        ("threads", 12_000),
        ("actors", 12_000),
        ("faults", 6_000),
        ("mixed-faults", 3_000),
        ("best-first", 12_000),
        ("waits", 3_000),
        ("saved-threads", 2_000),
        ("saved-actors", 2_000),
        ("isolation", 500),
    ] {
        assert_eq!(programs(name), Some(expected), "{name}");
    }
    for part in PARTS {
        let Kind::Comparison(comparison) = part.kind else { continue };
        assert!(comparison.stride >= comparison.chunk, "{}: the same seeds twice", part.name);
        assert_eq!(shape(part, 100).0 * comparison.chunk, comparison.programs, "{}", part.name);
    }
}

#[test]
fn every_page_of_results_is_a_part_or_is_named_as_none() {
    let apart = [
        "applications.md",
        "core.md",
        "crate-mutants.md",
        "crates.md",
        "delaying.md",
        "libraries.md",
        "mutations.md",
        "nightly.md",
        "spinning.md",
        "weight.md",
    ];
    for entry in fs::read_dir(crate::root().join("docs/results")).expect("there are results") {
        let name = entry.expect("it can be read").file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let is_part =
            PARTS.iter().any(|part| matches!(part.kind, Kind::Page(page) if page.file == name));
        assert!(is_part != apart.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn figures_and_passes_are_read_from_what_jobs_say() {
    let figures = counted("threads compared=10 skipped=2\nthreads compared=5 skipped=0\n");
    assert_eq!(figures, [("compared".to_owned(), 15), ("skipped".to_owned(), 2)].into());
    let said = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\
                test result: ok. 3 passed; 0 failed\n";
    assert_eq!((passed_tests(said), passed_tests("nothing")), (5, 0));
    let (said, commit) = ("a \"word\"".to_owned(), "c0ffee".to_owned());
    let done = Done { passed: true, seconds: 7, figures, said, commit };
    assert_eq!(Done::from_json(&done.to_json()), Some(done));
}

#[test]
fn a_check_has_options_of_its_own() {
    assert_eq!(checked("states", "--quick"), "states --quick");
    let gambit = checked("gambit all --budget 5000", "--quick --budget 500");
    assert_eq!(gambit, "gambit all --quick --budget 500");
}

fn outcome(name: &str, jobs: Vec<Option<Done>>) -> Outcome {
    let part = PARTS.iter().find(|part| part.name == name).expect("a part");
    Outcome { part, jobs, left_out: false, begun: None }
}

#[test]
fn what_was_cut_or_failed_is_never_shown_as_passed() {
    let passed = |compared| Done {
        passed: true,
        seconds: 60,
        figures: [("compared".to_owned(), compared)].into(),
        said: String::new(),
        commit: "c0ffee".to_owned(),
    };
    let wanted = wanted(&[]).expect("all");
    let whole = outcome("isolation", vec![Some(passed(50)); 10]);
    let results = [whole];
    assert_eq!(verdict(&results), Verdict::Passed);
    let text = page::text(&results, &wanted, "c0ffee", 600, "");
    assert!(text.contains("Everything passed") && text.contains("commit c0ffee"), "{text}");
    assert!(text.contains("| isolation | passed | 10 min | 500 compared |"), "{text}");

    let mut jobs = vec![Some(passed(50)); 10];
    jobs[3] = Some(Done { commit: "0ld".to_owned(), ..passed(50) });
    let results = [outcome("isolation", jobs.clone()), outcome("mutations", vec![Some(passed(0))])];
    let text = page::text(&results, &wanted, "c0ffee", 600, "");
    assert!(
        text.contains("ran at 2 commits") && text.contains("`git diff COMMIT c0ffee`"),
        "{text}"
    );
    assert!(text.contains("| isolation | passed at 0ld, c0ffee | 10 min |"), "{text}");
    assert!(text.contains("| mutations | passed at c0ffee |"), "{text}");

    jobs[3] = None;
    let results = [outcome("isolation", jobs.clone()), outcome("mutations", vec![None])];
    assert_eq!(verdict(&results), Verdict::Cut);
    let text = page::text(&results, &wanted, "c0ffee", 600, "");
    assert!(!text.contains("Everything passed") && !text.contains("| passed |"), "{text}");
    assert!(text.contains("**cut** after 9 of 10 times 50 programs"), "{text}");
    assert!(text.contains("| mutations | **not run** |"), "{text}");

    let (said, commit) = ("seed 7 differs".to_owned(), "c0ffee".to_owned());
    let begun = Some(Mutated { caught: 3, survived: 0 });
    let results = [Outcome { begun, ..outcome("mutations", vec![None]) }];
    assert_eq!(verdict(&results), Verdict::Cut);
    let text = page::text(&results, &wanted, "c0ffee", 600, "");
    assert!(text.contains("| mutations | **cut** after 3 of "), "{text}");
    let begun = Some(Mutated { caught: 3, survived: 1 });
    let results = [Outcome { begun, ..outcome("mutations", vec![None]) }];
    assert_eq!(verdict(&results), Verdict::Failed);

    jobs[4] = Some(Done { said, commit, ..Done::default() });
    let results = [outcome("isolation", jobs), outcome("page-eta", vec![Some(passed(0))])];
    assert_eq!(verdict(&results), Verdict::Failed);
    let text = page::text(&results, &wanted, "c0ffee", 600, "");
    assert!(
        text.contains("| isolation | **failed** |") && text.contains("seed 7 differs"),
        "{text}"
    );
    assert!(text.contains("| [eta.md](eta.md) | `raddle-bench eta all` | checked |"), "{text}");
}

#[test]
fn parts_that_were_not_run_keep_their_rows_if_they_had_passed() {
    let before = "`cargo xtask nightly`, commit 0ld, 2026-11-01\n\n\
                  | threads | passed | 9 min | 12,000 compared |\n\
                  | actors | passed at 0lder | 8 min | 12,000 compared |\n\
                  | mutations | **not run** | 0 s |  |\n\
                  | isolation | passed | 10 min | 500 compared |\n\
                  | [eta.md](eta.md) | `raddle-bench eta all` | checked | 7 s |\n";
    let wanted = wanted(&[]).expect("all");
    let failed = Done { commit: "c0ffee".to_owned(), ..Done::default() };
    let none = |name: &str| {
        let part = PARTS.iter().find(|part| part.name == name).expect("a part");
        outcome(name, vec![None; shape(part, 100).0 as usize])
    };
    let mut isolation = none("isolation");
    isolation.jobs[0] = Some(Done { passed: true, ..failed.clone() });
    let results = [none("threads"), none("actors"), none("mutations"), isolation, none("page-eta")];
    let text = page::text(&results, &wanted, "c0ffee", 600, before);
    for row in [
        "| threads | passed at 0ld | 9 min | 12,000 compared |",
        "| actors | passed at 0lder | 8 min | 12,000 compared |",
        "| mutations | **not run** | 0 s |",
        "| isolation | **cut** after 1 of 10 times 50 programs at c0ffee |",
        "| [eta.md](eta.md) | `raddle-bench eta all` | checked at 0ld | 7 s |",
        "ran at 3 commits",
        "**not everything was run**",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let again = page::text(&[none("threads"), none("actors")], &wanted, "c0ffee", 600, &text);
    assert!(
        again.contains("| threads | passed at 0ld | 9 min |")
            && again.contains("Everything passed"),
        "{again}"
    );
}
