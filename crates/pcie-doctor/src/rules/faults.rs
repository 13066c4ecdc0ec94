//! Rules about faults that stopped something: uncorrectable errors, containment, devices off the bus.

use std::collections::HashSet;

use indexmap::IndexMap;
use pcie_evidence::{Function, LogEvent, LogKind};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::Machine;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "device-off-bus",
        cause: "off-bus",
        section: "errors",
        explains: &[Symptom::Missing, Symptom::Hang],
        confirm: Some(
            "setpci -s SLOT 0.l prints ffffffff, and the kernel's log says when the device was lost",
        ),
        about: "A device that does not answer reads as ones everywhere: its link is down, or it hangs (PCIe 6.0, \
             2.3.2). A device in D3cold reads the same; the kernel's files tell D3cold apart, a text of lspci \
             does not.",
        see: device_off_bus,
    },
    Rule {
        name: "uncorrectable-errors",
        cause: "uncorrectable",
        section: "errors",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: Some(
            "clear the bits (write ones to UESta), repeat the load, and see which end sets them first",
        ),
        about: "A function keeps the uncorrectable errors that it saw, a root port the messages (PCIe 6.0, 6.2, \
             7.8.4). One finding names what each end of a link saw and what the root port received. Silent on \
             errors that a scan for devices leaves behind (unsupported request, completer abort, unexpected \
             completion, ACS violation) unless the root port received a message, on masked ones, and on \
             surprise down at a port without a device. Surprise down alone is a warning: a device that slept \
             or was replaced leaves it behind.",
        see: uncorrectable_errors,
    },
    Rule {
        name: "errors-in-log",
        cause: "uncorrectable",
        section: "errors",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: None,
        about: "The kernel logs uncorrectable errors with the function that reported them (Linux, `pcie/aer.c`).",
        see: errors_in_log,
    },
    Rule {
        name: "containment-triggered",
        cause: "containment",
        section: "errors",
        explains: &[Symptom::Errors, Symptom::Missing, Symptom::Hang],
        confirm: Some("the kernel's log has a line `DPC: containment event` with the status and the source"),
        about: "Downstream port containment takes a link down on an uncorrectable error (DPC: PCIe 6.0, section \
             6.2.11).",
        see: containment_triggered,
    },
];

/// Errors that scanning for devices and drivers that probe leave behind on healthy machines.
const HARMLESS: [&str; 4] = ["UnsupReq", "ACSViol", "UnxCmplt", "CmpltAbrt"];
/// Surprise down: what pulling a device, or switching its slot off, leaves behind.
const REMOVAL: &str = "SDES";
const MESSAGES: [&str; 3] = ["UERcvd", "NonFatalMsg", "FatalMsg"];

fn meaning(bit: &str) -> &str {
    match bit {
        "DLP" => "data link protocol error",
        "SDES" => "surprise link down",
        "TLP" => "poisoned TLP",
        "FCP" => "flow control protocol error",
        "CmpltTO" => "completion time-out",
        "CmpltAbrt" => "completer abort",
        "UnxCmplt" => "unexpected completion",
        "RxOF" => "receiver overflow",
        "MalfTLP" => "malformed TLP",
        "ECRC" => "ECRC error",
        "UnsupReq" => "unsupported request",
        "ACSViol" => "ACS violation",
        "UncorrIntErr" => "internal error",
        _ => bit,
    }
}

/// The last event of a kind of each slot, in the order of the first ones.
fn events<'tree>(machine: &Machine<'tree>, kind: LogKind) -> IndexMap<Option<&'tree str>, &'tree LogEvent> {
    let events = machine.tree.log.iter().filter(|event| event.kind == kind);
    events.map(|event| (event.slot.as_deref(), event)).collect()
}

