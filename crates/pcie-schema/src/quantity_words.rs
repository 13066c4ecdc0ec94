//! Quantities as people write them: `60Gbps`, `7.5 GB/s`, `0.9us`, `1.5k`, `1.2GHz`.
//!
//! A text is a number and a unit; a bare number is in the unit of its option or key. Prefixes are powers of 1000;
//! those of [sizes](crate::size) are powers of 1024. A unit with two readings (`54G`: bytes or bits) is refused with
//! both, unless the kind of quantity settles it: Ethernet lines are rated in bits.

use std::ops::RangeInclusive;

use pcie_refusal::Refusal;
use pcie_refusal::shown::quoted;

use crate::size::malformed;

/// A number as written, with its unit in the usual spelling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// In the unit.
    pub number: f64,
    /// Empty if there is none.
    pub unit: &'static str,
    /// One of the unit, in the base unit of its kind.
    pub scale: f64,
}

/// What a text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A duration; base unit ns.
    Time,
    /// A data rate; base unit GB/s.
    Rate,
    /// The rate of an Ethernet line, in bits unless it says bytes; base unit GB/s.
    Line,
    /// A clock rate; base unit GHz.
    Frequency,
    /// Commands, packets or transfers per second; base unit one per second.
    Events,
    /// A number without a unit.
    Number,
    /// A part of a whole; base unit 1.
    Share,
}

/// The spellings of a unit, the usual one first, and its length in the base unit.
type Unit = (&'static [&'static str], f64);

const TIMES: &[Unit] = &[
    (&["ns", "nsec"], 1.0),
    (&["us", "usec", "µs", "μs"], 1e3),
    (&["ms", "msec"], 1e6),
    (&["s", "sec"], 1e9),
];
const RATES: &[Unit] = &[
    (&["GB/s", "GBps", "GB/sec", "GByte/s"], 1.0),
    (&["MB/s", "MBps", "MB/sec", "MByte/s"], 1e-3),
    (&["KB/s", "kB/s", "KBps", "kBps", "KB/sec", "kB/sec"], 1e-6),
    (&["B/s", "Bps", "B/sec"], 1e-9),
    (&["TB/s", "TBps", "TB/sec"], 1e3),
    (&["GiB/s", "GiBps", "GiB/sec"], 1.073_741_824),
    (&["MiB/s", "MiBps", "MiB/sec"], 1.048_576e-3),
    (&["KiB/s", "KiBps", "KiB/sec"], 1.024e-6),
    (&["Gb/s", "Gbps", "gbps", "Gb/sec", "Gbit/s", "Gbit/sec"], 0.125),
    (&["Mb/s", "Mbps", "mbps", "Mb/sec", "Mbit/s", "Mbit/sec"], 1.25e-4),
    (&["Kb/s", "kb/s", "Kbps", "kbps", "Kb/sec", "kbit/s", "kbit/sec"], 1.25e-7),
    (&["Tb/s", "Tbps", "tbps", "Tb/sec", "Tbit/s", "Tbit/sec"], 125.0),
];
const LINES: &[Unit] = &[
    (&["Gb/s", "G", "GbE", "gb/s", "gb/sec"], 0.125),
    (&["Mb/s", "M", "MbE", "mb/s", "mb/sec"], 1.25e-4),
    (&["Tb/s", "T", "TbE", "tb/s", "tb/sec"], 125.0),
];
const FREQUENCIES: &[Unit] =
    &[(&["GHz", "G"], 1.0), (&["MHz", "M"], 1e-3), (&["kHz", "k"], 1e-6), (&["Hz"], 1e-9)];
const EVENTS: &[Unit] = &[
    (&[""], 1.0),
    (&["IOPS"], 1.0),
    (&["1/s", "/s"], 1.0),
    (&["pps"], 1.0),
    (&["k"], 1e3),
    (&["k/s"], 1e3),
    (&["kIOPS", "k IOPS"], 1e3),
    (&["kpps"], 1e3),
    (&["M"], 1e6),
    (&["M/s"], 1e6),
    (&["MIOPS", "M IOPS"], 1e6),
    (&["Mpps"], 1e6),
];
const NUMBERS: &[Unit] = &[(&[""], 1.0), (&["k"], 1e3), (&["M"], 1e6), (&["G"], 1e9)];
const SHARES: &[Unit] = &[(&[""], 1.0), (&["%"], 0.01)];

impl Kind {
    /// The usual spellings of its units, and one of each in the base unit.
    pub fn units_and_scales(self) -> impl Iterator<Item = (&'static str, f64)> {
        self.units().map(|(spellings, scale)| (spellings[0], *scale))
    }

