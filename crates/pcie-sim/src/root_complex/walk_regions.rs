//! Regions whose page walks go on one after the other.
//!
//! What is seen on the Sandy Bridge host: up to 2 MiB each miss takes a whole walk, reads and writes of 64 to 512 B alike, and
//! beyond that walks overlap as far as they belong to different stretches of 2 MiB, each of which one last-level page table
//! translates.

use crate::cache::io_tlb::IoTlb;
use pcie_time::Picoseconds;

/// By region, until when a walk in it goes on.
#[derive(Debug)]
pub(super) struct WalkRegions {
    pages: u32,
    free_at: Vec<Picoseconds>,
}

impl WalkRegions {
    /// Regions of this size, a page at least, over the buffer, whose chunks are taken to be whole ones; none for a size of 0.
    pub(super) fn new(region_bytes: u64, io_tlb: &IoTlb) -> Option<Self> {
        let page_bytes = io_tlb.page_bytes().filter(|_| region_bytes > 0)?;
        let pages = u32::try_from(region_bytes / page_bytes).unwrap_or(u32::MAX).max(1);
        Some(Self { pages, free_at: vec![Picoseconds::ZERO; io_tlb.page_count().div_ceil(pages) as usize] })
    }

    /// When a walk starts that could at a time, and then occupies the region of its page.
    pub(super) fn start(&mut self, page: u32, at: Picoseconds, busy: Picoseconds) -> Picoseconds {
        let free_at = &mut self.free_at[(page / self.pages) as usize];
        let start = at.max(*free_at);
        *free_at = start + busy;
        start
    }
}
