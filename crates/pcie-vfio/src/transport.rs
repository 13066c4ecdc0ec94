//! The way to a real device, for the drivers of pcie-driver.

use crate::opened::Opened;
use crate::space::Mapped;
use crate::window::Window;
use pcie_driver::{Queues, Transport, TransportError};
use pcie_host::{Buffer, PageSize, SharedBuffer, Topology};
use pcie_refusal::Refusal;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{Ordering, compiler_fence, fence};
use std::time::{Duration, Instant};

/// A wait this long is slept through; a shorter one is spun through, because waking up takes longer.
const SLEEP_NS: u64 = 200_000;

/// A device's registers, its window for messages, the host buffer, and memory for queues.
///
/// The order of the fields is that of closing: the device is stopped before anything that it may reach is taken away.
#[derive(Debug)]
pub struct Vfio {
    device: Opened,
    registers: Window,
    messages: Option<Window>,
    queues: Mapped,
    data: Mapped,
    pieces: [u64; 1],
}

impl Vfio {
    /// Maps BAR `registers` of a device, memory for `queue_bytes` bytes of queues, and the buffer by pages of a size.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn new(
        device: Opened,
        registers: u32,
        queue_bytes: u64,
        buffer: &SharedBuffer,
        page: PageSize,
    ) -> Result<Self, Refusal> {
        let registers = device.bar(registers, 0, None)?;
        let queue_bytes = queue_bytes.max(1).next_multiple_of(PageSize::FourKib.bytes());
        device.space().plan(queue_bytes + buffer.borrow().length());
        let queues = Buffer::allocate(queue_bytes, PageSize::FourKib, None, &Topology::here())?;
        let queues = Rc::new(RefCell::new(queues));
        let queues = Mapped::new(device.space(), &queues, PageSize::FourKib)?;
        let data = Mapped::new(device.space(), buffer, page)?;
        let pieces = [data.iova()];
        Ok(Self { device, registers, messages: None, queues, data, pieces })
    }

    /// The device itself.
    #[must_use]
    pub fn device(&self) -> &Opened {
        &self.device
    }

    /// Gives it a window for messages.
    pub fn set_messages(&mut self, window: Window) {
        self.messages = Some(window);
    }

    /// Bus address of the first byte of the host buffer.
    #[must_use]
    pub fn data_address(&self) -> u64 {
        self.data.iova()
    }

    /// Stops the device and takes everything away from it.
    ///
    /// # Errors
    /// Something could not be taken back.
    pub fn close(&mut self) -> Result<(), Refusal> {
        self.device.close()?;
        self.queues.unmap()?;
        self.data.unmap()
    }
}

fn outside(what: &str, place: u64) -> TransportError {
    TransportError(format!("{what} {place:#x} is outside of what the device has"))
}

impl Transport for Vfio {
    #[inline]
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        let value = self.registers.read(address.into());
        // What is read after a register was read is not read before it.
        fence(Ordering::Acquire);
        value.ok_or_else(|| outside("register", address.into()))
    }

    #[inline]
    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        // Queues are written before their doorbell.
        fence(Ordering::Release);
        if self.registers.write(address.into(), value) {
            Ok(())
        } else {
            Err(outside("register", address.into()))
        }
    }

    fn relax(&mut self, time_ns: u64) -> Result<(), TransportError> {
        let time = Duration::from_nanos(time_ns);
        if time_ns >= SLEEP_NS {
            std::thread::sleep(time);
            return Ok(());
        }
        let started = Instant::now();
        while started.elapsed() < time {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn store(&mut self, place: u32, bytes: &[u8]) -> Result<(), TransportError> {
        let window = self.messages.as_ref().ok_or_else(|| outside("message", place.into()))?;
        let (words, rest) = bytes.as_chunks::<8>();
        let stored = words
            .iter()
            .zip((u64::from(place)..).step_by(8))
            .all(|(word, place)| window.write_long(place, u64::from_le_bytes(*word)));
        if stored && rest.is_empty() { Ok(()) } else { Err(outside("message", place.into())) }
    }

    fn memory(&mut self, place: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        fence(Ordering::Acquire);
        let is_there = self.data.buffer().borrow().copy_out(place, bytes);
        compiler_fence(Ordering::SeqCst);
        if is_there { Ok(()) } else { Err(outside("place in the buffer", place)) }
    }

    fn buffer(&self) -> (&[u64], u64) {
        (&self.pieces, self.data.buffer().borrow().length())
    }
}

impl Queues for Vfio {
    fn queue_memory(&self) -> (u64, u64) {
        (self.queues.iova(), self.queues.buffer().borrow().length())
    }

    #[inline]
    fn put(&mut self, place: u64, words: &[u32]) -> Result<(), TransportError> {
        let stored = self.queues.buffer().borrow_mut().put_words(place, words);
        if stored { Ok(()) } else { Err(outside("place in the queues", place)) }
    }

    #[inline]
    fn get(&mut self, place: u64) -> Result<u32, TransportError> {
        let word = self.queues.buffer().borrow().word(place);
        fence(Ordering::Acquire);
        word.ok_or_else(|| outside("place in the queues", place))
    }
}
