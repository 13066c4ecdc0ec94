//! SQL of manifests, tests and attachments, always with their digests.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use serde_json::Value;

use crate::digest;
use crate::manifest::{Manifest, TESTS};
use crate::record::{Status, TestRecord};
use crate::schema::{APPLICATION_ID, TABLES, TRACE, TRACED_SCHEMA_VERSION};

pub(super) fn write_schema(connection: &mut Connection, manifest: &Manifest) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", manifest.schema())?;
    transaction.execute_batch(TABLES)?;
    if manifest.schema() == TRACED_SCHEMA_VERSION {
        transaction.execute_batch(TRACE)?;
    }
    for (key, value) in manifest.iter() {
        transaction.execute("INSERT INTO manifest VALUES (?1, ?2)", [key, &value.to_string()])?;
    }
    seal(&transaction, "manifest", MANIFEST)?;
    seal(&transaction, "attachments", ATTACHMENTS)?;
    transaction.commit()
}

const MANIFEST: &str = "SELECT key, value FROM manifest ORDER BY rowid";
const ATTACHMENTS: &str = "SELECT name, content FROM attachment ORDER BY name";

/// Stores the digest of a table of two text columns.
fn seal(transaction: &Transaction, part: &str, query: &str) -> rusqlite::Result<()> {
    let rows: Vec<(String, String)> = transaction
        .prepare(query)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let digest = digest::of_texts(rows.iter().map(|(first, second)| (first.as_str(), second.as_str())));
    transaction.execute("INSERT OR REPLACE INTO digest VALUES (?1, ?2)", [part, &digest]).map(drop)
}

/// Sets a key of the manifest; an existing key keeps its position.
pub(super) fn set_manifest(connection: &mut Connection, key: &str, value: &Value) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute(
        "INSERT INTO manifest VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [key, &value.to_string()],
    )?;
    seal(&transaction, "manifest", MANIFEST)?;
    transaction.commit()
}

/// Sets the manifest's `tests` to the number of stored tests, unless it is set.
pub(super) fn count_tests(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute("INSERT OR IGNORE INTO manifest SELECT ?1, count(*) FROM test", [TESTS])?;
    seal(&transaction, "manifest", MANIFEST)?;
    transaction.commit()
}

/// Stores a text; false if the name exists.
pub(super) fn attach(connection: &mut Connection, name: &str, content: &str) -> rusqlite::Result<bool> {
    let transaction = connection.transaction()?;
    let stored = transaction.execute("INSERT OR IGNORE INTO attachment VALUES (?1, ?2)", [name, content])?;
    seal(&transaction, "attachments", ATTACHMENTS)?;
    transaction.commit()?;
    Ok(stored > 0)
}

/// Deletes an interrupted test; returns the status of any other test with this id.
pub(super) fn make_room(transaction: &Transaction, id: u64) -> rusqlite::Result<Option<String>> {
    transaction
        .prepare_cached("DELETE FROM test WHERE id = ?1 AND status = ?2")?
        .execute(params![id.cast_signed(), Status::Interrupted.as_str()])?;
    transaction
        .prepare_cached("SELECT status FROM test WHERE id = ?1")?
        .query_row([id.cast_signed()], |row| row.get(0))
        .optional()
}

pub(super) fn insert(transaction: &Transaction, test: &TestRecord) -> rusqlite::Result<()> {
    let id = test.id.cast_signed();
    transaction.prepare_cached("INSERT INTO test VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        id,
        test.family,
        test.name,
        test.parameters,
        test.status.as_str(),
        test.message,
        digest::of_test(test)
    ])?;
    let mut statement = transaction.prepare_cached("INSERT INTO scalar VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for scalar in &test.scalars {
        statement.execute(params![id, scalar.subject, scalar.metric, scalar.unit, scalar.value])?;
    }
    let mut statement = transaction.prepare_cached("INSERT INTO distribution VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for distribution in &test.distributions {
        for &(bin, count) in &distribution.bins {
            let count = count.cast_signed();
            statement.execute(params![id, distribution.metric, distribution.tick, bin, count])?;
        }
    }
    let mut statement = transaction.prepare_cached("INSERT INTO series VALUES (?1, ?2, ?3, ?4)")?;
    for series in &test.series {
        for (index, value) in (0_i64..).zip(&series.values) {
            statement.execute(params![id, series.metric, index, value])?;
        }
    }
    if test.trace.is_empty() {
        return Ok(());
    }
    let mut statement = transaction
        .prepare_cached("INSERT INTO trace VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")?;
    for (index, segment) in (0_i64..).zip(&test.trace) {
        statement.execute(params![
            id,
            index,
            segment.kind.as_str(),
            segment.lane,
            segment.name,
            segment.start_ps.cast_signed(),
            segment.end_ps.cast_signed(),
            segment.request.map(u64::cast_signed),
            segment.tag,
            segment.address.map(u64::cast_signed),
            segment.bytes.map(u64::cast_signed),
            segment.value,
        ])?;
    }
    Ok(())
}
