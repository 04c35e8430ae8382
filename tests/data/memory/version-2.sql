PRAGMA application_id = 1282430834;
BEGIN TRANSACTION;
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    session TEXT NOT NULL,
    turn TEXT,
    user TEXT,
    type TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
INSERT INTO "audit" VALUES(1,1.7956464382704062462e+09,'old',NULL,NULL,'memory_forgotten','{"erased":false,"ids":[9]}');
INSERT INTO "audit" VALUES(2,1.79564643830519485474e+09,'old','0ebe965060435c0a','ann','work_queued','{"ids":[1],"kinds":["turn"]}');
INSERT INTO "audit" VALUES(3,1.79564643827337956432e+09,'old','0ebe965060435c0a','ann','intent_assessed','{"confidence":0.970687747001648,"decision":"direct","escalated":false,"plan":false,"signals":["is_question"]}');
INSERT INTO "audit" VALUES(4,1.79564643829290056234e+09,'old','0ebe965060435c0a','ann','memory_recalled','{"characters":0,"duration":0.019521,"hits":0,"ids":[],"trusted":0}');
INSERT INTO "audit" VALUES(5,1.79564643829290056234e+09,'old','0ebe965060435c0a','ann','round_started','{"model":"scripted","round":1}');
INSERT INTO "audit" VALUES(6,1.79564643829320669176e+09,'old','0ebe965060435c0a','ann','round_finished','{"duration":0.000306,"provider_tool_uses":0,"round":1,"usage":{"cache_read":0,"cache_write":0,"input":0,"output":0,"provider_tool_uses":0,"reasoning":0}}');
INSERT INTO "audit" VALUES(7,1.79564643829320669176e+09,'old','0ebe965060435c0a','ann','assessed','{"decision":"complete","round":1,"rule":"completion","saw_characters":47}');
INSERT INTO "audit" VALUES(8,1.79564643829846334452e+09,'old','0ebe965060435c0a','ann','run_finished','{"cost":null,"rounds":1,"seconds":0.019827,"stop":"natural","tokens":0,"tools":0}');
INSERT INTO "audit" VALUES(9,1.79564643891137599943e+09,'old','0ebe965060435c0a','ann','fact_kept','{"id":10,"trust":"user"}');
INSERT INTO "audit" VALUES(10,1.79564643891145467756e+09,'old','0ebe965060435c0a','ann','prompt_kept','{"id":11,"trust":"user"}');
INSERT INTO "audit" VALUES(11,1.79564643891161513332e+09,'old','0ebe965060435c0a','ann','episode_kept','{"id":12,"trust":"unverified"}');
INSERT INTO "audit" VALUES(12,1.7956464389121091366e+09,'old','0ebe965060435c0a','ann','work_done','{"attempts":1,"id":1,"kind":"turn","seconds":0.0008561611175537109}');
INSERT INTO "audit" VALUES(13,1.79564643891843962663e+09,'old',NULL,'ann','file_written','{"lines":2,"path":"MEMORY.md"}');
CREATE TABLE loopwright_rooms (room TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
INSERT INTO "loopwright_rooms" VALUES('memory',2);
INSERT INTO "loopwright_rooms" VALUES('work',2);
INSERT INTO "loopwright_rooms" VALUES('audit',1);
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
, user TEXT, sensitivity INTEGER NOT NULL DEFAULT 1, used INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "memories" VALUES(1,1,0,NULL,'old',1,'The main valve is open.',NULL,NULL,'[]','[]',3,0.5,NULL,1.79564643823751258848e+09,NULL,1.79564643823751258848e+09,1,-7992049561790658733,4866304840493479478,NULL,1,0);
INSERT INTO "memories" VALUES(2,2,0,NULL,'old',1,'Use C.',NULL,NULL,'[]','["Use"]',2,0.5,NULL,1.79564643826425933839e+09,NULL,1.79564643826425933839e+09,1,-4660375889359527746,-497159276302491972,NULL,1,0);
INSERT INTO "memories" VALUES(3,3,0,NULL,'old',1,'Zoë lives in Oslo.',NULL,NULL,'[]','["Oslo"]',2,0.5,NULL,1.7956464382646245957e+09,NULL,1.7956464382646245957e+09,1,2840425555129883662,-1779127092707122798,'ann',1,0);
INSERT INTO "memories" VALUES(4,4,0,NULL,'old',1,'I prefer tabs.',NULL,'preference','[]','[]',2,0.5,NULL,1.79564643826480031018e+09,NULL,1.79564643826480031018e+09,1,-3382608754259838164,2997673980512109238,'ann',1,0);
INSERT INTO "memories" VALUES(5,5,0,NULL,'old',1,'Answer in German.',NULL,'preference','[]','["German"]',2,0.5,NULL,1.79564643826491808888e+09,NULL,1.79564643826491808888e+09,1,2031124855206679396,8145620077457067201,'ann',1,0);
INSERT INTO "memories" VALUES(6,6,0,NULL,'old',1,'Be brief.',NULL,'preference','[]','[]',2,0.5,NULL,1.7956464382650196552e+09,NULL,1.7956464382650196552e+09,1,-4013078087393593604,-2538235513135681519,NULL,1,0);
INSERT INTO "memories" VALUES(7,7,0,NULL,'old',0,'I take the train to Bergen.',NULL,NULL,'[]','["Bergen"]',2,0.5,NULL,1.79564643826511383052e+09,NULL,1.79564643826511383052e+09,1,-1232787493742189713,-5590814720165740650,NULL,1,0);
INSERT INTO "memories" VALUES(8,8,0,NULL,'old',0,'I take the train to Bergen.',NULL,NULL,'[]','["Bergen"]',2,0.5,NULL,1.79564643826521515845e+09,NULL,1.79564643826521515845e+09,1,-1232787493742189713,-5590814720165740650,NULL,1,0);
INSERT INTO "memories" VALUES(9,10,1,NULL,'old',1,'An old secret name: Rumpelstilzchen.',NULL,NULL,'[]','[]',1,0.5,NULL,1.79564643826530456541e+09,NULL,1.79564643827029299738e+09,1,5031222585147555647,8012983133262667758,NULL,1,0);
INSERT INTO "memories" VALUES(10,11,0,NULL,'old',1,'My dog is called Biscuit.',NULL,'fact','[]','["Biscuit"]',2,0.7,1.79564643829846334452e+09,1.7956464389110445976e+09,NULL,1.7956464389110445976e+09,1,-8831650707999937730,4023480041529132819,'ann',1,0);
INSERT INTO "memories" VALUES(11,11,0,NULL,'old',0,'What do you think?','ann','prompt','[]','[]',2,0.4,1.79564643829846334452e+09,1.7956464389110445976e+09,NULL,1.7956464389110445976e+09,1,8621190973679463412,8357656846571841613,'ann',1,0);
INSERT INTO "memories" VALUES(12,11,0,NULL,'old',0,'The user asked: What do you think?
It was answered: Nice.',NULL,'summary','["dog","called","biscuit","think","nice"]','["Biscuit"]',1,6.00000000000000088817e-01,1.79564643829846334452e+09,1.7956464389110445976e+09,NULL,1.7956464389110445976e+09,1,2303264120673448675,-5649325974392774573,'ann',1,0);
CREATE TABLE memory_derivations (
    child INTEGER NOT NULL REFERENCES memories (id),
    parent INTEGER NOT NULL REFERENCES memories (id),
    PRIMARY KEY (child, parent)
) STRICT, WITHOUT ROWID;
INSERT INTO "memory_derivations" VALUES(12,10);
INSERT INTO "memory_derivations" VALUES(12,11);
CREATE TABLE memory_episodes (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    run TEXT NOT NULL,
    topics TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    turns INTEGER NOT NULL,
    consolidated INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "memory_episodes" VALUES(12,'0ebe965060435c0a','["dog","called","biscuit","think","nice"]',1.79564643827322459215e+09,1.79564643829846334452e+09,1,0);
CREATE TABLE memory_files (
    path TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (id),
    line TEXT NOT NULL,
    PRIMARY KEY (path, memory)
) STRICT, WITHOUT ROWID;
INSERT INTO "memory_files" VALUES('MEMORY.md',4,'I prefer tabs.');
INSERT INTO "memory_files" VALUES('MEMORY.md',5,'Answer in German.');
CREATE TABLE memory_notes (name TEXT PRIMARY KEY, value REAL NOT NULL) STRICT;
CREATE TABLE memory_reflections (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    confidences REAL NOT NULL,
    count INTEGER NOT NULL,
    last_at REAL NOT NULL
) STRICT;
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
INSERT INTO "memory_relations" VALUES(1,'Rumpelstilzchen','rumpelstilzchen','knows','Ann','ann',NULL,9,1,1.79564643826989865302e+09,1.7956464382703211307e+09);
CREATE TABLE memory_sources (
    memory INTEGER NOT NULL REFERENCES memories (id),
    source TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (memory, source, trust)
) STRICT, WITHOUT ROWID;
INSERT INTO "memory_sources" VALUES(1,'inspection',3,1.79564643823751258848e+09);
INSERT INTO "memory_sources" VALUES(10,'run 0ebe965060435c0a',2,1.7956464389110445976e+09);
INSERT INTO "memory_sources" VALUES(11,'run 0ebe965060435c0a',2,1.7956464389110445976e+09);
INSERT INTO "memory_sources" VALUES(12,'run 0ebe965060435c0a',1,1.7956464389110445976e+09);
CREATE TABLE memory_supports (
    memory INTEGER NOT NULL REFERENCES memories (id),
    event TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (memory, event)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory_vectors (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL
) STRICT;
CREATE TABLE work (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    payload TEXT,
    queued_at REAL NOT NULL,
    due_at REAL NOT NULL,
    started_at REAL,
    ended_at REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    lease REAL,
    error TEXT,
    UNIQUE (kind, name)
) STRICT;
INSERT INTO "work" VALUES(1,'turn','0ebe965060435c0a',2,NULL,1.79564643830510210992e+09,1.79564643830510210992e+09,1.7956464383149535656e+09,1.79564643891190075879e+09,1,NULL,NULL,NULL);
CREATE TABLE work_turns (
    run TEXT PRIMARY KEY,
    journal TEXT NOT NULL,
    about TEXT NOT NULL,
    begun_at REAL NOT NULL,
    owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX memories_by_revision ON memories (revision);
CREATE INDEX memories_by_fingerprint ON memories (fingerprint, kind) WHERE state = 0;
CREATE INDEX memory_derivations_by_parent ON memory_derivations (parent);
CREATE INDEX memory_relations_by_subject ON memory_relations (subject_key) WHERE forgotten_at IS NULL;
CREATE INDEX memory_relations_by_object ON memory_relations (object_key) WHERE forgotten_at IS NULL;
CREATE INDEX memory_relations_by_memory ON memory_relations (memory) WHERE memory IS NOT NULL;
CREATE INDEX work_by_state ON work (state, due_at);
CREATE INDEX audit_by_type ON audit (type, id);
CREATE INDEX audit_by_session ON audit (session, id);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit only grows'); END;
CREATE TRIGGER audit_is_not_dropped BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit only grows'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('memories',12);
INSERT INTO "sqlite_sequence" VALUES('memory_relations',1);
INSERT INTO "sqlite_sequence" VALUES('audit',13);
INSERT INTO "sqlite_sequence" VALUES('work',1);
COMMIT;
