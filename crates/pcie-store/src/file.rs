//! The file under a store: put in place without ever losing the one that was there, and opened only if it is a store.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Error, Result};
use crate::schema::{APPLICATION_ID, SCHEMA_VERSION};

/// Fills a new file beside `path` with `fill` and, once that has succeeded, moves it to `path`. What was at `path`
/// stays as it was until then.
pub(crate) fn put_in_place(
    path: &Path,
    overwrite: bool,
    fill: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<()> {
    let unwritable =
        |cause: &dyn ToString| Error::Unwritable { path: path.to_owned(), cause: cause.to_string() };
    refuse_existing(path, overwrite)?;
    let name = path.file_name().ok_or_else(|| Error::NotAFile { path: path.to_owned() })?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fresh = tempfile::Builder::new()
        .prefix(&hidden(name))
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
        // The error itself would name the temporary file, which is nothing to the user.
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unwritable(&"there is no such directory"),
            kind => unwritable(&kind),
        })?
        .into_temp_path();
    Connection::open(&fresh)
        .and_then(|connection| {
            fill(&connection)?;
            connection.close().map_err(|(_, error)| error)
        })
        .map_err(|error| unwritable(&error))?;
    if overwrite {
        fold_replaced(path)?;
        fresh.persist(path).map_err(|failed| unwritable(&failed.error))
    } else {
        fresh.persist_noclobber(path).map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
            _ => unwritable(&failed.error),
        })
    }
}

fn refuse_existing(path: &Path, overwrite: bool) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(found) if !found.is_file() && !found.is_symlink() => {
            Err(Error::NotAFile { path: path.to_owned() })
        }
        Ok(_) if !overwrite => Err(Error::Exists { path: path.to_owned() }),
        Ok(_) => Ok(()),
    }
}

fn hidden(name: &OsStr) -> OsString {
    let mut whole = OsString::from(".");
    whole.push(name);
    whole
}

/// A write-ahead log left beside the file that is about to be replaced would be replayed into the new one, and a
/// process that still writes the old one would remove the log of the new one: fold the first, refuse the second.
fn fold_replaced(path: &Path) -> Result<()> {
    match open(path) {
        Ok(connection) => fold(&connection, path),
        Err(Error::Missing { .. } | Error::NotAStore { .. } | Error::NewerSchema { .. }) => {
            for suffix in ["-wal", "-shm", "-journal"] {
                let mut beside = path.as_os_str().to_owned();
                beside.push(suffix);
                remove_if_there(&PathBuf::from(beside))?;
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::Unwritable { path: path.to_owned(), cause: error.to_string() })
        }
        _ => Ok(()),
    }
}

/// Opens a store for writing. What is not a store, or a store of a newer schema, is refused.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    if !path.exists() {
        return Err(Error::Missing { path: path.to_owned() });
    }
    if !path.is_file() {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    let refused = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotAStore { path: path.to_owned() },
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::Unwritable { path: path.to_owned(), cause: source.to_string() }
        }
        _ => Error::Sqlite { path: path.to_owned(), source },
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(refused)?;
    let pragma =
        |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(refused);
    if pragma("application_id")? != APPLICATION_ID {
        return Err(Error::NotAStore { path: path.to_owned() });
    }
    match pragma("user_version")? {
        SCHEMA_VERSION => Ok(connection),
        found if found > SCHEMA_VERSION => {
            Err(Error::NewerSchema { path: path.to_owned(), found, known: SCHEMA_VERSION })
        }
        _ => Err(Error::NotAStore { path: path.to_owned() }),
    }
}

/// Copies the write-ahead log into the file and empties it.
pub(crate) fn checkpoint(connection: &Connection, path: &Path) -> Result<()> {
    let busy: i64 = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(|source| Error::Sqlite { path: path.to_owned(), source })?;
    if busy == 0 { Ok(()) } else { Err(Error::InUse { path: path.to_owned() }) }
}

/// Brings everything into the one file, the log of a killed writer included. SQLite refuses this while any other
/// process has the store open, which makes it the test for that too.
pub(crate) fn fold(connection: &Connection, path: &Path) -> Result<()> {
    let folded: rusqlite::Result<String> =
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0));
    match folded {
        Ok(mode) if mode == "delete" => Ok(()),
        Ok(_) => Err(Error::InUse { path: path.to_owned() }),
        Err(source) => match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Err(Error::InUse { path: path.to_owned() })
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
                Err(Error::Unwritable { path: path.to_owned(), cause: source.to_string() })
            }
            _ => Err(Error::Sqlite { path: path.to_owned(), source }),
        },
    }
}
