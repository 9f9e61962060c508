//! What searches are run with: `raddle.toml`, then variables, then flags, the later over the earlier.
//!
//! All of it reaches a host as variables, so that there is one way in which a test is configured, and
//! what works here works with `cargo test` too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_knobs::{Given, KNOBS, Knob, PREFIX, PROFILE, nearest};
use raddle_report::Links;
use raddle_trace::host::VARIABLE;
use toml::{Table, Value as Toml};

use crate::cli;
use crate::error::DriverError;

/// Profiles that are there without a file. A file may change them.
pub(crate) const BUILT_IN: [(&str, &[(&str, &str)]); 3] = [
    ("quick", &[("time", "2s")]),
    ("ci", &[("time", "30s")]),
    ("nightly", &[("time", "10m"), ("traces", "true")]),
];

/// What a run is run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Variables for hosts, by name of the knob.
    pub(crate) knobs: BTreeMap<&'static str, String>,
    pub(crate) jobs: usize,
    pub(crate) workers: Workers,
    pub(crate) host_memory: Option<u64>,
    /// Where places on pages lead, if anywhere.
    pub(crate) links: Option<String>,
}

impl Settings {
    /// From the file of the workspace at `root`, the environment and the flags.
    pub(crate) fn read(root: &Path, flags: &cli::Settings) -> Result<Self, DriverError> {
        let variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .collect();
        let file = match &flags.config {
            Some(path) => Some(path.clone()),
            None => Some(root.join("raddle.toml")).filter(|path| path.exists()),
        };
        let file = match file {
            Some(path) => {
                let text = fs::read_to_string(&path).map_err(|error| {
                    DriverError::usage(format!(
                        "cannot read the settings in {}: {error}",
                        path.display()
                    ))
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
    ) -> Result<Self, DriverError> {
        check_variables(variables)?;
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let file = match file {
            Some((path, text)) => File::parse(text)
                .map_err(|why| DriverError::usage(format!("{}: {why}", path.display())))?,
            None => File::default(),
        };
        let profile = flags.profile.clone().or_else(|| variable(PROFILE)).or(file.profile.clone());
        let mut values = match profile {
            Some(name) => file.values(&name)?,
            None => BTreeMap::new(),
        };
        for knob in all() {
            if let Some(text) = variable(&knob.variable()) {
                knob.check(&knob.variable(), &text).map_err(DriverError::usage)?;
                set(&mut values, knob, text);
            }
        }
        for (knob, text) in &flags.knobs.given {
            knob.check(&format!("--{}", knob.flag()), text).map_err(DriverError::usage)?;
            set(&mut values, knob, text.clone());
        }
        let jobs = take_number(&mut values, "jobs");
        if jobs == Some(0) {
            return Err(DriverError::usage(
                "jobs is `0`, and without a host nothing is run; write at least 1, or leave it out",
            ));
        }
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = jobs.and_then(|jobs| jobs.try_into().ok()).unwrap_or_else(processors);
        let host_memory = take_number(&mut values, "host_memory");
        let workers = Workers::take(&mut values)?;
        let links = values.remove("links").unwrap_or_else(|| Links::EDITOR.to_owned());
        let links = Some(links).filter(|links| links != "none");
        Ok(Self { knobs: values, jobs, workers, host_memory, links })
    }

    /// How so many tests share the hosts that may be alive at once.
    pub(crate) fn shared(&self, tests: usize) -> Shared {
        let each = self.workers.count.unwrap_or(1);
        let at_a_time = (self.jobs / each).clamp(1, tests.max(1));
        let hosts = self.workers.count.unwrap_or_else(|| (self.jobs / at_a_time).max(1));
        Shared { tests: at_a_time, hosts }
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

/// How the hosts that may be alive at once are shared: never more than `tests` × `hosts`. That is more than `jobs` only if one
/// test alone is to have more workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Tests at a time.
    pub(crate) tests: usize,
    /// Hosts for each of them, if several share its search.
    pub(crate) hosts: usize,
}

/// How many hosts share the search of one test, and for how long each has a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Workers {
    /// None: a test has one host, which runs its search whole; unless it goes on from what several have left.
    pub(crate) count: Option<usize>,
    pub(crate) unit_executions: Option<u64>,
    pub(crate) unit_time: Option<Duration>,
}

impl Workers {
    fn take(values: &mut BTreeMap<&'static str, String>) -> Result<Self, DriverError> {
        let count = take_number(values, "workers");
        let unit_executions = take_number(values, "unit_executions");
        let unit_time = match values.remove("unit_time") {
            None => None,
            Some(text) => {
                raddle_knobs::find("unit_time").and_then(|knob| match knob.value.parse(&text)? {
                    Given::Time(time) => Some(time),
                    _ => None,
                })
            }
        };
        let none = [("workers", count), ("unit_executions", unit_executions)]
            .into_iter()
            .find(|(_, given)| *given == Some(0));
        if let Some((name, _)) = none {
            return Err(DriverError::usage(format!(
                "{name} is `0`, and so nothing would be run; write at least 1, or leave it out"
            )));
        }
        let count = count.map(|count| count.try_into().unwrap_or(usize::MAX));
        Ok(Self { count, unit_executions, unit_time })
    }
}

/// Every knob that can be given here, the driver's own last.
fn all() -> impl Iterator<Item = &'static Knob> + Clone {
    KNOBS.iter().filter(|knob| knob.is_flag())
}

/// Sets a knob over what was there.
fn set(values: &mut BTreeMap<&'static str, String>, knob: &Knob, text: String) {
    if let Some(other) = knob.takes_back() {
        values.remove(other);
    }
    values.insert(knob.name, text);
}

/// Takes a knob of the driver's own out of values that were checked; nothing for `none`.
fn take_number(values: &mut BTreeMap<&'static str, String>, name: &str) -> Option<u64> {
    let text = values.remove(name)?;
    match raddle_knobs::find(name)?.value.parse(&text)? {
        Given::Number(n) => Some(n),
        _ => None,
    }
}

/// Refuses variables that nothing reads, and those that cannot be given here.
fn check_variables(variables: &[(String, String)]) -> Result<(), DriverError> {
    let known: Vec<String> = raddle_knobs::variables().collect();
    for (name, _) in variables {
        let refused = |knob: &&Knob| knob.variable() == *name && knob.instead.is_some();
        if let Some(instead) = KNOBS.iter().find(refused).and_then(|knob| knob.instead) {
            return Err(DriverError::usage(format!("{name} is for cargo test: {instead}")));
        }
        if known.contains(name) || name == VARIABLE {
            continue;
        }
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => "unset it; `cargo raddle help test` has those there are".to_owned(),
        };
        return Err(DriverError::usage(format!("there is no variable {name}; {hint}")));
    }
    Ok(())
}

/// `raddle.toml`.
#[derive(Debug, Default)]
struct File {
    /// Used if no other is named.
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
                (key, _) if all().any(|knob| knob.name == key) => {
                    return Err(format!(
                        "`{key}` belongs in a profile: write it under [profiles.NAME], and profile = \
                         \"NAME\" at the top"
                    ));
                }
                (unknown, _) => return Err(no_such_key(unknown, ["profile", "profiles"])),
            }
        }
        Ok(file)
    }

    /// What a profile says: what is built in, and the file over it.
    fn values(&self, name: &str) -> Result<BTreeMap<&'static str, String>, DriverError> {
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        let ours = self.profiles.get(name);
        if built_in.is_none() && ours.is_none() {
            let known = self.profiles.keys().map(String::as_str);
            let known = || known.clone().chain(BUILT_IN.iter().map(|(name, _)| *name));
            let hint = match nearest(name, known()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!(
                    "there are {}; or write [profiles.{name}] in raddle.toml",
                    known().collect::<Vec<_>>().join(", ")
                ),
            };
            return Err(DriverError::usage(format!("there is no profile `{name}`; {hint}")));
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
        let Some(knob) = all().find(|knob| knob.name == key) else {
            let names = all().map(|knob| knob.name);
            return Err(format!("in [profiles.{profile}] {}", no_such_key(&key, names)));
        };
        let name = knob.name;
        let text = match given {
            Toml::String(text) => text,
            Toml::Integer(number) => number.to_string(),
            Toml::Boolean(flag) => flag.to_string(),
            other => {
                let (kind, expected) = (other.type_str(), knob.value.expected());
                return Err(format!(
                    "profiles.{profile}.{name} is of the type {kind}; it must be {expected}"
                ));
            }
        };
        knob.check(&format!("profiles.{profile}.{name}"), &text)?;
        values.insert(name, text);
    }
    Ok(values)
}

fn no_such_key<'a>(key: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(key, names.clone()) {
        return format!("there is no key `{key}`; did you mean `{near}`?");
    }
    let names: Vec<&str> = names.into_iter().collect();
    format!("there is no key `{key}`; there are {}", names.join(", "))
}

#[cfg(test)]
mod tests;
