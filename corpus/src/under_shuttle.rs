//! The programs of threads of this corpus under shuttle: the root of the binary `peer-shuttle-corpus`.
//!
//! The same files are compiled again, with a crate called `raddle` that is shuttle's primitives under the names
//! which the programs use. So there is one text of each program, and what differs between the two tools is the tools.
//!
//! It stands beside the programs and not with the binary's package because a root finds its modules beside itself.

#![allow(dead_code, reason = "descriptions of programs say more than this binary asks for")]
#![allow(unfulfilled_lint_expectations, reason = "a binary has no documentation of panics")]
#![allow(unreachable_pub, reason = "elsewhere they are modules of a library")]
#![allow(unused_imports, reason = "each program takes what it needs of the names below")]

extern crate self as raddle;

/// Names of methods are for strategies of raddle.
#[macro_export]
macro_rules! method {
    ($name:literal) => {};
}

mod applications;
mod bugs;
mod case;
mod libraries;
#[path = "under_shuttle/names.rs"]
mod names;
#[path = "under_shuttle/program.rs"]
mod program;
#[path = "under_shuttle/rate.rs"]
mod rate;

use std::process::ExitCode;

pub(crate) use names::{Named, cell, sync, thread};
pub(crate) use shuttle::hint;

use self::program::Program;

fn main() -> ExitCode {
    let programs = programs();
    peer::rate_main(programs.iter().map(|program| program.name), |name, asked| {
        let program = programs.iter().find(|program| program.name == name)?;
        Some(rate::search(program, asked))
    })
}

/// Programs with a bug that shuttle can show: a data race is none.
fn programs() -> Vec<&'static Program> {
    use bugs::{channels, conditions, initialisation, locks, orders, spinning, updates};
    static BUGS: &[Program] = &[
        updates::LOST_UPDATE,
        updates::CHECK_THEN_ACT,
        updates::STALE_GUARD,
        locks::ABBA,
        locks::PHILOSOPHERS,
        locks::UPGRADE,
        locks::TWO_STAGE,
        locks::WRONG_LOCK,
        conditions::BOUNDED_BUFFER,
        conditions::MISSED_WAKEUP,
        channels::CHANNEL_CLOSE,
        initialisation::DOUBLE_CHECKED,
        orders::REORDER,
        orders::BLUETOOTH,
        orders::TOKEN_RING,
        spinning::MISSED_WINDOW,
        spinning::AFTER_YOU,
    ];
    let all = BUGS.iter().chain(libraries::programs()).chain(applications::programs());
    all.chain(&case::PROGRAMS).filter(|program| program.expected.is_seen_by_shuttle()).collect()
}
