//! Which setting wins, and what is refused.

use super::*;

fn flags(given: &[(&'static str, &str)]) -> cli::Settings {
    let knob = |name| raddle_knobs::find(name).expect("a knob");
    let given = given.iter().map(|&(name, value)| (knob(name), value.to_owned())).collect();
    cli::Settings { knobs: cli::Knobs { given }, profile: None, config: None }
}

fn read(file: &str, variables: &[(&str, &str)], flags: &cli::Settings) -> Result<Settings, String> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let variables: Vec<_> = variables.iter().map(owned).collect();
    let path = PathBuf::from("raddle.toml");
    Settings::from(Some((&path, file)), &variables, flags).map_err(|wrong| wrong.text)
}

const FILE: &str = r#"
profile = "quick"
[profiles.quick]
strategy = "pct(3)"
executions = 100
[profiles.mine]
traces = true
jobs = 3
host_memory = "1g"
"#;

#[test]
fn flags_are_over_variables_and_those_over_the_file() {
    let settings = read(FILE, &[], &flags(&[])).expect("reads");
    let expected = [("executions", "100"), ("strategy", "pct(3)"), ("time", "2s")];
    assert_eq!(settings.knobs, expected.map(|(name, value)| (name, value.to_owned())).into());

    let variables = [("RADDLE_EXECUTIONS", "200"), ("RADDLE_TIME", "3s")];
    let settings = read(FILE, &variables, &flags(&[("time", "4s")])).expect("reads");
    let expected = [("executions", "200"), ("strategy", "pct(3)"), ("time", "4s")];
    assert_eq!(settings.knobs, expected.map(|(name, value)| (name, value.to_owned())).into());
    assert_eq!(
        settings.variables()[0],
        ("RADDLE_EXECUTIONS".to_owned(), "200".to_owned()),
        "hosts get variables"
    );
}

#[test]
fn a_profile_is_named_by_a_flag_or_a_variable() {
    let mine = read(FILE, &[("RADDLE_PROFILE", "mine")], &flags(&[])).expect("reads");
    assert_eq!((mine.jobs, mine.host_memory), (3, Some(1 << 30)));
    assert_eq!(mine.knobs, [("traces", "true".to_owned())].into());
    let ci = cli::Settings { profile: Some("ci".into()), ..flags(&[]) };
    let ci = read(FILE, &[("RADDLE_PROFILE", "mine")], &ci).expect("reads");
    assert_eq!(ci.knobs, [("time", "30s".to_owned())].into());
}

#[test]
fn another_strategy_takes_the_bound_of_the_first_with_it() {
    let file = "profile = 'a'\n[profiles.a]\nstrategy = 'dfs'\npreemptions = 2";
    let settings = read(file, &[], &flags(&[("strategy", "random")])).expect("reads");
    assert_eq!(settings.knobs, [("strategy", "random".to_owned())].into());
    let settings = read(file, &[("RADDLE_STRATEGY", "pos")], &flags(&[])).expect("reads");
    assert_eq!(settings.knobs, [("strategy", "pos".to_owned())].into());
}

#[test]
fn places_lead_to_an_editor_unless_something_else_is_said() {
    let links = |flag: &[(&'static str, &str)]| read("", &[], &flags(flag)).map(|read| read.links);
    assert_eq!(links(&[]), Ok(Some(Links::EDITOR.to_owned())));
    assert_eq!(links(&[("links", "none")]), Ok(None));
    assert_eq!(links(&[("links", "zed://file{path}")]), Ok(Some("zed://file{path}".to_owned())));
    let variable = read("", &[("RADDLE_LINKS", "x:{path}")], &flags(&[])).expect("reads");
    assert_eq!((variable.links.as_deref(), variable.knobs.len()), (Some("x:{path}"), 0));
    let wrong = links(&[("links", "zed")]).expect_err("refused");
    insta::assert_snapshot!(wrong, @"--links is `zed`; it must be an address such as vscode://file{path}:{line}:{column}, or none");
}

#[test]
fn variables_of_others_are_left_alone() {
    for name in raddle_knobs::OF_OUR_TESTS.into_iter().chain(["RADDLE_REPLAY", "RADDLE_PROGRESS"]) {
        assert!(read("", &[(name, "required")], &flags(&[])).is_ok(), "{name}");
    }
}

#[test]
fn mistakes_in_settings_are_said() {
    let wrong = |file: &str| read(file, &[], &flags(&[])).expect_err("refused");
    insta::assert_snapshot!(wrong("[profiles.ci]\nexecution = 3"), @"raddle.toml: in [profiles.ci] there is no key `execution`; did you mean `executions`?");
    insta::assert_snapshot!(wrong("[profile.ci]"), @r#"raddle.toml: profile must be the name of one, such as "ci"; a profile itself is [profiles.ci]"#);
    insta::assert_snapshot!(wrong("profils = 3"), @"raddle.toml: there is no key `profils`; did you mean `profile`?");
    insta::assert_snapshot!(wrong("[profiles.ci]\ntime = 10"), @"raddle.toml: profiles.ci.time is `10`; it must be a time such as 500ms, 10s, 2m or 1h, or none");
    insta::assert_snapshot!(wrong("[profiles.ci]\ntime = [1]"), @"raddle.toml: profiles.ci.time is of the type array; it must be a time such as 500ms, 10s, 2m or 1h, or none");
    insta::assert_snapshot!(wrong("time = '5s'"), @r#"raddle.toml: `time` belongs in a profile: write it under [profiles.NAME], and profile = "NAME" at the top"#);
    insta::assert_snapshot!(wrong("profile = 'slow'"), @"there is no profile `slow`; there are quick, ci, nightly; or write [profiles.slow] in raddle.toml");
    insta::assert_snapshot!(wrong("profile = 'mine'\n[profiles.mine]\njobs = 0"), @"jobs is `0`, and without a host nothing is run; write at least 1, or leave it out");
    insta::assert_snapshot!(wrong("profile = 'nightlly'"), @"there is no profile `nightlly`; did you mean nightly?");
    let variable = |name| read("", &[(name, "1")], &flags(&[])).expect_err("refused");
    insta::assert_snapshot!(variable("RADDLE_JOB"), @"there is no variable RADDLE_JOB; did you mean RADDLE_JOBS?");
    insta::assert_snapshot!(variable("RADDLE_TIME"), @"RADDLE_TIME is `1`; it must be a time such as 500ms, 10s, 2m or 1h, or none");
    insta::assert_snapshot!(variable("RADDLE_CHECKPOINT"), @"RADDLE_CHECKPOINT is for cargo test: cargo raddle keeps a checkpoint of each test by itself; unset it, and go on with cargo raddle test --resume");
    insta::assert_snapshot!(variable("RADDLE_RESUME"), @"RADDLE_RESUME is for cargo test: cargo raddle test begins anew, and goes on from its checkpoints with --resume; unset it, and use that flag");
    let flag = read("", &[], &flags(&[("seed", "x")])).expect_err("refused");
    insta::assert_snapshot!(flag, @"--seed is `x`; it must be a whole number such as 5000, or none");
}

#[test]
fn no_more_hosts_are_alive_at_once_than_jobs_unless_one_test_has_more_workers() {
    let shared = |jobs: &str, workers: Option<&'static str>, tests: usize| {
        let mut given = vec![("jobs", jobs)];
        given.extend(workers.map(|workers| ("workers", workers)));
        let Shared { tests, hosts } = read("", &[], &flags(&given)).expect("reads").shared(tests);
        (tests, hosts)
    };
    // Without `workers`, several hosts are for a test that goes on from what several have left.
    assert_eq!(shared("8", None, 1), (1, 8));
    assert_eq!(shared("8", None, 3), (3, 2));
    assert_eq!(shared("8", None, 100), (8, 1));
    assert_eq!(shared("8", Some("4"), 100), (2, 4));
    assert_eq!(shared("8", Some("3"), 100), (2, 3));
    assert_eq!(shared("8", Some("4"), 1), (1, 4));
    assert_eq!(shared("2", Some("4"), 100), (1, 4), "there is room for one test");
    for (jobs, tests) in [(1, 1), (1, 9), (5, 2), (16, 3), (64, 1)] {
        let (at_a_time, each) = shared(&jobs.to_string(), None, tests);
        assert!(at_a_time >= 1 && each >= 1 && at_a_time * each <= jobs, "{jobs} {tests}");
    }
}
