//! A sampler, a priority, an order, an observer and a primitive, written outside of raddle.

pub mod bursts;
pub mod contended;
pub mod hot_spots;
pub mod newest_first;
pub mod semaphore;

pub use bursts::Bursts;
pub use contended::Contended;
pub use hot_spots::HotSpots;
pub use newest_first::NewestFirst;
pub use semaphore::Semaphore;
