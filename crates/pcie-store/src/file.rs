//! The file under a store: opened only if it is a store, and brought in order after a writer that was killed.

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
use crate::place::beside;
use crate::schema::{self, APPLICATION_ID, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION};

/// The first bytes of an SQLite file, as <https://sqlite.org/fileformat2.html> describes them.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER_BYTES: usize = 100;
const WRITE_VERSION_AT: usize = 18;
const WRITE_VERSION_OF_WAL: u8 = 2;
const APPLICATION_ID_AT: usize = 68;

/// What SQLite may leave beside a file.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// True if `path` is a file that begins as a store does, whatever its schema and however damaged the rest.
pub fn is_store(path: &Path) -> bool {
    header(path).is_ok_and(|header| is_header_of_store(&header))
}

fn header(path: &Path) -> io::Result<[u8; HEADER_BYTES]> {
    // Opening a pipe would wait for whoever writes into it.
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

/// The place of a new store, if one may be put there: nothing is there, or, with `overwrite`, a store or an empty file.
///
/// # Errors
/// [`Error::Output`], [`Error::InMemory`] and [`Error::NotOverwritten`].
pub fn accept(path: &Path, overwrite: bool) -> Result<Target> {
    if path == Path::new(":memory:") {
        return Err(Error::InMemory { path: path.to_owned() });
    }
    let target = Target::find(path)?;
    target.accept_file(overwrite)?;
    match target.found {
        Found::Stream | Found::Stdout => Err(Error::NotAFile { path: path.to_owned() }),
        Found::File(_) if !is_store(&target.place) && !is_empty(&target.place) => {
            Err(Error::NotOverwritten { path: path.to_owned() })
        }
        _ => Ok(target),
    }
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

/// Refuses to replace a store that another process has open, which would go on writing what nobody sees any more. The
/// store itself stays as it is; a log that a killed writer left is brought into it.
pub(crate) fn refuse_in_use(target: &Target) -> Result<()> {
    if !matches!(target.found, Found::File(_)) {
        return Ok(());
    }
    let folded = watched(&target.place, OpenFlags::SQLITE_OPEN_READ_WRITE, guard::never())
        .and_then(|connection| fold(&connection, &target.place));
    match folded {
        Err(Error::InUse { .. }) => Err(Error::InUse { path: target.shown.clone() }),
        // A store that is damaged may be replaced all the same.
        _ => Ok(()),
    }
}

/// Removes what would be replayed into the store that is about to take its place: the log of one that could not be
/// folded, or that has been deleted.
pub(crate) fn remove_logs(target: &Target) -> Result<()> {
    for path in BESIDE.map(|suffix| beside(&target.place, suffix)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(pcie_output::Error::of_io(&path, &error).into());
            }
            _ => (),
        }
    }
    Ok(())
}

/// Opens a file by its path alone: SQLite would take a name such as `file:other.db` for something else.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let whole = absolute(path).unwrap_or_else(|_| path.to_owned());
    let connection = Connection::open_with_flags(whole, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    guard::restrict(&connection)?;
    Ok(connection)
}

/// The same, of a file that may be anyone's: no query of it goes on without end.
fn watched(path: &Path, flags: OpenFlags, stop: Stop) -> Result<Connection> {
    let guarded = |mut connection| {
        guard::watch(&mut connection, guard::bytes_of(path), stop)?;
        Ok(connection)
    };
    connect(path, flags).and_then(guarded).map_err(|source| failed(path, source))
}

/// Opens a store for writing. What is not a store, or one of another schema, is refused.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    refuse_what_is_no_store(path)?;
    let connection = watched(path, OpenFlags::SQLITE_OPEN_READ_WRITE, guard::never())?;
    match schema_of(&connection, path)? {
        SCHEMA_VERSION => Ok(connection),
        found => Err(Error::OlderSchema { path: path.to_owned(), found, known: SCHEMA_VERSION }),
    }
}

/// Opens a store for reading, with its schema. What a killed writer left is brought in order first, where this process
/// may do that.
pub(crate) fn open_to_read(path: &Path, stop: Stop) -> Result<(Connection, i64)> {
    refuse_what_is_no_store(path)?;
    let opened = |connection: Connection| {
        let schema = schema_of(&connection, path)?;
        Ok((connection, schema))
    };
    // Whoever may only read a store leaves files beside it that it cannot remove again.
    let flags =
        if is_unsettled(path) { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    match watched(path, flags, Arc::clone(&stop)).and_then(opened) {
        Err(Error::NotAllowed { .. }) => (),
        settled => return settled,
    }
    if let Some(left) =
        BESIDE[..2].iter().map(|suffix| beside(path, suffix)).find(|left| !is_empty_or_missing(left))
    {
        return Err(Error::Unrecovered { path: path.to_owned(), beside: name_of(&left) });
    }
    let guarded = |mut connection| {
        guard::restrict(&connection)?;
        guard::watch(&mut connection, guard::bytes_of(path), stop)?;
        Ok(connection)
    };
    connect_as_it_is(path).and_then(guarded).map_err(|source| failed(path, source)).and_then(opened)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_empty_or_missing(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.len() == 0)
}

/// True if SQLite may have to bring the file in order before it can be read.
fn is_unsettled(path: &Path) -> bool {
    header(path).is_ok_and(|header| header[WRITE_VERSION_AT] == WRITE_VERSION_OF_WAL)
        || BESIDE[..2].iter().any(|suffix| beside(path, suffix).exists())
}

/// Opens a file that nobody writes and beside which nothing can be created, as on a read-only disk.
fn connect_as_it_is(path: &Path) -> rusqlite::Result<Connection> {
    let whole = absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file://".to_owned();
    for &byte in whole.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri + "?immutable=1", flags)
}

