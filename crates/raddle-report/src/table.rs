//! One execution as a table: a lane for each task, time downwards, a row for each step.
//!
//! While every lane gets a legible width, an op stands in the lane of its task. With more tasks
//! than that a lane shrinks to one mark, and task and op get columns of their own. With more than
//! fit even so, only those two columns are left.

use std::collections::BTreeSet;

use raddle_trace::{Event, Outcome, Panic, Site, Trace, Waiting};

use crate::columns::{Colour, Ink, NO_BREAK, clean, fit, paragraph, place, width, wrap};
use crate::fold::{self, Row};
use crate::links::Links;
use crate::minor::Hidden;
use crate::races::access_in_lane;
use crate::shown_at::{is_at_its_lock, shown_at};
use crate::waits::{op_in_lane, op_on_object, waits_for_in_lane};

/// What stands between two columns.
const BORDER: &str = " │ ";
/// Narrower than this, and lanes become marks.
const LEGIBLE_LANE: usize = 11;
/// How wide a lane grows for the sake of how its task ended, which can be wrapped.
const ENDING_WIDTH: usize = 26;
/// How many lines of a lane that takes at most.
const ENDING_LINES: usize = 4;
/// How wide ops must be for marks beside them to be worth their room.
const LEGIBLE_OP: usize = 20;
/// How many objects are listed below the table.
const LISTED_OBJECTS: usize = 6;
/// Narrower than this is taken as this.
const FEWEST_COLUMNS: usize = 60;
/// Wider than this too.
const MOST_COLUMNS: usize = 1_000;

/// How a table is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns in all; less than 60 counts as 60, more than 1,000 as 1,000.
    pub width: usize,
    /// Rows for steps and folds; less than 6 counts as 6.
    pub max_rows: usize,
    /// Whether to colour.
    pub colour: Colour,
    /// Where sites lead, if they are to be links.
    pub links: Option<Links>,
    /// Whether steps are shown that cannot have led to the failure: unlocks that let no other task go on,
    /// what came after it, and tasks on which nothing depends that led to it.
    pub full: bool,
    /// Steps that are not hidden as such, because something is said of them elsewhere.
    pub told: BTreeSet<u32>,
}

impl Default for TableOptions {
    /// 100 columns, 40 rows, no colour, no links, not every step.
    fn default() -> Self {
        Self {
            width: 100,
            max_rows: 40,
            colour: Colour::Never,
            links: None,
            full: false,
            told: BTreeSet::new(),
        }
    }
}

/// The steps of one execution and how it ended. Empty if there were no steps.
///
/// Steps count from 0, as everywhere in a trace. Tasks of which there is nothing to show have no
/// lane. A trace that does not come from an engine must hold each task after its parent, as
/// [`from_json`](crate::from_json) makes sure.
///
/// ```
/// use raddle_report::{TableOptions, table};
/// use raddle_trace::{Event, Outcome, Site, TaskName, Trace};
///
/// let site = Site { file: "src/lib.rs".into(), line: 7, column: 5 };
/// let op = "choose(3) -> 1".to_owned();
/// let event = Event { op, site, decision: Some(0), ..Event::default() };
/// let trace = Trace { tasks: vec![TaskName::root()], events: vec![event], ..Trace::default() };
/// assert_eq!(
///     table(&trace, &Outcome::Completed, &TableOptions::default()),
///     "step  │ main           │ at\n\
///      ──────┼────────────────┼─────────────\n   \
///         0  │ choose(3) -> 1 │ src/lib.rs:7\n"
/// );
/// ```
#[must_use]
pub fn table(trace: &Trace, outcome: &Outcome, options: &TableOptions) -> String {
    if trace.events.is_empty() {
        return String::new();
    }
    let table = Table::new(trace, outcome, options);
    let mut out = match table.lanes() {
        Some(lanes) => table.wide(&lanes),
        None => table.narrow(),
    };
    out.push_str(&table.legend());
    out
}

/// How a task ended, if not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) task: u32,
    pub(crate) text: String,
    pub(crate) site: Option<Site>,
}

