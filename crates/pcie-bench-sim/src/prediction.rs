//! Predictions of rows of a suite for many variants of a machine, as a fit to measured rows needs them.
//!
//! Each row is simulated with a fixed number of transactions, the same draws for each variant (common random
//! numbers), and its history in the suite. The states before the rows are computed once and shared by all
//! variants that differ in times only, in one call and in later ones.

mod stretches;

use pcie_refusal::{Refusal, Unfinished};
use pcie_sim::profile::System;
use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, State, TestKey, Trace};
use pcie_statistics::Histogram;
use pcie_time::{Picoseconds, Stream};
use pcie_workload::{AddressList, Operation, Suite, Test};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use stretches::{DependsOn, KeptStretches, Stretch, WARM_UP, stretches};

/// Histories kept for machines of different shapes.
const HISTORIES_MAX: usize = 4;

/// Simulated transactions of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Samples of a latency test.
    #[schemars(extend("default" = 4096))]
    pub latency_samples: u64,
    /// Counted transactions of a bandwidth test.
    #[schemars(extend("default" = 8192))]
    pub bandwidth_transactions: u64,
}

/// The prediction of a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Prediction {
    /// A bandwidth test.
    Bandwidth {
        /// Bandwidth of one direction, as published.
        bandwidth_gbps: f64,
    },
    /// A latency test.
    Latency {
        /// Average, not rounded to ticks.
        average_ns: f64,
        /// Histogram of the device's timer: ticks and samples.
        ticks: Vec<(u32, u64)>,
    },
    /// The machine cannot carry the test out.
    NotSupported {
        /// Why not.
        not_supported: String,
    },
}

/// Predicts rows of a suite.
#[derive(Debug)]
pub struct Predictor {
    suite: Suite,
    /// Positions of the rows in the suite, ascending.
    positions: Vec<usize>,
    seed: u64,
    jobs: usize,
    histories: Vec<History>,
    /// Histories computed so far.
    computed: u64,
    stretches: KeptStretches,
}

/// The states of a machine before the preparation for each row, after the host's thrash.
#[derive(Debug)]
struct History {
    /// Its number among all that the predictor has computed.
    number: u64,
    machine: Machine,
    /// Empty for a machine that forgets everything between tests.
    before: Vec<State>,
}

impl Predictor {
    /// A predictor for the rows at `positions` of a suite, in ascending order.
    ///
    /// # Errors
    /// The suite has an invalid test.
    pub fn new(suite: Suite, positions: Vec<usize>, seed: u64, jobs: usize) -> Result<Self, Refusal> {
        suite.validate()?;
        let positions: Vec<usize> =
            positions.into_iter().filter(|position| *position < suite.tests.len()).collect();
        let stretches = KeptStretches::of_rows(positions.len());
        Ok(Self { suite, positions, seed, jobs: jobs.max(1), histories: Vec::new(), computed: 0, stretches })
    }

