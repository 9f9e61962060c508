//! The device driver.

use raddle::actors::View;
use raddle_corpus::protocols::osr_driver::{Application, Bug, Nodes, Size, Status, model};

use super::{finds, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { requests: 2, cycles: 2, devices: 1, pause: 0 };

#[test]
fn the_driver_is_clean() {
    is_clean("osr-driver", "random", 2_000);
    is_clean("osr-driver", "pct(3)", 500);
    is_clean("osr-driver", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 100_000), Some(37_411));
}

#[test]
fn requests_end_in_every_way() {
    let ends = |status| {
        move |nodes: &Nodes, view: &View<'_>| {
            let application = view.actor::<Application>(&nodes.application);
            application.completed().iter().any(|(_, other)| *other == status)
        }
    };
    let goals = model(Bug::None, SMALL)
        .sometimes("success", ends(Status::Success))
        .sometimes("cancelled", ends(Status::Cancelled))
        .sometimes("removed", ends(Status::Removed));
    reaches_its_goals(&goals);
}

#[test]
fn every_bug_of_the_driver_is_found() {
    finds("osr-driver-completed", "random", 2_000, "has no use for TransferDone");
    finds("osr-driver-keeps-cancelled", "random", 2_000, "is completed twice");
}
