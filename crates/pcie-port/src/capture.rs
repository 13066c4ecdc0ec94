//! Transfers from a capture of TLPs in pcap-ng or pcap, the formats of protocol analysers and Wireshark.
//!
//! Every packet is a TLP from its first header byte on, behind a fixed number of other bytes (framing, sequence
//! number). Memory reads and writes become transfers; messages, completions, configuration and whatever cannot
//! be parsed are counted. Addresses of the other machine mean nothing here: each page of 4096 bytes that the capture
//! uses becomes the next page of the buffer, in the order of first use. Blocks are those of the pcap-ng draft
//! (draft-ietf-opsawg-pcapng): section header, interface description, enhanced packet. [`pcap`] reads the format before it.
//!
//! Analysers give TLPs the link type 125 (`PCI_EXP`) or one of 147 to 162 (`USER0` to `USER15`). Packets of other
//! link types are taken only if the selection names their type, as for TLPs that travel in Ethernet frames.

mod pcap;

use crate::header::parse_header;
use crate::tlp::{INTERRUPTS, Kind};
use crate::trace::Line;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_time::Picoseconds;
use pcie_wire::PAGE_BYTES;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Packets between two looks for a stop: less than a millisecond.
const PACKETS_BETWEEN_LOOKS: u32 = 4096;
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const RESOLUTION: u16 = 9;
/// The link type that libpcap reserves for PCI Express.
const PCI_EXP: u32 = 125;
/// Link types without a public meaning, `USER0` to `USER15`.
const USER: RangeInclusive<u32> = 147..=162;

/// What to take from a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// Bytes of each packet before its TLP.
    pub skip_bytes: usize,
    /// Only requests with this requester ID: bus 8 bits, device 5, function 3.
    pub requester: Option<u16>,
    /// Link type of the packets that hold TLPs; None: those that analysers use.
    pub link_type: Option<u32>,
}

impl Selection {
    /// Whether packets of a link type hold TLPs.
    fn takes(self, link_type: u32) -> bool {
        self.link_type.map_or(link_type == PCI_EXP || USER.contains(&link_type), |wanted| wanted == link_type)
    }
}

/// What is in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Its transfers, in the order of time, from time 0 on.
    pub lines: Vec<Line>,
    /// Packets that are no transfer of the selection.
    pub others: u64,
}

/// Reads a capture.
///
/// # Errors
/// It is neither pcap-ng nor pcap, or a block is damaged; names the byte. No packet has a link type of the selection, or none
/// is a transfer.
pub fn read(bytes: &[u8], selection: Selection) -> Result<Captured, Refusal> {
    read_unless(bytes, selection, &mut || false)
}

/// The same until `stopped` returns true, which is asked between blocks of packets: then what is read by then.
///
/// # Errors
/// Those of [`read`].
pub fn read_unless(
    bytes: &[u8],
    selection: Selection,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Captured, Refusal> {
    let packets = match pcap::Format::of(bytes) {
        Some(format) => format.packets(bytes, stopped)?,
        None => blocks(bytes, stopped)?,
    };
    if let [first, ..] = packets[..]
        && !packets.iter().any(|packet| selection.takes(packet.link_type))
    {
        return Err(foreign(first.link_type, selection));
    }
    let found = transfers(packets, selection, stopped)?;
    if found.lines.is_empty() {
        let none = Refusal::new(format!("none of its {} packets is a memory read or write", found.others))
            .kind(RefusalKind::Missing);
        return Err(none.remedy("give the bytes before each TLP (--skip), or another requester"));
    }
    Ok(found)
}

/// The packets of a capture in pcap-ng.
fn blocks<'a>(bytes: &'a [u8], stopped: &mut dyn FnMut() -> bool) -> Result<Vec<Packet<'a>>, Refusal> {
    let mut reader = Reader { bytes, at: 0, little: true, interfaces: Vec::new(), packets: Vec::new() };
    for number in 1_u32.. {
        if reader.at >= bytes.len() || (number.is_multiple_of(PACKETS_BETWEEN_LOOKS) && stopped()) {
            break;
        }
        reader.block()?;
    }
    Ok(reader.packets)
}

