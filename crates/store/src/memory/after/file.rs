//! A file of preferences that people may edit, kept in step with memory.
//!
//! Only lines with our mark, and those without a mark under our heading, are ours; all else stays as it is. A mark
//! names a memory, and the store and the user whose it is: several may share a file, and each leaves the lines of the
//! others alone. A line that a person wrote is learned, one that was changed is changed in memory, one that was removed
//! is forgotten and does not come back. A person removed a line only where the file still has our heading and the end
//! of this user's lines, and was not cut: what is empty, or has lost one of them, is a file that something happened to.
//! The file is replaced as a whole, or not at all.

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
    audit::{self, EventScope},
    memory::{
        Memory,
        after::lines::{self, Block, HEADING, KnownTexts, Mark, Piece, is_part, plain, shown, squeezed},
        forget::forget_all,
        identity::{identity, is_same},
        kinds::{Kind, Note, Trust},
        now,
        work::event,
        write::{self, next_revision},
    },
    work::Job,
};
use loopwright_base::error::{Error, Result};

/// The text of a new file.
const HEAD: &str = "# Memory\n\nWhat was noticed about how you like things. Edit it freely: a line that you change is changed in \
                    memory, one that you\nremove is forgotten, one that you add is learned.\n";
/// The size of the largest file, in bytes.
const MOST: u64 = 1 << 20;

/// The result of syncing a file.
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
struct NewLine {
    path: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    session: String,
}

impl Memory {
    pub(super) fn sync_for_job(&self, job: &Job) -> Result<Vec<i64>> {
        let wanted: NewLine = serde_json::from_str(&job.payload)
            .map_err(|error| Error::internal("broken_work", format!("the work {} can't be read: {error}", job.id)))?;
        self.sync(Path::new(&wanted.path), wanted.user.as_deref(), &wanted.session, Some(job))?;
        Ok(Vec::new())
    }

    /// Syncs a file of preferences and memory; returns the number of changes.
    pub fn sync_file(&self, path: &Path, user: Option<&str>) -> Result<Synced> {
        self.sync(path, user, self.session(), None)
    }