impl Ending {
    fn panicked(panic: &Panic) -> Self {
        let line = panic.message.lines().next().unwrap_or_default();
        let text = clean(&format!("panicked: {line}"));
        Self { task: panic.task, text, site: panic.site.clone() }
    }

    /// The text where it is not wrapped.
    pub(crate) fn plain(&self) -> String {
        self.text.replace(NO_BREAK, " ")
    }
}

struct Table<'a> {
    trace: &'a Trace,
    width: usize,
    colour: Colour,
    links: Option<&'a Links>,
    hidden: Hidden,
    rows: Vec<Row>,
    /// Panics that have a row of their own, each with the number of steps before it, ascending.
    raised: Vec<(u32, Ending)>,
    endings: Vec<Ending>,
    /// The tasks that have a lane, ascending.
    tasks: Vec<u32>,
    step_width: usize,
    site_width: usize,
}

impl<'a> Table<'a> {
    fn new(trace: &'a Trace, outcome: &Outcome, options: &'a TableOptions) -> Self {
        let width_in_all = options.width.clamp(FEWEST_COLUMNS, MOST_COLUMNS);
        let hidden = if options.full {
            Hidden::nothing()
        } else {
            Hidden::of(trace, outcome, &options.told)
        };
        let rows = fold::rows(trace, outcome, &hidden, options.max_rows);
        let mut endings = endings(trace, outcome);
        let raised = raised(trace, &mut endings);
        let mut table = Self {
            trace,
            width: width_in_all,
            colour: options.colour,
            links: options.links.as_ref(),
            hidden,
            rows,
            raised,
            endings,
            tasks: Vec::new(),
            step_width: width(&trace.events.len().to_string()).max("step".len()),
            site_width: "at".len(),
        };
        table.tasks = table.steps().map(|(_, event)| event.task).collect();
        let ends: Vec<u32> = table.ends().map(|ending| ending.task).collect();
        table.tasks.extend(ends);
        table.tasks.sort_unstable();
        table.tasks.dedup();
        let widest = table.sites().map(|site| width(&place(site, usize::MAX))).max();
        table.site_width = widest.unwrap_or(0).clamp("at".len(), width_in_all * 3 / 10);
        // Files without their directories take less room than ops without their ends.
        let names = table.sites().map(|site| {
            let name = site.file.rsplit(['/', '\\']).next().unwrap_or_default();
            let cut = if name.len() < site.file.len() { width("…/") } else { 0 };
            cut + width(&format!("{}:{}", clean(name), site.line))
        });
        let shortest = names.max().unwrap_or(0).max("at".len());
        let wanted = table.wanted();
        if wanted.iter().sum::<usize>() > table.room(wanted.len()) && shortest < table.site_width {
            table.site_width = shortest;
        }
        table
    }

    /// The places that are shown.
    fn sites(&self) -> impl Iterator<Item = &Site> {
        let ends = self.ends().filter_map(|ending| ending.site.as_ref());
        self.steps().map(|(_, event)| shown_at(event)).chain(ends)
    }

    /// How wide each lane would be for the name and the ops of its task, if there were room.
    fn wanted(&self) -> Vec<usize> {
        let wanted = |&task: &u32| {
            let ops = self.steps().filter(|(_, event)| event.task == task);
            let ops = ops.map(|(_, event)| width(&self.op(event)));
            ops.chain([width(&self.label(task))]).max().unwrap_or(0)
        };
        self.tasks.iter().map(wanted).collect()
    }

    fn steps(&self) -> impl Iterator<Item = (usize, &Event)> {
        self.rows.iter().filter_map(|row| match row {
            Row::Step(index) => Some((*index, &self.trace.events[*index])),
            Row::Fold(_) => None,
        })
    }

    /// How tasks ended, and the panics that have rows of their own.
    fn ends(&self) -> impl Iterator<Item = &Ending> {
        self.raised.iter().map(|(_, ending)| ending).chain(&self.endings)
    }

