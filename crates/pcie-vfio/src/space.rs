//! The address space of a device, and the memory mapped into it: its IOMMU group in a container of its own, or, on a kernel
//! without containers, the device by its own node in an address space of iommufd.

use crate::address::Address;
use crate::iommufd::Iommufd;
use crate::iova::choose;
use crate::kernel::{self, IommuInfo};
use crate::obstacle;
use crate::opened::Opened;
use crate::tree::{Function, Tree};
use crate::window::Window;
use pcie_host::{HostError, PageSize, SharedBuffer, locked_memory_limit};
use pcie_refusal::Refusal;
use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use vfio_bindings::bindings::vfio;

/// Longest wait for a busy group: that of a killed process is free again after about a second.
const BUSY_LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// The kernel's side of an address space.
#[derive(Debug)]
enum Way {
    /// A container with one group in it.
    Container { container: File, group: File },
    /// An address space of iommufd with one device in it.
    Iommufd { space: Iommufd, device: File },
}

/// The address space of one device.
#[derive(Debug)]
pub struct Space {
    way: Way,
    info: IommuInfo,
    /// First address and bytes of each mapping.
    taken: RefCell<Vec<(u64, u64)>>,
    /// Bytes to be mapped in all, for the message on the limit of locked memory.
    planned: Cell<u64>,
}

impl Space {
    /// Opens the group of a function, or its own node on a kernel without containers; fails if it is missing, not
    /// permitted, or stays busy for 10 s.
    pub fn open(tree: &Tree, function: &Function) -> Result<Rc<Self>, Refusal> {
        let number = tree.check_group(function)?;
        if !tree.path("dev/vfio/vfio").exists()
            && let Some(node) = tree.device_node(function)
        {
            return Self::by_node(tree, function, &node);
        }
        let path = tree.path(&format!("dev/vfio/{number}"));
        let group = open_group(&path, function)?;
        if !kernel::is_viable(&group)? {
            return Err(obstacle::shared_group(function.address, number, "others"));
        }
        let container = tree.path("dev/vfio/vfio");
        let opened = OpenOptions::new().read(true).write(true).open(&container);
        let container = opened.map_err(|error| obstacle::kernel(container.display().to_string(), error))?;
        kernel::check_container(&container)?;
        kernel::set_container(&group, &container)?;
        kernel::set_iommu(&container)?;
        let info = kernel::iommu(&container)?;
        Ok(Self::of(Way::Container { container, group }, info))
    }

