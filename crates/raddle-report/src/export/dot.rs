//! The tree of decisions that a search has walked, for Graphviz.
//!
//! A decision point is a box with a row for each task that could move, or for each value, and an edge from
//! every row that was taken. A row that was not taken is grey. Leaves are the executions, by number, and say
//! how they ended. Of a large tree only the shape is drawn: points are dots, and a path without a branch is
//! one edge.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_trace::{BranchEnd, DecisionTree, Leaf, TreeNode, TreeOption};

use crate::columns::{clean, count, escaped, fit, place};
use crate::waits::with_object;

/// Trees with more nodes than this are drawn as their shape.
const DETAILED: usize = 400;
/// More nodes than this are not drawn: Graphviz takes minutes, and the picture cannot be read.
const MAX_NODES: usize = 20_000;
/// How many decisions of a path without a branch are named.
const NAMED: usize = 4;
/// Columns for what an option does, and for where.
const WHAT: usize = 40;
const WHERE: usize = 32;

const GREY: &str = "#9a9a9a";
const RED: &str = "#b3261e";
const AMBER: &str = "#a86400";

/// A tree of decisions as the text of a Graphviz graph.
///
/// ```
/// use raddle_report::export::dot;
/// use raddle_trace::{BranchEnd, DecisionTree, Leaf, TreeNode, TreeOption};
///
/// let option = |who: &str, to| TreeOption { who: who.into(), to, ..TreeOption::default() };
/// let leaf = Leaf { execution: 1, times: 1, ended: BranchEnd::Completed };
/// let tree = DecisionTree {
///     nodes: vec![
///         TreeNode { options: vec![option("main", Some(1)), option("thread 1", None)], ended: None },
///         TreeNode { options: vec![], ended: Some(leaf) },
///     ],
///     executions: 1,
///     ..DecisionTree::default()
/// };
/// let text = dot(&tree);
/// assert!(text.contains("n0:o0 -> n1"));
/// assert!(text.contains("not tried"));
/// ```
#[must_use]
pub fn dot(tree: &DecisionTree) -> String {
    let mut out = "digraph decisions {\n    rankdir=TB;\n    \
                   node [shape=plain, fontname=\"monospace\", fontsize=10];\n    \
                   edge [arrowhead=none, fontname=\"monospace\", fontsize=10];\n"
        .to_owned();
    let _ = writeln!(out, "    label=\"{}\"; labelloc=b; fontname=\"monospace\"; fontsize=10;", {
        quoted(&legend(tree))
    });
    if tree.nodes.len() <= DETAILED {
        detailed(&mut out, tree);
    } else {
        shape(&mut out, tree);
    }
    out.push_str("}\n");
    out
}

/// What is in the picture, and what is not.
fn legend(tree: &DecisionTree) -> String {
    let hidden = tree.nodes.iter().skip(MAX_NODES).filter_map(|node| node.ended.as_ref());
    let hidden: u64 = hidden.map(|leaf| leaf.times).sum();
    let mut lines = vec![count(tree.executions - hidden.min(tree.executions), "execution")];
    if tree.more + hidden > 0 {
        let _ = write!(lines[0], "; {} not shown", count(tree.more + hidden, "more execution"));
    }
    let taken = |option: &TreeOption| option.to.is_some();
    if tree.nodes.iter().any(|node| !node.options.iter().all(taken)) {
        lines.push(format!("grey: {}", untaken(tree)));
    }
    if tree.nodes.len() <= DETAILED
        && tree.nodes.iter().flat_map(|node| &node.options).any(|option| option.preempts)
    {
        lines.push("* a preemption: the task that moved before could have gone on".to_owned());
    }
    lines.join("\n")
}

/// Why options were not taken, as far as the tree tells.
fn untaken(tree: &DecisionTree) -> &'static str {
    if tree.over {
        "left out: covered elsewhere, or out of the bound"
    } else if tree.more > 0 {
        "not tried in these executions"
    } else {
        "not tried before the search ended"
    }
}

/// Every point with its options.
fn detailed(out: &mut String, tree: &DecisionTree) {
    for (number, node) in tree.nodes.iter().enumerate() {
        if let Some(leaf) = &node.ended {
            write_leaf(out, number, leaf, true);
        } else if node.options.len() > 1 {
            let rows: String =
                (0..).zip(&node.options).map(|(nth, option)| row(nth, option)).collect();
            let table = "border=\"0\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"3\" color=\"#c4c4c4\"";
            let _ = writeln!(out, "    n{number} [label=<<table {table}>{rows}</table>>];");
        } else {
            let _ = writeln!(out, "    n{number} [shape=point, width=0.08];");
        }
        for (nth, option) in node.options.iter().enumerate() {
            let Some(to) = option.to else { continue };
            if node.options.len() > 1 && node.ended.is_none() {
                let _ = writeln!(out, "    n{number}:o{nth} -> n{to};");
            } else {
                let label = quoted(&called(option, nth, node.options.len()));
                let _ = writeln!(out, "    n{number} -> n{to} [label=\"{label}\"];");
            }
        }
    }
}

