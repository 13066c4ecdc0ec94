//! The runner: takes a suite, test by test, through a device and a host into a store.
//!
//! Every job has a device and a host of its own and goes through the whole suite, carrying out its share of the tests and
//! passing over the others, so that each test finds the state that the ones before it left, whoever carried them out.

use crate::device::{Device, DeviceError, Start};
use crate::host::Host;
use crate::outcome::{BandwidthGatherer, LatencyGatherer, Outcome};
use crate::sampling::Samples;
use pcie_sim::Engine;
use pcie_store::{Manifest, Status, Store, TestRecord};
use pcie_workload::{CacheState, Suite, SuiteError, Test};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use thiserror::Error;

/// How a suite is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many of the transactions are carried out.
    pub samples: Samples,
    /// What simulates bandwidth tests, where the device is simulated.
    pub engine: Engine,
    /// Tests carried out side by side; 1 for real devices.
    pub jobs: usize,
    /// Go on with a store that is there.
    pub resume: bool,
    /// Replace a store that is there.
    pub overwrite: bool,
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Tests done, earlier runs included.
    pub done: usize,
    /// Tests of the suite.
    pub total: usize,
    /// The last one that was done, by family and published name.
    pub last: Option<(String, String)>,
}

/// Why a run did not take place, or ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The suite is wrong.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The store failed or is not the right one.
    #[error(transparent)]
    Store(#[from] pcie_store::Error),
    /// The store that was to be gone on with is of another run.
    #[error(
        "{path}: --resume: {key} is {stored} in the store, but {asked} in this run: give the same, or another output"
    )]
    OtherRun {
        /// Path of the store.
        path: String,
        /// Manifest key that differs.
        key: String,
        /// What the store says.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// Stopped on request.
    #[error("interrupted after {done} of {total} tests; --resume goes on with the rest")]
    Interrupted {
        /// Tests done.
        done: usize,
        /// Tests of the suite.
        total: usize,
    },
}

/// Manifest keys that must be the same for a run to be gone on with.
const IDENTITY: [&str; 7] = ["version", "suite", "suite_digest", "system", "seed", "options", "device"];

/// A suite and how it is to be run.
#[derive(Debug)]
pub struct Runner<'a> {
    /// The tests.
    pub suite: &'a Suite,
    /// How.
    pub options: Options,
}

struct Done {
    position: usize,
    outcome: Outcome,
}

