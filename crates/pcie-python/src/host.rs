//! The real host for back ends that are written in Python.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pcie_bench::{Host as _, Start};
use pcie_host::{Topology, WholeHost};
use pcie_workload::{Operation, Test};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::json::{parse, text};
use crate::progress::Signals;
use crate::stop::Stop;

/// This machine as a host: its buffer, and control of its caches. It pins the thread that opens it, which alone
/// uses it; any thread may drop it.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct RealHost {
    inner: Mutex<WholeHost>,
    address: usize,
    buffer_bytes: u64,
    /// Stop the current test.
    signals: Mutex<Signals>,
}

#[pymethods]
impl RealHost {
    /// Pins this thread and allocates the buffer; `options` is a JSON object, `device_node` the device's NUMA
    /// node: the thread is pinned to a core there, unless the options name one.
    #[new]
    #[pyo3(signature = (options, device_node=None))]
    fn new(options: &str, device_node: Option<u32>) -> Result<Self> {
        let mut inner = WholeHost::open(&parse("host", options)?, Topology::here(), device_node)?;
        let (address, buffer_bytes) = {
            let mut buffer = inner.buffer_mut().ok_or_else(elsewhere)?;
            // Python, and devices that it registers the memory with, access it by address.
            buffer.lend();
            (buffer.address(), buffer.length())
        };
        Ok(Self { inner: Mutex::new(inner), address, buffer_bytes, signals: Mutex::new(Signals::new()) })
    }

    /// Address of the buffer's first byte in this process.
    #[getter]
    fn address(&self) -> usize {
        self.address
    }

    /// Length of the buffer, bytes.
    #[getter]
    fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// Locks the pages of the buffer in memory.
    fn lock(&self) -> Result<()> {
        let inner = self.inner()?;
        let buffer = inner.buffer().ok_or_else(elsewhere)?;
        Ok(buffer.lock()?)
    }

    /// Identity of the host, as JSON.
    fn facts(&self) -> Result<String> {
        text(&self.inner()?.host().ok_or_else(elsewhere)?.facts())
    }

    /// Its conditions, as JSON.
    fn conditions(&self) -> Result<String> {
        text(&self.inner()?.host().ok_or_else(elsewhere)?.conditions())
    }

    /// Announces a test over the first `window_bytes` of the buffer, which `stop` or a signal interrupts.
    fn begin(&self, window_bytes: u64, stop: &Stop) -> Result<()> {
        let test = Test::random_dma(Operation::BwRd, 1, window_bytes, 1);
        let (signals, asked) = (Signals::new(), stop.inner.clone());
        *self.signals() = signals.clone();
        let stop = pcie_bench::Stop::asking(move || asked.is_requested() || signals.came());
        let start = Start { position: 0, seed: 0, test: &test, stop: &stop };
        self.inner()?.host().ok_or_else(elsewhere)?.begin(start);
        Ok(())
    }

    /// Makes the caches cold for the announced test.
    fn thrash(&self) -> Result<()> {
        let thrashed = self.inner()?.host().ok_or_else(elsewhere)?.thrash();
        self.signals().result(thrashed)
    }

    /// Writes the first `window_bytes` of the buffer, in whole pages, four times.
    fn warm(&self, window_bytes: u64) -> Result<()> {
        let warmed = self.inner()?.host().ok_or_else(elsewhere)?.warm(window_bytes);
        self.signals().result(warmed)
    }
}

impl RealHost {
    /// The host, unless another thread is at it: waiting for that one could hold up Python, which it needs.
    fn inner(&self) -> Result<MutexGuard<'_, WholeHost>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(elsewhere()),
        }
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn elsewhere() -> Error {
    Error::Failed("the host belongs to the thread that opened it: use it there".into())
}
