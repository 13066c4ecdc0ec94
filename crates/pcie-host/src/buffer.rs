//! The host's buffer: anonymous memory of one page size, where it was asked for, and all of it there.

use crate::caches::{STOP_BYTES, flush};
use crate::error::HostError;
use crate::kernel::{locked_memory_limit, numbers, refused};
use crate::options::PageSize;
use crate::shared::Shared;
use crate::topology::Topology;
use pcie_bench::Stop;
use std::cell::RefCell;
use std::ptr::{NonNull, null_mut};
use std::rc::Rc;

/// A buffer that device and host share.
pub type SharedBuffer = Rc<RefCell<Buffer>>;

/// Memory that was mapped for transfers; unmapped when dropped.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    node: Option<u32>,
    /// Devices that reach it at this moment.
    lent: u32,
}

// SAFETY: the mapping belongs to the buffer alone, and nothing about it depends on the thread that made it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps `bytes` of pages of one size, on a node if one is given, and brings them all in.
    ///
    /// # Errors
    /// Too few pages, no such node, or pages that came out elsewhere: see [`HostError`].
    pub fn allocate(
        bytes: u64,
        pages: PageSize,
        node: Option<u32>,
        topology: &Topology,
    ) -> Result<Self, HostError> {
        let page_bytes = pages.bytes();
        let length = usize::try_from(bytes).ok().filter(|_| bytes > 0 && bytes.is_multiple_of(page_bytes));
        let length = length.ok_or(HostError::NotWholePages { bytes, page_bytes })?;
        if let Some(asked) = node.filter(|node| !topology.nodes().contains(node)) {
            let nodes = topology.nodes();
            let known = if nodes.is_empty() { "no nodes that can be named".into() } else { numbers(&nodes) };
            return Err(HostError::NoSuchNode { asked, known });
        }
        if pages == PageSize::FourKib {
            enough_memory(bytes, topology)?;
        } else {
            enough_huge_pages(bytes, page_bytes, node, topology)?;
        }
        let mut buffer = Self::map(length, pages)?;
        if let Some(node) = node {
            buffer.bind(node)?;
        }
        buffer.bring_in()?;
        buffer.node = verified_node(buffer.start.as_ptr() as usize, node)?;
        Ok(buffer)
    }

    fn map(length: usize, pages: PageSize) -> Result<Self, HostError> {
        let huge = match pages {
            PageSize::FourKib => 0,
            PageSize::TwoMib => libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
            PageSize::OneGib => libc::MAP_HUGETLB | libc::MAP_HUGE_1GB,
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge;
        // SAFETY: a new private mapping at an address of the kernel's choice touches no memory that is in use.
        let start =
            unsafe { libc::mmap(null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused(&format!("host.buffer_bytes is {length}: mapping it")));
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| refused("mapping memory"))?;
        let buffer = Self { start, length, node: None, lent: 0 };
        if pages == PageSize::FourKib {
            // SAFETY: the range is the mapping that was just made. That there are no huge pages to leave out is no error.
            unsafe { libc::madvise(buffer.start.as_ptr().cast(), length, libc::MADV_NOHUGEPAGE) };
        }
        Ok(buffer)
    }

    fn bind(&self, node: u32) -> Result<(), HostError> {
        const MPOL_BIND: libc::c_long = 2;
        let mut mask = [0u64; 16];
        let word = mask
            .get_mut(node as usize / 64)
            .ok_or_else(|| HostError::NoSuchNode { asked: node, known: "fewer than 1024 nodes".into() })?;
        *word = 1 << (node % 64);
        let bits = 8 * size_of_val(&mask) as libc::c_long;
        // SAFETY: the range is this buffer's own mapping, and the mask lives until the call returns and has as many bits as
        // are named.
        let failed = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.length,
                MPOL_BIND,
                mask.as_ptr(),
                bits,
                0,
            )
        };
        if failed == 0 {
            Ok(())
        } else {
            Err(refused(&format!("host.node is {node}: binding the buffer to it")))
        }
    }

    /// Has every page there now: where there is too little memory it is an error here, and not a signal later.
    fn bring_in(&mut self) -> Result<(), HostError> {
        // SAFETY: the range is this buffer's own mapping; populating changes no byte of it.
        let failed =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, libc::MADV_POPULATE_WRITE) };
        let unknown = || std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        if failed == 0 {
            return Ok(());
        }
        if unknown() {
            // Kernels before 5.14.
            for place in (0..self.length()).step_by(4096) {
                self.fill(place, 1, 0);
            }
            return Ok(());
        }
        Err(refused(&format!("host.buffer_bytes is {}: bringing its pages in", self.length)))
    }

    /// Keeps every page where it is, as devices need it.
    ///
    /// # Errors
    /// The limit on locked memory is too small.
    pub fn lock(&self) -> Result<(), HostError> {
        // SAFETY: the range is this buffer's own mapping; it is unlocked when it is unmapped.
        let failed = unsafe { libc::mlock(self.start.as_ptr().cast(), self.length) };
        if failed == 0 {
            return Ok(());
        }
        let needed = self.length as u64;
        match locked_memory_limit() {
            Some(limit) if limit < needed => {
                Err(HostError::LockedMemory { limit, needed, kib: needed.div_ceil(1024) })
            }
            _ => Err(refused("locking the buffer")),
        }
    }

    /// The node that all pages are on, as the kernel says; none where it does not, or where they are on several.
    #[must_use]
    pub fn node(&self) -> Option<u32> {
        self.node
    }

    /// Where it begins.
    #[must_use]
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Its bytes, as many as were asked for.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length as u64
    }

    /// What is in it, for as long as no device reaches it: a device writes when it pleases, which no slice may see. None once it is
    /// lent.
    #[must_use]
    pub fn own_bytes_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: the mapping has that length, lives as long as `self`, and was filled with zeros by the kernel; no device has
        // it, and `self` is borrowed for writing, so that neither is anything else in it nor can it be lent meanwhile.
        (self.lent == 0).then(|| unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) })
    }

    /// Says that a device reaches it from now on.
    pub fn lend(&mut self) {
        self.lent += 1;
    }

    /// Says that a device does so no longer.
    pub fn take_back(&mut self) {
        self.lent = self.lent.saturating_sub(1);
    }

    /// The same memory by pointers, whoever reaches it.
    fn shared(&self) -> Shared {
        // SAFETY: the mapping has that length and lives as long as `self`; a slice of it borrows `self` for writing.
        unsafe { Shared::new(self.start, self.length) }
    }

    /// Copies bytes from a place on out of it, which a device may write meanwhile; false, and nothing, outside.
    #[must_use]
    pub fn copy_out(&self, place: u64, to: &mut [u8]) -> bool {
        self.shared().copy_out(place, to)
    }

    /// The bytes from a place on, copied; none outside.
    #[must_use]
    pub fn copied(&self, place: u64, bytes: usize) -> Option<Vec<u8>> {
        // Before anything is allocated for what is not there.
        let within = place.checked_add(bytes as u64).is_some_and(|end| end <= self.length());
        let mut copy = vec![0; if within { bytes } else { 0 }];
        (within && self.copy_out(place, &mut copy)).then_some(copy)
    }

    /// Copies bytes into it from a place on; false, and nothing, outside.
    pub fn copy_in(&mut self, place: u64, from: &[u8]) -> bool {
        self.shared().copy_in(place, from)
    }

    /// Writes one byte all over some of it; false, and nothing, outside.
    pub fn fill(&mut self, place: u64, bytes: u64, byte: u8) -> bool {
        usize::try_from(bytes).is_ok_and(|bytes| self.shared().fill(place, bytes, byte))
    }

    /// The word at a place that is a multiple of 4, read once: a device may write it at any time. None outside.
    #[inline]
    #[must_use]
    pub fn word(&self, place: u64) -> Option<u32> {
        self.shared().word(place)
    }

    /// Writes words one after the other from a place on that is a multiple of 4, each once: a device may read them at any
    /// time. False, and nothing, where they are not all within it.
    #[inline]
    pub fn put_words(&mut self, place: u64, words: &[u32]) -> bool {
        self.shared().put_words(place, words)
    }

    /// Writes its first bytes, so that they are in the caches of the core that does; ends early where nobody waits for it.
    pub(crate) fn write_through(&mut self, bytes: u64, stop: &Stop) {
        for place in (0..bytes).step_by(STOP_BYTES) {
            if stop.is_requested() {
                return;
            }
            self.fill(place, (STOP_BYTES as u64).min(bytes - place), 0);
        }
    }

    /// Flushes its first bytes from all caches.
    ///
    /// # Errors
    /// The processor has no instruction for it.
    pub(crate) fn flush(&self, bytes: usize) -> Result<(), HostError> {
        flush(self.start, bytes.min(self.length))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is this buffer's own, and no borrow of it outlives the buffer.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Refuses what the kernel would promise and then kill somebody for.
fn enough_memory(bytes: u64, topology: &Topology) -> Result<(), HostError> {
    match topology.available_memory_bytes() {
        Some(available) if available < bytes => Err(HostError::TooLittleMemory { bytes, available }),
        _ => Ok(()),
    }
}

fn enough_huge_pages(
    bytes: u64,
    page_bytes: u64,
    node: Option<u32>,
    topology: &Topology,
) -> Result<(), HostError> {
    let free = topology.free_huge_pages(page_bytes, node).ok_or(HostError::NoSuchPages(page_bytes))?;
    let needed = bytes / page_bytes;
    if free >= needed {
        return Ok(());
    }
    Err(HostError::TooFewPages {
        page_bytes,
        free,
        needed,
        place: node.map_or_else(String::new, |node| format!(" on node {node}")),
        file: topology.huge_pages(page_bytes, node).join("nr_hugepages").display().to_string(),
    })
}

/// The node that the mapping at an address is on, by the kernel's own account. Where a node was asked for, nothing else will
/// do.
fn verified_node(address: usize, asked: Option<u32>) -> Result<Option<u32>, HostError> {
    let maps = std::fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
    let found = pages_by_node(&maps, address);
    let wrong = |asked: u32, found: &str| HostError::WrongNode { asked, found: found.to_owned() };
    match (asked, found.as_slice()) {
        (None, [(node, _)]) => Ok(Some(*node)),
        (None, _) => Ok(None),
        (Some(asked), [(node, _)]) if *node == asked => Ok(Some(asked)),
        (Some(asked), []) => Err(wrong(asked, "the kernel does not say where the pages are")),
        (Some(asked), found) => {
            let places: Vec<String> =
                found.iter().map(|(node, pages)| format!("{pages} pages on node {node}")).collect();
            Err(wrong(asked, &format!("the buffer came out with {}", places.join(", "))))
        }
    }
}

/// Pages of a mapping by node, from the kernel's `numa_maps`.
fn pages_by_node(maps: &str, address: usize) -> Vec<(u32, u64)> {
    let start = format!("{address:x} ");
    let line = maps.lines().find(|line| line.trim_start_matches('0').starts_with(&start)).unwrap_or_default();
    let count = |word: &str| {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((node.parse().ok()?, pages.parse().ok()?))
    };
    line.split_whitespace().filter_map(count).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;

    #[test]
    fn a_buffer_is_zero_writable_and_gone_when_dropped() {
        let mut buffer = Buffer::allocate(1 << 20, PageSize::FourKib, None, &Topology::here()).unwrap();
        assert_eq!(buffer.copied(0, 1 << 20), Some(vec![0; 1 << 20]));
        assert!(buffer.copy_in(1 << 19, &[7]) && buffer.fill((1 << 20) - 2, 2, 9));
        assert_eq!(
            (buffer.copied(1 << 19, 1), buffer.copied((1 << 20) - 2, 2)),
            (Some(vec![7]), Some(vec![9, 9]))
        );
        assert_eq!(buffer.copied(1 << 19, (1 << 19) + 1), None);
        let address = buffer.address();
        drop(buffer);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains(&format!("{address:x}-{:x} ", address + (1 << 20))));
    }

    #[test]
    fn words_are_shared_where_they_are_and_nowhere_else() {
        let mut buffer = Buffer::allocate(4096, PageSize::FourKib, None, &Topology::here()).unwrap();
        assert!(buffer.put_words(4088, &[1, 0x0102_0304]));
        assert_eq!((buffer.word(4092), buffer.copied(4092, 1)), (Some(0x0102_0304), Some(vec![4])));
        assert!(
            !buffer.put_words(4092, &[1, 2])
                && !buffer.put_words(2, &[1])
                && !buffer.put_words(u64::MAX - 3, &[1])
        );
        assert_eq!((buffer.word(4096), buffer.word(1)), (None, None));
    }

    #[test]
    fn nobody_has_a_slice_of_what_a_device_reaches() {
        let mut buffer = Buffer::allocate(4096, PageSize::FourKib, None, &Topology::here()).unwrap();
        buffer.own_bytes_mut().unwrap()[7] = 7;
        buffer.lend();
        buffer.lend();
        assert!(buffer.own_bytes_mut().is_none());
        assert_eq!(buffer.copied(7, 1), Some(vec![7]));
        buffer.take_back();
        assert!(buffer.own_bytes_mut().is_none());
        buffer.take_back();
        assert_eq!(buffer.own_bytes_mut().map(|bytes| bytes[7]), Some(7));
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_its_figures() {
        let directory = tempfile::tempdir().unwrap();
        let pages = directory.path().join("sys/kernel/mm/hugepages/hugepages-2048kB");
        std::fs::create_dir_all(&pages).unwrap();
        std::fs::write(pages.join("free_hugepages"), "3\n").unwrap();
        std::fs::create_dir_all(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/meminfo"), "MemFree: 9 kB\nMemAvailable:  2048 kB\n")
            .unwrap();
        let topology = Topology::from(crate::root::Root::at(directory.path()));
        let told = |bytes, pages, node| {
            Buffer::allocate(bytes, pages, node, &topology).map(drop).unwrap_err().to_string()
        };
        let few = told(16 << 20, PageSize::TwoMib, None);
        assert!(few.contains("3 such pages are free, the buffer needs 8: `echo 8 | sudo tee "), "{few}");
        assert!(told(1 << 30, PageSize::OneGib, None).contains("no pages of that size"));
        assert!(told(5000, PageSize::FourKib, None).contains("multiple of the page size, 4096"));
        assert!(told(4096, PageSize::FourKib, Some(7)).contains("host.node is 7"));
        let little = told(4 << 20, PageSize::FourKib, None);
        assert!(
            little.contains("host.buffer_bytes is 4194304: 2097152 bytes of memory are available"),
            "{little}"
        );
        let container = directory.path().join("sys/fs/cgroup");
        std::fs::create_dir_all(&container).unwrap();
        std::fs::write(container.join("memory.max"), "65536\n").unwrap();
        std::fs::write(container.join("memory.current"), "4096\n").unwrap();
        assert!(told(1 << 20, PageSize::FourKib, None).contains("61440 bytes of memory are available"));
    }

    #[test]
    fn nodes_are_read_from_the_kernels_account() {
        let maps =
            "7f00 default anon=4\n7fab12345000 bind:1 anon=512 dirty=512 N0=12 N1=500 kernelpagesize_kB=4\n";
        assert_eq!(pages_by_node(maps, 0x7fab_1234_5000), [(0, 12), (1, 500)]);
        assert!(pages_by_node(maps, 0x1000).is_empty());
    }
}
