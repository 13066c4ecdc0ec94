//! Uses of the network interfaces and RDMA devices below a function: routes, connections, bonds, bridges,
//! sockets, and other network namespaces.

use crate::routes::Route;
use crate::survey::{Kind, Look};
use crate::tree::{Function, Tree};
use crate::usage::name_of;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) const CONNECTIONS: Kind = Kind {
    subject: "SSH sessions and other connections",
    places: "/proc/net/tcp, tcp6, route and ipv6_route",
    look: connections,
};
pub(crate) const INTERFACES: Kind = Kind {
    subject: "interfaces, routes, bonds, bridges, namespaces",
    places: "/sys/class/net/*/flags, upper_* and master; /proc/net/route and ipv6_route",
    look: interfaces,
};
pub(crate) const SOCKETS: Kind =
    Kind { subject: "packet sockets", places: "/proc/net/packet", look: sockets };
pub(crate) const RDMA: Kind =
    Kind { subject: "RDMA ports", places: "/sys/class/infiniband/*/ports/*/state", look: rdma };
pub(crate) const NAMESPACE: Kind = Kind {
    subject: "the network namespace of this command",
    places: "/proc/self/ns/net, /proc/1/ns/net",
    look: namespace,
};

/// Most levels of stacked interfaces that are followed: a VLAN of a bridge of a bond of a NIC.
const LEVELS_MOST: u32 = 8;
/// Drivers that pass a device to a program, and create no interface.
const PASS_THROUGH: [&str; 5] = ["vfio-pci", "pci-stub", "uio_pci_generic", "igb_uio", "xen-pciback"];
/// Class of network controllers.
const NETWORK: u32 = 0x02;

impl Tree {
    fn interface(&self, name: &str) -> PathBuf {
        self.path(&format!("sys/class/net/{name}"))
    }

    /// The bonds, bridges and VLANs that an interface is part of.
    fn add_wholes(&self, folder: &Path, levels: u32, found: &mut BTreeSet<String>, look: &mut Look) {
        if levels == 0 {
            let doubt = format!("more than {LEVELS_MOST} interfaces are stacked on it");
            return look.doubts(doubt, "`ip link` shows them");
        }
        let listed = look.names(folder);
        let upper = listed.iter().filter_map(|name| name.strip_prefix("upper_").map(str::to_owned));
        let master = look.link(&folder.join("master")).and_then(|target| name_of(&target));
        for name in upper.chain(master) {
            if found.insert(name.clone()) {
                self.add_wholes(&self.interface(&name), levels - 1, found, look);
            }
        }
    }

    /// The interfaces of a function, each with its folder, its name, and the names of everything it is part of.
    fn interfaces(&self, function: &Function, look: &mut Look) -> Vec<Interface> {
        let mut found = Vec::new();
        for folder in self.below(function, "net", look) {
            let mut wholes = BTreeSet::new();
            self.add_wholes(&folder, LEVELS_MOST, &mut wholes, look);
            found.extend(name_of(&folder).map(|name| Interface { folder, name, wholes }));
        }
        found
    }
}

struct Interface {
    folder: PathBuf,
    name: String,
    wholes: BTreeSet<String>,
}

/// `, which eth7 is part of`, unless it is the interface itself.
fn part(whole: &str, name: &str) -> String {
    if whole == name { String::new() } else { format!(", which {name} is part of") }
}

fn connections(tree: &Tree, function: &Function, look: &mut Look) {
    let own = tree.interfaces(function, look);
    if own.is_empty() {
        return;
    }
    let (routes, connections) = (tree.routes(look), tree.connections(look));
    for Interface { name, wholes, .. } in own {
        let is_own = |through: &str| through == name || wholes.contains(through);
        let carried = connections.iter().find_map(|connection| {
            let through = connection.interface(&routes).filter(|through| is_own(through))?;
            Some(format!("{} goes through {through}{}", connection.name(), part(through, &name)))
        });
        if let Some(use_) = carried {
            look.holds(use_, "reach the machine through another interface first");
        }
    }
}

