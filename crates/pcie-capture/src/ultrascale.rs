//! Descriptors of AMD's hard blocks (UltraScale, UltraScale+, Versal): RQ, RC, CQ and CC in words of 32 bits.
//!
//! AMD PG213. Tags of more than 8 bits, processing hints and address types are not read.

use crate::event::{DATA_MOST, Direction, Kind, LinkError, Tlp};

/// An interface of a hard block in an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Requests of the device.
    Rq,
    /// Completions for the device.
    Rc,
    /// Requests to the device.
    Cq,
    /// Completions of the device.
    Cc,
}

impl Port {
    pub(crate) const ALL: [Self; 4] = [Self::Rq, Self::Rc, Self::Cq, Self::Cc];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Rq => "rq",
            Self::Rc => "rc",
            Self::Cq => "cq",
            Self::Cc => "cc",
        }
    }

    pub(crate) const fn direction(self) -> Direction {
        match self {
            Self::Rq | Self::Cc => Direction::Upstream,
            Self::Rc | Self::Cq => Direction::Downstream,
        }
    }

    /// Words of a descriptor.
    pub(crate) const fn descriptor_dw(self) -> usize {
        match self {
            Self::Rq | Self::Cq => 4,
            Self::Rc | Self::Cc => 3,
        }
    }

    /// Double words of data that a packet with this descriptor carries.
    pub(crate) fn data_dw(self, words: &[u32]) -> Option<usize> {
        let (count, carries) = match self {
            Self::Rq | Self::Cq => {
                let third = *words.get(2)?;
                let r#type = third >> 11 & 15;
                (third & 0x7ff, matches!(r#type, 1 | 3 | 4 | 5 | 6 | 10 | 11 | 12..=14))
            }
            Self::Rc | Self::Cc => (words.get(1)? & 0x7ff, true),
        };
        Some(if carries { count.min(1024) as usize } else { 0 })
    }

    /// Byte address modulo 64 of the data, for the address-aligned mode.
    pub(crate) fn data_offset(self, words: &[u32]) -> usize {
        words.first().map_or(0, |first| (first & 0x3c) as usize)
    }

    /// The interface of a packet.
    pub(crate) fn of(direction: Direction, kind: Kind) -> Option<Self> {
        Some(match (direction, kind) {
            (_, Kind::Prefix | Kind::DeferrableWrite) => return None,
            (Direction::Upstream, Kind::Completion { .. }) => Self::Cc,
            (Direction::Downstream, Kind::Completion { .. }) => Self::Rc,
            (Direction::Upstream, _) => Self::Rq,
            (Direction::Downstream, Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. }) => {
                return None;
            }
            (Direction::Downstream, _) => Self::Cq,
        })
    }
}

