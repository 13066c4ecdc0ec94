//! Simulated messages from cores to a device: stores through write-combining buffers, and descriptor DMA.
//!
//! Stores ([`StoresRun`]): a core fills buffers with words. A buffer is evicted, in any order, when it is
//! full or something else needs it; without a free buffer the core stalls. The queue stores arriving words by
//! address, and the filter removes them in order, a buffer at a time. A core opens a buffer only if it knows
//! that the queue has space, so a full queue stalls cores and loses nothing. Descriptors
//! ([`DescriptorsRun`]): the device reads descriptor and payload through the ports, the root complex, the
//! caches and the memory of the system.
//!
//! Every byte is simulated, so the filter's output can be compared with the core's data. Times without a
//! simulated component (the gap between buffers, the device between its reads) are the machine's part of the
//! measured times, from `pcie_model::pio`.
//!
//! Source: the kPIO+WC paper (see `pcie_model::pio`), section III; Intel 64 and IA-32 Architectures Software
//! Developer's Manual, "Write Combining (WC) Memory Location".

mod descriptors;
mod filter;
mod frame;
mod mux;
mod plan;
mod queue;
mod stores;

pub use descriptors::{DescriptorMessage, DescriptorsOutcome, DescriptorsRun};
pub use frame::{SIGNATURE, frame, payload};
pub use mux::{Connection, MuxMessage, MuxOutcome, MuxRun};
pub use plan::{
    Back, Delivered, Ending, EvictionOrder, Pace, Sharing, Stalls, StoreMessage, StorePlan, StoresOutcome,
};
pub use stores::StoresRun;

use crate::machine::Machine;
use pcie_model::pio::{MachineTimes, MessageProfile};
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pcie_wire::{LinkConfiguration, LinkParameters, Piece, TlpKind};

/// Events between two calls of `stopped`.
const EVENTS_BETWEEN_CALLS: u32 = 1024;

/// Calls `next_event` until it returns false; returns false if `stopped` returns true before.
fn run_events_unless(stopped: &mut dyn FnMut() -> bool, mut next_event: impl FnMut() -> bool) -> bool {
    while !stopped() {
        for _ in 0..EVENTS_BETWEEN_CALLS {
            if !next_event() {
                return true;
            }
        }
    }
    false
}

/// Cores, a device, and the system between them, ready to be simulated.
#[derive(Clone, Debug)]
pub struct MessageMachine {
    machine: Machine,
    profile: MessageProfile,
    times: MachineTimes,
    link: LinkConfiguration,
}

/// Bytes of the host buffer for descriptors, write-backs and payload.
const HOST_BYTES: u64 = 1 << 20;

impl MessageMachine {
    /// Combines a message profile with a system, whose link may differ from the profile's.
    ///
    /// # Errors
    /// Names the invalid key.
    pub fn new(machine: Machine, profile: MessageProfile) -> Result<Self, Refusal> {
        let wrong = |refusal: Refusal| refusal.about(format!("profile {}", profile.name));
        let times = profile.machine_times().map_err(wrong)?;
        let parameters = LinkParameters {
            address_bits: profile.link.address_bits,
            ecrc: machine.system().link.root_port_ecrc == Some(true),
            completion_ecrc: None,
            ..LinkParameters::from(*machine.link())
        };
        let link = LinkConfiguration::try_from(parameters).map_err(wrong)?;
        let system = machine.system();
        if system.chunk_bytes < HOST_BYTES {
            let remedy = format!("messages need {HOST_BYTES} or more");
            let small = Refusal::of("chunk_bytes", system.chunk_bytes, remedy);
            return Err(small.about(format!("system {}", system.name)));
        }
        Ok(Self { machine, profile, times, link })
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &MessageProfile {
        &self.profile
    }

    /// The system.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The link of its TLPs.
    #[must_use]
    pub fn link(&self) -> &LinkConfiguration {
        &self.link
    }

    fn tlp_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        self.link.tlp_bytes(kind, piece)
    }

    fn downlink(&self) -> crate::link::port::Port {
        let root = &self.machine.system.host.root_complex;
        crate::link::port::Port::new(&self.link, root.downlink_quantum_bytes, root.downlink_stretch)
    }

    fn uplink(&self) -> crate::link::port::Port {
        let system = &self.machine.system;
        let stretch = system.host.root_complex.uplink_stretch;
        crate::link::port::Port::new(&self.link, system.device.uplink_quantum_bytes, stretch)
    }

    fn flight(&self) -> Picoseconds {
        Picoseconds::from_ns(self.machine.system.host.root_complex.flight_ns)
    }
}

#[cfg(test)]
mod tests;
