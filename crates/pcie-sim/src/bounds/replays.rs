//! What replays cost a full link, and the bound that a replay buffer sets.

use super::cost::Cost;
use crate::machine::Machine;
use crate::profile::FlitReplay;
use pcie_model::{LinkReplays, Load, ReplayLoss, flits_of_a_round_trip, nak_ns};
use pcie_wire::{FLIT_BYTES, FLIT_TLP_BYTES};

impl Machine {
    /// The cost of replays to each direction while it is full, with a test's average TLPs.
    pub(super) fn replay_losses(&self, cost: &Cost) -> Option<LinkReplays> {
        let (link, error_rate) = (self.link(), self.error_rate());
        if error_rate == 0.0 {
            return None;
        }
        let flight_ns = self.flight_ns();
        let loss = |tlp_bytes: f64| {
            if link.flit_mode() {
                let selective = self.system.link.flit_replay == Some(FlitReplay::Selective);
                return ReplayLoss::of_flits(link, error_rate, selective, flight_ns);
            }
            let (tlp_ns, nak_ns) = (tlp_bytes * 8.0 / link.raw_gbps(), nak_ns(link, flight_ns));
            let (timer_ns, naks_lost) = (self.replay_timer_ns(), self.naks_lost());
            ReplayLoss::of_tlps(error_rate, tlp_ns, nak_ns, timer_ns, naks_lost)
        };
        let [upstream, downstream] = tlp_bytes(&cost.load).map(loss);
        Some(LinkReplays { upstream, downstream })
    }

    /// Time that the fuller of both replay buffers needs for a unit of work: each byte is held until its Ack is back.
    pub(super) fn replay_buffer_ns(&self, load: &Load) -> Option<f64> {
        let buffer = f64::from(self.replay_buffer()?);
        let (link, flight_ns) = (self.link(), self.flight_ns());
        let raw_gbps = link.raw_gbps();
        let longest = f64::max(load.upstream_bytes, load.downstream_bytes);
        if link.flit_mode() {
            let flit_ns = FLIT_BYTES as f64 * 8.0 / raw_gbps;
            let flits = longest / FLIT_TLP_BYTES as f64;
            return Some(flits * flits_of_a_round_trip(flight_ns / flit_ns) * flit_ns / buffer);
        }
        // A TLP is held from its start.
        let held = |(bytes, tlp_bytes): (f64, f64)| {
            bytes * (tlp_bytes * 8.0 / raw_gbps + nak_ns(link, flight_ns)) / buffer
        };
        let sent = [load.upstream_bytes, load.downstream_bytes];
        Some(sent.into_iter().zip(tlp_bytes(load)).map(held).fold(0.0, f64::max))
    }
}

/// Mean bytes of the TLPs upstream and downstream.
fn tlp_bytes(load: &Load) -> [f64; 2] {
    let mean = |bytes: f64, tlps: f64| if tlps > 0.0 { bytes / tlps } else { 0.0 };
    [
        mean(load.upstream_bytes, load.read_requests + load.write_tlps),
        mean(load.downstream_bytes, load.completions),
    ]
}
