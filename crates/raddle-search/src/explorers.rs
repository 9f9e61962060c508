//! Delaying explorers: the stock ones, and how a search over executions holds one.
//!
//! Desai, Qadeer and Seshia, FSE 2015. What an explorer is, and how to write one, says
//! [`raddle_engine::explorer`]. Here are `rr`, `rtc`, `prr` and `ordered`, one file each, and the
//! [`Tracker`], which makes an [`Order`](crate::order::Order) of an explorer: it ranks the options of a point by
//! the delays that reach them.
//!
//! To add a stock explorer: its file, and an entry in `registry/table.rs`.

pub mod ordered;
pub mod prr;
pub mod rr;
pub mod rtc;
mod tracker;

pub use ordered::Ordered;
pub use prr::RandomRoundRobin;
pub use rr::QueueOfProcesses;
pub use rtc::RunToCompletion;
pub use tracker::Tracker;

#[cfg(test)]
pub(crate) mod brute_force;
#[cfg(test)]
mod tests;
