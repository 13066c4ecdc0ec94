//! The simulated back end: pcie-sim's machine as a device and a host, messages, NICs, expanders, and predictions for
//! many variants of a machine.

mod backend;
mod device;
mod expander;
mod host;
mod messages;
mod nic;
mod pools;
mod prediction;
mod sampling;

pub use backend::{Simulated, SimulatedMessages};
pub use expander::SimulatedExpander;
pub use host::{Before, SharedMachine, SimulatedHost};
pub use nic::SimulatedNic;
pub use prediction::{Effort, Prediction, Predictor};
