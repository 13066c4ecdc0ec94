//! The file of a store: opened only if it is a store, and recovered after a killed writer.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use pcie_output::{Found, Target};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use crate::damage::Damage;
use crate::error::{Error, Result, shown};
use crate::guard::{self, Stop};
use crate::schema::{self, APPLICATION_ID, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION, TRACED_SCHEMA_VERSION};

/// The first bytes of an SQLite file: <https://sqlite.org/fileformat2.html>.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER_BYTES: usize = 100;
const WRITE_VERSION_AT: usize = 18;
const WRITE_VERSION_OF_WAL: u8 = 2;
const APPLICATION_ID_AT: usize = 68;

/// Suffixes of the files that SQLite may leave beside a store.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// The path of a store with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// True if `path` begins with the header of a store of any schema; the rest may be damaged.
pub fn is_store(path: &Path) -> bool {
    header(path).is_ok_and(|header| is_header_of_store(&header))
}

fn header(path: &Path) -> io::Result<[u8; HEADER_BYTES]> {
    // Opening a pipe would wait for its writer.
    if fs::metadata(path)?.file_type().is_fifo() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut header = [0; HEADER_BYTES];
    File::open(path)?.read_exact(&mut header)?;
    Ok(header)
}

fn is_header_of_store(header: &[u8; HEADER_BYTES]) -> bool {
    let id = &header[APPLICATION_ID_AT..APPLICATION_ID_AT + 4];
    header.starts_with(MAGIC) && id.iter().fold(0, |id, &byte| id << 8 | i64::from(byte)) == APPLICATION_ID
}

/// The target of a new store: a free path or, with `overwrite`, a store or an empty file. Others are refused
/// with [`Error::Output`], [`Error::InMemory`] or [`Error::NotOverwritten`].
pub fn accept(path: &Path, overwrite: bool) -> Result<Target> {
    if path == Path::new(":memory:") {
        return Err(Error::InMemory(path.to_owned()));
    }
    let target = Target::find(path)?;
    target.accept_file(overwrite)?;
    match target.found {
        Found::Stream | Found::Stdout => Err(Error::NotAFile(path.to_owned())),
        Found::File(_) if !is_store(&target.path) && !is_empty(&target.path) => {
            Err(Error::NotOverwritten(path.to_owned()))
        }
        _ => Ok(target),
    }
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

/// Refuses to replace a store that another process has open. Merges the log of a killed writer.
pub(crate) fn refuse_in_use(target: &Target) -> Result<()> {
    if !matches!(target.found, Found::File(_)) {
        return Ok(());
    }
    let folded =
        watched(connect(&target.path, OpenFlags::SQLITE_OPEN_READ_WRITE), &target.path, guard::never())
            .and_then(|connection| fold(&connection, &target.path));
    match folded {
        Err(Error::InUse { .. }) => Err(Error::InUse(target.shown.clone())),
        // A damaged store may be replaced.
        _ => Ok(()),
    }
}

/// Removes the logs of an earlier store, which SQLite would replay into its successor.
pub(crate) fn remove_logs(target: &Target) -> Result<()> {
    for path in BESIDE.map(|suffix| beside(&target.path, suffix)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(pcie_output::Error::of_io(&path, &error).into());
            }
            _ => (),
        }
    }
    Ok(())
}

/// Opens a file by its absolute path: SQLite would read a name like `file:other.db` as a URI.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let whole = absolute(path).unwrap_or_else(|_| path.to_owned());
    let connection = Connection::open_with_flags(whole, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    guard::restrict(&connection)?;
    Ok(connection)
}

/// Limits the work of queries on a possibly foreign file.
fn watched(opened: rusqlite::Result<Connection>, path: &Path, stop: Stop) -> Result<Connection> {
    let watch = |mut connection| {
        guard::watch(&mut connection, guard::bytes_of(path), stop)?;
        Ok(connection)
    };
    opened.and_then(watch).map_err(|source| failed(path, source))
}

