//! Notes of the devices that this program has bound, with their earlier state; only those are released.
//!
//! A note has two copies, of which one suffices. Unreadable notes and those of an earlier boot are ignored.

use crate::address::Address;
use crate::binding::Purpose;
use crate::obstacle;
use crate::tree::{Function, Tree, text};
use pcie_refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Folders of notes: the first is cleared at boot, the second is for machines that lack the first.
const FOLDERS: [&str; 2] = ["run/pcielab/bound", "var/lib/pcielab/bound"];

/// The binding of a device, and its state before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    pub(crate) address: String,
    /// Identifier of the boot.
    boot: String,
    pub(crate) purpose: Purpose,
    /// Its driver before.
    pub(crate) driver: Option<String>,
    /// Its `driver_override` before; empty for none.
    pub(crate) driver_override: String,
    /// Whether binding enabled the device, so that releasing disables it.
    pub(crate) enabled: bool,
}

impl Note {
    /// The current state of a device; the state before our earlier binding, if there is one.
    pub(crate) fn of(tree: &Tree, function: &Function, purpose: Purpose) -> Self {
        if let Some(earlier) = read(tree, function.address) {
            return Self { purpose, ..earlier };
        }
        let kept = text(&function.folder.join("driver_override")).filter(|text| text != "(null)");
        Self {
            address: function.address.to_string(),
            boot: boot(tree),
            purpose,
            driver: function.driver.clone(),
            driver_override: kept.unwrap_or_default(),
            enabled: false,
        }
    }
}

fn boot(tree: &Tree) -> String {
    text(&tree.path("proc/sys/kernel/random/boot_id")).unwrap_or_default()
}

fn copies(tree: &Tree, address: Address) -> [PathBuf; 2] {
    FOLDERS.map(|folder| tree.path(folder).join(format!("{address}.json")))
}

/// The note about a device; none if this program did not bind it.
pub(crate) fn read(tree: &Tree, address: Address) -> Option<Note> {
    copies(tree, address).iter().find_map(|copy| {
        let note: Note = serde_json::from_str(&text(copy)?).ok()?;
        (note.address == address.to_string() && note.boot == boot(tree)).then_some(note)
    })
}

/// Writes both copies of a note; fails if neither can be written.
pub(crate) fn write(tree: &Tree, address: Address, note: &Note) -> Result<(), Refusal> {
    let content = serde_json::to_vec(note).map_err(|error| obstacle::unnoted(address, error))?;
    let written = copies(tree, address).map(|copy| replace(&copy, &content));
    if written.iter().any(Result::is_ok) {
        return Ok(());
    }
    let [first, _] = &copies(tree, address);
    match written.into_iter().find_map(Result::err) {
        Some(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(obstacle::not_root(address, first, "bind"))
        }
        Some(error) => Err(obstacle::unnoted(address, format!("{}: {error}", first.display()))),
        None => Ok(()),
    }
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let fresh = path.with_extension("new");
    let mut file = File::create(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

/// Removes the note of a device; a copy that remains would release a later binding of somebody else.
pub(crate) fn remove(tree: &Tree, address: Address) -> Result<(), Refusal> {
    for copy in copies(tree, address) {
        match fs::remove_file(&copy) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(obstacle::kernel(copy.display().to_string(), error));
            }
            _ => (),
        }
    }
    Ok(())
}
