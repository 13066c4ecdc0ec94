//! Binds a device to vfio-pci or to no driver, and releases it. Both need root; tests do not.
//!
//! Binding writes a note of the device's earlier state ([`crate::notes`]). Only noted devices are released.

use crate::address::Address;
use crate::notes::{self, Note};
use crate::obstacle;
use crate::survey::Look;
use crate::tree::{Function, Tree, text};
use pcie_refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Purpose of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// DMA, through vfio-pci.
    Vfio,
    /// Stores into its BARs, without a driver.
    Stores,
}

/// Prepares a device for a purpose, and gives it to a user.
///
/// # Errors
/// The obstacle and its fix; the device is then unchanged.
pub fn bind(tree: &Tree, address: Address, purpose: Purpose, user: Option<&str>) -> Result<(), Refusal> {
    let function = tree.function(address)?;
    let owner = user.map(|name| user_number(tree, name)).transpose()?;
    check(tree, &function, purpose, &tree.survey(&function))?;
    match purpose {
        Purpose::Vfio => bind_to_vfio(tree, &function, owner),
        Purpose::Stores => leave_unbound(tree, &function, owner),
    }
}

/// What [`bind`] would look at, and its refusal if there is one. Changes nothing.
///
/// # Errors
/// There is no such device.
pub fn survey(tree: &Tree, address: Address, purpose: Purpose) -> Result<Survey, Refusal> {
    let function = tree.function(address)?;
    let looks = tree.survey(&function);
    let refusal = check(tree, &function, purpose, &looks).err().map(|refusal| refusal.to_string());
    Ok(Survey { looks, refusal })
}

/// Everything that was looked at before a device is bound.
#[derive(Clone, Debug, Serialize)]
pub struct Survey {
    /// Each kind of use, and what was found.
    pub looks: Vec<Look>,
    /// The obstacle and its fix; none if the device may be bound.
    pub refusal: Option<String>,
}

/// Refuses a device that is not known to be free, or cannot be bound for a purpose.
fn check(tree: &Tree, function: &Function, purpose: Purpose, looks: &[Look]) -> Result<(), Refusal> {
    tree.check_free(function, looks)?;
    function.check_takeable()?;
    function.check_awake()?;
    if purpose == Purpose::Stores {
        return if function.driver.as_deref() == Some("vfio-pci") {
            check_idle(tree, function)
        } else {
            Ok(())
        };
    }
    tree.check_group(function)?;
    let is_bound = function.driver.as_deref() == Some("vfio-pci");
    match is_bound || tree.path("sys/bus/pci/drivers/vfio-pci").exists() {
        true => Ok(()),
        false => Err(obstacle::no_driver(function.address)),
    }
}

/// Undoes [`bind`]: restores the device's state, and lets the kernel choose its driver.
///
/// # Errors
/// pcielab did not bind it, a process has it open or mapped, it is a bridge, or the kernel refuses.
pub fn release(tree: &Tree, address: Address) -> Result<(), Refusal> {
    let function = tree.function(address)?;
    function.check_no_bridge()?;
    let note = notes::read(tree, address);
    let ours = match (function.driver.as_deref(), note) {
        (Some("vfio-pci") | None, None) => None,
        // Stores need a device without a driver: somebody else has bound this one since.
        (Some("vfio-pci"), Some(note)) if note.purpose == Purpose::Stores => None,
        (Some("vfio-pci") | None, Some(note)) => Some(note),
        // It has its driver already.
        (Some(_), _) => return notes::remove(tree, address),
    };
    let Some(note) = ours else { return Err(not_ours(tree, &function)) };
    tree.check_releasable(&function)?;
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

/// The text that restores `driver_override`; an empty line clears it.
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
    let driver = function.driver.as_deref().unwrap_or("no driver");
    obstacle::not_ours(address, &format!("{driver} has it"), &remedy)
}

fn bind_to_vfio(tree: &Tree, function: &Function, owner: Option<u32>) -> Result<(), Refusal> {
    let address = function.address;
    let group = tree.check_group(function)?;
    if function.driver.as_deref() != Some("vfio-pci") {
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
    let group = tree.path(&format!("dev/vfio/{group}"));
    let own = tree.function(address).ok().and_then(|function| tree.device_node(&function));
    // A kernel has nodes of groups, of devices, or both.
    let given = [Some(group), own].into_iter().flatten().filter(|path| path.exists());
    let mut given = given.map(|path| owner.map_or(Ok(()), |owner| chown(address, "bind", &path, owner)));
    given.try_for_each(|done| done)
}

fn leave_unbound(tree: &Tree, function: &Function, owner: Option<u32>) -> Result<(), Refusal> {
    let address = function.address;
    // The kernel counts how often a device was enabled, and release() disables it once.
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

/// Notes a device's state and applies a change; if the change fails, restores device and note.
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
        // Errors here add nothing to the first one.
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
    let (address, path) = (function.address, function.folder.join("driver/unbind"));
    function.driver.as_ref().map_or(Ok(()), |_| write(address, "bind", &path, &address.to_string()))
}

/// Gives the files of the prefetchable BARs to a user.
fn give(function: &Function, command: &'static str, owner: u32) -> Result<(), Refusal> {
    for bar in function.bars().iter().filter(|bar| bar.is_memory && bar.is_prefetchable) {
        for suffix in ["", "_wc"] {
            let path = function.folder.join(format!("resource{}{suffix}", bar.number));
            if path.exists() {
                chown(function.address, command, &path, owner)?;
            }
        }
    }
    Ok(())
}

/// Refuses while a process has the group open: unbinding would block until it ends.
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

fn write(address: Address, command: &'static str, path: &Path, text: &str) -> Result<(), Refusal> {
    fs::write(path, text).map_err(|error| refused(address, command, path, &error))
}

#[cfg(unix)]
fn chown(address: Address, command: &'static str, path: &Path, owner: u32) -> Result<(), Refusal> {
    std::os::unix::fs::chown(path, Some(owner), None).map_err(|error| refused(address, command, path, &error))
}

#[cfg(not(unix))]
fn chown(_address: Address, _command: &'static str, _path: &Path, _owner: u32) -> Result<(), Refusal> {
    Err(obstacle::not_linux())
}

fn refused(address: Address, command: &'static str, path: &Path, error: &std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::PermissionDenied => obstacle::not_root(address, path, command),
        _ => obstacle::kernel(path.display().to_string(), error),
    }
}

fn user_number(tree: &Tree, name: &str) -> Result<u32, Refusal> {
    let users = text(&tree.path("etc/passwd")).unwrap_or_default();
    let number = |line: &str| {
        let mut words = line.split(':');
        (words.next() == Some(name)).then(|| words.nth(1)?.parse().ok()).flatten()
    };
    users.lines().find_map(number).ok_or_else(|| obstacle::unknown_user(name))
}
