//! What PCILeech and LeechCore print of TLPs with `-vvv`: a line `TX: ` or `RX: `, then a hex dump of the TLP.
//!
//! The dump decides: the line above it has neither attributes nor all bits of a tag. The card transmits upstream.

use crate::event::{Direction, Event, Facts, LinkError, Packet};
use crate::format::{Format, Options};
use crate::header;
use crate::input::{End, Input, Take, ended, give};
use pcie_refusal::{Kind, Refusal};

const TYPES: [&str; 14] = [
    "MRd32", "MWr32", "MRd64", "MWr64", "IORd", "IOWr", "CfgRd0", "CfgRd1", "CfgWr0", "CfgWr1", "Cpl",
    "CplD", "CplLk", "CplDLk",
];
/// Bytes of the largest TLP.
const MOST: usize = 4096 + 64;

/// Whether a line begins a TLP.
pub(crate) fn is_line(line: &str) -> bool {
    begins(line).is_some()
}

fn begins(line: &str) -> Option<Direction> {
    let (direction, rest) = match line.split_at_checked(4)? {
        ("TX: ", rest) => (Direction::Upstream, rest),
        ("RX: ", rest) => (Direction::Downstream, rest),
        _ => return None,
    };
    let name = rest.split(':').next()?;
    (TYPES.contains(&name) || name.starts_with("TLP???")).then_some(direction)
}

/// The bytes of a line of a hex dump: an offset of 4 digits, then 1 to 16 bytes, then what they are in ASCII.
fn dumped(line: &str, to: &mut Vec<u8>) -> bool {
    let Some((offset, rest)) = line.split_at_checked(4) else { return false };
    if !offset.bytes().all(|digit| digit.is_ascii_hexdigit()) || !rest.starts_with("    ") {
        return false;
    }
    let before = to.len();
    // The letters come after 16 bytes with a space behind each, and one more in the middle.
    let digits: String = rest[4..].chars().take(16 * 3 + 1).collect();
    for pair in digits.split_whitespace().take(16) {
        match crate::words::hex_bytes(pair, 1) {
            Some(byte) if pair.len() == 2 => to.extend(byte),
            _ => break,
        }
    }
    to.truncate(MOST);
    to.len() > before
}

/// Reads what was printed.
pub(crate) fn read(mut input: Input<'_>, _options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts {
        format: Format::PciLeech.word().to_owned(),
        ports: vec!["card".to_owned()],
        ..Facts::default()
    };
    let result = lines(&mut input, take, &mut facts);
    ended(result, facts)
}

fn lines(input: &mut Input<'_>, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
    let mut open: Option<(Direction, u64)> = None;
    let (mut bytes, mut record, mut events) = (Vec::new(), 0, 0_u64);
    loop {
        let line = input.line()?.map(|line| String::from_utf8_lossy(line).into_owned());
        if open.is_some() && line.as_ref().is_some_and(|line| dumped(line, &mut bytes)) {
            continue;
        }
        if let Some((direction, line)) = open.take() {
            record += 1;
            match header::decode(&bytes) {
                Ok(read) => {
                    let error = (bytes.len() < read.bytes).then_some(LinkError::Malformed);
                    let packet = Packet::Tlp(read.tlp);
                    let direction = Some(direction);
                    events += 1;
                    give(take, Event { time_ps: None, direction, port: 0, record, packet, error })?;
                }
                Err(_) => facts.skip("TLP without a dump of its header", line),
            }
            bytes.clear();
        }
        let Some(line) = line else { break };
        open = begins(&line).map(|direction| (direction, input.line_number()));
    }
    if events == 0 {
        return Err(Refusal::new("no TLP with a hex dump")
            .kind(Kind::Missing)
            .remedy("give what PCILeech prints with -vvv, its hex dumps included")
            .into());
    }
    Ok(())
}
