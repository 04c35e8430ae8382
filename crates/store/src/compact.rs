//! Rewriting a file of SQLite so that nothing that was deleted is left in its bytes.
//!
//! SQLite deletes a row by forgetting where it stands: the words stay in free pages, in the unused part of pages and in
//! the write-ahead log until something is written over them. `VACUUM` writes every page anew from what lives, and a
//! checkpoint that truncates takes the pages into the file and empties the log.

use rusqlite::Connection;

use super::open::store_error;
use loopwright_base::error::{Error, Result};

/// Writes a file anew without what was deleted before, and empties its log.
///
/// It takes as long as copying the file, and room for two copies. Where another connection still reads what the file
/// was before, for longer than this one waits, the error `erase_unfinished` says what is left; calling again finishes
/// it.
pub(super) fn compact(connection: &Connection, name: &str) -> Result<()> {
    let written = || -> rusqlite::Result<bool> {
        connection.execute_batch("VACUUM")?;
        // Gives whether somebody was in the way, and numbers of pages.
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(busy == 0)
    };
    match written() {
        Ok(true) => Ok(()),
        Ok(false) => Err(unfinished(name, "another connection still reads what the file was before")),
        Err(error) => Err(unfinished(name, &store_error(&error, name).message)),
    }
}

/// The error of words that are out of the tables, but not yet out of the bytes.
fn unfinished(name: &str, why: &str) -> Error {
    let message = format!(
        "what was erased is gone from the tables of {name}, but copies may stand in the free pages of the file and in \
         {name}-wal: {why}"
    );
    Error::usage("erase_unfinished", message)
        .hint("call it again when no other program is at the file and the disk has room for a copy of it")
}
