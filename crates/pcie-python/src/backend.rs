//! Back ends for Python, by the kind of work that they take: made here, or written in Python.

use std::path::PathBuf;
use std::sync::Arc;

use pcie_bench::contract::check_until;
use pcie_bench::{Backend as Inner, Benchmarks, Faulty, MessageDevice, Messages, Samples, Traced, Work};
use pcie_bench_sim::{Simulated, SimulatedExpander, SimulatedMessages, SimulatedNic};
use pcie_host::Cpu;
use pcie_model::Interactions;
use pcie_refusal::Refusal;
use pcie_rtl::Rtl;
use pcie_sim::profile::System;
use pcie_store::Origin;
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_vfio::{Address, E1000e, Fpga, Nvme, Pio};
use pcie_workload::{AddressList, Test};
use pyo3::prelude::*;

use crate::describe::System as Described;
use crate::error::{Error, Result, refused};
use crate::experiments::Experimenter;
use crate::json::{parse, word};
use crate::progress::{ITEMS_BETWEEN_LOOKS, Signals};
use crate::python_device::PythonBackend;
use crate::single::{Expander, Messages as MessageProfile, Nic};
use crate::suites::Work as Asked;

/// Parses the address of a PCI function.
pub(crate) fn parse_address(text: &str) -> Result<Address> {
    Ok(text.parse()?)
}

/// Carries out work.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Backend {
    inner: Takes,
}

/// Back ends by the kind of work that they take.
enum Takes {
    Transfers(Arc<dyn Inner>),
    Messages(Arc<dyn Inner<Box<dyn MessageDevice>>>),
    /// A NIC on a system.
    Frames(Box<(System, Interactions)>),
    /// A memory expander.
    Lines(Box<pcie_model::Expander>),
    Flows(Experimenter),
}

/// How work is carried out, beside its tests.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) samples: Samples,
    pub(crate) seed: u64,
    /// The time of each test whose trace is kept.
    pub(crate) trace: Option<Picoseconds>,
}

/// Properties of a back end.
struct Facts<'a> {
    kind: &'a str,
    takes: &'static str,
    origin: Origin,
    jobs_most: usize,
}

impl<'a> Facts<'a> {
    fn of<B>(inner: &'a dyn Inner<B>, takes: &'static str) -> Self {
        Self { kind: inner.kind(), takes, origin: inner.origin(), jobs_most: inner.jobs_most() }
    }

    fn simulated(takes: &'static str, jobs_most: usize) -> Self {
        Self { kind: "sim", takes, origin: Origin::Simulated, jobs_most }
    }
}

impl Backend {
    fn facts(&self) -> Facts<'_> {
        match &self.inner {
            Takes::Transfers(inner) => Facts::of(&**inner, "transfers"),
            Takes::Messages(inner) => Facts::of(&**inner, "messages"),
            Takes::Frames(_) => Facts::simulated("frames", SimulatedNic::JOBS_MOST),
            Takes::Lines(_) => Facts::simulated("lines", SimulatedExpander::JOBS_MOST),
            Takes::Flows(_) => Facts::simulated("flows", 1),
        }
    }

    fn of(inner: impl Inner + 'static) -> Self {
        Self { inner: Takes::Transfers(Arc::new(inner)) }
    }

    fn of_messages(inner: impl Inner<Box<dyn MessageDevice>> + 'static) -> Self {
        Self { inner: Takes::Messages(Arc::new(inner)) }
    }

    /// Work for the runner from what Python asks for.
    pub(crate) fn work(&self, asked: &Asked<'_>, how: How) -> Result<Arc<dyn Work>> {
        let How { samples, seed, trace } = how;
        Ok(match &self.inner {
            Takes::Transfers(inner) => {
                let suite = match asked {
                    Asked::Suite(suite) => suite.transfers()?.clone(),
                    Asked::Json(json) | Asked::Made(json) => parse("suite", json)?,
                };
                Arc::new(Benchmarks::new(suite, samples, seed, Arc::clone(inner))?.with_trace(trace))
            }
            Takes::Messages(inner) => {
                let suite = match asked {
                    Asked::Suite(suite) => suite.messages()?,
                    Asked::Json(json) | Asked::Made(json) => parse("suite", json)?,
                };
                Arc::new(Messages::new(suite, Arc::clone(inner))?.with_trace(trace))
            }
            Takes::Frames(both) => {
                let (system, nic) = (**both).clone();
                let work = SimulatedNic::new(system, nic, parse("tests", asked.json()?)?, seed)?;
                Arc::new(work.with_trace(trace))
            }
            Takes::Lines(expander) => {
                let tests = parse("tests", asked.json()?)?;
                Arc::new(SimulatedExpander::new((**expander).clone(), tests, seed)?.with_trace(trace))
            }
            Takes::Flows(experimenter) => Arc::new(experimenter.experiments(asked.json()?)?),
        })
    }
}

