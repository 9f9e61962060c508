//! Which modules of a crate may import which: layers from bottom to top, and no cycles.
//!
//! A module here is a file `src/NAME.rs` with all below `src/NAME/`. What it imports is read from its paths
//! (`crate::NAME`, `super::NAME`, groups of them), tests and comments apart. `lib.rs` stands above all others; what
//! it exports is taken for what it is, a name of the module that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What is wanted of the modules of one crate.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Where it is, from the root of the workspace.
    pub krate: &'static str,
    /// Its modules, the lowest layer first: each imports from its own layer and from lower ones. None: not
    /// wanted of this crate yet.
    pub layers: Option<&'static [&'static [&'static str]]>,
    /// Modules that import each other, and are known to. May get smaller and not larger.
    pub knots: &'static [&'static [&'static str]],
}

/// The crates that have a rule.
pub const RULES: &[Rule] = &[
    Rule {
        krate: "crates/raddle-engine",
        layers: Some(&[
            // Vocabulary: ids and accesses, what a search answers, what a primitive says of itself.
            &[
                "at_fork",
                "bits",
                "debug",
                "explorer",
                "states",
                "fiber",
                "last_words",
                "limits",
                "packet",
                "panics",
                "pulse",
                "renewed",
                "rng",
                "seen",
                "stopwatch",
                "store",
                "tape",
            ],
            &["op", "receive", "vector_clock"],
            &["context", "race", "strategy", "witness"],
            &["dependence", "fair", "model", "passive", "rounds"],
            &["happens"],
            // Parts of an execution.
            &["announce", "clock", "crash_log", "join_park", "names", "object"],
            &["outside", "task"],
            &["tasks"],
            &["locks", "recorder", "script"],
            // One execution.
            &["execution"],
            &["act", "cell", "faults", "host", "inspect", "overflow", "panic_hook", "scope"],
            // Many of them, and what frontends call.
            &["error", "observer"],
            &["rt", "search"],
            &["failures", "per_execution", "replay"],
            &["explore"],
        ]),
        knots: &[],
    },
    Rule {
        krate: "crates/raddle-isolate",
        layers: Some(&[&["log"], &["transcript"], &["fork"]]),
        knots: &[],
    },
    Rule { krate: "crates/raddle-search", layers: None, knots: &[] },
    Rule {
        krate: "crates/raddle",
        layers: Some(&[
            // Names of std and values, with and without a search.
            &["cell", "extend", "hint", "method", "named", "value"],
            // What a user gives and gets.
            &["custom", "error", "progress", "tree"],
            &["config"],
            // What is run, where its files lie, what is written meanwhile, and the thread that keeps the time for it.
            &["stopwatch"],
            &["files", "job", "summary", "terminal"],
            &["checkpoint", "spill", "supervisor"],
            // One search.
            &["reporter"],
            &["search"],
            // The searches of one report, or a replay.
            &["plan"],
            &["conclusion"],
            &["cut_off"],
            &["portfolio", "recording"],
            &["partial"],
            &["explore"],
            // A test.
            &["explain", "learned", "minimise"],
            &["check"],
            &["units"],
            &["host", "migrate"],
            &["harness"],
        ]),
        knots: &[],
    },
];

/// What is wrong with the modules of the crates that have a rule.
///
/// # Errors
/// If a source cannot be read.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for rule in RULES {
        let imports = imports(&root.join(rule.krate).join("src"))?;
        complaints.extend(rule.complaints(&imports));
    }
    Ok(complaints)
}

/// The modules of a crate, and of each the others that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

impl Rule {
    fn complaints(&self, imports: &Imports) -> Vec<String> {
        let mut complaints = Vec::new();
        if let Some(layers) = self.layers {
            complaints.extend(self.outside_layers(layers, imports));
        }
        for knot in knots(imports) {
            let known = |names: &&[&str]| knot.iter().all(|name| names.contains(&name.as_str()));
            if !self.knots.iter().any(known) {
                let names: Vec<&str> = knot.iter().map(String::as_str).collect();
                let names = names.join(", ");
                complaints.push(format!("{}: modules import each other: {names}", self.krate));
            }
        }
        complaints
    }

    fn outside_layers(&self, layers: &[&[&str]], imports: &Imports) -> Vec<String> {
        let layer = |name: &str| layers.iter().position(|layer| layer.contains(&name));
        let mut complaints = Vec::new();
        for (module, imported) in imports {
            let Some(own) = layer(module) else {
                complaints.push(format!(
                    "{}: the module {module} is in no layer; xtask/src/layers.rs lists them",
                    self.krate
                ));
                continue;
            };
            let above = imported.iter().filter(|name| layer(name).is_some_and(|other| other > own));
            complaints.extend(
                above.map(|name| {
                    format!("{}: {module} imports {name}, which is above it", self.krate)
                }),
            );
        }
        let listed = layers.iter().flat_map(|layer| layer.iter());
        let gone = listed.filter(|name| !imports.contains_key(**name));
        complaints.extend(gone.map(|name| format!("{}: there is no module {name}", self.krate)));
        complaints
    }
}

