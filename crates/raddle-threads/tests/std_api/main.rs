//! The API is that of std: one file, compiled once against std and once against raddle, asks for every
//! stable item by its signature. `book/src/std-api.md` lists the same items; its rows are compared with
//! that file.

#![expect(unsafe_code, reason = "a thread that borrows without a check is part of the API")]
#![allow(clippy::incompatible_msrv, reason = "compared with the std of the compiler that is there")]
#![allow(deprecated, reason = "what std still has is there, deprecated or not")]

mod of_raddle;
mod of_std;
mod page;

use std::sync::{Mutex, PoisonError};

use raddle_engine::{Ended, Setup, Stop, explore};

/// What `told` returns when it is called as the body of a test.
fn inside(told: fn() -> Vec<String>) -> Vec<String> {
    let said = Mutex::new(Vec::new());
    let mut strategy = raddle_search::build("dfs", 0).expect("dfs is known").strategy;
    let body = || *said.lock().unwrap_or_else(PoisonError::into_inner) = told();
    let explored =
        explore(&mut *strategy, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, &body)
            .expect("a search can run here");
    assert!(explored.failure.is_none());
    assert_eq!(explored.ended, Ended::Covered);
    said.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn what_is_printed_is_what_std_prints() {
    let expected = of_std::same::texts();
    assert_eq!(of_raddle::same::texts(), expected);
    assert_eq!(inside(of_raddle::same::texts), expected);
}

#[test]
fn misuse_panics_with_the_messages_of_std() {
    let expected = of_std::same::panics();
    assert_eq!(of_raddle::same::panics(), expected);
    assert_eq!(inside(of_raddle::same::panics), expected);
}

#[test]
fn values_and_errors_are_those_of_std() {
    let expected = of_std::same::values();
    assert_eq!(of_raddle::same::values(), expected);
    assert_eq!(inside(of_raddle::same::values), expected);
}
