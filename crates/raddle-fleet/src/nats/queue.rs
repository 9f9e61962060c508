//! The queue: how units are leased and recorded over `JetStream`. `nats.rs` has the idea.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    self, DirectGetErrorKind, LastRawMessageErrorKind, RetentionPolicy, Stream,
};
use async_nats::jetstream::{self, AckKind};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;

use super::access::{ANSWER, Nats};
use super::run::{Manifest, Run};
use crate::error::{Problem, QueueError};
use crate::key::UnitKey;
use crate::queue::{Held, Lease, Queue, QueueState, RecordOutcome};
use crate::record::{Completion, Ending, QueuedUnit, Record, VERSION};
use crate::worker::MOST_ATTEMPTS;

/// Units that workers may have at a time. `JetStream`'s default is 1,000.
const MOST_LEASED: i64 = 100_000;
/// Workers that may wait for a unit at a time. `JetStream`'s default is 512.
const MOST_WAITING: i64 = 20_000;
/// How long a worker waits for a unit in one call.
const WAIT: Duration = Duration::from_secs(1);
/// Records that are fetched at a time.
const AHEAD: usize = 32;
/// What a message may have beside its body.
const HEAD: usize = 1024;

/// The work queue of a run on a server. [`super`] says how it is made.
pub struct NatsQueue {
    nats: Nats,
    run: Run,
    done: Stream<()>,
    consumer: PullConsumer,
    /// The messages of units that this process has, by the number of the lease.
    held: Mutex<HashMap<u64, jetstream::Message>>,
    leases: AtomicU64,
    ignored: AtomicU64,
    /// The last record that was lost with all before it, when that was noticed.
    lost: AtomicU64,
    lease: Duration,
    /// Whether workers waited for units and none was there, and when that was asked.
    hungry: Mutex<Option<(Instant, bool)>>,
}

impl fmt::Debug for NatsQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsQueue").field("run", &self.run.name).finish_non_exhaustive()
    }
}

/// A unit in a message.
#[derive(Serialize, Deserialize)]
struct SentUnit {
    version: u32,
    key: UnitKey,
    body: Body,
}

/// A record in a message. Its unit is in the subject, its number is the message's.
#[derive(Serialize, Deserialize)]
struct SentRecord {
    version: u32,
    /// Also tells this process's records from others: a publication whose answer was lost is sent again.
    tag: u64,
    worker: String,
    ending: Body,
}

/// Bytes, or where they are if they are too many for a message.
#[derive(Serialize, Deserialize)]
enum Body {
    Here(Vec<u8>),
    Object(String),
}

/// What the server does with a unit that it was sent a while ago.
#[derive(Clone, Copy)]
enum Repeated {
    Dropped,
    Kept,
}

pub(super) fn work_stream(run: &str) -> String {
    format!("raddle-{run}-work")
}

pub(super) fn done_stream(run: &str) -> String {
    format!("raddle-{run}-done")
}

impl NatsQueue {
    /// The queue of a run; its streams are made if they are missing.
    ///
    /// # Errors
    /// If the server cannot be asked, or the run is of another version.
    pub fn open(run: &Run, manifest: &Manifest) -> Result<Self, QueueError> {
        manifest.check_version()?;
        let (nats, name) = (run.nats.clone(), run.name.as_str());
        let replicas = manifest.replicas as usize;
        let context = &nats.context;
        nats.ask("to make the stream of units", || {
            context.get_or_create_stream(stream::Config {
                name: work_stream(name),
                subjects: vec![format!("raddle.{name}.work")],
                retention: RetentionPolicy::WorkQueue,
                num_replicas: replicas,
                ..stream::Config::default()
            })
        })?;
        nats.ask("to make the stream of records", || {
            context.get_or_create_stream(stream::Config {
                name: done_stream(name),
                subjects: vec![format!("raddle.{name}.done.*")],
                deny_delete: true,
                deny_purge: true,
                allow_direct: true,
                num_replicas: replicas,
                ..stream::Config::default()
            })
        })?;
        let work = nats
            .ask("to find the stream of units", || context.get_stream_no_info(work_stream(name)))?;
        let done = nats.ask("to find the stream of records", || {
            context.get_stream_no_info(done_stream(name))
        })?;
        let consumer = nats.ask("to make the consumer of units", || {
            let config = pull::Config {
                durable_name: Some("workers".to_owned()),
                ack_policy: AckPolicy::Explicit,
                ack_wait: manifest.lease(),
                max_ack_pending: MOST_LEASED,
                max_waiting: MOST_WAITING,
                ..pull::Config::default()
            };
            work.get_or_create_consumer("workers", config)
        })?;
        Ok(Self {
            run: run.clone(),
            done,
            consumer,
            held: Mutex::default(),
            leases: AtomicU64::new(0),
            ignored: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            lease: manifest.lease(),
            hungry: Mutex::new(None),
            nats,
        })
    }

