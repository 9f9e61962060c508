//! What searches are run with: `raddle.toml`, then variables, then flags, the later over the earlier.
//!
//! All of it reaches a host as variables, so that there is one way in which a test is configured, and
//! what works here works with `cargo test` too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use raddle_trace::host::VARIABLE;
use raddle_trace::knobs::{self, KNOBS, Value};
use toml::{Table, Value as Toml};

use crate::cli;
use crate::wrong::Wrong;

/// Profiles that are there without a file. A file may change them.
pub(crate) const BUILT_IN: [(&str, &[(&str, &str)]); 3] = [
    ("quick", &[("time", "2s")]),
    ("ci", &[("time", "30s")]),
    ("nightly", &[("time", "10m"), ("traces", "true")]),
];

/// Knobs of the driver itself: name, what a value must be, what it is.
pub(crate) const OURS: [(&str, Value, &str); 2] = [
    ("jobs", Value::Number, "hosts at a time; as many as there are processors if left out"),
    ("host_memory", Value::Memory, "bytes of memory for each host"),
];

/// The variable that names a profile.
pub(crate) const PROFILE: &str = "RADDLE_PROFILE";

/// Variables that are read elsewhere: by a replay, for lines of progress, by raddle's own tests.
const OTHERS: [&str; 4] = ["RADDLE_REPLAY", "RADDLE_PROGRESS", "RADDLE_LONG", PROFILE];

/// What a run is run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Variables for hosts, by name of the knob.
    pub(crate) knobs: BTreeMap<&'static str, String>,
    pub(crate) jobs: usize,
    pub(crate) host_memory: Option<u64>,
}

impl Settings {
    /// From the file of the workspace at `root`, the environment and the flags.
    pub(crate) fn read(root: &Path, flags: &cli::Settings) -> Result<Self, Wrong> {
        let variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("RADDLE_"))
            .collect();
        let file = match &flags.config {
            Some(path) => Some(path.clone()),
            None => Some(root.join("raddle.toml")).filter(|path| path.exists()),
        };
        let file = match file {
            Some(path) => {
                let text = fs::read_to_string(&path).map_err(|error| {
                    Wrong::usage(format!("cannot read the settings in {}: {error}", path.display()))
                })?;
                Some((path, text))
            }
            None => None,
        };
        Self::from(file.as_ref().map(|(path, text)| (path, text.as_str())), &variables, flags)
    }

    fn from(
        file: Option<(&PathBuf, &str)>,
        variables: &[(String, String)],
        flags: &cli::Settings,
    ) -> Result<Self, Wrong> {
        check_variables(variables)?;
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let file = match file {
            Some((path, text)) => File::parse(text)
                .map_err(|why| Wrong::usage(format!("{}: {why}", path.display())))?,
            None => File::default(),
        };
        let profile = flags.profile.clone().or_else(|| variable(PROFILE)).or(file.profile.clone());
        let mut values = match profile {
            Some(name) => file.values(&name)?,
            None => BTreeMap::new(),
        };
        for (name, value, _) in all() {
            if let Some(text) = variable(&format!("RADDLE_{}", name.to_ascii_uppercase())) {
                let variable = format!("RADDLE_{}", name.to_ascii_uppercase());
                accept(&variable, value, &text).map_err(Wrong::usage)?;
                values.insert(name, text);
            }
        }
        let ours = [("jobs", &flags.jobs), ("host_memory", &flags.host_memory)];
        let ours = ours.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        for (name, text) in flags.knobs.given.iter().cloned().chain(ours) {
            let Some((_, value, _)) = all().find(|(known, _, _)| *known == name) else { continue };
            accept(&format!("--{}", name.replace('_', "-")), value, &text).map_err(Wrong::usage)?;
            // A bound belongs to the strategy that was there.
            if name == "strategy" {
                values.remove("preemptions");
            }
            values.insert(name, text);
        }
        let jobs = values.remove("jobs").filter(|jobs| jobs != "none");
        let jobs = jobs.and_then(|jobs| jobs.replace('_', "").parse().ok());
        if jobs == Some(0) {
            return Err(Wrong::usage(
                "jobs is `0`, and without a host nothing is run; write at least 1, or leave it out",
            ));
        }
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let host_memory = values.remove("host_memory").and_then(|text| bytes(&text));
        Ok(Self { knobs: values, jobs: jobs.unwrap_or_else(processors), host_memory })
    }

    /// What is set in the environment of each host.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let variable = |(name, value): (&&str, &String)| {
            (format!("RADDLE_{}", name.to_ascii_uppercase()), value.clone())
        };
        self.knobs.iter().map(variable).collect()
    }

    /// The same with another strategy.
    pub(crate) fn with_strategy(&self, strategy: &str) -> Self {
        let mut other = self.clone();
        other.knobs.insert("strategy", strategy.to_owned());
        other.knobs.remove("preemptions");
        other
    }

    /// The same, with this where nothing was said.
    pub(crate) fn or(mut self, name: &'static str, value: &str) -> Self {
        self.knobs.entry(name).or_insert_with(|| value.to_owned());
        self
    }
}

