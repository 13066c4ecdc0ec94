//! iommufd: address spaces of devices opened by their own node (cdev), without groups. `linux/iommufd.h` and
//! `linux/vfio.h` describe the calls; each structure's first field is its size.
//!
//! The calls go through [`Calls`], so that tests play the kernel. No test of ours has run on a kernel with iommufd: the
//! guest's has none.

use crate::kernel::IommuInfo;
use crate::obstacle;
use libc::Ioctl;
use pcie_refusal::Refusal;
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use vfio_bindings::bindings::vfio;

const DESTROY: Ioctl = request(0x80);
const IOAS_ALLOC: Ioctl = request(0x81);
const IOAS_IOVA_RANGES: Ioctl = request(0x84);
const IOAS_MAP: Ioctl = request(0x85);
const IOAS_UNMAP: Ioctl = request(0x86);
const IOAS_MAP_FILE: Ioctl = request(0x8f);
const DEVICE_FEATURE: Ioctl = request(vfio::VFIO_BASE + 17);
const DEVICE_BIND: Ioctl = request(vfio::VFIO_BASE + 18);
const DEVICE_ATTACH: Ioctl = request(vfio::VFIO_BASE + 19);

/// The address is ours to choose; the device may write and read.
const MAP_FLAGS: u32 = 1 | 2 | 4;
/// Ranges of addresses that one call returns.
const RANGES_MOST: u32 = 256;

