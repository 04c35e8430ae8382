//! Opening of the store's file, whoever else has it open.
//!
//! A file is ours if it is empty or carries our application id; each room's tables are brought up to date by migrations
//! that run once, in one transaction. Who only reads finds a room that the file does not have yet empty. Troubles are
//! typed: `not_a_store`, `foreign_store`, `damaged_store`, `newer_store`, `read_only_store`, `store_full`,
//! `store_busy`, `store_unavailable`. No file is ever overwritten.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, ffi};

use loopwright_base::error::{Error, Result};

/// The application id that marks a file as ours: `LpWr`.
const APPLICATION_ID: i32 = 0x4C70_5772;
/// The first bytes of a file of SQLite.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The time that a writer waits for another one, by default.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// The tables of one room of the file.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The room's name, under which its version is stored.
    pub room: &'static str,
    /// Migrations from each version to the next: the first makes the tables. Only ever append.
    pub migrations: &'static [&'static str],
    /// The oldest version that a reader accepts.
    pub reads_from: usize,
}

/// Options of opening a file.
#[derive(Clone, Debug)]
pub struct Options {
    /// The place of the file.
    pub path: Place,
    /// Nothing may be written.
    pub read_only: bool,
    /// The time to wait for another writer.
    pub patience: Duration,
}

/// The place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// In the memory of this process, gone with it.
    Nowhere,
}

impl Options {
    /// The file at `path`; `:memory:` is none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let path = if path.as_os_str() == ":memory:" { Place::Nowhere } else { Place::File(path) };
        Self { path, read_only: false, patience: DEFAULT_PATIENCE }
    }
}

impl Place {
    /// The name of the place, for messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Nowhere => ":memory:".to_owned(),
        }
    }
}

/// Opens the file, makes it if need be, and brings `tables` up to date.
pub fn open(options: &Options, tables: &[Tables]) -> Result<Connection> {
    let connection = match &options.path {
        Place::Nowhere => Connection::open_in_memory(),
        Place::File(path) => {
            // Without URIs: a name is a name, whatever it begins with.
            let flags = if options.read_only {
                OpenFlags::SQLITE_OPEN_READ_ONLY
            } else {
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
            };
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        }
    };
    let mut connection = connection.map_err(|error| open_error(&error, options))?;
    let failed = match prepare(&mut connection, options, tables) {
        Ok(()) => return Ok(connection),
        Err(OpenFailure::Ours(error)) => return Err(error),
        Err(OpenFailure::Sqlite(error)) => error,
    };
    drop(connection);
    if failed.sqlite_error_code() == Some(ErrorCode::NotADatabase)
        && let Place::File(path) = &options.path
    {
        check_head(path)?;
    }
    Err(open_error(&failed, options))
}

/// The error of a file that can't be opened: SQLite does not tell a place that may not be written to from one that is
/// not there.
fn open_error(error: &rusqlite::Error, options: &Options) -> Error {
    let name = options.path.name();
    if let Place::File(path) = &options.path
        && !options.read_only
        && matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure))
        && folder_is_read_only(path)
    {
        return read_only(&name, error);
    }
    store_error(error, &name)
}

/// Returns whether the folder of a file takes no new files. The file itself is left alone: closing it would end the
/// locks that others of this process have on it.
fn folder_is_read_only(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-may-{}", std::process::id()));
    let probe = PathBuf::from(name);
    match File::create_new(&probe) {
        Ok(_) => {
            let _ = std::fs::remove_file(probe);
            false
        }
        Err(error) => {
            matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
        }
    }
}

fn read_only(name: &str, error: &dyn std::fmt::Display) -> Error {
    Error::usage("read_only_store", format!("{name} may not be written to: {error}"))
        .hint("check who may write the file and its folder; nothing was changed")
}

/// A failure of opening.
enum OpenFailure {
    Sqlite(rusqlite::Error),
    Ours(Error),
}

