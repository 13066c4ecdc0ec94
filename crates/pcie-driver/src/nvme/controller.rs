//! A controller: reset, identified, and given queues. Everything here waits, with a deadline.

use crate::nvme::command::{PAGES_MOST, words};
use crate::nvme::error::NvmeError;
use crate::nvme::identity::Identity;
use crate::nvme::registers as r;
use crate::queues::Queues;

/// Offsets in the queue memory.
pub(super) const ADMIN_SUBMISSION: u64 = 0;
const ADMIN_COMPLETION: u64 = 0x1000;
const IDENTIFY_PAGE: u64 = 0x2000;
pub(super) const COMPLETION: u64 = 0x3000;
pub(super) const SUBMISSION: u64 = 0x4000;
pub(super) const LISTS: u64 = 0x8000;
/// Entries of the admin queues.
const ADMIN_ENTRIES: u32 = 16;
/// Time limit of an admin command.
const ADMIN_LIMIT_MS: u64 = 5_000;
/// Time between two polls.
const POLL_NS: u64 = 20_000;

/// Controller memory buffer (CMB): memory of the controller for commands and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmb {
    /// Its BAR.
    pub bar: u32,
    /// Its offset in the BAR.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// Whether it takes submission queues.
    pub takes_queues: bool,
    /// Whether it takes data of both directions.
    pub takes_data: bool,
}

/// A controller that is ready for commands.
#[derive(Debug)]
pub struct Controller<T> {
    pub(super) transport: T,
    identity: Identity,
    /// Most entries of a queue.
    pub(super) entries: u32,
    doorbell_bytes: u32,
    admin_tail: u32,
    admin_head: u32,
    admin_phase: u32,
}

impl<T: Queues> Controller<T> {
    /// Resets a controller, enables it and identifies it.
    pub fn open(mut transport: T) -> Result<Self, NvmeError> {
        let (low, high) = (transport.read(r::CAP_LOW)?, transport.read(r::CAP_HIGH)?);
        let version = transport.read(r::VERSION)?;
        if version == u32::MAX || version >> 16 == 0 {
            return Err(NvmeError::NotADrive(format!(
                "register VS holds {version:#010x}: not an NVMe controller, or it is gone"
            )));
        }
        let ready_limit_ms = u64::from(low >> 24).max(1) * 500;
        disable(&mut transport, ready_limit_ms)?;
        let (queues, _) = transport.queue_memory();
        transport.put(ADMIN_COMPLETION, &[0; 1024])?;
        let (submission, completion) = (queues + ADMIN_SUBMISSION, queues + ADMIN_COMPLETION);
        transport.write_all(&[
            (r::ADMIN_QUEUE_ATTRIBUTES, (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1)),
            (r::ADMIN_SUBMISSION_LOW, submission as u32),
            (r::ADMIN_SUBMISSION_LOW + 4, (submission >> 32) as u32),
            (r::ADMIN_COMPLETION_LOW, completion as u32),
            (r::ADMIN_COMPLETION_LOW + 4, (completion >> 32) as u32),
            (r::CONFIGURATION, r::ENABLED),
        ])?;
        await_ready(&mut transport, r::READY, ready_limit_ms)?;
        let mut controller = Self {
            transport,
            identity: Identity::default(),
            entries: ((low & 0xffff) + 1).min(256),
            doorbell_bytes: 4 << (high & 0xf),
            admin_tail: 0,
            admin_head: 0,
            admin_phase: 1,
        };
        let about_controller = controller.identify(1, 0)?;
        let about_namespace = controller.identify(0, 1)?;
        controller.identity = Identity::read(&about_controller, &about_namespace, (PAGES_MOST - 1) * 4096)?;
        Ok(controller)
    }

    /// Its answers to Identify.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The transport.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Its controller memory buffer, if it has one. It has no bus address before [`Controller::enable_cmb`].
    pub fn cmb(&mut self) -> Result<Option<Cmb>, NvmeError> {
        if self.transport.read(r::CAP_HIGH)? & r::CAP_HIGH_CMBS == 0 {
            return Ok(None);
        }
        self.transport.write(r::CMB_CONTROL_LOW, r::CMB_REGISTERS_ENABLE)?;
        let (location, size) = (self.transport.read(r::CMB_LOCATION)?, self.transport.read(r::CMB_SIZE)?);
        let unit = 4096u64 << (4 * (size >> 8 & 0xf).min(6));
        let data = r::CMB_SIZE_READ_DATA | r::CMB_SIZE_WRITE_DATA;
        Ok((size >> 12 != 0).then_some(Cmb {
            bar: location & 7,
            offset: u64::from(location >> 12) * unit,
            bytes: u64::from(size >> 12) * unit,
            takes_queues: size & r::CMB_SIZE_SUBMISSION_QUEUES != 0,
            takes_data: size & data == data,
        }))
    }

    /// Maps the controller memory buffer at a bus address, which must be free.
    pub fn enable_cmb(&mut self, address: u64) -> Result<(), NvmeError> {
        self.transport.write(r::CMB_CONTROL_HIGH, (address >> 32) as u32)?;
        let on = r::CMB_REGISTERS_ENABLE | r::CMB_MEMORY_ENABLE;
        Ok(self.transport.write(r::CMB_CONTROL_LOW, address as u32 | on)?)
    }

