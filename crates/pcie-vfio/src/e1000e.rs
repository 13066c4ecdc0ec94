//! `e1000e`: an Intel 82574 NIC in MAC loopback as the DMA engine. Every frame is read from host memory and written to host memory
//! again; the test says which side lies in its window, the other side is one buffer that is always the same.
//!
//! What a latency includes: both doorbells, the fetch of both descriptors, the frame's way from memory through the MAC, at its
//! 1 Gb/s, to memory, and the write of the descriptor being seen. A bandwidth is at most that of the MAC. So a NIC tells windows,
//! cache states, NUMA and IO-TLB apart by differences of latencies, and what PCIe could carry not at all.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod plan;

use crate::address::Address;
use crate::chosen::Chosen;
use crate::obstacle;
use crate::options::VfioHostOptions;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A NIC.
#[derive(Clone, Debug)]
pub struct E1000e {
    chosen: Chosen,
}

impl E1000e {
    /// A back end for the NIC at an address.
    ///
    /// # Errors
    /// Nothing is there, or it is no such NIC.
    pub fn new(address: Address, host: VfioHostOptions) -> Result<Self, Refusal> {
        let (chosen, function) = Chosen::new(address, host)?;
        if function.is_e1000e() {
            return Ok(Self { chosen });
        }
        let reason = format!(
            "is no Intel 82574 (8086:10d3, 8086:10f6), but {:04x}:{:04x}: other NICs are set up otherwise; `pcielab devices \
             list` shows what can be measured",
            function.vendor_id, function.device_id
        );
        Err(obstacle::device(address, reason))
    }

    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Bench, Refusal> {
        self.chosen.bench(device::NicDevice::open)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_here(&self) -> Result<Bench, Refusal> {
        Err(obstacle::not_linux())
    }
}

impl Backend for E1000e {
    fn kind(&self) -> &str {
        "e1000e"
    }

    fn origin(&self) -> Origin {
        self.chosen.origin
    }

    fn options(&self) -> Map<String, Value> {
        self.chosen.options(json!({}))
    }

    fn open(&self) -> Result<Bench, OpenError> {
        Ok(self.open_here()?)
    }
}
