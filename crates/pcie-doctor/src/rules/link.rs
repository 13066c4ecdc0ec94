//! Rules about the link: its speed, its width, and the links above it.

use pcie_evidence::{Function, Kind, LinkEnd};

use crate::finding::{Loss, Observation, Severity, Sureness, Symptom, Value};
use crate::hardware::{chipset_above, fact, soldered_uplink};
use crate::line_rates::{carries_all, needed_raw_gbps};
use crate::loss::{Use, both_losses, generation};
use crate::machine::{Link, Machine};
use crate::register_writes::{enable_link, retrain};
use crate::rule::Rule;
use pcie_refusal::numbers::{general, significant};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "below-both-ends",
        cause: "D01",
        section: "the-link",
        explains: &[Symptom::LostRate],
        confirm: Some("LnkSta of both ends while the device is busy, and again in another slot"),
        about: "A link trains to the highest speed and width of both ends (PCIe 6.0, section 4.2.5): less is a \
             fault. Both ends' LnkCap count, so a narrow device in a wide port is fine. Displays and \
             accelerators lower their speed at rest, also behind a switch of their own, and some drives rest \
             at 2.5 GT/s: look at them under load. A network controller that the link carries all the same is \
             a note: boards wire one lane to two ports of 1 Gb/s. Links inside a chip are not judged. Silent \
             where `target-speed-lowered` fires, and on the soldered link of a chipset that runs as \
             `hardware.csv` says. A slower one is a warning.",
        see: below_both_ends,
    },
    Rule {
        name: "target-speed-lowered",
        cause: "D03",
        section: "the-link",
        explains: &[Symptom::LostRate],
        confirm: Some("the kernel's log has a line on retraining, and the link comes up after a retrain"),
        about: "Software may lower a port's target speed (PCIe 6.0, section 7.5.3.19), permanently after a \
             failed retrain. Fires if the link runs at the lowered target and both ends support more. A note \
             where `below-both-ends` is one.",
        see: target_speed_lowered,
    },
    Rule {
        name: "link-down",
        cause: "link-down",
        section: "the-link",
        explains: &[Symptom::Missing],
        confirm: Some("the card trains in another slot, or another card in this one"),
        about: "A port whose slot holds a card should have a link: PresDet+ and DLActive- contradict each other. \
             Judges ports that report both (Slot Implemented, LLActRep+: PCIe 6.0, sections 7.5.3.6 and \
             7.5.3.11) and are awake. Silent if the slot's power is off, or if a device below sleeps in \
             D3cold, which takes the link down.",
        see: link_down,
    },
    Rule {
        name: "port-limits-card",
        cause: "D02",
        section: "the-link",
        explains: &[Symptom::LostRate],
        confirm: Some("the device reaches its rate in a wider or faster slot"),
        about: "The device would be faster in another slot: a property of the machine, not a fault.",
        see: port_limits_card,
    },
    Rule {
        name: "card-limits-port",
        cause: "D02",
        section: "the-link",
        explains: &[],
        confirm: None,
        about: "The slot supports a faster device; nothing is wrong. Silent on a device with fewer lanes than \
             its slot.",
        see: card_limits_port,
    },
    Rule {
        name: "path-limits-card",
        cause: "D02",
        section: "the-link",
        explains: &[Symptom::LostRate],
        confirm: Some("the measured rate is near that of the link that the finding names"),
        about: "The slowest link up to the root port limits a device, however fast its own link is.",
        see: path_limits_card,
    },
    Rule {
        name: "on-card-link",
        cause: "on-card-link",
        section: "the-link",
        explains: &[],
        confirm: None,
        about: "Some devices sit behind a switch on their card, and report a nominal link whatever the card \
             does. The rows of `hardware.csv` name them and the value. The link of the card is that \
             of the switch's upstream port. One finding per card, on its first device.",
        see: on_card_link,
    },
    Rule {
        name: "port-alone",
        cause: "D01",
        section: "the-link",
        explains: &[],
        confirm: None,
        about: "A port whose device is not shown says what its link runs at and what it supports itself, and no \
             more. Silent where the text shows any link with a device.",
        see: port_alone,
    },
    Rule {
        name: "port-not-shown",
        cause: "D01",
        section: "the-link",
        explains: &[],
        confirm: None,
        about: "The other end of a link decides what is normal: a text of one device, as of `lspci -s SLOT`, \
             lacks it.",
        see: port_not_shown,
    },
    Rule {
        name: "made-up-link",
        cause: "D25",
        section: "the-link",
        explains: &[],
        confirm: None,
        about: "A link shown by a hypervisor or tunnel does not carry the data, so it is not judged. Nor is that \
             of a GPU whose data cross NVLink-C2C. Links inside a chip are left out without a word.",
        see: made_up_link,
    },
    Rule {
        name: "chipset-slot",
        cause: "D06",
        section: "the-link",
        explains: &[Symptom::LostRate],
        confirm: Some("the device is faster in a slot of the processor, or when its neighbours rest"),
        about: "Slots of a chipset share its one link to the processor, which matters to devices that could fill \
             it. Chipsets are recognised by the IDs of their ports (`hardware.csv`), or by the name \
             of the root port. The rate counts that both ends of the device's link support, since it may \
             rest.",
        see: chipset_slot,
    },
];

