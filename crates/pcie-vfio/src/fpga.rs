//! `fpga`: the FPGA core on a board, with the driver of its RTL simulation. Its registers identify it.
//!
//! This back end was tested on registers without a core behind them; it has not run on a board yet.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod pattern;

use crate::address::Address;
use crate::chosen::Chosen;
use crate::options::VfioHostOptions;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A board with the core.
#[derive(Clone, Debug)]
pub struct Fpga(Chosen);

impl Fpga {
    /// A back end for the core at an address; an error if there is no function.
    pub fn new(address: Address, host: VfioHostOptions) -> Result<Self, Refusal> {
        Ok(Self(Chosen::new(address, host)?.0))
    }
}

impl Backend for Fpga {
    fn kind(&self) -> &str {
        "fpga"
    }

    fn origin(&self) -> Origin {
        self.0.origin
    }

    fn options(&self) -> Map<String, Value> {
        self.0.options(json!({}))
    }

    fn open(&self) -> Result<Bench, OpenError> {
        #[cfg(target_os = "linux")]
        let opened = self.0.bench(device::FpgaDevice::open);
        #[cfg(not(target_os = "linux"))]
        let opened = Err(crate::obstacle::not_linux());
        Ok(opened?)
    }
}
