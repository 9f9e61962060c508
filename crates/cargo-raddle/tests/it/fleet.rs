//! Runs of many machines, all of them this one: a real server, workers and a coordinator that are killed, a page in a
//! real browser.
//!
//! Without `nats-server` each test says that it is skipped; with `NATS_TESTS=required` it fails instead. The page needs a
//! Chromium in the same way (`BROWSER_TESTS`).

mod ends;
mod matrix;
mod program;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use raddle_fleet::nats::{Access, Nats, NatsQueue, Run, SigningKey};
use raddle_fleet::{Completion, Queue as _};
use raddle_trace::exit;
use serde_json::Value;

use self::program::PROGRAM;
use crate::{Background, DEADLINE, Done, Project, Watched, here, output};

fn nats_server() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.push("/usr/sbin".into());
    let found = places.iter().map(|place| place.join("nats-server")).find(|file| file.is_file());
    let required = std::env::var("NATS_TESTS").is_ok_and(|value| value == "required");
    assert!(found.is_some() || !required, "there is no nats-server, and NATS_TESTS=required");
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no nats-server here");
    }
    found
}

/// A browser: the first of those that `ci/browser.sh` takes, or the one that `BROWSER_TESTS` names.
fn browser() -> Option<PathBuf> {
    let asked = std::env::var("BROWSER_TESTS").unwrap_or_default();
    let required = asked == "required";
    if !asked.is_empty() && !required {
        return Some(asked.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = BROWSERS
        .iter()
        .flat_map(|name| places.iter().map(move |place| place.join(name)))
        .find(|file| file.is_file());
    assert!(found.is_some() || !required, "there is no browser, and BROWSER_TESTS=required");
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no browser here");
    }
    found
}

const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

#[test]
fn browsers_are_looked_for_as_ci_does() {
    let script = here().join("../../ci/browser.sh");
    let script = fs::read_to_string(script).unwrap();
    let line = format!("for name in {}; do\n", BROWSERS.join(" "));
    assert!(script.contains(&line), "{line}{script}");
}

/// A server with streams, gone when dropped.
struct Server {
    child: Child,
    store: PathBuf,
    url: String,
}

impl Server {
    fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Option<Self> {
        let program = nats_server()?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store = std::env::temp_dir().join(format!("raddle-it-{}-{port}", std::process::id()));
        let mut command = Command::new(program);
        command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(&store);
        command.args(more);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < DEADLINE, "the server did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { child, store, url: format!("nats://127.0.0.1:{port}") })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.store);
    }
}

/// The project, one test at a time.
fn project() -> MutexGuard<'static, Project> {
    static PROJECT: OnceLock<Mutex<Project>> = OnceLock::new();
    let make = || {
        let project = Project::new("fleet");
        let about = fs::read_to_string(project.0.join("Cargo.toml")).unwrap();
        project.write("Cargo.toml", &about.replace("[\"check\"]", "[\"check\", \"actors\"]"));
        project.write("src/lib.rs", "");
        project.write("tests/searched.rs", PROGRAM);
        Mutex::new(project)
    };
    PROJECT.get_or_init(make).lock().unwrap_or_else(PoisonError::into_inner)
}

const COORDINATE: [&str; 8] =
    ["coordinate", "--lease", "1s", "--no-regressions", "--format", "json", "--exact", "--nats"];

fn start(project: &Project, arguments: &[&str]) -> Background {
    Background::start(&mut project.command(arguments))
}

/// Starts a coordinator and returns the hash that it prints for workers.
fn coordinate(project: &Project, server: &Server, run: &str, test: &str) -> (Background, String) {
    let arguments = [&COORDINATE[..], &[&server.url, "--run", run, test]].concat();
    let mut coordinator = start(project, &arguments);
    let line = coordinator.until("--trust");
    let digits = line.trim().rsplit(' ').next().unwrap().to_owned();
    (coordinator, digits)
}

fn work(project: &Project, server: &Server, run: &str, digits: &str) -> Background {
    let arguments =
        ["work", "--nats", &server.url, "--run", run, "--hosts", "1", "--trust", digits];
    start(project, &arguments)
}

