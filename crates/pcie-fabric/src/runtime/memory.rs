//! A first-fit memory manager of a region, which joins freed neighbours.
//!
//! Host memory consists of huge pages. A segment that fits into one does not cross into the next, and a
//! larger one starts at one, so that a DMA engine sees contiguous bus addresses.

use std::collections::BTreeMap;

use pcie_refusal::{Refusal, in_range};

/// Unit of segments: a cache line, bytes.
const LINE_BYTES: u64 = 64;
/// A huge page of a server, bytes.
pub(super) const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// The memory manager of a region.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    /// Label of the region, for messages.
    region: String,
    first: u64,
    /// One past the last byte.
    end: u64,
    /// Pages that small segments do not cross.
    page_bytes: Option<u64>,
    /// Free runs: first address and length.
    free: BTreeMap<u64, u64>,
    /// Allocated segments: first address and length asked for.
    taken: BTreeMap<u64, u64>,
}

impl Segments {
    /// A region from `first` on, at most to the end of the address space.
    pub fn new(region: String, first: u64, size_bytes: u64, page_bytes: Option<u64>) -> Self {
        let end = first.saturating_add(size_bytes);
        Self {
            region,
            first,
            end,
            page_bytes,
            free: BTreeMap::from([(first, end - first)]),
            taken: BTreeMap::new(),
        }
    }

    /// Allocates a segment; returns its first address.
    pub fn allocate(&mut self, size_bytes: u64) -> Result<u64, Refusal> {
        in_range("size_bytes", size_bytes, 1..=u64::MAX, "give 1 or more")
            .map_err(|none| none.about(&self.region))?;
        let found = self.free.iter().find_map(|(&run, &length)| {
            let start = self.start_in(run, size_bytes);
            let fits =
                size_bytes.checked_next_multiple_of(LINE_BYTES)? <= (run + length).checked_sub(start)?;
            fits.then_some((run, length, start))
        });
        let Some((run, length, start)) = found else {
            let largest_bytes = self.free.values().copied().max().unwrap_or(0);
            let problem = format!("no {size_bytes} bytes are free in one piece, at most {largest_bytes}");
            return Err(self.refused(problem).remedy("free something, or take less"));
        };
        let behind = start + size_bytes.next_multiple_of(LINE_BYTES);
        self.free.remove(&run);
        for (hole, end) in [(run, start), (behind, run + length)] {
            if hole < end {
                self.free.insert(hole, end - hole);
            }
        }
        self.taken.insert(start, size_bytes);
        Ok(start)
    }

    /// Start of a segment in a free run.
    fn start_in(&self, run: u64, size_bytes: u64) -> u64 {
        match self.page_bytes {
            Some(page) if ((run - self.first) % page).saturating_add(size_bytes) > page => {
                self.first.saturating_add((run - self.first).next_multiple_of(page))
            }
            _ => run,
        }
    }

    /// Frees a segment.
    pub fn free(&mut self, address: u64) -> Result<(), Refusal> {
        let Some(size_bytes) = self.taken.remove(&address) else {
            return Err(self.not_a_segment(address));
        };
        let (mut start, mut length) = (address, size_bytes.next_multiple_of(LINE_BYTES));
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free == start
        {
            (start, length) = (before, free + length);
        }
        if let Some(free) = self.free.remove(&(start + length)) {
            length += free;
        }
        self.free.insert(start, length);
        Ok(())
    }

    /// Checks that bytes lie in one allocated segment.
    pub fn check(&self, address: u64, size_bytes: u64) -> Result<(), Refusal> {
        let Some((start, length)) = self.segment_around(address) else {
            return Err(self.not_a_segment(address));
        };
        let room_bytes = start + length - address;
        if size_bytes > room_bytes {
            let problem = format!("{size_bytes} bytes at {address:#x}: the segment ends after {room_bytes}");
            return Err(self.refused(problem).remedy("allocate more"));
        }
        Ok(())
    }

    pub fn contains(&self, address: u64) -> bool {
        (self.first..self.end).contains(&address)
    }

    /// First address, and one past the last.
    pub fn bounds(&self) -> (u64, u64) {
        (self.first, self.end)
    }

