//! What is refused, and in which words.

use std::sync::{Arc, Mutex, PoisonError};

use raddle::{Config, Error, explore, replay};

use crate::programs::kept_update;

fn refused(change: impl FnOnce(&mut Config)) -> Error {
    let mut config = Config::default();
    change(&mut config);
    explore(config, kept_update).expect_err("refused")
}

#[test]
fn a_strategy_that_is_not_one_is_refused() {
    let wrong = |strategy: &str| refused(|config| config.strategy = strategy.into());
    insta::assert_snapshot!(wrong("dsf"), @"the strategy `dsf` cannot be used: `dsf` is not a known strategy; did you mean `dfs`?");
    insta::assert_snapshot!(wrong("dfs("), @"the strategy `dfs(` cannot be used: this is not how a strategy is written: the text ends at column 5; write a name or a number here, as in `pct(3)`");
    insta::assert_snapshot!(wrong("replay"), @"the strategy `replay` cannot be used: `replay` is not a search; set RADDLE_REPLAY or call raddle::replay");
    insta::assert_snapshot!(wrong(""), @"the strategy `` cannot be used: this is not how a strategy is written: nothing is named; write a strategy, such as `random`");
    let bounded = refused(|config| {
        config.strategy = "random".into();
        config.preemptions = Some(2);
    });
    insta::assert_snapshot!(bounded, @"the strategy `random preemptions(2)` cannot be used: `preemptions(2)` is part of a search, here its bound, and the sampler `random` has none; leave it out, or write `dfs` instead of `random`");
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let wrong = |given: &str| replay(given, kept_update).expect_err("refused");
    let token = raddle::Schedule::default().to_string();
    insta::assert_snapshot!(wrong(&token[..token.len() - 4]), @"cannot replay `rd1AAAAAAAAAAAAAACX`: not a schedule token: its checksum does not match; was all of it copied? (give all of the token that the failure printed, or the file that it named)");
    insta::assert_snapshot!(wrong("rd1"), @"cannot replay `rd1`: not a schedule token: it is too short (give all of the token that the failure printed, or the file that it named)");
    insta::assert_snapshot!(wrong("rd9AAAA"), @"cannot replay `rd9AAAA`: not a schedule token: it does not begin with `rd1` (give all of the token that the failure printed, or the file that it named)");
    insta::assert_snapshot!(wrong("hello"), @"cannot replay `hello`: there is no such file, and a token begins with `rd1`; give either");
    insta::assert_snapshot!(wrong("Cargo.toml"), @"cannot replay `Cargo.toml`: not complete JSON; check that all of the file was written or copied (expected value at line 1 column 2)");
    insta::assert_snapshot!(wrong(&"x".repeat(100)), @"cannot replay `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…`: there is no such file, and a token begins with `rd1`; give either");
}

#[test]
fn a_search_inside_an_execution_is_refused() {
    let inner = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&inner);
    let outer = explore(Config::default(), move || {
        let nested = explore(Config::default(), kept_update).expect_err("refused");
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(nested);
    });
    assert!(outer.is_ok());
    let error = inner.lock().unwrap_or_else(PoisonError::into_inner).take().expect("it was run");
    assert_eq!(error, Error::Nested);
    insta::assert_snapshot!(error, @"a search was started inside an execution of another search; call raddle::check and raddle::explore from an ordinary test, not from the closure they run");
}

#[test]
fn an_object_of_an_execution_is_refused_to_another_os_thread() {
    let report = explore(Config::default(), || {
        let mutex = raddle::sync::Arc::new(raddle::sync::Mutex::new(0));
        *mutex.lock().unwrap() += 1;
        let theirs = raddle::sync::Arc::clone(&mutex);
        // Not raddle's: the search cannot know of this thread.
        let thread = std::thread::spawn(move || drop(theirs.lock()));
        assert!(thread.join().is_err(), "it was let in");
        for _ in 0..5_000 {
            *mutex.lock().unwrap() += 1;
        }
    });
    assert_eq!(report, Err(Error::Foreign));
    insta::assert_snapshot!(Error::Foreign, @"another OS thread used an object of the running execution; start threads with raddle::thread::spawn, and create what a test shares inside the closure that raddle runs");
}
