//! A controller: brought up, asked what it is, and given queues. Everything here waits, with a deadline.

use crate::nvme::command::{PAGES_MOST, words};
use crate::nvme::error::NvmeError;
use crate::nvme::identity::Identity;
use crate::nvme::registers as r;
use crate::queues::Queues;

/// Places in the memory of queues.
pub(super) const ADMIN_SUBMISSION: u64 = 0;
const ADMIN_COMPLETION: u64 = 0x1000;
const IDENTIFY_PAGE: u64 = 0x2000;
pub(super) const COMPLETION: u64 = 0x3000;
pub(super) const SUBMISSION: u64 = 0x4000;
pub(super) const LISTS: u64 = 0x8000;
/// Entries of the administrator's queues.
const ADMIN_ENTRIES: u32 = 16;
/// An administrator's command is answered in so much time.
const ADMIN_LIMIT_MS: u64 = 5_000;
/// How often a controller is looked at while it is waited for.
const LOOK_NS: u64 = 20_000;

/// The memory of a controller that commands and data can lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmb {
    /// The BAR that it is in.
    pub bar: u32,
    /// Where it begins there.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether submission queues may lie in it.
    pub takes_queues: bool,
    /// Whether data of both directions may.
    pub takes_data: bool,
}

/// A controller that is ready for commands.
#[derive(Debug)]
pub struct Controller<T> {
    pub(super) transport: T,
    identity: Identity,
    /// Entries of a queue at most.
    pub(super) entries: u32,
    doorbell_bytes: u32,
    admin_tail: u32,
    admin_head: u32,
    admin_phase: u32,
}