    /// Predicts the rows `wanted` of each system: one list of predictions per system, in the order of its
    /// rows.
    ///
    /// Calls `progress` with the rows done and their total, at least every tenth of a second.
    ///
    /// # Errors
    /// A variant cannot be simulated, a row is out of range, or it was stopped.
    pub fn predict(
        &mut self,
        systems: Vec<System>,
        wanted: &[Vec<usize>],
        effort: Effort,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Prediction>>, Unfinished> {
        if let Some(row) = wanted.iter().flatten().find(|row| **row >= self.positions.len()) {
            return Err(Refusal::of("row", row, "the predictor was made for fewer rows").into());
        }
        let excess = self.histories.len().saturating_sub(HISTORIES_MAX);
        for forgotten in self.histories.drain(..excess) {
            self.stretches.forget(forgotten.number);
        }
        let machines = machines(systems)?;
        let mut histories = Vec::with_capacity(machines.len());
        for machine in &machines {
            histories.push(self.history(machine, progress)?);
        }
        self.simulate(&machines, &histories, wanted, effort, progress)
    }

    /// The index of the history that fits a machine; computes it if there is none.
    fn history(
        &mut self,
        machine: &Machine,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<usize, Unfinished> {
        if let Some(known) =
            self.histories.iter().position(|history| machine.fits_states_of(&history.machine))
        {
            return Ok(known);
        }
        let mut before = Vec::new();
        if machine.is_stateful() {
            let (mut state, mut steps) = (machine.boot(), Vec::new());
            let last = self.positions.last().copied().unwrap_or(0);
            for (position, record) in self.suite.tests.iter().enumerate().take(last + 1) {
                machine.thrash_from_host_after(&mut state, &steps);
                if self.positions.contains(&position) {
                    before.push(state.clone());
                }
                if progress(0, self.positions.len()).is_break() {
                    return Err(Unfinished::Stopped);
                }
                let key = TestKey { seed: self.seed, test: position as u64 };
                steps = Trace::of_preparation(&record.parameters, key).into_iter().collect();
                if let Some(test) = supported(machine, &record.parameters) {
                    let list = AddressList::new(&test, key.draws(Stream::Addresses));
                    steps.push(Trace::Test { test, list });
                }
            }
        }
        self.histories.push(History { number: self.computed, machine: machine.clone(), before });
        self.computed += 1;
        Ok(self.histories.len() - 1)
    }

    fn simulate(
        &self,
        machines: &[Machine],
        histories: &[usize],
        wanted: &[Vec<usize>],
        effort: Effort,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Prediction>>, Unfinished> {
        let mut found: Vec<Vec<Option<Prediction>>> =
            wanted.iter().map(|rows| vec![None; rows.len()]).collect();
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut take = |row: usize, asked: Vec<usize>, predicted: Vec<Prediction>| {
            for (one, prediction) in asked.into_iter().zip(predicted) {
                for (slot, _) in wanted[one].iter().enumerate().filter(|(_, other)| **other == row) {
                    found[one][slot] = Some(prediction.clone());
                }
            }
        };
        let of_row = |row: usize| (0..machines.len()).filter(|one| wanted[*one].contains(&row)).collect();
        let mut done = 0;
        if cfg!(target_family = "wasm") {
            // A browser's worker starts no threads.
            for row in 0..self.positions.len() {
                let asked: Vec<usize> = of_row(row);
                let predicted = self.row(row, &asked, machines, histories, effort, &stop);
                take(row, asked, predicted);
                done += 1;
                if progress(done, self.positions.len()).is_break() {
                    return Err(Unfinished::Stopped);
                }
            }
            return Ok(found.into_iter().map(|row| row.into_iter().flatten().collect()).collect());
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                let (sender, next, stop, of_row) = (sender.clone(), &next, &stop, &of_row);
                scope.spawn(move || {
                    loop {
                        let row = next.fetch_add(1, Ordering::Relaxed);
                        if row >= self.positions.len() || stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let asked: Vec<usize> = of_row(row);
                        let predicted = self.row(row, &asked, machines, histories, effort, stop);
                        if sender.send((row, asked, predicted)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(Duration::from_millis(100)) {
                    Ok((row, asked, predicted)) => {
                        done += 1;
                        take(row, asked, predicted);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if !stop.load(Ordering::Relaxed) && progress(done, self.positions.len()).is_break() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        if done < self.positions.len() || stop.load(Ordering::Relaxed) {
            return Err(Unfinished::Stopped);
        }
        Ok(found.into_iter().map(|row| row.into_iter().flatten().collect()).collect())
    }

    /// Predicts a row on each machine in `asked`, until `stop` is set.
    fn row(
        &self,
        row: usize,
        asked: &[usize],
        machines: &[Machine],
        histories: &[usize],
        effort: Effort,
        stop: &AtomicBool,
    ) -> Vec<Prediction> {
        let position = self.positions[row];
        let parameters = &self.suite.tests[position].parameters;
        let key = TestKey { seed: self.seed, test: position as u64 };
        let predict = |&one: &usize| {
            let machine = &machines[one];
            if let Err(reason) = machine.supports(parameters) {
                return Prediction::NotSupported { not_supported: reason.to_string() };
            }
            let test = Test { transactions: machine.transactions(parameters), ..parameters.clone() };
            let list = AddressList::new(&test, key.draws(Stream::Addresses));
            let history = &self.histories[histories[one]];
            let depends_on = DependsOn::new(history.number, machine, &test, effort);
            let stretches = self.stretches.get(row, depends_on, || {
                let before = history.before.get(row).cloned();
                let mut state = before.unwrap_or_else(|| machine.boot());
                if let Some(preparation) = Trace::of_preparation(&test, key) {
                    machine.leave(&mut state, &preparation);
                }
                stretches(machine, state, &test, &list, effort)
            });
            if test.operation.is_latency() {
                latency(machine, &test, &list, key, &stretches)
            } else {
                bandwidth(machine, &test, &list, key, &stretches)
            }
        };
        asked.iter().take_while(|_| !stop.load(Ordering::Relaxed)).map(predict).collect()
    }
}

/// The machines of the systems, as variants of the first.
fn machines(systems: Vec<System>) -> Result<Vec<Machine>, Refusal> {
    let mut machines: Vec<Machine> = Vec::with_capacity(systems.len());
    for system in systems {
        let machine = match machines.first() {
            Some(first) => first.variant(system)?,
            None => Machine::new(system)?,
        };
        machines.push(machine);
    }
    Ok(machines)
}

/// The test with the transactions that the device can count, if it supports the test.
fn supported(machine: &Machine, test: &Test) -> Option<Test> {
    machine.supports(test).ok()?;
    Some(Test { transactions: machine.transactions(test), ..test.clone() })
}

fn latency(
    machine: &Machine,
    test: &Test,
    list: &AddressList,
    key: TestKey,
    stretches: &[Stretch],
) -> Prediction {
    let mut histogram = Histogram::default();
    let mut sum = Picoseconds::ZERO;
    for stretch in stretches {
        let mut run = LatencyRun::new(machine, test, list, key, stretch.state.clone(), stretch.first);
        for _ in 0..stretch.count {
            let sample = run.step();
            sum += sample.latency;
            histogram.add(sample.ticks.min(u64::from(u32::MAX)) as u32);
        }
    }
    Prediction::Latency {
        average_ns: sum.as_ns() / histogram.count() as f64,
        ticks: histogram.bins().collect(),
    }
}

fn bandwidth(
    machine: &Machine,
    test: &Test,
    list: &AddressList,
    key: TestKey,
    stretches: &[Stretch],
) -> Prediction {
    let (mut elapsed_ns, mut count) = (0.0, 0);
    for stretch in stretches {
        let mut run =
            BandwidthRun::new(Engine::Fast, machine, test, list, key, stretch.state.clone(), stretch.first);
        let before = if stretch.first == 0 { Picoseconds::ZERO } else { run.run(WARM_UP) };
        elapsed_ns += (run.run(stretch.count) - before).as_ns();
        count += stretch.count;
    }
    // A read-write test counts one direction.
    let counted = if test.operation == Operation::BwRdwr { count / 2 } else { count };
    Prediction::Bandwidth { bandwidth_gbps: counted as f64 * test.size_bytes as f64 * 8.0 / elapsed_ns }
}

#[cfg(test)]
mod tests;