/// What must be the same whichever processes have searched.
fn result(done: Done, code: u8, test: &str) -> (Value, Value, Value) {
    let done = done.ended_with(code);
    let event = &done.finished()[test];
    let report = &event["report"];
    (
        report["verdict"].clone(),
        report["guarantee"]["covered"].clone(),
        report["counts"]["executions"].clone(),
    )
}

#[test]
fn workers_and_coordinators_that_are_killed_change_nothing() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let alone = project.run(&["test", "--no-regressions", "--format", "json", "--exact", "many"]);
    let alone = result(alone, 0, "many");
    assert_eq!(alone.2, 92_400);
    let (coordinator, digits) = coordinate(&project, &server, "many", "many");
    let mut first = work(&project, &server, "many", &digits);
    first.until("hosts at a time");
    // Until it has recorded something.
    let began = Instant::now();
    let status = ["status", "--format", "json", "--nats", &server.url, "--run", "many"];
    loop {
        let standing = &project.run(&status).ended_with(0).events()[0];
        if standing["records"].as_u64() > Some(0) {
            assert_eq!(standing["state"], "open", "{standing}");
            assert!(standing["folded"]["verdict"].is_null(), "it is not over: {standing}");
            let open = ["waiting", "leased"].map(|which| standing[which].as_u64().unwrap());
            assert!(open.iter().sum::<u64>() > 0, "something is left to do: {standing}");
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{standing}");
    }
    // Both at once, by `kill -9`; a worker goes on before there is a coordinator again.
    drop(coordinator);
    drop(first);
    let second = work(&project, &server, "many", &digits);
    let (coordinator, again) = coordinate(&project, &server, "many", "many");
    assert_eq!(digits, again);
    assert_eq!(result(coordinator.end(), 0, "many"), alone);
    let second = second.end().ended_with(0);
    assert!(second.err.contains("executions"), "{}", second.err);
    let said = project.run(&["status", "--nats", &server.url]).ended_with(0).out;
    assert!(said.contains("many: many (finished)") && said.contains("verdict: passed"), "{said}");
    // A run that is over is folded once more, without any worker.
    let (coordinator, _) = coordinate(&project, &server, "many", "many");
    assert_eq!(result(coordinator.end(), 0, "many"), alone);
}

