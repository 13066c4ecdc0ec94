//! The simulated machine: link ports, root complex, last-level cache with DDIO, IOMMU, memory, and the DMA engines
//! of the cards, at TLP granularity. Everything is described by a resolved [`profile::System`]; nothing here reads a
//! file, a clock or an environment variable.
//!
//! Its rooms use only those before them: `profile` describes a machine; `cache`, `link` and `root_complex` are its parts;
//! `machine` puts them together; `latency`, `bandwidth`, [`nic`] and [`pio`] send something through it, and `bounds` says what
//! that can come to at best.

pub mod profile;

mod bandwidth;
mod bounds;
mod cache;
mod latency;
mod link;
mod machine;
pub mod nic;
pub mod pio;
mod root_complex;
#[cfg(test)]
mod test_systems;

pub use bandwidth::{BandwidthRun, Engine, Finished};
pub use bounds::TestBounds;
pub use cache::history::{State, TestKey};
pub use latency::{LatencyRun, Sample};
pub use machine::root_port::{Answer, RootPort};
pub use machine::{Machine, Unsupported};
