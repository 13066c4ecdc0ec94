//! A function opened through VFIO: its BARs, configuration space, interrupts and reset. Closing resets it.

use crate::address::Address;
use crate::kernel::{self, RegionInfo};
use crate::obstacle;
use crate::space::Space;
use crate::tree::{Function, Tree, device_control};
use crate::window::Window;
use pcie_refusal::Refusal;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::time::Duration;
use vfio_bindings::bindings::vfio;

/// Command register: memory decoding and bus mastering.
const COMMAND: u64 = 4;
const MEMORY: u16 = 2;
const BUS_MASTER: u16 = 4;

/// Bytes of configuration space without the extended capabilities.
const CONFIG_BYTES: usize = 256;
/// Extended tag field enable, in the device control register.
const EXTENDED_TAGS: u32 = 1 << 8;

/// Tags of a requester with this configuration space (PCI Express base specification, section 7.5.3.4).
fn tags_of(space: &[u8]) -> u32 {
    let extended = device_control(space).is_some_and(|control| control & EXTENDED_TAGS != 0);
    if extended { 256 } else { 32 }
}

/// A device that this process has open.
#[derive(Debug)]
pub struct Opened {
    address: Address,
    file: File,
    space: Rc<Space>,
    is_open: bool,
}

impl Opened {
    /// Opens a function bound to vfio-pci, resets it, and lets it reach the memory mapped for it.
    pub fn open(tree: &Tree, address: Address) -> Result<(Self, Function), Refusal> {
        let function = tree.function(address)?;
        crate::listing::ready_for_vfio(tree, &function)?;
        let space = Space::open(tree, &function)?;
        let file = space.device(address)?;
        let opened = Self { address, file, space, is_open: true };
        opened.reset()?;
        opened.set_command(MEMORY | BUS_MASTER, MEMORY | BUS_MASTER)?;
        Ok((opened, function))
    }

    pub(crate) fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The address space of the device.
    #[must_use]
    pub fn space(&self) -> &Rc<Space> {
        &self.space
    }

    /// Resets the device, which ends its work and clears its state; fails if the kernel cannot.
    pub fn reset(&self) -> Result<(), Refusal> {
        kernel::reset(&self.file)
    }

    /// Reads the command register; fails if the kernel refuses.
    pub fn command(&self) -> Result<u16, Refusal> {
        let mut bytes = [0; 2];
        let offset = self.config()?.offset + COMMAND;
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| self.config_refused(&error))?;
        Ok(u16::from_le_bytes(bytes))
    }

    /// Sets the bits of `mask` in the command register as they are in `bits`.
    fn set_command(&self, mask: u16, bits: u16) -> Result<(), Refusal> {
        let value = (self.command()? & !mask) | bits;
        let offset = self.config()?.offset + COMMAND;
        self.file.write_all_at(&value.to_le_bytes(), offset).map_err(|error| self.config_refused(&error))
    }

    /// Tags it may use: 256 with extended tags, 32 without. VFIO shows the device's own bit.
    pub fn link_tags(&self) -> Result<u32, Refusal> {
        let mut space = [0; CONFIG_BYTES];
        let offset = self.config()?.offset;
        self.file.read_exact_at(&mut space, offset).map_err(|error| self.config_refused(&error))?;
        Ok(tags_of(&space))
    }

    /// Allows or forbids it to reach memory; fails if the kernel refuses.
    pub fn set_bus_master(&self, on: bool) -> Result<(), Refusal> {
        self.set_command(BUS_MASTER, if on { BUS_MASTER } else { 0 })
    }

    fn config(&self) -> Result<RegionInfo, Refusal> {
        kernel::region(&self.file, vfio::VFIO_PCI_CONFIG_REGION_INDEX)
    }

    fn config_refused(&self, error: &std::io::Error) -> Refusal {
        obstacle::kernel(format!("{}: its configuration space", self.address), error)
    }

    /// Maps `bytes` bytes of a BAR from `offset`, or the rest; fails if it lacks them.
    pub fn bar(&self, number: u32, offset: u64, bytes: Option<u64>) -> Result<Window, Refusal> {
        let lacks = |reason: String| obstacle::device(self.address, reason);
        let info = kernel::region(&self.file, vfio::VFIO_PCI_BAR0_REGION_INDEX + number)?;
        let mappable = info.flags & vfio::VFIO_REGION_INFO_FLAG_MMAP != 0;
        if !mappable || info.bytes == 0 {
            return Err(lacks(format!("BAR{number}: is missing or cannot be mapped")));
        }
        let bytes = bytes.unwrap_or(info.bytes.saturating_sub(offset));
        let end = offset.checked_add(bytes).filter(|end| *end <= info.bytes && bytes > 0);
        let length = end.and_then(|_| usize::try_from(bytes).ok());
        let length = length.ok_or_else(|| {
            lacks(format!("BAR{number}: has {} bytes: {bytes} bytes at {offset} are outside it", info.bytes))
        })?;
        Window::map(&self.file, info.offset + offset, length)
            .map_err(|error| lacks(format!("BAR{number}: mapping it: {error}")))
    }

    /// Counts its first interrupt, MSI-X or MSI, with an event; fails if it has none.
    pub fn interrupt(&self) -> Result<Interrupt, Refusal> {
        let event = kernel::event()?;
        for kind in [vfio::VFIO_PCI_MSIX_IRQ_INDEX, vfio::VFIO_PCI_MSI_IRQ_INDEX] {
            if kernel::interrupts(&self.file, kind)? > 0 {
                kernel::signal(&self.file, kind, &event)?;
                return Ok(Interrupt { event });
            }
        }
        Err(obstacle::device(self.address, "has no MSI-X or MSI interrupt"))
    }

    /// Forbids it to reach memory and resets it; fails if the kernel refuses.
    pub fn close(&mut self) -> Result<(), Refusal> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        self.set_bus_master(false)?;
        self.reset()?;
        // A reset restores the earlier bits, so bus mastering is switched off again.
        self.set_bus_master(false)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // An error is ignored: the kernel does the same when the file is closed.
        let _ = self.close();
    }
}

/// An interrupt of a device.
#[derive(Debug)]
pub struct Interrupt {
    event: File,
}

impl Interrupt {
    /// Waits for it, at most `limit`; how often it came since the last call.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> u64 {
        let mut count = [0; 8];
        let came = kernel::wait_readable(&self.event, limit);
        if came && (&self.event).read_exact(&mut count).is_ok() { u64::from_ne_bytes(count) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_tags_need_their_enable_bit() {
        let mut space = vec![0; CONFIG_BYTES];
        space[0x34] = 0x70;
        space[0x70..0x72].copy_from_slice(&[0x10, 0x00]);
        for (control, tags) in [(0x2920u16, 256), (0x2820, 32)] {
            space[0x78..0x7a].copy_from_slice(&control.to_le_bytes());
            assert_eq!(tags_of(&space), tags);
        }
        // Without a PCI Express capability: 32.
        assert_eq!(tags_of(&space[..64]), 32);
    }
}
