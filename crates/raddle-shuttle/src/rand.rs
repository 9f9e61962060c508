//! `shuttle::rand`: random numbers that are part of the schedule.
//!
//! Each number is decided by the strategy, so a failure replays with the same ones; with
//! [`DfsScheduler::new(_, true)`](crate::scheduler::DfsScheduler::new) they are drawn from one seed.

pub use rand::{Rng, RngCore};

/// Generators.
pub mod rngs {
    use rand::{CryptoRng, Error, RngCore};

    /// The generator of the execution.
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        pub(super) _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            self.next_u64() as u32
        }

        fn next_u64(&mut self) -> u64 {
            raddle::rng().next_u64()
        }

        fn fill_bytes(&mut self, dest: &mut [u8]) {
            for bytes in dest.chunks_mut(8) {
                let drawn = self.next_u64().to_le_bytes();
                bytes.copy_from_slice(&drawn[..bytes.len()]);
            }
        }

        fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(dest);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}

/// The generator of the execution.
#[must_use]
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng { _private: () }
}
