//! What a nightly run consists of, in the order in which it is begun: the long comparisons first.

/// A part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is called in the page and on the command line.
    pub name: &'static str,
    /// What it does.
    pub kind: Kind,
}

/// What a part does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Compares random programs, so many at a time, by one test.
    Comparison(Comparison),
    /// Runs long tests as they are.
    Tests(Tests, &'static [&'static str]),
    /// `cargo xtask mutate`.
    Mutations,
    /// Measures a page of results.
    Page(Page),
}

/// Where tests are, as cargo is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// `crates/raddle-threads/tests/reduction`.
    Threads,
    /// `crates/raddle-threads/tests/allocations.rs`.
    Allocations,
    /// `crates/raddle-actors/tests/reduction`.
    Actors,
    /// `crates/raddle-actors/tests/protocol.rs`.
    Protocol,
    /// The tests in `crates/raddle-actors/src`.
    InActors,
    /// The tests in `crates/raddle-search/src`.
    InSearch,
    /// `corpus/tests/it`.
    Corpus,
    /// `corpus/tests/surw.rs`.
    Surw,
    /// `crates/raddle-fleet/tests/faults`.
    Fleet,
}

impl Tests {
    /// Which, as arguments of `cargo test`.
    #[must_use]
    pub fn arguments(self) -> &'static str {
        match self {
            Self::Threads => "-p raddle-threads --test reduction",
            Self::Allocations => "-p raddle-threads --test allocations",
            Self::Actors => "-p raddle-actors --features check --test reduction",
            Self::Protocol => "-p raddle-actors --features check --test protocol",
            Self::InActors => "-p raddle-actors --features check --lib",
            Self::InSearch => "-p raddle-search --lib",
            Self::Corpus => "-p raddle-corpus --test it",
            Self::Surw => "-p raddle-corpus --test surw",
            Self::Fleet => "-p raddle-fleet --test faults",
        }
    }

    /// The directory of the package, where its tests run.
    #[must_use]
    pub fn directory(self) -> &'static str {
        match self {
            Self::Threads | Self::Allocations => "crates/raddle-threads",
            Self::Actors | Self::Protocol | Self::InActors => "crates/raddle-actors",
            Self::InSearch => "crates/raddle-search",
            Self::Corpus | Self::Surw => "corpus",
            Self::Fleet => "crates/raddle-fleet",
        }
    }
}

/// A comparison of random programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Where its test is.
    pub tests: Tests,
    /// Its test.
    pub test: &'static str,
    /// How many programs are compared.
    pub programs: u64,
    /// How many at a time.
    pub chunk: u64,
    /// How many seeds there are for each time: enough for those that are skipped.
    pub stride: u64,
    /// How many interleavings a program may have, if that is not the test's own limit.
    pub most: Option<u64>,
}

/// A page of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The page, in `docs/results`.
    pub file: &'static str,
    /// What measures it.
    pub how: How,
}

/// What measures a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `raddle-bench`.
    Bench {
        /// As the page is made.
        arguments: &'static str,
        /// Added for a check.
        quick: &'static str,
    },
    /// `raddle-corpus`.
    Corpus {
        /// As the page is made.
        arguments: &'static str,
    },
}

const fn comparison(
    name: &'static str,
    tests: Tests,
    test: &'static str,
    (programs, chunk, stride): (u64, u64, u64),
    most: Option<u64>,
) -> Part {
    let comparison = Comparison { tests, test, programs, chunk, stride, most };
    Part { name, kind: Kind::Comparison(comparison) }
}

const fn bench(
    name: &'static str,
    file: &'static str,
    arguments: &'static str,
    quick: &'static str,
) -> Part {
    Part { name, kind: Kind::Page(Page { file, how: How::Bench { arguments, quick } }) }
}

