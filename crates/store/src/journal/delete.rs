//! Deleting runs, so that no byte of their text stays in the file or its log.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::{Store, in_use, number};
use crate::compact::compact;
use loopwright_base::error::Result;

impl Store {
    /// Deletes a run that nobody holds. Returns whether there was one; see [`delete_all`](Self::delete_all).
    pub fn delete(&self, name: &str) -> Result<bool> {
        self.delete_all(&[name.to_owned()]).map(|deleted| !deleted.is_empty())
    }

    /// Deletes runs that nobody holds, all or none, so that no byte of their text stays in the file or its log. Returns
    /// the names of those that were there. Error `journal_in_use`: one of them is under way. Error `erase_unfinished`:
    /// another connection reads what the file was before; the runs are listed without their events until the same call
    /// finishes it.
    pub fn delete_all(&self, names: &[String]) -> Result<Vec<String>> {
        self.flush();
        let deleted = self.empty_all(names)?;
        if !deleted.is_empty() {
            let connection = self.connection();
            compact(&connection, &self.path.display().to_string())?;
            let unlist = || -> rusqlite::Result<()> {
                let mut rows = connection.prepare_cached("DELETE FROM journal_runs WHERE run = ?1")?;
                deleted.iter().try_for_each(|name| rows.execute([number(name)]).map(drop))
            };
            unlist().map_err(|error| self.store_error(&error))?;
        }
        Ok(deleted)
    }

    /// Takes the texts of runs out of all tables; what is left is that they are listed.
    fn empty_all(&self, names: &[String]) -> Result<Vec<String>> {
        let mut held = None;
        let mut emptied = || -> rusqlite::Result<Vec<String>> {
            let mut connection = self.connection();
            connection.pragma_update(None, "secure_delete", true)?;
            // Nobody takes a run up between the look at its holder and its end.
            let moment = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut found = Vec::new();
            for name in names {
                let run = number(name);
                let Some(holder) = holder_of(&moment, run)? else { continue };
                if self.holder.is_alive(run, &holder) {
                    held = Some(name);
                    return Ok(Vec::new());
                }
                for table in ["journal_lines", "journal_saved", "journal_pieces", "journal_sessions"] {
                    moment.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?.execute([run])?;
                }
                moment
                    .prepare_cached("UPDATE journal_runs SET prompt = '', model = '' WHERE run = ?1")?
                    .execute([run])?;
                found.push(name.clone());
            }
            moment.commit()?;
            Ok(found)
        };
        let found = emptied().map_err(|error| self.store_error(&error))?;
        held.map_or(Ok(found), |name| Err(in_use(name)))
    }
}

/// The holder of a run that is listed: empty where nobody holds it.
pub(super) fn holder_of(connection: &Connection, run: i64) -> rusqlite::Result<Option<String>> {
    let mut select = connection.prepare_cached("SELECT coalesce(holder, '') FROM journal_runs WHERE run = ?1")?;
    select.query_row([run], |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use super::super::{Store, labels};

    fn states(path: &std::path::Path) -> Vec<(String, &'static str)> {
        labels(path).unwrap().into_iter().map(|found| (found.run, found.state)).collect()
    }

    #[test]
    fn m7_runs_are_deleted_all_or_none_and_nothing_under_one_that_is_under_way() {
        let folder = std::env::temp_dir().join(format!("loopwright delete {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("p.db");
        let store = Store::at(&path).unwrap();
        let mut going = store.begin("going", "m").unwrap();
        going.append(b"{\"run\":\"going\"}\n").unwrap();
        let mut ended = store.begin("ended", "m").unwrap();
        ended.append(b"{\"run\":\"ended\",\"about\":{\"user\":\"sam\"}}\n").unwrap();
        drop(ended);
        let both = ["ended".to_owned(), "going".to_owned()];
        assert_eq!(store.delete_all(&both).unwrap_err().code, "journal_in_use");
        let mut found = labels(&path).unwrap();
        found.sort_by(|one, other| one.run.cmp(&other.run));
        assert_eq!(found[0].about.as_deref(), Some("{\"user\":\"sam\"}"));
        assert_eq!(found.iter().map(|found| found.state).collect::<Vec<_>>(), ["idle", "running"]);
        drop(going);
        // What was begun and not finished is found again.
        store.empty_all(&both[..1]).unwrap();
        store.flush();
        assert!(states(&path).contains(&("ended".to_owned(), "emptied")));
        assert_eq!(store.delete_all(&["ended".to_owned(), "unknown".to_owned()]).unwrap(), ["ended"]);
        assert_eq!(states(&path), [("going".to_owned(), "idle")]);
        drop(store);
        Store::close(&path);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
