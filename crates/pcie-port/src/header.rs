//! Reading the header of a TLP, as it is on the link (PCI Express Base Specification, section 2.2).
//!
//! Non-flit headers without prefixes, of what a device sends to memory: read and write requests, and messages.

use crate::tlp::{Kind, Tlp};
use thiserror::Error;

/// Why bytes are not a TLP that a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Fewer bytes than the header, or the header and its data, have.
    #[error("{given} bytes of a TLP that has {need}: give all of it")]
    Short {
        /// Bytes given.
        given: usize,
        /// Bytes that it has.
        need: usize,
    },
    /// A format and type that is no request of a device to memory.
    #[error("format and type are {0:#04x}: give a memory read, a memory write or a message")]
    Type(u8),
    /// Byte enables that leave a hole, or that the specification forbids.
    #[error("byte enables are {first:#x} and {last:#x} for {dwords} double words: give one run of bytes")]
    Enables {
        /// First DW BE.
        first: u8,
        /// Last DW BE.
        last: u8,
        /// Length of the TLP.
        dwords: u32,
    },
    /// A poisoned TLP.
    #[error("the TLP is poisoned: its data must not be used")]
    Poisoned,
    /// Address bits that do not fit the format.
    #[error("address {0:#x} does not fit the header: addresses below 4 GiB have headers of 12 bytes")]
    Address(u64),
}

const FORMAT_HAS_DATA: u8 = 0x40;
const FORMAT_FOUR_DWORDS: u8 = 0x20;
const MEMORY: u8 = 0x00;
const ATTRIBUTE_RELAXED: u8 = 0x20;

/// Reads the TLP that starts with `bytes`: its header and, where it has them, its data. A digest may follow.
///
/// # Errors
/// Names what is malformed.
pub fn parse_header(bytes: &[u8]) -> Result<Tlp, HeaderError> {
    let short = |need| HeaderError::Short { given: bytes.len(), need };
    let [kind, tag_high, flags, low, ..] = *bytes else { return Err(short(12)) };
    let header = if kind & FORMAT_FOUR_DWORDS == 0 { 12 } else { 16 };
    let has_data = kind & FORMAT_HAS_DATA != 0;
    let is_message = kind & 0x38 == 0x30 && !has_data;
    let relaxed = flags & ATTRIBUTE_RELAXED != 0;
    if kind & 0x80 != 0 || (kind & 0x1f != MEMORY && !is_message) {
        return Err(HeaderError::Type(kind));
    }
    let dwords = match u32::from(flags & 3) << 8 | u32::from(low) {
        0 => 1024,
        dwords => dwords,
    };
    let need = header + if has_data { 4 * dwords as usize } else { 0 };
    if bytes.len() < need {
        return Err(short(need));
    }
    if flags & 0x40 != 0 {
        return Err(HeaderError::Poisoned);
    }
    // Tags of 10 bits have two more in the first double word.
    let tag = u16::from(bytes[6]) | u16::from(tag_high & 0x80) << 2 | u16::from(tag_high & 0x08) << 5;
    if is_message {
        return Ok(Tlp { kind: Kind::Message, tag, address: 0, length: 0, relaxed });
    }
    let base = address(bytes, header)?;
    let (lead, trail) = left_out(bytes[7] & 15, bytes[7] >> 4, dwords)?;
    let kind = if has_data { Kind::Write } else { Kind::Read };
    let length = 4 * dwords - lead - trail;
    Ok(Tlp { kind, tag, address: base.saturating_add(lead.into()), length, relaxed })
}

/// The address of the first double word.
fn address(bytes: &[u8], header: usize) -> Result<u64, HeaderError> {
    let address = bytes[8..header].iter().fold(0, |address, &byte| address << 8 | u64::from(byte)) & !3;
    let fits = header == 12 || address >> 32 != 0;
    if fits { Ok(address) } else { Err(HeaderError::Address(address)) }
}

