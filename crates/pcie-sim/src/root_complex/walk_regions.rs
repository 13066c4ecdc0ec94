//! Regions within which page walks are serialised.
//!
//! Observed on the Sandy Bridge host: in windows up to 2 MiB each miss takes a whole walk, for reads and
//! writes of 64 to 512 B. In larger windows, walks overlap if they are in different regions of 2 MiB, the
//! reach of one last-level page table.

use crate::cache::io_tlb::IoTlb;
use pcie_time::Picoseconds;

#[derive(Debug)]
pub(super) struct WalkRegions {
    pages: u32,
    free_at: Vec<Picoseconds>,
}

impl WalkRegions {
    /// Regions of at least a page over the buffer, whose chunks must be whole regions; none for size 0.
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
