//! The measured programs under loom.
//!
//! loom also explores weak memory, so its executions are not the executions of the other tools:
//! each does more work, and there are more of them.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use peer::{Program, Search, SearchKind};

/// The programs with loom's threads and primitives.
mod programs {
    peer::programs!(loom);
}

fn main() -> ExitCode {
    peer::main("loom", search)
}

fn search(Search { program, kind, limit }: Search) -> Result<u64, String> {
    if kind == SearchKind::Random {
        return Err("loom has no random search: ask for dfs, dfs-first or exhaust".to_owned());
    }
    if let Program::Empty(threads) = program
        && threads as usize >= loom::MAX_THREADS
    {
        return Err(format!(
            "loom allows {} threads, the main thread among them",
            loom::MAX_THREADS
        ));
    }
    let made = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&made);
    // Without `loom::model` no subscriber for tracing is installed, which makes loom faster.
    builder(program, limit).check(move || {
        // loom runs its executions one after another on this thread.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        programs::run(program);
    });
    Ok(made.load(Ordering::Relaxed))
}

fn builder(program: Program, limit: u64) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    // loom stops before execution `max_permutations`, and looks only every so many executions.
    builder.max_permutations = Some(limit as usize + 1);
    builder.checkpoint_interval = limit as usize + 1;
    if program == Program::Long {
        // The default of 1,000 is less than the program's 2,000 ops.
        builder.max_branches = 10_000;
    }
    builder
}
