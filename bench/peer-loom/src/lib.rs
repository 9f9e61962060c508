//! loom as a peer, for programs with std's `Arc` and with loom's own.
//!
//! loom also explores weak memory, so its executions are not the executions of the other tools:
//! each does more work, and there are more of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use peer::{Program, Search, SearchKind, Searched};

/// Executions between two looks at the time.
const LOOK: usize = 50;

/// Runs one search of loom over the executions of `run`.
///
/// # Errors
/// If loom has no such search, or does not allow so many threads.
pub fn search(search: Search, run: fn(Program)) -> Result<Searched, String> {
    let program = search.program;
    if search.kind != SearchKind::Dfs {
        return Err("loom has one search: ask for dfs, dfs-first or exhaust".to_owned());
    }
    if program.threads() as usize >= loom::MAX_THREADS {
        return Err(format!(
            "loom allows {} threads, the main thread among them",
            loom::MAX_THREADS
        ));
    }
    let made = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&made);
    // Without `loom::model` no subscriber for tracing is installed, which makes loom faster.
    builder(search).check(move || {
        // loom runs its executions one after another on this thread.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        run(program);
    });
    Ok(Searched::from(made.load(Ordering::Relaxed)))
}

fn builder(Search { program, limit, within, .. }: Search) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    // loom stops before execution `max_permutations`, and looks only every so many executions.
    builder.max_permutations = Some(limit as usize + 1);
    builder.checkpoint_interval = if within.is_some() { LOOK } else { limit as usize + 1 };
    builder.max_duration = within;
    if program == Program::Long {
        // The default of 1,000 is less than the program's 2,000 ops.
        builder.max_branches = 10_000;
    }
    builder
}
