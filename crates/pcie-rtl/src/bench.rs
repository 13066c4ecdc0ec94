//! The core and its host as a device and a host for the runner.
//!
//! What tests leave behind in caches and IO-TLB is computed as the simulated device does it, in closed form; so are
//! device warm and device thrash, which would take longer than all tests.

use crate::link::{Link, Running};
use crate::memory::Memory;
use crate::process::Process;
use pcie_bench::{
    BandwidthSlice, Bench, Device, DeviceError, DeviceFacts, DeviceHardware, Host, HostFacts, LatencySlice,
    LinkFacts, Start, TimerFacts,
};
use pcie_driver::{Core, DriverError, Progress};
use pcie_sim::{Machine, RootPort, State, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Test};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Longest transfer: a page.
const TRANSFER_BYTES_MAX: u64 = 4096;

struct Shared {
    machine: Arc<Machine>,
    state: State,
    key: TestKey,
    memory: Memory,
    running: Running,
    program: PathBuf,
}

struct RtlDevice {
    shared: Rc<RefCell<Shared>>,
}

struct RtlHost {
    shared: Rc<RefCell<Shared>>,
}

/// A core in a process that has been started, on a machine after boot.
pub(crate) fn bench(machine: Arc<Machine>, process: Process, program: PathBuf) -> Bench {
    let state = machine.boot();
    let running = Running { process, clock: 0, has_credits: false };
    let key = TestKey { seed: 0, test: 0 };
    let shared = Shared { machine, state, key, memory: Memory::default(), running, program };
    let shared = Rc::new(RefCell::new(shared));
    Bench { device: Box::new(RtlDevice { shared: Rc::clone(&shared) }), host: Box::new(RtlHost { shared }) }
}

impl Shared {
    fn supports(&self, test: &Test) -> Result<(), DeviceError> {
        let buffer_bytes = self.buffer_bytes();
        if test.window_bytes > buffer_bytes {
            return Err(DeviceError::NotSupported(format!("the host buffer has {buffer_bytes} bytes")));
        }
        Ok(())
    }

    fn buffer_bytes(&self) -> u64 {
        let system = self.machine.system();
        system.chunk_bytes * system.chunk_addresses.len() as u64
    }

    fn list(&self, test: &Test) -> AddressList {
        AddressList::new(test, self.key.draws(Stream::Addresses))
    }

    /// Runs something on the core while it is plugged into the host in its present state.
    fn drive(
        &mut self,
        test: &Test,
        carry_out: impl FnOnce(&mut Core<&mut Link<'_>>, &AddressList, u32) -> Result<(), DriverError>,
    ) -> Result<(), DeviceError> {
        self.supports(test)?;
        let list = self.list(test);
        // A read that overtakes its write finds what was there before.
        let data_key = self.key.draws(Stream::Payload).word(0);
        let pair = test.operation == Operation::LatWrrd;
        self.memory.fill(if pair { !data_key } else { data_key });
        let machine = Arc::clone(&self.machine);
        let root = RootPort::new(&machine, self.key, self.state.clone(), 0, test.operation);
        let mut link = Link::new(&mut self.running, root, &mut self.memory, machine.system());
        let result = Core::open(&mut link).and_then(|mut core| {
            core.set_buffer()?;
            carry_out(&mut core, &list, data_key)
        });
        let lost = link.failure().is_some();
        self.complete(test, &list);
        result.map_err(|error| raised(error, lost))
    }

    /// Leaves the machine as the whole test leaves it, as far as the next test can see.
    fn complete(&mut self, test: &Test, list: &AddressList) {
        if self.machine.is_stateful() && self.machine.leaves_traces(test) {
            self.machine.advance(&mut self.state, test, list, 0..test.transactions);
        }
    }
}

fn raised(error: DriverError, lost: bool) -> DeviceError {
    match error {
        _ if lost => DeviceError::Lost(error.to_string()),
        DriverError::Unsupported(missing) => DeviceError::NotSupported(missing.to_string()),
        DriverError::Transport(_) => DeviceError::Lost(error.to_string()),
        error => DeviceError::Failed(error.to_string()),
    }
}

impl Device for RtlDevice {
    fn facts(&self) -> DeviceFacts {
        let shared = self.shared.borrow();
        let (hello, link) = (shared.running.process.hello(), &shared.machine.system().link);
        let operations = ["lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"];
        DeviceFacts {
            name: format!("pcielab core, {} bit, {} tags", 8 * hello.data_bytes, hello.tags),
            timer: TimerFacts { numerator_ns: u64::from(hello.clock_ps), denominator: 1000, cycles: 1 },
            dma_transfer_bytes_most: Some(TRANSFER_BYTES_MAX),
            command_transfer_bytes_most: None,
            outstanding: Some(hello.tags),
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
        self.shared.borrow_mut().key = TestKey { seed: start.seed, test: start.position };
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        shared.machine.thrash_from_device(&mut shared.state, shared.key);
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        shared.machine.warm_from_device(&mut shared.state, window_bytes);
        Ok(())
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        self.shared.borrow_mut().drive(test, |core, list, data_key| {
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
        self.shared.borrow_mut().drive(test, |core, list, data_key| {
            let clock_ns = f64::from(core.facts().clock_ps) / 1000.0;
            let mut before = Progress::default();
            core.bandwidth(test, list, data_key, &mut |now| {
                let since = std::mem::replace(&mut before, now);
                sink(BandwidthSlice {
                    transactions: now.transactions - since.transactions,
                    elapsed_ns: (now.clocks - since.clocks) as f64 * clock_ns,
                })
            })
        })
    }

    fn is_stateful(&self) -> bool {
        self.shared.borrow().machine.is_stateful()
    }

    fn replay_state(&mut self, test: &Test) {
        let shared = &mut *self.shared.borrow_mut();
        if shared.supports(test).is_ok() {
            let list = shared.list(test);
            shared.complete(test, &list);
        }
    }

    /// A core that has failed is a process that can be started anew.
    fn recover(&mut self) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        let process =
            Process::start(&shared.program).map_err(|error| DeviceError::Lost(error.to_string()))?;
        shared.running = Running { process, clock: 0, has_credits: false };
        Ok(())
    }
}

impl Host for RtlHost {
    fn facts(&self) -> HostFacts {
        let shared = self.shared.borrow();
        let system = shared.machine.system();
        HostFacts {
            name: system.host.name.clone(),
            sockets: Some(system.host.sockets),
            llc_bytes: Some(system.host.llc.llc_bytes),
            buffer_bytes: shared.buffer_bytes(),
            device_socket: Some(system.device_socket),
            memory_socket: Some(system.memory_socket),
            program_socket: Some(system.program_socket),
            hardware: None,
        }
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.shared.borrow_mut().state.thrash_from_host();
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        shared.machine.warm_from_host(&mut shared.state, window_bytes, shared.key);
        Ok(())
    }
}
