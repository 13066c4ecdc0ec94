//! Closed-form bounds on what a link, a device and a host give, and which of them binds.
//!
//! A [`Model`] is a link, an accounting and limits. Each question becomes a [`Load`], the cost of one unit of
//! work (a transfer, a packet) at each resource. The costliest resource is the bound that binds; the others
//! have slack. `pcie-sim` simulates queues, caches and orderings.
//!
//! Sources: Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018, sections 2, 3 and
//! 7; PCI Express Base Specification; IEEE 802.3; for [`pio`], the kPIO+WC paper named there.

mod addresses;
mod bandwidth;
mod bound;
mod checks;
mod engine;
mod ethernet;
mod expander;
mod features;
mod filling;
mod flit;
mod interactions;
mod limits;
mod load;
pub mod mmio;
mod model;
mod moderation;
mod nic;
pub mod pio;
mod replay;
mod sizing;
mod whole_dllps;

pub use addresses::{Mixed, low_share, with_addresses};
pub use bandwidth::{Bandwidth, LinkUse, MAX_TRANSFER_BYTES, Transfer};
pub use bound::{Answer, Bound, Ceiling};
pub use engine::{
    Data, Engine, EngineBytes, EngineLink, EnginePace, EnginePath, EngineQueue, EngineRate, EngineRates,
    EngineStep,
};
pub use ethernet::{Ethernet, FCS_BYTES, InterpacketGap, LINE_RATES_GBPS};
pub use expander::{
    Expander, ExpanderArrivals, ExpanderController, ExpanderLink, ExpanderLoad, ExpanderMemory,
    ExpanderRates, Interleaved, InterleavedLoad, InterleavedMember, InterleavedRates, LocalMemory,
    Requesters, interleaved,
};
pub use features::{Nic, StepChange, Switch};
pub use filling::LinkSizing;
pub use flit::FlitTimes;
pub use interactions::{Actor, Interactions, Interval, Kind, Packet, Path, Queues, Step, StepBytes};
pub use limits::Limits;
pub use load::{Load, lines_of};
pub use model::{Model, ModelParameters};
pub use moderation::settled_rate;
pub use nic::NicThroughput;
pub use replay::{LinkReplays, ReplayLoss, ack_limit_ns, flits_of_a_round_trip, nak_ns, replay_timer_ns};
pub use sizing::{PathSizing, Sizing, sizing};
pub use whole_dllps::WholeDllps;
