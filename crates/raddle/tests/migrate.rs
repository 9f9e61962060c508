//! Tests of loom's and shuttle's users, moved over by changing imports. `bench/peer-loom` and
//! `bench/peer-shuttle` run the same files with the crates they were written for.

#![cfg(feature = "check")]
#![expect(clippy::unwrap_used, reason = "tests as their users write them")]
#![expect(unsafe_code, reason = "tests of cells that are not safe")]

mod from_loom {
    use raddle::migrate::loom;

    include!("moved/loom.rs");
}

mod from_shuttle {
    use raddle::migrate::shuttle;

    include!("moved/shuttle.rs");
}
