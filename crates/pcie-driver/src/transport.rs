//! Access of a driver to its device.

use thiserror::Error;

/// Access to a device: its registers, memory and time. All methods fail once the device is gone.
///
/// Drivers wait only by [`Transport::relax`], so that simulated time stands still otherwise.
pub trait Transport {
    /// Reads a 32-bit register.
    fn read(&mut self, address: u32) -> Result<u32, TransportError>;

    /// Writes a 32-bit register.
    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError>;

    /// Reads consecutive registers into all of `values`.
    fn read_block(&mut self, address: u32, values: &mut [u32]) -> Result<(), TransportError> {
        for (value, address) in values.iter_mut().zip((address..).step_by(4)) {
            *value = self.read(address)?;
        }
        Ok(())
    }

    /// Writes registers in order.
    fn write_all(&mut self, writes: &[(u32, u32)]) -> Result<(), TransportError> {
        writes.iter().try_for_each(|&(address, value)| self.write(address, value))
    }

    /// Lets this much device time pass, or less if the transport sees a test end.
    fn relax(&mut self, time_ns: u64) -> Result<(), TransportError>;

    /// Stores whole 8-byte words, at most 64 bytes, in one piece at an offset of the device's message window.
    fn store(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TransportError>;

    /// Reads the host buffer from an offset on, within a page.
    fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError>;

    /// Bus addresses of the pieces of the host buffer, and the bytes of each.
    fn buffer(&self) -> (&[u64], u64);
}

/// The device can no longer be reached: the reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TransportError(pub String);
