//! The hidden folder beside an output in which it is made, and what killed commands left of theirs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::{Errno, retry_on_intr};
use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::target::{Found, Target};

/// By this ending the folders are known; before it stand a dot, the output's name, a dot and six random characters.
const ENDING: &str = ".pcielab-tmp";
const RANDOM_CHARACTERS: usize = 6;

/// A folder beside an output, in which it is made. Dropping it removes it with everything in it.
#[derive(Debug)]
pub struct Beside {
    folder: TempDir,
    /// Held for as long as this process lives, which is how others know that the folder is in use.
    _held: Held,
    target: Target,
}

impl Beside {
    /// Makes the folder, and removes what killed commands left in the same place.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if nothing can be created there.
    pub fn new(target: Target) -> Result<Self> {
        let refused = |error: &io::Error| Error::of_io(&target.shown, error);
        remove_leftovers(target.folder());
        let mut prefix = OsString::from(".");
        prefix.push(target.place.file_name().unwrap_or_default());
        prefix.push(".");
        loop {
            let folder = tempfile::Builder::new()
                .prefix(&prefix)
                .rand_bytes(RANDOM_CHARACTERS)
                .suffix(ENDING)
                .tempdir_in(target.folder())
                .map_err(|error| refused(&error))?;
            match held(folder.path()) {
                Ok(Some(held)) => return Ok(Self { folder, _held: held, target }),
                // Between making and locking it, another command took it for a leftover: make the next one.
                Ok(None) => (),
                Err(error) => return Err(refused(&error)),
            }
        }
    }

    /// The path at which the output is made; nothing is there yet.
    pub fn fresh(&self) -> PathBuf {
        self.folder.path().join("fresh")
    }

    /// The place of the output.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Moves the file at [`Beside::fresh`] to its place, synced. A file that it replaces passes its permissions on.
    ///
    /// # Errors
    /// [`Error::Exists`] if something has appeared there meanwhile and `overwrite` is not given; [`Error::Failed`] if
    /// the disk is full or broken. What was there is there still then.
    pub fn put_file_in_place(self, overwrite: bool) -> Result<()> {
        let Target { shown, place, found } = &self.target;
        let put = || {
            let fresh = self.fresh();
            if let Found::File(permissions) = found {
                fs::set_permissions(&fresh, permissions.clone())?;
            }
            File::open(&fresh)?.sync_all()?;
            if overwrite {
                fs::rename(&fresh, place)?
            } else {
                rename_to_nothing(&fresh, place)?
            }
            sync_folder(self.target.folder())
        };
        put().map_err(|error| Error::of_io(shown, &error))
    }

    /// Moves the folder at [`Beside::fresh`] to its place. A folder that it replaces trades places with it in one step,
    /// where the file system can do that; where it cannot, the old one comes back if the new one cannot be moved.
    ///
    /// # Errors
    /// As [`Beside::put_file_in_place`].
    pub fn put_folder_in_place(self) -> Result<()> {
        let Target { shown, place, found } = &self.target;
        let put = || {
            let fresh = self.fresh();
            sync_folder(&fresh)?;
            if *found == Found::Folder {
                exchange(&fresh, place, &self.old())?;
            } else {
                rename_to_nothing(&fresh, place)?;
            }
            sync_folder(self.target.folder())
        };
        put().map_err(|error| Error::of_io(shown, &error))
    }

    fn old(&self) -> PathBuf {
        self.folder.path().join(OLD)
    }
}

/// The name in the hidden folder that what is replaced has for a moment, where two folders cannot trade places.
const OLD: &str = "old";

/// A temporary folder that no other process has locked.
#[derive(Debug)]
struct Held {
    _lock: File,
    /// False where the file system does not lock folders, as some network file systems do not: leftovers stay there.
    is_locked: bool,
}

/// Opens and locks a temporary folder. Whoever gets the lock owns the folder: its maker uses it, a cleaner removes it.
/// None if another process has the lock, or has removed the folder.
fn held(path: &Path) -> io::Result<Option<Held>> {
    let lock = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match retry_on_intr(|| flock(&lock, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        locked => Ok(is_still(path, &lock)?.then_some(Held { _lock: lock, is_locked: locked.is_ok() })),
    }
}

/// Whether a path names the folder that was opened there.
fn is_still(path: &Path, opened: &File) -> io::Result<bool> {
    let opened = opened.metadata()?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|named| named.ino() == opened.ino() && named.dev() == opened.dev()))
}

fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        renamed => Ok(renamed?),
    }
}

fn exchange(fresh: &Path, place: &Path, old: &Path) -> io::Result<()> {
    match renameat_with(CWD, fresh, CWD, place, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::rename(place, old)?;
            fs::rename(fresh, place).inspect_err(|_| {
                // The first error is the one to tell; if this fails too, the next command brings the old one back.
                let _ = fs::rename(old, place);
            })
        }
        exchanged => Ok(exchanged?),
    }
}

/// A rename is on the disk once its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems do not sync folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Removes what killed commands left beside an output, for whoever goes on with one in its place.
pub fn remove_leftovers_beside(place: &Path) {
    if let Ok(target) = Target::find(place) {
        remove_leftovers(target.folder());
    }
}

/// Removes the hidden folders in `folder` that nobody holds; what cannot be removed is left to the next command. One
/// that still holds what it was about to replace gives it back first.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(output) = output_of(&name) else { continue };
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Held until the folder is gone.
            let Ok(Some(held)) = held(&path) else { continue };
            if held.is_locked {
                let (old, place) = (path.join(OLD), folder.join(output));
                if old.exists() && place.symlink_metadata().is_err() && fs::rename(&old, &place).is_err() {
                    continue;
                }
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// The name of the output that a hidden folder was made for; none if it is not one.
fn output_of(name: &OsStr) -> Option<OsString> {
    let inner = name.as_bytes().strip_prefix(b".")?.strip_suffix(ENDING.as_bytes())?;
    let (output, random) = inner.split_at_checked(inner.len().checked_sub(RANDOM_CHARACTERS)?)?;
    let output = output.strip_suffix(b".").filter(|output| !output.is_empty())?;
    random.iter().all(u8::is_ascii_alphanumeric).then(|| OsString::from_vec(output.to_vec()))
}

#[cfg(test)]
mod tests;
