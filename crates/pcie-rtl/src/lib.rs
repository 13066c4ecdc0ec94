//! The FPGA core in a process of its own, on the simulated host: the real RTL under the real driver, before there is a
//! board.
//!
//! The process, `pcielab-rtl`, is the verilated core and knows no host. Here is the other end of its pipe (`wire`,
//! `process`), the host that it is plugged into (pcie-sim's root port, and memory that holds bytes), and the back end
//! that makes a device and a host of the two. Simulated time is this side's: the process goes no further than nothing
//! can reach the core that it has not been told of.

mod backend;
mod bench;
mod link;
mod memory;
mod process;
mod wire;

pub use backend::Rtl;
pub use process::ProcessError;
