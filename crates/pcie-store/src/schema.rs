//! Schema version 2, as `docs/reference/store.md` documents it. Version 1 had neither the digests nor the manifest's
//! `tests`; it is read and no longer written.

/// `PRAGMA application_id` of a store: "pclb".
pub const APPLICATION_ID: i64 = 0x7063_6c62;

/// `PRAGMA user_version` of a store: the version of its schema.
pub const SCHEMA_VERSION: i64 = 2;

/// The oldest schema that is read.
pub const OLDEST_SCHEMA_VERSION: i64 = 1;

/// The tables. Deleting a test deletes its numbers: that is how a test that was interrupted is replaced.
pub(crate) const TABLES: &str = r#"
CREATE TABLE manifest (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK (json_valid(value))
) STRICT;

CREATE TABLE test (
    id INTEGER PRIMARY KEY CHECK (id >= 0),
    family TEXT NOT NULL,
    name TEXT NOT NULL,
    parameters TEXT NOT NULL CHECK (json_valid(parameters)),
    status TEXT NOT NULL CHECK (status IN ('ok', 'not-supported', 'failed', 'interrupted')),
    message TEXT,
    digest TEXT NOT NULL
) STRICT;

CREATE TABLE scalar (
    test INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE,
    subject TEXT NOT NULL,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (test, subject, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE distribution (
    test INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    tick TEXT NOT NULL,
    bin INTEGER NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (test, metric, bin)
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
    test INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (test, metric, "index")
) STRICT, WITHOUT ROWID;

CREATE TABLE attachment (
    name TEXT PRIMARY KEY,
    content TEXT NOT NULL
) STRICT;

CREATE TABLE digest (
    part TEXT PRIMARY KEY CHECK (part IN ('manifest', 'attachments')),
    digest TEXT NOT NULL
) STRICT;
"#;
