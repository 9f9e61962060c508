//! Which searches a strategy stands for: one, or several beside each other (`a | b`, `portfolio`, `auto`).

use raddle_engine::explorer::Explorer;
use raddle_search::Environment;
use raddle_trace::Covered;
use raddle_trace::unit::Pace;

use crate::config::{AUTO, Config, EXECUTIONS};
use crate::custom::Custom;
use crate::error::Error;
use crate::search;

/// The members of `auto`: a reduction, which is owed half of the executions, and samplers. See [`Plan::of_list`].
///
/// Chosen by `raddle-bench default` on one half of the bugs of the corpus and reported on the other: see
/// `docs/results/default.md`.
pub(crate) const AUTO_MEMBERS: [&str; 3] = ["dpor", "pos", "pct(3)"];

/// What the first member of `auto` goes on with when its reduction has ended: it sees what tasks share outside
/// raddle's types, and it can end where tasks yield or spin, of which a reduction claims nothing.
const AFTER_REDUCTION: &str = "dfs";

/// The members of `portfolio`.
///
/// Chosen by `raddle-bench gambit portfolios` on one half of the bugs of `corpus/src/libraries`, with small and with large
/// arguments, and reported on the other: see `docs/results/gambit-portfolios.md`. All but the last can end, and then everything
/// is covered; the last sees what tasks share outside of raddle's types.
pub(crate) const DEFAULT: [&str; 4] = [
    "dpor(classic) best-first(rare) mixed",
    "dpor(classic) best-first(rare)",
    "dpor(classic) best-first(pb)",
    "pos",
];

/// What stands for several strategies, and for which: those that the registry has as [choices](raddle_search::CHOICES).
const CHOICES: [(&str, &[&str]); 2] = [(AUTO, &AUTO_MEMBERS), ("portfolio", &DEFAULT)];

/// The searches to run for one report: a portfolio, most often of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) members: Vec<Member>,
    /// Which were left out, and why.
    pub(crate) left_out: Vec<String>,
    /// Whether one of them never ends by itself.
    pub(crate) samples: bool,
    /// Whether the strategy is a list, whose members the report has one by one.
    pub(crate) listed: bool,
}

/// A member of a portfolio: a search, or several of which the next begins if the one before had no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Each composition in its shortest form.
    pub(crate) stages: Vec<String>,
    pub(crate) seed: u64,
    /// How its executions are shared with those of the others.
    pub(crate) pace: Pace,
}

impl Member {
    fn new(stage: String, seed: u64) -> Self {
        Self { stages: vec![stage], seed, pace: Pace::default() }
    }
}

impl Plan {
    /// The searches that a configuration asks for. `explorer`: what `custom` stands for in it.
    pub(crate) fn new(config: &Config, explorer: Option<&Explorer>) -> Result<Self, Error> {
        let names = listed(config)?;
        let environment = || environment(config, explorer);
        if !names.is_empty() {
            return Self::of_list(config, &names, &environment);
        }
        let composition = config.composition().unwrap_or_else(|| config.strategy.clone());
        let built = search::build(&composition, environment())?;
        let samples = matches!(built.strategy.covered(), Covered::Sample { .. });
        let member = Member::new(built.name, config.seed_or_default());
        Ok(Self { members: vec![member], left_out: vec![], samples, listed: false })
    }

    /// A strategy that the caller wrote.
    pub(crate) fn of_custom(config: &Config, custom: &Custom) -> Self {
        let member = Member::new(custom.name.clone(), config.seed_or_default());
        Self { members: vec![member], left_out: vec![], samples: custom.samples, listed: false }
    }

