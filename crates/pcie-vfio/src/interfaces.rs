//! Interfaces of a network below a function: which are up, and which the machine is reached by.

use crate::below::{Use, name_of};
use crate::tree::{Function, Tree, names, text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Interfaces upon interfaces that are followed at most: a VLAN of a bridge of a bond of a NIC.
const LEVELS_MOST: u32 = 8;
/// Masks of a default route, and of its two halves, which VPNs set; `/proc/net/route` has the bytes in reverse.
const DEFAULT_MASKS: [&str; 2] = ["00000000", "00000080"];
/// The same as lengths of prefixes, hexadecimal.
const DEFAULT_PREFIXES: [&str; 2] = ["00", "01"];
/// Drivers that hand a device to a program, and make no interface.
const HAND_ON: [&str; 5] = ["vfio-pci", "pci-stub", "uio_pci_generic", "igb_uio", "xen-pciback"];
/// An Ethernet controller.
const ETHERNET: u32 = 0x02_00;

impl Tree {
    /// What an interface below a function is used for, and what ends that.
    pub(crate) fn interface_use(&self, function: &Function) -> Option<Use> {
        let own = self.below(function, "net");
        if own.is_empty() {
            return hidden(function);
        }
        let routes = self.default_routes();
        own.iter().find_map(|folder| {
            let name = name_of(folder)?;
            if is_up(folder) {
                return Some((format!("interface {name} is up"), format!("`sudo ip link set {name} down`")));
            }
            let mut wholes = BTreeSet::new();
            self.add_wholes(folder, LEVELS_MOST, &mut wholes);
            let through = |one: &String| routes.contains(one);
            if through(&name) {
                return Some(routed(&name, ""));
            }
            if let Some(whole) = wholes.iter().find(|one| through(one)) {
                return Some(routed(whole, &format!(", which {name} is part of")));
            }
            let whole = wholes.iter().find(|one| is_up(&self.interface(one)))?;
            let use_ = format!("{whole}, which {name} is part of, is up");
            Some((use_, format!("`sudo ip link set {name} nomaster`")))
        })
    }

    fn interface(&self, name: &str) -> PathBuf {
        self.path(&format!("sys/class/net/{name}"))
    }

    /// The bonds, bridges and VLANs that an interface is part of.
    fn add_wholes(&self, folder: &Path, levels: u32, found: &mut BTreeSet<String>) {
        if levels == 0 {
            return;
        }
        for name in names(folder).iter().filter_map(|name| name.strip_prefix("upper_")) {
            if found.insert(name.to_owned()) {
                self.add_wholes(&self.interface(name), levels - 1, found);
            }
        }
    }

    /// Interfaces that packets take to where nothing else leads.
    fn default_routes(&self) -> BTreeSet<String> {
        let lines = |path: &str| text(&self.path(path)).unwrap_or_default();
        let mut found = BTreeSet::new();
        for line in lines("proc/net/route").lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let (Some(name), Some(mask)) = (words.first(), words.get(7))
                && DEFAULT_MASKS.contains(mask)
            {
                found.insert((*name).to_owned());
            }
        }
        for line in lines("proc/net/ipv6_route").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let (Some(prefix), Some(name)) = (words.get(1), words.last())
                && DEFAULT_PREFIXES.contains(prefix)
                && *name != "lo"
            {
                found.insert((*name).to_owned());
            }
        }
        found
    }
}

fn routed(name: &str, part: &str) -> Use {
    let use_ = format!("the default route goes through {name}{part}");
    (use_, format!("`sudo ip route del default dev {name}`, once the machine is reached another way"))
}

fn is_up(interface: &Path) -> bool {
    let flags = text(&interface.join("flags")).unwrap_or_default();
    u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 1 == 1)
}

/// A NIC that has a driver has an interface: one that is not listed is in another network namespace, such as a container's.
fn hidden(function: &Function) -> Option<Use> {
    let driver = function.driver.as_deref().filter(|driver| !HAND_ON.contains(driver))?;
    (function.class >> 8 == ETHERNET).then(|| {
        let unbind = function.folder.join("driver/unbind").display().to_string();
        let use_ = format!("{driver} has it, and its interface is not among those of this network namespace");
        let remedy = format!(
            "take it back from the container that has it, or, if it has none: `echo {} | sudo tee {unbind}`",
            function.address
        );
        (use_, remedy)
    })
}