/// The transfers of packets, in a buffer of the pages that they use.
fn transfers(
    mut packets: Vec<Packet>,
    selection: Selection,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Captured, Refusal> {
    packets.sort_by_key(|packet| packet.at);
    let mut pages = HashMap::new();
    let mut found = Captured::default();
    let mut start = None;
    for (number, Packet { at, link_type, bytes }) in (1_u32..).zip(packets) {
        if number.is_multiple_of(PACKETS_BETWEEN_LOOKS) && stopped() {
            break;
        }
        let tlp = bytes.get(selection.skip_bytes..).filter(|_| selection.takes(link_type));
        let transfer = tlp.and_then(|tlp| transfer(tlp, selection.requester));
        let Some((write, address, bytes)) = transfer else {
            found.others += 1;
            continue;
        };
        let since = at - *start.get_or_insert(at);
        let ready = u64::try_from(since).map(Picoseconds);
        let ready = ready
            .map_err(|_| Refusal::new("the capture is longer than 200 days").kind(RefusalKind::TooLarge))?;
        let page_bytes = u64::from(PAGE_BYTES);
        let next = pages.len() as u64;
        let page = *pages.entry(address / page_bytes).or_insert(next);
        found.lines.push(Line { ready, write, offset: page * page_bytes + address % page_bytes, bytes });
    }
    Ok(found)
}

/// The refusal of a capture whose packets have another link type.
fn foreign(link_type: u32, selection: Selection) -> Refusal {
    let wanted = selection.link_type.map_or("125 or 147 to 162".to_owned(), |wanted| wanted.to_string());
    Refusal::new(format!("its packets are {}, not TLPs (link type {wanted})", link_name(link_type)))
        .kind(RefusalKind::Unsupported)
        .remedy(format!(
            "export TLPs from the analyser, or say --link-type {link_type} if each packet holds one"
        ))
}

/// A link type in words; see the list of link types at tcpdump.org.
fn link_name(link_type: u32) -> String {
    let name = match link_type {
        0 => "BSD loopback",
        1 => "Ethernet",
        101 | 228 | 229 => "raw IP",
        105 | 127 => "wireless LAN",
        113 | 276 => "Linux cooked capture",
        189 | 220 | 249 => "USB",
        247 => "InfiniBand",
        _ => return format!("of link type {link_type}"),
    };
    format!("{name} (link type {link_type})")
}

/// Whether a TLP writes, its address and its bytes, if it is a transfer of the requester.
fn transfer(bytes: &[u8], requester: Option<u16>) -> Option<(bool, u64, u64)> {
    // A capture may cut the data of a write off.
    let tlp = parse_header(bytes).or_else(|_| parse_header(&[bytes, &[0; 4096]].concat())).ok()?;
    let header = if bytes.first()? & 0x20 == 0 { 12 } else { 16 };
    let theirs = u16::from_be_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let page = u64::from(PAGE_BYTES);
    let whole = tlp.kind != Kind::Message
        && !INTERRUPTS.contains(&tlp.address)
        && tlp.address % page + u64::from(tlp.length) <= page
        && bytes.len() >= header
        && requester.is_none_or(|wanted| wanted == theirs);
    whole.then(|| (tlp.kind == Kind::Write, tlp.address, tlp.length.into()))
}

/// The blocks of a capture.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    little: bool,
    interfaces: Vec<Interface>,
    packets: Vec<Packet<'a>>,
}

/// An interface of a section.
#[derive(Clone, Copy)]
struct Interface {
    link_type: u32,
    units_per_second: u128,
}

/// A captured packet.
#[derive(Clone, Copy)]
struct Packet<'a> {
    /// Picoseconds since the epoch.
    at: u128,
    link_type: u32,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn damaged(&self, problem: &str) -> Refusal {
        Refusal::new(format!("byte {}: {problem}", self.at))
            .kind(RefusalKind::Malformed)
            .remedy("give a whole capture in pcap-ng or pcap")
    }

    fn u32(&self, bytes: &[u8]) -> u32 {
        let word: [u8; 4] = bytes.try_into().unwrap_or_default();
        if self.little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) }
    }

    fn u16(&self, bytes: &[u8]) -> u16 {
        let half: [u8; 2] = bytes.try_into().unwrap_or_default();
        if self.little { u16::from_le_bytes(half) } else { u16::from_be_bytes(half) }
    }

    fn block(&mut self) -> Result<(), Refusal> {
        let rest = &self.bytes[self.at..];
        let [a, b, c, d, ..] = *rest else { return Err(self.damaged("half a block")) };
        let is_section = u32::from_le_bytes([a, b, c, d]) == SECTION;
        if self.at == 0 && !is_section {
            return Err(self.damaged("no section header of pcap-ng, and no header of pcap"));
        }
        if is_section {
            let order = rest.get(8..12).ok_or_else(|| self.damaged("half a block"))?;
            self.little = order == BYTE_ORDER.to_le_bytes();
            if !self.little && order != BYTE_ORDER.to_be_bytes() {
                return Err(self.damaged("no byte order of pcap-ng"));
            }
            self.interfaces.clear();
        }
        let kind = self.u32(&rest[..4]);
        let length = rest.get(4..8).map_or(0, |length| self.u32(length)) as usize;
        let fits = length >= 12 && length.is_multiple_of(4) && length <= rest.len();
        if !fits {
            return Err(self.damaged("a block with a wrong length"));
        }
        let body = &rest[8..length - 4];
        match kind {
            INTERFACE => self.interface(body)?,
            PACKET => self.packet(body)?,
            _ => {}
        }
        self.at += length;
        Ok(())
    }

    /// Notes an interface: its link type, and its units of time (microseconds unless an option says otherwise).
    fn interface(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let Some(link_type) = body.get(..2) else { return Err(self.damaged("half an interface")) };
        let link_type = u32::from(self.u16(link_type));
        let mut units_per_second = 1_000_000;
        let mut options = body.get(8..).unwrap_or_default();
        while let [_, _, _, _, rest @ ..] = options {
            let (code, length) = (self.u16(&options[..2]), usize::from(self.u16(&options[2..4])));
            if let (RESOLUTION, [value, ..]) = (code, rest) {
                let exponent = u32::from(value & 0x7f);
                units_per_second =
                    if value & 0x80 == 0 { 10_u128.pow(exponent.min(18)) } else { 1 << exponent.min(60) };
            }
            options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(Interface { link_type, units_per_second });
        Ok(())
    }

    fn packet(&mut self, body: &'a [u8]) -> Result<(), Refusal> {
        let Some(head) = body.get(..20) else { return Err(self.damaged("half a packet")) };
        let interface = self.u32(&head[..4]) as usize;
        let Some(&Interface { link_type, units_per_second }) = self.interfaces.get(interface) else {
            return Err(self.damaged("a packet of an unknown interface"));
        };
        let time = u128::from(self.u32(&head[4..8])) << 32 | u128::from(self.u32(&head[8..12]));
        let captured = self.u32(&head[12..16]) as usize;
        let Some(bytes) = body.get(20..20 + captured) else { return Err(self.damaged("half a packet")) };
        self.packets.push(Packet { at: time * 1_000_000_000_000 / units_per_second, link_type, bytes });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        for end in (1..whole.len()).filter(|end: &usize| !end.is_multiple_of(4)) {
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
