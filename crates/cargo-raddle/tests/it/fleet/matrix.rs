//! Each kind of search over NATS, compared with the same search by workers of one machine.
//!
//! Units are small, so that there are many whatever the machine: `--unit-executions`.

use std::time::Instant;

use raddle_fleet::Queue as _;
use raddle_fleet::nats::{NatsQueue, Run, RunState};
use raddle_trace::exit;
use serde_json::Value;

use super::{COORDINATE, Server, connected, project, start, work};
use crate::interrupts::{children, signal};
use crate::{Background, DEADLINE, Done, Project};

/// The report of a test.
#[track_caller]
fn report(done: Done, code: u8, test: &str) -> Value {
    let event = done.ended_with(code).finished()[test].clone();
    assert!(event["report"].is_object(), "{event}");
    event["report"].clone()
}

/// Verdict, guarantee and counts.
fn what_it_came_to(report: &Value) -> [Value; 4] {
    let counts = &report["counts"];
    [
        report["verdict"].clone(),
        report["guarantee"].clone(),
        counts["executions"].clone(),
        counts["blocked"].clone(),
    ]
}

/// The notes, of which one says how the search was cut.
fn notes(report: &Value) -> String {
    let notes = report["notes"].as_array().unwrap();
    notes.iter().filter_map(|note| note["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// What befalls the workers of a run.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// One of two is killed when it has recorded something, and its host with it.
    WorkerKilled,
    /// Hosts are killed, and workers start others.
    HostsKilled,
}

/// Searches over the server with two workers, and returns the report.
#[track_caller]
fn over_nats(
    (project, server): (&Project, &Server),
    (test, code): (&str, u8),
    more: &[&str],
    fault: Fault,
) -> Value {
    let began = Instant::now();
    for attempt in 0.. {
        let run = format!("{test}-{attempt}");
        let arguments = [&COORDINATE[..], &[&server.url, "--run", &run, test], more].concat();
        let mut coordinator = start(project, &arguments);
        let line = coordinator.until("--trust");
        let digits = line.trim().rsplit(' ').next().unwrap().to_owned();
        let mut first = work(project, server, &run, &digits);
        let befell = match fault {
            Fault::None => true,
            Fault::WorkerKilled => {
                let in_time = is_open_with_a_record(server, &run);
                // Dropped, it is killed.
                drop(first);
                first = work(project, server, &run, &digits);
                in_time
            }
            Fault::HostsKilled => {
                kill_hosts(&mut first);
                true
            }
        };
        let second = work(project, server, &run, &digits);
        let report = report(coordinator.end(), code, test);
        for worker in [first, second] {
            worker.end().ended_with(0);
        }
        // However fast the machine is: a run that was over before its worker was killed shows nothing.
        if befell {
            return report;
        }
        assert!(began.elapsed() < DEADLINE, "every run is over before a worker can be killed");
    }
    unreachable!("there is no last attempt")
}

/// Waits until a run has a record. Whether units are left then that have none.
#[track_caller]
fn is_open_with_a_record(server: &Server, run: &str) -> bool {
    let (run, manifest) = Run::find(&connected(server), run).unwrap();
    let queue = NatsQueue::open(&run, &manifest).unwrap();
    let began = Instant::now();
    loop {
        let state = queue.state().unwrap();
        if state.done > 0 {
            let manifest = run.manifest().unwrap().unwrap();
            return manifest.state == RunState::Open && state.waiting + state.leased > 0;
        }
        assert!(began.elapsed() < DEADLINE, "{state:?}");
    }
}

/// Kills two hosts of a worker, one after the other.
#[track_caller]
fn kill_hosts(worker: &mut Background) {
    let (began, mut killed) = (Instant::now(), Vec::new());
    while killed.len() < 2 {
        for host in children(worker.child.id()) {
            if !killed.contains(&host) && killed.len() < 2 {
                signal("-KILL", host);
                killed.push(host);
            }
        }
        assert!(began.elapsed() < DEADLINE, "it has no hosts: {killed:?}");
        std::thread::yield_now();
    }
}

/// The same by two workers of this machine.
#[track_caller]
fn here(project: &Project, (test, code): (&str, u8), more: &[&str]) -> Value {
    let arguments =
        ["test", "--no-regressions", "--format", "json", "--workers=2", "--exact", test];
    report(project.run(&[&arguments[..], more].concat()), code, test)
}

const SMALL: &str = "--unit-executions=40";

#[test]
fn a_reduction_over_nats_comes_to_what_it_comes_to_here() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let wanted = here(&project, ("reduced", exit::PASSED), &[SMALL]);
    let found =
        over_nats((&project, &server), ("reduced", exit::PASSED), &[SMALL], Fault::WorkerKilled);
    assert_eq!(what_it_came_to(&found), what_it_came_to(&wanted));
    // 8! / (2!^4): on one object all orders differ.
    assert_eq!(found["counts"]["executions"], 2_520, "{found}");
    assert!(notes(&found).contains("keeps no record"), "{}", notes(&found));
}

#[test]
fn source_sets_of_actors_over_nats_come_to_what_they_come_to_here() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let wanted = here(&project, ("actors", exit::PASSED), &[SMALL]);
    let found =
        over_nats((&project, &server), ("actors", exit::PASSED), &[SMALL], Fault::WorkerKilled);
    assert_eq!(what_it_came_to(&found), what_it_came_to(&wanted));
    assert_eq!(found["verdict"], "covered", "{found}");
    assert!(found["counts"]["executions"].as_u64() > Some(40), "several units: {found}");
    assert!(notes(&found).contains("`dpor(source)` was run"), "{}", notes(&found));
}

