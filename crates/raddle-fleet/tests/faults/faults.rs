//! Deaths, stalls, duplicates and lost messages.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use raddle_fleet::nats::{Access, Manifest, NatsQueue, Run, WorkerStatus};
use raddle_fleet::{
    Completion, Ending, Held, MOST_ATTEMPTS, Problem, Queue, QueueError, RecordOutcome, UnitKey,
    UnitRunner as _,
};

use crate::fleet::{Dice, Fleet, LEASE, PACE, SYNTHETIC, expected, manifest};
use crate::process::{Process, connected};
use crate::server::{Program, Server, connect};
use crate::{DEADLINE, Test, Tried, Untried};

pub(crate) const TESTS: &[Test] = &[
    ("an_undisturbed_run_finds_what_one_process_finds", undisturbed),
    ("workers_killed_at_random_change_nothing", killed_workers),
    ("a_coordinator_killed_and_restarted_changes_nothing", killed_coordinator),
    ("workers_go_on_while_there_is_no_coordinator", no_coordinator),
    ("the_late_result_of_a_stalled_worker_is_ignored", stalled),
    ("units_delivered_twice_count_once", duplicated),
    ("a_worker_that_dies_between_its_record_and_its_leftovers_loses_nothing", half_completed),
    ("a_server_killed_and_restarted_changes_nothing", killed_server),
    ("a_server_that_has_lost_its_last_records_changes_nothing", torn_log),
    ("a_server_whose_files_are_damaged_is_noticed_or_changes_nothing", damaged_log),
    ("one_of_three_servers_killed_and_restarted_changes_nothing", killed_node),
    ("what_is_too_large_for_a_message_gets_through", large),
    ("a_unit_that_cannot_be_read_is_given_up", unreadable_unit),
    ("a_worker_with_a_unit_hears_that_others_wait", hungry),
    ("runs_workers_and_texts_are_read_while_they_are_written", listed),
    ("faults_of_all_kinds_for_as_long_as_asked", soak),
];

fn worker_names() -> impl Iterator<Item = String> {
    (0..).map(|nth| format!("w{nth}"))
}

fn undisturbed(program: &Program) -> Tried {
    let server = Server::start(program);
    let fleet = Fleet::begin(&connected(&server.url()), "plain", 1);
    let workers = ["a", "b"].map(|name| Process::worker(&server.url(), "plain", name));
    fleet.end(workers.into());
    Ok(())
}

/// Kills a worker each time that `every` more units are done, and starts another.
fn with_deaths(url: &str, mut fleet: Fleet, every: u64) {
    let name = fleet.run.name().to_owned();
    let mut names = worker_names();
    let mut start = || Process::worker(url, &name, &names.next().unwrap());
    let mut workers = vec![start(), start()];
    let mut dice = Dice(7);
    let mut next = every;
    let mut deaths = 0;
    fleet.drive(|done| {
        if done >= next {
            next = done + every;
            // Dropped, it is killed.
            workers[dice.below(2)] = start();
            deaths += 1;
        }
    });
    assert!(deaths >= 1, "no worker was killed");
    fleet.end(workers);
}

fn killed_workers(program: &Program) -> Tried {
    let server = Server::start(program);
    let fleet = Fleet::begin(&connected(&server.url()), "deaths", 1);
    with_deaths(&server.url(), fleet, 25);
    Ok(())
}

fn killed_coordinator(program: &Program) -> Tried {
    let server = Server::start(program);
    let fleet = Fleet::begin(&connected(&server.url()), "leader", 1);
    let _workers = ["a", "b"].map(|name| Process::worker(&server.url(), "leader", name));
    let start = || Process::start(&["coordinator", &server.url(), "leader"]);
    for _ in 0..3 {
        // Killed after what it says first.
        start().until("folded");
    }
    let sum = start().until("sum");
    let wanted = expected();
    assert_eq!(sum, format!("sum {} {} {:?}", wanted.leaves, wanted.sum, wanted.failures));
    drop(fleet);
    Ok(())
}

