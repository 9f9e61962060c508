//! What is known of objects after each step: the value of an atomic, who has a lock, who waits.
//!
//! It is read from the texts of the steps, which say what an op was given and what it found. An object has
//! no state before the first step that tells it, and objects of kinds that are not listed here never have one.
//!
//! Misses: what cannot be told from the text. An atomic pointer is `ptr` or `null`, and a thread that waits at a
//! condition variable while it has several locks gives back one that is not named, so what it has is then
//! not known until it locks or unlocks.

use std::collections::BTreeMap;

use raddle_trace::{Event, Trace};

use crate::columns::clean;
use crate::shown_at::UNLOCK;
use crate::waits::verb_and_rest;

/// From a step on an object is in this state; not known if that is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) step: u32,
    pub(super) object: u32,
    pub(super) state: String,
}

/// All changes of states, in the order of the steps.
pub(super) fn changes(trace: &Trace) -> Vec<Change> {
    let mut fold = Fold {
        trace,
        names: (0..trace.tasks.len() as u32).map(|task| clean(&trace.task_label(task))).collect(),
        locks: BTreeMap::new(),
        waiting: BTreeMap::new(),
        queued: BTreeMap::new(),
        changes: Vec::new(),
    };
    for (step, event) in (0..).zip(&trace.events) {
        fold.step(step, event);
    }
    fold.changes
}

/// Who has a lock.
#[derive(Clone, Debug, Default)]
struct Lock {
    writer: Option<u32>,
    readers: Vec<u32>,
    unknown: bool,
}

struct Fold<'a> {
    trace: &'a Trace,
    names: Vec<String>,
    locks: BTreeMap<u32, Lock>,
    /// Tasks that wait at condition variables: where, and the lock that they gave back, if it is known.
    waiting: BTreeMap<u32, (u32, Option<u32>)>,
    /// Messages in a channel.
    queued: BTreeMap<u32, u64>,
    changes: Vec<Change>,
}

impl Fold<'_> {
    fn step(&mut self, step: u32, event: &Event) {
        if event.op.starts_with("timeout of") {
            // The task of a timer belongs to the one that waits.
            if let Some(timer) = self.trace.tasks.get(event.task as usize) {
                self.leaves(step, timer.parent);
            }
            return;
        }
        let Some(object) = event.object else { return };
        let Some(kind) = self.trace.objects.get(object as usize).map(|object| &object.kind) else {
            return;
        };
        match kind.as_str() {
            "Mutex" | "RwLock" => self.locked(step, object, event),
            "Condvar" => self.waited(step, object, event),
            "channel" => self.sent(step, object, event),
            "clock" => {
                if let Some((_, now)) = event.op.split_once("now -> ") {
                    self.set(step, object, now);
                }
            }
            atomic => {
                if let Some(bits) = atomic.strip_prefix("Atomic")
                    && let Some(value) = value_after(bits, &event.op)
                {
                    self.set(step, object, &value);
                }
            }
        }
    }

    fn set(&mut self, step: u32, object: u32, state: &str) {
        self.changes.push(Change { step, object, state: clean(state) });
    }

    fn named(&self, tasks: &[u32]) -> String {
        let name = |&task: &u32| self.names.get(task as usize).map_or("?", String::as_str);
        tasks.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    fn locked(&mut self, step: u32, object: u32, event: &Event) {
        let lock = self.locks.entry(object).or_default();
        let (verb, rest) = verb_and_rest(&event.op);
        let taken = rest.is_empty() || rest == " -> Ok";
        let task = event.task;
        match verb {
            "lock" | "try_lock" | "write" | "try_write" if taken => {
                *lock = Lock { writer: Some(task), ..Lock::default() };
            }
            "read" | "try_read" if taken => {
                (lock.writer, lock.unknown) = (None, false);
                lock.readers.push(task);
            }
            "downgrade" => {
                let readers = lock.writer.take().into_iter().collect();
                *lock = Lock { readers, ..Lock::default() };
            }
            UNLOCK => match lock.readers.iter().position(|&reader| reader == task) {
                Some(at) => drop(lock.readers.remove(at)),
                None => *lock = Lock::default(),
            },
            _ => return,
        }
        self.say_lock(step, object);
    }

    fn say_lock(&mut self, step: u32, object: u32) {
        let Some(lock) = self.locks.get(&object) else { return };
        let state = match lock {
            Lock { unknown: true, .. } => String::new(),
            Lock { writer: Some(task), .. } => format!("held by {}", self.named(&[*task])),
            Lock { readers, .. } if readers.is_empty() => "free".to_owned(),
            Lock { readers, .. } => format!("read by {}", self.named(readers)),
        };
        self.set(step, object, &state);
    }

    fn waited(&mut self, step: u32, object: u32, event: &Event) {
        let task = event.task;
        match event.op.as_str() {
            "wait" => {
                let has = |(_, lock): &(&u32, &Lock)| lock.writer == Some(task) && !lock.unknown;
                let held: Vec<u32> = self.locks.iter().filter(has).map(|(&lock, _)| lock).collect();
                let given_back = if let [lock] = held[..] { Some(lock) } else { None };
                for lock in held {
                    let unknown = given_back.is_none();
                    self.locks.insert(lock, Lock { unknown, ..Lock::default() });
                    self.say_lock(step, lock);
                }
                self.waiting.insert(task, (object, given_back));
                self.say_waiting(step, object);
            }
            "wake" => {
                if let Some(lock) = self.leaves(step, task) {
                    self.locks.insert(lock, Lock { writer: Some(task), ..Lock::default() });
                    self.say_lock(step, lock);
                }
            }
            _ => {}
        }
    }

    /// A task waits no longer. Returns the lock that it gave back.
    fn leaves(&mut self, step: u32, task: u32) -> Option<u32> {
        let (object, lock) = self.waiting.remove(&task)?;
        self.say_waiting(step, object);
        lock
    }

    fn say_waiting(&mut self, step: u32, object: u32) {
        let here = |(_, (at, _)): &(&u32, &(u32, Option<u32>))| *at == object;
        let tasks: Vec<u32> = self.waiting.iter().filter(here).map(|(&task, _)| task).collect();
        let state = match tasks.len() {
            0 => "nobody waits".to_owned(),
            1 => format!("{} waits", self.named(&tasks)),
            _ => format!("{} wait", self.named(&tasks)),
        };
        self.set(step, object, &state);
    }

    fn sent(&mut self, step: u32, object: u32, event: &Event) {
        let queued = self.queued.entry(object).or_default();
        match event.op.as_str() {
            "send -> Ok" | "try_send -> Ok" => *queued += 1,
            "recv -> Ok" | "try_recv -> Ok" => *queued = queued.saturating_sub(1),
            "recv -> Empty" | "try_recv -> Empty" => *queued = 0,
            _ => return,
        }
        let state = match *queued {
            0 => "empty".to_owned(),
            1 => "1 message".to_owned(),
            n => format!("{n} messages"),
        };
        self.set(step, object, &state);
    }
}

