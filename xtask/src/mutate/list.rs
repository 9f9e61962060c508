//! What is broken: one thing for each way in which a reduction can go wrong that is known to us.

use super::Mutation;

const DEPENDENCE: &str = "crates/raddle-engine/src/dependence.rs";
const HAPPENS: &str = "crates/raddle-engine/src/happens.rs";
const WORLD: &str = "crates/raddle-actors/src/world/store.rs";
const OBSERVERS: &str = "crates/raddle-actors/src/world/observers.rs";
const COST: &str = "crates/raddle-search/src/memoryless/cost.rs";
const UNITS: &str = "crates/raddle-search/src/memoryless/races.rs";
const RACES: &str = "crates/raddle-search/src/races.rs";
const REDUCED: &str = "crates/raddle-search/src/expansion/reduced.rs";
const SLEEP: &str = "crates/raddle-search/src/sleep.rs";
const OPENING: &str = "crates/raddle-search/src/expansion/reduced/opening.rs";
const WAKEUP: &str = "crates/raddle-search/src/wakeup.rs";

/// The look at the table of what conflicts. The rule that the table is made of is evaluated by the compiler, where no mutation can
/// be chosen.
const PAIRS: &str = "CONFLICTS[a.index()] >> b.index() & 1 != 0";

/// The beginning of what cannot have come in another order.
const REVERSIBLE: &str = "!matches!(\n        (first, second),";

/// Takes pairs of accesses for independent, besides those of the list.
macro_rules! pairs {
    ($pairs:literal) => {
        concat!("{ use Access::*; ($OLD) && !($ON && matches!((a, b), ", $pairs, ")) }")
    };
}

