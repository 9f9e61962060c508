//! A run on a server: what it is, its binary, and who works on it.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::object_store::InfoErrorKind;
use async_nats::jetstream::{ErrorCode, kv, object_store, stream};
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;

use super::access::{Nats, REQUEST};
use super::signature::Signature;
use crate::error::{Problem, QueueError};

/// The bucket with all runs of a server.
const RUNS: &str = "raddle-runs";
/// The version of what a run is, and of how its binary is kept.
const VERSION: u32 = 2;
/// A worker that was not heard of for so many leases is gone.
const LEASES: u32 = 3;

/// What a run is: all that a worker needs to know before it takes a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of everything that is sent.
    pub version: u32,
    /// The version of cargo-raddle that began it.
    pub raddle: String,
    /// The binary that has the test.
    pub binary: Binary,
    /// The test in it.
    pub test: String,
    /// Settings of the search, as variables of hosts. Workers refuse any that is not one of raddle's.
    pub variables: Vec<(String, String)>,
    /// How long a worker may be silent before its unit is given to another, in milliseconds.
    pub lease_ms: u64,
    /// Copies that the servers of a cluster keep of everything.
    pub replicas: u32,
    /// Whether there is work.
    pub state: RunState,
    /// Anything else that the coordinator keeps with the run.
    pub more: BTreeMap<String, String>,
}

/// Which binary, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binary {
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether workers can fetch it from the server; otherwise they have it.
    pub stored: bool,
    /// The coordinator's signature of it, if it was given a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// Whether there is work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// There may be.
    Open,
    /// Some is left, and the coordinator ended before it was done, by a limit or by an error: workers end. A coordinator that
    /// goes on with the run opens it again.
    Stopped,
    /// Every unit has its record, or the coordinator ended it.
    Finished,
}

/// A worker as it was last heard of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its name.
    pub worker: String,
    /// The version of its cargo-raddle.
    pub raddle: String,
    /// How many hosts it runs at a time.
    pub hosts: u32,
    /// Units that it has completed.
    pub units: u64,
    /// Executions that it has run.
    pub executions: u64,
    /// Executions in a second, lately.
    pub rate: f64,
}

/// A run on a server.
#[derive(Clone)]
pub struct Run {
    pub(crate) nats: Nats,
    pub(crate) name: String,
    pub(crate) bucket: kv::Store,
    pub(crate) objects: object_store::ObjectStore,
    runs: kv::Store,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Binary {
    /// Its name in the object store of its run. Of other bytes it is another, so what workers read is never overwritten.
    fn object(&self) -> String {
        format!("binary-{}", self.sha256)
    }
}

impl Manifest {
    /// The time of a lease.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    /// The version that this crate writes.
    #[must_use]
    pub fn current_version() -> u32 {
        VERSION
    }

    /// # Errors
    /// If the run was begun by a raddle that this one does not understand.
    pub fn check_version(&self) -> Result<(), QueueError> {
        if self.version == VERSION {
            return Ok(());
        }
        Err(QueueError::new(
            Problem::Mismatch,
            format!(
                "the run was begun by cargo-raddle {} (version {} of what is sent), and this one speaks version {VERSION}: \
                 install the same cargo-raddle on every machine",
                self.raddle, self.version
            ),
        ))
    }
}

impl Run {
    /// Begins a run, or goes on with one of this name if it is the same. One that was stopped is open from then on.
    ///
    /// # Errors
    /// If there is another run of this name, or the server cannot be asked.
    pub fn begin(nats: &Nats, name: &str, manifest: &Manifest) -> Result<Self, QueueError> {
        check_name(name)?;
        let replicas = manifest.replicas as usize;
        let runs = runs(nats, replicas)?;
        let bucket = bucket(nats, &format!("raddle-{name}"), replicas)?;
        let objects = nats.ask("to make an object store", || {
            let config = object_store::Config {
                bucket: format!("raddle-{name}"),
                num_replicas: replicas,
                ..object_store::Config::default()
            };
            nats.context.create_object_store(config)
        })?;
        let run = Self { nats: nats.clone(), name: name.to_owned(), bucket, objects, runs };
        if let Some(before) = run.manifest()? {
            before.check_version()?;
            if before.binary != manifest.binary
                || before.test != manifest.test
                || before.variables != manifest.variables
            {
                return Err(QueueError::new(
                    Problem::Mismatch,
                    format!(
                        "there is another run called {name}: of `{}` in the binary {}; choose another name with --run, or \
                         remove that one with `cargo raddle status --run {name} --remove`",
                        before.test, before.binary.sha256
                    ),
                ));
            }
            // What the streams of the run were made with stays.
            let (lease_ms, replicas) = (before.lease_ms, before.replicas);
            let now = Manifest { lease_ms, replicas, ..manifest.clone() };
            if before.state != RunState::Finished && before != now {
                run.set(&now)?;
            }
        } else {
            run.set(manifest)?;
        }
        Ok(run)
    }

