//! Bytes of packets on the link, and the links that a pace of packets allows.

use pcie_capture::{Kind, Tlp};
use pcie_wire::{
    ByteTime, DOUBLE_WORD_BYTES, Generation, LINK_BYTES_PER_TLP, LinkConfiguration, LinkParameters,
};

const COMPLETION_HEADER_BYTES: u32 = 12;
const SHORT_HEADER_BYTES: u32 = 12;
const LONG_HEADER_BYTES: u32 = 16;
const ECRC_BYTES: u32 = 4;

/// Bytes of a TLP on the link; in flit mode, of the flits' bytes for TLPs.
#[must_use]
pub fn tlp_bytes(tlp: &Tlp, flits: bool) -> u32 {
    let wide = tlp.wide.unwrap_or_else(|| tlp.address.is_some_and(|address| address >> 32 != 0));
    let header = match tlp.kind {
        Kind::Completion { .. } => COMPLETION_HEADER_BYTES,
        Kind::Message { .. } => LONG_HEADER_BYTES,
        Kind::Prefix => DOUBLE_WORD_BYTES as u32,
        _ if wide => LONG_HEADER_BYTES,
        _ => SHORT_HEADER_BYTES,
    };
    let framing = if flits || tlp.kind == Kind::Prefix { 0 } else { LINK_BYTES_PER_TLP };
    let digest = if tlp.digest == Some(true) { ECRC_BYTES } else { 0 };
    framing + header + tlp.data_bytes + digest
}

/// Time of a byte, ps.
#[must_use]
pub fn byte_ps(link: &LinkConfiguration) -> f64 {
    let ByteTime { numerator, denominator } = link.byte_time();
    numerator as f64 / denominator as f64
}

/// A link of a generation and width, with the sizes given.
#[must_use]
pub fn link_of(parameters: LinkParameters) -> Option<LinkConfiguration> {
    LinkConfiguration::try_from(parameters).ok()
}

/// Widths of links that exist in numbers: x12 and x32 never shipped.
const LANES: [u32; 5] = [1, 2, 4, 8, 16];
/// Relative difference of byte times that counts as none.
const SAME: f64 = 1e-6;

/// The slowest links on which packets can follow each other at `ps_per_byte`, in the order of generations: of a given
/// generation or width, where one is stated. Without any that is slow enough, the fastest.
#[must_use]
pub fn slowest_links(ps_per_byte: f64, generation: Option<u32>, lanes: Option<u32>) -> Vec<(u32, u32)> {
    let mut links: Vec<(f64, u32, u32)> = Vec::new();
    for number in Generation::ALL.map(Generation::number) {
        for width in LANES.iter().copied().chain(lanes.filter(|width| !LANES.contains(width))) {
            if generation.is_some_and(|given| given != number) || lanes.is_some_and(|given| given != width) {
                continue;
            }
            if let Some(link) = link_of(LinkParameters::new(number, width, 256, 512)) {
                links.push((byte_ps(&link), number, width));
            }
        }
    }
    let fits = |time: f64| time <= ps_per_byte * (1.0 + SAME);
    let slowest = links.iter().map(|link| link.0).filter(|time| fits(*time)).fold(0.0, f64::max);
    let fastest = links.iter().map(|link| link.0).fold(f64::INFINITY, f64::min);
    let chosen = if slowest > 0.0 { slowest } else { fastest };
    let same = |time: f64| (time / chosen - 1.0).abs() < SAME;
    links.into_iter().filter(|link| same(link.0)).map(|(_, number, width)| (number, width)).collect()
}

/// Distances, in packets, over which the pace is looked at.
const DISTANCES: [usize; 3] = [1, 8, 64];
const RING: usize = 65;

/// The least time per byte between starts of packets that follow each other.
#[derive(Clone, Debug)]
pub struct Pace {
    ring: [(u64, u64); RING],
    packets: usize,
    bytes: u64,
    /// Least ps per byte by distance: time with the resolution added later, and bytes.
    least: [Option<(u64, u64)>; 3],
    resolution_ps: u64,
    last: Option<u64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { ring: [(0, 0); RING], packets: 0, bytes: 0, least: [None; 3], resolution_ps: 0, last: None }
    }
}

impl Pace {
    /// Takes the start of a packet of `bytes`.
    pub fn take(&mut self, time_ps: u64, bytes: u32) {
        if let Some(last) = self.last {
            self.resolution_ps = greatest_divisor(self.resolution_ps, time_ps.abs_diff(last));
        }
        self.last = Some(time_ps);
        for (least, distance) in self.least.iter_mut().zip(DISTANCES) {
            if self.packets < distance {
                continue;
            }
            let (before, sent) = self.ring[(self.packets - distance) % RING];
            let (time, sent) = (time_ps.saturating_sub(before), self.bytes - sent);
            let less = least.is_none_or(|(least_time, least_sent)| {
                u128::from(time) * u128::from(least_sent) < u128::from(least_time) * u128::from(sent)
            });
            if time > 0 && sent > 0 && less {
                *least = Some((time, sent));
            }
        }
        self.ring[self.packets % RING] = (time_ps, self.bytes);
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Greatest time that divides every distance between packets, ps; 0 without two.
    #[must_use]
    pub fn resolution_ps(&self) -> u64 {
        self.resolution_ps
    }

    /// The least ps per byte that the packets allow, with times that are known to `resolution_ps`.
    #[must_use]
    pub fn ps_per_byte(&self, resolution_ps: u64) -> Option<f64> {
        // Times are rounded down to the resolution: a distance may be up to a step longer than it looks.
        let slack = resolution_ps.max(1);
        let ratios = self.least.iter().flatten().map(|(time, bytes)| (time + slack) as f64 / *bytes as f64);
        ratios.min_by(f64::total_cmp)
    }
}

/// Greatest common divisor; with 0, the other.
#[must_use]
pub fn greatest_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_name_the_slowest_links_that_allow_them() {
        assert_eq!(slowest_links(126.953_125, None, None), [(3, 8), (4, 4), (5, 2)]);
        assert_eq!(slowest_links(1000.0, None, None), [(1, 4), (2, 2)]);
        assert_eq!(slowest_links(1000.0, Some(1), None), [(1, 4)]);
        assert_eq!(slowest_links(128.0, Some(3), None), [(3, 8)]);
        assert_eq!(slowest_links(0.001, None, None), [(7, 16)]);
        assert_eq!(slowest_links(1e9, None, Some(2)), [(1, 2)]);
    }

    #[test]
    fn a_pace_is_that_of_the_closest_packets() {
        let mut pace = Pace::default();
        // 84 bytes in 11 ns steps, as a clock of 1 ns shows 10.66 ns.
        for packet in 0..200_u64 {
            pace.take(packet * 84 * 8125 / 64 / 1000 * 1000, 84);
        }
        assert_eq!(pace.resolution_ps(), 1000);
        let ratio = pace.ps_per_byte(1000).unwrap();
        assert!((126.95..128.0).contains(&ratio), "{ratio}");
    }
}
