//! Table II: executions and time to each bug, and what they come to.

use super::BITA;
use super::orders::Criterion;
use super::runs::{Bug, COLUMNS, How, Runs, Size, Try, WAYS};
use super::statistics::{geometric, mean};
use crate::numbers::{duration, grouped};
use crate::table::{Comparison, Table};

/// What the paper says of its twelve bugs.
const THEIRS_WITHIN_THREE: (usize, usize) = (10, 12);
const THEIRS_DELAYS: f64 = 122.0;
const THEIRS_THREADS: f64 = 656.0;

/// All tables.
pub(crate) fn tables(all: &Runs) -> Vec<Table> {
    let mut tables = vec![summary(all)];
    for size in Size::ALL {
        tables.push(table(all, size, Unit::Executions));
        tables.push(table(all, size, Unit::Time));
    }
    tables
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Executions,
    Time,
}

impl Unit {
    #[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
    fn of(self, one: &Try) -> f64 {
        match self {
            Self::Executions => one.executions as f64,
            Self::Time => one.time.as_secs_f64(),
        }
    }

    #[expect(clippy::cast_sign_loss, reason = "nothing is negative")]
    fn shown(self, value: f64) -> String {
        match self {
            Self::Executions if value < 99.5 => format!("{value:.1}"),
            Self::Executions => grouped(value.round() as u64),
            Self::Time => duration(value * 1e9),
        }
    }
}

fn of_size(all: &Runs, size: Size) -> impl Iterator<Item = &Bug> {
    all.bugs.iter().filter(move |bug| bug.size == size)
}

/// The mean; what was not found counts with what was spent on it.
fn average(unit: Unit, tries: &[Try]) -> f64 {
    mean(&tries.iter().map(|one| unit.of(one)).collect::<Vec<_>>()).value
}

fn cell(unit: Unit, tries: &[Try]) -> String {
    if tries.is_empty() {
        return "—".to_owned();
    }
    let found = tries.iter().filter(|one| one.found).count();
    let all = mean(&tries.iter().map(|one| unit.of(one)).collect::<Vec<_>>());
    let shown = unit.shown(all.value);
    match found {
        0 => format!("> {shown}"),
        _ if tries.len() == 1 => shown,
        _ => {
            let text = format!("{shown} ± {}", unit.shown(all.half));
            if found == tries.len() { text } else { format!("{text} ({found}/{})", tries.len()) }
        }
    }
}

/// The criteria that were tried until the bug was found, in most repetitions.
fn criteria(bug: &Bug) -> String {
    let of = bug.criteria();
    let count = |wanted| of.iter().filter(|found| **found == wanted).count();
    let kinds = [
        (count(Some(Criterion::Pr)), "PR"),
        (count(Some(Criterion::Pbr)), "PR, PBR"),
        (count(Some(Criterion::Pcr)), "PR, PCR"),
        (count(None), "all"),
    ];
    let seen: Vec<_> = kinds.iter().filter(|(count, _)| *count > 0).collect();
    match *seen {
        [(_, name)] => (*name).to_owned(),
        _ => seen.iter().map(|(n, name)| format!("{name} ({n})")).collect::<Vec<_>>().join("; "),
    }
}

fn table(all: &Runs, size: Size, unit: Unit) -> Table {
    let what = match unit {
        Unit::Executions => "Executions",
        Unit::Time => "Time",
    };
    let mut table = Table {
        title: format!("{what} to each bug, {} sizes", size.name()),
        header: vec!["bug".to_owned()],
        ..Table::default()
    };
    table.header.extend(WAYS[..COLUMNS].iter().map(|how| how.name()));
    table.header.push("criteria tried".to_owned());
    for bug in of_size(all, size) {
        let arguments: Vec<_> =
            size.arguments(bug.program).iter().map(ToString::to_string).collect();
        let mut row = vec![format!("`{}` ({})", bug.program.name, arguments.join(", "))];
        row.extend(WAYS[..COLUMNS].iter().map(|how| cell(unit, bug.of(*how))));
        row.push(criteria(bug));
        table.rows.push(row);
        if unit == Unit::Executions {
            compare(&mut table, bug);
        }
    }
    if unit == Unit::Executions {
        let geometric_of = |how: How| {
            let means = of_size(all, size)
                .map(|bug| bug.of(how))
                .filter(|tries| !tries.is_empty())
                .map(|tries| average(unit, tries));
            geometric(means).map_or("—".to_owned(), |mean| unit.shown(mean))
        };
        let mut row = vec!["geometric mean".to_owned()];
        row.extend(WAYS[..COLUMNS].iter().map(|how| geometric_of(*how)));
        row.push(String::new());
        table.rows.push(row);
    }
    notes(&mut table, all, unit);
    table
}

fn compare(table: &mut Table, bug: &Bug) {
    let ours = average(Unit::Executions, bug.of(How::Strategy(BITA)));
    for how in [How::Strategy("random"), How::Strategy("pos"), How::Strategy("dpor")] {
        let peer = average(Unit::Executions, bug.of(how));
        table.comparisons.push(Comparison {
            table: "bita-bugs",
            row: format!("{} ({})", bug.program.name, bug.size.name()),
            column: how.name(),
            ours: Some(ours),
            peer: Some(peer),
            ratio: Some(peer / ours),
        });
    }
}

