//! The bench: what a device and a host must be able to do, statistics of what they return, and the runner that takes a
//! suite through them into a store. It knows no device of its own.
//!
//! The method is that of the pcie-bench paper (SIGCOMM 2018, section 4): prepare the caches, run one test, reduce what it
//! returned, go on to the next.
//!
//! A back end implements [`Backend`], which opens a [`Bench`]: a [`Device`] and a [`Host`]. [`Benchmarks`] is a suite on
//! one, [`run`] carries it out.

mod backend;
mod benchmarks;
pub mod contract;
mod device;
mod facts;
mod faults;
mod host;
mod messages;
mod moment;
mod outcome;
mod pulse;
mod runner;
mod sampling;
mod stop;
mod tracer;
mod work;

pub use backend::{Backend, Bench, OpenError};
pub use benchmarks::Benchmarks;
pub use device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start};
pub use facts::{
    CacheFacts, Condition, DeviceFacts, DeviceHardware, HostFacts, HostHardware, LinkFacts, Remarks,
    TimerFacts,
};
pub use faults::{Breakable, Faults, Faulty};
pub use host::Host;
pub use messages::{ConnectionResult, Crossed, MessageDevice, MessageResult, MessageStart, Messages};
pub use outcome::Outcome;
pub use pulse::Pulse;
pub use runner::{Options, Progress, RunError, run, run_alone};
pub use sampling::Samples;
pub use stop::Stop;
pub use tracer::Traced;
pub use work::{Asked, Work, Worker};
