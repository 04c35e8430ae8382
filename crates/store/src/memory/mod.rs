//! Memory of an agent beyond its context: episodes, facts, procedures, reflections, and a graph of entities.
//!
//! Every memory carries its source and its trust; a derived one is trusted as little as the least of those it was made
//! from. A forgotten memory is not recalled from that moment on, by any process, nor is one that was derived from it
//! alone. Recall never fails for the text of a query, and never writes.

pub mod after;
mod answer_kind;
mod consolidate;
mod dates;
mod erase;
mod forget;
mod graph;
mod identity;
mod index;
mod index_build;
mod inject;
mod kinds;
mod names;
mod phrases;
mod read;
mod slots;
mod standing;
mod supersede;
mod tables;
mod vectors;
mod wishes;
mod work;
mod write;

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;

pub(crate) use self::erase::Traces;
pub use self::{
    consolidate::{Consolidation, Rules},
    forget::{Forgotten, ForgottenUser, user_key},
    graph::{Neighbour, RELATIONS, Relation},
    inject::{Injection, InjectionLimits},
    kinds::{Hit, Kind, Note, Query, Record, Trust},
    read::{Provenance, Source, Stats},
    tables::TABLES,
    vectors::{HASHING, hashed},
    work::{CONSOLIDATION, FILE, REFLECTION, TURN},
};
use self::{index::Index, vectors::Vectors};
use super::{
    audit,
    open::{self, Options, Place},
    work as queue,
};
use loopwright_base::error::{Error, Result};

/// The length of the longest text, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// The length of the longest session, category, tag, entity, speaker or source, in bytes.
pub const MAX_WORD: usize = 4096;
/// Tags, entities or parents of a memory at most.
pub const MAX_WORDS: usize = 256;

/// The rooms of the file that memory needs.
const MEMORY_ROOMS: [open::Tables; 3] = [TABLES, queue::TABLES, audit::TABLES];

/// The memory in a file. Many threads may use it at once, and many processes the same file.
pub struct Memory {
    name: String,
    session: String,
    read_only: bool,
    /// The file had no memory yet when it was opened for reading alone.
    was_empty: AtomicBool,
    /// The process that opened it: connections of SQLite do not survive a fork.
    process: u32,
    /// A connection that only reads, so that nobody waits for a writer; a store without a file has one for both. It is
    /// closed before those that write: whoever closes a file last brings its log into it, if it may write.
    reader: Option<Mutex<Connection>>,
    writer: Mutex<Connection>,
    index: RwLock<Index>,
    /// The vectors of the embedder that was used last.
    vectors: Mutex<Vectors>,
    place: Place,
    /// A connection for writes that must not wait, opened when first needed.
    queue: Mutex<Option<Connection>>,
}

impl Memory {
    /// Opens the memory in a file, which is made if it is not there. What is remembered belongs to `session`, unless
    /// it says otherwise.
    pub fn open(options: &Options, session: &str) -> Result<Self> {
        check_word("session", session)?;
        let rooms = MEMORY_ROOMS;
        let mut writer = open::open(options, &rooms)?;
        if !options.read_only {
            let name = options.path.name();
            identity::recompute_fingerprints(&mut writer).map_err(|error| open::store_error(&error, &name))?;
        }
        let (name, reader) = match &options.path {
            Place::Nowhere => (":memory:".to_owned(), None),
            Place::File(path) => {
                let reading = Options { read_only: true, ..options.clone() };
                (path.display().to_string(), Some(Mutex::new(open::open(&reading, &rooms)?)))
            }
        };
        let unmade = reader.as_ref().is_some_and(|reader| {
            open::lacks_rooms(&reader.lock().unwrap_or_else(PoisonError::into_inner)).unwrap_or_default()
        });
        Ok(Self {
            name,
            session: session.to_owned(),
            read_only: options.read_only,
            was_empty: AtomicBool::new(unmade),
            process: std::process::id(),
            reader,
            writer: Mutex::new(writer),
            index: RwLock::new(Index::default()),
            vectors: Mutex::new(Vectors::default()),
            place: options.path.clone(),
            queue: Mutex::new(None),
        })
    }

    /// A memory without a file.
    pub fn nowhere() -> Result<Self> {
        Self::open(&Options::new(":memory:"), "default")
    }

    /// The session of memories that name none.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The name of the place.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn check_process(&self) -> Result<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        Err(Error::usage(
            "store_forked",
            format!("{} was opened by the process that this one was forked from", self.name),
        )
        .hint("open the memory anew in each process"))
    }

    fn check_writable(&self) -> Result<()> {
        self.check_process()?;
        if self.read_only {
            return Err(Error::usage("read_only_store", format!("{} was opened for reading alone", self.name))
                .hint("open it without read_only"));
        }
        Ok(())
    }

    fn writing(&self) -> Result<MutexGuard<'_, Connection>> {
        self.check_writable()?;
        Ok(self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn reading(&self) -> Result<MutexGuard<'_, Connection>> {
        self.check_process()?;
        let reader = self.reader.as_ref().unwrap_or(&self.writer).lock().unwrap_or_else(PoisonError::into_inner);
        if self.was_empty.load(Ordering::Relaxed)
            && open::look_again(&reader, &MEMORY_ROOMS).map_err(self.error_mapper())?
        {
            self.was_empty.store(false, Ordering::Relaxed);
        }
        Ok(reader)
    }

    fn error_mapper(&self) -> impl Fn(rusqlite::Error) -> Error {
        |error| open::store_error(&error, &self.name)
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn check_word(what: &str, word: &str) -> Result<()> {
    if word.len() > MAX_WORD {
        let message = format!("the {what} is {} bytes long, {MAX_WORD} are allowed", word.len());
        return Err(Error::usage("too_long", message).hint("keep long text in `text`"));
    }
    Ok(())
}

/// The key of a name: lower case, single spaces.
fn key_of(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for word in name.split_whitespace() {
        if !key.is_empty() {
            key.push(' ');
        }
        key.extend(word.chars().flat_map(char::to_lowercase));
    }
    key
}