fn refuse_what_is_no_store(path: &Path) -> Result<()> {
    let path = path.to_owned();
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Missing { path }),
        Err(error) => Err(Error::NotAllowed { path, cause: error.kind().to_string() }),
        Ok(found) if !found.is_file() => Err(Error::NotAFile { path }),
        Ok(_) => match header(&path) {
            Ok(header) if is_header_of_store(&header) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Err(Error::NotAllowed { path, cause: error.kind().to_string() })
            }
            _ => Err(Error::NotAStore { path }),
        },
    }
}

/// The schema of a store, which has the tables of that schema and nothing else.
fn schema_of(connection: &Connection, path: &Path) -> Result<i64> {
    // The version alone could be read without bringing the file in order.
    let entries = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").and_then(
        |mut statement| {
            let entry = |row: &Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            statement.query_map([], entry)?.take(schema::ENTRIES_MOST).collect::<rusqlite::Result<Vec<_>>>()
        },
    );
    // What a later version made of the tables is not for this one to judge.
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let wrong = |schema, found| Error::ForeignTables { path: path.to_owned(), schema, found };
    // SQLite makes no sense of the tables, or they are more than any store has.
    let senseless = |source: rusqlite::Error| match failed(path, source) {
        Error::Sqlite { source, .. } if !is_of_disk(&source) => {
            wrong(SCHEMA_VERSION, shown(&source.to_string()))
        }
        other => other,
    };
    match version.map_err(senseless)? {
        found if found > SCHEMA_VERSION => {
            Err(Error::NewerSchema { path: path.to_owned(), found, known: SCHEMA_VERSION })
        }
        found if found < OLDEST_SCHEMA_VERSION => Err(Error::NotAStore { path: path.to_owned() }),
        schema => match schema::wrong_entry(schema, &entries.map_err(senseless)?) {
            Some(found) => Err(wrong(schema, found)),
            None => Ok(schema),
        },
    }
}

/// What an error of SQLite means for the store at `path`.
pub(crate) fn failed(path: &Path, source: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotAStore { path },
        Some(ErrorCode::DatabaseCorrupt) => {
            Error::Damaged { path, damage: vec![Damage::File { cause: source.to_string() }] }
        }
        // Among them `out of memory`, where a row takes more than all of a store may.
        Some(ErrorCode::OperationInterrupted | ErrorCode::OutOfMemory | ErrorCode::TooBig) => {
            Error::Endless { path }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::InUse { path },
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
    if busy == 0 { Ok(()) } else { Err(Error::InUse { path: path.to_owned() }) }
}

/// A failure of the disk at the end of writing; anything else as ever.
fn not_on_disk(path: &Path, source: rusqlite::Error) -> Error {
    if is_of_disk(&source) {
        return Error::NotOnDisk { path: path.to_owned(), cause: source.to_string() };
    }
    failed(path, source)
}

fn is_of_disk(source: &rusqlite::Error) -> bool {
    matches!(source.sqlite_error_code(), Some(ErrorCode::SystemIoFailure | ErrorCode::DiskFull))
}

/// Brings everything into the one file, the log of a killed writer included. SQLite refuses this while any other
/// process has the store open, which makes it the test for that too.
///
/// # Errors
/// [`Error::InUse`]; [`Error::NotOnDisk`] if the disk fails. Nothing is lost then.
pub(crate) fn fold(connection: &Connection, path: &Path) -> Result<()> {
    checkpoint(connection, path)?;
    // What is written besides is one sector of the first page, in one go: it needs no journal, whose folder SQLite would
    // sync without looking at the result.
    let folded = journal_mode(connection, "MEMORY").map_err(|source| not_on_disk(path, source))?;
    if folded == "memory" {
        return Ok(());
    }
    // SQLite says only that it did not. Where nobody else has the store open, it removes the log before the rest.
    if beside(&place_of(connection, path), "-wal").exists() {
        return Err(Error::InUse { path: path.to_owned() });
    }
    let cause = "its header could not be written or synced".to_owned();
    Err(Error::NotOnDisk { path: path.to_owned(), cause })
}

/// Where the file of a connection is: what is written beside the place of a store is shown by that place.
pub(crate) fn place_of(connection: &Connection, shown: &Path) -> PathBuf {
    connection.path().filter(|place| !place.is_empty()).map_or_else(|| shown.to_owned(), PathBuf::from)
}

/// The folder of a store, to be synced once the store is closed: opened before, so that no failure in between is missed.
///
/// # Errors
/// [`Error::NotOnDisk`].
pub(crate) fn open_folder(connection: &Connection, path: &Path) -> Result<File> {
    let place = place_of(connection, path);
    let folder = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).map_err(|error| folder_not_on_disk(path, &error))
}

/// Brings what was created and removed in a folder to the disk.
///
/// # Errors
/// [`Error::NotOnDisk`].
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

/// Has a store written by way of a log.
///
/// # Errors
/// [`Error::InUse`]; [`Error::NotOnDisk`] if the disk fails.
pub(crate) fn unfold(connection: &Connection, path: &Path) -> Result<()> {
    let change = || {
        // As when it is folded.
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

/// Asks for a kind of journal; which one it is then. SQLite writes and syncs the header after it has answered: whoever does not
/// hear it out never learns that this failed.
fn journal_mode(connection: &Connection, mode: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(&format!("PRAGMA journal_mode = {mode}"))?;
    let mut rows = statement.query([])?;
    let mut answer = String::new();
    while let Some(row) = rows.next()? {
        answer = row.get(0)?;
    }
    Ok(answer)
}
