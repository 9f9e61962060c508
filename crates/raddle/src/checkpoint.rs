//! What a search needs to go on later: a file, left by one that was stopped and taken up by the next.
//!
//! It has the state of each strategy and its observers between two executions, and what the engine carries over. It is written
//! when a search ends that is not over, and from time to time before, always beside its place and then
//! moved there: a process that is killed leaves the last one whole. It fits only the same test, strategy, seed and
//! settings, and the same binary, because decisions are numbers of options; what does not fit is an
//! error.
//!
//! As a file: [`MAGIC`], the length of the header (eight bytes, the lowest first), the header as JSON, the
//! states one after another, a checksum (FNV-1a) of all that.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use raddle_engine::Ended;
use raddle_engine::observer::Paused;
use raddle_engine::strategy::Checkpoint;
use raddle_trace::checkpoint::{ANEW, Header, Part, VERSION};
use raddle_trace::hash::{Fnv1a, fnv1a};
use raddle_trace::{Carried, Note};

use crate::config::Config;
use crate::error::Error;
use crate::job::Job;

/// A checkpoint takes at most one part in so many of the time: one of a search that holds much is written less
/// often than was asked for.
const TIME_SHARE: u32 = 100;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"raddleck";

/// A search that was saved between two executions.
#[derive(Clone, Debug)]
pub(crate) struct SavedSearch {
    pub(crate) carried: Carried,
    pub(crate) state: Checkpoint,
}

/// What is known of one search of a test.
#[derive(Clone, Debug, Default)]
struct Slot {
    saved: Option<SavedSearch>,
    /// Why it could not be saved.
    refused: Option<String>,
}

/// Keeps the file of a test.
#[derive(Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
    /// All but what changes while it is searched.
    header: Header,
    /// What was there before, of each search.
    before: Vec<Option<SavedSearch>>,
    began: Instant,
    slots: Mutex<Slots>,
}

#[derive(Debug)]
struct Slots {
    all: Vec<Slot>,
    /// Until then nothing is written but at the end.
    not_before: Instant,
    /// Why it could not be written.
    failed: Option<String>,
    written: bool,
}

