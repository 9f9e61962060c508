//! What the execution tree holds over a search: the shape of GAMBIT's Figure 5.
//!
//! GAMBIT (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 5.4) counts 16 bytes for each node of a
//! search of a blocking collection with some 204 steps, every 1,000 executions, and says that its search
//! with a reduction ended after 326,743 executions with at most 90,159 nodes at once. Ours counts all
//! bytes, spare room too.
//!
//! What it is compared with is not there: known executions, those that were run and are kept and those that
//! wait, as lists of their decisions, and the tree of partial schedules with a node of 16 bytes for each
//! decision (GAMBIT, section 3.1). Both are of what ours holds at that moment, and only of what leads to something that
//! waits: a search which does not drop what it has done with would hold more.
//!
//! Two forms of the tree are measured. `tree.rs` keeps the decisions after a departure, so that a prefix is a plan, and what
//! priorities and reductions need to compare executions. `all compact` keeps departures alone, as the paper does, and asks
//! the default order again.

use raddle_engine::observer::{Observer, Observers, Paused};
use raddle_engine::{Ended, Limits, Setup, Stop, Strategy, explore_from};
use raddle_search::bound::Bound;
use raddle_search::order::NonPreemptive;
use raddle_search::tree::priority::{ModifiedDpor, Preemptions, SleepSets};
use raddle_search::tree::{CompactTree, Frontier, TreeExpansion, TreeMemory, TreeSearch};
use raddle_trace::Carried;

use crate::numbers::{grouped, shown};
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

/// What GAMBIT's nodes were of its executions, in percent.
const GAMBITS: f64 = 100.0 * 90_159.0 / 326_743.0;
const EVERY: u64 = 1_000;

/// How the collection is searched.
#[derive(Clone, Copy, Debug)]
enum Search {
    Reduced(TreeExpansion),
    /// With executions compared.
    Bounded,
    /// By preemptions alone.
    Plain,
    /// The same executions in the same order, by departures alone.
    Compact,
}

impl Search {
    const ALL: [Self; 5] = [
        Self::Reduced(TreeExpansion::Source),
        Self::Reduced(TreeExpansion::Classic),
        Self::Bounded,
        Self::Plain,
        Self::Compact,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Reduced(TreeExpansion::Classic) => "dpor(classic) best-first(mdpor, pb)",
            Self::Reduced(_) => "dpor(source) best-first(mdpor, pb)",
            Self::Bounded => "all best-first(ss, mdpor) preemptions(2)",
            Self::Plain => "all best-first(pb) preemptions(2)",
            Self::Compact => "all compact preemptions(2)",
        }
    }

    fn build(self) -> Box<dyn Held> {
        let bound = Bound::Preemptions(2);
        let bounded = |frontier| {
            TreeSearch::within(frontier, NonPreemptive, bound).expect("the order does not preempt")
        };
        Box::new(match self {
            Self::Compact => return Box::new(CompactTree::new(bound)),
            Self::Reduced(expansion) => {
                let parts =
                    Frontier::BestFirst(vec![Box::new(ModifiedDpor), Box::new(Preemptions)]);
                TreeSearch::new(expansion, parts)
            }
            Self::Plain => bounded(Frontier::BestFirst(vec![Box::new(Preemptions)])),
            Self::Bounded => {
                bounded(Frontier::BestFirst(vec![Box::new(SleepSets), Box::new(ModifiedDpor)]))
            }
        })
    }
}

/// A search that says what it holds.
trait Held: Strategy {
    fn held(&self) -> TreeMemory;
}

impl Held for TreeSearch {
    fn held(&self) -> TreeMemory {
        self.memory()
    }
}

impl Held for CompactTree {
    fn held(&self) -> TreeMemory {
        self.memory()
    }
}

/// Measures it: for each search a row, and what it held over its executions.
pub(crate) fn measure(quick: bool, progress: impl Fn(&str)) -> (Table, Plot) {
    let most = if quick { 20_000 } else { 326_743 };
    let header = [
        "program",
        "search",
        "executions",
        "ended",
        "steps",
        "nodes",
        "pending",
        "nodes + pending ÷ executions",
        "bytes",
        "fringe",
        "nodes’ own",
        "points",
        "siblings",
        "footprints",
        "lists, 1 byte",
        "lists, 4 bytes",
        "partial schedules",
        "bytes a node",
        "lists ÷ ours",
        "partial schedules ÷ ours",
    ];
    let mut table = Table {
        title: "What the execution tree holds".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            format!(
                "Of the sample with the most nodes and candidates, every {} executions. GAMBIT's \
                 search of its collection ended after 326,743 executions with at most 90,159 \
                 nodes, {GAMBITS:.0} %; ours is run for {} at most, and a search with a reduction \
                 that has not ended holds candidates that one which has ended does not.",
                grouped(EVERY),
                grouped(most)
            ),
            "bytes: all that the tree and the fringe hold, spare room too. Of these: fringe, 16 for each \
             that waits; nodes’ own, 56 for each that was run; points, what it decided and, if executions are \
             compared, who could have moved; siblings, 12 for each option that waits or was started; footprints, \
             what different steps did. lists: every known \
             execution as the list of its decisions, a byte or four each. partial schedules: a node \
             of 16 bytes for each decision that leads to an execution which waits, as in section 3.1 of the paper. bytes a node: all \
             bytes by nodes and pending together, which both are nodes to the paper. lists ÷ ours: lists of four bytes."
                .to_owned(),
            "`all compact` runs the executions of `all best-first(pb)` in the same order and keeps departures alone: 9 bytes for one that was \
             run, one for each that waits, six for those of one parent together. The trade: its prefixes are no plans, so the order is asked at \
             every point, what is repeated is not compared with what happened before, and priorities other than preemptions, reductions, \
             files and parts for other workers are those of the other form."
                .to_owned(),
        ],
        ..Table::default()
    };
    let mut plot = Plot {
        title: "Bytes held by best first on a blocking collection".to_owned(),
        x: "executions".to_owned(),
        y: "bytes".to_owned(),
        scales: [Scale::Linear, Scale::Logarithmic],
        series: Vec::new(),
    };
    let programs: &[(&str, &[usize])] = &[("blocking", &[4, 3]), ("blocking", &[1, 1])];
    for (name, numbers) in programs {
        for search in Search::ALL {
            progress(&format!("watching {} on {name}{numbers:?}", search.name()));
            let watched = watch(search, name, numbers, most);
            if numbers[1] > 1 {
                let points = |what: fn(&TreeMemory) -> u64| {
                    watched.samples.iter().map(|(at, held)| (real(*at), real(what(held)))).collect()
                };
                let series = |name: &str, points| Series {
                    name: format!("{}{name}", search.name()),
                    points,
                    style: Style::Line,
                };
                plot.series.push(series("", points(|held| held.bytes)));
                if matches!(search, Search::Reduced(TreeExpansion::Source)) {
                    plot.series.push(series(", as lists", points(|held| 4 * held.decisions)));
                }
            }
            add(&mut table, search, &format!("{name}({},{})", numbers[0], numbers[1]), &watched);
        }
    }
    (table, plot)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn real(number: u64) -> f64 {
    number as f64
}

