//! A file of preferences that people may edit, kept in step with memory.
//!
//! Only the lines under our heading are ours; all else stays as it is. A line that a person wrote there is learned, one
//! that was changed is changed in memory, one that was removed is forgotten and does not come back. The file is replaced
//! as a whole, or not at all.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    io::{ErrorKind, Read, Write as _},
    path::{Path, PathBuf},
};

use rusqlite::{Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    core::error::{Error, Result},
    store::{
        audit::{self, Whose},
        memory::{
            Memory,
            kinds::{Kind, Note, Trust},
            now,
            work::event,
            write::{self, fingerprint, forget_all, next_revision},
        },
        work::Job,
    },
};

/// The heading that our lines stand under.
const HEADING: &str = "## Preferences";
/// What a new file begins with.
const HEAD: &str = "# Memory\n\nWhat was noticed about how you like things. Edit it freely: a line that you change is changed in \
                    memory, one that you\nremove is forgotten, one that you add is learned.\n";
/// No file is larger, in bytes.
const MOST: u64 = 1 << 20;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// Lines that were written.
    pub written: usize,
    /// Lines of people that were learned.
    pub learned: usize,
    /// Lines that people had changed.
    pub changed: usize,
    /// Lines that people had removed: forgotten.
    pub removed: usize,
}

#[derive(Deserialize)]
struct Wanted {
    path: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    session: String,
}

/// A line of the file.
enum Line {
    Other(String),
    Item { text: String, id: Option<i64> },
}

impl Memory {
    pub(super) fn sync_as(&self, job: &Job) -> Result<Vec<i64>> {
        let wanted: Wanted = serde_json::from_str(&job.payload)
            .map_err(|error| Error::internal("broken_work", format!("the work {} can't be read: {error}", job.id)))?;
        self.sync(Path::new(&wanted.path), wanted.user.as_deref(), &wanted.session, Some(job))?;
        Ok(Vec::new())
    }

    /// Brings a file of preferences and memory in step; gives what was done.
    pub fn sync_file(&self, path: &Path, user: Option<&str>) -> Result<Synced> {
        self.sync(path, user, self.session(), None)
    }

    fn sync(&self, path: &Path, user: Option<&str>, session: &str, job: Option<&Job>) -> Result<Synced> {
        let since = now();
        let trouble = self.trouble();
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = place.display().to_string();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let before = read(&place)?;
        let mut done = Synced::default();
        let step = Step { transaction: &transaction, name: &name, user, session, time: since };
        let text = step.bring(before.as_deref(), &mut done).map_err(&trouble)?;
        let whose = Whose { session, turn: job.map(|job| job.name.as_str()), user };
        let told = [
            ("file_written", done.written),
            ("file_line_learned", done.learned),
            ("file_line_changed", done.changed),
            ("file_line_removed", done.removed),
        ];
        for (kind, count) in told.into_iter().filter(|(_, count)| *count > 0) {
            let detail = json!({"path": name, "lines": count});
            audit::write(&transaction, &whose, &event(kind, &detail)).map_err(&trouble)?;
        }
        if let Some(job) = job {
            self.end_work(&transaction, job, &whose, since)?;
        }
        if let Some(text) = text {
            replace(&place, before.as_deref(), &text)?;
        }
        // Should this fail, the file is ahead: its lines are known again by what they say.
        transaction.commit().map_err(&trouble)?;
        Ok(done)
    }
}

struct Step<'a> {
    transaction: &'a Transaction<'a>,
    name: &'a str,
    user: Option<&'a str>,
    session: &'a str,
    time: f64,
}

