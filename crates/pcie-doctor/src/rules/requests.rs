//! Rules about read requests: their size, their number in flight, and their time-out.

use pcie_evidence::Function;
use pcie_model::Bound;

use crate::finding::{Loss, Observation, Operation, Severity, Sureness, Symptom, Value};
use crate::loss::{LARGE_BYTES, ROUND_TRIPS_NS, SMALL_BYTES, TAGS_8_BIT, TAGS_10_BIT, Use, loss, loss_of};
use crate::machine::{Link, Machine};
use crate::register_writes::{set_extended_tags, set_mrrs, switch_completion_timeout_on};
use crate::rule::Rule;
use crate::rules::payload::MENTIONED_LOSS_GBPS;
use pcie_refusal::numbers::general;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "mrrs-small",
        cause: "D11",
        section: "reads",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "Requests in flight times their size limit read bandwidth (PCIe 6.0, section 7.5.3.4, MRRS). \
             Fires if that product over 1 us is less than the link's bandwidth, and for network cards from 16 \
             GT/s on below the 4096 B that their makers recommend. The field is reserved in virtual \
             functions.",
        see: mrrs_small,
    },
    Rule {
        name: "extended-tags-off",
        cause: "D12",
        section: "reads",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "With 5-bit tags 32 reads may be in flight, with 8-bit tags 256 (PCIe 6.0, sections 2.2.6.2 and \
             7.5.3.4).",
        see: extended_tags_off,
    },
    Rule {
        name: "ten-bit-tags-off",
        cause: "D12",
        section: "reads",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "Ten-bit tags need a requester and a completer that support them (PCIe 6.0, section 2.2.6.2). The \
             completer is the root port. Fires only if both support them and they are off in the requester.",
        see: ten_bit_tags_off,
    },
    Rule {
        name: "ten-bit-tags-unanswered",
        cause: "D12",
        section: "reads",
        explains: &[Symptom::Hang, Symptom::Errors],
        confirm: Some("CmpltTO or UnxCmplt in UESta of the device"),
        about: "A completer without 10-bit tags returns wrong tags, so a requester must not send them. PCIe 6.0, \
             section 2.2.6.2.",
        see: ten_bit_tags_unanswered,
    },
    Rule {
        name: "tags-limited",
        cause: "D12",
        section: "reads",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "A device without extended tags in DevCap supports only 32 reads in flight: a property of the \
             device. Fires where, by the model, 32 reads of 64 B over 1 us are less than the link's \
             bandwidth.",
        see: tags_limited,
    },
    Rule {
        name: "completion-timeout-off",
        cause: "completion-timeout",
        section: "reads",
        explains: &[Symptom::Hang],
        confirm: None,
        about: "A requester without a completion time-out waits forever for a lost completion (PCIe 6.0, section \
             2.8). It costs no bandwidth, but a hang then leaves no error.",
        see: completion_timeout_off,
    },
    Rule {
        name: "bus-master-off",
        cause: "bus-master",
        section: "reads",
        explains: &[Symptom::Hang],
        confirm: None,
        about: "Without bus mastering a function may issue no memory request (PCIe 6.0, section 7.5.1.1.3). With \
             a driver bound that means no DMA and no MSI. Silent on vfio-pci, whose devices often wait for \
             their first user, and on sleeping devices.",
        see: bus_master_off,
    },
];

const USUAL_MRRS_BYTES: u32 = 512;
const MRRS_OF_NICS_BYTES: u32 = 4096;
/// Ports from this speed on follow a specification that requires them to answer 8-bit tags.
const HANDLES_ALL_TAGS_GTPS: f64 = 8.0;
const NETWORK: u32 = 0x02;
const PROCESSOR_PORT_GTPS: f64 = 16.0;
const VFIO: &str = "vfio-pci";

/// A function that may read memory, and how it uses its link.
struct Requester<'machine, 'tree> {
    link: &'machine Link<'tree>,
    function: &'tree Function,
    usage: Use,
}

fn mrrs_small(machine: &Machine<'_>) -> Vec<Observation> {
    requesters(machine).iter().filter_map(small_requests).collect()
}

