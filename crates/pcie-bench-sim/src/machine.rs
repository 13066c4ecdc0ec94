//! The simulator as a device and a host.
//!
//! The two share one simulated machine. Sampling is honest about the history within a test: batches start at places
//! spread over the whole published run, each with the machine in the state in which the transactions before it leave it.

use pcie_bench::{
    BandwidthSlice, Bench, Device, DeviceError, DeviceFacts, Host, HostFacts, LatencySlice, Samples, Start,
    TimerFacts,
};
use pcie_sim::profile::System;
use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, State, TestKey};
use pcie_time::{Picoseconds, Stream};
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

#[derive(Debug)]
struct Shared {
    machine: Arc<Machine>,
    state: State,
    key: TestKey,
    samples: Samples,
    engine: Engine,
}

/// The simulated card.
#[derive(Debug)]
struct SimulatedDevice {
    bench: Rc<RefCell<Shared>>,
}

/// The simulated host.
#[derive(Debug)]
struct SimulatedHost {
    bench: Rc<RefCell<Shared>>,
}

/// A device and a host on one simulated machine, after boot.
pub(crate) fn simulated_bench(machine: Arc<Machine>, samples: Samples, engine: Engine) -> Bench {
    let state = machine.boot();
    let key = TestKey { seed: 0, test: 0 };
    let bench = Rc::new(RefCell::new(Shared { machine, state, key, samples, engine }));
    Bench {
        device: Box::new(SimulatedDevice { bench: Rc::clone(&bench) }),
        host: Box::new(SimulatedHost { bench }),
    }
}

impl Shared {
    /// The test as the card carries it out: its journal or counter may hold fewer transactions than asked for.
    fn carried_out(&self, test: &Test) -> Result<Test, DeviceError> {
        self.machine.supports(test).map_err(|error| DeviceError::NotSupported(error.to_string()))?;
        Ok(Test { transactions: self.machine.transactions(test), ..test.clone() })
    }

    fn list(&self, test: &Test) -> AddressList {
        AddressList::new(test, self.key.draws(Stream::Addresses))
    }

    /// Leaves the machine as the whole test leaves it, as far as the next test can see.
    fn complete(&mut self, test: &Test, list: &AddressList) {
        if self.machine.is_stateful() && self.machine.leaves_traces(test) {
            self.machine.advance(&mut self.state, test, list, 0..test.transactions);
        }
    }

    /// Calls `batch` with the state at, and the number of, the first transaction of each batch to simulate, and with the
    /// number that count, until it breaks off. A batch simulates `lead` transactions more, before those that count.
    ///
    /// Batches are whole passes over the window, at least `least` long. Each round of them takes twice as many as the one
    /// before, and all together never more than the test asks for.
    fn for_each_batch(
        &self,
        test: &Test,
        list: &AddressList,
        (least, lead): (u64, u64),
        mut batch: impl FnMut(State, u64, u64) -> ControlFlow<()>,
    ) {
        let total = test.transactions;
        let stratum = total / PLACES;
        let shortest = least.next_multiple_of(list.pass());
        if self.samples == Samples::Full || 2 * shortest + lead >= stratum {
            let _ = batch(self.state.clone(), 0, total);
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
            let mut state = self.state.clone();
            let mut at = 0;
            for place in 0..PLACES {
                // Even, so that the batches of a read-write test start alike.
                let start = (place * stratum + ((stratum - lead - length) as f64 * shift) as u64) & !1;
                if self.machine.leaves_traces(test) {
                    self.machine.advance(&mut state, test, list, at..start);
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
        let bench = self.bench.borrow();
        let card = &bench.machine.system().device;
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
        self.bench.borrow_mut().key = TestKey { seed: start.seed, test: start.position };
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let bench = &mut *self.bench.borrow_mut();
        bench.machine.thrash_from_device(&mut bench.state, bench.key);
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let bench = &mut *self.bench.borrow_mut();
        bench.machine.warm_from_device(&mut bench.state, window_bytes);
        Ok(())
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let bench = &mut *self.bench.borrow_mut();
        let test = bench.carried_out(test)?;
        let list = bench.list(&test);
        let slice_length = match bench.samples {
            Samples::Full => FULL_SLICE,
            Samples::Adaptive => LATENCY_BATCH.next_multiple_of(list.pass()),
        };
        let mut uncounted = None;
        bench.for_each_batch(&test, &list, (LATENCY_BATCH, 0), |state, first, count| {
            let mut run = LatencyRun::new(&bench.machine, &test, &list, bench.key, state, first);
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
        bench.complete(&test, &list);
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
        let bench = &mut *self.bench.borrow_mut();
        let test = bench.carried_out(test)?;
        let list = bench.list(&test);
        let adaptive_slice = BANDWIDTH_BATCH.next_multiple_of(list.pass());
        let lead = BANDWIDTH_WARM_UP.max(bench.machine.transactions_to_fill(&test));
        bench.for_each_batch(&test, &list, (BANDWIDTH_BATCH, lead), |state, first, count| {
            let mut run =
                BandwidthRun::new(bench.engine, &bench.machine, &test, &list, bench.key, state, first);
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
        bench.complete(&test, &list);
        Ok(())
    }

    fn is_stateful(&self) -> bool {
        self.bench.borrow().machine.is_stateful()
    }

    fn replay_state(&mut self, test: &Test) {
        let bench = &mut *self.bench.borrow_mut();
        if let Ok(test) = bench.carried_out(test) {
            let list = bench.list(&test);
            bench.complete(&test, &list);
        }
    }
}

/// What a simulated host says of itself.
pub(crate) fn host_facts(system: &System) -> HostFacts {
    HostFacts {
        name: system.host.name.clone(),
        sockets: Some(system.host.sockets),
        llc_bytes: Some(system.host.llc.llc_bytes),
        buffer_bytes: system.chunk_bytes * system.chunk_addresses.len() as u64,
        device_socket: Some(system.device_socket),
        memory_socket: Some(system.memory_socket),
        program_socket: Some(system.program_socket),
        hardware: None,
    }
}

impl Host for SimulatedHost {
    fn facts(&self) -> HostFacts {
        host_facts(self.bench.borrow().machine.system())
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.bench.borrow_mut().state.thrash_from_host();
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let bench = &mut *self.bench.borrow_mut();
        bench.machine.warm_from_host(&mut bench.state, window_bytes, bench.key);
        Ok(())
    }
}