/// Opens a store of a current schema for writing, with its schema.
pub(crate) fn open(path: &Path) -> Result<(Connection, i64)> {
    refuse_other_files(path)?;
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let connection = watched(opened, path, guard::never())?;
    match schema_of(&connection, path)? {
        schema @ (SCHEMA_VERSION | TRACED_SCHEMA_VERSION) => Ok((connection, schema)),
        found => Err(Error::OlderSchema { path: path.to_owned(), found, known: SCHEMA_VERSION }),
    }
}

/// Opens a store for reading, with its schema. Recovers it after a killed writer, if this process may.
pub(crate) fn open_to_read(path: &Path, stop: Stop) -> Result<(Connection, i64)> {
    refuse_other_files(path)?;
    let opened = |connection: Connection| {
        let schema = schema_of(&connection, path)?;
        Ok((connection, schema))
    };
    // A read-only connection to a store with a log leaves files beside it that it cannot remove.
    let flags =
        if is_unsettled(path) { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    match watched(connect(path, flags), path, Arc::clone(&stop)).and_then(opened) {
        Err(Error::NotAllowed { .. }) => (),
        settled => return settled,
    }
    if let Some(left) =
        BESIDE[..2].iter().map(|suffix| beside(path, suffix)).find(|left| !is_empty_or_missing(left))
    {
        return Err(Error::Unrecovered { path: path.to_owned(), beside: name_of(&left) });
    }
    watched(connect_immutable(path), path, stop).and_then(opened)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_empty_or_missing(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.len() == 0)
}

/// True if SQLite may have to recover the file before it can be read.
fn is_unsettled(path: &Path) -> bool {
    header(path).is_ok_and(|header| header[WRITE_VERSION_AT] == WRITE_VERSION_OF_WAL)
        || BESIDE[..2].iter().any(|suffix| beside(path, suffix).exists())
}

/// Opens a file as immutable, as on a read-only disk.
fn connect_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let whole = absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file://".to_owned();
    for &byte in whole.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri + "?immutable=1", flags)?;
    guard::restrict(&connection)?;
    Ok(connection)
}

fn refuse_other_files(path: &Path) -> Result<()> {
    let path = path.to_owned();
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Missing(path)),
        Err(error) => Err(Error::NotAllowed { path, cause: error.kind().to_string() }),
        Ok(found) if !found.is_file() => Err(Error::NotAFile(path)),
        Ok(_) => match header(&path) {
            Ok(header) if is_header_of_store(&header) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Err(Error::NotAllowed { path, cause: error.kind().to_string() })
            }
            _ => Err(Error::NotAStore(path)),
        },
    }
}

/// The schema of a store, if it has exactly the tables of that schema.
fn schema_of(connection: &Connection, path: &Path) -> Result<i64> {
    // Reading the version alone would not recover the file.
    let entries = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").and_then(
        |mut statement| {
            let entry = |row: &Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            statement.query_map([], entry)?.take(schema::ENTRIES_MOST).collect::<rusqlite::Result<Vec<_>>>()
        },
    );
    // The tables of a later version are not checked.
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let wrong = |schema, found| Error::ForeignTables { path: path.to_owned(), schema, found };
    // SQLite cannot read the tables, or they are more than any store has.
    let unreadable = |source: rusqlite::Error| match failed(path, source) {
        Error::Sqlite { source, .. } if !is_of_disk(&source) => {
            wrong(SCHEMA_VERSION, shown(&source.to_string()))
        }
        other => other,
    };
    match version.map_err(unreadable)? {
        found if found > TRACED_SCHEMA_VERSION => {
            Err(Error::NewerSchema { path: path.to_owned(), found, known: TRACED_SCHEMA_VERSION })
        }
        found if found < OLDEST_SCHEMA_VERSION => Err(Error::NotAStore(path.to_owned())),
        schema => match schema::wrong_entry(schema, &entries.map_err(unreadable)?) {
            Some(found) => Err(wrong(schema, found)),
            None => Ok(schema),
        },
    }
}

/// The error of the store at `path` for an error of SQLite.
pub(crate) fn failed(path: &Path, source: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotAStore(path),
        Some(ErrorCode::DatabaseCorrupt) => {
            Error::Damaged { path, damage: vec![Damage::File(source.to_string())] }
        }
        // Includes `out of memory`, if a row exceeds the memory limit.
        Some(ErrorCode::OperationInterrupted | ErrorCode::OutOfMemory | ErrorCode::TooBig) => {
            Error::Endless(path)
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::InUse(path),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::NotAllowed { path, cause: source.to_string() }
        }
        _ => Error::Sqlite { path, source },
    }
}

