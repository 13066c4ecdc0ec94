//! The simulator as a device.
//!
//! Sampling is honest about the history within a test: batches start at places
//! spread over the whole published run, each with the machine in the state in which the transactions before it leave it.

use crate::host::{SharedMachine, SimulatedHost};
use pcie_bench::{
    BandwidthSlice, Bench, Device, DeviceError, DeviceFacts, LatencySlice, Samples, Start, TimerFacts,
};
use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, State};
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, Test};
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
/// Transactions before each batch that fill the pipeline and are not counted, at least.
const BANDWIDTH_WARM_UP: u64 = 2048;
/// Places of the run that each round of sampling looks at.
const PLACES: u64 = 4;

/// The simulated card.
#[derive(Debug)]
struct SimulatedDevice {
    shared: Rc<RefCell<SharedMachine>>,
    samples: Samples,
    engine: Engine,
}

/// A device and a host on one simulated machine, after boot.
pub(crate) fn simulated_bench(machine: Arc<Machine>, samples: Samples, engine: Engine) -> Bench {
    let shared = Rc::new(RefCell::new(SharedMachine::after_boot(machine)));
    Bench {
        device: Box::new(SimulatedDevice { shared: Rc::clone(&shared), samples, engine }),
        host: Box::new(SimulatedHost::new(shared)),
    }
}

/// The test as the card carries it out: its journal or counter may hold fewer transactions than asked for.
fn carried_out(machine: &Machine, test: &Test) -> Result<Test, DeviceError> {
    machine.supports(test).map_err(|error| DeviceError::NotSupported(error.to_string()))?;
    Ok(Test { transactions: machine.transactions(test), ..test.clone() })
}

impl SimulatedDevice {
    /// Calls `batch` with the state at, and the number of, the first transaction of each batch to simulate, and with the
    /// number that count, until it breaks off. A batch simulates `lead` transactions more, before those that count.
    ///
    /// Batches are whole passes over the window, at least `least` long. Each round of them takes twice as many as the one
    /// before, and all together never more than the test asks for.
    fn for_each_batch(
        &self,
        shared: &SharedMachine,
        test: &Test,
        list: &AddressList,
        (least, lead): (u64, u64),
        mut batch: impl FnMut(State, u64, u64) -> ControlFlow<()>,
    ) {
        let total = test.transactions;
        let stratum = total / PLACES;
        let shortest = least.next_multiple_of(list.pass());
        if self.samples == Samples::Full || 2 * shortest + lead >= stratum {
            let _ = batch(shared.state().clone(), 0, total);
            return;
        }
        let mut left = total;
        for round in 0u32.. {
            let most = (left / PLACES).min(stratum - lead);
            let length = (shortest << round.min(32)).min(most) / list.pass() * list.pass();
            if length == 0 {
                return;
            }
            left -= PLACES * length;
            let shift = (f64::from(round + 1) * 0.618_033_988_749_894_9).fract();
            let mut state = shared.state().clone();
            let mut at = 0;
            for place in 0..PLACES {
                // Even, so that the batches of a read-write test start alike.
                let start = (place * stratum + ((stratum - lead - length) as f64 * shift) as u64) & !1;
                if shared.machine().leaves_traces(test) {
                    shared.machine().advance(&mut state, test, list, at..start);
                    at = start;
                }
                if batch(state.clone(), start, length).is_break() {
                    return;
                }
            }
        }
    }
}

impl Device for SimulatedDevice {
    fn facts(&self) -> DeviceFacts {
        let shared = self.shared.borrow();
        let card = &shared.machine().system().device;
        let timer = card.timer;
        DeviceFacts {
            name: card.name.clone(),
            timer: TimerFacts {
                numerator_ns: timer.numerator_ns,
                denominator: timer.denominator,
                cycles: timer.cycles,
            },
            dma_transfer_bytes_most: Some(card.dma.transfer_bytes_most.into()),
            command_transfer_bytes_most: card
                .command
                .as_ref()
                .map(|command| command.transfer_bytes_most.into()),
            outstanding: Some(card.dma.outstanding),
            hardware: None,
        }
    }

    fn begin(&mut self, start: Start<'_>) {
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
        let test = carried_out(shared.machine(), test)?;
        let list = shared.list(&test);
        let slice_length = match self.samples {
            Samples::Full => FULL_SLICE,
            Samples::Adaptive => LATENCY_BATCH.next_multiple_of(list.pass()),
        };
        let mut uncounted = None;
        self.for_each_batch(shared, &test, &list, (LATENCY_BATCH, 0), |state, first, count| {
            let mut run = LatencyRun::new(shared.machine(), &test, &list, shared.key(), state, first);
            let mut left = count;
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
                            return ControlFlow::Break(());
                        }
                    }
                }
                sink(&LatencySlice { ticks, elapsed_ns: elapsed.as_ns() })?;
            }
            ControlFlow::Continue(())
        });
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
        let test = carried_out(shared.machine(), test)?;
        let list = shared.list(&test);
        let adaptive_slice = BANDWIDTH_BATCH.next_multiple_of(list.pass());
        let lead = BANDWIDTH_WARM_UP.max(shared.machine().transactions_to_fill(&test));
        self.for_each_batch(shared, &test, &list, (BANDWIDTH_BATCH, lead), |state, first, count| {
            let mut run =
                BandwidthRun::new(self.engine, shared.machine(), &test, &list, shared.key(), state, first);
            let whole = count == test.transactions;
            let (slice_length, mut before) = match whole {
                true => (FULL_SLICE, Picoseconds::ZERO),
                false => (adaptive_slice, run.run(lead)),
            };
            let mut left = count;
            while left > 0 {
                let length = left.min(slice_length);
                left -= length;
                let now = run.run(length);
                sink(BandwidthSlice { transactions: length, elapsed_ns: (now - before).as_ns() })?;
                before = now;
            }
            ControlFlow::Continue(())
        });
        shared.complete(&test, &list);
        Ok(())
    }

    fn is_stateful(&self) -> bool {
        self.shared.borrow().machine().is_stateful()
    }

    fn replay_state(&mut self, test: &Test) {
        let shared = &mut *self.shared.borrow_mut();
        if let Ok(test) = carried_out(shared.machine(), test) {
            let list = shared.list(&test);
            shared.complete(&test, &list);
        }
    }
}
