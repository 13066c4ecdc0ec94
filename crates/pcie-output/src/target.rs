//! What stands at the place of an output, and what that means for writing it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// What stands at the place of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A regular file, with the permissions that its successor gets.
    File(Permissions),
    /// A folder.
    Folder,
    /// A terminal, a character device or a pipe: it is written into and never replaced.
    Stream,
    /// This process's own stdout.
    Stdout,
}

/// The place of an output, links followed.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path as it was given, for messages.
    pub shown: PathBuf,
    /// Where the output goes.
    pub place: PathBuf,
    /// What stands there.
    pub found: Found,
}

/// Names of this process's stdout. Where a shell has sent it into a file, opening that anew would begin at its start.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

impl Target {
    /// Looks at what stands at `path`.
    ///
    /// # Errors
    /// [`Error::NotAFile`] for what no output replaces, [`Error::DanglingLink`], and [`Error::Unwritable`] if the place
    /// cannot be looked at.
    pub fn find(path: &Path) -> Result<Self> {
        let target = |place: &Path, found| Self { shown: path.to_owned(), place: place.to_owned(), found };
        let refused = |found| Err(Error::NotAFile { path: path.to_owned(), found });
        if STDOUT.iter().any(|name| Path::new(name) == path) {
            return Ok(target(path, Found::Stdout));
        }
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(_) if path.is_symlink() => return Err(Error::DanglingLink { path: path.to_owned() }),
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
        let place = path.canonicalize().map_err(|error| Error::of_io(path, &error))?;
        Ok(target(&place, if kind.is_dir() { Found::Folder } else { Found::File(metadata.permissions()) }))
    }

    /// Refuses a place where no file can be put: a folder, or a file that may not be replaced.
    ///
    /// # Errors
    /// [`Error::NotAFile`] and [`Error::Exists`].
    pub fn accept_file(&self, overwrite: bool) -> Result<()> {
        match self.found {
            Found::Folder => Err(Error::NotAFile { path: self.shown.clone(), found: "is a folder" }),
            Found::File(_) if !overwrite => Err(Error::Exists { path: self.shown.clone() }),
            _ => Ok(()),
        }
    }

    /// Refuses a place where no folder can be put: a file, or a folder that may not be replaced: only one that is empty
    /// or holds the file `mark` may.
    ///
    /// # Errors
    /// [`Error::NotAFile`], [`Error::Exists`] and [`Error::ForeignFolder`].
    pub fn accept_folder(&self, overwrite: bool, mark: &str) -> Result<()> {
        let path = self.shown.clone();
        match self.found {
            Found::Nothing => Ok(()),
            Found::Stream | Found::Stdout => {
                Err(Error::NotAFile { path, found: "is a device or a pipe, which holds no folder" })
            }
            _ if !overwrite => Err(Error::Exists { path }),
            Found::Folder if self.place.join(mark).is_file() || is_empty(&self.place) => Ok(()),
            _ => Err(Error::ForeignFolder { path, mark: mark.to_owned() }),
        }
    }

    /// The folder that the output is in.
    pub fn folder(&self) -> &Path {
        self.place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
