//! Rules about known faults of hardware, from the table of IDs; each needs its condition met.

use pcie_evidence::Function;

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::hardware::{Fact, fact};
use crate::machine::Machine;
use crate::rule::Rule;
use pcie_refusal::numbers::general;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "known-fault",
        cause: "erratum",
        section: "known-faults-of-hardware",
        explains: &[Symptom::Errors, Symptom::LostRate, Symptom::Hang],
        confirm: Some("the fault goes away with the setting changed"),
        about: "A device with a published fault, set as the fault needs it (`hardware.csv`). ASPM on \
             where the device must not use it, an MPS or MRRS above what it handles, ACS redirection in \
             switches that then block packets, a link below both ends at a port that is known for it. One \
             finding per link and fault. Facts of general knowledge make none.",
        see: known_fault,
    },
    Rule {
        name: "no-peer-to-peer",
        cause: "D28",
        section: "known-faults-of-hardware",
        explains: &[Symptom::PeerToPeer],
        confirm: Some("p2pBandwidthLatencyTest prints 0 for the pair, or copies go through host memory"),
        about: "Some GPUs refuse peer-to-peer by their driver, whatever the fabric allows \
             (`hardware.csv`).",
        see: no_peer_to_peer,
    },
];

const REST_GTPS: f64 = 2.5;

fn known_fault(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, port) in machine.real_links() {
        let functions = link.functions.iter().copied().chain([port]);
        let met: Vec<_> = functions.flat_map(|one| faults(machine, one)).collect();
        // One finding per link and fault, on the first function that has it.
        let mut first: Vec<(&Function, &Fact, Value)> = Vec::new();
        for met in met.into_iter().rev() {
            match first.iter_mut().find(|(_, fact, _)| *fact == met.1) {
                Some(known) => *known = met,
                None => first.push(met),
            }
        }
        for (function, fact, shown) in first {
            let Some(source) = fact.read_source() else { continue };
            let what = format!("{} has a known fault with this setting: {}", fact.name, fact.note);
            found.push(
                Observation::new(Severity::Warning, Sureness::Likely, what)
                    .on(function)
                    .values([shown, Value::of_machine("source", source)])
                    .remedy(
                        "change the setting, or use a kernel that works around it; then see whether the symptom \
                         is gone",
                    ),
            );
        }
    }
    found
}

fn no_peer_to_peer(machine: &Machine<'_>) -> Vec<Observation> {
    let refusing: Vec<(&Function, &Fact)> = machine
        .real_cards()
        .filter_map(|(link, _)| Some((link.device, fact(link.device, "no_p2p")?)))
        .collect();
    let [(first, fact), _, ..] = refusing.as_slice() else { return Vec::new() };
    let reason = if fact.note.is_empty() { &fact.value } else { &fact.note };
    let what = format!("{} devices do not copy to each other directly: {reason}", refusing.len());
    let observation = Observation::new(Severity::Note, Sureness::Likely, what)
        .on(first)
        .values(refusing.iter().map(|(one, _)| Value::of(one, "device", one.name())))
        .remedy("none in software that its maker supports: copies go through the host's memory");
    vec![observation]
}

/// The faults of a function whose condition its registers meet, with the register.
fn faults<'tree>(
    machine: &Machine<'tree>,
    function: &'tree Function,
) -> Vec<(&'tree Function, &'static Fact, Value)> {
    let (control, end) = (function.control.as_ref(), function.link.as_ref());
    let mut found = Vec::new();
    let mut add = |fact, shown| found.push((function, fact, shown));
    if let (Some(fact), Some(states)) =
        (fact(function, "erratum_aspm"), end.and_then(|end| end.aspm_enabled.as_ref()))
    {
        let hit: Vec<&str> =
            states.iter().map(String::as_str).filter(|state| fact.value.contains(state)).collect();
        if !hit.is_empty() {
            add(fact, Value::of(function, "LnkCtl ASPM", hit.join(" ")));
        }
    }
    for (about, register, size) in [
        ("erratum_mps", "DevCtl MaxPayload", control.and_then(|control| control.mps_bytes)),
        ("erratum_mrrs", "DevCtl MaxReadReq", control.and_then(|control| control.mrrs_bytes)),
    ] {
        let (Some(fact), Some(size)) = (fact(function, about), size) else { continue };
        if fact.value.parse::<u32>().is_ok_and(|most| size > most) {
            add(fact, Value::of(function, register, format!("{size} B")));
        }
    }
    let redirects = function.acs_enabled.as_ref().is_some_and(|on| on.iter().any(|name| name == "ReqRedir"));
    if let Some(fact) = fact(function, "erratum_acs")
        && redirects
        && fact.value == "rr_needs_store_forward"
    {
        add(fact, Value::of(function, "ACSCtl", "ReqRedir+"));
    }
    if let Some(fact) = fact(function, "erratum_retrain")
        && fact.value == "speed_flapping"
        && is_slow(machine, function)
    {
        let speed = end.and_then(|end| end.speed_gtps);
        let shown = speed.map_or_else(|| "down".to_owned(), |speed| format!("{} GT/s", general(speed)));
        add(fact, Value::of(function, "LnkSta", shown));
    }
    found
}

/// Whether a port's link is at 2.5 GT/s though both its ends support more.
fn is_slow(machine: &Machine<'_>, function: &Function) -> bool {
    let children = machine.tree.children(function);
    let mut below = children.iter().filter_map(|one| one.link.as_ref()).peekable();
    let Some(end) = function.link.as_ref().filter(|end| end.speed_gtps == Some(REST_GTPS)) else {
        return false;
    };
    below.peek().is_some()
        && std::iter::once(end)
            .chain(below)
            .all(|one| one.max_speed_gtps.is_some_and(|most| most > REST_GTPS))
}