fn no_coordinator(program: &Program) -> Tried {
    let server = Server::start(program);
    let fleet = Fleet::begin(&connected(&server.url()), "alone", 1);
    let mut worker = Process::worker(&server.url(), "alone", "a");
    // It has found nothing more to do, and nothing was folded yet.
    worker.until("idle");
    assert_eq!(fleet.coordinator.done().0, 0);
    fleet.end(vec![worker]);
    Ok(())
}

fn stalled(program: &Program) -> Tried {
    let server = Server::start(program);
    let mut fleet = Fleet::begin(&connected(&server.url()), "stalled", 1);
    // This process stalls: it has a unit and says nothing for longer than the lease.
    let lease = fleet.queue.lease("slow", LEASE).unwrap().unwrap();
    let slice = PACE.of(&lease);
    let late = SYNTHETIC.clone().run(&lease.unit, slice, &false.into()).unwrap();
    let worker = Process::worker(&server.url(), "stalled", "quick");
    fleet.drive(|_| ());
    assert_eq!(&fleet.sum, expected());
    assert_eq!(fleet.queue.complete(&lease, late), Ok(RecordOutcome::Ignored));
    let before = fleet.queue.state().unwrap().done;
    fleet.end(vec![worker]);
    // A whole process, stopped in the middle of what it does.
    let fleet = Fleet::begin(&connected(&server.url()), "stopped", 1);
    let mut stopped = Process::worker(&server.url(), "stopped", "slow");
    stopped.until("recorded");
    stopped.signal(libc::SIGSTOP);
    let mut fleet = fleet;
    let quick = Process::worker(&server.url(), "stopped", "quick");
    fleet.drive(|_| ());
    stopped.signal(libc::SIGCONT);
    fleet.end(vec![stopped, quick]);
    assert!(before > 0);
    Ok(())
}

fn duplicated(program: &Program) -> Tried {
    let server = Server::start(program);
    let mut fleet = Fleet::begin(&connected(&server.url()), "twice", 1);
    let began = Instant::now();
    let mut repeated = 0;
    // Delivered twice to this process, and run twice: the second result is ignored, with what it leaves.
    fleet.coordinator.repair(&fleet.queue).unwrap();
    let two = [(); 2].map(|()| fleet.queue.lease("both", LEASE).unwrap().unwrap());
    assert_eq!(two[0].unit, two[1].unit);
    let outcomes = two.map(|lease| {
        let done = SYNTHETIC.clone().run(&lease.unit, PACE.of(&lease), &false.into()).unwrap();
        fleet.queue.complete(&lease, done).unwrap()
    });
    assert_eq!(outcomes, [RecordOutcome::Recorded(1), RecordOutcome::Ignored]);
    assert_eq!(fleet.queue.state().unwrap().ignored, 1);
    fleet.poll();
    // The first units many times before a worker is there, so that however fast they are some are delivered twice.
    for _ in 0..12 {
        repeated += fleet.coordinator.open_units().len();
        fleet.coordinator.repair(&fleet.queue).unwrap();
    }
    let workers = ["a", "b"].map(|name| Process::worker(&server.url(), "twice", name));
    while !fleet.coordinator.is_finished() {
        // Every unit that is open is put once more, those that workers have among them.
        repeated += fleet.coordinator.open_units().len();
        fleet.coordinator.repair(&fleet.queue).unwrap();
        for _ in 0..20 {
            fleet.poll();
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(began.elapsed() < crate::DEADLINE);
    }
    assert!(repeated > 10, "{repeated} units were put again");
    fleet.end(workers.into());
    Ok(())
}

fn half_completed(program: &Program) -> Tried {
    let server = Server::start(program);
    let nats = connected(&server.url());
    let fleet = Fleet::begin(&nats, "half", 1);
    // The record is there, and neither its leftovers nor the acknowledgement.
    let lease = fleet.queue.lease("dying", LEASE).unwrap().unwrap();
    let done = SYNTHETIC.clone().run(&lease.unit, PACE.of(&lease), &false.into()).unwrap();
    assert!(done.leftovers.len() > 1);
    fleet.queue.record_only(&lease, done).unwrap();
    let worker = Process::worker(&server.url(), "half", "heir");
    fleet.end(vec![worker]);
    Ok(())
}

fn killed_server(program: &Program) -> Tried {
    let mut server = Server::start(program);
    let url = server.url();
    let mut fleet = Fleet::begin(&connected(&url), "server", 1);
    let workers = ["a", "b"].map(|name| Process::worker(&url, "server", name));
    let mut next = 20;
    let mut deaths = 0;
    fleet.drive(|done| {
        if done >= next && deaths < 3 {
            next = done + 20;
            deaths += 1;
            server.kill();
            server.run();
            server.wait();
        }
    });
    assert!(deaths > 1, "{deaths}");
    fleet.end(workers.into());
    Ok(())
}

/// A run of which some units are done, without workers; then its server is killed and the last file of its records is changed.
fn torn(program: &Program, name: &str, change: impl Fn(&mut Vec<u8>)) -> (Server, Fleet) {
    let mut server = Server::start(program);
    let url = server.url();
    let mut fleet = Fleet::begin(&connected(&url), name, 1);
    {
        let _workers = ["a", "b"].map(|worker| Process::worker(&url, name, worker));
        let began = Instant::now();
        while fleet.poll() < 40 {
            assert!(began.elapsed() < crate::DEADLINE);
        }
    }
    // Workers may have recorded more since the last look.
    let before = fleet.queue.state().unwrap().done;
    server.kill();
    let blocks = format!("store/jetstream/$G/streams/raddle-{name}-done/msgs");
    let mut files: Vec<_> = fs::read_dir(server.directory.0.join(blocks))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "blk"))
        .collect();
    files.sort();
    let file = files.last().unwrap();
    let mut bytes = fs::read(file).unwrap();
    change(&mut bytes);
    fs::write(file, bytes).unwrap();
    server.run();
    server.wait();
    // What this coordinator has folded is not what the server has: a new one folds that.
    let fleet = Fleet::begin(&connected(&url), name, 1);
    let has = fleet.queue.state().unwrap().done;
    assert!(has < before, "the server has lost nothing: {has} of {before}");
    (server, fleet)
}

