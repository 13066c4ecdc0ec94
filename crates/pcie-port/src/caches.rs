//! The state of the host's caches when the device starts.

use pcie_sim::{Machine, State, TestKey};
use pcie_workload::CacheState;

/// A preparation of the caches, as before a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// What is in the caches.
    pub cache: CacheState,
    /// Bytes that device or CPU write, from the start of the buffer; at most the buffer.
    pub window_bytes: u64,
}

impl Prepared {
    /// The state of a machine with its caches prepared.
    #[must_use]
    pub fn state(self, machine: &Machine, key: TestKey) -> State {
        let window_bytes = self.window_bytes.min(machine.system().buffer_bytes());
        let mut state = machine.boot();
        machine.thrash_from_host_after(&mut state, &[]);
        match self.cache {
            CacheState::Cold => {}
            CacheState::DeviceThrash => machine.thrash_from_device(&mut state, key),
            CacheState::DeviceWarm => machine.warm_from_device(&mut state, window_bytes),
            CacheState::HostWarm => machine.warm_from_host(&mut state, window_bytes, key),
        }
        state
    }
}