    /// The same run, for one who asks a server that does not answer again for no longer than this.
    #[must_use]
    pub fn with_patience(&self, patience: Duration) -> Self {
        Self { nats: self.nats.with_patience(patience), ..self.clone() }
    }

    /// A run that was begun.
    ///
    /// # Errors
    /// If there is none of this name, or the server cannot be asked.
    pub fn find(nats: &Nats, name: &str) -> Result<(Self, Manifest), QueueError> {
        check_name(name)?;
        let runs = runs(nats, 1)?;
        let none = || {
            let text = format!("there is no run called {name} at {}", nats.shown());
            QueueError::new(Problem::Mismatch, text)
        };
        // A cluster that has not chosen who leads cannot say whether there is one.
        let there = nats.ask("to find the run", || async {
            match nats.context.get_stream(format!("KV_raddle-{name}")).await {
                Ok(_) => Ok(true),
                Err(error) => match error.kind() {
                    GetStreamErrorKind::JetStream(inner)
                        if inner.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                    {
                        Ok(false)
                    }
                    _ => Err(error),
                },
            }
        })?;
        if !there {
            return Err(none());
        }
        let place = format!("raddle-{name}");
        let bucket = nats.ask("to find a bucket", || nats.context.get_key_value(&place))?;
        let objects =
            nats.ask("to find an object store", || nats.context.get_object_store(&place))?;
        let run = Self { nats: nats.clone(), name: name.to_owned(), bucket, objects, runs };
        let manifest = run.manifest()?.ok_or_else(none)?;
        Ok((run, manifest))
    }

