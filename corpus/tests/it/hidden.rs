//! What of hidden state is noticed, and by which strategy: the table of the documentation.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use raddle::actors::{Actor, Context, System};
use raddle::{Config, Note, Report, Verdict, explore};
use raddle_corpus::hidden;

/// What the columns are of.
const STRATEGIES: [&str; 7] = ["dfs", "random", "pos", "pct(3)", "dpor", "dfs cache", "dpor | pos"];

const PAGE: &str = include_str!("../../../book/src/hidden-state.md");

/// What a strategy says of a program.
fn said(strategy: &str, program: fn()) -> &'static str {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    config.executions = Some(2_000);
    config.seed = Some(1);
    match explore(config, program).expect("a known strategy").verdict {
        Verdict::Failed => "fails",
        Verdict::Inconclusive => "did not repeat itself",
        Verdict::Covered | Verdict::Passed => "missed",
        other => panic!("nothing is known of {other:?}"),
    }
}

#[test]
fn the_table_of_the_documentation_says_what_happens() {
    let mut table = String::from("| hidden |");
    for strategy in STRATEGIES {
        write!(table, " `{}` |", strategy.replace('|', "\\|")).expect("a string grows");
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(STRATEGIES.len()));
    for program in hidden::ALL {
        write!(table, "\n| {} |", program.name).expect("a string grows");
        for strategy in STRATEGIES {
            write!(table, " {} |", said(strategy, program.run)).expect("a string grows");
        }
    }
    assert!(PAGE.contains(&table), "book/src/hidden-state.md needs this table:\n{table}");
}

/// A reduction says on what it rests, and the members of a portfolio go on after it.
#[test]
fn the_premise_is_in_the_sentence() {
    let seeded = |strategy: &str, seed| {
        let mut config = Config::default();
        config.seed = Some(seed);
        strategy.clone_into(&mut config.strategy);
        explore(config, hidden::order_of_writes).expect("a known strategy")
    };
    let run = |strategy: &str| seeded(strategy, 0);
    for strategy in ["dpor", "dpor(source)", "dpor(classic) best-first(pb)", "dfs cache"] {
        let report = run(strategy);
        assert_eq!(report.verdict, Verdict::Covered, "{strategy}");
        let sentence = report.guarantee.to_string();
        let premise = "assuming sequentially consistent memory, tasks share state only through \
                       raddle's types";
        assert!(sentence.ends_with(premise), "{strategy}: {sentence}");
    }
    for strategy in ["portfolio", "dpor | random"] {
        let reports: Vec<_> = (0..20).map(|seed| seeded(strategy, seed)).collect();
        assert!(reports.iter().all(|report| report.verdict == Verdict::Failed), "{strategy}");
        let late = |report: &Report| {
            format!("{:?}", report.notes).contains("the other members went on for ")
        };
        assert!(
            reports.iter().any(late),
            "{strategy}: some found it after the reduction had ended"
        );
    }
    let every = run("dfs").guarantee.to_string();
    assert!(!every.contains("raddle's types"), "{every}");
}

/// Handles messages and does nothing.
struct Idle;

impl Actor for Idle {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, ()>) {}
}

/// One, two and three messages in turn.
#[test]
fn state_that_is_kept_between_executions_of_actors_is_noticed() {
    static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);
    for strategy in ["dfs", "dpor", "dpor(eta)", "random", "pos"] {
        let mut config = Config::default();
        strategy.clone_into(&mut config.strategy);
        config.executions = Some(50);
        let report = explore(config, || {
            let system = System::builder().build();
            let actor = system.spawn(Idle);
            for _ in 0..=EXECUTIONS.fetch_add(1, Ordering::Relaxed) % 3 {
                system.send(&actor, ());
            }
            system.handle_all();
        });
        let report = report.expect("a known strategy");
        assert_eq!(report.verdict, Verdict::Inconclusive, "{strategy}");
        assert!(report.notes.iter().any(|note| matches!(note, Note::Diverged(_))), "{strategy}");
    }
}
