//! `e1000e`: an Intel 82574 NIC in MAC loopback as the DMA engine. The NIC reads every frame from host memory
//! and writes it back; one side is in the test's window, the other is a fixed buffer.
//!
//! A latency includes both doorbells, both descriptor fetches, the frame's path through the MAC at 1 Gb/s,
//! and noticing the written-back descriptor; the MAC limits bandwidth. A NIC therefore shows how windows,
//! cache states, NUMA nodes and the IO-TLB change latencies, but not the capacity of PCIe.

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
    /// A back end for the NIC at an address; an error if no supported NIC is there.
    pub fn new(address: Address, host: VfioHostOptions) -> Result<Self, Refusal> {
        let (chosen, function) = Chosen::new(address, host)?;
        if function.is_e1000e() {
            return Ok(Self { chosen });
        }
        let reason = format!(
            "is not an Intel 82574 (8086:10d3, 8086:10f6) but {:04x}:{:04x}: give a NIC that `pcielab devices list` shows",
            function.vendor_id, function.device_id
        );
        Err(obstacle::device(address, reason))
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
        #[cfg(target_os = "linux")]
        let opened = self.chosen.bench(device::NicDevice::open);
        #[cfg(not(target_os = "linux"))]
        let opened = Err(obstacle::not_linux());
        Ok(opened?)
    }
}
