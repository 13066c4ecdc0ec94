//! The simulator as a device.

use crate::host::{Before, SharedMachine, SimulatedHost};
use crate::pools::PoolSlices;
use crate::sampling::{Batch, Plan, Seen, in_pages};
use pcie_bench::{
    BandwidthSlice, Bench, Device, DeviceError, DeviceFacts, LatencySlice, Remarks, Samples, Start,
    TimerFacts,
};
use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, State};
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use pcie_workload::Test;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// Transactions in a slice of a test that is simulated in full.
const FULL_SLICE: u64 = 1 << 16;
/// Latency samples in a batch, at least.
const LATENCY_BATCH: u64 = 512;
/// Bandwidth transactions in a batch, at least.
const BANDWIDTH_BATCH: u64 = 4096;

/// The simulated device.
#[derive(Debug)]
struct SimulatedDevice {
    shared: Rc<RefCell<SharedMachine>>,
    samples: Samples,
    engine: Engine,
    /// [`Remarks::between_runs`] of the last test.
    between_runs: Option<(f64, f64)>,
    /// What the last bandwidth test used of the root complex's pools.
    pools: PoolSlices,
}

/// A device and a host on one simulated machine, after boot.
pub(crate) fn simulated_bench(machine: Arc<Machine>, samples: Samples, engine: Engine) -> Bench {
    let shared = Rc::new(RefCell::new(SharedMachine::after_boot(machine)));
    Bench {
        device: Box::new(SimulatedDevice {
            shared: Rc::clone(&shared),
            samples,
            engine,
            between_runs: None,
            pools: PoolSlices::default(),
        }),
        host: Box::new(SimulatedHost::new(shared)),
    }
}

/// The test with the transactions that the device's journal or counter can hold.
fn supported(machine: &Machine, test: &Test) -> Result<Test, DeviceError> {
    machine.supports(test).map_err(|error| DeviceError::NotSupported(error.to_string()))?;
    Ok(Test { transactions: machine.transactions(test), ..test.clone() })
}

impl Device for SimulatedDevice {
    fn facts(&self) -> DeviceFacts {
        let shared = self.shared.borrow();
        let device = &shared.machine().system().device;
        let timer = device.timer;
        DeviceFacts {
            name: device.name.clone(),
            timer: TimerFacts {
                numerator_ns: timer.numerator_ns,
                denominator: timer.denominator,
                cycles: timer.cycles,
            },
            dma_transfer_bytes_most: Some(device.dma.transfer_bytes_most.into()),
            command_transfer_bytes_most: device
                .command
                .as_ref()
                .map(|command| command.transfer_bytes_most.into()),
            outstanding: Some(device.dma.outstanding),
            hardware: None,
        }
    }