    /// The same queue, for one who asks a server that does not answer again for no longer than this.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self {
            nats: self.nats.with_patience(patience),
            run: self.run.with_patience(patience),
            ..self
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, jetstream::Message>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subject(&self, key: UnitKey) -> String {
        format!("raddle.{}.done.{key}", self.run.name)
    }

    /// Puts bytes into a message, or what does not fit there into the object store.
    fn stow(&self, what: &str, bytes: Vec<u8>) -> Result<Body, QueueError> {
        if bytes.len() + HEAD < self.nats.client.max_payload() {
            return Ok(Body::Here(bytes));
        }
        let name = format!("{what}-{:016x}", random());
        self.run.keep_object(&name, &bytes)?;
        Ok(Body::Object(name))
    }

    fn unstow(&self, body: Body) -> Result<Vec<u8>, QueueError> {
        match body {
            Body::Here(bytes) => Ok(bytes),
            Body::Object(name) => {
                self.nats.transfer("to read what is too large for a message", || async {
                    let mut object =
                        self.run.objects.get(&name).await.map_err(|error| error.to_string())?;
                    let mut bytes = Vec::new();
                    object.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
                    Ok::<_, String>(bytes)
                })
            }
        }
    }

    fn read_record(
        &self,
        sequence: u64,
        subject: &str,
        payload: &[u8],
    ) -> Result<Record, QueueError> {
        let key = subject.rsplit('.').next().unwrap_or_default();
        let unit = key.parse().map_err(|text: String| unreadable(&text))?;
        let sent: SentRecord =
            postcard::from_bytes(payload).map_err(|error| unreadable(&error.to_string()))?;
        if sent.version != VERSION {
            return Err(unreadable(&format!("it is of version {}", sent.version)));
        }
        let ending = self.unstow(sent.ending)?;
        let ending =
            postcard::from_bytes(&ending).map_err(|error| unreadable(&error.to_string()))?;
        Ok(Record { sequence, tag: sent.tag, unit, worker: sent.worker, ending })
    }

    /// The record of a unit, if the server that was asked has one. One that lags behind may not have it yet.
    fn glance(&self, key: UnitKey) -> Result<Option<Record>, QueueError> {
        let subject = self.subject(key);
        let message = self.nats.ask("to look for a record", || async {
            match self.done.direct_get_last_for_subject(&subject).await {
                Ok(message) => Ok(Some(message)),
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })?;
        let read = |message: jetstream::message::StreamMessage| {
            self.read_record(message.sequence, &message.subject, &message.payload)
        };
        message.map(read).transpose()
    }

    /// The record that the leader of the stream has of a unit.
    fn recorded(&self, key: UnitKey) -> Result<Record, QueueError> {
        let subject = self.subject(key);
        let message = self.nats.ask("to read a record", || async {
            match self.done.get_last_raw_message_by_subject(&subject).await {
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                    Err(format!("{subject} is empty"))
                }
                message => message.map_err(|error| error.to_string()),
            }
        })?;
        self.read_record(message.sequence, &message.subject, &message.payload)
    }

    /// Publishes units. Those that were before are run once more at worst, and their records are refused.
    fn publish(
        &self,
        units: impl Iterator<Item = QueuedUnit>,
        repeated: Repeated,
    ) -> Result<(), QueueError> {
        let subject = format!("raddle.{}.work", self.run.name);
        let mut messages = Vec::new();
        for QueuedUnit { key, bytes } in units {
            let body = self.stow("unit", bytes)?;
            messages.push((key, encode(&SentUnit { version: VERSION, key, body })));
        }
        for chunk in messages.chunks(AHEAD) {
            self.nats.ask("to put units", || async {
                let mut answers = Vec::new();
                for (key, payload) in chunk {
                    let message = PublishMessage::build().payload(payload.clone().into());
                    let message = match repeated {
                        Repeated::Dropped => message.message_id(key.to_string()),
                        Repeated::Kept => message,
                    };
                    answers.push(self.nats.context.send_publish(subject.clone(), message).await?);
                }
                for answer in answers {
                    answer.await?;
                }
                Ok::<_, async_nats::jetstream::context::PublishError>(())
            })?;
        }
        Ok(())
    }

