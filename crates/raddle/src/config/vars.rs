//! Environment variables: their names, and how their values are read.

use std::ffi::OsString;
use std::time::Duration;

use raddle_engine::Teardown;
use raddle_trace::Timeouts;
use raddle_trace::host::VARIABLE;
use raddle_trace::knobs;

use super::{Config, Data, Isolation, Pairs};
use crate::error::Error;
use crate::progress::ShowProgress;

/// A variable: its name without `RADDLE_`, what its value may be, and how it changes a
/// configuration. `None`: the value does not parse.
struct Variable {
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

const NUMBER: &str = "a whole number such as 5000, or none";
const TIME: &str = "a time such as 500ms, 10s, 2m or 1h, or none";
const PREFIX: &str = "RADDLE_";

/// Read by raddle's own tests and by `cargo raddle`, and nothing to do with a configuration.
const OTHERS: [&str; 4] = ["LONG", "PROFILE", "JOBS", "HOST_MEMORY"];

static VARIABLES: &[Variable] = &[
    Variable {
        name: "STRATEGY",
        expected: "a strategy such as auto, random or dfs",
        set: |config, value| {
            value.clone_into(&mut config.strategy);
            config.preemptions = None;
            Some(())
        },
    },
    // After the strategy, which takes it back.
    Variable {
        name: "PREEMPTIONS",
        expected: NUMBER,
        set: |config, value| maybe(&mut config.preemptions, value, small),
    },
    Variable {
        name: "EXECUTIONS",
        expected: NUMBER,
        set: |config, value| maybe(&mut config.executions, value, number),
    },
    Variable {
        name: "TIME",
        expected: TIME,
        set: |config, value| maybe(&mut config.time, value, time),
    },
    Variable {
        name: "EXECUTION_TIME",
        expected: TIME,
        set: |config, value| maybe(&mut config.execution_time, value, time),
    },
    Variable {
        name: "STEPS",
        expected: NUMBER,
        set: |config, value| maybe(&mut config.steps, value, number),
    },
    Variable {
        name: "TASKS",
        expected: NUMBER,
        set: |config, value| maybe(&mut config.tasks, value, small),
    },
    Variable {
        name: "MEMORY",
        expected: "a number of bytes such as 512m or 4g, or none",
        set: |config, value| maybe(&mut config.memory, value, size),
    },
    Variable {
        name: "JOBS",
        expected: NUMBER,
        set: |config, value| maybe(&mut config.jobs, value, small),
    },
    Variable {
        name: "SEED",
        expected: NUMBER,
        set: |config, value| maybe(&mut config.seed, value, number),
    },
    Variable {
        name: "TIMEOUTS",
        expected: "any or idle",
        set: |config, value| {
            config.timeouts = word(value, &[("any", Timeouts::Any), ("idle", Timeouts::Idle)])?;
            Some(())
        },
    },
    Variable {
        name: "SPURIOUS",
        expected: "true or false",
        set: |config, value| {
            config.spurious = word(value, &[("true", true), ("false", false)])?;
            Some(())
        },
    },
    Variable {
        name: "DATA",
        expected: "decisions or seeded",
        set: |config, value| {
            config.data = word(value, &[("decisions", Data::Decisions), ("seeded", Data::Seeded)])?;
            Some(())
        },
    },
    Variable {
        name: "TRACES",
        expected: "true or false",
        set: |config, value| {
            config.traces = word(value, &[("true", true), ("false", false)])?;
            Some(())
        },
    },
    Variable {
        name: "PAIRS",
        expected: "off, count or keep",
        set: |config, value| {
            let words = [("off", Pairs::Off), ("count", Pairs::Count), ("keep", Pairs::Keep)];
            config.pairs = word(value, &words)?;
            Some(())
        },
    },
    Variable {
        name: "TEARDOWN",
        expected: "unwind or leak",
        set: |config, value| {
            config.teardown =
                word(value, &[("unwind", Teardown::Unwind), ("leak", Teardown::Leak)])?;
            Some(())
        },
    },
    Variable {
        name: "ISOLATION",
        expected: "none or process",
        set: |config, value| {
            config.isolation =
                word(value, &[("none", Isolation::None), ("process", Isolation::Process)])?;
            Some(())
        },
    },
    Variable {
        name: "STACK_SIZE",
        expected: "a number of bytes such as 262144, 256k or 2m",
        set: |config, value| {
            config.stack_size = size(value)?.try_into().ok()?;
            Some(())
        },
    },
    Variable {
        name: "WATCHDOG",
        expected: TIME,
        set: |config, value| maybe(&mut config.watchdog, value, time),
    },
    Variable {
        name: "MINIMISE",
        expected: TIME,
        set: |config, value| maybe(&mut config.minimise, value, time),
    },
    Variable {
        name: "CHECKPOINT_EVERY",
        expected: TIME,
        set: |config, value| maybe(&mut config.checkpoint_every, value, time),
    },
    Variable {
        name: "EXPLAIN",
        expected: "true or false",
        set: |config, value| {
            config.explain = Some(word(value, &[("true", true), ("false", false)])?);
            Some(())
        },
    },
    Variable {
        name: "CHECKPOINT",
        expected: "the path of a file",
        set: |config, value| {
            config.checkpoint = Some(value.to_owned());
            Some(())
        },
    },
    Variable {
        name: "RESUME",
        expected: "true or false",
        set: |config, value| {
            config.resume = word(value, &[("true", true), ("false", false)])?;
            Some(())
        },
    },
    Variable {
        name: "REPLAY",
        expected: "a token (rd1…), or the path of a file that raddle wrote",
        set: |config, value| {
            config.replay = Some(value.to_owned());
            Some(())
        },
    },
    Variable {
        name: "PROGRESS",
        expected: "auto, true, false, or a time such as 500ms",
        set: |config, value| {
            let words = [
                ("auto", ShowProgress::Auto),
                ("true", ShowProgress::Always),
                ("false", ShowProgress::Never),
            ];
            let every = || time(value).map(ShowProgress::Every);
            config.progress = word(value, &words).or_else(every)?;
            Some(())
        },
    },
];

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
    let known = |name: &str| VARIABLES.iter().any(|variable| variable.name == name);
    let ci = variables.iter().find(|(name, _)| name == "CI").map(|(_, value)| value.as_str());
    config.ci = Some(!matches!(ci, None | Some("" | "false" | "0")));
    for (name, value) in variables {
        match name.as_str() {
            "CARGO_PKG_NAME" => config.package.get_or_insert_with(|| value.clone()),
            "CARGO_MANIFEST_DIR" => config.manifest_dir.insert(value.clone()),
            "CARGO_TARGET_DIR" => config.target_dir.insert(value.clone()),
            VARIABLE => config.host.insert(value.clone()),
            _ => match name.strip_prefix(PREFIX) {
                Some(rest) if !known(rest) && !OTHERS.contains(&rest) => {
                    let nearest = nearest(rest).map(|near| format!("{PREFIX}{near}"));
                    return Err(Error::UnknownVariable { variable: name.clone(), nearest });
                }
                _ => continue,
            },
        };
    }
    for Variable { name, expected, set } in VARIABLES {
        let named = |(variable, _): &&(String, String)| variable.strip_prefix(PREFIX) == Some(name);
        let Some((variable, value)) = variables.iter().find(named) else { continue };
        if !value.trim().is_empty() && set(&mut config, value.trim()).is_none() {
            return Err(Error::Environment {
                variable: variable.clone(),
                value: value.clone(),
                expected: (*expected).to_owned(),
            });
        }
    }
    Ok(config)
}

