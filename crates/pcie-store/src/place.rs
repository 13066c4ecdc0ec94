//! Names of what SQLite keeps beside a store.

use std::path::{Path, PathBuf};

/// The path of a store with a suffix, such as `-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