fn small_requests(requester: &Requester<'_, '_>) -> Option<Observation> {
    let Requester { link, function, usage } = requester;
    let end = link.device.link.as_ref()?;
    let mrrs_bytes = usage.link.mrrs_bytes;
    let is_set = function.control.as_ref()?.mrrs_bytes.is_some_and(|bytes| bytes > 0);
    if mrrs_bytes >= MRRS_OF_NICS_BYTES || !is_set {
        return None;
    }
    let larger_bytes = if mrrs_bytes >= USUAL_MRRS_BYTES { MRRS_OF_NICS_BYTES } else { USUAL_MRRS_BYTES };
    let larger = usage.with_mrrs(larger_bytes);
    let held_back = read_losses(usage, &larger, LARGE_BYTES);
    let is_fast = end.speed_gtps.is_some_and(|speed| speed >= PROCESSOR_PORT_GTPS);
    let is_for_a_nic = function.base_class() == Some(NETWORK) && is_fast;
    let binds = held_back
        .first()
        .is_some_and(|loss| loss.now_bound == Bound::Tags && loss.lost_gbps() >= MENTIONED_LOSS_GBPS);
    if !binds && !is_for_a_nic {
        return None;
    }
    let (losses, reason) = if binds {
        (held_back, format!(": with {} tags, too small for this link", usage.tags))
    } else {
        let both = loss(usage, &larger, Operation::Rdwr);
        (both.into_iter().collect(), "; fast NICs want 4096 B".to_owned())
    };
    let what = format!("maximum read request (MRRS) is {mrrs_bytes} B{reason}");
    Some(
        Observation::new(Severity::Warning, Sureness::Likely, what)
            .on(function)
            .below(link.port)
            .values([
                Value::of(function, "DevCtl MaxReadReq", format!("{mrrs_bytes} B")),
                Value::of(function, "tags", usage.tags),
            ])
            .losses(losses)
            .remedy(
                "set Max Read Request in the BIOS, or the register; check the driver's documentation first, since \
                 it may choose the value",
            )
            .command(set_mrrs(function, larger_bytes)),
    )
}

fn extended_tags_off(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for requester in requesters(machine) {
        let function = requester.function;
        let is_off = function.control.as_ref().is_some_and(|control| {
            control.extended_tags_possible == Some(true)
                && control.extended_tags == Some(false)
                && control.ten_bit_tags != Some(true)
        });
        if is_off {
            let command = handles_all_tags(machine, function).then(|| set_extended_tags(function));
            let what = "extended (8-bit) tags are off although the device supports them";
            found.push(tags_off(&requester, TAGS_8_BIT, what, "DevCtl ExtTag").command(command));
        }
    }
    found
}

/// Whether every port above is known to answer 8-bit tags.
fn handles_all_tags<'tree>(machine: &Machine<'tree>, function: &'tree Function) -> bool {
    let handles = |port: &Function| {
        let speed = port.link.as_ref().and_then(|end| end.max_speed_gtps);
        speed.is_some_and(|speed| speed >= HANDLES_ALL_TAGS_GTPS)
    };
    let mut above = machine.above(function).peekable();
    above.peek().is_some() && above.all(handles)
}

fn ten_bit_tags_off(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for requester in requesters(machine) {
        let (function, root) = (requester.function, machine.root(requester.function));
        let is_off = function.control.as_ref().is_some_and(|control| {
            control.ten_bit_requester == Some(true)
                && control.ten_bit_tags == Some(false)
                && control.fourteen_bit_tags != Some(true)
        });
        let completes = root.control.as_ref().is_some_and(|control| control.ten_bit_completer == Some(true));
        if is_off && completes && root.slot != function.slot {
            let what = "10-bit tags are off although the device and the root port support them";
            found.push(tags_off(&requester, TAGS_10_BIT, what, "DevCtl2 10BitTagReq"));
        }
    }
    found
}

fn ten_bit_tags_unanswered(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for link in machine.cards() {
        let (device, root) = (link.device, machine.root(link.device));
        let sends = device.control.as_ref().is_some_and(|control| control.ten_bit_tags == Some(true));
        let answers = root.control.as_ref().is_none_or(|control| control.ten_bit_completer != Some(false));
        if sends && !answers && root.slot != device.slot {
            let what = "10-bit tags are on, but the root port does not answer them: completions come back with \
                        wrong tags";
            found.push(
                Observation::new(Severity::Error, Sureness::Likely, what)
                    .on(device)
                    .below(Some(root))
                    .values([
                        Value::of(device, "DevCtl2 10BitTagReq", "+"),
                        Value::of(root, "DevCap2 10BitTagComp", "-"),
                    ])
                    .remedy(
                        "switch PCIe Ten Bit Tag off in the BIOS, or clear bit 12 of DevCtl2 with the driver \
                         unloaded",
                    ),
            );
        }
    }
    found
}

fn tags_off(requester: &Requester<'_, '_>, tags: u32, what: &str, flag: &str) -> Observation {
    let Requester { link, function, usage } = requester;
    let more = usage.with_tags(tags);
    let costly: Vec<Loss> = [LARGE_BYTES, SMALL_BYTES]
        .into_iter()
        .flat_map(|size_bytes| read_losses(usage, &more, size_bytes))
        .filter(|loss| loss.lost_gbps() >= MENTIONED_LOSS_GBPS)
        .collect();
    let (severity, free) = if costly.is_empty() {
        (Severity::Note, "; by the model, this costs nothing on this link")
    } else {
        (Severity::Warning, "")
    };
    let what = format!("{what}: {} reads in flight, not {tags}{free}", usage.tags);
    Observation::new(severity, Sureness::Certain, what)
        .on(function)
        .below(link.port)
        .values([Value::of(function, flag, "-")])
        .values(allowed(function, usage))
        .losses(costly)
        .remedy(
            "enable it in the BIOS (PCIe Extended Tag, PCIe Ten Bit Tag) or the driver; some BIOSes clear it until \
             a driver sets it",
        )
}

