//! The real host for back ends that are written in Python.

use pcie_bench::{Host, Start};
use pcie_host::{RealHost as Inner, SharedBuffer, Topology};
use pcie_workload::{Operation, Test};
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::{parse, text};
use crate::stop::Stop;

/// This machine as a host: its buffer, and control of its caches. It pins the thread that opens it, and
/// belongs to that thread.
#[pyclass(unsendable, module = "pcielab._core")]
pub(crate) struct RealHost {
    inner: Inner,
    buffer: SharedBuffer,
}

#[pymethods]
impl RealHost {
    /// Pins this thread and allocates the buffer; `options` is a JSON object, `device_node` the device's NUMA
    /// node: the thread is pinned to a core there, unless the options name one.
    #[new]
    #[pyo3(signature = (options, device_node=None))]
    fn new(options: &str, device_node: Option<u32>) -> Result<Self> {
        let (inner, buffer) = Inner::open(&parse("host", options)?, Topology::here(), device_node)?;
        // Python, and devices that it registers the memory with, access it by address.
        buffer.borrow_mut().lend();
        Ok(Self { inner, buffer })
    }

    /// Address of the buffer's first byte in this process.
    #[getter]
    fn address(&self) -> usize {
        self.buffer.borrow().address()
    }

    /// Length of the buffer, bytes.
    #[getter]
    fn buffer_bytes(&self) -> u64 {
        self.buffer.borrow().length()
    }

    /// Locks the pages of the buffer in memory.
    fn lock(&self) -> Result<()> {
        Ok(self.buffer.borrow().lock()?)
    }

    /// Identity of the host, as JSON.
    fn facts(&self) -> Result<String> {
        text(&self.inner.facts())
    }

    /// Its conditions, as JSON.
    fn conditions(&mut self) -> Result<String> {
        text(&self.inner.conditions())
    }

    /// Announces a test over the first `window_bytes` of the buffer, which `stop` interrupts.
    fn begin(&mut self, window_bytes: u64, stop: &Stop) {
        let test = Test::random_dma(Operation::BwRd, 1, window_bytes, 1);
        self.inner.begin(Start { position: 0, seed: 0, test: &test, stop: &stop.inner });
    }

    /// Makes the caches cold for the announced test.
    fn thrash(&mut self) -> Result<()> {
        Ok(self.inner.thrash()?)
    }

    /// Writes the first `window_bytes` of the buffer, in whole pages, four times.
    fn warm(&mut self, window_bytes: u64) -> Result<()> {
        Ok(self.inner.warm(window_bytes)?)
    }
}
