//! What the registry builds, and every message with which it refuses.

use std::error::Error;

use proptest::prelude::{Just, Strategy as _, prop_oneof, proptest};
use raddle_engine::strategy::Plan;
use raddle_trace::{Covered, Settings, Timeouts};

use super::*;
use crate::replay::Replay;
use crate::toy::{self, Op, Toy};

#[track_caller]
fn refusal(text: &str) -> String {
    build(text, 1).unwrap_err().to_string()
}

#[test]
fn every_form_has_one_canonical_name_which_builds_the_same() {
    let toy = Toy::independent(&[2, 2, 2]);
    for (text, name) in [
        ("random", "random"),
        ("round-robin", "round-robin"),
        ("pct", "pct(3)"),
        ("pct( 5 )", "pct(5)"),
        ("pct(3,40)", "pct(3, 40)"),
        ("pos", "pos"),
        ("urw", "urw"),
        ("surw", "surw"),
        ("dfs", "dfs"),
        ("all", "dfs"),
        ("all depth-first", "dfs"),
        ("depth-first all non-preemptive", "dfs"),
        ("dfs non-preemptive", "dfs"),
        ("dfs preemptions(2)", "dfs preemptions(2)"),
        ("non-preemptive preemptions(0) dfs", "dfs preemptions(0)"),
        ("dfs in-turns", "dfs in-turns"),
        ("in-turns all", "dfs in-turns"),
        ("dfs cache", "dfs cache(1000000)"),
        ("cache(50) all preemptions(2)", "dfs preemptions(2) cache(50)"),
        ("dfs cache(7) in-turns", "dfs in-turns cache(7)"),
        ("all breadth-first", "all breadth-first"),
        ("breadth-first all non-preemptive", "all breadth-first"),
        ("compact all non-preemptive preemptions(2)", "all compact preemptions(2)"),
        ("all random", "all random"),
        ("random all preemptions(1)", "all random preemptions(1)"),
        ("all random random", "all random random"),
        ("all breadth-first random", "all breadth-first random"),
        ("all breadth-first in-turns", "all breadth-first in-turns"),
        ("all depth-first random", "dfs random"),
        ("random dfs", "dfs random"),
        ("dfs probes", "dfs probes(10)"),
        ("probes(3) all random preemptions(2)", "all random preemptions(2) probes(3)"),
        ("dpor probes(5)", "dpor probes(5)"),
        ("all best-first", "all best-first(pb)"),
        ("preemptions(2) dpor(optimal)", "dpor preemptions(2)"),
        ("best-first(ss,mdpor) all preemptions(2)", "all best-first(ss, mdpor) preemptions(2)"),
        ("all best-first(rand) random", "all best-first(rand) random"),
        (
            "all best-first(sum(2,pb,1,departures),dpor)",
            "all best-first(sum(2, pb, 1, departures), dpor)",
        ),
        ("dfs delays(2)", "dfs delays(2) rr"),
        ("dfs rtc", "dfs rtc"),
        ("prr(4) dfs delays(1)", "dfs delays(1) prr(4)"),
        ("dfs probabilistic-rr", "dfs prr"),
        ("dfs delays(1) state-cache(9)", "dfs delays(1) rr cache(9)"),
        ("dfs depth(3)", "dfs depth(3)"),
        ("all best-first(delays)", "all best-first(delays) rr"),
        ("all best-first(delays(2)) delays(3) rtc", "all best-first(delays(2)) delays(3) rtc"),
        ("all best-first cache(9)", "all best-first(pb) cache(9)"),
        ("strata", "strata(rr)"),
        ("ses(rtc)", "strata(rtc)"),
        ("strata(prr(3), exact, increment(1), refuse)", "strata(prr(3), exact, refuse)"),
        (
            "strata(increment(2), cache(5)) delays(4)",
            "strata(rr, increment(2), cache(5)) delays(4)",
        ),
        ("ss", "strata-sample(rr)"),
        ("strata-sample(rtc, c1(10), c2(4))", "strata-sample(rtc, c2(4))"),
        ("irs", "irs(100)"),
        ("strata(rtc, then-sample)", "strata(rtc, then-sample)"),
        ("dpor(source) best-first(mdpor,pb)", "dpor(source) best-first(mdpor, pb)"),
        ("best-first(rand) dpor(classic)", "dpor(classic) best-first(rand)"),
        ("mixed best-first(rare) dpor(classic)", "dpor(classic) best-first(rare) mixed"),
        ("dpor(source) breadth-first pos", "dpor(source) breadth-first pos"),
        ("hapset(dpor,widen)", "hapset(dpor, widen)"),
    ] {
        let mut first = build(text, 7).unwrap();
        assert_eq!(first.name, name, "for {text}");
        let mut second = build(name, 7).unwrap();
        assert_eq!(second.name, name);
        assert_eq!(
            toy::first(&mut *first.strategy, &toy, 100),
            toy::first(&mut *second.strategy, &toy, 100),
            "for {text}"
        );
    }
}

