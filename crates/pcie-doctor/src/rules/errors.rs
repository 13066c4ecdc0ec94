//! Rules about errors that the link has seen.

use pcie_evidence::{Function, LogKind};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::{Link, Machine};
use crate::register_writes::switch_aspm_off_at_both_ends;
use crate::rule::Rule;
use crate::rules::power::{aspm_of, exit_ns, how_to_switch_off};
use crate::signs::{OF_THE_LINK, link_errors};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "errors-counted",
        cause: "D04",
        section: "errors",
        explains: &[Symptom::Errors, Symptom::LostRate],
        confirm: Some("pcielab doctor --watch 30 under load"),
        about: "A receiver counts bad TLPs, bad DLLPs and replays as correctable errors (PCIe 6.0, section \
             6.2.3.2.2). A sum since boot says little, so it is only a note; `--watch` shows whether it \
             rises.",
        see: errors_counted,
    },
    Rule {
        name: "errors-with-aspm",
        cause: "D08",
        section: "errors",
        explains: &[Symptom::Errors, Symptom::LostRate, Symptom::Hang],
        confirm: Some("boot once with pcie_aspm=off: if the errors stop, the link does not wake cleanly"),
        about: "A link that leaves L0s or L1 uncleanly shows as receiver errors, bad packets and replays at \
             either end. Fires where an end saw errors of the link (CESta, the kernel's counters, or its log) \
             and ASPM is on at both ends. Bad signals look the same: switching ASPM off tells them apart. \
             Lanes with errors point at signals, so `lanes-with-errors` comes first there.",
        see: errors_with_aspm,
    },
    Rule {
        name: "lanes-with-errors",
        cause: "D04",
        section: "errors",
        explains: &[Symptom::Errors, Symptom::LostRate],
        confirm: Some("pcielab doctor --watch 30 under load, then the same card in another slot"),
        about: "A receiver keeps the lanes on which it saw errors (Lane Error Status: PCIe 6.0, section \
             7.7.3.3). With errors of the link in CESta (RxErr, BadTLP, BadDLLP, Rollover, Timeout) at the \
             same end that is a warning, and names the lanes. So are bad packets or replays at both ends of a \
             link. Either alone may be left from training: CESta of one end without lanes is a note, except \
             RxErr alone, and lanes without CESta are silent. Silent where `errors-with-aspm` fires and no \
             lanes are marked. All these bits stay set until they are cleared, so look whether they come \
             back.",
        see: lanes_with_errors,
    },
];

const MOST_LINES: usize = 2;

fn errors_counted(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for function in machine.functions() {
        let counted = function.errors.as_ref().and_then(|errors| errors.correctable.as_ref());
        let some: Vec<(&String, u64)> = counted
            .into_iter()
            .flatten()
            .filter(|(name, count)| **count > 0 && !name.starts_with("TOTAL"))
            .map(|(name, count)| (name, *count))
            .collect();
        if some.is_empty() {
            continue;
        }
        let sum = some.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let values = some
            .iter()
            .map(|(name, count)| Value::of(function, format!("aer_dev_correctable {name}"), count));
        found.push(
            Observation::new(
                Severity::Note,
                Sureness::LookUnderLoad,
                format!("{sum} correctable errors since boot"),
            )
            .on(function)
            .below(machine.tree.parent(function))
            .values(values)
            .remedy("watch whether they rise under load: pcielab doctor --watch 30"),
        );
    }
    found
}

fn errors_with_aspm(machine: &Machine<'_>) -> Vec<Observation> {
    machine.links().iter().filter_map(|link| unclean_wake(machine, link)).collect()
}

fn unclean_wake(machine: &Machine<'_>, link: &Link<'_>) -> Option<Observation> {
    let (port, states) = (link.port?, aspm_of(link));
    if states.is_empty() || link.not_judged().is_some() {
        return None;
    }
    let seen: Vec<&Function> = link.ends().filter(|one| !link_errors(one).is_empty()).collect();
    let is_end = |slot: &str| link.ends().any(|one| one.slot == slot);
    let logged: Vec<_> = (machine.tree.log.iter())
        .filter(|event| event.kind == LogKind::CorrectedError && event.slot.as_deref().is_some_and(is_end))
        .collect();
    if seen.is_empty() && logged.is_empty() {
        return None;
    }
    let substates = link.device.link.as_ref().and_then(|end| end.l1_substates.as_ref());
    let with = substates
        .filter(|names| !names.is_empty())
        .map_or_else(String::new, |names| format!(" with substates ({})", names.join(", ")));
    let what =
        format!("correctable errors on a link that may enter {}{with} between packets", states.join(" and "));
    let shown = states.join(" ");
    let lines = logged
        .iter()
        .take(MOST_LINES)
        .map(|event| Value::of_machine(format!("log, line {}", event.line), &event.text));
    Some(
        Observation::new(Severity::Warning, Sureness::Likely, what)
            .on(link.device)
            .below(Some(port))
            .values(seen.iter().flat_map(|one| values(one)))
            .values(lines)
            .values([Value::of(port, "LnkCtl ASPM", &shown), Value::of(link.device, "LnkCtl ASPM", &shown)])
            .added_latency(exit_ns(link, &states))
            .remedy(
                how_to_switch_off(&link.device.slot) + "; if the errors stay, suspect riser, cable or slot",
            )
            .commands(switch_aspm_off_at_both_ends(port, &link.functions)),
    )
}

