//! A file for what a search does not keep in memory.
//!
//! It lies under `target/raddle/` (or where temporary files lie, if there is no such directory), is created
//! when something is first kept there, and is gone when the search is: it has no name any more from the moment
//! it is open, so a process that is killed leaves nothing behind. Room that was given back is used again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_engine::store::{Store, StoreError, Ticket};
use raddle_search::Memory;

use crate::files::target_dir;
use crate::job::Job;

/// A file for what a search holds beyond `limit` bytes; none if that is no limit.
pub(crate) fn memory(job: &Job, limit: u64) -> Option<Memory> {
    (limit < u64::MAX).then(|| {
        let target = target_dir(&job.config.env).map(|target| target.join("raddle"));
        let directory = target.unwrap_or_else(std::env::temp_dir);
        Memory { bytes: limit, store: Box::new(Spill::new(directory)) }
    })
}

/// Blocks in a file.
#[derive(Debug)]
struct Spill {
    directory: PathBuf,
    file: Option<File>,
    /// Where the file ends.
    end: u64,
    /// Room before that, in order, no two next to each other.
    free: Vec<Ticket>,
}

impl Spill {
    fn new(directory: PathBuf) -> Self {
        Self { directory, file: None, end: 0, free: Vec::new() }
    }

    /// The first room that is large enough.
    fn room(&mut self, len: u64) -> Ticket {
        let Some(at) = self.free.iter().position(|room| room.len >= len) else {
            let ticket = Ticket { at: self.end, len };
            self.end += len;
            return ticket;
        };
        let room = &mut self.free[at];
        let ticket = Ticket { at: room.at, len };
        (room.at, room.len) = (room.at + len, room.len - len);
        if room.len == 0 {
            self.free.remove(at);
        }
        ticket
    }

    fn write(&mut self, ticket: Ticket, bytes: &[u8]) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.directory)?),
        };
        let mut file: &File = file;
        file.seek(SeekFrom::Start(ticket.at))?;
        file.write_all(bytes)
    }

    fn read(&self, ticket: Ticket) -> io::Result<Vec<u8>> {
        let mut file: &File = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(ticket.at))?;
        let mut bytes = Vec::new();
        file.take(ticket.len).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == ticket.len {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn explain(&self, what: &str, error: &io::Error) -> StoreError {
        let directory = self.directory.display();
        StoreError(format!(
            "the search held more than RADDLE_MEMORY allows, and what it moved to a file in \
             {directory} could not be {what}: {error}; make room there, or raise RADDLE_MEMORY"
        ))
    }
}

/// Opens a new file, which has no name any more where that can be.
fn open(directory: &Path) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(directory)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!("search-{}-{number}.tmp", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

impl Store for Spill {
    fn put(&mut self, bytes: &[u8]) -> Result<Ticket, StoreError> {
        let ticket = self.room(bytes.len() as u64);
        match self.write(ticket, bytes) {
            Ok(()) => Ok(ticket),
            Err(error) => {
                self.free(ticket);
                Err(self.explain("written", &error))
            }
        }
    }

    fn get(&self, ticket: Ticket) -> Result<Vec<u8>, StoreError> {
        self.read(ticket).map_err(|error| self.explain("read back", &error))
    }

    fn free(&mut self, ticket: Ticket) {
        let at = self.free.partition_point(|room| room.at < ticket.at);
        self.free.insert(at, ticket);
        let touches = |rooms: &[Ticket]| rooms[0].at + rooms[0].len == rooms[1].at;
        for at in [at, at.wrapping_sub(1)] {
            if self.free.get(at..at.saturating_add(2)).is_some_and(touches) {
                let next = self.free.remove(at + 1);
                self.free[at].len += next.len;
            }
        }
        // Nothing is after it: the file may end there.
        if let Some(last) = self.free.pop_if(|last| last.at + last.len == self.end) {
            self.end = last.at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spill(name: &str) -> Spill {
        Spill::new(std::env::temp_dir().join(format!("raddle-{}-{name}", std::process::id())))
    }

    #[test]
    fn what_was_put_is_read_back_and_its_room_used_again() {
        let mut spill = spill("room");
        let [a, b, c] = [&b"first"[..], b"second", b"third"]
            .map(|bytes| spill.put(bytes).expect("there is room"));
        assert_eq!(spill.end, 5 + 6 + 5);
        spill.free(a);
        spill.free(b);
        assert_eq!(spill.free, [Ticket { at: 0, len: 11 }]);
        let d = spill.put(b"fourth one").expect("there is room");
        assert_eq!((d.at, spill.end), (0, 16));
        assert_eq!(spill.get(c).expect("there is room"), b"third");
        assert_eq!(spill.get(d).expect("there is room"), b"fourth one");
        spill.free(c);
        spill.free(d);
        assert_eq!((spill.free.len(), spill.end), (0, 0));
        // The file has no name: the directory is empty.
        let directory = spill.directory.clone();
        assert_eq!(fs::read_dir(&directory).expect("there is room").count(), 0);
        drop(spill);
        fs::remove_dir(directory).expect("there is room");
    }

    #[test]
    fn a_directory_that_cannot_be_is_said() {
        // A file is where the directory should be.
        let file = std::env::temp_dir().join(format!("raddle-{}-file", std::process::id()));
        fs::write(&file, "").expect("there is room");
        let mut spill = Spill::new(file.join("below"));
        let StoreError(why) = spill.put(b"anything").expect_err("there is no directory");
        fs::remove_file(file).expect("there is room");
        assert!(
            why.contains("could not be written") && why.ends_with("or raise RADDLE_MEMORY"),
            "{why}"
        );
        assert_eq!((spill.free.len(), spill.end), (0, 0));
    }
}