    /// The panics with a row before this one, of those that are left.
    fn raised_before<'b>(left: &mut &'b [(u32, Ending)], row: &Row) -> &'b [(u32, Ending)] {
        let start = match row {
            Row::Step(index) => *index,
            Row::Fold(folded) => folded.first().copied().unwrap_or_default(),
        };
        let n_before = left.partition_point(|(step, _)| *step as usize <= start);
        let (before, after) = left.split_at(n_before);
        *left = after;
        before
    }

    fn label(&self, task: u32) -> String {
        clean(&self.trace.task_label(task))
    }

    fn op(&self, event: &Event) -> String {
        op_on_object(self.trace, &event.op, event.object)
    }

    /// What is left for `n_columns` columns between the step number and the site.
    fn room(&self, n_columns: usize) -> usize {
        let borders = width(BORDER) * (n_columns + 1);
        self.width.saturating_sub(self.step_width + 1 + self.site_width + borders)
    }

    /// The width of each lane; none if that would not be legible.
    fn lanes(&self) -> Option<Vec<usize>> {
        let mut wanted = self.wanted();
        for ending in self.ends() {
            if let Ok(lane) = self.tasks.binary_search(&ending.task) {
                wanted[lane] = wanted[lane].max(width(&ending.text).min(ENDING_WIDTH));
            }
        }
        let room = self.room(wanted.len());
        let capped = |cap: usize| wanted.iter().map(|&lane| lane.min(cap)).sum::<usize>();
        let widest = wanted.iter().copied().max().unwrap_or(0);
        // Narrow lanes keep what they want; the others share the rest evenly.
        let cap = (0..=widest.min(room)).rev().find(|&cap| capped(cap) <= room)?;
        let legible = cap >= LEGIBLE_LANE.min(widest);
        legible.then(|| wanted.iter().map(|&lane| lane.min(cap)).collect())
    }

    fn wide(&self, lanes: &[usize]) -> String {
        let names = self.tasks.iter().zip(lanes).map(|(&task, &lane)| fit(&self.label(task), lane));
        let mut grid = Grid::new(self, lanes.to_vec(), &names.collect::<Vec<_>>(), true);
        let lane_of = |task: u32| self.tasks.iter().position(|&other| other == task);
        let in_lane = |event: &Event| {
            let mut cells = vec![String::new(); lanes.len()];
            if let Some(lane) = lane_of(event.task) {
                cells[lane] = op_in_lane(self.trace, &event.op, event.object, lanes[lane]);
            }
            cells
        };
        let raise = |grid: &mut Grid<'_>, raised: &[(u32, Ending)]| {
            for (_, ending) in raised {
                let Some(lane) = lane_of(ending.task) else { continue };
                for (index, line) in wrap_short(&ending.text, lanes[lane]).iter().enumerate() {
                    let mut cells = vec![String::new(); lanes.len()];
                    cells[lane].clone_from(line);
                    let site = ending.site.as_ref().filter(|_| index == 0);
                    grid.line("", &cells, site, Some(Ink::Bad));
                }
            }
        };
        let mut left = self.raised.as_slice();
        for row in &self.rows {
            raise(&mut grid, Self::raised_before(&mut left, row));
            grid.row(self, row, lane_of, in_lane);
        }
        raise(&mut grid, left);
        if self.endings.is_empty() {
            return grid.out;
        }
        grid.rule();
        let mut ends: Vec<Vec<String>> = vec![Vec::new(); lanes.len()];
        for ending in &self.endings {
            if let Some(lane) = lane_of(ending.task) {
                ends[lane].extend(wrap_short(&ending.text, lanes[lane]));
            }
        }
        // Beside tasks that end together there is room for the site of one only.
        let site = match self.endings.as_slice() {
            [one] => one.site.as_ref(),
            _ => None,
        };
        for line in 0..ends.iter().map(Vec::len).max().unwrap_or(0) {
            let cells: Vec<_> =
                ends.iter().map(|lane| lane.get(line).cloned().unwrap_or_default()).collect();
            grid.line("", &cells, site.filter(|_| line == 0), Some(Ink::Bad));
        }
        grid.out
    }

    fn narrow(&self) -> String {
        let labels = self.tasks.iter().map(|&task| width(&self.label(task)));
        let label_width = labels.max().unwrap_or(0).clamp("task".len(), self.width / 5);
        let mark_width = self.tasks.len().max("lanes".len());
        let room_beside_marks = self.room(3).saturating_sub(mark_width + label_width);
        let with_marks = room_beside_marks >= LEGIBLE_OP;
        let room_alone = self.room(2).saturating_sub(label_width).max(LEGIBLE_LANE);
        let room = if with_marks { room_beside_marks } else { room_alone };
        let ops = self.steps().map(|(_, event)| width(&self.op(event)));
        let endings = self.ends().map(|ending| width(&ending.text));
        let op_width = ops.chain(endings).max().unwrap_or(0).clamp("op".len(), room);

        // The columns, of which the first is left out where it would be too wide.
        let columns = usize::from(!with_marks)..;
        let widths = [mark_width, label_width, op_width];
        let names = ["lanes", "task", "op"].map(str::to_owned);
        let cells = |task: u32, op: &str| {
            let mark = |&other: &u32| if other == task { '●' } else { '·' };
            let marks = self.tasks.iter().map(mark).collect();
            let cells = [marks, fit(&self.label(task), label_width), fit(op, op_width)];
            cells[columns.clone()].to_vec()
        };
        let mut grid =
            Grid::new(self, widths[columns.clone()].to_vec(), &names[columns.clone()], false);
        let ended = |grid: &mut Grid<'_>, ending: &Ending| {
            for (index, line) in wrap_short(&ending.text, op_width).iter().enumerate() {
                let mut cells = cells(ending.task, line);
                let site = ending.site.as_ref().filter(|_| index == 0);
                if index > 0 {
                    let n_names = cells.len() - 1;
                    cells[..n_names].fill(String::new());
                }
                grid.line("", &cells, site, Some(Ink::Bad));
            }
        };
        let mut left = self.raised.as_slice();
        for row in &self.rows {
            let raised = Self::raised_before(&mut left, row);
            for (_, ending) in raised {
                ended(&mut grid, ending);
            }
            let op = |event: &Event| op_in_lane(self.trace, &event.op, event.object, op_width);
            grid.row(self, row, |_| None, |event| cells(event.task, &op(event)));
        }
        for (_, ending) in left {
            ended(&mut grid, ending);
        }
        if !self.endings.is_empty() {
            grid.rule();
        }
        self.endings.iter().for_each(|ending| ended(&mut grid, ending));
        grid.out
    }

    /// What is hidden, what the star and places mean, and where the objects come from.
    fn legend(&self) -> String {
        let mut out = String::new();
        if let Some(hidden) = self.hidden.said(self.trace) {
            let text = format!("… and {hidden} (shown with --full or RADDLE_FULL=true)");
            out.push_str(&paragraph("", &text, self.width));
        }
        if self.steps().any(|(_, event)| event.preempts) {
            out.push_str("* a preemption: the task that moved before could have gone on\n");
        }
        if self.steps().any(|(_, event)| is_at_its_lock(event)) {
            out.push_str("the place of an unlock is that of its lock\n");
        }
        let mut objects: Vec<u32> = self.steps().filter_map(|(_, event)| event.object).collect();
        objects.sort_unstable();
        objects.dedup();
        // What is said of objects that were created at one place is said once.
        let mut listed: Vec<(String, Vec<String>)> = Vec::new();
        for &object in &objects {
            let Some(entry) = self.trace.objects.get(object as usize) else { continue };
            let label = self.trace.object_label(object);
            let is_plain = entry.name.is_some() || label == entry.kind;
            if is_plain || entry.created.file.is_empty() {
                continue;
            }
            // The kind is part of the label, or is to be said.
            let kind = entry.variable.as_ref().map(|_| format!("the {} ", entry.kind));
            let from = clean(&format!("{}from {}", kind.unwrap_or_default(), entry.created));
            match listed.iter_mut().find(|(known, _)| *known == from && entry.variable.is_none()) {
                Some((_, labels)) => labels.push(clean(&label)),
                None => listed.push((from, vec![clean(&label)])),
            }
        }
        let say = |(from, labels): (String, Vec<String>)| match labels.split_last() {
            Some((last, rest)) if !rest.is_empty() => {
                format!("{} and {last} are {from} (numbered by first use)", rest.join(", "))
            }
            _ => format!("{} is {from}", labels.concat()),
        };
        let mut listed: Vec<String> = listed.into_iter().map(say).collect();
        if listed.len() > LISTED_OBJECTS {
            listed.truncate(LISTED_OBJECTS);
            listed.push("…".to_owned());
        }
        if !listed.is_empty() {
            let from = paragraph("", &listed.join(", "), self.width);
            let created: Vec<&Site> = self.trace.objects.iter().map(|o| &o.created).collect();
            let from = self.links.map_or(from.clone(), |links| links.within(&from, &created));
            out.push_str(&from);
        }
        out
    }
}

