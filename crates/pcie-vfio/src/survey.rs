//! A survey of the uses of a device: every place where the kernel shows one, and what was found there.
//!
//! A place that cannot be read counts as a use: it could show one.

use crate::address::Address;
use crate::tree::{Function, Tree};
use serde::Serialize;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A use of a device, or a place that could show one and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The use: `nvme0n1p1 is mounted at /home`.
    pub holder: String,
    /// What ends it.
    pub remedy: String,
    /// Whether the use was seen; false for a place that cannot be read.
    pub is_seen: bool,
}

/// One kind of use that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The kind of use: `mounts`.
    pub subject: &'static str,
    /// The kernel's files that show it.
    pub places: &'static str,
    /// What holds the device; empty for nothing.
    pub holders: Vec<Holder>,
    #[serde(skip)]
    address: Address,
    /// Places that cannot be read beyond those in `holders`.
    #[serde(skip)]
    unlisted: usize,
}

/// Most places that cannot be read that a look lists; it counts the others.
const DOUBTS_MOST: usize = 3;

/// Looks for one kind of use.
pub(crate) type Looking = fn(&Tree, &Function, &mut Look);

/// A kind of use: what, where, and the function that looks for it.
pub(crate) struct Kind {
    pub(crate) subject: &'static str,
    pub(crate) places: &'static str,
    pub(crate) look: Looking,
}

/// Carries out these looks, in order.
pub(crate) fn carried_out(tree: &Tree, function: &Function, kinds: &[&[Kind]]) -> Vec<Look> {
    let looked = |kind: &Kind| {
        let (subject, places, address) = (kind.subject, kind.places, function.address);
        let mut look = Look { subject, places, holders: Vec::new(), address, unlisted: 0 };
        (kind.look)(tree, function, &mut look);
        look.counted()
    };
    kinds.iter().copied().flatten().map(looked).collect()
}

/// The first use that was seen, or else the first place that cannot be read.
pub(crate) fn first(looks: &[Look]) -> Option<&Holder> {
    let mut all = looks.iter().flat_map(|look| &look.holders);
    first_seen(looks).or_else(|| all.next())
}

/// The first use that was seen.
pub(crate) fn first_seen(looks: &[Look]) -> Option<&Holder> {
    looks.iter().flat_map(|look| &look.holders).find(|holder| holder.is_seen)
}

impl Look {
    /// Adds a use that was seen.
    pub(crate) fn holds(&mut self, holder: impl Into<String>, remedy: impl Into<String>) {
        self.holders.push(Holder { holder: holder.into(), remedy: remedy.into(), is_seen: true });
    }

    /// Adds a doubt: something that could be a use, and cannot be told from one.
    pub(crate) fn doubts(&mut self, doubt: impl Into<String>, remedy: impl Into<String>) {
        let holder = Holder { holder: doubt.into(), remedy: remedy.into(), is_seen: false };
        if self.holders.contains(&holder) {
            return;
        }
        match self.holders.iter().filter(|holder| !holder.is_seen).count() < DOUBTS_MOST {
            true => self.holders.push(holder),
            false => self.unlisted += 1,
        }
    }

    /// With the number of doubts that are not listed.
    fn counted(mut self) -> Self {
        let remedy =
            || self.holders.iter().rfind(|holder| !holder.is_seen).map(|holder| holder.remedy.clone());
        if let Some(remedy) = remedy().filter(|_| self.unlisted > 0) {
            let holder = format!("{} more like these", self.unlisted);
            self.holders.push(Holder { holder, remedy, is_seen: false });
        }
        self
    }

    /// Adds a path that cannot be read; root may read all.
    pub(crate) fn unread(&mut self, path: &Path, error: &io::Error) {
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => {
                format!(
                    "root may read it, outside of containers: `sudo pcielab devices bind {}`",
                    self.address
                )
            }
            _ => "what cannot be read counts as in use: make it readable".to_owned(),
        };
        let reason = match error.kind() {
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        self.doubts(format!("{} cannot be read ({reason})", path.display()), remedy);
    }

    /// Content of a file; none if there is no such file. Any other error counts as a use.
    pub(crate) fn text(&mut self, path: &Path) -> Option<String> {
        match fs::read(path) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) if is_gone(&error) => None,
            Err(error) => {
                self.unread(path, &error);
                None
            }
        }
    }

    /// Content of a file that every machine has: a missing one counts as a use, too.
    pub(crate) fn needed(&mut self, path: &Path) -> String {
        let content = fs::read(path);
        if let Err(error) = &content {
            self.unread(path, error);
        }
        String::from_utf8_lossy(&content.unwrap_or_default()).trim().to_owned()
    }

    /// Sorted names in a folder; empty if there is none. Any other error counts as a use.
    pub(crate) fn names(&mut self, folder: &Path) -> Vec<String> {
        let listed = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let mut names = match listed {
            Ok(entries) => {
                entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
            Err(error) => {
                if !is_gone(&error) {
                    self.unread(folder, &error);
                }
                Vec::new()
            }
        };
        names.sort();
        names
    }

    /// Target of a link, as its text; none if there is no such link. Any other error counts as a use.
    pub(crate) fn link(&mut self, path: &Path) -> Option<PathBuf> {
        match fs::read_link(path) {
            Ok(target) => Some(target),
            Err(error) if is_gone(&error) => None,
            Err(error) => {
                self.unread(path, &error);
                None
            }
        }
    }
}

/// Whether a file does not exist, or its process has ended meanwhile.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    const NO_SUCH_PROCESS: i32 = 3;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_doubts_are_counted() {
        let address = "0000:02:00.0".parse().unwrap();
        let mut look = Look { subject: "files", places: "/proc", holders: Vec::new(), address, unlisted: 0 };
        for number in 0..1000 {
            look.unread(Path::new(&format!("/proc/{number}")), &ErrorKind::PermissionDenied.into());
        }
        let holders = look.counted().holders;
        assert_eq!(holders.len(), 4);
        assert!(holders[0].remedy.starts_with("root may read it"), "{:?}", holders[0]);
        assert_eq!(holders[3].holder, "997 more like these");
    }

    #[test]
    fn ended_processes_are_no_doubt() {
        assert!(is_gone(&io::Error::from_raw_os_error(3)));
        assert!(!is_gone(&io::Error::from(ErrorKind::PermissionDenied)));
    }
}
