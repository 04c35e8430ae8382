//! The tables of memory, version by version.

use crate::open::Tables;

/// The tables of memory, which [`open`](crate::open::open) brings up to date.
pub const TABLES: Tables = Tables { room: "memory", migrations: &[FIRST, SECOND, THIRD, FOURTH, FIFTH], reads_from: 2 };

/// `revision` grows with every change, so that each process reads what others changed since it last looked.
/// A row is never deleted: `state` says whether it lives (0), was forgotten (1) or was merged into another (2).
const FIRST: &str = "
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    revision INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    merged_into INTEGER REFERENCES memories (id),
    session TEXT NOT NULL,
    kind INTEGER NOT NULL,
    text TEXT NOT NULL,
    speaker TEXT,
    category TEXT,
    tags TEXT NOT NULL,
    entities TEXT NOT NULL,
    trust INTEGER NOT NULL,
    importance REAL NOT NULL,
    said_at REAL,
    stored_at REAL NOT NULL,
    expires_at REAL,
    changed_at REAL NOT NULL,
    seen INTEGER NOT NULL DEFAULT 1,
    fingerprint INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_by_revision ON memories (revision);
CREATE INDEX memories_by_fingerprint ON memories (fingerprint, kind) WHERE state = 0;
CREATE TABLE memory_sources (
    memory INTEGER NOT NULL REFERENCES memories (id),
    source TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (memory, source, trust)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory_derivations (
    child INTEGER NOT NULL REFERENCES memories (id),
    parent INTEGER NOT NULL REFERENCES memories (id),
    PRIMARY KEY (child, parent)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_derivations_by_parent ON memory_derivations (parent);
CREATE TABLE memory_relations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subject TEXT NOT NULL,
    subject_key TEXT NOT NULL,
    relation TEXT NOT NULL,
    object TEXT NOT NULL,
    object_key TEXT NOT NULL,
    source TEXT,
    memory INTEGER REFERENCES memories (id),
    trust INTEGER NOT NULL,
    stored_at REAL NOT NULL,
    forgotten_at REAL
) STRICT;
CREATE INDEX memory_relations_by_subject ON memory_relations (subject_key) WHERE forgotten_at IS NULL;
CREATE INDEX memory_relations_by_object ON memory_relations (object_key) WHERE forgotten_at IS NULL;
CREATE INDEX memory_relations_by_memory ON memory_relations (memory) WHERE memory IS NOT NULL;
CREATE TABLE memory_vectors (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL
) STRICT;
CREATE TABLE memory_notes (name TEXT PRIMARY KEY, value REAL NOT NULL) STRICT;
";

/// The owner of a memory, its sensitivity, its uses; columns of episodes and reflections alone; and the memories that
/// stand in a file that people edit.
const SECOND: &str = "
ALTER TABLE memories ADD COLUMN user TEXT;
ALTER TABLE memories ADD COLUMN sensitivity INTEGER NOT NULL DEFAULT 1;
ALTER TABLE memories ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
CREATE TABLE memory_episodes (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    run TEXT NOT NULL,
    topics TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    turns INTEGER NOT NULL,
    consolidated INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE memory_reflections (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    confidences REAL NOT NULL,
    count INTEGER NOT NULL,
    last_at REAL NOT NULL
) STRICT;
CREATE TABLE memory_supports (
    memory INTEGER NOT NULL REFERENCES memories (id),
    event TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (memory, event)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory_files (
    path TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (id),
    line TEXT NOT NULL,
    PRIMARY KEY (path, memory)
) STRICT, WITHOUT ROWID;
";

/// Versions before this one numbered texts alike that differed in case, signs or punctuation: whoever opens the file
/// next numbers them anew ([`recompute_fingerprints`](super::identity::recompute_fingerprints)).
const THIRD: &str = "
UPDATE memories SET fingerprint = 0;
";

/// The owner of a relation: the user of the memory that states it, where there is one.
const FOURTH: &str = "
ALTER TABLE memory_relations ADD COLUMN user TEXT;
UPDATE memory_relations SET user = (SELECT user FROM memories WHERE memories.id = memory);
";

/// What memories are about, as numbers of slots ([`supersede`](super::supersede)), and what took the place of one.
/// Whoever opens a file of before files its memories with their fingerprints.
const FIFTH: &str = "
ALTER TABLE memories ADD COLUMN superseded_by INTEGER REFERENCES memories (id);
CREATE TABLE memory_slots (
    slot INTEGER NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (id),
    PRIMARY KEY (slot, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_slots_by_memory ON memory_slots (memory);
CREATE INDEX memories_of_preferences ON memories (user) WHERE state = 0 AND category = 'preference';
UPDATE memories SET fingerprint = 0;
";
