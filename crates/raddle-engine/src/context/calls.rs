//! The functions of the program that led to a step, each with its place: for traces, which are recorded once a
//! failure is known. A search never comes here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::Location;
use std::sync::Mutex;

use raddle_trace::{Call, Site};

use super::{MOST_FRAMES, ROOM, symbol, walk};
use crate::at_fork;

/// How many calls a step is recorded with.
const MOST_CALLS: usize = 3;

/// What the process knows of its code.
#[derive(Debug)]
struct Code {
    /// The functions at each address, the innermost first; those that are not the program's are left out.
    calls: BTreeMap<usize, Vec<Call>>,
    /// The directories in which the compiler ran. It names files from there, and debug information has whole
    /// paths.
    roots: BTreeSet<String>,
}

static CODE: Mutex<Code> = Mutex::new(Code { calls: BTreeMap::new(), roots: BTreeSet::new() });

/// The innermost calls on this stack, which lead to an op at `site`. None if another stack is the current one,
/// or if there is too little room left on it.
#[cold]
#[inline(never)]
pub(crate) fn calls(stack: &Range<usize>, site: &Location<'_>) -> Vec<Call> {
    let here = 0_u8;
    let from = std::ptr::from_ref(std::hint::black_box(&here)) as usize;
    if !stack.contains(&from) || from < stack.start + ROOM {
        return Vec::new();
    }
    let mut code = at_fork::lock(&CODE);
    let known = code.walk(from, stack);
    let mut found = known.unwrap_or_else(|| {
        code.calls.extend(symbol::calls());
        // What has no name is not looked for again.
        walk::walk(stack, &mut |address, begins| {
            if begins > from {
                code.calls.entry(address).or_default();
            }
            true
        });
        code.walk(from, stack).unwrap_or_default()
    });
    for call in &found {
        if let Some(root) = call.site.file.strip_suffix(site.file())
            && root.ends_with(['/', '\\'])
            && !code.roots.contains(root)
        {
            code.roots.insert(root.to_owned());
        }
    }
    for call in &mut found {
        code.shorten(&mut call.site);
    }
    found
}

/// The functions of the program on this stack, if it is the current one and has room for finding their names;
/// the innermost first.
#[cold]
pub(crate) fn stack(stack: &Range<usize>) -> Vec<Call> {
    let here = 0_u8;
    let from = std::ptr::from_ref(std::hint::black_box(&here)) as usize;
    if !stack.contains(&from) || from < stack.start + ROOM {
        return Vec::new();
    }
    let mut calls = symbol::stack();
    let code = at_fork::lock(&CODE);
    for call in &mut calls {
        code.shorten(&mut call.site);
    }
    calls
}

impl Code {
    /// The innermost calls. None if one of the addresses has not been met before.
    fn walk(&self, from: usize, stack: &Range<usize>) -> Option<Vec<Call>> {
        let mut found: Vec<Call> = Vec::new();
        let (mut frames, mut known) = (0, true);
        walk::walk(stack, &mut |address, begins| {
            // What is further in is this code.
            if begins <= from {
                return true;
            }
            let Some(calls) = self.calls.get(&address) else {
                known = false;
                return false;
            };
            for call in calls {
                // A function and its closures are one call, and so is recursion.
                if found.last().is_none_or(|last| last.function != call.function) {
                    found.push(call.clone());
                }
            }
            frames += 1;
            found.len() < MOST_CALLS && frames < MOST_FRAMES
        });
        found.truncate(MOST_CALLS);
        known.then_some(found)
    }

    /// Names a file as the compiler does.
    fn shorten(&self, site: &mut Site) {
        let rest = self.roots.iter().find_map(|root| site.file.strip_prefix(root.as_str()));
        if let Some(rest) = rest.map(str::to_owned) {
            site.file = rest;
        }
    }
}
