//! This machine as the host of a device behind an IOMMU. Warming keeps the device's expected data.

use crate::address::Address;
use crate::listing::ready_for_vfio;
use crate::options::VfioHostOptions;
use crate::space::await_group;
use crate::tree::{Function, Tree};
use pcie_bench::{Condition, DeviceError, Host, HostFacts, Start};
use pcie_host::{Buffer, HostError, PageSize, RealHost, SharedBuffer, Topology};
use pcie_refusal::Refusal;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Data that the device expects in the window.
pub(crate) trait Contents {
    /// Writes the data to the first `window_bytes` of the buffer.
    fn fill(&self, buffer: &mut Buffer, window_bytes: u64);
}

/// Data that the device expects in the window; none if it expects nothing.
pub(crate) type SharedContents = Rc<RefCell<Option<Box<dyn Contents>>>>;

/// Time in which the kernel frees the huge pages of a killed process, once its group is free.
const PAGES_LIMIT: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);

/// Opens this machine as the host of a device; waits for group and huge pages of a process just killed.
pub(crate) fn opened(
    tree: &Tree,
    address: Address,
    options: &VfioHostOptions,
    topology: &Topology,
) -> Result<(RealHost, SharedBuffer, Function), Refusal> {
    let options = options.host()?;
    let function = tree.function(address)?;
    ready_for_vfio(tree, &function)?;
    let was_busy = await_group(tree, &function)?;
    let started = Instant::now();
    loop {
        match RealHost::open(&options, topology.clone(), function.node) {
            Err(HostError::TooFewPages { .. }) if was_busy && started.elapsed() < PAGES_LIMIT => {
                std::thread::sleep(LOOK);
            }
            opened => return opened.map(|(host, buffer)| (host, buffer, function)).map_err(Refusal::from),
        }
    }
}

pub(crate) struct VfioHost {
    pub(crate) inner: RealHost,
    pub(crate) buffer: SharedBuffer,
    pub(crate) page: PageSize,
    pub(crate) device_socket: Option<u32>,
    pub(crate) contents: SharedContents,
}

impl Host for VfioHost {
    fn facts(&self) -> HostFacts {
        let mut facts = self.inner.facts();
        facts.device_socket = self.device_socket;
        if let Some(hardware) = &mut facts.hardware {
            let pages = if self.page == PageSize::FourKib { "four-kib-pages" } else { "super-pages" };
            hardware.iommu = Some(pages.to_owned());
        }
        facts
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.inner.conditions()
    }

    fn begin(&mut self, start: Start<'_>) {
        self.inner.begin(start);
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.inner.thrash()
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        self.inner.warm(window_bytes)?;
        // Warming has overwritten the window: restore the expected data.
        if let Some(contents) = &*self.contents.borrow() {
            contents.fill(&mut self.buffer.borrow_mut(), window_bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use pcie_host::{Buffer, PageSize, Topology};

    /// A buffer of one page.
    pub(crate) fn buffer() -> Buffer {
        Buffer::allocate(4096, PageSize::FourKib, None, &Topology::here()).unwrap()
    }
}
