//! Rules about lines of a kernel's log that the registers beside them do not show.

use pcie_evidence::{LogEvent, LogKind};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::Machine;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "retraining-failed",
        cause: "D03",
        section: "the-kernels-log",
        explains: &[Symptom::LostRate, Symptom::Missing],
        confirm: Some(
            "LnkCtl2 of the port has a target speed below LnkCap, and the link comes up after a retrain",
        ),
        about: "Linux retrains a port whose link does not come up at 2.5 GT/s, and may leave it there \
             (`pci/quirks.c`).",
        see: retraining_failed,
    },
    Rule {
        name: "link-went-down",
        cause: "link-down",
        section: "the-kernels-log",
        explains: &[Symptom::Missing, Symptom::Hang],
        confirm: Some("the time of the line against the time of the fault"),
        about: "A hot-plug port logs each loss of its link (Linux, `pciehp`).",
        see: link_went_down,
    },
    Rule {
        name: "limited-in-log",
        cause: "D02",
        section: "the-kernels-log",
        explains: &[Symptom::LostRate],
        confirm: Some("the link that the line names, in LnkCap and LnkSta of both its ends"),
        about: "The kernel logs the slowest link above a device that is slower than the device itself. Silent \
             where the registers of the device are there, too: they say more.",
        see: limited_in_log,
    },
    Rule {
        name: "corrected-in-log",
        cause: "D04",
        section: "the-kernels-log",
        explains: &[Symptom::Errors, Symptom::LostRate],
        confirm: Some("pcielab doctor --watch 30 under load, or the same log with pcie_aspm=off"),
        about: "The kernel logs corrected errors of a link; the registers may have been cleared since. Silent \
             where the registers name the link's errors or its ASPM.",
        see: corrected_in_log,
    },
    Rule {
        name: "device-stopped",
        cause: "device-stopped",
        section: "the-kernels-log",
        explains: &[Symptom::Hang],
        confirm: Some("the same with pcie_aspm=off, and with the device in another slot"),
        about: "A driver logs that its device stopped answering in time. The log alone does not tell why.",
        see: device_stopped,
    },
    Rule {
        name: "address-faults",
        cause: "address-fault",
        section: "the-kernels-log",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: Some("the address of the fault against what the driver mapped"),
        about: "The IOMMU refused an address: the device wrote or read where nothing is mapped for it.",
        see: address_faults,
    },
];

fn retraining_failed(machine: &Machine<'_>) -> Vec<Observation> {
    observed(
        machine,
        events(machine, LogKind::RetrainFailed),
        Severity::Warning,
        |_| "the kernel could not train the link and limited its speed".to_owned(),
        "look at the port's target speed (LnkCtl2) and raise it; if the link does not hold, suspect riser, cable or \
         the device; later kernels lift the limit again",
    )
}

fn link_went_down(machine: &Machine<'_>) -> Vec<Observation> {
    observed(
        machine,
        events(machine, LogKind::LinkDown),
        Severity::Warning,
        |event| format!("the kernel's log says that the link went down {}", times(event)),
        "unless somebody pulled the device: look for errors before it in the log, at the device's power, and at \
         riser and cable",
    )
}

fn limited_in_log(machine: &Machine<'_>) -> Vec<Observation> {
    observed(
        machine,
        events(machine, LogKind::BandwidthLimited).filter(|event| !has_registers(machine, event)),
        Severity::Warning,
        |_| "the kernel's log says that a link above limits the device".to_owned(),
        "look at the link that the line names: a slower slot is a limit, a link below both its ends is a fault",
    )
}

fn corrected_in_log(machine: &Machine<'_>) -> Vec<Observation> {
    observed(
        machine,
        events(machine, LogKind::CorrectedError).filter(|event| !has_registers(machine, event)),
        Severity::Warning,
        |event| format!("the kernel's log has corrected errors of the link, {}", times(event)),
        "boot once with pcie_aspm=off: if they stop, a link does not wake cleanly; otherwise reseat the device and \
         try a shorter riser or cable, or one generation lower",
    )
}

fn device_stopped(machine: &Machine<'_>) -> Vec<Observation> {
    observed(
        machine,
        events(machine, LogKind::DeviceStopped),
        Severity::Warning,
        |event| format!("the driver gave the device up, {} in the kernel's log", times(event)),
        "look at the findings on its link first: errors, power saving, uncorrectable errors; then update its \
         firmware",
    )
}

fn address_faults(machine: &Machine<'_>) -> Vec<Observation> {
    observed(
        machine,
        events(machine, LogKind::AddressFault),
        Severity::Error,
        |event| format!("the IOMMU refused requests of the device, {} in the kernel's log", times(event)),
        "suspect the driver or the device's firmware; between devices, ACS and the IOMMU must allow peer-to-peer",
    )
}

fn events<'tree>(machine: &Machine<'tree>, kind: LogKind) -> impl Iterator<Item = &'tree LogEvent> {
    machine.tree.log.iter().filter(move |event| event.kind == kind)
}

/// Whether the registers of the link of the function that an event names are there, too.
fn has_registers(machine: &Machine<'_>, event: &LogEvent) -> bool {
    machine.function(event.slot.as_deref()).is_some_and(|function| function.link.is_some())
}

fn times(event: &LogEvent) -> String {
    if event.count == 1 { "once".to_owned() } else { format!("{} times", event.count) }
}

/// An observation for each of some events.
fn observed<'tree>(
    machine: &Machine<'tree>,
    events: impl Iterator<Item = &'tree LogEvent>,
    severity: Severity,
    what: impl Fn(&LogEvent) -> String,
    remedy: &str,
) -> Vec<Observation> {
    events
        .map(|event| {
            let function = machine.function(event.slot.as_deref());
            Observation::new(severity, Sureness::Certain, what(event))
                .on_slot(event.slot.as_deref())
                .below(function.and_then(|function| machine.tree.parent(function)))
                .values([Value::of_machine(format!("log, line {}", event.line), &event.text)])
                .remedy(remedy)
        })
        .collect()
}