fn kind_of(r#type: u32, routing: u8) -> Option<Kind> {
    Some(match r#type {
        0 => Kind::MemoryRead,
        1 => Kind::MemoryWrite,
        2 => Kind::IoRead,
        3 => Kind::IoWrite,
        4 => Kind::FetchAdd,
        5 => Kind::Swap,
        6 => Kind::CompareAndSwap,
        7 => Kind::MemoryReadLocked,
        8 => Kind::ConfigurationRead { r#type: 0 },
        9 => Kind::ConfigurationRead { r#type: 1 },
        10 => Kind::ConfigurationWrite { r#type: 0 },
        11 => Kind::ConfigurationWrite { r#type: 1 },
        12..=14 => Kind::Message { routing },
        _ => return None,
    })
}

fn type_of(kind: Kind) -> u32 {
    match kind {
        Kind::MemoryRead | Kind::DeferrableWrite | Kind::Prefix | Kind::Completion { .. } => 0,
        Kind::MemoryWrite => 1,
        Kind::IoRead => 2,
        Kind::IoWrite => 3,
        Kind::FetchAdd => 4,
        Kind::Swap => 5,
        Kind::CompareAndSwap => 6,
        Kind::MemoryReadLocked => 7,
        Kind::ConfigurationRead { r#type: 0 } => 8,
        Kind::ConfigurationRead { .. } => 9,
        Kind::ConfigurationWrite { r#type: 0 } => 10,
        Kind::ConfigurationWrite { .. } => 11,
        Kind::Message { .. } => 12,
    }
}

/// The start of the data, little endian from the first word.
pub(crate) fn data_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().take(DATA_MOST / 4).flat_map(|word| word.to_le_bytes()).collect()
}

/// The TLP of a descriptor and the data behind it; `enables`: the first and last byte enables beside a request.
pub(crate) fn decode(
    port: Port,
    words: &[u32],
    data: &[u32],
    enables: Option<(u8, u8)>,
) -> Option<(Tlp, Option<LinkError>)> {
    let data_dw = port.data_dw(words)?;
    let mut error = None;
    let mut tlp = match port {
        Port::Rq | Port::Cq => {
            let &[first, second, third, fourth, ..] = words else { return None };
            let kind = kind_of(third >> 11 & 15, (fourth >> 16 & 7) as u8)?;
            let address = u64::from(second) << 32 | u64::from(first & !3);
            let id = (third >> 16) as u16;
            let mut tlp =
                Tlp { length_dw: (third & 0x7ff) as u16, tag: Some((fourth & 0xff) as u16), ..Tlp::of(kind) };
            let is_enabled = port == Port::Cq || fourth & 1 << 24 != 0;
            tlp.requester = is_enabled.then_some(id);
            match kind {
                Kind::Message { .. } => {
                    tlp.message_code = Some((fourth >> 8 & 0xff) as u8);
                    if data_dw == 0 {
                        tlp.length_dw = 0;
                    }
                }
                Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. } => {
                    tlp.address = Some(u64::from(first & 0xffc));
                    tlp.completer = Some((fourth >> 8 & 0xffff) as u16);
                }
                _ => {
                    tlp.address = Some(address);
                    if crate::header::is_addressed(kind) {
                        tlp.wide = Some(address >> 32 != 0);
                    }
                }
            }
            if !matches!(kind, Kind::Message { .. }) {
                tlp.first_enables = enables.map(|(first, _)| first);
                tlp.last_enables = enables.map(|(_, last)| last);
            }
            if port == Port::Rq {
                tlp.poisoned = Some(third & 1 << 15 != 0);
            }
            (tlp.traffic_class, tlp.attributes) =
                (Some((fourth >> 25 & 7) as u8), Some((fourth >> 28 & 7) as u8));
            tlp
        }
        Port::Rc | Port::Cc => {
            let &[first, second, third, ..] = words else { return None };
            let mut tlp = Tlp {
                length_dw: (second & 0x7ff) as u16,
                requester: Some((second >> 16) as u16),
                tag: Some((third & 0xff) as u16),
                status: Some((second >> 11 & 7) as u8),
                byte_count: Some((first >> 16 & 0x1fff) as u16),
                lower_address: Some((first & 0x7f) as u8),
                poisoned: Some(second & 1 << 14 != 0),
                traffic_class: Some((third >> 25 & 7) as u8),
                attributes: Some((third >> 28 & 7) as u8),
                ..Tlp::of(Kind::Completion { locked: first & 1 << 29 != 0 })
            };
            let is_enabled = port == Port::Rc || third & 1 << 24 != 0;
            tlp.completer = is_enabled.then_some((third >> 8 & 0xffff) as u16);
            if port == Port::Rc && !matches!(first >> 12 & 15, 0..=2) {
                error = Some(LinkError::Malformed);
            }
            tlp
        }
    };
    tlp.wide = tlp.wide.or(crate::header::fixed_width(tlp.kind));
    tlp.data_bytes = 4 * u32::try_from(data_dw).ok()?;
    tlp.data = data_bytes(&data[..data.len().min(data_dw)]);
    Some((tlp, error))
}

/// The words of a TLP on an interface, and its byte enables. Data that the event does not have are zero.
pub(crate) fn encode(port: Port, tlp: &Tlp) -> (Vec<u32>, (u8, u8)) {
    let count = if matches!(tlp.kind, Kind::Message { .. }) && tlp.data_bytes == 0 {
        0
    } else {
        u32::from(tlp.length_dw.min(1024))
    };
    let tag = u32::from(tlp.tag.unwrap_or(0) & 0xff);
    let class = u32::from(tlp.traffic_class.unwrap_or(0) & 7) << 25
        | u32::from(tlp.attributes.unwrap_or(0) & 7) << 28;
    let poisoned = tlp.poisoned == Some(true);
    let requester = u32::from(tlp.requester.unwrap_or(0)) << 16;
    let completer = u32::from(tlp.completer.unwrap_or(0)) << 8;
    let mut words = match port {
        Port::Rq | Port::Cq => {
            let address = tlp.address.unwrap_or(0) & !3;
            let third =
                count | type_of(tlp.kind) << 11 | u32::from(poisoned && port == Port::Rq) << 15 | requester;
            let middle = match tlp.kind {
                Kind::Message { routing } => {
                    u32::from(tlp.message_code.unwrap_or(0)) << 8 | u32::from(routing & 7) << 16
                }
                Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. } => completer,
                _ => 0,
            };
            let enable = u32::from(port == Port::Rq && tlp.requester.is_some()) << 24;
            vec![address as u32, (address >> 32) as u32, third, tag | middle | enable | class]
        }
        Port::Rc | Port::Cc => {
            let locked = u32::from(matches!(tlp.kind, Kind::Completion { locked: true })) << 29;
            let first = u32::from(tlp.lower_address.unwrap_or(0) & 0x7f)
                | u32::from(tlp.byte_count.unwrap_or(0) & 0x1fff) << 16
                | locked;
            let count = if tlp.data_bytes == 0 { 0 } else { count };
            let second =
                count | u32::from(tlp.status.unwrap_or(0) & 7) << 11 | u32::from(poisoned) << 14 | requester;
            let enable = u32::from(port == Port::Cc && tlp.completer.is_some()) << 24;
            vec![first, second, tag | completer | enable | class]
        }
    };
    let mut data = tlp.data.clone();
    data.resize(tlp.data_bytes as usize, 0);
    words.extend(
        data.chunks(4).map(|four| four.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))),
    );
    (words, (tlp.first_enables.unwrap_or(0) & 15, tlp.last_enables.unwrap_or(0) & 15))
}