    fn of_list(
        config: &Config,
        names: &[&str],
        environment: &dyn Fn() -> Environment,
    ) -> Result<Self, Error> {
        let refuse = |reason| Err(refusal(config, reason));
        let mut plan = Self { members: vec![], left_out: vec![], samples: false, listed: true };
        for &name in names {
            if name.is_empty() {
                return refuse(
                    "there is a `|` with no strategy beside it; leave it out".to_owned(),
                );
            }
            if CHOICES.iter().any(|(choice, _)| *choice == name) {
                return refuse(format!(
                    "`{name}` is a choice of strategies and cannot be a member; name the strategies"
                ));
            }
            let built = match raddle_search::build(name, environment()) {
                Ok(built) => built,
                Err(error) => match error.refused_settings() {
                    Some((name, reason)) => {
                        plan.left_out.push(format!("`{name}` is left out: {reason}"));
                        continue;
                    }
                    None => return Err(search::refusal(name, &error)),
                },
            };
            let samples = matches!(built.strategy.covered(), Covered::Sample { .. });
            let is_it = |member: &&Member| member.stages[0] == built.name;
            let same = plan.members.iter().filter(is_it).count() as u64;
            if same > 0 && !built.draws {
                return refuse(format!(
                    "`{}` is there twice and would do the same both times; leave one out",
                    built.name
                ));
            }
            plan.samples |= samples;
            let seed = config.seed_or_default().wrapping_add(same);
            plan.members.push(Member::new(built.name, seed));
        }
        if plan.members.is_empty() {
            return refuse(plan.left_out.join("; "));
        }
        if is_auto(config) {
            plan.begin_with_a_search();
            plan.share(config.executions.unwrap_or(EXECUTIONS));
        }
        Ok(plan)
    }

    /// Gives the first member something to go on with when it has ended. Where the settings refuse the
    /// reduction, that is what it begins with.
    fn begin_with_a_search(&mut self) {
        let search = AFTER_REDUCTION.to_owned();
        if self.members[0].stages[0] == AUTO_MEMBERS[0] {
            self.members[0].stages.push(search);
        } else {
            let seed = self.members[0].seed;
            self.members.insert(0, Member::new(search, seed));
        }
    }

    /// Owes the first member half of this budget, and nothing more: all go on alike until the others
    /// have had the other half, and then the first alone. So with m members the n-th execution of any of them is
    /// among the first m * n of all, as long as the others have not used up their half; and what the first member
    /// covers with half of the budget is covered. After the budget, which only a limit of time allows, the others go on
    /// until they have run as many as the first, and then all alike.
    fn share(&mut self, budget: u64) {
        let owed = budget / 2;
        let others = self.members.len() as u64 - 1;
        let level = owed.checked_div(others).unwrap_or(owed);
        for (nth, member) in self.members.iter_mut().enumerate() {
            let alone = if nth == 0 { owed } else { level };
            member.pace = Pace { level, alone };
        }
    }

    /// All searches, with their seeds.
    pub(crate) fn searches(&self) -> Vec<(String, u64)> {
        let of = |member: &Member| {
            let seed = member.seed;
            member.stages.iter().map(move |stage| (stage.clone(), seed)).collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of).collect()
    }
}

/// The members that a configuration lists; none if it asks for one search.
fn listed(config: &Config) -> Result<Vec<&str>, Error> {
    let text = config.strategy.trim();
    if text == AUTO && !is_auto(config) {
        // A bound on preemptions is of one search: see `Config::composition`.
        return Ok(Vec::new());
    }
    let names: Vec<&str> = match CHOICES.iter().find(|(name, _)| *name == text) {
        Some((_, members)) => members.to_vec(),
        None if text.contains('|') => text.split('|').map(str::trim).collect(),
        None => return Ok(Vec::new()),
    };
    if config.preemptions.is_some() {
        return Err(refusal(
            config,
            "`preemptions` bounds one search, and these are several; write the bound where it \
             belongs, as in `dfs preemptions(2) | pos`"
                .to_owned(),
        ));
    }
    Ok(names)
}

/// Whether the configuration leaves the choice to raddle.
pub(crate) fn is_auto(config: &Config) -> bool {
    config.strategy.trim() == AUTO && config.preemptions.is_none()
}

