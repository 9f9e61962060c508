//! Figure 5: the criteria against each other.

use super::orders::Criterion;
use super::runs::{How, Runs, Size, Try};
use super::statistics::geometric;
use crate::part::Part;
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::Table;

const PAIRS: [[Criterion; 2]; 3] = [
    [Criterion::Pr, Criterion::Pcr],
    [Criterion::Pr, Criterion::Pbr],
    [Criterion::Pbr, Criterion::Pcr],
];

/// The table with three plots: a point for each bug and repetition.
pub(crate) fn figure(all: &Runs) -> Part {
    let header =
        ["criteria", "size", "first sooner", "equal", "second sooner", "neither", "ratio", ""];
    let mut table = Table {
        title: "The criteria against each other".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut plots = Vec::new();
    for pair in PAIRS {
        let [x, y] = pair.map(Criterion::name);
        let mut series = Vec::new();
        for size in Size::ALL {
            let tries = both(all, size, pair);
            table.rows.push(row(pair, size, &tries));
            let points = tries.iter().map(|both| (at(&both[0]), at(&both[1]))).collect();
            series.push(Series {
                name: format!("{} size", size.name()),
                points,
                style: Style::Dots,
            });
        }
        let most = series.iter().flat_map(|series| &series.points).map(|(x, y)| x.max(*y));
        let most = most.fold(1.0, f64::max);
        series.push(Series {
            name: "equal".to_owned(),
            points: vec![(1.0, 1.0), (most, most)],
            style: Style::Guide,
        });
        let plot = Plot {
            title: format!("Executions to each bug by {x} and by {y}"),
            x: x.to_owned(),
            y: y.to_owned(),
            scales: [Scale::Logarithmic; 2],
            series,
        };
        plots.push((format!("criteria-{x}-{y}").to_lowercase(), plot));
    }
    table.notes.push(
        "For each bug and repetition, the executions of a search that goes by one criterion alone. A search that \
         ends without the bug counts as later than one that finds it, and is drawn with the executions that it ran. `ratio`: \
         executions of the second for one of the first where both find the bug, geometric mean."
            .to_owned(),
    );
    table.notes.push(
        "Programs whose actors never become others have no goals by PBR: it shows their bugs only if the first execution, \
         which is at random, does."
            .to_owned(),
    );
    Part { table, plots }
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn at(one: &Try) -> f64 {
    one.executions.max(1) as f64
}

fn both(all: &Runs, size: Size, pair: [Criterion; 2]) -> Vec<[Try; 2]> {
    let of_size = all.bugs.iter().filter(|bug| bug.size == size);
    let tries = of_size.flat_map(|bug| {
        let [first, second] = pair.map(|one| bug.of(How::Strategy(one.strategy())));
        first.iter().zip(second).map(|(first, second)| [*first, *second])
    });
    tries.collect()
}

fn row(pair: [Criterion; 2], size: Size, tries: &[[Try; 2]]) -> Vec<String> {
    let key = |one: &Try| if one.found { one.executions } else { u64::MAX };
    let (mut sooner, mut equal, mut later, mut neither) = (0, 0, 0, 0);
    for [first, second] in tries {
        match key(first).cmp(&key(second)) {
            _ if !first.found && !second.found => neither += 1,
            std::cmp::Ordering::Less => sooner += 1,
            std::cmp::Ordering::Equal => equal += 1,
            std::cmp::Ordering::Greater => later += 1,
        }
    }
    let found = tries.iter().filter(|both| both.iter().all(|one| one.found));
    let ratio = geometric(found.map(|[first, second]| at(second) / at(first)));
    let [x, y] = pair.map(Criterion::name);
    let mut row = vec![format!("{x} and {y}"), size.name().to_owned()];
    row.extend([sooner, equal, later, neither].map(|n: usize| n.to_string()));
    row.push(ratio.map_or("—".to_owned(), |ratio| format!("{ratio:.2}")));
    row.push(String::new());
    row
}
