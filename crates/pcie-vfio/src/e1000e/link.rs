//! An open NIC in loopback.

use crate::chosen::Chosen;
use crate::engine::Engine;
use crate::obstacle;
use crate::opened::Opened;
use crate::transport::Vfio;
use crate::tree::Function;
use pcie_bench::DeviceError;
use pcie_driver::e1000e::{DEPTH_MOST, Frame, Nic, NicError, QUEUE_BYTES};
use pcie_host::SharedBuffer;
use pcie_refusal::Refusal;

pub(super) struct Link {
    pub(super) nic: Nic<Vfio>,
    pub(super) function: Function,
}

impl Link {
    /// Opens the NIC and checks the loopback.
    pub(super) fn open(chosen: &Chosen, buffer: &SharedBuffer) -> Result<Self, Refusal> {
        let address = chosen.address;
        let (opened, function) = Opened::open(&chosen.tree, address)?;
        let transport = Vfio::new(opened, 0, QUEUE_BYTES, buffer, chosen.host.iommu_page_bytes)?;
        let refused = |error: NicError| obstacle::device(address, error);
        Ok(Self { nic: Nic::open(transport).map_err(refused)?, function })
    }
}

pub(super) fn raised(error: NicError) -> DeviceError {
    match error {
        NicError::Transport(_) | NicError::NotANic(_) => DeviceError::Lost(error.to_string()),
        error => DeviceError::Failed(error.to_string()),
    }
}

impl Engine for Link {
    type Command = Frame;
    const NAME: &'static str = "the NIC";

    fn depth(&self) -> u64 {
        DEPTH_MOST.into()
    }

    #[inline]
    fn submit(&mut self, frame: Frame) -> Result<(), DeviceError> {
        self.nic.submit(frame).map_err(raised).map(drop)
    }

    #[inline]
    fn ring(&mut self) -> Result<(), DeviceError> {
        self.nic.ring().map_err(raised)
    }

    #[inline]
    fn ended(&mut self, _wrong: &mut Option<DeviceError>) -> Result<u64, DeviceError> {
        self.nic.completions().map_err(raised)
    }
}
