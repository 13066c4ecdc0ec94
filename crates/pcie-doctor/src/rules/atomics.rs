//! Rules about atomic operations: whether they reach the host's memory.

use pcie_evidence::{Function, Kind};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::hardware::vendor_of;
use crate::machine::Machine;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "atomics-not-routed",
    cause: "atomics",
    section: "peers",
    explains: &[Symptom::PeerToPeer, Symptom::Missing],
    confirm: Some("dmesg of amdgpu says `PCIE atomic ops is not supported`, or kfd skips the device"),
    about: "Atomic operations need every switch port on the path to route them, and the root to complete \
             them. PCIe 6.0, sections 6.15 and 7.5.3.15. Fires on displays and accelerators where a switch \
             port on the path has Routing-, a port has EgressBlck+, or the root port completes neither 32 nor \
             64 bits. A warning for AMD's devices, whose compute software needs them; a note for the others.",
    see: atomics_not_routed,
}];

const ATI: u32 = 0x1002;
/// Classes whose software uses atomic operations on the host's memory: displays and accelerators.
const USERS: [u32; 2] = [0x03, 0x12];
const NEEDED: [&str; 2] = ["32bit", "64bit"];

fn atomics_not_routed(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, _) in machine.real_cards() {
        let is_user = |one: &&&Function| one.base_class().is_some_and(|class| USERS.contains(&class));
        let Some(device) = link.functions.iter().find(is_user).copied() else { continue };
        let Some(completed) = device.control.as_ref().and_then(|control| control.atomics_completed.as_ref())
        else {
            continue;
        };
        let blockers: Vec<_> = machine.above(device).filter_map(|one| Some((one, blocks(one)?))).collect();
        let Some((first, reason)) = blockers.last().filter(|_| !completed.is_empty()) else { continue };
        let is_ati = vendor_of(device) == Some(ATI);
        let others = match blockers.len() - 1 {
            0 => String::new(),
            others => format!(", and {others} more on the path do not either"),
        };
        let what = format!(
            "atomic operations of the device do not reach the host's memory: {} {reason}{others}",
            first.short_slot()
        );
        let shown: Vec<String> = completed.iter().map(|name| format!("{name}+")).collect();
        let severity = if is_ati { Severity::Warning } else { Severity::Note };
        found.push(
            Observation::new(severity, Sureness::Certain, what)
                .on(device)
                .below(Some(first))
                .values([Value::of(device, "AtomicOpsCap", shown.join(" "))])
                .values(blockers.iter().map(|(one, why)| Value::of(one, "AtomicOpsCap", why)))
                .remedy(
                    "use a slot of the processor whose root port completes them; ports of chipsets and many older \
                     switches do not route them",
                ),
        );
    }
    found
}

/// Why a port on the path stops atomic operations to the host; None if it does not, or does not say.
fn blocks(port: &Function) -> Option<&'static str> {
    let control = port.control.as_ref()?;
    let is_of_a_switch = matches!(port.kind, Some(Kind::UpstreamPort | Kind::DownstreamPort));
    if is_of_a_switch && control.atomics_routed == Some(false) {
        return Some("does not route them (Routing-)");
    }
    if control.atomics_blocked == Some(true) {
        return Some("blocks them (EgressBlck+)");
    }
    let completed = control.atomics_completed.as_ref()?;
    let completes = completed.iter().any(|name| NEEDED.contains(&name.as_str()));
    (port.kind == Some(Kind::RootPort) && !completes).then_some("does not complete them (32bit- 64bit-)")
}
