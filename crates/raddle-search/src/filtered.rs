//! The guided searches as one strategy: what is filtered, by what, and how it was trained.

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Estimating, Event, Finished, Needs, Plan, Point, Remarks, Resumable,
    Strategy, Unsupported,
};
use raddle_trace::{Covered, Note, PairSet, Progress};

use crate::bound::Bound;
use crate::expansion::raced::Raced;
use crate::expansion::reduced::Dpor;
use crate::hapset::{DEFAULT_CALLS, Filter, Metric};
use crate::path::PathSearch;
use crate::random::Random;
use crate::state::{FOREIGN, RUNNING, Reader, Writer};

const NAME: &str = "hapset";

/// Which alternatives there would be without a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternatives {
    /// Those of classic DPOR.
    Dpor,
    /// All options of a point where a race asks for one.
    All,
    /// The same with at most so many preemptions.
    Preemptions(u32),
}

/// How many calls tell statements apart once those that were asked for do not any more.
const DEEP: u8 = 16;

/// By what a search that widens tells orders apart, from coarse to fine. Each begins anew, with nothing learned: an
/// order that was left out may lead to executions in which others are new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// By statements, as it was asked for.
    Asked,
    /// By more of the calls that led to them.
    Calls,
    /// By the tasks that take them, too.
    Tasks,
    /// Nothing is left out.
    All,
}

impl Width {
    const EACH: [Self; 4] = [Self::Asked, Self::Calls, Self::Tasks, Self::All];

    fn wider(self) -> Option<Self> {
        Self::EACH.get(self as usize + 1).copied()
    }

    fn line(self) -> &'static str {
        match self {
            Self::Asked => "by statements as asked for",
            Self::Calls => "by statements with 16 calls",
            Self::Tasks => "by statements of each task",
            Self::All => "with nothing left out",
        }
    }
}

#[derive(Debug)]
enum Inner {
    Dpor(Box<Dpor>),
    Raced(Box<PathSearch<Raced>>),
}

/// A search that leaves out orders of statements which passing executions have shown.
///
/// ```
/// use raddle_search::{HapSet, Alternatives};
///
/// let search = HapSet::new(Alternatives::Dpor).trained(10, 7);
/// assert_eq!(search.name(), "hapset(dpor, train(10))");
/// ```
#[derive(Debug)]
pub struct HapSet {
    over: Alternatives,
    metric: Metric,
    calls: u8,
    lenient: bool,
    /// Whether it goes on when nothing is left that would show a new order, telling more orders apart.
    widens: bool,
    width: Width,
    /// The executions of each width that has ended.
    ended: Vec<u64>,
    inner: Inner,
    random: Random,
    /// Executions that are drawn first.
    train: u64,
    trained: u64,
    training: bool,
}

impl HapSet {
    /// Searches with this metric's sets.
    #[must_use]
    pub fn new(over: Alternatives) -> Self {
        Self::by(over, Metric::HapSet, DEFAULT_CALLS)
    }

    /// Searches by what is known of reads and writes alone, without their calling contexts.
    #[must_use]
    pub fn of_accesses(over: Alternatives) -> Self {
        Self::by(over, Metric::PSet, 0)
    }

    fn by(over: Alternatives, metric: Metric, calls: u8) -> Self {
        Self {
            over,
            metric,
            calls,
            lenient: false,
            widens: false,
            width: Width::Asked,
            ended: Vec::new(),
            inner: inner(over, Filter::new(metric, calls)),
            random: Random::new(0),
            train: 0,
            trained: 0,
            training: false,
        }
    }

    /// With a filter of its own settings.
    fn renewed(mut self) -> Self {
        self.inner = inner(self.over, self.new_filter());
        self
    }

    fn new_filter(&self) -> Filter {
        if !self.widens {
            let filter = Filter::new(self.metric, self.calls);
            return if self.lenient { filter.lenient() } else { filter };
        }
        // The engine is asked once how many calls to say, before the first execution.
        let filter = Filter::new(self.metric, DEEP.max(self.calls));
        let filter = filter.after(self.ended.iter().sum());
        match self.width {
            Width::Asked => filter.of_calls(self.calls),
            Width::Calls => filter,
            Width::Tasks => filter.by_task(),
            Width::All => filter.whole(),
        }
    }

    /// When nothing is left that would show a new order, goes on by more calls, then by tasks, then without leaving
    /// anything out, and claims what that covers. Beside [`Alternatives::Dpor`]; others stay as they are.
    #[must_use]
    pub fn widening(self) -> Self {
        let widens = self.over == Alternatives::Dpor && !self.lenient;
        Self { widens, ..self }.renewed()
    }

    /// Goes on with the next width, if there is one and something was left out.
    fn widen(&mut self) -> bool {
        let ended = matches!(self.strategy_ref().covered(), Covered::Guided { ended: true, .. });
        let Some(wider) = self.width.wider().filter(|_| self.widens && ended) else { return false };
        if !self.filter().has_pruned() {
            return false;
        }
        let before: u64 = self.ended.iter().sum();
        self.ended.push(self.filter().executions() - before);
        self.width = wider;
        self.inner = inner(self.over, self.new_filter());
        true
    }

    /// How far it has widened.
    fn widths(&self) -> Option<Note> {
        let each = |(width, executions): (Width, &u64)| format!("{} {executions}", width.line());
        let each: Vec<_> = Width::EACH.into_iter().zip(&self.ended).map(each).collect();
        let (last, so_far) = (self.width.line(), each.join(", "));
        let text = format!(
            "orders were told apart step by step, each with its executions: {so_far}, then {last}"
        );
        (!self.ended.is_empty()).then_some(Note::Text { text })
    }