fn notes(table: &mut Table, all: &Runs, unit: Unit) {
    let effort = all.effort;
    table.notes.push(format!(
        "Arithmetic means over {} repetitions with other seeds, ± half of the 95 % confidence interval; `dpor` draws \
         nothing and is run once. `(k/n)`: found in k of n repetitions, the others counted with what they spent; `>`: \
         never found.",
        effort.repetitions
    ));
    match unit {
        Unit::Executions => table.notes.push(format!(
            "A search is given up after {} executions or {} of CPU time, random delays after {} and plain threads after {} of \
             real time.",
            grouped(effort.budget),
            duration(effort.cap.as_secs_f64() * 1e9),
            duration(effort.time_limit.as_secs_f64() * 1e9),
            duration(effort.plain_limit.as_secs_f64() * 1e9),
        )),
        Unit::Time => table.notes.push(
            "Searches: CPU time, with the second execution that every search makes of its first, and of a failure for its \
             trace. Threads: time that has passed; executions with delays are run 48 at a time, since they only wait."
                .to_owned(),
        ),
    }
}

/// What the tables come to.
fn summary(all: &Runs) -> Table {
    let mut table = Table {
        title: "What the tables come to".to_owned(),
        header: ["", "small sizes", "large sizes", "the paper"].map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut row = |name: &str, of: &dyn Fn(Size) -> String, theirs: &str| {
        let [small, large] = Size::ALL.map(of);
        table.rows.push(vec![name.to_owned(), small, large, theirs.to_owned()]);
    };
    let bita = How::Strategy(BITA);
    let count = |size, is: &dyn Fn(&Bug) -> bool| {
        let all: Vec<_> = of_size(all, size).collect();
        format!("{} of {}", all.iter().filter(|bug| is(bug)).count(), all.len())
    };
    let always = |tries: &[Try]| !tries.is_empty() && tries.iter().all(|one| one.found);
    row(
        "bugs that `bita` finds in every repetition",
        &|size| count(size, &|bug| always(bug.of(bita))),
        "12 of 12",
    );
    row(
        "bugs found by PR with three generated schedules or fewer, on average",
        &|size| {
            count(size, &|bug| {
                let tries = bug.of(How::Strategy("bita(pr)"));
                // The first execution is at random: no schedule was generated for it.
                always(tries) && average(Unit::Executions, tries) - 1.0 <= 3.0
            })
        },
        &format!("{} of {}", THEIRS_WITHIN_THREE.0, THEIRS_WITHIN_THREE.1),
    );
    for criterion in [Criterion::Pbr, Criterion::Pcr] {
        row(
            &format!(
                "bugs that need {}: it is the first to find them in most repetitions",
                criterion.name()
            ),
            &|size| {
                count(size, &|bug| {
                    let of = bug.criteria();
                    2 * of.iter().filter(|found| **found == Some(criterion)).count() > of.len()
                })
            },
            "1 of 12",
        );
    }
    row(
        "bugs for which `random` needs 100 executions or more, on average",
        &|size| {
            count(size, &|bug| {
                let tries = bug.of(How::Strategy("random"));
                !tries.is_empty() && average(Unit::Executions, tries) >= 100.0
            })
        },
        "",
    );
    for how in [How::Strategy("random"), How::Strategy("pos"), How::Strategy("dpor"), How::Default]
    {
        row(
            &format!("executions of `{}` for one of `bita`'s, geometric mean", how.name()),
            &|size| factor(all, size, how, Unit::Executions),
            "",
        );
    }
    for how in [How::Delays(100), How::Delays(200), How::Delays(300), How::Threads] {
        let theirs = match how {
            How::Delays(300) => format!("{THEIRS_DELAYS:.0} × (the best of the three)"),
            How::Threads => format!("{THEIRS_THREADS:.0} ×"),
            _ => String::new(),
        };
        row(
            &format!("time with {} for `bita`'s, geometric mean", how.name()),
            &|size| factor(all, size, how, Unit::Time),
            &theirs,
        );
    }
    summary_notes(&mut table, all);
    table
}

fn summary_notes(table: &mut Table, all: &Runs) {
    let bita = How::Strategy(BITA);
    table.notes.push(
        "`≥`: the other one did not find every bug in every repetition; what it spent in vain is counted as if it had found the \
         bug then, as in the paper."
            .to_owned(),
    );
    table
        .notes
        .push(format!("All runs took {} of CPU time.", duration(all.cpu.as_secs_f64() * 1e9)));
    if cfg!(debug_assertions) {
        table.notes.push(
            "Measured with a build that has debug assertions: searches are some times slower than with `--profile compare`; \
             executions are the same."
                .to_owned(),
        );
    }
    for bug in &all.bugs {
        if !bug.of(bita).iter().all(|one| one.found) {
            let found = bug.of(bita).iter().filter(|one| one.found).count();
            table.notes.push(format!(
                "`{}`, {} size: found in {found} of {} repetitions of `bita`.",
                bug.program.name,
                bug.size.name(),
                bug.of(bita).len()
            ));
        }
    }
}

/// How many times more the other way needs.
fn factor(all: &Runs, size: Size, how: How, unit: Unit) -> String {
    let mut complete = true;
    let ratios = of_size(all, size).filter_map(|bug| {
        let (ours, theirs) = (bug.of(How::Strategy(BITA)), bug.of(how));
        complete &= theirs.iter().all(|one| one.found);
        let enough = !ours.is_empty() && !theirs.is_empty();
        enough.then(|| average(unit, theirs) / average(unit, ours))
    });
    let mean = geometric(ratios.collect::<Vec<_>>());
    let text = mean.map_or("—".to_owned(), |mean| match mean {
        mean if mean < 0.995 => format!("{mean:.2} ×"),
        mean if mean < 99.5 => format!("{mean:.1} ×"),
        mean => format!("{} ×", Unit::Executions.shown(mean)),
    });
    if complete { text } else { format!("≥ {text}") }
}
