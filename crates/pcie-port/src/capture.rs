//! Transfers from a capture: the requests of a device in any format of `pcie-capture`, as a trace that any host can play.
//!
//! Memory reads and writes become transfers; messages, completions, configuration, requests of the host and whatever
//! cannot be parsed are counted. Addresses of the other machine mean nothing here: each page of 4096 bytes that the
//! capture uses becomes the next page of the buffer, in the order of first use. In a capture without times, every
//! transfer is ready at once.

use crate::header::left_out;
use crate::tlp::INTERRUPTS;
use crate::trace::Line;
use pcie_capture::{Direction, Event, Kind, Options, Packet, Tlp};
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_time::Picoseconds;
use pcie_wire::PAGE_BYTES;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Packets between two looks for a stop: less than a millisecond.
const PACKETS_BETWEEN_LOOKS: u64 = 4096;
/// Time of the first packet while reading: packets of other interfaces may be older by up to 50 days.
const FIRST: u64 = 1 << 62;

/// What to take from a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// In pcap-ng and pcap: bytes of each packet before its TLP.
    pub skip_bytes: usize,
    /// Only requests with this requester ID: bus 8 bits, device 5, function 3.
    pub requester: Option<u16>,
    /// In pcap-ng and pcap: link type of the packets that hold TLPs; None: those that analysers use, and NetTLP's.
    pub link_type: Option<u32>,
}

/// What is in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Its transfers, in the order of time, from time 0 on.
    pub lines: Vec<Line>,
    /// Packets that are no transfer of the selection.
    pub others: u64,
}

/// A transfer at its address.
struct Transfer {
    at: u64,
    write: bool,
    address: u64,
    bytes: u64,
}

/// Reads a capture.
///
/// # Errors
/// Its format is unknown, or it is damaged; names the byte or line. No packet has a link type of the selection, or none
/// is a transfer.
pub fn read(bytes: &[u8], selection: Selection) -> Result<Captured, Refusal> {
    read_unless(bytes, selection, &mut || false)
}

