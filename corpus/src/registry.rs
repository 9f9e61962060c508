//! All programs, by name.

use std::fmt;

use raddle_knobs::spelling::distance;

use crate::program::Program;
use crate::{
    actors, applications, bugs, case, channels, counts, libraries, litmus, ours, peers, protocols,
    unit_tests,
};

/// All programs that a search can cover at their defaults, by group. Those of
/// [`libraries`](mod@libraries), [`applications`](mod@applications), [`protocols`](mod@protocols),
/// [`actors::systems`] and [`counts::spinning::LOCKS`] are longer.
pub static REGISTRY: &[Program] = &[
    counts::readers::READERS,
    counts::readers::LASTZERO,
    counts::readers::LASTWRITE,
    counts::readers::FLOATING_READ,
    counts::increments::INC,
    counts::increments::AINC,
    counts::increments::BINC,
    counts::increments::CINC,
    counts::increments::WCAS,
    counts::tables::INDEXER,
    counts::tables::FILESYSTEM,
    counts::locks::CIRCULAR_BUFFER,
    counts::messages::SENDERS,
    counts::independent::INDEPENDENT,
    counts::independent::STEPS,
    counts::spinning::TICKET_LOCK,
    counts::spinning::SPIN_LOCK,
    counts::spinning::SEQLOCK_READER,
    counts::spinning::AWAIT_FLAG,
    bugs::updates::LOST_UPDATE,
    bugs::updates::LOST_UPDATE_FIXED,
    bugs::locks::ABBA,
    bugs::locks::ABBA_FIXED,
    bugs::locks::PHILOSOPHERS,
    bugs::locks::PHILOSOPHERS_FIXED,
    bugs::conditions::BOUNDED_BUFFER,
    bugs::conditions::BOUNDED_BUFFER_FIXED,
    bugs::updates::CHECK_THEN_ACT,
    bugs::updates::CHECK_THEN_ACT_FIXED,
    bugs::initialisation::DOUBLE_CHECKED,
    bugs::initialisation::DOUBLE_CHECKED_FIXED,
    bugs::conditions::MISSED_WAKEUP,
    bugs::conditions::MISSED_WAKEUP_FIXED,
    bugs::locks::UPGRADE,
    bugs::locks::UPGRADE_FIXED,
    bugs::channels::CHANNEL_CLOSE,
    bugs::channels::CHANNEL_CLOSE_FIXED,
    bugs::updates::STALE_GUARD,
    bugs::updates::STALE_GUARD_FIXED,
    bugs::orders::REORDER,
    bugs::locks::TWO_STAGE,
    bugs::orders::BLUETOOTH,
    bugs::orders::TOKEN_RING,
    bugs::locks::WRONG_LOCK,
    bugs::races::RACY_PUBLISH,
    bugs::races::PUBLISHED,
    bugs::races::LAST_OWNER,
    bugs::races::LAST_OWNER_COUNTED,
    bugs::races::LAST_OWNER_UNWRAPS,
    bugs::races::LOCK_ORDER,
    bugs::spinning::MISSED_WINDOW,
    bugs::spinning::MISSED_WINDOW_FIXED,
    bugs::spinning::AFTER_YOU,
    counts::spinning::SPIN_THEN_PARK,
    counts::spinning::IMPATIENT,
    litmus::sb::SB,
    litmus::mp::MP,
    litmus::lb::LB,
    litmus::iriw::IRIW,
    litmus::two_plus_two_w::TWO_PLUS_TWO_W,
    litmus::corr::CORR,
    actors::store::STORE,
    actors::store::STORE_LOST_UPDATE,
    actors::phils::PHILS,
    actors::phils::PHILS_STARVE,
    actors::phils::PHILS_FIXED,
    actors::pingpong::PINGPONG,
    actors::scheduler::SCHEDULER,
    actors::scheduler::SCHEDULER_LOST_TASK,
    actors::protocols::TWO_PHASE_COMMIT,
    actors::protocols::ACTOR_SENDERS,
    actors::protocols::TAGGED,
    actors::protocols::THREE_ACTORS,
    peers::atomics::LOADS,
    peers::atomics::FAILED_EXCHANGE,
    peers::atomics::REDUNDANT_LOAD,
    peers::timeouts::WAIT_TIMEOUT,
    peers::timeouts::RECV_TIMEOUT,
    peers::timeouts::PARK_TIMEOUT,
    peers::timeouts::TIMEOUT_OR_NOT,
    peers::conditions::NOTIFY_ANY,
    peers::conditions::TRY_LOCK,
    peers::ends::CAUGHT_PANIC,
    peers::ends::CERTAIN_DEADLOCK,
    peers::ends::DEADLOCK_IN_DROP,
    peers::ends::SPIN_WITH_YIELD,
    peers::many::EMPTY_THREADS,
    peers::many::MANY_THREADS,
    peers::many::MANY_STEPS,
    ours::HAMMER,
    ours::spin::SPIN_WITHOUT_YIELD,
    ours::DEADLOCK_HELD_IN_DROP,
];