    fn sync(&self, path: &Path, user: Option<&str>, session: &str, job: Option<&Job>) -> Result<Synced> {
        let trouble = self.error_mapper();
        let place = whole_path(path);
        let name = place.display().to_string();
        // Whoever writes it just now may not be done.
        wait_until_settled(&place);
        let since = now();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let _alone = lock_files();
        let before = read(&place)?;
        let mut done = Synced::default();
        let tag = tag_of(&transaction, user).map_err(&trouble)?;
        let step = FileSync { transaction: &transaction, name: &name, user, session, time: since, tag };
        let text = step.synced_text(before.as_deref(), &mut done).map_err(&trouble)?;
        let whose = EventScope { session, turn: job.map(|job| job.name.as_str()), user };
        let changes = [
            ("file_written", done.written),
            ("file_line_learned", done.learned),
            ("file_line_changed", done.changed),
            ("file_line_removed", done.removed),
        ];
        for (kind, count) in changes.into_iter().filter(|(_, count)| *count > 0) {
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

/// A line of an erased memory in a file.
#[derive(Debug)]
pub(in crate::memory) struct ErasedLine {
    /// The number of the memory.
    pub(in crate::memory) id: i64,
    /// The text of the line.
    pub(in crate::memory) text: String,
    /// The tag of its marks.
    pub(in crate::memory) tag: String,
}

/// Removes the lines of erased memories from a file, whatever people and formatters made of them. Returns whether their
/// words still stand in somebody else's lines.
pub(in crate::memory) fn remove_lines(path: &Path, erased: &[ErasedLine]) -> Result<bool> {
    let _alone = lock_files();
    let Some(before) = read(path)? else { return Ok(false) };
    let mut blocks = lines::read(&before);
    let known = KnownTexts::of((0_i64..).zip(erased.iter().map(|one| one.text.as_str())));
    lines::rejoin(&mut blocks, |text| known.has(text));
    for block in &mut blocks {
        let gone = |piece: &Piece| {
            let said = known.matching_ids(block, piece);
            (0_i64..).zip(erased).any(|(at, one)| match &piece.mark {
                Some(Mark::Of(id, tag)) => *tag == one.tag && (*id == one.id || said.contains(&at)),
                Some(Mark::Number(id)) => *id == one.id && said.contains(&at),
                Some(Mark::End(_)) => false,
                None => said.contains(&at),
            })
        };
        let kept: Vec<Piece> = block.pieces.iter().filter(|piece| !gone(piece)).cloned().collect();
        block.pieces = kept;
    }
    blocks.retain(|block| !block.is_gone());
    let rest: Vec<String> = blocks.iter().flat_map(|block| &block.pieces).map(|piece| shown(&piece.text)).collect();
    let left = erased.iter().map(|one| shown(&one.text)).any(|text| rest.iter().any(|piece| is_part(&text, piece)));
    let text = written(&blocks, &before);
    if !is_same_file(&text, &before) {
        replace(path, Some(&before), &text)?;
    }
    Ok(left)
}

/// The text of a file, with the ends of lines that it had.
fn written(blocks: &[Block], before: &str) -> String {
    let end = if before.contains("\r\n") { "\r\n" } else { "\n" };
    blocks.iter().flat_map(Block::written).flat_map(|line| [line, end.to_owned()]).collect()
}

/// Returns whether two texts differ in nothing but empty lines at the end.
fn is_same_file(text: &str, before: &str) -> bool {
    text.trim_end_matches(['\r', '\n']) == before.trim_end_matches(['\r', '\n'])
}

/// A lock by which one thread of a process syncs files of preferences at a time, whatever stores it has open. Nobody
/// waits for longer than a file takes: a process that was forked meanwhile has the lock of a thread that it has not,
/// and [`replace`] looks whether the file is as it was read.
fn lock_files() -> Option<MutexGuard<'static, ()>> {
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

/// The age below which a file may still be written by whoever changed it.
const YOUNG: Duration = Duration::from_millis(100);

/// Waits until a file was left alone for a moment.
fn wait_until_settled(path: &Path) {
    let age = fs::metadata(path).and_then(|known| known.modified()).ok().and_then(|at| at.elapsed().ok());
    if let Some(left) = age.and_then(|age| YOUNG.checked_sub(age)) {
        std::thread::sleep(left);
    }
}

/// The canonical path of a file, whether it is there yet or not: links and folders of links followed as far as they
/// exist.
fn whole_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(folder), path.strip_prefix(folder)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

/// The tag of marks, which names their owner: a hash of the store, which has a number of its own, and of the user.
pub(in crate::memory) fn tag_of(transaction: &Transaction<'_>, user: Option<&str>) -> rusqlite::Result<String> {
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

struct FileSync<'a> {
    transaction: &'a Transaction<'a>,
    name: &'a str,
    user: Option<&'a str>,
    session: &'a str,
    time: f64,
    /// The tag in our marks.
    tag: String,
}

impl FileSync<'_> {
    /// The new text of the file; `None` if it may stay as it is.
    fn synced_text(&self, before: Option<&str>, done: &mut Synced) -> rusqlite::Result<Option<String>> {
        let rows = self.rows()?;
        let text = before.unwrap_or_default();
        let mut blocks = lines::read(text);
        let named = lines::named(text);
        let is_named = |id: i64| named.contains(&(id, self.tag.clone()));
        let cut = before.is_some() && self.is_cut(text, &blocks, rows.iter().filter(|(id, _)| !is_named(**id)));
        if cut {
            blocks.pop();
        }
        let whole = !cut && blocks.iter().any(Block::is_heading) && self.was_here(&blocks);
        let known = KnownTexts::of(rows.iter().map(|(id, was)| (*id, was.as_str())));
        let mut others = self.others()?;
        lines::rejoin(&mut blocks, |text| known.has(text) || others.have(text));
        let doubtful = self.select_lines(&mut blocks, &rows, &known);
        others.mark(&blocks, &self.tag);
        if before.is_some() {
            let said: HashSet<i64> = blocks
                .iter()
                .flat_map(|block| block.pieces.iter().map(move |piece| (block, piece)))
                .filter(|(_, piece)| !matches!(piece.mark, Some(Mark::Of(..))))
                .flat_map(|(block, piece)| known.matching_ids(block, piece))
                .collect();
            let is_left = |id: &i64| said.contains(id) || is_named(*id);
            let removable = rows.keys().filter(|id| whole && !doubtful.contains(id) && !is_left(id)).copied().collect();
            let found = KnownLines { rows: &rows, known: &known, others: &others, removable };
            self.apply_edits(&mut blocks, found, done)?;
            self.note_others(&blocks, &others)?;
        }
        let live = self.live()?;
        self.tidy(&mut blocks, &rows, &live);
        let seen: BTreeSet<i64> = ours(&blocks).filter_map(Piece::id).collect();
        let mut said: HashSet<String> =
            seen.iter().filter_map(|id| live.get(id)).map(|one| identity(&plain(&one.text)).into_owned()).collect();
        let new: Vec<Block> = live
            .iter()
            .filter(|(id, one)| !seen.contains(id) && said.insert(identity(&plain(&one.text)).into_owned()))
            .map(|(id, one)| Block::new(&plain(&one.text), Mark::Of(*id, self.tag.clone())))
            .collect();
        if before.is_none() && new.is_empty() {
            return Ok(None);
        }
        done.written = new.len();
        insert_lines(&mut blocks, new, text.trim().is_empty());
        self.put_end(&mut blocks);
        for piece in ours(&blocks) {
            if let Some(id) = piece.id() {
                self.list(id, &piece.text)?;
            }
        }
        let text = written(&blocks, text);
        let same = before.is_some_and(|before| is_same_file(&text, before));
        Ok((!same).then_some(text))
    }

    /// Selects the pieces to sync: those with our mark wherever they stand, and items without a mark under our heading.
    /// Returns numbers of ours that are not to be taken for removed.
    fn select_lines(&self, blocks: &mut [Block], rows: &BTreeMap<i64, String>, known: &KnownTexts) -> BTreeSet<i64> {
        let mut doubtful = BTreeSet::new();
        for block in blocks {
            let said: Vec<Vec<i64>> = block.pieces.iter().map(|piece| known.matching_ids(block, piece)).collect();
            let item = block.listed && block.under;
            for (piece, said) in block.pieces.iter_mut().zip(said) {
                piece.ours = match piece.mark.clone() {
                    None => item && piece.text.contains(char::is_alphanumeric),
                    Some(Mark::Of(_, tag)) if tag == self.tag => {
                        piece.changed |= !piece.neat;
                        !piece.text.is_empty()
                    }
                    // A number alone may be that of another store or user, unless it says what ours does.
                    Some(Mark::Number(id)) if rows.contains_key(&id) => {
                        let same = said.contains(&id);
                        doubtful.extend((!same).then_some(id));
                        piece.set_mark(same.then(|| Mark::Of(id, self.tag.clone())));
                        true
                    }
                    Some(Mark::End(tag)) => {
                        piece.changed |= tag == self.tag && !piece.neat;
                        false
                    }
                    _ => false,
                };
            }
        }
        doubtful
    }

    /// Applies the changes that people made to the lines.
    fn apply_edits(&self, blocks: &mut [Block], found: KnownLines<'_>, done: &mut Synced) -> rusqlite::Result<()> {
        let KnownLines { rows, known, others, removable } = found;
        let revision = next_revision(self.transaction)?;
        let mut live = self.live()?;
        let mut unchanged = BTreeSet::new();
        for block in blocks.iter() {
            for piece in block.pieces.iter().filter(|piece| piece.ours) {
                unchanged.extend(piece.id().filter(|id| known.matching_ids(block, piece).contains(id)));
            }
        }
        let mut present = unchanged.clone();
        for block in blocks {
            let said: Vec<Vec<i64>> = block.pieces.iter().map(|piece| known.matching_ids(block, piece)).collect();
            for (piece, said) in block.pieces.iter_mut().zip(said).filter(|(piece, _)| piece.ours) {
                let (id, text) = (piece.id(), piece.text.clone());
                let marked = id.filter(|id| rows.contains_key(id));
                // What its own mark names, or one of our lines whose mark went elsewhere.
                let missing = |id: &&i64| !present.contains(*id) && live.contains_key(id);
                let row = marked.filter(|id| said.contains(id)).or_else(|| said.iter().find(missing).copied());
                let told = |one: &Live| one.trust >= Trust::User && is_same(&plain(&one.text), &text);
                let alike = || {
                    let own = id.filter(|id| live.get(id).is_some_and(|one| is_same(&plain(&one.text), &text)));
                    own.or_else(|| live.iter().find(|(_, one)| told(one)).map(|(id, _)| *id))
                };
                let next = if let Some(row) = row {
                    piece.text = rows.get(&row).cloned().unwrap_or(text);
                    Some(row)
                } else if marked.is_none() && id.is_some_and(|id| !live.contains_key(&id)) && self.is_gone(id, &text)? {
                    // Its memory was forgotten, and another way than by the file: the line goes.
                    id
                } else if let Some(same) = alike().filter(|_| marked.is_none_or(|id| unchanged.contains(&id))) {
                    Some(same)
                } else if others.is_others(&text, id.is_some()) {
                    None
                } else if let Some(known) = marked.filter(|id| !unchanged.contains(id)) {
                    // A person says it otherwise now.
                    for gone in forget_all(self.transaction, vec![known], revision, false)? {
                        live.remove(&gone);
                    }
                    self.unlist(known)?;
                    done.changed += 1;
                    Some(self.learn(&text, revision)?)
                } else {
                    done.learned += 1;
                    Some(self.learn(&text, revision)?)
                };
                piece.ours = next.is_some();
                piece.set_mark(next.map(|id| Mark::Of(id, self.tag.clone())));
                present.extend(next);
            }
        }
        for id in removable.into_iter().filter(|id| live.contains_key(id) && !present.contains(id)) {
            forget_all(self.transaction, vec![id], revision, false)?;
            self.unlist(id)?;
            done.removed += 1;
        }
        Ok(())
    }

    /// Removes forgotten lines, duplicates, and marks of ours that lost their text, which is put back where nothing
    /// else says it.
    fn tidy(&self, blocks: &mut Vec<Block>, rows: &BTreeMap<i64, String>, live: &BTreeMap<i64, Live>) {
        let present: BTreeSet<i64> = ours(blocks).filter_map(Piece::id).collect();
        for piece in blocks.iter_mut().flat_map(|block| &mut block.pieces) {
            let own = matches!(&piece.mark, Some(Mark::Of(_, tag)) if *tag == self.tag);
            if own && piece.text.is_empty() {
                let one = piece.id().filter(|id| !present.contains(id)).and_then(|id| Some((id, live.get(&id)?)));
                if let Some((id, one)) = one {
                    piece.text = rows.get(&id).cloned().unwrap_or_else(|| plain(&one.text));
                }
                piece.ours = true;
                piece.changed = true;
            }
        }
        let mut seen = BTreeSet::new();
        let mut stays = |piece: &Piece| {
            let fine = |id: i64| live.contains_key(&id) && !piece.text.is_empty();
            !piece.ours || piece.id().is_none_or(|id| fine(id) && seen.insert(id))
        };
        for block in blocks.iter_mut() {
            block.pieces.retain(&mut stays);
        }
        blocks.retain(|block| !block.is_gone());
    }

    /// The lines of others in the file, as far as the store knows.
    fn others(&self) -> rusqlite::Result<OtherLines> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT line FROM memory_files JOIN memories ON id = memory WHERE path = ?1 AND user IS NOT ?2 AND state = 0",
        )?;
        let rows = statement.query_map((self.name, self.user), |row| row.get(0))?;
        let rows: Vec<String> = rows.collect::<Result<_, _>>()?;
        let rows: HashSet<String> = rows.iter().map(|line| shown(line)).collect();
        // None of their words is kept.
        let note = format!("{NOTE}{:016x} ", xxh3_64(format!("{}\n{}", self.name, self.tag).as_bytes()));
        let mut statement = self.transaction.prepare_cached("SELECT name FROM memory_notes WHERE name LIKE ?1")?;
        let noted = statement.query_map([format!("{note}%")], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let squeezed = rows.iter().map(|line| squeezed(line)).collect();
        Ok(OtherLines { rows, squeezed, noted, marked: HashSet::new(), lost_text: false, note })
    }

    /// Records the lines that bear marks of others, until they stand there no more.
    fn note_others(&self, blocks: &[Block], others: &OtherLines) -> rusqlite::Result<()> {
        let bare = blocks.iter().flat_map(|block| &block.pieces).filter(|piece| piece.mark.is_none());
        let left: HashSet<String> = bare.map(|piece| others.note_of(&squeezed(&shown(&piece.text)))).collect();
        let marked = others.marked.iter().map(|text| others.note_of(&squeezed(text)));
        let wanted: HashSet<String> = others.noted.intersection(&left).cloned().chain(marked).collect();
        for name in others.noted.difference(&wanted) {
            self.transaction.prepare_cached("DELETE FROM memory_notes WHERE name = ?1")?.execute([name])?;
        }
        for name in wanted.difference(&others.noted) {
            self.transaction
                .prepare_cached("INSERT OR REPLACE INTO memory_notes VALUES (?1, ?2)")?
                .execute((name, self.time))?;
        }
        Ok(())
    }

    /// Returns whether the memory that a mark names was forgotten, with this text or erased. A mark may also name one
    /// that never was: of a change that came into the file and not into the store.
    fn is_gone(&self, id: Option<i64>, text: &str) -> rusqlite::Result<bool> {
        let mut statement =
            self.transaction.prepare_cached("SELECT text FROM memories WHERE id = ?1 AND state <> 0")?;
        let was: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
        Ok(was.is_some_and(|was| was.is_empty() || is_same(&plain(&was), text)))
    }

    /// Returns whether the file ends in the middle of one of these lines of ours: somebody was not done writing it.
    fn is_cut<'a>(&self, text: &str, blocks: &[Block], mut rows: impl Iterator<Item = (&'a i64, &'a String)>) -> bool {
        let last = blocks.last().filter(|last| !text.ends_with('\n') && !last.pieces.is_empty());
        last.is_some_and(|last| {
            rows.any(|(id, was)| {
                let mark = Mark::Of(*id, self.tag.clone()).written();
                last.begins(&format!("{was} {mark}")) && shown(&last.body) != shown(was)
            })
        })
    }

