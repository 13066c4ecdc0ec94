//! The simulated back end: pcie-sim's machine as a device and a host, messages, NICs, and predictions for
//! many variants of a machine.

mod backend;
mod device;
mod host;
mod messages;
mod nic;
mod pools;
mod prediction;
mod sampling;

pub use backend::{Simulated, SimulatedMessages};
pub use host::{Before, SharedMachine, SimulatedHost};
pub use nic::SimulatedNic;
pub use prediction::{Effort, Prediction, Predictor};