impl<T: Queues> Controller<T> {
    /// Resets a controller, brings it up and asks what it is.
    ///
    /// # Errors
    /// It is none, or does not answer.
    pub fn open(mut transport: T) -> Result<Self, NvmeError> {
        let (low, high) = (transport.read(r::CAP_LOW)?, transport.read(r::CAP_HIGH)?);
        let version = transport.read(r::VERSION)?;
        if version == u32::MAX || version >> 16 == 0 {
            return Err(NvmeError::NotADrive(format!(
                "register VS holds {version:#010x}: this is no NVMe controller, or it is gone"
            )));
        }
        let ready_limit_ms = u64::from(low >> 24).max(1) * 500;
        disable(&mut transport, ready_limit_ms)?;
        let (queues, _) = transport.queue_memory();
        let blank = [0; 1024];
        transport.put(ADMIN_COMPLETION, &blank)?;
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

    /// What it says of itself.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The way to it.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Its memory for commands and data, if it has one; it answers nowhere yet.
    ///
    /// # Errors
    /// The way to it is gone.
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

    /// Has its memory answer to bus addresses from `address` on, which nothing else may have.
    ///
    /// # Errors
    /// The way to it is gone.
    pub fn enable_cmb(&mut self, address: u64) -> Result<(), NvmeError> {
        self.transport.write(r::CMB_CONTROL_HIGH, (address >> 32) as u32)?;
        let on = r::CMB_REGISTERS_ENABLE | r::CMB_MEMORY_ENABLE;
        Ok(self.transport.write(r::CMB_CONTROL_LOW, address as u32 | on)?)
    }

    /// Makes queue pair 1: completions in host memory, told by interrupt 0 or not at all, commands at a bus address.
    pub(super) fn create_queues(&mut self, submission: u64, interrupt: bool) -> Result<(), NvmeError> {
        let (queues, _) = self.transport.queue_memory();
        let blank = [0; 1024];
        self.transport.put(COMPLETION, &blank)?;
        let size = (self.entries - 1) << 16 | 1;
        // Physically contiguous, and with an interrupt or without.
        let completion_flags = u32::from(interrupt) << 1 | 1;
        let completion = [queues + COMPLETION, 0];
        self.admin(
            "create a completion queue",
            r::CREATE_COMPLETION_QUEUE,
            completion,
            [size, completion_flags],
        )?;
        let submission_flags = 1 << 16 | 1;
        self.admin(
            "create a submission queue",
            r::CREATE_SUBMISSION_QUEUE,
            [submission, 0],
            [size, submission_flags],
        )
    }

    pub(super) fn delete_queues(&mut self) -> Result<(), NvmeError> {
        self.admin("delete a submission queue", r::DELETE_SUBMISSION_QUEUE, [0, 0], [1, 0])?;
        self.admin("delete a completion queue", r::DELETE_COMPLETION_QUEUE, [0, 0], [1, 0])
    }

    /// Register of the doorbell of a queue: submission queues have the even ones.
    pub(super) fn doorbell(&self, number: u32) -> u32 {
        r::DOORBELLS + number * self.doorbell_bytes
    }

    /// Has it stop everything, and forget its queues.
    ///
    /// # Errors
    /// It does not stop.
    pub fn disable(&mut self) -> Result<(), NvmeError> {
        disable(&mut self.transport, ADMIN_LIMIT_MS)
    }

    fn identify(&mut self, about: u32, namespace: u32) -> Result<Vec<u8>, NvmeError> {
        let (queues, _) = self.transport.queue_memory();
        let blank = [0; 1024];
        self.transport.put(IDENTIFY_PAGE, &blank)?;
        let pointer = [queues + IDENTIFY_PAGE, 0];
        self.admin_on(namespace, "identify itself", r::IDENTIFY, pointer, [about, 0])?;
        let mut page = Vec::with_capacity(4096);
        for place in (IDENTIFY_PAGE..IDENTIFY_PAGE + 4096).step_by(4) {
            page.extend(self.transport.get(place)?.to_le_bytes());
        }
        Ok(page)
    }

    fn admin(
        &mut self,
        what: &'static str,
        opcode: u32,
        pointer: [u64; 2],
        last: [u32; 2],
    ) -> Result<(), NvmeError> {
        self.admin_on(0, what, opcode, pointer, last)
    }

    /// Carries out one of the administrator's commands.
    fn admin_on(
        &mut self,
        namespace: u32,
        what: &'static str,
        opcode: u32,
        pointer: [u64; 2],
        last: [u32; 2],
    ) -> Result<(), NvmeError> {
        let mut command = words(opcode, 0, false, pointer, [last[0], last[1], 0, 0, 0, 0]);
        command[1] = namespace;
        self.transport.put(ADMIN_SUBMISSION + 64 * u64::from(self.admin_tail), &command)?;
        self.admin_tail = (self.admin_tail + 1) % ADMIN_ENTRIES;
        self.transport.write(self.doorbell(0), self.admin_tail)?;
        let place = ADMIN_COMPLETION + 16 * u64::from(self.admin_head) + 12;
        for _ in 0..ADMIN_LIMIT_MS * 1_000_000 / LOOK_NS {
            let last = self.transport.get(place)?;
            if last >> 16 & 1 == self.admin_phase {
                self.admin_head = (self.admin_head + 1) % ADMIN_ENTRIES;
                self.admin_phase ^= u32::from(self.admin_head == 0);
                self.transport.write(self.doorbell(1), self.admin_head)?;
                return match (last >> 17 & 0x7ff) as u16 {
                    0 => Ok(()),
                    status => Err(NvmeError::Status { what, status }),
                };
            }
            self.transport.relax(LOOK_NS)?;
        }
        Err(NvmeError::Silent { what, limit_ms: ADMIN_LIMIT_MS })
    }
}

fn disable<T: Queues>(transport: &mut T, limit_ms: u64) -> Result<(), NvmeError> {
    let configuration = transport.read(r::CONFIGURATION)?;
    transport.write(r::CONFIGURATION, configuration & !r::ENABLE)?;
    await_ready(transport, 0, limit_ms)
}

fn await_ready<T: Queues>(transport: &mut T, ready: u32, limit_ms: u64) -> Result<(), NvmeError> {
    for _ in 0..limit_ms * 1_000_000 / LOOK_NS {
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
        transport.relax(LOOK_NS)?;
    }
    let what = if ready == 0 { "stop" } else { "become ready" };
    Err(NvmeError::Silent { what, limit_ms })
}
