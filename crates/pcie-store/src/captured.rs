//! The TLPs of a trace as a capture: what an analyser on the simulated link would show.
//!
//! The device is function 01:00.0, the root complex 00:00.0. Data are not part of a trace, and TLPs have no digest.

use pcie_capture::{Direction, Event, Kind, Packet, Tlp};
use pcie_trace::{Kind as SegmentKind, Segment, lane};

const DEVICE: u16 = 0x0100;
const ROOT_COMPLEX: u16 = 0;
const DW: u64 = 4;

/// The links of a trace by [`Event::port`]: one, or the edges of a fabric.
#[must_use]
pub fn ports(trace: &[Segment]) -> Vec<String> {
    let mut ports: Vec<String> = Vec::new();
    for segment in tlps(trace) {
        let port = port(segment);
        if !ports.iter().any(|known| known == port) {
            ports.push(port.to_owned());
        }
    }
    ports
}

/// The TLPs of a trace in the order of their starts, with times from the start of the test.
pub fn captured<'a>(trace: &'a [Segment], ports: &'a [String]) -> impl Iterator<Item = Event> + 'a {
    tlps(trace).zip(1..).filter_map(|(segment, record)| {
        let direction = direction(segment);
        let port = ports.iter().position(|known| known == port(segment)).unwrap_or(0);
        Some(Event {
            time_ps: Some(segment.start_ps),
            direction,
            port: u16::try_from(port).ok()?,
            record,
            packet: Packet::Tlp(tlp(segment, direction)?),
            error: None,
        })
    })
}

fn tlps(trace: &[Segment]) -> impl Iterator<Item = &Segment> {
    trace.iter().filter(|segment| segment.kind == SegmentKind::Tlp)
}

fn direction(segment: &Segment) -> Option<Direction> {
    match &*segment.lane {
        lane::UP => Some(Direction::Upstream),
        lane::DOWN => Some(Direction::Downstream),
        _ => None,
    }
}

fn port(segment: &Segment) -> &str {
    if direction(segment).is_some() { "link" } else { &segment.lane }
}

fn tlp(segment: &Segment, direction: Option<Direction>) -> Option<Tlp> {
    let address = segment.address.unwrap_or(0);
    let bytes = segment.bytes.unwrap_or(0);
    let (sender, receiver) = match direction {
        Some(Direction::Upstream) | None => (DEVICE, ROOT_COMPLEX),
        Some(Direction::Downstream) => (ROOT_COMPLEX, DEVICE),
    };
    let length = (address % DW + bytes).div_ceil(DW).max(1);
    let length_dw = u16::try_from(length).ok()?;
    let data_bytes = u32::from(length_dw) * 4;
    let request = |kind, data_bytes| {
        let (first, last) = enables(address, bytes);
        Tlp {
            wide: Some(address >> 32 > 0),
            length_dw,
            data_bytes,
            requester: Some(sender),
            tag: Some(segment.tag.map_or(0, |tag| tag as u16)),
            first_enables: Some(first),
            last_enables: Some(last),
            address: Some(address & !(DW - 1)),
            ..Tlp::of(kind)
        }
    };
    Some(match &*segment.name {
        "MRd" => request(Kind::MemoryRead, 0),
        "MWr" => request(Kind::MemoryWrite, data_bytes),
        "DMWr" => request(Kind::DeferrableWrite, data_bytes),
        "CplD" | "Cpl" => {
            let has_data = segment.name == "CplD";
            Tlp {
                wide: Some(false),
                length_dw: if has_data { length_dw } else { 0 },
                data_bytes: if has_data { data_bytes } else { 0 },
                requester: Some(receiver),
                completer: Some(sender),
                tag: segment.tag.map(|tag| tag as u16),
                status: Some(0),
                byte_count: segment.value.and_then(|count| u16::try_from(count).ok()),
                lower_address: Some((address & 0x7f) as u8),
                ..Tlp::of(Kind::Completion { locked: false })
            }
        }
        _ => return None,
    })
}

/// The byte enables of the first double word and of the last; the last is 0 where there is only one.
fn enables(address: u64, bytes: u64) -> (u8, u8) {
    let from = address % DW;
    let end = from + bytes;
    let up_to = |count: u64| ((1u16 << count.min(DW)) - 1) as u8;
    let first = up_to(end) & !up_to(from);
    let last = if end <= DW { 0 } else { up_to((end - 1) % DW + 1) };
    (first, last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_time::Picoseconds;
    use pcie_trace::Recorder;

    fn recorded(lane: &'static str, name: &'static str, address: u64, bytes: u32) -> pcie_trace::Tlp {
        let (start, end) = (Picoseconds(5), Picoseconds(9));
        let byte_count = (name == "CplD").then_some(bytes);
        pcie_trace::Tlp { lane, name, start, end, request: 0, tag: Some(7), address, bytes, byte_count }
    }

    #[test]
    fn a_read_at_an_odd_address_has_its_enables_and_its_completion_the_address_and_count() {
        let mut recorder = Recorder::new(Picoseconds(100));
        recorder.tlp(recorded(lane::UP, "MRd", 0x1_0000_0003, 6));
        recorder.tlp(recorded(lane::DOWN, "CplD", 0x1_0000_0003, 6));
        recorder.tlp(recorded(lane::UP, "MWr", 0x1001, 2));
        let trace = recorder.into_segments();
        let ports = ports(&trace);
        assert_eq!(ports, ["link"]);
        let events: Vec<_> = captured(&trace, &ports).collect();
        let tlp = |nth: usize| match &events[nth].packet {
            Packet::Tlp(tlp) => tlp.clone(),
            other => unreachable!("{other:?}"),
        };
        let (read, completion, write) = (tlp(0), tlp(1), tlp(2));
        assert_eq!((read.wide, read.length_dw, read.data_bytes), (Some(true), 3, 0));
        assert_eq!(
            (read.first_enables, read.last_enables, read.address),
            (Some(8), Some(1), Some(0x1_0000_0000))
        );
        assert_eq!(
            (completion.byte_count, completion.lower_address, completion.length_dw),
            (Some(6), Some(3), 3)
        );
        assert_eq!((completion.requester, completion.completer), (Some(DEVICE), Some(ROOT_COMPLEX)));
        assert_eq!((write.length_dw, write.first_enables, write.last_enables), (1, Some(6), Some(0)));
        assert_eq!(write.wide, Some(false));
        assert_eq!(events[1].direction, Some(Direction::Downstream));
    }
}
