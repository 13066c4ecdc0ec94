//! The runtime of `pcie-fabric` for Python, and policies that are written in Python.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pcie_fabric::runtime::{Choice, Fifo, Policy, RoundRobin, Runtime, ShortestFirst, Transfer, Waiting};
use pcie_fabric::simulate::{Discipline, Phases, Primitive};
use pcie_fabric::{BarParameters, NodeId, Topology};
use pcie_refusal::Refusal;
use pcie_rtl::Cores;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Error, Result, refused};
use crate::fabrics::Fabric;
use crate::json::word;
use crate::progress::Watched;

/// A program's view of a simulated fabric.
#[pyclass(module = "pcielab._core")]
pub(crate) struct FabricRuntime {
    runtime: Runtime,
    raised: Raised,
}

/// Completed requests, in order: arrays in native byte order. Requests and sizes are 64-bit, queues 32-bit
/// numbers. `times` has five doubles of each request, ns: submission, arrival of its command at the device
/// (NaN for MMIO), and its host, fabric and device phase.
#[pyclass(frozen, get_all, module = "pcielab._core")]
pub(crate) struct FabricTrace {
    request: Vec<u8>,
    primitive: Vec<&'static str>,
    queue: Vec<u8>,
    host: Vec<String>,
    device: Vec<String>,
    peer: Vec<Option<String>>,
    size_bytes: Vec<u8>,
    times: Vec<u8>,
}

/// The first request of a queue, for a policy.
#[pyclass(frozen, get_all, module = "pcielab._core")]
pub(crate) struct FabricWaiting {
    queue: u32,
    host: String,
    device: String,
    primitive: &'static str,
    size_bytes: u64,
    submitted_ns: f64,
    age_ns: f64,
    in_flight: u32,
}

/// The exception of a policy, until the current call raises it.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// An object with a method `choose`, which returns an index of the list, None to hold all back, or an object
/// with `for_ns` to hold them back for a time.
#[derive(Debug)]
struct PythonPolicy {
    policy: Arc<Py<PyAny>>,
    raised: Raised,
}

impl Policy for PythonPolicy {
    fn choose(&mut self, waiting: &[Waiting]) -> Choice {
        let chosen = Python::attach(|py| {
            let shown: Vec<FabricWaiting> = waiting.iter().map(FabricWaiting::from).collect();
            choice(self.policy.bind(py).call_method1("choose", (shown,))?)
        });
        chosen.unwrap_or_else(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Choice::Leave(usize::MAX)
        })
    }
}

fn choice(answer: Bound<'_, PyAny>) -> PyResult<Choice> {
    if answer.is_none() {
        return Ok(Choice::Hold);
    }
    if answer.hasattr("for_ns")? {
        return Ok(Choice::HoldFor(answer.getattr("for_ns")?.extract()?));
    }
    Ok(Choice::Leave(answer.extract()?))
}

impl From<&Waiting> for FabricWaiting {
    fn from(waiting: &Waiting) -> Self {
        let Waiting { queue, host, device, primitive, size_bytes, submitted_ns, age_ns, in_flight } =
            waiting.clone();
        let primitive = primitive.name();
        Self { queue, host, device, primitive, size_bytes, submitted_ns, age_ns, in_flight }
    }
}

#[pymethods]
impl FabricRuntime {
    #[new]
    fn new(
        fabric: &Fabric,
        discipline: &str,
        policy: Bound<'_, PyAny>,
        outstanding: u32,
        devices: &str,
        program: Option<PathBuf>,
    ) -> Result<Self> {
        let topology: Topology = fabric.topology().clone();
        let discipline: Discipline = word("discipline", discipline)?;
        let raised = Raised::default();
        let policy = policies(policy, &raised)?;
        let runtime = match devices {
            "simulated" => Runtime::new(topology, discipline, policy, outstanding)?,
            "rtl" => {
                let cores = Box::new(Cores::start(&topology, program)?);
                Runtime::over(cores, Arc::new(topology), policy, outstanding)?
            }
            other => {
                let unknown = Refusal::of("devices", other, "give simulated or rtl");
                return Err(unknown.about("Runtime").into());
            }
        };
        Ok(Self { runtime, raised })
    }

    fn device_init(&mut self, device: &str) -> Result<()> {
        Ok(self.runtime.device_init(device)?)
    }

    fn map_bar(&mut self, device: &str, region: &str, address: u64, size_bytes: u64) -> Result<()> {
        Ok(self.runtime.map_bar(device, region, BarParameters { address, size_bytes })?)
    }

    fn memory_init(&mut self, device: &str, region: &str) -> Result<()> {
        Ok(self.runtime.memory_init(device, region)?)
    }

    fn setup_mapping(&mut self, device: &str, region: &str, host: &str, host_address: u64) -> Result<()> {
        Ok(self.runtime.setup_mapping(device, region, host, host_address)?)
    }

    fn memory_alloc(&mut self, device: &str, region: &str, size_bytes: u64) -> Result<u64> {
        Ok(self.runtime.memory_alloc(device, region, size_bytes)?)
    }

    fn memory_free(&mut self, device: &str, device_address: u64) -> Result<()> {
        Ok(self.runtime.memory_free(device, device_address)?)
    }

    fn memory_address(&mut self, device: &str, device_address: u64, host: &str) -> Result<u64> {
        Ok(self.runtime.memory_address(device, device_address, host)?)
    }

    fn device_address(&mut self, device: &str, host_address: u64, host: &str) -> Result<u64> {
        Ok(self.runtime.device_address(device, host_address, host)?)
    }