    /// Returns whether this user's lines were put into the file as it is: their end stands there. Another user may have
    /// put the heading back into a file that lost all, and a file that lost its end may have lost lines. Older versions
    /// wrote no ends, and marks of numbers alone.
    fn was_here(&self, blocks: &[Block]) -> bool {
        let here = |piece: &Piece| piece.is_end_of(&self.tag) || matches!(piece.mark, Some(Mark::Number(_)));
        blocks.iter().flat_map(|block| &block.pieces).any(here)
    }

    /// Puts the end behind this user's lines, where there is our heading.
    fn put_end(&self, blocks: &mut Vec<Block>) {
        let Some(heading) = blocks.iter().rposition(Block::is_heading) else { return };
        let ends = |block: &Block| block.pieces.iter().any(|piece| piece.is_end_of(&self.tag));
        let last = blocks.iter().rposition(Block::is_ours).unwrap_or(heading);
        if blocks.iter().rposition(ends).is_some_and(|end| end > last) {
            return;
        }
        for block in blocks.iter_mut() {
            block.pieces.retain(|piece| !piece.is_end_of(&self.tag));
        }
        blocks.retain(|block| !block.is_gone());
        let last = blocks.iter().rposition(Block::is_ours);
        let mut at = last.or_else(|| blocks.iter().rposition(Block::is_heading)).map_or(blocks.len(), |last| last + 1);
        while blocks.get(at).is_some_and(Block::is_only_ends) {
            at += 1;
        }
        blocks.insert(at, Block::new("", Mark::End(self.tag.clone())));
    }