fn lanes_with_errors(machine: &Machine<'_>) -> Vec<Observation> {
    machine.links().iter().filter_map(bad_signals).collect()
}

fn bad_signals(link: &Link<'_>) -> Option<Observation> {
    if link.not_judged().is_some() {
        return None;
    }
    let ends: Vec<&Function> =
        link.port.into_iter().chain([link.device]).filter(|one| !seen(one).is_empty()).collect();
    let marked: Vec<&Function> = ends.iter().copied().filter(|one| !lanes(one).is_empty()).collect();
    let more_than_training = ends.iter().any(|one| seen(one).iter().any(|name| *name != "RxErr"));
    if marked.is_empty() && (!more_than_training || !aspm_of(link).is_empty()) {
        return None;
    }
    let both = ends.len() == 2;
    let severity = if both || !marked.is_empty() { Severity::Warning } else { Severity::Note };
    let with_aspm = if both && marked.is_empty() {
        format!("; if ASPM was on before, {}", how_to_switch_off(&link.device.slot))
    } else {
        String::new()
    };
    let what = format!("correctable errors on the link: {}", origin(link, &marked, both));
    Some(
        Observation::new(severity, Sureness::LookUnderLoad, what)
            .on(link.device)
            .below(link.port)
            .values(ends.iter().flat_map(|one| values(one)))
            .remedy(format!(
                "reseat the card and clean its contacts; then try a shorter riser or cable, a retimer, or one \
                 generation lower; pcielab doctor --watch 30 shows whether the errors go on under load{with_aspm}"
            )),
    )
}

/// Which end saw the errors, and on which lanes.
fn origin(link: &Link<'_>, marked: &[&Function], both: bool) -> String {
    if marked.is_empty() {
        let words = if both {
            "both ends saw them, so the link replays; signal integrity, or a link that wakes uncleanly"
        } else {
            "the registers name no lanes, and do not tell when they were"
        };
        return words.to_owned();
    }
    let ends: Vec<String> = marked
        .iter()
        .map(|one| {
            let is_port = link.port.is_some_and(|port| port.slot == one.slot);
            let end = if is_port { "port" } else { "device" };
            format!("the {end} received them on {}", named(lanes(one)))
        })
        .collect();
    format!("{}; signal integrity, so suspect cable, riser or slot", ends.join(", "))
}

/// Errors of the link in CESta.
fn seen(function: &Function) -> Vec<&'static str> {
    let status = function.errors.as_ref().and_then(|errors| errors.correctable_status.as_ref());
    let is_seen = |name: &&&str| status.is_some_and(|status| status.iter().any(|bit| bit == **name));
    OF_THE_LINK.iter().filter(is_seen).copied().collect()
}

fn lanes(function: &Function) -> &[u32] {
    function.link.as_ref().and_then(|end| end.lane_errors.as_deref()).unwrap_or_default()
}

fn named(lanes: &[u32]) -> String {
    match lanes {
        [most @ .., last] if !most.is_empty() => {
            let most: Vec<String> = most.iter().map(u32::to_string).collect();
            format!("lanes {} and {last}", most.join(", "))
        }
        [last] => format!("lane {last}"),
        _ => String::new(),
    }
}

fn values(function: &Function) -> Vec<Value> {
    let mut found = Vec::new();
    let seen: Vec<String> = seen(function).iter().map(|name| format!("{name}+")).collect();
    if !seen.is_empty() {
        found.push(Value::of(function, "CESta", seen.join(" ")));
    }
    let counted = function.errors.as_ref().and_then(|errors| errors.correctable.as_ref());
    let some: Vec<String> = OF_THE_LINK
        .iter()
        .filter_map(|name| Some((name, counted?.get(*name).filter(|count| **count > 0)?)))
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if !some.is_empty() {
        found.push(Value::of(function, "aer_dev_correctable", some.join(" ")));
    }
    if !lanes(function).is_empty() {
        let lanes: Vec<String> = lanes(function).iter().map(u32::to_string).collect();
        found.push(Value::of(function, "LaneErrStat", lanes.join(" ")));
    }
    found
}