    /// All units, the common ones first.
    fn units(self) -> impl Iterator<Item = &'static Unit> {
        let (first, then): (_, &[Unit]) = match self {
            Self::Time => (TIMES, &[]),
            Self::Rate => (RATES, &[]),
            Self::Line => (LINES, RATES),
            Self::Frequency => (FREQUENCIES, &[]),
            Self::Events => (EVENTS, &[]),
            Self::Number => (NUMBERS, &[]),
            Self::Share => (SHARES, &[]),
        };
        first.iter().chain(then)
    }

    /// Its noun with an article, an example with a unit, and one without.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Time => ("a time", "860ns", "900"),
            Self::Rate => ("a rate", "54.1GB/s", "60"),
            Self::Line => ("a line rate", "100Gb/s", "100"),
            Self::Frequency => ("a clock rate", "1.2GHz", "1.2"),
            Self::Events => ("a rate", "1.2M/s", "12"),
            Self::Number => ("a number", "1.5k", "100"),
            Self::Share => ("a share", "58%", "0.58"),
        }
    }
}

/// A number with its unit: `54.1GB/s`, `860ns`. Without `own`, the unit of bare numbers, it must have one, and be above 0.
///
/// # Errors
/// It is not a number from 0, or its unit is missing, unknown, or has two readings.
pub fn read(text: &str, kind: Kind, own: Option<&str>) -> Result<Written, Refusal> {
    written(text, kind, own.map(|unit| Bare { unit, range: None }).as_ref())
}

/// What a number without a unit is: its unit, and the range in it, if there is one.
struct Bare<'a> {
    unit: &'a str,
    range: Option<&'a RangeInclusive<f64>>,
}

fn written(text: &str, kind: Kind, own: Option<&Bare<'_>>) -> Result<Written, Refusal> {
    let (number, unit) = parts(text).ok_or_else(|| not_one(text, kind, own))?;
    let usual = if unit.is_empty() { own.map_or("", |own| own.unit) } else { unit };
    let (unit, scale) = unit_of(text, usual, kind, own)?;
    let value: f64 = number.parse().map_err(|_| not_one(text, kind, own))?;
    if !(value * scale).is_finite() || value < 0.0 || (value == 0.0 && own.is_none()) {
        return Err(not_one(text, kind, own));
    }
    Ok(Written { number: value, unit, scale })
}

/// A number in the unit `own`, which bare numbers have.
///
/// # Errors
/// See [`read`].
pub fn read_in(text: &str, kind: Kind, own: &str) -> Result<f64, Refusal> {
    converted(text, kind, &Bare { unit: own, range: None })
}

/// A number in the unit `own` within a range, which refusals name.
///
/// # Errors
/// See [`read`]; or it is out of the range.
pub fn read_within(text: &str, kind: Kind, own: &str, range: &RangeInclusive<f64>) -> Result<f64, Refusal> {
    let number = converted(text, kind, &Bare { unit: own, range: Some(range) })?;
    if range.contains(&number) {
        return Ok(number);
    }
    let problem = format!("{} is out of range", quoted(text));
    let refusal = Refusal::new(problem).kind(pcie_refusal::Kind::OutOfRange);
    Err(refusal.remedy(format!("give {}", spelled(range, own))))
}

fn converted(text: &str, kind: Kind, own: &Bare<'_>) -> Result<f64, Refusal> {
    let written = written(text, kind, Some(own))?;
    let (_, own_scale) = unit_of(text, own.unit, kind, Some(own))?;
    // A number in the unit itself stays exactly as written.
    Ok(if written.scale == own_scale { written.number } else { written.number * written.scale / own_scale })
}

/// A range in words: `0.001 to 1000000 us`.
fn spelled(range: &RangeInclusive<f64>, unit: &str) -> String {
    let [least, most] = [range.start(), range.end()].map(|end| match end.abs() {
        0.0 | 1e-3..=1e9 => end.to_string(),
        _ => format!("{end:e}"),
    });
    format!("{least} to {most}{}{unit}", if unit.is_empty() { "" } else { " " })
}

/// The digits of a text, as Rust parses them, and its unit.
fn parts(text: &str) -> Option<(String, &str)> {
    let text = text.trim();
    let length = number_length(text.as_bytes())?;
    Some((text[..length].replace('_', ""), text[length..].trim_start()))
}

