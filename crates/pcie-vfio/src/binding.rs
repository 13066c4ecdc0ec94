//! Giving a device to vfio-pci, or to nobody, and back to the kernel: a step of its own, for root, which running tests is not.
//!
//! Nothing is remembered of what a device was: given back, it goes to whatever driver the kernel chooses.

use crate::address::Address;
use crate::refusal::Refusal;
use crate::tree::{Function, Tree, text};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// What a device is made ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// DMA, through vfio-pci.
    Vfio,
    /// Stores into its BARs, without a driver.
    Stores,
}

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

/// Gives a device back: to the driver that the kernel chooses.
///
/// # Errors
/// A process has it, or the kernel refuses.
pub fn release(tree: &Tree, address: Address) -> Result<(), Refusal> {
    let function = tree.function(address)?;
    let write = |path: &Path, text: &str| write(address, "release", path, text);
    match function.driver.as_deref() {
        Some("vfio-pci") => {
            check_idle(tree, &function)?;
            write(&function.folder.join("driver_override"), "\n")?;
            write(&function.folder.join("driver/unbind"), &address.to_string())?;
        }
        Some(_) => return Ok(()),
        None => {
            write(&function.folder.join("driver_override"), "\n")?;
            if text(&function.folder.join("enable")).as_deref() == Some("1") {
                write(&function.folder.join("enable"), "0")?;
            }
            give(&function, "release", 0)?;
        }
    }
    write(&tree.path("sys/bus/pci/drivers_probe"), &address.to_string())
}

fn bind_to_vfio(tree: &Tree, function: &Function, owner: Option<u32>) -> Result<(), Refusal> {
    let address = function.address;
    let group = tree.check_group(function)?;
    if function.driver.as_deref() != Some("vfio-pci") {
        if !tree.path("sys/bus/pci/drivers/vfio-pci").exists() {
            return Err(Refusal::NoDriver(address));
        }
        let overridden = function.folder.join("driver_override");
        write(address, "bind", &overridden, "vfio-pci")?;
        let bound = detach(function)
            .and_then(|()| {
                write(address, "bind", &tree.path("sys/bus/pci/drivers_probe"), &address.to_string())
            })
            .and_then(|()| match tree.function(address)?.driver.as_deref() {
                Some("vfio-pci") => Ok(()),
                _ => Err(Refusal::Kernel {
                    what: format!("{address}: giving it to vfio-pci"),
                    reason: "the driver did not take it: see dmesg".into(),
                }),
            });
        if bound.is_err() {
            // As it was: what the kernel says to this is no worse than what it said before.
            let _ = write(address, "bind", &overridden, "\n");
            let _ = write(address, "bind", &tree.path("sys/bus/pci/drivers_probe"), &address.to_string());
        }
        bound?;
    }
    match owner {
        Some(owner) => chown(address, "bind", &tree.path(&format!("dev/vfio/{group}")), owner),
        None => Ok(()),
    }
}

fn leave_unbound(tree: &Tree, function: &Function, owner: Option<u32>) -> Result<(), Refusal> {
    if function.driver.as_deref() == Some("vfio-pci") {
        check_idle(tree, function)?;
        write(function.address, "bind", &function.folder.join("driver_override"), "\n")?;
    }
    detach(function)?;
    // The kernel counts how often it was switched on, and giving it back switches it off once.
    let enabled = function.folder.join("enable");
    if text(&enabled).as_deref() != Some("1") {
        write(function.address, "bind", &enabled, "1")?;
    }
    owner.map_or(Ok(()), |owner| give(function, "bind", owner))
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
            Err(Refusal::Busy { address: function.address, path: path.display().to_string(), seconds: 0 })
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
    Err(Refusal::NotLinux)
}

fn refused(address: Address, what: &'static str, path: &Path, error: &std::io::Error) -> Refusal {
    let path = path.display().to_string();
    match error.kind() {
        ErrorKind::PermissionDenied => Refusal::NotRoot { address, path, what },
        _ => Refusal::Kernel { what: path, reason: error.to_string() },
    }
}

fn user_number(tree: &Tree, name: &str) -> Result<u32, Refusal> {
    let users = text(&tree.path("etc/passwd")).unwrap_or_default();
    let number = |line: &str| {
        let mut words = line.split(':');
        (words.next() == Some(name)).then(|| words.nth(1)?.parse().ok()).flatten()
    };
    users.lines().find_map(number).ok_or_else(|| Refusal::NoSuchUser(name.to_owned()))
}
