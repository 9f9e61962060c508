//! `cargo xtask crates --mutants`: mistakes in real crates, and which tool's run of the crate's own tests shows them.
//!
//! Each mutant is one change of a line: an ordering that is weaker, a wake-up that is left out, two lines in the other order.
//! They were chosen by reading the crates, before either tool had run on one of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::record::{Ended, Made};
use super::{Subject, Tool, build, fetch, lay_out, list, run};
use crate::write_file;

/// The file of what is kept of them, beside those of the crates.
pub(super) const KEPT: &str = "mutants.json";

/// One change of one crate.
#[derive(Clone, Copy, Debug)]
struct Mutant {
    subject: &'static str,
    file: &'static str,
    /// What is changed: where this text stands for the n-th time, counted from 0.
    find: &'static str,
    nth: usize,
    /// What stands there instead.
    put: &'static str,
    /// Only tests whose names contain this are run.
    tests: &'static str,
    what: &'static str,
}

const fn mutant(
    (subject, tests): (&'static str, &'static str),
    (file, find, nth): (&'static str, &'static str, usize),
    put: &'static str,
    what: &'static str,
) -> Mutant {
    Mutant { subject, file, find, nth, put, tests, what }
}

const PARK: &str = "src/lib.rs";
const BOUNDED: &str = "src/bounded.rs";
const SENDER: &str = "src/sender.rs";
const SLOT: &str = "src/page/slot.rs";

static MUTANTS: [Mutant; 22] = [
    mutant(
        ("parking", ""),
        (PARK, "drop(self.lock.lock().unwrap());", 0),
        "",
        "`unpark` notifies without having had the lock",
    ),
    mutant(("parking", ""), (PARK, "self.cvar.notify_one();", 0), "", "`unpark` does not notify"),
    mutant(
        ("parking", ""),
        (PARK, "drop(self.lock.lock().unwrap());\n        self.cvar.notify_one();", 0),
        "self.cvar.notify_one();\n        drop(self.lock.lock().unwrap());",
        "`unpark` notifies and then takes the lock",
    ),
    mutant(
        ("concurrent-queue", ""),
        (BOUNDED, "slot.stamp.store(tail + 1, Ordering::Release);", 1),
        "slot.stamp.store(tail + 1, Ordering::Relaxed);",
        "push: stamp Release → Relaxed",
    ),
    mutant(
        ("concurrent-queue", ""),
        (BOUNDED, "slot.stamp.load(Ordering::Acquire);", 1),
        "slot.stamp.load(Ordering::Relaxed);",
        "pop: stamp Acquire → Relaxed",
    ),
    mutant(
        ("concurrent-queue", ""),
        (BOUNDED, ".store(head.wrapping_add(self.one_lap), Ordering::Release);", 0),
        ".store(head.wrapping_add(self.one_lap), Ordering::Relaxed);",
        "pop: stamp Release → Relaxed",
    ),
    mutant(
        ("oneshot", ""),
        (SENDER, "channel.state().fetch_add(1, AcqRel)", 0),
        "channel.state().fetch_add(1, std::sync::atomic::Ordering::Relaxed)",
        "send: AcqRel → Relaxed",
    ),
    mutant(
        ("oneshot", ""),
        (SENDER, "channel.state().swap(MESSAGE, AcqRel);", 0),
        "channel.state().swap(MESSAGE, std::sync::atomic::Ordering::Relaxed);",
        "send to one that waits: AcqRel → Relaxed",
    ),
    mutant(
        ("oneshot", ""),
        (SENDER, "channel.state().fetch_xor(0b001, AcqRel)", 0),
        "channel.state().fetch_xor(0b001, std::sync::atomic::Ordering::Relaxed)",
        "drop of a sender: AcqRel → Relaxed",
    ),
    mutant(
        ("diatomic-waker", "loom"),
        ("src/waker.rs", "self.state.fetch_or(UPDATE | REGISTERED, Ordering::AcqRel);", 0),
        "self.state.fetch_or(UPDATE | REGISTERED, Ordering::Relaxed);",
        "register: AcqRel → Relaxed",
    ),
    mutant(
        ("diatomic-waker", "loom"),
        ("src/waker.rs", "Ordering::AcqRel,\n                Ordering::Relaxed,", 0),
        "Ordering::Relaxed,\n                Ordering::Relaxed,",
        "taking the lock: AcqRel → Relaxed",
    ),
    mutant(
        ("async-event", "loom"),
        ("src/lib.rs", ".store(false, Ordering::Release);", 0),
        ".store(false, Ordering::Relaxed);",
        "leaving the wait set: Release → Relaxed",
    ),
    mutant(
        ("sharded-slab", ""),
        (
            SLOT,
            "new_refs.pack(lifecycle),\n                Ordering::AcqRel,\n                Ordering::Acquire,",
            0,
        ),
        "new_refs.pack(lifecycle),\n                Ordering::Relaxed,\n                Ordering::Relaxed,",
        "get: AcqRel → Relaxed",
    ),
    mutant(
        ("sharded-slab", ""),
        (
            "src/page/stack.rs",
            "before(next);\n\n            match self\n                .head\n                .compare_exchange(next, new_head, Ordering::Release, Ordering::Relaxed)",
            0,
        ),
        "match self\n                .head\n                .compare_exchange({ let n = next; n }, new_head, Ordering::Release, Ordering::Relaxed).inspect(|_| before(next))",
        "free list: the link is set after the head",
    ),
    mutant(
        ("thingbuf", ""),
        ("src/lib.rs", "test_dbg!(self.slot.state.store(test_dbg!(self.new_state), Release));", 0),
        "test_dbg!(self.slot.state.store(test_dbg!(self.new_state), Ordering::Relaxed));",
        "end of a write: Release → Relaxed",
    ),
    mutant(
        ("thingbuf", ""),
        (
            "src/wait/cell.rs",
            "test_dbg!(self.compare_exchange(State::WAITING, State::PARKING, Acquire))",
            0,
        ),
        "test_dbg!(self.compare_exchange(State::WAITING, State::PARKING, Ordering::Relaxed))",
        "wait cell, before the waker is written: Acquire → Relaxed",
    ),
    mutant(
        ("st3", ""),
        ("src/fifo.rs", "self.queue.tail.store(tail.wrapping_add(1), Release);", 0),
        "self.queue.tail.store(tail.wrapping_add(1), Relaxed);",
        "push: tail Release → Relaxed",
    ),
    mutant(
        ("st3", ""),
        ("src/lifo.rs", ".store(push_count.wrapping_add(1), Release);", 0),
        ".store(push_count.wrapping_add(1), Relaxed);",
        "push: count Release → Relaxed",
    ),
    mutant(
        ("tokio", "sync::tests::loom_oneshot"),
        ("src/sync/oneshot.rs", "Ordering::AcqRel,\n                Ordering::Acquire,", 0),
        "Ordering::Relaxed,\n                Ordering::Relaxed,",
        "oneshot, value sent: AcqRel → Relaxed",
    ),
    mutant(
        ("tokio", "sync::tests::loom_mpsc"),
        ("src/sync/mpsc/chan.rs", "            // second time here.\n            try_recv!();", 0),
        "",
        "mpsc: no second look after the waker is registered",
    ),
    mutant(
        ("tokio", "multi_thread::queue"),
        (
            "src/runtime/scheduler/multi_thread/queue.rs",
            "self.inner.tail.store(tail.wrapping_add(1), Release);",
            0,
        ),
        "self.inner.tail.store(tail.wrapping_add(1), Relaxed);",
        "run queue, push: Release → Relaxed",
    ),
    mutant(
        ("tokio", "loom_join"),
        ("src/runtime/park.rs", "drop(self.mutex.lock());", 0),
        "",
        "`unpark` notifies without having had the lock",
    ),
];