    /// Tells statements apart by so many of the innermost calls.
    #[must_use]
    pub fn with_calls(self, calls: u8) -> Self {
        Self { calls, ..self }.renewed()
    }

    /// Draws so many executions first, to learn from.
    #[must_use]
    pub fn trained(self, executions: u64, seed: u64) -> Self {
        Self { train: executions, random: Random::new(seed), ..self }
    }

    /// Learns, but leaves nothing out: what there is without the filter, to compare with.
    #[must_use]
    pub fn lenient(self) -> Self {
        Self { lenient: true, ..self }.renewed()
    }

    /// Takes these pairs of statements to have been seen in passing executions before.
    #[must_use]
    pub fn knowing(mut self, pairs: &PairSet) -> Self {
        self.filter_mut().know(pairs);
        self
    }

    /// As in a composition.
    #[must_use]
    pub fn name(&self) -> String {
        let (name, usual) = match self.metric {
            Metric::PSet => ("pset", 0),
            _ => ("hapset", DEFAULT_CALLS),
        };
        let over = match self.over {
            Alternatives::Dpor => "dpor".to_owned(),
            Alternatives::All => "all".to_owned(),
            Alternatives::Preemptions(k) => format!("preemptions({k})"),
        };
        let calls = (self.calls != usual).then(|| format!(", calls({})", self.calls));
        let train = (self.train > 0).then(|| format!(", train({})", self.train));
        let (calls, train) = (calls.unwrap_or_default(), train.unwrap_or_default());
        let widens = if self.widens { ", widen" } else { "" };
        format!("{name}({over}{calls}{train}{widens})")
    }

    fn filter(&self) -> &Filter {
        match &self.inner {
            Inner::Dpor(dpor) => dpor.filter(),
            Inner::Raced(guided) => Some(guided.filter()),
        }
        .expect("it was made with one")
    }

    fn filter_mut(&mut self) -> &mut Filter {
        match &mut self.inner {
            Inner::Dpor(dpor) => dpor.filter_mut(),
            Inner::Raced(guided) => Some(guided.filter_mut()),
        }
        .expect("it was made with one")
    }

    fn strategy(&mut self) -> &mut dyn Strategy {
        match &mut self.inner {
            Inner::Dpor(dpor) => &mut **dpor,
            Inner::Raced(guided) => &mut **guided,
        }
    }

    fn strategy_ref(&self) -> &dyn Strategy {
        match &self.inner {
            Inner::Dpor(dpor) => &**dpor,
            Inner::Raced(guided) => &**guided,
        }
    }
}

fn inner(over: Alternatives, filter: Filter) -> Inner {
    match over {
        Alternatives::Dpor => Inner::Dpor(Box::new(Dpor::filtered(filter))),
        Alternatives::All => Inner::Raced(Box::new(PathSearch::<Raced>::new(Bound::None, filter))),
        Alternatives::Preemptions(k) => {
            Inner::Raced(Box::new(PathSearch::<Raced>::new(Bound::Preemptions(k), filter)))
        }
    }
}

impl Strategy for HapSet {
    fn needs(&self) -> Needs {
        self.strategy_ref().needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.training = self.trained < self.train;
        if self.training {
            self.trained += 1;
            self.filter_mut().begin();
            let goes_on = self.random.begin(plan);
            // The search after it draws nothing.
            plan.memoryless = false;
            return goes_on;
        }
        // A width that has just begun has its first execution to run.
        self.strategy().begin(plan) || self.widen() && self.strategy().begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if self.training { self.random.decide(point) } else { self.strategy().decide(point) }
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if !self.training {
            return self.strategy().step(event);
        }
        if let Event::Step(step) = event {
            self.filter_mut().step(step);
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if std::mem::take(&mut self.training) {
            self.random.end(execution);
            self.filter_mut().end(execution);
        } else {
            self.strategy().end(execution);
        }
    }

    fn covered(&self) -> Covered {
        self.strategy_ref().covered()
    }

    fn remarks(&self) -> Remarks {
        let mut remarks = self.strategy_ref().remarks();
        remarks.notes.extend(self.widths());
        remarks
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Estimating for HapSet {
    fn progress(&self) -> Progress {
        let pairs = Some(self.filter().count());
        Progress { pairs, ..self.strategy_ref().progress() }
    }
}

impl Resumable for HapSet {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if self.training {
            return Err(RUNNING);
        }
        let mut writer = Writer::new(NAME);
        writer.text(&self.name());
        writer.number(self.trained);
        if self.widens {
            writer.number(self.ended.len() as u64);
            self.ended.iter().for_each(|executions| writer.number(*executions));
        }
        writer.bytes(&self.random.save()?.0);
        writer.bytes(&self.strategy().save()?.0);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        reader.expect_text(&self.name())?;
        let trained = reader.number()?;
        let mut ended = Vec::new();
        if self.widens {
            ended = (0..reader.length()?).map(|_| reader.number()).collect::<Result<_, _>>()?;
        }
        let width = *Width::EACH.get(ended.len()).ok_or(FOREIGN)?;
        let random = Checkpoint(reader.bytes()?.to_vec());
        let inner = Checkpoint(reader.bytes()?.to_vec());
        reader.finish()?;
        if trained > self.train {
            return Err(FOREIGN);
        }
        let mut drawing = self.random.clone();
        drawing.restore(&random)?;
        if width != self.width {
            (self.width, self.ended) = (width, ended);
            self.inner = self::inner(self.over, self.new_filter());
        }
        self.strategy().restore(&inner)?;
        (self.random, self.trained, self.training) = (drawing, trained, false);
        Ok(())
    }
}