    /// Puts a device, opened by its own node, into an address space of iommufd.
    fn by_node(tree: &Tree, function: &Function, node: &Path) -> Result<Rc<Self>, Refusal> {
        let path = tree.path("dev/iommu");
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let iommu = opened.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => obstacle::no_iommufd(function.address, &path),
            _ => obstacle::kernel(path.display().to_string(), error),
        })?;
        let device = open_group(node, function)?;
        let space = Iommufd::open(iommu)?;
        space.attach(&device)?;
        let info = space.info()?;
        Ok(Self::of(Way::Iommufd { space, device }, info))
    }

    fn of(way: Way, info: IommuInfo) -> Rc<Self> {
        Rc::new(Self { way, info, taken: RefCell::default(), planned: Cell::default() })
    }

    /// The file of the device.
    pub(crate) fn device(&self, address: Address) -> Result<File, Refusal> {
        match &self.way {
            Way::Container { group, .. } => kernel::device(group, &address.to_string()),
            Way::Iommufd { device, .. } => {
                device.try_clone().map_err(|error| obstacle::kernel(address.to_string(), error))
            }
        }
    }

    /// Maps memory of this process at a bus address.
    ///
    /// # Safety
    /// As for [`kernel::map`].
    unsafe fn map(&self, start: usize, iova: u64, bytes: u64) -> io::Result<()> {
        match &self.way {
            // SAFETY: the caller keeps the memory until it is unmapped.
            Way::Container { container, .. } => unsafe { kernel::map(container, start, iova, bytes) },
            // SAFETY: as above.
            Way::Iommufd { space, .. } => unsafe { space.map(start, iova, bytes) },
        }
    }

    fn unmap(&self, iova: u64, bytes: u64) -> Result<(), Refusal> {
        match &self.way {
            Way::Container { container, .. } => kernel::unmap(container, iova, bytes)?,
            Way::Iommufd { space, .. } => space.unmap(iova, bytes)?,
        }
        self.taken.borrow_mut().retain(|(start, _)| *start != iova);
        Ok(())
    }

    pub(crate) fn plan(&self, bytes: u64) {
        self.planned.set(bytes);
    }

    pub(crate) fn reserve(&self, bytes: u64, alignment: u64) -> Result<u64, Refusal> {
        let iova = choose(&self.info.ranges, &self.taken.borrow(), bytes, alignment)?;
        self.taken.borrow_mut().push((iova, bytes));
        Ok(iova)
    }

    fn check_pages(&self, page: PageSize, bytes: u64) -> Result<(), Refusal> {
        let asked = page.bytes();
        if self.info.page_sizes & asked == 0 {
            let sizes = [PageSize::FourKib, PageSize::TwoMib, PageSize::OneGib].map(PageSize::bytes);
            let known = sizes.iter().filter(|size| self.info.page_sizes & **size != 0).map(u64::to_string);
            let known = known.collect::<Vec<_>>().join(" or ");
            let refusal = obstacle::page_size(asked, "give one of them");
            return Err(refusal.problem(format!("this IOMMU has pages of {known} bytes")));
        }
        let needed = bytes / asked;
        match self.info.mappings {
            Some(available) if available < needed => {
                Err(obstacle::too_many_mappings(asked, needed, available))
            }
            _ => Ok(()),
        }
    }
}

/// Memory that a device can reach. Dropping unmaps it from the device before the memory is freed.
#[derive(Debug)]
pub struct Mapped {
    space: Rc<Space>,
    buffer: SharedBuffer,
    iova: u64,
    bytes: u64,
    is_mapped: bool,
}

impl Mapped {
    /// Maps a buffer page by page; `page` is the IOMMU's page size, which sets the reach of its IO-TLB.
    ///
    /// # Errors
    /// The limit on locked memory or on mappings is too small, or the IOMMU lacks the page size.
    pub fn new(space: &Rc<Space>, buffer: &SharedBuffer, page: PageSize) -> Result<Self, Refusal> {
        let (start, bytes) = (buffer.borrow().address(), buffer.borrow().length());
        space.check_pages(page, bytes)?;
        let iova = space.reserve(bytes, page.bytes())?;
        // From here on the buffer gives no slice.
        buffer.borrow_mut().lend();
        let mut mapped =
            Self { space: Rc::clone(space), buffer: Rc::clone(buffer), iova, bytes: 0, is_mapped: true };
        for offset in (0..bytes).step_by(page.bytes() as usize) {
            // SAFETY: `Mapped` keeps the buffer while mapped; a lent buffer has volatile accesses only.
            let result = unsafe { space.map(start + offset as usize, iova + offset, page.bytes()) };
            result.map_err(|error| refused(&error, bytes, space.planned.get(), page.bytes()))?;
            mapped.bytes = offset + page.bytes();
        }
        Ok(mapped)
    }

    /// Bus address of the first byte.
    #[must_use]
    pub fn iova(&self) -> u64 {
        self.iova
    }

    /// The memory.
    #[must_use]
    pub fn buffer(&self) -> &SharedBuffer {
        &self.buffer
    }

    /// Unmaps all of it from the device; fails if the kernel refuses.
    pub fn unmap(&mut self) -> Result<(), Refusal> {
        if !std::mem::take(&mut self.is_mapped) {
            return Ok(());
        }
        if self.bytes > 0 {
            // If the kernel refuses, the buffer stays lent.
            self.space.unmap(self.iova, self.bytes)?;
        }
        if let Ok(mut buffer) = self.buffer.try_borrow_mut() {
            buffer.take_back();
        }
        Ok(())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // An error is ignored: the kernel unmaps everything when the container is closed.
        let _ = self.unmap();
    }
}