    /// The first record of a unit, whichever it is; and whether it is this one.
    fn record(&self, lease: &Lease, ending: &Ending) -> Result<(Record, bool), QueueError> {
        let tag = random();
        let body = self.stow("record", encode(ending))?;
        let worker = lease.worker.clone();
        let sent = SentRecord { version: VERSION, tag, worker, ending: body };
        let (payload, subject) = (encode(&sent), self.subject(lease.unit.key));
        let sequence = self.nats.ask("to record a unit", || async {
            let message = PublishMessage::build()
                .payload(payload.clone().into())
                .expected_last_subject_sequence(0);
            let sent = self.nats.context.send_publish(subject.clone(), message).await;
            let sent = match sent {
                Ok(answer) => answer.await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(answer) => Ok(Some(answer.sequence)),
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
                Err(error) => Err(error),
            }
        })?;
        if let Some(sequence) = sequence {
            let (unit, worker) = (lease.unit.key, sent.worker);
            return Ok((Record { sequence, tag, unit, worker, ending: ending.clone() }, true));
        }
        let record = self.recorded(lease.unit.key)?;
        let ours = record.tag == tag;
        Ok((record, ours))
    }

    fn end(&self, lease: &Lease, ending: &Ending) -> Result<RecordOutcome, QueueError> {
        let (record, ours) = self.record(lease, ending)?;
        // Also of another's record: it may have died before it came to this.
        self.publish(record.leftovers(), Repeated::Dropped)?;
        self.acknowledge(lease.number)?;
        if ours {
            return Ok(RecordOutcome::Recorded(record.sequence));
        }
        self.ignored.fetch_add(1, Ordering::Relaxed);
        Ok(RecordOutcome::Ignored)
    }

    /// Publishes a record and nothing else, as a worker does that dies in the middle of [`complete`](Queue::complete).
    ///
    /// # Errors
    /// If the server cannot be asked.
    #[doc(hidden)]
    pub fn record_only(&self, lease: &Lease, done: Completion) -> Result<(), QueueError> {
        self.record(lease, &Ending::Done(done)).map(drop)
    }

    /// The unit need not be delivered again. If the server does not hear of it, it is, and its record is found.
    fn acknowledge(&self, number: u64) -> Result<(), QueueError> {
        let Some(message) = self.held().remove(&number) else { return Ok(()) };
        self.nats.ask("to acknowledge a unit", || message.ack())
    }

    /// A unit from a message; none if it is done.
    fn receive(
        &self,
        worker: &str,
        message: jetstream::Message,
    ) -> Result<Option<Lease>, QueueError> {
        let (attempt, waiting) = {
            let info = message.info().map_err(|error| unreadable(&error.to_string()))?;
            (u32::try_from(info.delivered).unwrap_or(u32::MAX), info.pending)
        };
        let number = self.leases.fetch_add(1, Ordering::Relaxed);
        let key = named(&message);
        let sent = read_unit(&message.payload);
        self.held().insert(number, message);
        let of = |key: UnitKey, bytes: Vec<u8>| {
            let unit = QueuedUnit { key, bytes };
            Lease { unit, worker: worker.to_owned(), attempt, waiting, number }
        };
        let key = sent.as_ref().map(|sent| sent.key).ok().or(key);
        let taken = sent.and_then(|sent| {
            if let Some(record) = self.glance(sent.key)? {
                self.publish(record.leftovers(), Repeated::Dropped)?;
                self.acknowledge(number)?;
                return Ok(None);
            }
            Ok(Some(of(sent.key, self.unstow(sent.body)?)))
        });
        let error = match taken {
            Ok(taken) => return Ok(taken),
            Err(error) => error,
        };
        if attempt > MOST_ATTEMPTS && error.problem() != Problem::Unreachable {
            match key {
                Some(key) => drop(self.give_up(&of(key, Vec::new()), &error.to_string())?),
                // Something else than a queue wrote it. A unit that is open all the same is put again by the coordinator.
                None => self.acknowledge(number)?,
            }
            return Ok(None);
        }
        // It is delivered again after the lease: at once it would end one worker after the other.
        self.held().remove(&number);
        Err(error)
    }

