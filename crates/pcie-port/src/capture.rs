//! Transfers from a capture of TLPs in pcap-ng, the format of protocol analysers and Wireshark.
//!
//! Every packet is a TLP from its first header byte on, behind a fixed number of other bytes (framing, sequence
//! number). Memory reads and writes become transfers; messages, completions, configuration and whatever cannot
//! be parsed are counted. Addresses of the other machine mean nothing here: each page of 4096 bytes that the capture
//! uses becomes the next page of the buffer, in the order of first use. Blocks are those of the pcap-ng draft
//! (draft-ietf-opsawg-pcapng): section header, interface description, enhanced packet.

use crate::header::parse_header;
use crate::tlp::{INTERRUPTS, Kind};
use crate::trace::Line;
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pcie_wire::PAGE_BYTES;
use std::collections::HashMap;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const RESOLUTION: u16 = 9;

/// What to take from a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// Bytes of each packet before its TLP.
    pub skip_bytes: usize,
    /// Only requests with this requester ID: bus 8 bits, device 5, function 3.
    pub requester: Option<u16>,
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
/// It is not pcap-ng, or a block is damaged; names the byte.
pub fn read(bytes: &[u8], selection: Selection) -> Result<Captured, Refusal> {
    let mut reader = Reader { bytes, at: 0, little: true, units_per_second: Vec::new(), packets: Vec::new() };
    while reader.at < bytes.len() {
        reader.block()?;
    }
    let mut packets = reader.packets;
    packets.sort_by_key(|(at, _)| *at);
    let mut pages = HashMap::new();
    let mut found = Captured::default();
    let mut start = None;
    for (at, packet) in packets {
        let transfer = packet.get(selection.skip_bytes..).and_then(|tlp| transfer(tlp, selection.requester));
        let Some((write, address, bytes)) = transfer else {
            found.others += 1;
            continue;
        };
        let since = at - *start.get_or_insert(at);
        let ready = u64::try_from(since).map(Picoseconds);
        let ready = ready.map_err(|_| Refusal::new("the capture is longer than 200 days"))?;
        let page_bytes = u64::from(PAGE_BYTES);
        let next = pages.len() as u64;
        let page = *pages.entry(address / page_bytes).or_insert(next);
        found.lines.push(Line { ready, write, offset: page * page_bytes + address % page_bytes, bytes });
    }
    Ok(found)
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
    /// Units of time per second, by interface.
    units_per_second: Vec<u128>,
    /// Each packet's time in picoseconds, and its bytes.
    packets: Vec<(u128, &'a [u8])>,
}

impl<'a> Reader<'a> {
    fn damaged(&self, problem: &str) -> Refusal {
        Refusal::new(format!("byte {}: {problem}", self.at)).remedy("give a capture in pcap-ng (*.pcapng)")
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
            return Err(self.damaged("no section header of pcap-ng"));
        }
        if is_section {
            let order = rest.get(8..12).ok_or_else(|| self.damaged("half a block"))?;
            self.little = order == BYTE_ORDER.to_le_bytes();
            if !self.little && order != BYTE_ORDER.to_be_bytes() {
                return Err(self.damaged("no byte order of pcap-ng"));
            }
            self.units_per_second.clear();
        }
        let kind = self.u32(&rest[..4]);
        let length = rest.get(4..8).map_or(0, |length| self.u32(length)) as usize;
        let fits = length >= 12 && length.is_multiple_of(4) && length <= rest.len();
        if !fits {
            return Err(self.damaged("a block with a wrong length"));
        }
        let body = &rest[8..length - 4];
        match kind {
            INTERFACE => self.interface(body),
            PACKET => self.packet(body)?,
            _ => {}
        }
        self.at += length;
        Ok(())
    }

    /// Notes an interface's units of time: microseconds unless an option says otherwise.
    fn interface(&mut self, body: &[u8]) {
        let mut units = 1_000_000;
        let mut options = body.get(8..).unwrap_or_default();
        while let [_, _, _, _, rest @ ..] = options {
            let (code, length) = (self.u16(&options[..2]), usize::from(self.u16(&options[2..4])));
            if let (RESOLUTION, [value, ..]) = (code, rest) {
                let exponent = u32::from(value & 0x7f);
                units = if value & 0x80 == 0 { 10_u128.pow(exponent.min(18)) } else { 1 << exponent.min(60) };
            }
            options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.units_per_second.push(units);
    }

    fn packet(&mut self, body: &'a [u8]) -> Result<(), Refusal> {
        let Some(head) = body.get(..20) else { return Err(self.damaged("half a packet")) };
        let interface = self.u32(&head[..4]) as usize;
        let Some(&units) = self.units_per_second.get(interface) else {
            return Err(self.damaged("a packet of an unknown interface"));
        };
        let time = u128::from(self.u32(&head[4..8])) << 32 | u128::from(self.u32(&head[8..12]));
        let captured = self.u32(&head[12..16]) as usize;
        let Some(packet) = body.get(20..20 + captured) else { return Err(self.damaged("half a packet")) };
        self.packets.push((time * 1_000_000_000_000 / units, packet));
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

    /// A capture in nanoseconds.
    fn capture(little: bool, packets: &[(u32, &[u8])]) -> Vec<u8> {
        let word = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let half = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes = block(little, SECTION, &[&word(BYTE_ORDER)[..], &[0; 12]].concat());
        let option = [half(RESOLUTION), half(1), [9, 0], [0, 0]].concat();
        bytes.extend(block(little, INTERFACE, &[&[0; 8], &option[..]].concat()));
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
        let selection = Selection { skip_bytes: 2, requester: Some(0x0100) };
        let found = read(&capture(true, &packets), selection).unwrap();
        assert_eq!((found.lines.len(), found.others), (1, 1));
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