    /// The lines of this user that stood in the file.
    fn rows(&self) -> rusqlite::Result<BTreeMap<i64, String>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT memory, line FROM memory_files JOIN memories ON id = memory WHERE path = ?1 AND user IS ?2",
        )?;
        statement.query_map((self.name, self.user), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The live preferences.
    fn live(&self) -> rusqlite::Result<BTreeMap<i64, Live>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT id, text, trust FROM memories WHERE state = 0 AND superseded_by IS NULL AND kind = 1 \
             AND category = 'preference' AND user IS ?1 AND (expires_at IS NULL OR expires_at > ?2)",
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

    /// Stores a line that a person wrote into the file.
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

/// A live preference.
struct Live {
    text: String,
    trust: Trust,
}

/// The state in which the changes of people are applied.
struct KnownLines<'a> {
    /// Our lines as they stood in the file.
    rows: &'a BTreeMap<i64, String>,
    known: &'a KnownTexts,
    others: &'a OtherLines,
    /// The lines that a person removed, if nothing says them.
    removable: BTreeSet<i64>,
}

/// The lines of others in the file, as they are shown.
struct OtherLines {
    /// The lines of other users of the store.
    rows: HashSet<String>,
    /// The lines of other users without white space.
    squeezed: HashSet<String>,
    /// The lines that bore marks of others when the file was read last.
    noted: HashSet<String>,
    /// The lines that bear marks of others now.
    marked: HashSet<String>,
    /// A mark of others lost its text.
    lost_text: bool,
    /// The prefix of the names of notes.
    note: String,
}