impl From<rusqlite::Error> for OpenFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Tells a file that is none of SQLite from one that is damaged. Only of files that SQLite has refused: closing a file
/// ends all locks that this process has on it, those of other connections too.
fn check_head(path: &Path) -> Result<()> {
    let name = path.display();
    let mut file = match File::open(path) {
        Ok(file) => file,
        // It will be made, or SQLite says why not.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(Error::usage("store_unavailable", format!("{name} can't be read: {error}"))
                .hint("check the path and who may read it"));
        }
    };
    let mut head = Vec::with_capacity(MAGIC.len());
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head).map_err(|error| {
        Error::usage("store_unavailable", format!("{name} can't be read: {error}")).hint("give the path of a file")
    })?;
    if head.is_empty() || head == MAGIC {
        return Ok(());
    }
    Err(Error::usage("not_a_store", format!("{name} is no store: it does not begin as files of SQLite do"))
        .hint("it was left as it is; give another path, or put it away"))
}

fn prepare(connection: &mut Connection, options: &Options, tables: &[Tables]) -> Result<(), OpenFailure> {
    let name = options.path.name();
    connection.busy_timeout(options.patience)?;
    // What other programs may have put into a file of theirs runs nothing here.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    let (id, objects) = {
        // Both at one moment: another process may be making the file.
        let moment = connection.transaction()?;
        let id: i32 = moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let objects: i64 = moment.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        (id, objects)
    };
    if id != APPLICATION_ID && objects > 0 {
        return Err(OpenFailure::Ours(
            Error::usage("foreign_store", format!("{name} is a database of another program"))
                .hint("it was left as it is; give another path"),
        ));
    }
    if options.read_only {
        let mut unmade = Vec::new();
        for table in tables {
            let version = version_of(connection, table)?;
            check_version(connection, &name, table, version)?;
            match version {
                0 => unmade.push(*table),
                found if found < table.reads_from => {
                    return Err(OpenFailure::Ours(
                        Error::usage("read_only_store", format!("{name} was written by an older version"))
                            .hint("open it once for writing, which brings it up to date"),
                    ));
                }
                _ => {}
            }
        }
        return Ok(make_empty_rooms(connection, &unmade)?);
    }
    // Versions first: a file of a newer program is not even given another journal mode.
    if objects > 0 {
        for table in tables {
            check_version(connection, &name, table, version_of(connection, table)?)?;
        }
    }
    if options.path != Place::Nowhere {
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode != "wal" {
            // Some file systems have no shared memory: SQLite stays with its journal then, slower and as safe.
            let started = Instant::now();
            // SQLite itself does not wait here for others who make the same file.
            while let Err(error) = connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get::<_, String>(0))
            {
                if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || started.elapsed() > options.patience {
                    return Err(error.into());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
    // In WAL mode this survives a killed process; a power cut may take the last moments, never the rest.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate(connection, &name, tables)
}

/// Returns whether rooms that the file of a connection did not have are replaced by empty ones.
pub fn lacks_rooms(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) > 0 FROM pragma_database_list WHERE name = 'unmade'", [], |row| row.get(0))
}

/// Looks whether another process has made the rooms since; returns whether they are there now.
pub fn look_again(connection: &Connection, tables: &[Tables]) -> rusqlite::Result<bool> {
    for table in tables {
        if version_of(connection, table)? < table.migrations.len() {
            return Ok(false);
        }
    }
    connection.flush_prepared_statement_cache();
    connection.execute_batch("DETACH unmade")?;
    Ok(true)
}

/// Makes empty tables for rooms that a file does not have, beside those it has: readers find nothing there, until
/// another process makes the rooms and [`look_again`] finds them.
fn make_empty_rooms(connection: &mut Connection, rooms: &[Tables]) -> Result<(), rusqlite::Error> {
    if rooms.is_empty() {
        return Ok(());
    }
    let mut made = Connection::open_in_memory()?;
    for migration in rooms.iter().flat_map(|room| room.migrations) {
        made.execute_batch(migration)?;
    }
    // What is attached to a connection that only reads can't be written to either: it comes as a whole.
    let pages = made.serialize("main")?;
    connection.execute_batch("ATTACH ':memory:' AS unmade")?;
    connection.deserialize_read_exact("unmade", &*pages, pages.len(), true)
}

/// The version of a room's tables; zero where there are none.
fn version_of(connection: &Connection, tables: &Tables) -> Result<usize, rusqlite::Error> {
    let known: bool =
        connection.query_row("SELECT count(*) > 0 FROM sqlite_master WHERE name = 'loopwright_rooms'", [], |row| {
            row.get(0)
        })?;
    if !known {
        return Ok(0);
    }
    let found = connection
        .query_row("SELECT version FROM loopwright_rooms WHERE room = ?1", [tables.room], |row| row.get::<_, i64>(0));
    match found {
        Ok(version) => Ok(usize::try_from(version).unwrap_or(usize::MAX)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(0),
        Err(error) => Err(error),
    }
}

fn check_version(connection: &Connection, name: &str, tables: &Tables, version: usize) -> Result<(), OpenFailure> {
    if version <= tables.migrations.len() {
        return Ok(());
    }
    // What stands in the place of a version in a file that is damaged is none.
    if let Some(error) = damage_of(connection, name) {
        return Err(OpenFailure::Ours(error));
    }
    let message = format!(
        "{name} was written by a newer version: its {} is of version {version}, this program knows {}",
        tables.room,
        tables.migrations.len()
    );
    Err(OpenFailure::Ours(Error::usage("newer_store", message).hint("it was left as it is; upgrade loopwright")))
}

fn migrate(connection: &mut Connection, name: &str, tables: &[Tables]) -> Result<(), OpenFailure> {
    let behind = |connection: &Connection| -> Result<bool, rusqlite::Error> {
        for table in tables {
            if version_of(connection, table)? < table.migrations.len() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if !behind(connection)? {
        return Ok(());
    }
    // Another process may be doing the same: what is missing is looked at again with the file in hand.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS loopwright_rooms (room TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT",
    )?;
    for table in tables {
        let version = version_of(&transaction, table)?;
        check_version(&transaction, name, table, version)?;
        for migration in table.migrations.iter().skip(version) {
            transaction.execute_batch(migration).map_err(|error| migration_failure(error, name))?;
        }
        transaction.execute(
            "INSERT INTO loopwright_rooms VALUES (?1, ?2) ON CONFLICT (room) DO UPDATE SET version = excluded.version",
            (table.room, i64::try_from(table.migrations.len()).unwrap_or(i64::MAX)),
        )?;
    }
    transaction.commit()?;
    Ok(())
}

/// The failure of a migration: tables that its version does not know of come from damage; any other error of its
/// statements is our fault.
fn migration_failure(error: rusqlite::Error, name: &str) -> OpenFailure {
    let text = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => Some(msg),
        rusqlite::Error::SqliteFailure(failure, told) if failure.code == ErrorCode::Unknown => told.as_ref(),
        _ => None,
    };
    if text.is_some_and(|told| !told.contains("already exists")) {
        return OpenFailure::Ours(Error::internal("store_failed", format!("{name}: {error}")));
    }
    OpenFailure::Sqlite(error)
}

/// Maps an error of SQLite in the store `name` to a typed one.
pub fn store_error(error: &rusqlite::Error, name: &str) -> Error {
    // All statements are ours, and fit the tables that were made.
    let misfit = |message: &str| damaged(name, &format!("its tables are not as they were made: {message}"));
    let rusqlite::Error::SqliteFailure(failure, told) = error else {
        // A column that holds what we never put there.
        return match error {
            rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => damaged(name, &error.to_string()),
            rusqlite::Error::SqlInputError { msg, .. } => misfit(msg),
            _ => Error::internal("store_failed", format!("{name}: {error}")),
        };
    };
    // The words of a statement that was kept are read anew where the tables have changed.
    if let (ErrorCode::Unknown, Some(told)) = (failure.code, told)
        && (told.starts_with("no such ") || told == "unsupported file format")
    {
        return misfit(told);
    }
    match failure.code {
        ErrorCode::DatabaseCorrupt => damaged(name, &error.to_string()),
        // We put nothing in twice, unless what is there is not found.
        ErrorCode::ConstraintViolation if failure.extended_code != ffi::SQLITE_CONSTRAINT_TRIGGER => {
            damaged(name, &error.to_string())
        }
        ErrorCode::NotADatabase => Error::usage("damaged_store", format!("{name} is damaged, or encrypted: {error}"))
            .hint("it was left as it is; bring back a copy, or give another path"),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => read_only(name, error),
        ErrorCode::DiskFull => Error::usage("store_full", format!("no room is left for {name}"))
            .hint("free some space and try again; what was stored before is safe"),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Error::usage("store_busy", format!("{name} is being written by another process, for too long"))
                .hint("try again, or give it more patience; nothing was changed")
        }
        ErrorCode::CannotOpen => Error::usage("store_unavailable", format!("{name} can't be opened: {error}"))
            .hint("check that the folder is there and who may write in it"),
        ErrorCode::SystemIoFailure => {
            // A limit on the size of files and a vanished disk look alike.
            let what = if failure.extended_code == ffi::SQLITE_IOERR_WRITE { "written" } else { "used" };
            Error::usage("store_unavailable", format!("{name} can't be {what}: {error}"))
                .hint("check the disk and its limits; what was stored before is safe")
        }
        ErrorCode::TooBig => Error::usage("too_long", format!("too long for {name}: {error}")).hint("give less text"),
        _ => Error::internal("store_failed", format!("{name}: {error}")),
    }
}

/// The damage of a file's layout, if there is any. Reads all of it.
pub fn damage_of(connection: &Connection, name: &str) -> Option<Error> {
    match connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(found) if found == "ok" => None,
        Ok(found) => Some(damaged(name, &found)),
        Err(error) => Some(store_error(&error, name)),
    }
}

