//! How soon there is nothing new: pairs of statements over executions.

use super::searched::{How, search};
use super::tables::case;
use super::{Effort, Part};
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::Table;

const PROGRAMS: [(&str, &[usize]); 4] =
    [("thrift", &[3, 5]), ("aget", &[5, 2]), ("pbzip2", &[3, 2]), ("pfscan", &[3, 4])];

/// The guided one, and others that learn nothing of it.
const STRATEGIES: [&str; 4] = ["hapset(dpor)", "dpor", "random", "rff"];

pub(crate) fn saturation(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let mut table = Table {
        title: "Saturation: pairs of statements over executions".to_owned(),
        header: [
            "program",
            "strategy",
            "executions",
            "pairs",
            "half of them after",
            "the last one after",
            "search",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    let mut plots = Vec::new();
    for (name, arguments) in PROGRAMS {
        progress(&format!("saturation: {name}"));
        let case = case(name, arguments);
        let mut series = Vec::new();
        for strategy in STRATEGIES {
            let mut seen: Vec<(u64, u64)> = Vec::new();
            let mut look = |executions: u64, progress: &raddle_trace::Progress| {
                let known = progress.pairs.map_or(0, |pairs| pairs.known);
                if seen.last().is_none_or(|last| last.1 < known) {
                    seen.push((executions, known));
                }
            };
            let how = How { pairs: true, ..How::new(strategy, effort).to_the_end() };
            let result = search(case.program, case.arguments, how, Some(&mut look));
            let (Some(run), Some(&(last, pairs))) = (result.run(), seen.last()) else { continue };
            let half = seen.iter().find(|(_, known)| known * 2 >= pairs).map_or(0, |of| of.0);
            let ended = matches!(result, super::searched::Result::Ended(..));
            table.rows.push(vec![
                format!(
                    "{name} {}",
                    arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                ),
                strategy.to_owned(),
                super::searched::mean(run),
                crate::numbers::grouped(pairs),
                crate::numbers::grouped(half),
                crate::numbers::grouped(last),
                if ended { "ended" } else { "given up" }.to_owned(),
            ]);
            #[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
            let mut points: Vec<_> =
                seen.iter().map(|(n, known)| (*n as f64, *known as f64)).collect();
            points.extend(points.last().map(|(_, known)| (run, *known)));
            series.push(Series { name: strategy.to_owned(), points, style: Style::Line });
        }
        if !series.is_empty() {
            let plot = Plot {
                title: format!("{name}: pairs of statements over executions"),
                x: "executions".to_owned(),
                y: "pairs".to_owned(),
                scales: [Scale::Logarithmic, Scale::Linear],
                series,
            };
            plots.push((format!("pairs-{name}"), plot));
        }
    }
    table.notes = vec![
        "Correct programs, no training. What is counted is the same for all: which statement directly \
         preceded which of another task, with the calls that led there."
            .to_owned(),
    ];
    vec![Part { table, plots }]
}