#[pymethods]
impl Backend {
    /// A simulated system.
    #[staticmethod]
    #[pyo3(signature = (system, *, samples, engine))]
    fn simulated(system: &Described, samples: &str, engine: &str) -> Result<Self> {
        Ok(Self::of(Simulated::new(system.machine()?, word("samples", samples)?, word("engine", engine)?)))
    }

    /// The FPGA core in RTL, in a process of `program`, on the host and link of a system.
    #[staticmethod]
    fn rtl(system: &Described, program: PathBuf) -> Result<Self> {
        Ok(Self::of(Rtl::new(system.machine()?, Some(program))))
    }

    /// A core of this machine. `host` has the options of the host's side.
    #[staticmethod]
    fn cpu(host: &str) -> Result<Self> {
        Ok(Self::of(Cpu::new(parse("host", host)?)))
    }

    /// The NVMe drive at an address. `device` and `host` have the options of the drive and the host's side.
    #[staticmethod]
    fn nvme(address: &str, device: &str, host: &str) -> Result<Self> {
        let (device, host) = (parse("device", device)?, parse("host", host)?);
        Ok(Self::of(Nvme::new(parse_address(address)?, device, host)?))
    }

    /// The Intel 82574 NIC at an address, in MAC loopback.
    #[staticmethod]
    fn e1000e(address: &str, host: &str) -> Result<Self> {
        Ok(Self::of(E1000e::new(parse_address(address)?, parse("host", host)?)?))
    }

    /// The FPGA core on the board at an address.
    #[staticmethod]
    fn fpga(address: &str, host: &str) -> Result<Self> {
        Ok(Self::of(Fpga::new(parse_address(address)?, parse("host", host)?)?))
    }

    /// Stores into a BAR of the device at an address; for messages.
    #[staticmethod]
    fn pio(address: &str, device: &str, host: &str) -> Result<Self> {
        let (device, host) = (parse("device", device)?, parse("host", host)?);
        Ok(Self::of_messages(Pio::new(parse_address(address)?, device, host)?))
    }

    /// A core and a device on a simulated system, for messages; `seed` names the run.
    #[staticmethod]
    #[pyo3(signature = (system, profile, *, seed))]
    fn messages(system: &Described, profile: &MessageProfile, seed: u64) -> Result<Self> {
        let profile = profile.0.content.clone();
        Ok(Self::of_messages(SimulatedMessages::new(system.system().clone(), profile, seed)?))
    }

    /// A NIC on a simulated system, for frames of a size, on which its switches depend.
    #[staticmethod]
    fn nic(system: &Described, nic: &Nic, frame_bytes: Option<u64>) -> Self {
        let nic = nic.0.content.for_frames(frame_bytes).into_owned();
        Self { inner: Takes::Frames(Box::new((system.system().clone(), nic))) }
    }

