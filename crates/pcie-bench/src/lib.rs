//! The bench: interfaces of devices and hosts, statistics of their results, and the runner that stores the
//! results of a suite. It contains no device.
//!
//! The method is that of the pcie-bench paper (SIGCOMM 2018, section 4): for each test prepare the caches,
//! run the test and reduce its results.
//!
//! A back end implements [`Backend`], which opens a [`Bench`]: a [`Device`] and a [`Host`]. `run` carries
//! out [`Benchmarks`], a suite on a back end, and [`run_alone`] a single test without a store. A browser has no
//! files: on WebAssembly there is `run_alone` only.

mod alone;
mod backend;
mod benchmarks;
pub mod contract;
mod device;
mod error;
mod facts;
mod faults;
mod host;
mod messages;
mod moment;
mod outcome;
mod pulse;
#[cfg(not(target_family = "wasm"))]
mod runner;
mod sampling;
mod stop;
mod tracer;
mod work;

pub use alone::run_alone;
pub use backend::{Backend, Bench, OpenError};
pub use benchmarks::Benchmarks;
pub use device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start};
pub use error::RunError;
pub use facts::{
    CacheFacts, Condition, DeviceFacts, DeviceHardware, HostFacts, HostHardware, LinkFacts, MemoryTypes,
    Remarks, TimerFacts,
};
pub use faults::{Breakable, Faults, Faulty};
pub use host::Host;
pub use messages::{ConnectionResult, Crossed, MessageDevice, MessageResult, MessageStart, Messages};
pub use outcome::Outcome;
pub use pulse::Pulse;
#[cfg(not(target_family = "wasm"))]
pub use runner::{Options, Progress, run};
pub use sampling::Samples;
pub use stop::Stop;
pub use tracer::Traced;
pub use work::{Asked, Work, Worker, described_trace};
