//! Rules about switches: devices that share an uplink, and peers below one.

use indexmap::IndexMap;
use pcie_evidence::{Function, Peer};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::{Link, Machine};
use crate::register_writes::clear_redirection;
use crate::rule::Rule;
use crate::rules::link::{on_edge, rate_gbps, shown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "uplink-shared",
        cause: "D07",
        section: "peers",
        explains: &[Symptom::LostRate],
        confirm: Some("each device is right alone, and their sum stays at the uplink's rate"),
        about: "Devices below one upstream port share its link: when all are busy, each gets a part.",
        see: uplink_shared,
    },
    Rule {
        name: "acs-redirects",
        cause: "D27",
        section: "peers",
        explains: &[Symptom::PeerToPeer, Symptom::Hang],
        confirm: Some("peer copies are faster, or work, with the bits cleared"),
        about: "Redirected requests between peers go up to the root and back (ACS: PCIe 6.0, section 6.12.3). \
             Fires on switches with at least two devices of classes that exchange data; a note unless one is \
             a display or an accelerator, since drives and network controllers alone rarely do. Virtual \
             machines need redirection for isolation.",
        see: acs_redirects,
    },
    Rule {
        name: "acs-at-root-ports",
        cause: "D27",
        section: "peers",
        explains: &[Symptom::PeerToPeer, Symptom::Hang, Symptom::LostRate],
        confirm: Some(
            "peer copies work, or are faster, after ReqRedir is cleared at both root ports, or with the IOMMU \
             off",
        ),
        about: "With ReqRedir at a root port, requests of one device to another pass the IOMMU. The IOMMU then \
             has to map the peers for each other, and on some hosts such requests hang (ACS: PCIe 6.0, \
             section 6.12). Fires for two or more displays or accelerators, each below a root port with \
             ReqRedir+. Linux sets it on every root port where the IOMMU is on.",
        see: acs_at_root_ports,
    },
    Rule {
        name: "peers-across-sockets",
        cause: "D24",
        section: "peers",
        explains: &[Symptom::PeerToPeer],
        confirm: Some("the rate of the pair against that of a pair on one socket"),
        about: "A matrix of `nvidia-smi topo -m` says what traffic of two devices crosses; sockets are the \
             slowest.",
        see: peers_across_sockets,
    },
];

/// Classes that exchange data with each other: storage, network, display, accelerator.
const PEERS: [u32; 4] = [0x01, 0x02, 0x03, 0x12];
const OFTEN_PEERS: [u32; 2] = [0x03, 0x12];
const REDIRECTS: [&str; 2] = ["ReqRedir", "CmpltRedir"];
/// Fewest lanes of a device that copies to peers: the display of a BMC has one.
const LANES_OF_PEERS: u32 = 4;
const MENTIONED: f64 = 1.01;
const ACROSS_SOCKETS: [&str; 2] = ["sys", "soc"];
const MOST_NAMED: usize = 4;

fn uplink_shared(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (uplink, cards) in below_switches(machine) {
        let Some(end) = uplink.device.link.as_ref().filter(|end| end.is_up()) else { continue };
        if uplink.made_up.is_some() || cards.len() < 2 {
            continue;
        }
        let asked_gbps: f64 = cards.iter().map(|card| rate_gbps(card.device.link.as_ref())).sum();
        let has_gbps = end.raw_gbps();
        if asked_gbps < MENTIONED * has_gbps {
            continue;
        }
        let slots: Vec<String> = cards.iter().map(|card| card.device.short_slot()).collect();
        let now = shown(end.speed_gtps, end.lanes);
        let what = format!(
            "{} links below can deliver {asked_gbps:.0} Gb/s, {:.1} times the {has_gbps:.0} Gb/s of the uplink at \
             {now}",
            cards.len(),
            asked_gbps / has_gbps
        );
        found.push(
            Observation::new(Severity::Note, Sureness::Certain, what)
                .on(uplink.device)
                .below(uplink.port)
                .values([
                    Value::of(uplink.device, "LnkSta", now),
                    Value::of_machine("below", slots.join(", ")),
                ])
                .values(on_edge(machine, uplink.device))
                .remedy(
                    "spread devices that are busy at the same time over uplinks; pcielab fabric from and fabric \
                     explain show each share",
                ),
        );
    }
    found
}