/// The table as it grows, line by line.
struct Grid<'a> {
    out: String,
    colour: Colour,
    links: Option<&'a Links>,
    /// Columns in all.
    width: usize,
    /// Whether each column is the lane of a task.
    are_lanes: bool,
    step_width: usize,
    site_width: usize,
    widths: Vec<usize>,
}

impl<'a> Grid<'a> {
    fn new(table: &Table<'a>, widths: Vec<usize>, names: &[String], are_lanes: bool) -> Self {
        let Table { width, colour, links, step_width, site_width, .. } = *table;
        let out = String::new();
        let mut grid =
            Self { out, colour, links, width, are_lanes, step_width, site_width, widths };
        let at = grid.colour.paint(Ink::Strong, "at");
        grid.push("step ", names, &at, Some(Ink::Strong));
        grid.rule();
        grid
    }

    fn row(
        &mut self,
        table: &Table<'_>,
        row: &Row,
        lane_of: impl Fn(u32) -> Option<usize>,
        cells: impl Fn(&Event) -> Vec<String>,
    ) {
        match row {
            Row::Step(index) => {
                let event = &table.trace.events[*index];
                let star = if event.preempts { '*' } else { ' ' };
                let at = Some(shown_at(event));
                self.line(&format!("{index}{star}"), &cells(event), at, None);
            }
            Row::Fold(folded) => {
                let (text, task) = fold::describe(table.trace, folded);
                let round = fold::repeated(table.trace, folded);
                let lane = task.and_then(lane_of).unwrap_or(0);
                self.fold(&text, round.as_deref(), lane);
            }
        }
    }

