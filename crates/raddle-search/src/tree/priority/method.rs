//! `method(push, steal)`: preemptions between functions with these names first. GAMBIT's.
//!
//! First the candidates in which a task is left in one of these functions for another one that stands in one
//! of them; then those of which one of the two does; then the rest. A task stands in the functions that are
//! among the innermost calls of its pending op, so also in one whose callee is about to do it. Names are
//! those of functions, or of the program's own `raddle::method!` scopes (see the engine's `context`); a part
//! of the path will do: `push`, `Deque::push`, `app::deque::Deque::push`. Where only line tables are there
//! paths are not known, and the last part decides.
//!
//! A function that was seen by its frames alone may be seen in part: an optimised build has no frame of it during a
//! call that it ends with. The report then says so, since the order of the search depends on the build.

use raddle_engine::context::{self, Context};

use super::{Candidate, Cost, Priority, Sees};

/// So many calls outwards a task stands in a function.
const DEPTH: u8 = 8;

/// How surely a name was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Never,
    /// By frames of functions.
    Frame,
    /// By a scope that the program opened: in every build the same.
    Scope,
}

impl Seen {
    /// What this call says of a name.
    fn of(call: &str, name: &str) -> Self {
        if !is_called(call, name) {
            return Self::Never;
        }
        // Functions are called by a path, which has a module or a file before the last part.
        if call == name || !call.contains("::") { Self::Scope } else { Self::Frame }
    }
}

/// Preemptions between functions with these names first.
#[derive(Clone, Debug)]
pub struct Method {
    names: Vec<String>,
    /// How far each of them was seen.
    seen: Vec<Seen>,
    /// Whether a context is in one of them, by its number.
    known: Vec<Option<bool>>,
}

impl Method {
    /// Of these names.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let seen = vec![Seen::Never; names.len()];
        Self { names, seen, known: Vec::new() }
    }

    fn stands(&mut self, context: Context) -> bool {
        let at = context.0 as usize;
        // Contexts come again and again, and their names are texts: each is compared once.
        if let Some(&Some(known)) = self.known.get(at) {
            return known;
        }
        let calls = context::names(context);
        let mut stands = false;
        for (name, seen) in self.names.iter().zip(&mut self.seen) {
            let now = calls.iter().map(|call| Seen::of(call, name)).max().unwrap_or(Seen::Never);
            *seen = now.max(*seen);
            // Not at once, so that every name that was seen is noted: `notes` reports the others.
            stands |= now != Seen::Never;
        }
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        self.known[at] = Some(stands);
        stands
    }
}

/// Whether the last parts of a path are these. Of a path of two parts, which may be a file and a function,
/// the last one alone.
fn is_called(path: &str, name: &str) -> bool {
    let mut parts = path.rsplit("::");
    if name.rsplit("::").all(|part| parts.next() == Some(part)) {
        return true;
    }
    // Of `deque::push` it is not known whether `deque` is a file or a module, so the function alone decides.
    path.matches("::").count() == 1 && path.rsplit("::").next() == name.rsplit("::").next()
}

impl Priority for Method {
    fn name(&self) -> String {
        format!("method({})", self.names.join(", "))
    }

    fn sees(&self) -> Sees {
        Sees { ops: true, contexts: DEPTH, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        let preempting = self.stands(candidate.context);
        let preempted = self.stands(candidate.instead_context);
        // Both in one of the functions, then one of the two, then none.
        Cost(2 - u32::from(preempting) - u32::from(preempted))
    }

    fn notes(&self) -> Vec<String> {
        let note = |(name, seen): (&String, &Seen)| match seen {
            Seen::Scope => None,
            Seen::Never => Some(format!(
                "method({name}): no call of this name was seen. Write the name of a function, or open a \
                 scope in it with raddle::method!(\"{name}\")"
            )),
            Seen::Frame => Some(format!(
                "method({name}): it was seen by its frames alone, which an optimised build leaves out during a call that \
                 the function ends with. With raddle::method!(\"{name}\") as its first line it is the same in every build"
            )),
        };
        self.names.iter().zip(&self.seen).filter_map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate;
    use super::*;

    #[test]
    fn both_methods_come_before_one_and_one_before_none() {
        let of = |calls: &[&str]| context::of(calls);
        let (push, other) = (of(&["lock", "app::Deque::push"]), of(&["app::other"]));
        let mut method = Method::new(vec!["push".to_owned(), "Deque::steal".to_owned()]);
        let steal = of(&["app::deque::Deque::steal"]);
        let mut cost = |context, instead_context| {
            let Cost(cost) = method.cost(&Candidate { context, instead_context, ..candidate() });
            cost
        };
        assert_eq!([cost(push, steal), cost(steal, push), cost(push, push)], [0, 0, 0]);
        assert_eq!([cost(push, other), cost(other, steal)], [1, 1]);
        assert_eq!([cost(other, other), cost(Context::NONE, Context::NONE)], [2, 2]);
        assert_eq!(method.name(), "method(push, Deque::steal)");
        let by_frames = "it was seen by its frames alone";
        let notes = method.notes();
        assert!(notes.len() == 2 && notes.iter().all(|note| note.contains(by_frames)), "{notes:?}");
        method.cost(&Candidate { context: of(&["push", "app::Deque::push"]), ..candidate() });
        assert_eq!(method.notes().len(), 1, "a scope is there in every build");
    }

    #[test]
    fn a_name_that_was_never_seen_is_told() {
        let mut method = Method::new(vec!["push".to_owned(), "stael".to_owned()]);
        let context = context::of(&["push", "app::Deque::push"]);
        method.cost(&Candidate { context, ..candidate() });
        let [note] = &method.notes()[..] else { panic!("one of two") };
        assert!(note.starts_with("method(stael): no call of this name was seen."), "{note}");
    }

    #[test]
    fn names_are_compared_by_their_last_parts() {
        for (path, name, is) in [
            ("app::deque::Deque::push", "push", true),
            ("app::deque::Deque::push", "Deque::push", true),
            ("app::deque::Deque::push", "Stack::push", false),
            ("app::deque::Deque::push_all", "push", false),
            ("deque::push", "Deque::push", true),
            ("deque::push", "pop", false),
            ("queue.push", "queue.push", true),
            ("push", "Deque::push", false),
        ] {
            assert_eq!(is_called(path, name), is, "{path} {name}");
        }
    }
}