/// Sets of modules that import each other, by whatever detour.
fn knots(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|from| (from, reach(imports, from))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (module, reach) in &reached {
        let back = reach.iter().filter(|other| reached[**other].contains(module));
        let mut knot: BTreeSet<String> = back.map(|other| (*other).clone()).collect();
        knot.insert((*module).clone());
        if knot.len() > 1 && !found.contains(&knot) {
            found.push(knot);
        }
    }
    found
}

/// All modules that one imports, or that those import.
fn reach<'a>(imports: &'a Imports, from: &'a String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut left = vec![from];
    while let Some(module) = left.pop() {
        for other in &imports[module] {
            if found.insert(other) {
                left.push(other);
            }
        }
    }
    found
}

/// Reads what the modules of a crate import.
fn imports(src: &Path) -> Result<Imports, String> {
    let mut files: BTreeMap<String, Vec<(PathBuf, usize)>> = BTreeMap::new();
    collect(src, None, 1, &mut files)?;
    let exported = exported(&code(&read(&src.join("lib.rs"))?));
    let names: BTreeSet<&String> = files.keys().collect();
    let mut imports = Imports::new();
    for (module, paths) in &files {
        let mut imported = BTreeSet::new();
        for (path, depth) in paths {
            let words = roots(&code(&read(path)?), *depth);
            let homes = words.into_iter().map(|word| exported.get(&word).cloned().unwrap_or(word));
            imported.extend(homes.filter(|home| names.contains(home)));
        }
        imported.remove(module);
        imports.insert(module.clone(), imported);
    }
    Ok(imports)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The files of each module, with the number of `super` that lead from there to the root of the crate.
fn collect(
    directory: &Path,
    module: Option<&str>,
    depth: usize,
    files: &mut BTreeMap<String, Vec<(PathBuf, usize)>>,
) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let own = module.unwrap_or(&name);
        if path.is_dir() {
            // Programs of their own, and what is only compiled for tests.
            if name != "bin" && name != "tests" {
                collect(&path, Some(own), depth + 1, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["lib", "main", "tests"].contains(&name.as_str())
        {
            files.entry(own.to_owned()).or_default().push((path, depth));
        }
    }
    Ok(())
}

/// A source without comments and without what follows the beginning of its tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first words after the root of the crate in all paths of a source.
fn roots(code: &str, depth: usize) -> BTreeSet<String> {
    let up = "super::".repeat(depth);
    let mut found = BTreeSet::new();
    for root in ["crate::", &up] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:".contains(c)) {
                continue;
            }
            found.extend(first_words(&code[at + root.len()..]));
        }
    }
    found
}

/// The first word of a path, or those of a group.
fn first_words(rest: &str) -> Vec<String> {
    let word = |text: &str| {
        let word: String =
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        word
    };
    let Some(group) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let mut words = Vec::new();
    let (mut depth, mut begin) = (0_u32, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' if depth > 0 => {}
            ',' | '}' => {
                words.push(word(&group[begin..at]));
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    words
}

/// What `lib.rs` exports of its modules, by name.
fn exported(code: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in code.split("pub use ").skip(1) {
        let Some((module, rest)) = statement.split_once("::") else { continue };
        for name in first_words(rest) {
            found.insert(name, module.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> Imports {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        edges.iter().map(|(from, to)| ((*from).to_owned(), names(to))).collect()
    }

    #[test]
    fn paths_are_read_and_comments_and_tests_are_not() {
        let text = "use crate::op::{Access, Op};\nuse crate::{fair, task::{Task, State}, tape};\n\
                    // crate::comment\nfn f() { crate::debug::step(super::pulse::Pulse) }\n\
                    /// [`x`](crate::documented)\n#[cfg(test)]\nmod tests { use crate::rt; }\n";
        let words: Vec<_> = roots(&code(text), 1).into_iter().collect();
        assert_eq!(words, ["debug", "fair", "op", "pulse", "tape", "task"]);
        assert_eq!(roots("super::a super::super::b", 2).into_iter().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_name_that_the_root_exports_is_its_module_s() {
        let names = exported("pub mod a;\npub use a::{One, Two};\npub use b::Three;\n");
        assert_eq!(names["Two"], "a");
        assert_eq!(names["Three"], "b");
    }

    #[test]
    fn imports_from_above_and_circles_are_found() {
        let rule = Rule { krate: "c", layers: Some(&[&["a"], &["b", "d"]]), knots: &[] };
        let fine = graph(&[("a", &[]), ("b", &["a", "d"]), ("d", &["a"])]);
        assert_eq!(rule.complaints(&fine), Vec::<String>::new());
        let wrong = graph(&[("a", &["b"]), ("b", &["a"]), ("d", &[]), ("e", &[])]);
        let complaints = rule.complaints(&wrong);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
        assert!(complaints[0].contains("a imports b, which is above it"));
        assert!(complaints[1].contains("e is in no layer"));
        assert!(complaints[2].contains("modules import each other: a, b"));
        let known = Rule { layers: None, knots: &[&["a", "b", "z"]], ..rule };
        assert_eq!(known.complaints(&wrong), Vec::<String>::new());
    }
}
