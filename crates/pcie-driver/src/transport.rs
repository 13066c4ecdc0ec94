//! What a driver needs of the way to its device.

use thiserror::Error;

/// The way to a device: its registers, and time.
///
/// Drivers never wait in any other way than by [`Transport::relax`], so that simulated time can stand still while they
/// think.
pub trait Transport {
    /// Reads a register of 32 bits.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn read(&mut self, address: u32) -> Result<u32, TransportError>;

    /// Writes a register of 32 bits.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError>;

    /// Reads registers that follow each other, as many as there is room for.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn read_block(&mut self, address: u32, values: &mut [u32]) -> Result<(), TransportError> {
        for (value, address) in values.iter_mut().zip((address..).step_by(4)) {
            *value = self.read(address)?;
        }
        Ok(())
    }

    /// Writes registers, one after the other.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn write_all(&mut self, writes: &[(u32, u32)]) -> Result<(), TransportError> {
        writes.iter().try_for_each(|&(address, value)| self.write(address, value))
    }

    /// Lets so much time of the device pass, or less if a test ends meanwhile and the transport knows.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn relax(&mut self, time_ns: u64) -> Result<(), TransportError>;

    /// Stores whole words of 8 bytes, 64 bytes at most, at a place in the device's window of messages, in one piece.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn store(&mut self, place: u32, bytes: &[u8]) -> Result<(), TransportError>;

    /// Reads what stands in the host buffer, from a place in it on, within a page.
    ///
    /// # Errors
    /// See [`TransportError`].
    fn memory(&mut self, place: u64, bytes: &mut [u8]) -> Result<(), TransportError>;

    /// Bus addresses of the pieces of the host buffer, and the bytes of each.
    fn buffer(&self) -> (&[u64], u64);
}

impl<T: Transport> Transport for &mut T {
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        (**self).read(address)
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        (**self).write(address, value)
    }

    fn read_block(&mut self, address: u32, values: &mut [u32]) -> Result<(), TransportError> {
        (**self).read_block(address, values)
    }

    fn write_all(&mut self, writes: &[(u32, u32)]) -> Result<(), TransportError> {
        (**self).write_all(writes)
    }

    fn relax(&mut self, time_ns: u64) -> Result<(), TransportError> {
        (**self).relax(time_ns)
    }

    fn store(&mut self, place: u32, bytes: &[u8]) -> Result<(), TransportError> {
        (**self).store(place, bytes)
    }

    fn memory(&mut self, place: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        (**self).memory(place, bytes)
    }

    fn buffer(&self) -> (&[u64], u64) {
        (**self).buffer()
    }
}

/// The way to the device is gone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TransportError(pub String);
