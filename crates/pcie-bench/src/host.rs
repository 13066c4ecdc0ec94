//! What a host must be able to do for its caches to be in a known state.

use crate::DeviceError;
use serde::Serialize;

/// The host that holds the buffer.
pub trait Host {
    /// What the host says of itself.
    fn facts(&self) -> HostFacts;

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

/// What a host says of itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// Sockets.
    pub sockets: u32,
    /// Last-level cache of a socket, bytes.
    pub llc_bytes: u64,
    /// Size of the buffer, bytes.
    pub buffer_bytes: u64,
    /// Sockets of device, memory and control program.
    pub device_socket: u32,
    /// Socket of the buffer.
    pub memory_socket: u32,
    /// Socket of the control program.
    pub program_socket: u32,
}