/// Every knob, the driver's own last.
fn all() -> impl Iterator<Item = (&'static str, Value, &'static str)> + Clone {
    KNOBS.iter().map(|knob| (knob.name, knob.value, knob.line)).chain(OURS)
}

fn accept(what: &str, value: Value, text: &str) -> Result<(), String> {
    if value.accepts(text) {
        return Ok(());
    }
    Err(format!("{what} is `{text}`; it must be {}", value.expected()))
}

/// Refuses variables that nobody reads.
fn check_variables(variables: &[(String, String)]) -> Result<(), Wrong> {
    let ours: Vec<String> =
        all().map(|(name, ..)| format!("RADDLE_{}", name.to_ascii_uppercase())).collect();
    let known = || ours.iter().map(String::as_str).chain(OTHERS);
    for (name, _) in variables {
        if known().any(|known| known == name) || name == VARIABLE {
            continue;
        }
        let hint = match knobs::nearest(name, known()) {
            Some(near) => format!("did you mean {near}?"),
            None => "unset it, or see docs/cargo-raddle.md for those there are".to_owned(),
        };
        return Err(Wrong::usage(format!("there is no variable {name}; {hint}")));
    }
    Ok(())
}

/// Bytes; none for `none`.
fn bytes(text: &str) -> Option<u64> {
    let at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let scale = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(scale)
}

/// `raddle.toml`.
#[derive(Debug, Default)]
struct File {
    /// Used if nobody names another.
    profile: Option<String>,
    profiles: BTreeMap<String, BTreeMap<&'static str, String>>,
}

impl File {
    fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let mut file = Self::default();
        for (key, value) in table {
            match (key.as_str(), value) {
                ("profile", Toml::String(name)) => file.profile = Some(name),
                ("profiles", Toml::Table(profiles)) => {
                    for (name, profile) in profiles {
                        let Toml::Table(profile) = profile else {
                            return Err(format!("profiles.{name} is a table: [profiles.{name}]"));
                        };
                        let values = values(&name, profile)?;
                        file.profiles.insert(name, values);
                    }
                }
                ("profile", _) => {
                    return Err(
                        "profile must be the name of one, such as \"ci\"; a profile itself is \
                         [profiles.ci]"
                            .to_owned(),
                    );
                }
                ("profiles", _) => return Err("profiles are tables: [profiles.ci]".to_owned()),
                (knob, _) if all().any(|(name, ..)| name == knob) => {
                    return Err(format!(
                        "`{knob}` belongs in a profile: write it under [profiles.NAME], and profile = \
                         \"NAME\" at the top"
                    ));
                }
                (unknown, _) => return Err(no_such_key(unknown, ["profile", "profiles"])),
            }
        }
        Ok(file)
    }

    /// What a profile says: what is built in, and the file over it.
    fn values(&self, name: &str) -> Result<BTreeMap<&'static str, String>, Wrong> {
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        let ours = self.profiles.get(name);
        if built_in.is_none() && ours.is_none() {
            let known = self.profiles.keys().map(String::as_str);
            let known = || known.clone().chain(BUILT_IN.iter().map(|(name, _)| *name));
            let hint = match knobs::nearest(name, known()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!(
                    "there are {}; or write [profiles.{name}] in raddle.toml",
                    known().collect::<Vec<_>>().join(", ")
                ),
            };
            return Err(Wrong::usage(format!("there is no profile `{name}`; {hint}")));
        }
        let built_in = built_in.map_or(&[][..], |(_, values)| *values);
        let mut values: BTreeMap<&'static str, String> =
            built_in.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        values.extend(ours.cloned().unwrap_or_default());
        Ok(values)
    }
}

fn values(profile: &str, table: Table) -> Result<BTreeMap<&'static str, String>, String> {
    let mut values = BTreeMap::new();
    for (key, given) in table {
        let Some((name, value, _)) = all().find(|(name, ..)| *name == key) else {
            let names = all().map(|(name, ..)| name);
            return Err(format!("in [profiles.{profile}] {}", no_such_key(&key, names)));
        };
        let text = match given {
            Toml::String(text) => text,
            Toml::Integer(number) => number.to_string(),
            Toml::Boolean(flag) => flag.to_string(),
            other => {
                let (kind, expected) = (other.type_str(), value.expected());
                return Err(format!(
                    "profiles.{profile}.{name} is of the type {kind}; it must be {expected}"
                ));
            }
        };
        accept(&format!("profiles.{profile}.{name}"), value, &text)?;
        values.insert(name, text);
    }
    Ok(values)
}

fn no_such_key<'a>(key: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = knobs::nearest(key, names.clone()) {
        return format!("there is no key `{key}`; did you mean `{near}`?");
    }
    let names: Vec<&str> = names.into_iter().collect();
    format!("there is no key `{key}`; there are {}", names.join(", "))
}

#[cfg(test)]
mod tests;
