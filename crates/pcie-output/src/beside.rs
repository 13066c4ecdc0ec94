//! The hidden folder in which an output is written, and the cleanup after killed commands.

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

/// Suffix of the folders: `.NAME.RANDOM.pcielab-tmp`, with the output's name and six random characters.
const ENDING: &str = ".pcielab-tmp";
const RANDOM_CHARACTERS: usize = 6;

/// A hidden folder beside an output, in which the output is written. Dropping it removes the folder.
#[derive(Debug)]
pub struct Beside {
    folder: TempDir,
    /// Locked while this process lives, so that others see that the folder is in use.
    _held: Held,
    target: Target,
}

impl Beside {
    /// Creates the folder, or fails with [`Error::Unwritable`]; removes leftovers of killed commands.
    pub fn new(target: Target) -> Result<Self> {
        let refused = |error: &io::Error| Error::of_io(&target.shown, error);
        remove_leftovers(target.folder());
        let mut prefix = OsString::from(".");
        prefix.push(target.path.file_name().unwrap_or_default());
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
                // Another command removed it as a leftover before it was locked: try again.
                Ok(None) => (),
                Err(error) => return Err(refused(&error)),
            }
        }
    }

    /// The path to write the output to; nothing is there yet.
    pub fn fresh(&self) -> PathBuf {
        self.folder.path().join("fresh")
    }

    /// The target of the output.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Syncs [`Beside::fresh`] and moves it to the target, with the permissions of a replaced file.
    ///
    /// # Errors
    /// [`Error::Exists`] if a file has appeared there meanwhile and `overwrite` is not given;
    /// [`Error::Failed`] if the disk is full or broken. The target is then unchanged.
    pub fn put_file_in_place(self, overwrite: bool) -> Result<()> {
        let Target { shown, path, found } = &self.target;
        let put = || {
            let fresh = self.fresh();
            if let Found::File(permissions) = found {
                fs::set_permissions(&fresh, permissions.clone())?;
            }
            File::open(&fresh)?.sync_all()?;
            if overwrite {
                fs::rename(&fresh, path)?
            } else {
                rename_to_nothing(&fresh, path)?
            }
            sync_folder(self.target.folder())
        };
        put().map_err(|error| Error::of_io(shown, &error))
    }

    /// Moves the folder at [`Beside::fresh`] to the target. It is exchanged with a replaced folder in one
    /// step if the file system can; else a failed move restores the old one. Errors as in
    /// [`Beside::put_file_in_place`].
    pub fn put_folder_in_place(self) -> Result<()> {
        let Target { shown, path, found } = &self.target;
        let put = || {
            let fresh = self.fresh();
            sync_folder(&fresh)?;
            if *found == Found::Folder {
                exchange(&fresh, path, &self.folder.path().join(OLD))?;
            } else {
                rename_to_nothing(&fresh, path)?;
            }
            sync_folder(self.target.folder())
        };
        put().map_err(|error| Error::of_io(shown, &error))
    }
}

/// Temporary name, in the hidden folder, of a replaced folder where the file system cannot exchange two.
const OLD: &str = "old";

/// A temporary folder that no other process has locked.
#[derive(Debug)]
struct Held {
    _lock: File,
    /// False where the file system does not lock folders, as some network file systems: leftovers stay there.
    is_locked: bool,
}

/// Opens and locks a temporary folder, to use or remove it. None if another process has locked or removed it.
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

fn exchange(fresh: &Path, path: &Path, old: &Path) -> io::Result<()> {
    match renameat_with(CWD, fresh, CWD, path, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::rename(path, old)?;
            fs::rename(fresh, path).inspect_err(|_| {
                // If this fails too, the next command restores the old folder.
                let _ = fs::rename(old, path);
            })
        }
        exchanged => Ok(exchanged?),
    }
}

/// Syncs a folder, which brings renames in it to the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems do not sync folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Removes leftovers of killed commands beside an output that is about to be continued.
pub fn remove_leftovers_beside(path: &Path) {
    if let Ok(target) = Target::find(path) {
        remove_leftovers(target.folder());
    }
}

/// Removes the hidden folders in `folder` that no process has locked. A replaced folder inside is restored.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(output) = output_of(&name) else { continue };
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Locked until the folder is gone.
            let Ok(Some(held)) = held(&path) else { continue };
            if held.is_locked {
                let (old, output) = (path.join(OLD), folder.join(output));
                if old.exists() && output.symlink_metadata().is_err() && fs::rename(&old, &output).is_err() {
                    continue;
                }
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// The name of the output of a hidden folder; None if the name is no hidden folder's.
fn output_of(name: &OsStr) -> Option<OsString> {
    let inner = name.as_bytes().strip_prefix(b".")?.strip_suffix(ENDING.as_bytes())?;
    let (output, random) = inner.split_at_checked(inner.len().checked_sub(RANDOM_CHARACTERS)?)?;
    let output = output.strip_suffix(b".").filter(|output| !output.is_empty())?;
    random.iter().all(u8::is_ascii_alphanumeric).then(|| OsString::from_vec(output.to_vec()))
}

#[cfg(test)]
mod tests;