/// The name that is nearest to an unknown one, if one is near enough to be meant.
fn nearest(unknown: &str) -> Option<&'static str> {
    knobs::nearest(&unknown.to_ascii_uppercase(), VARIABLES.iter().map(|variable| variable.name))
}

/// Sets a field that may be `none`.
fn maybe<T>(field: &mut Option<T>, value: &str, parse: fn(&str) -> Option<T>) -> Option<()> {
    *field = if value == "none" { None } else { Some(parse(value)?) };
    Some(())
}

fn word<T: Copy>(value: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == value).map(|&(_, meaning)| meaning)
}

/// Digits, with `_` between them as in Rust.
fn number(value: &str) -> Option<u64> {
    let digits = value.starts_with(|first: char| first.is_ascii_digit());
    if digits { value.replace('_', "").parse().ok() } else { None }
}

fn small(value: &str) -> Option<u32> {
    number(value)?.try_into().ok()
}

/// A number and the unit that is right after it.
fn with_unit<'a>(value: &'a str, letters: &str) -> Option<(u64, &'a str)> {
    let at = value.find(|letter| letters.contains(letter)).unwrap_or(value.len());
    let (digits, unit) = value.split_at(at);
    Some((number(digits)?, unit))
}

fn time(value: &str) -> Option<Duration> {
    let (n, unit) = with_unit(value, "umsh")?;
    Some(match unit {
        "us" => Duration::from_micros(n),
        "ms" => Duration::from_millis(n),
        "s" => Duration::from_secs(n),
        "m" => Duration::from_secs(n.checked_mul(60)?),
        "h" => Duration::from_secs(n.checked_mul(3600)?),
        _ => return None,
    })
}

