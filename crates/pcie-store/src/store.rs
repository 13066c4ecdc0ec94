//! Writing a store: creating it, appending tests, going on with one that was left.

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
use crate::guard;
use crate::manifest::{Manifest, TESTS};
use crate::read::{self, Contents};
use crate::record::{Status, TestRecord};

mod rows;

/// A store that is being written.
///
/// Readers may look at it meanwhile, and know from the manifest's `tests` how much is still to come. [`Store::close`]
/// leaves one complete file; a store that was merely dropped, or whose process was killed, has everything that was
/// written too, perhaps in a log beside it. A store that is written beside its place ([`Store::create_beside`]) is there
/// once it is closed, and else never was.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Closed before the folder that it may be in is removed: fields are dropped in this order.
    connection: Connection,
    beside: Option<Beside>,
    overwrite: bool,
}

/// More than what stands in a row before its texts.
const ROW_HEAD_BYTES: usize = 64;

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
    /// Creates a store at `path`, there from the start, for a run that can be gone on with. `manifest` must say in
    /// `tests` how many tests the run has. With `overwrite`, a store that is there is replaced, but only once the new
    /// one exists with its manifest.
    ///
    /// # Errors
    /// [`Error::Manifest`] without `tests`; [`Error::Output`] if the place is refused, [`Error::NotOverwritten`] if what
    /// is there is no store, and [`Error::InUse`] if another process has it open. The path is then as it was.
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
        let place = beside.target().place.clone();
        file::remove_logs(beside.target())?;
        beside.put_file_in_place(overwrite)?;
        Self::begin(file::open(&place)?, &place)
    }

    /// Creates a store that takes its place at `path` when it is closed, for what is made in one go. With `overwrite`,
    /// a store that is there stays until then; a store that is dropped leaves nothing.
    ///
    /// # Errors
    /// As [`Store::create`]; a manifest without `tests` gets the number that there are in the end.
    pub fn create_beside(path: impl AsRef<Path>, manifest: &Manifest, overwrite: bool) -> Result<Self> {
        let path = path.as_ref();
        let (beside, fresh) = prepared(path, manifest, overwrite)?;
        let store = Self::begin(file::open(&fresh)?, path)?;
        Ok(Self { beside: Some(beside), overwrite, ..store })
    }

    /// Opens a store that was left, however its writer ended, to go on writing it.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotAStore`], [`Error::NewerSchema`], [`Error::OlderSchema`], [`Error::NotAllowed`],
    /// [`Error::Damaged`], and [`Error::InUse`] if another process has it open.
    pub fn open_for_resume(path: impl AsRef<Path>) -> Result<Resumed> {
        let path = path.as_ref();
        let (connection, contents, damage) = left(path)?;
        if !damage.is_empty() {
            return Err(Error::Damaged { path: path.to_owned(), damage });
        }
        Self::resumed(connection, path, contents)
    }

    /// Takes damaged tests out of a store, so that they are done again when the run is gone on with, and says which. A
    /// store in which nothing is damaged stays as it is.
    ///
    /// # Errors
    /// [`Error::Damaged`] if more than tests are; else as [`Store::open_for_resume`].
    pub fn drop_damaged(path: impl AsRef<Path>) -> Result<Vec<Damage>> {
        let path = path.as_ref();
        let (connection, contents, damage) = left(path)?;
        if !damage.iter().all(Damage::is_of_tests) {
            return Err(Error::Damaged { path: path.to_owned(), damage });
        }
        if !damage.is_empty() {
            // Deleting in a damaged file may fail, or do more damage.
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
            store: Self::begin(connection, path)?,
            manifest: contents.manifest,
            finished: done.map(|test| test.id).collect(),
        })
    }

    fn begin(connection: Connection, path: &Path) -> Result<Self> {
        let mut connection = connection;
        file::unfold(&connection, path)?;
        // NORMAL loses nothing when the process is killed, only when the machine is. The first read takes the lock
        // by which other processes see that the store is in use. Closing would bring the log into the file, but not
        // say that it could not.
        guard::unwatch(&mut connection)
            .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
            .and_then(|_| {
                connection.execute_batch(
                    "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; SELECT count(*) FROM manifest;",
                )
            })
            .map_err(|source| file::failed(path, source))?;
        Ok(Self { path: path.to_owned(), connection, beside: None, overwrite: false })
    }

    /// The path that the store was created or opened at.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a test, in one transaction. A test that is there as interrupted is replaced.
    ///
    /// # Errors
    /// [`Error::Record`] if the id is taken, the parameters are not a JSON object of plain values, a number is not
    /// finite, or a metric occurs twice; [`Error::Sqlite`] if writing fails. Nothing of the test is stored then.
    pub fn write_test(&mut self, test: &TestRecord) -> Result<()> {
        check_parameters(test)?;
        check_numbers(test)?;
        let path = self.path.clone();
        let failed = |source| file::failed(&path, source);
        let transaction = self.connection.transaction().map_err(failed)?;
        if let Some(status) = rows::make_room(&transaction, test.id).map_err(failed)? {
            let found = format!("the id of a test that is stored as {status}");
            return Err(refused(test, "the id", found, "new, or that of an interrupted test"));
        }
        rows::insert(&transaction, test).map_err(|source| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ConstraintViolation) => {
                refused(test, "a metric, bin or count", source.to_string(), "there once, and below 2^63")
            }
            _ => failed(source),
        })?;
        transaction.commit().map_err(failed)
    }

    /// Keeps a text beside the numbers, by the name of the file that it could be written to.
    ///
    /// # Errors
    /// [`Error::AttachmentExists`] if the name is taken, [`Error::AttachmentTooLong`], [`Error::Output`] if it is not the plain name of a file,
    /// [`Error::Sqlite`] if writing fails.
    pub fn attach(&mut self, name: &str, content: &str) -> Result<()> {
        pcie_output::plain_file_name(name)?;
        // Its name is in the same row.
        if content.len() + name.len() + ROW_HEAD_BYTES > guard::TEXT_BYTES.unsigned_abs() as usize {
            let (bytes, most) = (content.len(), guard::TEXT_BYTES);
            return Err(Error::AttachmentTooLong { name: name.to_owned(), bytes, most });
        }
        match rows::attach(&mut self.connection, name, content) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::AttachmentExists { name: name.to_owned() }),
            Err(source) => Err(file::failed(&self.path, source)),
        }
    }

    /// Sets a key of the manifest, for what is known only once the run is under way.
    ///
    /// # Errors
    /// [`Error::Sqlite`] if writing fails.
    pub fn set_manifest(&mut self, key: &str, value: &Value) -> Result<()> {
        rows::set_manifest(&mut self.connection, key, value)
            .map_err(|source| file::failed(&self.path, source))
    }

    /// Folds everything into the one file and closes it; a store that was written beside its place takes it now. A
    /// reader that still looks at the store keeps its empty log alive until it closes; the file is complete without it.
    ///
    /// # Errors
    /// [`Error::InUse`] if a reader is in the middle of a query and keeps the log from being folded in: everything
    /// is stored nevertheless, partly in the log. [`Error::NotOnDisk`] if the disk fails: the log stays, and the store can
    /// be gone on with. [`Error::Sqlite`] if writing fails, [`Error::Output`] if the store cannot take its place.
    pub fn close(self) -> Result<()> {
        let Self { path, mut connection, beside, overwrite } = self;
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

/// A new store with its manifest in a folder beside its place, and its path there.
fn prepared(path: &Path, manifest: &Manifest, overwrite: bool) -> Result<(Beside, PathBuf)> {
    let target = file::accept(path, overwrite)?;
    file::refuse_in_use(&target)?;
    let beside = Beside::new(target)?;
    let fresh = beside.fresh();
    // SQLite would create it with narrower permissions than those of any other new file.
    File::create_new(&fresh).map_err(|error| pcie_output::Error::of_io(path, &error))?;
    let failed = |source| file::failed(path, source);
    let mut connection = file::connect(&fresh, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    // From the first byte, so that the file never changes from one kind of journal to the other in its place.
    file::unfold(&connection, path)?;
    rows::write_schema(&mut connection, manifest).map_err(failed)?;
    // Closing brings the log into the file too, but would not say that it could not.
    file::checkpoint(&connection, path)?;
    connection.close().map_err(|(_, source)| failed(source))?;
    Ok((beside, fresh))
}

/// A store that was left, in one file and open in no other process, with what is in it and what is damaged.
fn left(path: &Path) -> Result<(Connection, Contents, Vec<Damage>)> {
    pcie_output::remove_leftovers_beside(path);
    let connection = file::open(path)?;
    file::fold(&connection, path)?;
    let (contents, damage) = read::examine(&connection, path, crate::SCHEMA_VERSION)?;
    Ok((connection, contents, damage))
}

fn check_parameters(test: &TestRecord) -> Result<()> {
    if test.has_plain_parameters() {
        return Ok(());
    }
    Err(refused(test, "`parameters`", test.parameters.clone(), "a JSON object of plain values"))
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
mod damage_tests;
#[cfg(test)]
mod tests;
