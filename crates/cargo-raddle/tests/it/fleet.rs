//! Runs of many machines, all of them this one: a real server, workers and a coordinator that are killed, a page in a
//! real browser.
//!
//! Without `nats-server` each test says that it is skipped; with `NATS_TESTS=required` it fails instead. The page needs a
//! Chromium in the same way (`BROWSER_TESTS`).

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Done, Project};

/// Ends what hangs.
const DEADLINE: Duration = Duration::from_secs(180);

const PROGRAM: &str = r#"
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

/// 12! / 3!^4 executions.
#[raddle::test(strategy = "dfs", executions = 1_000_000)]
fn many() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| for _ in 0..3 { n.fetch_add(1, SeqCst); });
        }
    });
    assert_eq!(n.load(SeqCst), 12);
}

#[raddle::test(strategy = "dfs", executions = 1_000_000)]
fn lossy() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| { let seen = n.load(SeqCst); n.store(seen + 1, SeqCst); });
        }
    });
    assert_eq!(n.load(SeqCst), 2, "an <b>update</b> is lost");
}
"#;

fn program(name: &str, variable: &str, also: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.push(also.into());
    let found = places.iter().map(|place| place.join(name)).find(|file| file.is_file());
    let required = std::env::var(variable).is_ok_and(|value| value == "required");
    assert!(found.is_some() || !required, "there is no {name}, and {variable}=required");
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no {name} here");
    }
    found
}

/// A server with streams, gone when dropped.
struct Server {
    child: Child,
    store: PathBuf,
    url: String,
}

impl Server {
    fn start() -> Option<Self> {
        let program = program("nats-server", "NATS_TESTS", "/usr/sbin")?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store = std::env::temp_dir().join(format!("raddle-it-{}-{port}", std::process::id()));
        let mut command = Command::new(program);
        command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(&store);
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
        project.write("src/lib.rs", "");
        project.write("tests/searched.rs", PROGRAM);
        Mutex::new(project)
    };
    PROJECT.get_or_init(make).lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command in the background, killed when dropped.
struct Background {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Background {
    fn start(project: &Project, arguments: &[&str]) -> Self {
        let mut command = project.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Reads what it complains about until a line has this.
    fn until(&mut self, words: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            if self.said.read_line(&mut line).unwrap() == 0 {
                let mut out = String::new();
                self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
                panic!("it ended: {all}\n{out}");
            }
            if line.contains(words) {
                return line;
            }
            all.push_str(&line);
        }
    }

