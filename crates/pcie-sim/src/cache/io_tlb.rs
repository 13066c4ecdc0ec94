//! The IO-TLB: the translations that the IOMMU holds, with LRU replacement.

use crate::cache::lines::Line;
use crate::profile::System;
use pcie_workload::LINE_BYTES;

const NOTHING: u32 = u32::MAX;

/// The held translations as a linked list in order of use. With the IOMMU off it has no pages.
#[derive(Debug)]
pub struct IoTlb {
    lines_per_page: Option<u32>,
    capacity: u32,
    held: u32,
    newest: u32,
    oldest: u32,
    pages: Vec<Page>,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    held: bool,
    /// Neighbours in the order of use.
    older: u32,
    newer: u32,
}

impl Clone for IoTlb {
    fn clone(&self) -> Self {
        Self { pages: self.pages.clone(), ..*self }
    }

    /// Uses the memory of `self`.
    fn clone_from(&mut self, source: &Self) {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clone_from(&source.pages);
        *self = Self { pages, ..*source };
    }
}

impl IoTlb {
    /// An empty IO-TLB for the lines of a system.
    pub fn new(system: &System, line_count: u32) -> Self {
        let lines_per_page = system.iommu.page_bytes().map(|bytes| (bytes / LINE_BYTES) as u32);
        let pages = lines_per_page.map_or(0, |lines| line_count.div_ceil(lines)) as usize;
        Self {
            lines_per_page,
            capacity: system.host.iommu.tlb.entries.max(1),
            held: 0,
            newest: NOTHING,
            oldest: NOTHING,
            pages: vec![Page { held: false, older: NOTHING, newer: NOTHING }; pages],
        }
    }

    /// The page of a line; `None` without translation.
    #[inline]
    pub fn page(&self, line: Line) -> Option<u32> {
        self.lines_per_page.map(|lines| line / lines)
    }

    /// Bytes of a page; `None` without translation.
    pub fn page_bytes(&self) -> Option<u64> {
        self.lines_per_page.map(|lines| u64::from(lines) * LINE_BYTES)
    }

    pub fn page_count(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Bytes of the state, about.
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(&*self.pages) as u64
    }

    /// Changes the number of entries for the buffer; evicts the least recently used.
    pub fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity.max(1);
        while self.held > self.capacity {
            self.drop_oldest();
        }
    }

    /// Uses the translation of a page, loading it on a miss; returns whether it hit.
    #[inline]
    pub fn look_up(&mut self, page: u32) -> bool {
        if self.newest == page {
            return true;
        }
        let hit = self.pages[page as usize].held;
        if hit {
            self.unlink(page);
        } else if self.held == self.capacity {
            self.drop_oldest();
        }
        self.link_newest(page);
        hit
    }

    fn unlink(&mut self, page: u32) {
        let Page { older, newer, .. } = self.pages[page as usize];
        match newer {
            NOTHING => self.newest = older,
            newer => self.pages[newer as usize].older = older,
        }
        match older {
            NOTHING => self.oldest = newer,
            older => self.pages[older as usize].newer = newer,
        }
        self.pages[page as usize].held = false;
        self.held -= 1;
    }

    fn link_newest(&mut self, page: u32) {
        self.pages[page as usize] = Page { held: true, older: self.newest, newer: NOTHING };
        match self.newest {
            NOTHING => self.oldest = page,
            newest => self.pages[newest as usize].newer = page,
        }
        self.newest = page;
        self.held += 1;
    }

    fn drop_oldest(&mut self) {
        if self.oldest != NOTHING {
            self.unlink(self.oldest);
        }
    }

    /// Number of different pages of some lines.
    pub fn pages_of(&self, lines: impl Iterator<Item = Line>) -> u64 {
        let mut seen = vec![false; self.pages.len()];
        lines
            .filter_map(|line| self.page(line))
            .filter(|page| !std::mem::replace(&mut seen[*page as usize], true))
            .count() as u64
    }

    /// Applies a sequence of uses of lines, given from the last to the first. Stops reading once it has seen
    /// `pages` different pages or as many as there are entries; exact for any number of uses.
    pub fn settle(&mut self, last_first: impl Iterator<Item = Line>, pages: u64) {
        let enough = u64::from(self.capacity).min(pages) as usize;
        let mut seen = vec![false; self.pages.len()];
        let recent: Vec<u32> = last_first
            .filter_map(|line| self.page(line))
            .filter(|page| !std::mem::replace(&mut seen[*page as usize], true))
            .take(enough)
            .collect();
        for page in recent.into_iter().rev() {
            self.look_up(page);
        }
    }
}
