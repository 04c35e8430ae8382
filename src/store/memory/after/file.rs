//! A file of preferences that people may edit, kept in step with memory.
//!
//! Only lines with our mark, and those without a mark under our heading, are ours; all else stays as it is. A mark
//! names a memory, and the store and the user whose it is: several may share a file, and each leaves the lines of the
//! others alone. A line that a person wrote is learned, one that was changed is changed in memory, one that was removed
//! is forgotten and does not come back. A person removed a line only where the file still has our heading and the end of
//! this user's lines, and was not cut: what is empty, or has lost one of them, is a file that something happened to. The file is replaced as a whole,
//! or not at all.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    hash::{BuildHasher, RandomState},
    io::{ErrorKind, Read, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, TryLockError},
    time::{Duration, Instant},
};

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    core::error::{Error, Result},
    store::{
        audit::{self, Whose},
        memory::{
            Memory,
            forget::forget_all,
            identity::{identity, is_same},
            kinds::{Kind, Note, Trust},
            now,
            work::event,
            write::{self, next_revision},
        },
        work::Job,
    },
};

/// The heading that our lines stand under.
const HEADING: &str = "## Preferences";
/// How the line behind a user's lines begins; whose they are follows, as in their marks.
const END: &str = "<!-- end";
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
        let trouble = self.trouble();
        let place = whole_path(path);
        let name = place.display().to_string();
        // Whoever writes it just now may not be done.
        wait_until_settled(&place);
        let since = now();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let _alone = alone();
        let before = read(&place)?;
        let mut done = Synced::default();
        let tag = tag_of(&transaction, user).map_err(&trouble)?;
        let step = Step { transaction: &transaction, name: &name, user, session, time: since, tag };
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

/// A line of a memory that was erased.
#[derive(Debug)]
pub(in crate::store::memory) struct ErasedLine {
    /// The number of the memory.
    pub(in crate::store::memory) id: i64,
    /// The text it stood there with.
    pub(in crate::store::memory) text: String,
    /// The tag of its marks.
    pub(in crate::store::memory) tag: String,
}

/// Takes the lines of memories that were erased out of a file, whatever people made of those with a mark.
pub(in crate::store::memory) fn remove_lines(path: &Path, erased: &[ErasedLine]) -> Result<()> {
    let _alone = alone();
    let Some(before) = read(path)? else { return Ok(()) };
    let gone = |line: &str| {
        let Some((text, mark)) = item(line) else { return false };
        erased.iter().any(|one| match mark {
            Some(Mark::Of(id, tag)) => id == one.id && tag == one.tag,
            Some(Mark::Number(id)) => id == one.id && is_same(&text, &one.text),
            None => is_same(&text, &one.text),
        })
    };
    let mut text = String::with_capacity(before.len());
    for line in before.split_inclusive('\n').filter(|line| !gone(line.trim_end_matches(['\n', '\r']))) {
        text.push_str(line);
    }
    if text == before { Ok(()) } else { replace(path, Some(&before), &text) }
}

