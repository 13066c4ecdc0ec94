//! Writing a store: creating it, appending tests, going on with one that was left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::file;
use crate::manifest::Manifest;
use crate::record::{Status, TestRecord};
use crate::schema::{APPLICATION_ID, SCHEMA_VERSION, TABLES};

/// A store that is being written.
///
/// Readers may look at it meanwhile. [`Store::close`] leaves one complete file; a store that was merely dropped, or
/// whose process was killed, has everything that was written too, perhaps in a log beside it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

/// A store that was left before its run was complete, ready to be written again.
#[derive(Debug)]
pub struct Resumed {
    /// The store.
    pub store: Store,
    /// What the run was of; the caller decides whether it is the run that it wants to go on with.
    pub manifest: Manifest,
    /// The tests that need not be run again. Interrupted ones are not among them; writing one replaces it.
    pub finished: BTreeSet<u64>,
}

impl Store {
    /// Creates a store at `path`. With `overwrite`, a file that is there is replaced, but only once the new one
    /// exists with its manifest.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotAFile`], [`Error::Unwritable`], and [`Error::InUse`] if another process has
    /// the store that would be replaced open. The path is then as it was.
    pub fn create(path: impl AsRef<Path>, manifest: &Manifest, overwrite: bool) -> Result<Self> {
        let path = path.as_ref();
        file::put_in_place(path, overwrite, |connection| write_schema(connection, manifest))?;
        Self::begin(file::open(path)?, path)
    }

    /// Opens a store that was left, however its writer ended, to go on writing it.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotAStore`], [`Error::NewerSchema`], [`Error::Unwritable`], and
    /// [`Error::InUse`] if another process has it open.
    pub fn open_for_resume(path: impl AsRef<Path>) -> Result<Resumed> {
        let path = path.as_ref();
        let connection = file::open(path)?;
        file::fold(&connection, path)?;
        let store = Self::begin(connection, path)?;
        let manifest = store.read_manifest()?;
        let finished = store.read_finished()?;
        Ok(Resumed { store, manifest, finished })
    }

    fn begin(connection: Connection, path: &Path) -> Result<Self> {
        let store = Self { path: path.to_owned(), connection };
        // NORMAL loses nothing when the process is killed, only when the machine is. The first read takes the lock
        // by which other processes see that the store is in use.
        store
            .connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
                 SELECT count(*) FROM manifest;",
            )
            .map_err(|source| store.failed(source))?;
        Ok(store)
    }

    /// The path that the store was created or opened at.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a test, in one transaction. A test that is there as interrupted is replaced.
    ///
    /// # Errors
    /// [`Error::Record`] if the id is taken, the parameters are not a JSON object, a number is not finite, or a
    /// metric occurs twice; [`Error::Sqlite`] if writing fails. Nothing of the test is stored then.
    pub fn write_test(&mut self, test: &TestRecord) -> Result<()> {
        check_parameters(test)?;
        check_numbers(test)?;
        let path = self.path.clone();
        let failed = |source| Error::Sqlite { path: path.clone(), source };
        let transaction = self.connection.transaction().map_err(failed)?;
        if let Some(status) = make_room(&transaction, test.id).map_err(failed)? {
            let found = format!("the id of a test that is stored as {status}");
            return Err(refused(test, "the id", found, "new, or that of an interrupted test"));
        }
        insert(&transaction, test).map_err(|source| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ConstraintViolation) => {
                refused(test, "a metric, bin or count", source.to_string(), "there once, and below 2^63")
            }
            _ => failed(source),
        })?;
        transaction.commit().map_err(failed)
    }

    /// Keeps a text beside the numbers.
    ///
    /// # Errors
    /// [`Error::AttachmentExists`] if the name is taken, [`Error::Sqlite`] if writing fails.
    pub fn attach(&mut self, name: &str, content: &str) -> Result<()> {
        let stored = self
            .connection
            .execute("INSERT OR IGNORE INTO attachment VALUES (?1, ?2)", [name, content])
            .map_err(|source| self.failed(source))?;
        if stored == 0 { Err(Error::AttachmentExists { name: name.to_owned() }) } else { Ok(()) }
    }

    /// Sets a key of the manifest, for what is known only once the run is under way.
    ///
    /// # Errors
    /// [`Error::Sqlite`] if writing fails.
    pub fn set_manifest(&mut self, key: &str, value: &Value) -> Result<()> {
        self.connection
            .execute(
                "INSERT INTO manifest VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [key, &value.to_string()],
            )
            .map_err(|source| self.failed(source))?;
        Ok(())
    }

    /// Folds everything into the one file and closes it. A reader that still looks at the store keeps its empty log
    /// alive until it closes; the file is complete without it.
    ///
    /// # Errors
    /// [`Error::InUse`] if a reader is in the middle of a query and keeps the log from being folded in: everything
    /// is stored nevertheless, partly in the log. [`Error::Sqlite`] if writing fails.
    pub fn close(self) -> Result<()> {
        file::checkpoint(&self.connection, &self.path)?;
        match file::fold(&self.connection, &self.path) {
            Ok(()) | Err(Error::InUse { .. }) => (),
            Err(error) => return Err(error),
        }
        let Self { path, connection } = self;
        connection.close().map_err(|(_, source)| Error::Sqlite { path, source })
    }

    fn read_manifest(&self) -> Result<Manifest> {
        let mut entries = Map::new();
        let rows = self.read("SELECT key, value FROM manifest ORDER BY rowid", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        for (key, text) in rows {
            let value = serde_json::from_str::<Value>(&text).map_err(|error| Error::Manifest {
                key: key.clone(),
                found: format!("{text:?} ({error})"),
                expected: "JSON".to_owned(),
            })?;
            entries.insert(key, value);
        }
        Ok(Manifest::stored(entries))
    }

    fn read_finished(&self) -> Result<BTreeSet<u64>> {
        let ids = self.read("SELECT id FROM test WHERE status <> 'interrupted'", |row| row.get(0))?;
        Ok(ids.into_iter().map(i64::cast_unsigned).collect())
    }

    fn read<T>(&self, query: &str, map: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>) -> Result<Vec<T>> {
        self.connection
            .prepare(query)
            .and_then(|mut statement| statement.query_map([], map)?.collect())
            .map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Sqlite { path: self.path.clone(), source }
    }
}

