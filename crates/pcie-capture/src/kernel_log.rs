//! Headers of TLPs that a Linux kernel logs with an error: advanced error reporting, downstream port containment, firmware
//! records and trace events. Each is the TLP that the error is about.

use crate::event::{Event, Facts, LinkError, Packet};
use crate::fields::Origin;
use crate::format::{Format, Options};
use crate::header;
use crate::input::{End, Input, Take, ended, give};
use crate::words;
use pcie_refusal::{Kind, Refusal};

/// Double words that are read: those of a header and its prefixes.
const WORDS_MOST: usize = 14;

/// Whether a line has a header.
pub(crate) fn is_line(line: &str) -> bool {
    headers(line).is_some()
}

/// The double words after `TLP Header`.
fn headers(line: &str) -> Option<(Vec<u8>, bool)> {
    let rest = &line[line.find("TLP Header")? + "TLP Header".len()..];
    let is_flit = rest.starts_with(" (Flit)");
    let rest = rest.strip_prefix(" (Flit)").unwrap_or(rest);
    let rest = rest.strip_prefix(": ").or_else(|| rest.strip_prefix("={"))?;
    let mut bytes = Vec::new();
    for word in rest.split([' ', ',', '}']).filter(|word| !word.is_empty()).take(WORDS_MOST) {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        match u32::from_str_radix(digits, 16) {
            Ok(word) if digits.len() == 8 => bytes.extend(word.to_be_bytes()),
            _ => break,
        }
    }
    (bytes.len() >= 16).then_some((bytes, is_flit))
}

/// Seconds since the start of the machine, in brackets at the start of a line.
fn time(line: &str) -> Option<u64> {
    let start = line.find('[')?;
    let (seconds, _) = line[start + 1..].split_once(']')?;
    words::time_ps(seconds, Some(12))
}

/// The device that a line is about: `0000:03:00.0` anywhere in it.
fn device(line: &str) -> Option<&str> {
    line.split([' ', '\t']).map(|word| word.trim_end_matches(':')).find(|word| {
        let parts = word.split([':', '.']).count();
        (3..=4).contains(&parts) && word.contains(':') && word.contains('.') && words::id(word).is_some()
    })
}

/// Reads a log.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts { format: Format::KernelLog.word().to_owned(), ..Facts::default() };
    let result = lines(&mut input, options, take, &mut facts);
    ended(result, facts)
}

fn lines(input: &mut Input<'_>, options: &Options, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
    let (mut origin, mut error, mut events) = (Origin::default(), None, 0_u64);
    while let Some(line) = input.line()? {
        let line = String::from_utf8_lossy(line).into_owned();
        let number = input.line_number();
        if line.contains("error status/mask=") {
            error = None;
        } else if line.contains("] MalfTLP") {
            error = Some(LinkError::Malformed);
        } else if line.contains("] ECRC") {
            error = Some(LinkError::BadCrc);
        }
        let Some((bytes, is_flit)) = headers(&line) else { continue };
        let Some(read) = header::decode(&bytes).ok().filter(|_| !is_flit) else {
            facts.skip(if is_flit { "header of flit mode" } else { "reserved header" }, number);
            continue;
        };
        let port = facts.port(device(&line).unwrap_or("unknown"));
        let time_ps = origin.since(time(&line), options.first_time_ps);
        let packet = Packet::Tlp(crate::event::Tlp { data: Vec::new(), ..read.tlp });
        events += 1;
        give(take, Event { time_ps, direction: None, port, record: number, packet, error })?;
    }
    if events == 0 {
        return Err(Refusal::new("no `TLP Header:` line that can be read")
            .kind(Kind::Missing)
            .remedy("give a kernel's log with uncorrectable errors of the transaction layer")
            .into());
    }
    Ok(())
}