/// Which tests of a mutant failed first, or why none did.
struct Shown {
    text: String,
    is_found: bool,
}

/// Runs the mutants of these crates under both tools, keeps what came out and returns the page of everything that is kept.
///
/// # Errors
/// If a crate cannot be fetched, or what is kept cannot be read or written.
pub fn page(
    root: &Path,
    subjects: &[Subject],
    limit: u32,
    progress: &dyn Fn(&str),
) -> Result<String, String> {
    let work = root.join("target/crates");
    progress("fetching");
    let sources = fetch(&work, subjects)?;
    let file = root.join("docs/results/crates").join(KEPT);
    let mut kept = read(&file)?;
    for one in &MUTANTS {
        let Some((subject, source)) =
            subjects.iter().zip(&sources).find(|(subject, _)| subject.name == one.subject)
        else {
            continue;
        };
        progress(&format!("{}: {}", one.subject, one.what));
        let (commit, date) = super::record::now(root)?;
        let mut row = json!({ "limit": limit, "commit": commit, "date": date });
        for tool in [Tool::Loom, Tool::Raddle] {
            let shown = shown(root, &work, (subject, source), one, tool, limit);
            let shown = shown.unwrap_or_else(|why| {
                progress(&why);
                let why = why.lines().next().unwrap_or_default().to_owned();
                Shown { text: format!("not run: {why}"), is_found: false }
            });
            progress(&format!("  {}: {}", tool.name(), shown.text));
            row[tool.name()] = json!({ "text": shown.text, "found": shown.is_found });
        }
        kept[key(one)] = row;
        let text = serde_json::to_string_pretty(&kept).map_err(|error| error.to_string())?;
        write_file(&file, (text + "\n").as_bytes())?;
    }
    Ok(written(&kept))
}

/// The page of what is kept.
///
/// # Errors
/// If that cannot be read.
pub fn page_of_kept(root: &Path) -> Result<String, String> {
    Ok(written(&read(&root.join("docs/results/crates").join(KEPT))?))
}

fn key(mutant: &Mutant) -> String {
    format!("{}: {}", mutant.subject, mutant.what)
}

fn read(file: &Path) -> Result<Value, String> {
    match fs::read_to_string(file) {
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
        }
        Err(_) => Ok(json!({})),
    }
}

/// Why raddle does not show a mutant that loom shows: found by hand, printed only where it is so.
const MISSES: [(&str, &str); 0] = [];

