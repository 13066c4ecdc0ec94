//! Network interfaces below a function: those that are up, and those with the default route.

use crate::tree::{Function, Tree, names, text};
use crate::usage::{Use, name_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most levels of stacked interfaces that are followed: a VLAN of a bridge of a bond of a NIC.
const LEVELS_MOST: u32 = 8;
/// Masks of a default route and of its halves, which VPNs set; `/proc/net/route` reverses the bytes.
const DEFAULT_MASKS: [&str; 2] = ["00000000", "00000080"];
/// The same as prefix lengths, hexadecimal.
const DEFAULT_PREFIXES: [&str; 2] = ["00", "01"];
/// Drivers that pass a device to a program, and create no interface.
const PASS_THROUGH: [&str; 5] = ["vfio-pci", "pci-stub", "uio_pci_generic", "igb_uio", "xen-pciback"];
/// Class of Ethernet controllers.
const ETHERNET: u32 = 0x02_00;

impl Tree {
    /// The first use of an interface below a function.
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

    fn default_routes(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (file, column, defaults) in [("route", 7, DEFAULT_MASKS), ("ipv6_route", 1, DEFAULT_PREFIXES)] {
            for line in text(&self.path(&format!("proc/net/{file}"))).unwrap_or_default().lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                let name = if file == "route" { words.first() } else { words.last() };
                if words.get(column).is_some_and(|key| defaults.contains(key)) {
                    found.extend(name.filter(|name| **name != "lo").map(|name| (*name).to_owned()));
                }
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

/// A NIC with a driver has an interface: an unlisted one is in another network namespace.
fn hidden(function: &Function) -> Option<Use> {
    let driver = function.driver.as_deref().filter(|driver| !PASS_THROUGH.contains(driver))?;
    (function.class >> 8 == ETHERNET).then(|| {
        let unbind = function.folder.join("driver/unbind").display().to_string();
        let use_ = format!("{driver} has it, and its interface is in another network namespace");
        let remedy = format!(
            "take it back from the container that has it, or, if it has none: `echo {} | sudo tee {unbind}`",
            function.address
        );
        (use_, remedy)
    })
}
