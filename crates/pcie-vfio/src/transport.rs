//! The transport of pcie-driver to a real device.

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

/// Least wait that sleeps; shorter waits spin, because waking up takes longer.
const SLEEP_NS: u64 = 200_000;

/// A device's registers, its window for messages, the host buffer, and memory for queues.
///
/// Fields drop in this order: the device is stopped before its memory is unmapped.
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
    /// Maps BAR `registers` of a device, `queue_bytes` of queue memory, and the buffer in pages of `page`.
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

    /// Sets the window for messages.
    pub fn set_messages(&mut self, window: Window) {
        self.messages = Some(window);
    }

    /// Bus address of the first byte of the host buffer.
    #[must_use]
    pub fn data_address(&self) -> u64 {
        self.data.iova()
    }

    /// Stops the device and unmaps its memory; fails if the kernel refuses.
    pub fn close(&mut self) -> Result<(), Refusal> {
        self.device.close()?;
        self.queues.unmap()?;
        self.data.unmap()
    }
}

fn outside(memory: &str, offset: u64) -> TransportError {
    TransportError(format!("{offset:#x} is outside the device's {memory}"))
}

impl Transport for Vfio {
    #[inline]
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        let value = self.registers.read(address.into());
        // Later reads must not move before this one.
        fence(Ordering::Acquire);
        value.ok_or_else(|| outside("registers", address.into()))
    }

    #[inline]
    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        // Queues are written before their doorbell.
        fence(Ordering::Release);
        let written = self.registers.write(address.into(), value);
        written.then_some(()).ok_or_else(|| outside("registers", address.into()))
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

    fn store(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TransportError> {
        let outside = || outside("message window", offset.into());
        let window = self.messages.as_ref().ok_or_else(outside)?;
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = words.iter().zip((u64::from(offset)..).step_by(8));
        let stored = words.all(|(word, offset)| window.write_long(offset, u64::from_le_bytes(*word)));
        (stored && rest.is_empty()).then_some(()).ok_or_else(outside)
    }

    fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        fence(Ordering::Acquire);
        let copied = self.data.buffer().borrow().copy_out(offset, bytes);
        compiler_fence(Ordering::SeqCst);
        copied.then_some(()).ok_or_else(|| outside("buffer", offset))
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
    fn put(&mut self, offset: u64, words: &[u32]) -> Result<(), TransportError> {
        let stored = self.queues.buffer().borrow_mut().put_words(offset, words);
        stored.then_some(()).ok_or_else(|| outside("queues", offset))
    }

    #[inline]
    fn get(&mut self, offset: u64) -> Result<u32, TransportError> {
        let word = self.queues.buffer().borrow().word(offset);
        fence(Ordering::Acquire);
        word.ok_or_else(|| outside("queues", offset))
    }
}
