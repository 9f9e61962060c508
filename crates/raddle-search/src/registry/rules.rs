//! Which parts do not go together, and why: the one place where a combination is refused.
//!
//! A rule looks at the parts of a composition and says what is wrong with them, if it is, with what to write
//! instead. Rules are asked in their order, so that what is wrong for good comes before what is wrong in
//! detail.

use super::{Part, Parts, Role};
use crate::grammar::Arg;

/// Refuses some combinations with a reason.
type Rule = fn(&Parts<'_>) -> Option<String>;

const RULES: &[Rule] = &[
    one_of_each_role,
    a_sampler_has_no_parts,
    parts_need_a_search,
    a_short_name_has_its_parts,
    preemptions_are_counted_along_an_order_without_them,
    delays_are_those_of_an_explorer,
    an_explorer_counts_delays_alone,
    depth_is_that_of_a_path,
    states_have_their_parts,
    strata_have_their_parts,
    a_compact_tree_counts_preemptions,
    a_filter_names_what_it_filters,
    a_reduction_has_few_bounds,
    a_bounded_reduction_has_no_probes,
    a_wakeup_tree_belongs_to_a_path,
    a_reduction_has_its_own_order,
    a_cache_hides_ends,
    a_cache_hides_races,
];

/// Why these parts do not make a strategy, if they do not.
pub(super) fn refused(parts: &Parts<'_>) -> Option<String> {
    RULES.iter().find_map(|rule| rule(parts))
}

fn one_of_each_role(parts: &Parts<'_>) -> Option<String> {
    parts.0.iter().enumerate().find_map(|(index, part)| {
        let same = |other: &&Part<'_>| other.entry.role == part.entry.role;
        let other = parts.0[..index].iter().find(same)?;
        let (role, first, second) = (part.entry.role, other.term, part.term);
        Some(format!(
            "`{first}` and `{second}` are two {role}s, and there can be one; leave one out"
        ))
    })
}

fn a_sampler_has_no_parts(parts: &Parts<'_>) -> Option<String> {
    let sampler = parts.get(Role::Sampler)?.term;
    let other = parts.0.iter().find(|part| part.entry.role != Role::Sampler)?;
    let (term, role) = (other.term, other.entry.role);
    Some(match role {
        Role::Search | Role::Expansion => format!(
            "`{sampler}` is a sampler and decides every step, so nothing is left for `{term}`; leave \
             one out"
        ),
        _ => format!(
            "`{term}` is part of a search, here its {role}, and the sampler `{sampler}` has none; \
             leave it out, or write `dfs` instead of `{sampler}`"
        ),
    })
}

fn parts_need_a_search(parts: &Parts<'_>) -> Option<String> {
    let is_whole =
        |part: &Part<'_>| matches!(part.entry.role, Role::Sampler | Role::Search | Role::Expansion);
    if parts.0.iter().any(is_whole) {
        return None;
    }
    let part = parts.0.first()?;
    let (term, role) = (part.term, part.entry.role);
    let instead = if role == Role::Frontier { "all" } else { "dfs" };
    Some(format!(
        "`{term}` is part of a search, here its {role}, and there is no search; write `{instead} \
         {term}`"
    ))
}

fn a_short_name_has_its_parts(parts: &Parts<'_>) -> Option<String> {
    let search = parts.get(Role::Search)?.term;
    let part = parts.get(Role::Expansion).or_else(|| parts.get(Role::Frontier))?;
    let (term, role) = (part.term, part.entry.role);
    Some(format!("`{search}` has its own {role}, so `{term}` has no place; leave one out"))
}

/// Nothing is kept of it but where executions depart from the order without preemptions.
fn a_compact_tree_counts_preemptions(parts: &Parts<'_>) -> Option<String> {
    parts.get(Role::Frontier).filter(|part| part.entry.name == "compact")?;
    let fits = |part: &&Part<'_>| match part.entry.role {
        Role::Expansion => part.entry.name == "all",
        Role::Order => part.entry.name == "non-preemptive",
        Role::Bound => part.entry.name == "preemptions",
        role => role == Role::Frontier,
    };
    let term = parts.0.iter().find(|part| !fits(part))?.term;
    Some(format!(
        "`compact` keeps only where executions depart from the order without preemptions, so `{term}` has no place; leave \
         it out, or write `best-first(pb)` for `compact`"
    ))
}

/// A price is one of leaving the default option, and that must be free.
fn preemptions_are_counted_along_an_order_without_them(parts: &Parts<'_>) -> Option<String> {
    let order = parts.name(Role::Order)?;
    let preempts = order != "non-preemptive";
    (parts.name(Role::Bound)? == "preemptions" && preempts).then(|| {
        format!(
            "`{order}` itself leaves tasks that could go on, so preemptions cannot be bounded along \
             it; leave out one of the two"
        )
    })
}

