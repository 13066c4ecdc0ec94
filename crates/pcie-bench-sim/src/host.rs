//! The simulated machine that a device and its host share, and what tests leave behind in its caches and its IO-TLB:
//! computed in closed form, whatever carries them out.

use pcie_bench::{DeviceError, Host, HostFacts, Start};
use pcie_sim::profile::System;
use pcie_sim::{Machine, State, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Test};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A machine in the state in which earlier tests left it.
#[derive(Debug)]
pub struct SharedMachine {
    machine: Arc<Machine>,
    state: State,
    key: TestKey,
}

impl SharedMachine {
    /// A machine after boot.
    #[must_use]
    pub fn after_boot(machine: Arc<Machine>) -> Self {
        Self { state: machine.boot(), machine, key: TestKey { seed: 0, test: 0 } }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// What it remembers, before the test that it is in.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Names the draws of the test that it is in.
    #[must_use]
    pub fn key(&self) -> TestKey {
        self.key
    }

    /// A test begins.
    pub fn begin(&mut self, start: Start<'_>) {
        self.key = TestKey { seed: start.seed, test: start.position };
    }

    /// The device writes random lines over the whole buffer.
    pub fn thrash_from_device(&mut self) {
        self.machine.thrash_from_device(&mut self.state, self.key);
    }

    /// The device writes the window.
    pub fn warm_from_device(&mut self, window_bytes: u64) {
        self.machine.warm_from_device(&mut self.state, window_bytes);
    }

    /// The addresses that a test visits.
    #[must_use]
    pub fn list(&self, test: &Test) -> AddressList {
        AddressList::new(test, self.key.draws(Stream::Addresses))
    }

    /// Leaves the machine as the whole test leaves it, as far as the next test can see.
    pub fn complete(&mut self, test: &Test, list: &AddressList) {
        if self.machine.is_stateful() && self.machine.leaves_traces(test) {
            self.machine.advance(&mut self.state, test, list, 0..test.transactions);
        }
    }
}

/// The host of a simulated machine.
#[derive(Debug)]
pub struct SimulatedHost {
    shared: Rc<RefCell<SharedMachine>>,
}

impl SimulatedHost {
    /// The host of a machine that a device shares.
    #[must_use]
    pub fn new(shared: Rc<RefCell<SharedMachine>>) -> Self {
        Self { shared }
    }
}

/// What a simulated host says of itself.
pub(crate) fn host_facts(system: &System) -> HostFacts {
    HostFacts {
        name: system.host.name.clone(),
        sockets: Some(system.host.sockets),
        llc_bytes: Some(system.host.llc.llc_bytes),
        buffer_bytes: system.buffer_bytes(),
        device_socket: Some(system.device_socket),
        memory_socket: Some(system.memory_socket),
        program_socket: Some(system.program_socket),
        hardware: None,
    }
}

impl Host for SimulatedHost {
    fn facts(&self) -> HostFacts {
        host_facts(self.shared.borrow().machine.system())
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
