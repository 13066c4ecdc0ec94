//! What the table of hardware says of a function: its nominal link, a soldered uplink, its errata.
//!
//! `data/hardware.csv` has a fact per line: vendor, device, name, kind, fact, value, note, source. `device` is an
//! ID, a range `xxxx-yyyy` with its ends, or `*`; an ID counts before a range, and a small range before a large one.
//! `source` starts with `(s)` where the source was read for the value, and with `(m)` where the value is general
//! knowledge. A fact of general knowledge may silence a finding, and never makes one. Adding a fact is a line.

use std::collections::HashMap;
use std::sync::LazyLock;

use pcie_evidence::{Function, Kind};
use regex::Regex;

use crate::machine::{Link, Machine};

const TABLE: &str = include_str!("../data/hardware.csv");
const ANY_DEVICE: (u32, u32) = (0, 0xFFFF);

/// Vendors as lspci names them in a text without IDs.
const VENDORS: [(&str, u32); 27] = [
    ("Intel Corporation", 0x8086),
    ("Advanced Micro Devices, Inc. [AMD/ATI]", 0x1002),
    ("Advanced Micro Devices, Inc. [AMD]", 0x1022),
    ("NVIDIA Corporation", 0x10DE),
    ("Mellanox Technologies", 0x15B3),
    ("Realtek Semiconductor Co., Ltd.", 0x10EC),
    ("Broadcom Inc. and subsidiaries", 0x14E4),
    ("Samsung Electronics Co Ltd", 0x144D),
    ("ASMedia Technology Inc.", 0x1B21),
    ("Pericom Semiconductor", 0x12D8),
    ("Silicon Motion, Inc.", 0x126F),
    ("Sandisk Corp", 0x15B7),
    ("Micron Technology Inc", 0x1344),
    ("Micron/Crucial Technology", 0xC0A9),
    ("Kingston Technology Company, Inc.", 0x2646),
    ("Phison Electronics Corporation", 0x1987),
    ("SK hynix", 0x1C5C),
    ("KIOXIA Corporation", 0x1E0F),
    ("PLX Technology, Inc.", 0x10B5),
    ("Microsemi / PMC / IDT", 0x111D),
    ("Solarflare Communications", 0x1924),
    ("Chelsio Communications Inc", 0x1425),
    ("Xilinx Corporation", 0x10EE),
    ("Aquantia Corp.", 0x1D6A),
    ("Marvell Technology Group Ltd.", 0x11AB),
    ("ASPEED Technology, Inc.", 0x1A03),
    ("Amazon.com, Inc.", 0x1D0F),
];

#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static LINK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([0-9]{1,3}(?:\.[0-9])?) ?GT/s x([0-9]{1,2})\b").expect("a pattern"));
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static NUMBERED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^Device ([0-9a-f]{4})\b").expect("a pattern"));
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static DETAIL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r" \((?:rev|prog-if) [^)]*\)$").expect("a pattern"));
static FACTS: LazyLock<Facts> = LazyLock::new(|| Facts::of(TABLE));

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// The device, as `pci.ids` names it, or a short label.
    pub(crate) name: String,
    /// gpu, nic, nvme, switch, chipset-port...
    pub(crate) kind: String,
    /// What it is about: `nominal_link`, `chipset_uplink`, `erratum_aspm`...
    about: String,
    /// The value.
    pub(crate) value: String,
    /// More about it.
    pub(crate) note: String,
    /// Where it is from.
    source: String,
    /// Speeds, GT/s, and widths that the value names.
    pub(crate) links: Vec<(f64, u32)>,
}

impl Fact {
    /// Its source, if that was read for the value; otherwise the fact is general knowledge.
    pub(crate) fn read_source(&self) -> Option<&str> {
        let source = self.source.strip_prefix("(s)")?;
        Some(source.strip_prefix(' ').unwrap_or(source))
    }
}

/// A fact of the devices of a vendor from `first` to `last`.
struct Row {
    vendor: u32,
    first: u32,
    last: u32,
    fact: Fact,
}

impl Row {
    /// The row of a line; None if a field is missing or not as the head of this module says.
    fn of(line: &str) -> Option<Self> {
        let fields = fields(line);
        let [vendor, device, name, kind, about, value, note, source] = fields.as_slice() else { return None };
        let (first, last) = ends(device)?;
        let fact = Fact {
            name: name.clone(),
            kind: kind.clone(),
            about: about.clone(),
            value: value.clone(),
            note: note.clone(),
            source: source.clone(),
            links: links(value),
        };
        Some(Self { vendor: hexadecimal(vendor)?, first, last, fact })
    }
}

/// The facts of each vendor, those of small ranges first, and the devices of names with a single ID.
struct Facts {
    by_vendor: HashMap<u32, Vec<Row>>,
    by_name: HashMap<(u32, String), u32>,
}