#[test]
fn a_search_over_nats_begins_anew_by_source_sets_if_it_meets_a_timeout() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let wanted = here(&project, ("a_timeout", exit::PASSED), &[]);
    let found = over_nats((&project, &server), ("a_timeout", exit::PASSED), &[], Fault::None);
    assert_eq!(what_it_came_to(&found), what_it_came_to(&wanted));
    assert!(notes(&found).contains("instead of `dpor`"), "{}", notes(&found));
}

#[test]
fn a_frontier_samples_and_the_default_over_nats_come_to_what_they_come_to_here() {
    let Some(server) = Server::start() else { return };
    let project = project();
    for test in ["frontier", "sampled"] {
        let wanted = here(&project, (test, exit::PASSED), &[]);
        let found = over_nats((&project, &server), (test, exit::PASSED), &[], Fault::None);
        assert_eq!(what_it_came_to(&found), what_it_came_to(&wanted), "{test}");
    }
    // How much the members of a portfolio run hangs on time.
    let wanted = here(&project, ("by_default", exit::PASSED), &[]);
    let found = over_nats((&project, &server), ("by_default", exit::PASSED), &[], Fault::None);
    assert_eq!(what_it_came_to(&found)[..2], what_it_came_to(&wanted)[..2]);
    assert_eq!(found["guarantee"]["covered"], "everything", "{found}");
}

#[test]
fn what_a_test_dies_of_is_found_over_nats_though_hosts_are_killed() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let found =
        over_nats((&project, &server), ("one_order_aborts", exit::FAILED), &[], Fault::HostsKilled);
    assert_eq!(found["failure"]["outcome"]["death"]["number"], 6, "{found}");
    assert_eq!(found["failure"]["unstable"], Value::Null, "{found}");
    // 9! / 3!^3.
    assert_eq!(found["counts"]["executions"], 1_680, "{}", notes(&found));
}

#[test]
fn executions_in_processes_of_their_own_over_nats_come_to_what_they_come_to_here() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let apart = ["--isolation=process", "--minimise=none"];
    let found = over_nats((&project, &server), ("one_dies", exit::FAILED), &apart, Fault::None);
    assert_eq!(found["failure"]["outcome"]["death"]["number"], 6, "{found}");
    let wanted = here(&project, ("small", exit::PASSED), &apart);
    let found = over_nats((&project, &server), ("small", exit::PASSED), &apart, Fault::None);
    assert_eq!(what_it_came_to(&found), what_it_came_to(&wanted));
    // 4! / 2!^2.
    assert_eq!(found["counts"]["executions"], 6, "{found}");
}
