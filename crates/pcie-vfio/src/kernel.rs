//! The VFIO calls of this crate, with their errors. `linux/vfio.h` describes each.

use crate::obstacle;
use libc::Ioctl;
use pcie_refusal::Refusal;
use std::ffi::{CString, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use vfio_bindings::bindings::vfio;

const GET_API_VERSION: Ioctl = request(0);
const CHECK_EXTENSION: Ioctl = request(1);
const SET_IOMMU: Ioctl = request(2);
const GROUP_GET_STATUS: Ioctl = request(3);
const GROUP_SET_CONTAINER: Ioctl = request(4);
const GROUP_GET_DEVICE_FD: Ioctl = request(6);
const DEVICE_GET_REGION_INFO: Ioctl = request(8);
const DEVICE_GET_IRQ_INFO: Ioctl = request(9);
const DEVICE_SET_IRQS: Ioctl = request(10);
const DEVICE_RESET: Ioctl = request(11);
const IOMMU_GET_INFO: Ioctl = request(12);
const IOMMU_MAP_DMA: Ioctl = request(13);
const IOMMU_UNMAP_DMA: Ioctl = request(14);

/// `_IO(VFIO_TYPE, VFIO_BASE + number)`.
const fn request(number: u32) -> Ioctl {
    ((vfio::VFIO_TYPE as Ioctl) << 8) | (vfio::VFIO_BASE + number) as Ioctl
}

/// A region of a device that can be read, written or mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegionInfo {
    pub(crate) flags: u32,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

/// Limits of an IOMMU.
#[derive(Clone, Debug, Default)]
pub(crate) struct IommuInfo {
    /// Page sizes, one bit each.
    pub(crate) page_sizes: u64,
    /// Usable addresses, first and last.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// Mappings still allowed; none where the kernel does not report it.
    pub(crate) mappings: Option<u64>,
}

fn checked(result: libc::c_int, request: &str) -> Result<libc::c_int, Refusal> {
    if result < 0 { Err(obstacle::kernel(request, io::Error::last_os_error())) } else { Ok(result) }
}

pub(crate) fn may_write(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path ends with a zero and lives until the call returns.
    unsafe { libc::access(path.as_ptr(), libc::R_OK | libc::W_OK) == 0 }
}

/// Checks a container's version and its IOMMU type.
pub(crate) fn check_container(container: &File) -> Result<(), Refusal> {
    // SAFETY: the request takes no argument.
    let version = unsafe { libc::ioctl(container.as_raw_fd(), GET_API_VERSION) };
    // SAFETY: the request takes a number.
    let type1 = unsafe {
        libc::ioctl(container.as_raw_fd(), CHECK_EXTENSION, vfio::VFIO_TYPE1v2_IOMMU as libc::c_ulong)
    };
    if checked(version, "/dev/vfio/vfio")? == vfio::VFIO_API_VERSION as i32 && type1 == 1 {
        return Ok(());
    }
    Err(obstacle::kernel("/dev/vfio/vfio", "no IOMMU of type 1: `sudo modprobe vfio_iommu_type1`"))
}

/// Whether all devices of a group may be given to a user.
pub(crate) fn is_viable(group: &File) -> Result<bool, Refusal> {
    let mut status = vfio::vfio_group_status { argsz: size_of::<vfio::vfio_group_status>() as u32, flags: 0 };
    // SAFETY: the kernel writes at most `argsz` bytes to the structure, which lives until the call returns.
    let result = unsafe { libc::ioctl(group.as_raw_fd(), GROUP_GET_STATUS, &raw mut status) };
    checked(result, "the status of the IOMMU group")?;
    Ok(status.flags & vfio::VFIO_GROUP_FLAGS_VIABLE != 0)
}

pub(crate) fn set_container(group: &File, container: &File) -> Result<(), Refusal> {
    let descriptor: RawFd = container.as_raw_fd();
    // SAFETY: the kernel reads one number, which lives until the call returns.
    let result = unsafe { libc::ioctl(group.as_raw_fd(), GROUP_SET_CONTAINER, &raw const descriptor) };
    checked(result, "putting the IOMMU group into a container").map(drop)
}

/// Enables the IOMMU of a container.
pub(crate) fn set_iommu(container: &File) -> Result<(), Refusal> {
    // SAFETY: the request takes a number.
    let result =
        unsafe { libc::ioctl(container.as_raw_fd(), SET_IOMMU, vfio::VFIO_TYPE1v2_IOMMU as libc::c_ulong) };
    checked(result, "setting up the IOMMU").map(drop)
}

pub(crate) fn device(group: &File, address: &str) -> Result<File, Refusal> {
    let name = CString::new(address).map_err(|error| obstacle::kernel(address, error))?;
    // SAFETY: the name ends with a zero and lives until the call returns.
    let result = unsafe { libc::ioctl(group.as_raw_fd(), GROUP_GET_DEVICE_FD, name.as_ptr()) };
    let descriptor = checked(result, &format!("{address}: opening it"))?;
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Flags, size and file offset of a region of a device.
pub(crate) fn region(device: &File, index: u32) -> Result<RegionInfo, Refusal> {
    let mut info = vfio::vfio_region_info {
        argsz: size_of::<vfio::vfio_region_info>() as u32,
        flags: 0,
        index,
        cap_offset: 0,
        size: 0,
        offset: 0,
    };
    // SAFETY: the kernel writes at most `argsz` bytes to the structure, which lives until the call returns.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), DEVICE_GET_REGION_INFO, &raw mut info) };
    checked(result, &format!("region {index} of the device"))?;
    Ok(RegionInfo { flags: info.flags, bytes: info.size, offset: info.offset })
}

pub(crate) fn reset(device: &File) -> Result<(), Refusal> {
    // SAFETY: the request takes no argument.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), DEVICE_RESET) }, "resetting the device").map(drop)
}

pub(crate) fn interrupts(device: &File, index: u32) -> Result<u32, Refusal> {
    let mut info =
        vfio::vfio_irq_info { argsz: size_of::<vfio::vfio_irq_info>() as u32, flags: 0, index, count: 0 };
    // SAFETY: the kernel writes at most `argsz` bytes to the structure, which lives until the call returns.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), DEVICE_GET_IRQ_INFO, &raw mut info) };
    checked(result, "interrupts of the device")?;
    Ok(info.count)
}

/// `vfio_irq_set` followed by one descriptor.
#[repr(C)]
struct IrqSet {
    head: [u32; 5],
    event: RawFd,
}

/// Makes the first interrupt of a kind count up an event.
pub(crate) fn signal(device: &File, index: u32, event: &File) -> Result<(), Refusal> {
    let flags = vfio::VFIO_IRQ_SET_DATA_EVENTFD | vfio::VFIO_IRQ_SET_ACTION_TRIGGER;
    let set = IrqSet { head: [size_of::<IrqSet>() as u32, flags, index, 0, 1], event: event.as_raw_fd() };
    // SAFETY: the structure is a `vfio_irq_set` with one descriptor and its size; it outlives the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), DEVICE_SET_IRQS, &raw const set) };
    checked(result, "an interrupt of the device").map(drop)
}

/// A new event for interrupts to count up.
pub(crate) fn event() -> Result<File, Refusal> {
    // SAFETY: the call takes numbers.
    let descriptor =
        checked(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) }, "an event")?;
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Waits for a file to become readable, at most `limit`; whether it is.
pub(crate) fn wait_readable(file: &File, limit: Duration) -> bool {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the kernel writes one structure, which lives until the call returns.
    unsafe { libc::poll(&raw mut poll, 1, limit_ms) == 1 }
}

/// Limits of a container's IOMMU. The buffer has room for the capabilities behind the structure.
pub(crate) fn iommu(container: &File) -> Result<IommuInfo, Refusal> {
    let mut words = [0u64; 512];
    words[0] = size_of_val(&words) as u64;
    // SAFETY: the kernel writes no more bytes than the first word says; the words outlive the call.
    let result = unsafe { libc::ioctl(container.as_raw_fd(), IOMMU_GET_INFO, words.as_mut_ptr()) };
    checked(result, "the limits of the IOMMU")?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Ok(read_iommu(&bytes))
}

/// Reads `vfio_iommu_type1_info` and the capabilities behind it.
fn read_iommu(bytes: &[u8]) -> IommuInfo {
    let word = |offset: usize| -> u32 {
        bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    };
    let long = |offset: usize| u64::from(word(offset)) | u64::from(word(offset + 4)) << 32;
    let mut info = IommuInfo { page_sizes: long(8), ..IommuInfo::default() };
    if word(4) & vfio::VFIO_IOMMU_INFO_CAPS == 0 {
        return info;
    }
    let mut capability = word(16) as usize;
    // Each holds the offset of the next, which must be higher.
    while capability != 0 {
        match word(capability) & 0xffff {
            vfio::VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE => {
                let count = (word(capability + 8) as usize).min(bytes.len() / 16);
                let offsets = (0..count).map(|range| capability + 16 + 16 * range);
                info.ranges = offsets.map(|offset| (long(offset), long(offset + 8))).collect();
            }
            vfio::VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL => info.mappings = Some(word(capability + 8).into()),
            _ => {}
        }
        let next = word(capability + 4) as usize;
        capability = if next > capability { next } else { 0 };
    }
    info
}

/// Maps memory of this process for the device, at a bus address.
///
/// # Safety
/// The memory must stay mapped until the bus address is unmapped; accesses must expect the device to write.
pub(crate) unsafe fn map(container: &File, start: usize, iova: u64, bytes: u64) -> io::Result<()> {
    let map = vfio::vfio_iommu_type1_dma_map {
        argsz: size_of::<vfio::vfio_iommu_type1_dma_map>() as u32,
        flags: vfio::VFIO_DMA_MAP_FLAG_READ | vfio::VFIO_DMA_MAP_FLAG_WRITE,
        vaddr: start as u64,
        iova,
        size: bytes,
    };
    // SAFETY: the kernel reads the structure, which outlives the call; the caller keeps the memory.
    match unsafe { libc::ioctl(container.as_raw_fd(), IOMMU_MAP_DMA, &raw const map) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn unmap(container: &File, iova: u64, bytes: u64) -> Result<(), Refusal> {
    // `vfio_iommu_type1_dma_unmap` without its bitmap.
    #[repr(C)]
    struct Unmap {
        argsz: u32,
        flags: u32,
        iova: u64,
        size: u64,
    }
    let mut unmap = Unmap { argsz: size_of::<Unmap>() as u32, flags: 0, iova, size: bytes };
    // SAFETY: the kernel reads and writes no more than the structure, which lives until the call returns.
    let result = unsafe { libc::ioctl(container.as_raw_fd(), IOMMU_UNMAP_DMA, &raw mut unmap) };
    checked(result, "unmapping memory from the device").map(drop)
}

pub(crate) fn map_file(file: &File, offset: u64, bytes: usize) -> io::Result<*mut c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let offset = libc::off_t::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory in use.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), offset)
    };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start) }
}

