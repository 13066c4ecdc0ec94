//! This machine as the host of a device behind an IOMMU: warming keeps what the device looks for in the buffer.

use pcie_bench::{Condition, DeviceError, Host, HostFacts, Start};
use pcie_host::{PageSize, RealHost, SharedBuffer};
use std::cell::RefCell;
use std::rc::Rc;

/// What the window has to hold, because the device looks at it.
pub(crate) trait Contents {
    /// Writes it to the first `window_bytes` of the buffer.
    fn fill(&self, buffer: &mut [u8], window_bytes: u64);
}

/// What the window has to hold; none where that does not matter.
pub(crate) type SharedContents = Rc<RefCell<Option<Box<dyn Contents>>>>;

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
            contents.fill(self.buffer.borrow_mut().bytes_mut(), window_bytes);
        }
        Ok(())
    }
}
