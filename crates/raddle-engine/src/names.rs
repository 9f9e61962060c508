//! Task names, interned: (parent, n-th spawn, kind) ↔ a dense number for the life of a search.

use std::collections::BTreeMap;
use std::rc::Rc;

use raddle_trace::{TaskKind, TaskName};

use crate::crash_log::CrashLog;
use crate::op::{Name, TaskId};

/// All names that any execution of the search has used.
#[derive(Debug)]
pub(crate) struct Names {
    list: Vec<Name>,
    /// By parent, then by kind, then by n.
    children: Vec<[Vec<TaskId>; 2]>,
    /// By key, of those that are named by one.
    keyed: BTreeMap<u32, TaskId>,
    /// Where new names are written down.
    log: Option<Rc<dyn CrashLog>>,
}

/// Marks an n that is a key's hash and no number of spawns.
const KEYED: u32 = 1 << 31;

impl Names {
    pub(crate) fn new() -> Self {
        let root = Name { parent: TaskId::ROOT, nth: 0, kind: TaskKind::Thread };
        let (children, keyed) = (vec![[Vec::new(), Vec::new()]], BTreeMap::new());
        Self { list: vec![root], children, keyed, log: None }
    }

    #[inline]
    pub(crate) fn intern(&mut self, parent: TaskId, nth: u32, kind: TaskKind) -> TaskId {
        let row = usize::from(kind == TaskKind::Environment);
        // A key is larger than any number of spawns.
        match self.children[parent.index()][row].get(nth as usize) {
            Some(&known) => known,
            None => self.intern_new(parent, nth, kind),
        }
    }

    #[inline(never)]
    fn intern_new(&mut self, parent: TaskId, nth: u32, kind: TaskKind) -> TaskId {
        if nth & KEYED != 0 && parent == TaskId::ROOT && kind == TaskKind::Environment {
            return self.keyed(nth);
        }
        let row = usize::from(kind == TaskKind::Environment);
        // Executions spawn in order, but a schedule from a file may name the third child first.
        for nth in self.children[parent.index()][row].len() as u32..=nth {
            let id = TaskId(self.list.len() as u32);
            self.add(Name { parent, nth, kind });
            self.children.push([Vec::new(), Vec::new()]);
            self.children[parent.index()][row].push(id);
        }
        self.children[parent.index()][row][nth as usize]
    }

    /// The task with this key: something that is the same in every execution and process. `taken` says
    /// whether a task is part of the execution already: then two keys have one hash, and the second
    /// gets the next one that is free.
    pub(crate) fn intern_key(&mut self, key: u64, taken: impl Fn(TaskId) -> bool) -> TaskId {
        let mut nth = (key ^ key >> 32) as u32 | KEYED;
        loop {
            let id = self.keyed(nth);
            if !taken(id) {
                return id;
            }
            nth = nth.wrapping_add(1) | KEYED;
        }
    }

    /// Writes new names into `log` from now on.
    pub(crate) fn tell(&mut self, log: Rc<dyn CrashLog>) {
        self.log = Some(log);
    }

    fn add(&mut self, name: Name) {
        self.list.push(name);
        if let Some(log) = &self.log {
            log.named(name);
        }
    }

    fn keyed(&mut self, nth: u32) -> TaskId {
        if let Some(&known) = self.keyed.get(&nth) {
            return known;
        }
        let id = TaskId(self.list.len() as u32);
        self.add(Name { parent: TaskId::ROOT, nth, kind: TaskKind::Environment });
        self.children.push([Vec::new(), Vec::new()]);
        self.keyed.insert(nth, id);
        id
    }

    pub(crate) fn get(&self, task: TaskId) -> Name {
        self.list[task.index()]
    }

    /// All of them, by number.
    pub(crate) fn all(&self) -> impl Iterator<Item = TaskName> {
        self.list.iter().map(|&Name { parent, nth, kind }| TaskName {
            parent: parent.0,
            nth,
            kind,
            label: None,
        })
    }

    /// Gives the same numbers to these names. `false` if they are not those of a search.
    pub(crate) fn take_over(&mut self, tasks: &[TaskName]) -> bool {
        let fits = |(number, name): (usize, &TaskName)| {
            (name.parent as usize) < number
                && (name.nth & KEYED != 0 || (name.nth as usize) < number)
                && self.intern(TaskId(name.parent), name.nth, name.kind).index() == number
        };
        tasks.iter().enumerate().skip(1).all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_name() {
        let mut names = Names::new();
        let link = names.intern_key(77 << 32 | 5, |_| false);
        let Name { parent, nth, kind } = names.get(link);
        assert_eq!(names.intern(parent, nth, kind), link);
        assert_ne!(names.intern_key(77 << 32 | 5, |task| task == link), link);
    }

    #[test]
    fn names_have_the_same_numbers_in_another_search() {
        let mut names = Names::new();
        let child = names.intern(TaskId::ROOT, 0, TaskKind::Thread);
        let link = names.intern_key(9, |_| false);
        let timer = names.intern(child, 0, TaskKind::Environment);
        let all: Vec<_> = names.all().collect();
        let mut others = Names::new();
        assert!(others.take_over(&all));
        assert_eq!(others.intern(child, 0, TaskKind::Environment), timer);
        assert_eq!(others.intern_key(9, |_| false), link);
        assert!(others.all().eq(all.iter().cloned()));
        // The second child before the first.
        let strange = TaskName { nth: 1, ..all[1].clone() };
        assert!(!Names::new().take_over(&[all[0].clone(), strange]));
    }

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::new();
        let third = names.intern(TaskId::ROOT, 2, TaskKind::Thread);
        let first = names.intern(TaskId::ROOT, 0, TaskKind::Thread);
        let timer = names.intern(first, 0, TaskKind::Environment);
        assert_eq!(names.intern(TaskId::ROOT, 2, TaskKind::Thread), third);
        assert_eq!(names.get(timer).parent, first);
        assert_ne!(names.intern(first, 0, TaskKind::Thread), timer);
    }
}
