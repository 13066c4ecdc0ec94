//! The target of a suite, as JSON: a device by its kind, or the resolved profile of a system to simulate.

use crate::failure::Failure;
use crate::input::{read, read_fitting};
use pcie_bench::{Backend, MessageDevice, Samples};
use pcie_bench_sim::Simulated;
use pcie_host::{Cpu, HostOptions};
use pcie_sim::profile::System;
use pcie_sim::{Engine, Machine};
use pcie_vfio::{Address, E1000e, Fpga, Nvme, NvmeOptions, Pio, PioHostOptions, PioOptions, VfioHostOptions};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The description of a device.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Asked {
    /// A core of this machine.
    Cpu { host: HostOptions },
    /// An NVMe drive.
    Nvme {
        address: Address,
        #[serde(default)]
        device: NvmeOptions,
        #[serde(default)]
        host: VfioHostOptions,
    },
    /// An Intel 82574 NIC in loopback.
    E1000e {
        address: Address,
        #[serde(default)]
        host: VfioHostOptions,
    },
    /// The FPGA core on a board.
    Fpga {
        address: Address,
        #[serde(default)]
        host: VfioHostOptions,
    },
    /// Stores into a BAR.
    Pio {
        address: Address,
        #[serde(default)]
        device: PioOptions,
        #[serde(default)]
        host: PioHostOptions,
    },
}

/// A back end for transfers or messages.
pub(crate) enum Opened {
    /// Transfers.
    Transfers(Arc<dyn Backend>),
    /// Messages.
    Messages(Arc<dyn Backend<Box<dyn MessageDevice>>>),
}

/// Reads a file of a device or system; returns the back end, and the system for the manifest.
pub(crate) fn opened(path: &Path, samples: Samples) -> Result<(Opened, Option<Value>), Failure> {
    let content: Value = read(path)?;
    if content.get("kind").is_none() {
        let system: System = read_fitting(path)?;
        let machine = Machine::new(system).map_err(|refusal| refusal.about(path.display().to_string()))?;
        return Ok((
            Opened::Transfers(Arc::new(Simulated::new(machine, samples, Engine::Fast))),
            Some(content),
        ));
    }
    let backend: Arc<dyn Backend> = match read(path)? {
        Asked::Cpu { host } => Arc::new(Cpu::new(host)),
        Asked::Nvme { address, device, host } => Arc::new(Nvme::new(address, device, host)?),
        Asked::E1000e { address, host } => Arc::new(E1000e::new(address, host)?),
        Asked::Fpga { address, host } => Arc::new(Fpga::new(address, host)?),
        Asked::Pio { address, device, host } => {
            return Ok((Opened::Messages(Arc::new(Pio::new(address, device, host)?)), None));
        }
    };
    Ok((Opened::Transfers(backend), None))
}