/// One thread of a process is at files of preferences at a time, whatever stores it has open. Nobody waits for longer
/// than a file takes: a process that was forked meanwhile has the lock of a thread that it has not, and [`replace`]
/// looks whether the file is as it was read.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static FILES: Mutex<()> = Mutex::new(());
    let since = Instant::now();
    loop {
        match FILES.try_lock() {
            Ok(alone) => return Some(alone),
            Err(TryLockError::Poisoned(alone)) => return Some(alone.into_inner()),
            Err(TryLockError::WouldBlock) if since.elapsed() > Duration::from_secs(5) => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// So young a file may still be written by whoever changed it.
const YOUNG: Duration = Duration::from_millis(100);

/// Waits until a file was left alone for a moment.
fn wait_until_settled(path: &Path) {
    let age = fs::metadata(path).and_then(|known| known.modified()).ok().and_then(|at| at.elapsed().ok());
    if let Some(left) = age.and_then(|age| YOUNG.checked_sub(age)) {
        std::thread::sleep(left);
    }
}

/// The one name of a file, whether it is there yet or not: links and folders of links followed as far as they exist.
fn whole_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(folder), path.strip_prefix(folder)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

/// What marks say of whose they are: a hash of the store, which has a number of its own, and of the user.
pub(in crate::store::memory) fn tag_of(transaction: &Transaction<'_>, user: Option<&str>) -> rusqlite::Result<String> {
    const STORE: &str = "store";
    let known: Option<f64> = transaction
        .prepare_cached("SELECT value FROM memory_notes WHERE name = ?1")?
        .query_row([STORE], |row| row.get(0))
        .optional()?;
    let store = if let Some(known) = known {
        known
    } else {
        // As many bits as a float holds without loss.
        let made = (RandomState::new().hash_one(now().to_bits()) >> 12) as f64;
        transaction.prepare_cached("INSERT INTO memory_notes VALUES (?1, ?2)")?.execute((STORE, made))?;
        made
    };
    let whose = format!("{}\n{}", store.to_bits(), user.map_or_else(String::new, |user| format!("of {user}")));
    Ok(format!("{:08x}", xxh3_64(whose.as_bytes()) >> 32))
}

struct Step<'a> {
    transaction: &'a Transaction<'a>,
    name: &'a str,
    user: Option<&'a str>,
    session: &'a str,
    time: f64,
    /// What stands in our marks.
    tag: String,
}

impl Step<'_> {
    /// The text that the file shall have; `None` if it may stay as it is.
    fn bring(&self, before: Option<&str>, done: &mut Synced) -> rusqlite::Result<Option<String>> {
        let rows = self.rows()?;
        let (mut lines, doubtful) = parsed(before.unwrap_or_default(), &self.tag, &rows);
        let cut = before.is_some_and(|before| self.is_cut(before, &rows));
        if cut {
            lines.pop();
        }
        let whole = !cut && lines.iter().any(is_heading) && self.was_here(before.unwrap_or_default(), &lines);
        if before.is_some() {
            let removable = rows.keys().filter(|id| whole && !doubtful.contains(id)).copied().collect();
            self.take_in(&mut lines, &rows, removable, done)?;
        }
        let live = self.live()?;
        // What was forgotten leaves the file, and what stands there twice stands there once.
        let mut seen = BTreeSet::new();
        lines.retain(|line| match line {
            Line::Item { id: Some(id), .. } => live.contains_key(id) && seen.insert(*id),
            _ => true,
        });
        let mut said: HashSet<String> =
            seen.iter().filter_map(|id| live.get(id)).map(|one| identity(&plain(&one.text)).into_owned()).collect();
        let new: Vec<Line> = live
            .iter()
            .filter(|(id, one)| !seen.contains(id) && said.insert(identity(&plain(&one.text)).into_owned()))
            .map(|(id, one)| Line::Item { text: plain(&one.text), id: Some(*id) })
            .collect();
        if before.is_none() && new.is_empty() {
            return Ok(None);
        }
        done.written = new.len();
        put_in(&mut lines, new, before.is_none_or(|before| before.trim().is_empty()));
        self.put_end(&mut lines);
        let end = if before.is_some_and(|before| before.contains("\r\n")) { "\r\n" } else { "\n" };
        let mut text = String::new();
        for line in &lines {
            match line {
                Line::Other(other) => text.push_str(other),
                Line::Item { text: item, id } => {
                    text.push_str(&self.written(item, *id));
                    if let Some(id) = id {
                        self.list(*id, item)?;
                    }
                }
            }
            text.push_str(end);
        }
        let same =
            before.is_some_and(|before| before.trim_end_matches(['\r', '\n']) == text.trim_end_matches(['\r', '\n']));
        Ok((!same).then_some(text))
    }

    /// Takes in what people did to the lines. Of those that are not there, the `removable` ones were removed by a
    /// person.
    fn take_in(
        &self,
        lines: &mut [Line],
        rows: &BTreeMap<i64, String>,
        removable: BTreeSet<i64>,
        done: &mut Synced,
    ) -> rusqlite::Result<()> {
        let revision = next_revision(self.transaction)?;
        let mut live = self.live()?;
        let as_it_was = |line: &Line| match line {
            Line::Item { text, id: Some(id) } if rows.get(id).is_some_and(|was| is_same(was, text)) => Some(*id),
            _ => None,
        };
        let unchanged: BTreeSet<i64> = lines.iter().filter_map(as_it_was).collect();
        let mut present = unchanged.clone();
        for line in lines.iter_mut() {
            let Line::Item { text, id } = line else { continue };
            let marked = id.and_then(|id| Some((id, rows.get(&id)?)));
            match marked {
                Some((_, was)) if is_same(was, text) => {}
                // A person says it otherwise now.
                Some((known, _)) if !unchanged.contains(&known) => {
                    for gone in forget_all(self.transaction, vec![known], revision, false)? {
                        live.remove(&gone);
                    }
                    self.unlist(known)?;
                    *id = Some(self.learn(text, revision)?);
                    done.changed += 1;
                }
                // Its memory was forgotten, and another way than by the file: the line goes.
                None if id.is_some_and(|id| !live.contains_key(&id)) && self.is_gone(*id, text)? => {}
                _ => {
                    let told = |one: &Live| one.trust >= Trust::User && is_same(&plain(&one.text), text);
                    let own = id.filter(|id| live.get(id).is_some_and(|one| is_same(&plain(&one.text), text)));
                    let same = own.or_else(|| live.iter().find(|(_, one)| told(one)).map(|(id, _)| *id));
                    *id = Some(if let Some(same) = same {
                        same
                    } else {
                        done.learned += 1;
                        self.learn(text, revision)?
                    });
                }
            }
            present.extend(*id);
        }
        for id in removable.into_iter().filter(|id| live.contains_key(id) && !present.contains(id)) {
            forget_all(self.transaction, vec![id], revision, false)?;
            self.unlist(id)?;
            done.removed += 1;
        }
        Ok(())
    }

    /// Whether the memory that a mark names was forgotten, with this text or erased. A mark may also name one that never
    /// was: of a change that came into the file and not into the store.
    fn is_gone(&self, id: Option<i64>, text: &str) -> rusqlite::Result<bool> {
        let mut statement =
            self.transaction.prepare_cached("SELECT text FROM memories WHERE id = ?1 AND state <> 0")?;
        let was: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
        Ok(was.is_some_and(|was| was.is_empty() || is_same(&plain(&was), text)))
    }

    /// Whether the file ends in the middle of a line of ours: somebody was not done writing it.
    fn is_cut(&self, text: &str, rows: &BTreeMap<i64, String>) -> bool {
        let last = text.rsplit('\n').next().unwrap_or_default();
        let is_start_of = |line: &str| line.len() > last.len() && line.starts_with(last);
        !last.is_empty()
            && rows.iter().any(|(id, was)| last != format!("- {was}") && is_start_of(&self.written(was, Some(*id))))
    }

    /// Whether this user's lines were put into the file as it is: their end stands there. Another user may have put the
    /// heading back into a file that lost all, and a file that lost its end may have lost lines. Older versions wrote
    /// no ends, and marks of numbers alone.
    fn was_here(&self, text: &str, lines: &[Line]) -> bool {
        lines.iter().any(|line| self.is_end(line))
            || text.lines().any(|line| matches!(item(line), Some((_, Some(Mark::Number(_))))))
    }

    fn is_end(&self, line: &Line) -> bool {
        matches!(line, Line::Other(text) if text.trim() == self.end())
    }

    /// What stands behind this user's lines.
    fn end(&self) -> String {
        format!("{END} {} -->", self.tag)
    }

    /// Puts the end behind this user's lines, where there is our heading.
    fn put_end(&self, lines: &mut Vec<Line>) {
        let Some(heading) = lines.iter().rposition(is_heading) else { return };
        let last = lines.iter().rposition(|line| matches!(line, Line::Item { .. })).unwrap_or(heading);
        if lines.iter().rposition(|line| self.is_end(line)).is_some_and(|end| end > last) {
            return;
        }
        lines.retain(|line| !self.is_end(line));
        let last = lines.iter().rposition(|line| matches!(line, Line::Item { .. }));
        let mut at = last.or_else(|| lines.iter().rposition(is_heading)).map_or(lines.len(), |last| last + 1);
        let is_other_end = |line: &Line| matches!(line, Line::Other(text) if text.trim().starts_with(END));
        while lines.get(at).is_some_and(is_other_end) {
            at += 1;
        }
        lines.insert(at, Line::Other(self.end()));
    }

    /// A line of ours as it stands in the file.
    fn written(&self, text: &str, id: Option<i64>) -> String {
        id.map_or_else(|| format!("- {text}"), |id| format!("- {text} <!-- {id} {} -->", self.tag))
    }

    /// The lines of this user that stood in the file.
    fn rows(&self) -> rusqlite::Result<BTreeMap<i64, String>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT memory, line FROM memory_files JOIN memories ON id = memory WHERE path = ?1 AND user IS ?2",
        )?;
        statement.query_map((self.name, self.user), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The preferences that live.
    fn live(&self) -> rusqlite::Result<BTreeMap<i64, Live>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT id, text, trust FROM memories WHERE state = 0 AND kind = 1 AND category = 'preference' \
             AND user IS ?1 AND (expires_at IS NULL OR expires_at > ?2)",
        )?;
        let trust = |at: usize| Trust::ALL.get(at).copied().unwrap_or(Trust::Untrusted);
        statement
            .query_map((self.user, self.time), |row| {
                Ok((row.get(0)?, Live { text: row.get(1)?, trust: trust(row.get(2)?) }))
            })?
            .collect()
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