/// The same until `stopped` returns true, which is asked between blocks of packets: then what is read by then.
///
/// # Errors
/// Those of [`read`].
pub fn read_unless(
    mut bytes: &[u8],
    selection: Selection,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Captured, Refusal> {
    let Selection { skip_bytes, requester, link_type } = selection;
    let options = Options { skip_bytes, link_type, first_time_ps: FIRST, ..Options::default() };
    let (mut transfers, mut packets, mut others) = (Vec::new(), 0_u64, 0);
    let facts = pcie_capture::read(&mut bytes, &options, &mut |event| {
        packets += 1;
        match transfer(&event, requester) {
            Some(transfer) => transfers.push(transfer),
            None => others += 1,
        }
        let is_stopped = packets.is_multiple_of(PACKETS_BETWEEN_LOOKS) && stopped();
        if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    others += facts.unread();
    if transfers.is_empty() {
        let none = Refusal::new(format!("none of its {others} packets is a memory read or write"))
            .kind(RefusalKind::Missing);
        return Err(none.remedy("give the bytes before each TLP (--skip), or another requester"));
    }
    Ok(Captured { lines: packed(transfers)?, others })
}

/// The transfers in the order of time, in a buffer of the pages that they use.
fn packed(mut transfers: Vec<Transfer>) -> Result<Vec<Line>, Refusal> {
    transfers.sort_by_key(|transfer| transfer.at);
    let start = transfers.first().map_or(0, |transfer| transfer.at);
    if transfers.last().is_some_and(|last| last.at == u64::MAX) {
        return Err(Refusal::new("the capture is longer than 150 days").kind(RefusalKind::TooLarge));
    }
    let page_bytes = u64::from(PAGE_BYTES);
    let mut pages = HashMap::new();
    let line = |Transfer { at, write, address, bytes }| {
        let next = pages.len() as u64;
        let page = *pages.entry(address / page_bytes).or_insert(next);
        Line {
            ready: Picoseconds(at - start),
            write,
            offset: page * page_bytes + address % page_bytes,
            bytes,
        }
    };
    Ok(transfers.into_iter().map(line).collect())
}

/// The transfer of an event, if it is a request of the device and of the requester.
fn transfer(event: &Event, requester: Option<u16>) -> Option<Transfer> {
    let Packet::Tlp(tlp) = &event.packet else { return None };
    let write = match tlp.kind {
        Kind::MemoryRead => false,
        Kind::MemoryWrite => true,
        _ => return None,
    };
    let address = tlp.address?;
    let dwords = u32::from(tlp.length_dw);
    let (lead, trail) = match (tlp.first_enables, tlp.last_enables) {
        (Some(first), Some(last)) => left_out(first, last, dwords).ok()?,
        _ => (0, 0),
    };
    let length = u64::from((4 * dwords).checked_sub(lead + trail)?);
    let address = address.saturating_add(lead.into());
    let page = u64::from(PAGE_BYTES);
    let whole = is_of_device(event.direction, tlp)
        && !INTERRUPTS.contains(&address)
        && length > 0
        && address % page + length <= page
        && requester.is_none_or(|wanted| tlp.requester == Some(wanted));
    whole.then_some(Transfer { at: event.time_ps.unwrap_or(FIRST), write, address, bytes: length })
}

/// Whether a request may be a device's, and its header is as the specification wants it.
fn is_of_device(direction: Option<Direction>, tlp: &Tlp) -> bool {
    let fits = tlp.wide != Some(true) || tlp.address.is_some_and(|address| address >> 32 != 0);
    direction != Some(Direction::Downstream) && tlp.poisoned != Some(true) && fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECTION: u32 = 0x0a0d_0d0a;
    const INTERFACE: u32 = 1;
    const PACKET: u32 = 6;
    const BYTE_ORDER: u32 = 0x1a2b_3c4d;
    const RESOLUTION: u16 = 9;

    fn block(little: bool, kind: u32, body: &[u8]) -> Vec<u8> {
        let word = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let padded = body.len().next_multiple_of(4);
        let length = word(padded as u32 + 12);
        let mut bytes = [word(kind), length].concat();
        bytes.extend(body);
        bytes.resize(8 + padded, 0);
        bytes.extend(length);
        bytes
    }

    /// A capture in nanoseconds, of the link type `USER11`.
    fn capture(little: bool, packets: &[(u32, &[u8])]) -> Vec<u8> {
        capture_of(158, little, packets)
    }

    fn capture_of(link_type: u16, little: bool, packets: &[(u32, &[u8])]) -> Vec<u8> {
        let word = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let half = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes = block(little, SECTION, &[&word(BYTE_ORDER)[..], &[0; 12]].concat());
        let option = [half(RESOLUTION), half(1), [9, 0], [0, 0]].concat();
        bytes.extend(block(little, INTERFACE, &[&half(link_type)[..], &[0; 6], &option[..]].concat()));
        for (at, packet) in packets {
            let length = word(packet.len() as u32);
            let head = [word(0), word(0), word(*at), length, length].concat();
            bytes.extend(block(little, PACKET, &[&head, *packet].concat()));
        }
        bytes
    }

    const READ: [u8; 12] = [0, 0, 0, 16, 1, 0, 3, 0xff, 0xab, 0xcd, 0x10, 0x40];
    const WRITE: [u8; 16] = [0x40, 0, 0, 1, 2, 0, 0, 0x0f, 0x80, 0, 0, 0, 1, 2, 3, 4];
    const COMPLETION: [u8; 12] = [0x0a, 0, 0, 0, 0, 0, 0, 4, 1, 0, 3, 0];

    #[test]
    fn requests_become_transfers_of_a_packed_buffer() {
        for little in [true, false] {
            let packets: [(u32, &[u8]); 4] = [(70, &WRITE), (50, &READ), (60, &COMPLETION), (90, &READ)];
            let found = read(&capture(little, &packets), Selection::default()).unwrap();
            let line =
                |ns: u64, write, offset, bytes| Line { ready: Picoseconds(ns * 1000), write, offset, bytes };
            let read = |ns| line(ns, false, 0x40, 64);
            assert_eq!(found.lines, [read(0), line(20, true, 4096, 4), read(40)]);
            assert_eq!(found.others, 1);
        }
    }

    #[test]
    fn a_requester_and_bytes_in_front_are_selected() {
        let framed = [&[9, 9][..], &READ].concat();
        let packets: [(u32, &[u8]); 2] = [(0, &framed), (1, &WRITE)];
        let selection = Selection { skip_bytes: 2, requester: Some(0x0100), link_type: None };
        let found = read(&capture(true, &packets), selection).unwrap();
        assert_eq!((found.lines.len(), found.others), (1, 1));
    }

    #[test]
    fn packets_of_another_link_type_are_refused_by_name_unless_they_are_selected() {
        for (link_type, name) in
            [(1, "Ethernet (link type 1)"), (0, "BSD loopback"), (300, "of link type 300")]
        {
            let bytes = capture_of(link_type, true, &[(0, &READ)]);
            let refused = read(&bytes, Selection::default()).unwrap_err().to_string();
            assert!(refused.contains(name), "{refused}");
            assert!(refused.contains(&format!("--link-type {link_type}")), "{refused}");
            let selection = Selection { link_type: Some(link_type.into()), ..Selection::default() };
            assert_eq!(read(&bytes, selection).unwrap().lines.len(), 1);
        }
        for link_type in [125, 147, 162] {
            assert_eq!(
                read(&capture_of(link_type, false, &[(0, &READ)]), Selection::default()).unwrap().others,
                0
            );
        }
        let selection = Selection { link_type: Some(1), ..Selection::default() };
        let refused = read(&capture(true, &[(0, &READ)]), selection).unwrap_err().to_string();
        assert!(refused.contains("link type 158") && refused.contains("not TLPs (link type 1)"), "{refused}");
    }

    #[test]
    fn packets_of_other_interfaces_are_counted() {
        let both = [capture(true, &[(0, &READ)]), capture_of(1, true, &[(9, &READ)])].concat();
        let found = read(&both, Selection::default()).unwrap();
        assert_eq!((found.lines.len(), found.others), (1, 1));
    }

    #[test]
    fn an_ethernet_frame_without_a_tlp_is_refused_by_name() {
        let frame = [&[0x40; 48][..], &READ, &[7; 30]].concat();
        let selection = Selection { skip_bytes: 48, link_type: Some(1), ..Selection::default() };
        let refused = read(&capture_of(1, true, &[(0, &frame)]), selection).unwrap_err().to_string();
        assert!(refused.contains("Ethernet (link type 1) holds a TLP at byte 48"), "{refused}");
        let padded = &frame[..60];
        assert_eq!(read(&capture_of(1, true, &[(0, padded)]), selection).unwrap().lines.len(), 1);
    }

    #[test]
    fn captures_of_other_formats_become_transfers() {
        let text = "Packet(1) R<-(8.0 x8) TLP(1) MRd(32) Length(16) RequesterID(003:00:0) Tag(1) Address(00001040) \
                    1st BE(1111) Last BE(1111) Time Stamp(0000 . 000 000 100 s)\n\
                    Packet(2) R->(8.0 x8) TLP(9) MWr(32) Length(1) RequesterID(000:00:0) Tag(0) Address(00001000) \
                    1st BE(1111) Last BE(0000) Time Stamp(0000 . 000 000 300 s)\n";
        let found = read(text.as_bytes(), Selection::default()).unwrap();
        let line = Line { ready: Picoseconds(0), write: false, offset: 0x40, bytes: 64 };
        assert_eq!((found.lines, found.others), (vec![line], 1));
    }

    #[test]
    fn captures_without_a_transfer_are_refused() {
        let refused =
            read(&capture(true, &[(0, &COMPLETION)]), Selection::default()).unwrap_err().to_string();
        assert!(refused.contains("none of its 1 packets"), "{refused}");
    }

    /// A capture in pcap, in nanoseconds or microseconds from a second on.
    fn older_capture(little: bool, magic: u32, link_type: u32, packets: &[(u32, &[u8])]) -> Vec<u8> {
        let word = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let half = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes =
            [&word(magic)[..], &half(2), &half(4), &word(0), &word(0), &word(4096), &word(link_type)]
                .concat();
        for (at, packet) in packets {
            let length = word(packet.len() as u32);
            bytes.extend([&word(1)[..], &word(*at), &length, &length, packet].concat());
        }
        bytes
    }

    #[test]
    fn a_capture_in_pcap_holds_what_one_in_pcap_ng_holds() {
        let packets: [(u32, &[u8]); 4] = [(70, &WRITE), (50, &READ), (60, &COMPLETION), (90, &READ)];
        let newer = read(&capture(true, &packets), Selection::default()).unwrap();
        for little in [true, false] {
            let older =
                |magic| read(&older_capture(little, magic, 158, &packets), Selection::default()).unwrap();
            assert_eq!(older(0xa1b2_3c4d), newer);
            let slower = older(0xa1b2_c3d4);
            let times: Vec<u64> = slower.lines.iter().map(|line| line.ready.0).collect();
            assert_eq!(times, [0, 20_000_000, 40_000_000]);
        }
        let ethernet = older_capture(true, 0xa1b2_c3d4, 1, &packets);
        let refused = read(&ethernet, Selection::default()).unwrap_err().to_string();
        assert!(refused.contains("Ethernet (link type 1)"), "{refused}");
    }

    #[test]
    fn damaged_captures_in_pcap_are_refused_by_byte() {
        let whole = older_capture(false, 0xa1b2_c3d4, 125, &[(5, &READ), (9, &READ)]);
        let ends = [24, 24 + 16 + READ.len(), whole.len()];
        for end in (4..whole.len()).filter(|end| !ends.contains(end)) {
            let refused = read(&whole[..end], Selection::default()).unwrap_err().to_string();
            assert!(refused.contains("byte "), "{end}: {refused}");
        }
        let of_version_3 = [&whole[..4], &[0, 3], &whole[6..]].concat();
        assert!(
            read(&of_version_3, Selection::default())
                .unwrap_err()
                .to_string()
                .contains("no header of pcap 2")
        );
    }

    #[test]
    fn damaged_captures_are_refused_by_byte() {
        let whole = capture(true, &[(0, &READ)]);
        for end in (5..whole.len()).filter(|end: &usize| !end.is_multiple_of(4)) {
            let refused = read(&whole[..end], Selection::default()).unwrap_err().to_string();
            assert!(refused.contains("byte "), "{refused}");
        }
        assert!(read(b"pcap", Selection::default()).is_err());
    }

    proptest! {
        #[test]
        fn any_capture_in_pcap_is_read_or_refused(at in 0usize..80, value in any::<u8>()) {
            let mut bytes = older_capture(true, 0xa1b2_3c4d, 125, &[(5, &READ), (3, &READ)]);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = read(&bytes, Selection::default());
        }

        #[test]
        fn any_capture_is_read_or_refused(
            at in 0usize..150,
            value in any::<u8>(),
            packet in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut bytes = capture(true, &[(5, &READ), (3, &packet)]);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = read(&bytes, Selection::default());
        }
    }
}
