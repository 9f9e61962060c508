//! Why `random` and shuttle's random scheduler show bugs at different rates: the points that one has and the other lacks.

mod drawn;

use peer::{Rate, RateAsked};
use raddle_corpus::Program;

use self::drawn::{Drawn, Points};
use crate::peers::{Peers, Tool};
use crate::samplers::{Row, float, search_by};
use crate::table::Table;

const NONE: Points =
    Points { spawns: false, starts: false, wakes: false, closes: false, halved: false };

/// What is measured, by its name in the tables. The first is `random` as it is.
const VARIANTS: [(&str, Points); 7] = [
    ("as it is", NONE),
    ("spawns", Points { spawns: true, ..NONE }),
    ("spawns in every second execution", Points { spawns: true, halved: true, ..NONE }),
    ("spawns, starts", Points { spawns: true, starts: true, ..NONE }),
    ("wakes", Points { wakes: true, ..NONE }),
    ("no closes", Points { closes: true, ..NONE }),
    ("all four", Points { spawns: true, starts: true, wakes: true, closes: true, halved: false }),
];

/// A program under shuttle and under each variant.
struct Measured {
    program: &'static Program,
    rows: Vec<Row>,
}

/// Measures both tables.
pub(crate) fn measure(peers: &Peers, quick: bool, progress: impl Fn(&str)) -> Vec<Table> {
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    let names = peers.text(Tool::ShuttleCorpus, "its programs", &[]).unwrap_or_else(|error| {
        failed.push(error.to_string());
        String::new()
    });
    let (failures, executions, seconds) =
        if quick { (20, 2_000, 0.05) } else { (400, 1_000_000, 0.4) };
    // By name, so that the two halves do not hang on the order in which the corpus lists its programs.
    let mut names: Vec<_> = names.lines().collect();
    names.sort_unstable();
    for name in names {
        progress(name);
        let Ok((program, arguments)) = raddle_corpus::find(name, &[]) else {
            failed.push(format!("{name} is not in the corpus"));
            continue;
        };
        let asked = RateAsked { program: Some(name.to_owned()), failures, executions, seconds };
        let given = [
            name.to_owned(),
            format!("--failures={failures}"),
            format!("--executions={executions}"),
            format!("--seconds={seconds}"),
        ];
        let shuttle: Rate = match peers.line(Tool::ShuttleCorpus, name, &given) {
            Ok(shuttle) => shuttle,
            Err(error) => {
                failed.push(error.to_string());
                continue;
            }
        };
        let rows = VARIANTS.map(|(_, points)| {
            let ours = Rate::measure(&asked, |one| {
                search_by(&mut Drawn::new(one.seed, points), program, &arguments, one)
            });
            Row { program, ours, shuttle }
        });
        all.push(Measured { program, rows: rows.into() });
    }
    let mut summary = summary(&all, failures, seconds);
    summary.failures = failed;
    vec![summary, rarer(&all)]
}

/// How many programs show their bug less often than under shuttle, by variant, for each half of the programs.
fn summary(all: &[Measured], failures: u64, seconds: f64) -> Table {
    let header =
        ["points", "A: rarer", "more often", "mean", "B: rarer", "more often", "mean", "worst"];
    let mut rows = Vec::new();
    for (variant, (name, _)) in VARIANTS.iter().enumerate() {
        let mut cells = vec![(*name).to_owned()];
        for half in 0..2 {
            let half: Vec<&Row> =
                all.iter().skip(half).step_by(2).map(|one| &one.rows[variant]).collect();
            let count = |verdict: &str| half.iter().filter(|row| row.verdict() == verdict).count();
            cells.extend([count("shuttle").to_string(), count("raddle").to_string()]);
            let logs: Vec<f64> =
                half.iter().filter_map(|row| row.ratio().map(|(ratio, _)| ratio.ln())).collect();
            let mean = (logs.iter().sum::<f64>() / float(logs.len().max(1) as u64)).exp();
            cells.push(format!("{mean:.2}"));
        }
        let certain = all.iter().filter(|one| one.rows[variant].verdict() == "shuttle");
        let worst = certain
            .filter_map(|one| Some((one.rows[variant].ratio()?.0, one.program.name)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        cells.push(worst.map_or("none".to_owned(), |(ratio, name)| format!("{name} {ratio:.2}")));
        rows.push(cells);
    }
    Table {
        title: "Programs whose bug is rarer than under shuttle, by points".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            format!(
                "{} programs, in turn of half A and B by their names. *rarer*, *more often*: than under shuttle, by more than 3 \
                 standard deviations of the logarithm of the ratio. *mean*: geometric, of executions to a failure here over \
                 those under shuttle. Up to {failures} failures or {seconds} s of CPU time for each program and variant.",
                all.len()
            ),
            "Which points: *spawns*: one before each spawn, so that a thread that was spawned may run before the next one is. \
             *starts*: to begin is a turn of a thread's own, before its first operation. *wakes*: to hear of a notification is a \
             turn, and to take the lock is another. *no closes*: none before an end of a channel is dropped. shuttle \
             has the first three and lacks the last, which is a point here because a send that comes before it succeeds, and one that comes \
             after it fails."
                .to_owned(),
        ],
        ..Table::default()
    }
}

/// The programs whose bug is rarer in `random` as it is, and what other points make of them.
fn rarer(all: &[Measured]) -> Table {
    let header = ["program"].into_iter().chain(VARIANTS.map(|(name, _)| name)).chain([""]);
    let mut shown: Vec<_> = all.iter().filter(|one| one.rows[0].verdict() == "shuttle").collect();
    let ratio = |one: &Measured| one.rows[0].ratio().map_or(0.0, |(ratio, _)| ratio);
    shown.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let row = |one: &&Measured| {
        let cell =
            |row: &Row| row.ratio().map_or(String::new(), |(ratio, _)| format!("{ratio:.2}"));
        let cells = one.rows.iter().map(cell);
        [one.program.name.to_owned()].into_iter().chain(cells).chain([String::new()]).collect()
    };
    Table {
        title: "Executions to a failure over those under shuttle, where that is certainly above 1"
            .to_owned(),
        header: header.map(str::to_owned).collect(),
        rows: shown.iter().map(row).collect(),
        ..Table::default()
    }
}
