//! States per second beside stateright, on protocols that are one text for both.
//!
//! Each cell is the median over the rounds of different states by CPU time; the tools take turns, round
//! after round. Both must count the same states, different ones and all: a row in which they do not is
//! a failure, whatever the speeds.

use clap::ValueEnum;
use peer::{Frontier, Network, StatesMeasurement, Subject};

use crate::numbers::{grouped, median, number, shown};
use crate::peers::{PeerError, Peers, Tool};
use crate::table::{Comparison, Table};

/// In the order of their turns.
pub(crate) const TOOLS: [Tool; 2] = [Tool::RaddleStates, Tool::Stateright];

/// Measures all rows. `progress` hears what is measured next.
pub(crate) fn measure(peers: &Peers, quick: bool, progress: impl Fn(&str)) -> Vec<Table> {
    let rounds = if quick { 3 } else { 5 };
    let beside = [Frontier::Bfs, Frontier::Dfs]
        .into_iter()
        .map(|frontier| table(peers, frontier, rounds, &progress));
    beside.chain([own(peers, rounds, &progress)]).collect()
}

/// What the searches of [`own`] are, the plain one first.
const OWN: [Frontier; 6] = [
    Frontier::Bfs,
    Frontier::BfsTwoThreads,
    Frontier::Strata,
    Frontier::StrataTwoThreads,
    Frontier::StrataRtc,
    Frontier::StrataExact,
];

/// raddle's searches beside each other: on two threads, and by strata.
fn own(peers: &Peers, rounds: usize, progress: &impl Fn(&str)) -> Table {
    let header = [
        "protocol",
        "different",
        "bfs",
        "bfs, 2 threads",
        "÷",
        "2 processes, ÷",
        "strata(rr)",
        "÷",
        "strata(rr), 2 threads",
        "÷",
        "2 processes, ÷",
        "strata(rtc)",
        "÷",
        "strata(rr, exact)",
        "÷",
        "bytes per state",
    ];
    let mut table = Table {
        title: format!(
            "Different states per CPU second, by plain and by stratified search, median of {rounds} rounds"
        ),
        header: header.map(str::to_owned).to_vec(),
        notes: [
            "All searches of a row take turns, round after round. CPU time is that of all threads together: if two \
             threads do not hinder each other, each visits as many states per CPU second as one alone. ÷ after a \
             search on two threads is by the same search on one thread; ÷ after the others is by bfs.",
            "2 processes: two searches on one thread each, side by side in two processes, by one alone. They share nothing but \
             the machine: what two threads have cannot be expected to be more.",
            "strata(rr), strata(rtc): stratified exhaustive search (Desai, Qadeer and Seshia, FSE 2015): the states that \
             need few delays of a round-robin or a run-to-completion explorer come first. What has been seen is states \
             of the program, as in bfs, and at the end all searches have visited the same ones.",
            "strata(rr, exact): what has been seen is pairs of a state of the program and one of the explorer. There are \
             more of those than states: the column has pairs per CPU second. One that is marked as stopped had 1 GiB and \
             was over it after so many pairs.",
            "bytes per state: of the table of what has been seen, all in, at the end of strata(rr). States that are yet to be \
             gone on from come on top.",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    for subject in Subject::value_variants() {
        for network in [Network::Unordered, Network::Ordered] {
            let row = format!("{} {}", word(subject), word(&network));
            progress(&format!("measuring {row}, raddle's own searches"));
            let measured: Result<Vec<_>, _> =
                (0..rounds).map(|_| OwnRound::measure(peers, *subject, network)).collect();
            match measured {
                Ok(measured) => add_own(&mut table, &row, &measured),
                Err(error) => table.failures.push(error.to_string()),
            }
        }
    }
    table
}

/// What one round measures of raddle's own searches.
struct OwnRound {
    /// By the order of [`OWN`].
    alone: Vec<StatesMeasurement>,
    /// Of each of [`BESIDE`], two at the same time.
    beside: Vec<[StatesMeasurement; 2]>,
}

/// What is measured side by side in two processes.
const BESIDE: [Frontier; 2] = [Frontier::Bfs, Frontier::Strata];

impl OwnRound {
    fn measure(peers: &Peers, subject: Subject, network: Network) -> Result<Self, PeerError> {
        let one = |frontier: &Frontier| {
            let arguments = [word(&subject), word(&network), word(frontier)];
            peers.line(Tool::RaddleStates, &arguments.join(" "), &arguments)
        };
        let two = |frontier: &Frontier| {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| one(frontier));
                let this = one(frontier)?;
                Ok::<_, PeerError>([this, other.join().expect("it does not panic")?])
            })
        };
        let alone = OWN.iter().map(one).collect::<Result<_, PeerError>>()?;
        Ok(Self { alone, beside: BESIDE.iter().map(two).collect::<Result<_, PeerError>>()? })
    }
}