    /// The names of all runs of a server, with what they are.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn all(nats: &Nats) -> Result<Vec<(String, Manifest)>, QueueError> {
        let runs = runs(nats, 1)?;
        let names = nats.ask("to list the runs", || keys(&runs, ">"))?;
        let mut all = Vec::new();
        for name in names {
            let bytes = nats.ask("to read a run", || runs.get(name.as_str()))?;
            // What another version wrote, and this one cannot read, is none of ours.
            if let Some(Ok(manifest)) = bytes.map(|bytes| serde_json::from_slice(&bytes)) {
                all.push((name, manifest));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is now; none if it was removed.
    ///
    /// # Errors
    /// If the server cannot be asked, or another version wrote it.
    pub fn manifest(&self) -> Result<Option<Manifest>, QueueError> {
        let bytes = self.nats.ask("to read the run", || self.runs.get(self.name.as_str()))?;
        bytes.map(|bytes| self.read(&bytes)).transpose()
    }

    fn read(&self, bytes: &[u8]) -> Result<Manifest, QueueError> {
        serde_json::from_slice(bytes).map_err(|error| {
            QueueError::new(
                Problem::Mismatch,
                format!(
                    "the run {} was begun by another version of cargo-raddle: {error}; install the same one on every machine",
                    self.name
                ),
            )
        })
    }

    /// Says what it is.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn set(&self, manifest: &Manifest) -> Result<(), QueueError> {
        let bytes = json(manifest);
        self.nats
            .ask("to keep the run", || self.runs.put(&self.name, bytes.clone().into()))
            .map(drop)
    }

    /// Stores the binary, unless it is there.
    ///
    /// # Errors
    /// If the file cannot be read, or the server has no room.
    pub fn store_binary(&self, path: &Path, binary: &Binary) -> Result<(), QueueError> {
        let name = binary.object();
        let there = self.nats.ask("to look for the binary", || async {
            match self.objects.info(&name).await {
                Ok(info) => Ok(!info.deleted && info.size as u64 == binary.size),
                Err(error) if error.kind() == InfoErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            }
        })?;
        if there {
            return Ok(());
        }
        self.nats.transfer("to store the binary", || async {
            let mut file = tokio::io::BufReader::new(Slow(
                std::fs::File::open(path)
                    .map_err(|error| format!("{}: {error}", path.display()))?,
            ));
            self.objects.put(name.as_str(), &mut file).await.map_err(|error| error.to_string())
        })?;
        Ok(())
    }

    /// Fetches the binary, and says what it is by looking at what came.
    ///
    /// # Errors
    /// If there is none, or the server cannot be asked.
    pub fn fetch_binary(&self, binary: &Binary) -> Result<Vec<u8>, QueueError> {
        let name = binary.object();
        self.nats.transfer("to fetch the binary", || async {
            let mut object = self.objects.get(&name).await.map_err(|error| error.to_string())?;
            let mut bytes = Vec::new();
            object.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(bytes)
        })
    }

    /// A worker says that it is there.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn report_worker(&self, seen: &WorkerStatus) -> Result<(), QueueError> {
        let key = format!("worker.{}", token(&seen.worker));
        self.nats
            .ask("to tell of this worker", || self.bucket.put(&key, json(seen).into()))
            .map(drop)
    }

    /// The workers that were heard of lately.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn workers(&self, lease: Duration) -> Result<Vec<WorkerStatus>, QueueError> {
        let now = std::time::SystemTime::now();
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let oldest = since.saturating_sub(lease * LEASES).as_secs();
        let mut seen: Vec<WorkerStatus> = self.nats.ask("to list the workers", || async {
            let mut seen = Vec::new();
            for key in keys(&self.bucket, "worker.>").await? {
                let entry = self.bucket.entry(key).await.map_err(|error| error.to_string())?;
                let Some(entry) = entry else { continue };
                let fresh = u64::try_from(entry.created.unix_timestamp()).unwrap_or(0) >= oldest;
                // What another version wrote, and this one cannot read, is left out.
                seen.extend(serde_json::from_slice(&entry.value).ok().filter(|_| fresh));
            }
            Ok::<_, String>(seen)
        })?;
        seen.sort_by(|a, b| a.worker.cmp(&b.worker));
        Ok(seen)
    }

    /// Keeps an object with the run, under a name that was never used: a client that reads one while it is overwritten waits
    /// without end for parts that are gone.
    pub(super) fn keep_object(&self, name: &str, bytes: &[u8]) -> Result<(), QueueError> {
        self.nats.transfer("to keep what is too large for a message", || async {
            self.objects.put(name, &mut &*bytes).await.map_err(|error| error.to_string())
        })?;
        Ok(())
    }

    /// Keeps a text with the run, which may be kept again and again. It must fit into a message.
    ///
    /// # Errors
    /// If the text is too large, or the server has no room.
    pub fn keep(&self, name: &str, text: &[u8]) -> Result<(), QueueError> {
        let key = format!("text.{name}");
        self.nats.ask("to keep a text", || self.bucket.put(&key, text.to_vec().into())).map(drop)
    }

