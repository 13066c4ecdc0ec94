//! Writing of stores: create, append tests, resume.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use pcie_output::Beside;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::damage::Damage;
use crate::error::{Error, Result};
use crate::file;
use crate::guard::{self, Stop};
use crate::manifest::{Manifest, TESTS};
use crate::numbers::{Known, WrongNumber, wrong_number};
use crate::read::{self, Contents};
use crate::record::{Status, TestRecord};

mod rows;

/// A store that is being written.
///
/// Readers may open it meanwhile; the manifest's `tests` shows them how much is still to come.
/// [`Store::close`] leaves one complete file; a store that was dropped, or whose process was killed, also
/// keeps everything written, perhaps in a log beside it. One from [`Store::create_beside`] appears when
/// closed.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Declared before `beside`, so that it is closed before the temporary folder is removed.
    connection: Connection,
    schema: i64,
    beside: Option<Beside>,
    overwrite: bool,
}

/// Bound on the bytes of a row besides its texts.
const ROW_HEAD_BYTES: usize = 64;

/// A store of an incomplete run, open to resume it.
#[derive(Debug)]
pub struct Resumed {
    /// The store.
    pub store: Store,
    /// Manifest of the run; the caller checks that it is the run to resume.
    pub manifest: Manifest,
    /// Finished tests. Interrupted ones are not among them; writing one replaces it.
    pub finished: BTreeSet<u64>,
}

impl Store {
    /// Creates a store at `path`, at once, for a run that can be resumed. `manifest` must have the number of
    /// tests in `tests`. With `overwrite`, it replaces a store, once the new one exists with its manifest.
    ///
    /// # Errors [`Error::Manifest`] without `tests`; [`Error::Output`] if the path is refused,
    /// [`Error::NotOverwritten`] if it holds no store, [`Error::InUse`] if it is open elsewhere. The path is
    /// then unchanged.
    pub fn create(path: impl AsRef<Path>, manifest: &Manifest, overwrite: bool) -> Result<Self> {
        let path = path.as_ref();
        if manifest.tests().is_none() {
            return Err(Error::Manifest {
                key: TESTS.to_owned(),
                found: manifest.get(TESTS).map_or_else(|| "missing".to_owned(), ToString::to_string),
                expected: "the number of tests of the run".to_owned(),
            });
        }
        let (beside, _) = prepared(path, manifest, overwrite)?;
        let path = beside.target().path.clone();
        file::remove_logs(beside.target())?;
        beside.put_file_in_place(overwrite)?;
        let (connection, schema) = file::open(&path)?;
        Self::begin(connection, schema, &path)
    }

    /// Creates a store that appears at `path` when it is closed, for results that are complete at once. With
    /// `overwrite`, it then replaces a store. A store that is dropped leaves nothing. A manifest without
    /// `tests` gets their number; other errors are those of [`Store::create`].
    pub fn create_beside(path: impl AsRef<Path>, manifest: &Manifest, overwrite: bool) -> Result<Self> {
        let path = path.as_ref();
        let (beside, fresh) = prepared(path, manifest, overwrite)?;
        let (connection, schema) = file::open(&fresh)?;
        let store = Self::begin(connection, schema, path)?;
        Ok(Self { beside: Some(beside), overwrite, ..store })
    }

    /// Opens a store to resume its run, however its writer ended.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotAStore`], [`Error::NewerSchema`], [`Error::OlderSchema`],
    /// [`Error::NotAllowed`], [`Error::Damaged`], and [`Error::InUse`] if another process has it open.
    pub fn open_for_resume(path: impl AsRef<Path>) -> Result<Resumed> {
        let path = path.as_ref();
        let (connection, contents, damage) = recovered(path)?;
        if !damage.is_empty() {
            return Err(Error::Damaged { path: path.to_owned(), damage });
        }
        Self::resumed(connection, path, contents)
    }

