//! Rules about low-power states of links, devices and processors.

use pcie_evidence::{Function, Kind, LogKind};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::hardware::fact;
use crate::machine::{Link, Machine};
use crate::register_writes::{switch_aspm_off, switch_aspm_off_at_both_ends};
use crate::rule::Rule;
use crate::rules::link::rate_gbps;
use crate::signs::link_errors;
use pcie_refusal::numbers::general;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "aspm-on",
        cause: "D08",
        section: "power-saving",
        explains: &[Symptom::Latency, Symptom::LostRate, Symptom::Hang],
        confirm: Some("the same measurement with pcie_aspm=off on the kernel's command line"),
        about: "A sleeping link has to wake for the next TLP (ASPM: PCIe 6.0, sections 5.4.1 and 7.5.3.7). \
             Judges every link of the path to the root; each end gives its longest exit latency, and the \
             longer one counts. Wired network cards and accelerators get a warning at any rate, and so does a \
             device whose driver gave it up, by the kernel's log. Drives and displays get a note from 16 Gb/s \
             on. Silent on wireless cards, which are meant to save power, and where `errors-with-aspm` fires.",
        see: aspm_on,
    },
    Rule {
        name: "aspm-ends-differ",
        cause: "D08",
        section: "power-saving",
        explains: &[Symptom::Errors, Symptom::Hang],
        confirm: Some("the two registers after a change of the kernel's ASPM policy"),
        about: "L1 substates and the common clock have to be set alike at both ends (PCIe 6.0, sections 5.5.4 \
             and 7.5.3.7). With ASPM on and a difference, one end waits for a signal that the other does not \
             give, or takes the wrong exit latency.",
        see: aspm_ends_differ,
    },
    Rule {
        name: "substates-without-ltr",
        cause: "D08",
        section: "power-saving",
        explains: &[Symptom::Hang, Symptom::Latency],
        confirm: Some("the same with pcie_aspm.policy=performance"),
        about: "ASPM L1.2 relies on the latency that the device reports (LTR: PCIe 6.0, sections 5.5 and 6.18). \
             Fires if L1.2 is on and LTR is off at the device or at a port above it that supports it.",
        see: substates_without_ltr,
    },
    Rule {
        name: "asleep",
        cause: "D09",
        section: "power-saving",
        explains: &[Symptom::Latency],
        confirm: None,
        about: "In D3 a function answers configuration requests at most; its link may be down (PCIe 6.0, \
             5.3.1.4).",
        see: asleep,
    },
    Rule {
        name: "deep-idle",
        cause: "D34",
        section: "power-saving",
        explains: &[Symptom::Latency],
        confirm: None,
        about: "Cores in deep idle states answer interrupts late, and some machines slow their uncore with them.",
        see: deep_idle,
    },
    Rule {
        name: "slow-governor",
        cause: "D34",
        section: "power-saving",
        explains: &[Symptom::Latency],
        confirm: None,
        about: "A low core clock slows all work per packet.",
        see: slow_governor,
    },
];

const NETWORK: u32 = 0x02;
const ACCELERATOR: u32 = 0x12;
const WIRED: [u32; 2] = [0x0200, 0x0207];
const WIRELESS: u32 = 0x0280;
const MENTIONED_FROM_GBPS: f64 = 16.0;
const DEEP_EXIT_US: f64 = 50.0;
const NS_PER_US: f64 = 1000.0;

fn aspm_on(machine: &Machine<'_>) -> Vec<Observation> {
    machine.real_cards().filter_map(|(link, port)| sleeping_path(machine, link, port)).collect()
}

