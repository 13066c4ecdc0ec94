//! Adapter for devices and hosts that are written in Python; `pcielab.devices.bridge` documents the calls.
//! Slices are buffers that are copied once.

use std::ops::ControlFlow;
use std::rc::Rc;

use pcie_bench::{
    Backend, BandwidthSlice, Bench, Condition, Device, DeviceError, DeviceFacts, Host, HostFacts,
    LatencySlice, OpenError, Remarks, Start,
};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use pcie_workload::Test;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::{DeviceLostError, NotSupportedError, UnavailableError};
use crate::json::parse;
use crate::stop::Stop;

/// A back end that is written in Python.
pub(crate) struct PythonBackend {
    adapter: Py<PyAny>,
    kind: String,
    origin: Origin,
    options: Map<String, Value>,
    attachments: Vec<(String, String)>,
}

impl PythonBackend {
    /// Reads the properties of an unopened back end.
    pub(crate) fn new(adapter: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = |name: &str| adapter.call_method0(name)?.extract::<String>();
        let origin: String = text("origin")?;
        let manifest = Map::from_iter([("origin".to_owned(), Value::String(origin))]);
        // The manifest checks the origin.
        let origin = pcie_store::Manifest::from_entries(manifest)
            .and_then(|manifest| manifest.origin())
            .map_err(crate::error::Error::from)?;
        Ok(Self {
            kind: text("kind")?,
            origin,
            options: parse("options", &text("options")?)?,
            attachments: adapter.call_method0("attachments")?.extract()?,
            adapter: adapter.clone().unbind(),
        })
    }
}

impl Backend for PythonBackend {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn options(&self) -> Map<String, Value> {
        self.options.clone()
    }

    fn attachments(&self) -> Vec<(String, String)> {
        self.attachments.clone()
    }

    fn open(&self) -> Result<Bench, OpenError> {
        Python::attach(|py| {
            let bench = self.adapter.call_method0(py, "open").map_err(|error| {
                match error.is_instance_of::<UnavailableError>(py) {
                    true => Refusal::new(error.value(py)).into(),
                    false => OpenError::Failed(named(py, &error)),
                }
            })?;
            let facts = Facts::of(py, &bench).map_err(|error| {
                // Close the opened bench, and report the first error.
                let _ = bench.call_method0(py, "close");
                OpenError::Failed(named(py, &error))
            })?;
            let bench = Rc::new(PythonBench { bench, facts });
            let device = PythonDevice { bench: Rc::clone(&bench), begun: Ok(()) };
            Ok(Bench { device: Box::new(device), host: Box::new(PythonHost(bench)) })
        })
    }
}

/// The message of any other exception, with its class.
fn named(py: Python<'_>, error: &PyErr) -> String {
    let class = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    format!("{class}: {}", error.value(py))
}

struct Facts {
    device: DeviceFacts,
    host: HostFacts,
}

impl Facts {
    fn of(py: Python<'_>, bench: &Py<PyAny>) -> PyResult<Self> {
        let text = |name| bench.call_method0(py, name)?.extract::<String>(py);
        Ok(Self {
            device: parse("device facts", &text("device_facts")?)?,
            host: parse("host facts", &text("host_facts")?)?,
        })
    }
}

/// An opened device and host. Closed when neither is used any more.
struct PythonBench {
    bench: Py<PyAny>,
    facts: Facts,
}

