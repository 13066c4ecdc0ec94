//! The bench: what a device and a host must be able to do, statistics of what they return, and the runner that takes a
//! suite through them into a store. The simulator as a device and a host is here too.
//!
//! The method is that of the pcie-bench paper (SIGCOMM 2018, section 4): prepare the caches, run one test, reduce what it
//! returned, go on to the next.

mod device;
mod host;
mod messages;
mod outcome;
mod prediction;
mod runner;
mod sampling;
mod simulated;
mod simulated_messages;
mod statistics;

pub use device::{BandwidthSlice, Device, DeviceError, DeviceFacts, LatencySlice, Start};
pub use host::{Host, HostFacts};
pub use messages::{MessageDevice, MessageProgress, MessageResult, MessageRunError, run_messages};
pub use outcome::Outcome;
pub use prediction::{Effort, Prediction, PredictionError, Predictor};
pub use runner::{Options, Progress, RunError, Runner};
pub use sampling::Samples;
pub use simulated::{SimulatedDevice, SimulatedHost, simulated_bench};
pub use simulated_messages::SimulatedMessages;
pub use statistics::Histogram;
