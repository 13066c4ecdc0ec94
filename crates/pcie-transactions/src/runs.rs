//! Accesses: requests for adjacent bytes, merged, and what they would cost with other cuts.

use crate::transaction::Range;
use pcie_capture::Direction;
use pcie_model::{Load, MAX_TRANSFER_BYTES};
use pcie_wire::{Accounting, LinkConfiguration, PAGE_BYTES};
use std::collections::HashMap;

/// Accesses that are followed at a time.
const OPEN_MOST: usize = 256;

/// An access: bytes that one or more requests ask for, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether it writes.
    pub write: bool,
    /// Whether the device sends its requests.
    pub from_device: bool,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Requests that made it.
    pub requests: u64,
    /// Start of the first request, ps.
    pub start_ps: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    write: bool,
    from_device: bool,
    /// Where the next request has to begin.
    end: u64,
}

/// Merges requests into accesses.
#[derive(Debug, Default)]
pub struct Accesses {
    open: HashMap<Key, (Access, u64)>,
    clock: u64,
}

impl Accesses {
    /// Takes a request; returns an access that ends, for example because many others are open.
    pub fn take(
        &mut self,
        write: bool,
        direction: Option<Direction>,
        range: Range,
        start_ps: Option<u64>,
    ) -> Option<Access> {
        if range.bytes == 0 {
            return None;
        }
        self.clock += 1;
        let from_device = direction != Some(Direction::Downstream);
        let key = Key { write, from_device, end: range.address };
        let access = match self.open.remove(&key) {
            Some((access, _)) if access.bytes + u64::from(range.bytes) <= MAX_TRANSFER_BYTES => Access {
                bytes: access.bytes + u64::from(range.bytes),
                requests: access.requests + 1,
                ..access
            },
            _ => Access {
                write,
                from_device,
                address: range.address,
                bytes: range.bytes.into(),
                requests: 1,
                start_ps,
            },
        };
        let end = range.address.wrapping_add(u64::from(range.bytes));
        let before = self.open.insert(Key { write, from_device, end }, (access, self.clock));
        if before.is_some() || self.open.len() <= OPEN_MOST {
            return before.map(|(access, _)| access);
        }
        let oldest = self.open.iter().min_by_key(|(_, (_, clock))| *clock).map(|(key, _)| *key)?;
        self.open.remove(&oldest).map(|(access, _)| access)
    }

    /// The accesses that are open, in the order of their last requests.
    #[must_use]
    pub fn into_open(self) -> Vec<Access> {
        let mut open: Vec<_> = self.open.into_values().collect();
        open.sort_by_key(|(_, clock)| *clock);
        open.into_iter().map(|(access, _)| access).collect()
    }
}

/// What accesses cost on a link, cut as large as its MPS and MRRS allow.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The link with its MPS and MRRS.
    pub link: LinkConfiguration,
    /// Cost of all accesses.
    pub load: Load,
}

impl Cut {
    /// Adds an access.
    pub fn add(&mut self, access: &Access) {
        let address = access.address % u64::from(PAGE_BYTES);
        let (link, spec) = (&self.link, Accounting::Spec);
        let load = match (access.write, access.from_device) {
            (false, true) => Load::dma_read(link, spec, address, access.bytes),
            (true, true) => Load::dma_write(link, spec, address, access.bytes),
            (false, false) => Load::mmio_read(link, spec, address, access.bytes),
            (true, false) => Load::mmio_write(link, spec, address, access.bytes),
        };
        self.load = self.load + load;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_requests_merge_even_if_others_come_between() {
        let mut accesses = Accesses::default();
        for step in 0..8_u64 {
            for base in [0x1000, 0x9_0000, 0x50_0000] {
                let range = Range { address: base + 64 * step, bytes: 64 };
                assert_eq!(accesses.take(false, Some(Direction::Upstream), range, Some(step)), None);
            }
        }
        let open = accesses.into_open();
        assert_eq!(open.len(), 3);
        assert!(open.iter().all(|access| (access.bytes, access.requests) == (512, 8)), "{open:?}");
    }

    #[test]
    fn only_so_many_accesses_are_open() {
        let mut accesses = Accesses::default();
        let ended = (0..1000_u64)
            .filter_map(|number| {
                let range = Range { address: 8192 * number, bytes: 64 };
                accesses.take(true, None, range, None)
            })
            .count();
        assert_eq!(ended + accesses.into_open().len(), 1000);
    }
}
