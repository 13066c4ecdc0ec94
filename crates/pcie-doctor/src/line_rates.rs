//! Line rates of devices that need little: they are content with fewer lanes than they have.
//!
//! Boards wire one lane to a network controller of two ports at 1 Gb/s that supports two, and nothing is lost.
//! Rates come from the name of the device, or from its ID where there is no name.

use std::sync::LazyLock;

use pcie_evidence::{Function, Kind, LinkEnd};
use regex::Regex;

use crate::machine::Link;

const NETWORK: u32 = 0x02;
/// Share of the raw rate that is left for data, at the smallest MPS and with descriptors.
const PAYLOAD_SHARE: f64 = 0.8;
/// Conventional PCI of 32 bits at 33 MHz, the bus of the display of a BMC.
const PCI_GBPS: f64 = 1.06;
const FASTEST_GBPS: f64 = 400.0;

#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:Gigabit|GbE|GBASE)").expect("a pattern"));

/// Raw rate of a link that carries all that its device can use, one direction; None if that is unknown.
pub(crate) fn needed_raw_gbps(link: &Link<'_>) -> Option<f64> {
    if link.device.kind == Some(Kind::PcieToPciBridge) {
        return Some(PCI_GBPS / PAYLOAD_SHARE);
    }
    let rates: Option<Vec<f64>> = link.functions.iter().map(|function| line_rate_gbps(function)).collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| rates.iter().sum::<f64>() / PAYLOAD_SHARE)
}

/// Whether the link, as it is, is known to carry all that its device can use.
pub(crate) fn carries_all(link: &Link<'_>, end: &LinkEnd) -> bool {
    needed_raw_gbps(link).is_some_and(|needed_gbps| end.raw_gbps() >= needed_gbps)
}

/// Rate of the one port of a network function, Gb/s.
fn line_rate_gbps(function: &Function) -> Option<f64> {
    if function.base_class() != Some(NETWORK) {
        return None;
    }
    let known =
        function.vendor_id.zip(function.device_id).and_then(|(vendor, device)| known_gbps(vendor, device));
    if known.is_some() {
        return known;
    }
    let name = function.name();
    let before = name.get(..NAMED.find(name)?.start())?;
    let Some(number) = number_at_end(before) else { return Some(1.0) };
    // Several rates, as 10/25, are no number.
    let rate_gbps: f64 = number.parse().ok()?;
    // `82576 Gigabit`: the number is the model.
    Some(if rate_gbps <= FASTEST_GBPS { rate_gbps } else { 1.0 })
}

/// Digits, dots and slashes at the end of a text, before at most one space or hyphen; None within a word.
fn number_at_end(text: &str) -> Option<&str> {
    let text = text.strip_suffix([' ', '-']).unwrap_or(text);
    let is_of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '/');
    let is_of_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    let run = text.rfind(|letter| !is_of_number(letter)).map_or(Some(text), |last| {
        let mut after = text.get(last..)?.chars();
        after.next();
        Some(after.as_str())
    })?;
    let mut before = text.strip_suffix(run)?.chars().next_back();
    for (start, letter) in run.char_indices() {
        if !before.is_some_and(is_of_word) {
            return run.get(start..);
        }
        before = Some(letter);
    }
    None
}

fn known_gbps(vendor: u32, device: u32) -> Option<f64> {
    match (vendor, device) {
        (0x14E4, 0x1639 | 0x163B | 0x1655..=0x1657 | 0x165F | 0x1682 | 0x1686 | 0x1687 | 0x16B1)
        | (0x8086, 0x10A7 | 0x10C9 | 0x10D3 | 0x10E6 | 0x10E7 | 0x150E | 0x1521..=0x1524)
        | (0x8086, 0x1533 | 0x1539 | 0x157B)
        | (0x10EC, 0x8168) => Some(1.0),
        (0x8086, 0x15F2 | 0x15F3 | 0x125B | 0x125C) | (0x10EC, 0x8125) => Some(2.5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_stand_before_the_word() {
        let nic = |name: &str| Function {
            title: format!("Ethernet controller: {name}"),
            class_code: Some(0x0200),
            ..Function::default()
        };
        for (name, gbps) in [
            ("Intel Corporation I210 Gigabit Network Connection", Some(1.0)),
            ("Intel Corporation 82576 Gigabit Network Connection", Some(1.0)),
            ("Realtek RTL8125 2.5GbE Controller", Some(2.5)),
            ("Broadcom BCM57414 NetXtreme-E 10Gb/25Gb RDMA", None),
            ("Maker 10/25GbE", None),
            ("Maker x/25GbE", Some(25.0)),
            ("Maker v10GbE", Some(1.0)),
            ("Maker 10 GBASE-T", Some(10.0)),
        ] {
            assert_eq!(line_rate_gbps(&nic(name)), gbps, "{name}");
        }
    }
}
