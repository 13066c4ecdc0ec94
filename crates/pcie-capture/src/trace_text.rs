//! Traces of `pcielab trace`: transfers of a device, each as the request that it would be.
//!
//! A trace has no tags, no IDs and no completions, and a transfer may be longer than a TLP. Offsets in the buffer stand
//! for addresses.

use crate::event::{Direction, Event, Facts, Kind, Packet, Tlp};
use crate::format::{Format, Options};
use crate::input::{End, Input, Take, ended, give, malformed};
use crate::simbricks::request;
use pcie_refusal::Refusal;

/// The first line.
pub const HEADER: &str = "# pcielab trace 1";

/// Reads a trace.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let facts = Facts {
        format: Format::Trace.word().to_owned(),
        ports: vec!["device".to_owned()],
        resolution_ps: Some(1),
        simulated: None,
        ..Facts::default()
    };
    let result = lines(&mut input, options, take);
    ended(result, facts)
}

fn lines(input: &mut Input<'_>, options: &Options, take: Take<'_>) -> Result<(), End> {
    let mut start = None;
    while let Some(line) = input.line()? {
        let line = String::from_utf8_lossy(line).into_owned();
        let number = input.line_number();
        if number == 1 && line.trim_end() != HEADER {
            return Err(malformed("line 1", format!("the first line is not `{HEADER}`"))
                .remedy("give a trace of `pcielab trace record` or `convert`")
                .into());
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((time, tlp)) = transfer(&line) else {
            return Err(malformed(&format!("line {number}"), format!("not a transfer: {line:.60?}"))
                .remedy("give `TIME read|write OFFSET BYTES`, BYTES at least 1")
                .into());
        };
        let since = options.first_time_ps.saturating_add(time).saturating_sub(*start.get_or_insert(time));
        let event = Event {
            time_ps: Some(since),
            direction: Some(Direction::Upstream),
            port: 0,
            record: number,
            packet: Packet::Tlp(tlp),
            error: None,
        };
        give(take, event)?;
    }
    Ok(())
}

fn transfer(line: &str) -> Option<(u64, Tlp)> {
    let mut words = line.split_ascii_whitespace();
    let time = words.next()?.parse().ok()?;
    let kind = match words.next()? {
        "read" => Kind::MemoryRead,
        "write" => Kind::MemoryWrite,
        _ => return None,
    };
    let (offset, bytes): (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let is_whole = words.next().is_none() && bytes > 0 && offset.checked_add(bytes).is_some();
    is_whole.then(|| (time, request(kind, offset, bytes)))
}
