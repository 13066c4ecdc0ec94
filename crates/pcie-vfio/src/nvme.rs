//! `nvme`: an NVMe drive as the DMA engine. Its reads write host memory; its compares, or its writes to a scratch range, read
//! host memory.
//!
//! What a latency includes: the doorbell, the fetch of the command, what the drive does for the blocks, the transfer, and
//! the completion being seen. No part is subtracted; those that can be told apart are reported beside.

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
mod plan;
#[cfg(target_os = "linux")]
mod scratch;
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
    /// A back end for the drive at an address.
    ///
    /// # Errors
    /// Nothing is there, or it is no drive.
    pub fn new(address: Address, options: NvmeOptions, host: VfioHostOptions) -> Result<Self, Refusal> {
        let (chosen, function) = Chosen::new(address, host)?;
        if function.is_nvme() {
            return Ok(Self { chosen, options });
        }
        let reason = format!(
            "is no NVMe drive, but of class {:06x}: `pcielab devices list` shows drives",
            function.class
        );
        Err(obstacle::device(address, reason))
    }

    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Bench, Refusal> {
        self.chosen.bench(|beside| device::NvmeDevice::open(beside, &self.options))
    }

    #[cfg(not(target_os = "linux"))]
    fn open_here(&self) -> Result<Bench, Refusal> {
        Err(obstacle::not_linux())
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
        Ok(self.open_here()?)
    }
}
