//! Environment variables: which are ours, and what they change. Names and values are those of
//! `raddle_knobs`.

use std::ffi::OsString;

use raddle_knobs::{KNOBS, Knob, PREFIX, nearest};
use raddle_trace::host::VARIABLE;

use super::Config;
use crate::error::Error;

/// What of the environment is raddle's concern: its own variables, and where cargo builds.
pub(super) fn of_process() -> Result<Vec<(String, String)>, Error> {
    let ours = |(name, value): (OsString, OsString)| {
        let name = name.into_string().ok()?;
        let others = ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_TARGET_DIR", "CI"];
        if !name.starts_with(PREFIX) && !others.contains(&name.as_str()) {
            return None;
        }
        Some(match value.into_string() {
            Ok(value) => Ok((name, value)),
            Err(value) => Err(Error::Environment {
                variable: name,
                value: value.to_string_lossy().into_owned(),
                expected: "valid UTF-8".to_owned(),
            }),
        })
    };
    std::env::vars_os().filter_map(ours).collect()
}

/// `config`, changed by these variables.
pub(super) fn apply(mut config: Config, variables: &[(String, String)]) -> Result<Config, Error> {
    let ci = variables.iter().find(|(name, _)| name == "CI").map(|(_, value)| value.as_str());
    config.env.ci = Some(!matches!(ci, None | Some("" | "false" | "0")));
    for (name, value) in variables {
        match name.as_str() {
            "CARGO_PKG_NAME" => _ = config.env.package.get_or_insert_with(|| value.clone()),
            "CARGO_MANIFEST_DIR" => config.env.manifest_dir = Some(value.clone()),
            "CARGO_TARGET_DIR" => config.env.target_dir = Some(value.clone()),
            VARIABLE => config.env.host = Some(value.clone()),
            _ if name.starts_with(PREFIX) => refuse_unknown(name)?,
            _ => {}
        }
    }
    for knob in KNOBS.iter().filter(|knob| knob.is_variable()) {
        let variable = knob.variable();
        let Some((_, value)) = variables.iter().find(|(name, _)| *name == variable) else {
            continue;
        };
        if value.trim().is_empty() {
            continue;
        }
        if config.set(knob.name, value.trim()).is_none() {
            let expected = knob.value.expected();
            return Err(Error::Environment { variable, value: value.clone(), expected });
        }
        // What is taken back may be given too: it comes later in the table.
        if let Some(other) = knob.takes_back().and_then(raddle_knobs::find) {
            config.set(other.name, other.default);
        }
    }
    Ok(config)
}

