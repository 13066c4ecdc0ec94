//! `cpu`: a core as the requester. It measures memory without PCIe, a baseline for PCIe results.

use crate::options::HostOptions;
use crate::topology::Topology;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A core as the device.
#[derive(Clone, Debug)]
pub struct Cpu {
    options: HostOptions,
    topology: Topology,
}

impl Cpu {
    /// A back end on this machine.
    #[must_use]
    pub fn new(options: HostOptions) -> Self {
        Self { options, topology: Topology::here() }
    }
}

impl Backend for Cpu {
    fn kind(&self) -> &str {
        "cpu"
    }

    fn origin(&self) -> Origin {
        Origin::Measured
    }

    fn options(&self) -> Map<String, Value> {
        Map::from_iter([("host".to_owned(), json!(self.options))])
    }

    #[cfg(target_os = "linux")]
    fn open(&self) -> Result<Bench, OpenError> {
        let opened = crate::host::RealHost::open(&self.options, self.topology.clone(), None);
        let (host, buffer) = opened.map_err(|error| OpenError::Refused(error.into()))?;
        let device = crate::requester::Requester::new(&self.topology, host.core(), buffer);
        Ok(Bench { device: Box::new(device), host: Box::new(host) })
    }

    #[cfg(not(target_os = "linux"))]
    fn open(&self) -> Result<Bench, OpenError> {
        Err(OpenError::Refused(crate::error::HostError::NotLinux.into()))
    }
}