    /// Creates queue pair 1: completions in host memory, interrupt 0 or none; commands at bus address
    /// `submission`.
    pub(super) fn create_queues(&mut self, submission: u64, interrupt: bool) -> Result<(), NvmeError> {
        let (queues, _) = self.transport.queue_memory();
        self.transport.put(COMPLETION, &[0; 1024])?;
        let size = (self.entries - 1) << 16 | 1;
        // Bit 0: physically contiguous. Bit 1: interrupts. Bits 16 on: the completion queue.
        let last = [size, u32::from(interrupt) << 1 | 1];
        let completion = [queues + COMPLETION, 0];
        self.admin("create a completion queue", r::CREATE_COMPLETION_QUEUE, completion, last)?;
        let last = [size, 1 << 16 | 1];
        self.admin("create a submission queue", r::CREATE_SUBMISSION_QUEUE, [submission, 0], last)
    }

    pub(super) fn delete_queues(&mut self) -> Result<(), NvmeError> {
        self.admin("delete a submission queue", r::DELETE_SUBMISSION_QUEUE, [0, 0], [1, 0])?;
        self.admin("delete a completion queue", r::DELETE_COMPLETION_QUEUE, [0, 0], [1, 0])
    }

    /// Doorbell register by number: those of submission queues are even.
    pub(super) fn doorbell(&self, number: u32) -> u32 {
        r::DOORBELLS + number * self.doorbell_bytes
    }

    /// Stops the controller, which drops its queues.
    pub fn disable(&mut self) -> Result<(), NvmeError> {
        disable(&mut self.transport, ADMIN_LIMIT_MS)
    }

    fn identify(&mut self, about: u32, namespace: u32) -> Result<Vec<u8>, NvmeError> {
        let (queues, _) = self.transport.queue_memory();
        self.transport.put(IDENTIFY_PAGE, &[0; 1024])?;
        let pointer = [queues + IDENTIFY_PAGE, 0];
        self.admin_on(namespace, "identify itself", r::IDENTIFY, pointer, [about, 0])?;
        let mut page = Vec::with_capacity(4096);
        for offset in (IDENTIFY_PAGE..IDENTIFY_PAGE + 4096).step_by(4) {
            page.extend(self.transport.get(offset)?.to_le_bytes());
        }
        Ok(page)
    }

    fn admin(
        &mut self,
        action: &'static str,
        opcode: u32,
        pointer: [u64; 2],
        last: [u32; 2],
    ) -> Result<(), NvmeError> {
        self.admin_on(0, action, opcode, pointer, last)
    }

    /// Carries out an admin command; `action` names it in errors.
    fn admin_on(
        &mut self,
        namespace: u32,
        action: &'static str,
        opcode: u32,
        pointer: [u64; 2],
        last: [u32; 2],
    ) -> Result<(), NvmeError> {
        let mut command = words(opcode, 0, false, pointer, [last[0], last[1], 0, 0, 0, 0]);
        command[1] = namespace;
        self.transport.put(ADMIN_SUBMISSION + 64 * u64::from(self.admin_tail), &command)?;
        self.admin_tail = (self.admin_tail + 1) % ADMIN_ENTRIES;
        self.transport.write(self.doorbell(0), self.admin_tail)?;
        let entry = ADMIN_COMPLETION + 16 * u64::from(self.admin_head) + 12;
        for _ in 0..ADMIN_LIMIT_MS * 1_000_000 / POLL_NS {
            let last = self.transport.get(entry)?;
            if last >> 16 & 1 == self.admin_phase {
                self.admin_head = (self.admin_head + 1) % ADMIN_ENTRIES;
                self.admin_phase ^= u32::from(self.admin_head == 0);
                self.transport.write(self.doorbell(1), self.admin_head)?;
                return match (last >> 17 & 0x7ff) as u16 {
                    0 => Ok(()),
                    status => Err(NvmeError::Status { action, status }),
                };
            }
            self.transport.relax(POLL_NS)?;
        }
        Err(NvmeError::Silent { action, limit_ms: ADMIN_LIMIT_MS })
    }
}

fn disable<T: Queues>(transport: &mut T, limit_ms: u64) -> Result<(), NvmeError> {
    let configuration = transport.read(r::CONFIGURATION)?;
    transport.write(r::CONFIGURATION, configuration & !r::ENABLE)?;
    await_ready(transport, 0, limit_ms)
}

fn await_ready<T: Queues>(transport: &mut T, ready: u32, limit_ms: u64) -> Result<(), NvmeError> {
    for _ in 0..limit_ms * 1_000_000 / POLL_NS {
        let status = transport.read(r::STATUS)?;
        if status == u32::MAX {
            return Err(NvmeError::NotADrive("its registers read as ones: the drive is gone".into()));
        }
        if status & r::READY == ready {
            return Ok(());
        }
        if status & r::FATAL != 0 && ready == r::READY {
            return Err(NvmeError::Fatal);
        }
        transport.relax(POLL_NS)?;
    }
    let action = if ready == 0 { "stop" } else { "become ready" };
    Err(NvmeError::Silent { action, limit_ms })
}
