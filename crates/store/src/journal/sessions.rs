//! The runs of a session, in order: a conversation goes on where its last run ended.

use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

use super::Store;
use loopwright_base::error::{Error, Result};
use loopwright_machine::journal::RunLabel;

pub(super) const TABLE: &str = "CREATE TABLE journal_sessions (place INTEGER PRIMARY KEY, run INTEGER NOT NULL UNIQUE,
        session TEXT NOT NULL, user TEXT) STRICT;
    CREATE INDEX journal_sessions_of ON journal_sessions (session, user, place);";

/// The session that a run belongs to, and its user: two users may call theirs the same.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Session {
    /// The session's name.
    pub session: String,
    /// The user's name.
    #[serde(default)]
    pub user: Option<String>,
}

impl Session {
    /// Returns the session that the label of a run names.
    pub fn of(label: &RunLabel) -> Option<Self> {
        Self::read(label.about.as_ref()?.text())
    }

    /// Returns the session that data about a run name, as JSON.
    pub fn read(about: &str) -> Option<Self> {
        serde_json::from_str(about).ok()
    }

    pub(super) fn insert(&self, connection: &Connection, run: i64) -> rusqlite::Result<()> {
        let mut insert =
            connection.prepare_cached("INSERT INTO journal_sessions (run, session, user) VALUES (?1, ?2, ?3)")?;
        insert.execute((run, &self.session, &self.user)).map(drop)
    }
}

impl Store {
    /// Returns the run at whose end a session goes on: the last one that did not fail. Error `run_not_ended`: a run of
    /// the session is under way, broke off, or waits for a person.
    pub fn last_run_of(&self, session: &Session) -> Result<Option<String>> {
        self.flush();
        let found = || -> rusqlite::Result<Option<(String, Option<String>)>> {
            let connection = self.connection();
            let mut select = connection.prepare_cached(
                "SELECT name, stop FROM journal_sessions JOIN journal_runs ON journal_runs.run = journal_sessions.run
                WHERE session = ?1 AND user IS ?2 AND stop IS NOT 'error' ORDER BY begun DESC, place DESC LIMIT 1",
            )?;
            select.query_row((&session.session, &session.user), |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        match found().map_err(|error| self.store_error(&error))? {
            Some((name, None)) => {
                let message = format!("the run {name:?} of the session {:?} has not ended", session.session);
                let hint = "resume it first (Agent.resume with run=), or say with messages= what was said before";
                Err(Error::usage("run_not_ended", message).hint(hint))
            }
            found => Ok(found.map(|(name, _)| name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Session, Store};

    #[test]
    fn n13_a_session_goes_on_at_its_last_run_that_did_not_fail() {
        let folder = std::env::temp_dir().join(format!("loopwright sessions {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("p.db");
        let store = Store::at(&path).unwrap();
        let of = |user: Option<&str>| Session { session: "trip".to_owned(), user: user.map(str::to_owned) };
        let run = |name: &str, user: Option<&str>, stop: Option<&str>| {
            let mut place = store.begin_in(name, "m", Some(of(user))).unwrap();
            place.append_line(b"{}\n").unwrap();
            if let Some(stop) = stop {
                place.end(stop, None, 0).unwrap();
            }
        };
        assert_eq!(store.last_run_of(&of(None)).unwrap(), None);
        run("one", None, Some("natural"));
        run("two", Some("sam"), Some("rounds"));
        run("three", Some("sam"), Some("error"));
        assert_eq!(store.last_run_of(&of(None)).unwrap().as_deref(), Some("one"));
        assert_eq!(store.last_run_of(&of(Some("sam"))).unwrap().as_deref(), Some("two"));
        assert_eq!(store.last_run_of(&of(Some("ann"))).unwrap(), None);
        run("four", Some("sam"), None);
        assert_eq!(store.last_run_of(&of(Some("sam"))).unwrap_err().code, "run_not_ended");
        store.delete("four").unwrap();
        assert_eq!(store.last_run_of(&of(Some("sam"))).unwrap().as_deref(), Some("two"));
        drop(store);
        Store::close(&path);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
