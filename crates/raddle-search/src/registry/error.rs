//! Why a line gives no strategy, and what to write instead.

use std::fmt;

use raddle_trace::spelling::distance;

use super::{Arguments, CHOICES, Entry, REGISTRY, Role, Status};
use crate::expansion::all::CostlyOrder;
use crate::grammar::ParseError;

/// Why a line gives no strategy, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Parse(ParseError),
    Unknown {
        name: String,
    },
    Arguments {
        entry: &'static Entry,
        given: String,
    },
    Combination(String),
    NotHere(&'static Entry),
    /// What a strategy of this name cannot be used with, and why.
    Settings {
        name: String,
        reason: &'static str,
    },
}

impl BuildError {
    /// The known name that is nearest to an unknown one, if any is near.
    #[must_use]
    pub fn suggestion(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Unknown { name } => nearest(name),
            _ => None,
        }
    }

    /// The strategy in its shortest form and why it cannot be used with the settings, if that is all that
    /// is wrong.
    #[must_use]
    pub fn refused_settings(&self) -> Option<(&str, &'static str)> {
        match &self.kind {
            Kind::Settings { name, reason } => Some((name, reason)),
            _ => None,
        }
    }

    /// What is known and not in this version, if that is the reason.
    #[must_use]
    pub fn planned(&self) -> Option<&'static Entry> {
        match self.kind {
            Kind::NotHere(entry) if entry.status == Status::Planned => Some(entry),
            _ => None,
        }
    }
}

impl From<ParseError> for BuildError {
    fn from(error: ParseError) -> Self {
        Kind::Parse(error).into()
    }
}

impl From<CostlyOrder> for BuildError {
    fn from(error: CostlyOrder) -> Self {
        Kind::Combination(error.to_string()).into()
    }
}

impl From<Kind> for BuildError {
    fn from(kind: Kind) -> Self {
        Self { kind }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Parse(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Parse(_) => f.write_str("this is not how a strategy is written"),
            Kind::Unknown { name } => {
                write!(f, "`{name}` is not a known strategy")?;
                match nearest(name) {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => write!(
                        f,
                        "; here are {}",
                        Here(&[Role::Sampler, Role::Search, Role::Expansion])
                    ),
                }
            }
            Kind::Arguments { entry, given } => {
                write!(f, "`{given}` does not fit: write `{}{}`", entry.name, entry.arguments)?;
                if let Arguments::Number { name, least, most, default } = entry.arguments {
                    write!(f, ", where {name} is a number")?;
                    match (least, most) {
                        (0, u32::MAX) => {}
                        (_, u32::MAX) => write!(f, " from {least}")?,
                        _ => write!(f, " from {least} to {most}")?,
                    }
                    if let Some(default) = default {
                        write!(f, ", or `{}` for {name} = {default}", entry.name)?;
                    }
                }
                Ok(())
            }
            Kind::Combination(reason) => f.write_str(reason),
            Kind::Settings { reason, .. } => f.write_str(reason),
            Kind::NotHere(entry) => {
                let Entry { name, role, status, .. } = entry;
                if let Status::Elsewhere(instead) = status {
                    return write!(f, "`{name}` is not a search; {instead}");
                }
                write!(f, "`{name}` is planned and not in this version; ")?;
                if REGISTRY.iter().any(|other| other.role == *role && other.status == Status::Here)
                {
                    write!(f, "of the role {role} there is {}", Here(&[*role]))
                } else {
                    write!(f, "there is no {role} yet, so leave it out")
                }
            }
        }
    }
}

/// The names of these roles that are here, as a list.
struct Here<'a>(&'a [Role]);

impl fmt::Display for Here<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = REGISTRY
            .iter()
            .filter(|entry| self.0.contains(&entry.role) && entry.status == Status::Here);
        for (index, entry) in here.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}`{}{}`", entry.name, entry.arguments)?;
        }
        Ok(())
    }
}

/// The known name nearest to `name`, if one is near enough to be meant.
fn nearest(name: &str) -> Option<&'static str> {
    if name.len() > 32 {
        return None;
    }
    let known = || CHOICES.iter().chain(REGISTRY).map(|entry| entry.name);
    let begun = known().find(|known| name.len() >= 3 && known.starts_with(name));
    begun.or_else(|| {
        known()
            .map(|known| (distance(name, known), known))
            .filter(|&(distance, _)| distance <= 1 + name.len() / 4)
            .min_by_key(|&(distance, _)| distance)
            .map(|(_, known)| known)
    })
}
