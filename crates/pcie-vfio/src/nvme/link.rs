//! An open drive, ready for commands.

use super::blocks::Drive as Blocks;
use super::options::{Naming, Noticing, NvmeOptions, QueueIn};
use super::paths;
use super::plan::REACH_BYTES;
use super::scratch::{Scratch, refused, shared, unnamed};
use super::state::BlockState;
use crate::address::Address;
use crate::engine::SILENCE;
use crate::obstacle;
use crate::opened::{Interrupt, Opened};
use crate::options::VfioHostOptions;
use crate::transport::Vfio;
use crate::tree::{Function, Tree};
use pcie_driver::nvme::{
    Cmb, Controller, Data, Drive, Identity, Kind, NvmeError, Pointers, QUEUE_BYTES, QueueLocation,
};
use pcie_host::SharedBuffer;
use pcie_refusal::Refusal;
use std::time::Instant;

/// Most bytes read or written at once before and between tests.
const PIECE_BYTES: u64 = 128 << 10;
const NOT_ZEROS: &str = "deallocated blocks of this drive do not read as zeros, although it reports that they do \
    (DLFEAT): give device.blocks=written";

/// A drive to open, with its options.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) address: Address,
    pub(super) options: NvmeOptions,
    pub(super) host: VfioHostOptions,
}

pub(super) struct Link {
    pub(super) drive: Drive<Vfio>,
    pub(super) interrupt: Option<Interrupt>,
    /// Bus address and bytes of the drive's own memory, if it may hold data.
    pub(super) own_memory: Option<(u64, u64)>,
    pub(super) function: Function,
}

impl Link {
    /// Opens the drive and sets up its queues.
    pub(super) fn open(tree: &Tree, target: &Target, buffer: &SharedBuffer) -> Result<Self, Refusal> {
        let (opened, function) = Opened::open(tree, target.address)?;
        let interrupt = match target.options.completion {
            Noticing::Interrupt => Some(opened.interrupt()?),
            Noticing::Polled => None,
        };
        let transport = Vfio::new(opened, 0, QUEUE_BYTES, buffer, target.host.iommu_page_bytes)?;
        let refused = |error: NvmeError| obstacle::device(target.address, error);
        let mut controller = Controller::open(transport).map_err(refused)?;
        let cmb = controller.cmb().map_err(refused)?;
        let own_memory = cmb.map(|cmb| enable(&mut controller, target.address, cmb)).transpose()?;
        let location = match (target.options.queue, cmb, own_memory) {
            (QueueIn::Host, _, _) => QueueLocation::Host,
            (QueueIn::Cmb, Some(cmb), Some(address)) if cmb.takes_queues => QueueLocation::Cmb(address),
            (QueueIn::Cmb, _, _) => {
                let refusal =
                    Refusal::of("device.queue", "cmb", "give host").about(target.address.to_string());
                return Err(refusal.problem("this drive has no controller memory buffer for queues"));
            }
        };
        let pointers = match target.options.pointers {
            Naming::Prp => Pointers::Prp,
            Naming::Sgl => Pointers::Sgl,
        };
        let drive = Drive::open(controller, location, pointers, interrupt.is_some()).map_err(refused)?;
        let own_memory =
            cmb.zip(own_memory).filter(|(cmb, _)| cmb.takes_data).map(|(cmb, address)| (address, cmb.bytes));
        Ok(Self { drive, interrupt, own_memory, function })
    }

    pub(super) fn identity(&self) -> &Identity {
        self.drive.identity()
    }

    /// The scratch range, once it is known to be unused and the drive's serial number to match.
    pub(super) fn scratch(
        &mut self,
        tree: &Tree,
        target: &Target,
        buffer: &SharedBuffer,
    ) -> Result<Option<Scratch>, Refusal> {
        let Some(text) = &target.options.scratch else { return Ok(None) };
        let identity = self.identity().clone();
        if let Some(path) = paths::other(tree, &self.function, &identity.serial) {
            return Err(Refusal::new(shared(text, &path)));
        }
        let (block_bytes, blocks) = (identity.block_bytes, identity.blocks);
        let scratch = Scratch::parse(text, block_bytes, blocks).map_err(Refusal::new)?;
        let mut read = |first, count| self.read(first, count, buffer);
        let found = scratch.holds(&mut Blocks { block_bytes, blocks, read: &mut read });
        let device = |error: NvmeError| obstacle::device(target.address, error);
        if let Some(found) = found.map_err(device)? {
            return Err(Refusal::new(refused(text, &found)));
        }
        match target.options.scratch_serial.as_deref() {
            Some(named) if named == identity.serial => Ok(Some(scratch)),
            named => {
                let drive = (identity.model.as_str(), identity.serial.as_str());
                Err(Refusal::new(unnamed(text, named, drive)))
            }
        }
    }