fn torn_log(program: &Program) -> Tried {
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - bytes.len() / 10);
    let (server, fleet) = torn(program, "torn", cut);
    let worker = Process::worker(&server.url(), "torn", "heir");
    fleet.end(vec![worker]);
    Ok(())
}

fn damaged_log(program: &Program) -> Tried {
    let turn = |bytes: &mut Vec<u8>| {
        let (from, to) = (bytes.len() - bytes.len() / 10, bytes.len() - bytes.len() / 20);
        bytes.truncate(to);
        for byte in &mut bytes[from..] {
            *byte ^= 0x5a;
        }
    };
    let (server, mut fleet) = torn(program, "damaged", turn);
    let worker = Process::worker(&server.url(), "damaged", "heir");
    let began = Instant::now();
    // Either the server mends itself, or what it takes cannot be read and that is said. Nothing wrong is folded.
    while !fleet.coordinator.is_finished() {
        if let Err(error) = fleet.try_poll() {
            assert_eq!(error.problem(), Problem::Corrupt, "{error}");
            assert!(error.to_string().contains("Nothing is said of the run"), "{error}");
            // As it says: with another store all begins anew.
            drop((worker, server));
            let server = Server::start(program);
            let fleet = Fleet::begin(&connected(&server.url()), "damaged", 1);
            let worker = Process::worker(&server.url(), "damaged", "another");
            fleet.end(vec![worker]);
            return Ok(());
        }
        let nothing = |state: raddle_fleet::QueueState| state.waiting + state.leased == 0;
        if fleet.queue.state().is_ok_and(nothing) {
            fleet.coordinator.repair(&fleet.queue).unwrap();
        }
        assert!(began.elapsed() < crate::DEADLINE, "{:?}", fleet.queue.state());
        std::thread::sleep(Duration::from_millis(50));
    }
    fleet.end(vec![worker]);
    Ok(())
}