    fn write_bytes(&mut self, node: &str, address: u64, content: &[u8]) -> Result<()> {
        Ok(self.runtime.write_bytes(node, address, content)?)
    }

    fn read_bytes<'py>(
        &mut self,
        py: Python<'py>,
        node: &str,
        address: u64,
        size_bytes: u64,
    ) -> Result<Bound<'py, PyBytes>> {
        let read = self.runtime.read_bytes(node, address, size_bytes)?;
        Ok(PyBytes::new(py, &read))
    }

    fn host_memory_alloc(&mut self, host: &str, size_bytes: u64) -> Result<u64> {
        Ok(self.runtime.host_memory_alloc(host, size_bytes)?)
    }

    fn host_memory_free(&mut self, host: &str, host_address: u64) -> Result<()> {
        Ok(self.runtime.host_memory_free(host, host_address)?)
    }

    fn add_queue(&mut self, host: &str, socket: u32, outstanding: u32) -> Result<u32> {
        Ok(self.runtime.add_queue(host, socket, outstanding)?)
    }

    /// `transfers` has device address, other address and size of each transfer.
    fn submit(
        &mut self,
        primitive: &str,
        queue: u32,
        device: &str,
        transfers: Vec<(u64, u64, u64)>,
    ) -> Result<u64> {
        let list: Vec<Transfer> = transfers
            .into_iter()
            .map(|(device_address, other_address, size_bytes)| Transfer {
                device_address,
                other_address,
                size_bytes,
            })
            .collect();
        let runtime = &mut self.runtime;
        let submitted = match word("primitive", primitive)? {
            Primitive::MmioRead => runtime.mmio_read(queue, device, &list),
            Primitive::MmioWrite => runtime.mmio_write(queue, device, &list),
            Primitive::H2d => runtime.h2d(queue, device, &list),
            Primitive::D2h => runtime.d2h(queue, device, &list),
            Primitive::D2dRead => runtime.dev2dev_read(queue, device, &list),
            Primitive::D2dWrite => runtime.dev2dev_write(queue, device, &list),
            Primitive::Stream | Primitive::DmaWrite => {
                return Err(refused(format!("{primitive}: not a primitive of the runtime")));
            }
        };
        self.raised_or(submitted.map_err(Error::from))
    }

    /// Runs to the end, or until a signal comes: a later call goes on from there.
    fn run(&mut self, py: Python<'_>) -> Result<()> {
        let (runtime, mut watched) = (&mut self.runtime, Watched::new());
        let ran = py.detach(|| runtime.run_unless(&mut || watched.is_signalled()));
        self.raised_or(watched.result(ran))
    }

    fn run_until(&mut self, py: Python<'_>, end_ns: f64) -> Result<()> {
        let (runtime, mut watched) = (&mut self.runtime, Watched::new());
        let ran = py.detach(|| runtime.run_until_unless(end_ns, &mut || watched.is_signalled()));
        self.raised_or(watched.result(ran))
    }

    #[getter]
    fn now_ns(&self) -> f64 {
        self.runtime.now_ns()
    }

    #[getter]
    fn unfinished(&self) -> usize {
        self.runtime.unfinished()
    }

    fn trace(&self) -> FabricTrace {
        let requests = || self.runtime.trace().requests.iter();
        let nodes = self.runtime.topology().nodes();
        let named = |id: NodeId| nodes[id as usize].name.clone();
        FabricTrace {
            request: requests().flat_map(|one| one.request.to_ne_bytes()).collect(),
            primitive: requests().map(|one| one.primitive.name()).collect(),
            queue: requests().flat_map(|one| one.queue.to_ne_bytes()).collect(),
            host: requests().map(|one| named(one.host)).collect(),
            device: requests().map(|one| named(one.device)).collect(),
            peer: requests().map(|one| one.peer.map(named)).collect(),
            size_bytes: requests().flat_map(|one| one.size_bytes.to_ne_bytes()).collect(),
            times: requests()
                .flat_map(|one| {
                    let Phases { host_ns, fabric_ns, device_ns } = one.phases;
                    [one.submitted_ns, one.reached_ns, host_ns, fabric_ns, device_ns]
                })
                .flat_map(f64::to_ne_bytes)
                .collect(),
        }
    }
}

impl FabricRuntime {
    fn raised_or<T>(&self, result: Result<T>) -> Result<T> {
        match self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(Error::Raised(error)),
            None => result,
        }
    }
}

/// Creates the policy of each host.
type Policies = Box<dyn Fn() -> Box<dyn Policy>>;

/// A policy by name, separate for each host, or an object with `choose`, shared by all hosts.
fn policies(policy: Bound<'_, PyAny>, raised: &Raised) -> Result<Policies> {
    let Ok(name) = policy.extract::<String>() else {
        let (policy, raised) = (Arc::new(policy.unbind()), Arc::clone(raised));
        return Ok(Box::new(move || {
            Box::new(PythonPolicy { policy: Arc::clone(&policy), raised: Arc::clone(&raised) })
        }));
    };
    match name.as_str() {
        "fifo" => Ok(Box::new(|| Box::new(Fifo))),
        "round-robin" => Ok(Box::new(|| Box::<RoundRobin>::default())),
        "shortest-first" => Ok(Box::new(|| Box::new(ShortestFirst))),
        other => Err(refused(format!(
            "policy {other}: unknown: give fifo, round-robin, shortest-first, or an object with a method choose"
        ))),
    }
}