impl Step<'_> {
    /// The text that the file shall have; `None` if it may stay as it is.
    fn bring(&self, before: Option<&str>, done: &mut Synced) -> rusqlite::Result<Option<String>> {
        let rows = self.rows()?;
        let mut live = self.live()?;
        let mut lines = parsed(before.unwrap_or_default());
        let revision = next_revision(self.transaction)?;
        let mut present: BTreeSet<i64> = BTreeSet::new();
        if before.is_some() {
            for line in &mut lines {
                let Line::Item { text, id } = line else { continue };
                let known = id.and_then(|id| rows.get(&id).map(|was| (id, was)));
                if let Some((known, was)) = known {
                    if fingerprint(was) != fingerprint(text) {
                        // A person says it otherwise now.
                        forget_all(self.transaction, known, revision, false)?;
                        live.remove(&known);
                        self.unlist(known)?;
                        *id = Some(self.learn(text, revision)?);
                        done.changed += 1;
                    }
                } else {
                    let same =
                        live.iter().find(|(_, known)| fingerprint(known) == fingerprint(text)).map(|(id, _)| *id);
                    *id = Some(if let Some(same) = same {
                        same
                    } else {
                        done.learned += 1;
                        self.learn(text, revision)?
                    });
                }
                let Some(id) = *id else { continue };
                present.insert(id);
            }
            for (id, was) in rows.iter().filter(|(id, _)| live.contains_key(id) && !present.contains(id)) {
                // The same words may stand there without their mark.
                let said = lines
                    .iter()
                    .any(|line| matches!(line, Line::Item { text, .. } if fingerprint(text) == fingerprint(was)));
                if !said {
                    forget_all(self.transaction, *id, revision, false)?;
                    self.unlist(*id)?;
                    done.removed += 1;
                }
            }
            live = self.live()?;
        }
        // What was forgotten leaves the file.
        lines.retain(|line| match line {
            Line::Item { id: Some(id), .. } => live.contains_key(id),
            _ => true,
        });
        let mut seen = BTreeSet::new();
        lines.retain(|line| match line {
            Line::Item { id: Some(id), .. } => seen.insert(*id),
            _ => true,
        });
        let new: Vec<(i64, String)> =
            live.iter().filter(|(id, _)| !seen.contains(id)).map(|(id, text)| (*id, text.clone())).collect();
        if before.is_none() && new.is_empty() {
            return Ok(None);
        }
        done.written = new.len();
        let at = lines.iter().rposition(|line| matches!(line, Line::Item { .. }));
        let items = new.into_iter().map(|(id, text)| Line::Item { text: plain(&text), id: Some(id) });
        if let Some(at) = at {
            let next = at + 1;
            lines.splice(next..next, items);
        } else {
            let heading = lines.iter().position(|line| matches!(line, Line::Other(text) if text.trim() == HEADING));
            let items: Vec<Line> = items.collect();
            match heading {
                _ if items.is_empty() => {}
                Some(at) => {
                    let gap = lines
                        .get(at + 1)
                        .is_none_or(|line| !matches!(line, Line::Other(text) if text.trim().is_empty()));
                    let at = if gap { at + 1 } else { at + 2 };
                    let gap = gap.then(|| Line::Other(String::new()));
                    lines.splice(at..at, gap.into_iter().chain(items));
                }
                None => {
                    if before.is_none() {
                        lines.extend(HEAD.lines().map(|line| Line::Other(line.to_owned())));
                    }
                    if lines.last().is_some_and(|line| !matches!(line, Line::Other(text) if text.trim().is_empty())) {
                        lines.push(Line::Other(String::new()));
                    }
                    lines.push(Line::Other(HEADING.to_owned()));
                    lines.push(Line::Other(String::new()));
                    lines.extend(items);
                }
            }
        }
        let mut text = String::new();
        for line in &lines {
            match line {
                Line::Other(other) => text.push_str(other),
                Line::Item { text: item, id } => {
                    let _ = write!(text, "- {item}");
                    if let Some(id) = id {
                        let _ = write!(text, " <!-- {id} -->");
                        self.list(*id, item)?;
                    }
                }
            }
            text.push('\n');
        }
        let same = before.is_some_and(|before| before.trim_end_matches('\n') == text.trim_end_matches('\n'));
        Ok((!same).then_some(text))
    }

    /// The lines that stood in the file.
    fn rows(&self) -> rusqlite::Result<BTreeMap<i64, String>> {
        let mut statement = self.transaction.prepare_cached("SELECT memory, line FROM memory_files WHERE path = ?1")?;
        statement.query_map([self.name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The preferences that live.
    fn live(&self) -> rusqlite::Result<BTreeMap<i64, String>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT id, text FROM memories WHERE state = 0 AND kind = 1 AND category = 'preference' AND user IS ?1 \
             AND (expires_at IS NULL OR expires_at > ?2)",
        )?;
        statement.query_map((self.user, self.time), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    fn list(&self, id: i64, line: &str) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO memory_files VALUES (?1, ?2, ?3)")?
            .execute((self.name, id, line))
            .map(drop)
    }

    fn unlist(&self, id: i64) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM memory_files WHERE path = ?1 AND memory = ?2")?
            .execute((self.name, id))
            .map(drop)
    }

    /// What a person wrote into the file is known from now on.
    fn learn(&self, text: &str, revision: i64) -> rusqlite::Result<i64> {
        let note = Note {
            text: text.to_owned(),
            kind: Kind::Semantic,
            category: Some("preference".to_owned()),
            source: Some(self.name.to_owned()),
            trust: Trust::User,
            importance: Some(0.9),
            user: self.user.map(str::to_owned),
            ..Note::default()
        };
        write::store(self.transaction, &note, self.session, Trust::User, revision, self.time)
    }
}

