//! The interface of a host, which brings its caches into a known state.

use crate::DeviceError;
use crate::device::Start;
use crate::facts::{Condition, HostFacts};

/// The host that holds the buffer.
pub trait Host {
    /// Identity of the host.
    fn facts(&self) -> HostFacts;

    /// Changing values, read now: before and after a run and after each test.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Announces the next test, before its caches are prepared.
    fn begin(&mut self, _start: Start<'_>) {}

    /// Empties the caches of the control program's socket.
    fn thrash(&mut self) -> Result<(), DeviceError>;

    /// Writes the first `window_bytes` of the buffer, in whole pages, four times.
    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError>;
}
