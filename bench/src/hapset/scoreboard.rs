//! Samplers on the shapes of `SCTBench`: the mean execution that shows the bug, beside what was published.

use super::searched::{How, Result, mean, until_bug};
use super::tables::case;
use super::{Effort, Part};
use crate::table::{Comparison, Table};

const SAMPLERS: [&str; 7] = ["random", "pct(3)", "pos", "urw", "surw", "rff", "hapset(dpor)"];

/// Those whose executions are drawn. The last one of [`SAMPLERS`] is a search, for comparison.
const DRAWN: usize = 6;

struct Shape {
    /// As `SCTBench` has it.
    name: &'static str,
    program: (&'static str, &'static [usize]),
    /// The best mean that was published, and in which paper.
    published: Option<(f64, &'static str)>,
}

const fn shape(
    name: &'static str,
    program: &'static str,
    arguments: &'static [usize],
    published: Option<(f64, &'static str)>,
) -> Shape {
    Shape { name, program: (program, arguments), published }
}

/// `reorder_N` has N - 1 who set and one who checks, and `twostage_100` 99 and one.
const SHAPES: [Shape; 17] = [
    shape("reorder_3", "reorder", &[2], Some((6.0, "RFF"))),
    shape("reorder_10", "reorder", &[9], Some((6.0, "RFF"))),
    shape("reorder_100", "reorder", &[99], Some((6.0, "RFF"))),
    shape("twostage_100", "two-stage", &[99], Some((56.0, "RFF"))),
    shape("bluetooth_driver", "bluetooth", &[], Some((36.0, "best known"))),
    shape("stringbuffer-jdk", "stringbuffer-append", &[], Some((8.0, "best known"))),
    shape("twostage", "two-stage", &[1], None),
    shape("token_ring", "token-ring", &[], None),
    shape("wronglock", "wrong-lock", &[7], None),
    shape("queue", "queue-round", &[20], None),
    shape("circular_buffer", "ring-log-round", &[10], None),
    shape("WSQ: last item", "deque-last-item", &[4, 2], None),
    shape("WSQ: early look", "deque-early-top", &[4, 2], None),
    shape("WSQ: late read", "deque-late-read", &[4, 2], None),
    shape("qsort: lost wake-up", "quicksort-lost", &[7, 2], None),
    shape("qsort: handed over twice", "quicksort-both", &[7, 2], None),
    shape("aget", "aget-count", &[2, 1], None),
];

pub(crate) fn scoreboard(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let seeds = if effort.seeds < 5 { 3 } else { 20 };
    let effort = Effort { executions: effort.executions * 2, cap: effort.cap * 2, ..effort };
    let header = ["shape", "ours"].into_iter().chain(SAMPLERS).chain(["published", "best of ours"]);
    let mut table = Table {
        title: format!("Scoreboard: mean executions to the first bug, {seeds} seeds"),
        header: header.map(str::to_owned).collect(),
        ..Table::default()
    };
    let (mut won, mut counted) = (0, 0);
    for shape in &SHAPES {
        progress(&format!("scoreboard: {}", shape.name));
        let means = SAMPLERS.map(|sampler| average(shape, sampler, seeds, effort));
        let best = means[..DRAWN].iter().filter_map(|of| of.0).min_by(f64::total_cmp);
        let verdict = match (best, shape.published) {
            (Some(best), Some((published, _))) => {
                counted += 1;
                won += u32::from(best <= published);
                if best <= published { "at or below" } else { "above" }
            }
            (None, Some(_)) => {
                counted += 1;
                "above"
            }
            (_, None) => "—",
        };
        table.comparisons.push(Comparison {
            table: "scoreboard",
            row: shape.name.to_owned(),
            column: "best of ours".to_owned(),
            ours: best,
            peer: shape.published.map(|published| published.0),
            ratio: best.zip(shape.published).map(|(best, (published, _))| published / best),
        });
        let published =
            shape.published.map_or("—".to_owned(), |(of, who)| format!("{} ({who})", mean(of)));
        let arguments: Vec<_> = shape.program.1.iter().map(ToString::to_string).collect();
        let ours = format!("{} {}", shape.program.0, arguments.join(" "));
        table.rows.push(
            [shape.name.to_owned(), ours.trim_end().to_owned()]
                .into_iter()
                .chain(means.map(|of| of.1))
                .chain([published, verdict.to_owned()])
                .collect(),
        );
    }
    table.notes = vec![
        format!(
            "The best of our samplers is at or below the best published mean on {won} of {counted} shapes \
             that have one ({:.0} %).",
            100.0 * f64::from(won) / f64::from(counted)
        ),
        format!(
            "`a > b`: only a of {seeds} seeds found it, the others were given up after b executions. \
             `hapset(dpor)` draws nothing: one search, and not counted among the samplers."
        ),
        "Published: RFF is reads-from fuzzing (ASPLOS 2024), 6 to 7 for every size of reorder; the lower one \
         is compared with. SURW (ASPLOS 2025) has 7, 17 and 194 there. Steps are not quite the same: in \
         SCTBench an increment is a load and a store, and to spawn and to join are steps."
            .to_owned(),
    ];
    vec![table.into()]
}

/// The mean, if every seed found the bug; and how it is written.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn average(shape: &Shape, sampler: &str, seeds: u64, effort: Effort) -> (Option<f64>, String) {
    let case = case(shape.program.0, shape.program.1);
    let seeds = if sampler.starts_with("hapset") { 1 } else { seeds };
    let (mut sum, mut found, mut last) = (0.0, 0, None);
    for seed in 0..seeds {
        let how = How { seed, ..How::new(sampler, effort) };
        match until_bug(case, how) {
            Result::Found(at, _) => (sum, found) = (sum + at, found + 1),
            Result::Missing => return (None, "—".to_owned()),
            other => last = Some(other),
        }
        // Enough to say that it is not found by this one.
        if found == 0 && seed >= 2 {
            break;
        }
    }
    match last {
        None => {
            let average = sum / seeds as f64;
            (Some(average), mean(average))
        }
        Some(other) if found == 0 => {
            (None, other.hunt().split(" · ").next().unwrap_or("").to_owned())
        }
        Some(other) => (None, format!("{found} > {}", mean(other.run().unwrap_or(0.0)))),
    }
}
