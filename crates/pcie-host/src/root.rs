//! Root directory of a machine's files.

use std::path::{Path, PathBuf};

/// The directory of a machine's `sys`, `proc`, `dev` and `etc`: `/` for this machine.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// This machine's root.
    #[must_use]
    pub fn here() -> Self {
        Self::at("/")
    }

    /// The root of a copy of a machine's files, or of a made-up machine.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// A path below the root; `path` has no leading slash.
    #[must_use]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }
}