/// What an atomic holds after an op; `kind` is its name without `Atomic`. Empty if that cannot be told, none if
/// the op says nothing of it.
fn value_after(kind: &str, op: &str) -> Option<String> {
    let (verb, rest) = verb_and_rest(op);
    let (given, found) = match rest.split_once(" -> ") {
        Some((given, found)) => (given, Some(found)),
        None => (rest, None),
    };
    let given = given.strip_prefix('(').and_then(|given| given.strip_suffix(')')).unwrap_or("");
    match (verb, found) {
        ("load", Some(found)) => Some(found.to_owned()),
        ("store" | "swap", _) => Some(given.to_owned()),
        ("compare_exchange" | "compare_exchange_weak", Some(found)) => {
            let inside = |text: &str| text.strip_suffix(')').map(str::to_owned);
            match found.strip_prefix("Err(") {
                Some(kept) => inside(kept),
                None => given.split_once(", ").map(|(_, new)| new.to_owned()),
            }
        }
        (_, Some(before)) if verb.starts_with("fetch_") => {
            Some(updated(kind, verb, before, given).unwrap_or_default())
        }
        _ => None,
    }
}

/// What `fetch_add` and the like leave; none if the numbers do not say.
fn updated(kind: &str, verb: &str, before: &str, given: &str) -> Option<String> {
    if kind == "Bool" {
        let (a, b): (bool, bool) = (before.parse().ok()?, given.parse().ok()?);
        let after = match verb {
            "fetch_and" => a & b,
            "fetch_or" => a | b,
            "fetch_xor" => a ^ b,
            "fetch_nand" => !(a & b),
            _ => return None,
        };
        return Some(after.to_string());
    }
    let (signed, bits) = (kind.starts_with('I'), kind.trim_start_matches(['I', 'U']));
    // How wide `size` is depends on the machine that ran it.
    let bits: Option<u32> = if bits == "size" { None } else { Some(bits.parse().ok()?) };
    let (a, b): (i128, i128) = (before.parse().ok()?, given.parse().ok()?);
    let after = match verb {
        "fetch_add" => a + b,
        "fetch_sub" => a - b,
        "fetch_and" => a & b,
        "fetch_or" => a | b,
        "fetch_xor" => a ^ b,
        "fetch_nand" => !(a & b),
        "fetch_max" => a.max(b),
        "fetch_min" => a.min(b),
        _ => return None,
    };
    let width = bits.unwrap_or(32);
    let (low, high) = match (signed, width) {
        (true, _) => (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1),
        (false, _) => (0, (1_i128 << width) - 1),
    };
    if (low..=high).contains(&after) || (bits.is_none() && (low.min(0)..1 << 62).contains(&after)) {
        return Some(after.to_string());
    }
    bits?;
    let wrapped = (after - low).rem_euclid(1 << width) + low;
    Some(wrapped.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{event, lost_update, object, threads};

    /// `step object: state`.
    fn told(trace: &Trace) -> Vec<String> {
        let say = |change: &Change| format!("{} {}: {}", change.step, change.object, change.state);
        changes(trace).iter().map(say).collect()
    }

    fn trace(kinds: &[&str], steps: &[(u32, &str, Option<u32>, u32)]) -> Trace {
        Trace {
            tasks: threads(2),
            objects: kinds.iter().map(|kind| object(kind, None, 5)).collect(),
            events: steps.iter().copied().map(event).collect(),
            ..Trace::default()
        }
    }

    #[test]
    fn an_atomic_holds_what_was_stored_or_seen_last() {
        let trace = lost_update().failure.expect("it failed").trace;
        assert_eq!(told(&trace), ["0 0: 0", "1 0: 0", "2 0: 1", "3 0: 1", "4 0: 1"]);
    }

    #[test]
    fn updates_are_computed_as_wide_as_the_atomic_is() {
        for (kind, op, expected) in [
            ("Usize", "fetch_add(1) -> 7", Some("8")),
            ("Usize", "fetch_sub(1) -> 0", Some("")),
            ("Isize", "fetch_sub(1) -> 0", Some("-1")),
            ("U8", "fetch_add(1) -> 255", Some("0")),
            ("I8", "fetch_add(1) -> 127", Some("-128")),
            ("U64", "fetch_sub(1) -> 0", Some("18446744073709551615")),
            ("U16", "fetch_nand(1) -> 1", Some("65534")),
            ("I32", "fetch_max(-3) -> -7", Some("-3")),
            ("Bool", "fetch_xor(true) -> true", Some("false")),
            ("Ptr", "fetch_or(1) -> ptr", Some("")),
            ("Usize", "swap(3) -> 1", Some("3")),
            ("Usize", "compare_exchange(0, 1) -> Ok(0)", Some("1")),
            ("Usize", "compare_exchange_weak(0, 1) -> Err(2)", Some("2")),
            ("Usize", "store(9)", Some("9")),
            ("Usize", "get_mut", None),
        ] {
            assert_eq!(value_after(kind, op).as_deref(), expected, "{kind} {op}");
        }
    }

    #[test]
    fn a_lock_is_held_read_or_free() {
        let steps = [
            (1, "lock", Some(0), 1),
            (2, "try_lock -> WouldBlock", Some(0), 2),
            (1, "unlock", Some(0), 1),
            (1, "read", Some(1), 3),
            (2, "try_read -> Ok", Some(1), 4),
            (1, "unlock", Some(1), 3),
            (2, "unlock", Some(1), 4),
            (0, "write", Some(1), 5),
            (0, "downgrade", Some(1), 6),
        ];
        let expected = [
            "0 0: held by thread 1",
            "2 0: free",
            "3 1: read by thread 1",
            "4 1: read by thread 1, thread 2",
            "5 1: read by thread 2",
            "6 1: free",
            "7 1: held by main",
            "8 1: read by main",
        ];
        assert_eq!(told(&trace(&["Mutex", "RwLock"], &steps)), expected);
    }

    #[test]
    fn who_waits_gives_its_lock_back_and_has_it_again_when_it_wakes() {
        let steps = [
            (1, "lock", Some(0), 1),
            (1, "wait", Some(1), 2),
            (2, "lock", Some(0), 3),
            (2, "notify_one", Some(1), 4),
            (2, "unlock", Some(0), 3),
            (1, "wake", Some(1), 2),
        ];
        let expected = [
            "0 0: held by thread 1",
            "1 0: free",
            "1 1: thread 1 waits",
            "2 0: held by thread 2",
            "4 0: free",
            "5 1: nobody waits",
            "5 0: held by thread 1",
        ];
        assert_eq!(told(&trace(&["Mutex", "Condvar"], &steps)), expected);
    }

    #[test]
    fn which_of_two_locks_a_wait_gives_back_is_not_guessed() {
        let steps = [(1, "lock", Some(0), 1), (1, "lock", Some(1), 2), (1, "wait", Some(2), 3)];
        let expected = [
            "0 0: held by thread 1",
            "1 1: held by thread 1",
            "2 0: ",
            "2 1: ",
            "2 2: thread 1 waits",
        ];
        assert_eq!(told(&trace(&["Mutex", "Mutex", "Condvar"], &steps)), expected);
    }

    #[test]
    fn a_channel_has_as_many_messages_as_were_sent_and_not_received() {
        let steps = [
            (1, "send -> Ok", Some(0), 1),
            (1, "try_send -> Full", Some(0), 1),
            (2, "recv -> Ok", Some(0), 2),
        ];
        assert_eq!(told(&trace(&["channel"], &steps)), ["0 0: 1 message", "2 0: empty"]);
    }
}