    fn begin(&mut self, start: Start<'_>) {
        self.between_runs = None;
        self.pools = PoolSlices::default();
        self.shared.borrow_mut().begin(start);
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.shared.borrow_mut().thrash_from_device();
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        self.shared.borrow_mut().warm_from_device(window_bytes);
        Ok(())
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        let test = supported(shared.machine(), test)?;
        let list = shared.list(&test);
        let before = shared.before_test(&test);
        let slice_length = match self.samples {
            Samples::Full => in_pages(FULL_SLICE, &test),
            Samples::Adaptive => in_pages(LATENCY_BATCH, &test).next_multiple_of(list.pass()),
        };
        let mut uncounted = None;
        let mut last: Option<State> = None;
        let mut simulate = |state: &State, batch: Batch| {
            let state = match last.take() {
                None => state.clone(),
                Some(unchanged) if !before.machine.leaves_traces(&test) => unchanged,
                // In the memory of the batch before.
                Some(mut other) => {
                    other.clone_from(state);
                    other
                }
            };
            let mut run = LatencyRun::new(before.machine, &test, &list, before.key, state, batch.first);
            let mut left = batch.count;
            while left > 0 {
                let length = left.min(slice_length);
                left -= length;
                let mut elapsed = Picoseconds::ZERO;
                let mut ticks = Vec::with_capacity(length as usize);
                for _ in 0..length {
                    let sample = run.step();
                    elapsed += sample.period;
                    match u32::try_from(sample.ticks) {
                        Ok(shown) => ticks.push(shown),
                        Err(_) => {
                            uncounted = Some(sample.latency);
                            return Seen { is_enough: true, ..Seen::default() };
                        }
                    }
                }
                if sink(&LatencySlice { ticks, elapsed_ns: elapsed.as_ns() }).is_break() {
                    return Seen { is_enough: true, ..Seen::default() };
                }
            }
            last = Some(run.into_state());
            Seen::default()
        };
        let plan = Plan { least: in_pages(LATENCY_BATCH, &test), least_lead: 0, starts_over: false };
        match self.samples {
            Samples::Full => Plan::whole(before, &test, &list, &mut simulate),
            Samples::Adaptive => plan.for_each_batch(before, &test, &list, |_, _| 0, &mut simulate),
        }
        shared.complete(&test, &list);
        match uncounted {
            Some(latency) => Err(DeviceError::Failed(format!(
                "a latency of {latency} is more than 2^32 ticks of the timer: give device.timer a longer tick"
            ))),
            None => Ok(()),
        }
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        let test = supported(shared.machine(), test)?;
        let list = shared.list(&test);
        let before_test = shared.before_test(&test);
        let Before { machine, key, .. } = before_test;
        let least = in_pages(BANDWIDTH_BATCH, &test);
        let mut between_runs = None;
        let mut pools = PoolSlices::default();
        let mut simulate = |state: &State, batch: Batch| {
            let start =
                |engine, state| BandwidthRun::new(engine, machine, &test, &list, key, state, batch.first);
            // Only the fast engine counts transactions in flight.
            let mut counted = (self.engine != Engine::Fast).then(|| start(Engine::Fast, state.clone()));
            let mut run = start(self.engine, state.clone());
            between_runs = run.between_runs();
            let whole = batch.count == test.transactions;
            let slice_length =
                if whole { in_pages(FULL_SLICE, &test) } else { least.next_multiple_of(list.pass()) };
            let mut before = if batch.lead > 0 { run.run(batch.lead) } else { Picoseconds::ZERO };
            let mut in_flight = |run: &BandwidthRun<'_>, transactions: u64| match &mut counted {
                Some(counted) => {
                    counted.run(transactions);
                    counted.in_flight()
                }
                None => run.in_flight(),
            };
            let in_flight_before = in_flight(&run, batch.lead);
            let (mut left, mut seen) = (batch.count, Seen::default());
            while left > 0 && !seen.is_enough {
                let transactions = left.min(slice_length);
                let used = run.pool_use();
                let now = run.run(transactions);
                let elapsed_ns = (now - before).as_ns();
                let anew = batch.anew && left == batch.count;
                if anew {
                    pools = PoolSlices::default();
                }
                pools.add(elapsed_ns, used, run.pool_use());
                seen.is_enough = sink(BandwidthSlice { transactions, elapsed_ns, anew }).is_break();
                seen.times_ns.push(elapsed_ns / transactions as f64);
                before = now;
                left -= transactions;
            }
            let counting = batch.count - left;
            seen.filled = (in_flight(&run, counting) - in_flight_before) / counting as f64;
            seen
        };
        match self.samples {
            Samples::Full => Plan::whole(before_test, &test, &list, &mut simulate),
            Samples::Adaptive => {
                let warm_up = |state: &State, first: u64| {
                    BandwidthRun::warm_up_transactions(machine, &test, &list, key, state.clone(), first)
                };
                let least_lead = BandwidthRun::least_warm_up_transactions(&test);
                let plan = Plan { least, least_lead, starts_over: true };
                plan.for_each_batch(before_test, &test, &list, warm_up, &mut simulate);
            }
        }
        shared.complete(&test, &list);
        self.between_runs = between_runs;
        self.pools = pools;
        Ok(())
    }

    fn trace(&mut self, test: &Test, span: Picoseconds) -> Result<Vec<Segment>, DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        let test = supported(shared.machine(), test)?;
        let list = shared.list(&test);
        let Before { machine, key, state } = shared.before_test(&test);
        let (state, mut never) = (state.clone(), || false);
        if !test.operation.is_latency() {
            return Ok(BandwidthRun::trace(machine, &test, &list, key, state, span, &mut never));
        }
        Ok(LatencyRun::new(machine, &test, &list, key, state, 0).trace(span, &mut never))
    }

    fn remarks(&mut self) -> Remarks {
        Remarks {
            between_runs: self.between_runs,
            parts: self.pools.averages(),
            series: self.pools.series(),
            ..Remarks::default()
        }
    }

    fn is_stateful(&self) -> bool {
        self.shared.borrow().machine().is_stateful()
    }

    fn replay_state(&mut self, test: &Test) {
        let shared = &mut *self.shared.borrow_mut();
        if let Ok(test) = supported(shared.machine(), test) {
            let list = shared.list(&test);
            shared.complete(&test, &list);
        }
    }
}
