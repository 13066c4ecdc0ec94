//! Rules about relaxed ordering: where it is missing, and where it harms.

use pcie_evidence::Function;

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::Machine;
use crate::register_writes::set_relaxed_ordering;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "relaxed-ordering-off",
        cause: "D13",
        section: "ordering",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "Only a request marked as relaxed may pass an earlier one (PCIe 6.0, sections 2.4.1 and 7.5.3.4). \
             Writes of network cards suffer where the root complex keeps strict order over many memory \
             controllers. It was measured only on hosts with ports of 16 GT/s and more, so slower ports are \
             not judged. The bit only allows relaxed ordering: the driver has to use it, too.",
        see: relaxed_ordering_off,
    },
    Rule {
        name: "relaxed-ordering-harmful",
        cause: "D14",
        section: "ordering",
        explains: &[Symptom::LostRate, Symptom::Latency],
        confirm: None,
        about: "Root ports of Haswell and Broadwell servers handle relaxed requests badly; Linux clears the bit \
             below them. They are recognised by their IDs only, which a text without `-nn` lacks.",
        see: relaxed_ordering_harmful,
    },
];

const INTEL: u32 = 0x8086;
const NETWORK: u32 = 0x02;
const ACCELERATOR: u32 = 0x12;
const MISSED_FROM_GTPS: f64 = 16.0;

fn relaxed_ordering_off(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, _) in machine.real_cards() {
        let root = machine.root(link.device);
        let most_gtps = root.link.as_ref().and_then(|end| end.max_speed_gtps);
        let is_ordered = |one: &&Function| {
            one.control.as_ref().is_some_and(|control| control.relaxed_ordering == Some(false))
                && matches!(one.base_class(), Some(NETWORK | ACCELERATOR))
        };
        let ordered: Vec<&Function> = link.functions.iter().copied().filter(is_ordered).collect();
        let Some(first) = ordered.first() else { continue };
        if most_gtps.is_none_or(|speed| speed < MISSED_FROM_GTPS) || is_harmed(root) {
            continue;
        }
        let what = "relaxed ordering is off: its writes to memory stay in order";
        found.push(
            Observation::new(Severity::Warning, Sureness::Likely, what)
                .on(first)
                .below(link.port)
                .values([Value::of(first, "DevCtl RlxdOrd", "-")])
                .remedy(
                    "allow it for bulk data, but not for flags that announce data (DevCtl bit 4; for RDMA also the \
                     firmware's PCI_WR_ORDERING and the memory region's flag); then measure",
                )
                .command(Some(set_relaxed_ordering(&ordered, true))),
        );
    }
    found
}

fn relaxed_ordering_harmful(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, _) in machine.real_cards() {
        let (root, device) = (machine.root(link.device), link.device);
        let is_on = device.control.as_ref().is_some_and(|control| control.relaxed_ordering == Some(true));
        let Some(id) = root.device_id.filter(|_| is_on && is_harmed(root)) else { continue };
        let what = "relaxed ordering is on below a root port that handles it badly";
        found.push(
            Observation::new(Severity::Warning, Sureness::Likely, what)
                .on(device)
                .below(Some(root))
                .values([
                    Value::of(device, "DevCtl RlxdOrd", "+"),
                    Value::of(root, "device ID", format!("{id:04x}")),
                ])
                .remedy("clear bit 4 of DevCtl, or use a kernel that does (Linux 4.13 and later)")
                .command(Some(set_relaxed_ordering(&[device], false))),
        );
    }
    found
}

/// Root ports of Haswell and Broadwell, for which Linux switches it off (`quirk_relaxedordering_disable`).
fn is_harmed(root: &Function) -> bool {
    root.vendor_id == Some(INTEL) && matches!(root.device_id, Some(0x6F01..=0x6F0E | 0x2F01..=0x2F0E))
}
