//! Without the feature `check` the items are std's own. Run by `cargo test -p xtask`, alone: in a
//! build of the whole workspace some package asks for the feature.
#![cfg(not(feature = "check"))]

use std::any::TypeId;

use raddle::Named;

fn same<A: 'static, B: 'static>() -> bool {
    TypeId::of::<A>() == TypeId::of::<B>()
}

#[test]
fn types_are_those_of_std() {
    assert!(same::<raddle::sync::Mutex<u8>, std::sync::Mutex<u8>>());
    assert!(same::<raddle::sync::Condvar, std::sync::Condvar>());
    assert!(same::<raddle::sync::atomic::AtomicU8, std::sync::atomic::AtomicU8>());
    assert!(same::<raddle::sync::mpsc::Sender<u8>, std::sync::mpsc::Sender<u8>>());
    assert!(same::<raddle::thread::JoinHandle<u8>, std::thread::JoinHandle<u8>>());
    assert!(same::<raddle::time::Instant, std::time::Instant>());
}

#[test]
fn names_are_for_nobody() {
    raddle::thread_local! {
        static LOCAL: u8 = const { 1 };
    }
    let mutex = raddle::sync::Mutex::new(1).named("one");
    assert_eq!(mutex.into_inner().expect("nobody panicked"), LOCAL.with(|value| *value));
}