/// All mutations.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "write-write",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Access::Write, Access::Write)"),
        what: "Two writes are independent.",
    },
    Mutation {
        name: "read-write",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Read, Access::Write) | (Access::Write, Read)"),
        what: "A read and a write are independent.",
    },
    Mutation {
        name: "missed-write",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(FailedUpdate, Access::Write) | (Access::Write, FailedUpdate)"),
        what: "A compare-exchange that fails and a write are independent.",
    },
    Mutation {
        name: "acquire-acquire",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Access::Acquire, Access::Acquire)"),
        what: "Two tasks that take a lock are independent.",
    },
    Mutation {
        name: "release-refused",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Access::Release, Refused) | (Refused, Access::Release)"),
        what: "The release of a lock and an attempt at it that is refused are independent.",
    },
    Mutation {
        name: "unshare-refused",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Unshare, Refused) | (Refused, Unshare)"),
        what: "The end of a share and an attempt at the lock that is refused are independent.",
    },
    Mutation {
        name: "acquire-refused",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Access::Acquire, Refused) | (Refused, Access::Acquire)"),
        what: "A task that takes a lock and an attempt that is refused are independent.",
    },
    Mutation {
        name: "release-try",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Access::Release, Access::TryAcquire)"),
        what: "The release of a lock and an attempt at it that succeeds are independent.",
    },
    Mutation {
        name: "acquire-share",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Access::Acquire, Share) | (Share, Access::Acquire)"),
        what: "A task that takes a lock for itself and one that shares it are independent.",
    },
    Mutation {
        name: "append-append",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Append, Append)"),
        what: "Two sends to one channel are independent.",
    },
    Mutation {
        name: "append-try-take",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Append | BoundedPush(_), TryTake) | (TryTake, Append | BoundedPush(_))"),
        what: "A send and a `try_recv` that finds something are independent.",
    },
    Mutation {
        name: "try-fit-take",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(TryBoundedPush(_), Take) | (Take, TryBoundedPush(_))"),
        what: "A `try_send` that finds room and a receive are independent.",
    },
    Mutation {
        name: "lower-lower",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Lower, Lower)"),
        what: "Two drops of handles are independent, also if one is the last.",
    },
    Mutation {
        name: "raise-lower",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(TryRaise, Lower) | (Lower, TryRaise)"),
        what: "An upgrade that succeeds and a drop are independent.",
    },
    Mutation {
        name: "adjust-read",
        file: DEPENDENCE,
        old: PAIRS,
        new: pairs!("(Adjust, Read) | (Read, Adjust)"),
        what: "A clone and a look at the count are independent.",
    },
    Mutation {
        name: "release-reversible",
        file: DEPENDENCE,
        old: REVERSIBLE,
        new: "if $ON && matches!((first, second), (Access::Release, Access::Acquire)) {\n        return true;\n    }\n    $OLD",
        what: "A task that waits for a lock could have had it before it was given back.",
    },
    Mutation {
        name: "acquire-irreversible",
        file: DEPENDENCE,
        old: REVERSIBLE,
        new: "if $ON && matches!((first, second), (Access::Acquire, Access::Acquire)) {\n        return false;\n    }\n    $OLD",
        what: "Of two tasks that take a lock the second could not have come first.",
    },
    Mutation {
        name: "read-dominates",
        file: DEPENDENCE,
        old: "// They conflict with every access but those that conflict with nothing, or only with one task.",
        new: "Access::Read if $ON => true,\n        $OLD",
        what: "What comes after a read is not compared with what came before it.",
    },
    Mutation {
        name: "observe-ignored",
        file: DEPENDENCE,
        old: "        sees(other.task) || other.partner.is_some_and(sees) || other.ran_on.contains(task)",
        new: "if $ON {\n            return false;\n        }\n$OLD",
        what: "A look at whether a task is finished wakes no task, nor do that task's steps.",
    },
    Mutation {
        name: "no-spawn-edge",
        file: HAPPENS,
        old: "let birth = || self.born.map_or(NONE, |(last, _)| last);",
        new: "let birth = || if $ON { NONE } else { self.born.map_or(NONE, |(last, _)| last) };",
        what: "What a task does is not after what came before its spawn.",
    },
    Mutation {
        name: "no-wake-edge",
        file: HAPPENS,
        old: "return (joined, self.rouser(step.enabled_since).unwrap_or(NONE));",
        new: "return (joined, if $ON { NONE } else { self.rouser(step.enabled_since).unwrap_or(NONE) });",
        what: "A task that was woken is not after the step that woke it.",
    },
    Mutation {
        name: "no-send-edge",
        file: HAPPENS,
        old: "by(&self.appended, Some(at))",
        new: "by(if $ON { &[] } else { &self.appended[..] }, Some(at))",
        what: "What is received is not after what was sent.",
    },
    Mutation {
        name: "no-timer-edge",
        file: HAPPENS,
        old: "self.lanes[partner.index()].fired.push(index);",
        new: "if !$ON {\n                $OLD\n            }",
        what: "What a task does after a timeout is not after its timer.",
    },
    Mutation {
        name: "no-look-edge",
        file: HAPPENS,
        old: "self.lanes[lane.index()].looks.push(index);",
        new: "if !$ON {\n                    $OLD\n                }",
        what: "What a task does is not after looks at whether it is finished.",
    },
    Mutation {
        name: "stuck-ignored",
        file: RACES,
        old: "for stuck in ops.stuck {",
        new: "for stuck in ops.stuck.iter().filter(|_| !$ON) {",
        what: "Ops that could not run when the execution ended race with nothing.",
    },
    Mutation {
        name: "timers-ignored",
        file: RACES,
        old: "step.timer.map(Self::Timer).or_else(op)",
        new: "if $ON { op() } else { $OLD }",
        what: "Timers that did not fire race with nothing.",
    },
    Mutation {
        name: "ended-ops-ignored",
        file: RACES,
        old: "step.timer.map(Self::Timer).or_else(op)",
        new: "if $ON { step.timer.map(Self::Timer) } else { $OLD }",
        what: "Ops that a timeout ended and that could have run instead race with nothing.",
    },
    Mutation {
        name: "sleepers-stay-asleep",
        file: SLEEP,
        old: "let wakes = sleeper.dependent(step);",
        new: "let wakes = !$ON && sleeper.dependent(step);",
        what: "No step wakes a task that sleeps.",
    },
    Mutation {
        name: "initials-not-asleep",
        file: OPENING,
        old: "if node.sleep.iter().any(|sleeper| initials.contains(&sleeper.task)) {",
        new: "if !$ON && node.sleep.iter().any(|sleeper| initials.contains(&sleeper.task)) {",
        what: "A sequence is tried although a task that sleeps could begin it.",
    },
    Mutation {
        name: "races-once",
        file: RACES,
        old: "if seen.is_some_and(|&seen| seen >= event.nth) {",
        new: "if $ON || seen.is_some_and(|&seen| seen >= event.nth) {",
        what: "Races of the repeated part are not visited again by the optimal reduction.",
    },
    Mutation {
        name: "varying-once",
        file: RACES,
        old: "let again = self.known.is_none()",
        new: "let again = !$ON && self.known.is_none()",
        what: "Races of steps that may depend on more elsewhere are not visited again by source sets.",
    },
    Mutation {
        name: "stuck-in-order",
        file: UNITS,
        old: "earlier.filter(|other| run.history.before(**other, event))",
        new: "earlier.filter(|other| $ON || run.history.before(**other, event))",
        what: "Of the events that an op could come after, it comes after the first ones only.",
    },
    Mutation {
        name: "holder-ignored",
        file: RACES,
        old: "if other < first || history.happens_before_op(other) {",
        new: "if $ON || other < first || history.happens_before_op(other) {",
        what: "A sequence in which a lock is held when it is wanted is given up, not mended.",
    },
    Mutation {
        name: "anything-begins",
        file: WAKEUP,
        old: "return if free { Fit::Begins(Some(place)) } else { Fit::No };",
        new: "return if free || $ON && place > 0 { Fit::Begins(Some(place)) } else { Fit::No };",
        what: "A branch of a wakeup tree is taken for one that begins a sequence if it merely occurs there.",
    },
    Mutation {
        name: "actors-listed-values",
        file: WAKEUP,
        old: "if branch.ways.iter().all(|way| way.values.is_some()) {",
        new: "if !$ON && branch.ways.iter().all(|way| way.values.is_some()) {",
        what: "Where anything may come after a sequence, only the values of longer sequences are tried.",
    },
    Mutation {
        name: "actors-value-behind",
        file: RACES,
        old: "if later.ran && step.decided.touches_others {",
        new: "if !$ON && later.ran && step.decided.touches_others {",
        what: "A step comes in its sequence behind what it would depend on with another value.",
    },
    Mutation {
        name: "bound-unpark",
        file: UNITS,
        old: "            Access::Release => waits == Waits::Lock,\n            Access::Read\n            | Access::Acquire",
        new: "            Access::Release => $ON || waits == Waits::Lock,\n            Access::Read\n            | Access::Acquire",
        what: "To unpark a task is taken for the same wherever it comes.",
    },
    Mutation {
        name: "bound-strict",
        file: COST,
        old: "} else if cost < k {",
        new: "} else if cost + u32::from($ON) < k {",
        what: "What costs just as much as the bound allows is left out.",
    },
    Mutation {
        name: "bound-held",
        file: COST,
        old: "counted && self.held(object, cut) == 0,",
        new: "counted && ($ON || self.held(object, cut) == 0),",
        what: "To leave a task that waits for a lock is taken for a preemption.",
    },
    Mutation {
        name: "actors-woken-early",
        file: OPENING,
        old: "self.reversal.leave_out_sleepers(history, later.step.as_ref(), slept);",
        new: "if !$ON {\n            $OLD\n        }",
        what: "A step that was woken too early covers what begins with the step after it.",
    },
    Mutation {
        name: "actors-mailbox",
        file: WORLD,
        old: "self.turn.shared_resources |= self.touched_mailbox(to);",
        new: "if !$ON {\n            $OLD\n        }",
        what: "Two handlers that send to one queue are independent.",
    },
    Mutation {
        name: "actors-sent",
        file: HAPPENS,
        old: "enabler = sent.unwrap_or(enabler);",
        new: "if !$ON {\n            $OLD\n        }",
        what: "A message is not handled after the step that sent it.",
    },
    Mutation {
        name: "actors-besides",
        file: DEPENDENCE,
        old: "|| self.shared_resources & other.shared_resources != 0",
        new: "|| !$ON && self.shared_resources & other.shared_resources != 0",
        what: "What steps touch besides their objects does not wake those who sleep.",
    },
    Mutation {
        name: "actors-faults",
        file: WORLD,
        old: "if self.faults.of_messages().include(fault)",
        new: "if !$ON && self.faults.of_messages().include(fault)",
        what: "A fault of which nothing is left is not told as one that did not happen.",
    },
    Mutation {
        name: "actors-values",
        file: DEPENDENCE,
        old: "if self.decided.touches_others {",
        new: "if !$ON && self.decided.touches_others {",
        what: "A step that sleeps touches only what it touched with the values that were tried.",
    },
    Mutation {
        name: "idle-waiting",
        file: RACES,
        old: "            Some(if step.last_resort {",
        new: "            if step.last_resort && $ON {\n                return None;\n            }\n$OLD",
        what: "What was waited for until nothing else could move has no races.",
    },
    Mutation {
        name: "idle-order",
        file: REDUCED,
        old: "point.running.is_none() && point.pending.idle()",
        new: "($OLD) && !$ON",
        what: "Of timers that are due at the same time the first one fires first.",
    },
    Mutation {
        name: "actors-census",
        file: OBSERVERS,
        old: "if self.crashes { CENSUS } else { 0 }",
        new: "if self.crashes && !$ON { CENSUS } else { 0 }",
        what: "A crash does not depend on how many actors there are.",
    },
    Mutation {
        name: "actors-cancel",
        file: WORLD,
        old: "            self.turn.shared_resources |= self.actors[of.index()].things.own;",
        new: "if !$ON {\n                $OLD\n            }",
        what: "To cancel a timer and its firing are independent.",
    },
];
