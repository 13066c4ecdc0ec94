//! Many variants of one machine on some rows of a suite: what a fit to measured rows asks for, again and again.
//!
//! Every row is simulated with a fixed number of transactions, the same draws for every variant (common random
//! numbers), and the history that it has in its suite. States before the rows are found once for the first variant and
//! taken over by the others, which differ from it in times mostly. Nothing here estimates anything.

use pcie_refusal::{Refusal, Unfinished};
use pcie_sim::profile::System;
use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, State, TestKey};
use pcie_statistics::Histogram;
use pcie_time::{Picoseconds, Stream};
use pcie_workload::{AddressList, CacheState, Operation, Suite, Test};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Places of a run that are looked at, where a run changes the state of the machine as it goes on.
const PLACES: u64 = 2;
/// Transactions before each stretch of a bandwidth test that fill the pipeline and are not counted.
const WARM_UP: u64 = 768;
/// Histories kept for machines of different shapes.
const HISTORIES_MAX: usize = 4;

/// How many transactions of each row are simulated.
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

/// What is predicted of a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Prediction {
    /// Of a bandwidth test.
    Bandwidth {
        /// Of one direction, as published.
        bandwidth_gbps: f64,
    },
    /// Of a latency test.
    Latency {
        /// Average, as exact as the simulation is: not rounded to ticks.
        average_ns: f64,
        /// What the device's timer shows: ticks, and how many samples showed them.
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
    /// Places of the rows in the suite, rising.
    places: Vec<usize>,
    seed: u64,
    jobs: usize,
    histories: Vec<History>,
}

/// The states in which a machine comes to each of the rows, before it is prepared for it.
#[derive(Debug)]
struct History {
    machine: Machine,
    /// Empty for a machine that forgets everything between tests.
    before: Vec<State>,
}

impl Predictor {
    /// A predictor for the rows at `places` of a suite, given in rising order.
    ///
    /// # Errors
    /// The suite has a test that no machine could carry out.
    pub fn new(suite: Suite, places: Vec<usize>, seed: u64, jobs: usize) -> Result<Self, Refusal> {
        suite.validate()?;
        let places = places.into_iter().filter(|place| *place < suite.tests.len()).collect();
        Ok(Self { suite, places, seed, jobs: jobs.max(1), histories: Vec::new() })
    }

