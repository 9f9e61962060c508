//! Schedules as one word that a person can paste.
//!
//! `rd1` and then URL-safe base 64 of: settings, the task table, the decisions with runs of one
//! task folded, the hash of the steps, and a checksum. Labels of tasks are left out: they are not
//! part of a task's identity.

use std::fmt;
use std::str::FromStr;

use crate::schedule::{Decision, Key, Schedule, Settings, TaskKind, TaskName, Timeouts, VERSION};

const PREFIX: &str = "rd1";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// More than any real schedule; a corrupt length must not make the reader allocate without end.
const MAX_ENTRIES: u64 = 1 << 28;

/// Why a token could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError(String);

impl TokenError {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a schedule token: {}", self.0)
    }
}

impl std::error::Error for TokenError {}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = encode(self);
        let sum = checksum(&bytes).to_le_bytes();
        bytes.extend_from_slice(&sum);
        write!(f, "{PREFIX}{}", to_text(&bytes))
    }
}

impl FromStr for Schedule {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let Some(body) = text.strip_prefix(PREFIX) else {
            return Err(TokenError::new(format!("it does not begin with `{PREFIX}`")));
        };
        let bytes = from_text(body)?;
        let Some((payload, sum)) = bytes.split_last_chunk::<4>() else {
            return Err(TokenError::new("it is too short"));
        };
        if checksum(payload).to_le_bytes() != *sum {
            return Err(TokenError::new("its checksum does not match; was all of it copied?"));
        }
        let schedule = decode(payload)?;
        schedule.validate().map_err(TokenError)?;
        Ok(schedule)
    }
}

fn encode(schedule: &Schedule) -> Vec<u8> {
    let mut out = Vec::new();
    let settings = &schedule.settings;
    let flags = u64::from(settings.timeouts == Timeouts::Idle)
        | u64::from(settings.spurious) << 1
        | u64::from(settings.data_seed.is_some()) << 2
        | u64::from(settings.timeouts == Timeouts::Never) << 3
        | u64::from(settings.rounds.is_some()) << 4;
    put(&mut out, flags);
    if let Some(seed) = settings.data_seed {
        put(&mut out, seed);
    }
    if let Some(rounds) = settings.rounds {
        put(&mut out, u64::from(rounds));
    }
    put(&mut out, schedule.tasks.len() as u64 - 1);
    for task in &schedule.tasks[1..] {
        let environment = u64::from(task.kind == TaskKind::Environment);
        put(&mut out, u64::from(task.parent) << 1 | environment);
        put(&mut out, u64::from(task.nth));
    }
    put(&mut out, schedule.decisions.len() as u64);
    let mut rest = schedule.decisions.as_slice();
    while let Some(&first) = rest.first() {
        let length = match first {
            Decision::Run(task) => {
                let length = rest.iter().take_while(|&&next| next == first).count();
                put(&mut out, u64::from(task) << 2 | u64::from(length > 1));
                if length > 1 {
                    put(&mut out, length as u64);
                }
                length
            }
            Decision::Value { task, key, of } => {
                let (of_task, key) = match key {
                    Key::Index(value) => (0, value),
                    Key::Task(other) => (1, other),
                };
                put(&mut out, u64::from(task) << 2 | 2 | of_task);
                put(&mut out, u64::from(key));
                put(&mut out, u64::from(of));
                1
            }
        };
        rest = &rest[length..];
    }
    out.extend_from_slice(&schedule.steps_hash.to_le_bytes());
    out
}

fn decode(payload: &[u8]) -> Result<Schedule, TokenError> {
    let mut bytes = payload;
    let flags = take(&mut bytes)?;
    let timeouts = match flags & 9 {
        0 => Some(Timeouts::Any),
        1 => Some(Timeouts::Idle),
        8 => Some(Timeouts::Never),
        _ => None,
    };
    let Some(timeouts) = timeouts.filter(|_| flags <= 31) else {
        return Err(TokenError::new("it has settings that this build does not know"));
    };
    let settings = Settings {
        timeouts,
        spurious: flags & 2 == 2,
        data_seed: if flags & 4 == 4 { Some(take(&mut bytes)?) } else { None },
        rounds: if flags & 16 == 16 { Some(narrow(take(&mut bytes)?)?) } else { None },
    };
    let mut tasks = vec![TaskName::root()];
    for _ in 0..count(&mut bytes)? {
        let head = take(&mut bytes)?;
        let kind = if head & 1 == 1 { TaskKind::Environment } else { TaskKind::Thread };
        let (parent, nth) = (narrow(head >> 1)?, narrow(take(&mut bytes)?)?);
        tasks.push(TaskName { parent, nth, kind, label: None });
    }
    let n_decisions = count(&mut bytes)?;
    let mut decisions = Vec::new();
    while (decisions.len() as u64) < n_decisions {
        let head = take(&mut bytes)?;
        let task = narrow(head >> 2)?;
        if head & 2 == 2 {
            let key = narrow(take(&mut bytes)?)?;
            let key = if head & 1 == 1 { Key::Task(key) } else { Key::Index(key) };
            decisions.push(Decision::Value { task, key, of: narrow(take(&mut bytes)?)? });
        } else {
            let length = if head & 1 == 1 { take(&mut bytes)? } else { 1 };
            if length == 0 || length > n_decisions - decisions.len() as u64 {
                return Err(TokenError::new("a run of decisions is longer than the schedule"));
            }
            decisions.extend(std::iter::repeat_n(Decision::Run(task), length as usize));
        }
    }
    let Ok(steps_hash) = bytes.try_into() else {
        return Err(TokenError::new("it does not end where it should"));
    };
    let steps_hash = u64::from_le_bytes(steps_hash);
    Ok(Schedule { version: VERSION, settings, tasks, decisions, steps_hash })
}