/// Removes a mapping.
///
/// # Safety
/// It must be a mapping of [`map_file`] of that length, no longer used.
pub(crate) unsafe fn unmap_file(start: *mut c_void, bytes: usize) {
    // SAFETY: the caller says so.
    unsafe { libc::munmap(start, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ranges_and_mappings_from_chained_capabilities() {
        let mut words = [0u32; 64];
        words[..6].copy_from_slice(&[256, 3, 0x4020_1000, 0, 32, 0]);
        // Free mappings at byte 32, then ranges at byte 64.
        words[8..11].copy_from_slice(&[3 | 1 << 16, 64, 65535]);
        words[16..20].copy_from_slice(&[1 | 1 << 16, 0, 2, 0]);
        words[20..28].copy_from_slice(&[0, 0, 0xfedf_ffff, 0, 0xfef0_0000, 0, 0xffff_ffff, 0xffff]);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let info = read_iommu(&bytes);
        assert_eq!((info.page_sizes, info.mappings), (0x4020_1000, Some(65535)));
        assert_eq!(info.ranges, [(0, 0xfedf_ffff), (0xfef0_0000, 0xffff_ffff_ffff)]);
        assert_eq!(request(0), 0x3b64);
    }

    #[test]
    fn invalid_capability_chain_terminates() {
        let mut words = [u32::MAX; 16];
        words[4..7].copy_from_slice(&[24, 0, 1]);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(read_iommu(&bytes).ranges.len() <= 4);
        assert!(read_iommu(&[]).ranges.is_empty());
    }
}
