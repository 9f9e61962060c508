//! How a reduced search is saved and taken up again.
//!
//! A state has the path of the last execution, with what is left, asleep and opened at each point, and what was
//! done there. The other events of the path are not in it: the first execution after it was restored has
//! them again, and so their order.
//!
//! Tasks are in it by their numbers, which an engine gives again in the same way; objects too, whose numbers
//! are the same in all executions that share the decisions up to their first use.

use raddle_engine::dependence::Footprint;
use raddle_engine::op::{Access, TaskId};
use raddle_engine::strategy::{Checkpoint, Step, Unsupported};

use super::reversal::Later;
use super::wakeup::{Branch, Way};
use super::{Dpor, Node, Reduction, What};
use crate::estimate::{Levels, Size};
use crate::state::{FOREIGN, RUNNING, Reader, Writer};

const NAME: &str = "dpor";

/// Where a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing was run.
    First,
    /// An execution runs, or was begun and never ended.
    Running,
    /// The path is that of the last execution.
    Ended,
    /// Nothing is left.
    Last,
}

impl Dpor {
    pub(super) fn saved(&self) -> Result<Checkpoint, Unsupported> {
        if self.stage == Stage::Running {
            return Err(RUNNING);
        }
        let mut writer = Writer::new(NAME);
        writer.number(self.reduction as u64);
        writer.number(self.stage as u64);
        writer.flag(self.incomplete);
        writer.number(self.executions);
        writer.number(self.blocked);
        self.leaf.save(&mut writer);
        self.levels.save(self.path.len(), &mut writer);
        writer.number(self.path.len() as u64);
        self.path.iter().for_each(|node| write_node(&mut writer, node));
        for node in &self.path {
            let done = self.done_at(node.event);
            writer.flag(done.is_some());
            if let Some(step) = &done {
                writer.footprint(step);
            }
        }
        writer.number(self.valued.len() as u64);
        for (event, step) in &self.valued {
            writer.number((*event).into());
            writer.footprint(step);
        }
        // The other reductions have no use for them.
        let optimal = self.reduction == Reduction::Optimal;
        let found = if optimal { &*self.found } else { &[] };
        writer.number(found.len() as u64);
        for (first, later) in found {
            writer.number((*first).into());
            writer.number(later.index as u64);
            writer.flag(later.ran);
            writer.number(later.timer.map_or(0, |timer| u64::from(timer.0) + 1));
            writer.flag(later.step.is_some());
            later.step.iter().for_each(|step| writer.footprint(step));
        }
        writer.flag(self.filter.is_some());
        self.filter.iter().for_each(|filter| filter.save(&mut writer));
        Ok(writer.finish())
    }

    pub(super) fn take_over(&mut self, saved: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(saved, NAME)?;
        let mut new = Self::new(self.reduction);
        if reader.number()? != self.reduction as u64 {
            return Err(FOREIGN);
        }
        new.stage = match reader.number()? {
            0 => Stage::First,
            2 => Stage::Ended,
            3 => Stage::Last,
            _ => return Err(FOREIGN),
        };
        new.incomplete = reader.flag()?;
        (new.executions, new.blocked) = (reader.number()?, reader.number()?);
        new.leaf = Size::restore(&mut reader)?;
        new.levels = Levels::restore(&mut reader)?;
        for _ in 0..reader.length()? {
            let node = read_node(&mut reader)?;
            if new.path.last().is_some_and(|above| above.event > node.event) {
                return Err(FOREIGN);
            }
            new.path.push(node);
        }
        for at in 0..new.path.len() {
            if reader.flag()? {
                new.done.push((new.path[at].event, reader.footprint()?));
            }
        }
        for _ in 0..reader.length()? {
            new.valued.push((reader.small()?, reader.footprint()?));
        }
        for _ in 0..reader.length()? {
            let (first, index) = (reader.small()?, reader.small()? as usize);
            let (ran, timer) = (reader.flag()?, reader.small()?);
            let timer = timer.checked_sub(1).map(TaskId);
            let step = if reader.flag()? { Some(reader.footprint()?) } else { None };
            // A timer may race with the op itself.
            if first as usize > index {
                return Err(FOREIGN);
            }
            new.found.push((first, Later { step, index, ran, timer }));
        }
        if reader.flag()? != self.filter.is_some() {
            return Err(FOREIGN);
        }
        let filter = match &self.filter {
            Some(filter) => Some(Box::new(filter.restored(&mut reader)?)),
            None => None,
        };
        reader.finish()?;
        if new.levels.len() != new.path.len() {
            return Err(FOREIGN);
        }
        new.filter = filter;
        *self = new;
        Ok(())
    }

    /// What the last execution did at an event of its path, if it came so far.
    pub(super) fn done_at(&self, event: u32) -> Option<Footprint> {
        if (event as usize) < self.history.len() {
            return Some(self.history.event(event as usize).footprint);
        }
        let at = self.done.partition_point(|(other, _)| *other < event);
        self.done.get(at).filter(|(other, _)| *other == event).map(|(_, step)| *step)
    }

