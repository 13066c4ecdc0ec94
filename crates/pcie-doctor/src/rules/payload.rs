//! Rules about the content of TLPs: the maximum payload size, and the ECRC.

use pcie_evidence::Function;

use crate::finding::{Observation, Operation, Severity, Sureness, Symptom, Value};
use crate::line_rates::carries_all;
use crate::loss::{Use, loss};
use crate::machine::{Link, Machine};
use crate::register_writes::set_mps;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "mps-below-path",
        cause: "D10",
        section: "payload-and-overhead",
        explains: &[Symptom::LostRate],
        confirm: Some("the rate of large transfers rises with pci=pcie_bus_perf"),
        about: "A payload may be as large as every function on the path supports (PCIe 6.0, section 2.2.2). \
             Judged by DevCap of the whole path: a device or path that supports less than the other is a \
             limit, not a wrong setting. Silent where a DevCap of the path could not be read. The cost is \
             modelled, so it is never an error; it is a note where it is less than 1 Gb/s, and for a network \
             controller that the link carries all the same.",
        see: mps_below_path,
    },
    Rule {
        name: "mps-differs",
        cause: "D10",
        section: "payload-and-overhead",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: Some("MalfTLP in UESta, or in the kernel's log"),
        about: "A TLP larger than the receiver's MPS is malformed and an error (PCIe 6.0, section 2.2.2). Fires \
             if a device may send more than a port above it accepts. The reverse is allowed, as long as the \
             port sends no more than the device accepts.",
        see: mps_differs,
    },
    Rule {
        name: "mps-above-capability",
        cause: "D10",
        section: "payload-and-overhead",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: Some("MalfTLP in UESta, or in the kernel's log"),
        about: "Software must not set a larger MPS than a function supports: DevCtl above DevCap. The function \
             then sends, or announces that it takes, TLPs that it cannot handle (PCIe 6.0, section 7.5.3.4).",
        see: mps_above_capability,
    },
    Rule {
        name: "mps-above-device",
        cause: "D10",
        section: "payload-and-overhead",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: Some("MalfTLP in UESta of the device; the fault goes away with pcie_bus_safe"),
        about: "A port may send payloads up to its own MPS; a device that supports less takes them as malformed \
             TLPs. PCIe 6.0, section 2.2.2. Completions are as large as that only if the device asks for more \
             than it takes at once, so the rule is silent where its read request size (MRRS) is not above \
             what it supports, as `pcie_bus_perf` sets it. An error for drives, displays, accelerators, and \
             network controllers that could fill the link; a note for others, such as card readers, whose \
             reads are short and which work on many machines.",
        see: mps_above_device,
    },
    Rule {
        name: "mps-limited",
        cause: "D10",
        section: "payload-and-overhead",
        explains: &[],
        confirm: None,
        about: "The ports above support less than the device: a property of the machine, noted where it costs \
             bandwidth.",
        see: mps_limited,
    },
    Rule {
        name: "ecrc-on",
        cause: "ecrc",
        section: "payload-and-overhead",
        explains: &[],
        confirm: None,
        about: "An ECRC adds four bytes to every TLP that a function sends (PCIe 6.0, sections 2.7.1 and \
             7.8.4.7). It protects data across switches; unless something checks it, it only costs. Judges \
             devices, not bridges. A note where the port above or the root port checks it.",
        see: ecrc_on,
    },
];

/// Classes that read memory in bulk: storage, network, display, accelerator.
const IN_BULK: [u32; 4] = [0x01, 0x02, 0x03, 0x12];
/// Modelled loss below which a limit is not mentioned.
pub(super) const MENTIONED_LOSS_GBPS: f64 = 1.0;

/// A function with the largest payload of its path.
struct Payload<'machine, 'tree> {
    link: &'machine Link<'tree>,
    function: &'tree Function,
    possible_bytes: u32,
}

fn mps_below_path(machine: &Machine<'_>) -> Vec<Observation> {
    payloads(machine).iter().filter_map(|payload| small_payload(machine, payload)).collect()
}

fn small_payload(machine: &Machine<'_>, payload: &Payload<'_, '_>) -> Option<Observation> {
    let &Payload { link, function, possible_bytes } = payload;
    let mps_bytes = set_bytes(function)?;
    let end = link.device.link.as_ref()?;
    if mps_bytes >= possible_bytes {
        return None;
    }
    let losses: Vec<_> = Use::of(function, end).map_or_else(Vec::new, |usage| {
        let larger = usage.with_mps(possible_bytes);
        [Operation::Write, Operation::Read]
            .into_iter()
            .filter_map(|kind| loss(&usage, &larger, kind))
            .collect()
    });
    let costs_little = losses.first().is_some_and(|loss| loss.lost_gbps() < MENTIONED_LOSS_GBPS);
    let is_content = carries_all(link, end) || costs_little;
    let severity = if is_content { Severity::Note } else { Severity::Warning };
    let what = format!(
        "maximum payload (MPS) is {mps_bytes} B; every device on the path supports {possible_bytes} B"
    );
    let mut path: Vec<&Function> = machine.tree.path(function).collect();
    path.reverse();
    Some(
        Observation::new(severity, Sureness::Certain, what)
            .on(function)
            .below(link.port)
            .values(path_values(machine, function))
            .losses(losses)
            .remedy(
                "set it in the BIOS, or boot with pci=pcie_bus_perf or pci=pcie_bus_safe; never change one end \
                 alone",
            )
            .commands(set_mps(&path, possible_bytes)),
    )
}