    /// Removes damaged tests, so that a resumed run repeats them, and returns the damage. A store without
    /// damage stays unchanged. [`Error::Damaged`] if more is damaged; else as [`Store::open_for_resume`].
    pub fn drop_damaged(path: impl AsRef<Path>) -> Result<Vec<Damage>> {
        let path = path.as_ref();
        let (connection, contents, damage) = recovered(path)?;
        if !damage.iter().all(Damage::is_of_tests) {
            return Err(Error::Damaged { path: path.to_owned(), damage });
        }
        if !damage.is_empty() {
            // A copy, because deleting in a damaged file may fail or cause more damage.
            let mut store = Self::create_beside(path, &contents.manifest, true)?;
            contents.tests.iter().try_for_each(|test| store.write_test(test))?;
            contents.attachments.iter().try_for_each(|(name, content)| store.attach(name, content))?;
            drop(connection);
            store.close()?;
        }
        Ok(damage)
    }

    fn resumed(connection: Connection, path: &Path, contents: Contents) -> Result<Resumed> {
        let done = contents.tests.iter().filter(|test| test.status != Status::Interrupted);
        Ok(Resumed {
            store: Self::begin(connection, contents.manifest.schema(), path)?,
            manifest: contents.manifest,
            finished: done.map(|test| test.id).collect(),
        })
    }

    fn begin(mut connection: Connection, schema: i64, path: &Path) -> Result<Self> {
        file::unfold(&connection, path)?;
        // NORMAL loses nothing if the process is killed, only if the machine crashes. The first read takes
        // the lock by which other processes see that the store is in use. No checkpoint on close: it hides
        // failures.
        guard::unwatch(&mut connection)
            .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
            .and_then(|_| {
                connection.execute_batch(
                    "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; SELECT count(*) FROM manifest;",
                )
            })
            .map_err(|source| file::failed(path, source))?;
        Ok(Self { path: path.to_owned(), connection, schema, beside: None, overwrite: false })
    }

    /// The path at which the store was created or opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a test in one transaction, or replaces an interrupted one.
    ///
    /// # Errors [`Error::Record`] if the id is taken, the parameters are not a JSON object of plain values, a
    /// number is none of [`metrics`](crate::metrics), or a metric occurs twice; [`Error::Sqlite`] if writing fails. Nothing is stored
    /// then.
    pub fn write_test(&mut self, test: &TestRecord) -> Result<()> {
        self.write_test_until(test, guard::never())
    }

    /// The same until `stop` returns true: an error then, and nothing is stored.
    pub fn write_test_until(&mut self, test: &TestRecord, stop: Stop) -> Result<()> {
        guard::ask(&mut self.connection, stop).map_err(|source| file::failed(&self.path, source))?;
        let written = self.written(test);
        guard::unwatch(&mut self.connection).map_err(|source| file::failed(&self.path, source))?;
        written
    }