    /// Whether workers wait and no unit does. Asked at most once in a third of a lease, however many units this process has.
    fn is_hungry(&self) -> bool {
        let mut known = self.hungry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((asked, hungry)) = *known
            && asked.elapsed() < self.lease / 3
        {
            return hungry;
        }
        // Noted first: another heartbeat does not wait for the answer.
        *known = Some((Instant::now(), false));
        drop(known);
        let info = self.nats.within(ANSWER, async || self.consumer.get_info().await);
        // Without an answer nothing is known, and units are cut by their slices alone.
        let Some(Ok(info)) = info else { return false };
        let hungry = info.num_pending == 0 && info.num_waiting > 0;
        let mut known = self.hungry.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), hungry));
        hungry
    }

    /// A message of the stream of records; none if it is lost for good: a server whose disk was damaged has gaps.
    async fn fetch(
        &self,
        sequence: u64,
    ) -> Result<Option<jetstream::message::StreamMessage>, String> {
        match self.done.direct_get(sequence).await {
            Ok(message) => return Ok(Some(message)),
            Err(error) if error.kind() != DirectGetErrorKind::NotFound => {
                return Err(error.to_string());
            }
            // A server that lags behind does not have it yet. The leader knows.
            Err(_) => {}
        }
        match self.done.get_raw_message(sequence).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// All records up to the last are lost, from some place on. That is no harm, their units are put again; unless it goes
    /// on so: a server whose file is damaged may take records that it cannot read.
    fn notice_loss(&self, last: u64) -> Result<(), QueueError> {
        let before = self.lost.fetch_max(last, Ordering::Relaxed);
        if before == 0 || before == last {
            return Ok(());
        }
        let from = self.nats.shown();
        Err(QueueError::new(
            Problem::Corrupt,
            format!(
                "{from} takes records and cannot read them (numbers {before} to {last}): the files of its JetStream are \
                 damaged. Nothing is said of the run; remove it, mend or replace the server's store, and begin anew"
            ),
        ))
    }

    async fn next(&self) -> Result<Option<jetstream::Message>, String> {
        let batch = self.consumer.batch().max_messages(1).expires(WAIT).messages().await;
        let mut batch = batch.map_err(|error| error.to_string())?;
        // The server says when it is over; if it is gone, nothing does.
        match tokio::time::timeout(2 * WAIT, batch.next()).await {
            Ok(None) | Err(_) => Ok(None),
            Ok(Some(message)) => message.map(Some).map_err(|error| error.to_string()),
        }
    }
}

impl Queue for NatsQueue {
    fn put(&self, units: Vec<QueuedUnit>) -> Result<(), QueueError> {
        self.publish(units.into_iter(), Repeated::Dropped)
    }

    fn restore(&self, units: Vec<QueuedUnit>) -> Result<(), QueueError> {
        self.publish(units.into_iter(), Repeated::Kept)
    }

    /// The time of a lease is the run's, not `time`. Waits up to a second for a unit.
    fn lease(&self, worker: &str, _time: Duration) -> Result<Option<Lease>, QueueError> {
        loop {
            let Some(message) = self.nats.ask("to lease a unit", || self.next())? else {
                return Ok(None);
            };
            if let Some(lease) = self.receive(worker, message)? {
                return Ok(Some(lease));
            }
        }
    }

    /// Whether the lease has lapsed is not known here, so it is never said to be lost: the record decides.
    fn heartbeat(&self, lease: &Lease) -> Result<Held, QueueError> {
        let Some(message) = self.held().get(&lease.number).cloned() else { return Ok(Held::Lost) };
        // Not for long: without a connection the next one will do.
        let _ = self.nats.within(ANSWER, async || message.ack_with(AckKind::Progress).await);
        Ok(if self.is_hungry() { Held::Hungry } else { Held::Yes })
    }

    fn complete(&self, lease: &Lease, done: Completion) -> Result<RecordOutcome, QueueError> {
        self.end(lease, &Ending::Done(done))
    }

