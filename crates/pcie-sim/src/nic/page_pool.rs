//! The pool from which a kernel's driver takes the pages of received packets.
//!
//! Packets free their pages in an order of their own, so the next page is any of the pool. Its translation has
//! long left the IO-TLB, which is smaller than the pool; an unmapped page has another address, which was never
//! there.

use pcie_model::Queues;
use pcie_refusal::Refusal;
use pcie_time::Draws;
use pcie_wire::Piece;
use pcie_workload::PAGE_BYTES;

#[derive(Clone, Copy, Debug)]
pub(super) struct PagePool {
    draws: Draws,
    pages: u64,
    /// Packets that share a page, one after the other.
    packets_per_page: u64,
}

/// Draws of a page: one for each page of the longest packet.
const PAGES_OF_A_PACKET: u64 = 32;
/// Packets of a queue before its draws meet those of the next queue.
const PACKETS_OF_A_QUEUE: u64 = 1 << 40;

impl PagePool {
    /// The pool of a NIC's buffers.
    ///
    /// # Errors
    /// A page does not hold the packets that share it.
    pub(super) fn new(queues: &Queues, draws: Draws) -> Result<Self, Refusal> {
        let packets_per_page = u64::from(queues.packets_per_page);
        if packets_per_page > 1 && packets_per_page * u64::from(queues.buffer_bytes) > PAGE_BYTES {
            let remedy = format!(
                "give 1, or buffers of at most {} B: a page has {PAGE_BYTES}",
                PAGE_BYTES / packets_per_page
            );
            return Err(Refusal::of("queues.packets_per_page", packets_per_page, remedy));
        }
        let bytes = u64::from(queues.buffers) * u64::from(queues.buffer_bytes);
        Ok(Self { draws, pages: (bytes / PAGE_BYTES).max(1), packets_per_page })
    }

    /// The pieces of the n-th packet of a queue, as offsets in the pool: a page for each 4 KiB.
    pub(super) fn packet(&self, queue: u64, nth: u64, bytes: u64) -> impl Iterator<Item = Piece> + use<> {
        let pool = *self;
        let taken = queue * PACKETS_OF_A_QUEUE + nth / self.packets_per_page;
        let within = nth % self.packets_per_page * (PAGE_BYTES / self.packets_per_page);
        (0..bytes.div_ceil(PAGE_BYTES)).map(move |part| {
            let page = pool.draws.below(taken * PAGES_OF_A_PACKET + part, pool.pages);
            let length = (bytes - part * PAGE_BYTES).min(PAGE_BYTES) as u32;
            Piece { address: page * PAGE_BYTES + within, length }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_time::Stream;

    fn pool(packets_per_page: u32, buffer_bytes: u32) -> Result<PagePool, Refusal> {
        let queues = Queues { packets_per_page, buffer_bytes, ..Queues::default() };
        PagePool::new(&queues, Draws::new(1, 0, Stream::Pages))
    }

    #[test]
    fn packets_share_a_page_and_long_ones_take_several() {
        let shared = pool(2, 2048).unwrap();
        let first = |nth| shared.packet(3, nth, 1500).next().unwrap();
        assert_eq!(first(0).address / PAGE_BYTES, first(1).address / PAGE_BYTES);
        assert_eq!((first(0).address % PAGE_BYTES, first(1).address % PAGE_BYTES), (0, 2048));
        assert_ne!(first(1).address / PAGE_BYTES, first(2).address / PAGE_BYTES);
        let long: Vec<_> = pool(1, 16_384).unwrap().packet(0, 0, 9000).collect();
        assert_eq!(long.iter().map(|piece| piece.length).collect::<Vec<_>>(), [4096, 4096, 808]);
        assert!(long.iter().all(|piece| piece.address.is_multiple_of(PAGE_BYTES)));
        let refused = pool(2, 4096).unwrap_err().to_string();
        assert!(refused.contains("packets_per_page is 2: give 1, or buffers of at most 2048 B"), "{refused}");
    }
}
