//! Links as people write them: `gen4x16`, `PCIe 4.0 x16`, `16 GT/s x16`, `x16 Gen4`; several: `4x gen3x4`.

use std::fmt;

use pcie_refusal::shown::quoted;
use pcie_refusal::{Kind, Refusal};

use crate::{Generation, Lanes};

const LINKS_MOST: u32 = 256;
const SEPARATORS: &[char] = &[' ', ',', '@', '-'];

/// Generation and lanes of a link, or of several equal links that carry data side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Links {
    /// Generation of each.
    pub generation: Generation,
    /// Lanes of each.
    pub lanes: Lanes,
    /// How many.
    pub count: u32,
}

impl Links {
    /// Reads one link or several: `gen5x16`, `4x gen3x4`.
    ///
    /// # Errors
    /// It is not a link, or there is none of its generation or width.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let lower = text.trim().to_ascii_lowercase();
        let (count, link) = several(&lower).unwrap_or((1, &lower));
        let Some((generation, lanes)) = of_lower(link) else {
            let remedy = "give generation and lanes, for example gen5x16 or 32GT/s x16";
            return Err(Refusal::new(format!("{} is not a link", quoted(text)))
                .kind(Kind::Malformed)
                .remedy(remedy));
        };
        match (Generation::try_from(generation), Lanes::try_from(lanes)) {
            (Ok(generation), Ok(lanes)) if (1..=LINKS_MOST).contains(&count) => {
                Ok(Self { generation, lanes, count })
            }
            _ => {
                let widths: Vec<_> = Lanes::ALL.iter().map(|lanes| lanes.count().to_string()).collect();
                let remedy = format!("give generation 1 to 7 and lanes {}", widths.join(", "));
                Err(Refusal::new(format!("{}: no such link", quoted(text)))
                    .kind(Kind::Malformed)
                    .remedy(remedy))
            }
        }
    }

    /// Rate of one direction after the line code, all links together, Gb/s.
    #[must_use]
    pub fn raw_gbps(self) -> f64 {
        self.generation.raw_gbps(self.lanes) * f64::from(self.count)
    }
}

impl fmt::Display for Links {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count != 1 {
            write!(to, "{} links of ", self.count)?;
        }
        write!(to, "Gen{} x{}", self.generation.number(), self.lanes.count())
    }
}

/// Generation and lanes of one link in words, which need not exist; None if it is not a link.
#[must_use]
pub fn generation_and_lanes(text: &str) -> Option<(u32, u32)> {
    of_lower(&text.trim().to_ascii_lowercase())
}

/// A generation in words: `4`, `gen4`, `16 GT/s`; None if it is not one, or there is none with that rate.
#[must_use]
pub fn generation_of_text(text: &str) -> Option<u32> {
    let lower = text.trim().to_ascii_lowercase();
    let whole = |(generation, rest): (Option<u32>, &str)| generation.filter(|_| rest.is_empty());
    [transfers, generation].into_iter().find_map(|speed| speed(after_bus(&lower)).and_then(whole))
}

/// A number of lanes in words: `16`, `x16`, `16 lanes`; None if it is not one.
#[must_use]
pub fn lanes_of_text(text: &str) -> Option<u32> {
    let lower = text.trim().to_ascii_lowercase();
    width(&lower).or_else(|| number(&lower)).filter(|(_, rest)| rest.is_empty()).map(|(lanes, _)| lanes)
}

fn of_lower(text: &str) -> Option<(u32, u32)> {
    speed_first(text).or_else(|| width_first(text))
}

fn speed_first(text: &str) -> Option<(u32, u32)> {
    let text = after_bus(text);
    [transfers, generation].into_iter().find_map(|speed| {
        let (generation, rest) = speed(text)?;
        let (lanes, rest) = width(rest.trim_start_matches(SEPARATORS))?;
        rest.is_empty().then_some((generation?, lanes))
    })
}

fn width_first(text: &str) -> Option<(u32, u32)> {
    let (lanes, rest) = width(after_bus(text))?;
    let speed_text = rest.strip_prefix(SEPARATORS)?.trim_start_matches(SEPARATORS);
    [transfers, generation].into_iter().find_map(|speed| {
        let (generation, rest) = speed(after_bus(speed_text))?;
        rest.is_empty().then_some((generation?, lanes))
    })
}

/// A number of equal links in front of one: `4x gen3x4`.
fn several(text: &str) -> Option<(u32, &str)> {
    let (count, rest) = number(text)?;
    let rest = without(without(rest, " ").strip_prefix(['x', '*'])?, " ");
    rest.starts_with(['p', 'g']).then_some((count, rest))
}

