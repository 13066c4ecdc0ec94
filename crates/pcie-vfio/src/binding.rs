//! Giving a device to vfio-pci, or to nobody, and back to the kernel: a step of its own, for root, which running tests is not.
//!
//! What was bound is noted, with how it was before ([`crate::notes`]): only that is given back, to whatever driver the kernel
//! chooses.

use crate::address::Address;
use crate::notes::{self, Note};
use crate::obstacle;
use crate::purpose::Purpose;
use crate::tree::{Function, Tree, text};
use pcie_refusal::Refusal;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Makes a device ready, and gives it to a user.
///
/// # Errors
/// Something stands in the way: see [`Refusal`]. The device is then as it was.
pub fn bind(tree: &Tree, address: Address, purpose: Purpose, user: Option<&str>) -> Result<(), Refusal> {
    let function = tree.function(address)?;
    let owner = user.map(|name| user_number(tree, name)).transpose()?;
    tree.check_unused(&function)?;
    function.check_awake()?;
    match purpose {
        Purpose::Vfio => bind_to_vfio(tree, &function, owner),
        Purpose::Stores => leave_unbound(tree, &function, owner),
    }
}

/// Gives a device back that [`bind`] has bound: to the driver that the kernel chooses, with everything as it was.
///
/// # Errors
/// Somebody else bound it, a process has it, it leads to other devices, or the kernel refuses.
pub fn release(tree: &Tree, address: Address) -> Result<(), Refusal> {
    let function = tree.function(address)?;
    function.check_no_bridge()?;
    let note = notes::read(tree, address);
    let ours = match (function.driver.as_deref(), note) {
        (Some("vfio-pci") | None, None) => None,
        // Stores go to a device without a driver: this one was bound by somebody since.
        (Some("vfio-pci"), Some(note)) if note.purpose == Purpose::Stores => None,
        (Some("vfio-pci") | None, Some(note)) => Some(note),
        // It has its driver.
        (Some(_), _) => return notes::remove(tree, address),
    };
    let Some(note) = ours else { return Err(not_ours(tree, &function)) };
    if let Some(found) = tree.use_below(&function) {
        return Err(obstacle::in_use(address, found));
    }
    let write = |path: &Path, text: &str| write(address, "release", path, text);
    if function.driver.is_some() {
        check_idle(tree, &function)?;
    }
    write(&function.folder.join("driver_override"), restored(&note))?;
    if function.driver.is_some() {
        write(&function.folder.join("driver/unbind"), &address.to_string())?;
    }
    if note.enabled && text(&function.folder.join("enable")).as_deref() == Some("1") {
        write(&function.folder.join("enable"), "0")?;
    }
    if note.purpose == Purpose::Stores {
        give(&function, "release", 0)?;
    }
    write(&tree.path("sys/bus/pci/drivers_probe"), &address.to_string())?;
    notes::remove(tree, address)
}

/// The text that gives an override of drivers back: a line without a name for none.
fn restored(note: &Note) -> &str {
    if note.driver_override.is_empty() { "\n" } else { &note.driver_override }
}

fn not_ours(tree: &Tree, function: &Function) -> Refusal {
    let (address, folder) = (function.address, function.folder.display().to_string());
    let probe = tree.path("sys/bus/pci/drivers_probe").display().to_string();
    let unbind = match &function.driver {
        Some(_) => format!("`echo {address} | sudo tee {folder}/driver/unbind`, "),
        None => String::new(),
    };
    let remedy =
        format!("`echo | sudo tee {folder}/driver_override`, {unbind}`echo {address} | sudo tee {probe}`");
    let driver =
        function.driver.as_ref().map_or("no driver has it".to_owned(), |driver| format!("{driver} has it"));
    obstacle::not_ours(address, &driver, &remedy)
}

fn bind_to_vfio(tree: &Tree, function: &Function, owner: Option<u32>) -> Result<(), Refusal> {
    let address = function.address;
    let group = tree.check_group(function)?;
    if function.driver.as_deref() != Some("vfio-pci") {
        if !tree.path("sys/bus/pci/drivers/vfio-pci").exists() {
            return Err(obstacle::no_driver(address));
        }
        let note = Note::of(tree, function, Purpose::Vfio);
        noted(tree, function, &note, || {
            write(address, "bind", &function.folder.join("driver_override"), "vfio-pci")?;
            detach(function)?;
            write(address, "bind", &tree.path("sys/bus/pci/drivers_probe"), &address.to_string())?;
            match tree.function(address)?.driver.as_deref() {
                Some("vfio-pci") => Ok(()),
                _ => Err(obstacle::kernel(
                    format!("{address}: giving it to vfio-pci"),
                    "the driver did not take it: see dmesg",
                )),
            }
        })?;
    }
    match owner {
        Some(owner) => chown(address, "bind", &tree.path(&format!("dev/vfio/{group}")), owner),
        None => Ok(()),
    }
}

