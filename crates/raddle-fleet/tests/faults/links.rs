//! A network that is cut, in a namespace of its own.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use raddle_fleet::Queue as _;

use crate::fleet::Fleet;
use crate::process::{Process, connected};
use crate::server::{Program, Server};
use crate::{DEADLINE, Test, Tried};

pub(crate) const TESTS: &[Test] =
    &[("a_network_cut_between_a_worker_and_the_server_changes_nothing", cut)];

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.map_err(|error| format!("ip cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// A network with one host in it, linked to this one.
struct Link {
    space: String,
    near: String,
    address: String,
}

impl Link {
    fn new() -> Result<Self, String> {
        let id = std::process::id();
        let (space, near, far) = (format!("raddle{id}"), format!("rd{id}a"), format!("rd{id}b"));
        let net = format!("10.{}.{}", 64 + id / 256 % 64, id % 256);
        ip(&format!("netns add {space}"))?;
        // From here on it is removed again, whatever fails.
        let link = Self { space: space.clone(), near: near.clone(), address: format!("{net}.1") };
        ip(&format!("link add {near} type veth peer name {far} netns {space}"))?;
        ip(&format!("addr add {net}.1/30 dev {near}"))?;
        ip(&format!("link set {near} up"))?;
        ip(&format!("-n {space} addr add {net}.2/30 dev {far}"))?;
        ip(&format!("-n {space} link set {far} up"))?;
        Ok(link)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = ip(&format!("link del {}", self.near));
        let _ = ip(&format!("netns del {}", self.space));
    }
}

pub(crate) fn cut(program: &Program) -> Tried {
    let link = Link::new()?;
    let server = Server::start_with(program, &link.address, "");
    let url = server.url();
    let mut fleet = Fleet::begin(&connected(&url), "cut", 1);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &link.space]).arg(std::env::current_exe().unwrap());
    command.args(["worker", &url, "cut", "far"]);
    let mut far = Process::run(command);
    let began = Instant::now();
    // Until it is cut off with a unit in its hands.
    loop {
        far.until("recorded");
        ip(&format!("link set {} down", link.near))?;
        if holds_a_unit(&fleet) {
            break;
        }
        ip(&format!("link set {} up", link.near))?;
        assert!(began.elapsed() < DEADLINE, "{:?}", fleet.queue.state().unwrap());
    }
    ip(&format!("link set {} up", link.near))?;
    let near = Process::worker(&url, "cut", "near");
    fleet.drive(|_| std::thread::sleep(Duration::from_millis(5)));
    fleet.end(vec![far, near]);
    Ok(())
}

/// Whether the worker that was cut off holds a unit: then that is delivered to another after its lease, and not before.
///
/// What the server takes for leased may be a unit whose record it has and whose acknowledgement was cut off.
fn holds_a_unit(fleet: &Fleet) -> bool {
    let began = Instant::now();
    // What this process is given meanwhile it keeps: given back it would come again at once.
    let mut ours = BTreeMap::new();
    let holds = loop {
        let state = fleet.queue.state().unwrap();
        if state.waiting == 0 && state.leased == ours.len() as u64 {
            break false;
        }
        if let Some(lease) = fleet.queue.lease("near", crate::fleet::LEASE).unwrap() {
            let (unit, attempt) = (lease.unit.key, lease.attempt);
            if ours.insert(unit, lease).is_none() && attempt > 1 {
                break true;
            }
        }
        assert!(began.elapsed() < DEADLINE, "{state:?}");
    };
    for lease in ours.values() {
        fleet.queue.give_back(lease).unwrap();
    }
    holds
}
