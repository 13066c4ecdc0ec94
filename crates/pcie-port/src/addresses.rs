//! Bus addresses of the host buffer.

use pcie_sim::profile::System;

/// The pieces of a host buffer, each contiguous for the device.
#[derive(Clone, Debug)]
pub struct BufferAddresses {
    pieces: Vec<u64>,
    /// Pieces sorted by address, with their indices.
    by_address: Vec<(u64, u64)>,
    piece_bytes: u64,
}

impl BufferAddresses {
    /// The buffer of a system.
    #[must_use]
    pub fn of(system: &System) -> Self {
        let pieces = system.chunk_addresses.clone();
        let mut by_address: Vec<(u64, u64)> = pieces.iter().copied().zip(0..).collect();
        by_address.sort_unstable();
        Self { pieces, by_address, piece_bytes: system.chunk_bytes }
    }

    /// Size of the buffer.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.piece_bytes * self.pieces.len() as u64
    }

    /// Buffer offset of a bus address; `None` outside the buffer.
    #[must_use]
    pub fn offset(&self, address: u64) -> Option<u64> {
        let end = self.by_address.partition_point(|&(piece, _)| piece <= address);
        let &(piece, index) = self.by_address[..end].last()?;
        let within = address - piece;
        (within < self.piece_bytes).then(|| index * self.piece_bytes + within)
    }

    /// Bus address of a buffer offset; `None` beyond the buffer.
    #[must_use]
    pub fn address(&self, offset: u64) -> Option<u64> {
        let piece = self.pieces.get(usize::try_from(offset / self.piece_bytes).ok()?)?;
        Some(piece + offset % self.piece_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machines::snb;

    #[test]
    fn addresses_and_offsets_are_inverse() {
        let machine = snb();
        let buffer = BufferAddresses::of(machine.system());
        for offset in (0..buffer.bytes()).step_by(65_540) {
            let address = buffer.address(offset).unwrap();
            assert_eq!(buffer.offset(address), Some(offset));
        }
        assert_eq!(buffer.address(buffer.bytes()), None);
        assert_eq!(buffer.address(u64::MAX), None);
    }

    #[test]
    fn other_addresses_have_no_offset() {
        let machine = snb();
        let buffer = BufferAddresses::of(machine.system());
        let first = *machine.system().chunk_addresses.iter().min().unwrap();
        for outside in [0, first - 1, u64::MAX] {
            assert_eq!(buffer.offset(outside), None, "{outside:#x}");
        }
    }
}
