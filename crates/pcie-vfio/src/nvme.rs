//! `nvme`: an NVMe drive as the DMA engine. Reads write host memory; compares or scratch writes read it.
//!
//! A latency includes the doorbell, the command fetch, the drive's work on the blocks, the transfer, and
//! noticing the completion. Nothing is subtracted; parts that can be measured alone are reported too, with
//! their standard errors.

#[cfg(target_os = "linux")]
mod blocks;
#[cfg(target_os = "linux")]
mod contents;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod link;
mod options;
#[cfg(target_os = "linux")]
mod parts;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod tables;

use crate::address::Address;
use crate::chosen::Chosen;
use crate::obstacle;
use crate::options::VfioHostOptions;
pub use options::NvmeOptions;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A drive.
#[derive(Clone, Debug)]
pub struct Nvme {
    chosen: Chosen,
    options: NvmeOptions,
}

impl Nvme {
    /// A back end for the drive at an address; an error if no drive is there.
    pub fn new(address: Address, options: NvmeOptions, host: VfioHostOptions) -> Result<Self, Refusal> {
        let (chosen, function) = Chosen::new(address, host)?;
        if function.is_nvme() {
            return Ok(Self { chosen, options });
        }
        let reason = format!(
            "is not an NVMe drive but of class {:06x}: give a drive that `pcielab devices list` shows",
            function.class
        );
        Err(obstacle::device(address, reason))
    }
}

impl Backend for Nvme {
    fn kind(&self) -> &str {
        "nvme"
    }

    fn origin(&self) -> Origin {
        self.chosen.origin
    }

    fn options(&self) -> Map<String, Value> {
        self.chosen.options(json!(self.options))
    }

    fn open(&self) -> Result<Bench, OpenError> {
        #[cfg(target_os = "linux")]
        let opened = self.chosen.bench(|beside| device::NvmeDevice::open(beside, &self.options));
        #[cfg(not(target_os = "linux"))]
        let opened = Err(obstacle::not_linux());
        Ok(opened?)
    }
}