/// The node that leads the stream of records.
fn leader(servers: &[Server]) -> usize {
    let began = Instant::now();
    loop {
        for server in servers {
            if let Some(name) = server.leader("raddle-three-done") {
                return name.trim_start_matches('n').parse().unwrap();
            }
        }
        assert!(began.elapsed() < crate::DEADLINE, "no node leads");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// First the node that leads, then another; each is away while the others have some units done. Between the two no worker runs:
/// however fast the machine is, there is something left to do when the second is killed.
fn killed_node(program: &Program) -> Tried {
    let mut servers = Server::cluster(program);
    let url = servers.iter().map(Server::url).collect::<Vec<_>>().join(",");
    let nats = connect(&Access { url: url.clone(), ..Access::default() });
    let mut fleet = Fleet::begin_long(&nats, "three", 3);
    let mut names = worker_names();
    let mut start = || Process::worker(&url, "three", &names.next().unwrap());
    for follows in [0, 1] {
        let node = (leader(&servers) + follows) % 3;
        servers[node].kill();
        let before = fleet.poll();
        let workers = [start(), start()];
        fleet.drive_until(before + 20);
        assert!(!fleet.coordinator.is_finished(), "the run was over before");
        // Without it the others chose who leads, and recorded units.
        assert_ne!(leader(&servers), node, "it is away");
        // Dropped, they are killed.
        drop(workers);
        servers[node].run();
        servers[node].wait();
    }
    let workers = vec![start(), start()];
    fleet.end(workers);
    Ok(())
}

fn large(program: &Program) -> Tried {
    let server = Server::start_with(program, "127.0.0.1", "max_payload: 262144");
    let fleet = Fleet::begin(&connected(&server.url()), "large", 1);
    let queue = &fleet.queue;
    let lease = queue.lease("w", LEASE).unwrap().unwrap();
    let big = vec![7; 900_000];
    let done = Completion { result: big.clone(), leftovers: vec![big.clone()] };
    assert!(matches!(queue.complete(&lease, done.clone()), Ok(RecordOutcome::Recorded(1))));
    let records = queue.records(0, 10).unwrap();
    assert_eq!(records[0].ending, raddle_fleet::Ending::Done(done));
    assert_eq!(queue.lease("w", LEASE).unwrap().unwrap().unit.bytes, big);
    Ok(())
}

/// Publishes to a subject as another program might, with lines of headers if there are any.
fn publish(server: &Server, subject: &str, headers: &str, body: &str) {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let head = format!("NATS/1.0\r\n{headers}\r\n");
    let (all, size) = (head.len() + body.len(), head.len());
    let said = format!(
        "CONNECT {{\"headers\":true,\"verbose\":false}}\r\nHPUB {subject} {size} {all}\r\n{head}{body}\r\nPING\r\n"
    );
    stream.write_all(said.as_bytes()).unwrap();
    let answers = BufReader::new(stream).lines();
    // The server has taken it when it answers what came after it.
    let answered = answers.map_while(Result::ok).any(|line| line == "PONG");
    assert!(answered, "the server did not answer");
}

fn unreadable_unit(program: &Program) -> Tried {
    let server = Server::start(program);
    let manifest = Manifest { lease_ms: 100, ..manifest(1) };
    let run = Run::begin(&connected(&server.url()), "nonsense", &manifest).unwrap();
    let queue = NatsQueue::open(&run, &manifest).unwrap();
    // One says which unit it is, and of the other that is not known.
    publish(&server, "raddle.nonsense.work", "Nats-Msg-Id: 17-3-0\r\n", "nonsense");
    publish(&server, "raddle.nonsense.work", "", "nonsense");
    let (began, mut errors) = (Instant::now(), 0);
    while queue.state().unwrap().done == 0 || queue.state().unwrap().leased > 0 {
        match queue.lease("w", manifest.lease()) {
            Ok(lease) => assert_eq!(lease, None),
            Err(error) => {
                assert_eq!(error.problem(), Problem::Mismatch, "{error}");
                errors += 1;
            }
        }
        assert!(began.elapsed() < DEADLINE, "{errors} errors: {:?}", queue.state());
    }
    assert_eq!(errors, 2 * MOST_ATTEMPTS, "each is delivered so often before it is given up");
    let records = queue.records(0, 10).unwrap();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record.unit, UnitKey::root(0).leftover(17, 3));
    let Ending::GivenUp { why } = &record.ending else { panic!("{record:?}") };
    assert!(why.contains("cannot be read"), "{why}");
    Ok(())
}

fn hungry(program: &Program) -> Tried {
    let server = Server::start(program);
    let fleet = Fleet::begin(&connected(&server.url()), "hungry", 1);
    let lease = fleet.queue.lease("busy", LEASE).unwrap().unwrap();
    assert_eq!(fleet.queue.heartbeat(&lease), Ok(Held::Yes), "there is no other worker");
    let other = NatsQueue::open(&fleet.run, &manifest(1)).unwrap();
    let (began, over) = (Instant::now(), AtomicBool::new(false));
    let heard = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                assert_eq!(other.lease("idle", LEASE), Ok(None));
            }
        });
        let mut heard = Held::Yes;
        while heard == Held::Yes && began.elapsed() < DEADLINE {
            heard = fleet.queue.heartbeat(&lease).unwrap_or(Held::Lost);
        }
        over.store(true, Ordering::Relaxed);
        heard
    });
    assert_eq!(heard, Held::Hungry);
    Ok(())
}