/// The lines of a text; those under our heading that are items are ours.
fn parsed(text: &str) -> Vec<Line> {
    let mut ours = false;
    text.lines()
        .map(|line| {
            if line.starts_with('#') {
                ours = line.trim() == HEADING;
            }
            let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).filter(|_| ours);
            let Some(item) = item else { return Line::Other(line.to_owned()) };
            let mark = item.rfind("<!--").and_then(|at| Some((at, item.get(at + 4..)?.trim().strip_suffix("-->")?)));
            let marked = mark.and_then(|(at, inside)| Some((at, inside.trim().parse().ok()?)));
            let (text, id) = match marked {
                Some((at, id)) => (item.get(..at).unwrap_or_default(), Some(id)),
                None => (item, None),
            };
            let text = plain(text);
            if text.is_empty() { Line::Other(line.to_owned()) } else { Line::Item { text, id } }
        })
        .collect()
}

/// A text on one line, without what would be a mark.
fn plain(text: &str) -> String {
    text.replace("<!--", "").replace("-->", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::usage("memory_file", format!("the memory file {} {what}", path.display()))
        .hint("it was left as it is; check the path, and who may write there")
}

fn read(path: &Path) -> Result<Option<String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(path, &format!("can't be read: {error}"))),
    };
    let mut text = String::new();
    file.take(MOST + 1).read_to_string(&mut text).map_err(|error| wrong(path, &format!("can't be read: {error}")))?;
    if text.len() as u64 > MOST {
        return Err(wrong(path, "is too large"));
    }
    Ok(Some(text))
}

/// Puts a new file in the place of the one that was read, unless somebody changed it meanwhile.
fn replace(path: &Path, before: Option<&str>, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| wrong(path, &format!("can't be written: {error}"));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut name = path.file_name().map(std::ffi::OsStr::to_owned).unwrap_or_default();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside: PathBuf = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        if let Ok(known) = fs::metadata(path) {
            // Who may read the file stays as it was, and a file that may not be written to is not replaced.
            if known.permissions().readonly() {
                return Err(std::io::Error::new(ErrorKind::PermissionDenied, "it is read-only"));
            }
            fs::set_permissions(&beside, known.permissions())?;
        }
        file.sync_all()
    };
    let written = write().map_err(failed).and_then(|()| {
        if read(path)?.as_deref() != before {
            return Err(wrong(path, "was changed while it was being written"));
        }
        fs::rename(&beside, path).map_err(failed)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}