fn device_off_bus(machine: &Machine<'_>) -> Vec<Observation> {
    let mut lost = events(machine, LogKind::OffBus);
    let mut found = Vec::new();
    for function in machine.functions() {
        if function.answers != Some(false) || function.power_state.as_deref() == Some("D3cold") {
            continue;
        }
        let event = lost.shift_remove(&Some(function.slot.as_str()));
        let sureness = if event.is_some() { Sureness::Certain } else { Sureness::Likely };
        let what = "the device is off the bus: every register reads as ones";
        found.push(
            Observation::new(Severity::Error, sureness, what)
                .on(function)
                .below(machine.tree.parent(function))
                .values([Value::of(function, "all registers", "ff")])
                .values(event.map(said))
                .remedy(
                    "search the kernel's log for its slot: after a crash or a lost link only a reset or a power \
                     cycle of the slot brings it back; check its power and temperature; a device asleep in D3cold \
                     reads the same: wake it",
                ),
        );
    }
    found.extend(lost.into_values().map(|event| {
        at(event, "the kernel's log says that the device is lost").values([said(event)]).remedy(
            "check the power, the temperature and the seat of the device; then look for errors on its link before \
             it was lost",
        )
    }));
    found
}

fn uncorrectable_errors(machine: &Machine<'_>) -> Vec<Observation> {
    let mut reported: HashSet<&str> = HashSet::new();
    let mut found = Vec::new();
    for function in machine.functions() {
        if reported.contains(function.slot.as_str()) || !is_serious(machine, function) {
            continue;
        }
        let link = machine.links_at(function).next();
        let ends: Vec<&Function> = link.map_or_else(|| vec![function], |link| link.ends().collect());
        reported.extend(ends.iter().map(|one| one.slot.as_str()));
        if link.is_some_and(|link| link.not_judged().is_some()) {
            continue;
        }
        found.extend(signalled(machine, function, &ends));
    }
    found
}

/// What the ends of a link saw, and what the root port received.
fn signalled<'tree>(
    machine: &Machine<'tree>,
    function: &'tree Function,
    ends: &[&'tree Function],
) -> Option<Observation> {
    let (top, bottom) = (ends.first()?, ends.last()?);
    let roots: Vec<&Function> = machine.tree.path(bottom).filter(|one| !messages(one).is_empty()).collect();
    let seen = ends
        .iter()
        .filter(|one| !bits(one).is_empty())
        .map(|one| format!("{} saw {}", one.short_slot(), named(bits(one))));
    let received =
        roots.iter().map(|one| format!("{} received {}", one.short_slot(), messages(one).join(" ")));
    let all: Vec<String> = seen.chain(received).collect();
    let first = ends.iter().copied().find(|one| is_serious(machine, one)).unwrap_or(function);
    let is_left_behind = |bit: &String| bit == REMOVAL || HARMLESS.contains(&bit.as_str());
    let only_removal = roots.is_empty() && ends.iter().all(|one| bits(one).iter().all(is_left_behind));
    let severity = if only_removal { Severity::Warning } else { Severity::Error };
    let other = (first.slot != top.slot).then_some(*top);
    let mut named_once: HashSet<&str> = HashSet::new();
    let shown = ends.iter().chain(&roots).filter(|one| named_once.insert(one.slot.as_str()));
    Some(
        Observation::new(
            severity,
            Sureness::Certain,
            format!("uncorrectable errors were signalled: {}", all.join("; ")),
        )
        .on(first)
        .below(other)
        .values(shown.flat_map(|one| values(one)))
        .remedy(
            "search the kernel's log for AER and these slots; malformed TLPs point at the MPS of the path, protocol \
             errors and surprise down at the link, completion time-outs at a device that stopped or sleeps; the \
             bits stay set until they are cleared",
        ),
    )
}

fn errors_in_log(machine: &Machine<'_>) -> Vec<Observation> {
    let events = machine.tree.log.iter().filter(|event| event.kind == LogKind::UncorrectedError);
    events
        .filter(|event| {
            let function = machine.function(event.slot.as_deref());
            !function.is_some_and(|function| is_serious(machine, function))
        })
        .map(|event| {
            let plural = if event.count == 1 { "" } else { "s" };
            let what = format!("the kernel's log has {} uncorrectable error{plural}", event.count);
            at(event, what).values([said(event)]).remedy(
                "read the lines after it in the log: they name the error and the end that saw it; then look at \
                 the link and at the MPS of its path",
            )
        })
        .collect()
}