/// The error of a store that is not as it was written.
fn damaged(name: &str, what: &str) -> Error {
    Error::usage("damaged_store", format!("{name} is damaged: {what}"))
        .hint("it was left as it is; bring back a copy, or save what can be read with the sqlite3 shell's .recover")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const OLD: Tables = Tables { room: "a", migrations: &["CREATE TABLE a (x INTEGER) STRICT"], reads_from: 1 };
    const NEW: Tables = Tables {
        room: "a",
        migrations: &[
            "CREATE TABLE a (x INTEGER) STRICT",
            "ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = 'was ' || x",
        ],
        reads_from: 2,
    };
    const OTHER: Tables = Tables { room: "b", migrations: &["CREATE TABLE b (z INTEGER) STRICT"], reads_from: 1 };
    const BROKEN: Tables = Tables {
        room: "c",
        migrations: &["CREATE TABLE c (z INTEGER) STRICT", "INSERT INTO nowhere VALUES (1)"],
        reads_from: 2,
    };

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let name = format!("loopwright-open-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn rooms_are_brought_up_to_date_each_by_itself() {
        let folder = Folder::new();
        let options = Options::new(folder.0.join("s.db"));
        let connection = open(&options, &[OLD]).unwrap();
        connection.execute("INSERT INTO a VALUES (7)", []).unwrap();
        drop(connection);
        let reading = Options { read_only: true, ..options.clone() };
        assert_eq!(open(&reading, &[NEW]).unwrap_err().code, "read_only_store", "too old, and may not be changed");
        let enough = Tables { reads_from: 1, ..NEW };
        let connection = open(&reading, &[enough]).unwrap();
        assert_eq!(connection.query_row("SELECT x FROM a", [], |row| row.get::<_, i64>(0)).unwrap(), 7);
        drop(connection);
        let connection = open(&options, &[NEW, OTHER]).unwrap();
        let y: String = connection.query_row("SELECT y FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!(y, "was 7");
        drop(connection);
        open(&reading, &[OTHER, NEW]).unwrap();
        assert_eq!(open(&options, &[OLD]).unwrap_err().code, "newer_store");
        // A migration that fails leaves nothing behind, not even its own first step.
        assert_eq!(open(&options, &[BROKEN]).unwrap_err().code, "store_failed");
        let connection = open(&options, &[NEW]).unwrap();
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_master WHERE name = 'c'", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 0);
    }

    #[test]
    fn d46_tables_that_are_not_as_they_were_made_are_damage() {
        let folder = Folder::new();
        let options = Options::new(folder.0.join("s.db"));
        let connection = open(&options, &[NEW]).unwrap();
        let other = open(&options, &[NEW]).unwrap();
        let kept = |sql: &str| connection.prepare_cached(sql).and_then(|mut kept| kept.execute([]));
        kept("UPDATE a SET y = 'x'").unwrap();
        other.execute_batch("ALTER TABLE a RENAME COLUMN y TO z").unwrap();
        for sql in ["UPDATE a SET y = 'x'", "DELETE FROM a WHERE y = 'z'", "DELETE FROM b"] {
            let error = store_error(&kept(sql).unwrap_err(), "s.db");
            assert_eq!((error.code.as_ref(), error.hint.is_some()), ("damaged_store", true), "{sql}: {error}");
        }
    }

    #[test]
    fn who_only_reads_finds_rooms_that_are_not_made_yet_empty() {
        let folder = Folder::new();
        let path = folder.0.join("s.db");
        std::fs::write(&path, "").unwrap();
        let options = Options::new(&path);
        let reading = Options { read_only: true, ..options.clone() };
        let rows = |connection: &Connection, table: &str| -> i64 {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
        };
        let nothing = open(&reading, &[NEW, OTHER]).unwrap();
        assert_eq!((rows(&nothing, "a"), rows(&nothing, "b")), (0, 0));
        drop(nothing);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "nothing was written");
        drop(open(&options, &[OTHER]).unwrap());
        let some = open(&reading, &[NEW, OTHER]).unwrap();
        some.query_row("SELECT y FROM a", [], |row| row.get::<_, String>(0)).unwrap_err();
        some.execute("INSERT INTO b VALUES (1)", []).unwrap_err();
        // Somebody makes the room meanwhile.
        assert!(!look_again(&some, &[NEW, OTHER]).unwrap());
        let made = open(&options, &[NEW, OTHER]).unwrap();
        made.execute_batch("INSERT INTO a VALUES (7, 'x'); INSERT INTO b VALUES (8)").unwrap();
        assert!(lacks_rooms(&some).unwrap());
        assert!(look_again(&some, &[NEW, OTHER]).unwrap());
        assert!(!lacks_rooms(&some).unwrap());
        assert_eq!((rows(&some, "a"), rows(&some, "b")), (1, 1));
        // A file that is not there is made by nobody who only reads.
        let absent = Options { path: Place::File(folder.0.join("other.db")), ..reading };
        assert_eq!(open(&absent, &[OTHER]).unwrap_err().code, "store_unavailable");
        assert!(!folder.0.join("other.db").exists());
    }

    #[test]
    fn many_may_open_a_new_file_at_once() {
        for _ in 0..10 {
            let folder = Folder::new();
            let options = Options::new(folder.0.join("s.db"));
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let options = &options;
                    scope.spawn(move || {
                        let connection = open(options, &[NEW, OTHER]).unwrap();
                        connection.execute("INSERT INTO b VALUES (?1)", [number]).unwrap();
                    });
                }
            });
            let connection = open(&options, &[NEW, OTHER]).unwrap();
            let rows: i64 = connection.query_row("SELECT count(*) FROM b", [], |row| row.get(0)).unwrap();
            assert_eq!(rows, 8);
        }
    }

    #[test]
    fn a_full_store_is_told_and_keeps_what_it_has() {
        let folder = Folder::new();
        let connection = open(&Options::new(folder.0.join("s.db")), &[OTHER]).unwrap();
        connection.execute("INSERT INTO b VALUES (1)", []).unwrap();
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
        let error = connection
            .execute("WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9999) INSERT INTO b SELECT x FROM n", [])
            .unwrap_err();
        let error = store_error(&error, "s.db");
        assert_eq!(error.code, "store_full");
        assert!(error.hint.is_some());
        let rows: i64 = connection.query_row("SELECT count(*) FROM b", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }
}