#[test]
fn a_built_search_says_what_it_covered() {
    let toy = Toy::independent(&[2, 2]);
    for (text, covered) in [
        ("dfs", Covered::Everything),
        ("dfs in-turns", Covered::Everything),
        ("dfs preemptions(1)", Covered::Preemptions(1)),
        ("dpor preemptions(1)", Covered::BoundedEquivalence(1)),
        ("dfs random", Covered::Everything),
        ("dfs probes(2)", Covered::Everything),
        ("all breadth-first", Covered::Everything),
        ("all compact", Covered::Everything),
        ("all compact preemptions(1)", Covered::Preemptions(1)),
        ("all random in-turns", Covered::Everything),
        ("all random preemptions(1)", Covered::Preemptions(1)),
        // 4 prefixes of two options, of which one is met from two sides.
        ("dfs cache", Covered::Cached { preemptions: None, compared: 5, stored: 4, dropped: 0 }),
        ("round-robin", Covered::Sample { executions: 1, bound: None }),
    ] {
        let mut built = build(text, 1).unwrap();
        toy::all(&mut *built.strategy, &toy);
        assert_eq!(built.strategy.covered(), covered, "for {text}");
    }
}

#[test]
fn settings_are_refused_with_the_reason() {
    let refused = |text: &str, settings| {
        let environment = Environment { seed: 1, settings, ..Environment::default() };
        let error = build(text, environment).err()?;
        let (name, reason) = error.refused_settings().expect("nothing else is wrong");
        assert_eq!((name, reason), (build(text, 1).unwrap().name.as_str(), &*error.to_string()));
        Some(reason)
    };
    let idle = Settings { timeouts: Timeouts::Idle, ..Settings::default() };
    let spurious = Settings { spurious: true, ..Settings::default() };
    for text in super::saving::compositions() {
        assert_eq!(refused(&text, Settings::default()), None, "{text}");
    }
    for text in
        ["dpor(eta)", "dpor preemptions(2)", "hapset(dpor)", "pset", "hapset(dpor(classic))"]
    {
        let why = refused(text, idle).expect(text);
        let instead = "use `dfs` or `dpor`, or let timeouts fire at any time";
        assert!(why.ends_with(instead), "{text}: {why}");
        assert_eq!(refused(text, spurious), None, "{text}");
    }
    for text in [
        "dpor(source) best-first(pb)",
        "dpor(classic) best-first(pb) probes(3)",
        "dpor(source) breadth-first",
        "dpor(classic) random",
    ] {
        let why = refused(text, idle).expect(text);
        let instead = "use `all` or `dpor`, or let timeouts fire at any time";
        assert!(why.ends_with(instead), "{text}: {why}");
        assert_eq!(refused(text, spurious), None, "{text}");
    }
    // All of it is run, whatever races there are.
    for text in ["dfs", "all best-first(pb)", "hapset(all)", "pset(preemptions(1))", "pos"] {
        assert_eq!((refused(text, idle), refused(text, spurious)), (None, None), "{text}");
    }
    // What waits when a timer fires races as at the end of an execution.
    for text in ["dpor", "dpor(source)", "dpor(classic)", "dpor probes(2)"] {
        assert_eq!((refused(text, idle), refused(text, spurious)), (None, None), "{text}");
    }
}