/// A preference that lives.
struct Live {
    text: String,
    trust: Trust,
}

/// Puts new lines behind the last of ours, or under our heading, which is made where there is none.
fn put_in(lines: &mut Vec<Line>, new: Vec<Line>, empty: bool) {
    if new.is_empty() {
        return;
    }
    let is_blank = |line: &Line| matches!(line, Line::Other(text) if text.trim().is_empty());
    let heading = lines.iter().position(is_heading);
    let last = lines.iter().rposition(|line| matches!(line, Line::Item { .. }));
    match (heading, last) {
        (Some(_), Some(at)) => {
            let next = at + 1;
            lines.splice(next..next, new);
        }
        (Some(at), None) => {
            let gap = lines.get(at + 1).is_none_or(|line| !is_blank(line));
            let at = if gap { at + 1 } else { at + 2 };
            let gap = gap.then(|| Line::Other(String::new()));
            lines.splice(at..at, gap.into_iter().chain(new));
        }
        (None, _) => {
            if empty {
                lines.clear();
                lines.extend(HEAD.lines().map(|line| Line::Other(line.to_owned())));
            }
            if lines.last().is_some_and(|line| !is_blank(line)) {
                lines.push(Line::Other(String::new()));
            }
            lines.push(Line::Other(HEADING.to_owned()));
            lines.push(Line::Other(String::new()));
            lines.extend(new);
        }
    }
}