const STORAGE: u32 = 0x01;
const DISPLAY: u32 = 0x03;
const ACCELERATOR: u32 = 0x12;
const REST_GTPS: f64 = 2.5;
const FAST_GBPS: f64 = 16.0;
const CHIPSETS: [&str; 8] =
    ["Chipset", "PCH", "Wellsburg", "Lewisburg", "Emmitsburg", "Promontory", "600 Series", "700 Series"];
const WHOLE_MACHINE: &str = "give the output of `sudo lspci -vvv` for the whole machine";

fn below_both_ends(machine: &Machine<'_>) -> Vec<Observation> {
    machine.real_links().filter_map(|(link, port)| slow_or_narrow(machine, link, port)).collect()
}

fn slow_or_narrow(machine: &Machine<'_>, link: &Link<'_>, port: &Function) -> Option<Observation> {
    let (device, end) = (link.device, link.device.link.as_ref()?);
    let (speed_gtps, lanes) = most(link)?;
    let (now_gtps, now_lanes) = (end.speed_gtps?, end.lanes?);
    let is_slower = now_gtps < speed_gtps && lowered_target(link).is_none();
    let is_narrower = now_lanes < lanes;
    if is_as_soldered(link, end) || !(is_slower || is_narrower) {
        return None;
    }
    let at_rest = !is_narrower && may_rest(machine, device, end);
    let judgement = Judgement::of_enough(link, end).unwrap_or_else(|| {
        if at_rest {
            Judgement::at_rest()
        } else if soldered_uplink(link).is_some() {
            Judgement::soldered()
        } else {
            Judgement::fault()
        }
    });
    let what = format!(
        "link is running at {}; both ends support {}{}",
        shown(end.speed_gtps, end.lanes),
        shown(Some(speed_gtps), Some(lanes)),
        judgement.reason
    );
    Some(
        Observation::new(judgement.severity, judgement.sureness, what)
            .on(device)
            .below(Some(port))
            .values(both_ends(port, device))
            .losses(losses(device, end, speed_gtps, lanes))
            .remedy(judgement.remedy.unwrap_or(
                "reseat the card, try another slot, riser or cable, and look at the speed that the BIOS allows \
                 for this slot; then retrain the link",
            )),
    )
}

fn target_speed_lowered(machine: &Machine<'_>) -> Vec<Observation> {
    machine.real_links().filter_map(|(link, port)| lowered(machine, link, port)).collect()
}

fn lowered(machine: &Machine<'_>, link: &Link<'_>, port: &Function) -> Option<Observation> {
    let (device, end) = (link.device, link.device.link.as_ref()?);
    let ((speed_gtps, _), target_gtps) = (most(link)?, lowered_target(link)?);
    let (_, lanes) = (end.speed_gtps?, end.lanes?);
    let judgement = Judgement::of_enough(link, end).unwrap_or_else(|| {
        if may_rest(machine, device, end) { Judgement::at_rest() } else { Judgement::fault() }
    });
    let what = format!(
        "the port's target speed is set to {} GT/s; both ends support {} GT/s",
        general(target_gtps),
        general(speed_gtps)
    );
    Some(
        Observation::new(judgement.severity, judgement.sureness, what)
            .on(device)
            .below(Some(port))
            .values([Value::of(port, "LnkCtl2 target speed", format!("{} GT/s", general(target_gtps)))])
            .values(both_ends(port, device))
            .losses(losses(device, end, speed_gtps, lanes))
            .remedy(
                "search the kernel's log for failed retraining first: the link may not hold the higher speed; then \
                 raise the target speed and retrain the link",
            )
            .commands(retrain(port, speed_gtps)),
    )
}

