//! DMAs ahead of their time: addresses depend on nothing but the number of the transaction, so they are made in blocks.

use super::layouts::{Alike, TlpLayouts};
use pcie_workload::{AddressList, Offsets};
use std::ops::Range;

/// The DMAs of a test, one after the other, where all are reads or all are writes.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    pub(super) layouts: TlpLayouts<'a>,
    list: &'a AddressList,
    offsets: Offsets<'a>,
    writes: bool,
}

impl<'a> Planned<'a> {
    /// From transaction `first` on.
    pub(super) fn new(layouts: TlpLayouts<'a>, list: &'a AddressList, first: u64, writes: bool) -> Self {
        Self { layouts, list, offsets: Offsets::new(list, first), writes }
    }

    /// Where the next DMA starts, and its TLPs: a range of the requests or writes that the layouts know.
    #[inline(always)]
    pub(super) fn next(&mut self) -> (u64, Range<u32>) {
        let offset = self.offsets.next_offset();
        (offset, self.layouts.parts(offset, self.writes))
    }

    /// Where the next DMA starts.
    #[inline(always)]
    pub(super) fn next_offset(&mut self) -> u64 {
        self.offsets.next_offset()
    }

    /// What all requests of reads have in common, if each read is one request and they differ in nothing.
    pub(super) fn alike(&mut self) -> Option<Alike> {
        let mut alike = None;
        for offset in self.list.units().places_in_page() {
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