fn leave_unbound(tree: &Tree, function: &Function, owner: Option<u32>) -> Result<(), Refusal> {
    let address = function.address;
    if function.driver.as_deref() == Some("vfio-pci") {
        check_idle(tree, function)?;
    }
    // The kernel counts how often it was switched on, and giving it back switches it off once.
    let enable = function.folder.join("enable");
    let is_off = text(&enable).as_deref() != Some("1");
    let mut note = Note::of(tree, function, Purpose::Stores);
    note.enabled |= is_off;
    noted(tree, function, &note, || {
        if function.driver.as_deref() == Some("vfio-pci") {
            write(address, "bind", &function.folder.join("driver_override"), "\n")?;
        }
        detach(function)?;
        if is_off {
            write(address, "bind", &enable, "1")?;
        }
        owner.map_or(Ok(()), |owner| give(function, "bind", owner))
    })
}

/// Notes how a device was, and does something to it; if that fails, it is as it was, and so is the note.
fn noted(
    tree: &Tree,
    function: &Function,
    note: &Note,
    change: impl FnOnce() -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let address = function.address;
    let earlier = notes::read(tree, address);
    notes::write(tree, address, note)?;
    let changed = change();
    if changed.is_err() {
        // What the kernel says to this is no worse than what it said before.
        let _ = write(address, "bind", &function.folder.join("driver_override"), restored(note));
        let _ = write(address, "bind", &tree.path("sys/bus/pci/drivers_probe"), &address.to_string());
        let _ = match earlier {
            Some(earlier) => notes::write(tree, address, &earlier),
            None => notes::remove(tree, address),
        };
    }
    changed
}

fn detach(function: &Function) -> Result<(), Refusal> {
    match function.driver {
        Some(_) => {
            let (address, path) = (function.address, function.folder.join("driver/unbind"));
            write(address, "bind", &path, &address.to_string())
        }
        None => Ok(()),
    }
}

/// Gives the files of the BARs that stores may be combined in to a user.
fn give(function: &Function, what: &'static str, owner: u32) -> Result<(), Refusal> {
    for bar in function.bars().iter().filter(|bar| bar.is_memory && bar.is_prefetchable) {
        for suffix in ["", "_wc"] {
            let path = function.folder.join(format!("resource{}{suffix}", bar.number));
            if path.exists() {
                chown(function.address, what, &path, owner)?;
            }
        }
    }
    Ok(())
}

/// Refuses while a process has the group: the kernel would wait for it, without an end.
fn check_idle(tree: &Tree, function: &Function) -> Result<(), Refusal> {
    let Some(group) = function.group else { return Ok(()) };
    let path = tree.path(&format!("dev/vfio/{group}"));
    match fs::OpenOptions::new().read(true).write(true).open(&path) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => {
            Err(obstacle::busy(function.address, &path, 0))
        }
        _ => Ok(()),
    }
}

fn write(address: Address, what: &'static str, path: &Path, text: &str) -> Result<(), Refusal> {
    fs::write(path, text).map_err(|error| refused(address, what, path, &error))
}

#[cfg(unix)]
fn chown(address: Address, what: &'static str, path: &Path, owner: u32) -> Result<(), Refusal> {
    std::os::unix::fs::chown(path, Some(owner), None).map_err(|error| refused(address, what, path, &error))
}

#[cfg(not(unix))]
fn chown(_address: Address, _what: &'static str, _path: &Path, _owner: u32) -> Result<(), Refusal> {
    Err(obstacle::not_linux())
}

fn refused(address: Address, what: &'static str, path: &Path, error: &std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::PermissionDenied => obstacle::not_root(address, path, what),
        _ => obstacle::kernel(path.display().to_string(), error),
    }
}

fn user_number(tree: &Tree, name: &str) -> Result<u32, Refusal> {
    let users = text(&tree.path("etc/passwd")).unwrap_or_default();
    let number = |line: &str| {
        let mut words = line.split(':');
        (words.next() == Some(name)).then(|| words.nth(1)?.parse().ok()).flatten()
    };
    users.lines().find_map(number).ok_or_else(|| obstacle::no_such_user(name))
}
