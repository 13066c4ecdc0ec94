//! Schema versions 2 and 3, documented in `docs/reference/store.md`. Version 3 is version 2 with the table of traces:
//! only a store with a trace has it. Version 1, only read, lacks digests and `tests`.

use crate::error::shown;

/// `PRAGMA application_id` of a store: "pclb".
pub const APPLICATION_ID: i64 = 0x7063_6c62;

/// `PRAGMA user_version` of a store without traces: the version of its schema.
pub const SCHEMA_VERSION: i64 = 2;

/// The same of a store with traces; the newest schema.
pub const TRACED_SCHEMA_VERSION: i64 = 3;

/// Oldest schema that can be read.
pub const OLDEST_SCHEMA_VERSION: i64 = 1;

/// The tables. Deleting a test deletes its results, which is how an interrupted test is replaced.
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

/// The table that only schema 3 has.
pub(crate) const TRACE: &str = r#"CREATE TABLE trace (
    test INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE,
    "index" INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('tlp', 'phase', 'counter')),
    lane TEXT NOT NULL,
    name TEXT NOT NULL,
    start_ps INTEGER NOT NULL CHECK (start_ps >= 0),
    end_ps INTEGER NOT NULL CHECK (end_ps >= start_ps),
    request INTEGER,
    tag INTEGER,
    address INTEGER,
    bytes INTEGER,
    value INTEGER,
    PRIMARY KEY (test, "index")
) STRICT, WITHOUT ROWID"#;

/// `test` of schema 1.
pub(crate) const TEST_1: &str = r#"CREATE TABLE test (
    id INTEGER PRIMARY KEY CHECK (id >= 0),
    family TEXT NOT NULL,
    name TEXT NOT NULL,
    parameters TEXT NOT NULL CHECK (json_valid(parameters)),
    status TEXT NOT NULL CHECK (status IN ('ok', 'not-supported', 'failed', 'interrupted')),
    message TEXT
) STRICT"#;

/// The only table that schema 1 lacks.
const DIGEST: &str = "digest";

/// Name and text of each table of a schema, as SQLite keeps them.
fn tables(schema: i64) -> impl Iterator<Item = (&'static str, &'static str)> {
    let statements = TABLES.split(';').map(str::trim).filter(|text| !text.is_empty());
    let named = statements.filter_map(|text| Some((text.split_whitespace().nth(2)?, text)));
    let oldest = schema == OLDEST_SCHEMA_VERSION;
    let traced = (schema == TRACED_SCHEMA_VERSION).then_some(("trace", TRACE));
    named
        .chain(traced)
        .filter(move |(name, _)| !oldest || *name != DIGEST)
        .map(move |(name, text)| (name, if oldest && name == "test" { TEST_1 } else { text }))
}

/// An entry of `sqlite_schema`: `table`, `index`, `view` or `trigger`; its name, table and text.
pub(crate) type Entry = (String, String, String, Option<String>);

/// Entries to read of a schema: more than any store has.
pub(crate) const ENTRIES_MOST: usize = 32;

/// The first entry that differs from those that pcielab writes in a schema; None if all agree.
pub(crate) fn wrong_entry(schema: i64, entries: &[Entry]) -> Option<String> {
    let text_of = |wanted: &str| tables(schema).find(|(name, _)| *name == wanted).map(|(_, text)| text);
    let wrong = |(kind, name, table, sql): &Entry| {
        let shown = shown(name);
        match (kind.as_str(), text_of(name)) {
            ("table", Some(text)) if sql.as_deref() == Some(text) => None,
            ("table", Some(_)) => Some(format!("`{shown}` is another table than pcielab's")),
            // SQLite's own index of a text key.
            ("index", None) if sql.is_none() && *name == format!("sqlite_autoindex_{table}_1") => None,
            ("index", _) => Some(format!("`{shown}` is an index that no store has")),
            (kind @ ("view" | "trigger"), Some(_)) => Some(format!("`{shown}` is a {kind}")),
            (kind @ ("table" | "view" | "trigger"), None) => {
                Some(format!("`{shown}` is a {kind} that no store has"))
            }
            _ => Some(format!("`{shown}` is nothing that a store has")),
        }
    };
    let missing = || {
        let lacks = |name: &str| !entries.iter().any(|(kind, found, ..)| kind == "table" && found == name);
        self::tables(schema)
            .map(|(name, _)| name)
            .find(|name| lacks(name))
            .map(|name| format!("`{name}` is missing"))
    };
    // Views and triggers, which SQLite would execute, are reported before tables.
    let (tables, others): (Vec<_>, Vec<_>) = entries.iter().partition(|(kind, ..)| kind == "table");
    others.into_iter().chain(tables).find_map(wrong).or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    fn entries(connection: &Connection) -> Vec<Entry> {
        let mut statement =
            connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").unwrap();
        let entry = |row: &rusqlite::Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        statement.query_map([], entry).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn own_tables_are_accepted_in_their_schema_only() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(TABLES).unwrap();
        assert_eq!(wrong_entry(2, &entries(&connection)), None);
        assert_eq!(wrong_entry(3, &entries(&connection)).as_deref(), Some("`trace` is missing"));
        connection.execute_batch(TRACE).unwrap();
        assert_eq!(wrong_entry(3, &entries(&connection)), None);
        let untraced = Some("`trace` is a table that no store has");
        assert_eq!(wrong_entry(2, &entries(&connection)).as_deref(), untraced);
        connection.execute_batch("DROP TABLE trace").unwrap();
        let other_test = Some("`test` is another table than pcielab's");
        assert_eq!(wrong_entry(1, &entries(&connection)).as_deref(), other_test);
        connection.execute_batch(&format!("DROP TABLE digest; DROP TABLE test; {TEST_1}")).unwrap();
        assert_eq!(wrong_entry(1, &entries(&connection)), None);
        assert_eq!(wrong_entry(2, &entries(&connection)).as_deref(), other_test);
        assert!(entries(&connection).len() < ENTRIES_MOST);
    }

    #[test]
    fn foreign_and_missing_entries_are_named() {
        for (sql, expected) in [
            ("CREATE VIEW more AS SELECT 1", "`more` is a view that no store has"),
            ("CREATE TABLE more (id)", "`more` is a table that no store has"),
            ("CREATE INDEX more ON test (name)", "`more` is an index"),
            ("CREATE TRIGGER more AFTER INSERT ON test BEGIN SELECT 1; END", "`more` is a trigger"),
            ("DROP TABLE series", "`series` is missing"),
            ("ALTER TABLE series RENAME TO old; CREATE VIEW series AS SELECT 1", "`series` is a view"),
            ("ALTER TABLE series ADD COLUMN more TEXT", "`series` is another table"),
            ("CREATE VIRTUAL TABLE more USING fts5(a)", "`more` is a table that no store has"),
            ("ANALYZE", "`sqlite_stat1` is a table that no store has"),
        ] {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(TABLES).unwrap();
            connection.execute_batch("INSERT INTO digest VALUES ('manifest', '')").unwrap();
            connection.execute_batch(sql).unwrap();
            let wrong = wrong_entry(2, &entries(&connection)).unwrap_or_default();
            assert!(wrong.contains(expected), "{sql}: {wrong}");
        }
    }
}
