//! Twenty correct tests of the size that people write for their own code: two to four threads, a few
//! operations each.
//!
//! They stand for what a default search meets most: code without a bug. What is measured on them is whether a
//! search can say that everything was covered, within its usual budget (`raddle-bench default`). They were
//! written down before any search had run on one of them, and none was changed to suit one.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]

mod caches;
mod counters;
mod pools;
mod queues;

use crate::program::{Group, Program};

const fn program(name: &'static str, line: &'static str, body: fn()) -> Program {
    Program::new(name, Group::UnitTests, line).plain(body)
}

/// All of them.
pub static UNIT_TESTS: &[Program] = &[
    program("mutex-counter", "three threads count in a mutex", counters::mutex_counter),
    program("atomic-counter", "three threads count in an atomic", counters::atomic_counter),
    program("ticket-numbers", "numbers are handed out once each", counters::ticket_numbers),
    program("ordered-transfers", "transfers lock accounts in order", counters::ordered_transfers),
    program("token-bucket", "as many may pass as there are tokens", counters::token_bucket),
    program(
        "barrier-phases",
        "a phase begins when all have ended the last",
        counters::barrier_phases,
    ),
    program("latch", "main waits until all workers have counted down", counters::latch),
    program("queue-of-one", "a queue of one place between two threads", queues::bounded_queue),
    program("fan-in", "three producers and a consumer", queues::fan_in),
    program("pipeline", "two items through three stages", queues::pipeline),
    program("event-bus", "who subscribed in time hears of it", queues::event_bus),
    program("treiber-stack", "two push and two pop, without a lock", queues::treiber_stack),
    program("one-shot", "a value for a thread that is parked", queues::one_shot),
    program("connection-pool", "three threads share two connections", pools::connection_pool),
    program("worker-pool", "two workers take three jobs", pools::worker_pool),
    program("semaphore-permits", "at most two at a time", pools::semaphore_permits),
    program("shutdown", "a worker ends what was sent before it was stopped", pools::shutdown),
    program("cache-entry", "an entry is computed once", caches::cache_entry),
    program("lru-cache", "the entry that was not used for longest goes", caches::lru_cache),
    program(
        "configuration-swap",
        "readers see one configuration or the other",
        caches::configuration_swap,
    ),
];