    /// Brings the scratch blocks that tests use into a state, through the start of the buffer.
    pub(super) fn prepare(
        &mut self,
        state: BlockState,
        scratch: &Scratch,
        buffer: &SharedBuffer,
    ) -> Result<(), NvmeError> {
        let used_bytes = REACH_BYTES.max(self.identity().transfer_bytes_most);
        let (first, blocks) = (scratch.first, scratch.blocks.min(used_bytes / self.identity().block_bytes));
        match state {
            BlockState::Found => Ok(()),
            BlockState::Written => {
                let mut write = |link: &mut Self, block, bytes| {
                    buffer.borrow_mut().fill(0, bytes, 0);
                    link.transfer(Kind::Write, block, bytes)
                };
                self.each_piece(first, blocks, buffer, &mut write)
            }
            BlockState::Deallocated => {
                self.transfer(Kind::Deallocate, first, blocks * self.identity().block_bytes)?;
                match self.read(first, blocks, buffer)?.iter().any(|byte| *byte != 0) {
                    true => Err(NvmeError::Unsupported(NOT_ZEROS.into())),
                    false => Ok(()),
                }
            }
        }
    }

    /// Reads blocks through the start of the buffer.
    fn read(&mut self, first: u64, blocks: u64, buffer: &SharedBuffer) -> Result<Vec<u8>, NvmeError> {
        let mut held = Vec::new();
        let mut read = |link: &mut Self, block, bytes| {
            link.transfer(Kind::Read, block, bytes)?;
            let copy = buffer.borrow().copied(0, bytes as usize);
            held.extend(copy.unwrap_or_default());
            Ok(())
        };
        self.each_piece(first, blocks, buffer, &mut read)?;
        Ok(held)
    }

    /// Calls `transfer` with the first block and the bytes of each piece that one command may transfer.
    fn each_piece(
        &mut self,
        first: u64,
        blocks: u64,
        buffer: &SharedBuffer,
        transfer: &mut dyn FnMut(&mut Self, u64, u64) -> Result<(), NvmeError>,
    ) -> Result<(), NvmeError> {
        let (block_bytes, most) = (self.identity().block_bytes, self.identity().transfer_bytes_most);
        let step = (most.min(PIECE_BYTES).min(buffer.borrow().length()) / block_bytes).max(1);
        for block in (first..first + blocks).step_by(step as usize) {
            transfer(self, block, step.min(first + blocks - block) * block_bytes)?;
        }
        Ok(())
    }

    /// Carries out a command on blocks, with its data at the start of the buffer.
    fn transfer(&mut self, kind: Kind, block: u64, bytes: u64) -> Result<(), NvmeError> {
        let address = self.drive.transport_mut().data_address();
        self.drive.submit(kind, block, Some(Data { address, bytes }))?;
        let started = Instant::now();
        let mut status = None;
        while status.is_none() {
            self.drive.completions(&mut |completion| status = Some(completion.status))?;
            if started.elapsed() > SILENCE {
                return Err(NvmeError::Silent { action: kind.name(), limit_ms: SILENCE.as_millis() as u64 });
            }
        }
        match status {
            Some(status) if status != 0 => Err(NvmeError::Status { action: kind.name(), status }),
            _ => Ok(()),
        }
    }
}

/// Gives the drive's own memory an unused bus address, and maps it for commands.
fn enable(controller: &mut Controller<Vfio>, address: Address, cmb: Cmb) -> Result<u64, Refusal> {
    let refused = |error: NvmeError| obstacle::device(address, error);
    let transport = controller.transport_mut();
    let bus_address = transport.device().space().reserve(cmb.bytes, cmb.bytes.next_power_of_two())?;
    let window = transport.device().bar(cmb.bar, cmb.offset, Some(cmb.bytes))?;
    transport.set_messages(window);
    controller.enable_cmb(bus_address).map_err(refused)?;
    Ok(bus_address)
}