/// A part of a BAR of another device that a device can reach: peer-to-peer. Dropping it unmaps the part before the window.
#[derive(Debug)]
pub struct Peer {
    space: Rc<Space>,
    window: Window,
    iova: u64,
    is_mapped: bool,
}

impl Peer {
    /// Maps `bytes` bytes of BAR `number` of a peer from `offset` on, whole pages.
    ///
    /// # Errors
    /// The peer lacks them; or the kernel cannot map them: through iommufd it can from Linux 6.19 on.
    pub fn new(
        space: &Rc<Space>,
        peer: &Opened,
        (number, offset, bytes): (u32, u64, u64),
    ) -> Result<Self, Refusal> {
        let window = peer.bar(number, offset, Some(bytes))?;
        let iova = space.reserve(bytes, PageSize::FourKib.bytes())?;
        let result = match &space.way {
            // SAFETY: `Peer` keeps the window while mapped; windows have volatile accesses only.
            Way::Container { container, .. } => unsafe {
                kernel::map(container, window.address(), iova, bytes)
            },
            Way::Iommufd { space, .. } => {
                let region = vfio::VFIO_PCI_BAR0_REGION_INDEX + number;
                space.map_bar((peer.file(), region), offset, iova, bytes)
            }
        };
        if let Err(error) = result {
            space.taken.borrow_mut().retain(|(start, _)| *start != iova);
            return Err(match &space.way {
                Way::Container { .. } => obstacle::kernel("mapping a BAR of a peer", error),
                Way::Iommufd { .. } => obstacle::no_peer_export(peer.address(), &error),
            });
        }
        Ok(Self { space: Rc::clone(space), window, iova, is_mapped: true })
    }

    /// Bus address of the first byte, for the device.
    #[must_use]
    pub fn iova(&self) -> u64 {
        self.iova
    }

    /// The same part of the BAR, for this program.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Unmaps it from the device; fails if the kernel refuses.
    pub fn unmap(&mut self) -> Result<(), Refusal> {
        match std::mem::take(&mut self.is_mapped) {
            true => self.space.unmap(self.iova, self.window.bytes() as u64),
            false => Ok(()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // An error is ignored: the kernel unmaps everything when the address space is closed.
        let _ = self.unmap();
    }
}

fn refused(error: &io::Error, bytes: u64, planned: u64, page_bytes: u64) -> Refusal {
    let needed = bytes.max(planned);
    match (error.raw_os_error(), locked_memory_limit()) {
        (Some(libc::ENOMEM), Some(limit)) if limit < needed => {
            HostError::LockedMemory { limit, needed, kib: needed.div_ceil(1024) }.into()
        }
        (Some(libc::ENOSPC), _) => obstacle::too_many_mappings(page_bytes, bytes / page_bytes, 65_535),
        _ => obstacle::kernel("mapping memory for the device", error),
    }
}

/// Waits until no process has the group of a function open; whether one had.
pub(crate) fn await_group(tree: &Tree, function: &Function) -> Result<bool, Refusal> {
    let number = tree.check_group(function)?;
    if !tree.path("dev/vfio/vfio").exists() && tree.device_node(function).is_some() {
        // A node of its own is not exclusive: taking the device is, and says so.
        return Ok(false);
    }
    let started = Instant::now();
    drop(open_group(&tree.path(&format!("dev/vfio/{number}")), function)?);
    Ok(started.elapsed() >= LOOK)
}

fn open_group(path: &Path, function: &Function) -> Result<File, Refusal> {
    let started = Instant::now();
    let address = function.address;
    loop {
        let error = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(group) => return Ok(group),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::NotFound => return Err(obstacle::not_bound(address, function.driver.as_deref())),
            ErrorKind::PermissionDenied => return Err(obstacle::no_permission(address, path)),
            ErrorKind::ResourceBusy if started.elapsed() < BUSY_LIMIT => std::thread::sleep(LOOK),
            ErrorKind::ResourceBusy => return Err(obstacle::busy(address, path, BUSY_LIMIT.as_secs())),
            _ => return Err(obstacle::kernel(path.display().to_string(), error)),
        }
    }
}
