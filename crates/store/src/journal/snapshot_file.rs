//! The snapshot of a long run whose journal is a file: a file beside it, `NAME.saved`, so that resuming need not begin
//! at the first line.
//!
//! A snapshot counts only for a journal that begins, byte for byte, with the lines it was saved behind; otherwise all
//! lines are read instead. It is removed when the run has ended. The process that writes it holds the lock of the
//! journal.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use loopwright_machine::journal::{Journal, ResumedRun, Snapshot, resume_saved};

/// The first bytes of a snapshot; a file that begins otherwise is somebody else's, and is left alone.
const MAGIC: &[u8] = b"loopwright saved 1\n";
/// Bytes of a journal that are read at once.
const CHUNK: usize = 1 << 20;

/// The head of a piece of the history.
#[derive(Serialize, Deserialize)]
struct PieceHead {
    piece: usize,
}

/// The head of the state, which is last.
#[derive(Serialize, Deserialize)]
struct StateHead {
    state: usize,
    seq: u64,
    sum: u64,
    /// Bytes of the journal up to the snapshot, and their hash.
    at: u64,
    all: u64,
}

/// The snapshot file of a journal.
pub struct SnapshotFile {
    path: PathBuf,
    file: Option<File>,
    /// The end of the pieces in the file.
    pieces: u64,
    /// The bytes of the journal so far.
    at: u64,
    /// The hash of the journal so far, in a place of its own: it asks for more alignment than objects of Python have.
    all: Box<Xxh3>,
    /// Snapshots are no longer written.
    disabled: bool,
}

impl std::fmt::Debug for SnapshotFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beside").field("path", &self.path).field("at", &self.at).finish_non_exhaustive()
    }
}

impl SnapshotFile {
    /// A snapshot file for a journal at `path` that is empty, or has no snapshot.
    pub fn new(journal: &Path) -> Self {
        let mut path = journal.as_os_str().to_owned();
        path.push(".saved");
        Self { path: PathBuf::from(path), file: None, pieces: 0, at: 0, all: Box::default(), disabled: false }
    }

    /// Adds bytes of the journal to the hash.
    pub fn written(&mut self, bytes: &[u8]) {
        self.at += bytes.len() as u64;
        self.all.update(bytes);
    }

    /// Saves the run as it stands behind all lines so far. A failure is ignored: the journal is read instead, and no
    /// run fails by it.
    pub fn save(&mut self, saved: &Snapshot) {
        if !self.disabled && self.try_save(saved).is_err() {
            self.end();
            self.disabled = true;
        }
    }

    fn try_save(&mut self, saved: &Snapshot) -> std::io::Result<()> {
        let piece = &saved.piece;
        if self.file.is_none() {
            let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&self.path)?;
            if !is_ours(&mut file)? {
                return Err(std::io::ErrorKind::AlreadyExists.into());
            }
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = Vec::with_capacity(piece.text.len() + saved.state.len() + 256);
        if piece.first == 0 {
            bytes.extend_from_slice(MAGIC);
            self.pieces = 0;
        }
        if piece.messages > 0 {
            serde_json::to_writer(&mut bytes, &PieceHead { piece: piece.text.len() })?;
            bytes.push(b'\n');
            bytes.extend_from_slice(piece.text.as_bytes());
        }
        let pieces = self.pieces + bytes.len() as u64;
        let (at, all) = (self.at, self.all.digest());
        let head = StateHead { state: saved.state.len(), seq: saved.seq, sum: saved.sum, at, all };
        let head = serde_json::to_string(&head)?;
        let hash = xxh3_64_with_seed(saved.state.as_bytes(), xxh3_64(head.as_bytes()));
        bytes.extend_from_slice(format!("{head}\n{hash:016x}\n").as_bytes());
        bytes.extend_from_slice(saved.state.as_bytes());
        file.seek(SeekFrom::Start(self.pieces))?;
        file.write_all(&bytes)?;
        file.set_len(self.pieces + bytes.len() as u64)?;
        self.pieces = pieces;
        Ok(())
    }