/// `_IO(';', number)`, of iommufd as of VFIO.
const fn request(number: u32) -> Ioctl {
    ((vfio::VFIO_TYPE as Ioctl) << 8) | number as Ioctl
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Destroy {
    size: u32,
    id: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoasAlloc {
    size: u32,
    flags: u32,
    out_ioas_id: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IovaRanges {
    size: u32,
    ioas_id: u32,
    num_iovas: u32,
    reserved: u32,
    allowed_iovas: u64,
    out_iova_alignment: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoasMap {
    size: u32,
    flags: u32,
    ioas_id: u32,
    reserved: u32,
    user_va: u64,
    length: u64,
    iova: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoasUnmap {
    size: u32,
    ioas_id: u32,
    iova: u64,
    length: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoasMapFile {
    size: u32,
    flags: u32,
    ioas_id: u32,
    fd: i32,
    start: u64,
    length: u64,
    iova: u64,
}

/// `vfio_device_bind_iommufd` without the token of virtual functions.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bind {
    argsz: u32,
    flags: u32,
    iommufd: i32,
    out_devid: u32,
}

/// `vfio_device_attach_iommufd_pt` without the process's address space.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Attach {
    argsz: u32,
    flags: u32,
    pt_id: u32,
}

/// `vfio_device_feature` that exports one range of a BAR as a dma-buf.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DmaBuf {
    argsz: u32,
    feature: u32,
    region_index: u32,
    open_flags: u32,
    flags: u32,
    nr_ranges: u32,
    offset: u64,
    length: u64,
}

/// The calls of the kernel.
pub(crate) trait Calls: Debug {
    /// An `ioctl`; its result is not negative.
    ///
    /// # Safety
    /// `argument` points to the structure of the request, which the kernel may read and write.
    unsafe fn call(&self, file: RawFd, request: Ioctl, argument: *mut libc::c_void) -> io::Result<i32>;
}

/// The kernel itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel;

impl Calls for Kernel {
    unsafe fn call(&self, file: RawFd, request: Ioctl, argument: *mut libc::c_void) -> io::Result<i32> {
        // SAFETY: the caller says so.
        match unsafe { libc::ioctl(file, request, argument) } {
            result if result < 0 => Err(io::Error::last_os_error()),
            result => Ok(result),
        }
    }
}

/// An address space of iommufd. Dropping it destroys the space.
#[derive(Debug)]
pub(crate) struct Iommufd<C: Calls = Kernel> {
    calls: C,
    file: File,
    id: u32,
}

impl Iommufd {
    /// A new address space of this `/dev/iommu`.
    pub(crate) fn open(file: File) -> Result<Self, Refusal> {
        Self::new(Kernel, file)
    }
}

impl<C: Calls> Iommufd<C> {
    fn new(calls: C, file: File) -> Result<Self, Refusal> {
        let mut alloc = IoasAlloc { size: size_of::<IoasAlloc>() as u32, ..IoasAlloc::default() };
        asked(&calls, &file, IOAS_ALLOC, &mut alloc)
            .map_err(|error| obstacle::kernel("/dev/iommu", error))?;
        Ok(Self { calls, file, id: alloc.out_ioas_id })
    }

    /// Takes a device, opened by its own node, and puts it into the address space.
    pub(crate) fn attach(&self, device: &File) -> Result<(), Refusal> {
        let mut bind =
            Bind { argsz: size_of::<Bind>() as u32, iommufd: self.file.as_raw_fd(), ..Bind::default() };
        asked(&self.calls, device, DEVICE_BIND, &mut bind)
            .map_err(|error| obstacle::kernel("giving the device to iommufd", error))?;
        let mut attach = Attach { argsz: size_of::<Attach>() as u32, pt_id: self.id, ..Attach::default() };
        asked(&self.calls, device, DEVICE_ATTACH, &mut attach)
            .map(drop)
            .map_err(|error| obstacle::kernel("putting the device into an address space", error))
    }

    /// Limits of the address space with the devices in it. iommufd has no limit of mappings.
    pub(crate) fn info(&self) -> Result<IommuInfo, Refusal> {
        let mut found = vec![[0u64; 2]; RANGES_MOST as usize];
        let mut ranges = IovaRanges {
            size: size_of::<IovaRanges>() as u32,
            ioas_id: self.id,
            num_iovas: RANGES_MOST,
            allowed_iovas: found.as_mut_ptr() as u64,
            ..IovaRanges::default()
        };
        asked(&self.calls, &self.file, IOAS_IOVA_RANGES, &mut ranges)
            .map_err(|error| obstacle::kernel("the addresses of the IOMMU", error))?;
        found.truncate(ranges.num_iovas.min(RANGES_MOST) as usize);
        // Mappings are multiples of the alignment; the kernel chooses pages of the IOMMU that fit.
        let page_sizes = !(ranges.out_iova_alignment.max(1) - 1);
        let ranges = found.iter().map(|[first, last]| (*first, *last)).collect();
        Ok(IommuInfo { page_sizes, ranges, mappings: None })
    }

    /// Maps memory of this process at a bus address.
    ///
    /// # Safety
    /// The memory must stay mapped until the bus address is unmapped; accesses must expect the device to write.
    pub(crate) unsafe fn map(&self, start: usize, iova: u64, bytes: u64) -> io::Result<()> {
        let mut map = IoasMap {
            size: size_of::<IoasMap>() as u32,
            flags: MAP_FLAGS,
            ioas_id: self.id,
            reserved: 0,
            user_va: start as u64,
            length: bytes,
            iova,
        };
        asked(&self.calls, &self.file, IOAS_MAP, &mut map).map(drop)
    }

    /// Maps a part of a BAR of another device, as a dma-buf that its driver exports.
    pub(crate) fn map_bar(
        &self,
        (peer, region): (&File, u32),
        offset: u64,
        iova: u64,
        bytes: u64,
    ) -> io::Result<()> {
        let mut export = DmaBuf {
            argsz: size_of::<DmaBuf>() as u32,
            feature: vfio::VFIO_DEVICE_FEATURE_GET | vfio::VFIO_DEVICE_FEATURE_DMA_BUF,
            region_index: region,
            open_flags: (libc::O_RDWR | libc::O_CLOEXEC) as u32,
            flags: 0,
            nr_ranges: 1,
            offset,
            length: bytes,
        };
        let descriptor = asked(&self.calls, peer, DEVICE_FEATURE, &mut export)?;
        // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
        let exported = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut map = IoasMapFile {
            size: size_of::<IoasMapFile>() as u32,
            flags: MAP_FLAGS,
            ioas_id: self.id,
            fd: exported.as_raw_fd(),
            start: 0,
            length: bytes,
            iova,
        };
        asked(&self.calls, &self.file, IOAS_MAP_FILE, &mut map).map(drop)
    }

    /// Unmaps whole mappings from a bus address on.
    pub(crate) fn unmap(&self, iova: u64, bytes: u64) -> Result<(), Refusal> {
        let mut unmap =
            IoasUnmap { size: size_of::<IoasUnmap>() as u32, ioas_id: self.id, iova, length: bytes };
        asked(&self.calls, &self.file, IOAS_UNMAP, &mut unmap)
            .map(drop)
            .map_err(|error| obstacle::kernel("unmapping memory from the device", error))
    }
}

impl<C: Calls> Drop for Iommufd<C> {
    fn drop(&mut self) {
        let mut destroy = Destroy { size: size_of::<Destroy>() as u32, id: self.id };
        // An error is ignored: the kernel destroys the space when the last file is closed.
        let _ = asked(&self.calls, &self.file, DESTROY, &mut destroy);
    }
}

/// Hands a structure to the kernel.
fn asked<T>(calls: &impl Calls, file: &File, request: Ioctl, argument: &mut T) -> io::Result<i32> {
    // SAFETY: every structure of this module is that of its request and has its size in front; it outlives the call.
    unsafe { calls.call(file.as_raw_fd(), request, std::ptr::from_mut(argument).cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What the kernel was given.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Given {
        Bind(Bind),
        Attach(Attach),
        Map(IoasMap),
        MapFile { iova: u64, length: u64 },
        Unmap(IoasUnmap),
        Destroy(u32),
    }

    /// A kernel with one address space, which exports BARs or does not.
    #[derive(Clone, Debug, Default)]
    struct Played {
        given: Rc<RefCell<Vec<Given>>>,
        exports: bool,
    }

    const SPACE: u32 = 7;

    impl Calls for Played {
        unsafe fn call(&self, _: RawFd, request: Ioctl, argument: *mut libc::c_void) -> io::Result<i32> {
            let mut given = self.given.borrow_mut();
            // SAFETY: each request comes with its structure.
            unsafe {
                match request {
                    IOAS_ALLOC => {
                        let alloc = argument.cast::<IoasAlloc>();
                        assert_eq!((*alloc).size, 12);
                        (*alloc).out_ioas_id = SPACE;
                    }
                    IOAS_IOVA_RANGES => {
                        let ranges = argument.cast::<IovaRanges>();
                        let out = (*ranges).allowed_iovas as *mut [u64; 2];
                        *out = [0, 0xfedf_ffff];
                        *out.add(1) = [0xfef0_0000, 0xffff_ffff_ffff];
                        (*ranges).num_iovas = 2;
                        (*ranges).out_iova_alignment = 4096;
                    }
                    DEVICE_BIND => given.push(Given::Bind(*argument.cast())),
                    DEVICE_ATTACH => given.push(Given::Attach(*argument.cast())),
                    IOAS_MAP => given.push(Given::Map(*argument.cast())),
                    IOAS_UNMAP => given.push(Given::Unmap(*argument.cast())),
                    DESTROY => given.push(Given::Destroy((*argument.cast::<Destroy>()).id)),
                    DEVICE_FEATURE if self.exports => {
                        let export = *argument.cast::<DmaBuf>();
                        assert_eq!((export.argsz, export.feature, export.nr_ranges), (40, 1 << 16 | 11, 1));
                        return Ok(libc::dup(2));
                    }
                    IOAS_MAP_FILE => {
                        let map = *argument.cast::<IoasMapFile>();
                        given.push(Given::MapFile { iova: map.iova, length: map.length });
                    }
                    _ => return Err(io::Error::from_raw_os_error(libc::ENOTTY)),
                }
            }
            Ok(0)
        }
    }

    fn file() -> File {
        tempfile::tempfile().unwrap()
    }

    #[test]
    fn a_device_is_bound_attached_mapped_and_its_space_destroyed() {
        let (played, iommu, device) = (Played::default(), file(), file());
        let number = iommu.as_raw_fd();
        let space = Iommufd::new(played.clone(), iommu).unwrap();
        space.attach(&device).unwrap();
        let info = space.info().unwrap();
        assert_eq!(info.ranges, [(0, 0xfedf_ffff), (0xfef0_0000, 0xffff_ffff_ffff)]);
        assert_eq!((info.page_sizes & 0xfff, info.page_sizes & 0x4020_1000), (0, 0x4020_1000));
        assert_eq!(info.mappings, None);
        // SAFETY: nothing is mapped: the kernel is played.
        unsafe { space.map(0x7000, 0x10_0000, 0x2000) }.unwrap();
        space.unmap(0x10_0000, 0x2000).unwrap();
        drop(space);
        let given = played.given.borrow();
        let map = IoasMap {
            size: 40,
            flags: 7,
            ioas_id: SPACE,
            reserved: 0,
            user_va: 0x7000,
            length: 0x2000,
            iova: 0x10_0000,
        };
        assert_eq!(
            given[..],
            [
                Given::Bind(Bind { argsz: 16, flags: 0, iommufd: number, out_devid: 0 }),
                Given::Attach(Attach { argsz: 12, flags: 0, pt_id: SPACE }),
                Given::Map(map),
                Given::Unmap(IoasUnmap { size: 24, ioas_id: SPACE, iova: 0x10_0000, length: 0x2000 }),
                Given::Destroy(SPACE),
            ]
        );
    }

    #[test]
    fn a_bar_is_mapped_where_the_kernel_exports_it() {
        let peer = file();
        for exports in [true, false] {
            let played = Played { exports, ..Played::default() };
            let space = Iommufd::new(played.clone(), file()).unwrap();
            let mapped = space.map_bar((&peer, 2), 0, 0x20_0000, 0x1000);
            assert_eq!(mapped.is_ok(), exports);
            let expected = Given::MapFile { iova: 0x20_0000, length: 0x1000 };
            assert_eq!(played.given.borrow().contains(&expected), exports);
        }
    }

    #[test]
    fn structures_have_the_fields_of_the_kernel() {
        assert_eq!(size_of::<IovaRanges>(), 32);
        assert_eq!(size_of::<IoasMapFile>(), 40);
        assert_eq!(std::mem::offset_of!(vfio::vfio_device_bind_iommufd, out_devid), 12);
        assert_eq!(std::mem::offset_of!(vfio::vfio_device_attach_iommufd_pt, pt_id), 8);
        assert_eq!(std::mem::offset_of!(DmaBuf, offset), 8 + size_of::<vfio::vfio_device_feature_dma_buf>());
        assert_eq!((IOAS_ALLOC, DEVICE_BIND), (0x3b81, 0x3b76));
    }

    #[test]
    fn a_kernel_that_refuses_is_named() {
        #[derive(Debug)]
        struct Refuses;
        impl Calls for Refuses {
            unsafe fn call(&self, _: RawFd, _: Ioctl, _: *mut libc::c_void) -> io::Result<i32> {
                Err(io::Error::from_raw_os_error(libc::ENOTTY))
            }
        }
        let refused = Iommufd::new(Refuses, file()).unwrap_err().to_string();
        assert!(refused.starts_with("/dev/iommu: "), "{refused}");
    }
}
