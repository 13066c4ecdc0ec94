//! Where a machine's files are.

use std::path::{Path, PathBuf};

/// The directory that a machine's `sys`, `proc`, `dev` and `etc` are in: `/` for the one that this runs on.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// That of this machine.
    #[must_use]
    pub fn here() -> Self {
        Self::at("/")
    }

    /// Another one: a copy of a machine's files, or a made-up one.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// A path of that machine, which begins without a slash.
    #[must_use]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }
}