    /// Text from this lane on, as far to the right as it needs; and what repeats, if that has room.
    fn fold(&mut self, text: &str, round: Option<&str>, lane: usize) {
        let room = |from: usize| {
            let before = self.widths[..from].iter().map(|lane| lane + width(BORDER));
            let before = self.step_width + 1 + width(BORDER) + before.sum::<usize>();
            self.width.saturating_sub(before)
        };
        let long = round.map(|round| {
            let text = text.trim_end_matches(" …");
            format!("{text}, again and again {round} …")
        });
        let texts = [long.as_deref(), Some(text)].into_iter().flatten();
        let mut places = texts.flat_map(|text| [(text, lane), (text, 0)]);
        let (text, from) =
            places.find(|(text, from)| width(text) <= room(*from)).unwrap_or((text, 0));
        let text = self.colour.paint(Ink::Faint, &fit(text, room(from)));
        let before = self.widths[..from].iter().map(|&lane| " ".repeat(lane));
        let cells = [format!("{:>1$}", "⋮ ", self.step_width + 1)].into_iter().chain(before);
        let cells: Vec<_> = cells.chain([text]).collect();
        self.end_line(&cells.join(BORDER));
    }

    fn line(&mut self, step: &str, cells: &[String], site: Option<&Site>, ink: Option<Ink>) {
        let at = site.map(|site| {
            let text = self.colour.paint(Ink::Faint, &place(site, self.site_width));
            self.links.map_or_else(|| text.clone(), |links| links.wrap(site, &text))
        });
        self.push(step, cells, &at.unwrap_or_default(), ink);
    }

