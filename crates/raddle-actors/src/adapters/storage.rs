//! What outlives a crash.

use std::fmt::{Debug, Write as _};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::context::Context;

/// Values by key on a disk. What was written is there for good only after a [`sync`](Self::sync).
///
/// An actor that has a storage comes back from a crash with
/// [`after_crash`](Self::after_crash) in its [`restart`](crate::Actor::restart), and reads what is left
/// in its [`start`](crate::Actor::start):
///
#[cfg_attr(feature = "check", doc = "```")]
#[cfg_attr(not(feature = "check"), doc = "```ignore")]
/// use raddle_actors::adapters::{Disk, Storage};
/// use raddle_actors::{Actor, Context, Faults, Reply, System};
///
/// /// Counts, and says so only after it has written it down.
/// struct Counter<S> {
///     storage: S,
///     count: u8,
/// }
///
/// impl<S: Storage + 'static> Actor for Counter<S> {
///     type Message = ();
///
///     fn start(&mut self, cx: &mut Context<'_, ()>) {
///         let written = self.storage.get("count", cx).expect("a disk that can be read");
///         self.count = written.map_or(0, |bytes| bytes[0]);
///     }
///
///     fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
///         self.count += 1;
///         self.storage.put("count", &[self.count], cx).expect("a disk that can be written");
///         self.storage.sync(cx).expect("a disk that can be written");
///     }
///
///     fn restart(&self) -> Option<Self> {
///         Some(Self { storage: self.storage.after_crash(), count: 0 })
///     }
/// }
///
/// raddle::check(|| {
///     let system = System::builder().faults(Faults { crashes: 1, ..Faults::default() }).build();
///     let counter = system.spawn(Counter { storage: Disk::new(0), count: 0 });
///     system.send(&counter, ());
///     system.send(&counter, ());
///     system.handle_all();
///     // What comes while it is down is lost; what it has counted is not.
///     system.inspect(&counter, |counter: &Counter<Disk>| {
///         let on_disk = counter.storage.synced("count").map_or(0, |bytes| bytes[0]);
///         assert_eq!(counter.count, on_disk);
///     });
/// });
/// ```
pub trait Storage: Send {
    /// Writes a value in place of the one before.
    ///
    /// # Errors
    /// If the disk cannot be written. Then the value before is still there.
    fn put<M: Debug + Send + 'static>(
        &mut self,
        key: &str,
        value: &[u8],
        cx: &mut Context<'_, M>,
    ) -> io::Result<()>;

    /// The value that was written last.
    ///
    /// # Errors
    /// If the disk cannot be read.
    fn get<M: Debug + Send + 'static>(
        &mut self,
        key: &str,
        cx: &mut Context<'_, M>,
    ) -> io::Result<Option<Vec<u8>>>;

    /// Returns when all that was written will outlive a crash.
    ///
    /// # Errors
    /// If that cannot be said. Then some of it will, or none.
    fn sync<M: Debug + Send + 'static>(&mut self, cx: &mut Context<'_, M>) -> io::Result<()>;

    /// The storage as it is found after a crash.
    #[must_use]
    fn after_crash(&self) -> Self
    where
        Self: Sized;
}

/// A directory with a file for each key.
///
/// A value is written to a file of another name, which then takes the place of the one before: so a
/// file has the old value or the new one, and not a part of it.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    /// Written since the last sync.
    unsynced: Vec<PathBuf>,
}

impl Directory {
    /// A storage in this directory, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        Ok(Self { path, unsynced: Vec::new() })
    }

    /// The file of a key: its letters and digits, and the others by number, so that no two keys have
    /// one file and none is outside the directory.
    fn file(&self, key: &str) -> PathBuf {
        let mut name = String::from("k");
        for letter in key.chars() {
            if letter.is_ascii_alphanumeric() {
                name.push(letter);
            } else {
                let _ = write!(name, "_{:x}.", u32::from(letter));
            }
        }
        self.path.join(name)
    }
}

impl Storage for Directory {
    fn put<M: Debug + Send + 'static>(
        &mut self,
        key: &str,
        value: &[u8],
        _: &mut Context<'_, M>,
    ) -> io::Result<()> {
        let file = self.file(key);
        let mut new = file.clone().into_os_string();
        new.push(".new");
        File::create(&new)?.write_all(value)?;
        // A file whose bytes are not on the disk must not take the place of one whose bytes are.
        File::open(&new)?.sync_data()?;
        fs::rename(&new, &file)?;
        self.unsynced.push(file);
        Ok(())
    }

    fn get<M: Debug + Send + 'static>(
        &mut self,
        key: &str,
        _: &mut Context<'_, M>,
    ) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.file(key)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sync<M: Debug + Send + 'static>(&mut self, _: &mut Context<'_, M>) -> io::Result<()> {
        for file in &self.unsynced {
            File::open(file)?.sync_all()?;
        }
        File::open(&self.path)?.sync_all()?;
        self.unsynced.clear();
        Ok(())
    }

    fn after_crash(&self) -> Self {
        Self { path: self.path.clone(), unsynced: Vec::new() }
    }
}