impl OtherLines {
    /// Collects the lines that bear a mark other than this one.
    fn mark(&mut self, blocks: &[Block], own: &str) {
        let foreign = |piece: &&Piece| matches!(&piece.mark, Some(Mark::Of(_, tag)) if tag != own);
        for piece in blocks.iter().flat_map(|block| &block.pieces).filter(foreign) {
            self.lost_text |= piece.text.is_empty();
            self.marked.insert(shown(&piece.text));
        }
    }

    /// Returns whether a text, without white space, is known to be somebody else's.
    fn have(&self, text: &str) -> bool {
        self.squeezed.contains(text) || self.noted.contains(&self.note_of(text))
    }

    /// Returns whether a text is, or may be, somebody else's. Behind a mark of ours, it is if it bears that one's no
    /// more; without a mark also if it is a piece of what others say, or if some of them lost theirs.
    fn is_others(&self, text: &str, marked: bool) -> bool {
        let text = shown(text);
        let known = self.have(&squeezed(&text));
        if marked {
            return known && !self.marked.contains(&text);
        }
        known || self.lost_text || self.rows.iter().chain(&self.marked).any(|line| is_part(&text, line))
    }

    fn note_of(&self, text: &str) -> String {
        format!("{}{:016x}", self.note, xxh3_64(text.as_bytes()))
    }
}