    /// A text that was kept with the run.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn kept(&self, name: &str) -> Result<Option<Vec<u8>>, QueueError> {
        let key = format!("text.{name}");
        let text = self.nats.ask("to read a text", || self.bucket.get(&key))?;
        Ok(text.map(Vec::from))
    }

    /// Removes everything of the run from the server.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn remove(self) -> Result<(), QueueError> {
        let Self { nats, name, runs, .. } = self;
        let context = &nats.context;
        // What is missing was removed before, and what is left when the time is over is removed by another call: the run is
        // named until the end.
        let removed = nats.within(REQUEST, async || {
            let _ = context.delete_stream(super::queue::work_stream(&name)).await;
            let _ = context.delete_stream(super::queue::done_stream(&name)).await;
            let _ = context.delete_key_value(format!("raddle-{name}")).await;
            let _ = context.delete_object_store(format!("raddle-{name}")).await;
        });
        if removed.is_none() {
            let (shown, seconds) = (nats.shown(), REQUEST.as_secs());
            return Err(QueueError::new(
                Problem::Unreachable,
                format!(
                    "{shown} did not remove the run {name} within {seconds} s; remove it again"
                ),
            ));
        }
        nats.ask("to remove the run", || runs.purge(&name)).map(drop)
    }
}

/// The SHA-256 of what is read, in hexadecimal digits, with its length.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(mut from: impl Read) -> std::io::Result<(String, u64)> {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut buffer = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        size += n as u64;
        context.update(&buffer[..n]);
    }
    let mut digits = String::new();
    for byte in context.finish().as_ref() {
        let _ = write!(digits, "{byte:02x}");
    }
    Ok((digits, size))
}

fn runs(nats: &Nats, replicas: usize) -> Result<kv::Store, QueueError> {
    let there = nats.within(REQUEST, async || nats.context.get_key_value(RUNS).await);
    if let Some(Ok(store)) = there {
        return Ok(store);
    }
    bucket(nats, RUNS, replicas)
}

/// The keys of a bucket that have a value, below a pattern.
///
/// One question with one answer. The client's own list of keys reads a stream of messages until none is left: while others
/// write, it names keys many times, and it may wait for a message that was overwritten and never end.
async fn keys(bucket: &kv::Store, below: &str) -> Result<Vec<String>, String> {
    let subjects = format!("{}{below}", bucket.prefix);
    let listed = bucket.stream.info_with_subjects(subjects).await;
    let listed = listed.map_err(|error| error.to_string())?;
    let listed: Vec<(String, usize)> =
        listed.try_collect().await.map_err(|error| error.to_string())?;
    let key =
        |(subject, _): (String, usize)| subject.strip_prefix(&bucket.prefix).map(str::to_owned);
    Ok(listed.into_iter().filter_map(key).collect())
}

/// A key-value bucket, made if it is missing. The client's own way asks for the account first, in a form that servers
/// before 2.10 do not answer in.
fn bucket(nats: &Nats, name: &str, replicas: usize) -> Result<kv::Store, QueueError> {
    nats.ask("to make a bucket", || {
        nats.context.get_or_create_stream(stream::Config {
            name: format!("KV_{name}"),
            subjects: vec![format!("$KV.{name}.>")],
            max_messages_per_subject: 1,
            discard: stream::DiscardPolicy::New,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            num_replicas: replicas,
            ..stream::Config::default()
        })
    })?;
    nats.ask("to find a bucket", || nats.context.get_key_value(name))
}

/// Names are parts of those of streams and subjects.
fn check_name(name: &str) -> Result<(), QueueError> {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !name.is_empty() && name.len() <= 60 && name.chars().all(fine) && name != "runs" {
        return Ok(());
    }
    Err(QueueError::new(
        Problem::Failed,
        format!("`{name}` cannot be the name of a run: up to 60 letters, digits, - and _ can"),
    ))
}

/// As a part of a key.
fn token(name: &str) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    name.chars().map(plain).collect()
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("it has no maps with other keys than texts")
}

/// A file that is read on the thread of the network, which has nothing else to do then.
struct Slow(std::fs::File);

impl tokio::io::AsyncRead for Slow {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled());
        std::task::Poll::Ready(read.map(|n| buffer.advance(n)))
    }
}