fn mps_differs(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for Payload { function, .. } in payloads(machine) {
        let accepted = machine
            .above(function)
            .filter_map(|above| Some((above.control.as_ref()?.mps_bytes.filter(|bytes| *bytes > 0)?, above)));
        let (Some(mps_bytes), Some((least_bytes, above))) =
            (set_bytes(function), accepted.min_by_key(|(bytes, _)| *bytes))
        else {
            continue;
        };
        if mps_bytes > least_bytes {
            let what = format!(
                "the device may send payloads of {mps_bytes} B, but a port above accepts only {least_bytes} B"
            );
            found.push(
                Observation::new(Severity::Error, Sureness::Certain, what)
                    .on(function)
                    .below(Some(above))
                    .values(path_values(machine, function))
                    .remedy("set both to the smaller value: the port refuses larger writes as malformed TLPs")
                    .commands(set_mps(&[function], least_bytes)),
            );
        }
    }
    found
}

fn mps_above_capability(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for function in machine.functions().iter().filter(|one| !one.is_virtual_function) {
        let (Some(mps_bytes), Some(most_bytes)) = (set_bytes(function), possible_bytes(function)) else {
            continue;
        };
        let is_unjudged =
            || machine.links_at(function).any(|link| link.port.is_some() && link.not_judged().is_some());
        if most_bytes == 0 || mps_bytes <= most_bytes || is_unjudged() {
            continue;
        }
        let what =
            format!("maximum payload (MPS) is set to {mps_bytes} B; this end supports only {most_bytes} B");
        found.push(
            Observation::new(Severity::Error, Sureness::Certain, what)
                .on(function)
                .values([
                    Value::of(function, "DevCap MaxPayload", format!("{most_bytes} B")),
                    Value::of(function, "DevCtl MaxPayload", format!("{mps_bytes} B")),
                ])
                .remedy(
                    "boot with pci=pcie_bus_safe, or correct it in the BIOS or boot loader: every function of the \
                     path gets the smallest size that all support",
                )
                .commands(set_mps(&[function], most_bytes)),
        );
    }
    found
}

fn mps_above_device(machine: &Machine<'_>) -> Vec<Observation> {
    machine.real_cards().filter_map(|(link, port)| large_completions(machine, link, port)).collect()
}

fn large_completions<'tree>(
    machine: &Machine<'tree>,
    link: &Link<'tree>,
    port: &Function,
) -> Option<Observation> {
    let device = link.functions.iter().copied().find(|one| !one.is_virtual_function).unwrap_or(link.device);
    let control = device.control.as_ref()?;
    let (sends_bytes, takes_bytes) = (set_bytes(port)?, control.max_payload_bytes?);
    let mrrs_bytes = control.mrrs_bytes?;
    if takes_bytes == 0
        || sends_bytes <= takes_bytes
        || mrrs_bytes <= takes_bytes
        || control.mps_bytes.is_some_and(|bytes| bytes > takes_bytes)
    {
        return None;
    }
    let is_content = link.device.link.as_ref().is_some_and(|end| carries_all(link, end));
    let in_bulk = device.base_class().is_some_and(|class| IN_BULK.contains(&class)) && !is_content;
    let severity = if in_bulk { Severity::Error } else { Severity::Note };
    let what = format!(
        "the port sends payloads of up to {sends_bytes} B, but the device supports only {takes_bytes} B and \
         requests {mrrs_bytes} B at once: completions reach it as malformed TLPs"
    );
    let is_sender = |one: &&Function| set_bytes(one).is_some_and(|bytes| bytes > takes_bytes);
    let mut senders: Vec<&Function> = machine.above(device).filter(is_sender).collect();
    senders.reverse();
    Some(
        Observation::new(severity, Sureness::Certain, what)
            .on(device)
            .below(Some(port))
            .values(path_values(machine, device))
            .values([Value::of(device, "DevCtl MaxReadReq", format!("{mrrs_bytes} B"))])
            .remedy(
                "boot with pci=pcie_bus_safe, which gives the path the smallest size that all support; or set the \
                 device's MRRS to what it takes",
            )
            .commands(set_mps(&senders, takes_bytes)),
    )
}

