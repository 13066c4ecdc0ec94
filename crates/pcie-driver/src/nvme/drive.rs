//! A drive with a queue pair. Nothing here waits.

use crate::nvme::command::{Data, Kind, Pointers, as_one, by_pages, words};
use crate::nvme::controller::{COMPLETION, Controller, LISTS, SUBMISSION};
use crate::nvme::error::NvmeError;
use crate::nvme::identity::Identity;
use crate::nvme::registers as r;
use crate::queues::Queues;

/// Most commands in flight.
pub const DEPTH_MOST: u16 = 128;

/// Memory that holds the submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLocation {
    /// Host memory, from which the drive fetches commands.
    Host,
    /// The controller memory buffer at this bus address, the start of the transport's window.
    Cmb(u64),
}

/// A command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Number from [`Drive::submit`].
    pub slot: u16,
    /// Status type and code; 0 for success.
    pub status: u16,
}

impl Completion {
    /// Whether a compare failed because the data differ.
    #[must_use]
    pub fn differs(self) -> bool {
        self.status == r::COMPARE_FAILURE
    }
}

/// A drive that takes commands.
#[derive(Debug)]
pub struct Drive<T> {
    controller: Controller<T>,
    pointers: Pointers,
    location: QueueLocation,
    block_log2: u32,
    doorbells: [u32; 2],
    tail: u32,
    head: u32,
    phase: u32,
    free: Vec<u16>,
}

impl<T: Queues> Drive<T> {
    /// Gives a controller its queue pair. Fails if the drive does not support `pointers`.
    pub fn open(
        mut controller: Controller<T>,
        location: QueueLocation,
        pointers: Pointers,
        interrupt: bool,
    ) -> Result<Self, NvmeError> {
        if pointers == Pointers::Sgl && !controller.identity().has_sgl {
            return Err(NvmeError::Unsupported(
                "device.pointers is sgl: this drive does not support scatter-gather lists: give prp".into(),
            ));
        }
        let (queues, _) = controller.transport.queue_memory();
        let submission = match location {
            QueueLocation::Host => queues + SUBMISSION,
            QueueLocation::Cmb(address) => address,
        };
        controller.create_queues(submission, interrupt)?;
        let doorbells = [controller.doorbell(2), controller.doorbell(3)];
        let depth = DEPTH_MOST.min((controller.entries - 1) as u16);
        let block_log2 = controller.identity().block_bytes.ilog2();
        let free = (0..depth).rev().collect();
        Ok(Self { controller, pointers, location, block_log2, doorbells, tail: 0, head: 0, phase: 1, free })
    }

    /// Its answers to Identify.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.controller.identity()
    }

    /// Most commands in flight on this drive.
    #[must_use]
    pub fn depth(&self) -> u16 {
        DEPTH_MOST.min((self.controller.entries - 1) as u16)
    }

    /// The transport.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.controller.transport
    }

    /// Deletes the queue pair; nothing may be in flight.
    pub fn without_queues(mut self) -> Result<Controller<T>, NvmeError> {
        self.controller.delete_queues()?;
        Ok(self.controller)
    }

    /// Stops the drive at once.
    pub fn disable(&mut self) -> Result<(), NvmeError> {
        self.controller.disable()
    }

    /// Submits a command on blocks from `block` on and rings the doorbell; None if the queue is full.
    #[inline]
    pub fn submit(&mut self, kind: Kind, block: u64, data: Option<Data>) -> Result<Option<u16>, NvmeError> {
        let Some(slot) = self.free.pop() else { return Ok(None) };
        let blocks = data.map_or(0, |data| data.bytes >> self.block_log2);
        let moved = data.filter(|_| kind.moves_data());
        let sgl = self.pointers == Pointers::Sgl && moved.is_some();
        let (pointer, last) = if kind == Kind::Deallocate {
            // One range, from memory of the slot.
            (self.put_range(slot, block, blocks as u32)?, [0, r::DEALLOCATE, 0, 0, 0, 0])
        } else {
            let pointer = match moved {
                None => [0, 0],
                Some(data) if sgl => as_one(data),
                Some(data) => self.list_pages(slot, data)?,
            };
            (pointer, [block as u32, (block >> 32) as u32, blocks.saturating_sub(1) as u32, 0, 0, 0])
        };
        self.put(&words(kind.opcode(), slot, sgl, pointer, last))?;
        self.tail = (self.tail + 1) % self.controller.entries;
        self.controller.transport.write(self.doorbells[0], self.tail)?;
        Ok(Some(slot))
    }

    /// Calls `sink` for each command ended since the last call. Fails on a completion without a command.
    #[inline]
    pub fn completions(&mut self, sink: &mut dyn FnMut(Completion)) -> Result<(), NvmeError> {
        let before = self.head;
        loop {
            let last = self.controller.transport.get(COMPLETION + 16 * u64::from(self.head) + 12)?;
            if last >> 16 & 1 != self.phase {
                break;
            }
            let completion = Completion { slot: last as u16, status: (last >> 17 & 0x7ff) as u16 };
            if completion.slot >= self.depth() || self.free.len() >= usize::from(self.depth()) {
                return Err(NvmeError::NotADrive(format!(
                    "the drive completed command {}, which is not in flight",
                    completion.slot
                )));
            }
            self.free.push(completion.slot);
            self.head = (self.head + 1) % self.controller.entries;
            self.phase ^= u32::from(self.head == 0);
            sink(completion);
        }
        if self.head != before {
            self.controller.transport.write(self.doorbells[1], self.head)?;
        }
        Ok(())
    }

    fn list_pages(&mut self, slot: u16, data: Data) -> Result<[u64; 2], NvmeError> {
        let offset = LISTS + 4096 * u64::from(slot);
        let (queues, _) = self.controller.transport.queue_memory();
        let (pointer, list) = by_pages(data, queues + offset);
        for (page, offset) in list.zip((offset..).step_by(8)) {
            self.controller.transport.put(offset, &[page as u32, (page >> 32) as u32])?;
        }
        Ok(pointer)
    }

    /// Writes the range of a Dataset Management command; its data pointer.
    fn put_range(&mut self, slot: u16, block: u64, blocks: u32) -> Result<[u64; 2], NvmeError> {
        let offset = LISTS + 4096 * u64::from(slot);
        let range = [0, blocks, block as u32, (block >> 32) as u32];
        self.controller.transport.put(offset, &range)?;
        let (queues, _) = self.controller.transport.queue_memory();
        Ok([queues + offset, 0])
    }

    fn put(&mut self, command: &[u32; 16]) -> Result<(), NvmeError> {
        let offset = 64 * u64::from(self.tail);
        match self.location {
            QueueLocation::Host => self.controller.transport.put(SUBMISSION + offset, command)?,
            QueueLocation::Cmb(_) => {
                let mut bytes = [0; 64];
                for (to, word) in bytes.chunks_exact_mut(4).zip(command) {
                    to.copy_from_slice(&word.to_le_bytes());
                }
                self.controller.transport.store(offset as u32, &bytes)?;
            }
        }
        Ok(())
    }
}

/// Bytes of queue memory that a drive needs.
pub const QUEUE_BYTES: u64 = LISTS + 4096 * DEPTH_MOST as u64;