    /// A step of the path is heard of again, by who was restored: it becomes an event.
    #[cold]
    pub(super) fn recall(&mut self, step: &Step<'_>) {
        let index = self.history.len();
        let node = step.point.and_then(|point| self.path.get(point as usize));
        // It is a step of the task that was chosen there.
        let fits = node.is_none_or(|node| {
            let chosen = matches!(&node.what, What::Step { task, .. } if *task == step.task);
            chosen && node.event as usize == index
        });
        self.strayed |= !fits;
        self.history.step(step);
    }
}

fn write_node(writer: &mut Writer, node: &Node) {
    let Node { event, what, sleep, slept, guided, objects, wakeup } = node;
    writer.number((*event).into());
    match what {
        What::Step { task, options, accesses } => {
            writer.number(0);
            writer.number(task.0.into());
            write_tasks(writer, options);
            writer.number(accesses.len() as u64);
            for access in accesses {
                writer.number(access.to_number());
            }
        }
        What::Value { option, of, left, during, ways } => {
            writer.number(1);
            writer.number((*option).into());
            writer.number((*of).into());
            writer.number(left.len() as u64);
            for option in left {
                writer.number((*option).into());
            }
            writer.flag(*during);
            write_ways(writer, ways.as_deref());
        }
    }
    write_steps(writer, sleep);
    writer.number((*slept).into());
    writer.flag(*guided);
    writer.number((*objects).into());
    write_branches(writer, wakeup);
}

fn read_node(reader: &mut Reader<'_>) -> Result<Node, Unsupported> {
    let event = reader.small()?;
    let what = match reader.number()? {
        0 => {
            let (task, options) = (reader.task()?, read_tasks(reader)?);
            let accesses = (0..reader.length()?)
                .map(|_| Access::from_number(reader.number()?).ok_or(FOREIGN))
                .collect::<Result<Vec<_>, _>>()?;
            let known = accesses.is_empty() || accesses.len() == options.len();
            if options.len() < 2 || !options.contains(&task) || !known {
                return Err(FOREIGN);
            }
            What::Step { task, options, accesses }
        }
        1 => {
            let (option, of) = (reader.small()?, reader.small()?);
            let left =
                (0..reader.length()?).map(|_| reader.small()).collect::<Result<Vec<_>, _>>()?;
            if option >= of || left.iter().any(|left| *left >= of) {
                return Err(FOREIGN);
            }
            What::Value { option, of, left, during: reader.flag()?, ways: read_ways(reader)? }
        }
        _ => return Err(FOREIGN),
    };
    let sleep = read_steps(reader)?;
    let slept = reader.small()?;
    if slept as usize > sleep.len() {
        return Err(FOREIGN);
    }
    let (guided, objects) = (reader.flag()?, reader.small()?);
    let wakeup = read_branches(reader)?;
    Ok(Node { event, what, sleep, slept, guided, objects, wakeup })
}

fn write_tasks(writer: &mut Writer, tasks: &[TaskId]) {
    writer.number(tasks.len() as u64);
    for task in tasks {
        writer.number(task.0.into());
    }
}

fn read_tasks(reader: &mut Reader<'_>) -> Result<Vec<TaskId>, Unsupported> {
    (0..reader.length()?).map(|_| reader.task()).collect()
}

fn write_steps(writer: &mut Writer, steps: &[Footprint]) {
    writer.number(steps.len() as u64);
    for step in steps {
        writer.footprint(step);
    }
}

fn read_steps(reader: &mut Reader<'_>) -> Result<Vec<Footprint>, Unsupported> {
    (0..reader.length()?).map(|_| reader.footprint()).collect()
}

fn write_branches(writer: &mut Writer, branches: &[Branch]) {
    writer.number(branches.len() as u64);
    for Branch { step, awake, ways } in branches {
        writer.footprint(step);
        write_tasks(writer, awake);
        write_ways(writer, Some(ways));
    }
}

fn read_branches(reader: &mut Reader<'_>) -> Result<Vec<Branch>, Unsupported> {
    let branch = |reader: &mut Reader<'_>| {
        let (step, awake) = (reader.footprint()?, read_tasks(reader)?);
        Ok(Branch { step, awake, ways: read_ways(reader)?.ok_or(FOREIGN)? })
    };
    (0..reader.length()?).map(|_| branch(reader)).collect()
}

fn write_ways(writer: &mut Writer, ways: Option<&[Way]>) {
    let Some(ways) = ways else { return writer.number(0) };
    writer.number(ways.len() as u64 + 1);
    for Way { values, children } in ways {
        writer.number(values.as_ref().map_or(0, |values| values.len() as u64 + 1));
        values.iter().flatten().for_each(|value| writer.number((*value).into()));
        write_branches(writer, children);
    }
}

fn read_ways(reader: &mut Reader<'_>) -> Result<Option<Vec<Way>>, Unsupported> {
    let Some(length) = reader.number()?.checked_sub(1) else { return Ok(None) };
    let mut ways = Vec::new();
    for _ in 0..length {
        let values = match reader.number()?.checked_sub(1) {
            None => None,
            Some(length) => {
                Some((0..length).map(|_| reader.small()).collect::<Result<Box<[u32]>, _>>()?)
            }
        };
        ways.push(Way { values, children: read_branches(reader)? });
    }
    Ok(Some(ways))
}