impl PythonBench {
    fn attached<T>(
        &self,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, DeviceError> {
        Python::attach(|py| call(py, self.bench.bind(py)).map_err(|error| raised(py, &error)))
    }

    fn call(&self, name: &str) -> Result<(), DeviceError> {
        self.attached(|_, bench| bench.call_method0(name).map(drop))
    }

    fn call_with(&self, name: &str, bytes: u64) -> Result<(), DeviceError> {
        self.attached(|_, bench| bench.call_method1(name, (bytes,)).map(drop))
    }

    fn conditions(&self, name: &str) -> Vec<Condition> {
        let read: Result<Vec<Condition>, _> = self.attached(|_, bench| text_as(bench, name));
        // Conditions that cannot be read are unknown.
        read.unwrap_or_default()
    }

    /// Takes slices from a generator until it ends or `take` breaks off, and then closes it.
    fn slices<T>(
        &self,
        name: &str,
        test: &Test,
        read: impl Fn(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
        mut take: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let json = serde_json::to_string(test).map_err(|error| DeviceError::Failed(error.to_string()))?;
        let slices = self.attached(|_, bench| Ok(bench.call_method1(name, (json,))?.try_iter()?.unbind()))?;
        let next = || {
            self.attached(|py, _| {
                let mut slices: Bound<'_, PyIterator> = slices.bind(py).clone();
                slices.next().transpose()?.map(|slice| read(py, &slice)).transpose()
            })
        };
        while let Some(slice) = next()? {
            if take(slice).is_break() {
                return self.attached(|py, _| match slices.bind(py).call_method0("close") {
                    Err(error) if error.is_instance_of::<pyo3::exceptions::PyAttributeError>(py) => Ok(()),
                    closed => closed.map(drop),
                });
            }
        }
        Ok(())
    }
}

fn text_as<T: DeserializeOwned>(bench: &Bound<'_, PyAny>, name: &str) -> PyResult<T> {
    Ok(parse(name, &bench.call_method0(name)?.extract::<String>()?)?)
}

fn raised(py: Python<'_>, error: &PyErr) -> DeviceError {
    let message = error.value(py).to_string();
    if error.is_instance_of::<NotSupportedError>(py) {
        DeviceError::NotSupported(message)
    } else if error.is_instance_of::<DeviceLostError>(py) {
        DeviceError::Lost(message)
    } else {
        DeviceError::Failed(named(py, error))
    }
}

impl Drop for PythonBench {
    fn drop(&mut self) {
        Python::attach(|py| {
            // Nobody is left to report an error to; the process releases the rest.
            let _ = self.bench.call_method0(py, "close");
            // Release it here, in the thread that opened it: without the interpreter's lock, it would be
            // released later in any thread.
            self.bench = py.None();
        });
    }
}

struct PythonDevice {
    bench: Rc<PythonBench>,
    /// Result of `begin` for the current test: after a failure, the device still has the state of the test
    /// before and must not run.
    begun: Result<(), DeviceError>,
}

impl Device for PythonDevice {
    fn facts(&self) -> DeviceFacts {
        self.bench.facts.device.clone()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.bench.conditions("device_conditions")
    }

    fn begin(&mut self, start: Start<'_>) {
        let json = json!(start.test).to_string();
        let stop = Stop { inner: start.stop.clone() };
        self.begun = self.bench.attached(|py, bench| {
            let stop = Py::new(py, stop)?;
            bench.call_method1("begin", (start.position, start.seed, json, stop)).map(drop)
        });
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.bench.call("device_thrash")
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        self.bench.call_with("device_warm", window_bytes)
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        self.begun.clone()?;
        let read = |py: Python<'_>, slice: &Bound<'_, PyAny>| {
            let (ticks, elapsed_ns): (Bound<'_, PyAny>, f64) = slice.extract()?;
            Ok(LatencySlice { ticks: PyBuffer::<u32>::get(&ticks)?.to_vec(py)?, elapsed_ns })
        };
        self.bench.slices("latency", test, read, |slice| sink(&slice))
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        self.begun.clone()?;
        let read = |_: Python<'_>, slice: &Bound<'_, PyAny>| {
            let (transactions, elapsed_ns) = slice.extract()?;
            Ok(BandwidthSlice { transactions, elapsed_ns, anew: false })
        };
        self.bench.slices("bandwidth", test, read, sink)
    }

    fn remarks(&mut self) -> Remarks {
        // Unreadable remarks are dropped.
        self.bench.attached(|_, bench| text_as(bench, "remarks")).unwrap_or_default()
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        self.bench.call("recover")
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        self.bench.call("close")
    }
}

struct PythonHost(Rc<PythonBench>);

impl Host for PythonHost {
    fn facts(&self) -> HostFacts {
        self.0.facts.host.clone()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.0.conditions("host_conditions")
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.0.call("host_thrash")
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        self.0.call_with("host_warm", window_bytes)
    }
}