#[test]
fn the_seed_feeds_the_samplers() {
    let toy = Toy::independent(&[3, 3, 3]);
    for text in ["random", "pct(3)", "pos", "urw", "surw"] {
        let run = |seed| toy::first(&mut *build(text, seed).unwrap().strategy, &toy, 20);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    for (text, near) in [
        ("dsf", "dfs"),
        ("radnom", "random"),
        ("roundrobin", "round-robin"),
        ("dfs preemption(2)", "preemptions"),
        ("dfs preempt(2)", "preemptions"),
        ("dpr", "dpor"),
        ("bestfirst(pb)", "best-first"),
    ] {
        assert_eq!(build(text, 1).unwrap_err().suggestion(), Some(near), "for {text}");
    }
    assert_eq!(
        refusal("quantum"),
        "`quantum` is not a known strategy; here are `random`, `round-robin`, `pct(d)`, `pos`, \
         `rff`, `surw`, `urw`, `irs(n)`, `strata-sample(rr | rtc | rtc-latest | prr | ordered | custom, c1(n), \
         c2(n))`, `bita(pr | pbr | pcr)`, `ss(rr | rtc | rtc-latest | prr | ordered | custom, c1(n), c2(n))`, `dfs`, `states(bfs | \
         dfs, depth(n), threads(n))`, `strata(rr | rtc | rtc-latest | prr | ordered | custom, exact, increment(n), \
         cache(n), refuse, then-sample(bytes), depth(n), threads(n))`, `ses(rr | rtc | rtc-latest | prr | ordered | \
         custom, exact, increment(n), cache(n), refuse, then-sample(bytes), depth(n), threads(n))`, `all`, `dpor(classic | source | optimal | eta)`, \
         `hapset(dpor | all | preemptions(k), calls(n), train(n), widen)`, `pset(dpor | all | \
         preemptions(k), calls(n), train(n), widen)`"
    );
}

#[test]
fn text_that_is_no_composition_keeps_its_reason() {
    let error = build("dfs(", 1).unwrap_err();
    assert_eq!(error.to_string(), "this is not how a strategy is written");
    assert_eq!(
        error.source().unwrap().to_string(),
        "the text ends at column 5; write a name or a number here, as in `pct(3)`"
    );
}

#[test]
fn wrong_arguments_are_refused_with_the_right_ones() {
    for (text, message) in [
        (
            "pct(0)",
            "`pct(0)` does not fit: write `pct(d)`, where d is a number from 1 to 64, or \
             `pct` for d = 3",
        ),
        (
            "pct(2, 0)",
            "`pct(2, 0)` does not fit: write `pct(d)`, where d is a number from 1 to 64, or \
             `pct` for d = 3",
        ),
        (
            "dfs preemptions",
            "`preemptions` does not fit: write `preemptions(k)`, where k is a number",
        ),
        (
            "dfs preemptions(two)",
            "`preemptions(two)` does not fit: write `preemptions(k)`, where k is a number",
        ),
        ("random(3)", "`random(3)` does not fit: write `random`"),
        (
            "dfs cache(0)",
            "`cache(0)` does not fit: write `cache(n)`, where n is a number from 1, or `cache` for \
             n = 1000000",
        ),
        ("dpor(best)", "`dpor(best)` does not fit: write `dpor(classic | source | optimal | eta)`"),
    ] {
        assert_eq!(refusal(text), message);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of combinations")]
fn combinations_without_sense_are_refused_with_the_reason() {
    for (text, message) in [
        (
            "random pct(3)",
            "`random` and `pct(3)` are two samplers, and there can be one; leave one out",
        ),
        (
            "random random",
            "`random` and `random` are two samplers, and there can be one; leave one out",
        ),
        (
            "pct(3) dfs",
            "`pct(3)` is a sampler and decides every step, so nothing is left for `dfs`; \
             leave one out",
        ),
        (
            "random preemptions(2)",
            "`preemptions(2)` is part of a search, here its bound, and the sampler `random` \
             has none; leave it out, or write `dfs` instead of `random`",
        ),
        (
            "preemptions(2)",
            "`preemptions(2)` is part of a search, here its bound, and there is no search; \
             write `dfs preemptions(2)`",
        ),
        (
            "depth-first",
            "`depth-first` is part of a search, here its frontier, and there is no search; \
             write `all depth-first`",
        ),
        (
            "dfs preemptions(1) preemptions(2)",
            "`preemptions(1)` and `preemptions(2)` are two bounds, and there can be one; \
             leave one out",
        ),
        (
            "dpor delays(2)",
            "a reduction runs one of several equivalent executions, and equivalent prefixes rank the options \
             differently, so one that is within the delays may be left out for one that is not; write \
             `dfs delays(2)`, or `dpor preemptions(2)` for a reduction within a bound",
        ),
        (
            "dpor(source) best-first(delays)",
            "a reduction runs one of several equivalent executions, and equivalent prefixes rank the options \
             differently, so one that is within the delays may be left out for one that is not; write \
             `departures` instead of `delays`",
        ),
        (
            "dfs preemptions(1) delays(2)",
            "`preemptions(1)` and `delays(2)` are two bounds, and there can be one; leave one \
             out",
        ),
        (
            "dfs depth-first",
            "`dfs` has its own frontier, so `depth-first` has no place; leave one out",
        ),
        ("dfs all", "`dfs` has its own expansion, so `all` has no place; leave one out"),
        (
            "dfs preemptions(2) in-turns",
            "`in-turns` itself leaves tasks that could go on, so preemptions cannot be \
             bounded along it; leave out one of the two",
        ),
        (
            "dfs delays(2) non-preemptive",
            "delays are those of an explorer, and `non-preemptive` is none; write `rr`, `rtc` or `prr` \
             instead, or leave `non-preemptive` out",
        ),
        (
            "all best-first(delays) in-turns",
            "delays are those of an explorer, and `in-turns` is none; write `rr`, `rtc` or `prr` instead, or \
             leave `in-turns` out",
        ),
        (
            "all best-first(mdpor, delays)",
            "`mdpor` counts preemptions or compares executions, and along an explorer delays are counted; \
             write `best-first(delays)`",
        ),
        (
            "dfs preemptions(2) rr",
            "`rr` itself leaves tasks that could go on, so preemptions cannot be bounded along it; leave out \
             one of the two",
        ),
        ("dfs rr probes", "`probes` are drawn without an explorer; leave one of the two out"),
        ("dfs rr depth(2)", "`depth` is counted without an explorer; write `delays(k)` instead"),
        (
            "dpor(source) compact",
            "`compact` keeps only where executions depart from the order without preemptions, so `dpor(source)` has no place; leave it \
             out, or write `best-first(pb)` for `compact`",
        ),
        (
            "all breadth-first depth(2)",
            "`depth(2)` goes with a depth-first search alone; leave `breadth-first` out",
        ),
        (
            "strata(rr) cache",
            "`strata(rr)` has its explorer and its cache in its brackets, so `cache` has no place; leave it out",
        ),
        (
            "strata(custom)",
            "`custom` is the explorer that is given with a search, and none was; call raddle::explore_by",
        ),
        ("dfs custom", "`custom` is not a search; give an explorer to raddle::explore_by"),
        (
            "dpor(source) preemptions(2)",
            "`preemptions(2)` with `dpor(source)` would lose executions: equivalent ones differ in what they \
             cost; write `dpor preemptions(2)`, which knows that, or `dfs preemptions(2) cache`",
        ),
        (
            "dpor depth(3)",
            "`depth(3)` with `dpor` would lose executions: equivalent ones differ in what they cost; write `dfs \
             depth(3)`, or bound preemptions",
        ),
        (
            "dpor preemptions(2) probes",
            "`probes` are for searches with a tree, which `dpor preemptions(2)` has not; leave `probes` out",
        ),
        (
            "random cache",
            "`cache` is part of a search, here its cache, and the sampler `random` has none; leave \
             it out, or write `dfs` instead of `random`",
        ),
        (
            "cache",
            "`cache` is part of a search, here its cache, and there is no search; write \
          `dfs cache`",
        ),
        (
            "dfs cache state-cache",
            "`cache` and `state-cache` are two caches, and there can be one; leave one out",
        ),
        (
            "dpor best-first(pb)",
            "`dpor` goes depth first: what it tries next belongs to the path it is on; write \
             `dpor(source) best-first(pb)`",
        ),
        (
            "dpor cache(9)",
            "`cache` would cut executions whose races the reduction still needs; leave it out, or \
             write `dfs`",
        ),
        (
            "dpor(source) state-cache",
            "`state-cache` would cut executions whose races the reduction still needs; leave \
             it out, or write `dfs`",
        ),
    ] {
        assert_eq!(refusal(text), message, "for {text}");
    }
}

#[test]
fn frontiers_and_probes_are_refused_where_they_have_no_place() {
    for (text, message) in [
        (
            "dpor breadth-first",
            "`dpor` goes depth first: what it tries next belongs to the path it is on; write \
             `dpor(source) breadth-first`",
        ),
        (
            "all best-first(mdpor) cache",
            "`cache` cuts executions, and `mdpor` compares whole ones; write `best-first(pb)`, or leave `cache` \
             out",
        ),
        (
            "all random random preemptions(2)",
            "`random` itself leaves tasks that could go on, so preemptions cannot be bounded along \
             it; leave out one of the two",
        ),
        (
            "random probes",
            "`probes` is part of a search, here its probes, and the sampler `random` has none; leave \
             it out, or write `dfs` instead of `random`",
        ),
    ] {
        assert_eq!(refusal(text), message, "for {text}");
    }
}

#[test]
fn what_stands_elsewhere_is_refused_with_what_to_do() {
    let message = "`replay` is not a search; set RADDLE_REPLAY or call raddle::replay";
    assert_eq!(refusal("replay"), message);
}

#[test]
fn every_entry_is_either_built_or_refused_by_name() {
    for entry in REGISTRY {
        let argument = match entry.arguments {
            Arguments::Number { .. } => "(1)",
            Arguments::OneOf(words) if words.contains(&"source") => "(source)",
            _ => "",
        };
        let before = match entry.role {
            Role::Sampler | Role::Search | Role::Expansion => "",
            Role::Frontier => "all ",
            Role::Bound | Role::Cache | Role::Probes => "dfs ",
            // `random` beside a search is first of all a frontier.
            Role::Order => "all depth-first ",
            Role::Priority | Role::Choice | Role::Learning => {
                unreachable!("these have tables of their own")
            }
        };
        let result = build(&format!("{before}{}{argument}", entry.name), 1);
        match entry.status {
            Status::Here => assert!(result.is_ok(), "{}: {result:?}", entry.name),
            Status::Planned => assert_eq!(result.unwrap_err().planned(), Some(entry)),
            Status::Elsewhere(_) => assert_eq!(result.unwrap_err().planned(), None),
        }
    }
}

#[test]
fn priorities_are_refused_where_they_have_no_place() {
    let here = "`pb`, `departures`, `delays(n)`, `dpor`, `mdpor`, `ss`, `rand`, `rare`, \
                `sum(weight, priority, …)`, `method(name, …)`, `var(name, …)`, `patterns`, `new-pair`";
    for (text, message) in [
        ("pb", "`pb` is a priority of a frontier; write `all best-first(pb)`".to_owned()),
        ("all best-first(7)", format!("`7` is not a priority; write one of {here}")),
        ("all best-first(bp)", format!("`bp` is not a known priority; here are {here}")),
        ("all best-first(pb(2))", "`pb(2)` does not fit: write `pb`".to_owned()),
        (
            "all best-first(sum(pb))",
            "`sum(pb)` does not fit: write `sum(weight, priority, …)`".to_owned(),
        ),
        ("all best-first(method)", "`method` does not fit: write `method(name, …)`".to_owned()),
        ("all best-first(var(2))", "`var(2)` does not fit: write `var(name, …)`".to_owned()),
        ("all best-first(Deque)", format!("`Deque` is not a priority; write one of {here}")),
        (
            "all best-first(pb,pb,pb,pb,pb)",
            "`best-first(pb, pb, pb, pb, pb)` has too many priorities; write at most 4".to_owned(),
        ),
        (
            "dpor(eta) best-first(pb)",
            "`dpor(eta)` goes depth first: what it tries next belongs to the path it is on; write \
             `dpor(source) best-first(pb)`"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(text), message, "for {text}");
    }
}

#[test]
fn names_of_the_program_are_kept_as_they_are_written() {
    for text in [
        "all best-first(method(push, Deque::steal_half), pb)",
        "all best-first(var(queue.head, Mutex, src/deque.rs:42))",
        "dpor(source) best-first(patterns, sum(2, method(push), 1, pb))",
    ] {
        assert_eq!(build(text, 1).unwrap().name, text);
    }
}

#[test]
fn no_name_has_two_entries_of_one_role() {
    for (index, entry) in REGISTRY.iter().enumerate() {
        let same = |other: &Entry| other.name == entry.name && other.role == entry.role;
        assert!(!REGISTRY[..index].iter().any(same), "{}", entry.name);
        assert!(!entry.line.is_empty());
    }
}

/// Up to four tasks of up to six ops, or a few more with the lock.
fn programs() -> impl proptest::prelude::Strategy<Value = Toy> {
    let op = || {
        prop_oneof![
            Just(Op::Step),
            Just(Op::Yield),
            (0..3_u32).prop_map(Op::Read),
            (0..3_u32).prop_map(Op::Write),
            (2..4_u32).prop_map(Op::Value),
        ]
    };
    let locked = op().prop_map(|op| vec![Op::Lock, op, Op::Unlock]);
    let part = prop_oneof![3 => op().prop_map(|op| vec![op]), 1 => locked];
    let task = proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat());
    proptest::collection::vec(task, 1..5).prop_map(Toy::new)
}

/// The samplers that are here.
fn samplers() -> impl Iterator<Item = &'static str> {
    let here = |entry: &&Entry| entry.role == Role::Sampler && entry.status == Status::Here;
    REGISTRY.iter().filter(here).map(|entry| entry.name)
}

proptest! {
    #![proptest_config(toy::fixed_seed())]

    // That every option taken is one there is, is checked by what drives the strategy.
    #[test]
    fn every_execution_of_a_sampler_replays_and_is_drawn_again(toy in programs(), seed: u64) {
        for name in samplers() {
            let mut sampler = build(name, seed).unwrap().strategy;
            let mut again = build(name, seed).unwrap().strategy;
            let (mut plan, mut other) = (Plan::default(), Plan::default());
            for nth in 0..8 {
                if nth == 5 {
                    again = build(name, 0).unwrap().strategy;
                    again.restore(&sampler.save().unwrap()).unwrap();
                }
                let Some(recorded) = toy::execute(&mut *sampler, &mut plan, &toy) else { break };
                let drawn = toy::execute(&mut *again, &mut other, &toy);
                assert_eq!(drawn.as_ref(), Some(&recorded), "{name}, execution {nth}");
                let options = recorded.decisions.iter().map(|taken| taken.option).collect();
                let mut replay = Replay::new(options);
                let replayed = toy::execute(&mut replay, &mut Plan::default(), &toy);
                assert_eq!(replayed, Some(recorded), "{name}, execution {nth}");
            }
            assert_eq!(sampler.covered(), again.covered());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text: String) {
        let _ = build(&text, 1).map_err(|error| error.to_string());
    }

    #[test]
    fn no_choice_of_names_makes_it_panic(
        picks in proptest::collection::vec((0..REGISTRY.len(), 0_u32..4), 1..5)
    ) {
        let term = |&(index, number): &(usize, u32)| match number {
            0 => REGISTRY[index].name.to_owned(),
            _ => format!("{}({number})", REGISTRY[index].name),
        };
        let text = picks.iter().map(term).collect::<Vec<_>>().join(" ");
        let _ = build(&text, 1).map_err(|error| error.to_string());
    }
}

#[test]
fn reductions_are_built_by_their_names() {
    for (text, name) in [
        ("dpor", "dpor"),
        ("dpor(optimal)", "dpor"),
        ("dpor depth-first", "dpor"),
        ("dpor(source)", "dpor(source)"),
        ("dpor(classic) depth-first", "dpor(classic)"),
    ] {
        assert_eq!(build(text, 1).expect("it is here").name, name);
    }
}

/// Words between quotes.
fn literals(source: &'static str) -> impl Iterator<Item = &'static str> {
    let name = |word: &&str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
    };
    source.split('"').filter(name)
}

#[test]
fn every_name_that_is_listed_is_accepted_and_has_an_example() {
    for entry in names().filter(|entry| entry.status == Status::Here) {
        let Entry { name, example, .. } = entry;
        if entry.role == Role::Choice {
            continue;
        }
        let composition: Composition = example.parse().expect("an example parses");
        assert!(composition.terms.iter().any(|term| names_it(term, name)), "{name}: {example}");
        build(example, 1).unwrap_or_else(|error| panic!("{name}: {example}: {error}"));
    }
    // Of every word that may stand in brackets too.
    for entry in names() {
        let Arguments::OneOf(words) = entry.arguments else { continue };
        for word in words {
            build(&format!("{}({word})", entry.name), 1).expect("a word that is listed");
        }
    }
}

fn names_it(term: &Term, name: &str) -> bool {
    let inside = |arg: &Arg| matches!(arg, Arg::Term(term) if names_it(term, name));
    term.name == name || term.args.iter().any(inside)
}

#[test]
fn every_name_that_is_accepted_is_listed() {
    // What the code that accepts names could be asked for: every word in its own text.
    let sources = [
        include_str!("../registry.rs"),
        include_str!("table.rs"),
        include_str!("../grammar.rs"),
        include_str!("../hapset.rs"),
    ];
    let frames = [
        "_",
        "_(1)",
        "all _",
        "all _(1)",
        "dfs _",
        "dfs _(1)",
        "dpor(_)",
        "hapset(_)",
        "hapset(_(1))",
        "hapset(dpor, _)",
        "hapset(dpor, _(1))",
        "hapset(dpor(_))",
        "all best-first(_)",
        "all best-first(_(x))",
        "all best-first(_(1, pb))",
        "all best-first(sum(1, _))",
    ];
    let listed = |word: &str| {
        names().any(|entry| {
            let words = match entry.arguments {
                Arguments::OneOf(words) => words,
                _ => &[],
            };
            entry.status == Status::Here && entry.name == word || words.contains(&word)
        })
    };
    let mut accepted = std::collections::BTreeSet::new();
    for word in sources.into_iter().flat_map(literals) {
        if frames.iter().any(|frame| build(&frame.replace('_', word), 1).is_ok()) {
            assert!(listed(word), "`{word}` is accepted and not listed");
            accepted.insert(word);
        }
    }
    // And that was all of them.
    for entry in names().filter(|entry| entry.status == Status::Here) {
        let found = accepted.contains(entry.name) || entry.role == Role::Choice;
        assert!(found, "`{}` is in no frame", entry.name);
    }
}

#[test]
fn what_stands_elsewhere_says_where() {
    assert_eq!(
        refusal("dfs auto"),
        "`auto` stands for whole strategies and takes no parts; write it alone, or a list of your own, as in `dfs preemptions(2) | pos`"
    );
    assert_eq!(
        refusal("calls(3)"),
        "`calls(3)` is how `hapset` learns; write `hapset(dpor, calls(3))`"
    );
    assert_eq!(
        refusal("portfolo"),
        "`portfolo` is not a known strategy; did you mean `portfolio`?"
    );
}
