//! `fpga`: the FPGA core on a board, driven by the driver that drives its RTL. The core knows no vendor, so that it is told by its
//! registers, and not by numbers of its board.
//!
//! This has been compiled and tried on registers without a core behind them; on a board it has not run yet.

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
    /// A back end for the core at an address.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn new(address: Address, host: VfioHostOptions) -> Result<Self, Refusal> {
        Ok(Self(Chosen::new(address, host)?.0))
    }

    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Bench, Refusal> {
        self.0.bench(device::FpgaDevice::open)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_here(&self) -> Result<Bench, Refusal> {
        Err(crate::obstacle::not_linux())
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
        Ok(self.open_here()?)
    }
}
