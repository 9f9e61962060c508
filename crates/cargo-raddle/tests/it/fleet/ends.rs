//! Runs that a coordinator ends before they are over, and those whose server goes away meanwhile.

use std::time::Instant;

use raddle_fleet::nats::{NatsQueue, Run};
use raddle_fleet::{Ending, Queue as _};
use raddle_trace::exit;
use raddle_trace::unit::UnitResult;

use super::{COORDINATE, Server, connected, project, start, work};
use crate::{Background, DEADLINE, Done, Project};

const TEST: &str = "endless";

/// A coordinator that ends by its time, and the hash that it prints.
fn coordinate(project: &Project, server: &Server, time: &str) -> (Background, String) {
    let arguments = [&COORDINATE[..], &[&server.url, "--run", TEST, TEST, "--time", time]].concat();
    let mut coordinator = start(project, &arguments);
    let line = coordinator.until("--trust");
    (coordinator, line.trim().rsplit(' ').next().unwrap().to_owned())
}

/// The executions that a coordinator has folded when its time was over.
#[track_caller]
fn folded(done: Done) -> u64 {
    let event = done.finished()[TEST].clone();
    let notes = event["report"]["notes"].to_string();
    let told = "its workers were told to end; to go on start workers again";
    assert!(notes.contains(told), "{notes}");
    let executions = event["report"]["counts"]["executions"].as_u64().unwrap();
    // Without one execution there is nothing to say of the test.
    done.ended_with(if executions == 0 { exit::INCONCLUSIVE } else { exit::PASSED });
    executions
}

#[test]
fn a_coordinator_whose_time_is_over_ends_its_workers_and_goes_on_when_it_is_started_again() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let (began, mut before, mut parts) = (Instant::now(), 0, 0);
    // On a slow machine the time may be over before a worker has done anything, and then the next part has it.
    while parts < 2 {
        assert!(began.elapsed() < DEADLINE, "{parts} parts, {before} executions");
        let (coordinator, digits) = coordinate(&project, &server, "3s");
        let worker = work(&project, &server, TEST, &digits);
        // Neither is told to end by this test.
        let worker = worker.end();
        let now = folded(coordinator.end());
        assert!(worker.err.contains("was ended by its coordinator"), "{}", worker.err);
        assert!(worker.err.contains("start the coordinator again"), "{}", worker.err);
        assert!(now >= before, "{now} executions, and {before} before");
        if now > before {
            worker.ended_with(exit::PASSED);
            parts += 1;
        }
        before = now;
        let status = ["status", "--nats", &server.url, "--run", TEST];
        let said = project.run(&status).ended_with(exit::PASSED).out;
        assert!(said.contains("stopped before it was over"), "{said}");
    }
    // One that comes too late is told why there is nothing to do.
    let late = ["work", "--nats", &server.url, "--run", TEST, "--wait", "0s"];
    let said = project.run(&late).ended_with(exit::USAGE).err;
    assert!(said.contains("was ended by its coordinator"), "{said}");
}

#[test]
fn a_limit_of_time_is_obeyed_while_the_server_is_silent() {
    let (project, began) = (project(), Instant::now());
    loop {
        let Some(server) = Server::start() else { return };
        let (coordinator, _) = coordinate(&project, &server, "6s");
        let (run, _) = Run::find(&connected(&server), TEST).unwrap();
        // Until it has begun to fold.
        while run.kept("standing").unwrap().is_none() {
            assert!(began.elapsed() < DEADLINE, "it has folded nothing");
        }
        drop(server);
        let done = coordinator.end();
        // On a slow machine the time may have been over before the server was gone.
        if done.err.contains("workers could not be told to end") {
            let event = done.finished()[TEST].clone();
            assert!(event["error"].is_null(), "{event}");
            let notes = event["report"]["notes"].to_string();
            assert!(notes.contains("its workers go on"), "{event}");
            return;
        }
        assert!(began.elapsed() < DEADLINE, "{}", done.err);
    }
}

#[test]
fn units_are_as_large_as_the_coordinator_was_told() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let more = [&server.url, "--run", "cut", "--unit-executions", "7", "--unit-time", "90s", TEST];
    let mut coordinator = start(&project, &[&COORDINATE[..], &more].concat());
    let line = coordinator.until("--trust");
    let digits = line.trim().rsplit(' ').next().unwrap().to_owned();
    let _worker = work(&project, &server, "cut", &digits);
    let (run, manifest) = Run::find(&connected(&server), "cut").unwrap();
    assert_eq!(manifest.more["unit-time-ms"], "90000");
    let queue = NatsQueue::open(&run, &manifest).unwrap();
    let began = Instant::now();
    loop {
        let records = queue.records(0, 5).unwrap();
        if records.len() == 5 {
            let executions = records.iter().map(|record| {
                let Ending::Done(done) = &record.ending else { panic!("{record:?}") };
                let result: UnitResult = serde_json::from_slice(&done.result).unwrap();
                result.counts.executions
            });
            // Each has more left, and none was asked to give it back.
            assert_eq!(executions.collect::<Vec<_>>(), [7; 5]);
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{} records", records.len());
    }
    let arguments = [&COORDINATE[..], &[&server.url, "--workers", "2", TEST]].concat();
    let said = project.run(&arguments).ended_with(exit::USAGE).err;
    assert!(said.contains("--workers is of `cargo raddle test`"), "{said}");
}