fn sleeping_path<'tree>(
    machine: &Machine<'tree>,
    link: &Link<'tree>,
    port: &Function,
) -> Option<Observation> {
    let (device, end) = (link.device, link.device.link.as_ref()?);
    let asleep: Vec<&Link<'_>> = std::iter::once(link)
        .chain(machine.links_above(link))
        .filter(|one| !aspm_of(one).is_empty() && one.not_judged().is_none())
        .collect();
    let has_errors = |one: &&Link<'_>| one.ends().any(|end| !link_errors(end).is_empty());
    if asleep.is_empty() || device.class_code == Some(WIRELESS) || asleep.iter().any(has_errors) {
        return None;
    }
    // Network cards and accelerators suffer from a link that sleeps between packets.
    let is_measured = match device.base_class() {
        Some(NETWORK) => device.class_code.is_some_and(|class| WIRED.contains(&class)),
        class => class == Some(ACCELERATOR),
    };
    let has_stopped = machine.tree.log.iter().any(|event| {
        matches!(event.kind, LogKind::DeviceStopped | LogKind::OffBus)
            && event.slot.as_deref() == Some(device.slot.as_str())
    });
    let is_fast_and_asleep =
        asleep.iter().any(|one| one.number == link.number) && rate_gbps(Some(end)) >= MENTIONED_FROM_GBPS;
    if !is_measured && !has_stopped && !is_fast_and_asleep {
        return None;
    }
    let own = aspm_of(link);
    let others: Vec<&Link<'_>> = asleep.iter().copied().filter(|one| one.number != link.number).collect();
    let exits: Vec<f64> = asleep.iter().filter_map(|one| exit_ns(one, &aspm_of(one))).collect();
    let report = fact(device, "report")
        .filter(|fact| fact.value.contains("aspm"))
        .map(|fact| format!("known of this device: {}", fact.note));
    let mut what = what(&own, &others) + &substates(link);
    if let Some(report) = &report {
        what = format!("{what}; {report}");
    }
    let severity = if is_measured || has_stopped { Severity::Warning } else { Severity::Note };
    let mut observation = Observation::new(severity, Sureness::Likely, what)
        .on(device)
        .below(Some(port))
        .values(asleep.iter().map(|one| Value::of(one.device, "LnkCtl ASPM", aspm_of(one).join(" "))))
        .added_latency((!exits.is_empty()).then(|| exits.iter().sum()))
        .remedy(how_to_switch_off(&device.slot))
        .command((!own.is_empty()).then(|| switch_aspm_off(device)))
        .commands(
            asleep
                .iter()
                .filter_map(|one| Some(switch_aspm_off_at_both_ends(one.port?, &one.functions)))
                .flatten(),
        );
    observation.explained.extend(report);
    Some(observation)
}

fn aspm_ends_differ(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for link in machine.links() {
        let device = link.device;
        let Some(port) = link.port.filter(|_| !aspm_of(link).is_empty() && link.not_judged().is_none())
        else {
            continue;
        };
        let (Some(upper), Some(lower)) = (&port.link, &device.link) else { continue };
        for (name, upper, lower) in [
            ("L1SubCtl1", words(upper.l1_substates.as_deref()), words(lower.l1_substates.as_deref())),
            ("LnkCtl CommClk", sign(upper.common_clock), sign(lower.common_clock)),
        ] {
            let (Some(upper), Some(lower)) = (upper, lower) else { continue };
            if upper != lower {
                let what = format!("ASPM is on, and the ends of the link are set differently ({name})");
                found.push(
                    Observation::new(Severity::Warning, Sureness::Likely, what)
                        .on(device)
                        .below(Some(port))
                        .values([Value::of(port, name, upper), Value::of(device, name, lower)])
                        .remedy(how_to_switch_off(&device.slot) + "; then look for a BIOS update"),
                );
            }
        }
    }
    found
}

fn substates_without_ltr(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, port) in machine.real_cards() {
        let device = link.device;
        let substates = device.link.as_ref().and_then(|end| end.l1_substates.as_ref());
        let has_substate = substates.is_some_and(|names| names.iter().any(|name| name == "ASPM L1.2"));
        if device.control.is_none() || !has_substate || aspm_of(link).is_empty() {
            continue;
        }
        let off: Vec<&Function> = (machine.tree.path(device))
            .filter(|one| one.control.as_ref().is_some_and(|control| control.ltr == Some(false)))
            .collect();
        if off.is_empty() {
            continue;
        }
        let slots: Vec<String> = off.iter().map(|one| one.short_slot()).collect();
        let what = format!("L1.2 is on, but latency tolerance reporting is off at {}", slots.join(", "));
        found.push(
            Observation::new(Severity::Note, Sureness::Likely, what)
                .on(device)
                .below(Some(port))
                .values(off.iter().map(|one| Value::of(one, "DevCtl2 LTR", "-")))
                .remedy("if the device stops or wakes late, boot with pcie_aspm.policy=performance"),
        );
    }
    found
}