#[expect(clippy::cast_precision_loss, reason = "all are far below 2^52")]
fn add_own(table: &mut Table, row: &str, rounds: &[OwnRound]) {
    let first = &rounds[0].alone[0];
    let counts_pairs = |one: &&StatesMeasurement| one.frontier == Frontier::StrataExact;
    let mut others = rounds.iter().flat_map(|round| &round.alone).filter(|one| !counts_pairs(one));
    if let Some(other) = others.find(|one| one.unique != first.unique) {
        table.failures.push(format!(
            "{row}: one search visited {} states and another {}",
            first.unique, other.unique
        ));
    }
    let speed = |nth: usize| {
        let all: Vec<_> = rounds.iter().map(|round| round.alone[nth].clone()).collect();
        median(speeds(&all))
    };
    let beside = |nth: usize| {
        let all: Vec<_> = rounds.iter().flat_map(|round| round.beside[nth].clone()).collect();
        median(speeds(&all))
    };
    let [bfs, bfs_two, strata, strata_two, rtc, exact] = [0, 1, 2, 3, 4, 5].map(speed);
    let bytes = rounds[0].alone[2].seen_bytes.unwrap_or(0) as f64 / first.unique as f64;
    let ratio = |ours: f64, by: f64| shown(Some(ours / by), 2);
    let pairs = &rounds[0].alone[5];
    let stopped = pairs.stopped.as_ref().map(|limit| {
        format!("{}, stopped ({limit}) after {}", number(Some(exact)), grouped(pairs.unique))
    });
    table.rows.push(vec![
        row.to_owned(),
        grouped(first.unique),
        number(Some(bfs)),
        number(Some(bfs_two)),
        ratio(bfs_two, bfs),
        ratio(beside(0), bfs),
        number(Some(strata)),
        ratio(strata, bfs),
        number(Some(strata_two)),
        ratio(strata_two, strata),
        ratio(beside(1), strata),
        number(Some(rtc)),
        ratio(rtc, bfs),
        stopped.unwrap_or_else(|| number(Some(exact))),
        ratio(exact, bfs),
        shown(Some(bytes), 1),
    ]);
}

fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn table(peers: &Peers, frontier: Frontier, rounds: usize, progress: &impl Fn(&str)) -> Table {
    let order = match frontier {
        Frontier::Bfs => "breadth-first",
        _ => "depth-first",
    };
    let header = ["protocol", "states", "different", "raddle", "±", "stateright", "±", "÷"];
    let mut table = Table {
        title: format!(
            "Different states per CPU second, {order}, one thread, median of {rounds} rounds"
        ),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    if frontier == Frontier::Bfs {
        table.notes = notes();
    }
    for subject in Subject::value_variants() {
        for network in [Network::Unordered, Network::Ordered] {
            let row = format!("{} {}", word(subject), word(&network));
            progress(&format!("measuring {row} {}", word(&frontier)));
            match interleaved(peers, *subject, network, frontier, rounds) {
                Ok(measured) => add(&mut table, &row, order, &measured),
                Err(error) => table.failures.push(error.to_string()),
            }
        }
    }
    table
}

fn notes() -> Vec<String> {
    [
        "÷ is raddle's speed by stateright's: above 1 raddle is faster. ± is half of what lies \
         between the slowest and the fastest round, by the median.",
        "Both tools run the same text of each protocol, with one invariant and one goal, and count \
         the same states. stateright is told that every handler changes its state: otherwise it \
         leaves a message that a handler ignores where it is, and has other states.",
        "ping-pong: three pairs of which each has thrown its ball 0 to 40 times, 41^3 = 68,921 \
         states, and 3 * 40 * 41^2 + 1 = 201,721 steps and beginnings.",
        "two-phase-commit: seven participants, and a coordinator with a timer. single-copy: five \
         clients that write and then read, one server. paxos: three servers, two clients that \
         write and then read.",
        "unordered: messages arrive in any order (stateright's unordered, non-duplicating \
         network). ordered: in the order in which they were sent, between each two.",
        "Every row has the same numbers of states for both tools, all and different ones, in both \
         orders: the command fails if one has not.",
        "raddle does not run a handler again for a message that its actor has met in the same state \
         before, which most of ÷ comes from. Protocols whose handlers spawn actors, decide values, \
         tell monitors or ask for the time gain nothing by it.",
        "Not compared: searches on several threads, symmetry reduction, which raddle does not have, \
         and memory.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The measurements of each tool, in the order of [`TOOLS`].
fn interleaved(
    peers: &Peers,
    subject: Subject,
    network: Network,
    frontier: Frontier,
    rounds: usize,
) -> Result<[Vec<StatesMeasurement>; 2], PeerError> {
    let arguments = [word(&subject), word(&network), word(&frontier)];
    let what = arguments.join(" ");
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (tool, taken) in TOOLS.into_iter().zip(&mut samples) {
            taken.push(peers.line(tool, &what, &arguments)?);
        }
    }
    Ok(samples)
}

/// Different states per second of each round.
#[expect(clippy::cast_precision_loss, reason = "all are far below 2^52")]
fn speeds(measured: &[StatesMeasurement]) -> Vec<f64> {
    let speed = |one: &StatesMeasurement| (one.unique * one.searches) as f64 / one.cpu_ns as f64;
    measured.iter().map(|one| speed(one) * 1e9).collect()
}

/// Half of what lies between the least and the greatest, in percent of the median.
fn spread(speeds: &[f64]) -> String {
    let least = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = speeds.iter().copied().fold(0.0, f64::max);
    format!("{:.0} %", (most - least) / 2.0 / median(speeds.to_vec()) * 100.0)
}

fn add(table: &mut Table, row: &str, order: &str, measured: &[Vec<StatesMeasurement>; 2]) {
    let counts = |one: &StatesMeasurement| (one.states, one.unique);
    let (states, unique) = counts(&measured[0][0]);
    let others = measured.iter().flatten().map(counts);
    if let Some(other) = others.into_iter().find(|other| *other != (states, unique)) {
        table.failures.push(format!(
            "{row} {order}: one search counted {states} states, {unique} different, and another \
             {} and {}",
            other.0, other.1
        ));
    }
    let speeds = measured.each_ref().map(|measured| speeds(measured));
    let [ours, peer] = speeds.each_ref().map(|speeds| median(speeds.clone()));
    let ratio = Some(ours / peer);
    table.rows.push(vec![
        row.to_owned(),
        grouped(states),
        grouped(unique),
        number(Some(ours)),
        spread(&speeds[0]),
        number(Some(peer)),
        spread(&speeds[1]),
        shown(ratio, 2),
    ]);
    table.comparisons.push(Comparison {
        table: "states",
        row: format!("{row} {order}"),
        column: Tool::Stateright.to_string(),
        ours: Some(ours),
        peer: Some(peer),
        ratio,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(tool: &str, unique: u64, cpu_ns: u64) -> StatesMeasurement {
        StatesMeasurement {
            tool: tool.to_owned(),
            subject: Subject::Paxos,
            network: Network::Ordered,
            frontier: Frontier::Bfs,
            searches: 2,
            unique,
            states: 30,
            seen_bytes: None,
            stopped: None,
            cpu_ns,
        }
    }

    #[test]
    fn a_row_has_the_median_and_the_spread() {
        // 20 states in 1, 2 and 4 µs: 20, 10 and 5 million per second.
        let ours = [1_000, 2_000, 4_000].map(|ns| measured("raddle", 10, ns)).to_vec();
        let peer = vec![measured("stateright", 10, 4_000)];
        let mut table = Table::default();
        add(&mut table, "paxos", "breadth-first", &[ours, peer]);
        let row = ["paxos", "30", "10", "10,000,000", "75 %", "5,000,000", "0 %", "2.00"];
        assert_eq!(table.rows, [row]);
        assert!(table.failures.is_empty());
    }

    #[test]
    fn tools_that_count_differently_have_failed() {
        let (ours, peer) = (vec![measured("raddle", 10, 1)], vec![measured("stateright", 11, 1)]);
        let mut table = Table::default();
        add(&mut table, "paxos", "breadth-first", &[ours, peer]);
        assert_eq!(table.failures.len(), 1, "{:?}", table.failures);
    }
}