/// The prefix of the names of notes of lines.
pub(in crate::memory) const NOTE: &str = "line ";

fn ours(blocks: &[Block]) -> impl Iterator<Item = &Piece> {
    blocks.iter().flat_map(|block| &block.pieces).filter(|piece| piece.ours)
}

/// Puts new lines behind the last of ours, or under our heading, which is made where there is none.
fn insert_lines(blocks: &mut Vec<Block>, new: Vec<Block>, empty: bool) {
    if new.is_empty() {
        return;
    }
    let heading = blocks.iter().position(Block::is_heading);
    let last = blocks.iter().rposition(Block::is_ours);
    match (heading, last) {
        (Some(_), Some(at)) => {
            let next = at + 1;
            blocks.splice(next..next, new);
        }
        (Some(at), None) => {
            let gap = blocks.get(at + 1).is_none_or(|block| !block.is_blank());
            let at = if gap { at + 1 } else { at + 2 };
            let gap = gap.then(|| Block::bare(""));
            blocks.splice(at..at, gap.into_iter().chain(new));
        }
        (None, _) => {
            if empty {
                blocks.clear();
                blocks.extend(HEAD.lines().map(Block::bare));
            }
            if blocks.last().is_some_and(|block| !block.is_blank()) {
                blocks.push(Block::bare(""));
            }
            blocks.push(Block::bare(HEADING));
            blocks.push(Block::bare(""));
            blocks.extend(new);
        }
    }
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

/// Replaces the file that was read, unless somebody changed it meanwhile.
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