/// First and last words of the packets in a beat, by `tuser`; `is_open`: a packet goes on from the beat before. None: the width
/// says nothing of them.
pub(crate) fn bounds(
    port: Port,
    width_dw: usize,
    user_bits: usize,
    user: &[u64],
    is_open: bool,
) -> Option<Bounds> {
    let bits = |at: usize, count: usize| -> u64 {
        let (word, shift) = (at / 64, at % 64);
        let low = user.get(word).copied().unwrap_or(0) >> shift;
        let high = if shift == 0 { 0 } else { user.get(word + 1).copied().unwrap_or(0) << (64 - shift) };
        (low | high) & ((1 << count) - 1)
    };
    let mut bounds = Bounds::default();
    let pairs = |bounds: &mut Bounds, sop: usize, starts: &[usize], eop: usize, ends: &[usize]| {
        for (packet, at) in starts.iter().enumerate() {
            if bits(sop + packet, 1) != 0 {
                bounds.starts.push(4 * bits(*at, 2) as usize);
            }
        }
        for (packet, at) in ends.iter().enumerate() {
            if bits(eop + packet, 1) != 0 {
                bounds.ends.push(bits(*at, 4) as usize);
            }
        }
    };
    match (port, width_dw) {
        (Port::Rq, 16) if user_bits >= 36 => {
            pairs(&mut bounds, 20, &[22, 24], 26, &[28, 32]);
            bounds.enables =
                vec![(bits(0, 4) as u8, bits(8, 4) as u8), (bits(4, 4) as u8, bits(12, 4) as u8)];
        }
        (Port::Cq, 16) if user_bits >= 96 => {
            pairs(&mut bounds, 80, &[82, 84], 86, &[88, 92]);
            bounds.enables =
                vec![(bits(0, 4) as u8, bits(8, 4) as u8), (bits(4, 4) as u8, bits(12, 4) as u8)];
        }
        (Port::Cc, 16) if user_bits >= 16 => pairs(&mut bounds, 0, &[2, 4], 6, &[8, 12]),
        (Port::Rc, 16) if user_bits >= 96 => {
            pairs(&mut bounds, 64, &[68, 70, 72, 74], 76, &[80, 84, 88, 92]);
        }
        (Port::Rc, ..=8) if user_bits >= 42 => {
            // Behind a packet that goes on, a start is in the upper half, whichever of the bits shows it.
            match (bits(32, 1) != 0, bits(33, 1) != 0, is_open) {
                (true, second, false) => {
                    bounds.starts.push(0);
                    bounds.starts.extend(second.then_some(4));
                }
                (first, second, _) => bounds.starts.extend((first || second).then_some(4)),
            }
            for at in [34, 38] {
                if bits(at, 1) != 0 {
                    bounds.ends.push(bits(at + 1, 3) as usize);
                }
            }
        }
        (Port::Rq | Port::Cq, _) if user_bits >= 8 => {
            bounds.enables = vec![(bits(0, 4) as u8, bits(4, 4) as u8)];
            bounds.is_silent = true;
        }
        _ => return None,
    }
    // A single start in the upper half: some models show its enables there.
    if let ([_], [first @ (0, 0), second]) = (&bounds.starts[..], &mut bounds.enables[..]) {
        std::mem::swap(first, second);
    }
    Some(bounds)
}

/// Where packets start and end in a beat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) starts: Vec<usize>,
    pub(crate) ends: Vec<usize>,
    /// First and last byte enables of the requests that start.
    pub(crate) enables: Vec<(u8, u8)>,
    /// Starts and ends are not in it: `tlast` and `tkeep` say them.
    pub(crate) is_silent: bool,
}

/// `tuser` of a beat at 512 bits with at most one packet: whether it starts, the lane of its last word if it ends.
pub(crate) fn user_512(port: Port, starts: bool, end: Option<usize>, enables: (u8, u8)) -> [u64; 3] {
    let mut user = [0; 3];
    let mut set = |at: usize, value: u64| {
        user[at / 64] |= value << (at % 64);
        if at % 64 > 60 {
            user[at / 64 + 1] |= value >> (64 - at % 64);
        }
    };
    let (sop, eop, end_at) = match port {
        Port::Rq => (20, 26, 28),
        Port::Cq => (80, 86, 88),
        Port::Cc => (0, 6, 8),
        Port::Rc => (64, 76, 80),
    };
    if starts {
        set(sop, 1);
        if matches!(port, Port::Rq | Port::Cq) {
            set(0, enables.0.into());
            set(8, enables.1.into());
        }
    }
    if let Some(lane) = end {
        set(eop, 1);
        set(end_at, lane as u64);
    }
    user
}

/// Bits of `tuser` at 512 bits.
pub(crate) const fn user_bits_512(port: Port) -> usize {
    match port {
        Port::Rq => 137,
        Port::Rc => 161,
        Port::Cq => 183,
        Port::Cc => 81,
    }
}
