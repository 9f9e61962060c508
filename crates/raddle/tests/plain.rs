//! Without the feature `check` the items are std's own. Run by `cargo test -p xtask`, alone: in a
//! build of the whole workspace some package asks for the feature.
#![cfg(not(feature = "check"))]
#![expect(unsafe_code, reason = "cells hand out raw pointers")]

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
fn cells_are_no_larger_than_those_of_std() {
    use raddle::cell::UnsafeCell;
    assert!(same::<raddle::cell::Cell<u8>, std::cell::Cell<u8>>());
    assert_eq!(size_of::<UnsafeCell<[u8; 3]>>(), 3);
    static CELL: std::sync::Mutex<UnsafeCell<u8>> = std::sync::Mutex::new(UnsafeCell::const_new(7));
    let cell = CELL.lock().expect("nobody panicked");
    // SAFETY: no other thread has the cell.
    assert_eq!(cell.with(|value| unsafe { *value }), 7);
}

#[test]
fn names_are_for_nobody() {
    raddle::method!("nobody");
    raddle::thread_local! {
        static LOCAL: u8 = const { 1 };
    }
    let mutex = raddle::sync::Mutex::new(1).named("one");
    assert_eq!(mutex.into_inner().expect("nobody panicked"), LOCAL.with(|value| *value));
}
