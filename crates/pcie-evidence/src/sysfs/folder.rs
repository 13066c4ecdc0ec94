//! Bounded reads of files inside one folder, never outside.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::letters::trim;

/// Longest attribute that the kernel shows: a page.
const ATTRIBUTE_BYTES: usize = 4096;
/// Links that are followed from one path.
const LINKS_MOST: usize = 40;

/// The root of a file system or of a partial copy; nothing outside it is ever read.
pub(super) struct Folder {
    root: PathBuf,
    outside: RefCell<Vec<PathBuf>>,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { root, outside: RefCell::default() }
    }

    /// The folder that holds `sys` and `proc`.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Links that were not followed because they lead out of the folder.
    pub(super) fn outside(&self) -> Vec<PathBuf> {
        self.outside.borrow().clone()
    }

    /// The path with links resolved; None if it leads out of the folder or nowhere.
    pub(super) fn inside(&self, path: &Path) -> Option<PathBuf> {
        let real = resolved(path, LINKS_MOST)?;
        if real.starts_with(&self.root) {
            return Some(real);
        }
        self.outside.borrow_mut().push(path.to_owned());
        None
    }

    /// The text of an attribute, without blanks around it; None if it cannot be read.
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        self.long_text(path, ATTRIBUTE_BYTES)
    }

    /// The first `most_bytes` of a file as text, without blanks around them; None if it cannot be read.
    pub(super) fn long_text(&self, path: &Path, most_bytes: usize) -> Option<String> {
        let bytes = bytes_of(self.opened(path).as_ref(), 0, most_bytes);
        (!bytes.is_empty()).then(|| trim(&String::from_utf8_lossy(&bytes)).to_owned())
    }

    /// The file of a path, for reading; None if it cannot be opened.
    pub(super) fn opened(&self, path: &Path) -> Option<File> {
        // A link could lead out of the folder, and a pipe could block or never end.
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path).ok()
    }

    /// The sorted names in a folder; empty if it cannot be read.
    pub(super) fn names(&self, path: &Path) -> Vec<String> {
        let Ok(entries) = path.read_dir() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name()));
        let mut names: Vec<_> = names.filter_map(|name| OsString::into_string(name).ok()).collect();
        names.sort();
        names
    }
}

/// The bytes from an offset on; fewer, or none, if they cannot be read.
pub(super) fn bytes_of(file: Option<&File>, offset: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let read = file.and_then(|file| file.read_at(&mut bytes, offset).ok()).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

/// The path with links resolved, though its end may be missing; None for a loop of links.
fn resolved(path: &Path, links: usize) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let (parent, links) = (path.parent()?, links.checked_sub(1)?);
    match path.read_link() {
        Ok(target) => resolved(&parent.join(target), links),
        Err(_) => Some(resolved(parent, links)?.join(path.file_name()?)),
    }
}