    /// A memory expander, for lines.
    #[staticmethod]
    fn expander(expander: &Expander) -> Self {
        Self { inner: Takes::Lines(Box::new(expander.0.content.clone())) }
    }

    /// Simulations that Python carries out itself: see `experiments`.
    #[staticmethod]
    fn experiments(identity: &str, carry_out: Py<PyAny>) -> Result<Self> {
        Ok(Self { inner: Takes::Flows(Experimenter::new(parse("identity", identity)?, carry_out)) })
    }

    /// A back end that is written in Python: an adapter of `pcielab.devices.bridge`.
    #[staticmethod]
    fn of_python(adapter: Bound<'_, PyAny>) -> Result<Self> {
        Ok(Self::of(PythonBackend::new(&adapter)?))
    }

    /// The same back end with every slice written to a file.
    fn traced(&self, path: PathBuf) -> Result<Self> {
        match &self.inner {
            Takes::Transfers(inner) => Ok(Self::of(Traced::new(Arc::clone(inner), path))),
            _ => Err(refused("traced: give a back end for transfers")),
        }
    }

    /// The same back end with injected faults, as JSON.
    fn with_faults(&self, faults: &str) -> Result<Self> {
        let faults = parse("faults", faults)?;
        match &self.inner {
            Takes::Transfers(inner) => Ok(Self::of(Faulty::new(Arc::clone(inner), faults))),
            _ => Err(refused("faults: give a back end for transfers")),
        }
    }

    /// Violations of the contract of back ends, in words. `trial` has the tests to try, as JSON. A signal stops it.
    fn check_contract(&self, py: Python<'_>, trial: &str) -> Result<Vec<String>> {
        match &self.inner {
            Takes::Transfers(inner) => {
                let trial = parse("trial", trial)?;
                let signals = Signals::new();
                let stop = signals.stop();
                signals.result(Ok::<_, Error>(py.detach(|| check_until(&**inner, &trial, &stop))))
            }
            _ => Err(refused("contract: give a back end for transfers")),
        }
    }

    /// Refuses work that the back end cannot carry out.
    #[pyo3(signature = (work, *, seed))]
    fn check(&self, work: Asked<'_>, seed: u64) -> Result<()> {
        self.work(&work, How { samples: Samples::Adaptive, seed, trace: None }).map(drop)
    }

    #[getter]
    fn kind(&self) -> &str {
        self.facts().kind
    }

    /// The kind of work that it takes.
    #[getter]
    fn takes(&self) -> &'static str {
        self.facts().takes
    }

    #[getter]
    fn origin(&self) -> &'static str {
        self.facts().origin.as_str()
    }

    #[getter]
    fn jobs_most(&self) -> usize {
        self.facts().jobs_most
    }
}

/// Most offsets at once: half a gigabyte.
const OFFSETS_MOST: usize = 1 << 26;

/// Offsets in the buffer of `count` transactions of a test from `first` on, as 64-bit numbers in native byte
/// order.
#[pyfunction]
pub(crate) fn address_offsets(
    py: Python<'_>,
    test: &str,
    seed: u64,
    position: u64,
    first: u64,
    count: usize,
) -> Result<Vec<u8>> {
    let test: Test = parse("test", test)?;
    test.validate()?;
    if count > OFFSETS_MOST {
        return Err(Refusal::of("count", count, format!("give {OFFSETS_MOST} at most")).into());
    }
    let list = AddressList::new(&test, Draws::new(seed, position, Stream::Addresses));
    let (mut bytes, mut block) = (Vec::with_capacity(8 * count), [0; ITEMS_BETWEEN_LOOKS]);
    for start in (0..count).step_by(ITEMS_BETWEEN_LOOKS) {
        py.check_signals()?;
        let block = &mut block[..ITEMS_BETWEEN_LOOKS.min(count - start)];
        list.offsets(first.saturating_add(start as u64), block);
        bytes.extend(block.iter().flat_map(|offset| offset.to_ne_bytes()));
    }
    Ok(bytes)
}
