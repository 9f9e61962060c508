//! The table of actors on threads: messages per second beside other libraries.
//!
//! How much each library does in a run is chosen once, so that a run takes about [`RUN_NS`]; then the
//! libraries take turns, round after round, so that a change of the machine's speed meets all of them. A
//! cell is the median over the rounds, with the least and the greatest.

use serde::Deserialize;

use crate::numbers::{median, shown};
use crate::peers::{PeerError, Peers, Tool};
use crate::table::{Comparison, Table};

/// Wall time that one run is sized for.
const RUN_NS: f64 = 4e8;
/// Rounds of messages in the run that the others are sized by.
const CALIBRATION: u64 = 2_000;

/// Ours is the first.
const LIBRARIES: [&str; 5] = ["raddle", "kameo", "kameo-bounded", "ractor", "actix"];
/// Those whose best ours is compared with: their actors move between threads, as ours do.
const ALIKE: [&str; 3] = ["kameo", "kameo-bounded", "ractor"];
const PROGRAMS: [&str; 3] = ["ping-pong", "fan-in", "fan-out"];

/// The line that the peer prints.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Measured {
    messages: u64,
    ns: u64,
}

impl Measured {
    /// Millions of messages per second.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn rate(self) -> f64 {
        self.messages as f64 * 1e3 / self.ns.max(1) as f64
    }
}

/// Measures the table. `progress` hears what is measured next.
pub(crate) fn measure(peers: &Peers, quick: bool, progress: impl Fn(&str)) -> Table {
    let rounds = if quick { 3 } else { 9 };
    let head = ["program"].into_iter().chain(LIBRARIES).chain(["÷"]);
    let mut table = Table {
        title: format!(
            "Million messages per second, median of {rounds} rounds (least to greatest)"
        ),
        header: head.map(str::to_owned).collect(),
        notes: vec![
            "÷ is ours by the better of kameo (either) and ractor. actix is beside them: its actors \
             do not move between threads."
                .to_owned(),
            "ping-pong: 8 pairs of actors pass a number to each other. fan-in: 32 actors send to one, \
             32 messages in a handler. fan-out: one actor sends to 32, one message to each in a \
             handler."
                .to_owned(),
            "Each library has as many threads as there are cores, its default features, and mailboxes \
             without a bound; kameo-bounded has kameo's default mailbox, of 64 messages. Wall time, \
             each run in a process of its own."
                .to_owned(),
        ],
        ..Table::default()
    };
    for program in PROGRAMS {
        progress(&format!("measuring {program}"));
        let rates = interleaved(peers, program, rounds, &mut table.failures);
        add(&mut table, program, &rates);
    }
    table
}

fn run(peers: &Peers, library: &str, program: &str, rounds: u64) -> Result<Measured, PeerError> {
    let arguments = [library, program, &rounds.to_string()].map(str::to_owned);
    peers.line(Tool::Actors, &format!("{library} {program}"), &arguments)
}

/// The rates of each library, in the order of [`LIBRARIES`].
fn interleaved(
    peers: &Peers,
    program: &str,
    rounds: usize,
    failures: &mut Vec<String>,
) -> Vec<Vec<f64>> {
    let mut sizes = Vec::new();
    for library in LIBRARIES {
        match run(peers, library, program, CALIBRATION) {
            Ok(measured) => sizes.push(Some(sized(measured))),
            Err(error) => {
                failures.push(error.to_string());
                sizes.push(None);
            }
        }
    }
    let mut rates = vec![Vec::new(); LIBRARIES.len()];
    for _ in 0..rounds {
        for (nth, library) in LIBRARIES.into_iter().enumerate() {
            let Some(size) = sizes[nth] else { continue };
            match run(peers, library, program, size) {
                Ok(measured) => rates[nth].push(measured.rate()),
                Err(error) => failures.push(error.to_string()),
            }
        }
    }
    rates
}

/// As many rounds of messages as take about [`RUN_NS`].
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a number of rounds, which need not be exact"
)]
fn sized(measured: Measured) -> u64 {
    (CALIBRATION as f64 * RUN_NS / measured.ns.max(1) as f64).clamp(100.0, 2e6) as u64
}

fn add(table: &mut Table, program: &str, rates: &[Vec<f64>]) {
    let medians: Vec<Option<f64>> =
        rates.iter().map(|rates| (!rates.is_empty()).then(|| median(rates.clone()))).collect();
    let of = |library: &str| {
        let at = LIBRARIES.iter().position(|known| *known == library);
        at.and_then(|at| medians[at])
    };
    let ours = medians[0];
    let best = ALIKE.into_iter().filter_map(of).reduce(f64::max);
    let ratio = ours.zip(best).map(|(ours, best)| ours / best);
    let mut row = vec![program.to_owned()];
    row.extend(rates.iter().zip(&medians).map(|(rates, median)| cell(rates, *median)));
    row.push(shown(ratio, 1));
    table.rows.push(row);
    for (library, peer) in LIBRARIES.into_iter().zip(&medians).skip(1) {
        table.comparisons.push(Comparison {
            table: "actors",
            row: program.to_owned(),
            column: library.to_owned(),
            ours,
            peer: *peer,
            ratio: ours.zip(*peer).map(|(ours, peer)| ours / peer),
        });
    }
}

fn cell(rates: &[f64], median: Option<f64>) -> String {
    let Some(median) = median else { return "—".to_owned() };
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = rates.iter().copied().fold(0.0, f64::max);
    format!("{median:.2} ({least:.2} to {greatest:.2})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_compared_with_the_better_one() {
        let rates = [vec![6.0, 2.0, 4.0], vec![1.0], vec![2.0], vec![1.5], vec![8.0]];
        let mut table = Table::default();
        add(&mut table, "fan-in", &rates);
        assert_eq!(
            table.rows[0],
            [
                "fan-in",
                "4.00 (2.00 to 6.00)",
                "1.00 (1.00 to 1.00)",
                "2.00 (2.00 to 2.00)",
                "1.50 (1.50 to 1.50)",
                "8.00 (8.00 to 8.00)",
                "2.0"
            ]
        );
        assert_eq!(table.comparisons.len(), 4);
    }

    #[test]
    fn what_could_not_be_measured_is_said() {
        let mut table = Table::default();
        add(&mut table, "fan-in", &[vec![1.0], vec![], vec![], vec![], vec![]]);
        assert_eq!(table.rows[0].last().map(String::as_str), Some("—"));
    }
}
