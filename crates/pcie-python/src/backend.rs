//! Back ends as Python chooses them: made here, or written in Python.

use std::path::PathBuf;
use std::sync::Arc;

use pcie_bench::contract::check;
use pcie_bench::{Backend as Inner, Faulty, Traced};
use pcie_bench_sim::Simulated;
use pcie_host::Cpu;
use pcie_rtl::Rtl;
use pcie_time::{Draws, Stream};
use pcie_vfio::{Address, E1000e, Fpga, Nvme};
use pcie_workload::{AddressList, Test};
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::{parse, word};
use crate::python_device::PythonBackend;
use crate::system::machine;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Backend>()?;
    module.add_function(wrap_pyfunction!(address_offsets, module)?)
}

/// An address as people write it.
pub(crate) fn address(text: &str) -> Result<Address> {
    Ok(text.parse()?)
}

/// What carries tests out.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Backend {
    pub(crate) inner: Arc<dyn Inner>,
}

impl Backend {
    fn of(inner: impl Inner + 'static) -> Self {
        Self { inner: Arc::new(inner) }
    }
}

#[pymethods]
impl Backend {
    /// A simulated system.
    #[staticmethod]
    #[pyo3(signature = (system, *, samples, engine))]
    fn simulated(system: &str, samples: &str, engine: &str) -> Result<Self> {
        Ok(Self::of(Simulated::new(machine(system)?, word("samples", samples)?, word("engine", engine)?)))
    }

    /// The FPGA core in RTL, in a process of `program`, on the host and the link of a system.
    #[staticmethod]
    fn rtl(system: &str, program: PathBuf) -> Result<Self> {
        Ok(Self::of(Rtl::new(machine(system)?, Some(program))))
    }

    /// A core of this machine. `host` says how the host's side is set up.
    #[staticmethod]
    fn cpu(host: &str) -> Result<Self> {
        Ok(Self::of(Cpu::new(parse("host", host)?)))
    }

    /// The NVMe drive at an address. `device` and `host` say how it is driven, and how the host's side is set up.
    #[staticmethod]
    fn nvme(place: &str, device: &str, host: &str) -> Result<Self> {
        let (device, host) = (parse("device", device)?, parse("host", host)?);
        Ok(Self::of(Nvme::new(address(place)?, device, host)?))
    }

    /// The Intel 82574 NIC at an address, in MAC loopback.
    #[staticmethod]
    fn e1000e(place: &str, host: &str) -> Result<Self> {
        Ok(Self::of(E1000e::new(address(place)?, parse("host", host)?)?))
    }

    /// The FPGA core on the board at an address.
    #[staticmethod]
    fn fpga(place: &str, host: &str) -> Result<Self> {
        Ok(Self::of(Fpga::new(address(place)?, parse("host", host)?)?))
    }

    /// One that is written in Python: an adapter of `pcielab.devices.bridge`.
    #[staticmethod]
    fn of_python(adapter: Bound<'_, PyAny>) -> Result<Self> {
        Ok(Self::of(PythonBackend::new(&adapter)?))
    }

    /// The same with every slice written to a file.
    fn traced(&self, path: PathBuf) -> Self {
        Self::of(Traced::new(Arc::clone(&self.inner), path))
    }

    /// The same with faults, as JSON.
    fn with_faults(&self, faults: &str) -> Result<Self> {
        Ok(Self::of(Faulty::new(Arc::clone(&self.inner), parse("faults", faults)?)))
    }

    /// What the back end does not keep to of the contract, in words. `trial` has the tests to try, as JSON.
    fn check_contract(&self, py: Python<'_>, trial: &str) -> Result<Vec<String>> {
        let trial = parse("trial", trial)?;
        Ok(py.detach(|| check(&*self.inner, &trial)))
    }

    #[getter]
    fn kind(&self) -> &str {
        self.inner.kind()
    }

    #[getter]
    fn origin(&self) -> &'static str {
        self.inner.origin().as_str()
    }

    #[getter]
    fn jobs_most(&self) -> usize {
        self.inner.jobs_most()
    }
}

/// Offsets in the buffer that `count` transactions from `first` on of a test start at, as 64-bit numbers in native byte order.
#[pyfunction]
fn address_offsets(test: &str, seed: u64, position: u64, first: u64, count: usize) -> Result<Vec<u8>> {
    let test: Test = parse("test", test)?;
    test.validate()?;
    let list = AddressList::new(&test, Draws::new(seed, position, Stream::Addresses));
    let mut offsets = vec![0; count];
    list.offsets(first, &mut offsets);
    Ok(offsets.into_iter().flat_map(u64::to_ne_bytes).collect())
}