fn write_schema(connection: &Connection, manifest: &Manifest) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.execute_batch(TABLES)?;
    for (key, value) in manifest.iter() {
        transaction.execute("INSERT INTO manifest VALUES (?1, ?2)", [key, &value.to_string()])?;
    }
    transaction.commit()
}

/// Deletes the test if it is stored as interrupted; its status if it is stored as anything else.
fn make_room(transaction: &Transaction, id: u64) -> rusqlite::Result<Option<String>> {
    transaction
        .prepare_cached("DELETE FROM test WHERE id = ?1 AND status = ?2")?
        .execute(params![id.cast_signed(), Status::Interrupted.as_str()])?;
    transaction
        .prepare_cached("SELECT status FROM test WHERE id = ?1")?
        .query_row([id.cast_signed()], |row| row.get(0))
        .optional()
}

fn insert(transaction: &Transaction, test: &TestRecord) -> rusqlite::Result<()> {
    let id = test.id.cast_signed();
    transaction.prepare_cached("INSERT INTO test VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        id,
        test.family,
        test.name,
        test.parameters,
        test.status.as_str(),
        test.message
    ])?;
    let mut statement = transaction.prepare_cached("INSERT INTO scalar VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for scalar in &test.scalars {
        statement.execute(params![id, scalar.subject, scalar.metric, scalar.unit, scalar.value])?;
    }
    let mut statement = transaction.prepare_cached("INSERT INTO distribution VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for distribution in &test.distributions {
        for &(bin, count) in &distribution.bins {
            statement.execute(params![
                id,
                distribution.metric,
                distribution.tick,
                bin,
                count.cast_signed()
            ])?;
        }
    }
    let mut statement = transaction.prepare_cached("INSERT INTO series VALUES (?1, ?2, ?3, ?4)")?;
    for series in &test.series {
        for (index, value) in (0_i64..).zip(&series.values) {
            statement.execute(params![id, series.metric, index, value])?;
        }
    }
    Ok(())
}

fn check_parameters(test: &TestRecord) -> Result<()> {
    match serde_json::from_str::<Value>(&test.parameters) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(refused(test, "`parameters`", test.parameters.clone(), "a JSON object")),
    }
}

fn check_numbers(test: &TestRecord) -> Result<()> {
    let scalars = test.scalars.iter().map(|scalar| (&scalar.metric, scalar.value));
    let series =
        test.series.iter().flat_map(|series| series.values.iter().map(|&value| (&series.metric, value)));
    match scalars.chain(series).find(|(_, value)| !value.is_finite()) {
        Some((metric, value)) => Err(refused(test, &format!("`{metric}`"), value.to_string(), "finite")),
        None => Ok(()),
    }
}

fn refused(test: &TestRecord, what: &str, found: String, expected: &'static str) -> Error {
    Error::Record { id: test.id, what: what.to_owned(), found, expected }
}

#[cfg(test)]
mod tests;