    fn push(&mut self, step: &str, cells: &[String], at: &str, ink: Option<Ink>) {
        let cell = |(index, (cell, &lane)): (usize, (&String, &usize))| {
            let gap = " ".repeat(lane.saturating_sub(width(cell)));
            let ink = ink.or(self.are_lanes.then_some(Ink::Lane(index)));
            let cell = ink.map_or_else(|| cell.clone(), |ink| self.colour.paint(ink, cell));
            format!("{cell}{gap}")
        };
        let step = format!("{step:>0$}", self.step_width + 1);
        let is_preemption = step.ends_with('*');
        let step = if is_preemption { self.colour.paint(Ink::Doubtful, &step) } else { step };
        let mut columns = vec![step];
        columns.extend(cells.iter().zip(&self.widths).enumerate().map(cell));
        columns.push(at.to_owned());
        self.end_line(&columns.join(BORDER));
    }

    fn end_line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn rule(&mut self) {
        let bar = |n: usize| "─".repeat(n);
        let lanes: Vec<_> = self.widths.iter().map(|&lane| bar(lane + 2)).collect();
        let line = format!(
            "{}┼{}┼{}\n",
            bar(self.step_width + 2),
            lanes.join("┼"),
            bar(self.site_width + 1)
        );
        self.out.push_str(&line);
    }
}

fn wrap_short(text: &str, lane: usize) -> Vec<String> {
    let mut lines: Vec<String> = wrap(text, lane).iter().map(|line| fit(line, lane)).collect();
    if lines.len() > ENDING_LINES {
        lines.truncate(ENDING_LINES);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), lane);
        }
    }
    lines
}

/// Panics after which there were more steps, or that did not end their task: each has its place between the steps. They
/// are taken out of how tasks ended.
pub(crate) fn raised(trace: &Trace, endings: &mut Vec<Ending>) -> Vec<(u32, Ending)> {
    let mut raised = Vec::new();
    for one in &trace.panics {
        let ending = Ending::panicked(&one.panic);
        let at = endings.iter().position(|other| *other == ending);
        if at.is_none() || (one.step as usize) < trace.events.len() {
            at.map(|at| endings.remove(at));
            raised.push((one.step, ending));
        }
    }
    raised
}

/// How tasks ended, if not well.
pub(crate) fn endings(trace: &Trace, outcome: &Outcome) -> Vec<Ending> {
    let stuck = |waiting: &Waiting| Ending {
        task: waiting.task,
        text: waits_for_in_lane(trace, waiting),
        site: Some(waiting.site.clone()),
    };
    let spins = |&task: &u32| Ending { task, text: "spins for ever".to_owned(), site: None };
    match outcome {
        Outcome::Panicked { panics, then } => {
            let then = then.iter().flat_map(|then| endings(trace, then));
            panics.iter().map(Ending::panicked).chain(then).collect()
        }
        Outcome::Deadlock { waiting } => waiting.iter().map(stuck).collect(),
        Outcome::Livelock { spinning, .. } => spinning.iter().map(spins).collect(),
        Outcome::DataRace(race) => [&race.first, &race.second]
            .map(|access| Ending {
                task: access.task,
                text: access_in_lane(race, access),
                site: Some(access.site.clone()),
            })
            .into(),
        Outcome::StackOverflow { task, site } => {
            let text = "overflowed its stack".to_owned();
            vec![Ending { task: *task, text, site: site.clone() }]
        }
        Outcome::Died { death, task: Some(task), .. } => {
            vec![Ending { task: *task, text: clean(&death.to_string()), site: None }]
        }
        _ => Vec::new(),
    }
}