fn interfaces(tree: &Tree, function: &Function, look: &mut Look) {
    let own = tree.interfaces(function, look);
    if own.is_empty() {
        return hidden(function, look);
    }
    let routes = tree.routes(look);
    for Interface { folder, name, wholes } in own {
        if is_up(&folder, look) {
            look.holds(format!("interface {name} is up"), format!("`sudo ip link set {name} down`"));
        }
        routed(&name, &wholes, &routes, look);
        let remedy = format!("`sudo ip link set {name} nomaster`");
        for whole in &wholes {
            let use_ = match is_up(&tree.interface(whole), look) {
                true => format!("{whole}, which {name} is part of, is up"),
                false => format!("{name} is part of {whole}"),
            };
            look.holds(use_, remedy.clone());
        }
    }
}

/// Adds the default route through an interface, or else any other.
fn routed(name: &str, wholes: &BTreeSet<String>, routes: &[Route], look: &mut Look) {
    let own = || routes.iter().filter(|route| route.interface == name || wholes.contains(&route.interface));
    let Some(route) = own().find(|route| route.is_default()).or_else(|| own().next()) else { return };
    let through = &route.interface;
    let part = part(through, name);
    if route.is_default() {
        let remedy =
            format!("`sudo ip route del default dev {through}`, once the machine is reached another way");
        look.holds(format!("the default route goes through {through}{part}"), remedy);
    } else {
        let destination = route.destination();
        let remedy = format!("`sudo ip route del {destination} dev {through}`");
        look.holds(format!("the route to {destination} goes through {through}{part}"), remedy);
    }
}

fn is_up(interface: &Path, look: &mut Look) -> bool {
    let Some(flags) = look.text(&interface.join("flags")) else { return false };
    u32::from_str_radix(flags.trim_start_matches("0x"), 16).map_or(true, |flags| flags & 1 == 1)
}

/// A NIC with a driver has an interface: an unlisted one is in another network namespace.
fn hidden(function: &Function, look: &mut Look) {
    let passes = |driver: &&str| !PASS_THROUGH.contains(driver);
    let Some(driver) = function.driver.as_deref().filter(passes) else { return };
    if function.class >> 16 != NETWORK {
        return;
    }
    let unbind = function.folder.join("driver/unbind").display().to_string();
    let use_ = format!("{driver} has it, and its interface is in another network namespace");
    let remedy = format!(
        "take it back from the container that has it, or, if it has none: `echo {} | sudo tee {unbind}`",
        function.address
    );
    look.holds(use_, remedy);
}

/// An active port: file systems and block devices over RDMA use it, and leave no other file.
fn rdma(tree: &Tree, function: &Function, look: &mut Look) {
    for device in tree.below(function, "infiniband", look) {
        let Some(name) = name_of(&device) else { continue };
        let ports = device.join("ports");
        for port in look.names(&ports) {
            let state = look.needed(&ports.join(&port).join("state"));
            if !state.ends_with("DOWN") {
                let use_ = format!("port {port} of the RDMA device {name} is not down ({state})");
                look.holds(use_, "take its interface down, or disable the port (`sudo ibportstate`)");
            }
        }
    }
}

/// Packet sockets: of captures, DHCP clients and LLDP, also on an interface that is down.
fn sockets(tree: &Tree, function: &Function, look: &mut Look) {
    let listened = tree.packet_sockets(look);
    for folder in tree.below(function, "net", look) {
        let number = look.text(&folder.join("ifindex")).and_then(|number| number.parse().ok());
        if let Some(name) =
            name_of(&folder).filter(|_| number.is_some_and(|number| listened.contains(&number)))
        {
            let use_ = format!("a program listens at {name} with a packet socket");
            look.holds(use_, "end that program (`sudo ss --packet --processes`)");
        }
    }
}

/// From another network namespace, the machine's interfaces and routes cannot be seen.
fn namespace(tree: &Tree, function: &Function, look: &mut Look) {
    if function.class >> 16 != NETWORK && tree.below(function, "net", look).is_empty() {
        return;
    }
    let [own, first] = ["self", "1"].map(|of| look.link(&tree.path(&format!("proc/{of}/ns/net"))));
    if own != first {
        let doubt = "this command runs in another network namespace than the machine's first process";
        look.doubts(doubt, "run it outside of `ip netns exec` and of containers");
    }
}
