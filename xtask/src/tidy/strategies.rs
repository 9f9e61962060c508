//! Which strategies hold another strategy: few, and each decides something itself.
//!
//! What only listens to a search is an observer, for which nothing has to be forwarded. A strategy that
//! holds another must forward the whole interface, and when that grows it is forgotten.

use std::collections::BTreeSet;

/// Types that hold a strategy: the file, the type, and what they do themselves.
const HOLDERS: &[(&str, &str, &str)] = &[
    ("crates/raddle-engine/src/strategy.rs", "Box", "is the strategy"),
    ("crates/raddle-engine/src/observer.rs", "Audience", "notifies the observers"),
    ("crates/raddle-isolate/src/transcript.rs", "ForkTranscript", "writes all down"),
    ("crates/raddle-search/src/blocks.rs", "Blocks", "begins a sampler anew for each block"),
    (
        "crates/raddle-search/src/pct.rs",
        "AskedSeldom",
        "answers where pct repeats itself, in a test",
    ),
    ("crates/raddle-search/src/probe.rs", "Probes", "runs probes in between"),
    ("crates/raddle-search/src/then_sample.rs", "ThenSample", "samples when memory is spent"),
    ("crates/raddle-search/src/bita.rs", "Bita", "forces schedules after a first one"),
    ("crates/raddle-search/src/bita/given.rs", "Given", "forces one schedule, then samples"),
    ("crates/raddle-search/src/over_states.rs", "OverStates", "searches states instead"),
    ("crates/raddle-search/src/filtered.rs", "HapSet", "trains first"),
    ("crates/raddle-search/src/minimise.rs", "Minimise", "searches as its last resort"),
    ("crates/raddle-threads/tests/reduction/best_first.rs", "Resumed", "restores it on the way"),
    ("crates/raddle-threads/tests/reduction/cache.rs", "Careless", "cuts too much"),
    ("corpus/tests/it/guarantees.rs", "Broken", "is wrong in some way"),
    (
        "bench/src/delaying/density.rs",
        "FailingSamples",
        "counts by its delays, which no observer sees",
    ),
    ("bench/src/eta/reduced.rs", "Coarse", "makes steps depend on each other"),
    ("bench/src/reduction/growth.rs", "Turns", "says that another task is running"),
];

/// The files of the list that are not there.
pub(super) fn missing(files: &BTreeSet<String>) -> Vec<String> {
    let gone = HOLDERS.iter().filter(|known| !files.contains(known.0));
    gone.map(|(file, name, _)| format!("{file}: listed for its strategy `{name}`, and not there"))
        .collect()
}

/// The types of a file that hold another strategy: their own one is asked by asking that.
pub(super) fn holders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(" Strategy for ") {
        let line = rest[..at].rfind('\n').map_or(0, |end| end + 1);
        let begins = rest[line..at].trim_start().starts_with("impl");
        let indent = rest[line..].len() - rest[line..].trim_start().len();
        rest = &rest[at + " Strategy for ".len()..];
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
        let end = format!("\n{}}}", " ".repeat(indent));
        let block = rest.find(&end).map_or(rest, |end| &rest[..end]);
        if begins && (block.contains(".begin(plan)") || block.contains(".decide(")) {
            found.extend(name);
        }
    }
    found
}

/// What is wrong with the holders in a file of this name.
pub(super) fn check(file: &str, text: &str) -> Vec<String> {
    let here = holders(text);
    let known = |name: &str| HOLDERS.iter().any(|known| (known.0, known.1) == (file, name));
    let new = here.iter().filter(|name| !known(name)).map(|name| {
        format!(
            "{file}: `{name}` holds another strategy; make it an observer, or add it to the list in \
             xtask/src/tidy/strategies.rs with what it decides itself"
        )
    });
    let gone = HOLDERS.iter().filter(|known| known.0 == file && !here.contains(&known.1));
    let gone = gone.map(|(_, name, _)| {
        format!("{file}: `{name}` is listed as a strategy that holds another, and is none")
    });
    new.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDER: &str = "\
impl<S: Strategy> Strategy for Loud<S> {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.inner.begin(plan)
    }
}

impl Strategy for Plain {
    fn decide(&mut self, point: &Point<'_>) -> Answer {
        Answer::Take(0)
    }
}
";

    #[test]
    fn a_strategy_that_forwards_is_found() {
        assert_eq!(holders(HOLDER), ["Loud"]);
        let complaints = check("somewhere.rs", HOLDER);
        assert!(matches!(&complaints[..], [one] if one.contains("`Loud` holds another")));
    }

    #[test]
    fn the_list_has_no_more_than_there_are() {
        let file = "crates/raddle-search/src/probe.rs";
        let complaints = check(file, "");
        assert!(matches!(&complaints[..], [one] if one.contains("`Probes` is listed")));
    }
}