fn link_down(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for port in machine.functions().iter().filter(|one| one.is_port()) {
        let Some(end) = port.link.as_ref().filter(|end| end.active == Some(false)) else { continue };
        if port.card_present != Some(true) || port.slot_off == Some(true) {
            continue;
        }
        let below = machine.tree.children(port);
        let is_awake = matches!(port.power_state.as_deref(), None | Some("D0"));
        if !is_awake || below.iter().any(|one| one.power_state.as_deref() == Some("D3cold")) {
            continue;
        }
        let is_disabled = end.disabled == Some(true);
        let lost = below.first().map_or_else(String::new, |one| format!("; {} was there", one.short_slot()));
        let (severity, what, remedy) = if is_disabled {
            let what = "a card is present, but software disabled the link".to_owned();
            let remedy = "find out what disabled it (a BIOS setting, hot plug, a script); bit 4 of LnkCtl enables \
                          it again";
            (Severity::Warning, what, remedy)
        } else {
            let what = format!("a card is present, but the link is down: the card does not train{lost}");
            let remedy = "search the kernel's log for the port's slot; reseat the card, then try another cable, \
                          riser or slot, and check the power of the card; an empty socket of a carrier for several \
                          drives looks the same";
            (Severity::Error, what, remedy)
        };
        found.push(
            Observation::new(severity, Sureness::Certain, what)
                .on(port)
                .values([
                    Value::of(port, "SltSta PresDet", "+"),
                    Value::of(port, "LnkSta DLActive", "-"),
                    Value::of(port, "LnkCtl LnkDisable", if is_disabled { "+" } else { "-" }),
                ])
                .remedy(remedy)
                .command(is_disabled.then(|| enable_link(port))),
        );
    }
    found
}

fn port_limits_card(machine: &Machine<'_>) -> Vec<Observation> {
    machine.real_cards().filter_map(|(link, port)| limited_by_port(link.device, port)).collect()
}

fn limited_by_port(device: &Function, port: &Function) -> Option<Observation> {
    let (end, above) = (device.link.as_ref()?, port.link.as_ref()?);
    let (above_gtps, above_lanes) = (above.max_speed_gtps?, above.max_lanes.filter(|lanes| *lanes > 0)?);
    let (own_gtps, own_lanes) = (end.max_speed_gtps?, end.max_lanes.filter(|lanes| *lanes > 0)?);
    if !end.is_up() {
        return None;
    }
    let mut words = Vec::new();
    if above_gtps < own_gtps {
        words.push(format!("{} GT/s (the device supports {})", general(above_gtps), general(own_gtps)));
    }
    if above_lanes < own_lanes {
        words.push(format!("x{above_lanes} (the device supports x{own_lanes})"));
    }
    if words.is_empty() {
        return None;
    }
    let what = format!("the port is limited to {}", words.join(" and "));
    Some(
        Observation::new(Severity::Note, Sureness::Certain, what)
            .on(device)
            .below(Some(port))
            .values(both_ends(port, device))
            .losses(losses(device, end, own_gtps, own_lanes))
            .remedy("for the device's full bandwidth, use a slot with more lanes or a later generation"),
    )
}

fn card_limits_port(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, port) in machine.real_cards() {
        let (Some(end), Some(above)) = (&link.device.link, &port.link) else { continue };
        let (Some(own_gtps), Some(above_gtps)) = (end.max_speed_gtps, above.max_speed_gtps) else { continue };
        if own_gtps < above_gtps && end.lanes.is_some_and(|lanes| lanes > 0) {
            let what = format!(
                "the device is limited to {} GT/s; the port supports {}",
                general(own_gtps),
                general(above_gtps)
            );
            found.push(
                Observation::new(Severity::Note, Sureness::Certain, what)
                    .on(link.device)
                    .below(Some(port))
                    .values(both_ends(port, link.device))
                    .remedy("none needed: the slot is faster than this device"),
            );
        }
    }
    found
}

fn path_limits_card(machine: &Machine<'_>) -> Vec<Observation> {
    machine.real_cards().filter_map(|(link, _)| limited_by_path(machine, link)).collect()
}

