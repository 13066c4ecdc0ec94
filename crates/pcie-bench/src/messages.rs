//! Suites of messages as the runner's work, and the interface of devices that take messages.

mod connections;
mod scalars;

use crate::backend::{Backend, OpenError};
use crate::benchmarks::described;
use crate::device::DeviceError;
use crate::facts::Condition;
use crate::outcome::Outcome;
use crate::pulse::Pulse;
use crate::stop::Stop;
use crate::work::{Asked, Work, Worker, described_trace};
pub use connections::ConnectionResult;
use pcie_refusal::Refusal;
use pcie_statistics::percentile;
use pcie_store::{Origin, Scalar, Status};
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use pcie_workload::{MessageSuite, MessageTest, MessageTestRecord, Way};
use scalars::{about, mean};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// A core and a device that exchange messages: simulated or real.
pub trait MessageDevice {
    /// Identity of device and host: entries of the manifest, at least `device` with a `name`.
    fn identity(&self) -> Map<String, Value>;

    /// Changing values, read now.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Longest silence before the device is given up.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Sends the messages of a test.
    ///
    /// # Errors
    /// The device lacks what the test needs, or failed.
    fn send(&mut self, start: MessageStart<'_>) -> Result<MessageResult, DeviceError>;

    /// The trace of the first `span` of a test.
    ///
    /// # Errors
    /// The device has no traces.
    fn trace(&mut self, _start: MessageStart<'_>, _span: Picoseconds) -> Result<Vec<Segment>, DeviceError> {
        let reason = "--trace: a real device has no trace: leave it out, or simulate a profile of messages";
        Err(DeviceError::NotSupported(reason.to_owned()))
    }

    /// Recovers from a failure, so that the next test can work.
    ///
    /// # Errors
    /// The device is lost.
    fn recover(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// The next test.
#[derive(Clone, Copy, Debug)]
pub struct MessageStart<'a> {
    /// Position in the suite, from 0.
    pub position: u64,
    /// The test.
    pub test: &'a MessageTest,
    /// Stop request of the run.
    pub stop: &'a Stop,
    /// Pulse for showing progress.
    pub pulse: &'a Pulse,
}

/// Results of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageResult {
    /// Latency of each message, ns, where known; `pcie_model::pio` defines it.
    pub latencies_ns: Vec<f64>,
    /// From the first store until the last message was done, ns.
    pub elapsed_ns: f64,
    /// Core time for each message, ns, where known.
    pub cpu_ns: Vec<f64>,
    /// Bytes on the link, where known.
    pub crossed: Option<Crossed>,
    /// Messages that the device dropped, where known.
    pub dropped: Option<u64>,
    /// Waiting of cores by cause, ns.
    pub stalls_ns: Vec<(&'static str, f64)>,
    /// Average time from a message's first packet to each step, ns.
    pub steps_ns: Vec<(&'static str, f64)>,
    /// Results of each connection of a mux.
    pub connections: Vec<ConnectionResult>,
}

/// Bytes that crossed the link during a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossed {
    /// Bytes of TLPs from host to device.
    pub downstream_bytes: u64,
    /// Bytes of TLPs from device to host.
    pub upstream_bytes: u64,
    /// Bytes of doorbells, descriptors and write-backs among both.
    pub control_bytes: u64,
}

/// A suite of messages on a back end.
pub struct Messages {
    suite: Arc<MessageSuite>,
    trace: Option<Picoseconds>,
    backend: Arc<dyn Backend<Box<dyn MessageDevice>>>,
}

impl Messages {
    /// Checks the suite.
    ///
    /// # Errors
    /// Names the first invalid test.
    pub fn new(
        suite: MessageSuite,
        backend: Arc<dyn Backend<Box<dyn MessageDevice>>>,
    ) -> Result<Self, Refusal> {
        suite.validate()?;
        Ok(Self { suite: Arc::new(suite), trace: None, backend })
    }

    /// The same with the trace of the first `span` of each test.
    #[must_use]
    pub fn with_trace(self, span: Option<Picoseconds>) -> Self {
        Self { trace: span, ..self }
    }
}

impl Work for Messages {
    fn suite(&self) -> &str {
        &self.suite.name
    }

    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error> {
        let asked = |record: &MessageTestRecord| {
            Ok(Asked {
                family: record.family.clone(),
                name: record.name.clone(),
                parameters: serde_json::to_value(&record.parameters)?,
            })
        };
        self.suite.tests.iter().map(asked).collect()
    }

    fn origin(&self) -> Origin {
        self.backend.origin()
    }

    fn manifest(&self) -> Map<String, Value> {
        let backend = described(self.backend.kind(), self.backend.options());
        Map::from_iter([("backend".to_owned(), backend)])
            .into_iter()
            .chain(described_trace(self.trace))
            .collect()
    }

    fn jobs_most(&self) -> usize {
        self.backend.jobs_most()
    }

    fn attachments(&self) -> Vec<(String, String)> {
        self.backend.attachments()
    }

    fn open(&self) -> Result<Box<dyn Worker>, OpenError> {
        let device = self.backend.open()?;
        let (span, trace) = (self.trace, Vec::new());
        Ok(Box::new(OpenDevice { suite: Arc::clone(&self.suite), span, trace, device }))
    }
}

struct OpenDevice {
    suite: Arc<MessageSuite>,
    span: Option<Picoseconds>,
    /// The trace of the last test.
    trace: Vec<Segment>,
    device: Box<dyn MessageDevice>,
}

impl Worker for OpenDevice {
    fn identity(&self) -> Map<String, Value> {
        self.device.identity()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.device.conditions()
    }

    fn deadline(&self) -> Option<Duration> {
        self.device.deadline()
    }

    fn carry_out(&mut self, position: usize, stop: &Stop, pulse: &Pulse) -> Result<Outcome, DeviceError> {
        let test = &self.suite.tests[position].parameters;
        let start = MessageStart { position: position as u64, test, stop, pulse };
        self.trace.clear();
        let trace = self.span.map(|span| self.device.trace(start, span)).transpose();
        let result = self.device.send(start);
        if stop.is_requested() {
            return Ok(Outcome::interrupted("stopped before it was complete"));
        }
        let mut outcome = reduced(test, &result?)?;
        self.trace = trace?.unwrap_or_default();
        outcome.add_conditions(&self.device.conditions());
        Ok(outcome)
    }

    fn take_trace(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.trace)
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        self.device.recover()
    }
}

fn of_test(metric: &str, unit: &str, value: f64) -> Scalar {
    about("", metric, unit, value)
}

/// Number of messages, and bytes of their payload.
fn sent(test: &MessageTest, result: &MessageResult) -> (f64, f64) {
    if test.way == Way::Mux {
        let messages = result.connections.iter().map(|connection| connection.latencies_ns.len());
        let bytes = result.connections.iter().map(|connection| connection.payload_bytes);
        return (messages.sum::<usize>() as f64, bytes.sum::<u64>() as f64);
    }
    let count = f64::from(test.messages) * f64::from(test.cores);
    (count, count * test.size_bytes as f64)
}

/// The numbers that the store keeps.
fn reduced(test: &MessageTest, result: &MessageResult) -> Result<Outcome, DeviceError> {
    if !result.elapsed_ns.is_finite() || result.elapsed_ns <= 0.0 {
        return Err(DeviceError::Failed("the device returned an impossible time".into()));
    }
    let (count, payload_bytes) = sent(test, result);
    let mut scalars = vec![
        of_test("time", "ns", result.elapsed_ns),
        of_test("bytes", "B", payload_bytes),
        of_test("bandwidth", "Gb/s", payload_bytes * 8.0 / result.elapsed_ns),
        of_test("rate", "1/s", count * 1e9 / result.elapsed_ns),
    ];
    scalars.extend(latencies(&result.latencies_ns));
    if let Some(crossed) = result.crossed {
        let both = (crossed.downstream_bytes + crossed.upstream_bytes) as f64;
        scalars.push(of_test("downstream_bytes", "B", crossed.downstream_bytes as f64 / count));
        scalars.push(of_test("upstream_bytes", "B", crossed.upstream_bytes as f64 / count));
        scalars.push(of_test("control_share", "1", crossed.control_bytes as f64 / both));
    }
    scalars.extend(result.dropped.map(|dropped| of_test("dropped", "1", dropped as f64)));
    if !result.cpu_ns.is_empty() {
        scalars.push(of_test("cpu", "ns", mean(&result.cpu_ns)));
    }
    scalars.extend(result.stalls_ns.iter().map(|&(cause, ns)| about(cause, "stall", "ns", ns / count)));
    scalars.extend(result.steps_ns.iter().map(|&(step, ns)| about(step, "at", "ns", ns)));
    scalars.extend(result.connections.iter().flat_map(|connection| connection.scalars(result.elapsed_ns)));
    Ok(Outcome { status: Status::Ok, message: None, scalars, distributions: vec![], series: vec![] })
}

/// Statistics of the latencies, where known.
fn latencies(latencies_ns: &[f64]) -> Vec<Scalar> {
    let mut sorted = latencies_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(&minimum), Some(&maximum)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let median = percentile(&sorted, 0.5).unwrap_or(f64::NAN);
    vec![
        of_test("average", "ns", mean(&sorted)),
        of_test("median", "ns", median),
        of_test("minimum", "ns", minimum),
        of_test("maximum", "ns", maximum),
        of_test("samples", "1", sorted.len() as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_workload::{MessagePace, StoreKind};

    #[test]
    fn median_of_messages_is_that_of_a_histogram() {
        for values in [&[1.0, 2.0, 3.0, 4.0][..], &[1.0, 2.0, 3.0]] {
            let mut histogram = pcie_statistics::Histogram::default();
            values.iter().for_each(|value| histogram.add(*value as u32));
            let median = latencies(values).into_iter().find(|scalar| scalar.metric == "median");
            assert_eq!(median.map(|scalar| scalar.value), Some(f64::from(histogram.quantile(0.5))));
        }
    }

    #[test]
    fn total_time_alone_gives_no_latencies() {
        let test = MessageTest {
            cores: 2,
            pace: MessagePace::Stream,
            store_bytes: Some(64),
            store_kind: Some(StoreKind::Direct),
            ..MessageTest::alone(Way::WriteCombined, 64, 50)
        };
        let result = MessageResult { elapsed_ns: 1000.0, ..MessageResult::default() };
        let outcome = reduced(&test, &result);
        let metrics = outcome.as_ref().map(|outcome| {
            outcome.scalars.iter().map(|scalar| (scalar.metric.as_str(), scalar.value)).collect::<Vec<_>>()
        });
        assert_eq!(
            metrics,
            Ok(vec![("time", 1000.0), ("bytes", 6400.0), ("bandwidth", 51.2), ("rate", 1e8)])
        );
    }
}