/// Refuses a variable that nothing reads: it was probably meant to be another.
fn refuse_unknown(variable: &str) -> Result<(), Error> {
    let known: Vec<String> = raddle_knobs::variables().collect();
    if known.iter().any(|known| known == variable) {
        return Ok(());
    }
    // Of those that the library reads.
    let ours: Vec<String> =
        KNOBS.iter().filter(|knob| knob.is_variable()).map(Knob::variable).collect();
    let nearest = nearest(&variable.to_ascii_uppercase(), ours.iter().map(String::as_str));
    let (variable, nearest) = (variable.to_owned(), nearest.map(str::to_owned));
    Err(Error::UnknownVariable { variable, nearest })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use raddle_engine::Teardown;
    use raddle_knobs::Scope;
    use raddle_trace::Timeouts;

    use super::*;
    use crate::config::{Data, Env, Pairs};
    use crate::progress::ShowProgress;

    fn with(variables: &[(&str, &str)]) -> Result<Config, Error> {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        apply(Config::default(), &variables.iter().map(owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_field_can_be_set() {
        let config = with(&[
            ("RADDLE_STRATEGY", "dfs"),
            ("RADDLE_PREEMPTIONS", "2"),
            ("RADDLE_EXECUTIONS", "10_000"),
            ("RADDLE_TIME", "500ms"),
            ("RADDLE_EXECUTION_TIME", "2m"),
            ("RADDLE_STEPS", "7"),
            ("RADDLE_TASKS", "8"),
            ("RADDLE_MEMORY", "512m"),
            ("RADDLE_MEMBERS", "3"),
            ("RADDLE_SEED", "9"),
            ("RADDLE_TIMEOUTS", "idle"),
            ("RADDLE_SPURIOUS", "true"),
            ("RADDLE_DATA", "seeded"),
            ("RADDLE_TRACES", "true"),
            ("RADDLE_PAIRS", "keep"),
            ("RADDLE_TEARDOWN", "leak"),
            ("RADDLE_STACK_SIZE", "64k"),
            ("RADDLE_WATCHDOG", "none"),
            ("RADDLE_REPLAY", "a.json"),
            ("RADDLE_START_WITH", "c.receives"),
            ("RADDLE_CHECKPOINT", "b.checkpoint"),
            ("RADDLE_CHECKPOINT_EVERY", "1m"),
            ("RADDLE_RESUME", "false"),
            ("RADDLE_PROGRESS", "true"),
            ("CARGO_PKG_NAME", "tour"),
            ("CI", "1"),
        ]);
        let expected = Config {
            strategy: "dfs".into(),
            preemptions: Some(2),
            executions: Some(10_000),
            time: Some(Duration::from_millis(500)),
            execution_time: Some(Duration::from_mins(2)),
            steps: Some(7),
            tasks: Some(8),
            memory: Some(512 << 20),
            members: Some(3),
            seed: Some(9),
            timeouts: Timeouts::Idle,
            spurious: true,
            data: Data::Seeded,
            traces: true,
            pairs: Pairs::Keep,
            teardown: Teardown::Leak,
            stack_size: 64 << 10,
            watchdog: None,
            replay: Some("a.json".into()),
            start_with: Some("c.receives".into()),
            checkpoint: Some("b.checkpoint".into()),
            checkpoint_every: Some(Duration::from_mins(1)),
            resume: false,
            progress: ShowProgress::Always,
            env: Env { ci: Some(true), package: Some("tour".into()), ..Env::default() },
            ..Config::default()
        };
        assert_eq!(with(&[]).expect("nothing to refuse"), read());
        assert_eq!(config.expect("each parses"), expected);
    }

    /// As if the environment had been read and nothing were there.
    fn read() -> Config {
        let env = Env { ci: Some(false), ..Env::default() };
        Config { env, ..Config::default() }
    }

    #[test]
    fn an_empty_value_changes_nothing() {
        assert_eq!(with(&[("RADDLE_SEED", ""), ("RADDLE_TIME", " ")]), Ok(read()));
    }

    #[test]
    fn defaults_are_those_of_the_engine_and_of_the_types() {
        let config = Config::default();
        assert_eq!(config.stack_size, raddle_engine::Setup::default().stack_size);
        assert_eq!(config.strategy, crate::config::AUTO);
        assert_eq!(config.timeouts, Timeouts::default());
        assert_eq!((config.data, config.pairs), (Data::default(), Pairs::default()));
        assert_eq!((config.teardown, config.isolation), Default::default());
        assert_eq!((config.expect, config.progress), Default::default());
    }

    #[test]
    fn variables_of_others_are_left_alone() {
        for knob in KNOBS.iter().filter(|knob| knob.scope == Scope::Driver) {
            assert_eq!(with(&[(&knob.variable(), "1")]), Ok(read()), "{}", knob.name);
        }
        for name in raddle_knobs::OF_OUR_TESTS {
            assert_eq!(with(&[(name, "required")]), Ok(read()), "{name}");
        }
    }

    #[test]
    fn ci_is_what_is_set_and_not_false() {
        for (value, is_ci) in [("true", true), ("1", true), ("woodpecker", true)] {
            assert_eq!(with(&[("CI", value)]).expect("read").env.ci, Some(is_ci), "{value}");
        }
        for value in ["", "0", "false"] {
            assert_eq!(with(&[("CI", value)]).expect("read").env.ci, Some(false), "{value}");
        }
    }

    #[test]
    fn another_strategy_takes_the_bound_of_the_first_with_it() {
        let bounded = Config { preemptions: Some(2), ..Config::default() };
        let random = [("RADDLE_STRATEGY".to_owned(), "random".to_owned())];
        assert_eq!(apply(bounded, &random).expect("parses").composition(), Some("random".into()));
    }

    #[test]
    fn variables_that_do_not_parse_are_said() {
        let wrong = |name: &str, value: &str| with(&[(name, value)]).expect_err("refused");
        insta::assert_snapshot!(wrong("RADDLE_TIME", "10"), @"RADDLE_TIME is `10`; it must be a time such as 500ms, 10s, 2m or 1h, or none");
        insta::assert_snapshot!(wrong("RADDLE_EXECUTIONS", "many"), @"RADDLE_EXECUTIONS is `many`; it must be a whole number such as 5000, or none");
        insta::assert_snapshot!(wrong("RADDLE_TASKS", "4294967296"), @"RADDLE_TASKS is `4294967296`; it must be a whole number such as 5000, or none");
        insta::assert_snapshot!(wrong("RADDLE_TIMEOUTS", "always"), @"RADDLE_TIMEOUTS is `always`; it must be any, idle or never");
        insta::assert_snapshot!(wrong("RADDLE_MEMORY", "20000000000g"), @"RADDLE_MEMORY is `20000000000g`; it must be a number of bytes such as 512m or 4g, or none");
    }

    #[test]
    fn an_unknown_variable_is_an_error() {
        let wrong = |name: &str| with(&[(name, "1")]).expect_err("refused");
        insta::assert_snapshot!(wrong("RADDLE_EXECUTION"), @"there is no variable RADDLE_EXECUTION; did you mean RADDLE_EXECUTIONS?");
        insta::assert_snapshot!(wrong("RADDLE_STRATGEY"), @"there is no variable RADDLE_STRATGEY; did you mean RADDLE_STRATEGY?");
        insta::assert_snapshot!(wrong("RADDLE_COLOUR_OF_THE_SKY"), @"there is no variable RADDLE_COLOUR_OF_THE_SKY; unset it, or see raddle::Config::with_env for those there are");
    }
}