/// Copies the write-ahead log into the file and empties it; the log stays where that fails.
pub(crate) fn checkpoint(connection: &Connection, path: &Path) -> Result<()> {
    let busy: i64 = connection
        .query_one("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(|source| not_on_disk(path, source))?;
    if busy == 0 { Ok(()) } else { Err(Error::InUse(path.to_owned())) }
}

/// As [`failed`], but [`Error::NotOnDisk`] for failures of the disk.
fn not_on_disk(path: &Path, source: rusqlite::Error) -> Error {
    if is_of_disk(&source) {
        return Error::NotOnDisk { path: path.to_owned(), cause: source.to_string() };
    }
    failed(path, source)
}

fn is_of_disk(source: &rusqlite::Error) -> bool {
    matches!(source.sqlite_error_code(), Some(ErrorCode::SystemIoFailure | ErrorCode::DiskFull))
}

/// Folds the log, also a killed writer's, into the one file. [`Error::InUse`] if another process has the
/// store open, so this tests for that too; [`Error::NotOnDisk`] if the disk fails, without loss.
pub(crate) fn fold(connection: &Connection, path: &Path) -> Result<()> {
    checkpoint(connection, path)?;
    // The only further write is one sector of the first page, which needs no journal; SQLite would sync a
    // journal's folder without checking the result.
    let folded = journal_mode(connection, "MEMORY").map_err(|source| not_on_disk(path, source))?;
    if folded == "memory" {
        return Ok(());
    }
    // SQLite gives no reason. If no other process has the store open, it removes the log first.
    if beside(&file_of(connection, path), "-wal").exists() {
        return Err(Error::InUse(path.to_owned()));
    }
    let cause = "its header could not be written or synced".to_owned();
    Err(Error::NotOnDisk { path: path.to_owned(), cause })
}

/// The file of a connection, which differs from the shown path while a store is written beside it.
fn file_of(connection: &Connection, shown: &Path) -> PathBuf {
    connection.path().filter(|file| !file.is_empty()).map_or_else(|| shown.to_owned(), PathBuf::from)
}

/// Opens a store's folder, to sync it after closing; before, so that no failure in between is missed.
pub(crate) fn open_folder(connection: &Connection, path: &Path) -> Result<File> {
    let file = file_of(connection, path);
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).map_err(|error| folder_not_on_disk(path, &error))
}

/// Syncs the entries of a folder to the disk.
pub(crate) fn sync_folder(folder: &File, path: &Path) -> Result<()> {
    match folder.sync_all() {
        // Some file systems do not sync folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced.map_err(|error| folder_not_on_disk(path, &error)),
    }
}

fn folder_not_on_disk(path: &Path, error: &io::Error) -> Error {
    Error::NotOnDisk { path: path.to_owned(), cause: format!("its folder: {error}") }
}

/// Switches a store to a write-ahead log. [`Error::InUse`] or [`Error::NotOnDisk`] if that fails.
pub(crate) fn unfold(connection: &Connection, path: &Path) -> Result<()> {
    let change = || {
        // No journal, as in `fold`.
        if journal_mode(connection, "MEMORY")? == "wal" {
            Ok("wal".to_owned())
        } else {
            journal_mode(connection, "WAL")
        }
    };
    match change().map_err(|source| not_on_disk(path, source))?.as_str() {
        "wal" => Ok(()),
        mode => {
            let cause = format!("its journal is {mode}, not a log");
            Err(Error::NotOnDisk { path: path.to_owned(), cause })
        }
    }
}

/// Sets the journal mode and returns the resulting one. SQLite writes and syncs the header after its answer,
/// so only reading on to the end reports a failure.
fn journal_mode(connection: &Connection, mode: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(&format!("PRAGMA journal_mode = {mode}"))?;
    let mut rows = statement.query([])?;
    let mut answer = String::new();
    while let Some(row) = rows.next()? {
        answer = row.get(0)?;
    }
    Ok(answer)
}
