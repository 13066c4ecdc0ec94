//! Frames through a NIC as a run sends them, and the link that NICs of a line rate usually have.

use pcie_model::{Ethernet, Interactions, Path, Queues};
use pcie_sim::nic::{Direction, Traffic};
use pcie_wire::LinkParameters;
use serde::Deserialize;

/// Counted packets of a run.
pub const COUNTED_PACKETS: u32 = 20_000;
/// Most packets before the counted ones.
const WARM_UP_MOST: u64 = 200_000;
/// Packets before the counted ones, as a multiple of those that fill every queue.
const WARM_UP_FILLS: u64 = 4;
const FRAME_BYTES_LEAST: u64 = 64;

/// Line rates in Gb/s, and generation and lanes of the first link of common slots that carries them.
const USUAL_LINKS: [(f64, u32, u32); 4] = [(50.0, 3, 8), (100.0, 3, 16), (200.0, 4, 16), (400.0, 5, 16)];
/// Generation and lanes of the link that carries all faster lines.
const FASTEST_LINK: (u32, u32) = (6, 16);
/// What servers set, and what GPUs support at most.
const USUAL_MPS_BYTES: u32 = 256;
/// What BIOSes and the specification's reset value give.
const USUAL_MRRS_BYTES: u32 = 512;

/// Frames through one NIC, as many as a run counts after those that fill every queue.
#[must_use]
pub fn traffic_of(queues: &Queues, ethernet: Ethernet, frame_bytes: u64, direction: Direction) -> Traffic {
    let warm_up_packets = warm_up_packets(queues, frame_bytes);
    Traffic { ethernet, frame_bytes, direction, warm_up_packets, packets: COUNTED_PACKETS, nics: 1 }
}

/// Packets before the counted ones that fill every queue with frames of a size.
#[must_use]
pub fn warm_up_packets(queues: &Queues, frame_bytes: u64) -> u32 {
    let buffered = u64::from(queues.receive_fifo_bytes) / frame_bytes.max(FRAME_BYTES_LEAST);
    let packets = WARM_UP_FILLS * (buffered + u64::from(queues.ring_descriptors));
    u32::try_from(packets.min(WARM_UP_MOST)).unwrap_or(u32::MAX)
}

/// The only direction of a NIC's steps, or both.
#[must_use]
pub fn direction_of(nic: &Interactions) -> Direction {
    let has = |path: Path| nic.steps.iter().any(|step| step.path == path);
    match (has(Path::Tx), has(Path::Rx)) {
        (true, false) => Direction::Tx,
        (false, true) => Direction::Rx,
        _ => Direction::Both,
    }
}

/// The link of the slot that NICs of a line rate usually have, with the usual MPS and MRRS.
#[must_use]
pub fn usual_link(line_gbps: f64) -> LinkParameters {
    let carrying = USUAL_LINKS.into_iter().find(|(most_gbps, ..)| line_gbps <= *most_gbps);
    let (generation, lanes) = carrying.map_or(FASTEST_LINK, |(_, generation, lanes)| (generation, lanes));
    LinkParameters::new(generation, lanes, USUAL_MPS_BYTES, USUAL_MRRS_BYTES)
}

/// The values of a link that are given; the others are those of another link.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkGiven {
    /// PCIe generation.
    pub generation: Option<u32>,
    /// Width.
    pub lanes: Option<u32>,
    /// Maximum Payload Size, bytes.
    pub mps_bytes: Option<u32>,
    /// Maximum Read Request Size, bytes.
    pub mrrs_bytes: Option<u32>,
}

impl LinkGiven {
    /// Whether no value is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        [self.generation, self.lanes, self.mps_bytes, self.mrrs_bytes].iter().all(Option::is_none)
    }

    /// A link with the given values; a given generation has the flit mode that its rate needs.
    #[must_use]
    pub fn over(&self, mut link: LinkParameters) -> LinkParameters {
        if self.generation.is_some() {
            link.flit_mode = None;
        }
        for (given, key) in [
            (self.generation, &mut link.generation),
            (self.lanes, &mut link.lanes),
            (self.mps_bytes, &mut link.mps_bytes),
            (self.mrrs_bytes, &mut link.mrrs_bytes),
        ] {
            *key = given.unwrap_or(*key);
        }
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_before_the_counted_ones_fill_every_queue() {
        let queues = Queues { receive_fifo_bytes: 1 << 16, ring_descriptors: 512, ..Queues::default() };
        assert_eq!(warm_up_packets(&queues, 64), 4 * (1024 + 512));
        let large = Queues { receive_fifo_bytes: 1 << 26, ..queues };
        assert_eq!(u64::from(warm_up_packets(&large, 64)), WARM_UP_MOST);
    }

    #[test]
    fn the_usual_link_carries_the_line() {
        for line_gbps in pcie_model::LINE_RATES_GBPS {
            let link = pcie_wire::LinkConfiguration::try_from(usual_link(line_gbps)).unwrap();
            assert!(link.raw_gbps() > line_gbps, "{line_gbps}");
        }
        let given = LinkGiven { lanes: Some(4), ..LinkGiven::default() };
        let link = given.over(usual_link(40.0));
        assert_eq!((link.generation, link.lanes), (3, 4));
        assert!(!given.is_empty() && LinkGiven::default().is_empty());
        assert_eq!((usual_link(40.0).generation, usual_link(40.0).lanes), (3, 8));
    }
}