    /// The rows `wanted` of each system: one list of predictions per system, in the order of its list of rows.
    ///
    /// `progress` is called with the rows done and their number, every tenth of a second at least.
    ///
    /// # Errors
    /// A variant cannot be simulated, or a row is none of the suite's; or it was stopped.
    pub fn predict(
        &mut self,
        systems: Vec<System>,
        wanted: &[Vec<usize>],
        effort: Effort,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Prediction>>, Unfinished> {
        if let Some(row) = wanted.iter().flatten().find(|row| **row >= self.places.len()) {
            return Err(Refusal::of("row", row, "the predictor was made for fewer rows").into());
        }
        let excess = self.histories.len().saturating_sub(HISTORIES_MAX);
        self.histories.drain(..excess);
        let machines = machines(systems)?;
        let mut histories = Vec::with_capacity(machines.len());
        for machine in &machines {
            histories.push(self.history(machine, progress)?);
        }
        self.simulate(&machines, &histories, wanted, effort, progress)
    }

    /// The number of the history that fits a machine, made if there is none.
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
            let mut state = machine.boot();
            let last = self.places.last().copied().unwrap_or(0);
            for (place, record) in self.suite.tests.iter().enumerate().take(last + 1) {
                if self.places.contains(&place) {
                    before.push(state.clone());
                }
                if progress(0, self.places.len()).is_break() {
                    return Err(Unfinished::Stopped);
                }
                let key = TestKey { seed: self.seed, test: place as u64 };
                prepare(machine, &mut state, &record.parameters, key);
                if let Some(test) = carried_out(machine, &record.parameters) {
                    let list = AddressList::new(&test, key.draws(Stream::Addresses));
                    if machine.leaves_traces(&test) {
                        machine.advance(&mut state, &test, &list, 0..test.transactions);
                    }
                }
            }
        }
        self.histories.push(History { machine: machine.clone(), before });
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
        let (sender, receiver) = mpsc::channel();
        let mut done = 0;
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                let (sender, next, stop) = (sender.clone(), &next, &stop);
                scope.spawn(move || {
                    loop {
                        let row = next.fetch_add(1, Ordering::Relaxed);
                        if row >= self.places.len() || stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let asked: Vec<usize> =
                            (0..machines.len()).filter(|one| wanted[*one].contains(&row)).collect();
                        let predicted = self.row(row, &asked, machines, histories, effort);
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
                        for (one, prediction) in asked.into_iter().zip(predicted) {
                            for (slot, _) in
                                wanted[one].iter().enumerate().filter(|(_, other)| **other == row)
                            {
                                found[one][slot] = Some(prediction.clone());
                            }
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if !stop.load(Ordering::Relaxed) && progress(done, self.places.len()).is_break() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        if done < self.places.len() {
            return Err(Unfinished::Stopped);
        }
        Ok(found.into_iter().map(|row| row.into_iter().flatten().collect()).collect())
    }

    /// A row on each of the machines asked for. Those that a preparation leaves in the same state share it.
    fn row(
        &self,
        row: usize,
        asked: &[usize],
        machines: &[Machine],
        histories: &[usize],
        effort: Effort,
    ) -> Vec<Prediction> {
        let place = self.places[row];
        let test = &self.suite.tests[place].parameters;
        let key = TestKey { seed: self.seed, test: place as u64 };
        let mut prepared: Vec<(&Machine, Vec<Stretch>)> = Vec::new();
        let mut predictions = Vec::with_capacity(asked.len());
        for &one in asked {
            let machine = &machines[one];
            if let Err(reason) = machine.supports(test) {
                predictions.push(Prediction::NotSupported { not_supported: reason.to_string() });
                continue;
            }
            let test = Test { transactions: machine.transactions(test), ..test.clone() };
            let list = AddressList::new(&test, key.draws(Stream::Addresses));
            let known = prepared.iter().position(|(other, _)| machine.keeps_states_of(other));
            let known = known.unwrap_or_else(|| {
                let before = self.histories[histories[one]].before.get(row);
                let mut state = before.cloned().unwrap_or_else(|| machine.boot());
                prepare(machine, &mut state, &test, key);
                prepared.push((machine, stretches(machine, state, &test, &list, effort)));
                prepared.len() - 1
            });
            let stretches = &prepared[known].1;
            predictions.push(if test.operation.is_latency() {
                latency(machine, &test, &list, key, stretches)
            } else {
                bandwidth(machine, &test, &list, key, stretches)
            });
        }
        predictions
    }
}

/// The machines of some systems, which share what they can.
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

/// The test with as many transactions as the card makes, if it can carry it out.
fn carried_out(machine: &Machine, test: &Test) -> Option<Test> {
    machine.supports(test).ok()?;
    Some(Test { transactions: machine.transactions(test), ..test.clone() })
}

/// Brings the machine into the state that a test asks for.
fn prepare(machine: &Machine, state: &mut State, test: &Test, key: TestKey) {
    state.thrash_from_host();
    match test.cache {
        CacheState::Cold => {}
        CacheState::DeviceThrash => machine.thrash_from_device(state, key),
        CacheState::DeviceWarm => machine.warm_from_device(state, test.window_bytes),
        CacheState::HostWarm => machine.warm_from_host(state, test.window_bytes, key),
    }
}

/// Some transactions of a test, and the state that the ones before them leave.
struct Stretch {
    state: State,
    first: u64,
    count: u64,
}

/// The stretches of a test to simulate: whole passes over the window where it is visited in order.
fn stretches(
    machine: &Machine,
    mut state: State,
    test: &Test,
    list: &AddressList,
    effort: Effort,
) -> Vec<Stretch> {
    let asked =
        if test.operation.is_latency() { effort.latency_samples } else { effort.bandwidth_transactions };
    let places = if machine.leaves_traces(test) { PLACES } else { 1 };
    let count = (asked / places).max(1).next_multiple_of(list.pass());
    if count * places + WARM_UP * places >= test.transactions {
        return vec![Stretch { state, first: 0, count: test.transactions }];
    }
    let mut at = 0;
    let mut found = Vec::new();
    for place in 0..places {
        // Even, so that the stretches of a read-write test start alike.
        let first = ((2 * place + 1) * (test.transactions - count - WARM_UP) / (2 * places)) & !1;
        if machine.leaves_traces(test) {
            machine.advance(&mut state, test, list, at..first);
            at = first;
        }
        found.push(Stretch { state: state.clone(), first, count });
    }
    found
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
    // Of a read-write test one direction counts.
    let counted = if test.operation == Operation::BwRdwr { count / 2 } else { count };
    Prediction::Bandwidth { bandwidth_gbps: counted as f64 * test.size_bytes as f64 * 8.0 / elapsed_ns }
}

#[cfg(test)]
mod tests;