/// The keeper of a test whose searches have these names and seeds, if it is to have one.
pub(crate) fn open(job: &Job, searches: &[(String, u64)]) -> Result<Option<Arc<Keeper>>, Error> {
    let config = &job.config;
    let Some(path) = config.checkpoint.as_ref().map(PathBuf::from) else { return Ok(None) };
    let wrong = |why: String| Error::Checkpoint { file: path.display().to_string(), why };
    let mut header = Header {
        version: VERSION,
        test: config.test.clone(),
        package: config.env.package.clone(),
        settings: settings(job),
        binary: String::new(),
        parts: 1,
        elapsed_ms: 0,
        searches: searches
            .iter()
            .map(|(strategy, seed)| Part {
                strategy: strategy.clone(),
                seed: *seed,
                ..Part::default()
            })
            .collect(),
    };
    let mut before: Vec<Option<SavedSearch>> = vec![None; searches.len()];
    match fs::read(&path) {
        Ok(bytes) if config.resume => {
            let (found, states) = read(&bytes).map_err(wrong)?;
            header.binary = binary().map_err(wrong)?;
            found.fits(&header).map_err(wrong)?;
            (header.parts, header.elapsed_ms) = (found.parts + 1, found.elapsed_ms);
            for ((before, part), state) in before.iter_mut().zip(found.searches).zip(states) {
                *before =
                    part.carried.zip(state).map(|(carried, state)| SavedSearch { carried, state });
            }
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(wrong(error.to_string())),
    }
    let began = Instant::now();
    let slots = Slots { all: Vec::new(), not_before: began, failed: None, written: false };
    let keeper = Keeper { path, header, before, began, slots: Mutex::new(slots) };
    keeper.begin();
    Ok(Some(Arc::new(keeper)))
}

/// An error of a search with the name of the file, if it is about that.
pub(crate) fn named(config: &Config, error: Error) -> Error {
    match (error, &config.checkpoint) {
        (Error::Checkpoint { why, .. }, Some(file)) => {
            Error::Checkpoint { file: file.clone(), why }
        }
        (error, _) => error,
    }
}

/// What decides which executions there are, besides strategy and seed.
pub(crate) fn settings(job: &Job) -> BTreeMap<String, String> {
    let limits = job.setup().limits;
    let (steps, tasks) = (Some(limits.steps), Some(limits.tasks));
    let config = Config { steps, tasks, ..job.config.clone() };
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    config.same_to_resume().into_iter().map(owned).collect()
}

/// A number for the running binary, as text. Of the same file it is the same.
fn binary() -> Result<String, String> {
    static BINARY: OnceLock<Result<String, String>> = OnceLock::new();
    BINARY.get_or_init(hashed_binary).clone()
}

fn hashed_binary() -> Result<String, String> {
    let hash = || -> io::Result<u64> {
        // What runs, also if another file was built in its place since.
        let own = File::open("/proc/self/exe");
        let mut file = own.or_else(|_| File::open(std::env::current_exe()?))?;
        let mut hasher = DefaultHasher::new();
        let mut chunk = vec![0; 1 << 20];
        loop {
            match file.read(&mut chunk)? {
                0 => return Ok(hasher.finish()),
                n => hasher.write(&chunk[..n]),
            }
        }
    };
    match hash() {
        Ok(hash) => Ok(format!("{hash:016x}")),
        Err(error) => Err(format!("the test binary cannot be read: {error}")),
    }
}

/// The header and the states in a file, or a sentence that says what is wrong.
fn read(bytes: &[u8]) -> Result<(Header, Vec<Option<Checkpoint>>), String> {
    let damaged = || format!("it is damaged, or no checkpoint of raddle; {ANEW}");
    let (body, sum) = bytes.split_last_chunk().ok_or_else(damaged)?;
    let rest = body.strip_prefix(MAGIC).ok_or_else(damaged)?;
    if fnv1a(body) != u64::from_le_bytes(*sum) {
        return Err(damaged());
    }
    let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    let (header, mut rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
    // First of all the version, so that another one is not reported as a wrong shape.
    let value: serde_json::Value = serde_json::from_slice(header).map_err(|_| damaged())?;
    if value["version"].as_u64() != Some(u64::from(VERSION)) {
        return Err(format!("it was written by another version of raddle; {ANEW}"));
    }
    let header: Header = serde_json::from_value(value).map_err(|_| damaged())?;
    let mut states = Vec::new();
    for part in &header.searches {
        let length = usize::try_from(part.bytes).map_err(|_| damaged())?;
        let (state, more) = rest.split_at_checked(length).ok_or_else(damaged)?;
        states.push((length > 0).then(|| Checkpoint(state.to_vec())));
        rest = more;
    }
    if rest.is_empty() { Ok((header, states)) } else { Err(damaged()) }
}

/// Writes a file. States may be large, so they are not put together first.
fn write_to(mut file: impl io::Write, header: &Header, states: &[&[u8]]) -> io::Result<()> {
    let text = serde_json::to_vec(header).map_err(io::Error::other)?;
    let length = (text.len() as u64).to_le_bytes();
    let mut sum = Fnv1a::new();
    for part in [&MAGIC[..], &length, &text].iter().chain(states) {
        file.write_all(part)?;
        sum.add(part);
    }
    file.write_all(&sum.value().to_le_bytes())
}

/// Writes beside the file and moves it there, and is not back before it is on the disk: neither a process
/// that is killed nor a machine that goes down leaves half of it.
fn write(path: &Path, header: &Header, states: &[&[u8]]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    if let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(directory)?;
    }
    let written = File::create(&draft).and_then(|mut file| {
        write_to(&mut file, header, states)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&draft, path)).inspect_err(|_| drop(fs::remove_file(&draft)))
}

impl Keeper {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All searches begin, or begin anew, where they were when the file was read.
    pub(crate) fn begin(&self) {
        let mut slots = self.slots();
        if let [only] = &self.before[..] {
            // The file has it.
            (slots.all, slots.written) = (vec![Slot::default()], only.is_some());
        } else {
            let slot = |saved: &Option<SavedSearch>| Slot { saved: saved.clone(), refused: None };
            slots.all = self.before.iter().map(slot).collect();
        }
    }

    /// What a search is to go on from.
    pub(crate) fn before(&self, search: usize) -> Option<&SavedSearch> {
        self.before.get(search)?.as_ref()
    }

    /// Executions that all searches had run before.
    pub(crate) fn executions(&self) -> u64 {
        self.before.iter().flatten().map(|saved| saved.carried.counts.executions).sum()
    }

    /// The time of earlier parts, and of this one.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(self.header.elapsed_ms) + self.began.elapsed()
    }

    /// Saves a search.
    fn keep(&self, search: usize, paused: &mut Paused<'_, '_>) {
        let saved = paused.save().map(|state| SavedSearch { carried: paused.carried(), state });
        let mut slots = self.slots();
        let in_file = slots.written && slots.all.len() == 1;
        let Some(slot) = slots.all.get_mut(search) else { return };
        match saved {
            Ok(saved) => *slot = Slot { saved: Some(saved), refused: None },
            // What was saved before still holds: it is only older.
            Err(_) if slot.saved.is_some() || in_file => {}
            Err(why) => slot.refused = Some(why.to_string()),
        }
    }

    /// Writes the file, if there is anything to write.
    fn write(&self) {
        let mut slots = self.slots();
        if slots.all.iter().all(|slot| slot.saved.is_none()) {
            return;
        }
        let slots = &mut *slots;
        let mut header = self.header.clone();
        header.elapsed_ms = self.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        if header.binary.is_empty() {
            match binary() {
                Ok(binary) => header.binary = binary,
                Err(why) => return slots.failed = Some(why),
            }
        }
        let states: Vec<&[u8]> = slots
            .all
            .iter()
            .map(|slot| slot.saved.as_ref().map_or(&[][..], |saved| &saved.state.0))
            .collect();
        for ((part, slot), state) in header.searches.iter_mut().zip(&slots.all).zip(&states) {
            part.bytes = state.len() as u64;
            part.carried = slot.saved.as_ref().map(|saved| saved.carried.clone());
        }
        match write(&self.path, &header, &states) {
            Ok(()) => {
                (slots.written, slots.failed) = (true, None);
                // What is in the file need not be in memory too, unless it is to be written with others.
                if let [only] = &mut slots.all[..] {
                    only.saved = None;
                }
            }
            Err(error) => slots.failed = Some(error.to_string()),
        }
    }

    /// The searches of a test have ended. What there is to say of the file.
    pub(crate) fn end(&self, how: How) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.before.iter().any(Option::is_some) {
            notes.push(Note::Resumed {
                parts: self.header.parts,
                executions: self.executions(),
                elapsed_ms: self.header.elapsed_ms,
            });
        }
        if how == How::Astray {
            return notes;
        }
        if how == How::Over {
            // Also one that this search did not begin with: it is older.
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let file = self.path.display().to_string();
                    notes.push(Note::NotKept {
                        why: format!("{file} could not be removed: {error}"),
                    });
                }
                _ => {}
            }
            return notes;
        }
        self.write();
        let slots = self.slots();
        let anew = || {
            let named = self.header.searches.iter().zip(&slots.all);
            named.filter_map(|(part, slot)| Some((part.strategy.clone(), slot.refused.clone()?)))
        };
        if let Some(why) = &slots.failed {
            let file = self.path.display();
            notes.push(Note::NotKept { why: format!("{file} could not be written: {why}") });
        } else if slots.written {
            let file = self.path.display().to_string();
            notes.push(Note::Kept { file, anew: anew().map(|(strategy, _)| strategy).collect() });
        } else {
            let why: Vec<_> =
                anew().map(|(strategy, why)| format!("`{strategy}`: {why}")).collect();
            let why = if why.is_empty() { "nothing was run".to_owned() } else { why.join("; ") };
            notes.push(Note::NotKept { why });
        }
        notes
    }
}