fn mps_limited(machine: &Machine<'_>) -> Vec<Observation> {
    payloads(machine).iter().filter_map(|payload| limited_payload(machine, payload)).collect()
}

fn limited_payload<'tree>(machine: &Machine<'tree>, payload: &Payload<'_, 'tree>) -> Option<Observation> {
    let &Payload { link, function, possible_bytes: path_bytes } = payload;
    let own_bytes = possible_bytes(function)?;
    let end = link.device.link.as_ref()?;
    if set_bytes(function) != Some(path_bytes) || path_bytes >= own_bytes {
        return None;
    }
    let usage = Use::of(function, end)?;
    let cost = loss(&usage, &usage.with_mps(own_bytes), Operation::Write)?;
    if cost.lost_gbps() < MENTIONED_LOSS_GBPS {
        return None;
    }
    let least = machine.above(function).min_by_key(|one| possible_bytes(one).unwrap_or(0))?;
    let what = format!(
        "maximum payload (MPS) is {path_bytes} B: the path supports no more; the device supports {own_bytes} B"
    );
    Some(
        Observation::new(Severity::Note, Sureness::Certain, what)
            .on(function)
            .below(Some(least))
            .values(path_values(machine, function))
            .losses([cost])
            .remedy("none in software: the port's DevCap sets the limit"),
    )
}

fn ecrc_on(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for link in machine.cards() {
        let is_sender =
            |one: &&Function| one.errors.as_ref().is_some_and(|errors| errors.ecrc_generated == Some(true));
        let senders: Vec<&Function> = link.functions.iter().copied().filter(is_sender).collect();
        let (Some(device), Some(end)) = (senders.first().copied(), &link.device.link) else { continue };
        let is_checker =
            |one: &&Function| one.errors.as_ref().is_some_and(|errors| errors.ecrc_checked == Some(true));
        let checking: Vec<&Function> = machine.above(device).filter(is_checker).collect();
        let is_content = !checking.is_empty() || carries_all(link, end);
        let severity = if is_content { Severity::Note } else { Severity::Warning };
        let others = match senders.len() - 1 {
            0 => String::new(),
            others => format!(" (and to those of {others} more of its functions)"),
        };
        let checks = if checking.is_empty() { "" } else { "; the other end checks it" };
        let usage = Use::of(device, end);
        found.push(
            Observation::new(
                severity,
                Sureness::Certain,
                format!("ECRC is on: it adds 4 bytes to each TLP that the device sends{others}{checks}"),
            )
            .on(device)
            .below(link.port)
            .values(senders.iter().map(|one| Value::of(one, "AERCap ECRCGenEn", "+")))
            .values(checking.iter().map(|one| Value::of(one, "AERCap ECRCChkEn", "+")))
            .losses(usage.and_then(|usage| loss(&usage, &usage.without_ecrc(), Operation::Write)))
            .remedy(
                "keep it if data need an end-to-end check; otherwise switch it off in the BIOS, or boot with \
                 pci=ecrc=off",
            ),
        );
    }
    found
}

/// Functions with the largest payload of their path; one of those of a device that are set alike.
fn payloads<'machine, 'tree>(machine: &'machine Machine<'tree>) -> Vec<Payload<'machine, 'tree>> {
    let mut found = Vec::new();
    for (link, _) in machine.real_cards() {
        let mut seen = Vec::new();
        for function in link.functions.iter().copied() {
            // None where a DevCap of the path could not be read.
            let sizes: Option<Vec<u32>> = machine.tree.path(function).map(possible_bytes).collect();
            let Some(possible_bytes) = sizes.and_then(|sizes| sizes.into_iter().min()) else { continue };
            let settings = function.control.as_ref().map(|one| (one.mps_bytes, one.max_payload_bytes));
            if !seen.contains(&settings) {
                seen.push(settings);
                found.push(Payload { link, function, possible_bytes });
            }
        }
    }
    found
}

/// The largest payload that a function supports; None if unknown.
fn possible_bytes(function: &Function) -> Option<u32> {
    function.control.as_ref()?.max_payload_bytes
}

/// The maximum payload that is set; None if unknown.
fn set_bytes(function: &Function) -> Option<u32> {
    function.control.as_ref()?.mps_bytes
}

fn path_values(machine: &Machine<'_>, function: &Function) -> Vec<Value> {
    let mut path: Vec<&Function> = machine.tree.path(function).collect();
    path.reverse();
    let registers = |one: &Function| {
        [("DevCap MaxPayload", possible_bytes(one)), ("DevCtl MaxPayload", set_bytes(one))]
            .into_iter()
            .filter_map(|(name, bytes)| Some(Value::of(one, name, format!("{} B", bytes?))))
            .collect::<Vec<_>>()
    };
    path.into_iter().flat_map(registers).collect()
}
