//! A function that was opened through VFIO: its BARs, configuration space, interrupts and reset. Closing it leaves it reset
//! and unable to reach memory.

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

/// Bytes of configuration space in which all capabilities but the extended ones stand.
const CONFIG_BYTES: usize = 256;
/// Extended tag field enable, in the device control register.
const EXTENDED_TAGS: u32 = 1 << 8;

/// Tags of a requester with this configuration space (PCI Express base specification, section 7.5.3.4).
fn tags_of(space: &[u8]) -> u32 {
    let extended = device_control(space).is_some_and(|control| control & EXTENDED_TAGS != 0);
    if extended { 256 } else { 32 }
}

/// A device of this process.
#[derive(Debug)]
pub struct Opened {
    address: Address,
    file: File,
    space: Rc<Space>,
    is_open: bool,
}

impl Opened {
    /// Opens a function that is bound to vfio-pci, resets it, and lets it reach what is mapped for it.
    ///
    /// # Errors
    /// Something stands in the way; says what mends it.
    pub fn open(tree: &Tree, address: Address) -> Result<(Self, Function), Refusal> {
        let function = tree.function(address)?;
        crate::listing::ready_for_vfio(tree, &function)?;
        let space = Space::open(tree, &function)?;
        let file = kernel::device(space.group(), &address.to_string())?;
        let opened = Self { address, file, space, is_open: true };
        opened.reset()?;
        opened.set_command(MEMORY | BUS_MASTER, MEMORY | BUS_MASTER)?;
        Ok((opened, function))
    }

    /// The addresses that it may reach.
    #[must_use]
    pub fn space(&self) -> &Rc<Space> {
        &self.space
    }

    /// Resets it: it forgets everything, and ends whatever it does.
    ///
    /// # Errors
    /// It cannot be reset.
    pub fn reset(&self) -> Result<(), Refusal> {
        kernel::reset(&self.file)
    }

    /// Reads the command register.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn command(&self) -> Result<u16, Refusal> {
        let mut bytes = [0; 2];
        let place = self.config()?.offset + COMMAND;
        self.file.read_exact_at(&mut bytes, place).map_err(|error| self.config_refused(&error))?;
        Ok(u16::from_le_bytes(bytes))
    }

    /// Sets the bits of `mask` in the command register as they are in `bits`.
    fn set_command(&self, mask: u16, bits: u16) -> Result<(), Refusal> {
        let value = (self.command()? & !mask) | bits;
        let place = self.config()?.offset + COMMAND;
        self.file.write_all_at(&value.to_le_bytes(), place).map_err(|error| self.config_refused(&error))
    }

    /// Tags that it may use: 256 with extended tags, 32 without. The kernel passes the bit through to the device.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn link_tags(&self) -> Result<u32, Refusal> {
        let mut space = [0; CONFIG_BYTES];
        let place = self.config()?.offset;
        self.file.read_exact_at(&mut space, place).map_err(|error| self.config_refused(&error))?;
        Ok(tags_of(&space))
    }

    /// Whether it may reach memory.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_bus_master(&self, on: bool) -> Result<(), Refusal> {
        self.set_command(BUS_MASTER, if on { BUS_MASTER } else { 0 })
    }

    fn config(&self) -> Result<RegionInfo, Refusal> {
        kernel::region(&self.file, vfio::VFIO_PCI_CONFIG_REGION_INDEX)
    }

    fn config_refused(&self, error: &std::io::Error) -> Refusal {
        obstacle::kernel(format!("{}: its configuration space", self.address), error)
    }

    /// Maps a BAR, from an offset on as far as `bytes` bytes reach, or all of it.
    ///
    /// # Errors
    /// It is not there, or cannot be mapped.
    pub fn bar(&self, number: u32, offset: u64, bytes: Option<u64>) -> Result<Window, Refusal> {
        let lacks = |reason: String| obstacle::device(self.address, reason);
        let info = kernel::region(&self.file, vfio::VFIO_PCI_BAR0_REGION_INDEX + number)?;
        let mappable = info.flags & vfio::VFIO_REGION_INFO_FLAG_MMAP != 0;
        if !mappable || info.bytes == 0 {
            return Err(lacks(format!("BAR{number}: is not there, or cannot be mapped")));
        }
        let bytes = bytes.unwrap_or(info.bytes.saturating_sub(offset));
        let end = offset.checked_add(bytes).filter(|end| *end <= info.bytes && bytes > 0);
        let length = end.and_then(|_| usize::try_from(bytes).ok());
        let length = length.ok_or_else(|| {
            lacks(format!("BAR{number}: has {} bytes: {bytes} from {offset} on are not in it", info.bytes))
        })?;
        Window::map(&self.file, info.offset + offset, length)
            .map_err(|error| lacks(format!("BAR{number}: mapping it: {error}")))
    }

    /// Has its first interrupt, MSI-X or MSI, counted by an event.
    ///
    /// # Errors
    /// It has none.
    pub fn interrupt(&self) -> Result<Interrupt, Refusal> {
        let event = kernel::event()?;
        for kind in [vfio::VFIO_PCI_MSIX_IRQ_INDEX, vfio::VFIO_PCI_MSI_IRQ_INDEX] {
            if kernel::interrupts(&self.file, kind)? > 0 {
                kernel::signal(&self.file, kind, &event)?;
                return Ok(Interrupt { event });
            }
        }
        let reason = "has no interrupts of the kind MSI-X or MSI".to_owned();
        Err(obstacle::device(self.address, reason))
    }

    /// Takes its reach away and resets it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn close(&mut self) -> Result<(), Refusal> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        self.set_bus_master(false)?;
        self.reset()?;
        // A reset gives back what was there before it: off is what is left behind.
        self.set_bus_master(false)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Nobody is left to be told; the kernel does the same when the file is closed.
        let _ = self.close();
    }
}

/// An interrupt of a device.
#[derive(Debug)]
pub struct Interrupt {
    event: File,
}

impl Interrupt {
    /// Waits for it, so long at most; how often it came since the last time.
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
    fn extended_tags_are_used_where_the_host_has_enabled_them() {
        let mut space = vec![0; CONFIG_BYTES];
        space[0x34] = 0x70;
        space[0x70..0x72].copy_from_slice(&[0x10, 0x00]);
        for (control, tags) in [(0x2920u16, 256), (0x2820, 32)] {
            space[0x78..0x7a].copy_from_slice(&control.to_le_bytes());
            assert_eq!(tags_of(&space), tags);
        }
        // Without a PCI Express capability every requester has 32.
        assert_eq!(tags_of(&space[..64]), 32);
    }
}
