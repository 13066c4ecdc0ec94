//! Random packets for tests.

use crate::event::{DATA_MOST, Dllp, Kind, Tlp};
use crate::header::{carries_data, is_addressed, is_wide};
use proptest::prelude::*;

/// Any kind of TLP with a header.
pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::MemoryRead),
        4 => Just(Kind::MemoryWrite),
        4 => Just(Kind::Completion { locked: false }),
        1 => Just(Kind::Completion { locked: true }),
        1 => Just(Kind::MemoryReadLocked),
        1 => Just(Kind::DeferrableWrite),
        1 => Just(Kind::IoRead),
        1 => Just(Kind::IoWrite),
        1 => (0..2_u8).prop_map(|r#type| Kind::ConfigurationRead { r#type }),
        1 => (0..2_u8).prop_map(|r#type| Kind::ConfigurationWrite { r#type }),
        1 => Just(Kind::FetchAdd),
        1 => Just(Kind::Swap),
        1 => Just(Kind::CompareAndSwap),
        1 => (0..6_u8).prop_map(|routing| Kind::Message { routing }),
    ]
}

/// A TLP with every field that its header has, and as much of its data as events keep.
pub(crate) fn tlp() -> impl Strategy<Value = Tlp> {
    let sizes = (any::<bool>(), prop_oneof![4 => 1..=32_u16, 1 => 1..=1024_u16], any::<bool>());
    let ids = (any::<u16>(), any::<u16>(), 0..1024_u16, any::<u8>());
    let rest = (0..8_u8, 0..8_u8, any::<bool>(), any::<bool>(), 0..4096_u16, any::<[u8; DATA_MOST]>());
    (kind(), sizes, ids, any::<u64>(), rest).prop_map(
        |(kind, (wide, length, has_data), (requester, completer, tag, enables), address, rest)| {
            let (traffic_class, attributes, digest, poisoned, sequence, data) = rest;
            let has_data = carries_data(kind).unwrap_or(has_data);
            let single =
                !(is_addressed(kind) || matches!(kind, Kind::Completion { .. } | Kind::Message { .. }));
            let length = if single { 1 } else { length };
            let meaningless = carries_data(kind).is_none() && !has_data;
            let mut tlp = Tlp {
                length_dw: if meaningless { 0 } else { length },
                data_bytes: if has_data { 4 * u32::from(length) } else { 0 },
                requester: Some(requester),
                tag: Some(tag),
                traffic_class: Some(traffic_class),
                attributes: Some(attributes),
                digest: Some(digest),
                poisoned: Some(poisoned),
                sequence: Some(sequence),
                data: if has_data {
                    data[..DATA_MOST.min(4 * usize::from(length))].to_vec()
                } else {
                    Vec::new()
                },
                ..Tlp::of(kind)
            };
            match kind {
                Kind::Completion { .. } => {
                    tlp.completer = Some(completer);
                    tlp.status = Some([0, 1, 2, 4][usize::from(enables & 3)]);
                    tlp.byte_count = Some((completer & 0xfff) + 1);
                    tlp.lower_address = Some(enables & 0x7f);
                }
                Kind::Message { .. } => tlp.message_code = Some(enables),
                _ => {
                    tlp.first_enables = Some(enables & 15);
                    tlp.last_enables = Some(enables >> 4);
                    tlp.address = Some(match kind {
                        Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. } => address & 0xffc,
                        Kind::IoRead | Kind::IoWrite => address & 0xffff_fffc,
                        _ if wide => address & !3 | 1 << 32,
                        _ => address & 0xffff_fffc,
                    });
                    if matches!(kind, Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. }) {
                        tlp.completer = Some(completer);
                    }
                }
            }
            tlp.wide = Some(is_wide(&tlp));
            tlp
        },
    )
}

/// Any DLLP.
pub(crate) fn dllp() -> impl Strategy<Value = Dllp> {
    let sequence = 0..4096_u16;
    let credits = (any::<bool>(), 0..3_u8, 0..8_u8, 0..256_u16, 0..4096_u16, 0..4_u8, 0..4_u8);
    prop_oneof![
        sequence.clone().prop_map(|sequence| Dllp::Ack { sequence }),
        sequence.prop_map(|sequence| Dllp::Nak { sequence }),
        credits.prop_map(|(initial, class, channel, header, data, header_scale, data_scale)| {
            Dllp::Credits { initial, class, channel, header, data, header_scale, data_scale }
        }),
        prop::sample::select(vec![0x02, 0x20, 0x21, 0x23, 0x24, 0x30, 0x31])
            .prop_map(|r#type| Dllp::Other { r#type }),
    ]
}
