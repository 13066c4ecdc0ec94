//! The simulated machine: link ports, root complex, last-level cache with DDIO, IOMMU, memory, and the DMA engines
//! of the cards, at TLP granularity. Everything is described by a resolved [`profile::System`]; nothing here reads a
//! file, a clock or an environment variable.

pub mod profile;

mod bandwidth;
mod bounds;
mod caches;
mod conflict;
mod history;
mod idle;
mod io_tlb;
mod latency;
mod lines;
mod machine;
pub mod nic;
pub mod pio;
mod places;
mod port;
mod refresh;
mod root_port;
#[cfg(test)]
mod test_systems;
mod write_gate;

pub use bandwidth::{BandwidthRun, Engine, Finished};
pub use bounds::TestBounds;
pub use history::{State, TestKey};
pub use latency::{LatencyRun, Sample};
pub use machine::{Machine, SystemError, Unsupported};
pub use root_port::{Answer, RootPort};