/// Whether an order is an explorer.
fn explores(order: &str) -> bool {
    !matches!(order, "non-preemptive" | "in-turns" | "random" | "pos" | "mixed")
}

/// The priorities of a frontier, those in sums too.
fn priorities(parts: &Parts<'_>) -> Vec<String> {
    fn add(args: &[Arg], names: &mut Vec<String>) {
        for arg in args {
            if let Arg::Term(term) = arg {
                names.push(term.name.clone());
                if term.name == "sum" {
                    add(&term.args, names);
                }
            }
        }
    }
    let mut names = Vec::new();
    let Some(frontier) = parts.get(Role::Frontier) else { return names };
    if frontier.entry.name == "best-first" {
        add(&frontier.term.args, &mut names);
        if names.is_empty() {
            names.push("pb".to_owned());
        }
    }
    names
}

fn delays_are_those_of_an_explorer(parts: &Parts<'_>) -> Option<String> {
    let order = parts.name(Role::Order).filter(|order| !explores(order))?;
    let by_delays = priorities(parts).iter().any(|name| name == "delays");
    (parts.name(Role::Bound) == Some("delays") || by_delays).then(|| {
        format!(
            "delays are those of an explorer, and `{order}` is none; write `rr`, `rtc` or `prr` instead, or \
             leave `{order}` out"
        )
    })
}

/// One number is kept of what an execution costs, in delays along an explorer and else in preemptions; and what
/// compares executions counts preemptions.
fn an_explorer_counts_delays_alone(parts: &Parts<'_>) -> Option<String> {
    let names = priorities(parts);
    let by_delays = names.iter().any(|name| name == "delays");
    let explorer = parts.name(Role::Order).filter(|order| explores(order));
    if explorer.is_none() && parts.name(Role::Bound) != Some("delays") && !by_delays {
        return None;
    }
    if parts.reduces() {
        let instead = match parts.get(Role::Bound).filter(|bound| bound.entry.name == "delays") {
            Some(Part { term, .. }) => {
                let within = term.to_string().replace("delays", "preemptions");
                format!("`dfs {term}`, or `dpor {within}` for a reduction within a bound")
            }
            None if by_delays => "`departures` instead of `delays`".to_owned(),
            None => "`dfs` instead of the reduction".to_owned(),
        };
        return Some(format!(
            "a reduction runs one of several equivalent executions, and equivalent prefixes rank the options \
             differently, so one that is within the delays may be left out for one that is not; write {instead}"
        ));
    }
    if let Some(probes) = parts.get(Role::Probes) {
        let term = probes.term;
        return Some(format!("`{term}` are drawn without an explorer; leave one of the two out"));
    }
    if parts.name(Role::Bound) == Some("depth") {
        return Some(
            "`depth` is counted without an explorer; write `delays(k)` instead".to_owned(),
        );
    }
    let other = names
        .iter()
        .find(|name| matches!(name.as_str(), "pb" | "dpor" | "mdpor" | "ss" | "patterns"))?;
    Some(format!(
        "`{other}` counts preemptions or compares executions, and along an explorer delays are counted; write \
         `best-first(delays)`"
    ))
}

fn depth_is_that_of_a_path(parts: &Parts<'_>) -> Option<String> {
    let bound = parts.get(Role::Bound).filter(|part| part.entry.name == "depth")?.term;
    let frontier = parts.get(Role::Frontier).filter(|part| part.entry.name != "depth-first");
    let other = frontier.or_else(|| parts.get(Role::Cache)).or_else(|| parts.get(Role::Probes))?;
    Some(format!("`{bound}` goes with a depth-first search alone; leave `{}` out", other.term))
}

fn states_have_their_parts(parts: &Parts<'_>) -> Option<String> {
    let search = parts.get(Role::Search).filter(|part| part.entry.name == "states")?.term;
    let other = parts.0.iter().find(|part| part.entry.role != Role::Search)?;
    Some(format!(
        "`{search}` visits states, for which `{}` has no meaning; leave it out",
        other.term
    ))
}

/// It is an expansion, a frontier, an order and a cache at once.
fn strata_have_their_parts(parts: &Parts<'_>) -> Option<String> {
    let search = parts.get(Role::Search).filter(|part| part.entry.name != "dfs")?.term;
    let other = parts.0.iter().find(|part| {
        let bound = part.entry.role == Role::Bound && part.entry.name == "delays";
        part.entry.role != Role::Search && !bound
    })?;
    Some(format!(
        "`{search}` has its explorer and its cache in its brackets, so `{}` has no place; leave it out",
        other.term
    ))
}