    fn end(mut self) -> Done {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.said.read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code();
        Done { code, out, err }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const COORDINATE: [&str; 8] =
    ["coordinate", "--lease", "1s", "--no-regressions", "--format", "json", "--exact", "--nats"];

/// Starts a coordinator and returns the hash that it prints for workers.
fn coordinate(project: &Project, server: &Server, run: &str, test: &str) -> (Background, String) {
    let arguments = [&COORDINATE[..], &[&server.url, "--run", run, test]].concat();
    let mut coordinator = Background::start(project, &arguments);
    let line = coordinator.until("--trust");
    let digits = line.trim().rsplit(' ').next().unwrap().to_owned();
    (coordinator, digits)
}

fn work(project: &Project, server: &Server, run: &str, digits: &str) -> Background {
    let arguments =
        ["work", "--nats", &server.url, "--run", run, "--hosts", "1", "--trust", digits];
    Background::start(project, &arguments)
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
    assert_eq!(alone.2, 369_600);
    let (coordinator, digits) = coordinate(&project, &server, "many", "many");
    let mut first = work(&project, &server, "many", &digits);
    first.until("hosts at a time");
    // Until it has recorded something.
    let began = Instant::now();
    let status = ["status", "--format", "json", "--nats", &server.url, "--run", "many"];
    loop {
        let standing = &project.run(&status).ended_with(0).events()[0];
        if standing["records"].as_u64() > Some(0) {
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
    let Some(browser) = program("chromium", "BROWSER_TESTS", "/usr/bin") else { return };
    let arguments = ["status", "--nats", &server.url, "--run", "lossy", "--page", "0"];
    let mut command = project.command(&arguments);
    let mut page = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(page.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("page: ").unwrap().to_owned();
    let dom = dom(&browser, &url);
    let other = foreign(&url);
    let _ = (page.kill(), page.wait());
    // Text of the test is text.
    assert!(dom.contains("an &lt;b&gt;update&lt;/b&gt; is lost"), "{dom}");
    assert!(dom.contains(r#"<h1 id="run">lossy</h1>"#), "{dom}");
    assert!(dom.contains("finished: failed"), "{dom}");
    assert!(!dom.contains(r#"<dd id="executions">–</dd>"#), "{dom}");
    assert!(other.starts_with("HTTP/1.1 403"), "{other}");
}

/// The document of a page after its scripts have run.
fn dom(browser: &PathBuf, url: &str) -> String {
    let profile = std::env::temp_dir().join(format!("raddle-it-browser-{}", std::process::id()));
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args(["--disable-background-networking", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let _ = fs::remove_dir_all(&profile);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a page of another site would get.
fn foreign(url: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /standing.json HTTP/1.1\r\nHost: example.org\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
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
fn a_worker_runs_what_a_key_that_it_trusts_has_signed() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let start = |run: &str, file: &str| {
        let more = [&server.url, "--run", run, "--sign", file, "lossy"];
        let mut coordinator = Background::start(&project, &[&COORDINATE[..], &more].concat());
        let line = coordinator.until("--trust-key");
        (coordinator, line.trim().rsplit(' ').next().unwrap().to_owned())
    };
    let (coordinator, key) = start("signed", "signing.nk");
    let (_other, stranger) = start("foreign", "other.nk");
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
    let worker = Background::start(&project, &arguments);
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
    assert!(said(&[]).contains("is of one test, and there are 2"));
}

/// The Job of the book is one, and its command is one that the tool takes.
#[test]
fn the_job_of_the_book_is_a_job() {
    let book = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/fleet.md"));
    let book = book.unwrap();
    let blocks: Vec<&str> = book.split("```yaml\n").skip(1).collect();
    let [block] = blocks[..] else { panic!("{} blocks", blocks.len()) };
    let text = block.split("```").next().unwrap();
    let job: Value = serde_yaml_ng::from_str(text).unwrap();
    assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
    assert!(job["metadata"]["name"].is_string());
    assert!(job["spec"]["parallelism"].as_u64() > Some(1), "{job}");
    // A pod that dies is started again, so often that no run ends of it.
    assert!(job["spec"]["backoffLimit"].as_u64() >= Some(100), "{job}");
    // A run that ends before all of them have worked is over for all of them.
    assert!(job["spec"]["completions"].is_null(), "{job}");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "OnFailure", "a Job takes no other but Never");
    let [container] = &pod["containers"].as_array().unwrap()[..] else { panic!("{pod}") };
    assert!(container["name"].is_string() && container["image"].is_string(), "{container}");
    let secret = &container["env"][0];
    assert_eq!(secret["name"], "NATS_TOKEN", "as the tool reads it");
    assert!(secret["valueFrom"]["secretKeyRef"]["key"].is_string(), "{secret}");
    let requests = &container["resources"]["requests"];
    let words = container["command"].as_array().unwrap().iter();
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    let [program, subcommand, command, arguments @ ..] = &words[..] else { panic!("{words:?}") };
    assert_eq!((*program, *subcommand, *command), ("cargo-raddle", "raddle", "work"));
    let after = |flag: &str| {
        let at = arguments.iter().position(|word| *word == flag);
        arguments[at.unwrap_or_else(|| panic!("{flag} is missing")) + 1]
    };
    assert_eq!(requests["cpu"], after("--hosts"), "a processor for each host");
    // All of it is understood: what is wrong is that there is no such server.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("nats://127.0.0.1:{port}");
    let asked: Vec<&str> = [*command]
        .into_iter()
        .chain(arguments.iter().map(|word| if *word == after("--nats") { &url } else { *word }))
        .collect();
    let done = project().run(&asked).ended_with(2);
    assert!(done.err.contains(&format!("{url} cannot be reached")), "{}", done.err);
}