#[test]
fn a_failure_that_a_worker_finds_is_reported_and_shown_in_a_browser() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let (coordinator, digits) = coordinate(&project, &server, "lossy", "lossy");
    let worker = work(&project, &server, "lossy", &digits);
    let done = coordinator.end();
    let failure = done.finished()["lossy"]["report"]["failure"].clone();
    let (verdict, ..) = result(done, 1, "lossy");
    assert_eq!(verdict, "failed");
    assert!(failure["trace"].is_object(), "{failure}");
    worker.end().ended_with(0);
    let Some(browser) = browser() else { return };
    let (page, url) = page(&project, &server, "lossy");
    let dom = dom(&browser, &url);
    let other = foreign(&url);
    drop(page);
    // Text of the test is text.
    assert!(dom.contains("an &lt;b&gt;update&lt;/b&gt; is lost"), "{dom}");
    assert!(dom.contains(r#"<h1 id="run">lossy</h1>"#), "{dom}");
    assert!(dom.contains("finished: failed"), "{dom}");
    assert!(!dom.contains(r#"<dd id="executions">–</dd>"#), "{dom}");
    assert!(other.starts_with("HTTP/1.1 403"), "{other}");
}

/// `cargo raddle status` as it serves the live page of a run, and where.
fn page(project: &Project, server: &Server, run: &str) -> (Watched, String) {
    let arguments = ["status", "--nats", &server.url, "--run", run, "--page", "0"];
    let mut command = project.command(&arguments);
    let mut page = Watched::spawn(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut line = String::new();
    BufReader::new(page.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("page: ").unwrap().to_owned();
    (page, url)
}

/// The number in the element with this id.
#[track_caller]
fn shown(dom: &str, id: &str) -> u64 {
    let (_, rest) =
        dom.split_once(&format!("id=\"{id}\">")).unwrap_or_else(|| panic!("{id}: {dom}"));
    let text = rest.split('<').next().unwrap().replace(',', "");
    text.parse().unwrap_or_else(|_| panic!("{id} is `{text}`: {dom}"))
}

#[test]
fn a_run_that_goes_on_is_shown_in_a_browser_with_its_workers_rate_and_queue() {
    let Some(server) = Server::start() else { return };
    let Some(browser) = browser() else { return };
    let project = project();
    let (_coordinator, digits) = coordinate(&project, &server, "live", "endless");
    let _worker = work(&project, &server, "live", &digits);
    let (live_page, url) = page(&project, &server, "live");
    let began = Instant::now();
    // Until the page, which looks by itself, has a worker that has told how fast it is, and something that was folded.
    loop {
        let standing = standing_of(&url);
        let folded = standing["folded"]["progress"]["executions"].as_u64();
        if standing["workers"][0]["rate"].as_f64() > Some(0.0) && folded > Some(0) {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{standing}");
        std::thread::yield_now();
    }
    let dom = dom(&browser, &url);
    drop(live_page);
    assert!(dom.contains(r#"<h1 id="run">live</h1>"#), "{dom}");
    assert!(dom.contains(r#"<span id="state">open</span>"#), "{dom}");
    assert!(shown(&dom, "executions") > 0 && shown(&dom, "rate") > 0, "{dom}");
    assert!(shown(&dom, "done") > 0, "{dom}");
    // One host has one unit, and others wait for it.
    assert_eq!(shown(&dom, "leased"), 1, "{dom}");
    assert!(shown(&dom, "waiting") > 0, "{dom}");
    let (_, rows) = dom.split_once(r#"<tbody id="workers">"#).unwrap();
    let rows: Vec<&str> = rows.split("</tbody>").next().unwrap().split("</tr>").collect();
    let [row, ""] = rows[..] else { panic!("one worker: {rows:?}") };
    let cells: Vec<&str> = row.split("<td>").skip(1).collect();
    let cells: Vec<&str> = cells.iter().map(|cell| cell.trim_end_matches("</td>")).collect();
    let [name, hosts, units, executions, rate] = cells[..] else { panic!("{cells:?}") };
    assert!(!name.is_empty() && hosts == "1", "{cells:?}");
    for number in [units, executions, rate] {
        assert!(number.replace(',', "").parse::<u64>().unwrap() > 0, "{cells:?}");
    }
}

/// The document of a page after its scripts have run.
fn dom(browser: &PathBuf, url: &str) -> String {
    let profile = std::env::temp_dir().join(format!("raddle-it-browser-{}", std::process::id()));
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args(["--disable-background-networking", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url);
    let done = Done::of(&output(&mut command));
    let _ = fs::remove_dir_all(&profile);
    done.out
}

/// What the server of a page answers to a request for its data by this host.
fn asked_as(url: &str, host: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(stream, "GET /standing.json HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

/// What a page of another site would get.
fn foreign(url: &str) -> String {
    asked_as(url, "example.org")
}

/// What a page shows now; null if it has not looked yet.
fn standing_of(url: &str) -> Value {
    let said = asked_as(url, url.trim_start_matches("http://").trim_end_matches('/'));
    let (_, body) = said.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {said}"));
    serde_json::from_str(body).unwrap()
}

#[test]
fn a_worker_runs_only_what_its_operator_allowed() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let (_coordinator, digits) = coordinate(&project, &server, "allowed", "lossy");
    let said = |more: &[&str]| {
        let arguments = [&["work", "--nats", &server.url, "--run", "allowed"], more].concat();
        let done = project.run(&arguments).ended_with(2);
        done.err
    };
    assert!(said(&[]).contains(&format!("--trust {digits}")));
    let other = "0".repeat(64);
    assert!(said(&["--trust", &other]).contains("was not told to trust"));
    assert!(said(&["--binary", "Cargo.toml"]).contains("is another binary than that of the run"));
    assert!(said(&["--binary", "no-such-file"]).contains("no-such-file"));
    let none = ["work", "--nats", &server.url, "--run", "none", "--wait", "0s"];
    assert!(project.run(&none).ended_with(2).err.contains("no run called none"));
}

#[test]
fn a_worker_refuses_variables_that_are_no_settings_and_bytes_that_are_another_binary() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let (coordinator, digits) = coordinate(&project, &server, "true", "lossy");
    drop(coordinator);
    let nats = connected(&server);
    let (_, mut manifest) = Run::find(&nats, "true").unwrap();
    manifest.variables.push(("LD_PRELOAD".to_owned(), "/tmp/evil.so".to_owned()));
    Run::begin(&nats, "preload", &manifest).unwrap();
    let refused = |run: &str, digits: &str| {
        let arguments = ["work", "--nats", &server.url, "--run", run, "--trust", digits];
        project.run(&arguments).ended_with(exit::USAGE).err
    };
    let said = refused("preload", &digits);
    assert!(said.contains("set the variable LD_PRELOAD") && said.contains("refused"), "{said}");
    // What is stored under the name of the trusted binary is something else of the same size.
    manifest.variables.pop();
    let run = Run::begin(&nats, "bytes", &manifest).unwrap();
    let other = project.0.join("another-binary");
    fs::write(&other, vec![0; usize::try_from(manifest.binary.size).unwrap()]).unwrap();
    run.store_binary(&other, &manifest.binary).unwrap();
    let said = refused("bytes", &digits);
    assert!(said.contains("is not the run's binary") && said.contains("was not run"), "{said}");
}

#[test]
fn a_key_for_the_server_is_read_from_a_file_and_files_that_are_missing_are_named() {
    let project = project();
    // A key that signs is also one that a server can know.
    let file = project.0.join("user.nk");
    let (key, _) = SigningKey::of_file(&file).unwrap();
    let configuration = project.0.join("server.conf");
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", key.public_key());
    fs::write(&configuration, users).unwrap();
    let Some(server) = Server::start_with(&["-c", configuration.to_str().unwrap()]) else { return };
    let status = |more: &[&str]| project.run(&[&["status", "--nats", &server.url], more].concat());
    assert!(status(&[]).ended_with(exit::USAGE).err.contains("does not let us in"));
    status(&["--nats-nkey", file.to_str().unwrap()]).ended_with(exit::PASSED);
    for flag in ["--nats-nkey", "--nats-creds", "--nats-ca"] {
        let said = status(&[flag, "/no/such/file"]).err;
        assert!(said.contains("/no/such/file cannot be read"), "{flag}: {said}");
    }
}

#[test]
fn a_worker_runs_what_a_key_that_it_trusts_has_signed() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let signed = |run: &str, file: &str| {
        let more = [&server.url, "--run", run, "--sign", file, "lossy"];
        let mut coordinator = start(&project, &[&COORDINATE[..], &more].concat());
        let line = coordinator.until("--trust-key");
        (coordinator, line.trim().rsplit(' ').next().unwrap().to_owned())
    };
    let (coordinator, key) = signed("signed", "signing.nk");
    let (_other, stranger) = signed("foreign", "other.nk");
    assert_ne!(key, stranger, "each file has a key of its own");
    let refused = |run: &str, key: &str| {
        let arguments = ["work", "--nats", &server.url, "--run", run, "--trust-key", key];
        project.run(&arguments).ended_with(2).err
    };
    let said = refused("foreign", &key);
    assert!(
        said.contains(&format!("signed by {stranger}, which this worker was not told")),
        "{said}"
    );
    let (_plain, digits) = coordinate(&project, &server, "plain", "lossy");
    let said = refused("plain", &key);
    assert!(said.contains("without a signature") && said.contains(&digits), "{said}");
    let arguments = ["work", "--nats", &server.url, "--run", "signed", "--trust-key", &key];
    let worker = start(&project, &arguments);
    assert_eq!(result(coordinator.end(), 1, "lossy").0, "failed");
    worker.end().ended_with(0);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_run() {
    let project = project();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("nats://127.0.0.1:{port}");
    for command in ["coordinate", "work", "status"] {
        let done = project.run(&[command, "--nats", &url]).ended_with(2);
        assert!(done.err.contains(&format!("{url} cannot be reached")), "{}", done.err);
        assert!(done.err.contains("is a nats-server running there"), "{}", done.err);
    }
    let Some(server) = Server::start() else { return };
    let said = |arguments: &[&str]| {
        let arguments = [&["coordinate", "--nats", &server.url][..], arguments].concat();
        project.run(&arguments).ended_with(2).err
    };
    assert!(said(&["--resume"]).contains("started again with the same command"));
    assert!(said(&["--lease", "soon"]).contains("a time is expected"));
    assert!(said(&["--lease", "10ms"]).contains("shorter than a second"));
    assert!(said(&[]).contains("is of one test, and there are 12"));
}

#[test]
fn a_server_that_does_not_let_us_in_is_named_by_every_command() {
    let Some(server) = Server::start_with(&["--user", "raddle", "--pass", "secret"]) else {
        return;
    };
    let project = project();
    let as_user = |word: &str| server.url.replace("nats://", &format!("nats://raddle:{word}@"));
    for command in ["coordinate", "work", "status"] {
        let done = project.run(&[command, "--nats", &as_user("guess")]).ended_with(2);
        assert!(done.err.contains("does not let us in"), "{}", done.err);
        assert!(done.err.contains("check the token, the user and the password"), "{}", done.err);
        assert!(!done.err.contains("guess"), "{}", done.err);
        assert!(done.out.is_empty(), "nothing was begun: {}", done.out);
    }
    let mut named = project.command(&["status", "--nats", &server.url]);
    let named = named.env("NATS_USER", "raddle").env("NATS_PASSWORD", "secret");
    Done::of(&output(named)).ended_with(0);
}

/// A connection of this test's own.
fn connected(server: &Server) -> Nats {
    Nats::connect(&Access { url: server.url.clone(), ..Access::default() }).unwrap()
}

#[test]
fn a_run_of_another_version_is_refused_by_workers_and_by_coordinators() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let (coordinator, digits) = coordinate(&project, &server, "versions", "lossy");
    drop(coordinator);
    let (run, mut manifest) = Run::find(&connected(&server), "versions").unwrap();
    manifest.version += 1;
    "9.9.9".clone_into(&mut manifest.raddle);
    run.set(&manifest).unwrap();
    let arguments =
        ["work", "--nats", &server.url, "--run", "versions", "--hosts", "1", "--trust", &digits];
    let said = project.run(&arguments).ended_with(2).err;
    for words in ["begun by cargo-raddle 9.9.9", "install the same cargo-raddle on every machine"] {
        assert!(said.contains(words), "{said}");
    }
    let arguments = [&COORDINATE[..], &[&server.url, "--run", "versions", "lossy"]].concat();
    let done = project.run(&arguments).ended_with(exit::INCONCLUSIVE);
    let event = &done.finished()["lossy"];
    assert!(event["report"].is_null(), "{event}");
    let said = event["error"].as_str().unwrap();
    assert!(said.contains("install the same cargo-raddle on every machine"), "{said}");
}

#[test]
fn a_record_that_cannot_be_read_ends_the_run_and_nothing_is_said_of_the_test() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let (coordinator, _) = coordinate(&project, &server, "unreadable", "many");
    let (run, manifest) = Run::find(&connected(&server), "unreadable").unwrap();
    let queue = NatsQueue::open(&run, &manifest).unwrap();
    let began = Instant::now();
    let lease = loop {
        match queue.lease("of-another-mind", manifest.lease()).unwrap() {
            Some(lease) => break lease,
            None => assert!(began.elapsed() < DEADLINE, "no unit was put"),
        }
    };
    let nonsense = Completion { result: b"nonsense".to_vec(), leftovers: Vec::new() };
    queue.complete(&lease, nonsense).unwrap();
    let done = coordinator.end().ended_with(exit::INCONCLUSIVE);
    let event = &done.finished()["many"];
    assert!(event["report"].is_null(), "{event}");
    let said = event["error"].as_str().unwrap();
    assert!(said.contains("what worker of-another-mind wrote cannot be read"), "{said}");
    assert!(said.contains("begin the run anew"), "{said}");
}

/// The manifests of the book, by kind and name.
fn manifests() -> BTreeMap<(String, String), Value> {
    let book = fs::read_to_string(here().join("../../book/src/fleet.md")).unwrap();
    let blocks = book.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    let documents = blocks.flat_map(|block| block.split("\n---\n"));
    let read = documents.map(|one| serde_yaml_ng::from_str::<Value>(one).unwrap());
    read.map(|one| ((text(&one["kind"]), text(&one["metadata"]["name"])), one)).collect()
}

fn manifest(kind: &str, name: &str) -> Value {
    manifests().remove(&(kind.to_owned(), name.to_owned())).expect("the book has it")
}

/// The one container of a pod.
#[track_caller]
fn container(of: &Value) -> &Value {
    let pod = &of["spec"]["template"]["spec"];
    let [container] = &pod["containers"].as_array().unwrap()[..] else { panic!("{pod}") };
    assert!(container["name"].is_string() && container["image"].is_string(), "{container}");
    let secret = container["env"].as_array().unwrap().last().unwrap();
    assert_eq!(secret["name"], "NATS_TOKEN", "as the tool reads it");
    assert_eq!(secret["valueFrom"]["secretKeyRef"]["name"], "nats", "{secret}");
    assert_eq!(secret["valueFrom"]["secretKeyRef"]["key"], "token", "{secret}");
    container
}

/// The words of a container's command, which all are understood: what is wrong is that there is no such server.
#[track_caller]
fn understood(container: &Value, wanted: &str) -> Vec<String> {
    let words = container["command"].as_array().unwrap().iter();
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    let [program, subcommand, command, arguments @ ..] = &words[..] else { panic!("{words:?}") };
    assert_eq!((*program, *subcommand, *command), ("cargo-raddle", "raddle", wanted));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("nats://127.0.0.1:{port}");
    let servers = after(arguments, "--nats");
    let asked: Vec<&str> = [*command]
        .into_iter()
        .chain(arguments.iter().map(|word| if *word == servers { &url } else { *word }))
        .collect();
    let done = project().run(&asked).ended_with(2);
    assert!(done.err.contains(&format!("{url} cannot be reached")), "{}", done.err);
    words.into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn after<S: AsRef<str>>(words: &[S], flag: &str) -> String {
    let at = words.iter().position(|word| word.as_ref() == flag);
    words[at.unwrap_or_else(|| panic!("{flag} is missing")) + 1].as_ref().to_owned()
}

#[test]
fn the_workers_of_the_book_are_a_job_and_their_command_is_understood() {
    let job = manifest("Job", "raddle-workers");
    assert_eq!(job["apiVersion"], "batch/v1");
    assert!(job["spec"]["parallelism"].as_u64() > Some(1), "{job}");
    // A pod that dies is started again, so often that no run ends of it.
    assert!(job["spec"]["backoffLimit"].as_u64() >= Some(100), "{job}");
    // A run that ends before all of them have worked is over for all of them.
    assert!(job["spec"]["completions"].is_null(), "{job}");
    let restarts = &job["spec"]["template"]["spec"]["restartPolicy"];
    assert_eq!(restarts, "OnFailure", "a Job takes no other but Never");
    let container = container(&job);
    let words = understood(container, "work");
    let requests = &container["resources"]["requests"];
    assert_eq!(requests["cpu"], after(&words, "--hosts"), "a processor for each host");
}

#[test]
fn the_coordinator_of_the_book_is_a_job_that_a_verdict_ends() {
    let job = manifest("Job", "raddle-coordinator");
    assert_eq!(job["apiVersion"], "batch/v1");
    // More than one at a time would do the same twice.
    assert!(job["spec"]["parallelism"].is_null(), "{job}");
    assert!(job["spec"]["backoffLimit"].as_u64() >= Some(100), "{job}");
    // Kubernetes takes a policy for failures only with this.
    assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], "Never", "{job}");
    let [rule] = &job["spec"]["podFailurePolicy"]["rules"].as_array().unwrap()[..] else {
        panic!("{job}")
    };
    let codes = &rule["onExitCodes"];
    assert_eq!((&rule["action"], &codes["operator"]), (&"FailJob".into(), &"In".into()));
    // Not a server that is not there yet (2), and not a pod that is told to go (130).
    let ends = [exit::FAILED, exit::INCONCLUSIVE, exit::NO_TESTS, exit::BUILD];
    assert_eq!(codes["values"], serde_json::json!(ends));
    let container = container(&job);
    assert_eq!(codes["containerName"], container["name"]);
    let words = understood(container, "coordinate");
    let workers = manifest("Job", "raddle-workers");
    let theirs = understood(self::container(&workers), "work");
    for flag in ["--nats", "--run"] {
        assert_eq!(after(&words, flag), after(&theirs, flag), "{flag}");
    }
    let servers = manifest("StatefulSet", "nats");
    let copies: u64 = after(&words, "--replicas").parse().unwrap();
    assert_eq!(servers["spec"]["replicas"], copies, "a copy at each server");
}

#[test]
fn the_servers_of_the_book_are_those_that_its_commands_name_and_their_configuration_is_read() {
    let (service, set) = (manifest("Service", "nats"), manifest("StatefulSet", "nats"));
    let map = manifest("ConfigMap", "nats");
    assert_eq!((&service["apiVersion"], &map["apiVersion"]), (&"v1".into(), &"v1".into()));
    assert_eq!(set["apiVersion"], "apps/v1");
    let spec = &set["spec"];
    assert_eq!(spec["serviceName"], service["metadata"]["name"]);
    let labels = &spec["template"]["metadata"]["labels"];
    assert_eq!(&spec["selector"]["matchLabels"], labels);
    assert_eq!(&service["spec"]["selector"], labels);
    let names: Vec<String> =
        (0..spec["replicas"].as_u64().unwrap()).map(|nth| format!("nats-{nth}.nats")).collect();
    let workers = manifest("Job", "raddle-workers");
    let urls = after(&understood(container(&workers), "work"), "--nats");
    let wanted: Vec<String> = names.iter().map(|name| format!("nats://{name}:4222")).collect();
    assert_eq!(urls, wanted.join(","));
    let text = map["data"]["nats.conf"].as_str().unwrap();
    for name in &names {
        assert!(text.contains(&format!("nats://{name}:6222")), "{text}");
    }
    let container = container(&set);
    let ports = |of: &Value, key: &str| -> Vec<u64> {
        of["ports"].as_array().unwrap().iter().map(|port| port[key].as_u64().unwrap()).collect()
    };
    assert_eq!(ports(container, "containerPort"), [4222, 6222]);
    assert_eq!(ports(&service["spec"], "port"), [4222, 6222]);
    let mounts = &container["volumeMounts"];
    assert_eq!(
        container["args"][1],
        format!("{}/nats.conf", mounts[0]["mountPath"].as_str().unwrap())
    );
    let place = format!("store_dir: {}", mounts[1]["mountPath"].as_str().unwrap());
    assert!(text.contains(&place), "{text}");
    assert_eq!(mounts[1]["name"], spec["volumeClaimTemplates"][0]["metadata"]["name"]);
    let Some(program) = nats_server() else { return };
    let file = std::env::temp_dir().join(format!("raddle-it-{}.conf", std::process::id()));
    fs::write(&file, text).unwrap();
    let mut check = Command::new(program);
    let check =
        check.arg("-t").arg("-c").arg(&file).env("POD_NAME", "nats-0").env("NATS_TOKEN", "ta");
    let said = Done::of(&output(check));
    let _ = fs::remove_file(&file);
    said.ended_with(0);
}