fn add(table: &mut Table, search: Search, program: &str, watched: &Watched) {
    let known = |held: &TreeMemory| held.nodes + held.pending;
    let Some((_, peak)) = watched.samples.iter().max_by_key(|(_, held)| known(held)) else {
        table.failures.push(format!("{} on {program} held nothing", search.name()));
        return;
    };
    let ratio = real(4 * peak.decisions) / real(peak.bytes);
    let (a_node, by_partial) =
        (real(peak.bytes) / real(known(peak)), real(16 * peak.partial) / real(peak.bytes));
    let own = peak.bytes - peak.candidates - peak.points - peak.siblings - peak.footprints;
    let share = 100.0 * real(known(peak)) / real(watched.executions);
    table.rows.push(vec![
        program.to_owned(),
        search.name().to_owned(),
        grouped(watched.executions),
        (if watched.ended { "yes" } else { "no" }).to_owned(),
        grouped(watched.steps / watched.executions.max(1)),
        grouped(peak.nodes),
        grouped(peak.pending),
        format!("{share:.0} %"),
        grouped(peak.bytes),
        grouped(peak.candidates),
        grouped(own),
        grouped(peak.points),
        grouped(peak.siblings),
        grouped(peak.footprints),
        grouped(peak.decisions),
        grouped(4 * peak.decisions),
        grouped(16 * peak.partial),
        shown(Some(a_node), 1),
        shown(Some(ratio), 1),
        shown(Some(by_partial), 2),
    ]);
    let all = [
        ("ratio", ratio),
        ("nodes-percent", share),
        ("bytes a node", a_node),
        ("partial schedules", by_partial),
    ];
    for (column, ours) in all {
        table.comparisons.push(Comparison {
            table: "best-first-memory",
            row: format!("{program} {}", search.name()),
            column: column.to_owned(),
            ours: Some(ours),
            peer: (column == "nodes-percent").then_some(GAMBITS),
            ratio: None,
        });
    }
}

/// A search, and what it held.
#[derive(Debug)]
struct Watched {
    executions: u64,
    steps: u64,
    ended: bool,
    /// After so many executions.
    samples: Vec<(u64, TreeMemory)>,
}

fn watch(search: Search, name: &str, numbers: &[usize], most: u64) -> Watched {
    let (program, arguments) =
        raddle_corpus::find(name, numbers).expect("the corpus has the program");
    let (mut best, mut kept, mut samples) = (search.build(), Kept::default(), Vec::new());
    let body = || program.call(&arguments);
    loop {
        let run = kept.0.counts.executions;
        // Small searches are looked at more often.
        let next = run + if run < EVERY { 10 } else { EVERY };
        let limits = Limits { executions: next.min(most), ..Limits::default() };
        let setup = Setup { limits, ..Setup::default() };
        let carried = std::mem::take(&mut kept.0);
        let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
        let observers: Observers<'_, '_> = &mut [&mut kept];
        let explored = explore_from(&carried, &mut *best, observers, &setup, lap, pulse, &body)
            .expect("no search runs around this one");
        let raddle_trace::Counts { executions, steps, .. } = explored.counts;
        if executions == next {
            samples.push((executions, best.held()));
        }
        if explored.ended == Ended::Executions && executions < most {
            continue;
        }
        let ended = explored.ended == Ended::Covered;
        if ended {
            let held = best.held();
            assert_eq!((held.nodes, held.pending), (1, 0), "only the root is left");
        }
        return Watched { executions, steps, ended, samples };
    }
}

/// Keeps what an engine carries to the next.
#[derive(Debug, Default)]
struct Kept(Carried);

impl Observer for Kept {
    fn finish(&mut self, search: &mut Paused<'_, '_>, _: &Ended) {
        self.0 = search.carried();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 3 load and store one word: 90 interleavings, 36 traces, one of each.
    #[test]
    fn a_search_that_ends_holds_its_root() {
        let watched = watch(Search::Reduced(TreeExpansion::Source), "inc", &[3], 1_000);
        assert!(watched.ended);
        assert!(watched.executions >= 36);
        let (_, held) = watched.samples[0];
        assert!(held.decisions > 0 && held.partial > 0 && held.bytes > 0);
    }
}
