//! `nats-server`: found, started on free ports of the loopback, killed, started again.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use raddle_fleet::nats::{Access, Nats};
use serde_json::Value;

use crate::DEADLINE;

/// The program.
#[derive(Clone, Debug)]
pub(crate) struct Program(PathBuf);

/// The program, and whether there must be one.
pub(crate) fn find() -> (Option<Program>, bool) {
    let asked = std::env::var("NATS_TESTS").unwrap_or_default();
    let required = asked == "required";
    if !asked.is_empty() && !required {
        return (Some(Program(asked.into())), true);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Where Debian has it, which is not on everybody's path.
    places.push("/usr/sbin".into());
    let found = places.iter().map(|place| place.join("nats-server")).find(|file| file.is_file());
    (found.map(Program), required)
}

/// A port that nothing uses now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A directory that is gone when dropped.
#[derive(Debug)]
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("raddle-faults-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    program: Program,
    arguments: Vec<String>,
    pub(crate) directory: Directory,
    host: String,
    pub(crate) port: u16,
    /// Where it tells how it stands, if it does.
    monitor: Option<u16>,
    child: Option<Child>,
}

impl Server {
    /// Alone, on the loopback.
    pub(crate) fn start(program: &Program) -> Self {
        Self::start_with(program, "127.0.0.1", "")
    }

    /// With more lines in its configuration.
    pub(crate) fn start_with(program: &Program, host: &str, more: &str) -> Self {
        let mut server = Self::new(program, host, free_port(), |_| more.to_owned());
        server.run();
        server.wait();
        server
    }

    fn new(program: &Program, host: &str, port: u16, more: impl Fn(&Path) -> String) -> Self {
        let directory = Directory::new();
        let file = directory.0.join("server.conf");
        let store = directory.0.join("store");
        let text = format!(
            "host: \"{host}\"\nport: {port}\njetstream {{ store_dir: \"{}\" }}\n{}\n",
            store.display(),
            more(&directory.0)
        );
        let text = if text.matches("jetstream {").count() > 1 {
            // A configuration of its own replaces the usual one.
            text.replacen(&format!("jetstream {{ store_dir: \"{}\" }}\n", store.display()), "", 1)
                .replace("STORE", &store.display().to_string())
        } else {
            text
        };
        fs::write(&file, text).unwrap();
        let arguments = vec!["-c".to_owned(), file.display().to_string()];
        let (program, host) = (program.clone(), host.to_owned());
        Self { program, arguments, directory, host, port, monitor: None, child: None }
    }

    /// Three that keep copies of everything.
    pub(crate) fn cluster(program: &Program) -> Vec<Self> {
        let ports: Vec<[u16; 3]> = (0..3).map(|_| [0; 3].map(|_| free_port())).collect();
        let routes: Vec<String> =
            ports.iter().map(|[_, port, _]| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let routes = routes.join(", ");
        let mut servers: Vec<Self> = ports
            .iter()
            .enumerate()
            .map(|(nth, &[port, inner, monitor])| {
                let mut server = Self::new(program, "127.0.0.1", port, |_| {
                    format!(
                        "server_name: n{nth}\nhttp: \"127.0.0.1:{monitor}\"\ncluster {{ name: raddle, host: \"127.0.0.1\", \
                         port: {inner}, routes: [{routes}] }}"
                    )
                });
                server.monitor = Some(monitor);
                server
            })
            .collect();
        servers.iter_mut().for_each(Self::run);
        servers.iter().for_each(Self::wait);
        servers
    }

    pub(crate) fn run(&mut self) {
        let log = File::create(self.directory.0.join("log")).unwrap();
        let child = Command::new(&self.program.0)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Changes its configuration, for when it is started again.
    pub(crate) fn change(&self, from: &str, to: &str) {
        let file = self.directory.0.join("server.conf");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        fs::write(file, text.replace(from, to)).unwrap();
    }

    /// Which node of its cluster leads a stream, as it knows: its name, if it runs and there is one.
    pub(crate) fn leader(&self, stream: &str) -> Option<String> {
        self.child.as_ref()?;
        let mut page = TcpStream::connect((self.host.as_str(), self.monitor?)).ok()?;
        page.set_read_timeout(Some(DEADLINE)).ok()?;
        page.set_write_timeout(Some(DEADLINE)).ok()?;
        let request = "GET /jsz?accounts=true&streams=true HTTP/1.0\r\n\r\n";
        page.write_all(request.as_bytes()).ok()?;
        let mut said = String::new();
        page.read_to_string(&mut said).ok()?;
        let (_, body) = said.split_once("\r\n\r\n")?;
        let about: Value = serde_json::from_str(body).ok()?;
        let accounts = about["account_details"].as_array()?;
        let mut streams =
            accounts.iter().filter_map(|one| one["stream_detail"].as_array()).flatten();
        let found = streams.find(|one| one["name"] == stream)?;
        found["cluster"]["leader"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Until it takes connections.
    pub(crate) fn wait(&self) {
        let began = Instant::now();
        while TcpStream::connect((self.host.as_str(), self.port)).is_err() {
            assert!(began.elapsed() < DEADLINE, "the server did not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.0.join("log")).unwrap_or_default()
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}:{}", self.host, self.port)
    }

    pub(crate) fn access(&self) -> Access {
        Access { url: self.url(), ..Access::default() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Connects; a cluster must have chosen who leads first.
pub(crate) fn connect(access: &Access) -> Nats {
    let began = Instant::now();
    loop {
        match Nats::connect(access) {
            Ok(nats) => return nats,
            Err(error) => assert!(began.elapsed() < DEADLINE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