fn written(kept: &Value) -> String {
    let mut rows = String::new();
    let mut misses = String::new();
    let (mut found, mut n) = ([0, 0], 0);
    for one in &MUTANTS {
        let row = &kept[key(one)];
        if row.is_null() {
            let _ =
                writeln!(rows, "| {} | {} | not run yet | not run yet | |", one.subject, one.what);
            continue;
        }
        n += 1;
        let is_found = [Tool::Loom, Tool::Raddle].map(|tool| row[tool.name()]["found"] == true);
        for (found, is_found) in found.iter_mut().zip(is_found) {
            *found += usize::from(is_found);
        }
        if is_found == [true, false] {
            let why = MISSES.iter().find(|(of, _)| *of == key(one));
            let why = why.map_or("no reason is known", |(_, why)| why);
            let _ = writeln!(misses, "- {}: {why}.", key(one));
        }
        let text = |name: &str| row[name]["text"].as_str().unwrap_or_default().to_owned();
        let plain = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let _ = writeln!(
            rows,
            "| {} | {} | {} | {} | {} s, {}, {} |",
            one.subject,
            one.what,
            text("loom"),
            text("raddle"),
            row["limit"],
            plain("commit"),
            plain("date")
        );
    }
    let misses = if misses.is_empty() {
        String::new()
    } else {
        format!("What loom shows and raddle does not:\n\n{misses}\n")
    };
    format!(
        "# Mistakes in real crates, and whose run of their own tests shows them\n\n\
         `cargo xtask crates --mutants`: one change each, chosen by reading the crate before either tool had run on it; the crate's own \
         tests for loom, unchanged, each with a limit of CPU time, until one fails. loom 0.7 or 0.5, and raddle through `raddle-loom`.\n\n\
         Of {n} mutants loom shows {} and raddle {}. raddle's memory is sequentially consistent: an ordering that is too weak shows where it \
         makes a data race of a tracked cell, and not where only an old value of an atomic would show it. A mutant that neither shows may \
         be out of reach of these tests, or no mistake at all. shuttle is not compared: its API is another one, and these tests are \
         written for loom's.\n\n{misses}\
         | crate | change | loom | raddle | limit, commit, date |\n|---|---|---|---|---|\n{rows}",
        found[0], found[1]
    )
}

fn shown(
    root: &Path,
    work: &Path,
    (subject, source): (&Subject, &Path),
    mutant: &Mutant,
    tool: Tool,
    limit: u32,
) -> Result<Shown, String> {
    // Not where the unchanged crate is: that would be taken for built.
    let copy = work.join(format!("{}-{}-mutant", subject.name, tool.name()));
    lay_out(root, source, &copy, subject, tool)?;
    // The copy may have the change of another mutant.
    let whole = |from: &Path, file: &str| {
        fs::read_to_string(from.join(file)).map_err(|error| format!("{file}: {error}"))
    };
    for other in MUTANTS.iter().filter(|other| other.subject == mutant.subject) {
        let text = whole(source, other.file)?;
        if whole(&copy, other.file)? != text {
            write_file(&copy.join(other.file), text.as_bytes())?;
        }
    }
    let text = whole(source, mutant.file)?;
    write_file(&copy.join(mutant.file), changed(&text, mutant)?.as_bytes())?;
    let binary = build(work, &copy, subject, tool)?;
    let made = Made { limit: u64::from(limit), commit: String::new(), date: String::new() };
    let (mut covered, mut stopped) = (0, 0);
    for test in list(&binary, subject)?.iter().filter(|test| test.contains(mutant.tests)) {
        let (run, _) = run(&binary, test, subject, tool, &made)?;
        match run.ended {
            Ended::Failed => {
                let text = format!("**found** by `{test}`, {:.2} s", run.seconds);
                return Ok(Shown { text, is_found: true });
            }
            Ended::Passed => covered += 1,
            Ended::Stopped | Ended::Hung => stopped += 1,
        }
    }
    let text = format!("not found: {covered} tests passed, {stopped} stopped");
    Ok(Shown { text, is_found: false })
}

/// The text of a file with the change.
fn changed(text: &str, mutant: &Mutant) -> Result<String, String> {
    let Some((at, _)) = text.match_indices(mutant.find).nth(mutant.nth) else {
        return Err(format!("{}: `{}` is not there any more", mutant.file, mutant.find));
    };
    Ok(format!("{}{}{}", &text[..at], mutant.put, &text[at + mutant.find.len()..]))
}

#[cfg(test)]
mod tests {
    use super::super::SUBJECTS;
    use super::{MUTANTS, changed, mutant};

    #[test]
    fn a_change_is_of_the_place_that_is_meant() {
        let one = mutant(("a", ""), ("f", "x", 1), "y", "");
        assert_eq!(changed("x x x", &one).as_deref(), Ok("x y x"));
        assert!(changed("x", &one).is_err());
    }

    #[test]
    fn every_mutant_is_of_a_crate_that_is_measured() {
        for one in &MUTANTS {
            assert!(SUBJECTS.iter().any(|subject| subject.name == one.subject), "{one:?}");
        }
    }
}