fn size(value: &str) -> Option<u64> {
    let (n, unit) = with_unit(value, "kmgKMG")?;
    let scale = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    n.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("RADDLE_JOBS", "3"),
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
            jobs: Some(3),
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
            checkpoint: Some("b.checkpoint".into()),
            checkpoint_every: Some(Duration::from_mins(1)),
            resume: false,
            progress: ShowProgress::Always,
            ci: Some(true),
            package: Some("tour".into()),
            ..Config::default()
        };
        assert_eq!(with(&[]).expect("nothing to refuse"), read());
        assert_eq!(config.expect("each parses"), expected);
    }

    /// As if the environment had been read and nothing were there.
    fn read() -> Config {
        Config { ci: Some(false), ..Config::default() }
    }

    #[test]
    fn an_empty_value_changes_nothing() {
        assert_eq!(with(&[("RADDLE_SEED", ""), ("RADDLE_TIME", " ")]), Ok(read()));
    }

    #[test]
    fn the_list_for_the_command_line_is_the_same() {
        // The driver has others for these: a command, lines of its own, hosts at a time, files of its own and
        // a flag without a value.
        let not_listed = ["REPLAY", "PROGRESS", "JOBS", "CHECKPOINT", "RESUME"];
        let listed = |variable: &&Variable| !not_listed.contains(&variable.name);
        let ours = VARIABLES.iter().filter(listed);
        let ours: Vec<_> =
            ours.map(|variable| (variable.name.to_owned(), variable.expected.to_owned())).collect();
        let knobs: Vec<_> = knobs::KNOBS
            .iter()
            .map(|knob| (knob.name.to_ascii_uppercase(), knob.value.expected()))
            .collect();
        assert_eq!(ours, knobs);
        let values =
            ["5", "5_000", "5s", "5ms", "5k", "none", "true", "any", "leak", "seeded", "-1", "x5"];
        for (variable, knob) in VARIABLES.iter().filter(listed).zip(knobs::KNOBS) {
            for value in values {
                let sets = (variable.set)(&mut Config::default(), value).is_some();
                assert_eq!(sets, knob.value.accepts(value), "{} = {value}", knob.name);
            }
        }
    }

    #[test]
    fn ci_is_what_is_set_and_not_false() {
        for (value, is_ci) in [("true", true), ("1", true), ("woodpecker", true)] {
            assert_eq!(with(&[("CI", value)]).expect("read").ci, Some(is_ci), "{value}");
        }
        for value in ["", "0", "false"] {
            assert_eq!(with(&[("CI", value)]).expect("read").ci, Some(false), "{value}");
        }
    }

    #[test]
    fn another_strategy_takes_the_bound_of_the_first_with_it() {
        let bounded = Config { preemptions: Some(2), ..Config::default() };
        let random = [("RADDLE_STRATEGY".to_owned(), "random".to_owned())];
        assert_eq!(apply(bounded, &random).expect("parses").composition(), Some("random".into()));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("15us"), Some(Duration::from_micros(15)));
        assert_eq!(time("1h"), Some(Duration::from_hours(1)));
        for wrong in ["", "10", "s", "-1s", "1.5s", "10 s", "10sec", "99999999999999999999s"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_does_not_parse_is_said() {
        let wrong = |name: &str, value: &str| with(&[(name, value)]).expect_err("refused");
        insta::assert_snapshot!(wrong("RADDLE_TIME", "10"), @"RADDLE_TIME is `10`; it must be a time such as 500ms, 10s, 2m or 1h, or none");
        insta::assert_snapshot!(wrong("RADDLE_EXECUTIONS", "many"), @"RADDLE_EXECUTIONS is `many`; it must be a whole number such as 5000, or none");
        insta::assert_snapshot!(wrong("RADDLE_TASKS", "4294967296"), @"RADDLE_TASKS is `4294967296`; it must be a whole number such as 5000, or none");
        insta::assert_snapshot!(wrong("RADDLE_TIMEOUTS", "never"), @"RADDLE_TIMEOUTS is `never`; it must be any or idle");
        insta::assert_snapshot!(wrong("RADDLE_MEMORY", "20000000000g"), @"RADDLE_MEMORY is `20000000000g`; it must be a number of bytes such as 512m or 4g, or none");
    }

    #[test]
    fn an_unknown_variable_is_an_error() {
        let wrong = |name: &str| with(&[(name, "1")]).expect_err("refused");
        insta::assert_snapshot!(wrong("RADDLE_EXECUTION"), @"there is no variable RADDLE_EXECUTION; did you mean RADDLE_EXECUTIONS?");
        insta::assert_snapshot!(wrong("RADDLE_STRATGEY"), @"there is no variable RADDLE_STRATGEY; did you mean RADDLE_STRATEGY?");
        insta::assert_snapshot!(wrong("RADDLE_COLOUR_OF_THE_SKY"), @"there is no variable RADDLE_COLOUR_OF_THE_SKY; unset it, or see raddle::Config::with_env for those there are");
        assert!(with(&[("RADDLE_LONG", "1")]).is_ok());
    }
}