fn limited_by_path<'tree>(machine: &Machine<'tree>, link: &Link<'tree>) -> Option<Observation> {
    let (device, end) = (link.device, link.device.link.as_ref().filter(|end| end.is_up())?);
    let rate = |one: &Link<'_>| rate_gbps(one.device.link.as_ref());
    let above =
        machine.links_above(link).filter(|one| one.device.link.as_ref().is_some_and(|end| end.is_up()));
    let slowest = above.min_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let narrow = slowest.device.link.as_ref()?;
    let (narrow_gtps, narrow_lanes) = (narrow.speed_gtps?, narrow.lanes?);
    if rate(slowest) >= end.raw_gbps() || slowest.not_judged().is_some() {
        return None;
    }
    let usage = Use::of(device, end);
    let losses = usage
        .and_then(|usage| Some(both_losses(&usage.with_link(narrow_gtps, narrow_lanes)?, &usage)))
        .unwrap_or_default();
    let what = format!(
        "its link is {}, but its path to the root crosses {} at {}{}",
        shown(end.speed_gtps, end.lanes),
        slowest.device.short_slot(),
        shown(narrow.speed_gtps, narrow.lanes),
        limit_above(slowest)
    );
    Some(
        Observation::new(Severity::Note, Sureness::Certain, what)
            .on(device)
            .below(slowest.port)
            .values([
                Value::of(device, "LnkSta", shown(end.speed_gtps, end.lanes)),
                Value::of(slowest.device, "LnkSta", shown(narrow.speed_gtps, narrow.lanes)),
            ])
            .losses(losses)
            .remedy("use a slot nearer to the root, or a switch with a wider or faster uplink"),
    )
}

fn on_card_link(machine: &Machine<'_>) -> Vec<Observation> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for link in machine.links().iter().filter(|link| link.device.is_endpoint()) {
        let Some(uplink) = machine.on_card_uplink(link) else { continue };
        let (Some(end), Some(card_end)) = (&link.device.link, &uplink.device.link) else { continue };
        if seen.contains(&uplink.number) {
            continue;
        }
        seen.push(uplink.number);
        let (nominal, card) = (shown(end.speed_gtps, end.lanes), shown(card_end.speed_gtps, card_end.lanes));
        let what = format!(
            "{nominal} is a nominal value inside the card, not a slow link: the card's link is that of {}, at \
             {card}{}",
            uplink.device.short_slot(),
            limit_above(uplink)
        );
        found.push(
            Observation::new(Severity::Note, Sureness::Certain, what)
                .on(link.device)
                .below(Some(uplink.device))
                .values([Value::of(link.device, "LnkSta", nominal), Value::of(uplink.device, "LnkSta", card)])
                .remedy("none needed: judge the card by the link of its upstream port"),
        );
    }
    found
}

fn port_alone(machine: &Machine<'_>) -> Vec<Observation> {
    if !machine.links().is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for port in machine.functions().iter().filter(|one| one.is_port() || one.is_unnamed()) {
        let Some(end) = port.link.as_ref().filter(|end| end.is_up()) else { continue };
        let (now, could) = now_and_could(end);
        let less = if now == could {
            String::new()
        } else {
            format!("; this end supports {could}, and the other may not")
        };
        let what =
            format!("link is running at {now}{less}: without the device below, nothing more can be judged");
        found.push(
            Observation::new(Severity::Note, Sureness::Certain, what)
                .on(port)
                .values([Value::of(port, "LnkCap", could), Value::of(port, "LnkSta", now)])
                .remedy(WHOLE_MACHINE),
        );
    }
    found
}

fn port_not_shown(machine: &Machine<'_>) -> Vec<Observation> {
    if !machine.tree.is_selection() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for link in machine.links() {
        let device = link.device;
        let is_device = device.is_endpoint() || device.kind.is_none();
        let Some(end) = device.link.as_ref().filter(|end| end.is_up()) else { continue };
        if !is_device || link.not_judged().is_some() {
            continue;
        }
        let (now, could) = now_and_could(end);
        let less = if now == could {
            String::new()
        } else {
            format!("; the device supports {could}, and the port may not")
        };
        let what = format!(
            "link is running at {now}{less}: without the port above, the speed, the width, the MPS of the path, \
             10-bit tags and relaxed ordering cannot be judged"
        );
        found.push(
            Observation::new(Severity::Note, Sureness::Certain, what)
                .on(device)
                .values([Value::of(device, "LnkCap", could), Value::of(device, "LnkSta", now)])
                .remedy(WHOLE_MACHINE),
        );
    }
    found
}