/// All programs, those that no search can cover in a test last: libraries, applications, protocols, systems of
/// actors, threads with channels, the case, unit tests, and locks that spin.
pub fn everything() -> impl Iterator<Item = &'static Program> {
    let long = libraries::programs().chain(applications::programs()).chain(protocols::programs());
    let long = long.chain(actors::systems::programs()).chain(channels::PROGRAMS);
    let others = case::PROGRAMS.iter().chain(unit_tests::UNIT_TESTS).chain(counts::spinning::LOCKS);
    REGISTRY.iter().chain(long).chain(others)
}

/// Why a program cannot be run as asked, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// No program has this name.
    Unknown {
        /// As it was given.
        name: String,
        /// The one that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The wrong number of arguments.
    Number {
        /// The program with its arguments: `steps(a, b)`.
        program: String,
        /// How many were given.
        given: usize,
    },
    /// An argument out of its range.
    Range {
        /// The program with its arguments.
        program: String,
        /// Which argument.
        argument: &'static str,
        /// As it was given.
        given: usize,
        /// The smallest that makes sense.
        least: usize,
        /// The largest that makes sense.
        most: usize,
    },
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "there is no program `{name}`; did you mean `{nearest}`?")
            }
            Self::Unknown { name, nearest: None } => {
                write!(f, "there is no program `{name}`; `raddle-corpus list` shows all")
            }
            Self::Number { program, given } => {
                write!(f, "wrong number of arguments: {given}; give those of `{program}`, or none")
            }
            Self::Range { program, argument, given, least, most } => {
                write!(
                    f,
                    "{argument} = {given} is out of range: in `{program}` it is from {least} to {most}"
                )
            }
        }
    }
}

impl std::error::Error for Lookup {}

/// The program of this name, with its arguments: those given, or its defaults if none are.
///
/// ```
/// let (program, arguments) = raddle_corpus::find("steps", &[]).expect("it is there");
/// assert_eq!((program.to_string().as_str(), &*arguments), ("steps(a, b)", [4, 4].as_slice()));
///
/// let error = raddle_corpus::find("philosopers", &[3]).unwrap_err();
/// assert_eq!(error.to_string(), "there is no program `philosopers`; did you mean `philosophers`?");
/// ```
///
/// # Errors
/// If there is no such program, or the arguments are too many, too few or out of range.
pub fn find(name: &str, given: &[usize]) -> Result<(&'static Program, Vec<usize>), Lookup> {
    let Some(program) = everything().find(|program| program.name == name) else {
        return Err(Lookup::Unknown { name: name.to_owned(), nearest: nearest(name) });
    };
    if given.is_empty() {
        return Ok((program, program.defaults()));
    }
    if given.len() != program.parameters.len() {
        return Err(Lookup::Number { program: program.to_string(), given: given.len() });
    }
    for (parameter, &given) in program.parameters.iter().zip(given) {
        let (argument, least, most) = (parameter.name, parameter.least, parameter.most);
        if !(least..=most).contains(&given) {
            let program = program.to_string();
            return Err(Lookup::Range { program, argument, given, least, most });
        }
    }
    Ok((program, given.to_vec()))
}

/// The name nearest to this one, if one is near enough to be meant.
fn nearest(name: &str) -> Option<&'static str> {
    if name.len() > 32 {
        return None;
    }
    // `lost_update` and `LostUpdate` are meant as they sound.
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let asked = plain(name);
    everything()
        .map(|program| (distance(&asked, &plain(program.name)), program.name))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= 1 + asked.len() / 4)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_name_of_its_own() {
        for (index, program) in everything().enumerate() {
            let before = everything().take(index).find(|other| other.name == program.name);
            assert!(before.is_none(), "{} is there twice", program.name);
            assert!(program.line.len() <= 75, "{} has too long a line", program.name);
        }
    }

    #[test]
    fn a_name_is_found_however_it_is_spelt() {
        for (asked, meant) in [("lost_update", "lost-update"), ("reader", "readers")] {
            assert_eq!(nearest(asked), Some(meant));
        }
        assert_eq!(nearest("zzzzzzzz"), None);
    }

    #[test]
    fn arguments_are_checked() {
        let text =
            |name, given: &[usize]| find(name, given).map(|_| ()).expect_err("refused").to_string();
        assert_eq!(
            text("steps", &[1]),
            "wrong number of arguments: 1; give those of `steps(a, b)`, or none"
        );
        assert_eq!(
            text("philosophers", &[9]),
            "n = 9 is out of range: in `philosophers(n)` it is from 2 to 5"
        );
        assert_eq!(find("philosophers", &[5]).map(|found| found.1), Ok(vec![5]));
    }
}