impl Facts {
    fn of(table: &str) -> Self {
        let mut by_vendor: HashMap<u32, Vec<Row>> = HashMap::new();
        for row in table.lines().skip(1).filter_map(Row::of) {
            by_vendor.entry(row.vendor).or_default().push(row);
        }
        let mut by_name = HashMap::new();
        for (vendor, rows) in &mut by_vendor {
            rows.sort_by_key(|row| row.last.saturating_sub(row.first));
            for row in rows.iter().filter(|row| row.first == row.last && !row.fact.name.is_empty()) {
                by_name.entry((*vendor, row.fact.name.clone())).or_insert(row.first);
            }
        }
        Self { by_vendor, by_name }
    }
}

/// The fields of a line; a field in quotes may hold commas, and a quote as two.
fn fields(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                found.last_mut().map(|field| field.push('"')).unwrap_or_default();
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => found.push(String::new()),
            _ => found.last_mut().map(|field| field.push(letter)).unwrap_or_default(),
        }
    }
    found
}

fn ends(device: &str) -> Option<(u32, u32)> {
    if device == "*" {
        return Some(ANY_DEVICE);
    }
    let (first, last) = device.split_once('-').unwrap_or((device, device));
    Some((hexadecimal(first)?, hexadecimal(last)?))
}

fn hexadecimal(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits, 16).ok()
}

fn links(value: &str) -> Vec<(f64, u32)> {
    let link = |found: regex::Captures<'_>| {
        let (_, [speed, lanes]) = found.extract();
        Some((speed.parse().ok()?, lanes.parse().ok()?))
    };
    LINK.captures_iter(value).filter_map(link).collect()
}

/// What the table says of a function about one thing, by its IDs or else by its name.
pub(crate) fn fact(function: &Function, about: &str) -> Option<&'static Fact> {
    let (vendor, device) = match (function.vendor_id, function.device_id) {
        (Some(vendor), Some(device)) => (vendor, device),
        _ => {
            let (vendor, device) = ids_of_name(function.name())?;
            (vendor, device?)
        }
    };
    let rows = FACTS.by_vendor.get(&vendor)?;
    let row = rows.iter().find(|row| (row.first..=row.last).contains(&device) && row.fact.about == about)?;
    Some(&row.fact)
}

/// The vendor of a function, by its ID or its name.
pub(crate) fn vendor_of(function: &Function) -> Option<u32> {
    function.vendor_id.or_else(|| ids_of_name(function.name()).map(|(vendor, _)| vendor))
}

/// The vendor and device of a name without IDs, as `Intel Corporation Device 4fa0`.
fn ids_of_name(name: &str) -> Option<(u32, Option<u32>)> {
    let (vendor, rest) = VENDORS.iter().find_map(|(vendor, id)| {
        let rest = name.strip_prefix(vendor)?;
        rest.starts_with(' ').then_some((*id, rest.trim()))
    })?;
    let rest = DETAIL.replace(rest, "");
    let device = match NUMBERED.captures(&rest) {
        Some(found) => found.get(1).and_then(|digits| hexadecimal(digits.as_str())),
        None => FACTS.by_name.get(&(vendor, rest.into_owned())).copied(),
    };
    Some((vendor, device))
}

/// What the table says of the link between the processor and a chipset; None for any other link.
pub(crate) fn soldered_uplink(link: &Link<'_>) -> Option<&'static Fact> {
    let fact = fact(link.device, "chipset_uplink")?;
    (!fact.links.is_empty() && link.device.kind == Some(Kind::UpstreamPort)).then_some(fact)
}

/// The port of a chipset on the path of a device: a listed root port, or the chipset's own upstream port.
pub(crate) fn chipset_above<'tree>(machine: &Machine<'tree>, link: &Link<'tree>) -> Option<&'tree Function> {
    machine.above(link.device).find(|one| fact(one, "chipset_uplink").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_fact() {
        let rows: Vec<_> = TABLE.lines().skip(1).map(Row::of).collect();
        let bad: Vec<_> = rows.iter().enumerate().filter(|(_, row)| row.is_none()).collect();
        assert!(bad.is_empty(), "lines {:?}", bad.iter().map(|(line, _)| line + 2).collect::<Vec<_>>());
        assert!(rows.iter().flatten().all(|row| row.first <= row.last));
    }

    #[test]
    fn ids_and_names_give_the_same_facts() {
        let by_id = Function { vendor_id: Some(0x8086), device_id: Some(0x56A0), ..Function::default() };
        let nominal = fact(&by_id, "nominal_link").unwrap();
        assert_eq!((nominal.kind.as_str(), &nominal.links[..]), ("gpu", &[(2.5, 1)][..]));
        let title = "VGA compatible controller: Intel Corporation Device 56a0 (rev 08) (prog-if 00 [VGA])";
        let by_name = Function { title: title.to_owned(), ..Function::default() };
        assert_eq!(fact(&by_name, "nominal_link"), Some(nominal));
        assert_eq!(vendor_of(&by_name), Some(0x8086));
    }

    #[test]
    fn quoted_fields_hold_commas() {
        assert_eq!(fields(r#"a,"b, ""c""",d"#), ["a", r#"b, "c""#, "d"]);
    }
}
