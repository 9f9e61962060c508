//! Servers that are not there or do not let us in, runs of another kind, full disks: what is said then.

use std::fs;
use std::process::Command;

use raddle_fleet::nats::{Access, Nats, NatsQueue, Run};
use raddle_fleet::{Completion, DiskQueue, Problem, Queue, QueuedUnit, UnitKey, UnitRunner as _};

use crate::fleet::{Fleet, LEASE, PACE, SYNTHETIC, manifest};
use crate::process::{Process, connected};
use crate::server::{Directory, Program, Server, free_port};
use crate::{Test, Tried};

pub(crate) const TESTS: &[Test] = &[
    ("a_server_that_is_not_there_is_named", unreachable),
    ("a_server_that_does_not_let_us_in_is_named", refused),
    ("a_server_without_streams_is_named", no_streams),
    ("a_run_of_another_version_is_refused", version),
    ("a_run_of_the_same_name_with_another_binary_is_refused", another),
    ("a_server_without_room_is_named_and_goes_on_with_more", no_room),
    ("a_disk_without_room_is_named_and_goes_on_with_more", small_disk),
];

/// Connecting fails for this reason, with these words.
pub(crate) fn wrong(access: &Access, problem: Problem, words: &[&str]) {
    let error = Nats::connect(access).unwrap_err();
    assert_eq!(error.problem(), problem, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
}

fn unreachable(_: &Program) -> Tried {
    let url = format!("nats://127.0.0.1:{}", free_port());
    wrong(
        &Access { url: url.clone(), ..Access::default() },
        Problem::Unreachable,
        &[&url, "nats-server running"],
    );
    let nonsense = Access { url: "http://[".to_owned(), ..Access::default() };
    assert!(Nats::connect(&nonsense).is_err());
    Ok(())
}

fn refused(program: &Program) -> Tried {
    let more = "authorization { users: [ { user: me, password: secret } ] }";
    let server = Server::start_with(program, "127.0.0.1", more);
    let access = server.access();
    wrong(&access, Problem::Refused, &["does not let us in", "check the token"]);
    let user = |password: &str| Some(("me".to_owned(), password.to_owned()));
    wrong(&Access { user: user("guess"), ..access.clone() }, Problem::Refused, &["password"]);
    Nats::connect(&Access { user: user("secret"), ..access.clone() }).unwrap();
    let in_url = access.url.replace("nats://", "nats://me:secret@");
    Nats::connect(&Access { url: in_url, ..Access::default() }).unwrap();
    let server = Server::start_with(program, "127.0.0.1", "authorization { token: abc }");
    let access = server.access();
    wrong(&Access { token: Some("x".to_owned()), ..access.clone() }, Problem::Refused, &["token"]);
    Nats::connect(&Access { token: Some("abc".to_owned()), ..access.clone() }).unwrap();
    // A file that is not there is named before anything is sent.
    let missing = Access { credentials: Some("/no/such/file.creds".into()), ..access };
    wrong(&missing, Problem::Failed, &["/no/such/file.creds"]);
    Ok(())
}

fn no_streams(program: &Program) -> Tried {
    let more = "accounts { A { users: [ { user: a, password: a } ] } }\nno_auth_user: a";
    let server = Server::start_with(program, "127.0.0.1", more);
    wrong(&server.access(), Problem::Refused, &["no JetStream", "--jetstream"]);
    Ok(())
}

fn version(program: &Program) -> Tried {
    let server = Server::start(program);
    let nats = connected(&server.url());
    let mut manifest = manifest(1);
    manifest.version += 1;
    let run = Run::begin(&nats, "newer", &manifest).unwrap();
    let (_, found) = Run::find(&nats, "newer").unwrap();
    for error in [NatsQueue::open(&run, &found).unwrap_err(), found.check_version().unwrap_err()] {
        assert_eq!(error.problem(), Problem::Mismatch);
        assert!(error.to_string().contains("same cargo-raddle on every machine"), "{error}");
    }
    let error = Run::find(&nats, "nothing").unwrap_err();
    assert!(error.to_string().contains("no run called nothing"), "{error}");
    Ok(())
}

fn another(program: &Program) -> Tried {
    let server = Server::start(program);
    let nats = connected(&server.url());
    let mut manifest = manifest(1);
    Run::begin(&nats, "same", &manifest).unwrap();
    Run::begin(&nats, "same", &manifest).unwrap();
    "1".clone_into(&mut manifest.binary.sha256);
    let error = Run::begin(&nats, "same", &manifest).unwrap_err();
    assert_eq!(error.problem(), Problem::Mismatch);
    assert!(error.to_string().contains("choose another name with --run"), "{error}");
    let error = Run::begin(&nats, "a.b", &manifest).unwrap_err();
    assert!(error.to_string().contains("cannot be the name"), "{error}");
    // Removed, the name is free.
    Run::find(&nats, "same").unwrap().0.remove().unwrap();
    Run::begin(&nats, "same", &manifest).unwrap();
    Ok(())
}

pub(crate) fn no_room(program: &Program) -> Tried {
    let room = |bytes: u64| format!("max_file: {bytes},");
    let (little, more) = (room(400_000), room(100_000_000));
    let configuration = format!(
        "jetstream {{ store_dir: \"STORE\", {little} max_mem: 1000000 }}\nmax_payload: 8000000"
    );
    let mut server = Server::start_with(program, "127.0.0.1", &configuration);
    let mut fleet = Fleet::begin(&connected(&server.url()), "full", 1);
    let mut full = None;
    let mut recorded = 0;
    for _ in 0..20 {
        let lease = fleet.queue.lease("w", LEASE).unwrap().unwrap();
        let mut done = SYNTHETIC.clone().run(&lease.unit, PACE.of(&lease), &false.into()).unwrap();
        // What comes after a sum is not read, and takes room.
        done.result.resize(60_000, 0);
        match fleet.queue.complete(&lease, done) {
            Ok(_) => recorded += 1,
            Err(error) => {
                full = Some(error);
                break;
            }
        }
    }
    let error = full.expect("there is no room for all of it");
    assert_eq!(error.problem(), Problem::Full, "{error}");
    assert!(error.to_string().contains("more space"), "{error}");
    // The record that came last may be there, if it was for what it leaves that there was no room.
    let there = fleet.poll();
    assert!((recorded..=recorded + 1).contains(&there), "{there} records, {recorded} were taken");
    server.kill();
    server.change(&little, &more);
    server.run();
    server.wait();
    let worker = Process::worker(&server.url(), "full", "heir");
    fleet.end(vec![worker]);
    Ok(())
}

/// A disk of a few megabytes, gone when dropped.
struct SmallDisk(Directory);

impl SmallDisk {
    fn new(size: &str) -> Result<Self, String> {
        let directory = Directory::new();
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(&directory.0)
            .output()
            .map_err(|error| format!("mount cannot be run: {error}"))?;
        if output.status.success() {
            return Ok(Self(directory));
        }
        Err(format!("no small disk: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0.0).status();
    }
}

pub(crate) fn small_disk(_: &Program) -> Tried {
    let disk = SmallDisk::new("8m")?;
    let path = disk.0.0.join("queue");
    let queue = DiskQueue::open(&path, b"run").unwrap();
    queue.put(vec![QueuedUnit { key: UnitKey::root(0), bytes: vec![0] }]).unwrap();
    queue.sync().unwrap();
    // Something else takes the room.
    let rest = disk.0.0.join("something-else");
    let mut size = 6 << 20;
    while size > 4096 {
        let mut bytes = fs::read(&rest).unwrap_or_default();
        bytes.resize(bytes.len() + size, 1);
        if fs::write(&rest, bytes).is_err() {
            size /= 2;
        }
    }
    let mut done = 0;
    let error = loop {
        let lease = queue.lease("w", LEASE).unwrap().unwrap();
        let completion = Completion { result: vec![2; 200_000], leftovers: vec![vec![3; 1000]] };
        queue.complete(&lease, completion).unwrap();
        done += 1;
        match queue.sync() {
            Ok(()) => assert!(done < 100, "there is room for all of it"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.problem(), Problem::Full, "{error}");
    fs::remove_file(&rest).unwrap();
    // The same queue goes on, and a new one finds all of it.
    queue.sync().unwrap();
    let records = queue.records(0, 1_000).unwrap();
    assert_eq!(records.len(), done);
    drop(queue);
    let queue = DiskQueue::open(&path, b"run").unwrap();
    assert_eq!(queue.records(0, 1_000).unwrap(), records);
    Ok(())
}