/// All parts, in order.
pub const PARTS: &[Part] = &[
    comparison(
        "threads",
        Tests::Threads,
        "random::random_programs_lose_nothing",
        (12_000, 500, 5_000),
        // Fewer than the 50,000 of `RADDLE_LONG`: larger programs take most of the time.
        Some(20_000),
    ),
    comparison(
        "actors",
        Tests::Actors,
        "random::reductions_see_what_there_is",
        (12_000, 500, 5_000),
        None,
    ),
    comparison(
        "agreement",
        Tests::Threads,
        "agreement::reductions_agree_on_programs_beyond_exhaustive_search",
        (12_000, 500, 5_000),
        // Fewer than the 1,000 of `RADDLE_LONG`, for time.
        Some(500),
    ),
    comparison(
        "agreement-counts",
        Tests::Threads,
        "agreement::reductions_agree_on_reference_counts_beyond_exhaustive_search",
        (2_000, 250, 5_000),
        None,
    ),
    comparison(
        "agreement-waits",
        Tests::Threads,
        "agreement::reductions_agree_on_waits_that_time_out_beyond_exhaustive_search",
        // One seed in about seventy draws such a program.
        (2_000, 250, 50_000),
        None,
    ),
    comparison(
        "agreement-spins",
        Tests::Threads,
        "agreement::reductions_agree_on_loops_that_wait_beyond_exhaustive_search",
        (1_000, 100, 5_000),
        None,
    ),
    comparison(
        "agreement-actors",
        Tests::Actors,
        "random::reductions_agree_on_programs_beyond_exhaustive_search",
        (6_000, 500, 5_000),
        Some(500),
    ),
    comparison(
        "faults",
        Tests::Actors,
        "random::reductions_see_every_fault",
        (6_000, 500, 5_000),
        // Fewer than the 20,000 of `RADDLE_LONG`: half of the programs are larger than 2,000.
        Some(5_000),
    ),
    comparison(
        "mixed-faults",
        Tests::Actors,
        "random::reductions_see_every_mixture_of_faults",
        (3_000, 500, 5_000),
        Some(5_000),
    ),
    comparison(
        "threads-beside-actors",
        Tests::Actors,
        "beside::a_reduction_that_sees_less_says_so",
        (3_000, 500, 5_000),
        Some(5_000),
    ),
    comparison(
        "best-first",
        Tests::Threads,
        "random::best_first_runs_the_schedules_of_depth_first",
        (12_000, 500, 5_000),
        None,
    ),
    comparison(
        "reference-counts",
        Tests::Threads,
        "random::random_programs_of_reference_counts_lose_nothing",
        (4_000, 500, 5_000),
        Some(20_000),
    ),
    comparison(
        "waits",
        Tests::Threads,
        "random::random_waits_that_time_out_and_wake_for_no_reason_lose_nothing",
        // One seed in about fifty draws such a program that is small enough.
        (3_000, 125, 12_500),
        None,
    ),
    comparison(
        "idle-timeouts",
        Tests::Threads,
        "random::random_waits_that_time_out_when_nothing_else_can_move_lose_nothing",
        // One seed in about ten draws such a program that is small enough.
        (3_000, 500, 12_500),
        None,
    ),
    comparison(
        "no-timeouts",
        Tests::Threads,
        "random::random_waits_that_never_time_out_lose_nothing",
        // One seed in about twelve draws such a program that is small enough.
        (3_000, 250, 12_500),
        None,
    ),
    comparison(
        "spins",
        Tests::Threads,
        "spins::programs_that_spin_have_the_same_traces_under_every_reduction",
        (12_000, 500, 5_000),
        None,
    ),
    comparison(
        "spin-rule",
        Tests::Threads,
        "spins::exactly_the_executions_within_the_rule_are_run",
        (3_000, 500, 5_000),
        None,
    ),
    comparison(
        "bounded",
        Tests::Threads,
        "bounded::a_bounded_reduction_loses_no_trace_within_its_bound",
        // Each with four bounds.
        (12_000, 250, 2_000),
        None,
    ),
    comparison(
        "saved-threads",
        Tests::Threads,
        "saving::random_programs_are_searched_as_if_nothing_had_happened",
        (2_000, 250, 250),
        None,
    ),
    comparison(
        "saved-actors",
        Tests::Actors,
        "saving::actors_are_searched_in_parts_as_if_nothing_had_happened",
        (2_000, 250, 250),
        None,
    ),
    comparison(
        "units",
        Tests::Threads,
        "units::units_run_what_the_whole_runs_however_it_is_cut",
        (3_000, 250, 2_500),
        None,
    ),
    comparison(
        "source-units",
        Tests::Threads,
        "units::source_sets_in_units_lose_nothing",
        (12_000, 500, 5_000),
        None,
    ),
    comparison(
        "units-of-actors",
        Tests::Actors,
        "units::actors_are_searched_in_units_as_in_one_piece",
        (3_000, 250, 5_000),
        None,
    ),
    comparison(
        "saved-states",
        Tests::InActors,
        "states::tests::states_are_searched_in_parts_as_if_nothing_had_happened",
        (1_000, 100, 100),
        None,
    ),
    comparison(
        "isolation",
        Tests::Threads,
        "isolation::every_strategy_does_in_processes_of_its_own_what_it_does_without",
        (500, 50, 50),
        None,
    ),
    Part {
        name: "known-counts",
        kind: Kind::Tests(Tests::Threads, &["counts::", "random::programs_"]),
    },
    Part {
        name: "known-counts-actors",
        kind: Kind::Tests(Tests::Actors, &["counts::", "random::programs_", "random::what_"]),
    },
    // `corpus/counts.txt` and the pages `applications`, `libraries` and `spinning` are compared here.
    Part { name: "corpus", kind: Kind::Tests(Tests::Corpus, &[]) },
    Part { name: "surw", kind: Kind::Tests(Tests::Surw, &[]) },
    Part { name: "mutations", kind: Kind::Mutations },
    comparison(
        "cache",
        Tests::Threads,
        "cache::random_programs_lose_nothing",
        (3_000, 500, 5_000),
        None,
    ),
    comparison(
        "filters",
        Tests::Threads,
        "hapset::a_filter_that_leaves_nothing_out_changes_nothing_and_one_that_does_ends",
        (2_000, 250, 2_500),
        None,
    ),
    comparison(
        "states",
        Tests::InActors,
        "states::tests::states_are_those_of_all_executions",
        (3_000, 500, 500),
        None,
    ),
    comparison(
        "strata-threads",
        Tests::Threads,
        "explorers::strata_show_the_traces_within_each_number_of_delays",
        (3_000, 250, 2_500),
        None,
    ),
    comparison(
        "strata-actors",
        Tests::Actors,
        "explorers::strata_show_the_traces_within_each_number_of_delays",
        (3_000, 250, 2_500),
        None,
    ),
    Part {
        name: "explorers",
        kind: Kind::Tests(Tests::InSearch, &["explorers::tests::", "strata_sample::tests::"]),
    },
    comparison(
        "strata-of-states",
        Tests::InActors,
        "states::tests::strata_are_those_of_all_executions_with_so_many_delays",
        (3_000, 500, 500),
        None,
    ),
    Part { name: "saved-searches", kind: Kind::Tests(Tests::InSearch, &["registry::saving::"]) },
    Part { name: "protocol", kind: Kind::Tests(Tests::Protocol, &[]) },
    // With faults of all kinds again and again for two minutes.
    Part { name: "fleet", kind: Kind::Tests(Tests::Fleet, &[]) },
    Part { name: "allocations", kind: Kind::Tests(Tests::Allocations, &[]) },
    bench("page-estimates", "estimates.md", "estimate", "--quick"),
    bench("page-states", "states.md", "states", "--quick"),
    bench("page-foundation", "foundation.md", "foundation", "--quick"),
    bench("page-samplers", "samplers.md", "samplers", "--quick"),
    bench("page-points", "points.md", "points", "--quick"),
    bench("page-actors", "actors.md", "actors", "--quick"),
    bench("page-driver", "driver.md", "driver", "--quick"),
    bench("page-hapset", "hapset.md", "hapset all", "--quick"),
    bench("page-gambit-methods", "gambit-methods.md", "gambit methods", "--quick"),
    bench("page-gambit-memory", "gambit-memory.md", "gambit memory", "--quick"),
    bench("page-gambit-cost", "gambit-cost.md", "gambit cost", "--quick"),
    bench(
        "page-gambit-portfolios",
        "gambit-portfolios.md",
        "gambit portfolios --budget 5000",
        "--quick --budget 100",
    ),
    bench("page-gambit", "gambit.md", "gambit all --budget 5000", "--quick --budget 500"),
    bench(
        "page-gambit-large",
        "gambit-table2-large.md",
        "gambit table2 --large --budget 5000",
        "--quick --budget 100",
    ),
    bench("page-delaying", "delaying-bugs.md", "delaying bugs", "--quick"),
    bench("page-delaying-large", "delaying-bugs-large.md", "delaying bugs --large", "--quick"),
    bench("page-delaying-failures", "delaying-failures.md", "delaying failures", "--quick"),
    bench("page-delaying-custom", "delaying-custom.md", "delaying custom", "--quick"),
    bench("page-delaying-priorities", "delaying-priorities.md", "delaying priorities", "--quick"),
    bench(
        "page-bita",
        "bita.md",
        "bita all --time-limit 10000 --plain-limit 200",
        "--quick --time-limit 500 --plain-limit 20",
    ),
    bench("page-default", "default.md", "default", "--quick"),
    bench("page-bounded", "bounded.md", "bounded", "--quick"),
    bench("page-fleet", "fleet.md", "fleet --markdown", "--quick"),
    bench("page-fleet-sim", "fleet-sim.md", "fleet-sim", "--quick"),
    bench("page-eta", "eta.md", "eta all", "--quick"),
    bench("page-reduction", "reduction.md", "reduction", "--quick"),
    Part {
        name: "page-minimised",
        kind: Kind::Page(Page {
            file: "minimised.md",
            how: How::Corpus { arguments: "minimise --seeds 1" },
        }),
    },
    Part {
        name: "page-protocols-on-threads",
        kind: Kind::Page(Page {
            file: "protocols-on-threads.md",
            how: How::Corpus { arguments: "threads --time 1m" },
        }),
    },
];
