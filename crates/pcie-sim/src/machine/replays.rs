//! What the two ports of a machine send again: rates of errors, Naks and replay buffers of the link.

use super::Machine;
use crate::cache::history::TestKey;
use crate::link::port::Port;
use crate::link::replay::{LinkErrors, Replay, ReplayRules};
use crate::profile::FlitReplay;
use pcie_time::Stream;
use pcie_wire::{DLLP_BYTES, FLIT_BYTES, FLIT_TLP_BYTES};

/// Parts of a picosecond in which ports count.
const FRACTION_BITS: u32 = 32;
impl Machine {
    /// The idle ports of device and root complex in a test, with what they send again; `first` is the number of the
    /// first draw.
    pub(crate) fn ports_in(&self, key: TestKey, first: u64) -> (Port, Port) {
        let (uplink, downlink) = self.ports();
        if !self.sends_again() {
            return (uplink, downlink);
        }
        let with_replay = |port: Port, stream| {
            let link = &self.system.link;
            let errors = LinkErrors::new(key.draws(stream), first, self.error_rate(), self.naks_lost());
            let rules = match port.has_flits() {
                true => self.flit_replays(&port, link.flit_replay.unwrap_or_default()),
                false => self.tlp_replays(&port),
            };
            port.with_replay(Replay::new(errors, rules))
        };
        (with_replay(uplink, Stream::UplinkErrors), with_replay(downlink, Stream::DownlinkErrors))
    }

    /// Whether anything on the link is sent again, or waits for room in a replay buffer.
    pub(crate) fn sends_again(&self) -> bool {
        self.error_rate() > 0.0 || self.replay_buffer().is_some()
    }

    /// The probability that a flit, or without flits a TLP, arrives damaged.
    pub(crate) fn error_rate(&self) -> f64 {
        let link = &self.system.link;
        match self.link().flit_mode() {
            true => link.flit_error_rate.map_or(0.0, |rate| rate.probability()),
            false => link.tlp_error_rate.unwrap_or(0.0),
        }
    }

    /// Of damaged TLPs, the share that no Nak announces.
    pub(crate) fn naks_lost(&self) -> f64 {
        if self.link().flit_mode() { 0.0 } else { self.system.link.nak_loss_share.unwrap_or(0.0) }
    }

    /// Flits, or without flits bytes, that a port keeps until they are acknowledged.
    pub(crate) fn replay_buffer(&self) -> Option<u32> {
        let link = &self.system.link;
        if self.link().flit_mode() { link.replay_buffer_flits } else { link.replay_buffer_bytes }
    }

    /// Replays in flits. Acks and Naks ride in the bytes for DLLPs of the next flit of the other direction, which runs
    /// at the same boundaries, and arrive when it is whole and checked; a flit is sent again at the next boundary.
    fn flit_replays(&self, port: &Port, way: FlitReplay) -> ReplayRules {
        let flit = port.replay_unit();
        let flight = self.flight().0 << FRACTION_BITS;
        let boundaries = flight.saturating_sub(flit / FLIT_BYTES * FLIT_TLP_BYTES).div_ceil(flit);
        let nak = boundaries + 1 + flight.div_ceil(flit);
        ReplayRules { way, nak, timer: 0, ack: nak, capacity: self.replay_buffer().map(u64::from) }
    }

    /// Replays of TLPs. A Nak leaves at once, and cuts the TLP short that is being sent when it arrives: it would be
    /// dropped, as it is behind the bad one. An Ack leaves as fast.
    fn tlp_replays(&self, port: &Port) -> ReplayRules {
        let way_ns = u64::from(DLLP_BYTES) * port.byte_time() + 2 * (self.flight().0 << FRACTION_BITS);
        ReplayRules {
            way: FlitReplay::GoBackN,
            nak: way_ns,
            timer: (self.replay_timer_ns() * 1000.0) as u64 * (1 << FRACTION_BITS),
            ack: way_ns,
            capacity: self.replay_buffer().map(u64::from),
        }
    }

    /// The replay timer of a link without flits, in ns.
    pub(crate) fn replay_timer_ns(&self) -> f64 {
        self.system.link.replay_timer_ns.unwrap_or_else(|| pcie_model::replay_timer_ns(self.link()))
    }
}