/// What is read as a stream of messages may wait for one that was overwritten meanwhile, and never end.
fn listed(program: &Program) -> Tried {
    const LISTS: u32 = 500;
    let server = Server::start(program);
    let nats = connected(&server.url());
    let run = Run::begin(&nats, "listed", &manifest(1)).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (over, run) = (&over, &run);
        for nth in 0..2 {
            let nats = connected(&server.url());
            scope.spawn(move || {
                let (run, manifest) = Run::find(&nats, "listed").unwrap();
                let mut status = WorkerStatus {
                    worker: format!("w{nth}"),
                    raddle: "test".to_owned(),
                    hosts: 1,
                    units: 0,
                    executions: 0,
                    rate: 0.0,
                };
                while !over.load(Ordering::Relaxed) {
                    run.report_worker(&status).unwrap();
                    run.set(&manifest).unwrap();
                    run.keep("text", b"a text").unwrap();
                    status.units += 1;
                }
            });
        }
        let list =
            |_| Ok((run.kept("text")?, run.workers(DEADLINE)?.len(), Run::all(&nats)?.len()));
        let lists: Result<Vec<_>, QueueError> = (0..LISTS).map(list).collect();
        // Also if it failed: the writers are waited for.
        over.store(true, Ordering::Relaxed);
        for (text, workers, runs) in lists.unwrap() {
            assert!(text.is_none_or(|text| text == b"a text"));
            assert!(workers <= 2 && runs == 1, "{workers} workers, {runs} runs");
        }
    });
    let names: Vec<String> =
        run.workers(DEADLINE).unwrap().into_iter().map(|seen| seen.worker).collect();
    assert_eq!(names, ["w0", "w1"]);
    Ok(())
}

/// Not a test of its own: all of it, again and again, for the nightly run.
fn soak(program: &Program) -> Tried {
    let long = std::env::var("RADDLE_LONG").is_ok_and(|long| long == "1");
    let long = long.then(|| "120s".to_owned());
    let Some(time) = std::env::var("FLEET_SOAK").ok().or(long) else {
        return Err(Untried::NotAsked("only with FLEET_SOAK=120s or RADDLE_LONG=1".to_owned()));
    };
    let time = time.trim_end_matches('s').parse().map(Duration::from_secs).unwrap();
    let faults: [fn(&Program) -> Tried; 12] = [
        killed_workers,
        killed_node,
        killed_server,
        duplicated,
        torn_log,
        damaged_log,
        killed_coordinator,
        stalled,
        half_completed,
        crate::links::cut,
        crate::bad_input::no_room,
        crate::bad_input::small_disk,
    ];
    let began = Instant::now();
    let (mut rounds, mut lacking) = (0, BTreeSet::new());
    while began.elapsed() < time {
        for fault in faults {
            match crate::watch::within("a fault of many", || fault(program)) {
                Ok(()) => {}
                Err(Untried::Cannot(why)) => drop(lacking.insert(why)),
                other => return other,
            }
        }
        rounds += 1;
    }
    crate::say(&format!("{rounds} rounds of {} faults", faults.len() - lacking.len()));
    match lacking.pop_first() {
        Some(why) => Err(Untried::Cannot(format!("all but {}: {why}", lacking.len() + 1))),
        None => Ok(()),
    }
}