/// One search's part of a keeper.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointSlot {
    pub(crate) keeper: Arc<Keeper>,
    /// Its number among the searches of the test.
    pub(crate) search: usize,
}

impl CheckpointSlot {
    /// What it is to go on from.
    pub(crate) fn before(&self) -> Option<&SavedSearch> {
        self.keeper.before(self.search)
    }

    /// Saves the search between two executions and writes the file, unless that was done just before.
    pub(crate) fn keep(&self, search: &mut Paused<'_, '_>) {
        let began = Instant::now();
        if began < self.keeper.slots().not_before {
            return;
        }
        self.keeper.keep(self.search, search);
        self.keeper.write();
        self.keeper.slots().not_before = Instant::now() + TIME_SHARE * began.elapsed();
    }

    /// Saves the search when it has ended, if there is something to go on from. Whether it is written is
    /// for those to say who know how all of them ended.
    pub(crate) fn finish(&self, search: &mut Paused<'_, '_>, ended: &Ended) {
        match ended {
            // These have nothing to go on from.
            Ended::Failed | Ended::Diverged(_) | Ended::Trouble(_) => {}
            // Unless there are others, all is over.
            Ended::Covered if self.keeper.header.searches.len() == 1 => {}
            _ => self.keeper.keep(self.search, search),
        }
    }
}

