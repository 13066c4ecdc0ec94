//! Rules about memory that devices offer.

use std::sync::LazyLock;

use pcie_evidence::{LogEvent, LogKind, ResizableBar};
use regex::Regex;

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::{Link, Machine};
use crate::rule::Rule;
use pcie_refusal::numbers::byte_size;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "bar-not-resized",
        cause: "D36",
        section: "device-memory",
        explains: &[Symptom::PeerToPeer, Symptom::LostRate],
        confirm: Some("the size of the BAR after the BIOS setting is on"),
        about: "Hosts and peers reach a device's memory only through its BAR (Resizable BAR: PCIe 6.0, section \
             7.8.6). Judges displays and accelerators by the BAR with the largest possible size; the others \
             are for registers.",
        see: bar_not_resized,
    },
    Rule {
        name: "bar-without-space",
        cause: "bar-space",
        section: "device-memory",
        explains: &[Symptom::Missing, Symptom::Hang],
        confirm: Some("/proc/iomem, and `lspci -vvv` of the device: a BAR without an address"),
        about: "A BAR without an address does not work; a bridge's window has to hold those of all devices below \
             it. By the kernel's log, an error for a BAR, for a window that the kernel could not claim again, \
             or where a driver reports it. A note for windows of bridges alone, of which the kernel tries \
             several sizes. A warning for a BAR that lspci shows without an address, which may be one that \
             nothing uses.",
        see: bar_without_space,
    },
    Rule {
        name: "cxl-memory",
        cause: "D45",
        section: "device-memory",
        explains: &[],
        confirm: None,
        about: "A CXL memory expander is slower than DRAM: one-to-one interleaving slows all memory down.",
        see: cxl_memory,
    },
];

const DISPLAY: u32 = 0x03;
const ACCELERATOR: u32 = 0x12;
const CXL_MEMORY: u32 = 0x0502;
const MOST_LINES: usize = 4;
const MORE_SPACE: &str = "switch on Above 4G Decoding in the BIOS, and Resizable BAR off if it fails only with it; \
                          boot with pci=realloc; after a kernel update, try the kernel before";

#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static OF_A_BAR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bBAR [0-5]\b|can't claim|Not enough PCI").expect("a pattern"));

fn bar_not_resized(machine: &Machine<'_>) -> Vec<Observation> {
    machine.cards().chain(inside_cards(machine)).filter_map(small_bar).collect()
}

fn small_bar(link: &Link<'_>) -> Option<Observation> {
    let device = link.device;
    // The first of equally large ones.
    let larger = |one: ResizableBar, other: ResizableBar| {
        if other.largest_bytes > one.largest_bytes { other } else { one }
    };
    let largest = device.resizable_bars.iter().copied().reduce(larger)?;
    let is_judged = matches!(device.base_class(), Some(DISPLAY | ACCELERATOR));
    if !is_judged || largest.size_bytes >= largest.largest_bytes {
        return None;
    }
    let (now, could) = (byte_size(largest.size_bytes), byte_size(largest.largest_bytes));
    let what = format!("BAR {} maps {now} of the device's memory; it can map {could}", largest.bar);
    Some(
        Observation::new(Severity::Warning, Sureness::Likely, what)
            .on(device)
            .below(link.port)
            .values([Value::of(device, format!("ReBAR BAR {}", largest.bar), format!("{now} of {could}"))])
            .remedy(
                "switch on Above 4G Decoding and Resizable BAR in the BIOS; every bridge above needs a window of \
                 that size",
            ),
    )
}

fn bar_without_space(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for function in machine.functions() {
        if function.unassigned_bars.is_empty() || machine.link_of(function).is_none() {
            continue;
        }
        let bars: Vec<String> = function.unassigned_bars.iter().map(u32::to_string).collect();
        let what =
            format!("BAR {} has no address: its registers or memory cannot be reached", bars.join(", "));
        let values = bars.iter().map(|bar| Value::of(function, format!("Region {bar}"), "<unassigned>"));
        found.push(
            Observation::new(Severity::Warning, Sureness::Certain, what)
                .on(function)
                .below(machine.tree.parent(function))
                .values(values)
                .remedy(MORE_SPACE),
        );
    }
    found.extend(space_in_log(machine));
    found
}

fn space_in_log(machine: &Machine<'_>) -> Option<Observation> {
    let events: Vec<&LogEvent> =
        machine.tree.log.iter().filter(|event| event.kind == LogKind::NoSpace).collect();
    let serious: Vec<&LogEvent> =
        events.iter().copied().filter(|event| OF_A_BAR.is_match(&event.text)).collect();
    let first = serious.iter().chain(&events).find(|event| event.slot.is_some()).or(events.first())?;
    let (severity, shown) =
        if serious.is_empty() { (Severity::Note, &events) } else { (Severity::Error, &serious) };
    let values = shown
        .iter()
        .take(MOST_LINES)
        .map(|event| Value::of_machine(format!("log, line {}", event.line), &event.text));
    let what = "the kernel's log says that a BAR or the window of a bridge has no address space";
    Some(
        Observation::new(severity, Sureness::Certain, what)
            .on_slot(first.slot.as_deref())
            .values(values)
            .remedy(MORE_SPACE),
    )
}

/// The links of devices inside cards with a switch, which are not judged themselves.
fn inside_cards<'a, 'tree>(machine: &'a Machine<'tree>) -> impl Iterator<Item = &'a Link<'tree>> {
    machine.links().iter().filter(|link| link.device.is_endpoint() && machine.on_card_uplink(link).is_some())
}

fn cxl_memory(machine: &Machine<'_>) -> Vec<Observation> {
    let is_memory = |function: &&pcie_evidence::Function| {
        function.class_code == Some(CXL_MEMORY) || function.cxl_protocols.iter().any(|name| name == "Mem")
    };
    let functions = machine.functions().iter().filter(is_memory);
    functions
        .map(|function| {
            let protocols = function.cxl_protocols.join(" ");
            let shown = if protocols.is_empty() { "class 0502".to_owned() } else { protocols };
            Observation::new(Severity::Note, Sureness::Likely, "this CXL memory device is slower than DRAM")
                .on(function)
                .values([Value::of(function, "CXL", shown)])
                .remedy(
                    "find its node with numactl --hardware; interleave pages by bandwidth, not one to one",
                )
        })
        .collect()
}