/// What strategies are built with to see whether they can be: without files.
fn environment(config: &Config, explorer: Option<&Explorer>) -> Environment {
    Environment {
        seed: config.seed_or_default(),
        settings: config.settings(),
        explorer: explorer.cloned(),
        ..Environment::default()
    }
}

fn refusal(config: &Config, reason: String) -> Error {
    Error::Strategy { strategy: config.strategy.trim().to_owned(), reason }
}

/// Whether a configuration names strategies that there are. Whether they go with the rest of it is
/// known when they are run.
#[cfg(unix)]
pub(crate) fn check_names(config: &Config) -> Result<(), Error> {
    let text = config.strategy.trim();
    if !text.contains('|') && raddle_search::CHOICES.iter().any(|choice| choice.name == text) {
        return Ok(());
    }
    text.split('|')
        .try_for_each(|name| search::build(name.trim(), config.seed_or_default().into()).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(strategy: &str) -> Config {
        Config { strategy: strategy.to_owned(), ..Config::default() }
    }

    #[test]
    fn every_choice_of_the_registry_has_members() {
        let known = raddle_search::CHOICES
            .iter()
            .map(|entry| entry.name)
            .filter(|name| !name.contains('|'));
        assert!(known.eq(CHOICES.map(|(name, _)| name)));
    }

    #[test]
    fn the_default_members_are_named_in_their_shortest_form() {
        for strategy in ["portfolio", " portfolio "] {
            let plan = Plan::new(&named(strategy), None).expect("they are known");
            let names: Vec<_> = plan.searches().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, DEFAULT);
            assert!(plan.listed && plan.left_out.is_empty());
        }
    }

    #[test]
    fn what_draws_may_be_there_several_times_with_other_seeds() {
        let config =
            Config { seed: Some(7), ..named("random | all best-first(rand) | random | random") };
        let searches = Plan::new(&config, None).expect("known").searches();
        let expected = [("random", 7), ("all best-first(rand)", 7), ("random", 8), ("random", 9)];
        assert_eq!(searches, expected.map(|(name, seed)| (name.to_owned(), seed)));
    }

    #[test]
    fn what_does_not_draw_may_be_there_once() {
        let twice = |search: &str| Plan::new(&named(&format!("{search} | {search}")), None);
        for search in ["dpor", "dfs preemptions(2)", "all best-first(pb)"] {
            let error = twice(search).expect_err("the same twice");
            assert!(error.to_string().contains("would do the same both times"), "{error}");
        }
        for search in
            ["dpor(classic) best-first(rare) mixed", "all random", "hapset(dpor, train(3))"]
        {
            assert!(twice(search).is_ok(), "{search}");
        }
    }

    #[test]
    fn auto_is_a_reduction_that_is_owed_half_of_the_executions_beside_samplers() {
        let timed = Config { time: Some(std::time::Duration::from_secs(1)), ..named("auto") };
        for config in [named("auto"), timed] {
            let plan = Plan::new(&config, None).expect("known");
            let stages: Vec<_> = plan.members.iter().map(|member| member.stages.clone()).collect();
            assert_eq!(stages, [vec!["dpor", "dfs"], vec!["pos"], vec!["pct(3)"]]);
            let paces: Vec<_> = plan.members.iter().map(|member| member.pace).collect();
            let sampler = Pace { level: 2_500, alone: 2_500 };
            // 3 * 2,500 in turns, and the 2,500 that the reduction lacks to half of 10,000.
            assert_eq!(paces, [Pace { level: 2_500, alone: 5_000 }, sampler, sampler]);
            assert!(plan.samples && plan.listed);
        }
    }

    #[test]
    fn auto_has_the_reduction_however_timeouts_fire() {
        let config = Config { timeouts: crate::Timeouts::Idle, ..named("auto") };
        let plan = Plan::new(&config, None).expect("known");
        let stages: Vec<_> = plan.members.iter().map(|member| member.stages.clone()).collect();
        assert_eq!(stages, [vec!["dpor", "dfs"], vec!["pos"], vec!["pct(3)"]]);
        assert!(plan.left_out.is_empty());
    }
}
