//! The tests of Eta's evaluation, and what was published of them.

use raddle_corpus::{Program, find};

/// One test, with the figures of the paper's tables 1 to 3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) name: &'static str,
    program: &'static str,
    arguments: &'static [usize],
    /// How many executions it has. None: not known, and it was run for an hour.
    pub(crate) all: Option<u64>,
    /// Executions and seconds of table 1.
    pub(crate) exhaustive: (u64, f64),
    /// Executions and seconds of table 2.
    pub(crate) reduced: (u64, f64),
    /// The estimate and the accuracy of table 3.
    pub(crate) estimate: Option<(u64, f64)>,
    /// Seconds of the random manager until it had seen all, and of the exploratory one, in the text of section 3.2.
    pub(crate) random: Option<(f64, f64)>,
}

/// All of them, in the order of the tables.
pub(crate) const TESTS: [Test; 10] = [
    Test {
        name: "Store(1,1,1,3)",
        program: "store",
        arguments: &[1, 1, 1, 3],
        all: Some(1_946),
        exhaustive: (1_946, 12.6),
        reduced: (289, 2.28),
        estimate: Some((1_090, 1.79)),
        random: Some((1_931.0, 12.52)),
    },
    Test {
        name: "Store(1,1,2,3)",
        program: "store",
        arguments: &[1, 1, 2, 3],
        all: Some(10_933),
        exhaustive: (10_933, 75.2),
        reduced: (765, 6.70),
        estimate: Some((3_283, 3.33)),
        random: None,
    },
    Test {
        name: "Store(1,2,2,3)",
        program: "store",
        arguments: &[1, 2, 2, 3],
        all: Some(18_275),
        exhaustive: (18_275, 133.8),
        reduced: (1_235, 10.50),
        estimate: Some((5_887, 3.10)),
        random: None,
    },
    Test {
        name: "Store(2,2,2,3)",
        program: "store",
        arguments: &[2, 2, 2, 3],
        all: Some(82_719),
        exhaustive: (82_719, 623.2),
        reduced: (12_216, 97.46),
        estimate: Some((39_666, 2.09)),
        random: None,
    },
    Test {
        name: "Store(2,2,3,3)",
        program: "store",
        arguments: &[2, 2, 3, 3],
        all: Some(239_466),
        exhaustive: (239_466, 1_885.6),
        reduced: (25_887, 216.85),
        estimate: Some((85_814, 2.79)),
        random: None,
    },
    Test {
        name: "Phils(2)",
        program: "phils",
        arguments: &[2],
        all: Some(150),
        exhaustive: (150, 0.8),
        reduced: (44, 0.22),
        estimate: Some((118, 1.27)),
        random: Some((13.76, 0.73)),
    },
    Test {
        name: "Phils(3)",
        program: "phils",
        arguments: &[3],
        all: Some(3_159_870),
        exhaustive: (379_077, 3_600.0),
        reduced: (67_192, 814.34),
        estimate: Some((1_104_386, 2.86)),
        random: None,
    },
    Test {
        name: "PingPong(10)",
        program: "pingpong",
        arguments: &[10],
        all: Some(2_048),
        exhaustive: (2_048, 18.2),
        reduced: (1_024, 11.68),
        estimate: Some((2_048, 1.00)),
        random: Some((125.2, 17.77)),
    },
    Test {
        name: "PingPong(15)",
        program: "pingpong",
        arguments: &[15],
        all: Some(65_536),
        exhaustive: (65_536, 912.8),
        reduced: (32_768, 622.86),
        estimate: Some((65_536, 1.00)),
        random: None,
    },
    Test {
        name: "Scheduler",
        program: "scheduler",
        arguments: &[3, 3, 2],
        all: None,
        exhaustive: (7_659, 3_600.0),
        reduced: (5_227, 3_600.0),
        estimate: None,
        random: None,
    },
];

impl Test {
    /// The program of the corpus.
    pub(crate) fn program(&self) -> &'static Program {
        find(self.program, self.arguments).expect("the corpus has it").0
    }

    /// Runs it once.
    pub(crate) fn call(&self) {
        self.program().call(self.arguments);
    }

    /// As part of a file name.
    pub(crate) fn slug(&self) -> String {
        let kept = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        self.name.to_lowercase().chars().map(kept).collect::<String>().trim_matches('-').to_owned()
    }
}

/// The test of this name.
pub(crate) fn test(name: &str) -> &'static Test {
    TESTS.iter().find(|test| test.name == name).expect("it is in the table")
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn the_corpus_knows_the_published_numbers() {
        for test in &TESTS {
            let known = test.program().interleavings.and_then(|count| count(test.arguments));
            assert_eq!(known, test.all, "{}", test.name);
            if test.all.is_some_and(|all| all != test.exhaustive.0) {
                assert!((test.exhaustive.1 - 3_600.0).abs() < 0.1, "an hour was not enough");
            }
        }
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
    fn the_published_accuracies_are_those_of_the_published_estimates() {
        for test in &TESTS {
            let Some(((estimate, accuracy), all)) = test.estimate.zip(test.all) else { continue };
            let off = super::super::accuracy(all, estimate as f64);
            assert!((off - accuracy).abs() < 0.011, "{}: {off}", test.name);
        }
    }

    #[test]
    fn names_make_file_names() {
        assert_eq!(test("Store(1,1,1,3)").slug(), "store-1-1-1-3");
        assert_eq!(test("Scheduler").slug(), "scheduler");
    }
}