    fn give_back(&self, lease: &Lease) -> Result<(), QueueError> {
        let Some(message) = self.held().remove(&lease.number) else { return Ok(()) };
        self.nats.ask("to give a unit back", || message.ack_with(AckKind::Nak(None)))
    }

    fn give_up(&self, lease: &Lease, why: &str) -> Result<RecordOutcome, QueueError> {
        self.end(lease, &Ending::GivenUp { why: why.to_owned() })
    }

    fn records(&self, after: u64, most: usize) -> Result<Vec<Record>, QueueError> {
        let last =
            self.nats.ask("to look for records", || self.done.get_info())?.state.last_sequence;
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let (from, mut after) = (after, after);
        while after < last {
            let through = last.min(after.saturating_add(most));
            let messages = self.nats.ask("to read records", || async {
                futures_util::stream::iter(after + 1..=through)
                    .map(|sequence| self.fetch(sequence))
                    .buffered(AHEAD)
                    .collect::<Vec<_>>()
                    .await
                    .into_iter()
                    .collect::<Result<Vec<_>, String>>()
            })?;
            let read = |message: jetstream::message::StreamMessage| {
                self.read_record(message.sequence, &message.subject, &message.payload)
            };
            let records: Vec<Record> =
                messages.into_iter().flatten().map(read).collect::<Result<_, _>>()?;
            if !records.is_empty() {
                return Ok(records);
            }
            // All of them were lost.
            after = through;
        }
        if last > from {
            self.notice_loss(last)?;
        }
        Ok(Vec::new())
    }

    /// Records stay: what was folded only saves reading them again.
    fn fold(&self, through: u64, folded: &[u8]) -> Result<(), QueueError> {
        let bytes = encode(&(through, folded));
        if bytes.len() + HEAD >= self.nats.client.max_payload() {
            return Ok(());
        }
        self.nats
            .ask("to keep what was folded", || self.run.bucket.put("folded", bytes.clone().into()))
            .map(drop)
    }

    fn folded(&self) -> Result<Option<(u64, Vec<u8>)>, QueueError> {
        let bytes = self.nats.ask("to read what was folded", || self.run.bucket.get("folded"))?;
        let Some(bytes) = bytes else { return Ok(None) };
        postcard::from_bytes(&bytes).map(Some).map_err(|error| unreadable(&error.to_string()))
    }

    /// The server stores before it answers.
    fn sync(&self) -> Result<(), QueueError> {
        Ok(())
    }

    /// As the server counts: a unit that waits twice counts twice. Workers are not known here.
    fn state(&self) -> Result<QueueState, QueueError> {
        let consumer = self.nats.ask("to ask how the run stands", || self.consumer.get_info())?;
        let done = self.nats.ask("to ask how the run stands", || self.done.get_info())?;
        Ok(QueueState {
            waiting: consumer.num_pending,
            leased: consumer.num_ack_pending as u64,
            done: done.state.messages,
            ignored: self.ignored.load(Ordering::Relaxed),
            lapsed: u64::try_from(consumer.num_redelivered).unwrap_or(0),
            ..QueueState::default()
        })
    }
}

/// A number that no other record has. Of a million of them two are the same once in twenty million runs, and
/// the coordinator would see it.
fn random() -> u64 {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; 8];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    u64::from_le_bytes(bytes) | 1 << 63
}

/// The unit of a message by what its publisher named the message.
fn named(message: &jetstream::Message) -> Option<UnitKey> {
    let headers = message.headers.as_ref()?;
    headers.get(async_nats::header::NATS_MESSAGE_ID)?.as_str().parse().ok()
}

fn read_unit(payload: &[u8]) -> Result<SentUnit, QueueError> {
    let sent: SentUnit =
        postcard::from_bytes(payload).map_err(|error| unreadable(&error.to_string()))?;
    if sent.version != VERSION {
        return Err(unreadable(&format!("a unit is of version {}", sent.version)));
    }
    Ok(sent)
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("bytes and numbers can be written")
}

fn unreadable(why: &str) -> QueueError {
    QueueError::new(
        Problem::Mismatch,
        format!(
            "a message of the run cannot be read: {why}; another version of cargo-raddle, or something else, wrote it. Use the \
             same version everywhere, and a server whose subjects raddle.> nothing else uses"
        ),
    )
}
