//! The real host for back ends that are written in Python.

use pcie_bench::{Host, Start};
use pcie_host::{RealHost as Inner, SharedBuffer, Topology};
use pcie_workload::{Operation, Test};
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::{parse, text};
use crate::stop::Stop;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RealHost>()
}

/// This machine as a host: its buffer, and its caches made warm and cold. It pins the thread that opens it, and belongs to it.
#[pyclass(unsendable, module = "pcielab._core")]
pub(crate) struct RealHost {
    inner: Inner,
    buffer: SharedBuffer,
}

#[pymethods]
impl RealHost {
    /// Pins this thread and allocates the buffer, as the options say, a JSON object.
    #[new]
    fn new(options: &str) -> Result<Self> {
        let (inner, buffer) = Inner::open(&parse("host", options)?, Topology::here())?;
        // Python, and devices that it registers the memory with, reach it by its address.
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

    /// Keeps every page of the buffer where it is.
    fn lock(&self) -> Result<()> {
        Ok(self.buffer.borrow().lock()?)
    }

    /// What the host is, as JSON.
    fn facts(&self) -> Result<String> {
        text(&self.inner.facts())
    }

    /// What changes about it, as JSON.
    fn conditions(&mut self) -> Result<String> {
        text(&self.inner.conditions())
    }

    /// Announces a test over the first `window_bytes` of the buffer, which nobody waits for once `stop` is requested.
    fn begin(&mut self, window_bytes: u64, stop: &Stop) {
        let test = Test::random_dma(Operation::BwRd, 1, window_bytes, 1);
        self.inner.begin(Start { position: 0, seed: 0, test: &test, stop: &stop.inner });
    }

    /// Makes the caches cold for the test that was announced.
    fn thrash(&mut self) -> Result<()> {
        Ok(self.inner.thrash()?)
    }

    /// Writes the first `window_bytes` of the buffer, in whole pages, four times.
    fn warm(&mut self, window_bytes: u64) -> Result<()> {
        Ok(self.inner.warm(window_bytes)?)
    }
}