    fn written(&mut self, test: &TestRecord) -> Result<()> {
        check(test)?;
        if self.schema != crate::TRACED_SCHEMA_VERSION && !test.trace.is_empty() {
            let found = "a trace".to_owned();
            return Err(refused(test, "`trace`", found, "none, or `trace_ns` to the manifest"));
        }
        let path = self.path.clone();
        let failed = |source| file::failed(&path, source);
        let transaction = self.connection.transaction().map_err(failed)?;
        if let Some(status) = rows::make_room(&transaction, test.id).map_err(failed)? {
            let found = format!("that of a test stored as {status}");
            return Err(refused(test, "the id", found, "a new one, or that of an interrupted test"));
        }
        rows::insert(&transaction, test).map_err(|source| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ConstraintViolation) => {
                refused(test, "a metric, bin or count", source.to_string(), "each once, and below 2^63")
            }
            _ => failed(source),
        })?;
        transaction.commit().map_err(failed)
    }

    /// Stores a text under a plain file name. [`Error::AttachmentExists`] if the name is taken,
    /// [`Error::AttachmentTooLong`], [`Error::Output`] if it is no plain file name, [`Error::Sqlite`] if
    /// writing fails.
    pub fn attach(&mut self, name: &str, content: &str) -> Result<()> {
        pcie_output::plain_file_name(name)?;
        // The row also holds the name.
        if content.len() + name.len() + ROW_HEAD_BYTES > guard::TEXT_BYTES.unsigned_abs() as usize {
            let (bytes, most) = (content.len(), guard::TEXT_BYTES);
            return Err(Error::AttachmentTooLong { name: name.to_owned(), bytes, most });
        }
        match rows::attach(&mut self.connection, name, content) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::AttachmentExists(name.to_owned())),
            Err(source) => Err(file::failed(&self.path, source)),
        }
    }

    /// Sets a key of the manifest during the run. [`Error::Sqlite`] if writing fails.
    pub fn set_manifest(&mut self, key: &str, value: &Value) -> Result<()> {
        rows::set_manifest(&mut self.connection, key, value)
            .map_err(|source| file::failed(&self.path, source))
    }

    /// Folds the log into the one file and closes it; a store from [`Store::create_beside`] moves to its
    /// path. Open readers keep an empty log alive until they close; the file is complete without it.
    ///
    /// # Errors
    /// [`Error::InUse`] if a query of a reader blocks the folding: everything is stored, partly in the log.
    /// [`Error::NotOnDisk`] if the disk fails: the log stays, and the run can be resumed. [`Error::Sqlite`]
    /// if writing fails, [`Error::Output`] if the store cannot move to its path.
    pub fn close(self) -> Result<()> {
        let Self { path, mut connection, beside, overwrite, .. } = self;
        if beside.is_some() {
            rows::count_tests(&mut connection).map_err(|source| file::failed(&path, source))?;
        }
        let folder = file::open_folder(&connection, &path)?;
        file::checkpoint(&connection, &path)?;
        match file::fold(&connection, &path) {
            Ok(()) | Err(Error::InUse { .. }) => (),
            Err(error) => return Err(error),
        }
        connection.close().map_err(|(_, source)| file::failed(&path, source))?;
        let Some(beside) = beside else { return file::sync_folder(&folder, &path) };
        file::refuse_in_use(beside.target())?;
        file::remove_logs(beside.target())?;
        Ok(beside.put_file_in_place(overwrite)?)
    }
}

/// Creates a store with its manifest in a temporary folder, and returns its path there.
fn prepared(path: &Path, manifest: &Manifest, overwrite: bool) -> Result<(Beside, PathBuf)> {
    let target = file::accept(path, overwrite)?;
    file::refuse_in_use(&target)?;
    let beside = Beside::new(target)?;
    let fresh = beside.fresh();
    // SQLite would create it with narrower permissions than other new files have.
    File::create_new(&fresh).map_err(|error| pcie_output::Error::of_io(path, &error))?;
    let failed = |source| file::failed(path, source);
    let mut connection = file::connect(&fresh, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    // Before the first write, so that the file never changes its journal mode at its final path.
    file::unfold(&connection, path)?;
    rows::write_schema(&mut connection, manifest).map_err(failed)?;
    // Closing would fold the log too, but hide failures.
    file::checkpoint(&connection, path)?;
    connection.close().map_err(|(_, source)| failed(source))?;
    Ok((beside, fresh))
}

/// Recovers a store into one file that no other process has open, and reads its contents and damage.
fn recovered(path: &Path) -> Result<(Connection, Contents, Vec<Damage>)> {
    pcie_output::remove_leftovers_beside(path);
    let (connection, schema) = file::open(path)?;
    file::fold(&connection, path)?;
    let (contents, damage) = read::examine(&connection, path, schema)?;
    Ok((connection, contents, damage))
}

fn check(test: &TestRecord) -> Result<()> {
    let Some(kind) = test.kind() else {
        return Err(refused(test, "`parameters`", test.parameters.clone(), "a JSON object of plain values"));
    };
    match wrong_number(test, kind, &mut Known::default()) {
        Some(WrongNumber { part, found, expected }) => {
            Err(Error::Record { id: test.id, part, found, expected })
        }
        None => Ok(()),
    }
}

fn refused(test: &TestRecord, part: &str, found: String, expected: &str) -> Error {
    Error::Record { id: test.id, part: part.to_owned(), found, expected: expected.to_owned() }
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