/// Lost bandwidth of reads, first with the longer round trip.
fn read_losses(now: &Use, could: &Use, size_bytes: u64) -> Vec<Loss> {
    ROUND_TRIPS_NS
        .into_iter()
        .rev()
        .filter_map(|ns| loss_of(now, could, Operation::Read, size_bytes, Some(ns)))
        .collect()
}

/// The bandwidth that the tags alone allow: their number times the request size over a round trip.
fn allowed(function: &Function, usage: &Use) -> Vec<Value> {
    let mut sizes = vec![u64::from(usage.link.mrrs_bytes)];
    if !sizes.contains(&SMALL_BYTES) {
        sizes.push(SMALL_BYTES);
    }
    sizes
        .into_iter()
        .map(|size_bytes| {
            let bits = (u64::from(usage.tags) * size_bytes * 8) as f64;
            let rates =
                ROUND_TRIPS_NS.map(|ns| format!("{:.0} Gb/s at {} ns", bits / ns, general(ns))).join(" and ");
            Value::of(function, format!("{} reads of {size_bytes} B allow", usage.tags), rates)
        })
        .collect()
}

fn tags_limited(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for requester in requesters(machine) {
        let Requester { link, function, usage } = &requester;
        let is_limited = function.control.as_ref().is_some_and(|control| {
            control.extended_tags_possible == Some(false) && control.ten_bit_tags != Some(true)
        });
        let small = read_losses(usage, &usage.with_tags(TAGS_8_BIT), SMALL_BYTES);
        let costs = small.first().is_some_and(|loss| loss.lost_gbps() >= MENTIONED_LOSS_GBPS);
        if !is_limited || !costs {
            continue;
        }
        let what =
            format!("at most {} reads in flight: the device does not support extended tags", usage.tags);
        found.push(
            Observation::new(Severity::Note, Sureness::Certain, what)
                .on(function)
                .below(link.port)
                .values([Value::of(function, "DevCap ExtTag", "-")])
                .values(allowed(function, usage))
                .losses(small.into_iter().filter(|loss| loss.lost_gbps() > 0.0))
                .remedy("none in software: read in larger pieces"),
        );
    }
    found
}

fn completion_timeout_off(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for link in machine.cards() {
        let waits = |one: &&&Function| {
            one.control.as_ref().is_some_and(|control| control.completion_timeout_off == Some(true))
                && has_driver(one)
        };
        if let Some(function) = link.functions.iter().find(waits) {
            let what = "completion time-out is off: a read without an answer waits forever";
            found.push(
                Observation::new(Severity::Note, Sureness::Certain, what)
                    .on(function)
                    .below(link.port)
                    .values([Value::of(function, "DevCtl2 TimeoutDis", "+")])
                    .remedy("unless the driver needs it off, clear bit 4 of DevCtl2")
                    .command(Some(switch_completion_timeout_on(function))),
            );
        }
    }
    found
}

fn bus_master_off(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for link in machine.cards() {
        for function in &link.functions {
            let is_awake = matches!(function.power_state.as_deref(), None | Some("D0"));
            let Some(driver) = function.driver.as_deref() else { continue };
            if function.bus_master == Some(false) && has_driver(function) && driver != VFIO && is_awake {
                let what = format!("bus mastering is off although driver {driver} is bound: no DMA, no MSI");
                found.push(
                    Observation::new(Severity::Warning, Sureness::Certain, what)
                        .on(function)
                        .below(link.port)
                        .values([Value::of(function, "Control BusMaster", "-")])
                        .remedy(
                            "check in dmesg that the driver started; some drivers enable it when the device is \
                             opened",
                        ),
                );
            }
        }
    }
    found
}

fn has_driver(function: &Function) -> bool {
    function.driver.as_ref().is_some_and(|driver| !driver.is_empty())
}

/// Functions that may read memory, with their use of the link; one of those of a device that are set alike.
fn requesters<'machine, 'tree>(machine: &'machine Machine<'tree>) -> Vec<Requester<'machine, 'tree>> {
    let mut found = Vec::new();
    for link in machine.cards() {
        let mut seen = Vec::new();
        let Some(end) = &link.device.link else { continue };
        for function in link.functions.iter().copied().filter(|one| one.bus_master != Some(false)) {
            let (Some(usage), Some(control)) = (Use::of(function, end), &function.control) else { continue };
            let settings = (usage.clone(), control.extended_tags_possible, function.base_class());
            if !seen.contains(&settings) {
                seen.push(settings);
                found.push(Requester { link, function, usage });
            }
        }
    }
    found
}
