//! Restrictions on SQLite for foreign files: nothing in a file is executed.
//!
//! Views, triggers and extensions are off. Texts, memory and work have limits: a crafted file can describe a
//! tree with endless rows, but cannot hold more rows than it has bytes.

use std::cell::Cell;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::ffi;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, Result};

use crate::file::beside;

/// Memory limit of SQLite in this process, bytes: its caches take a few MB.
const HEAP_BYTES: i64 = 256 << 20;

/// Longest text of a store, bytes. The output of `lspci -vvv` on a large server is below 1 MB.
pub(crate) const TEXT_BYTES: i32 = 64 << 20;

/// Limits below SQLite's own, each well above the needs of this crate's queries.
const LIMITS: [(Limit, i32); 13] = [
    (Limit::SQLITE_LIMIT_LENGTH, TEXT_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 16 << 10),
    (Limit::SQLITE_LIMIT_COLUMN, 16),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 32),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 2),
    (Limit::SQLITE_LIMIT_VDBE_OP, 10_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 16),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    (Limit::SQLITE_LIMIT_SCHEMA, 64),
];

/// Abilities of SQLite, and whether they are allowed.
const ALLOWED: [(DbConfig, bool); 10] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
];

/// Restricts a connection before it reads its file.
pub(crate) fn restrict(connection: &Connection) -> Result<()> {
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    for (ability, allowed) in ALLOWED {
        connection.set_db_config(ability, allowed)?;
    }
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.query_row(&format!("PRAGMA hard_heap_limit = {HEAP_BYTES}"), [], |_| Ok(()))
}

/// SQLite instructions between two checks of the limit: less than a millisecond.
const CHECK_INSTRUCTIONS: i32 = 4096;
/// Instructions allowed for any file, and for each byte of it; reading takes less than one a byte.
const INSTRUCTIONS: u64 = 10_000_000;
const INSTRUCTIONS_PER_BYTE: u64 = 16;

/// Called every few milliseconds while a store is read or written; true stops that.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// A [`Stop`] that never stops.
pub(crate) fn never() -> Stop {
    Arc::new(|| false)
}

/// Ends every query once `stop` is true, or the work exceeds that of any store of `file_bytes`.
pub(crate) fn watch(connection: &mut Connection, file_bytes: u64, stop: Stop) -> Result<()> {
    let allowed = file_bytes.saturating_mul(INSTRUCTIONS_PER_BYTE).saturating_add(INSTRUCTIONS);
    let mut checks = allowed / u64::from(CHECK_INSTRUCTIONS.unsigned_abs());
    let is_over = move || {
        checks = checks.saturating_sub(1);
        checks == 0 || stop()
    };
    connection.progress_handler(CHECK_INSTRUCTIONS, Some(is_over))
}

/// Ends every query once `stop` is true.
pub(crate) fn ask(connection: &mut Connection, stop: Stop) -> Result<()> {
    connection.progress_handler(CHECK_INSTRUCTIONS, Some(move || stop()))
}

/// Removes the limit on work, before a store is written.
pub(crate) fn unwatch(connection: &mut Connection) -> Result<()> {
    connection.progress_handler(0, None::<fn() -> bool>)
}

/// Bytes that may still be read of a store.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: Cell<u64>,
}

/// Least bytes of a row in a file.
const ROW_BYTES: u64 = 4;

impl Allowance {
    /// The contents of a file of this size.
    pub(crate) fn of(file_bytes: u64) -> Self {
        Self { left: Cell::new(file_bytes) }
    }

    /// Counts a row with these texts. Fails beyond the file's size: then pages are referenced repeatedly.
    pub(crate) fn row(&self, texts: &[&str]) -> Result<()> {
        let bytes = texts.iter().map(|text| text.len() as u64).fold(ROW_BYTES, u64::saturating_add);
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                let corrupt = ffi::Error::new(ffi::SQLITE_CORRUPT);
                Err(Error::SqliteFailure(corrupt, Some("it holds more than its file can".to_owned())))
            }
        }
    }
}

/// Highest compression of file systems. Sparse files hold less than their length.
const PACKED: u64 = 64;
const BLOCK_BYTES: u64 = 512;
const LEAST_BYTES: u64 = 1 << 20;

/// Bytes of a store's file and log.
pub(crate) fn bytes_of(path: &Path) -> u64 {
    let of = |path: &Path| path.metadata().as_ref().map_or(0, held_bytes);
    of(path).saturating_add(of(&beside(path, "-wal")))
}

fn held_bytes(file: &Metadata) -> u64 {
    file.len().min(file.blocks().saturating_mul(BLOCK_BYTES * PACKED).saturating_add(LEAST_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_limited_by_the_size_of_the_file() {
        let allowance = Allowance::of(100);
        allowance.row(&["x".repeat(40).as_str(), "y"]).unwrap();
        allowance.row(&["x".repeat(51).as_str()]).unwrap();
        assert!(allowance.row(&[]).unwrap_err().to_string().contains("more than its file can"));
    }

    #[test]
    fn endless_queries_are_interrupted() {
        let mut connection = Connection::open_in_memory().unwrap();
        restrict(&connection).unwrap();
        watch(&mut connection, 1000, never()).unwrap();
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
        let ended = connection.query_row(endless, [], |_| Ok(())).unwrap_err();
        assert_eq!(ended.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
        watch(&mut connection, u64::MAX, Arc::new(|| true)).unwrap();
        assert!(connection.query_row(endless, [], |_| Ok(())).is_err());
        unwatch(&mut connection).unwrap();
        let long = endless.replace("FROM n) ", "FROM n WHERE i < 100000) ");
        connection.query_row(&long, [], |_| Ok(())).unwrap();
    }

    #[test]
    fn memory_and_texts_are_limited() {
        let connection = Connection::open_in_memory().unwrap();
        restrict(&connection).unwrap();
        for (limit, most) in LIMITS {
            assert_eq!(connection.limit(limit).unwrap(), most, "{limit:?}");
        }
        let long = connection.query_row("SELECT length(hex(zeroblob(60000000)))", [], |_| Ok(()));
        assert!(long.is_err(), "a text of 120 MB");
        let heap: i64 = connection.query_row("PRAGMA hard_heap_limit", [], |row| row.get(0)).unwrap();
        assert_eq!(heap, HEAP_BYTES);
    }
}