fn asleep(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for function in machine.functions() {
        let is_device = matches!(function.kind, Some(Kind::Endpoint | Kind::LegacyEndpoint) | None);
        let has_driver = function.driver.as_ref().is_some_and(|driver| !driver.is_empty());
        let Some(state @ ("D3hot" | "D3cold")) = function.power_state.as_deref() else { continue };
        if is_device && has_driver && !function.is_virtual_function {
            let what = format!("the device sleeps ({state}): its registers say little now");
            found.push(
                Observation::new(Severity::Note, Sureness::LookUnderLoad, what)
                    .on(function)
                    .values([Value::of(function, "power state", state)])
                    .remedy(
                        "use the device and run the doctor again; echo on > power/control keeps it awake",
                    ),
            );
        }
    }
    found
}

fn deep_idle(machine: &Machine<'_>) -> Vec<Observation> {
    let host = machine.tree.host();
    let (Some(name), Some(exit_us)) = (&host.deepest_idle, host.deepest_idle_exit_us) else {
        return Vec::new();
    };
    if exit_us < DEEP_EXIT_US {
        return Vec::new();
    }
    let what = format!("processors may enter {name}, which takes {} us to leave", general(exit_us));
    vec![
        Observation::new(Severity::Note, Sureness::Likely, what)
            .values([Value::of_machine("cpuidle deepest state", name)])
            .added_latency(Some(exit_us * NS_PER_US))
            .remedy(
                "for latencies at low load: cpupower idle-set --disable-by-latency 10, or /dev/cpu_dma_latency",
            ),
    ]
}

fn slow_governor(machine: &Machine<'_>) -> Vec<Observation> {
    let governor = machine.tree.host().governor.as_ref().filter(|governor| *governor != "performance");
    governor
        .map(|governor| {
            let what = format!("the frequency governor is {governor}, not performance");
            Observation::new(Severity::Note, Sureness::Likely, what)
                .values([Value::of_machine("scaling_governor", governor)])
                .remedy("for measurements: cpupower frequency-set --governor performance")
        })
        .into_iter()
        .collect()
}

/// The states that a link may enter by itself: those that are on at both ends, or at the one that is shown.
pub(super) fn aspm_of(link: &Link<'_>) -> Vec<String> {
    let ends = [link.port, Some(link.device)].into_iter().flatten();
    let mut states = ends.filter_map(|one| one.link.as_ref()?.aspm_enabled.as_ref());
    let Some(first) = states.next() else { return Vec::new() };
    let others: Vec<&Vec<String>> = states.collect();
    first.iter().filter(|state| others.iter().all(|on| on.contains(state))).cloned().collect()
}

/// The longer of both ends' latencies to leave the deepest state, ns; None if neither gives one.
pub(super) fn exit_ns(link: &Link<'_>, states: &[String]) -> Option<f64> {
    let is_deep = states.iter().any(|state| state == "L1");
    let ends = [link.port, Some(link.device)].into_iter().flatten().filter_map(|one| one.link.as_ref());
    ends.filter_map(|end| if is_deep { end.l1_exit_ns } else { end.l0s_exit_ns }).reduce(f64::max)
}

/// How to try a machine without ASPM, for all links and for one.
pub(super) fn how_to_switch_off(slot: &str) -> String {
    format!(
        "boot once with pcie_aspm=off or pcie_aspm.policy=performance; for this link alone, write 0 to \
         /sys/bus/pci/devices/{slot}/link/l1_aspm"
    )
}

fn what(own: &[String], others: &[&Link<'_>]) -> String {
    let above: Vec<String> = others
        .iter()
        .map(|one| format!("{} ({})", one.device.short_slot(), aspm_of(one).join(" and ")))
        .collect();
    let above = above.join(", ");
    if own.is_empty() {
        return format!("ASPM lets a link above sleep between packets: {above}");
    }
    let above = if above.is_empty() { above } else { format!("; above it, {above}") };
    format!("ASPM lets the link enter {} between packets{above}", own.join(" and "))
}

fn substates(link: &Link<'_>) -> String {
    let names = link.device.link.as_ref().and_then(|end| end.l1_substates.as_deref()).unwrap_or_default();
    let on: Vec<&str> = names
        .iter()
        .filter(|name| name.contains("ASPM"))
        .map(|name| name.strip_prefix("ASPM ").unwrap_or(name))
        .collect();
    if on.is_empty() { String::new() } else { format!(", with substates {}", on.join(" and ")) }
}

fn words(names: Option<&[String]>) -> Option<String> {
    names.map(|names| if names.is_empty() { "none".to_owned() } else { names.join(" ") })
}

fn sign(flag: Option<bool>) -> Option<String> {
    flag.map(|is_on| if is_on { "+" } else { "-" }.to_owned())
}
