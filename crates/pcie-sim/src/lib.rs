//! The simulated machine: link ports, root complex, last-level cache with DDIO, IOMMU, memory, and the
//! devices' DMA engines, at TLP granularity. A resolved [`profile::System`] describes everything; nothing
//! here reads a file, a clock or an environment variable.
//!
//! Modules use only those before them: `profile` describes a machine; `cache`, `link` and `root_complex` are
//! its parts; `machine` combines them; `record` notes what they do; `latency`, `bandwidth`, `bounds`, [`nic`] and [`pio`] use it. [`expander`] stands alone: memory behind
//! CXL.mem needs no root complex.

pub mod profile;

mod bandwidth;
mod bounds;
mod cache;
#[cfg(test)]
mod changed_systems;
pub mod expander;
mod latency;
mod link;
mod machine;
pub mod mmio;
pub mod nic;
pub mod pio;
mod record;
mod root_complex;
#[cfg(test)]
mod test_systems;

pub use bandwidth::{BandwidthRun, DeviceTlp, Engine, Finished};
pub use bounds::TestBounds;
pub use bounds::host::{DeviceLink, DeviceRates, HostQuestion, HostRates, PoolFill};
pub use cache::advances::Advances;
pub use cache::history::{State, TestKey};
pub use cache::traces::Trace;
pub use latency::{LatencyRun, Sample};
pub use link::replay::Replays;
pub use machine::root_port::{Answer, RootPort, Sent};
pub use machine::{Machine, Unsupported};
pub use root_complex::line_pool::PoolUse;