/// How the searches of a test have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// There is nothing left to do.
    Over,
    /// They were stopped before they were through.
    Stopped,
    /// One could not go on from where it was.
    Astray,
}

impl How {
    /// Of one search. A default budget of executions (not `gave`) is no reason to go on later.
    pub(crate) fn of(ended: &Ended, gave: bool) -> Self {
        match ended {
            Ended::Trouble(_) => Self::Astray,
            Ended::Stopped | Ended::Memory => Self::Stopped,
            Ended::Executions if gave => Self::Stopped,
            _ => Self::Over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Header, Vec<u8>) {
        let part = |strategy: &str, bytes| Part {
            strategy: strategy.to_owned(),
            seed: 3,
            bytes,
            carried: (bytes > 0).then(Carried::default),
        };
        let header = Header {
            version: VERSION,
            test: Some("queue::is_fifo".to_owned()),
            package: None,
            settings: settings(&Config::default().into()),
            binary: "00ff".to_owned(),
            parts: 2,
            elapsed_ms: 70,
            searches: vec![part("dpor", 4), part("pos", 0)],
        };
        let mut bytes = Vec::new();
        write_to(&mut bytes, &header, &[b"four", b""]).expect("there is room");
        (header, bytes)
    }

    #[test]
    fn what_was_written_is_read() {
        let (header, bytes) = sample();
        let (read, states) = read(&bytes).expect("a checkpoint");
        assert_eq!(read, header);
        assert_eq!(states, [Some(Checkpoint(b"four".to_vec())), None]);
        assert_eq!(read.fits(&header), Ok(()));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let (_, bytes) = sample();
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut]).is_err_and(|why| why.contains(ANEW)), "{cut}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 4;
            assert!(read(&other).is_err(), "{at}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said_with_what_to_do() {
        let (header, _) = sample();
        let wrong = |change: fn(&mut Header)| {
            let mut now = header.clone();
            change(&mut now);
            header.fits(&now).expect_err("another one")
        };
        insta::assert_snapshot!(wrong(|now| now.test = Some("other".to_owned())), @"it is of the test `queue::is_fifo` and this is `other`; run that test, or begin anew: leave `resume` out (cargo raddle test: --discard-checkpoints)");
        insta::assert_snapshot!(wrong(|now| now.searches[0].strategy = "dfs".to_owned()), @"it is of the strategy `dpor | pos` and this is `dfs | pos`; use that strategy, or begin anew: leave `resume` out (cargo raddle test: --discard-checkpoints)");
        insta::assert_snapshot!(wrong(|now| now.searches[0].seed = 4), @"its seed was 3 and is 4 now; set RADDLE_SEED=3, or begin anew: leave `resume` out (cargo raddle test: --discard-checkpoints)");
        insta::assert_snapshot!(wrong(|now| drop(now.settings.insert("steps".to_owned(), "7".to_owned()))), @"its `steps` was 1000000 and is 7 now; set RADDLE_STEPS=1000000, or begin anew: leave `resume` out (cargo raddle test: --discard-checkpoints)");
        insta::assert_snapshot!(wrong(|now| now.binary = "01".to_owned()), @"it was written by another build of this test, in which decisions may mean something else; go on with that build, or begin anew: leave `resume` out (cargo raddle test: --discard-checkpoints)");
    }
}
