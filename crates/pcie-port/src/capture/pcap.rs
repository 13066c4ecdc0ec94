//! Packets of a capture in pcap, the format before pcap-ng (draft-ietf-opsawg-pcap): a header of 24 bytes with the link
//! type of all packets, and a record of 16 bytes in front of each packet.

use super::{PACKETS_BETWEEN_LOOKS, Packet};
use pcie_refusal::{Kind, Refusal};

/// First words of the format, with the units of its times in a second.
const MAGIC: [(u32, u128); 2] = [(0xa1b2_c3d4, 1_000_000), (0xa1b2_3c4d, 1_000_000_000)];
const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;
const MAJOR_VERSION: u16 = 2;
/// The link type is in the lower bits; higher ones tell of frame check sequences.
const LINK_TYPE_BITS: u32 = (1 << 28) - 1;
const PICOSECONDS: u128 = 1_000_000_000_000;

/// Byte order and units of time of a file.
#[derive(Clone, Copy)]
pub(super) struct Format {
    little: bool,
    units_per_second: u128,
}

impl Format {
    /// The format of a file; `None` if it is no pcap.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let word: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
        MAGIC.iter().find_map(|&(magic, units_per_second)| {
            let little = magic.to_le_bytes() == word;
            (little || magic.to_be_bytes() == word).then_some(Self { little, units_per_second })
        })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) })
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let half = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(if self.little { u16::from_le_bytes(half) } else { u16::from_be_bytes(half) })
    }

    /// The packets, until `stopped` returns true, which is asked between packets.
    pub(super) fn packets<'a>(
        self,
        bytes: &'a [u8],
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Packet<'a>>, Refusal> {
        let damaged = |at: usize, problem: &str| {
            Refusal::new(format!("byte {at}: {problem}"))
                .kind(Kind::Malformed)
                .remedy("give a whole capture in pcap or pcap-ng")
        };
        let version = self.u16(bytes, 4).filter(|major| *major == MAJOR_VERSION);
        let (Some(_), Some(network)) = (version, self.u32(bytes, 20)) else {
            return Err(damaged(4, "no header of pcap 2"));
        };
        let (mut packets, mut at) = (Vec::new(), HEADER_BYTES);
        for number in 1_u32.. {
            if at >= bytes.len() || (number.is_multiple_of(PACKETS_BETWEEN_LOOKS) && stopped()) {
                break;
            }
            let packet = self.packet(&bytes[at..], network & LINK_TYPE_BITS);
            let packet = packet.ok_or_else(|| damaged(at, "half a packet"))?;
            at += RECORD_BYTES + packet.bytes.len();
            packets.push(packet);
        }
        Ok(packets)
    }

    /// The packet at the start of some bytes; `None` if they do not hold all of it.
    fn packet<'a>(self, rest: &'a [u8], link_type: u32) -> Option<Packet<'a>> {
        let (seconds, units) = (self.u32(rest, 0)?, self.u32(rest, 4)?);
        let captured = self.u32(rest, 8)? as usize;
        let bytes = rest.get(RECORD_BYTES..)?.get(..captured)?;
        let at = u128::from(seconds) * PICOSECONDS + u128::from(units) * PICOSECONDS / self.units_per_second;
        Some(Packet { at, link_type, bytes })
    }
}