/// The link as it runs, and as one end supports it.
fn now_and_could(end: &LinkEnd) -> (String, String) {
    (shown(end.speed_gtps, end.lanes), shown(end.max_speed_gtps, end.max_lanes))
}

fn made_up_link(machine: &Machine<'_>) -> Vec<Observation> {
    let is_virtual = machine.tree.host().hypervisor.as_ref().is_some_and(|name| !name.is_empty());
    let links = machine.links().iter().filter(|link| {
        link.device.is_endpoint() && link.internal.is_none() && machine.on_card_uplink(link).is_none()
    });
    links
        .filter_map(|link| Some((link, link.made_up.as_ref()?)))
        .map(|(link, reason)| {
            let is_certain = link.port.is_some() || is_virtual;
            let sureness = if is_certain { Sureness::Certain } else { Sureness::Likely };
            Observation::new(Severity::Note, sureness, format!("link not judged: {reason}"))
                .on(link.device)
                .below(link.port)
                .remedy("run the doctor on the host itself")
        })
        .collect()
}

fn chipset_slot(machine: &Machine<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    for (link, _) in machine.real_cards() {
        let (root, Some(end), Some((speed_gtps, lanes))) =
            (machine.root(link.device), link.device.link.as_ref(), most(link))
        else {
            continue;
        };
        let could = LinkEnd { speed_gtps: Some(speed_gtps), lanes: Some(lanes), ..LinkEnd::default() };
        if could.raw_gbps() < FAST_GBPS {
            continue;
        }
        let by_name = || CHIPSETS.iter().any(|name| root.title.contains(name)).then_some(root);
        let Some(port) = chipset_above(machine, link).or_else(by_name) else { continue };
        let uplink =
            fact(port, "chipset_uplink").map_or_else(String::new, |fact| format!(" ({})", fact.value));
        let what = format!(
            "the device is attached to the chipset ({}) and shares the chipset's link{uplink} with every other \
             device there",
            port.name()
        );
        found.push(
            Observation::new(Severity::Note, Sureness::Likely, what)
                .on(link.device)
                .below(Some(port))
                .values([Value::of(link.device, "LnkSta", shown(end.speed_gtps, end.lanes))])
                .remedy("move fast devices to a slot of the processor"),
        );
    }
    found
}

/// What the port above a card's upstream port supports, if that is less than the card.
fn limit_above(link: &Link<'_>) -> String {
    let limit = || {
        let port = link.port?;
        let above_gtps = port.link.as_ref()?.max_speed_gtps?;
        let own_gtps = link.device.link.as_ref()?.max_speed_gtps?;
        let host = if port.kind == Some(Kind::RootPort) { "the host's port" } else { "the port above" };
        (above_gtps < own_gtps).then_some(())?;
        Some(format!(
            "; {host} supports no more than {} GT/s (generation {}), the card {}",
            general(above_gtps),
            generation(above_gtps)?,
            general(own_gtps)
        ))
    };
    limit().unwrap_or_default()
}

/// Whether the link of a chipset runs as the table says of it.
fn is_as_soldered(link: &Link<'_>, end: &LinkEnd) -> bool {
    let (Some(fact), Some(now_gtps), Some(now_lanes)) = (soldered_uplink(link), end.speed_gtps, end.lanes)
    else {
        return false;
    };
    now_lanes > 0
        && fact.links.iter().any(|(speed_gtps, lanes)| now_gtps >= *speed_gtps && now_lanes >= *lanes)
}

/// A link in words: `8 GT/s x8`.
pub(crate) fn shown(speed_gtps: Option<f64>, lanes: Option<u32>) -> String {
    let speed =
        speed_gtps.map_or_else(|| "unknown speed".to_owned(), |speed| format!("{} GT/s", general(speed)));
    lanes.map_or_else(|| format!("{speed} x?"), |lanes| format!("{speed} x{lanes}"))
}

/// Raw bit rate of a link in one direction, after line coding, Gb/s; 0 if it is down.
pub(crate) fn rate_gbps(end: Option<&LinkEnd>) -> f64 {
    end.map_or(0.0, LinkEnd::raw_gbps)
}

