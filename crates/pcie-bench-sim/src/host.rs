//! The simulated machine that a device and its host share. The state that a test leaves in its caches and
//! IO-TLB is computed in closed form, independent of the engine, and only once somebody looks at it: the next
//! test's thrash by the host may leave little of it.

use pcie_bench::{DeviceError, Host, HostFacts, Start};
use pcie_sim::profile::System;
use pcie_sim::{Machine, State, TestKey, Trace};
use pcie_time::Stream;
use pcie_workload::{AddressList, Test};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A machine in the state that earlier tests left.
#[derive(Debug)]
pub struct SharedMachine {
    machine: Arc<Machine>,
    /// The state before `steps`.
    state: State,
    /// Steps whose effect has not been computed.
    steps: Vec<Trace>,
    key: TestKey,
}

impl SharedMachine {
    /// A machine after boot.
    #[must_use]
    pub fn after_boot(machine: Arc<Machine>) -> Self {
        Self { state: machine.boot(), machine, steps: Vec::new(), key: TestKey { seed: 0, test: 0 } }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// The machine and its state before a test, as far as the test sees it.
    pub fn before_test(&mut self, test: &Test) -> Before<'_> {
        if self.machine.sees_state(test) {
            for step in self.steps.drain(..) {
                self.machine.leave(&mut self.state, &step);
            }
        }
        Before { machine: &self.machine, state: &self.state, key: self.key }
    }

    /// Seeds the draws of the current test.
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
        self.steps.push(Trace::DeviceThrash { key: self.key });
    }

    /// The device writes the window.
    pub fn warm_from_device(&mut self, window_bytes: u64) {
        self.steps.push(Trace::DeviceWarm { window_bytes });
    }

    /// The addresses that a test visits.
    #[must_use]
    pub fn list(&self, test: &Test) -> AddressList {
        AddressList::new(test, self.key.draws(Stream::Addresses))
    }

    /// Advances the machine to the state after the whole test, as far as the next test depends on it.
    pub fn complete(&mut self, test: &Test, list: &AddressList) {
        if self.machine.is_stateful() && self.machine.leaves_traces(test) {
            self.steps.push(Trace::Test { test: test.clone(), list: list.clone() });
        }
    }
}

/// A machine before a test.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Its state.
    pub state: &'a State,
    /// Seeds the draws of the test.
    pub key: TestKey,
}

/// The host of a simulated machine.
#[derive(Debug)]
pub struct SimulatedHost {
    shared: Rc<RefCell<SharedMachine>>,
}

impl SimulatedHost {
    /// The host of a machine that it shares with a device.
    #[must_use]
    pub fn new(shared: Rc<RefCell<SharedMachine>>) -> Self {
        Self { shared }
    }
}

/// Facts of a simulated host.
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
        let shared = &mut *self.shared.borrow_mut();
        shared.machine.thrash_from_host_after(&mut shared.state, &shared.steps);
        shared.steps.clear();
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let shared = &mut *self.shared.borrow_mut();
        shared.steps.push(Trace::HostWarm { window_bytes, key: shared.key });
        Ok(())
    }
}