/// Seven bits a byte, the lowest first.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, TokenError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let Some((&byte, rest)) = bytes.split_first() else {
            return Err(TokenError::new("it ends too early"));
        };
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(TokenError::new("a number in it is too large"))
}

fn count(bytes: &mut &[u8]) -> Result<u64, TokenError> {
    let count = take(bytes)?;
    if count > MAX_ENTRIES { Err(TokenError::new("a count in it is too large")) } else { Ok(count) }
}

fn narrow(value: u64) -> Result<u32, TokenError> {
    u32::try_from(value).map_err(|_| TokenError::new("a number in it is too large"))
}

/// FNV-1a: guards against a slip of the mouse, not against malice.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Bytes as letters, digits, `-` and `_`.
pub(crate) fn to_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 2);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(word >> (18 - 6 * index) & 63) as usize]));
        }
    }
    text
}

/// Reads what [`to_text`] made.
pub(crate) fn from_text(text: &str) -> Result<Vec<u8>, TokenError> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0u32;
        for &letter in chunk {
            let Some(value) = ALPHABET.iter().position(|&known| known == letter) else {
                let letter = char::from(letter).escape_default();
                return Err(TokenError::new(format!("`{letter}` cannot be part of one")));
            };
            word = word << 6 | value as u32;
        }
        word <<= 6 * (4 - chunk.len());
        for index in 0..chunk.len() - 1 {
            bytes.push((word >> (16 - 8 * index)) as u8);
        }
        if chunk.len() == 1 {
            return Err(TokenError::new("it ends too early"));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedules() -> impl Strategy<Value = Schedule> {
        let decision =
            (0u32..4, 0u32..3, 0u32..5, any::<bool>()).prop_map(|(task, shape, value, other)| {
                match shape {
                    0 | 1 => Decision::Run(task / 2),
                    _ if other => Decision::Value { task, key: Key::Task(value.min(3)), of: 9 },
                    _ => Decision::Value { task, key: Key::Index(value), of: 5 },
                }
            });
        let settings = (0..3_usize, any::<bool>(), any::<Option<u64>>(), any::<Option<u32>>());
        (settings, proptest::collection::vec(decision, 0..200), any::<u64>()).prop_map(
            |((timeouts, spurious, data_seed, rounds), decisions, steps_hash)| {
                let timeouts = [Timeouts::Any, Timeouts::Idle, Timeouts::Never][timeouts];
                let mut tasks = vec![TaskName::root()];
                for (parent, nth, kind) in [
                    (0, 0, TaskKind::Thread),
                    (1, 70_000, TaskKind::Thread),
                    (2, 0, TaskKind::Environment),
                ] {
                    tasks.push(TaskName { parent, nth, kind, label: None });
                }
                let settings = Settings { timeouts, spurious, data_seed, rounds };
                Schedule { version: VERSION, settings, tasks, decisions, steps_hash }
            },
        )
    }

    proptest! {
        #[test]
        fn a_token_says_all_of_its_schedule(schedule in schedules()) {
            prop_assert_eq!(schedule.to_string().parse::<Schedule>(), Ok(schedule));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(rd1)?[A-Za-z0-9_-]{0,60}") {
            let _ = text.parse::<Schedule>();
        }

        #[test]
        fn one_changed_letter_is_noticed(schedule in schedules(), at in any::<usize>()) {
            let mut letters: Vec<char> = schedule.to_string().chars().collect();
            let at = 3 + at % (letters.len() - 4);
            letters[at] = if letters[at] == 'A' { 'B' } else { 'A' };
            let text: String = letters.into_iter().collect();
            prop_assert!(text.parse::<Schedule>().is_err());
        }
    }

    #[test]
    fn a_long_run_of_one_task_is_short() {
        let decisions = vec![Decision::Run(0); 10_000];
        let token = Schedule { decisions, ..Schedule::default() }.to_string();
        assert!(token.len() < 40, "{token}");
    }

    #[test]
    fn mistakes_in_a_token_are_said() {
        let wrong = |text: &str| text.parse::<Schedule>().expect_err("refused").to_string();
        assert_eq!(wrong("hello"), "not a schedule token: it does not begin with `rd1`");
        assert_eq!(wrong("rd1"), "not a schedule token: it is too short");
        assert_eq!(wrong("rd1!!!!"), "not a schedule token: `!` cannot be part of one");
        let token = Schedule::default().to_string();
        assert_eq!(
            wrong(&token[..token.len() - 4]),
            "not a schedule token: its checksum does not match; was all of it copied?"
        );
    }
}
