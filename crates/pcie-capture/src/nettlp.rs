//! TLPs in Ethernet, as NetTLP sends them: UDP with a sequence number (2 bytes) and a time (4 bytes) before each TLP.
//!
//! The port says who made the request: 0x3000 and more the software library, for a device (its requests go
//! upstream); 0x4000 and more the host of the adapter (downstream). See `libtlp.h` of github.com/NetTLP/libtlp.

use crate::event::{Direction, Kind};

const UDP: u8 = 17;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 2] = [0x8100, 0x88a8];
/// Bytes of NetTLP's own header.
const OWN_BYTES: usize = 6;
const LIBRARY: u16 = 0x3000;
const HOST: u16 = 0x4000;
const LAST: u16 = 0x4fff;

/// A TLP's position in a frame, and who made its request.
pub(crate) struct Found<'a> {
    pub(crate) tlp: &'a [u8],
    by_library: bool,
}

impl Found<'_> {
    /// The way of a TLP of this kind.
    pub(crate) fn direction(&self, kind: Kind) -> Direction {
        let is_completion = matches!(kind, Kind::Completion { .. });
        if self.by_library == is_completion { Direction::Downstream } else { Direction::Upstream }
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// Bytes before the network layer by link type, and whether a protocol number is in the last two of them.
fn network(link_type: u32, frame: &[u8]) -> Option<(u16, &[u8])> {
    let mut at = match link_type {
        1 => 12,
        113 => 14,
        276 => return Some((half(frame, 0)?, frame.get(20..)?)),
        101 | 228 | 229 => {
            let protocol = if frame.first()? >> 4 == 6 { IPV6 } else { IPV4 };
            return Some((protocol, frame));
        }
        _ => return None,
    };
    while VLAN.contains(&half(frame, at)?) {
        at += 4;
    }
    Some((half(frame, at)?, frame.get(at + 2..)?))
}

/// Whether frames of a link type may hold NetTLP's packets.
pub(crate) const fn is_network(link_type: u32) -> bool {
    matches!(link_type, 1 | 101 | 113 | 228 | 229 | 276)
}

/// The TLP in a frame; None: another frame.
pub(crate) fn find(link_type: u32, frame: &[u8]) -> Option<Found<'_>> {
    let (protocol, packet) = network(link_type, frame)?;
    let udp = match protocol {
        IPV4 => {
            let header = 4 * usize::from(packet.first()? & 15);
            let is_first = half(packet, 6)? & 0x1fff == 0;
            (header >= 20 && *packet.get(9)? == UDP && is_first).then(|| packet.get(header..))??
        }
        IPV6 => (*packet.get(6)? == UDP).then(|| packet.get(40..))??,
        _ => return None,
    };
    let ports = [half(udp, 2)?, half(udp, 0)?];
    let port = ports.into_iter().find(|port| (LIBRARY..=LAST).contains(port))?;
    let length = usize::from(half(udp, 4)?).min(udp.len());
    Some(Found { tlp: udp.get(8 + OWN_BYTES..length)?, by_library: port < HOST })
}
