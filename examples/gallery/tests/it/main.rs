//! Examples to copy: the wrong code fails as `reports/` shows, and the right code is covered.

mod bounded_queue;
mod cache;
mod connection_pool;
mod moved_from_loom;
mod payments;
mod reports;
mod workflow;