/// The link above a function by the name that `pcielab fabric from` gives it, if its file has it.
pub(super) fn on_edge(machine: &Machine<'_>, function: &Function) -> Option<Value> {
    machine.edge(function).map(|edge| Value::of_machine("fabric edge", edge))
}

/// Whether the device may lower its speed at rest: sleeping devices, displays, and drives at 2.5 GT/s.
///
/// A display may have a switch of its own: then the link of the switch's upstream port rests.
fn may_rest(machine: &Machine<'_>, device: &Function, end: &LinkEnd) -> bool {
    if !matches!(device.power_state.as_deref(), None | Some("D0")) {
        return true;
    }
    let rests = |one: &Function| matches!(one.base_class(), Some(DISPLAY | ACCELERATOR));
    let is_display = rests(device)
        || machine
            .tree
            .children(device)
            .into_iter()
            .any(|down| machine.tree.children(down).into_iter().any(rests));
    is_display || (end.speed_gtps == Some(REST_GTPS) && device.base_class() == Some(STORAGE))
}

/// How to report a link that is slower or narrower than both ends support.
struct Judgement {
    severity: Severity,
    sureness: Sureness,
    reason: String,
    remedy: Option<&'static str>,
}

impl Judgement {
    fn fault() -> Self {
        Self { severity: Severity::Error, sureness: Sureness::Certain, reason: String::new(), remedy: None }
    }

    fn soldered() -> Self {
        Self {
            severity: Severity::Warning,
            sureness: Sureness::Likely,
            reason: "; it is soldered to the board".to_owned(),
            remedy: Some(
                "look at the speed that the BIOS allows for the chipset's link: nothing there can be reseated",
            ),
        }
    }

    fn at_rest() -> Self {
        Self {
            severity: Severity::Note,
            sureness: Sureness::LookUnderLoad,
            reason: "; this kind of device lowers its speed at rest".to_owned(),
            remedy: Some(
                "read it again while the device is busy; if it stays, look for the causes of a slow link",
            ),
        }
    }

    /// The judgement of a link that carries all that its device can use; None for any other.
    fn of_enough(link: &Link<'_>, end: &LinkEnd) -> Option<Self> {
        let needed_gbps = needed_raw_gbps(link).filter(|_| carries_all(link, end))?;
        let reason = format!(
            "; the device needs no more than {} of the link's {} Gb/s",
            significant(needed_gbps, 3),
            significant(end.raw_gbps(), 3)
        );
        let remedy = Some("none needed: boards wire few lanes to slow devices");
        Some(Self { severity: Severity::Note, sureness: Sureness::Certain, reason, remedy })
    }
}

/// The highest speed and width that both ends support.
fn most(link: &Link<'_>) -> Option<(f64, u32)> {
    let (upper, lower) = (link.port?.link.as_ref()?, link.device.link.as_ref()?);
    let lanes = upper.max_lanes?.min(lower.max_lanes?);
    (lanes > 0).then_some((upper.max_speed_gtps?.min(lower.max_speed_gtps?), lanes))
}

/// The port's target speed, if it explains why the link is slower than both ends.
fn lowered_target(link: &Link<'_>) -> Option<f64> {
    let target_gtps = link.port?.link.as_ref()?.target_speed_gtps?;
    let (most_gtps, _) = most(link)?;
    let explains = target_gtps < most_gtps && link.device.link.as_ref()?.speed_gtps == Some(target_gtps);
    explains.then_some(target_gtps)
}

fn losses(device: &Function, end: &LinkEnd, speed_gtps: f64, lanes: u32) -> Vec<Loss> {
    let losses = || {
        let now = Use::of(device, end)?;
        Some(both_losses(&now, &now.with_link(speed_gtps, lanes)?))
    };
    losses().unwrap_or_default()
}

fn both_ends(port: &Function, device: &Function) -> Vec<Value> {
    let capable = |function: &Function| {
        let end = function.link.as_ref()?;
        Some(Value::of(function, "LnkCap", shown(end.max_speed_gtps, end.max_lanes)))
    };
    let now = device.link.as_ref().map(|end| Value::of(device, "LnkSta", shown(end.speed_gtps, end.lanes)));
    capable(port).into_iter().chain(capable(device)).chain(now).collect()
}
