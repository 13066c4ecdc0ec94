//! The path of an output, and whether it may be written.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Kind of file at an output's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A regular file, whose permissions the output keeps.
    File(Permissions),
    /// A folder.
    Folder,
    /// A terminal, a character device or a pipe: written into, never replaced.
    Stream,
    /// This process's own stdout.
    Stdout,
}

/// The path of an output, links followed.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path as given, for messages.
    pub shown: PathBuf,
    /// The path to write to.
    pub path: PathBuf,
    /// Kind of file there.
    pub found: Found,
}

/// Names of this process's stdout. Opened anew, a redirected stdout would start at the beginning of its file.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

impl Target {
    /// Inspects `path`.
    ///
    /// # Errors [`Error::NotAFile`] for other kinds of files, [`Error::DanglingLink`], [`Error::Unwritable`]
    /// if inaccessible.
    pub fn find(path: &Path) -> Result<Self> {
        let target = |to: &Path, found| Self { shown: path.to_owned(), path: to.to_owned(), found };
        let refused = |found| Err(Error::NotAFile { path: path.to_owned(), found });
        if STDOUT.iter().any(|name| Path::new(name) == path) {
            return Ok(target(path, Found::Stdout));
        }
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(_) if path.is_symlink() => return Err(Error::DanglingLink(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match path.file_name() {
                    Some(_) => Ok(target(path, Found::Nothing)),
                    None => refused("names no file"),
                };
            }
            Err(error) => return Err(Error::of_io(path, &error)),
        };
        let kind = metadata.file_type();
        if kind.is_fifo() || kind.is_char_device() {
            return Ok(target(path, Found::Stream));
        }
        if !kind.is_file() && !kind.is_dir() {
            return refused(if kind.is_socket() { "is a socket" } else { "is a block device" });
        }
        let real = path.canonicalize().map_err(|error| Error::of_io(path, &error))?;
        Ok(target(&real, if kind.is_dir() { Found::Folder } else { Found::File(metadata.permissions()) }))
    }

    /// Refuses a folder ([`Error::NotAFile`]), and, without `overwrite`, a file ([`Error::Exists`]).
    pub fn accept_file(&self, overwrite: bool) -> Result<()> {
        match self.found {
            Found::Folder => Err(Error::NotAFile { path: self.shown.clone(), found: "is a folder" }),
            Found::File(_) if !overwrite => Err(Error::Exists(self.shown.clone())),
            _ => Ok(()),
        }
    }

    /// Refuses a path for a folder unless it is free or, with `overwrite`, a folder that is empty or holds
    /// the file `mark`: with [`Error::NotAFile`], [`Error::Exists`] or [`Error::ForeignFolder`].
    pub fn accept_folder(&self, overwrite: bool, mark: &str) -> Result<()> {
        let path = self.shown.clone();
        match self.found {
            Found::Nothing => Ok(()),
            Found::Stream | Found::Stdout => Err(Error::NotAFile { path, found: "is a device or a pipe" }),
            _ if !overwrite => Err(Error::Exists(path)),
            Found::Folder if self.path.join(mark).is_file() || is_empty(&self.path) => Ok(()),
            _ => Err(Error::ForeignFolder { path, mark: mark.to_owned() }),
        }
    }

    /// The folder of the output.
    pub fn folder(&self) -> &Path {
        self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
