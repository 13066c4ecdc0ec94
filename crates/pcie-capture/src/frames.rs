//! Records of the Agilent analysers as cyrozap's tools put them into pcap-ng: a header of 20 bytes, then the symbols
//! of a packet on a link of 2.5 or 5 GT/s, descrambled.
//!
//! The header: record number (4 bytes), time in ns (8), scrambler state (2), offset of metadata (2), flags (4), little
//! endian. The symbols: STP, sequence number, TLP, LCRC, END; or SDP, DLLP, END; or COM and an ordered set.

use crate::dllp;
use crate::event::{Direction, Facts, LinkError, Packet};
use crate::header;

/// Bytes of the header of a record.
pub(crate) const HEADER_BYTES: usize = 20;
pub(crate) const STP: u8 = 0xfb;
pub(crate) const SDP: u8 = 0x5c;
pub(crate) const COM: u8 = 0xbc;
pub(crate) const END: u8 = 0xfd;
pub(crate) const EDB: u8 = 0xfe;
pub(crate) const SYMBOL_ERROR: u32 = 1 << 3;
pub(crate) const DISPARITY_ERROR: u32 = 1 << 11;
pub(crate) const UPSTREAM: u32 = 1 << 28;
/// Speeds by their code in the flags, in GT/s times 10.
pub(crate) const SPEEDS: [(u32, u16); 2] = [(1, 25), (3, 50)];
/// Bytes before a TLP (STP, sequence number) and after it (LCRC, END).
const BEFORE: usize = 3;
const LCRC_BYTES: usize = 4;

/// Reads records one after the other.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Whether an LCRC of the file was right: a tool may leave another thing in its position.
    has_lcrc: bool,
}

/// What a record holds.
pub(crate) struct Record {
    pub(crate) direction: Direction,
    pub(crate) packet: Packet,
    pub(crate) error: Option<LinkError>,
}

fn flags(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(16..HEADER_BYTES)?.try_into().ok()?))
}

/// Whether a packet is a record of an Agilent analyser.
pub(crate) fn is_record(bytes: &[u8]) -> bool {
    let Some(flags) = flags(bytes) else { return false };
    let speed = flags >> 8 & 3;
    flags & 7 <= 4
        && flags >> 31 == 0
        && SPEEDS.iter().any(|(code, _)| *code == speed)
        && bytes.get(HEADER_BYTES).is_some_and(|first| [STP, SDP, COM].contains(first))
}

impl Records {
    /// Reads a record; `whole`: its bytes before the capture cut it. None: no record.
    pub(crate) fn read(&mut self, bytes: &[u8], whole: usize, facts: &mut Facts) -> Option<Record> {
        let flags = flags(bytes)?;
        facts.lanes = Some(1 << (flags & 7).min(4));
        let speed = SPEEDS.iter().find(|(code, _)| *code == flags >> 8 & 3);
        // Records have no code for more than 5 GT/s: the comment of a writer of this crate does.
        if facts.rate_tenths.is_none_or(|rate| SPEEDS.iter().any(|(_, tenths)| rate == *tenths)) {
            facts.rate_tenths = speed.map(|(_, tenths)| *tenths).or(facts.rate_tenths);
        }
        let metadata = usize::from(u16::from_le_bytes([bytes[14], bytes[15]]) & 0x7fff);
        let body = &bytes[HEADER_BYTES..];
        let is_cut = whole > bytes.len();
        let body = if metadata == 0 { body } else { body.get(..metadata).unwrap_or(body) };
        let (packet, mut error) = match body.first() {
            Some(&STP) => self.tlp(body, is_cut),
            Some(&SDP) => match dllp::decode(&body[1..]) {
                Some((dllp, good)) => (Packet::Dllp(dllp), (!good).then_some(LinkError::BadCrc)),
                None => (Packet::Other, Some(LinkError::Malformed)),
            },
            _ => (Packet::Other, None),
        };
        if flags & (SYMBOL_ERROR | DISPARITY_ERROR) != 0 {
            error = Some(LinkError::BadSymbol);
        }
        let direction = if flags & UPSTREAM == 0 { Direction::Downstream } else { Direction::Upstream };
        Some(Record { direction, packet, error })
    }

    fn tlp(&mut self, body: &[u8], is_cut: bool) -> (Packet, Option<LinkError>) {
        let malformed = (Packet::Other, Some(LinkError::Malformed));
        let Some(&[_, high, low]) = body.first_chunk() else { return malformed };
        let Ok(mut read) = header::decode(&body[BEFORE..]) else { return malformed };
        read.tlp.sequence = Some(u16::from(high & 15) << 8 | u16::from(low));
        let end = BEFORE + read.bytes;
        let error = if let Some(tail) = body.get(end..end + LCRC_BYTES) {
            let good = crc32fast::hash(&body[1..end]).to_le_bytes() == *tail;
            self.has_lcrc |= good;
            match body.get(end + LCRC_BYTES) {
                Some(&EDB) => Some(LinkError::Nullified),
                _ => (!good && self.has_lcrc).then_some(LinkError::BadCrc),
            }
        } else {
            (!is_cut).then_some(LinkError::Malformed)
        };
        (Packet::Tlp(read.tlp), error)
    }
}
