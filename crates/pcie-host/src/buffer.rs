//! The host's buffer: anonymous memory of one page size, on the requested node, populated when allocated.

use crate::caches::{STOP_BYTES, flush};
use crate::chain::Chain;
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

/// Memory mapped for transfers; unmapped when dropped.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    node: Option<u32>,
    /// Number of devices that can reach the memory now.
    lent: u32,
    /// The pointer chase laid out in the memory; none once anything else may have been written.
    chain: Option<Chain>,
}

// SAFETY: the buffer alone owns the mapping, which does not depend on the thread that made it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps `bytes` of pages of one size, on `node` if one is given, and populates them.
    ///
    /// # Errors
    /// Too few pages, an unknown node, or pages that the kernel put on another node: see [`HostError`].
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
            let known = match topology.nodes().as_slice() {
                [] => "no NUMA nodes".into(),
                nodes => format!("nodes {}", numbers(nodes)),
            };
            return Err(HostError::UnknownNode { asked, known });
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
        buffer.populate()?;
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
        // SAFETY: a new private mapping at an address of the kernel's choice overlaps no memory in use.
        let start =
            unsafe { libc::mmap(null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused(&format!("host.buffer_bytes is {length}: mapping it")));
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| refused("mapping memory"))?;
        let buffer = Self { start, length, node: None, lent: 0, chain: None };
        if pages == PageSize::FourKib {
            // SAFETY: the range is the new mapping. An error only means: no transparent huge pages.
            unsafe { libc::madvise(buffer.start.as_ptr().cast(), length, libc::MADV_NOHUGEPAGE) };
        }
        Ok(buffer)
    }

    fn bind(&self, node: u32) -> Result<(), HostError> {
        const MPOL_BIND: libc::c_long = 2;
        let mut mask = [0u64; 16];
        let word = mask
            .get_mut(node as usize / 64)
            .ok_or_else(|| HostError::UnknownNode { asked: node, known: "fewer than 1024 nodes".into() })?;
        *word = 1 << (node % 64);
        let bits = 8 * size_of_val(&mask) as libc::c_long;
        // SAFETY: the range is this buffer's own mapping; the mask of `bits` bits outlives the call.
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

    /// Populates every page, so that too little memory is an error here and not a signal later.
    fn populate(&mut self) -> Result<(), HostError> {
        // SAFETY: the range is this buffer's own mapping; populating changes no byte of it.
        let failed =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, libc::MADV_POPULATE_WRITE) };
        if failed == 0 {
            return Ok(());
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            return Err(refused(&format!("host.buffer_bytes is {}: populating its pages", self.length)));
        }
        // Kernels before 5.14 lack MADV_POPULATE_WRITE.
        for offset in (0..self.length()).step_by(4096) {
            self.fill(offset, 1, 0);
        }
        Ok(())
    }

    /// Locks every page in memory; fails if the limit on locked memory is too small.
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

    /// The node of all pages; none where the kernel does not report it or the pages are on several nodes.
    #[must_use]
    pub fn node(&self) -> Option<u32> {
        self.node
    }

    /// Address of the first byte.
    #[must_use]
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Length, bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length as u64
    }

    /// The bytes as a slice; none while a device can reach them, because it may write them.
    #[must_use]
    pub fn own_bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.chain = None;
        // SAFETY: the mapping has that length, lives as long as `self`, and the kernel zeroed it; no device
        // can reach it, and the mutable borrow of `self` excludes any other access.
        (self.lent == 0).then(|| unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) })
    }

    /// Marks that one more device can reach the memory.
    pub fn lend(&mut self) {
        self.chain = None;
        self.lent += 1;
    }

    /// Marks that one device fewer can reach it.
    pub fn take_back(&mut self) {
        self.lent = self.lent.saturating_sub(1);
    }

    /// Pointer access to the memory, also while devices reach it.
    fn shared(&self) -> Shared {
        // SAFETY: the mapping has that length and outlives `self`; a slice of it borrows `self` mutably.
        unsafe { Shared::new(self.start, self.length) }
    }

    /// Copies bytes from `offset`, also while a device writes; false, copying nothing, if any is outside.
    #[must_use]
    pub fn copy_out(&self, offset: u64, to: &mut [u8]) -> bool {
        self.shared().copy_out(offset, to)
    }

    /// A copy of the bytes from `offset`; none if any byte is outside.
    #[must_use]
    pub fn copied(&self, offset: u64, bytes: usize) -> Option<Vec<u8>> {
        // Checked before allocating.
        let within = offset.checked_add(bytes as u64).is_some_and(|end| end <= self.length());
        let mut copy = vec![0; if within { bytes } else { 0 }];
        (within && self.copy_out(offset, &mut copy)).then_some(copy)
    }

    /// Copies bytes in from `offset`; false, copying nothing, if any byte is outside.
    pub fn copy_in(&mut self, offset: u64, from: &[u8]) -> bool {
        self.chain = None;
        self.shared().copy_in(offset, from)
    }

    /// Sets `bytes` bytes from `offset` to `byte`; false, writing nothing, if any byte is outside.
    pub fn fill(&mut self, offset: u64, bytes: u64, byte: u8) -> bool {
        self.chain = None;
        usize::try_from(bytes).is_ok_and(|bytes| self.shared().fill(offset, bytes, byte))
    }

    /// Reads a 32-bit word once, because a device may write it at any time; none outside or unaligned.
    #[inline]
    #[must_use]
    pub fn word(&self, offset: u64) -> Option<u32> {
        self.shared().word(offset)
    }

    /// Writes 32-bit words in order from `offset`, each once, because a device may read them at any time;
    /// false, writing nothing, if any word is outside or unaligned.
    #[inline]
    pub fn put_words(&mut self, offset: u64, words: &[u32]) -> bool {
        self.chain = None;
        self.shared().put_words(offset, words)
    }

    /// Lays out a pointer chase that visits these offsets, in this order and again from the first; false while a
    /// device can reach the memory, or if an address is not within it or overlaps another.
    pub(crate) fn link(&mut self, cycle: &[u64]) -> bool {
        self.chain = None;
        if self.lent == 0 {
            // SAFETY: the mapping has that length, and no reference to it exists during the call.
            self.chain = unsafe { Chain::laid_out(self.start, self.length, cycle) };
        }
        self.chain.is_some()
    }

    /// The chase laid out in the memory, if nothing else has been written since.
    pub(crate) fn chain_mut(&mut self) -> Option<&mut Chain> {
        self.chain.as_mut()
    }

    /// Writes the byte at `offset` with its own value, to bring its line into this core's caches.
    pub(crate) fn rewrite(&self, offset: u64) {
        self.shared().rewrite(offset);
    }

    /// Writes the first bytes, to bring them into this core's caches; a stop request ends it early.
    pub(crate) fn write_through(&mut self, bytes: u64, stop: &Stop) {
        for offset in (0..bytes).step_by(STOP_BYTES).take_while(|_| !stop.is_requested()) {
            self.fill(offset, (STOP_BYTES as u64).min(bytes - offset), 0);
        }
    }

    /// Flushes the first bytes from all caches; fails if the processor cannot flush single lines.
    pub(crate) fn flush(&self, bytes: usize) -> Result<(), HostError> {
        flush(self.start, bytes.min(self.length))
    }

    /// Flushes the 4 KiB around an offset from all caches, or nothing outside the buffer; fails if the processor
    /// cannot flush single lines.
    pub(crate) fn flush_page(&self, offset: u64) -> Result<(), HostError> {
        const PAGE_BYTES: usize = 4096;
        let start = usize::try_from(offset).map_or(self.length, |offset| offset / PAGE_BYTES * PAGE_BYTES);
        let bytes = self.length.saturating_sub(start).min(PAGE_BYTES);
        // SAFETY: the start is within the mapping, or right behind it.
        let start = unsafe { self.start.add(start.min(self.length)) };
        flush(start, bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is this buffer's own, and no borrow of it outlives the buffer.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Checks the free memory: the kernel would overcommit and later kill a process.
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
    let free = topology.free_huge_pages(page_bytes, node).ok_or(HostError::NoPagesOfSize(page_bytes))?;
    let needed = bytes / page_bytes;
    if free >= needed {
        return Ok(());
    }
    Err(HostError::TooFewPages {
        page_bytes,
        free,
        needed,
        location: node.map_or_else(String::new, |node| format!(" on node {node}")),
        file: topology.huge_pages(page_bytes, node).join("nr_hugepages").display().to_string(),
    })
}

/// The node of the mapping at an address, as the kernel reports it; an error if it is not the node asked for.
fn verified_node(address: usize, asked: Option<u32>) -> Result<Option<u32>, HostError> {
    let maps = std::fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
    let found = pages_by_node(&maps, address);
    let wrong = |asked: u32, found: &str| HostError::WrongNode { asked, found: found.to_owned() };
    match (asked, found.as_slice()) {
        (None, [(node, _)]) => Ok(Some(*node)),
        (None, _) => Ok(None),
        (Some(asked), [(node, _)]) if *node == asked => Ok(Some(asked)),
        (Some(asked), []) => Err(wrong(asked, "the kernel does not report where the pages are")),
        (Some(asked), found) => {
            let counts = found.iter().map(|(node, pages)| format!("{pages} pages on node {node}"));
            Err(wrong(asked, &format!("the kernel put {}", counts.collect::<Vec<_>>().join(", "))))
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
    use super::*;
    use crate::topology::tests::machine;

    fn allocated(bytes: u64) -> Buffer {
        Buffer::allocate(bytes, PageSize::FourKib, None, &Topology::here()).unwrap()
    }

    #[test]
    fn buffer_is_zeroed_writable_and_unmapped_when_dropped() {
        let mut buffer = allocated(1 << 20);
        assert_eq!(buffer.copied(0, 1 << 20), Some(vec![0; 1 << 20]));
        assert!(buffer.copy_in(1 << 19, &[7]) && buffer.fill((1 << 20) - 2, 2, 9));
        assert_eq!(buffer.copied(1 << 19, 1), Some(vec![7]));
        assert_eq!(buffer.copied((1 << 20) - 2, 2), Some(vec![9, 9]));
        assert_eq!(buffer.copied(1 << 19, (1 << 19) + 1), None);
        let address = buffer.address();
        drop(buffer);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains(&format!("{address:x}-{:x} ", address + (1 << 20))));
    }

    #[test]
    fn words_outside_or_unaligned_are_refused() {
        let mut buffer = allocated(4096);
        assert!(buffer.put_words(4088, &[1, 0x0102_0304]));
        assert_eq!((buffer.word(4092), buffer.copied(4092, 1)), (Some(0x0102_0304), Some(vec![4])));
        assert!(!buffer.put_words(4092, &[1, 2]) && !buffer.put_words(2, &[1]));
        assert!(!buffer.put_words(u64::MAX - 3, &[1]));
        assert_eq!((buffer.word(4096), buffer.word(1)), (None, None));
    }

    #[test]
    fn lent_buffer_gives_no_slice() {
        let mut buffer = allocated(4096);
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
    fn missing_memory_pages_or_node_is_refused_with_figures() {
        let huge = ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n");
        let memory = ("proc/meminfo", "MemFree: 9 kB\nMemAvailable:  2048 kB\n");
        let (_directory, free) = machine(&[huge, memory]);
        let (most, used) =
            (("sys/fs/cgroup/memory.max", "65536\n"), ("sys/fs/cgroup/memory.current", "4096\n"));
        let (_container, limited) = machine(&[huge, memory, most, used]);
        for (topology, bytes, pages, node, named) in [
            (
                &free,
                16 << 20,
                PageSize::TwoMib,
                None,
                "3 pages of this size are free, the buffer needs 8: `echo 8 | sudo tee ",
            ),
            (&free, 1 << 30, PageSize::OneGib, None, "no pages of that size"),
            (&free, 5000, PageSize::FourKib, None, "multiple of the page size, 4096"),
            (&free, 4096, PageSize::FourKib, Some(7), "host.node is 7: this machine has no NUMA nodes"),
            (
                &free,
                4 << 20,
                PageSize::FourKib,
                None,
                "host.buffer_bytes is 4194304: 2097152 bytes of memory are available",
            ),
            (&limited, 1 << 20, PageSize::FourKib, None, "61440 bytes of memory are available"),
        ] {
            let error = Buffer::allocate(bytes, pages, node, topology).map(drop).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn pages_by_node_reads_numa_maps() {
        let maps =
            "7f00 default anon=4\n7fab12345000 bind:1 anon=512 dirty=512 N0=12 N1=500 kernelpagesize_kB=4\n";
        assert_eq!(pages_by_node(maps, 0x7fab_1234_5000), [(0, 12), (1, 500)]);
        assert!(pages_by_node(maps, 0x1000).is_empty());
    }
}