/// `pcie`, `pci express`, `pci-e`, or nothing.
fn after_bus(text: &str) -> &str {
    let gap = |text| -> &str { str::strip_prefix(text, [' ', '-']).unwrap_or(text) };
    match text.strip_prefix("pci").and_then(|rest| gap(rest).strip_prefix('e')) {
        Some(rest) => gap(without(rest, "xpress")),
        None => text,
    }
}

/// `16 GT/s`: the generation with that rate, if there is one.
fn transfers(text: &str) -> Option<(Option<u32>, &str)> {
    let (whole, rest) = number(text)?;
    let (half, rest) = match rest.strip_prefix(".5") {
        Some(rest) => (500, rest),
        None => (0, without(rest, ".0")),
    };
    let rest = without(without(rest, " ").strip_prefix("gt")?, "/").strip_prefix('s')?;
    Some((Generation::of_megatransfers(u64::from(whole) * 1000 + half).map(Generation::number), rest))
}

/// `gen4`, `generation 4`, `4.0`.
fn generation(text: &str) -> Option<(Option<u32>, &str)> {
    let rest = match text.strip_prefix("gen") {
        Some(rest) => {
            let rest = without(rest, "eration");
            rest.strip_prefix([' ', '.', '-']).unwrap_or(rest)
        }
        None => text,
    };
    let digit = rest.chars().next()?.to_digit(10)?;
    Some((Some(digit), without(&rest[1..], ".0")))
}

/// `x16`, `16 lanes`.
fn width(text: &str) -> Option<(u32, &str)> {
    if let Some(rest) = text.strip_prefix('x') {
        return number(without(rest, " "));
    }
    let (lanes, rest) = number(text)?;
    let rest = without(rest, " ").strip_prefix("lane")?;
    Some((lanes, without(rest, "s")))
}

/// Up to three digits.
fn number(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take(3).take_while(u8::is_ascii_digit).count();
    Some((text[..length].parse().ok()?, &text[length..]))
}

fn without<'a>(text: &'a str, prefix: &str) -> &'a str {
    text.strip_prefix(prefix).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_people_and_lspci_write_them() {
        for (text, link) in [
            ("gen4x16", (4, 16)),
            ("GEN 4 x 8", (4, 8)),
            ("PCIe 4.0 x16", (4, 16)),
            ("pcie-gen5-x16", (5, 16)),
            ("PCI Express 5.0 x16", (5, 16)),
            ("16 GT/s x4", (4, 4)),
            ("2.5GT/s x1", (1, 1)),
            ("32GT/s, 16 lanes", (5, 16)),
            ("x16 Gen3", (3, 16)),
            ("PCIe x8 3.0", (3, 8)),
            ("1 lane gen1", (1, 1)),
            ("5x16", (5, 16)),
            ("9x3", (9, 3)),
        ] {
            assert_eq!(generation_and_lanes(text), Some(link), "{text}");
        }
        for text in
            ["9 GT/s x4", "16 GT/s", "", "gen5", "x16", "gen5x16 gen4x8", "5 16", "x16gen5", "gen４x16"]
        {
            assert_eq!(generation_and_lanes(text), None, "{text}");
        }
    }

    #[test]
    fn several_links_have_a_number_and_exist() {
        let links = Links::read(" 4x Gen3 x4 ").unwrap();
        assert_eq!((links.count, links.to_string().as_str()), (4, "4 links of Gen3 x4"));
        assert_eq!(Links::read("2*pcie 5.0 x16").unwrap().raw_gbps(), 2.0 * 32.0 * 128.0 / 130.0 * 16.0);
        for (text, problem) in [
            ("gen9x16", "'gen9x16': no such link: give generation 1 to 7 and lanes 1, 2, 4, 8, 12, 16, 32"),
            ("gen5x3", "'gen5x3': no such link"),
            ("0x gen5x16", "'0x gen5x16': no such link"),
            ("gen5", "'gen5' is not a link: give generation and lanes, for example gen5x16 or 32GT/s x16"),
        ] {
            let refused = Links::read(text).unwrap_err().to_string();
            assert!(refused.starts_with(problem), "{refused}");
        }
    }

    #[test]
    fn generations_and_widths_stand_alone_too() {
        for (text, generation) in [("4", 4), ("gen4", 4), ("PCIe 4.0", 4), ("16GT/s", 4), ("0", 0)] {
            assert_eq!(generation_of_text(text), Some(generation), "{text}");
        }
        for (text, lanes) in [("16", 16), ("x16", 16), ("8 lanes", 8), ("x 3", 3)] {
            assert_eq!(lanes_of_text(text), Some(lanes), "{text}");
        }
        for text in ["", "abc", "-1", "nan", "1e400", "5 parsecs", "gen"] {
            assert_eq!((generation_of_text(text), lanes_of_text(text)), (None, None), "{text}");
        }
    }
}