impl Runner<'_> {
    /// Runs the suite into the store at `path`.
    ///
    /// `manifest` says what is run on what; the runner adds what device and host say of themselves. `make` gives each job
    /// its device and host. `progress` is called after every test, and every tenth of a second; breaking off stops the run
    /// and leaves a store that can be gone on with.
    ///
    /// # Errors
    /// See [`RunError`]. A test that fails is not an error: it is recorded as failed.
    pub fn run<D: Device, H: Host>(
        &self,
        path: &Path,
        manifest: Manifest,
        make: impl Fn() -> (D, H) + Sync,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        self.suite.validate()?;
        let manifest = self.describe(manifest, &make);
        let (mut store, finished) = self.open(path, &manifest)?;
        let result = self.run_jobs(&mut store, &finished, &make, progress);
        store.close()?;
        result
    }

    fn describe<D: Device, H: Host>(&self, mut manifest: Manifest, make: impl Fn() -> (D, H)) -> Manifest {
        let (device, host) = make();
        manifest.set("suite", self.suite.name.clone());
        manifest.set("suite_digest", self.digest());
        manifest.set("tests", self.suite.tests.len());
        manifest.set("options", json!({"samples": self.options.samples, "engine": self.options.engine}));
        manifest.set("device", json!(device.facts()));
        manifest.set("host", json!(host.facts()));
        manifest
    }

    /// Tells one list of tests from another (FNV-1a over their JSON).
    fn digest(&self) -> String {
        let text = serde_json::to_string(&self.suite.tests).unwrap_or_default();
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    fn open(&self, path: &Path, manifest: &Manifest) -> Result<(Store, BTreeSet<u64>), RunError> {
        if !self.options.resume || !path.exists() {
            return Ok((Store::create(path, manifest, self.options.overwrite)?, BTreeSet::new()));
        }
        let resumed = Store::open_for_resume(path)?;
        for key in IDENTITY {
            let (stored, asked) = (resumed.manifest.get(key), manifest.get(key));
            if stored != asked {
                // A digest says nothing to people: what differs is the tests.
                let named = if key == "suite_digest" { "list of tests (digest)" } else { key };
                let (key, stored, asked) = first_difference(named.to_owned(), stored, asked);
                return Err(RunError::OtherRun {
                    path: path.display().to_string(),
                    key,
                    stored: shortened(stored),
                    asked: shortened(asked),
                });
            }
        }
        Ok((resumed.store, resumed.finished))
    }

    fn run_jobs<D: Device, H: Host>(
        &self,
        store: &mut Store,
        finished: &BTreeSet<u64>,
        make: &(impl Fn() -> (D, H) + Sync),
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let (sender, receiver) = mpsc::channel::<Done>();
        let total = self.suite.tests.len();
        let mut state = Progress { done: finished.len(), total, last: None };
        let mut failure = None;
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.clamp(1, total.max(1)) {
                let sender = sender.clone();
                let (next, stop) = (&next, &stop);
                scope.spawn(move || {
                    let (device, host) = make();
                    Job { suite: self.suite, samples: self.options.samples, device, host, stop }
                        .work(next, finished, &sender);
                });
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(Duration::from_millis(100)) {
                    Ok(done) => {
                        if done.outcome.status != Status::Interrupted {
                            state.done += 1;
                        }
                        let test = &self.suite.tests[done.position];
                        state.last = Some((test.family.clone(), test.name.clone()));
                        if let Err(error) = store.write_test(&self.record(done)) {
                            failure.get_or_insert(error);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if progress(&state).is_break() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        match failure {
            Some(error) => Err(error.into()),
            None if state.done < total => Err(RunError::Interrupted { done: state.done, total }),
            None => Ok(()),
        }
    }

    fn record(&self, done: Done) -> TestRecord {
        let test = &self.suite.tests[done.position];
        TestRecord {
            id: done.position as u64,
            family: test.family.clone(),
            name: test.name.clone(),
            parameters: serde_json::to_string(&test.parameters).unwrap_or_default(),
            status: done.outcome.status,
            message: done.outcome.message,
            scalars: done.outcome.scalars,
            distributions: done.outcome.distributions,
            series: done.outcome.series,
        }
    }
}

/// Follows two values that differ down to the first key, in the order of names, whose values differ.
fn first_difference<'a>(
    key: String,
    stored: Option<&'a Value>,
    asked: Option<&'a Value>,
) -> (String, Option<&'a Value>, Option<&'a Value>) {
    if let (Some(Value::Object(left)), Some(Value::Object(right))) = (stored, asked) {
        let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        // The name says most: a system of another name differs in many values.
        let named = std::iter::once("name").filter(|name| left.contains_key(*name));
        for inner in named.chain(keys.into_iter().map(String::as_str)) {
            if left.get(inner) != right.get(inner) {
                return first_difference(format!("{key}.{inner}"), left.get(inner), right.get(inner));
            }
        }
    }
    (key, stored, asked)
}

fn shortened(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "missing".to_owned(), Value::to_string);
    if text.len() > 60 { format!("{}...", text.chars().take(57).collect::<String>()) } else { text }
}

/// One of the jobs that share a suite.
struct Job<'a, D, H> {
    suite: &'a Suite,
    samples: Samples,
    device: D,
    host: H,
    stop: &'a AtomicBool,
}

impl<D: Device, H: Host> Job<'_, D, H> {
    fn work(mut self, next: &AtomicUsize, finished: &BTreeSet<u64>, results: &mpsc::Sender<Done>) {
        let mut mine = next.fetch_add(1, Ordering::Relaxed);
        for (position, record) in self.suite.tests.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let test = &record.parameters;
            let is_mine = position == mine;
            if is_mine {
                mine = next.fetch_add(1, Ordering::Relaxed);
            }
            let carried_out = is_mine && !finished.contains(&(position as u64));
            if !carried_out && !self.device.remembers() {
                continue;
            }
            let prepared = self.prepare(position, test);
            if !carried_out {
                self.device.pass_over(test);
                continue;
            }
            let outcome = prepared.and_then(|()| self.carry_out(test)).unwrap_or_else(Outcome::from);
            if results.send(Done { position, outcome }).is_err() {
                return;
            }
        }
    }

    /// Brings the caches into the state that the test asks for.
    fn prepare(&mut self, position: usize, test: &Test) -> Result<(), DeviceError> {
        self.device.begin(Start { position: position as u64, test });
        self.host.thrash()?;
        match test.cache {
            CacheState::Cold => Ok(()),
            CacheState::DeviceThrash => self.device.thrash(),
            CacheState::DeviceWarm => self.device.warm(test.window_bytes),
            CacheState::HostWarm => self.host.warm(test.window_bytes),
        }
    }

    fn carry_out(&mut self, test: &Test) -> Result<Outcome, DeviceError> {
        let stop = self.stop;
        let unless_stopped = |flow: ControlFlow<()>| {
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { flow }
        };
        let outcome = if test.operation.is_latency() {
            let mut gatherer = LatencyGatherer::new(test, self.samples);
            self.device.latency(test, &mut |slice| unless_stopped(gatherer.take(slice)))?;
            gatherer.outcome(self.device.facts().timer)
        } else {
            let mut gatherer = BandwidthGatherer::new(self.samples);
            self.device.bandwidth(test, &mut |slice| unless_stopped(gatherer.take(slice)))?;
            gatherer.outcome(test)
        };
        if stop.load(Ordering::Relaxed) {
            let message = Some("stopped before it was complete".to_owned());
            return Ok(Outcome {
                status: Status::Interrupted,
                message,
                scalars: vec![],
                distributions: vec![],
                series: vec![],
            });
        }
        Ok(outcome)
    }
}
