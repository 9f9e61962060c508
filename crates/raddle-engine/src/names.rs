//! Task names, interned: (parent, n-th spawn, kind) ↔ a dense number for the life of a search.

use raddle_trace::TaskKind;

use crate::op::TaskId;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) parent: TaskId,
    pub(crate) nth: u32,
    pub(crate) kind: TaskKind,
}

/// All names that any execution of the search has used.
#[derive(Debug)]
pub(crate) struct Names {
    names: Vec<Name>,
    /// By parent, then by kind, then by n.
    children: Vec<[Vec<TaskId>; 2]>,
}

impl Names {
    pub(crate) fn new() -> Self {
        let root = Name { parent: TaskId::ROOT, nth: 0, kind: TaskKind::Thread };
        Self { names: vec![root], children: vec![[Vec::new(), Vec::new()]] }
    }

    pub(crate) fn intern(&mut self, parent: TaskId, nth: u32, kind: TaskKind) -> TaskId {
        let row = usize::from(kind == TaskKind::Environment);
        if let Some(&known) = self.children[parent.index()][row].get(nth as usize) {
            return known;
        }
        // Executions spawn in order, but a schedule from a file may name the third child first.
        for nth in self.children[parent.index()][row].len() as u32..=nth {
            let id = TaskId(self.names.len() as u32);
            self.names.push(Name { parent, nth, kind });
            self.children.push([Vec::new(), Vec::new()]);
            self.children[parent.index()][row].push(id);
        }
        self.children[parent.index()][row][nth as usize]
    }

    pub(crate) fn get(&self, task: TaskId) -> Name {
        self.names[task.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
