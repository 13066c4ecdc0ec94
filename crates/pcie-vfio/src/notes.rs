//! What this program has bound, and how it was before: a note for each device, so that only that is given back, and as it was.
//!
//! A note stands in two places, of which either will do. One that cannot be read, or is of an earlier boot, is none: bindings end
//! with the kernel that made them.

use crate::address::Address;
use crate::obstacle;
use crate::purpose::Purpose;
use crate::tree::{Function, Tree, text};
use pcie_refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Folders of notes: gone with the boot, and kept where the first cannot be.
const FOLDERS: [&str; 2] = ["run/pcielab/bound", "var/lib/pcielab/bound"];

/// What was done to a device, and how it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    /// Which device.
    pub(crate) address: String,
    /// The boot that it is of.
    boot: String,
    /// What it was made ready for.
    pub(crate) purpose: Purpose,
    /// The driver that had it.
    pub(crate) driver: Option<String>,
    /// Its override of drivers, empty for none.
    pub(crate) driver_override: String,
    /// Whether its memory decoding was switched on for us, and is to be switched off again.
    pub(crate) enabled: bool,
}

impl Note {
    /// How a device is now, before it is bound; how it was before an earlier binding of ours, if it was bound.
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

fn places(tree: &Tree, address: Address) -> [PathBuf; 2] {
    FOLDERS.map(|folder| tree.path(folder).join(format!("{address}.json")))
}

/// The note about a device; none if this program did not bind it.
pub(crate) fn read(tree: &Tree, address: Address) -> Option<Note> {
    places(tree, address).iter().find_map(|place| {
        let note: Note = serde_json::from_str(&text(place)?).ok()?;
        (note.address == address.to_string() && note.boot == boot(tree)).then_some(note)
    })
}

/// Writes a note to every place that takes it.
///
/// # Errors
/// None does.
pub(crate) fn write(tree: &Tree, address: Address, note: &Note) -> Result<(), Refusal> {
    let content = serde_json::to_vec(note).map_err(|error| obstacle::unnoted(address, error))?;
    let written = places(tree, address).map(|place| replace(&place, &content));
    if written.iter().any(Result::is_ok) {
        return Ok(());
    }
    let [first, _] = &places(tree, address);
    match written.into_iter().find_map(Result::err) {
        Some(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(obstacle::not_root(address, first, "bind"))
        }
        Some(error) => Err(obstacle::unnoted(address, format!("{}: {error}", first.display()))),
        None => Ok(()),
    }
}

/// A file whole or not at all: a note that is half there says nothing.
fn replace(place: &Path, content: &[u8]) -> io::Result<()> {
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder)?;
    let fresh = place.with_extension("new");
    let mut file = File::create(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&fresh, place)
}

/// Forgets a device.
///
/// # Errors
/// A note stays, and would have the device given back that somebody else has bound.
pub(crate) fn remove(tree: &Tree, address: Address) -> Result<(), Refusal> {
    for place in places(tree, address) {
        match fs::remove_file(&place) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(obstacle::kernel(place.display().to_string(), error));
            }
            _ => (),
        }
    }
    Ok(())
}
