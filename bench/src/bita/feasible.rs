//! How many generated schedules could be followed to their end, and how many showed an order that was new: over all
//! programs of actors and all of threads with channels, judged by the executions that ran.

use std::collections::BTreeMap;

use raddle_actors::Mailboxes;
use raddle_corpus::actors::systems;
use raddle_corpus::program::{Group, Program};
use raddle_corpus::{REGISTRY, channels, protocols};

use super::Effort;
use super::orders::{Criterion, Listener};
use super::runs::search_with;
use crate::table::{Comparison, Table};

/// Programs that are below are named, at most so many.
const NAMED: usize = 12;

/// A program with the mailboxes that it is run with; none of one that has no actors.
#[derive(Clone, Copy)]
struct Subject {
    program: &'static Program,
    mailboxes: Option<Mailboxes>,
}

/// What came of schedules.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    programs: u64,
    schedules: u64,
    infeasible: u64,
    /// Whose execution failed before the schedule was followed to its end.
    failed: u64,
    /// Whose execution showed an order that no execution before it had.
    fruitful: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.schedules += other.schedules;
        self.infeasible += other.infeasible;
        self.failed += other.failed;
        self.fruitful += other.fruitful;
    }

    /// The share that was followed.
    #[expect(clippy::cast_precision_loss, reason = "there are some thousand schedules")]
    fn comparison(self) -> Comparison {
        let followed = self.schedules - self.infeasible.min(self.schedules);
        Comparison {
            table: "bita-feasible",
            row: "all".to_owned(),
            column: "followed".to_owned(),
            ours: (self.schedules > 0).then(|| followed as f64 / self.schedules as f64),
            peer: None,
            ratio: None,
        }
    }
}

/// All programs of actors, with two kinds of mailboxes each, and those that may have channels.
fn subjects() -> Vec<Subject> {
    let of_registry = REGISTRY.iter().filter(|program| program.group == Group::Actors);
    let all = of_registry.chain(protocols::programs()).chain(systems::programs());
    let both = |program| {
        let mailboxes = [Mailboxes::Pairs, Mailboxes::Queue].map(Some);
        mailboxes.map(|mailboxes| Subject { program, mailboxes })
    };
    let threads = REGISTRY.iter().filter(|program| program.group != Group::Actors);
    let threads = threads.chain(channels::PROGRAMS);
    let threads = threads.map(|program| Subject { program, mailboxes: None });
    all.flat_map(both).chain(threads).collect()
}

pub(crate) fn table(effort: Effort, progress: &dyn Fn(&str)) -> Table {
    let header = [
        "mailboxes",
        "criterion",
        "programs",
        "schedules",
        "followed",
        "share",
        "failed first",
        "new order",
        "share",
    ];
    let mut table = Table {
        title: "Schedules that could be followed".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut counts: BTreeMap<(&str, &str), Count> = BTreeMap::new();
    let mut below = Vec::new();
    for subject in subjects() {
        progress(&format!("schedules of {}", subject.program.name));
        for criterion in Criterion::ALL {
            match one(subject, criterion, effort) {
                Ok(Some((order, count))) => {
                    counts.entry((order, criterion.name())).or_default().add(count);
                    if count.infeasible > 0 || count.fruitful + count.failed < count.schedules {
                        let name = subject.program.name;
                        below.push((count, format!("`{name}` ({order}, {})", criterion.name())));
                    }
                }
                Ok(None) => {}
                Err(error) => table.failures.push(format!("{}: {error}", subject.program.name)),
            }
        }
    }
    let mut all = Count::default();
    for ((order, criterion), count) in &counts {
        table.rows.push(row([*order, *criterion], *count));
        all.add(*count);
    }
    // Each was counted once for each criterion.
    all.programs /= Criterion::ALL.len() as u64;
    table.rows.push(row(["all", ""], all));
    table.comparisons.push(all.comparison());
    table.notes.push(
        "A schedule is generated when the execution before it has ended, and counts as followed if every message that it names was \
         received in its order; `new order`: its execution showed an order of two receives, by the criterion, that no execution \
         before it had shown. Both are told by the execution that ran. `failed first`: the bug of the program showed before the \
         schedule was followed to its end, and the schedule is not asked for a new order. Every program runs with the order \
         between each two actors (pairs) and with one queue for each actor; protocols that rely on queues may fail without them. \
         `channels`: programs of threads, of which those are counted that receive something from a channel."
            .to_owned(),
    );
    table.notes.push(format!(
        "Each program at its small size, {} executions at most by each criterion, with seed 1; one that fails until it does.",
        effort.schedules
    ));
    below.sort_by_key(|(count, _)| {
        std::cmp::Reverse(count.infeasible + count.schedules - count.fruitful - count.failed)
    });
    for (count, name) in below.iter().take(NAMED) {
        let Count { schedules, infeasible, fruitful, failed, .. } = count;
        table.notes.push(format!(
            "{name}: {schedules} schedules, {infeasible} not followed, {} without a new order.",
            schedules - fruitful - failed
        ));
    }
    if below.len() > NAMED {
        table.notes.push(format!("And {} others.", below.len() - NAMED));
    }
    table
}

/// A program without receives has none to put in order.
fn one(
    subject: Subject,
    criterion: Criterion,
    effort: Effort,
) -> Result<Option<(&'static str, Count)>, String> {
    let arguments = subject.program.defaults();
    let mut listener = Listener::new(criterion);
    let body = || match subject.mailboxes {
        Some(mailboxes) => subject.program.call_with(mailboxes, &arguments),
        None => subject.program.call(&arguments),
    };
    let limits = (effort.schedules, effort.cap / 4);
    let searched = search_with(criterion.strategy(), 1, limits, &mut [&mut listener], &body);
    if !listener.has_received {
        return Ok(None);
    }
    let (explored, covered) = searched?;
    let order = match subject.mailboxes {
        None => "channels",
        Some(Mailboxes::Queue) => "queue",
        Some(_) => "pairs",
    };
    let covered = serde_json::to_value(covered).map_err(|error| error.to_string())?;
    let number = |key: &str| find(&covered, key);
    let (Some(schedules), Some(infeasible)) = (number("schedules"), number("infeasible")) else {
        return Err(format!("the strategy does not say how many schedules it made: {covered}"));
    };
    // The first execution follows none.
    let fruitful = listener.fruitful.iter().skip(1).filter(|new| **new).count() as u64;
    let fails_early = explored.failure.is_some() && listener.fruitful.last() == Some(&false);
    let failed = u64::from(fails_early && schedules > 0);
    Ok(Some((order, Count { programs: 1, schedules, infeasible, failed, fruitful })))
}

/// The number of this name, however deep.
fn find(value: &serde_json::Value, key: &str) -> Option<u64> {
    match value {
        serde_json::Value::Object(map) => {
            let own = map.get(key).and_then(serde_json::Value::as_u64);
            own.or_else(|| map.values().find_map(|value| find(value, key)))
        }
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are some thousand schedules")]
fn row([order, criterion]: [&str; 2], count: Count) -> Vec<String> {
    let share = |part: u64, all: u64| match all {
        0 => "—".to_owned(),
        all => format!("{:.2} %", 100.0 * part as f64 / all as f64),
    };
    let followed = count.schedules - count.infeasible.min(count.schedules);
    let asked_for_orders = count.schedules - count.failed;
    vec![
        order.to_owned(),
        criterion.to_owned(),
        count.programs.to_string(),
        count.schedules.to_string(),
        followed.to_string(),
        share(followed, count.schedules),
        count.failed.to_string(),
        count.fruitful.to_string(),
        share(count.fruitful, asked_for_orders),
    ]
}
