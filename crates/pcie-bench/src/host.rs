//! What a host must be able to do for its caches to be in a known state.

use crate::DeviceError;
use crate::device::Start;
use crate::facts::{Condition, HostFacts};

/// The host that holds the buffer.
pub trait Host {
    /// What the host is.
    fn facts(&self) -> HostFacts;

    /// What changes about it, read now: before and after a run and after each test.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Says which test comes next, before anything is prepared for it.
    fn begin(&mut self, _start: Start<'_>) {}

    /// Empties the caches of the socket that the control program runs on.
    ///
    /// # Errors
    /// The host failed.
    fn thrash(&mut self) -> Result<(), DeviceError>;

    /// Writes the first `window_bytes` of the buffer, in whole pages, four times.
    ///
    /// # Errors
    /// The host failed.
    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError>;
}
