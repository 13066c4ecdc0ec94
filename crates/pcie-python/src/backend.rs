//! Back ends as Python chooses them: made here, or written in Python.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pcie_bench::contract::check;
use pcie_bench::{Backend as Inner, Faulty, Traced};
use pcie_bench_sim::Simulated;
use pcie_host::Cpu;
use pcie_rtl::Rtl;
use pcie_time::{Draws, Stream};
use pcie_vfio::{Fpga, Nvme};
use pcie_workload::{AddressList, Test};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::python_device::PythonBackend;
use crate::run::{machine, parse, word};
use crate::vfio::{address, refused};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Backend>()?;
    module.add_class::<Stop>()?;
    module.add_function(wrap_pyfunction!(address_offsets, module)?)
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
    fn simulated(system: &str, samples: &str, engine: &str) -> PyResult<Self> {
        Ok(Self::of(Simulated::new(machine(system)?, word("samples", samples)?, word("engine", engine)?)))
    }

    /// The FPGA core in RTL, in a process of `program`, on the host and the link of a system.
    #[staticmethod]
    fn rtl(system: &str, program: PathBuf) -> PyResult<Self> {
        Ok(Self::of(Rtl::new(machine(system)?, Some(program))))
    }

    /// A core of this machine. `host` says how the host's side is set up.
    #[staticmethod]
    fn cpu(host: &str) -> PyResult<Self> {
        Ok(Self::of(Cpu::new(parse("host", host)?)))
    }

    /// The NVMe drive at an address. `device` and `host` say how it is driven, and how the host's side is set up.
    #[staticmethod]
    fn nvme(place: &str, device: &str, host: &str) -> PyResult<Self> {
        let (device, host) = (parse("device", device)?, parse("host", host)?);
        Ok(Self::of(Nvme::new(address(place)?, device, host).map_err(refused)?))
    }

    /// The FPGA core on the board at an address.
    #[staticmethod]
    fn fpga(place: &str, host: &str) -> PyResult<Self> {
        Ok(Self::of(Fpga::new(address(place)?, parse("host", host)?).map_err(refused)?))
    }

    /// One that is written in Python: an adapter of `pcielab.devices.bridge`.
    #[staticmethod]
    fn of_python(adapter: Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::of(PythonBackend::new(&adapter)?))
    }

    /// The same with every slice written to a file.
    fn traced(&self, path: PathBuf) -> Self {
        Self::of(Traced::new(Arc::clone(&self.inner), path))
    }

    /// The same with faults, as JSON.
    fn with_faults(&self, faults: &str) -> PyResult<Self> {
        Ok(Self::of(Faulty::new(Arc::clone(&self.inner), parse("faults", faults)?)))
    }

    /// What the back end does not keep to of the contract, in words. `trial` has the tests to try, as JSON.
    fn check_contract(&self, py: Python<'_>, trial: &str) -> PyResult<Vec<String>> {
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

/// The request that a run ends.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Stop {
    pub(crate) inner: pcie_bench::Stop,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self { inner: pcie_bench::Stop::default() }
    }

    /// Asks everything that looks at this to end.
    fn request(&self) {
        self.inner.request();
    }

    /// Whether it was asked for.
    fn is_requested(&self) -> bool {
        self.inner.is_requested()
    }

    /// Waits until it is asked for, or so many seconds; whether it was.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let limit = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("seconds = {seconds}: {error}")))?;
        Ok(py.detach(|| self.inner.wait(limit)))
    }
}

/// Offsets in the buffer that `count` transactions from `first` on of a test start at, as 64-bit numbers in native byte order.
#[pyfunction]
fn address_offsets(test: &str, seed: u64, position: u64, first: u64, count: usize) -> PyResult<Vec<u8>> {
    let test: Test = parse("test", test)?;
    test.validate().map_err(|error| crate::error::InputError::new_err(error.to_string()))?;
    let list = AddressList::new(&test, Draws::new(seed, position, Stream::Addresses));
    let mut offsets = vec![0; count];
    list.offsets(first, &mut offsets);
    Ok(offsets.into_iter().flat_map(u64::to_ne_bytes).collect())
}