fn containment_triggered(machine: &Machine<'_>) -> Vec<Observation> {
    let mut logged = events(machine, LogKind::Contained);
    let mut found = Vec::new();
    for function in machine.functions() {
        let event = logged.shift_remove(&Some(function.slot.as_str()));
        if function.contained.is_none() && event.is_none() {
            continue;
        }
        // An empty reason is as good as none.
        let contained = function.contained.as_deref().filter(|reason| !reason.is_empty());
        let reason = contained.unwrap_or("an error that the log names");
        let trigger = if contained.is_some() { "+" } else { "cleared" };
        let what = format!("containment triggered and took the link down: {reason}");
        found.push(
            Observation::new(Severity::Error, Sureness::Certain, what)
                .on(function)
                .values([Value::of(function, "DpcSta Trigger", trigger)])
                .values(event.map(said))
                .remedy(
                    "search the kernel's log for DPC and AER at this port: they name the error and its source; the \
                     link stays down until the trigger status is cleared, which the kernel does after it handled \
                     the error",
                ),
        );
    }
    found.extend(logged.into_values().map(|left| {
        at(left, "containment took the link down, by the kernel's log")
            .values([said(left)])
            .remedy("read the lines around it in the log: they name the error and its source")
    }));
    found
}

/// Whether a function saw an error that a scan does not leave behind, or received a message about one.
fn is_serious(machine: &Machine<'_>, function: &Function) -> bool {
    if function.is_virtual_function || function.answers == Some(false) {
        return false;
    }
    let masked = function.errors.as_ref().and_then(|errors| errors.uncorrectable_masked.as_deref());
    let is_masked = |bit: &String| masked.is_some_and(|masked| masked.contains(bit));
    let is_ignored = |bit: &String| {
        let is_empty_port = || function.is_port() && machine.tree.children(function).is_empty();
        HARMLESS.contains(&bit.as_str()) || is_masked(bit) || (bit == REMOVAL && is_empty_port())
    };
    bits(function).iter().any(|bit| !is_ignored(bit)) || !messages(function).is_empty()
}

fn bits(function: &Function) -> &[String] {
    function.errors.as_ref().and_then(|errors| errors.uncorrectable_status.as_deref()).unwrap_or_default()
}

fn messages(function: &Function) -> Vec<&'static str> {
    let received = function.errors.as_ref().and_then(|errors| errors.root_status.as_deref());
    let is_received =
        |name: &&&str| received.is_some_and(|received| received.iter().any(|one| one == **name));
    MESSAGES.iter().filter(is_received).copied().collect()
}

fn named(bits: &[String]) -> String {
    let named: Vec<String> = bits.iter().map(|bit| format!("{} ({bit})", meaning(bit))).collect();
    named.join(", ")
}

fn values(function: &Function) -> Vec<Value> {
    let mut found = Vec::new();
    if !bits(function).is_empty() {
        let shown: Vec<String> = bits(function).iter().map(|name| format!("{name}+")).collect();
        found.push(Value::of(function, "UESta", shown.join(" ")));
    }
    let received: Vec<String> = messages(function).iter().map(|name| format!("{name}+")).collect();
    if !received.is_empty() {
        found.push(Value::of(function, "RootSta", received.join(" ")));
    }
    found
}

fn said(event: &LogEvent) -> Value {
    Value::of_machine(format!("log, line {}", event.line), &event.text)
}

/// An error on the function that a line of the log names.
fn at(event: &LogEvent, what: impl Into<String>) -> Observation {
    Observation::new(Severity::Error, Sureness::Certain, what).on_slot(event.slot.as_deref())
}
