//! This machine as the host of a device behind an IOMMU: warming keeps what the device looks for in the buffer.

use crate::address::Address;
use crate::listing::ready_for_vfio;
use crate::options::VfioHostOptions;
use crate::space::await_group;
use crate::tree::Tree;
use pcie_bench::{Condition, DeviceError, Host, HostFacts, Start};
use pcie_host::{Buffer, HostError, PageSize, RealHost, SharedBuffer, Topology};
use pcie_refusal::Refusal;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What the window has to hold, because the device looks at it.
pub(crate) trait Contents {
    /// Writes it to the first `window_bytes` of the buffer.
    fn fill(&self, buffer: &mut Buffer, window_bytes: u64);
}

/// What the window has to hold; none where that does not matter.
pub(crate) type SharedContents = Rc<RefCell<Option<Box<dyn Contents>>>>;

/// Huge pages of a process that was killed are there again soon after its group is.
const PAGES_LIMIT: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);

/// Opens this machine as the host of a device. What a process that was killed had comes back after a second or so: that is
/// waited for.
pub(crate) fn opened(
    tree: &Tree,
    address: Address,
    options: &VfioHostOptions,
    topology: &Topology,
) -> Result<(RealHost, SharedBuffer), Refusal> {
    let options = options.host()?;
    let function = tree.function(address)?;
    ready_for_vfio(tree, &function)?;
    let was_busy = await_group(tree, &function)?;
    let started = Instant::now();
    loop {
        match RealHost::open(&options, topology.clone()) {
            Err(HostError::TooFewPages { .. }) if was_busy && started.elapsed() < PAGES_LIMIT => {
                std::thread::sleep(LOOK);
            }
            opened => return Ok(opened?),
        }
    }
}

pub(crate) struct VfioHost {
    inner: RealHost,
    buffer: SharedBuffer,
    page: PageSize,
    device_socket: Option<u32>,
    contents: SharedContents,
}

impl VfioHost {
    pub(crate) fn new(
        inner: RealHost,
        buffer: SharedBuffer,
        page: PageSize,
        device_socket: Option<u32>,
        contents: SharedContents,
    ) -> Self {
        Self { inner, buffer, page, device_socket, contents }
    }
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
        // One more write of the window, with what has to be in it.
        if let Some(contents) = &*self.contents.borrow() {
            contents.fill(&mut self.buffer.borrow_mut(), window_bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use pcie_host::{Buffer, PageSize, Topology};

    /// A page, for tests of what devices look for in it.
    pub(crate) fn buffer() -> Buffer {
        Buffer::allocate(4096, PageSize::FourKib, None, &Topology::here()).unwrap()
    }
}
