//! The wait-for graph of a deadlock as SVG: tasks on the left, what they wait for on the right.
//!
//! A task points at the object it waits for, and an object at the tasks that hold it. A task that
//! waits for another without an object between them (a join) points at it directly. What is on the
//! cycle, if there is one, is drawn in red and said in the text beside.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_trace::{Trace, Waiting};

use crate::columns::{clean, fit};
use crate::html::escape;
use crate::waits::{cycle, explain, is_join};

/// More tasks than this are listed and not drawn.
const MOST_TASKS: usize = 40;
const BOX: (f64, f64) = (136.0, 26.0);
const PITCH: f64 = 40.0;
const LEFT: f64 = 26.0;
const RIGHT: f64 = 238.0;
const WIDTH: f64 = RIGHT + BOX.0 + 6.0;
/// Characters that fit in a box.
const LABEL: usize = 18;

struct Node {
    label: String,
    in_cycle: bool,
    x: f64,
    y: f64,
}

impl Node {
    fn svg(&self, class: &str) -> String {
        let Self { label, x, y, .. } = self;
        let class = if self.in_cycle { format!("{class} cycle") } else { class.to_owned() };
        format!(
            "<g class=\"{class}\"><title>{full}</title><rect x=\"{x}\" y=\"{top}\" width=\"{w}\" \
             height=\"{h}\" rx=\"4\"/><text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">\
             {short}</text></g>",
            full = escape(label),
            top = y - BOX.1 / 2.0,
            w = BOX.0,
            h = BOX.1,
            middle = x + BOX.0 / 2.0,
            base = y + 4.0,
            short = escape(&fit(label, LABEL)),
        )
    }
}

/// Places nodes below each other, from `top` on.
fn column(nodes: Vec<(String, bool)>, x: f64, top: f64) -> Vec<Node> {
    let mut y = top - PITCH;
    let node = |(label, in_cycle)| {
        y += PITCH;
        Node { label, in_cycle, x, y }
    };
    nodes.into_iter().map(node).collect()
}

fn edge(path: &str, in_cycle: bool, what: &str) -> String {
    let (class, tip) = if in_cycle { ("cycle", "wait-cycle") } else { ("", "wait-tip") };
    format!(
        "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#{tip})\"><title>{}</title></path>",
        escape(what)
    )
}

/// The graph; empty if there are too many tasks to draw.
pub(super) fn svg(trace: &Trace, waiting: &[Waiting]) -> String {
    let mut tasks: Vec<u32> = waiting.iter().map(|one| one.task).collect();
    tasks.extend(waiting.iter().flat_map(|one| one.held_by.iter().map(|&(holder, _)| holder)));
    tasks.sort_unstable();
    tasks.dedup();
    if tasks.len() > MOST_TASKS {
        return String::new();
    }
    let circle = cycle(waiting).unwrap_or_default();
    let follows = |task: u32, holder: u32| {
        let at = circle.iter().position(|&other| other == task);
        at.is_some_and(|at| circle[(at + 1) % circle.len()] == holder)
    };
    let in_cycle = |one: &Waiting| one.held_by.iter().any(|&(holder, _)| follows(one.task, holder));
    let mut objects: BTreeMap<u32, bool> = BTreeMap::new();
    for one in waiting.iter().filter(|one| !is_join(one)) {
        if let Some(object) = one.object {
            *objects.entry(object).or_default() |= in_cycle(one);
        }
    }
    let label = |task: u32| clean(&trace.task_label(task));
    let rows = tasks.len().max(objects.len()) as u32;
    let top = |n: usize| PITCH / 2.0 + 4.0 + f64::from(rows - n as u32) * PITCH / 2.0;
    let named = tasks.iter().map(|task| (label(*task), circle.contains(task))).collect();
    let task_nodes = column(named, LEFT, top(tasks.len()));
    let named = objects.iter().map(|(&o, &c)| (clean(&trace.object_label(o)), c)).collect();
    let object_nodes = column(named, RIGHT, top(objects.len()));
    let task_node = |task: u32| tasks.binary_search(&task).ok().map(|at| &task_nodes[at]);
    let object_node = |object: u32| {
        let at = objects.keys().position(|&other| other == object)?;
        object_nodes.get(at)
    };
    let mut edges = String::new();
    for one in waiting {
        let Some(from) = task_node(one.task) else { continue };
        let object = one.object.filter(|_| !is_join(one)).and_then(object_node);
        let Some(object) = object else {
            for &(holder, _) in &one.held_by {
                let Some(to) = task_node(holder) else { continue };
                let (y1, y2, x) = (from.y, to.y, LEFT - 2.0);
                let path = format!("M{LEFT} {y1}C4 {y1} 4 {y2} {x} {y2}");
                let what = format!("{} waits for {}", label(one.task), label(holder));
                edges.push_str(&edge(&path, follows(one.task, holder), &what));
            }
            continue;
        };
        let (x1, x2) = (LEFT + BOX.0, RIGHT - 2.0);
        let middle = f64::midpoint(x1, x2);
        // Out of the upper half of a box and into the lower, so that the two ways do not meet.
        let (y1, y2) = (from.y - 5.0, object.y - 5.0);
        let path = format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}");
        let what = format!("{} waits for {}", label(one.task), object.label);
        edges.push_str(&edge(&path, in_cycle(one), &what));
        for &(holder, _) in &one.held_by {
            let Some(to) = task_node(holder) else { continue };
            let (y1, y2) = (object.y + 5.0, to.y + 5.0);
            let (x1, x2) = (RIGHT, LEFT + BOX.0 + 2.0);
            let path = format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}");
            let what = format!("{} is held by {}", object.label, label(holder));
            edges.push_str(&edge(&path, follows(one.task, holder), &what));
        }
    }
    let mut out = String::new();
    let height = f64::from(rows) * PITCH + 8.0;
    let told = explain(trace, waiting).join(". ");
    let _ = write!(
        out,
        "<svg class=\"waits\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Who waits \
         for whom. {}\">{TIPS}{edges}",
        escape(&told)
    );
    for node in &task_nodes {
        out.push_str(&node.svg("task"));
    }
    for node in &object_nodes {
        out.push_str(&node.svg("object"));
    }
    out.push_str("</svg>\n");
    out
}

/// The heads of arrows.
const TIPS: &str = "<defs>\
    <marker id=\"wait-tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
    markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\
    <marker id=\"wait-cycle\" class=\"cycle\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
    markerWidth=\"7\" markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
    <path d=\"M0 0L8 4L0 8z\"/></marker></defs>";