fn a_filter_names_what_it_filters(parts: &Parts<'_>) -> Option<String> {
    let expansion =
        parts.name(Role::Expansion).filter(|name| matches!(*name, "hapset" | "pset"))?;
    let part = parts.0.iter().find(|part| part.entry.role != Role::Expansion)?;
    let instead = match part.entry.role {
        Role::Bound => format!("write `{expansion}({})`", part.term),
        _ => format!("leave `{}` out", part.term),
    };
    Some(format!(
        "`{expansion}` goes depth first in its own order, and what it leaves out is in its brackets; \
         {instead}"
    ))
}

/// Preemptions are bounded by the memoryless form of the optimal reduction (`memoryless.rs`), which knows what all
/// that a unit leads to must cost. Source and classic sets, and Eta's, have no such units. Counterexample: of one
/// program with channels bounded reduction (Coons et al., OOPSLA 2013) kept 327 of 344 traces at one preemption. The
/// executions of the others within the bound leave a task inside a section where nothing races, so that the next
/// one blocks and the switch back is free.
///
/// A delay is one of an explorer, whose order of the tasks hangs on the whole execution so far: equivalent prefixes may
/// rank the same option differently, so nothing that a unit has in common says what its executions cost.
fn a_reduction_has_few_bounds(parts: &Parts<'_>) -> Option<String> {
    let bound = parts.get(Role::Bound).filter(|_| parts.reduces())?;
    let word = parts.get(Role::Expansion).and_then(Part::word);
    let (term, kind) = (bound.term, bound.entry.name);
    match (kind, word) {
        ("preemptions", None | Some("optimal")) => None,
        ("preemptions", Some(word)) => Some(format!(
            "`{term}` with `dpor({word})` would lose executions: equivalent ones differ in what they cost; write \
             `dpor {term}`, which knows that, or `dfs {term} cache`"
        )),
        _ => Some(format!(
            "`{term}` with `dpor` would lose executions: equivalent ones differ in what they cost; write `dfs \
             {term}{}`, or bound preemptions",
            if kind == "depth" { "" } else { " cache" }
        )),
    }
}

/// Source and classic sets need only which siblings were started before; wakeup trees, and Eta's good siblings
/// that were tried, are of the path that the search is on.
fn a_wakeup_tree_belongs_to_a_path(parts: &Parts<'_>) -> Option<String> {
    let frontier = parts.get(Role::Frontier).filter(|part| part.entry.name != "depth-first")?.term;
    let word = parts.get(Role::Expansion).filter(|_| parts.reduces())?.word();
    if matches!(word, Some("source" | "classic")) {
        return None;
    }
    let dpor = if word == Some("eta") { "dpor(eta)" } else { "dpor" };
    Some(format!(
        "`{dpor}` goes depth first: what it tries next belongs to the path it is on; write \
         `dpor(source) {frontier}`"
    ))
}

/// What is drawn beside a search says how large its tree is, and a memoryless search has none.
fn a_bounded_reduction_has_no_probes(parts: &Parts<'_>) -> Option<String> {
    let bound = parts.get(Role::Bound).filter(|_| parts.reduces())?.term;
    let probes = parts.get(Role::Probes)?.term;
    Some(format!(
        "`{probes}` are for searches with a tree, which `dpor {bound}` has not; leave `{probes}` out"
    ))
}

fn a_reduction_has_its_own_order(parts: &Parts<'_>) -> Option<String> {
    let order = parts.get(Role::Order).filter(|_| parts.reduces())?;
    let in_a_tree = parts.name(Role::Frontier).is_some_and(|name| name != "depth-first");
    // What a tree search takes first at a point may be anything that does not sleep.
    if in_a_tree && matches!(order.entry.name, "random" | "pos" | "mixed") {
        return None;
    }
    Some(format!("`dpor` has its own order; leave `{}` out", order.term))
}

/// With a frontier other than depth-first a prefix that was met counts as known, and is not gone on from: what
/// compares executions would not see their ends.
fn a_cache_hides_ends(parts: &Parts<'_>) -> Option<String> {
    let cache = parts.name(Role::Cache)?;
    let compares = |name: &&String| matches!(name.as_str(), "dpor" | "mdpor" | "ss" | "patterns");
    let other = priorities(parts).iter().find(compares)?.clone();
    Some(format!(
        "`{cache}` cuts executions, and `{other}` compares whole ones; write `best-first(pb)`, or leave \
         `{cache}` out"
    ))
}

fn a_cache_hides_races(parts: &Parts<'_>) -> Option<String> {
    let cache = parts.name(Role::Cache).filter(|_| parts.reduces())?;
    Some(format!(
        "`{cache}` would cut executions whose races the reduction still needs; leave it out, or \
         write `dfs`"
    ))
}