/// Bytes that the enables leave out at the start and at the end.
pub(crate) fn left_out(first: u8, last: u8, dwords: u32) -> Result<(u32, u32), HeaderError> {
    let (lead, behind) = (first.trailing_zeros(), last.leading_zeros().saturating_sub(4));
    let run = |enables: u8, from: u32, to: u32| u32::from(enables) == (1 << to) - (1 << from);
    let alone = dwords == 1 && last == 0 && first != 0 && run(first, lead, 8 - first.leading_zeros());
    let several = dwords > 1 && first != 0 && last != 0 && run(first, lead, 4) && run(last, 0, 4 - behind);
    if alone {
        Ok((lead, first.leading_zeros() - 4))
    } else if several {
        Ok((lead, behind))
    } else {
        Err(HeaderError::Enables { first, last, dwords })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(write: bool, dwords: u32, enables: u8, address: u64) -> Vec<u8> {
        let wide = address >> 32 != 0;
        let kind = u8::from(write) << 6 | u8::from(wide) << 5;
        let mut bytes = vec![kind, 0, (dwords >> 8 & 3) as u8, dwords as u8, 1, 0, 9, enables];
        if wide {
            bytes.extend(address.to_be_bytes());
        } else {
            bytes.extend((address as u32).to_be_bytes());
        }
        bytes.extend(vec![0; if write { 4 * dwords as usize } else { 0 }]);
        bytes
    }

    #[test]
    fn requests_are_read_with_their_enables() {
        let read = parse_header(&request(false, 16, 0xff, 0x1_2340_0000)).unwrap();
        let of = |kind, address, length| Tlp { kind, tag: 9, address, length, relaxed: false };
        assert_eq!(read, of(Kind::Read, 0x1_2340_0000, 64));
        let write = parse_header(&request(true, 2, 0x1c, 0x1000)).unwrap();
        assert_eq!(write, of(Kind::Write, 0x1002, 3));
        let one = parse_header(&request(true, 1, 0x06, 0x1000)).unwrap();
        assert_eq!((one.address, one.length), (0x1001, 2));
        let most = parse_header(&request(false, 1024, 0xff, 0x1000)).unwrap();
        assert_eq!(most.length, 4096);
    }

    #[test]
    fn messages_and_wide_tags_are_read() {
        let message = [0x34, 0, 0, 0, 1, 0, 3, 0x20, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(parse_header(&message).unwrap().kind, Kind::Message);
        let mut read = request(false, 1, 0x0f, 0x1000);
        read[1] = 0x88;
        assert_eq!(parse_header(&read).unwrap().tag, 0x309);
    }

    #[test]
    fn malformed_headers_are_refused() {
        let good = request(true, 2, 0xff, 0x1000);
        assert!(matches!(parse_header(&[]), Err(HeaderError::Short { .. })));
        assert!(matches!(parse_header(&good[..19]), Err(HeaderError::Short { given: 19, need: 20 })));
        let with = |at: usize, value| {
            let mut bytes = good.clone();
            bytes[at] = value;
            parse_header(&bytes)
        };
        assert_eq!(with(0, 0x4a), Err(HeaderError::Type(0x4a)));
        assert_eq!(with(0, 0x80), Err(HeaderError::Type(0x80)));
        assert_eq!(with(2, 0x40), Err(HeaderError::Poisoned));
        for enables in [0x00, 0xf0, 0x0f, 0xf5, 0xaf, 0xf7] {
            assert!(matches!(with(7, enables), Err(HeaderError::Enables { .. })), "{enables:#x}");
        }
        let mut low = request(false, 1, 0x0f, 1 << 32);
        low[11] = 0;
        assert_eq!(parse_header(&low), Err(HeaderError::Address(0)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(tlp) = parse_header(&bytes) {
                prop_assert!(tlp.length <= 4096);
            }
        }
    }
}
