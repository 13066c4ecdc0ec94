//! The file under a store: opened only if it is a store, and brought in order after a writer that was killed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf, absolute};

use pcie_output::{Found, Target};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::damage::Damage;
use crate::error::{Error, Result};
use crate::schema::{APPLICATION_ID, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION};

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
    let folded = connect(&target.place, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|source| failed(&target.place, source))
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

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens a file by its path alone: SQLite would take a name such as `file:other.db` for something else.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let whole = absolute(path).unwrap_or_else(|_| path.to_owned());
    Connection::open_with_flags(whole, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Opens a store for writing. What is not a store, or one of another schema, is refused.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    refuse_what_is_no_store(path)?;
    let connection =
        connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|source| failed(path, source))?;
    match schema_of(&connection, path)? {
        SCHEMA_VERSION => Ok(connection),
        found => Err(Error::OlderSchema { path: path.to_owned(), found, known: SCHEMA_VERSION }),
    }
}

/// Opens a store for reading, with its schema. What a killed writer left is brought in order first, where this process
/// may do that.
pub(crate) fn open_to_read(path: &Path) -> Result<(Connection, i64)> {
    refuse_what_is_no_store(path)?;
    let opened = |connection: Connection| {
        let schema = schema_of(&connection, path)?;
        Ok((connection, schema))
    };
    // Whoever may only read a store leaves files beside it that it cannot remove again.
    let flags =
        if is_unsettled(path) { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    match connect(path, flags).map_err(|source| failed(path, source)).and_then(opened) {
        Err(Error::NotAllowed { .. }) => (),
        settled => return settled,
    }
    if let Some(left) =
        BESIDE[..2].iter().map(|suffix| beside(path, suffix)).find(|left| !is_empty_or_missing(left))
    {
        let name = left.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(Error::Unrecovered { path: path.to_owned(), beside: name });
    }
    connect_as_it_is(path).map_err(|source| failed(path, source)).and_then(opened)
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

fn schema_of(connection: &Connection, path: &Path) -> Result<i64> {
    // The version alone could be read without bringing the file in order.
    let schema = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .and_then(|()| connection.pragma_query_value(None, "user_version", |row| row.get(0)));
    match schema.map_err(|source| failed(path, source))? {
        found if found > SCHEMA_VERSION => {
            Err(Error::NewerSchema { path: path.to_owned(), found, known: SCHEMA_VERSION })
        }
        found if found < OLDEST_SCHEMA_VERSION => Err(Error::NotAStore { path: path.to_owned() }),
        found => Ok(found),
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
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::InUse { path },
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::NotAllowed { path, cause: source.to_string() }
        }
        _ => Error::Sqlite { path, source },
    }
}

/// Copies the write-ahead log into the file and empties it.
pub(crate) fn checkpoint(connection: &Connection, path: &Path) -> Result<()> {
    let busy: i64 = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(|source| failed(path, source))?;
    if busy == 0 { Ok(()) } else { Err(Error::InUse { path: path.to_owned() }) }
}

/// Brings everything into the one file, the log of a killed writer included. SQLite refuses this while any other
/// process has the store open, which makes it the test for that too.
pub(crate) fn fold(connection: &Connection, path: &Path) -> Result<()> {
    let folded: rusqlite::Result<String> =
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0));
    match folded.map_err(|source| failed(path, source))?.as_str() {
        "delete" => Ok(()),
        _ => Err(Error::InUse { path: path.to_owned() }),
    }
}
