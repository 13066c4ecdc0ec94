//! The file of a socket that the brick makes, and what else may be at its path.

use super::error::BrickError;
use pcie_refusal::Refusal;
use std::fs::{remove_file, symlink_metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

/// Device and inode of a file.
type Identity = (u64, u64);

/// A socket that listens. Dropping it removes its file, unless another file is at the path by then.
#[derive(Debug)]
pub(super) struct MadeSocket {
    pub(super) path: PathBuf,
    pub(super) listener: UnixListener,
    identity: Option<Identity>,
}

impl MadeSocket {
    /// Makes a socket at a free path.
    pub(super) fn new(path: &Path) -> Result<Self, BrickError> {
        let listener = UnixListener::bind(path).map_err(|error| {
            let (problem, remedy) = obstacle(path, &error);
            Refusal::new(problem).about(path.display().to_string()).remedy(remedy)
        })?;
        Ok(Self { path: path.to_owned(), listener, identity: identity(path) })
    }
}

impl Drop for MadeSocket {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = remove_file(&self.path);
        }
    }
}

/// Whether there is a file at a path that is no socket.
pub(super) fn is_other_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.file_type().is_socket())
}

/// The identity of the socket at a path; none of another kind of file, which may have taken a new socket's place
/// before it was looked at.
fn identity(path: &Path) -> Option<Identity> {
    let found = symlink_metadata(path).ok().filter(|found| found.file_type().is_socket())?;
    Some((found.dev(), found.ino()))
}

/// Why no socket can be made at a path, and what to do.
fn obstacle(path: &Path, error: &Error) -> (String, String) {
    if error.kind() != ErrorKind::AddrInUse {
        return (error.to_string(), "give a path in a folder that exists, without a file there".to_owned());
    }
    if is_other_file(path) || path.metadata().is_err() {
        return ("a file is there".to_owned(), "give a path without a file there".to_owned());
    }
    match is_abandoned(path) {
        true => (
            "nobody listens on the socket there, which a killed program has left".to_owned(),
            format!("remove it (rm {}), or give another path", path.display()),
        ),
        false => ("another program listens there".to_owned(), "give another path".to_owned()),
    }
}

/// Whether no process has the socket at a path open. Sockets of streams refuse a datagram by its type, before they
/// notice it, so that a program that listens there is not disturbed.
fn is_abandoned(path: &Path) -> bool {
    let asked = UnixDatagram::unbound().and_then(|probe| probe.connect(path));
    asked.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_has_an_identity() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, file) = (folder.path().join("socket"), folder.path().join("file"));
        let made = MadeSocket::new(&socket).unwrap();
        std::fs::write(&file, "mine").unwrap();
        assert_eq!((identity(&socket), identity(&file)), (made.identity, None));
        assert!(made.identity.is_some());
    }
}
