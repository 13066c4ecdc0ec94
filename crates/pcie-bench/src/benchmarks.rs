//! Suites of micro-benchmarks as the runner's work: prepare the caches, run a test, reduce its results.

use crate::backend::{Backend, Bench, OpenError};
use crate::device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start};
use crate::facts::Condition;
use crate::outcome::{BandwidthGatherer, LatencyGatherer, Outcome};
use crate::pulse::Pulse;
use crate::sampling::Samples;
use crate::stop::Stop;
use crate::work::{Asked, Work, Worker, described_trace};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use pcie_workload::{CacheState, Operation, Suite, Test};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// The pointer chase in a device's list of operations.
const CHASE: &str = "command lat-chase";

/// A suite of micro-benchmarks on a back end.
pub struct Benchmarks {
    suite: Arc<Suite>,
    samples: Samples,
    seed: u64,
    trace: Option<Picoseconds>,
    backend: Arc<dyn Backend>,
}

impl Benchmarks {
    /// Checks the suite.
    ///
    /// # Errors
    /// Names the first invalid test.
    pub fn new(
        suite: Suite,
        samples: Samples,
        seed: u64,
        backend: Arc<dyn Backend>,
    ) -> Result<Self, Refusal> {
        suite.validate()?;
        Ok(Self { suite: Arc::new(suite), samples, seed, trace: None, backend })
    }

    /// The same with the trace of the first `span` of each test.
    #[must_use]
    pub fn with_trace(self, span: Option<Picoseconds>) -> Self {
        Self { trace: span, ..self }
    }
}

impl Work for Benchmarks {
    fn suite(&self) -> &str {
        &self.suite.name
    }

    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error> {
        let asked = |record: &pcie_workload::TestRecord| {
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
        Map::from_iter([
            ("options".to_owned(), json!({"samples": self.samples})),
            ("backend".to_owned(), backend),
        ])
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
        let bench = self.backend.open()?;
        Ok(Box::new(OpenBench {
            suite: Arc::clone(&self.suite),
            samples: self.samples,
            seed: self.seed,
            span: self.trace,
            trace: Vec::new(),
            bench,
        }))
    }
}

/// A back end's entry in the manifest.
pub(crate) fn described(kind: &str, options: Map<String, Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("kind".into(), kind.into());
    entry.extend(options);
    Value::Object(entry)
}

/// Refuses a pointer chase on a device that does not list it: one that is not aware of it would measure
/// independent reads.
fn can_chase(device: &dyn Device, test: &Test) -> Result<(), DeviceError> {
    let facts = device.facts();
    let listed = facts.hardware.is_some_and(|hardware| hardware.operations.iter().any(|one| one == CHASE));
    if test.operation == Operation::LatChase && !listed {
        let reason = format!("lat-chase: {} has no dependent reads: give --device cpu", facts.name);
        return Err(DeviceError::NotSupported(reason));
    }
    Ok(())
}

struct OpenBench {
    suite: Arc<Suite>,
    samples: Samples,
    seed: u64,
    /// The time of each test whose trace is kept.
    span: Option<Picoseconds>,
    /// The trace of the last test.
    trace: Vec<Segment>,
    bench: Bench,
}

impl Worker for OpenBench {
    fn identity(&self) -> Map<String, Value> {
        let Bench { device, host } = &self.bench;
        Map::from_iter([
            ("device".to_owned(), json!(device.facts())),
            ("host".to_owned(), json!(host.facts())),
        ])
    }

    fn conditions(&mut self) -> Vec<Condition> {
        let mut conditions = self.bench.device.conditions();
        conditions.extend(self.bench.host.conditions());
        conditions
    }

    fn deadline(&self) -> Option<Duration> {
        self.bench.device.facts().hardware?.deadline_ms.map(Duration::from_millis)
    }

    fn carry_out(&mut self, position: usize, stop: &Stop, pulse: &Pulse) -> Result<Outcome, DeviceError> {
        let suite = Arc::clone(&self.suite);
        let test = &suite.tests[position].parameters;
        can_chase(&*self.bench.device, test)?;
        self.prepare(position, test, stop, pulse)?;
        self.trace.clear();
        let trace = self.span.map(|span| self.bench.device.trace(test, span)).transpose();
        let outcome = self.measure(test, stop, pulse);
        if stop.is_requested() {
            return Ok(Outcome::interrupted("stopped before it was complete"));
        }
        let mut outcome = outcome?;
        self.trace = trace?.unwrap_or_default();
        outcome.add_conditions(&self.conditions());
        Ok(outcome)
    }

    fn take_trace(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.trace)
    }

    fn is_stateful(&self) -> bool {
        self.bench.device.is_stateful()
    }

    fn replay_state(&mut self, position: usize, stop: &Stop) {
        let suite = Arc::clone(&self.suite);
        let test = &suite.tests[position].parameters;
        // A test that cannot be prepared changes no state.
        let _ = self.prepare(position, test, stop, &Pulse::default());
        self.bench.device.replay_state(test);
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        self.bench.device.recover()
    }
}

impl OpenBench {
    /// Brings the caches into the state that the test asks for.
    fn prepare(
        &mut self,
        position: usize,
        test: &Test,
        stop: &Stop,
        pulse: &Pulse,
    ) -> Result<(), DeviceError> {
        let Bench { device, host } = &mut self.bench;
        let start = Start { position: position as u64, seed: self.seed, test, stop };
        device.begin(start);
        host.begin(start);
        pulse.beat();
        host.thrash()?;
        pulse.beat();
        match test.cache {
            CacheState::Cold => Ok(()),
            CacheState::DeviceThrash => device.thrash(),
            CacheState::DeviceWarm => device.warm(test.window_bytes),
            CacheState::HostWarm => host.warm(test.window_bytes),
        }?;
        pulse.beat();
        Ok(())
    }

    fn measure(&mut self, test: &Test, stop: &Stop, pulse: &Pulse) -> Result<Outcome, DeviceError> {
        let unless_stopped = |flow: ControlFlow<()>| {
            pulse.beat();
            if stop.is_requested() { ControlFlow::Break(()) } else { flow }
        };
        let device = &mut self.bench.device;
        if test.operation.is_latency() {
            let mut gatherer = LatencyGatherer::new(test, self.samples);
            device.latency(test, &mut |slice: &LatencySlice| unless_stopped(gatherer.take(slice)))?;
            let remarks = device.remarks();
            let timer = remarks.timer.unwrap_or_else(|| device.facts().timer);
            Ok(gatherer.outcome(timer)?.with_remarks(remarks))
        } else {
            let mut gatherer = BandwidthGatherer::new(self.samples);
            device.bandwidth(test, &mut |slice: BandwidthSlice| unless_stopped(gatherer.take(slice)))?;
            let remarks = device.remarks();
            Ok(gatherer.outcome(test, remarks.between_runs)?.with_remarks(remarks))
        }
    }
}
