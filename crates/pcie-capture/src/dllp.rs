//! Data link layer packets: 4 bytes and a CRC of 16 bits (PCI Express Base Specification, section 3.5).

use crate::event::Dllp;

/// Bytes of a DLLP with its CRC.
pub const BYTES: usize = 6;
/// The generator polynomial 0x100b, reflected.
const POLYNOMIAL: u16 = 0xd008;
const ACK: u8 = 0x00;
const NAK: u8 = 0x10;

/// The CRC of a DLLP's first bytes, first byte on the link lowest.
#[must_use]
pub fn crc(bytes: &[u8]) -> u16 {
    !bytes.iter().fold(0xffff, |crc, &byte| {
        (0..8)
            .fold(crc ^ u16::from(byte), |crc, _| if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ POLYNOMIAL })
    })
}

/// Reads a DLLP; the flag says whether its CRC is right. None: fewer than 6 bytes.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(Dllp, bool)> {
    let &[first, a, b, c, low, high] = bytes.first_chunk()?;
    let body = u32::from_be_bytes([0, a, b, c]);
    let sequence = (body & 0xfff) as u16;
    let dllp = match first {
        ACK => Dllp::Ack { sequence },
        NAK => Dllp::Nak { sequence },
        0x40..=0xef if first >> 4 & 3 != 3 && first & 8 == 0 => Dllp::Credits {
            initial: first >> 6 != 2,
            class: first >> 4 & 3,
            channel: first & 7,
            header: (body >> 14 & 0xff) as u16,
            data: sequence,
            header_scale: (body >> 22 & 3) as u8,
            data_scale: (body >> 12 & 3) as u8,
        },
        r#type => Dllp::Other { r#type },
    };
    Some((dllp, crc(&bytes[..4]) == u16::from_le_bytes([low, high])))
}

/// The bytes of a DLLP with its CRC. Initial credits are `InitFC1`; the body of others is zero.
#[must_use]
pub fn encode(dllp: Dllp) -> [u8; BYTES] {
    let (first, body) = match dllp {
        Dllp::Ack { sequence } => (ACK, u32::from(sequence & 0xfff)),
        Dllp::Nak { sequence } => (NAK, u32::from(sequence & 0xfff)),
        Dllp::Credits { initial, class, channel, header, data, header_scale, data_scale } => {
            let first = if initial { 0x40 } else { 0x80 } | (class & 3) << 4 | channel & 7;
            let header = u32::from(header_scale & 3) << 22 | u32::from(header & 0xff) << 14;
            (first, header | u32::from(data_scale & 3) << 12 | u32::from(data & 0xfff))
        }
        Dllp::Other { r#type } => (r#type, 0),
    };
    let [_, a, b, c] = body.to_be_bytes();
    let [low, high] = crc(&[first, a, b, c]).to_le_bytes();
    [first, a, b, c, low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;

    #[test]
    fn an_update_of_credits_has_its_fields() {
        // UpdateFC-NP of channel 1: 32 headers, scale x4; 100 units of data, scale x16.
        let bytes = [0x91, 0x88, 0x30, 0x64];
        let crc = crc(&bytes).to_le_bytes();
        let (dllp, good) = decode(&[&bytes[..], &crc].concat()).unwrap();
        let (header, data, header_scale, data_scale) = (32, 100, 2, 3);
        let credits =
            Dllp::Credits { initial: false, class: 1, channel: 1, header, data, header_scale, data_scale };
        assert_eq!((dllp, good), (credits, true));
        assert_eq!(decode(&[0; 5]), None);
        assert_eq!(decode(&[0, 0, 0, 7, 1, 2]), Some((Dllp::Ack { sequence: 7 }, false)));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(dllp in samples::dllp()) {
            prop_assert_eq!(decode(&encode(dllp)), Some((dllp, true)));
        }
    }
}