    /// Removes the snapshot of a run that ended.
    pub fn end(&mut self) {
        let ours = match self.file.take() {
            Some(_) => true,
            None => File::open(&self.path).is_ok_and(|mut file| is_ours(&mut file).unwrap_or(false)),
        };
        if ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Resumes from the snapshot of the journal that `file` is, and returns the bytes that stand behind it; `None`
    /// where there is none, or it or the journal is not as it was written.
    pub fn resume(journal: &Path, file: &mut File) -> Option<(Self, ResumedRun, Vec<u8>)> {
        let mut beside = Self::new(journal);
        let mut kept = File::options().read(true).write(true).open(&beside.path).ok()?;
        let (head, state, pieces, end) = read(&mut kept)?;
        let (first, rest) = beside.check(file, &head)?;
        let text = String::from_utf8_lossy(&rest);
        let lines = Journal::behind(&first, head.seq, head.sum, &text).ok().filter(|lines| lines.damage.is_none())?;
        let continued = resume_saved(lines, &state, pieces).ok()?;
        beside.written(&rest);
        (beside.file, beside.pieces) = (Some(kept), end);
        Some((beside, continued, rest))
    }

    /// Reads the journal up to the snapshot, which must be as it was; returns its first line, and the rest.
    fn check(&mut self, file: &mut File, head: &StateHead) -> Option<(String, Vec<u8>)> {
        file.seek(SeekFrom::Start(0)).ok()?;
        let (mut first, mut whole) = (Vec::new(), false);
        let mut chunk = vec![0; CHUNK];
        while self.at < head.at {
            let wanted = usize::try_from(head.at - self.at).map_or(CHUNK, |left| left.min(CHUNK));
            let got = file.read(chunk.get_mut(..wanted)?).ok().filter(|got| *got > 0)?;
            let bytes = chunk.get(..got)?;
            if !whole {
                let end = memchr::memchr(b'\n', bytes);
                first.extend_from_slice(bytes.get(..end.map_or(got, |end| end + 1))?);
                whole = end.is_some();
            }
            self.written(bytes);
        }
        if self.all.digest() != head.all {
            return None;
        }
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).ok()?;
        Some((String::from_utf8(first).ok()?, rest))
    }
}

/// Returns whether a file is a snapshot, or empty.
fn is_ours(file: &mut File) -> std::io::Result<bool> {
    let mut begins = Vec::with_capacity(MAGIC.len());
    file.seek(SeekFrom::Start(0))?;
    file.take(MAGIC.len() as u64).read_to_end(&mut begins)?;
    Ok(begins.is_empty() || begins == MAGIC)
}

/// The content of a snapshot, and the end of its pieces.
fn read(file: &mut File) -> Option<(StateHead, String, Vec<String>, u64)> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut pieces = Vec::new();
    loop {
        let end = (bytes.len() - rest.len()) as u64;
        let line = line(&mut rest)?;
        let Ok(PieceHead { piece }) = serde_json::from_slice(line) else {
            let head: StateHead = serde_json::from_slice(line).ok()?;
            let hash = std::str::from_utf8(self::line(&mut rest)?).ok()?;
            let state = rest.get(..head.state)?;
            if format!("{:016x}", xxh3_64_with_seed(state, xxh3_64(line))) != hash {
                return None;
            }
            let state = String::from_utf8(state.to_vec()).ok()?;
            return Some((head, state, pieces, end));
        };
        let (text, behind) = rest.split_at_checked(piece)?;
        pieces.push(String::from_utf8(text.to_vec()).ok()?);
        rest = behind;
    }
}

fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = memchr::memchr(b'\n', rest)?;
    let (line, behind) = rest.split_at_checked(end)?;
    *rest = behind.get(1..)?;
    Some(line)
}
