//! Read the tree that `lspci -t` draws: which function is below which port, without registers.
//!
//! ```text
//! -[0000:00]-+-00.0  Host bridge
//!            +-01.0-[01]----00.0  Network controller
//!            \-1c.0-[02-05]--+-00.0
//! ```
//!
//! A connector (`+` or `\`) belongs to the bus of the bracket that opened its column.

use std::collections::{BTreeMap, HashMap};

use pcie_refusal::Unfinished;

use crate::letters::expand_tabs;
use crate::pattern::{Pattern, compiled};
use crate::stop::Stop;
use crate::tree::{FUNCTIONS_MOST, Function};

static ROOT: Pattern = Pattern::new(|| {
    compiled(r"(?m)^[ \t>|]*(?:-|\+-|\\-)?\[(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}(?:-[0-9a-f]{2})?\]-")
});
static BUSES: Pattern =
    Pattern::new(|| compiled(r"^\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})(?:-([0-9a-f]{2}))?\]"));
static DEVICE: Pattern = Pattern::new(|| compiled(r"^[0-9a-f]{2}\.[0-7]"));
static NAME: Pattern = Pattern::new(|| compiled(r"\S(  )(\S.*)$"));
static CONNECTOR: Pattern = Pattern::new(|| compiled(r"^-{1,4}\+"));

/// The domain and number of a bus.
type Bus = (String, u8);

/// A part of a line.
enum Token<'a> {
    Buses { domain: Option<&'a str>, first: u8, last: u8 },
    Device(&'a str),
    Connector,
}

/// The functions that a drawing shows, with the buses below bridges; empty if the text has none.
pub(crate) fn bus_tree(text: &str, stop: Stop<'_>) -> Result<Vec<Function>, Unfinished> {
    let mut found: BTreeMap<String, Function> = BTreeMap::new();
    if !ROOT.is_match(text) {
        return Ok(Vec::new());
    }
    let mut columns = HashMap::new();
    for (number, line) in text.split('\n').enumerate() {
        stop.check_at(number)?;
        for function in functions(&expand_tabs(line), &mut columns) {
            if found.len() < FUNCTIONS_MOST {
                found.entry(function.slot.clone()).or_insert(function);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The functions of a line. `columns` has the bus of the connector in each column; new connectors are added.
fn functions(line: &str, columns: &mut HashMap<usize, Bus>) -> Vec<Function> {
    let named = NAME.captures(line).and_then(|found| Some((found.get(1)?.start(), found.get(2)?.as_str())));
    let (end, name) = named.map_or((line.len(), None), |(end, name)| (end, Some(name)));
    let (mut found, mut bus, mut slot): (Vec<Function>, Option<Bus>, Option<String>) =
        (Vec::new(), None, None);
    let (mut position, mut column) = (0, 0);
    while let Some(letter) = line[position..end].chars().next() {
        let Some((token, length)) = token(line, position, end) else {
            position += letter.len_utf8();
            column += 1;
            continue;
        };
        match token {
            Token::Connector => {
                bus = match bus {
                    Some(bus) => Some(columns.entry(column).or_insert(bus).clone()),
                    None => columns.get(&column).cloned(),
                };
            }
            Token::Device(device) => {
                if let Some((domain, number)) = &bus {
                    found.extend(slot.take().map(|slot| function(slot, None, None)));
                    slot = Some(format!("{domain}:{number:02x}:{device}"));
                }
            }
            Token::Buses { domain, first, last } => {
                found.extend(slot.take().map(|slot| function(slot, Some((first, last)), None)));
                let domain = domain.map(str::to_owned).or(bus.map(|(domain, _)| domain));
                let below = (domain.unwrap_or_else(|| "0000".into()), first);
                if let Some(connector) = CONNECTOR.find(&line[position + length..]) {
                    columns.insert(column + length + connector.end() - 1, below.clone());
                }
                bus = Some(below);
            }
        }
        position += length;
        column += length;
    }
    found.extend(slot.map(|slot| function(slot, None, name)));
    found
}

/// The token at a position before `end`, and its length in letters, which are of ASCII.
fn token(line: &str, position: usize, end: usize) -> Option<(Token<'_>, usize)> {
    let rest = &line[position..end];
    if let Some(found) = BUSES.captures(rest) {
        let first = u8::from_str_radix(&found[2], 16).ok()?;
        let last = found.get(3).map_or(Some(first), |last| u8::from_str_radix(last.as_str(), 16).ok())?;
        let domain = found.get(1).map(|domain| domain.as_str());
        return Some((Token::Buses { domain, first, last }, found[0].len()));
    }
    if rest.starts_with("+-") || rest.starts_with("\\-") {
        return Some((Token::Connector, 1));
    }
    let device = DEVICE.find(rest).filter(|_| line[..position].ends_with('-'))?;
    Some((Token::Device(device.as_str()), device.len()))
}

fn function(slot: String, buses: Option<(u8, u8)>, name: Option<&str>) -> Function {
    let title = format!("Device: {}", name.unwrap_or("not named"));
    let (secondary_bus, subordinate_bus) = buses.unzip();
    Function { slot, title, secondary_bus, subordinate_bus, ..Function::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWN: &str = concat!(
        "-[0000:00]-+-00.0  Host bridge\n",
        "           +-01.0-[01]----00.0  Network controller\n",
        "           \\-1c.0-[02-05]--+-00.0\n",
        "                           \\-03.1\n",
    );

    #[test]
    fn connectors_belong_to_the_bus_of_their_column() {
        let slots: Vec<_> = bus_tree(DRAWN, Stop::NEVER).unwrap().into_iter().map(|one| one.slot).collect();
        assert_eq!(
            slots,
            ["0000:00:00.0", "0000:00:01.0", "0000:00:1c.0", "0000:01:00.0", "0000:02:00.0", "0000:02:03.1"]
        );
    }

    #[test]
    fn bridges_have_their_buses_and_functions_their_names() {
        let found = bus_tree(DRAWN, Stop::NEVER).unwrap();
        assert_eq!((found[2].secondary_bus, found[2].subordinate_bus), (Some(2), Some(5)));
        assert_eq!((&*found[3].title, &*found[2].title), ("Device: Network controller", "Device: not named"));
    }

    #[test]
    fn other_texts_draw_nothing() {
        assert!(bus_tree("01:00.0 Ethernet controller: A\n", Stop::NEVER).unwrap().is_empty());
        assert!(bus_tree("é-[00]-\u{e9}\n", Stop::NEVER).unwrap().is_empty());
    }
}