/// One option: who, what, where.
fn row(nth: usize, option: &TreeOption) -> String {
    let mark = if option.preempts { " *" } else { "" };
    let colour = match option.to {
        None => GREY,
        Some(_) if option.preempts => AMBER,
        Some(_) => "black",
    };
    let who = markup(&(called(option, nth, 0) + mark));
    let what = match &option.object {
        Some(object) => with_object(&option.what, object),
        None => clean(&option.what),
    };
    let mut what = markup(&fit(&what, WHAT));
    if let Some(site) = &option.site {
        let space = if what.is_empty() { "" } else { "<br align=\"left\"/>" };
        let at = markup(&place(site, WHERE));
        let font = format!("point-size=\"8\" color=\"{colour}\"");
        what = format!("{what}{space}<font {font}>{at}</font><br align=\"left\"/>");
    }
    let paint = |text: &str| match text {
        "" => String::new(),
        _ => format!("<font color=\"{colour}\">{text}</font>"),
    };
    let rest = if option.to.is_none() { "<i>not taken</i>" } else { "" };
    let what = if what.is_empty() { rest.to_owned() } else { what };
    format!(
        "<tr><td port=\"o{nth}\" align=\"left\">{}</td><td align=\"left\" balign=\"left\">{}</td></tr>",
        paint(&who),
        paint(&what)
    )
}

/// The task of an option, or its place if the task is not known.
fn called(option: &TreeOption, nth: usize, of: usize) -> String {
    match (clean(&option.who), of) {
        (who, 0) if !who.is_empty() => who,
        (who, _) if !who.is_empty() && option.what.starts_with("value ") => {
            format!("{who}: {}", clean(&option.what))
        }
        (who, _) if !who.is_empty() => who,
        _ => format!("option {nth}"),
    }
}

/// Where executions ended.
fn write_leaf(out: &mut String, number: usize, leaf: &Leaf, named: bool) {
    let Leaf { execution, times, ended } = leaf;
    let (style, word) = match ended {
        BranchEnd::Completed => ("shape=circle, margin=0.02, width=0.2".to_owned(), "completed"),
        BranchEnd::Failed => (
            format!("shape=octagon, style=filled, fillcolor=\"#f4b8b4\", color=\"{RED}\""),
            "failed",
        ),
        BranchEnd::Rejected => ("shape=box, style=dashed".to_owned(), "cut off by a limit"),
        BranchEnd::OutOfBound => ("shape=box, style=dotted".to_owned(), "cut: out of the bound"),
        _ => ("shape=box, style=dotted".to_owned(), "cut: covered elsewhere"),
    };
    let again = if *times > 1 { format!(" ×{times}") } else { String::new() };
    let label = match ended {
        BranchEnd::Completed if named => format!("{execution}{again}"),
        BranchEnd::Completed => String::new(),
        _ => format!("{execution}{again}\n{word}"),
    };
    let _ = writeln!(
        out,
        "    n{number} [{style}, label=\"{}\", tooltip=\"execution {execution}: {word}\"];",
        quoted(&label)
    );
}

/// Only points at which something branches or ends.
fn shape(out: &mut String, tree: &DecisionTree) {
    let nodes = &tree.nodes[..tree.nodes.len().min(MAX_NODES)];
    let children = |node: &TreeNode| -> Vec<(String, usize)> {
        let taken = node.options.iter().enumerate().filter_map(|(nth, option)| {
            let to = option.to? as usize;
            (to < nodes.len()).then(|| (called(option, nth, node.options.len()), to))
        });
        taken.collect()
    };
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::from([(0, 0)]);
    let mut stack = vec![0];
    while let Some(from) = stack.pop() {
        let mut next = Vec::new();
        for (label, to) in children(&nodes[from]) {
            let (mut path, mut at) = (vec![label], to);
            while nodes[at].ended.is_none() {
                let mut below = children(&nodes[at]);
                if below.len() != 1 {
                    break;
                }
                let Some((label, to)) = below.pop() else { break };
                path.push(label);
                at = to;
            }
            let number = numbers.len();
            let number = *numbers.entry(at).or_insert(number);
            let (from, label) = (numbers[&from], quoted(&along(&path)));
            let _ = writeln!(out, "    n{from} -> n{number} [label=\"{label}\"];");
            next.push(at);
        }
        stack.extend(next.into_iter().rev());
    }
    for (node, number) in &numbers {
        let TreeNode { options, ended } = &nodes[*node];
        if let Some(leaf) = ended {
            write_leaf(out, *number, leaf, false);
            continue;
        }
        let all = options.iter().all(|option| option.to.is_some());
        let colour = if all { "black" } else { GREY };
        let _ = writeln!(out, "    n{number} [shape=point, width=0.08, color=\"{colour}\"];");
    }
}

/// A path without a branch, in a few words.
fn along(path: &[String]) -> String {
    let mut runs: Vec<(&str, u64)> = Vec::new();
    for name in path {
        match runs.last_mut() {
            Some((last, n)) if last == name => *n += 1,
            _ => runs.push((name, 1)),
        }
    }
    let n_more = runs.len().saturating_sub(NAMED) as u64;
    let mut parts: Vec<String> = Vec::new();
    for (name, n) in runs.iter().take(NAMED) {
        parts.push(if *n == 1 { (*name).to_owned() } else { format!("{name} ×{n}") });
    }
    if n_more > 0 {
        parts.push(format!("… {n_more} more"));
    }
    parts.join("\n")
}

/// Within double quotes of Graphviz.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Within a label that is markup.
fn markup(text: &str) -> String {
    escaped(text).replace('[', "&#91;").replace(']', "&#93;")
}
