//! The fewest delays of `rr` that show known bugs: found with so many, not found with one less. Beside them the fewest
//! preemptions, which for most are as many.

use raddle::{Covered, Verdict};
use raddle_corpus::Ask;
use raddle_corpus::run::is_as_expected;

use crate::{check, program};

/// Which bug, of which size, with how many preemptions and how many delays.
const KNOWN: [(&str, &[usize], u32, u32); 7] = [
    ("abba", &[], 1, 1),
    ("two-stage", &[1], 1, 1),
    ("bluetooth", &[], 1, 1),
    ("wrong-lock", &[1], 1, 1),
    // All pass the value round, in another order, before it is looked at: two are made to wait.
    ("token-ring", &[], 0, 2),
    ("reorder", &[2], 1, 2),
    ("reorder", &[3], 1, 3),
];

/// Every search that is bounded by delays, with what it claims where it finds nothing.
fn searches(delays: u32) -> [String; 4] {
    [
        format!("dfs delays({delays}) rr"),
        format!("dfs delays({delays}) rr cache"),
        format!("all best-first(delays) delays({delays}) rr"),
        format!("strata(rr, exact) delays({delays})"),
    ]
}

#[test]
fn known_bugs_show_with_as_few_delays_as_is_known() {
    for (name, arguments, preemptions, delays) in KNOWN {
        let program = program(name);
        for delays_allowed in 0..=delays {
            for text in searches(delays_allowed) {
                let report = check(program, arguments, &Ask::new(&text));
                let what = format!("{name}{arguments:?} under {text}");
                if delays_allowed == delays {
                    assert!(is_as_expected(program, &report), "{what}");
                    continue;
                }
                assert_eq!(report.verdict, Verdict::Covered, "{what}");
                let covered = report.guarantee.covered;
                let claims = match covered {
                    Covered::Delays(k) | Covered::Strata { delays: Some(k), .. } => k,
                    _ => panic!("{what}: {covered:?}"),
                };
                assert_eq!(claims, delays_allowed, "{what}");
            }
        }
        for k in 0..=preemptions {
            let report = check(program, arguments, &Ask::new(&format!("dfs preemptions({k})")));
            assert_eq!(report.failure.is_some(), k == preemptions, "{name} with {k} preemptions");
        }
    }
}

/// The search without a bound goes through strata one by one: the failing execution is one of the stratum in which
/// the bug first shows, so that no search bounded below it finds it.
#[test]
fn strata_find_known_bugs_without_a_bound() {
    for (name, arguments, ..) in KNOWN {
        for text in ["strata(rr)", "strata(rr, exact)", "strata(rtc)", "strata(prr)"] {
            let report = check(program(name), arguments, &Ask::new(text));
            assert!(is_as_expected(program(name), &report), "{name}{arguments:?} under {text}");
        }
    }
}
