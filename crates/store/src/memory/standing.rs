//! Standing wishes: what a user prefers, in the user's words, before every request.

use super::{
    Memory,
    inject::{escaped, shortened},
    kinds::{Record, Trust},
    now,
    read::{COLUMNS, record},
    supersede::{PREFERENCE, column},
    wishes::{self, is_wish},
};
use loopwright_base::error::Result;

/// Characters that all wishes together may take in a request: some five hundred tokens.
const MAX_CHARACTERS: usize = 2_000;
/// Characters of a wish.
const MAX_WISH: usize = 400;
const HEAD: &str = "<preferences note=\"What the user asked for, in the user's own words: follow it in every answer. \
                    Where two differ, the later one counts, and what the user says in the conversation counts more.\">";

impl Memory {
    /// The preferences that stand, oldest first: of this user and of nobody; an empty name: of nobody alone; without
    /// one, all. What was changed since is none of them.
    pub fn preferences(&self, user: Option<&str>) -> Result<Vec<Record>> {
        let connection = self.reading()?;
        let read = || -> rusqlite::Result<Vec<Record>> {
            let query = format!(
                "SELECT {COLUMNS} FROM memories WHERE state = 0 AND category = '{PREFERENCE}' AND kind = 1 \
                 AND trust >= ?1 AND (?2 IS NULL OR user IS NULL OR user = ?2) \
                 AND (expires_at IS NULL OR expires_at > ?3) AND {} IS NULL ORDER BY coalesce(said_at, stored_at), id",
                column(&connection)
            );
            let mut statement = connection.prepare_cached(&query)?;
            let rows = statement.query_map((Trust::User as i64, user, now()), record)?;
            let whole = rows.filter_map(|row| row.map(|(record, whole)| whole.then_some(record)).transpose());
            whole.collect()
        };
        let mut all = read().map_err(self.error_mapper())?;
        if user.is_some_and(|user| !user.is_empty()) {
            // A user's own wish counts more than everybody's.
            let own: Vec<wishes::Topic> =
                all.iter().filter(|one| one.user.is_some()).flat_map(|one| wishes::topics(&one.text)).collect();
            all.retain(|one| {
                let topics = wishes::topics(&one.text);
                one.user.is_some()
                    || topics.is_empty()
                    || !topics.iter().all(|topic| own.iter().any(|own| own.contradicts(topic)))
            });
        }
        Ok(all)
    }

    /// The preferences as text for a model, and their numbers: within a budget, instructions before tastes, newer ones
    /// before older ones.
    pub(super) fn standing(&self, user: Option<&str>) -> Result<(String, Vec<i64>)> {
        let all = self.preferences(user)?;
        let line = |one: &Record| {
            let words = one.text.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("- {}\n", escaped(&shortened(&words, MAX_WISH), false))
        };
        let mut order: Vec<usize> = (0..all.len()).rev().collect();
        order.sort_by_key(|at| all.get(*at).is_none_or(|one| !is_wish(&one.text, true)));
        let mut left = MAX_CHARACTERS;
        let mut kept: Vec<usize> = Vec::new();
        for at in order {
            let length = all.get(at).map_or(0, |one| line(one).chars().count());
            if length <= left {
                left -= length;
                kept.push(at);
            }
        }
        kept.sort_unstable();
        if kept.is_empty() {
            return Ok((String::new(), Vec::new()));
        }
        let kept: Vec<&Record> = kept.iter().filter_map(|at| all.get(*at)).collect();
        let lines: String = kept.iter().map(|one| line(one)).collect();
        Ok((format!("{HEAD}\n{lines}</preferences>"), kept.iter().map(|one| one.id).collect()))
    }
}