/// Bytes of the number that a text begins with: sign, digits with `_` between them, decimals, exponent.
fn number_length(text: &[u8]) -> Option<usize> {
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = sign + digits(&text[sign..]);
    let mut end = whole;
    if text.get(end) == Some(&b'.') {
        end += 1 + digits(&text[end + 1..]);
    }
    if end <= sign || (whole == sign && end == sign + 1) {
        return None;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let start = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(text.get(start..).unwrap_or_default());
        end = if exponent > 0 { start + exponent } else { end };
    }
    Some(end)
}

/// How many bytes are digits, with single underscores between them.
fn digits(text: &[u8]) -> usize {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let is_inside = |at: usize| text[at] == b'_' && at > 0 && is_digit(at - 1) && is_digit(at + 1);
    (0..text.len()).take_while(|&at| is_digit(at) || is_inside(at)).count()
}

/// A unit in its usual spelling: as written, or the only one that differs in case.
fn unit_of(
    text: &str,
    written: &str,
    kind: Kind,
    own: Option<&Bare<'_>>,
) -> Result<(&'static str, f64), Refusal> {
    let exact = kind.units().find(|(spellings, _)| spellings.contains(&written));
    let alike = |spellings: &[&str]| spellings.iter().any(|known| known.eq_ignore_ascii_case(written));
    let mut others = kind.units().filter(|(spellings, _)| alike(spellings));
    match (exact, others.next(), others.next()) {
        (Some((spellings, scale)), ..) | (None, Some((spellings, scale)), None) => Ok((spellings[0], *scale)),
        (None, Some(one), Some(other)) => Err(two_readings(text, written, one, other)),
        (None, None, _) => match (kind, prefixed(written)) {
            (Kind::Rate, Some((bytes, bits))) => Err(two_readings(text, written, bytes, bits)),
            _ => Err(no_unit(text, written, kind, own)),
        },
    }
}

/// Bytes and bits of a prefix that stands alone: `G`.
fn prefixed(written: &str) -> Option<(&'static Unit, &'static Unit)> {
    let of = |name: &str| RATES.iter().find(|(spellings, _)| spellings[0] == name);
    let upper = written.to_ascii_uppercase();
    if !matches!(upper.as_str(), "K" | "M" | "G" | "T") {
        return None;
    }
    Some((of(&format!("{upper}B/s"))?, of(&format!("{upper}b/s"))?))
}

fn two_readings(text: &str, unit: &str, one: &Unit, other: &Unit) -> Refusal {
    let number = text.trim().strip_suffix(unit).unwrap_or_default().trim_end();
    let problem = format!("{}: {} may be bytes or bits", quoted(text), quoted(unit));
    malformed(problem).remedy(format!("give {number}{} or {number}{}", one.0[0], other.0[0]))
}

fn no_unit(text: &str, unit: &str, kind: Kind, own: Option<&Bare<'_>>) -> Refusal {
    let mut known: Vec<_> =
        kind.units().map(|(spellings, _)| spellings[0]).filter(|name| !name.is_empty()).collect();
    known.dedup();
    let (noun, example, _) = kind.words();
    let problem = match (quoted(text), unit) {
        (text, "") => format!("{text} has no unit"),
        (text, unit) => format!("{text}: {} is not a unit of {noun}", quoted(unit)),
    };
    let remedy = match own {
        Some(Bare { unit, range: Some(range) }) => {
            format!("give {}, or in one of {}", spelled(range, unit), known.join(", "))
        }
        _ => format!("give one of {}, for example {example}", known.join(", ")),
    };
    malformed(problem).remedy(remedy)
}

