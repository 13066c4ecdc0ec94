//! How much a device must keep in flight, and how fast it must work: sections 2 and 7 of the 2018 paper.

use pcie_refusal::Refusal;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Ethernet;
use crate::checks::above_zero;
use crate::interactions::{Interactions, Path};

/// The DMAs in flight and the DMA rate that a full line in both directions needs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sizing {
    /// Bytes of a frame, FCS included.
    pub frame_bytes: u64,
    /// How long one DMA takes.
    pub latency_ns: f64,
    /// From one frame to the next.
    pub packet_interval_ns: f64,
    /// Packet DMAs in flight in each direction.
    pub packets_in_flight: u64,
    /// Sending.
    pub tx: PathSizing,
    /// Receiving.
    pub rx: PathSizing,
}

/// One direction's share, descriptors included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PathSizing {
    /// DMAs for each packet.
    pub dmas_per_packet: f64,
    /// DMAs in flight.
    pub dmas_in_flight: u64,
    /// Clock cycles from one DMA to the next, where the clock is known and there are DMAs.
    pub cycles_per_dma: Option<f64>,
}

/// Size a device for frames of `frame_bytes`, FCS included, where one DMA takes `latency_ns`. Without `device`, only the
/// packets themselves are counted.
///
/// # Errors
/// A number out of range, or a step of the device that cannot happen.
pub fn sizing(
    ethernet: Ethernet,
    frame_bytes: u64,
    latency_ns: f64,
    device: Option<&Interactions>,
    clock_ghz: Option<f64>,
) -> Result<Sizing, Refusal> {
    ethernet.check()?;
    Ethernet::transferred_bytes(frame_bytes)?;
    above_zero("latency_ns", latency_ns)?;
    clock_ghz.map_or(Ok(()), |clock_ghz| above_zero("clock_ghz", clock_ghz))?;
    device.map_or(Ok(()), Interactions::check)?;
    let packet_interval_ns = ethernet.interval_ns(frame_bytes);
    let path_sizing = |path| {
        let dmas_per_packet = device.map_or(1.0, |device| dmas_per_packet(device, path));
        PathSizing {
            dmas_per_packet,
            dmas_in_flight: whole(latency_ns * dmas_per_packet / packet_interval_ns),
            cycles_per_dma: clock_ghz
                .filter(|_| dmas_per_packet > 0.0)
                .map(|clock_ghz| packet_interval_ns * clock_ghz / dmas_per_packet),
        }
    };
    Ok(Sizing {
        frame_bytes,
        latency_ns,
        packet_interval_ns,
        packets_in_flight: whole(latency_ns / packet_interval_ns),
        tx: path_sizing(Path::Tx),
        rx: path_sizing(Path::Rx),
    })
}

fn dmas_per_packet(device: &Interactions, path: Path) -> f64 {
    device
        .steps
        .iter()
        .filter(|step| step.path == path && step.kind.is_dma())
        .map(|step| 1.0 / f64::from(step.group_packets()))
        .sum()
}

/// Rounds up, except for the rounding error of sums of fractions like 1/40.
fn whole(needed: f64) -> u64 {
    (needed - 1e-9).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::tests::{FORTY_GIGABIT, niantic_kernel};

    #[test]
    fn the_papers_figures_for_40g_and_128_byte_frames() {
        let in_flight =
            |latency_ns| sizing(FORTY_GIGABIT, 128, latency_ns, None, None).unwrap().packets_in_flight;
        assert_eq!(sizing(FORTY_GIGABIT, 128, 900.0, None, None).unwrap().packet_interval_ns, 29.6);
        assert_eq!(in_flight(900.0), 31);
        assert_eq!((in_flight(560.0), in_flight(666.0)), (19, 23));
        assert_eq!(in_flight(666.0 + 330.0), 34);
    }

    #[test]
    fn batched_descriptors_count_as_fractions_of_a_dma() {
        let device = niantic_kernel();
        let sizing = sizing(FORTY_GIGABIT, 128, 900.0, Some(&device), Some(1.2)).unwrap();
        // TX: the packet, a fortieth of a descriptor read, an eighth of a write-back. RX: packet, read, write-back.
        assert!((sizing.tx.dmas_per_packet - (1.0 + 1.0 / 40.0 + 1.0 / 8.0)).abs() < 1e-12);
        assert_eq!(sizing.rx.dmas_per_packet, 3.0);
        assert_eq!(sizing.rx.dmas_in_flight, 92);
        assert_eq!(sizing.rx.cycles_per_dma, Some(29.6 * 1.2 / 3.0));
    }

    #[test]
    fn refuses_numbers_out_of_range_by_key() {
        let message = |result: Result<Sizing, Refusal>| result.unwrap_err().to_string();
        assert!(message(sizing(FORTY_GIGABIT, 63, 900.0, None, None)).starts_with("frame_bytes is 63"));
        assert!(message(sizing(FORTY_GIGABIT, 128, 0.0, None, None)).starts_with("latency_ns is 0"));
        assert!(
            message(sizing(Ethernet { line_gbps: 3.0, ..FORTY_GIGABIT }, 128, 1.0, None, None))
                .contains("2.5")
        );
    }
}