/// What a mark in a line says.
#[derive(Clone, Copy)]
enum Mark<'a> {
    /// The number of a memory, and whose it is.
    Of(i64, &'a str),
    /// A number alone, as an older version wrote it.
    Number(i64),
}

/// The text and the mark of a line that is an item of a list.
fn item(line: &str) -> Option<(String, Option<Mark<'_>>)> {
    let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?;
    let found = item.rfind("<!--").and_then(|at| Some((at, item.get(at + 4..)?.trim().strip_suffix("-->")?.trim())));
    let mark = found.and_then(|(at, inside)| {
        let mut words = inside.split_whitespace();
        let id: i64 = words.next()?.parse().ok()?;
        let mark = match (words.next(), words.next()) {
            (None, _) => Mark::Number(id),
            (Some(tag), None) if tag.len() == 8 && tag.bytes().all(|b| b.is_ascii_hexdigit()) => Mark::Of(id, tag),
            _ => return None,
        };
        Some((at, mark))
    });
    match mark {
        Some((at, mark)) => Some((plain(item.get(..at)?), Some(mark))),
        None => Some((plain(item), None)),
    }
}

fn is_heading(line: &Line) -> bool {
    matches!(line, Line::Other(text) if text.trim_start_matches('\u{feff}').trim() == HEADING)
}

/// The lines of a text, and numbers of ours that are not to be taken for removed. Items with our mark are ours wherever
/// they stand; those without a mark are, under our heading.
fn parsed(text: &str, own: &str, rows: &BTreeMap<i64, String>) -> (Vec<Line>, BTreeSet<i64>) {
    let mut ours = false;
    let mut doubtful = BTreeSet::new();
    let lines = text
        .lines()
        .map(|line| {
            let other = || Line::Other(line.to_owned());
            if line.trim_start_matches('\u{feff}').starts_with('#') {
                ours = is_heading(&other());
            }
            let Some((text, mark)) = item(line).filter(|(text, _)| !text.is_empty()) else { return other() };
            match mark {
                None if ours => Line::Item { text, id: None },
                Some(Mark::Of(id, tag)) if tag == own => Line::Item { text, id: Some(id) },
                // A number alone may be that of another store or user, unless it says what ours does.
                Some(Mark::Number(id)) if rows.contains_key(&id) => {
                    let same = rows.get(&id).is_some_and(|was| is_same(was, &text));
                    doubtful.extend((!same).then_some(id));
                    Line::Item { text, id: same.then_some(id) }
                }
                _ => other(),
            }
        })
        .collect();
    (lines, doubtful)
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
