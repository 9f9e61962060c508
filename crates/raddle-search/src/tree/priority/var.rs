//! `var(queue.head, Mutex, deque.rs:42)`: preemptions between uses of these objects first. GAMBIT's.
//!
//! First the candidates in which a task that is about to use one of these objects is left for another one
//! that is; then those of which one of the two is; then the rest. An object is meant by the name that the
//! program gave it (`named("queue.head")`; `queue` means all that begin so), by the name of its type, or by
//! where it was made: a file, with a line if one is given. Of an op on two objects, which a wait on a
//! condition variable is, the first counts.

use raddle_engine::strategy::Label;

use super::{Candidate, Cost, Priority, Sees};

/// Preemptions between uses of these objects first.
#[derive(Clone, Debug)]
pub struct Var {
    names: Vec<String>,
    /// Which of them were seen.
    seen: Vec<bool>,
}

impl Var {
    /// Of these names.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let seen = vec![false; names.len()];
        Self { names, seen }
    }

    fn uses(&mut self, label: Option<Label>) -> bool {
        let Some(label) = label else { return false };
        let mut uses = false;
        for (name, seen) in self.names.iter().zip(&mut self.seen) {
            let is = is_meant(&label, name);
            *seen |= is;
            // Not at once, so that every name that was seen is noted: `notes` reports the others.
            uses |= is;
        }
        uses
    }
}

fn is_meant(label: &Label, name: &str) -> bool {
    let begins = |full: &str| {
        // `queue` means `queue.head`, but not `queue2`.
        full.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if label.name.is_some_and(begins) || label.kind == name {
        return true;
    }
    // A colon without a number behind it is part of the name.
    let (file, line) = match name.rsplit_once(':').map(|(file, line)| (file, line.parse::<u32>())) {
        Some((file, Ok(line))) => (file, Some(line)),
        _ => (name, None),
    };
    let ends = label.created.file().replace('\\', "/");
    let ends = ends.strip_suffix(file);
    let of_file =
        // A name that is no file would match the end of a path by accident; and `deque.rs` is not `my_deque.rs`.
        file.contains(".rs") && ends.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    of_file && line.is_none_or(|line| label.created.line() == line)
}

impl Priority for Var {
    fn name(&self) -> String {
        format!("var({})", self.names.join(", "))
    }

    fn sees(&self) -> Sees {
        Sees { ops: true, labels: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        let preempting = self.uses(candidate.label);
        let preempted = self.uses(candidate.instead_label);
        Cost(2 - u32::from(preempting) - u32::from(preempted))
    }

    fn notes(&self) -> Vec<String> {
        let unseen = self.names.iter().zip(&self.seen).filter(|(_, seen)| !**seen);
        let note = |(name, _): (&String, _)| {
            format!(
                "var({name}): no use of an object of this name was seen. Write a name given by \
                 `named(\"{name}\")`, the name of a type such as Mutex, or where it is made, such as \
                 deque.rs:42"
            )
        };
        unseen.map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use raddle_engine::strategy::Waits;

    use super::super::candidate;
    use super::*;

    fn label(name: Option<&'static str>) -> Label {
        Label { kind: "Mutex", created: Location::caller(), name, waits: Waits::Lock }
    }

    #[test]
    fn an_object_is_meant_by_name_type_or_place() {
        let head = label(Some("queue.head"));
        let line = head.created.line();
        for name in ["queue.head", "queue", "Mutex", "var.rs", "priority/var.rs"] {
            assert!(is_meant(&head, name), "{name}");
        }
        assert!(is_meant(&head, &format!("var.rs:{line}")));
        for name in ["head", "queue.he", "AtomicU32", "ar.rs", "var.rs:1", "queue.head.x"] {
            assert!(!is_meant(&head, name), "{name}");
        }
    }

    #[test]
    fn both_objects_come_before_one_and_one_before_none() {
        let (head, other) = (Some(label(Some("head"))), Some(label(None)));
        let mut var = Var::new(vec!["head".to_owned(), "tail".to_owned()]);
        let mut cost =
            |label, instead_label| var.cost(&Candidate { label, instead_label, ..candidate() });
        assert_eq!(cost(head, head), Cost(0));
        assert_eq!([cost(head, other), cost(None, head)], [Cost(1), Cost(1)]);
        assert_eq!([cost(other, other), cost(None, None)], [Cost(2), Cost(2)]);
        let [note] = &var.notes()[..] else { panic!("one of two") };
        assert!(note.starts_with("var(tail): no use of an object of this name was seen."));
    }
}
