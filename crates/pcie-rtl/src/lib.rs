//! The FPGA core in its own process, on the simulated host: real RTL and driver without a board.
//!
//! The process, `pcielab-rtl`, is the verilated core without a host. This crate has the other end of its pipe
//! (`wire`, `process`), the host (pcie-port's root port, and memory that holds bytes), and the back end that
//! combines the two. `fabric` has several cores behind the switches of a fabric. The crate controls simulated
//! time: the process runs up to the earliest possible input.

mod backend;
mod bench;
mod credits;
mod fabric;
mod link;
mod memory;
mod process;
mod wire;

pub use backend::Rtl;
pub use fabric::Cores;
pub use process::ProcessError;
