//! Suites of messages: what a device that takes messages must be able to do, and the runner that takes a suite through one
//! into a store.
//!
//! [`MessageDevice`] is the seam for measuring on a real device: stores into its BAR and time stamps of its link. Only the
//! simulator is behind it today.

use crate::device::DeviceError;
use crate::outcome::Outcome;
use pcie_store::{Manifest, Scalar, Status, Store, TestRecord};
use pcie_workload::{MessageSuite, MessageSuiteError, MessageTest};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use thiserror::Error;

/// A core and a device that messages are sent between: simulated, or real.
pub trait MessageDevice {
    /// What it is called.
    fn name(&self) -> String;

    /// Sends the messages of a test; `position` is its place in the suite.
    ///
    /// # Errors
    /// The device lacks what the test needs, or failed.
    fn send(&mut self, position: u64, test: &MessageTest) -> Result<MessageResult, DeviceError>;
}

/// What a device saw of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageResult {
    /// The latency of each message, ns; see `pcie_model::pio` for how it is counted.
    pub latencies_ns: Vec<f64>,
    /// From the first store until the last message was done, ns.
    pub elapsed_ns: f64,
    /// The core's time for each message, ns, where it is known.
    pub cpu_ns: Vec<f64>,
    /// Bytes of TLPs from host to device.
    pub downstream_bytes: u64,
    /// Bytes of TLPs from device to host.
    pub upstream_bytes: u64,
    /// Bytes of doorbells, descriptors and write-backs among both.
    pub control_bytes: u64,
    /// Messages dropped by the device.
    pub dropped: u64,
    /// Waiting of cores by cause, ns.
    pub stalls_ns: Vec<(&'static str, f64)>,
    /// When each step of a message happened on average after its first packet, ns.
    pub steps_ns: Vec<(&'static str, f64)>,
}

/// How far a run is: tests done, tests in all, family and name of the last.
pub type MessageProgress<'a> = &'a mut dyn FnMut(usize, usize, &str, &str) -> ControlFlow<()>;

/// Why a run did not take place, or ended early.
#[derive(Debug, Error)]
pub enum MessageRunError {
    /// The suite is wrong.
    #[error(transparent)]
    Suite(#[from] MessageSuiteError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] pcie_store::Error),
    /// Stopped on request.
    #[error("interrupted after {done} of {total} tests")]
    Interrupted {
        /// Tests done.
        done: usize,
        /// Tests of the suite.
        total: usize,
    },
}

/// Takes a suite of messages through a device into the store at `path`.
///
/// # Errors
/// See [`MessageRunError`]. A test that fails is not an error: it is recorded as failed.
pub fn run_messages(
    suite: &MessageSuite,
    device: &mut dyn MessageDevice,
    path: &Path,
    mut manifest: Manifest,
    overwrite: bool,
    progress: MessageProgress<'_>,
) -> Result<(), MessageRunError> {
    suite.validate()?;
    manifest.set("suite", suite.name.clone());
    manifest.set("tests", suite.tests.len());
    manifest.set("device", json!({"name": device.name()}));
    let mut store = Store::create(path, &manifest, overwrite)?;
    let total = suite.tests.len();
    for (position, record) in suite.tests.iter().enumerate() {
        let result = device.send(position as u64, &record.parameters);
        let outcome =
            result.and_then(|result| reduced(&record.parameters, &result)).unwrap_or_else(Outcome::from);
        store.write_test(&TestRecord {
            id: position as u64,
            family: record.family.clone(),
            name: record.name.clone(),
            parameters: serde_json::to_string(&record.parameters).unwrap_or_default(),
            status: outcome.status,
            message: outcome.message,
            scalars: outcome.scalars,
            distributions: outcome.distributions,
            series: outcome.series,
        })?;
        if progress(position + 1, total, &record.family, &record.name).is_break() && position + 1 < total {
            store.close()?;
            return Err(MessageRunError::Interrupted { done: position + 1, total });
        }
    }
    Ok(store.close()?)
}

/// The numbers that the store keeps.
fn reduced(test: &MessageTest, result: &MessageResult) -> Result<Outcome, DeviceError> {
    let mut latencies = result.latencies_ns.clone();
    latencies.sort_by(f64::total_cmp);
    let (Some(&minimum), Some(&maximum)) = (latencies.first(), latencies.last()) else {
        return Err(DeviceError::Failed("no message was timed".into()));
    };
    let count = f64::from(test.messages) * f64::from(test.cores);
    let payload_bytes = count * test.size_bytes as f64;
    let of_test = |metric: &str, unit: &str, value: f64| Scalar {
        subject: String::new(),
        metric: metric.into(),
        unit: unit.into(),
        value,
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut scalars = vec![
        of_test("time", "ns", result.elapsed_ns),
        of_test("bytes", "B", payload_bytes),
        of_test("bandwidth", "Gb/s", payload_bytes * 8.0 / result.elapsed_ns),
        of_test("rate", "1/s", count * 1e9 / result.elapsed_ns),
        of_test("average", "ns", mean(&latencies)),
        of_test("median", "ns", latencies[latencies.len() / 2]),
        of_test("minimum", "ns", minimum),
        of_test("maximum", "ns", maximum),
        of_test("samples", "1", latencies.len() as f64),
        of_test("downstream_bytes", "B", result.downstream_bytes as f64 / count),
        of_test("upstream_bytes", "B", result.upstream_bytes as f64 / count),
        of_test(
            "control_share",
            "1",
            result.control_bytes as f64 / (result.downstream_bytes + result.upstream_bytes) as f64,
        ),
        of_test("dropped", "1", result.dropped as f64),
    ];
    if !result.cpu_ns.is_empty() {
        scalars.push(of_test("cpu", "ns", mean(&result.cpu_ns)));
    }
    let about = |subject: &str, metric: &str, value: f64| Scalar {
        subject: subject.into(),
        metric: metric.into(),
        unit: "ns".into(),
        value,
    };
    scalars.extend(result.stalls_ns.iter().map(|&(cause, ns)| about(cause, "stall", ns / count)));
    scalars.extend(result.steps_ns.iter().map(|&(step, ns)| about(step, "at", ns)));
    Ok(Outcome { status: Status::Ok, message: None, scalars, distributions: vec![], series: vec![] })
}
