//! The order in which searches that keep a tree run their executions, and what they estimate on the way, is
//! pinned: one line for each search and program, with the number of executions and a hash of each.
//!
//! `sequences.txt` is what was recorded. A change of it is a change of what users see: a schedule that was
//! found by the n-th execution is found by another one. With `RADDLE_RECORD=1` the test writes the file anew.

use std::fmt::Write as _;

use raddle_engine::strategy::{Plan, Strategy};
use raddle_trace::Progress;

use crate::registry::build;
use crate::toy::{self, Op, Toy};

/// As many executions of each are run.
const MAX_EXECUTIONS: usize = 400;

/// And of each that is saved.
const FEWER: usize = 100;

const SEEDS: [u64; 3] = [1, 7, 1 << 40];

fn programs() -> Vec<(&'static str, Toy)> {
    let writer = || vec![Op::Write(0), Op::Step, Op::Write(0)];
    vec![
        ("independent", Toy::independent(&[2, 2, 2])),
        ("wide", Toy::independent(&[1, 1, 1, 1, 1])),
        (
            "mixed",
            Toy::new(vec![
                vec![Op::Lock, Op::Value(3), Op::Unlock],
                vec![Op::Yield, Op::Lock, Op::Unlock],
                vec![Op::Value(2), Op::Write(0)],
            ]),
        ),
        ("writers", Toy::new(vec![writer(), writer(), vec![Op::Read(0), Op::Yield, Op::Read(0)]])),
        ("limited", Toy { max_steps: 5, ..Toy::independent(&[3, 3, 2]) }),
    ]
}

/// Compositions, and whether what they draw depends on the seed.
fn searches() -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for frontier in ["breadth-first", "random"] {
        for bound in ["", " preemptions(0)", " preemptions(1)", " preemptions(2)"] {
            all.push((format!("all {frontier}{bound}"), frontier == "random"));
        }
        for order in ["in-turns", "random"] {
            all.push((
                format!("all {frontier} {order}"),
                frontier == "random" || order == "random",
            ));
        }
    }
    let priorities = [
        ("pb", false),
        ("departures", false),
        ("rand", true),
        ("dpor", false),
        ("mdpor, pb", false),
        ("ss, mdpor", false),
        ("new-pair, pb", false),
        ("dpor, ss, departures, rand", true),
        ("sum(2, pb, 3, mdpor)", false),
        ("patterns, pb", false),
    ];
    for (priorities, draws) in priorities {
        all.push((format!("all best-first({priorities})"), draws));
        all.push((format!("all best-first({priorities}) preemptions(1)"), draws));
        all.push((format!("dpor(source) best-first({priorities})"), draws));
        all.push((format!("dpor(classic) best-first({priorities})"), draws));
    }
    for reduction in ["dpor(source)", "dpor(classic)"] {
        all.push((format!("{reduction} breadth-first"), false));
        all.push((format!("{reduction} random"), true));
    }
    all.push(("all best-first(pb) in-turns".to_owned(), false));
    all.push(("all best-first(mdpor) random".to_owned(), true));
    all
}

fn hash(sum: u64, text: &str) -> u64 {
    text.bytes().fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What was run: how much, what, and what was said about it after each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ran {
    executions: usize,
    schedules: u64,
    progress: u64,
}

impl Ran {
    fn nothing() -> Self {
        let empty = 0xcbf2_9ce4_8422_2325;
        Self { executions: 0, schedules: empty, progress: empty }
    }

    /// Runs at most so many more.
    fn run(&mut self, search: &mut dyn Strategy, toy: &Toy, most: usize) {
        let mut plan = Plan::default();
        for _ in 0..most {
            let Some(execution) = toy::execute(search, &mut plan, toy) else { break };
            self.executions += 1;
            let options = execution.decisions.iter().map(|taken| (taken.option, taken.of));
            let (options, cut) = (options.collect::<Vec<_>>(), execution.cut.is_some());
            self.schedules = hash(self.schedules, &format!("{options:?} {cut}"));
            let Progress { covered, estimate, bound, pending, .. } = search.progress();
            let said =
                format!("{covered:?} {estimate:?} {bound:?} {pending} {:?}", search.covered());
            self.progress = hash(self.progress, &said);
        }
    }
}

fn make(text: &str, seed: u64) -> Box<dyn Strategy> {
    build(text, seed).unwrap_or_else(|why| panic!("{text}: {why}")).strategy
}

#[test]
fn executions_come_in_the_recorded_order() {
    let mut found = String::new();
    for (text, draws) in searches() {
        for (name, toy) in programs() {
            for &seed in if draws { &SEEDS[..] } else { &SEEDS[..1] } {
                let mut ran = Ran::nothing();
                ran.run(&mut *make(&text, seed), &toy, MAX_EXECUTIONS);
                let Ran { executions, schedules, progress } = ran;
                writeln!(
                    found,
                    "{text} / {name} / {seed}: {executions} {schedules:016x} {progress:016x}"
                )
                .expect("a string takes all");
            }
        }
    }
    #[expect(clippy::disallowed_methods, reason = "to record is for the environment to say")]
    let records = std::env::var_os("RADDLE_RECORD").is_some_and(|value| value == "1");
    if records {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sequences.txt");
        std::fs::write(file, &found).expect("the file can be written");
        return;
    }
    for (found, recorded) in found.lines().zip(include_str!("sequences.txt").lines()) {
        assert_eq!(found, recorded);
    }
    assert_eq!(found.lines().count(), include_str!("sequences.txt").lines().count());
}

/// Departures alone lead to the same executions, in the same order.
#[test]
fn a_compact_tree_runs_what_best_first_by_preemptions_runs() {
    for bound in ["", " preemptions(0)", " preemptions(1)", " preemptions(2)"] {
        for (name, toy) in programs() {
            let [best, compact] = ["all best-first(pb)", "all compact"].map(|text| {
                let mut ran = Ran::nothing();
                let mut search = make(&format!("{text}{bound}"), 1);
                ran.run(&mut *search, &toy, MAX_EXECUTIONS);
                (ran.executions, ran.schedules, search.progress().pending, search.covered())
            });
            assert_eq!(best, compact, "{name}{bound}");
        }
    }
}

#[test]
fn a_search_that_is_saved_and_restored_goes_on_in_the_same_order() {
    let compact =
        [("all compact".to_owned(), false), ("all compact preemptions(1)".to_owned(), false)];
    for (text, _) in searches().into_iter().chain(compact) {
        for (name, toy) in programs() {
            let mut expected = Ran::nothing();
            expected.run(&mut *make(&text, 3), &toy, FEWER);
            for n in [1, 7, 23, 60] {
                let n = n.min(expected.executions);
                let mut first = make(&text, 3);
                let mut ran = Ran::nothing();
                ran.run(&mut *first, &toy, n);
                let mut second = make(&text, 99);
                second.restore(&first.save().expect("it can be saved")).expect("it is its own");
                ran.run(&mut *second, &toy, FEWER - n);
                assert_eq!(ran, expected, "{text} of {name}, saved after {n}");
            }
        }
    }
}