fn not_one(text: &str, kind: Kind, own: Option<&Bare<'_>>) -> Refusal {
    let (noun, example, bare) = kind.words();
    let remedy = match own {
        Some(Bare { unit, range: Some(range) }) => {
            let fits = |text: &&str| read_in(text, kind, unit).is_ok_and(|number| range.contains(&number));
            let examples: Vec<&str> = [bare, example].into_iter().filter(fits).collect();
            let shown = if examples.is_empty() { "" } else { ", for example " };
            format!("give {}{shown}{}", spelled(range, unit), examples.join(" or "))
        }
        Some(Bare { unit: "", range: None }) => {
            format!("give a number from 0, for example {bare} or {example}")
        }
        Some(Bare { unit, range: None }) => {
            format!("give a number from 0 in {unit}, or with its unit: {bare} or {example}")
        }
        None => format!("give a number above 0 with its unit, for example {example}"),
    };
    malformed(format!("{} is not {noun}", quoted(text))).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_in_the_unit_of_its_option() {
        for (text, kind, own, value) in [
            ("900", Kind::Time, "ns", 900.0),
            ("0.9us", Kind::Time, "ns", 900.0),
            ("0.9 µs", Kind::Time, "ns", 900.0),
            ("1e3", Kind::Time, "us", 1000.0),
            ("2 s", Kind::Time, "s", 2.0),
            ("60Gbps", Kind::Rate, "Gb/s", 60.0),
            ("60 Gb/s", Kind::Rate, "Gb/s", 60.0),
            ("7.5GB/s", Kind::Rate, "Gb/s", 60.0),
            ("160Gb/s", Kind::Rate, "GB/s", 20.0),
            ("100G", Kind::Line, "Gb/s", 100.0),
            ("100GbE", Kind::Line, "Gb/s", 100.0),
            ("100gb/s", Kind::Line, "Gb/s", 100.0),
            ("12.5GB/s", Kind::Line, "Gb/s", 100.0),
            ("250MHz", Kind::Frequency, "GHz", 0.25),
            ("1.2", Kind::Frequency, "GHz", 1.2),
            ("12M", Kind::Events, "M/s", 12.0),
            ("500 kIOPS", Kind::Events, "M/s", 0.5),
            ("1_000.5", Kind::Number, "", 1000.5),
            ("1.5k", Kind::Number, "", 1500.0),
            ("+.5", Kind::Number, "", 0.5),
            ("5.", Kind::Number, "", 5.0),
        ] {
            assert_eq!(read_in(text, kind, own), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_unit_with_two_readings_is_answered_with_both() {
        for (text, readings) in [
            ("54G", "'G' may be bytes or bits: give 54GB/s or 54Gb/s"),
            ("11 gb/s", "'gb/s' may be bytes or bits: give 11GB/s or 11Gb/s"),
            ("11MBPS", "'MBPS' may be bytes or bits: give 11MB/s or 11Mb/s"),
            ("9k", "'k' may be bytes or bits: give 9KB/s or 9Kb/s"),
        ] {
            for own in [None, Some("Gb/s")] {
                assert_eq!(
                    read(text, Kind::Rate, own).unwrap_err().to_string(),
                    format!("'{text}': {readings}")
                );
            }
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_remedy() {
        for (text, expected) in [
            ("abc", "'abc' is not a time: give a number from 0 in ns, or with its unit: 900 or 860ns"),
            (
                "5 parsecs",
                "'5 parsecs': 'parsecs' is not a unit of a time: give one of ns, us, ms, s, for example 860ns",
            ),
        ] {
            assert_eq!(read(text, Kind::Time, Some("ns")).unwrap_err().to_string(), expected);
        }
        assert!(read("0GB/s", Kind::Rate, None).is_err());
        for (text, kind, own, range, expected) in [
            (
                "-1",
                Kind::Time,
                "us",
                1e-3..=1e6,
                "'-1' is not a time: give 0.001 to 1000000 us, for example 900 or 860ns",
            ),
            (
                "nan",
                Kind::Time,
                "s",
                0.1..=86_400.0,
                "'nan' is not a time: give 0.1 to 86400 s, for example 900",
            ),
            ("1e-300", Kind::Time, "us", 1e-3..=1e6, "'1e-300' is out of range: give 0.001 to 1000000 us"),
            ("2 s", Kind::Time, "us", 1e-3..=1e6, "'2 s' is out of range: give 0.001 to 1000000 us"),
            (
                "1GHz",
                Kind::Time,
                "ns",
                1e-9..=1e18,
                "'1GHz': 'GHz' is not a unit of a time: give 1e-9 to 1e18 ns, or in one of ns, us, ms, s",
            ),
            ("inf", Kind::Number, "", 0.0..=0.5, "'inf' is not a number: give 0 to 0.5"),
            ("54G", Kind::Rate, "Gb/s", 1.0..=2.0, "'54G': 'G' may be bytes or bits: give 54GB/s or 54Gb/s"),
        ] {
            assert_eq!(read_within(text, kind, own, &range).unwrap_err().to_string(), expected);
        }
        assert_eq!(read_within("1ms", Kind::Time, "us", &(1e-3..=1e6)), Ok(1000.0));
        let bare = read("54.1", Kind::Rate, None).unwrap_err().to_string();
        assert!(bare.starts_with("'54.1' has no unit: give one of GB/s, MB/s, "), "{bare}");
        for kind in [Kind::Time, Kind::Rate, Kind::Line, Kind::Frequency, Kind::Events, Kind::Number] {
            for text in ["", "-1", "nan", "inf", "1e400", "1e", "_1", "1__0", ".", "٣", "e5"] {
                assert!(read_in(text, kind, kind.units().next().unwrap().0[0]).is_err(), "{kind:?} {text}");
            }
        }
    }
}
