//! What a search costs in memory: nothing that grows, and nothing per execution but what the
//! program itself asks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use raddle_engine::{Ended, Limits, Setup, Stop, explore};
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;

/// Counts the allocations of each OS thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its signature")]
// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as our caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as our caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations per execution once the search has warmed up, with this strategy.
fn per_execution(strategy: &str, program: &dyn Fn()) -> u64 {
    const WARM: u64 = 200;
    const MEASURED: u64 = 1000;
    let mut strategy = raddle_search::build(strategy, 1).expect("known").strategy;
    let limits = Limits { executions: WARM + MEASURED, ..Limits::default() };
    let mut before = 0;
    let mut lap = |lap: raddle_engine::Lap| {
        if lap.executions == WARM && lap.steps == 0 {
            before = ALLOCATIONS.get();
        }
        Stop::No
    };
    let setup = Setup { limits, ..Setup::default() };
    let explored =
        explore(&mut *strategy, &setup, &mut lap, &mut |_| {}, program).expect("it can run here");
    assert_eq!(explored.ended, Ended::Executions);
    let spent = ALLOCATIONS.get() - before;
    // What the end of the search itself allocates is less than one per execution.
    spent / MEASURED
}

#[test]
fn the_engine_allocates_nothing_for_the_threads_that_are_spawned() {
    // One Arc of the program's own. What holds the closure and the result of a thread is used again.
    let program = || {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
        let spawn = || {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..12 {
                    shared.0.fetch_add(1, SeqCst);
                    *shared.1.lock().expect("not poisoned") += 1;
                }
            })
        };
        let (a, b) = (spawn(), spawn());
        a.join().expect("no panic");
        b.join().expect("no panic");
    };
    for strategy in ["dfs", "dfs preemptions(2)", "random", "pct(3)", "pos", "urw", "surw"] {
        assert_eq!(per_execution(strategy, &program), 1, "{strategy}");
    }
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

#[test]
fn memory_does_not_grow_with_the_number_of_executions() {
    // Two tasks of n steps: C(2n, n) executions: 12,870 for 8, 10,400,600 for 13.
    let n = if raddle_testing::long() { 13 } else { 8 };
    let mut strategy = raddle_search::build("dfs", 0).expect("known").strategy;
    let mut early = 0;
    let mut lap = |lap: raddle_engine::Lap| {
        if lap.executions == 1000 {
            early = resident();
        }
        Stop::No
    };
    let explored = explore(&mut *strategy, &Setup::default(), &mut lap, &mut |_| {}, &|| {
        let steps = move || {
            let own = AtomicUsize::new(0);
            (0..n).for_each(|_| own.store(1, SeqCst));
        };
        let other = thread::spawn(steps);
        steps();
        other.join().expect("no panic");
    })
    .expect("it can run here");
    assert_eq!(explored.ended, Ended::Covered);
    assert!(explored.counts.executions >= 12_870);
    let grown = resident().saturating_sub(early);
    assert!(grown < 1 << 20, "grew by {grown} bytes");
}