    fn segment_around(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &length) = self.taken.range(..=address).next_back()?;
        (address < start + length).then_some((start, length))
    }

    fn refused(&self, problem: String) -> Refusal {
        Refusal::new(problem).about(&self.region)
    }

    fn not_a_segment(&self, address: u64) -> Refusal {
        if !self.contains(address) {
            let (first, last) = (self.first, self.end - 1);
            let refused = self.refused(format!("{address:#x} is not in it"));
            return refused.remedy(format!("it has {first:#x} to {last:#x}"));
        }
        match self.segment_around(address) {
            Some((start, _)) => self
                .refused(format!("{address:#x} is within the segment at {start:#x}"))
                .remedy("give the address that was allocated"),
            None => self
                .refused(format!("{address:#x} is not allocated"))
                .remedy("it was freed before, or never allocated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIRST: u64 = 1 << 32;

    fn segments(size_bytes: u64, page_bytes: Option<u64>) -> Segments {
        Segments::new("hbm of A".into(), FIRST, size_bytes, page_bytes)
    }

    #[test]
    fn full_memory_reports_the_largest_free_run() {
        let mut memory = segments(4096, None);
        let first = memory.allocate(1024).unwrap();
        memory.allocate(3000).unwrap();
        let message = memory.allocate(4096).unwrap_err().to_string();
        assert!(message.contains("hbm of A: no 4096 bytes are free in one piece, at most 64"), "{message}");
        assert!(memory.allocate(u64::MAX).is_err());
        memory.free(first).unwrap();
        assert_eq!(memory.allocate(1000).unwrap(), first, "freed memory is reused");
    }

    #[test]
    fn refuses_double_free_and_foreign_addresses() {
        let mut memory = segments(1 << 20, None);
        let one = memory.allocate(100).unwrap();
        let inside = memory.free(one + 4).unwrap_err();
        assert_eq!(
            inside.to_string(),
            "hbm of A: 0x100000004 is within the segment at 0x100000000: give the address that was allocated"
        );
        memory.free(one).unwrap();
        let twice = memory.free(one).unwrap_err();
        assert_eq!(
            twice.to_string(),
            "hbm of A: 0x100000000 is not allocated: it was freed before, or never allocated"
        );
        let elsewhere = memory.free(FIRST - 64).unwrap_err();
        assert_eq!(
            elsewhere.to_string(),
            "hbm of A: 0xffffffc0 is not in it: it has 0x100000000 to 0x1000fffff"
        );
    }

    #[test]
    fn transfers_stay_within_a_segment() {
        let mut memory = segments(1 << 20, None);
        let one = memory.allocate(100).unwrap();
        memory.check(one + 36, 64).unwrap();
        let beyond = memory.check(one + 37, 64).unwrap_err();
        assert_eq!(
            beyond.to_string(),
            "hbm of A: 64 bytes at 0x100000025: the segment ends after 63: allocate more"
        );
    }

    proptest! {
        /// Segments do not overlap, respect pages, and can all be freed.
        #[test]
        fn segments_do_not_overlap_and_can_be_freed(sizes in proptest::collection::vec(1..3u64 << 20, 1..40), odd in any::<u64>()) {
            let mut memory = segments(64 << 20, Some(HUGE_PAGE_BYTES));
            let mut held: Vec<(u64, u64)> = vec![];
            for (turn, size) in sizes.iter().enumerate() {
                if let Ok(start) = memory.allocate(*size) {
                    prop_assert!(held.iter().all(|(other, length)| start + size <= *other || other + length <= start));
                    let crossed = (start - FIRST) % HUGE_PAGE_BYTES + size > HUGE_PAGE_BYTES;
                    prop_assert!(!crossed || (start - FIRST).is_multiple_of(HUGE_PAGE_BYTES));
                    held.push((start, *size));
                }
                if odd >> (turn % 64) & 1 == 1 && !held.is_empty() {
                    let (start, _) = held.swap_remove(turn % held.len());
                    memory.free(start).unwrap();
                }
            }
            for (start, _) in held {
                memory.free(start).unwrap();
            }
            prop_assert_eq!(memory.allocate(64 << 20).unwrap(), FIRST);
        }
    }
}
