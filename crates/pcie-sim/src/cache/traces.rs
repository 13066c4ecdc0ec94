//! What preparations and tests leave in caches and IO-TLB, and how much of it a thrash by the host leaves.
//!
//! Each test of a suite begins with that thrash. If the control program runs on the device's socket, the thrash
//! evicts all lines that the device finds there, so which lines those were need not be computed: what
//! stays is the IO-TLB and the record of lines ever written.

use super::advances::Advances;
use super::history::{Next, State, TestKey};
use crate::machine::Machine;
use pcie_workload::{AddressList, CacheState, Test};

/// A step of a run that changes the state.
#[derive(Clone, Debug)]
pub enum Trace {
    /// The device writes random lines over the whole buffer.
    DeviceThrash {
        /// Seeds the draws.
        key: TestKey,
    },
    /// The device writes the window, twice.
    DeviceWarm {
        /// Size of the window.
        window_bytes: u64,
    },
    /// The CPU writes the window, four times.
    HostWarm {
        /// Size of the window.
        window_bytes: u64,
        /// Seeds the draws.
        key: TestKey,
    },
    /// All transactions of a test.
    Test {
        /// The test.
        test: Test,
        /// Its addresses.
        list: AddressList,
    },
}

impl Trace {
    /// The step that brings the caches into the state that a test asks for; `None` for cold ones.
    #[must_use]
    pub fn of_preparation(test: &Test, key: TestKey) -> Option<Self> {
        let window_bytes = test.window_bytes;
        match test.cache {
            CacheState::Cold => None,
            CacheState::DeviceThrash => Some(Self::DeviceThrash { key }),
            CacheState::DeviceWarm => Some(Self::DeviceWarm { window_bytes }),
            CacheState::HostWarm => Some(Self::HostWarm { window_bytes, key }),
        }
    }
}

impl Machine {
    /// Applies a step to a state.
    pub fn leave(&self, state: &mut State, trace: &Trace) {
        self.leave_for(state, trace, Next::Device);
    }

    /// Applies steps to a state, and then the host's thrash.
    pub fn thrash_from_host_after(&self, state: &mut State, steps: &[Trace]) {
        let evicts_all = self.system.program_socket == self.system.device_socket;
        let next = if evicts_all { Next::HostThrash } else { Next::Device };
        for step in steps {
            self.leave_for(state, step, next);
        }
        state.thrash_from_host();
    }

    fn leave_for(&self, state: &mut State, trace: &Trace, next: Next) {
        let (system, lines) = (&self.system, self.lines());
        match trace {
            Trace::DeviceThrash { key } => state.thrash_from_device(system, lines, *key, next),
            Trace::DeviceWarm { window_bytes } => state.warm_from_device(system, lines, *window_bytes, next),
            Trace::HostWarm { window_bytes, key } => {
                state.warm_from_host(system, lines, *window_bytes, *key, next);
            }
            Trace::Test { test, list } => {
                if self.leaves_traces(test) {
                    Advances::new(lines, test, list).advance_for(state, 0..test.transactions, next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::history::tests::assert_same;
    use crate::test_systems::{ib_011_iommu, ib_011_nosp, snb};
    use pcie_time::Stream;
    use pcie_workload::Operation;

    #[test]
    fn a_thrash_leaves_the_same_with_and_without_the_lines_before_it() {
        let mut near = ib_011_iommu().system().clone();
        near.program_socket = near.device_socket;
        let near = Machine::new(near).unwrap();
        for (machine, name) in
            [(snb(), "snb"), (near, "near"), (ib_011_nosp(), "4 KiB pages"), (ib_011_iommu(), "superpages")]
        {
            let (mut passed, mut followed) = (machine.boot(), machine.boot());
            let tests = [
                (Operation::BwWr, 64, 8192, CacheState::Cold, 3_000),
                (Operation::LatWrrd, 8, 1 << 16, CacheState::HostWarm, 500),
                (Operation::BwRd, 512, 4 << 20, CacheState::DeviceWarm, 40),
                (Operation::BwRdwr, 769, 1 << 20, CacheState::Cold, 2_000),
                (Operation::LatRd, 64, 16 << 20, CacheState::HostWarm, 70),
                (Operation::BwWr, 128, 2 << 20, CacheState::DeviceThrash, 900),
            ];
            for (position, (operation, size, window, cache, transactions)) in tests.into_iter().enumerate() {
                let test = Test { cache, ..Test::random_dma(operation, size, window, transactions) };
                let key = TestKey { seed: 3, test: position as u64 };
                let list = AddressList::new(&test, key.draws(Stream::Addresses));
                let mut steps: Vec<Trace> = Trace::of_preparation(&test, key).into_iter().collect();
                steps.push(Trace::Test { test, list });
                machine.thrash_from_host_after(&mut passed, &steps);
                steps.iter().for_each(|step| machine.leave(&mut followed, step));
                followed.thrash_from_host();
                assert_same(
                    &machine,
                    &mut passed.clone(),
                    &mut followed.clone(),
                    &format!("{name} {position}"),
                );
            }
        }
    }
}
