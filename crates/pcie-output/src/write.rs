//! Writers of files and folders with contents in memory.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::beside::Beside;
use crate::error::{Error, Result};
use crate::name::plain_file_name;
use crate::target::{Found, Target};

/// Writes a file, or into a stream. On an error `path` is unchanged, unless it is a stream.
pub fn write_file(path: &Path, content: &[u8], overwrite: bool) -> Result<()> {
    let target = Target::find(path)?;
    target.accept_file(overwrite)?;
    let failed = |error: io::Error| Error::of_io(path, &error);
    match target.found {
        Found::Stdout => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(content).and_then(|()| stdout.flush()).map_err(failed)
        }
        Found::Stream => {
            let opened = OpenOptions::new().write(true).open(path);
            opened.and_then(|mut stream| stream.write_all(content)).map_err(failed)
        }
        _ => {
            let beside = Beside::new(target)?;
            File::create_new(beside.fresh())
                .and_then(|mut fresh| fresh.write_all(content))
                .map_err(failed)?;
            beside.put_file_in_place(overwrite)
        }
    }
}

/// Writes a folder of files by name. With `overwrite`, it replaces a folder that is empty or holds the file
/// `mark`, and nothing old is left in it. On an error `path` is unchanged.
pub fn write_folder(
    path: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    overwrite: bool,
    mark: &str,
) -> Result<()> {
    files.keys().try_for_each(|name| plain_file_name(name))?;
    let target = Target::find(path)?;
    target.accept_folder(overwrite, mark)?;
    let beside = Beside::new(target)?;
    let fill = |folder: &Path| {
        fs::create_dir(folder)?;
        files.iter().try_for_each(|(name, content)| {
            let mut file = File::create_new(folder.join(name))?;
            file.write_all(content)?;
            file.sync_all()
        })
    };
    fill(&beside.fresh()).map_err(|error| Error::of_io(path, &error))?;
    beside.put_folder_in_place()
}
