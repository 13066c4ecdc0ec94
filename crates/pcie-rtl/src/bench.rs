//! The core as a device for the runner, on a simulated host.
//!
//! The effects of tests on caches and IO-TLB are computed as for the simulated device; so are device warm and
//! device thrash, which would take longer than all tests.

use crate::credits::Ledger;
use crate::link::{Link, Running};
use crate::memory::Memory;
use crate::process::Process;
use pcie_bench::{
    BandwidthSlice, Bench, Device, DeviceError, DeviceFacts, DeviceHardware, LatencySlice, LinkFacts, Start,
    TimerFacts,
};
use pcie_bench_sim::{Before, SharedMachine, SimulatedHost};
use pcie_driver::{Core, DriverError, Progress};
use pcie_port::Port;
use pcie_sim::Machine;
use pcie_sim::profile::System;
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, PAGE_BYTES, Test};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

struct RtlDevice {
    shared: Rc<RefCell<SharedMachine>>,
    memory: Memory,
    running: Running,
    program: PathBuf,
}

/// A core in a running process, on a machine after boot.
pub(crate) fn bench(machine: Arc<Machine>, process: Process, program: PathBuf) -> Bench {
    let running = Running { process, clock: 0, has_credits: false, ledger: Ledger::default() };
    let shared = Rc::new(RefCell::new(SharedMachine::after_boot(machine)));
    let memory = Memory::default();
    Bench {
        device: Box::new(RtlDevice { shared: Rc::clone(&shared), memory, running, program }),
        host: Box::new(SimulatedHost::new(shared)),
    }
}

fn supports(system: &System, test: &Test) -> Result<(), DeviceError> {
    let buffer_bytes = system.buffer_bytes();
    if test.window_bytes > buffer_bytes {
        return Err(DeviceError::NotSupported(format!("the host buffer has {buffer_bytes} bytes")));
    }
    Ok(())
}

impl RtlDevice {
    /// Runs a test on the core, with the host in its present state.
    fn drive(
        &mut self,
        test: &Test,
        run: impl FnOnce(&mut Core<Link<'_>>, &AddressList, u32) -> Result<(), DriverError>,
    ) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        let machine = Arc::clone(shared.machine());
        supports(machine.system(), test)?;
        let list = shared.list(test);
        // In write-read pairs the initial data differ, so a read that overtakes its write is detected.
        let data_key = shared.key().draws(Stream::Payload).word(0);
        let pair = test.operation == Operation::LatWrrd;
        self.memory.fill(if pair { !data_key } else { data_key });
        let Before { state, key, .. } = shared.before_test(test);
        let port = Port::new(Arc::clone(&machine), key, state.clone(), test.operation);
        let link = Link::new(&mut self.running, port, &mut self.memory);
        let result = Core::open(link).and_then(|mut core| {
            core.limit_tags(machine.system().link.tags)?;
            core.set_buffer()?;
            run(&mut core, &list, data_key)
        });
        shared.complete(test, &list);
        result.map_err(raised)
    }
}

fn raised(error: DriverError) -> DeviceError {
    match error {
        DriverError::Unsupported(missing) => DeviceError::NotSupported(missing.to_string()),
        DriverError::Transport(_) => DeviceError::Lost(error.to_string()),
        error => DeviceError::Failed(error.to_string()),
    }
}

impl Device for RtlDevice {
    fn facts(&self) -> DeviceFacts {
        let shared = self.shared.borrow();
        let (hello, link) = (self.running.process.hello(), &shared.machine().system().link);
        let tags = hello.tags.min(link.tags);
        let operations = ["lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"];
        DeviceFacts {
            name: format!("pcielab core, {} bit, {tags} tags", 8 * hello.data_bytes),
            timer: TimerFacts { numerator_ns: u64::from(hello.clock_ps), denominator: 1000, cycles: 1 },
            dma_transfer_bytes_most: Some(PAGE_BYTES),
            command_transfer_bytes_most: None,
            outstanding: Some(tags),
            hardware: Some(DeviceHardware {
                link: Some(LinkFacts {
                    rate_gtps: None,
                    lanes: Some(link.lanes),
                    mps_bytes: Some(link.mps_bytes),
                    mrrs_bytes: Some(link.mrrs_bytes),
                }),
                operations: operations.map(|operation| format!("dma {operation}")).to_vec(),
                deadline_ms: Some(crate::process::SILENCE.as_millis() as u64),
                ..DeviceHardware::default()
            }),
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
        self.drive(test, |core, list, data_key| {
            let clock_ns = f64::from(core.facts().clock_ps) / 1000.0;
            core.latency(test, list, data_key, &mut |ticks, clocks| {
                sink(&LatencySlice { ticks: ticks.to_vec(), elapsed_ns: clocks as f64 * clock_ns })
            })
        })
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        self.drive(test, |core, list, data_key| {
            let clock_ns = f64::from(core.facts().clock_ps) / 1000.0;
            let mut before = Progress::default();
            core.bandwidth(test, list, data_key, &mut |now| {
                let since = std::mem::replace(&mut before, now);
                sink(BandwidthSlice {
                    transactions: now.transactions - since.transactions,
                    elapsed_ns: (now.clocks - since.clocks) as f64 * clock_ns,
                    anew: false,
                })
            })
        })
    }

    fn is_stateful(&self) -> bool {
        self.shared.borrow().machine().is_stateful()
    }

    fn replay_state(&mut self, test: &Test) {
        let shared = &mut *self.shared.borrow_mut();
        if supports(shared.machine().system(), test).is_ok() {
            let list = shared.list(test);
            shared.complete(test, &list);
        }
    }

    /// Restarts the process.
    fn recover(&mut self) -> Result<(), DeviceError> {
        let process = Process::start(&self.program).map_err(|error| DeviceError::Lost(error.to_string()))?;
        self.running = Running { process, clock: 0, has_credits: false, ledger: Ledger::default() };
        Ok(())
    }
}