/// A stand-in for a disk. After a crash the search decides how many of the writes since the last sync,
/// in their order, have outlived it; and which writes and syncs fail.
///
/// `Misses:` disks that reorder what was not synced, and values of which a part is written.
#[cfg(feature = "check")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    synced: std::collections::BTreeMap<String, Vec<u8>>,
    unsynced: Vec<(String, Vec<u8>)>,
    /// It has not been looked at since a crash, so what is not synced may be lost.
    crashed: bool,
    failures: u32,
}

#[cfg(feature = "check")]
impl Disk {
    /// An empty disk, of whose writes and syncs at most so many fail.
    #[must_use]
    pub fn new(failures: u32) -> Self {
        Self { failures, ..Self::default() }
    }

    /// A value that will outlive a crash.
    #[must_use]
    pub fn synced(&self, key: &str) -> Option<&[u8]> {
        self.synced.get(key).map(Vec::as_slice)
    }

    /// Decides what a crash has left.
    fn recover<M: Debug + Send + 'static>(&mut self, cx: &mut Context<'_, M>) {
        if std::mem::take(&mut self.crashed) {
            let left = cx.choose(self.unsynced.len() as u32 + 1);
            self.unsynced.truncate(left as usize);
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.synced.extend(self.unsynced.drain(..));
    }

    fn fail<M: Debug + Send + 'static>(&mut self, cx: &mut Context<'_, M>) -> io::Result<()> {
        if self.failures > 0 && cx.choose(2) == 1 {
            self.failures -= 1;
            return Err(io::Error::other("the search decided that the disk fails here"));
        }
        Ok(())
    }
}

#[cfg(feature = "check")]
impl Storage for Disk {
    fn put<M: Debug + Send + 'static>(
        &mut self,
        key: &str,
        value: &[u8],
        cx: &mut Context<'_, M>,
    ) -> io::Result<()> {
        self.recover(cx);
        self.fail(cx)?;
        self.unsynced.push((key.to_owned(), value.to_vec()));
        Ok(())
    }

    fn get<M: Debug + Send + 'static>(
        &mut self,
        key: &str,
        cx: &mut Context<'_, M>,
    ) -> io::Result<Option<Vec<u8>>> {
        self.recover(cx);
        let unsynced = self.unsynced.iter().rev().find(|(written, _)| written == key);
        Ok(unsynced.map(|(_, value)| value).or_else(|| self.synced.get(key)).cloned())
    }

    fn sync<M: Debug + Send + 'static>(&mut self, cx: &mut Context<'_, M>) -> io::Result<()> {
        self.recover(cx);
        self.fail(cx)?;
        self.settle();
        Ok(())
    }

    fn after_crash(&self) -> Self {
        Self { crashed: true, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, System};

    struct Keeper {
        storage: Directory,
        seen: Vec<Option<Vec<u8>>>,
    }

    impl Actor for Keeper {
        type Message = (String, Option<Vec<u8>>);

        fn handle(&mut self, (key, value): Self::Message, cx: &mut Context<'_, Self::Message>) {
            if let Some(value) = value {
                self.storage.put(&key, &value, cx).expect("it can be written");
                self.storage.sync(cx).expect("it can be written");
            }
            let value = self.storage.get(&key, cx).expect("it can be read");
            self.seen.push(value);
        }
    }

    #[test]
    fn a_directory_keeps_what_was_written_whatever_the_key() {
        let path = std::env::temp_dir().join(format!("raddle-storage-{}", std::process::id()));
        let system = System::deterministic();
        let open = || {
            let storage = Directory::new(&path).expect("a directory");
            system.spawn(Keeper { storage, seen: Vec::new() })
        };
        let keeper = open();
        let keys = ["a", "../a", "a/b", "a_b", "", "ä"];
        for (nth, key) in keys.iter().enumerate() {
            system.send(&keeper, ((*key).to_owned(), Some(vec![0])));
            system.send(&keeper, ((*key).to_owned(), Some(vec![nth as u8])));
        }
        system.handle_all();
        let again = open();
        for key in keys.iter().chain(&["b"]) {
            system.send(&again, ((*key).to_owned(), None));
        }
        system.handle_all();
        let seen = system.inspect(&again, |keeper: &Keeper| keeper.seen.clone());
        let mut expected: Vec<_> = (0..keys.len()).map(|nth| Some(vec![nth as u8])).collect();
        expected.push(None);
        assert_eq!(seen, expected);
        assert_eq!(std::fs::read_dir(&path).expect("it is there").count(), keys.len());
        std::fs::remove_dir_all(&path).expect("it can be removed");
    }
}
