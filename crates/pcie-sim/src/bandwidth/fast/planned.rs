//! DMAs planned ahead, in blocks: an address depends only on the number of its transaction.

use super::layouts::{Alike, TlpLayouts};
use pcie_workload::{AddressList, Offsets};
use std::ops::Range;

/// A read with its unissued requests: a range of the layouts' requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub(super) offset: u64,
    pub(super) requests: Range<u32>,
}

/// The DMAs of a test in order, where all are reads or all are writes.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    pub(super) layouts: TlpLayouts<'a>,
    list: &'a AddressList,
    offsets: Offsets<'a>,
    writes: bool,
}

impl<'a> Planned<'a> {
    pub(super) fn new(layouts: TlpLayouts<'a>, list: &'a AddressList, first: u64, writes: bool) -> Self {
        Self { layouts, list, offsets: Offsets::new(list, first), writes }
    }

    /// Offset of the next DMA, and its TLPs: a range of the layouts' requests or writes.
    #[inline(always)]
    pub(super) fn next(&mut self) -> (u64, Range<u32>) {
        let offset = self.offsets.next_offset();
        (offset, self.layouts.parts(offset, self.writes))
    }

    /// Continues with the DMA of a later transaction.
    pub(super) fn continue_at(&mut self, transaction: u64) {
        self.offsets = Offsets::new(self.list, transaction);
    }

    /// The next DMA, which is a read.
    #[inline(always)]
    pub(super) fn next_head(&mut self) -> Head {
        let (offset, requests) = self.next();
        Head { offset, requests }
    }

    /// Whether all writes of a window are cut into the same TLPs, of up to a page each.
    pub(super) fn writes_are_alike(&mut self, window_bytes: u64) -> bool {
        let mut first = None;
        for start in self.list.units().starts_in_page() {
            for offset in self.layouts.with_both_lengths_of_address(start) {
                if offset - start >= window_bytes {
                    continue;
                }
                let parts = self.layouts.parts(offset, true);
                let writes = &self.layouts.writes[parts.start as usize..parts.end as usize];
                if first.get_or_insert_with(|| writes.to_vec()) != writes {
                    return false;
                }
            }
        }
        true
    }

    /// The common properties of all requests, if each read is one request and all are alike.
    pub(super) fn alike(&mut self) -> Option<Alike> {
        let mut alike = None;
        for offset in self.list.units().starts_in_page() {
            for offset in self.layouts.with_both_lengths_of_address(offset) {
                let Range { start, end } = self.layouts.parts(offset, false);
                let one = (end - start == 1).then(|| self.layouts.alone(start))?;
                if alike.get_or_insert_with(|| one.clone()) != &one {
                    return None;
                }
            }
        }
        alike
    }
}