fn acs_redirects(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (uplink, cards) in below_switches(machine) {
        let peers: Vec<_> =
            cards.into_iter().filter(|card| is_of(card.device, &PEERS) && card.port.is_some()).collect();
        let redirecting: Vec<&Function> = peers
            .iter()
            .filter_map(|card| card.port)
            .filter(|port| acs(port).iter().any(|name| REDIRECTS.contains(&name.as_str())))
            .collect();
        if peers.len() < 2 || redirecting.is_empty() {
            continue;
        }
        let exchanging = peers.iter().any(|card| is_of(card.device, &OFTEN_PEERS));
        let severity = if exchanging { Severity::Warning } else { Severity::Note };
        let what = format!(
            "{} devices below could exchange data directly, but ACS redirects their requests to the root",
            peers.len()
        );
        found.push(
            Observation::new(severity, Sureness::Likely, what)
                .on(uplink.device)
                .below(uplink.port)
                .values(redirecting.iter().map(|port| Value::of(port, "ACSCtl", acs(port).join(" "))))
                .values(on_edge(machine, uplink.device))
                .remedy(
                    "where no virtual machine needs the isolation: pci=disable_acs_redir=... or config_acs= on the \
                     kernel's command line, for the ports between the peers",
                ),
        );
    }
    found
}

fn acs_at_root_ports(machine: &Machine<'_>) -> Vec<Observation> {
    let mut roots: IndexMap<&str, (&Function, &Function)> = IndexMap::new();
    for (card, _) in machine.real_cards() {
        let root = machine.root(card.device);
        let lanes = card.device.link.as_ref().and_then(|end| end.max_lanes);
        let is_wide = lanes.is_some_and(|lanes| lanes >= LANES_OF_PEERS);
        if is_wide && is_of(card.device, &OFTEN_PEERS) && acs(root).iter().any(|name| name == "ReqRedir") {
            roots.entry(root.slot.as_str()).or_insert((root, card.device));
        }
    }
    let (ports, devices): (Vec<&Function>, Vec<&Function>) = roots.into_values().unzip();
    let ([first_port, _, ..], [first, others @ ..]) = (ports.as_slice(), devices.as_slice()) else {
        return Vec::new();
    };
    let slots = |functions: &[&Function]| {
        let slots: Vec<String> = functions.iter().map(|one| one.short_slot()).collect();
        slots.join(", ")
    };
    let what = format!(
        "requests between {} pass the IOMMU: ReqRedir is on at the root ports {}",
        slots(&devices),
        slots(&ports)
    );
    let observation = Observation::new(Severity::Warning, Sureness::Likely, what)
        .on(first)
        .below(Some(first_port))
        .values(ports.iter().map(|one| Value::of(one, "ACSCtl", acs(one).join(" "))))
        .values(others.iter().map(|one| Value::of(one, "device", one.name())))
        .remedy(
            "where no virtual machine needs the isolation: switch ACS off in the BIOS or clear ReqRedir at these \
             ports (config_acs= on the kernel's command line), or boot with iommu=pt; with virtual machines, give \
             the peers to one",
        )
        .commands(ports.iter().map(|one| clear_redirection(one)));
    vec![observation]
}

fn peers_across_sockets(machine: &Machine<'_>) -> Vec<Observation> {
    let is_across = |peer: &&Peer| ACROSS_SOCKETS.contains(&peer.kind.as_str());
    let pairs: Vec<&Peer> = machine.tree.peers.iter().filter(is_across).collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let named =
        || pairs.iter().take(MOST_NAMED).map(|peer| (format!("{} and {}", peer.ends.0, peer.ends.1), peer));
    let names: Vec<String> = named().map(|(ends, _)| ends).collect();
    let more = match pairs.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more pairs"),
    };
    let what =
        format!("peers reach each other over the connection between sockets: {}{more}", names.join(", "));
    vec![
        Observation::new(Severity::Note, Sureness::Certain, what)
            .values(named().map(|(ends, peer)| Value::of_machine(ends, peer.kind.to_uppercase())))
            .remedy(
                "give work that exchanges data to devices of one socket, or to a device and the NIC of its socket",
            ),
    ]
}

fn is_of(device: &Function, classes: &[u32]) -> bool {
    device.base_class().is_some_and(|class| classes.contains(&class))
}

fn acs(port: &Function) -> &[String] {
    port.acs_enabled.as_deref().unwrap_or_default()
}

/// The links of each switch's upstream port, with those of the devices below it.
fn below_switches<'machine, 'tree>(
    machine: &'machine Machine<'tree>,
) -> Vec<(&'machine Link<'tree>, Vec<&'machine Link<'tree>>)> {
    let mut found: IndexMap<usize, (&Link<'tree>, Vec<&Link<'tree>>)> = IndexMap::new();
    for (card, _) in machine.real_cards() {
        for above in machine.links_above(card) {
            found.entry(above.number).or_insert_with(|| (above, Vec::new())).1.push(card);
        }
    }
    found.into_values().collect()
}
