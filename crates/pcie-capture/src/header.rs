//! Headers of TLPs, as they are on a link: bytes to [`Tlp`] and back.
//!
//! PCI Express Base Specification, section 2.2: headers of 3 or 4 double words, with tags of up to 10 bits, behind
//! any number of prefixes. Prefixes, processing hints and address types are passed over. Headers of flit mode have
//! another layout and are not read.

use crate::event::{DATA_MOST, Kind, Tlp};

const HAS_DATA: u8 = 0x40;
const FOUR_DOUBLE_WORDS: u8 = 0x20;
const PREFIX: u8 = 0x80;
/// Prefixes before one header: the specification allows fewer.
const PREFIXES_MOST: usize = 8;

/// A TLP, and where it is in its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Its fields. Reserved fields are left out.
    pub tlp: Tlp,
    /// Bytes from its first prefix to the end of its digest, whether or not all of them are given.
    pub bytes: usize,
}

/// Why bytes are no TLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The header ends early.
    Short,
    /// A format and type that the specification reserves.
    Reserved(u8),
}

/// What a format and type stand for; None: reserved.
#[must_use]
pub const fn kind_of(format_and_type: u8) -> Option<Kind> {
    Some(match format_and_type {
        0x00 | 0x20 => Kind::MemoryRead,
        0x01 | 0x21 => Kind::MemoryReadLocked,
        0x40 | 0x60 => Kind::MemoryWrite,
        0x5b | 0x7b => Kind::DeferrableWrite,
        0x02 => Kind::IoRead,
        0x42 => Kind::IoWrite,
        0x04 => Kind::ConfigurationRead { r#type: 0 },
        0x05 => Kind::ConfigurationRead { r#type: 1 },
        0x44 => Kind::ConfigurationWrite { r#type: 0 },
        0x45 => Kind::ConfigurationWrite { r#type: 1 },
        0x0a | 0x4a => Kind::Completion { locked: false },
        0x0b | 0x4b => Kind::Completion { locked: true },
        0x4c | 0x6c => Kind::FetchAdd,
        0x4d | 0x6d => Kind::Swap,
        0x4e | 0x6e => Kind::CompareAndSwap,
        0x30..=0x35 | 0x70..=0x75 => Kind::Message { routing: format_and_type & 7 },
        _ => return None,
    })
}

/// Whether the address of a kind has 32 bits in headers of 3 double words and 64 in those of 4.
#[must_use]
pub const fn is_addressed(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::MemoryRead
            | Kind::MemoryReadLocked
            | Kind::MemoryWrite
            | Kind::DeferrableWrite
            | Kind::FetchAdd
            | Kind::Swap
            | Kind::CompareAndSwap
    )
}

/// Whether headers of a kind have 4 double words, where all of its have as many.
#[must_use]
pub const fn fixed_width(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Message { .. } => Some(true),
        Kind::Prefix => None,
        kind if is_addressed(kind) => None,
        _ => Some(false),
    }
}

/// Whether a kind carries data: None for those that may.
#[must_use]
pub const fn carries_data(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Completion { .. } | Kind::Message { .. } => None,
        Kind::MemoryRead
        | Kind::MemoryReadLocked
        | Kind::IoRead
        | Kind::ConfigurationRead { .. }
        | Kind::Prefix => Some(false),
        _ => Some(true),
    }
}

/// Format and type of a TLP; None for a prefix.
#[must_use]
pub fn format_and_type(tlp: &Tlp) -> Option<u8> {
    let wide = if is_wide(tlp) { FOUR_DOUBLE_WORDS } else { 0 };
    let data = if tlp.data_bytes > 0 { HAS_DATA } else { 0 };
    Some(match tlp.kind {
        Kind::MemoryRead => wide,
        Kind::MemoryReadLocked => 0x01 | wide,
        Kind::MemoryWrite => 0x40 | wide,
        Kind::DeferrableWrite => 0x5b | wide,
        Kind::IoRead => 0x02,
        Kind::IoWrite => 0x42,
        Kind::ConfigurationRead { r#type } => 0x04 | (r#type & 1),
        Kind::ConfigurationWrite { r#type } => 0x44 | (r#type & 1),
        Kind::FetchAdd => 0x4c | wide,
        Kind::Swap => 0x4d | wide,
        Kind::CompareAndSwap => 0x4e | wide,
        Kind::Message { routing } => 0x30 | routing & 7 | data,
        Kind::Completion { locked } => 0x0a | u8::from(locked) | data,
        Kind::Prefix => return None,
    })
}

/// Whether the header has 4 double words: as the source says, else as its address needs.
#[must_use]
pub fn is_wide(tlp: &Tlp) -> bool {
    let above = tlp.address.is_some_and(|address| address >> 32 != 0);
    match tlp.kind {
        Kind::Message { .. } => true,
        kind if is_addressed(kind) => tlp.wide.unwrap_or(above) || above,
        _ => false,
    }
}

/// Reads the TLP at the start of some bytes; a capture may have cut off its data.
///
/// # Errors
/// The header ends early, or is reserved.
pub fn decode(bytes: &[u8]) -> Result<Decoded, Malformed> {
    let mut prefixes = 0;
    while bytes.get(4 * prefixes).is_some_and(|first| first & PREFIX != 0) {
        prefixes += 1;
        if prefixes > PREFIXES_MOST {
            return Err(Malformed::Reserved(bytes[0]));
        }
    }
    let rest = &bytes[4 * prefixes.min(bytes.len() / 4)..];
    let Some(&[first, high, flags, low, a, b, tag_low, enables, c, d, e, f]) = rest.first_chunk() else {
        return Err(rest.first().map_or(Malformed::Short, |&first| {
            if kind_of(first).is_some() { Malformed::Short } else { Malformed::Reserved(first) }
        }));
    };
    let kind = kind_of(first).ok_or(Malformed::Reserved(first))?;
    let wide = first & FOUR_DOUBLE_WORDS != 0;
    let header = if wide { 16 } else { 12 };
    if rest.len() < header {
        return Err(Malformed::Short);
    }
    let has_data = first & HAS_DATA != 0;
    let length = u16::from(flags & 3) << 8 | u16::from(low);
    let length = if length == 0 { 1024 } else { length };
    let data_bytes = if has_data { 4 * u32::from(length) } else { 0 };
    let meaningless = carries_data(kind).is_none() && !has_data;
    let digest = flags & 0x80 != 0;
    let second = u16::from_be_bytes([a, b]);
    let third = u32::from_be_bytes([c, d, e, f]);
    let tag = |low: u8| u16::from(low) | u16::from(high & 0x80) << 2 | u16::from(high & 0x08) << 5;
    let data = rest[header..].get(..data_bytes as usize).unwrap_or(&rest[header..]);
    let mut tlp = Tlp {
        wide: Some(wide),
        length_dw: if meaningless { 0 } else { length },
        data_bytes,
        traffic_class: Some(high >> 4 & 7),
        attributes: Some(flags >> 4 & 3 | high & 4),
        digest: Some(digest),
        poisoned: Some(flags & 0x40 != 0),
        data: data[..data.len().min(DATA_MOST)].to_vec(),
        ..Tlp::of(kind)
    };
    match kind {
        Kind::Completion { .. } => {
            let count = u16::from(tag_low & 15) << 8 | u16::from(enables);
            let requester = u16::from_be_bytes([c, d]);
            tlp.completer = Some(second);
            tlp.status = Some(tag_low >> 5);
            tlp.byte_count = Some(if count == 0 { 4096 } else { count });
            tlp.requester = Some(requester);
            tlp.tag = Some(tag(e));
            tlp.lower_address = Some(f & 0x7f);
        }
        Kind::Message { .. } => {
            tlp.requester = Some(second);
            tlp.tag = Some(tag(tag_low));
            tlp.message_code = Some(enables);
        }
        _ => {
            tlp.requester = Some(second);
            tlp.tag = Some(tag(tag_low));
            tlp.first_enables = Some(enables & 15);
            tlp.last_enables = Some(enables >> 4);
            match kind {
                Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. } => {
                    tlp.completer = Some(u16::from_be_bytes([c, d]));
                    tlp.address = Some(u64::from(third & 0xffc));
                }
                _ if wide => {
                    let low = rest.get(12..16).map_or(0, u32_of);
                    tlp.address = Some(u64::from(third) << 32 | u64::from(low & !3));
                }
                _ => tlp.address = Some(u64::from(third & !3)),
            }
        }
    }
    let bytes = 4 * prefixes + header + data_bytes as usize + if digest { 4 } else { 0 };
    Ok(Decoded { tlp, bytes })
}

fn u32_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Appends the header of a TLP, and what is known of its data; a missing field is written as zero. Appends nothing
/// for a prefix.
pub fn encode(tlp: &Tlp, to: &mut Vec<u8>) {
    let Some(first) = format_and_type(tlp) else { return };
    let tag = tlp.tag.unwrap_or(0);
    let attributes = tlp.attributes.unwrap_or(0);
    let length = tlp.length_dw & 0x3ff;
    let high = (tlp.traffic_class.unwrap_or(0) & 7) << 4
        | ((tag >> 2 & 0x80) as u8)
        | ((tag >> 5 & 0x08) as u8)
        | attributes & 4;
    let flags = u8::from(tlp.digest == Some(true)) << 7
        | u8::from(tlp.poisoned == Some(true)) << 6
        | (attributes & 3) << 4
        | (length >> 8) as u8;
    to.extend([first, high, flags, length as u8]);
    let requester = tlp.requester.unwrap_or(0).to_be_bytes();
    let completer = tlp.completer.unwrap_or(0).to_be_bytes();
    match tlp.kind {
        Kind::Completion { .. } => {
            let count = tlp.byte_count.unwrap_or(0) & 0xfff;
            to.extend(completer);
            to.extend([tlp.status.unwrap_or(0) << 5 | (count >> 8) as u8, count as u8]);
            to.extend(requester);
            to.extend([tag as u8, tlp.lower_address.unwrap_or(0) & 0x7f]);
        }
        Kind::Message { .. } => {
            to.extend(requester);
            to.extend([tag as u8, tlp.message_code.unwrap_or(0)]);
            to.extend(tlp.address.unwrap_or(0).to_be_bytes());
        }
        kind => {
            to.extend(requester);
            let enables = (tlp.last_enables.unwrap_or(0) & 15) << 4 | tlp.first_enables.unwrap_or(0) & 15;
            to.extend([tag as u8, enables]);
            let address = tlp.address.unwrap_or(0) & !3;
            match kind {
                Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. } => {
                    to.extend(completer);
                    to.extend(((address & 0xffc) as u16).to_be_bytes());
                }
                _ if is_wide(tlp) => to.extend(address.to_be_bytes()),
                _ => to.extend((address as u32).to_be_bytes()),
            }
        }
    }
    to.extend(&tlp.data);
}

/// Bytes of a TLP on the link between its sequence number and its LCRC.
#[must_use]
pub fn size(tlp: &Tlp) -> usize {
    let header = if is_wide(tlp) { 16 } else { 12 };
    header + tlp.data_bytes as usize + if tlp.digest == Some(true) { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<u8> {
        let words = text.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap());
        words.flat_map(u32::to_be_bytes).collect()
    }

    /// A TLP with all fields that every header has.
    fn plain(kind: Kind, wide: bool, length_dw: u16) -> Tlp {
        Tlp {
            wide: Some(wide),
            length_dw,
            traffic_class: Some(0),
            attributes: Some(0),
            digest: Some(false),
            poisoned: Some(false),
            ..Tlp::of(kind)
        }
    }

    #[test]
    fn headers_of_a_kernel_log_are_read() {
        let request = |kind, wide, length, requester, tag, enables: u8, address| Tlp {
            requester: Some(requester),
            tag: Some(tag),
            first_enables: Some(enables & 15),
            last_enables: Some(enables >> 4),
            address: Some(address),
            ..plain(kind, wide, length)
        };
        let completion = |length, completer, status, count, requester, tag, lower| Tlp {
            completer: Some(completer),
            status: Some(status),
            byte_count: Some(count),
            requester: Some(requester),
            tag: Some(tag),
            lower_address: Some(lower),
            ..plain(Kind::Completion { locked: false }, false, length)
        };
        let write = |data_bytes, tlp| Tlp { data_bytes, ..tlp };
        let read = |text| decode(&words(text)).unwrap();
        assert_eq!(
            read("40000001 0000000f fee00438"),
            Decoded {
                tlp: write(4, request(Kind::MemoryWrite, false, 1, 0, 0, 0x0f, 0xfee0_0438)),
                bytes: 16
            }
        );
        assert_eq!(
            read("60000040 030000ff 00000001 2a4c1000").tlp,
            write(256, request(Kind::MemoryWrite, true, 64, 0x300, 0, 0xff, 0x1_2a4c_1000))
        );
        assert_eq!(
            read("20000080 030012ff 0000003f 80000000").tlp,
            request(Kind::MemoryRead, true, 128, 0x300, 0x12, 0xff, 0x3f_8000_0000)
        );
        assert_eq!(read("4a000001 01000004 00000d08").tlp, write(4, completion(1, 0x100, 0, 4, 0, 0x0d, 8)));
        let refused = read("0a002001 00012000 0300072c").tlp;
        let relaxed = Tlp { attributes: Some(2), ..completion(0, 1, 1, 4096, 0x300, 7, 0x2c) };
        assert_eq!(refused, relaxed);
        assert_eq!(
            read("4a000010 00000040 03001240").tlp,
            write(64, completion(16, 0, 0, 64, 0x300, 0x12, 0x40))
        );
    }

    #[test]
    fn prefixes_and_wide_tags_are_read() {
        let read = decode(&words("90000000 8e000000 008c0001 0300abff 00001000")).unwrap();
        assert_eq!((read.bytes, read.tlp.tag, read.tlp.attributes), (20, Some(0x3ab), Some(4)));
        assert_eq!(decode(&[0x90; 40]), Err(Malformed::Reserved(0x90)));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        assert_eq!(decode(&[]), Err(Malformed::Short));
        assert_eq!(decode(&[0x60; 15]), Err(Malformed::Short));
        assert_eq!(decode(&[0x1f; 3]), Err(Malformed::Reserved(0x1f)));
        assert_eq!(decode(&[0x7f; 20]), Err(Malformed::Reserved(0x7f)));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(tlp in samples::tlp()) {
            let mut bytes = Vec::new();
            encode(&tlp, &mut bytes);
            let read = decode(&bytes).unwrap();
            prop_assert_eq!(read.bytes, size(&tlp));
            prop_assert_eq!(read.tlp, Tlp { sequence: None, ..tlp });
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(read) = decode(&bytes) {
                let mut again = Vec::new();
                encode(&read.tlp, &mut again);
                prop_assert_eq!(decode(&again).map(|read| read.tlp), Ok(read.tlp));
            }
        }
    }
}
